"""The Transformer: "Attention Is All You Need", Vaswani et al. 2017, arXiv 1706.03762.

Self-attention in the encoder, causal self-attention and cross-attention in the decoder, no recurrence. Layers are
pre-norm by default (Xiong et al. 2020, arXiv 2002.04745), which trains without long warm-up; the paper's are post-norm.
What else the field has changed since is chosen by name: heads of keys and values, the pattern and the positions of
self-attention (``seq2seq/attention``), and the norm (``norms.py``).
Legend: B batch, S source, T target, D model size, h heads, k heads of keys and values, d = D/h, K beam, N = B·K,
L layers, t cached steps.
"""

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from seq2seq.attention.cache import Cache
from seq2seq.attention.masks import Pattern, padding_mask
from seq2seq.attention.multihead import MultiHeadAttention
from seq2seq.attention.positions import Positions, build_positions
from seq2seq.attention.self_attention import SelfAttention
from seq2seq.linear import Linear, round_rows
from seq2seq.models.dropout import Dropout
from seq2seq.models.interface import Attention, Memory, Seq2Seq, State
from seq2seq.models.norms import build_norm
from seq2seq.symbols import PAD


class FeedForward(nn.Sequential):
    """§3.3: two linear maps with a ReLU between."""

    def __init__(self, size: int, inner: int, dropout: float) -> None:
        super().__init__(Linear(size, inner), nn.ReLU(), Dropout(dropout), Linear(inner, size))

    def forward(self, states: Tensor) -> Tensor:
        """(…, D) to (…, D)."""
        rows = round_rows(states)  # (n, D): filled up once, not before either map
        return super().forward(rows)[: states.shape[:-1].numel()].view_as(states)


@dataclass(frozen=True)
class Shape:
    """What all layers have in common."""

    hidden: int
    inner: int
    heads: int
    kv_heads: int | None
    scale: str
    norm: str
    norm_first: bool
    dropout: float


