"""Self-attention: queries, keys and values from one sequence, so that positions and patterns have a meaning.

Legend: B batch, T positions, D model size, h heads, k heads of keys and values, d = D/h head size, N rows of inference,
t cached positions, r ≥ t that the cache has memory for.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from seq2seq.attention.banded import banded
from seq2seq.attention.cache import Cache
from seq2seq.attention.dot_product import fused, scaled_dot_product
from seq2seq.attention.masks import Pattern
from seq2seq.attention.multihead import MultiHeadAttention
from seq2seq.attention.positions import Positions
from seq2seq.attention.strided import strided

# Below so many positions, or windows, cutting into blocks costs more than the empty part of a dense mask (on a CPU).
SHORT, FEW_WINDOWS = 256, 4
SPARSE = {"window": banded, "global": banded, "strided": strided}


class SelfAttention(MultiHeadAttention):
    """Over a whole sequence, or one position more of a sequence whose keys and values are cached."""

    def __init__(self, size: int, heads: int, kv_heads: int | None, scale: str, pattern: Pattern) -> None:
        super().__init__(size, heads, kv_heads, scale)
        self.pattern = pattern

    def sequence(
        self, states: Tensor, positions: Positions, real: Tensor | None = None, weights: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """states: (B, T, D); real: (B, T), False at padding. Gives (B, T, D), and on request weights (B, h, T, T)."""
        size, pattern = states.shape[1], self.pattern
        places = torch.arange(size, device=states.device)
        query = positions.rotate(self.queries(states), places)  # (B, h, T, d)
        keys, values = self.keys_values(states)  # (B, k, T, d) each
        keys = positions.rotate(keys, places)
        if not weights and pattern.kind in SPARSE and size > max(SHORT, FEW_WINDOWS * pattern.window):
            bias = positions.bias if positions.relative else None
            context = SPARSE[pattern.kind](query, keys, values, pattern, real, bias=bias, scaled=self.scaled)
            return self.join(context), None
        bias = positions.bias(places[:, None] - places) if positions.relative else None  # (h, T, T)
        triangle = pattern.kind == "full" and pattern.causal and real is None and bias is None and not weights
        mask = None if real is None else real[:, None, None]  # (B, 1, 1, T)
        if not triangle and (pattern.causal or pattern.kind != "full"):
            dense = pattern.dense(size, states.device)  # (T, T)
            mask = dense if mask is None else mask & dense  # (B, 1, T, T)
        if weights:
            context, alignment = scaled_dot_product(query, keys, values, mask, scaled=self.scaled, bias=bias)
            return self.join(context), alignment
        return self.join(fused(query, keys, values, mask, causal=triangle, scaled=self.scaled, bias=bias)), None

    def step(self, states: Tensor, positions: Positions, past: Cache, done: int) -> tuple[Tensor, Cache]:
        """Position ``done`` of a causal sequence. states: (N, 1, D); past: of the positions ``pattern.kept(done)``.

        Gives (N, 1, D), and the cache of ``pattern.kept(done + 1)``.
        """
        here = torch.full((1,), done, device=states.device)
        query = positions.rotate(self.queries(states), here)  # (N, h, 1, d)
        keys, values = self.keys_values(states)  # (N, k, 1, d) each
        places = self.pattern.kept(done + 1, states.device)  # (t,)
        oldest = self.pattern.anchors if len(places) == past.size else None  # of the window, where it falls out
        cache = past.append(positions.rotate(keys, here), values, oldest)
        bias = positions.bias(here[:, None] - places) if positions.relative else None  # (h, 1, t)
        mask = self.pattern.allows(here[:, None], places) if self.pattern.kind == "strided" else None  # (1, t)
        if cache.room and states.device.type == "cpu":
            # r keys: their number should not change at every step there, because a kernel is made for each
            keys, values = cache.keys, cache.values
            taken = torch.arange(keys.shape[2])[None] < cache.size  # (1, r)
            mask = taken if mask is None else F.pad(mask, (0, cache.room))
            bias = None if bias is None else F.pad(bias, (0, cache.room))
        else:
            keys, values = cache.taken()
        return self.join(fused(query, keys, values, mask, scaled=self.scaled, bias=bias)), cache
