"""What a head of attention does, in a few numbers: means over the rows of its matrices.

| number   | of row t of T, with weights α over the keys s of S                                                  |
|----------|-----------------------------------------------------------------------------------------------------|
| diagonal | cross-attention: α where ``diagonal`` is True, the keys that stand where the row stands             |
| itself   | self-attention: α of key t                                                                          |
| previous | self-attention: α of key t − 1; the first row has none and does not count                           |
| sink     | α of the column that has most of its sentence's mass: an attention sink where all rows look there   |
| entropy  | −Σ α ln α, in nats: 0 for a row with one key, and at most ln n where it may see n keys              |

A row whose weights sum to less than 1 (local-p's) is divided by its sum first, so that all are shares of what there is;
a row of zeros counts as 0 everywhere. Short sentences have large sinks: no largest column has less than 1/S.
Attention sinks: Xiao et al. 2023, arXiv 2309.17453, §3.1.
Legend: L layers, h heads, T rows (queries), S columns (keys).
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

KINDS = ("cross", "decoder_self", "encoder_self")


@dataclass(frozen=True)
class HeadPattern:
    """Means over ``rows`` rows of one head; see the table above. None: not a number of this kind of attention.

    layer, head: numbers from 0. sink_at: for which share of the rows the sink is their sentence's ``first`` column, its
    ``last``, or another one. entropy_most: the mean of ln n, with n all keys, in causal attention all up to the row's
    own; what a window hides is not taken off.
    """

    layer: int
    head: int
    rows: int
    diagonal: float | None
    itself: float | None
    previous: float | None
    sink: float
    sink_at: dict[str, float]
    entropy: float
    entropy_most: float

    def as_dict(self) -> dict[str, Any]:
        """Plain types for JSON."""
        return asdict(self)


def diagonal(rows: int, columns: int) -> np.ndarray:
    """The diagonal of a matrix that is not square, (T, S) bool; of a square one it is the usual one.

    Row t covers [t/T, (t+1)/T] of its sentence, column s [s/S, (s+1)/S] of its own. On the diagonal are the cells where
    the middle of the shorter of the two lies in the longer: each row has at least one (two where it is a border).
    """
    row, column = 2 * np.arange(rows)[:, None] + 1, 2 * np.arange(columns) + 1
    return np.abs(row * columns - column * rows) <= max(rows, columns)


class Patterns:
    """Collects the matrices of one kind of attention, sentence by sentence."""

    def __init__(self, kind: str) -> None:
        """kind: of KINDS."""
        self.kind, self.sentences = kind, 0
        self._rows, self._most = 0, 0.0
        self._sums: dict[str, np.ndarray] = {}  # (L, h) each, over rows

    def add(self, weights: Any, rows: int | None = None, columns: int | None = None) -> None:
        """weights: (L, h, T, S) of one sentence, an array or a CPU tensor. rows, columns: how many are no padding."""
        table = np.asarray(weights, dtype=np.float64)[..., :rows, :columns]  # (L, h, T, S)
        total = table.sum(-1, keepdims=True)
        table = np.divide(table, total, out=np.zeros_like(table), where=total > 0)
        count, keys = table.shape[2:]
        share = table.sum(2)  # (L, h, S)
        largest = share.argmax(-1)  # (L, h)
        sums = {
            "sink": share.max(-1),
            "first": count * (largest == 0),
            "last": count * (largest == keys - 1) * (largest > 0),
            "entropy": -(table * np.log(np.where(table > 0, table, 1.0))).sum((2, 3)),
        }
        if self.kind == "cross":
            sums["diagonal"] = (table * diagonal(count, keys)).sum((2, 3))
        else:
            sums["itself"], sums["previous"] = (np.trace(table, offset, 2, 3) for offset in (0, -1))
        self._sums = {name: self._sums.get(name, 0.0) + value for name, value in sums.items()}
        seen = np.arange(1, count + 1) if self.kind == "decoder_self" else np.full(count, keys)  # (T,)
        self._most += float(np.log(seen).sum())
        self._rows += count
        self.sentences += 1

    def heads(self) -> list[HeadPattern]:
        """A record for each layer and head, in their order; none where nothing was added."""
        if not self._rows:
            return []
        return [self._head(*place) for place in np.ndindex(self._sums["sink"].shape)]

    def _head(self, layer: int, head: int) -> HeadPattern:
        sums = {name: float(values[layer, head]) for name, values in self._sums.items()}
        means = {name: value / self._rows for name, value in sums.items()}
        after_first = self._rows - self.sentences
        at = {"first": sums["first"], "last": sums["last"], "other": self._rows - sums["first"] - sums["last"]}
        return HeadPattern(
            layer=layer,
            head=head,
            rows=self._rows,
            diagonal=means.get("diagonal"),
            itself=means.get("itself"),
            previous=sums["previous"] / after_first if "previous" in sums and after_first else None,
            sink=means["sink"],
            sink_at={place: count / self._rows for place, count in at.items()},
            entropy=means["entropy"],
            entropy_most=self._most / self._rows,
        )
