"""Scaled dot-product attention ("Attention Is All You Need", arXiv 1706.03762, §3.2.1), twice: readable, and fused.

Keys and values may have fewer heads than the queries: g neighbouring query heads then share one (Ainslie et al. 2023,
arXiv 2305.13245, §2.2; with one for all, Shazeer 2019, arXiv 1911.02150, §3).
Legend: … any leading axes, T queries, S keys, d head size, h heads, k = h/g heads of keys and values.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from seq2seq.attention.attend import attend
from seq2seq.attention.masks import causal_mask

# On a CPU ``few_passes`` is faster than PyTorch's kernel up to so many
FEW_QUERIES = 8  # in fp32: those of a step of inference
FEW_ENERGIES = 256 * 256  # of a head, in bf16: a processor's cache still holds them
CLOSED = torch.finfo(torch.float32).min / 2  # an energy whose weight is exactly 0; a row of nothing else is not NaN


def repeat_heads(vectors: Tensor, heads: int) -> Tensor:
    """Keys or values (…, k, S, d) to (…, h, S, d): query head i reads head i // g."""
    group = heads // vectors.shape[-3]
    return vectors if group == 1 else vectors.repeat_interleave(group, -3)


def scaled_dot_product(
    query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, *, scaled: bool = True, bias: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """softmax(Q Kᵀ / √d + bias) V, the readable way: gives the weights too.

    query: (…, h, T, d); keys and values: (…, k, S, d); mask: broadcastable to (…, h, T, S), True = may attend.
    scaled: false leaves 1/√d out; energies then grow with d and the softmax saturates (footnote 4).
    bias: added to the energies, broadcastable to them.
    Gives context (…, h, T, d) and weights (…, h, T, S), which take memory in proportion to T·S.
    """
    if query.dim() > 2:
        keys, values = (repeat_heads(vectors, query.shape[-3]) for vectors in (keys, values))  # (…, h, S, d)
    energies = query @ keys.transpose(-2, -1)  # (…, h, T, S)
    if scaled:
        energies = energies / math.sqrt(query.shape[-1])
    return attend(energies if bias is None else energies + bias, values, mask)


def fused(
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    mask: Tensor | None,
    *,
    causal: bool = False,
    scaled: bool = True,
    bias: Tensor | None = None,
) -> Tensor:
    """The same context without the weights: by PyTorch's kernel, or by ``few_passes``.

    Arguments as above, shapes (B, h, T, d).
    causal: keys up to the query's own position, for S = T without mask and bias. bias: (h, T, S). Keys and values are
    taken to the type of the query.
    A mask of rows (…, T, S) may leave one of them without keys: its context is 0, whatever the kernel makes of it. A
    mask of a single row (…, 1, S) is read at every step of inference and not looked through: without keys its context
    means nothing.
    """
    keys, values = keys.to(query.dtype), values.to(query.dtype)
    on_cpu, narrow = query.device.type == "cpu", query.dtype in (torch.bfloat16, torch.float16)
    few = on_cpu and query.dtype == torch.float32 and query.shape[2] <= FEW_QUERIES
    if on_cpu and narrow:
        # Energies that nothing scales are large, and bf16 keeps three digits of them.
        few = query.dtype == torch.bfloat16 and scaled and query.shape[2] * keys.shape[2] <= FEW_ENERGIES
    if on_cpu and narrow and not few:  # the kernel is several times slower there than in fp32
        with torch.autocast("cpu", enabled=False):
            wide = (vectors.float() for vectors in (query, keys, values))
            return fused(*wide, mask, causal=causal, scaled=scaled, bias=bias).to(query.dtype)
    empty = None
    if mask is not None and mask.shape[-2] > 1:
        empty = ~mask.any(-1, keepdim=True)  # (…, T, 1)
        mask = mask | empty
    if few and causal:
        causal, mask = False, causal_mask(query.shape[2])  # (T, T)
    if mask is not None and (few or bias is not None):
        closed = torch.where(mask, 0.0, CLOSED)  # (…, T, S)
        bias = closed if bias is None else bias + closed
    if few:
        context = few_passes(query, keys, values, bias, scaled=scaled)  # (B, h, T, d)
    else:
        context = F.scaled_dot_product_attention(
            *(query, keys, values, mask if bias is None else bias.to(query.dtype)),
            is_causal=causal,
            scale=None if scaled else 1.0,
            enable_gqa=query.shape[1] != keys.shape[1],
        )  # (B, h, T, d)
    return context if empty is None else context.masked_fill(empty, 0.0)


def few_passes(query: Tensor, keys: Tensor, values: Tensor, bias: Tensor | None, *, scaled: bool = True) -> Tensor:
    """The same by plain products and as little else as possible, for energies that fit into a cache.

    bias: added to the energies, broadcastable to (B, h, T, S); it closes what must not be attended to as well. Products
    are in the type of the query, the softmax is in fp32. Query heads that share keys stand side by side as queries of
    one head, so that no key is copied.
    """
    (batch, heads, queries, _), (_, shared, count, size) = query.shape, values.shape
    rows = batch * shared, heads // shared * queries
    query = query.reshape(*rows, query.shape[-1])  # (B·k, g·T, d)
    scale = 1 / math.sqrt(query.shape[-1]) if scaled else 1.0
    energies = torch.bmm(query, keys.flatten(0, 1).transpose(1, 2)).view(batch, heads, queries, count).float()
    energies = energies * scale if bias is None else torch.add(bias.float(), energies, alpha=scale)
    weights = energies.softmax(-1)  # (B, h, T, S)
    context = torch.bmm(weights.to(values.dtype).view(*rows, count), values.flatten(0, 1))  # (B·k, g·T, d)
    return context.view(batch, heads, queries, size)
