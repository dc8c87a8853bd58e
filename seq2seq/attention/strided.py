"""Strided attention without the n × n matrix: the window by blocks, the rest of each position by its remainder.

Positions that are a multiple of the stride apart have one remainder, so that sorting by remainder turns "stride
divides i − j" into a full attention within each (Sparse Transformers, arXiv 1904.10509, §4.3). A softmax over both
parts joins them. Each position reads 2w + n/s keys: linear in n but for the stride's share, and n·√n where w and s
grow as √n, which is the paper's choice.
Legend: B batch, h heads, n positions, d head size, w window, c = ⌈n/w⌉ blocks, r keys a block reaches, s stride,
m = ⌈n/s⌉ positions of one remainder.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from seq2seq.attention.attend import masked_softmax
from seq2seq.attention.banded import cut, reach, reached_places
from seq2seq.attention.dot_product import repeat_heads
from seq2seq.attention.masks import Pattern


def by_remainder(vectors: Tensor, stride: int) -> Tensor:
    """(B, h, n, d) to (B, h, s, m, d)."""
    return cut(vectors, stride).transpose(2, 3)


def in_order(vectors: Tensor, size: int) -> Tensor:
    """Blocks (B, h, c, w, …) to (B, h, n, …)."""
    return vectors.flatten(2, 3)[:, :, :size]


def strided(
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    pattern: Pattern,
    real: Tensor | None = None,
    *,
    bias: Callable[[Tensor], Tensor] | None = None,
    scaled: bool = True,
) -> Tensor:
    """The context of ``scaled_dot_product`` under ``pattern.dense``. Arguments as those of ``banded.banded``."""
    size, window, stride = query.shape[2], pattern.window, pattern.stride
    keys, values = (repeat_heads(vectors, query.shape[1]) for vectors in (keys, values))  # (B, h, n, d)
    real = torch.ones_like(query[:, 0, :, 0], dtype=torch.bool) if real is None else real  # (B, n)
    query = query / math.sqrt(query.shape[-1]) if scaled else query

    blocks, near_keys = cut(query, window), reach(keys, window, pattern.causal)  # (B, h, c, w, d), (B, h, c, r, d)
    near = blocks @ near_keys.transpose(-2, -1)  # (B, h, c, w, r)
    i = torch.arange(near.shape[2] * window, device=query.device).view(-1, window, 1)  # (c, w, 1)
    j = reached_places(near.shape[2], window, pattern.causal, query.device)[:, None]  # (c, 1, r)
    near_mask = ((i - j).abs() < window) & pattern.allows(i, j)  # (c, w, r)
    near_mask = near_mask & reach(real[:, None], window, pattern.causal)[..., None, :]  # (B, 1, c, w, r)
    near = near if bias is None else near + bias(i - j)

    far = by_remainder(query, stride) @ by_remainder(keys, stride).transpose(-2, -1)  # (B, h, s, m, m)
    places = torch.arange(far.shape[-1] * stride, device=query.device).view(-1, stride).T  # (s, m)
    i, j = places[..., None], places[:, None]  # (s, m, 1), (s, 1, m)
    far_mask = ((i - j).abs() >= window) & pattern.allows(i, j)  # (s, m, m); what is near is counted there
    far_mask = far_mask & by_remainder(real[:, None, :, None], stride)[..., None, :, 0]  # (B, 1, s, m, m)
    far = far if bias is None else far + bias(i - j)

    energies = torch.cat([in_order(near, size), in_order(far.transpose(2, 3), size)], -1)  # (B, h, n, r + m)
    mask = torch.cat([in_order(near_mask, size), in_order(far_mask.transpose(2, 3), size)], -1)  # (B, 1, n, r + m)
    weights = masked_softmax(energies, mask).to(values.dtype)
    near, far = weights.split([near.shape[-1], far.shape[-1]], -1)  # (B, h, n, r), (B, h, n, m)
    context = in_order(cut(near, window) @ reach(values, window, pattern.causal), size)  # (B, h, n, d)
    spread = by_remainder(far, stride) @ by_remainder(values, stride)  # (B, h, s, m, d)
    return context + in_order(spread.transpose(2, 3), size)  # (B, h, n, d)
