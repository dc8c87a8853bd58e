"""Translate lines of text with a trained model: one line out for each line in."""

import errno
import json
import logging
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from seq2seq import cli
from seq2seq.errors import UserError

if TYPE_CHECKING:  # heavy: imported where they are used, so that --help answers at once
    from seq2seq.translator import Translation, Translator

log = logging.getLogger(__name__)

DAMAGED = "not UTF-8: translated without the bytes that are no text; convert it to UTF-8 to keep them"
USAGE = """
Translate lines of text with a trained model: one line out for each line in, an empty line stays empty.
Only a line feed ends a line. Bytes that are not UTF-8 are left out of a line, with a warning.

  echo "The cat sleeps." | python scripts/translate.py checkpoint=runs/grammar/bahdanau/TIME
  python scripts/translate.py checkpoint=RUN                          # type at a prompt; Ctrl-D ends
  python scripts/translate.py checkpoint=RUN input=in.txt output=out.txt
  python scripts/translate.py checkpoint=RUN input=in.txt nbest=5
  python scripts/translate.py checkpoint=RUN input=in.txt format=json heatmap=pictures head=max

Settings (files of conf/ explain each):
  checkpoint=PATH      a run's folder (its best checkpoint) or a .ckpt file
  input=FILE           UTF-8 text, one sentence a line; default standard input
  output=FILE          default standard output
  nbest=1              above 1: that many lines for each line in,
                       NUMBER ||| TRANSLATION ||| SCORE, numbers from 0, best first; needs decoding.beam as large
                       (an empty line has one translation, the empty one)
  format=text|json     json: an object a line with source, translation, score, finished, parts, source_tokens, tokens,
                       nbest, and attention[layer][head][target token][source token] (null without attention, and
                       where parts is not 1)
  attention=cross|all  all: json has decoder_self and encoder_self as well, nested alike; the keys of decoder_self are
                       <s> and the tokens before the last
  heatmap=DIR          a picture of the attention for each sentence, DIR/<line number>.png
  layer=-1  head=mean  what the pictures show: a number from 0, or mean; head also max
  end=shown|hidden     the column of the source's end, which may take most of the weight; hidden: what remains of each
                       row is divided by its sum. The title says which
  decoding=beam|greedy decoding.beam=5  decoding.alpha=0.6  decoding.max_length=200  decoding.batch_tokens=8192
                       decoding.precision=fp32|bf16 (bf16: faster on some hardware; some translations differ)
  max_source=N         subwords beyond which a line is too long; default: what the model was trained on
  too_long=split|refuse   split: translated in parts (sentences, else clauses, else as many words as fit) that are
                       joined again; refuse: an empty line comes out. A warning names such lines; json has parts,
                       2 and more, or 0
  device=auto          auto, cpu, cuda:1
  chunk=512            lines read before they are translated; 1 answers each line of a pipe at once
  workers=1            processes that share the cores, a chunk each at a time: faster for thousands of lines, of which
                       a few chunks are read ahead; at a prompt one answers
"""
CHOICES = {"format": ("text", "json"), "end": ("shown", "hidden"), "attention": ("cross", "all")}
MOST_PIECES = 200  # of either side in a picture: beyond it nobody can read the words
MOST_CHARACTERS = 100_000  # of a chunk: long lines are translated fewer at a time


def translate(settings: dict[str, Any]) -> dict[str, int]:
    """Translate from plain settings (the keys of conf/translate.yaml). Gives the numbers of lines and pictures."""
    source, target = settings["input"], settings["output"]
    if not settings["checkpoint"]:
        raise UserError("no checkpoint is named: checkpoint=PATH, a run's folder or a .ckpt file")
    for key, choices in CHOICES.items():
        if settings[key] not in choices:
            raise UserError(f"{key}={settings[key]}: choose {' or '.join(choices)}")
    if settings["attention"] == "all" and settings["format"] != "json":
        raise UserError("attention=all: text holds no weights; add format=json")
    for key in ("chunk", "workers"):
        if settings[key] < 1:
            raise UserError(f"{key}={settings[key]}: give at least 1")
    if settings["chunk"] == 1 < settings["workers"]:
        raise UserError("chunk=1 answers each line before it reads the next, which keeps one process busy: workers=1")
    if None in (source or sys.stdin, target or sys.stdout):
        raise UserError("standard input or output is closed: name input=FILE and output=FILE")
    if source and not Path(source).exists():
        raise UserError(f"input={source}: there is no such file")
    if source and target and Path(target).exists() and Path(source).samefile(target):
        raise UserError(f"output={target} is the input itself: name another file")

    from seq2seq.checkpoint import find_checkpoint
    from seq2seq.decoding.products import check_precision
    from seq2seq.decoding.search import check_search
    from seq2seq.heatmaps import check_places
    from seq2seq.translator import Translator, check_too_long

    decoding = settings["decoding"]
    search = {key: decoding[key] for key in ("beam", "alpha", "max_length", "coverage")}
    check_search(**search, nbest=settings["nbest"])
    check_precision(decoding["precision"])
    check_too_long(settings["max_source"], settings["too_long"])
    settings["checkpoint"] = find_checkpoint(settings["checkpoint"])  # the same for all workers
    translator = Translator.from_checkpoint(settings["checkpoint"], settings["device"])
    if settings["heatmap"]:
        check_places(translator, settings["layer"], settings["head"])
    try:
        with open(target, "wb") if target else nullcontext(sys.stdout.buffer) as out:
            return _translate_lines(translator, settings, out)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        raise UserError(f"{target or 'standard output'}: {error.strerror}, the output is not whole") from error


