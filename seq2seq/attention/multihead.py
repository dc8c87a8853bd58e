"""Many heads ("Attention Is All You Need", arXiv 1706.03762, §3.2.2), with as many or fewer heads of keys and values.

| kv_heads     | name                          | source                                    |
|--------------|-------------------------------|-------------------------------------------|
| = heads      | multi-head attention, MHA     | Vaswani 2017, 1706.03762, §3.2.2          |
| between      | grouped-query attention, GQA  | Ainslie 2023, 2305.13245, §2.2            |
| 1            | multi-query attention, MQA    | Shazeer 2019, 1911.02150, §3              |

Legend: B batch, T queries, S keys, D model size, h heads, k heads of keys and values, d = D/h head size.
"""

from torch import Tensor, nn

from seq2seq.attention.dot_product import fused, scaled_dot_product
from seq2seq.errors import UserError
from seq2seq.linear import Linear

SCALES = ("sqrt_dk", "none")


class MultiHeadAttention(nn.Module):
    """Project to heads, attend in each, concatenate, project.

    ``fused`` does the work unless weights are asked for; a test binds it to ``scaled_dot_product``.
    """

    def __init__(self, size: int, heads: int, kv_heads: int | None = None, scale: str = "sqrt_dk") -> None:
        """kv_heads: None for ``heads``. scale: ``sqrt_dk`` divides energies by √d, ``none`` leaves them."""
        super().__init__()
        kv_heads = kv_heads or heads
        if size % heads:
            raise UserError(f"model.heads={heads} does not divide the model size {size}: choose a divisor of {size}")
        if heads % kv_heads:
            raise UserError(f"model.kv_heads={kv_heads} does not divide model.heads={heads}: choose a divisor")
        if scale not in SCALES:
            raise UserError(f"model.scale={scale} is not known: choose one of {', '.join(SCALES)}")
        self.heads, self.kv_heads, self.scaled = heads, kv_heads, scale == "sqrt_dk"
        self.query = Linear(size, size)
        self.key_value = Linear(size, 2 * kv_heads * (size // heads))
        self.output = Linear(size, size)

    def _split(self, states: Tensor, heads: int) -> Tensor:
        """(B, T, heads·d) to (B, heads, T, d)."""
        return states.unflatten(-1, (heads, -1)).transpose(1, 2)

    def queries(self, states: Tensor) -> Tensor:
        """(B, T, D) to (B, h, T, d)."""
        return self._split(self.query(states), self.heads)

    def keys_values(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """(B, S, D) to keys and values, each (B, k, S, d): what a decoder caches."""
        keys, values = self.key_value(states).chunk(2, dim=-1)  # (B, S, k·d) each
        return self._split(keys, self.kv_heads), self._split(values, self.kv_heads)

    def forward(
        self,
        states: Tensor,
        keys: Tensor,
        values: Tensor,
        mask: Tensor | None = None,
        causal: bool = False,
        weights: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend from ``states`` (B, T, D) over cached keys and values (B, k, S, d).

        mask: broadcastable to (B, h, T, S). causal: keys up to the query's position, for S = T and no mask.
        Gives (B, T, D), and on request weights (B, h, T, S).
        """
        query, alignment = self.queries(states), None  # (B, h, T, d)
        if weights:
            context, alignment = scaled_dot_product(query, keys, values, mask, scaled=self.scaled)  # (B, h, T, d)
        else:
            context = fused(query, keys, values, mask, causal=causal, scaled=self.scaled)  # (B, h, T, d)
        return self.join(context), alignment

    def join(self, context: Tensor) -> Tensor:
        """The heads' contexts (B, h, T, d) side by side and projected, (B, T, D)."""
        return self.output(context.transpose(1, 2).flatten(2))
