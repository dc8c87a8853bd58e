"""Lay the length curves of finished runs over each other: a figure, and a table in Markdown on standard output.

python scripts/bleu_by_length.py runs/grammar/*/* output=docs/bleu_vs_length.png

Runs of one model are its seeds: a curve is their mean, its bars reach from the lowest seed to the highest. Where every
model has one run, the bars are that run's bootstrap intervals.
"""

import json
import sys
from collections import defaultdict
from pathlib import Path
from statistics import mean
from typing import Any

from seq2seq.errors import UserError
from seq2seq.evaluation.figures import bleu_vs_length_figure, figure_to_png
from seq2seq.evaluation.length import Bucket
from seq2seq.models import MODELS, family_of


def read(folders: list[str]) -> dict[str, list[dict[str, Any]]]:
    """The ``metrics.json`` of each run, by model. Raises UserError for a folder without one."""
    found = defaultdict(list)
    for path in (Path(folder) / "metrics.json" for folder in folders):
        if not path.is_file():
            print(f"{path}: there is none, so this run is not finished and left out", file=sys.stderr)
            continue
        metrics = json.loads(path.read_text("utf-8"))
        found[metrics["model"]["name"]].append(metrics)
    if not found:
        raise UserError("there is no finished run among these folders")
    prints = {metrics["data"]["fingerprint"] for runs in found.values() for metrics in runs}
    if len(prints) > 1:
        raise UserError(f"the runs were tested on {len(prints)} different corpora: their curves cannot be compared")
    order = list(MODELS)
    return {name: found[name] for name in sorted(found, key=lambda name: (order.index(family_of(name)), name))}


def curve(runs: list[dict[str, Any]]) -> list[Bucket]:
    """BLEU of each bucket: one run's own, else the mean over runs, between its lowest and its highest value."""
    points = []
    for same in zip(*(run["test"]["bleu_by_length"] for run in runs), strict=True):
        first, values = same[0], [point["bleu"] for point in same]
        place = first["from"], first["to"], first["sentences"]
        interval = (min(values), max(values)) if len(runs) > 1 else (first["low"], first["high"])
        points.append(Bucket(*place, mean(values), *interval))
    return points


def table(models: dict[str, list[dict[str, Any]]]) -> str:
    """A row a model: seeds, parameters, speed, BLEU over all, and mean BLEU of each bucket."""
    curves = {name: curve(runs) for name, runs in models.items()}
    heads = [bucket.label for bucket in next(iter(curves.values()))]
    lines = [
        "| model | seeds | parameters | epochs | BLEU (lowest – highest) | " + " | ".join(heads) + " |",
        "|---|---" + "|---:" * (3 + len(heads)) + "|",
    ]
    for name, runs in models.items():
        scores = [run["test"]["bleu"] for run in runs]
        cells = [
            name,
            ", ".join(str(run["train"]["seed"]) for run in sorted(runs, key=lambda run: run["train"]["seed"])),
            f"{runs[0]['model']['parameters']:,}",
            str(runs[0]["train"]["epochs"]),
            f"{mean(scores):.1f} ({min(scores):.1f} – {max(scores):.1f})",
            *(f"{bucket.bleu:.1f}" for bucket in curves[name]),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main(arguments: list[str]) -> str:
    """Draws the figure and gives the table."""
    outputs = [word.partition("=")[2] for word in arguments if word.startswith("output=")]
    folders = [word for word in arguments if not word.startswith("output=")]
    if not folders or len(outputs) > 1:
        raise UserError("name folders of finished runs, and at most one output=FILE.png")
    models = read(folders)
    if outputs:
        counts = {len(runs) for runs in models.values()}
        if 1 in counts and len(counts) > 1:
            raise UserError("some models have one run and others several: their bars would mean different things")
        bars = {} if counts == {1} else {"bars": "lowest to highest seed"}
        figure_to_png(bleu_vs_length_figure({name: curve(runs) for name, runs in models.items()}, **bars), outputs[0])
    return table(models)


if __name__ == "__main__":
    try:
        print(__doc__.strip() if {"-h", "--help"} & set(sys.argv) else main(sys.argv[1:]))
    except (UserError, OSError) as error:
        sys.exit(f"error: {error}")
