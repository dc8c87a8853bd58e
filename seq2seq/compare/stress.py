"""A stress test of length: consecutive sentences of the test set, joined and translated as one.

What is joined holds nothing that the model could not translate sentence by sentence; so beside each score stands that
of the same sentences translated apart and joined afterwards. The difference is what length costs, and what it costs
that there are several sentences in a line: a model that has never seen this may end after the first.

Legend: G groups.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from seq2seq.compare.scores import Scored, counts, mean_of
from seq2seq.compare.testset import TestSet
from seq2seq.evaluation.length import bleu_of, bootstrap_interval, word_counts

JOINED = (2, 3, 4)


def groups_of(sentences: int, together: int, most: int) -> list[list[int]]:
    """Numbers of consecutive sentences, G x ``together``; no sentence is in two groups.

    most: groups; where there are more, so many at equal distances over the whole set.
    """
    count = sentences // together
    chosen = range(count) if count <= most else [place * count // most for place in range(most)]
    return [list(range(group * together, group * together + together)) for group in chosen]


def joined(lines: Sequence[str], groups: Sequence[Sequence[int]]) -> list[str]:
    """The lines of each group as one."""
    return [" ".join(filter(None, (lines[number] for number in group))) for group in groups]


def stress_sets(test: TestSet, most: int, smallest: int) -> dict[int, list[list[int]]]:
    """The groups of each number of sentences joined; none where there would be fewer than ``smallest``."""
    found = {together: groups_of(len(test.sources), together, most) for together in JOINED}
    return {together: groups for together, groups in found.items() if len(groups) >= max(smallest, 1)}


def stress_words(test: TestSet, groups: Sequence[Sequence[int]]) -> dict[str, float | None]:
    """How many groups, the mean and the most words of their sources, and how many are longer than all of training."""
    lengths = word_counts(joined(test.sources, groups))
    return {
        "groups": len(groups),
        "mean_words": float(lengths.mean()),
        "most_words": int(lengths.max()),
        "longer": None if test.longest is None else int((lengths > test.longest).sum()),
    }


def stress(runs: Sequence[Scored], test: TestSet, groups: Sequence[Sequence[int]]) -> dict[str, Any]:
    """BLEU of joined sentences, ``whole`` and ``apart``, over the runs of one system; and an interval of ``whole``.

    interval: lowest and highest run, of one run its 95 % bootstrap interval.
    """
    together = len(groups[0])
    references = joined(test.references, groups)
    tables: dict[str, list[np.ndarray]] = {"whole": [], "apart": []}
    for one in runs:
        whole, _ = one.run.translate(joined(test.sources, groups), factor=together)
        for kind, texts in (("whole", whole), ("apart", joined(one.hypotheses, groups))):
            tables[kind].append(counts(one.run.store, texts, references))
    scores = {kind: mean_of([bleu_of(table) for table in each]) for kind, each in tables.items()}
    values = scores["whole"]["values"]
    interval = (min(values), max(values)) if len(values) > 1 else bootstrap_interval(tables["whole"][0], 1000, 12345)
    return scores | {"interval": list(interval)}
