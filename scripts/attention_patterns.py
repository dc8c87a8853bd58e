"""What each head of each attention looks at: its diagonal, the token before, one column, or everything."""

import logging
from typing import TYPE_CHECKING, Any

from seq2seq import cli
from seq2seq.errors import UserError

if TYPE_CHECKING:  # heavy: imported where they are used, so that --help answers at once
    from seq2seq.evaluation.patterns import Patterns
    from seq2seq.translator import Translation, Translator

log = logging.getLogger(__name__)

USAGE = """
What each head of each attention looks at, in means over the rows of its matrices (row: the position that asks).

  python scripts/attention_patterns.py checkpoint=runs/grammar/transformer/TIME sentence="She reads a letter."
  python scripts/attention_patterns.py checkpoint=RUN input=talks.en reference=talks.vi output=patterns.json
  python scripts/attention_patterns.py checkpoint=RUN most=200

  diagonal        cross-attention: share of the weights where row and column stand at the same place, as shares of
                  their sentences' lengths
  itself          self-attention: share on the position itself
  previous        self-attention: share on the position before it
  largest column  share of the column that has most of a sentence, and for how many rows that is the first or last one:
                  an attention sink where it is nearly all
  entropy         in nats: 0 where one position has everything, at most ln n over n positions

Settings (conf/patterns.yaml explains each):
  checkpoint=PATH      a run's folder (its best checkpoint) or a .ckpt file
  sentence="TEXT"      one sentence, and the model's own translation of it
  input=FILE           sentences, one a line; reference=FILE: their translations, else the model's own
  split=test           in place of these: a split of the run's corpus with its references; own=true: the model's own
                       translations; data.dir=DIR where it has moved since
  most=N               the first N sentences
  output=FILE          the same numbers as JSON
  decoding=greedy|beam decoding.beam=5   of own translations; default: as the run was tested
  device=auto          auto, cpu, cuda:1
"""


def attention_patterns(settings: dict[str, Any]) -> dict[str, Any]:
    """Measure from plain settings (the keys of conf/patterns.yaml). Gives what ``output`` holds."""
    if not settings["checkpoint"]:
        raise UserError("no checkpoint is named: checkpoint=PATH, a run's folder or a .ckpt file")
    for key in ("chunk", "most", "max_source"):
        if settings[key] is not None and settings[key] < 1:
            raise UserError(f"{key}={settings[key]}: give at least 1")

    from rich.console import Console

    from seq2seq.assess import decoding_settings, label_decoding
    from seq2seq.checkpoint import find_checkpoint
    from seq2seq.evaluation.report import patterns_table, write_json
    from seq2seq.translator import Translator

    file = find_checkpoint(settings["checkpoint"])
    translator = Translator.from_checkpoint(file, settings["device"])
    run, console = translator.settings, Console(width=100)
    decoding = decoding_settings(run, settings["decoding"])
    sources, references, data = _texts(settings, run)
    found, looked = _measure(translator, sources, references, decoding, settings)
    name = run["model"]["name"]
    targets = "references" if references else f"own translations, {label_decoding(decoding)}"
    result = {
        **{"name": name, "checkpoint": str(file), "data": data, "targets": targets, "sentences": looked},
        "attention": {kind: [head.as_dict() for head in patterns.heads()] for kind, patterns in found.items()},
    }
    if settings["output"]:
        write_json(settings["output"], result)
    if not looked:
        raise UserError("there is no sentence to look at: all are empty or longer than max_source")
    if not found:
        console.print(f"model {name} has no attention: there is no head to look at")
    else:
        console.print(f"{name}: {looked} sentences, {targets}; layers and heads are numbered from 0", soft_wrap=True)
    for kind, patterns in found.items():
        console.print(patterns_table(kind, patterns.heads()))
    return result


def _texts(settings: dict[str, Any], run: dict[str, Any]) -> tuple[list[str], list[str] | None, dict[str, Any]]:
    """Sources, references or None, and what they are."""
    from seq2seq.data.text import normalise
    from seq2seq.testsets import read_files, read_split

    sentence, given = settings["sentence"], {key: settings[key] for key in ("input", "reference")}
    if sentence and given["input"]:
        raise UserError("name one thing to look at: sentence=TEXT or input=FILE")
    if given["reference"] and not given["input"]:
        raise UserError("reference=FILE needs the file of its sources: input=FILE")
    if sentence:
        sources, references, data = [normalise(sentence)], None, {"sentence": sentence}
    elif given["input"]:
        texts = read_files(**given)
        sources, references, data = texts["input"], texts.get("reference"), given
    else:
        sources, references = read_split(run["data"], settings["split"], settings["data"])
        data = {"name": run["data"]["name"], "split": settings["split"]}
        references = None if settings["own"] else references
    return sources[: settings["most"]], references and references[: settings["most"]], data


def _measure(
    translator: "Translator",
    sources: list[str],
    references: list[str] | None,
    decoding: dict[str, Any],
    settings: dict[str, Any],
) -> tuple[dict[str, "Patterns"], int]:
    """Patterns by kind of attention, none in a model without, and the number of sentences looked at."""
    from seq2seq.evaluation.patterns import KINDS, Patterns
    from seq2seq.translator import REFUSE, Faults

    found = {kind: Patterns(kind) for kind in KINDS}
    faults, looked = Faults(settings["input"] or "source text"), 0
    for first in range(0, len(sources), settings["chunk"]):
        rows = slice(first, first + settings["chunk"])
        if references:
            options = {"batch_tokens": decoding["batch_tokens"], "max_source": settings["max_source"]}
            translations = translator.force(sources[rows], references[rows], **options)
        else:
            options = decoding | {"max_source": settings["max_source"], "too_long": REFUSE}
            translations = translator.translate(sources[rows], **options, attention=True)
        for number, translation in enumerate(translations, start=first + 1):
            faults.add_too_long(number, translation)
            looked += bool(translation.source) and translation.parts == 1
            _add(found, translation)
    faults.finish()
    return {kind: patterns for kind, patterns in found.items() if patterns.sentences}, looked


def _add(found: dict[str, "Patterns"], translation: "Translation") -> None:
    tables = translation.weights, translation.decoder_self, translation.encoder_self
    for patterns, weights in zip(found.values(), tables, strict=True):
        if weights is not None:
            patterns.add(weights)


if __name__ == "__main__":
    cli.run("patterns", attention_patterns, USAGE, multirun=False)