class Layer(nn.Module):
    """Sublayers around a residual stream x: pre-norm x + f(norm(x)), post-norm norm(x + f(x))."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.norm_first, self.drop = shape.norm_first, Dropout(shape.dropout)

    def add_feed_and_norms(self, shape: Shape, norms: int) -> None:
        """Called after the attention is there: checkpoints and seeds know the parameters by this order."""
        self.feed = FeedForward(shape.hidden, shape.inner, shape.dropout)
        self.norms = nn.ModuleList(build_norm(shape.norm, shape.hidden) for _ in range(norms))

    def before(self, index: int, states: Tensor) -> Tensor:
        """What sublayer ``index`` reads."""
        return self.norms[index](states) if self.norm_first else states

    def after(self, index: int, states: Tensor, update: Tensor) -> Tensor:
        """The stream with what sublayer ``index`` gave."""
        states = states + self.drop(update)
        return states if self.norm_first else self.norms[index](states)


class EncoderLayer(Layer):
    """Self-attention, then feed-forward."""

    def __init__(self, shape: Shape, pattern: Pattern) -> None:
        super().__init__(shape)
        self.attention = SelfAttention(shape.hidden, shape.heads, shape.kv_heads, shape.scale, pattern)
        self.add_feed_and_norms(shape, norms=2)

    def forward(
        self, states: Tensor, positions: Positions, real: Tensor, weights: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """states (B, S, D), real (B, S) to states, and weights (B, h, S, S) on request."""
        update, alignment = self.attention.sequence(self.before(0, states), positions, real, weights)
        states = self.after(0, states, update)
        return self.after(1, states, self.feed(self.before(1, states))), alignment


class DecoderLayer(Layer):
    """Causal self-attention, cross-attention, feed-forward."""

    def __init__(self, shape: Shape, pattern: Pattern) -> None:
        super().__init__(shape)
        heads = shape.hidden, shape.heads, shape.kv_heads, shape.scale
        self.self_attention = SelfAttention(*heads, replace(pattern, causal=True))
        self.cross_attention = MultiHeadAttention(*heads)
        self.add_feed_and_norms(shape, norms=3)

    def forward(
        self, states: Tensor, positions: Positions, cross: tuple, mask: Tensor, weights: bool = False
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """A whole target. states: (B, T, D); cross: keys and values (B, k, S, d); mask: (B, 1, 1, S).

        Gives states, and on request cross weights (B, h, T, S) and self weights (B, h, T, T).
        """
        update, own = self.self_attention.sequence(self.before(0, states), positions, weights=weights)
        states, alignment = self._rest(self.after(0, states, update), cross, mask, weights)
        return states, alignment, own

    def step(
        self, states: Tensor, positions: Positions, past: Cache, done: int, cross: tuple, mask: Tensor, weights: bool
    ) -> tuple[Tensor, Tensor | None, Cache]:
        """The target's position ``done``. states: (N, 1, D); past and the new cache: see ``SelfAttention.step``.

        Gives states, cross weights (B, h, K, S) on request, and the new cache.
        """
        update, cache = self.self_attention.step(self.before(0, states), positions, past, done)
        states, alignment = self._rest(self.after(0, states, update), cross, mask, weights)
        return states, alignment, cache

    def _rest(self, states: Tensor, cross: tuple, mask: Tensor, weights: bool) -> tuple[Tensor, Tensor | None]:
        queries = self.before(1, states).view(len(mask), -1, states.shape[-1])  # (B, K·T, D): K rows are K queries
        update, alignment = self.cross_attention(queries, *cross, mask, weights=weights)
        states = self.after(1, states, update.view_as(states))
        return self.after(2, states, self.feed(self.before(2, states))), alignment


@dataclass(frozen=True)
class TransformerState(State):
    """done: steps, the same for all rows. caches: for each layer, of the t ≤ done steps that the pattern of attention
    still needs.
    """

    done: int
    caches: tuple[Cache, ...]


class Transformer(Seq2Seq):
    """Embeddings, encoder, decoder. ``hidden``-sized throughout; ``tied`` as in ``recurrent.RecurrentModel``."""

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
        kv_heads: int | None = None,
        scale: str = "sqrt_dk",
        attention: str = "full",
        window: int = 8,
        global_positions: int = 1,
        stride: int = 8,
        positions: str = "sinusoidal",
        max_positions: int = 1024,
        norm: str = "layer",
        norm_first: bool = True,
    ) -> None:
        """The settings of ``conf/model/transformer.yaml``; what came later has a default, for older checkpoints."""
        super().__init__()
        self.size = hidden
        self.drop = Dropout(dropout)
        self.target_embedding = nn.Embedding(target_vocabulary, hidden, padding_idx=PAD)
        share = tied and shared_vocabulary
        self.source_embedding = (
            self.target_embedding if share else nn.Embedding(source_vocabulary, hidden, padding_idx=PAD)
        )
        shape = Shape(hidden, inner, heads, kv_heads, scale, norm, norm_first, dropout)
        pattern = Pattern(attention, window, global_positions, stride)
        self.encoder = nn.ModuleList(EncoderLayer(shape, pattern) for _ in range(layers))
        self.decoder = nn.ModuleList(DecoderLayer(shape, pattern) for _ in range(layers))
        # Post-norm, the last layer ends in a norm already.
        self.encoder_norm, self.decoder_norm = (
            build_norm(norm, hidden) if norm_first else nn.Identity() for _ in range(2)
        )
        self.output = Linear(hidden, target_vocabulary)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)
        for table in (self.target_embedding, self.source_embedding):
            nn.init.normal_(table.weight, std=hidden**-0.5)
            nn.init.zeros_(table.weight[PAD])
        nn.init.zeros_(self.output.bias)
        if tied:
            self.output.weight = self.target_embedding.weight
        self.source_positions = build_positions(positions, hidden, heads, max_positions, causal=False)
        self.target_positions = build_positions(positions, hidden, heads, max_positions, causal=True)

    def _embed(self, table: nn.Embedding, positions: Positions, ids: Tensor, first: int = 0) -> Tensor:
        """§3.4 and §3.5: ids (N, T) to (N, T, D); ``first`` is the position of the first column."""
        places = torch.arange(first, first + ids.shape[1], device=ids.device)  # (T,)
        return self.drop(positions.embed(table(ids) * math.sqrt(self.size), places))

    def encode(self, source: Tensor, lengths: Tensor, attention: bool = False) -> Memory:
        """See ``Seq2Seq.encode``. ``cache``: for each decoder layer, keys and values (B, k, S, d)."""
        mask = padding_mask(lengths, source.shape[1])  # (B, S)
        states = self._embed(self.source_embedding, self.source_positions, source)  # (B, S, D)
        maps = []
        for layer in self.encoder:
            states, weights = layer(states, self.source_positions, mask, attention)
            maps.append(weights)
        states = self.encoder_norm(states)
        sources = (layer.cross_attention.keys_values(states) for layer in self.decoder)
        cache = tuple(tuple(part.contiguous() for part in source) for source in sources)  # read at many steps
        return Memory(states, mask, cache, encoder_self=torch.stack(maps, 1) if attention else None)

    def decode(self, memory: Memory, target: Tensor, attention: bool = False) -> tuple[Tensor, Attention | None]:
        """See ``Seq2Seq.decode``."""
        states = self._embed(self.target_embedding, self.target_positions, target)  # (B, T, D)
        mask = memory.mask[:, None, None]  # (B, 1, 1, S)
        cross, own = [], []
        for layer, source in zip(self.decoder, memory.cache, strict=True):
            states, *weights = layer(states, self.target_positions, source, mask, attention)
            cross.append(weights[0])
            own.append(weights[1])
        features = self.decoder_norm(states)
        if not attention:
            return features, None
        return features, Attention(torch.stack(cross, 1), torch.stack(own, 1), memory.encoder_self)

    def start(self, memory: Memory) -> TransformerState:
        """See ``Seq2Seq.start``: empty caches."""
        return TransformerState(0, tuple(Cache.empty(keys) for keys, _ in memory.cache))

    def step(
        self, memory: Memory, tokens: Tensor, state: TransformerState, attention: bool = False
    ) -> tuple[Tensor, Tensor | None, TransformerState]:
        """See ``Seq2Seq.step``."""
        states = self._embed(self.target_embedding, self.target_positions, tokens[:, None], state.done)  # (N, 1, D)
        mask = memory.mask[:, None, None]  # (B, 1, 1, S)
        caches, weights = [], None
        for layer, past, source in zip(self.decoder, state.caches, memory.cache, strict=True):
            states, weights, cache = layer.step(
                states, self.target_positions, past, state.done, source, mask, attention
            )
            caches.append(cache)
        weights = weights.mean(1).flatten(0, 1) if attention else None  # (B, h, K, S) to (N, S)
        return self.decoder_norm(states)[:, 0], weights, TransformerState(state.done + 1, tuple(caches))
