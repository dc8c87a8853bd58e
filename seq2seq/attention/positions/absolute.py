"""A vector for each position, added to the embedding of the word that stands there.

Legend: N rows, T positions, D model size.
"""

import math

import torch
from torch import Tensor, nn

from seq2seq.attention.positions.base import Positions


def sinusoids(places: Tensor, size: int) -> Tensor:
    """Positions (T,) to (T, D), sines in the first half of the features and cosines in the second.

    "Attention Is All You Need", arXiv 1706.03762, §3.5.
    """
    rates = torch.exp(torch.arange(0, size, 2, device=places.device) * (-math.log(10000.0) / size))  # (D/2,)
    angles = places[:, None] * rates  # (T, D/2)
    return torch.cat([angles.sin(), angles.cos()], -1)[:, :size]


class Sinusoidal(Positions):
    """Waves of D/2 lengths from 2π to 10000·2π: nothing to learn, and no last position."""

    def embed(self, states: Tensor, places: Tensor) -> Tensor:
        """See ``Positions.embed``."""
        return states + sinusoids(places, states.shape[-1])


class Learned(Positions):
    """A table (Gehring et al. 2017, arXiv 1705.03122, §3.1; §3.5 of the Transformer finds it as good).

    Positions beyond its end share the last vector: a long sentence is translated, though without their order.
    """

    def __init__(self, size: int, heads: int, most: int, causal: bool) -> None:
        super().__init__(size, heads, most, causal)
        self.table = nn.Embedding(most, size)
        nn.init.normal_(self.table.weight, std=size**-0.5)

    def embed(self, states: Tensor, places: Tensor) -> Tensor:
        """See ``Positions.embed``."""
        return states + self.table(places.clamp(max=self.table.num_embeddings - 1))
