"""Relative biases of T5 (Raffel et al. 2020, arXiv 1910.10683, §2.1): a learned number for each range of distances."""

import math

import torch
from torch import Tensor, nn

from seq2seq.attention.positions.base import Positions

BUCKETS, FARTHEST = 32, 128


def bucket(distance: Tensor, causal: bool) -> Tensor:
    """Distances i − j to numbers below BUCKETS: small distances have their own, larger ones share in powers, and from
    FARTHEST on all are one. Unless causal, half of the numbers are for keys that come after the query.
    """
    count = BUCKETS if causal else BUCKETS // 2
    exact = count // 2
    far = distance.clamp(min=0) if causal else distance.abs()
    ratio = torch.log2(far.clamp(min=1).double() / exact) / math.log2(FARTHEST / exact)
    shared = (exact + (ratio * (count - exact)).long()).clamp(max=count - 1)
    number = torch.where(far < exact, far, shared)
    return number if causal else number + count * (distance < 0)


class T5(Positions):
    """One table a side, which all its layers share."""

    relative = True

    def __init__(self, size: int, heads: int, most: int, causal: bool) -> None:
        super().__init__(size, heads, most, causal)
        self.causal = causal
        self.table = nn.Embedding(BUCKETS, heads)
        nn.init.normal_(self.table.weight, std=size**-0.5)

    def bias(self, distance: Tensor) -> Tensor:
        """See ``Positions.bias``."""
        return self.table(bucket(distance, self.causal)).movedim(-1, 0)  # (h, …)
