"""Align words by a model's attention, and score the links against gold alignments."""

import logging
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seq2seq import cli
from seq2seq.errors import UserError

if TYPE_CHECKING:  # heavy: imported where they are used, so that --help answers at once
    from datasets import Dataset

    from seq2seq.evaluation.links import Gold, Links
    from seq2seq.translator import Translator

log = logging.getLogger(__name__)

CHOICES = ("generated", "shifted", "both")
EFLOMAL = ("auto", "always", "never")
USAGE = """
Align words by a model's attention over given pairs: one line a pair, i-j for source word i and target word j, from 0.
Words are what stands between white space. Scores (precision, recall, alignment error rate) go to standard error.

  python scripts/align.py checkpoint=runs/grammar/bahdanau/TIME       # test split of its corpus, scored by its gold
  python scripts/align.py checkpoint=RUN convention=both layer=-1 head=max > links
  python scripts/align.py checkpoint=RUN reverse=RUN2 method=grow-diag-final output=links
  python scripts/align.py checkpoint=RUN source=talks.en target=talks.vi gold=talks.align

Settings (conf/align.yaml explains each):
  checkpoint=PATH      a run's folder (its best checkpoint) or a .ckpt file
  reverse=PATH         a run of the other direction; its links, turned round, are joined with the first one's
  method=grow-diag-final   how: intersection, union, grow-diag, grow-diag-final, grow-diag-final-and
  split=test           of the corpus that the run was trained on; data.dir=DIR where it has moved since
  source=F target=F    any pair of files, one sentence a line, in place of a split
  gold=F               lines of i-j (sure) and ipj (possible) to score by; the built-in corpus has its own
  gold_base=0|1        the number of the first word in them; default: as the lines show, else 0
  output=F             links to F, scores and settings to F.json; default: links to standard output
  convention=generated|shifted|both   row t of the weights is of the word that step t generates, or of the one that it
                       reads; both: scores for both, links by the first
  layer=mean head=mean which weights: a number from 0, or mean; head also max
  extraction=argmax|threshold   one source word for each target word, or each with threshold=0.25 of its weight
  eflomal=auto|always|never   eflomal beside, where it is installed (pip install eflomal): where there is gold; also
                       without, for the agreement with it
  device=auto          auto, cpu, cuda:1
"""


def align(settings: dict[str, Any]) -> dict[str, Any]:
    """Align from plain settings (the keys of conf/align.yaml). Gives what ``<output>.json`` holds."""
    if not settings["checkpoint"]:
        raise UserError("no checkpoint is named: checkpoint=PATH, a run's folder or a .ckpt file")
    if settings["convention"] not in CHOICES:
        raise UserError(f"convention={settings['convention']}: choose one of {', '.join(CHOICES)}")

    from rich.console import Console

    from seq2seq.checkpoint import find_checkpoint
    from seq2seq.evaluation.links import check_extraction, symmetrise, write_pharaoh
    from seq2seq.evaluation.report import alignment_table, write_json
    from seq2seq.translator import Translator

    if settings["eflomal"] not in EFLOMAL:
        raise UserError(f"eflomal={settings['eflomal']}: choose {', '.join(EFLOMAL)}")
    check_extraction(settings["extraction"], settings["threshold"])
    symmetrise(frozenset(), frozenset(), settings["method"])  # a wrong name is said before the time is spent
    files = [find_checkpoint(settings[key]) for key in ("checkpoint", "reverse") if settings[key]]
    translators = [Translator.from_checkpoint(file, settings["device"]) for file in files]
    _check_directions(translators)
    pairs, gold, data = _pairs(settings, translators[0].settings["data"])
    rows = _aligned(translators, pairs, settings)
    scores = _scores(rows, gold, pairs, translators[0].settings["data"], settings)
    written = rows[-1]
    result = {
        "names": [one.settings["model"]["name"] for one in translators],
        "checkpoints": [str(file) for file in files],
        **{"data": data, "pairs": len(pairs), "links": sum(map(len, written[2]))},
        **{"aligner": written[0], "convention": written[1]},
        **{key: settings[key] for key in ("method", "layer", "head", "extraction", "threshold")},
        "scores": scores,
    }
    output = settings["output"] and Path(settings["output"])
    if output:
        output.parent.mkdir(parents=True, exist_ok=True)
        write_json(output.with_name(f"{output.name}.json"), result)
    with open(output, "w", encoding="utf-8", newline="\n") if output else nullcontext(sys.stdout) as out:
        out.writelines(f"{write_pharaoh(links)}\n" for links in written[2])
    if scores:
        Console(width=100, stderr=True).print(alignment_table(scores))
    return result


