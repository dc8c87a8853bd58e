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
    """Its t positions never change: ``append`` gives a new cache, which may share memory with this one.

    What lies from t on is for a mask to close: zeros, or a position of the cache that shares the memory.
    """

    keys: Tensor  # (N, k, r, d)
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

    def append(self, keys: Tensor, values: Tensor, dropped: int | None = None) -> Self:
        """With one position more, (N, k, 1, d) each, in the type of those there are.

        dropped: the place of a position that leaves. The new one is written behind the others, unless there is no room,
        or another cache wrote there before, or one leaves, or a gradient is to flow back; then all are copied.
        """
        new = keys.to(self.keys.dtype), values.to(self.values.dtype)
        if torch.is_grad_enabled() or dropped is not None:
            end = self.size if dropped is None else dropped
            joined = (
                torch.cat([old[:, :, :end], old[:, :, end + 1 :], one], 2)
                for old, one in zip(self.taken(), new, strict=True)
            )
            return type(self)(*joined, self.size + (dropped is None))
        memory, written = (self.keys, self.values), self.written
        frozen = self.keys.is_inference() and not torch.is_inference_mode_enabled()
        if not self.room or frozen or written != [self.size]:
            memory, written = tuple(F.pad(old, (0, 0, 0, ROOM)) for old in self.taken()), [self.size]
        for buffer, one in zip(memory, new, strict=True):
            buffer[:, :, self.size : self.size + 1] = one
        written[0] = self.size + 1
        return type(self)(*memory, self.size + 1, written)

    def select(self, rows: Tensor) -> Self:
        """See ``models.interface.Rows.select``."""
        return type(self)(self.keys.index_select(0, rows), self.values.index_select(0, rows), self.size, [self.size])

    def taken(self) -> tuple[Tensor, Tensor]:
        """Keys and values of the t positions, (N, k, t, d) each."""
        return self.keys[:, :, : self.size], self.values[:, :, : self.size]
