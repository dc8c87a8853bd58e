"""Dropout that is fast on a CPU.

PyTorch draws one Bernoulli number an element on CPU, serially. Here four 16-bit pieces are cut from each 64-bit number
of a fast generator, which the default generator seeds for every mask, so that seeds and saved random states work as for
any other draw. The rate is rounded to 1/65,536, and the scale is exact for the rounded rate.
"""

from functools import cache

import numpy as np
import torch
import torch.nn.functional as F
from numpy.random import SFC64
from torch import Tensor, nn

_LEVELS = 1 << 16


def cpu_dropout(values: Tensor, rate: float) -> Tensor:
    """Set elements to 0 with probability ``rate`` and scale the others by 1 / (1 − rate)."""
    drop = min(round(rate * _LEVELS), _LEVELS - 1)
    if drop == 0:
        return values
    pieces = random_pieces(values.numel()).view(values.shape)
    least = drop - _LEVELS // 2  # of a piece whose element stays
    kept = pieces.clamp_(least - 1, least).sub_(least - 1)  # 0 or 1, in fewer instructions than a comparison
    scale = _LEVELS / (_LEVELS - drop)
    if values.element_size() == kept.element_size():
        return values * kept.mul_(_bits(scale, values.dtype)).view(values.dtype)  # no conversion
    return values * kept.to(values.dtype).mul_(scale)


def random_pieces(count: int) -> Tensor:
    """(count,) int16, uniform over −32,768 … 32,767."""
    seed = int(torch.empty((), dtype=torch.int64).random_())
    return torch.from_numpy(SFC64(seed).random_raw((count + 3) // 4).view(np.int16))[:count]


@cache
def _bits(number: float, dtype: torch.dtype) -> int:
    """The number in that type of 16 bits, read as an integer."""
    return int(torch.tensor(number, dtype=dtype).view(torch.int16))


class Dropout(nn.Module):
    """``nn.Dropout`` with the CPU path above. Srivastava et al. 2014, JMLR 15."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, values: Tensor) -> Tensor:
        """Any shape in, the same shape out."""
        if not self.training or self.rate == 0:
            return values
        if values.device.type == "cpu" and self.rate < 1:
            return cpu_dropout(values, self.rate)
        return F.dropout(values, self.rate)
