"""Rotary positions (RoFormer, Su et al. 2021, arXiv 2104.09864, §3.2.2).

Each pair of features of a query or key is a point in the plane, turned by its position times a rate. The product of
two turned points depends on the difference of their angles only: on the distance, though each is turned alone.
"""

import torch
from torch import Tensor

from seq2seq.attention.positions.base import Positions
from seq2seq.errors import UserError


class Rotary(Positions):
    """Pair p of features (2p, 2p + 1) turns by 10000^(−2p/d) a position."""

    def __init__(self, size: int, heads: int, most: int, causal: bool) -> None:
        super().__init__(size, heads, most, causal)
        if size // heads % 2:
            raise UserError(f"model.positions=rotary turns pairs: a head size of {size // heads} is odd; change heads")

    def rotate(self, vectors: Tensor, places: Tensor) -> Tensor:
        """See ``Positions.rotate``. Angles are fp32, whatever the vectors are."""
        size = vectors.shape[-1]
        rates = 10000.0 ** (-torch.arange(0, size, 2, device=vectors.device) / size)  # (d/2,)
        angles = places[:, None] * rates  # (T, d/2)
        cosine, sine = angles.cos(), angles.sin()
        x, y = vectors.float().unflatten(-1, (-1, 2)).unbind(-1)  # (N, h, T, d/2) each
        turned = torch.stack([x * cosine - y * sine, x * sine + y * cosine], -1)  # (N, h, T, d/2, 2)
        return turned.flatten(-2).to(vectors.dtype)
