"""The Transformer: "Attention Is All You Need", Vaswani et al. 2017, arXiv 1706.03762.

Self-attention in the encoder, causal self-attention and cross-attention in the decoder, no recurrence. Layers are
pre-norm (Xiong et al. 2020, arXiv 2002.04745), which trains without long warm-up; the paper's are post-norm.
Legend: B batch, S source, T target, D model size, h heads, d = D/h, K beam, N = B·K, L layers, t steps done.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from seq2seq.attention.masks import causal_mask, padding_mask
from seq2seq.attention.multihead import MultiHeadAttention
from seq2seq.models.dropout import Dropout
from seq2seq.models.interface import Attention, Memory, Seq2Seq, State
from seq2seq.symbols import PAD


def sinusoids(positions: Tensor, size: int) -> Tensor:
    """§3.5: positions (T,) to (T, D), sines in the first half of the features and cosines in the second."""
    rates = torch.exp(torch.arange(0, size, 2, device=positions.device) * (-math.log(10000.0) / size))  # (D/2,)
    angles = positions[:, None] * rates  # (T, D/2)
    return torch.cat([angles.sin(), angles.cos()], -1)[:, :size]


def feed_forward(size: int, inner: int, dropout: float) -> nn.Sequential:
    """§3.3: two linear maps with a ReLU between."""
    return nn.Sequential(nn.Linear(size, inner), nn.ReLU(), Dropout(dropout), nn.Linear(inner, size))


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward, each added to its input."""

    def __init__(self, size: int, heads: int, inner: int, dropout: float) -> None:
        super().__init__()
        self.attention, self.feed = MultiHeadAttention(size, heads), feed_forward(size, inner, dropout)
        self.norms = nn.ModuleList(nn.LayerNorm(size) for _ in range(2))
        self.drop = Dropout(dropout)

    def forward(self, states: Tensor, mask: Tensor, weights: bool = False) -> tuple[Tensor, Tensor | None]:
        """states (B, S, D), mask (B, 1, 1, S) to states, and weights (B, h, S, S) on request."""
        normed = self.norms[0](states)
        update, alignment = self.attention(normed, *self.attention.keys_values(normed), mask, weights=weights)
        states = states + self.drop(update)
        return states + self.drop(self.feed(self.norms[1](states))), alignment


class DecoderLayer(nn.Module):
    """Causal self-attention, cross-attention, feed-forward, each added to its input."""

    def __init__(self, size: int, heads: int, inner: int, dropout: float) -> None:
        super().__init__()
        self.self_attention, self.cross_attention = MultiHeadAttention(size, heads), MultiHeadAttention(size, heads)
        self.feed = feed_forward(size, inner, dropout)
        self.norms = nn.ModuleList(nn.LayerNorm(size) for _ in range(3))
        self.drop = Dropout(dropout)

    def forward(
        self, states: Tensor, past: tuple | None, cross: tuple, mask: Tensor, weights: bool = False
    ) -> tuple[Tensor, tuple, Tensor | None, Tensor | None]:
        """states: (N, T, D). past: None for a whole target, attended causally; else keys and values (N, h, t, d)
        of the steps done, for T = 1. cross: keys and values (B, h, S, d); mask: (B, 1, 1, S).

        Gives states, this layer's keys and values with the new ones, cross weights and self weights on request.
        """
        normed = self.norms[0](states)
        cache = self.self_attention.keys_values(normed)
        if past is not None:
            cache = tuple(torch.cat([old, new.to(old.dtype)], 2) for old, new in zip(past, cache, strict=True))
        triangle = causal_mask(states.shape[1], states.device) if weights and past is None else None
        update, own = self.self_attention(normed, *cache, triangle, causal=past is None, weights=weights)
        states = states + self.drop(update)
        queries = self.norms[1](states).view(len(mask), -1, states.shape[-1])  # (B, K·T, D): K rows are K queries
        update, alignment = self.cross_attention(queries, *cross, mask, weights=weights)
        states = states + self.drop(update.view_as(states))
        return states + self.drop(self.feed(self.norms[2](states))), cache, alignment, own


@dataclass(frozen=True)
class TransformerState(State):
    """caches: for each layer, keys and values (N, h, t, d) of the t steps done."""

    caches: tuple