def _translate_lines(translator: "Translator", settings: dict[str, Any], out: BinaryIO) -> dict[str, int]:
    """Read, translate and write a chunk at a time, so that input of any size needs the same memory."""
    from seq2seq.data.readers import read_lines
    from seq2seq.translator import Faults
    from seq2seq.workers import translate_chunks

    typed = not settings["input"] and sys.stdin.isatty()
    name = settings["input"] or "standard input"
    faults = Faults(name)
    file = settings["input"] or (None if typed else os.dup(sys.stdin.fileno()))
    lines = cli.typed_lines() if typed else read_lines(file, name, lambda number: faults.add(number, DAMAGED))
    attention = bool(settings["heatmap"]) or settings["format"] == "json"
    most = 1 if typed else 64 if attention else settings["chunk"]  # weights are many times as large as the text
    options = settings["decoding"] | {key: settings[key] for key in ("nbest", "max_source", "too_long")}
    options |= {"attention": attention}
    counts = {"lines": 0, "heatmaps": 0}
    chunks, workers = _chunks(lines, min(most, settings["chunk"])), settings["workers"]
    if workers > 1 and not typed:
        found = translate_chunks(chunks, settings["checkpoint"], settings["device"], workers, options)
    else:
        found = (translator.translate(texts, **options) for texts in chunks)
    model = translator.settings["model"]["name"]
    with closing(found):
        for translations in found:
            for translation in translations:
                out.write(_format(translation, counts["lines"], settings).encode())
                counts["lines"] += 1
                faults.add_too_long(counts["lines"], translation)
                if settings["heatmap"] and translation.text:
                    counts["heatmaps"] += _draw(translation, counts["lines"], model, settings)
            out.flush()
    faults.finish()
    return counts


def _chunks(lines: Iterable[str], most: int) -> Iterator[list[str]]:
    """The lines, at most ``most`` at a time, and fewer where they are long."""
    chunk, characters = [], 0
    for line in lines:
        chunk.append(line)
        characters += len(line)
        if len(chunk) == most or characters > MOST_CHARACTERS:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk


def _format(translation: "Translation", number: int, settings: dict[str, Any]) -> str:
    if settings["format"] == "json":
        return json.dumps(translation.as_dict(settings["attention"] == "all"), ensure_ascii=False) + "\n"
    if settings["nbest"] > 1:
        return "".join(f"{number} ||| {text} ||| {score:.6f}\n" for text, score in translation.nbest)
    return f"{translation.text}\n"


def _draw(translation: "Translation", number: int, model: str, settings: dict[str, Any]) -> bool:
    """Draw the picture of line ``number`` if there can be one; else say why not, and give False."""
    from seq2seq.evaluation.figures import figure_to_png
    from seq2seq.heatmaps import draw_attention

    if translation.parts != 1:
        return False  # a warning has named the line
    if translation.weights is None:
        log.warning("model %s has no attention: there is nothing to draw", model)
        settings["heatmap"] = None
        return False
    if max(translation.weights.shape[2:]) > MOST_PIECES:
        log.warning("line %d: more than %d pieces, too long for a picture", number, MOST_PIECES)
        return False
    folder = Path(settings["heatmap"])
    folder.mkdir(parents=True, exist_ok=True)
    places = {"layer": settings["layer"], "head": settings["head"], "end_shown": settings["end"] == "shown"}
    figure_to_png(draw_attention(translation, model, **places), folder / f"{number:05}.png")
    return True


if __name__ == "__main__":
    cli.run("translate", translate, USAGE, multirun=False)
