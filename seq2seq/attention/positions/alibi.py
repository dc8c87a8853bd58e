"""Attention with linear biases (ALiBi, Press et al. 2021, arXiv 2108.12409, §3)."""

import torch
from torch import Tensor

from seq2seq.attention.positions.base import Positions


class ALiBi(Positions):
    """An energy falls with the distance, in head 1 … h by 2^(−8/h), 2^(−16/h), … 2^(−8) a position.

    Nothing is learned. The encoder's bias falls to both sides alike, so that it knows near from far and not left from
    right: to it a sentence and its mirror image are one. (Where h is no power of two, the authors' program fills up
    with slopes of the next power; here the series is the same for every h.)
    """

    relative = True

    def __init__(self, size: int, heads: int, most: int, causal: bool) -> None:
        super().__init__(size, heads, most, causal)
        self.heads = heads

    def bias(self, distance: Tensor) -> Tensor:
        """See ``Positions.bias``."""
        number = torch.arange(1, self.heads + 1, device=distance.device)  # (h,)
        slopes = 2.0 ** (-8.0 * number / self.heads)  # (h,)
        return -slopes.view(-1, *[1] * distance.dim()) * distance.abs()  # (h, …)
