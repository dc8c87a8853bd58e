"""Sentences to look at: heatmaps of the same few under every model, and where a system gains and loses most."""

import base64
import io
from collections.abc import Sequence
from typing import Any

import numpy as np

from seq2seq.compare.runs import Run, digest
from seq2seq.compare.scores import Scored
from seq2seq.compare.testset import TestSet
from seq2seq.data.batching import LONGEST
from seq2seq.evaluation.length import sentence_bleu
from seq2seq.heatmaps import draw_attention

DRAWN_DPI = 130  # sharp also where it is enlarged
DRAWN = (6, 20)  # words of the shortest and the longest sentence drawn: more do not fit a page


def drawn_sentences(test: TestSet, count: int) -> list[int]:
    """Numbers of ``count`` sentences whose lengths are spread over DRAWN, or come near it; the first of each length."""
    lengths = test.lengths("source")
    chosen: list[int] = []
    for wanted in np.linspace(*DRAWN, count):
        order = np.argsort(np.abs(lengths - wanted), kind="stable")
        chosen += [number for number in order.tolist() if number not in chosen][:1]
    return sorted(chosen, key=lambda number: (lengths[number], number))


def heatmap(run: Run, name: str, source: str, reference: str, layer: int | str, head: int | str) -> str | None:
    """The attention over a reference as a PNG in base64, stored; None for a model without attention.

    All models are forced through the same words, so that their pictures have the same rows. name: for the title.
    """

    def make() -> str | None:
        (one,) = run.translator.force([source], [reference], max_source=LONGEST)
        if one.weights is None:
            return None
        stream = io.BytesIO()
        draw_attention(one, name, layer, head).savefig(stream, format="png", dpi=DRAWN_DPI, metadata={"Software": None})
        return base64.b64encode(stream.getvalue()).decode("ascii")

    return run.stored("heatmap", [digest([source, reference]), name, layer, head], make)


def differences(one: Scored, baseline: Scored, test: TestSet, count: int) -> dict[str, list[dict[str, Any]]]:
    """The sentences in which ``one`` is above and below the baseline by most sentence BLEU: ``gained`` and ``lost``."""
    scores, others = sentence_bleu(one.counts), sentence_bleu(baseline.counts)
    order = sorted(range(len(scores)), key=lambda number: (others[number] - scores[number], number))
    gained = [number for number in order[:count] if scores[number] > others[number]]
    lost = [number for number in order[::-1][:count] if scores[number] < others[number]]

    def shown(number: int) -> dict[str, Any]:
        return {
            "sentence": number + 1,
            "words": len(test.sources[number].split()),
            "source": test.sources[number],
            "reference": test.references[number],
            "baseline": baseline.hypotheses[number],
            "system": one.hypotheses[number],
            "bleu": [others[number], scores[number]],
        }

    return {"gained": list(map(shown, gained)), "lost": list(map(shown, lost))}


def heatmaps(
    runs: Sequence[tuple[str, Run]], test: TestSet, count: int, layer: int | str, head: int | str
) -> list[dict[str, Any]]:
    """Of each sentence drawn its text and ``pictures``, a pair of name and PNG (or None) for each of ``runs``."""
    found = []
    for number in drawn_sentences(test, count):
        source, reference = test.sources[number], test.references[number]
        pictures = []
        for name, run in runs:
            pictures.append((name, heatmap(run, name, source, reference, layer, head)))
            run.release()
        found.append({"sentence": number + 1, "source": source, "reference": reference, "pictures": pictures})
    return found
