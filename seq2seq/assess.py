"""Translate a split and score it: one path for the end of a training and for ``evaluate``."""

import logging
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from datasets import DatasetDict
from rich.console import Console

from seq2seq.data.batching import LONGEST
from seq2seq.data.corpora import load_corpus
from seq2seq.decoding.products import FP32
from seq2seq.errors import UserError
from seq2seq.evaluation.bleu import Scores, score
from seq2seq.evaluation.figures import bleu_vs_length_figure, figure_to_png
from seq2seq.evaluation.length import EDGES, Bucket, bleu_by_length
from seq2seq.evaluation.report import print_tables, score_metrics, scores_table
from seq2seq.translator import Faults, Translator

log = logging.getLogger(__name__)

TER_WORDS = 1000  # of a hypothesis and its reference: TER then takes seconds, and minutes for five times as many

# What each corpus takes of the settings of conf/data, and by which name.
_LOADER_KEYS = {
    "grammar": {"grammar_seed": "seed"},
    "files": {key: key for key in ("dir", "train", "dev", "test")},
    "iwslt15": {"base": "base"},
    "opus100": {"base": "base"},
}


@dataclass(frozen=True)
class Assessment:
    """Hypotheses of a split with their scores.

    buckets: empty where there is no source text to measure lengths by. seconds: wall time of translating.
    decoding_label: such as ``beam 5, alpha 0.6``; empty where the hypotheses came from elsewhere.
    """

    hypotheses: list[str]
    scores: Scores
    buckets: list[Bucket]
    seconds: float
    decoding_label: str

    def metrics(self) -> dict[str, Any]:
        """The ``test`` part of metrics.json."""
        return score_metrics(self.scores, self.buckets, self.decoding_label, self.seconds)


def show(assessment: Assessment, console: Console) -> None:
    """Print the scores, and BLEU by length, as tables."""
    with suppress(SystemExit):  # rich's answer to a closed pipe (``| head -1``), but there may be files to write yet
        if assessment.buckets:
            print_tables(console, assessment.scores, assessment.buckets, assessment.decoding_label)
        else:
            console.print(scores_table(assessment.scores, assessment.decoding_label))


def save(
    assessment: Assessment, folder: str | Path, name: str | None = None, split: str = "test", texts: bool = True
) -> None:
    """Write ``<split>.hyp``, one hypothesis a line, and ``bleu_by_length.png``.

    name: the curve's in the legend, such as the model's; None: how it was decoded. texts: False leaves the hypotheses
    out, for they came from a file.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if texts:
        text = "".join(f"{hypothesis}\n" for hypothesis in assessment.hypotheses)
        (folder / f"{split}.hyp").write_text(text, encoding="utf-8", newline="\n")
    if assessment.buckets:
        curve = {name or assessment.decoding_label: assessment.buckets}
        figure_to_png(bleu_vs_length_figure(curve), folder / "bleu_by_length.png")


def assess(
    translator: Translator,
    sources: Sequence[str],
    references: Sequence[str],
    decoding: dict[str, Any],
    *,
    edges: Sequence[int] = EDGES,
    quantiles: int | None = None,
) -> Assessment:
    """Translate ``sources`` and score the result. decoding: keywords of ``Translator.translate``.

    Sources are translated whole, as in validation, up to ``LONGEST`` pieces unless ``decoding`` has another
    ``max_source``; warns of longer ones. edges, quantiles: as ``bleu_by_length`` takes them.
    Raises UserError for settings or texts that do not fit.
    """
    if len(sources) != len(references):  # said before the time of translating is spent
        raise UserError(f"{len(sources)} source lines but {len(references)} references: give one for each")
    start = time.perf_counter()
    translations = translator.translate(sources, **{"max_source": LONGEST} | decoding)
    seconds = time.perf_counter() - start
    faults = Faults("source text")
    for number, translation in enumerate(translations, start=1):
        faults.add_too_long(number, translation)
    faults.finish()
    hypotheses = [translation.text for translation in translations]
    return assess_texts(
        sources, hypotheses, references, label_decoding(decoding), seconds, edges=edges, quantiles=quantiles
    )


def assess_texts(
    sources: Sequence[str] | None,
    hypotheses: Sequence[str],
    references: Sequence[str],
    decoding_label: str = "",
    seconds: float = 0.0,
    *,
    edges: Sequence[int] = EDGES,
    quantiles: int | None = None,
) -> Assessment:
    """Score hypotheses that are there already. Without ``sources`` nothing is known about lengths: no buckets.

    TER, whose time and memory grow with the square of a line's length, is left out where a line is no sentence.
    """
    areas = [len(one.split()) * len(other.split()) for one, other in zip(hypotheses, references, strict=False)]
    largest = max(range(len(areas)), key=areas.__getitem__, default=0)
    with_ter = not areas or areas[largest] <= TER_WORDS**2
    if not with_ter:
        log.warning("line %d is too long for TER, which is left out", largest + 1)
    scores = score(hypotheses, references, with_ter)
    buckets = [] if sources is None else bleu_by_length(sources, hypotheses, references, edges, quantiles)
    return Assessment(list(hypotheses), scores, buckets, seconds, decoding_label)


def decoding_settings(run: dict[str, Any], asked: dict[str, Any]) -> dict[str, Any]:
    """How a run was tested, but for what is not None in ``asked``; keys that a run before them lacks are left out."""
    chosen = {key: run["decoding"].get(key) if value is None else value for key, value in asked.items()}
    return {key: value for key, value in chosen.items() if value is not None}


def label_decoding(decoding: dict[str, Any]) -> str:
    """``greedy``, or ``beam 5, alpha 0.6``; with the coverage penalty, and the precision, where they are not usual."""
    precision = f", {decoding['precision']}" if decoding.get("precision", FP32) != FP32 else ""
    if decoding["beam"] == 1:
        return f"greedy{precision}"
    penalty = f", coverage {decoding['coverage']:g}" if decoding.get("coverage") else ""
    return f"beam {decoding['beam']}, alpha {decoding['alpha']:g}{penalty}{precision}"


def corpus_from(data: dict[str, Any]) -> DatasetDict:
    """The corpus that the settings of a ``conf/data`` file describe; its loader gets the keys that it takes."""
    name = data["name"]
    keys = {"source": "source", "target": "target"} | _LOADER_KEYS.get(name, {})
    return load_corpus(name, **{argument: data[key] for key, argument in keys.items() if data.get(key) is not None})
