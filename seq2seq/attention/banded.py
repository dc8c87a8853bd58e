"""Window and global attention in time and memory that grow with n, not with n².

The sequence is cut into blocks as long as the window (or 2, if that is 1). What a query's window reaches then lies in
its own block and in the neighbours (Longformer, arXiv 2004.05150, appendix A; BigBird, arXiv 2007.14062, appendix D),
so that each block is a small attention of its own, and blocks stand beside sentences in the batch. Keys of the first
positions are added to every block; their own queries, which see all, are done apart.
Legend: B batch, h heads, k heads of keys, n positions, d head size, w block, c = ⌈n/w⌉ blocks,
r reach of a block: w·2 keys where it is causal, else w·3; g first positions that all see; R = r + g.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from seq2seq.attention.dot_product import fused
from seq2seq.attention.masks import Pattern


def cut(vectors: Tensor, size: int) -> Tensor:
    """(B, h, n, d) to blocks (B, h, c, size, d), zeros at the end."""
    return F.pad(vectors, (0, 0, 0, -vectors.shape[2] % size)).unflatten(2, (-1, size))


def reach(vectors: Tensor, size: int, causal: bool) -> Tensor:
    """(B, k, n, …) to (B, k, c, r, …): each block with the one before it, and unless causal the one after it.

    Beyond the ends there is 0, or False.
    """
    blocks = vectors.movedim(2, -1)  # (B, k, …, n)
    after = -vectors.shape[2] % size + (0 if causal else size)
    blocks = F.pad(blocks, (size, after)).unfold(-1, (2 if causal else 3) * size, size)  # (B, k, …, c, r)
    return blocks.movedim((-2, -1), (2, 3))


def reached_places(count: int, size: int, causal: bool, device: torch.device) -> Tensor:
    """Positions of the keys that ``reach`` gives, (c, r); below 0 and beyond the end where there is none."""
    first = torch.arange(-size, (count - 1) * size, size, device=device)  # (c,)
    return first[:, None] + torch.arange((2 if causal else 3) * size, device=device)


def banded(
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    pattern: Pattern,
    real: Tensor | None = None,
    *,
    bias: Callable[[Tensor], Tensor] | None = None,
    scaled: bool = True,
) -> Tensor:
    """The context of ``scaled_dot_product`` under ``pattern.dense``, for the kinds window and global.

    query: (B, h, n, d); keys, values: (B, k, n, d); real: (B, n), False at padding. bias: from distances i − j of any
    shape to (h, …). Gives (B, h, n, d).
    """
    sentences, _, size, _ = query.shape
    block = max(2, pattern.window)  # w: ``fused`` does not expect a row by itself to be without keys
    count, first = -(-size // block), min(pattern.anchors, size)
    places = torch.arange(count * block, device=query.device).view(count, -1)  # (c, w)
    anchors = torch.arange(first, device=query.device)  # (g,)

    def reached(vectors: Tensor) -> Tensor:  # (B, k, n, d) to (B·c, k, R, d)
        near = reach(vectors, block, pattern.causal)  # (B, k, c, r, d)
        far = vectors[:, :, None, :first].expand(-1, -1, count, -1, -1)  # (B, k, c, g, d)
        return torch.cat([near, far], 3).transpose(1, 2).flatten(0, 1)

    near = reached_places(count, block, pattern.causal, query.device)  # (c, r)
    once = (near >= first) & (near < size)  # (c, r): the first positions come as ``anchors``
    key_places = torch.cat([near, anchors.expand(count, -1)], 1)  # (c, R)
    valid = torch.cat([once, once.new_ones(count, first)], 1)  # (c, R)
    mask = pattern.allows(places[..., None], key_places[:, None]) & valid[:, None]  # (c, w, R)
    if real is None:
        mask = mask.repeat(sentences, 1, 1)  # (B·c, w, R)
    else:
        known = reached(real[:, None, :, None])[:, 0, :, 0].view(sentences, count, 1, -1)  # (B, c, 1, R)
        mask = (mask & known).flatten(0, 1)  # (B·c, w, R)
    added = None
    if bias is not None:
        added = bias(places[..., None] - key_places[:, None]).transpose(0, 1)  # (c, h, w, R)
        added = added.repeat(sentences, 1, 1, 1)  # (B·c, h, w, R)
    blocks = cut(query, block).transpose(1, 2).flatten(0, 1)  # (B·c, h, w, d)
    context = fused(blocks, reached(keys), reached(values), mask[:, None], scaled=scaled, bias=added)
    context = context.unflatten(0, (sentences, count)).transpose(1, 2).flatten(2, 3)[:, :, :size]  # (B, h, n, d)
    if first == 0 or pattern.causal:  # causal: nothing lies between the first positions and their own past
        return context
    everywhere = torch.arange(size, device=query.device)
    added = None if bias is None else bias(anchors[:, None] - everywhere)  # (h, g, n)
    seen = None if real is None else real[:, None, None]  # (B, 1, 1, n)
    top = fused(query[:, :, :first], keys, values, seen, scaled=scaled, bias=added)  # (B, h, g, d)
    return torch.cat([top, context[:, :, first:]], 2)
