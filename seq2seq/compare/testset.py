"""The one test set that all systems are compared on."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from seq2seq.aligner import gold_alignments
from seq2seq.compare.runs import Run
from seq2seq.data.corpora import fingerprint
from seq2seq.errors import UserError
from seq2seq.evaluation.length import word_counts
from seq2seq.evaluation.links import Gold
from seq2seq.testsets import read_corpus, read_files

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class TestSet:
    """Sentences with their references.

    name: for people. split: whether it is the test split that the runs were tested on, so that they have translations
    of it and scores. longest: words of the longest source in training, None where no run tells.
    gold: word alignments, None where there are none.
    """

    __test__ = False  # for pytest: no class of tests

    name: str
    sources: list[str]
    references: list[str]
    split: bool
    longest: int | None = None
    gold: list[Gold] | None = None

    def lengths(self, whose: str) -> np.ndarray:
        """Words of each sentence, (N,). whose: ``source`` or ``reference``."""
        sides = {"source": self.sources, "reference": self.references}
        if whose not in sides:
            raise UserError(f"length={whose}: choose source or reference")
        return word_counts(sides[whose])


def read_test_set(runs: Sequence[Run], files: dict[str, str | None], moved: dict[str, Any]) -> TestSet:
    """The files ``source`` and ``reference`` where they are named, else the test split of the runs.

    files: paths of ``source`` and ``reference``, both or neither, and of ``gold``, or None. moved: see ``read_corpus``.
    Raises UserError where there is nothing to compare on, where the runs were tested on different sentences, and where
    the corpus that lies there now is not theirs.
    """
    pair = {key: files[key] for key in ("source", "reference")}
    trained = [run for run in runs if run.trained]
    if any(pair.values()):
        texts = read_files(**pair)
        gold = files["gold"] and gold_alignments(files["gold"], texts["source"], texts["reference"])
        longest = _corpora(trained[:1], moved)[0][1] if trained else None
        return TestSet(str(pair["source"]), texts["source"], texts["reference"], False, longest, gold)
    if not trained:
        raise UserError("hypotheses= alone: name source=FILE and reference=FILE, or runs= whose test split it is")
    for run in trained:
        if not run.metrics["test"]:
            raise UserError(f"{run.path}: its corpus has no test split: name source=FILE and reference=FILE")
    kinds = {run.metrics["data"]["fingerprint"]: run for run in reversed(trained)}
    (corpus, longest), *others = _corpora([*dict.fromkeys([trained[0], *kinds.values()])], moved)
    test = corpus["test"]
    sources, references = list(test["source"]), list(test["target"])
    for other, _ in others:
        if (list(other["test"]["source"]), list(other["test"]["target"])) != (sources, references):
            raise UserError("the runs were tested on different sentences: compare them on source=FILE reference=FILE")
    if files["gold"]:
        gold = gold_alignments(files["gold"], sources, references)
    else:
        gold = gold_alignments(test) if "alignment" in test.column_names else None
    return TestSet(f"test of {trained[0].settings['data']['name']}", sources, references, True, longest, gold)


def _corpora(runs: Sequence[Run], moved: dict[str, Any]) -> list[tuple[Any, int]]:
    """The corpus of each run, and the words of its longest source in training."""
    found = []
    for run in runs:
        corpus = read_corpus(run.settings["data"], moved)
        if fingerprint(corpus) != run.metrics["data"]["fingerprint"]:
            raise UserError(
                f"{run.path}: was trained and tested on other text than what lies at data.* now; "
                "name where its corpus lies, such as data.dir=DIR"
            )
        found.append((corpus, int(word_counts(corpus["train"]["source"]).max())))
    return found
