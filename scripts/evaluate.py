"""Score a trained model, or a file of translations: BLEU, chrF, TER, and BLEU by source length."""

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seq2seq import cli
from seq2seq.errors import UserError

if TYPE_CHECKING:  # heavy: imported where it is used, so that --help answers at once
    from seq2seq.assess import Assessment

log = logging.getLogger(__name__)

USAGE = """
Score a trained model, or a file of translations: BLEU, chrF, TER, length ratio, and BLEU by source length.

  python scripts/evaluate.py checkpoint=runs/grammar/bahdanau/TIME    # best checkpoint, test split of its corpus
  python scripts/evaluate.py checkpoint=RUN split=validation decoding=greedy
  python scripts/evaluate.py checkpoint=RUN source=talks.en reference=talks.vi output=talks
  python scripts/evaluate.py hypothesis=other.vi reference=talks.vi source=talks.en

Settings (conf/evaluate.yaml explains each):
  checkpoint=PATH      a run's folder (its best checkpoint) or a .ckpt file
  split=test           of the corpus that the run was trained on; data.dir=DIR where it has moved since
  source=F reference=F any pair of files, one sentence a line, in place of a split
  hypothesis=F         translations to score in place of a checkpoint, with reference=F; with source=F also by length
  output=DIR           of evaluation.json, <split>.hyp (or <source file>.hyp) and bleu_by_length.png;
                       default <run>/evaluation/<split or source file>, <decoding>; with hypothesis=F nothing is
                       written unless it is given
  decoding=greedy|beam decoding.beam=5  decoding.precision=bf16; default: as the run was tested
  edges=[1,10,20]      first length, in words, of each bucket   quantiles=4   buckets of equal size instead
  max_source=1024      subwords beyond which a source is too long to be translated whole
  too_long=split|refuse   translate it in parts, or give an empty translation; a warning names such lines
  device=auto          auto, cpu, cuda:1
"""


def evaluate(settings: dict[str, Any]) -> dict[str, Any]:
    """Evaluate from plain settings (the keys of conf/evaluate.yaml). Gives what ``evaluation.json`` holds."""
    if bool(settings["checkpoint"]) == bool(settings["hypothesis"]):
        raise UserError("name one thing to score: checkpoint=PATH, or hypothesis=FILE with reference=FILE")

    from rich.console import Console

    from seq2seq.assess import save, show
    from seq2seq.evaluation.report import write_json

    assessment, about, folder = (_checkpoint if settings["checkpoint"] else _hypotheses)(settings)
    result = about | {"test": assessment.metrics()}
    if folder:
        data = about["data"]
        stem = data.get("split") or Path(data["source"] or data["reference"]).stem
        save(assessment, folder, about["name"], stem, texts=not settings["hypothesis"])
        write_json(folder / "evaluation.json", result)
        log.info("written: %s", folder)
    show(assessment, Console(width=100))
    return result


def _checkpoint(settings: dict[str, Any]) -> tuple["Assessment", dict[str, Any], Path]:
    """Translate and score. Gives the assessment, what was scored, and the folder for the results."""
    from seq2seq.assess import assess, decoding_settings
    from seq2seq.checkpoint import find_checkpoint
    from seq2seq.testsets import read_files, read_split
    from seq2seq.translator import Translator

    pair = {key: settings[key] for key in ("source", "reference")}
    if any(pair.values()) and not all(pair.values()):
        raise UserError("source=FILE and reference=FILE go together; without them a split of the corpus is translated")
    file = find_checkpoint(settings["checkpoint"])
    translator = Translator.from_checkpoint(file, settings["device"])
    run = translator.settings
    data = pair if pair["source"] else {"name": run["data"]["name"], "split": settings["split"]}
    texts = read_files(**pair).values() if pair["source"] else read_split(run["data"], data["split"], settings["data"])
    decoding = decoding_settings(run, settings["decoding"])
    decoding |= {key: settings[key] for key in ("max_source", "too_long")}
    log.info("%s on %s", file, data.get("source") or f"{data['split']} of {data['name']}")
    assessment = assess(translator, *texts, decoding, edges=settings["edges"], quantiles=settings["quantiles"])
    folder = file.parents[1] if file.parent.name == "checkpoints" else file.parent
    about = {"name": run["model"]["name"], "checkpoint": str(file), "data": data}
    place = f"{data.get('split') or Path(data['source']).name}, {assessment.decoding_label}"
    return assessment, about, Path(settings["output"] or folder / "evaluation" / place)


def _hypotheses(settings: dict[str, Any]) -> tuple["Assessment", dict[str, Any], Path | None]:
    """Score a file of translations."""
    from seq2seq.assess import assess_texts
    from seq2seq.testsets import read_files

    if settings["quantiles"] and not settings["source"]:
        raise UserError("quantiles= is of source lengths: name source=FILE too")
    if not settings["reference"]:
        raise UserError("hypothesis=FILE needs reference=FILE to be scored against")
    data = {key: settings[key] for key in ("source", "hypothesis", "reference")}
    texts = read_files(**data)
    options = {"edges": settings["edges"], "quantiles": settings["quantiles"]}
    assessment = assess_texts(texts.get("source"), texts["hypothesis"], texts["reference"], **options)
    return (
        assessment,
        {"name": Path(data["hypothesis"]).name, "data": data},
        settings["output"] and Path(settings["output"]),
    )


if __name__ == "__main__":
    cli.run("evaluate", evaluate, USAGE, multirun=False)