class Transformer(Seq2Seq):
    """Embeddings, encoder, decoder. ``embedding``-sized throughout; ``tied`` as in ``recurrent.RecurrentModel``."""

    def __init__(
        self,
        source_vocabulary: int,
        target_vocabulary: int,
        shared_vocabulary: bool,
        *,
        hidden: int,
        inner: int,
        heads: int,
        layers: int,
        dropout: float,
        tied: bool,
    ) -> None:
        super().__init__()
        self.size, self.heads = hidden, heads
        self.drop = Dropout(dropout)
        self.target_embedding = nn.Embedding(target_vocabulary, hidden, padding_idx=PAD)
        share = tied and shared_vocabulary
        self.source_embedding = (
            self.target_embedding if share else nn.Embedding(source_vocabulary, hidden, padding_idx=PAD)
        )
        self.encoder = nn.ModuleList(EncoderLayer(hidden, heads, inner, dropout) for _ in range(layers))
        self.decoder = nn.ModuleList(DecoderLayer(hidden, heads, inner, dropout) for _ in range(layers))
        self.encoder_norm, self.decoder_norm = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.output = nn.Linear(hidden, target_vocabulary)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)
        for table in (self.target_embedding, self.source_embedding):
            nn.init.normal_(table.weight, std=hidden**-0.5)
            nn.init.zeros_(table.weight[PAD])
        nn.init.zeros_(self.output.bias)
        if tied:
            self.output.weight = self.target_embedding.weight

    def _embed(self, table: nn.Embedding, ids: Tensor, first: int = 0) -> Tensor:
        """§3.4 and §3.5: ids (N, T) to (N, T, D); ``first`` is the position of the first column."""
        positions = torch.arange(first, first + ids.shape[1], device=ids.device)
        return self.drop(table(ids) * math.sqrt(self.size) + sinusoids(positions, self.size))

    def encode(self, source: Tensor, lengths: Tensor, attention: bool = False) -> Memory:
        """See ``Seq2Seq.encode``. ``cache``: for each decoder layer, keys and values (B, h, S, d)."""
        mask = padding_mask(lengths, source.shape[1])  # (B, S)
        states = self._embed(self.source_embedding, source)  # (B, S, D)
        maps = []
        for layer in self.encoder:
            states, weights = layer(states, mask[:, None, None], attention)
            maps.append(weights)
        states = self.encoder_norm(states)
        cache = tuple(layer.cross_attention.keys_values(states) for layer in self.decoder)
        return Memory(states, mask, cache, encoder_self=torch.stack(maps, 1) if attention else None)

    def _run(
        self, memory: Memory, tokens: Tensor, caches: tuple | None, attention: bool
    ) -> tuple[Tensor, tuple, list[Tensor | None], list[Tensor | None]]:
        """tokens (N, T) to features (N, T, D), the new caches, cross and self weights of each layer."""
        done = caches[0][0].shape[2] if caches else 0
        states = self._embed(self.target_embedding, tokens, done)  # (N, T, D)
        mask = memory.mask[:, None, None]  # (B, 1, 1, S)
        after, cross, own = [], [], []
        for index, layer in enumerate(self.decoder):
            past = caches[index] if caches else None
            states, cache, alignment, looking_back = layer(states, past, memory.cache[index], mask, attention)
            after.append(cache)
            cross.append(alignment)
            own.append(looking_back)
        return self.decoder_norm(states), tuple(after), cross, own

    def decode(self, memory: Memory, target: Tensor, attention: bool = False) -> tuple[Tensor, Attention | None]:
        """See ``Seq2Seq.decode``."""
        features, _, cross, own = self._run(memory, target, None, attention)
        if not attention:
            return features, None
        return features, Attention(torch.stack(cross, 1), torch.stack(own, 1), memory.encoder_self)

    def start(self, memory: Memory) -> TransformerState:
        """See ``Seq2Seq.start``: empty caches."""
        empty = memory.states.new_zeros(len(memory.mask), self.heads, 0, self.size // self.heads)  # (B, h, 0, d)
        return TransformerState(tuple((empty, empty) for _ in self.decoder))

    def step(
        self, memory: Memory, tokens: Tensor, state: TransformerState, attention: bool = False
    ) -> tuple[Tensor, Tensor | None, TransformerState]:
        """See ``Seq2Seq.step``."""
        features, caches, cross, _ = self._run(memory, tokens[:, None], state.caches, attention)
        weights = cross[-1].mean(1).flatten(0, 1) if attention else None  # (B, h, K, S) to (N, S)
        return features[:, 0], weights, TransformerState(caches)

    def project(self, features: Tensor) -> Tensor:
        """See ``Seq2Seq.project``."""
        return self.output(features)
