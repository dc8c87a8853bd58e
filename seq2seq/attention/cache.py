"""Keys and values of the positions that a decoder has been at, with room for the next ones.

Legend: N rows of inference, k heads of keys and values, d head size, t positions, r ≥ t that there is memory for.
"""

from dataclasses import dataclass, field
from typing import Self

import torch
import torch.nn.functional as F
from torch import Tensor

ROOM = 8  # positions that one copy makes room for; a search that re-orders its rows copies what is free as well


@dataclass(frozen=True)
class Cache:
    """It never changes: ``append`` gives a new cache, which shares memory with this one where nobody can tell."""

    keys: Tensor  # (N, k, r, d), zeros from t on
    values: Tensor  # (N, k, r, d), likewise
    size: int  # t
    written: list[int] = field(default_factory=list)  # one number: positions in this memory, by whichever cache

    @classmethod
    def empty(cls, like: Tensor) -> Self:
        """Of no position, for the heads and features of keys (N, k, …, d)."""
        none = like.new_empty(*like.shape[:2], 0, like.shape[3])
        return cls(none, none, 0)

    @property
    def room(self) -> int:
        """Positions r − t that are not taken."""
        return self.keys.shape[2] - self.size

    def append(self, keys: Tensor, values: Tensor) -> Self:
        """With one position more, (N, k, 1, d) each.

        It is written behind those there are, unless there is no room, or another cache wrote there before, or a
        gradient is to flow back; then all are copied first.
        """
        new, size = (keys, values), self.size + 1
        if torch.is_grad_enabled():
            return type(self)(*(torch.cat([old, one], 2) for old, one in zip(self._taken(), new, strict=True)), size)
        memory, written = (self.keys, self.values), self.written
        if not self.room or written != [self.size]:
            memory, written = tuple(F.pad(old, (0, 0, 0, ROOM)) for old in self._taken()), [self.size]
        for buffer, one in zip(memory, new, strict=True):
            buffer[:, :, self.size : size] = one
        written[0] = size
        return type(self)(*memory, size, written)

    def without(self, place: int) -> Self:
        """All positions but the one at this place; no room is left."""
        parts = (torch.cat([part[:, :, :place], part[:, :, place + 1 :]], 2) for part in self._taken())
        return type(self)(*parts, self.size - 1)

    def select(self, rows: Tensor) -> Self:
        """See ``models.interface.Rows.select``."""
        return type(self)(self.keys.index_select(0, rows), self.values.index_select(0, rows), self.size, [self.size])

    def _taken(self) -> tuple[Tensor, Tensor]:
        return self.keys[:, :, : self.size], self.values[:, :, : self.size]  # (N, k, t, d) each
