"""Word alignments: links taken from attention weights, two directions made one, files of gold, and the error rate.

A link (i, j) joins source word i and target word j, both counted from 0. Legend: T_w target words, S_w source words.
"""

import heapq
import logging
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from seq2seq.errors import UserError

log = logging.getLogger(__name__)

Links = frozenset[tuple[int, int]]

EXTRACTIONS = ("argmax", "threshold")
SYMMETRISATIONS = ("intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and")
_NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))
_LINK = re.compile(r"([0-9]{1,6})([-p])([0-9]{1,6})", re.ASCII)


@dataclass(frozen=True)
class Gold:
    """What annotators say of one pair: ``sure`` links must be found, ``possible`` ones may be; sure is part of it."""

    sure: Links
    possible: Links


@dataclass(frozen=True)
class AlignmentScores:
    """Shares from 0 to 1 over all links of a corpus: precision and recall are better large, ``aer`` small."""

    precision: float
    recall: float
    aer: float
    sentences: int

    def as_dict(self) -> dict[str, float]:
        """Plain types for JSON."""
        return asdict(self)


def alignment_error_rate(predicted: Sequence[Links], gold: Sequence[Gold]) -> AlignmentScores:
    """AER = 1 − (|A∩S| + |A∩P|) / (|A| + |S|), counted over the corpus (Och & Ney 2003, §6).

    A: links predicted, S: sure, P: possible. Precision is |A∩P| / |A| and recall |A∩S| / |S|. Nothing out of nothing
    counts as all right: precision is 1 without a prediction, recall 1 without a sure link.
    Raises ValueError for different numbers of pairs.
    """
    links = sum(map(len, predicted))  # |A|
    sure = sum(len(one.sure) for one in gold)  # |S|
    right = sum(len(found & one.possible) for found, one in zip(predicted, gold, strict=True))  # |A∩P|
    found_sure = sum(len(found & one.sure) for found, one in zip(predicted, gold, strict=True))  # |A∩S|
    return AlignmentScores(
        precision=right / links if links else 1.0,
        recall=found_sure / sure if sure else 1.0,
        aer=1 - (found_sure + right) / (links + sure) if links + sure else 0.0,
        sentences=len(gold),
    )


def agreement(first: Sequence[Links], second: Sequence[Links]) -> float:
    """F1 of two aligners' links over the same pairs, 2|A∩B| / (|A| + |B|); 1 where both have none."""
    both = sum(len(one & other) for one, other in zip(first, second, strict=True))
    links = sum(map(len, [*first, *second]))
    return 2 * both / links if links else 1.0


def links_from_weights(weights: np.ndarray, method: str = "argmax", threshold: float = 0.25) -> Links:
    """Links of one pair from its weights (T_w, S_w), one row a target word.

    argmax: each target word is linked to the source word that it gives the most to, the first of equals.
    threshold: to each that it gives at least so much to. A row of zeros has no link.
    """
    if method == "threshold":
        rows, columns = np.nonzero((weights >= threshold) & (weights > 0))
    else:
        rows = np.flatnonzero(weights.max(1, initial=0) > 0)
        columns = weights[rows].argmax(1) if len(rows) else rows
    return frozenset(zip(columns.tolist(), rows.tolist(), strict=True))


def check_extraction(method: str, threshold: float) -> None:
    """Raises UserError for a way to take links that there is not."""
    if method not in EXTRACTIONS:
        raise UserError(f"extraction={method}: choose {' or '.join(EXTRACTIONS)}")
    if not 0 < threshold <= 1:
        raise UserError(f"threshold={threshold}: give a share of a word's attention, above 0 and at most 1")


def transposed(links: Links) -> Links:
    """The same links with source and target in each other's place."""
    return frozenset((j, i) for i, j in links)


