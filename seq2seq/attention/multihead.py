"""Scaled dot-product attention and its many-headed form ("Attention Is All You Need", arXiv 1706.03762, §3.2).

Legend: B batch, T queries, S keys, D model size, h heads, d = D/h head size.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from seq2seq.attention.attend import attend
from seq2seq.errors import UserError


def scaled_dot_product(query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
    """softmax(Q Kᵀ / √d) V, §3.2.1, the readable way: gives the weights too.

    query: (…, T, d); keys: (…, S, d); values: (…, S, d_v); mask: broadcastable to (…, T, S), True = may attend.
    Gives context (…, T, d_v) and weights (…, T, S).
    """
    energies = query @ keys.transpose(-2, -1) / math.sqrt(query.shape[-1])  # (…, T, S)
    return attend(energies, values, mask)


def _fused(query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, causal: bool) -> Tensor:
    """PyTorch's kernel. On a CPU it runs in fp32: at a sentence's length its bf16 form is several times slower."""
    if query.device.type != "cpu" or query.dtype == torch.float32:
        return F.scaled_dot_product_attention(query, keys, values, mask, is_causal=causal)
    with torch.autocast("cpu", enabled=False):
        context = F.scaled_dot_product_attention(
            query.float(), keys.float(), values.float(), mask, is_causal=causal
        )  # (B, h, T, d)
    return context.to(query.dtype)


class MultiHeadAttention(nn.Module):
    """§3.2.2: project to h heads, attend in each, concatenate, project.

    The fused kernel of PyTorch does the work unless weights are asked for; a test binds it to
    ``scaled_dot_product``.
    """

    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        if size % heads:
            raise UserError(f"model.heads={heads} does not divide the model size {size}: choose a divisor of {size}")
        self.heads = heads
        self.query = nn.Linear(size, size)
        self.key_value = nn.Linear(size, 2 * size)
        self.output = nn.Linear(size, size)

    def _split(self, states: Tensor) -> Tensor:
        """(B, T, D) to (B, h, T, d)."""
        return states.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def keys_values(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """(B, S, D) to keys and values, each (B, h, S, d): what a decoder caches."""
        keys, values = self.key_value(states).chunk(2, dim=-1)  # (B, S, D) each
        return self._split(keys), self._split(values)

    def forward(
        self,
        states: Tensor,
        keys: Tensor,
        values: Tensor,
        mask: Tensor | None = None,
        causal: bool = False,
        weights: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend from ``states`` (B, T, D) over cached keys and values (B, h, S, d).

        mask: broadcastable to (B, h, T, S). causal: the fused kernel's own triangle, for S = T and no mask.
        Gives (B, T, D), and on request weights (B, h, T, S).
        """
        query = self._split(self.query(states))  # (B, h, T, d)
        if weights:
            context, alignment = scaled_dot_product(query, keys, values, mask)  # (B, h, T, d), (B, h, T, S)
        else:
            context, alignment = _fused(query, keys, values, mask, causal), None  # (B, h, T, d)
        return self.output(context.transpose(1, 2).flatten(2)), alignment
