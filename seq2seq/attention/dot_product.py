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

SHORT = 256 * 256  # energies of a head: a processor's cache holds so many, and beyond them the fused kernel wins


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
    """The same context by PyTorch's kernel, which keeps no weights. Arguments as above, shapes (B, h, T, d).

    causal: the kernel's own triangle, for S = T without mask and bias. bias: (h, T, S).
    On a CPU that kernel is several times slower in bf16 than in fp32, which it therefore gets; and for sentences
    ``few_passes`` in bf16 takes half of the time of that.
    A mask of whole rows (…, T, S) may leave a row without keys: its context is 0, whatever the kernel makes of it.
    """
    on_cpu = query.device.type == "cpu"
    narrow = on_cpu and query.dtype == torch.bfloat16
    # bf16 keeps three digits of an energy, which is too little for the large ones that nothing scales
    if narrow and not (scaled and query.shape[2] * keys.shape[2] <= SHORT):
        with torch.autocast("cpu", enabled=False):
            wide = (vectors.float() for vectors in (query, keys, values))
            return fused(*wide, mask, causal=causal, scaled=scaled, bias=bias).to(query.dtype)
    if on_cpu and query.shape[2] == 1 and mask is None:
        return one_query(query, keys, values, scaled=scaled, bias=bias)
    if narrow and causal:
        causal, mask = False, torch.ones(query.shape[2], query.shape[2], dtype=torch.bool).tril()  # (T, T)
    empty = None
    if mask is not None and mask.shape[-2] > 1:
        empty = ~mask.any(-1, keepdim=True)  # (…, T, 1)
        mask = mask | empty
    if narrow:
        context = few_passes(query, keys, values, mask, bias)  # (B, h, T, d)
    else:
        if bias is not None:
            bias = bias.to(query.dtype)
            mask = bias if mask is None else bias.masked_fill(~mask, -math.inf)  # (…, h, T, S)
        context = F.scaled_dot_product_attention(
            *(query, keys, values, mask),
            is_causal=causal,
            scale=None if scaled else 1.0,
            enable_gqa=query.shape[1] != keys.shape[1],
        )  # (B, h, T, d)
    return context if empty is None else context.masked_fill(empty, 0.0)


def few_passes(query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, bias: Tensor | None) -> Tensor:
    """The same by plain products, where all energies fit into a cache: as little else as possible reads them.

    Arguments as of ``fused``; every row of the mask has a key. Products are in the query's type, the softmax in fp32.
    """
    keys, values = (repeat_heads(vectors, query.shape[1]) for vectors in (keys, values))  # (B, h, S, d)
    energies = (query / math.sqrt(query.shape[-1])) @ keys.transpose(-2, -1)  # (B, h, T, S)
    if mask is not None:
        closed = torch.zeros(mask.shape, device=mask.device).masked_fill(~mask, torch.finfo(torch.float32).min / 2)
        bias = closed if bias is None else bias + closed  # (…, T, S)
    energies = energies.float() if bias is None else energies + bias
    return energies.softmax(-1).to(values.dtype) @ values  # (B, h, T, d)


def one_query(
    query: Tensor, keys: Tensor, values: Tensor, *, scaled: bool = True, bias: Tensor | None = None
) -> Tensor:
    """The same for a step of inference, T = 1, which has nothing to fuse: two plain products take less time.

    query: (B, h, 1, d), keys and values: (B, k, S, d), bias: (h, 1, S); gives (B, h, 1, d).
    Query heads that share keys stand side by side as queries of one head, so that no key is copied.
    """
    shared = query.unflatten(1, (keys.shape[1], -1)).squeeze(3)  # (B, k, g, d)
    bias = None if bias is None else bias.unflatten(0, (keys.shape[1], -1)).squeeze(2)  # (k, g, S)
    context, _ = scaled_dot_product(shared, keys, values, None, scaled=scaled, bias=bias)  # (B, k, g, d)
    return context.flatten(1, 2).unsqueeze(2)  # (B, h, 1, d)