def diagonal(source_words: int, target_words: int) -> Links:
    """The aligner that knows nothing: each target word is linked to the source word at the same share of the way."""
    if not source_words:
        return frozenset()
    return frozenset(((2 * j + 1) * source_words // (2 * target_words), j) for j in range(target_words))


def symmetrise(forward: Links, backward: Links, method: str) -> Links:
    """One set of links from those of both directions, both as (source, target) (Och & Ney 2003, §4; Koehn 2005).

    ``intersection`` and ``union`` are these. ``grow-diag`` begins with the intersection and adds neighbours (sides and
    corners) of its links that are in the union and join a word without a link, until there are none. ``-final`` then
    adds links of either direction that join a word without a link, ``-final-and`` those that join two.
    Cells are visited by source word, then target word. Raises UserError for an unknown method.
    """
    if method not in SYMMETRISATIONS:
        raise UserError(f"method={method}: choose one of {', '.join(SYMMETRISATIONS)}")
    if method == "union":
        return forward | backward
    links = set(forward & backward)
    if method == "intersection":
        return frozenset(links)
    sources, targets = {i for i, _ in links}, {j for _, j in links}

    def add(link: tuple[int, int]) -> None:
        links.add(link)
        sources.add(link[0])
        targets.add(link[1])

    _grow(links, sources, targets, forward | backward, add)
    for direction in (forward, backward) if "final" in method else ():
        for i, j in sorted(direction):
            free = (i not in sources, j not in targets)
            if all(free) if method.endswith("-and") else any(free):
                add((i, j))
    return frozenset(links)


def _grow(links: set, sources: set[int], targets: set[int], union: Links, add: Callable) -> None:
    """Add neighbours until none is left. A link that is added behind the cell in hand is visited in the same round."""
    size = -1
    while size != len(links):
        size = len(links)
        cells = sorted(links)  # a sorted list is a heap
        while cells:
            i, j = here = heapq.heappop(cells)
            for down, right in _NEIGHBOURS:
                near = (i + down, j + right)
                if near in union and (near[0] not in sources or near[1] not in targets):
                    add(near)
                    if near > here:
                        heapq.heappush(cells, near)


def write_pharaoh(sure: Links, possible: Links = frozenset()) -> str:
    """One line, without its end: ``i-j`` for each sure link and ``ipj`` for each that is only possible, from 0."""
    return " ".join(f"{i}{'-' if (i, j) in sure else 'p'}{j}" for i, j in sorted(sure | possible))


def read_pharaoh(
    lines: Iterable[str], lengths: Sequence[tuple[int, int]], *, base: int | None = None, name: str = "alignments"
) -> list[Gold]:
    """Gold from lines of ``i-j`` (sure) and ``ipj`` (possible), one line a pair; an empty line has no link.

    lengths: (source words, target words) of each pair. base: the number of the first word, 0 or 1. None: the lines say
    it themselves, 0 where a 0 stands anywhere, else 1 where a number is its sentence's length; where neither does, 0
    with a warning. name: of the text, for complaints.
    Raises UserError for the first line that is no such line or names a word that is not there, and for a wrong number
    of lines.
    """
    if base not in (None, 0, 1):
        raise UserError(f"words of gold are counted from 0 or from 1, not from {base}")
    rows = [_parse(line, f"{name}, line {number}") for number, line in enumerate(lines, start=1)]
    if len(rows) != len(lengths):
        raise UserError(f"{name} has {len(rows)} lines for {len(lengths)} sentence pairs: line k must belong to pair k")
    if base is None:
        base = _base(rows, lengths, name)
    gold = []
    for number, (row, size) in enumerate(zip(rows, lengths, strict=True), start=1):
        for i, kind, j in row:
            if not (base <= i < size[0] + base and base <= j < size[1] + base):
                raise UserError(
                    f"{name}, line {number}: {i}{kind}{j} names a word that is not there: the pair has {size[0]} "
                    f"source and {size[1]} target words, counted from {base}"
                )
        sure = frozenset((i - base, j - base) for i, kind, j in row if kind == "-")
        gold.append(Gold(sure, sure | {(i - base, j - base) for i, _, j in row}))
    return gold


def _parse(line: str, where: str) -> list[tuple[int, str, int]]:
    row = []
    for text in line.split():
        match = _LINK.fullmatch(text)
        if not match:
            raise UserError(f"{where}: {text[:40]!r} is no link; write i-j (sure) or ipj (possible), source word first")
        row.append((int(match[1]), match[2], int(match[3])))
    return row


def _base(rows: list[list[tuple[int, str, int]]], lengths: Sequence[tuple[int, int]], name: str) -> int:
    """The number of the first word, as the numbers themselves show it."""
    if any(0 in (i, j) for row in rows for i, _, j in row):
        return 0
    if any(i == size[0] or j == size[1] for row, size in zip(rows, lengths, strict=True) for i, _, j in row):
        return 1
    if any(rows):
        log.warning("%s: no number shows whether words are counted from 0 or from 1; taken as from 0", name)
    return 0
