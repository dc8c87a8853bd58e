"""The three places where a position can come in; what is not overridden does nothing.

Legend: N rows, T positions, D model size, h heads, d = D/h head size.
"""

from torch import Tensor, nn


class Positions(nn.Module):
    """No positions at all: a sentence is a bag of words to its encoder.

    Self-attention asks ``rotate`` and ``bias``, the model ``embed``. Cross-attention asks for neither: a distance
    between a source and a target position means nothing.
    """

    relative = False  # whether ``bias`` is to be asked

    def __init__(self, size: int, heads: int, most: int, causal: bool) -> None:
        """size: D. heads: h. most: positions that a table has, where there is one. causal: of a decoder."""
        super().__init__()

    def embed(self, states: Tensor, places: Tensor) -> Tensor:
        """Scaled embeddings (N, T, D) of the positions ``places`` (T,) to (N, T, D)."""
        return states

    def rotate(self, vectors: Tensor, places: Tensor) -> Tensor:
        """Queries or keys (N, h, T, d) of the positions ``places`` (T,) to (N, h, T, d)."""
        return vectors

    def bias(self, distance: Tensor) -> Tensor:
        """What is added to energies: distances i − j of query i and key j, of any shape, to (h, …)."""
        raise NotImplementedError