def _check_directions(translators: list["Translator"]) -> None:
    ways = [tuple(one.settings["data"][side] for side in ("source", "target")) for one in translators]
    if len(ways) == 2 and ways[1] != ways[0][::-1]:
        shown = [" to ".join(way) for way in ways]
        raise UserError(f"reverse= must translate the other way round: it goes {shown[1]}, and checkpoint= {shown[0]}")


def _pairs(settings: dict[str, Any], run: dict[str, Any]) -> tuple["Dataset", list["Gold"] | None, dict[str, Any]]:
    """What to align, its gold if there is any, and what it is. run: the settings of the run's corpus."""
    from datasets import Dataset

    from seq2seq.aligner import gold_alignments
    from seq2seq.testsets import open_split, read_files

    files = {key: settings[key] for key in ("source", "target")}
    if any(files.values()) and not all(files.values()):
        raise UserError("source=FILE and target=FILE go together; without them a split of the corpus is aligned")
    file = settings["gold"]
    if files["source"]:
        pairs, data = Dataset.from_dict(read_files(**files)), files
    else:
        pairs = open_split(run, settings["split"], settings["data"])
        data = {"name": run["name"], "split": settings["split"]}
        file = file or (run.get("gold") if settings["split"] == "validation" else None)
    given = (file, pairs["source"], pairs["target"], settings["gold_base"]) if file else (pairs,)
    gold = gold_alignments(*given)
    if gold is None:
        log.info("there are no gold alignments, and so no scores; gold=FILE names some")
    return pairs, gold, data | {"gold": file}


def _aligned(
    translators: list["Translator"], pairs: "Dataset", settings: dict[str, Any]
) -> list[tuple[str, str, list["Links"]]]:
    """Aligner, convention and links of all that is scored; the last is what is written."""
    from seq2seq.aligner import CONVENTIONS, align_by_each
    from seq2seq.evaluation.links import symmetrise, transposed

    asked = settings["convention"]
    conventions = CONVENTIONS[::-1] if asked == "both" else (asked,)  # the default last, to be written
    options = {"layer": settings["layer"], "head": settings["head"]}
    options |= {"method": settings["extraction"], "threshold": settings["threshold"]}
    names, found = [one.settings["model"]["name"] for one in translators], []
    sides = list(pairs["source"]), list(pairs["target"])
    for name, translator, texts in zip(names, translators, (sides, sides[::-1]), strict=False):
        links = align_by_each(translator, *texts, conventions, **options)
        if links is None:
            raise UserError(f"model {name} has no attention: there is nothing to align by")
        found.append(links)
    rows = []
    for convention in conventions:
        forward = found[0][convention]
        rows.append((names[0], convention, forward))
        if len(found) == 2:
            backward = [transposed(links) for links in found[1][convention]]
            rows.append((f"{names[1]}, reverse", convention, backward))
            joined = [symmetrise(*both, settings["method"]) for both in zip(forward, backward, strict=True)]
            rows.append((settings["method"], convention, joined))
    return rows


def _scores(
    rows: list[tuple[str, str, list["Links"]]],
    gold: list["Gold"] | None,
    pairs: "Dataset",
    run: dict[str, Any],
    settings: dict[str, Any],
) -> list[dict[str, Any]]:
    """Of each row, of the diagonal and of eflomal: scores where there is gold, agreement where there is an eflomal."""
    from seq2seq.evaluation.links import agreement, alignment_error_rate, diagonal

    wanted = settings["eflomal"] == "always" or (settings["eflomal"] == "auto" and gold)
    eflomal = _eflomal(pairs, run, settings) if wanted else None
    if not gold and eflomal is None:
        return []
    sizes = zip(pairs["source"], pairs["target"], strict=True)
    rows = [*rows, ("diagonal", None, [diagonal(*(len(text.split()) for text in pair)) for pair in sizes])]
    if eflomal is not None:
        rows.append(("eflomal", None, eflomal))
    found = []
    for aligner, convention, links in rows:
        scores = alignment_error_rate(links, gold).as_dict() if gold else {}
        if eflomal is not None:
            scores["agreement"] = agreement(links, eflomal)
        found.append({"aligner": aligner, "convention": convention} | scores)
    return found


def _eflomal(pairs: "Dataset", run: dict[str, Any], settings: dict[str, Any]) -> list["Links"] | None:
    """eflomal's links; None, and a line that says why, where it cannot be asked."""
    from seq2seq.evaluation.eflomal_baseline import eflomal_links, is_installed
    from seq2seq.testsets import read_split

    if not is_installed():
        log.info("eflomal is not installed and not scored beside; pip install eflomal")
        return None
    try:
        training = read_split(run, "train", settings["data"])
    except UserError as error:
        log.warning("eflomal is not scored beside: it needs the run's training split (%s)", error)
        return None
    return eflomal_links(training, (pairs["source"], pairs["target"]))


if __name__ == "__main__":
    cli.run("align", align, USAGE, multirun=False)
