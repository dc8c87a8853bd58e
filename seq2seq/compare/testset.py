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
    of it and scores. longest: words of the longest source in the training text, None where no run tells.
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
        return TestSet(str(pair["source"]), texts["source"], texts["reference"], False, _longest(trained, moved), gold)
    if not trained:
        raise UserError("hypotheses= alone: name source=FILE and reference=FILE, or runs= whose test split it is")
    for run in trained:
        if not run.metrics["test"]:
            raise UserError(f"{run.path}: its corpus has no test split: name source=FILE and reference=FILE")
    corpus, *others = found = _corpora(trained, moved)
    test = corpus["test"]
    sources, references = list(test["source"]), list(test["target"])
    for other in others:
        if (list(other["test"]["source"]), list(other["test"]["target"])) != (sources, references):
            raise UserError("the runs were tested on different sentences: compare them on source=FILE reference=FILE")
    if files["gold"]:
        gold = gold_alignments(files["gold"], sources, references)
    else:
        gold = gold_alignments(test) if "alignment" in test.column_names else None
    name = f"test of {trained[0].settings['data']['name']}"
    return TestSet(name, sources, references, True, _longest_of(found), gold)


def _corpora(runs: Sequence[Run], moved: dict[str, Any]) -> list[Any]:
    """The different corpora of the runs, the first one's first."""
    found = []
    for run in {run.metrics["data"]["fingerprint"]: run for run in runs}.values():
        corpus = read_corpus(run.settings["data"], moved)
        if fingerprint(corpus) != run.metrics["data"]["fingerprint"]:
            raise UserError(
                f"{run.path}: was trained and tested on other text than what lies at data.* now; "
                "name where its corpus lies, such as data.dir=DIR"
            )
        found.append(corpus)
    return found


def _longest_of(corpora: Sequence[Any]) -> int:
    """Words of the longest source in their training text, of which a run may have left out what was too long for it."""
    return max(int(word_counts(corpus["train"]["source"]).max()) for corpus in corpora)


def _longest(runs: Sequence[Run], moved: dict[str, Any]) -> int | None:
    """The same of runs whose corpora need not be here any more: then it is not known."""
    try:
        return _longest_of(_corpora(runs, moved)) if runs else None
    except UserError as error:
        log.warning("how long sentences were in training is not known: %s", error)
        return None
