"""How the cost of a training step grows: with sentence length, batch, vocabulary and the size of the model.

    python benchmarks/scaling.py                                          # all four, a table on standard output
    python benchmarks/scaling.py length vocabulary --models rnn transformer --output docs/scaling.png

One thing is varied, the others stay at sentences of 32 pieces on each side, 4,096 padded positions a batch, 8,000
pieces and the sizes of ``protocol.py``. Pieces are random and nothing is padded. A step is forward, loss, backward,
clipping and AdamW. The points of a curve take turns; a point is the
median of its steps.
"""

import argparse
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import ours
import torch
from matplotlib.figure import Figure
from protocol import BOS, EMBEDDING, EOS, HIDDEN, INNER, SIZE, Batch, Runner, Workload

from seq2seq.evaluation.figures import COLOURS, MARKERS, figure_to_png

LENGTH, POSITIONS, VOCABULARY = 32, 4096, 8000
AXES: dict[str, tuple[float, ...]] = {
    "length": (32, 64, 128, 256, 512, 1024),
    "batch": (256, 1024, 4096, 16384),
    "vocabulary": (4000, 8000, 16000, 32000, 64000),
    "size": (0.5, 1, 2, 4),
}
LABELS = {
    "length": "pieces a sentence, on each side",
    "batch": "padded positions a batch",
    "vocabulary": "pieces in the vocabulary",
    "size": "width, as a multiple of the usual",
}
FIRST = EOS + 1  # of the pieces that are text


class Point(NamedTuple):
    """One place of one curve. ``runner`` and ``batch`` are what is measured there."""

    axis: str
    model: str
    value: float
    runner: Runner
    batch: Batch


def settings_of(model: str, factor: float) -> dict[str, Any]:
    """The settings of ``ours.SETTINGS`` with every width times ``factor``; heads stay as many."""
    widths = {"hidden": SIZE, "inner": INNER} if model == "transformer" else {"hidden": HIDDEN, "embedding": EMBEDDING}
    return ours.SETTINGS[model] | {name: int(width * factor) for name, width in widths.items()}


def random_batch(length: int, positions: int, vocabulary: int) -> Batch:
    """Sentences of ``length`` pieces, EOS among them, on both sides; at least one."""
    rows = max(1, positions // length)
    source, target = (torch.randint(FIRST, vocabulary, (rows, length)) for _ in range(2))  # (B, S), (B, T)
    source[:, -1] = target[:, -1] = EOS
    return Batch(source, torch.cat([torch.full((rows, 1), BOS), target], 1))


def make_point(axis: str, model: str, value: float, threads: int) -> Point:
    """A model and a batch with one thing varied."""
    varied = {"length": LENGTH, "batch": POSITIONS, "vocabulary": VOCABULARY, "size": 1.0} | {axis: value}
    vocabulary = int(varied["vocabulary"])
    contender = ours.Ours(model, vocabulary, threads, settings_of(model, varied["size"]))
    contender.model.train()
    batch = random_batch(int(varied["length"]), int(varied["batch"]), vocabulary)
    return Point(axis, model, value, Runner(contender, Workload(vocabulary, [batch], []), 1), batch)


def measure(points: list[Point], precision: str, repeats: int) -> list[dict[str, Any]]:
    """A row for each point: seconds of its steps, the median, and pieces a second."""
    seconds: dict[int, list[float]] = {number: [] for number in range(len(points))}
    for turn in range(repeats + 1):
        for number, point in enumerate(points):
            started = time.perf_counter()
            point.runner.step(point.batch, point.batch.tokens, precision)
            if turn:  # the first warms up
                seconds[number].append(time.perf_counter() - started)
        print(f"turn {turn} of {repeats}", file=sys.stderr)
    rows = []
    for number, point in enumerate(points):
        middle = statistics.median(seconds[number])
        row = {"axis": point.axis, "model": point.model, "value": point.value, "seconds": seconds[number]}
        rows.append(row | {"median": middle, "pieces_per_second": point.batch.pieces / middle})
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown, one table an axis: pieces a second, a row a model."""
    parts = []
    for axis in dict.fromkeys(row["axis"] for row in rows):
        own = [row for row in rows if row["axis"] == axis]
        values = sorted({row["value"] for row in own})
        lines = [f"| {LABELS[axis]} | " + " | ".join(f"{value:,g}" for value in values) + " |"]
        lines.append("|---" + "|---:" * len(values) + "|")
        for model in dict.fromkeys(row["model"] for row in own):
            found = {row["value"]: row["pieces_per_second"] for row in own if row["model"] == model}
            lines.append(f"| {model} | " + " | ".join(f"{found[v]:,.0f}" if v in found else "–" for v in values) + " |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def draw_figure(rows: list[dict[str, Any]], precision: str, threads: int) -> Figure:
    """A panel an axis, a curve a model: microseconds a piece, so that a flat line costs the same everywhere."""
    axes = list(dict.fromkeys(row["axis"] for row in rows))
    figure = Figure(figsize=(4.6 * min(len(axes), 2), 3.8 * -(-len(axes) // 2)), layout="constrained")
    panels = figure.subplots(-(-len(axes) // 2), min(len(axes), 2), squeeze=False).flatten()
    models = list(dict.fromkeys(row["model"] for row in rows))
    for panel, axis in zip(panels, axes, strict=False):
        for number, model in enumerate(models):
            own = [row for row in rows if (row["axis"], row["model"]) == (axis, model)]
            cost = [1e6 / row["pieces_per_second"] for row in own]
            style = {"color": COLOURS[number], "marker": MARKERS[number], "label": model}
            panel.plot([row["value"] for row in own], cost, **style)
        panel.set_xscale("log", base=2)
        panel.set_xticks(AXES[axis], [f"{value:,g}" for value in AXES[axis]])
        panel.minorticks_off()
        panel.set_ylim(bottom=0)
        panel.set_xlabel(LABELS[axis])
        panel.set_ylabel("µs a piece")
        panel.grid(alpha=0.3)
        panel.spines[["top", "right"]].set_visible(False)
    for panel in panels[len(axes) :]:
        panel.remove()
    panels[0].legend(frameon=False)
    figure.suptitle(f"Training, {precision}, {threads} thread{'s' * (threads > 1)}", fontsize=11)
    return figure


def run(arguments: list[str] | None = None) -> list[dict[str, Any]]:
    """Measure what the command line names; prints the table, and gives its rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("axes", nargs="*", help=f"of {', '.join(AXES)}; default: all")
    parser.add_argument("--models", nargs="+", default=list(ours.SETTINGS), choices=list(ours.SETTINGS))
    parser.add_argument("--most", type=float, default=float("inf"), help="leave larger values of an axis out")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--precision", default="bf16", choices=["fp32", "bf16"])
    parser.add_argument("--output", type=Path, help="a picture; the numbers are written beside it as .json")
    options = parser.parse_args(arguments)
    for axis in options.axes:
        if axis not in AXES:
            parser.error(f"there is no axis {axis!r}: choose from {', '.join(AXES)}")
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    rows = []
    for axis in options.axes or AXES:
        for model in options.models:
            values = [value for value in AXES[axis] if value <= options.most]
            points = [make_point(axis, model, value, options.threads) for value in values]
            rows += measure(points, options.precision, options.repeats)
    print(table(rows))
    if options.output:
        figure_to_png(draw_figure(rows, options.precision, options.threads), options.output)
        text = json.dumps({"precision": options.precision, "threads": options.threads, "rows": rows}, indent=1)
        options.output.with_suffix(".json").write_text(text + "\n", "utf-8")
    return rows


if __name__ == "__main__":
    run()
