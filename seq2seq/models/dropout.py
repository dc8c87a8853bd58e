"""Dropout that is fast on a CPU.

PyTorch draws one Bernoulli number an element on CPU, serially. Here eight bytes are cut from each number of a fast
generator, which the default generator seeds for every mask, so that seeds and saved random states work as for any other
draw. A mask drops a whole number of the bytes' 256 values: the rate's two neighbours take turns by chance, so that an
element is dropped with exactly its probability.
"""

from functools import cache

import numpy as np
import torch
import torch.nn.functional as F
from numpy.random import SFC64
from torch import Tensor, nn

_LEVELS = 256


def cpu_dropout(values: Tensor, rate: float) -> Tensor:
    """Set elements to 0 with probability ``rate`` and scale the others by 1 / (1 − rate)."""
    least = int(rate * _LEVELS + float(torch.rand(()))) - _LEVELS // 2  # of a byte whose element stays
    pieces = random_bytes(values.numel()).view(values.shape).to(torch.int16)
    kept = pieces.clamp_(least - 1, least).sub_(least - 1)  # 0 or 1, in fewer instructions than a comparison
    scale = 1 / (1 - rate)
    if values.element_size() == kept.element_size():
        return values * kept.mul_(_bits(scale, values.dtype)).view(values.dtype)  # no conversion
    return values * kept.to(values.dtype).mul_(scale)


def random_bytes(count: int) -> Tensor:
    """(count,) int8, uniform over −128 … 127."""
    seed = int(torch.empty((), dtype=torch.int64).random_())
    return torch.from_numpy(SFC64(seed).random_raw((count + 7) // 8).view(np.int8))[:count]


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
