"""The one interface of all models: four questions, three records.

Legend: B batch, S source length, T target length, H feature size, V target vocabulary,
K beam, N = B·K rows of inference state, L layers.
"""

from dataclasses import dataclass, fields, replace
from typing import Any, Self

import torch
from torch import Tensor, nn

from seq2seq.attention.cache import Cache


def _select(value: Any, rows: Tensor) -> Any:
    if isinstance(value, Tensor):
        return value.index_select(0, rows)
    if isinstance(value, tuple):
        return tuple(_select(item, rows) for item in value)
    if isinstance(value, (Rows, Cache)):
        return value.select(rows)
    return value


@dataclass(frozen=True)
class Rows:
    """A record whose tensors (also inside tuples and caches) all have the row, or sentence, as first axis."""

    def select(self, rows: Tensor) -> Self:
        """Re-order, repeat or thin the rows. ``rows`` is (R,) int64; every tensor then has R rows."""
        return replace(self, **{f.name: _select(getattr(self, f.name), rows) for f in fields(self)})


@dataclass(frozen=True)
class Memory(Rows):
    """What the encoder leaves for the decoder.

    states: (B, S, H_enc), the encoder's output; at padding its content means nothing.
    mask: (B, S) bool, True at real tokens.
    cache: what is projected from the states once a sentence (keys and values), rows first.
    summary: what the decoder starts from (empty for the Transformer), rows first.
    encoder_self: (B, L, heads, S, S), the encoder's self-attention, where there is one and it was asked for.
    """

    states: Tensor
    mask: Tensor
    cache: tuple = ()
    summary: tuple = ()
    encoder_self: Tensor | None = None


@dataclass(frozen=True)
class State(Rows):
    """What one step of inference hands to the next; each model adds its own tensors, N rows first."""


@dataclass(frozen=True)
class Attention:
    """Attention weights of a teacher-forced pass; None where the model has no such attention.

    cross: (B, L, heads, T, S).  decoder_self: (B, L, heads, T, T).  encoder_self: (B, L, heads, S, S).
    A recurrent decoder has L = heads = 1.
    """

    cross: Tensor | None = None
    decoder_self: Tensor | None = None
    encoder_self: Tensor | None = None


def reduce_attention(
    weights: Tensor,
    layer: int | str = -1,
    head: int | str = "mean",
    lengths: Tensor | None = None,
) -> Tensor:
    """Reduce (B, L, heads, T, S) to one matrix a sentence, (B, T, S).

    layer: an index, or ``mean`` over layers. head: an index, ``mean`` or ``max`` over heads.
    lengths: (B,) source lengths with the end-of-sentence token; given, that last column is set to 0
    and each row is divided by what remains (a row with nothing left stays 0).
    """
    chosen = weights.mean(1) if layer == "mean" else weights[:, layer]  # (B, heads, T, S)
    if head == "mean":
        matrix = chosen.mean(1)
    elif head == "max":
        matrix = chosen.amax(1)
    else:
        matrix = chosen[:, head]  # (B, T, S)
    if lengths is None:
        return matrix
    columns = torch.arange(matrix.shape[-1], device=matrix.device)
    matrix = matrix.masked_fill((columns == lengths[:, None] - 1)[:, None], 0.0)
    return matrix / matrix.sum(-1, keepdim=True).clamp_min(1e-9)


class Seq2Seq(nn.Module):
    """A translation model. Everything above this line drives it through these five calls only.

    The training loss alone reads ``output`` and not ``project``, so as never to have all logits in memory.
    """

    output: nn.Linear  # features to logits

    def encode(self, source: Tensor, lengths: Tensor, attention: bool = False) -> Memory:
        """source: (B, S) ids, padded on the right, each sentence ending in EOS. lengths: (B,), at least 1.

        attention: keep the encoder's self-attention, where there is one, in the memory.
        """
        raise NotImplementedError

    def decode(self, memory: Memory, target: Tensor, attention: bool = False) -> tuple[Tensor, Attention | None]:
        """Teacher forcing. target: (B, T) ids that begin with BOS. Gives features (B, T, H), and weights on request.

        Asked for, the record is never None, but its fields are for a model that has no such attention.
        """
        raise NotImplementedError

    def start(self, memory: Memory) -> State:
        """The state before the first step: one row for each row of ``memory``."""
        raise NotImplementedError

    def step(
        self, memory: Memory, tokens: Tensor, state: State, attention: bool = False
    ) -> tuple[Tensor, Tensor | None, State]:
        """One step. tokens: (N,), the last token of each row; N is a multiple of the B rows of ``memory``.

        Rows i·K … i·K + K − 1 of the state read row i of the memory.
        Gives features (N, H), cross weights of the last layer averaged over heads (N, S) on request
        (None where the model has none), and the next state.
        """
        raise NotImplementedError

    def project(self, features: Tensor) -> Tensor:
        """Features (…, H) to logits (…, V)."""
        return self.output(features)
