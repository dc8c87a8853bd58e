"""What the three recurrent models share: the encoder, the decoder's recurrence, and their common skeleton.

Legend: B batch, S source length, T target length, E embedding size, C memory (encoder state) size,
H hidden size of the decoder, G gates·H (4H for an LSTM, 3H for a GRU).
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from seq2seq.attention.deferred import Deferred
from seq2seq.attention.masks import padding_mask
from seq2seq.attention.source import SourceAttention
from seq2seq.errors import UserError
from seq2seq.linear import ONEDNN_BF16, Linear, compute_dtype, linear
from seq2seq.models.dropout import Dropout
from seq2seq.models.interface import Memory, Seq2Seq, State
from seq2seq.symbols import PAD

CELLS = {"lstm": nn.LSTM, "gru": nn.GRU}
EVEN = 8  # divides the number of rows that go through a kernel in bf16 on a CPU

Hidden = tuple[tuple[Tensor, ...], ...]  # a layer each: (h,) for a GRU or (h, c) for an LSTM, all (N, H)


def reversal(lengths: Tensor, size: int) -> Tensor:
    """Positions (B, size) that reverse each sentence within its own length and leave its padding in place."""
    position = torch.arange(size, device=lengths.device)
    mirrored = lengths[:, None] - 1 - position  # (B, S), negative at padding
    return torch.where(mirrored >= 0, mirrored, position)


def take(values: Tensor, positions: Tensor) -> Tensor:
    """values (B, S, D) at positions (B, T): (B, T, D)."""
    return values.gather(1, positions[..., None].expand(-1, -1, values.shape[-1]))


def _more_rows(values: Tensor, count: int) -> Tensor:
    """values (B, …) and so many rows of zeros."""
    return torch.cat([values, values.new_zeros(count, *values.shape[1:])]) if count else values


class Recurrence(nn.Module):
    """A stack of LSTM or GRU layers that can be run whole or step by step, from the same parameters.

    ``sequence`` is PyTorch's fused kernel. ``steps`` is for decoders whose input depends on their last output:
    its first ``known`` input features are projected for all steps beforehand (``project_known``), the others
    (context or attentional vector) come with the step. A test binds ``steps`` to ``sequence``.
    """

    def __init__(self, cell: str, known: int, fed: int, hidden: int, layers: int, dropout: float) -> None:
        super().__init__()
        if cell not in CELLS:
            raise UserError(f"model.cell={cell} is not a cell: choose one of {', '.join(CELLS)}")
        self.cell, self.known, self.hidden, self.layers = cell, known, hidden, layers
        self.drop = Dropout(dropout)
        sizes = [known + fed] + [hidden] * (layers - 1)
        self.stack = nn.ModuleList(CELLS[cell](size, hidden, batch_first=True) for size in sizes)
        for kernel in self.stack:
            _initialise(kernel, hidden)

    def sequence(self, inputs: Tensor, state: Hidden | None = None) -> tuple[Tensor, Hidden]:
        """inputs (B, T, known + fed) to outputs (B, T, H) and the state after the last column.

        In bf16, oneDNN's kernel takes up to four times as long for a number of rows without small divisors, and a
        processor without AVX-512 has none: it computes in fp32.
        """
        narrow = inputs.device.type == "cpu" and compute_dtype(inputs) == torch.bfloat16
        if narrow and not ONEDNN_BF16:
            with torch.autocast("cpu", enabled=False):
                wide = None if state is None else tuple(tuple(part.float() for part in layer) for layer in state)
                return self.sequence(inputs.float(), wide)
        size, after = len(inputs), []
        more = -size % EVEN if narrow else 0
        inputs = _more_rows(inputs, more)
        for layer, kernel in enumerate(self.stack):
            before = None
            if state is not None:
                stacked = tuple(_more_rows(part, more)[None].contiguous() for part in state[layer])
                before = stacked if self.cell == "lstm" else stacked[0]
            inputs, last = kernel(inputs if layer == 0 else self.drop(inputs), before)
            after.append(tuple(part[0, :size] for part in (last if self.cell == "lstm" else (last,))))
        return inputs[:size], tuple(after)

    def project_known(self, inputs: Tensor) -> Tensor:
        """The first layer's share of the known inputs, biases included: (…, known) to (…, G)."""
        first = self.stack[0]
        bias = first.bias_ih_l0 + first.bias_hh_l0 if self.cell == "lstm" else first.bias_ih_l0
        return linear(inputs, first.weight_ih_l0[:, : self.known], bias)

    def steps(self, inputs: Tensor) -> "Steps":
        """To be called once for each of the T steps of the known inputs (T, N, known)."""
        return Steps(self, inputs)

    def step(self, inputs: Tensor, fed: Tensor | None, state: Hidden) -> tuple[Tensor, Hidden]:
        """One step alone. inputs: (N, known); fed: (N, fed) or None. Gives the output (N, H) and the state after it."""
        return self.steps(inputs[None])(fed, state)


class Steps:
    """The steps of a ``Recurrence``, one a call; the gradients of its matrices are computed behind the last."""

    def __init__(self, recurrence: Recurrence, known: Tensor) -> None:
        projected, dtype = recurrence.project_known(known), compute_dtype(known)  # (T, N, G)
        self.recurrence = recurrence
        self.products = []
        for layer, kernel in enumerate(recurrence.stack):
            inputs = kernel.weight_ih_l0[:, recurrence.known :] if layer == 0 else kernel.weight_ih_l0  # (G, D)
            hidden, hidden_bias = kernel.weight_hh_l0.to(dtype).t(), kernel.bias_hh_l0  # (H, G), (G,)
            base = projected.to(dtype)  # (T, N, G)
            if recurrence.cell == "lstm":
                if layer > 0:
                    base = (kernel.bias_ih_l0 + hidden_bias).to(dtype).expand_as(projected)
                matrices = (inputs.to(dtype).t(), hidden) if inputs.shape[1] else (hidden,)
                self.products.append((Deferred(base, *matrices),))
            else:
                if layer > 0:
                    base = kernel.bias_ih_l0.to(dtype).expand_as(projected)
                matrices = (inputs.to(dtype).t(),) if inputs.shape[1] else ()
                recurrent = Deferred(hidden_bias.to(dtype).expand_as(projected), hidden)
                self.products.append((Deferred(base, *matrices), recurrent))

    def __call__(self, fed: Tensor | None, state: Hidden) -> tuple[Tensor, Hidden]:
        """fed: (N, fed) or None. Gives the output (N, H) and the state after it."""
        after = []
        output = fed
        for layer, products in enumerate(self.products):
            if layer > 0:
                output = self.recurrence.drop(output)
            inputs = () if output is None else (output,)
            after.append((_lstm if len(products) == 1 else _gru)(*products, inputs, state[layer]))
            output = after[-1][0]
        return output, tuple(after)


def _lstm(product: Deferred, inputs: tuple[Tensor, ...], state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Hochreiter & Schmidhuber 1997, with a forget gate (Gers et al. 2000)."""
    hidden, cell = state
    i, f, g, o = product(*inputs, hidden).chunk(4, 1)  # (N, H) each
    cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
    return o.sigmoid() * cell.tanh(), cell


def _gru(
    product: Deferred, recurrent: Deferred, inputs: tuple[Tensor, ...], state: tuple[Tensor, ...]
) -> tuple[Tensor, ...]:
    """Cho et al. 2014, with the reset gate behind the product, as cuDNN has it."""
    (hidden,) = state
    r, z, n = product(*inputs).chunk(3, 1)  # (N, H) each
    r_h, z_h, n_h = recurrent(hidden).chunk(3, 1)
    update = (z + z_h).sigmoid()
    candidate = torch.tanh(n + (r + r_h).sigmoid() * n_h)
    return (candidate + update * (hidden - candidate),)


def _initialise(kernel: nn.LSTM | nn.GRU, hidden: int) -> None:
    """Glorot for the inputs, an orthogonal matrix a gate for the recurrence (Saxe et al. 2014, arXiv 1312.6120), and
    an LSTM's forget gate open at first (Jozefowicz et al. 2015): the state then carries far from the start."""
    for gate in kernel.weight_ih_l0.detach().split(hidden):
        nn.init.xavier_uniform_(gate)
    for gate in kernel.weight_hh_l0.detach().split(hidden):
        nn.init.orthogonal_(gate)
    for bias in (kernel.bias_ih_l0, kernel.bias_hh_l0):
        nn.init.zeros_(bias)
    if isinstance(kernel, nn.LSTM):
        nn.init.ones_(kernel.bias_ih_l0.detach()[hidden : 2 * hidden])


class Encoder(nn.Module):
    """A (bidirectional) recurrent encoder without packing, so that the fused kernel runs at full speed.

    The backward direction reads each sentence reversed within its own length, hence no state ever sees padding
    before a real token, and what is computed at padding is read by nobody. Bahdanau 2014, A.2.1.
    """

    def __init__(
        self, cell: str, embedding: int, hidden: int, layers: int, dropout: float, bidirectional: bool
    ) -> None:
        super().__init__()
        if bidirectional and hidden % 2:
            raise UserError(f"model.hidden={hidden} must be even: a bidirectional encoder gives each direction half")
        directions = 2 if bidirectional else 1
        each = hidden // directions
        self.drop = Dropout(dropout)
        sizes = [embedding] + [hidden] * (layers - 1)
        self.forwards = nn.ModuleList(Recurrence(cell, size, 0, each, 1, 0.0) for size in sizes)
        self.backwards = nn.ModuleList(Recurrence(cell, size, 0, each, 1, 0.0) for size in sizes if bidirectional)

    def forward(self, inputs: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """inputs (B, S, E) to states (B, S, C) and the top layer's last states (B, C): forward's at the last real
        token, backward's at the first."""
        flip = reversal(lengths, inputs.shape[1])  # (B, S)
        last = lengths[:, None] - 1  # (B, 1)
        for layer, kernel in enumerate(self.forwards):
            if layer > 0:
                inputs = self.drop(inputs)
            outputs, _ = kernel.sequence(inputs)  # (B, S, C or C/2)
            summary = take(outputs, last)[:, 0]  # (B, C or C/2)
            if self.backwards:
                reverse, _ = self.backwards[layer].sequence(take(inputs, flip))  # (B, S, C/2)
                summary = torch.cat([summary, take(reverse, last)[:, 0]], -1)  # (B, C)
                outputs = torch.cat([outputs, take(reverse, flip)], -1)  # (B, S, C)
            inputs = outputs
        return inputs, summary


@dataclass(frozen=True)
class RecurrentState(State):
    """hidden: see ``Hidden``. done: steps, the same for all rows. covered: (N, S), the sum of each source position's
    weights so far, where the model counts it. fed: what else goes into the next step, (N, fed).
    """

    hidden: Hidden
    done: int = 0
    covered: Tensor | None = None
    fed: Tensor | None = None


class RecurrentModel(Seq2Seq):
    """Embeddings, encoder, first decoder state and output projection: the same for all three recurrent models.

    Features have the size of the embedding, so that the output projection can be the target embedding (``tied``;
    Press & Wolf 2017, arXiv 1608.05859); with one joint vocabulary source and target embedding are one too.
    """

    def __init__(
        self,
        source_vocabulary: int,
        target_vocabulary: int,
        shared_vocabulary: bool,
        *,
        embedding: int,
        hidden: int,
        layers: int,
        cell: str,
        dropout: float,
        tied: bool,
        bidirectional: bool,
        fed: int,
    ) -> None:
        super().__init__()
        self.drop = Dropout(dropout)
        self.target_embedding = nn.Embedding(target_vocabulary, embedding, padding_idx=PAD)
        share = tied and shared_vocabulary
        self.source_embedding = (
            self.target_embedding if share else nn.Embedding(source_vocabulary, embedding, padding_idx=PAD)
        )
        self.encoder = Encoder(cell, embedding, hidden, layers, dropout, bidirectional)
        self.recurrence = Recurrence(cell, embedding, fed, hidden, layers, dropout)
        parts = 2 if cell == "lstm" else 1
        self.bridge = Linear(hidden, layers * parts * hidden)
        self.readout = Linear(hidden, embedding)
        self.output = Linear(embedding, target_vocabulary)
        for table in (self.target_embedding, self.source_embedding):
            nn.init.normal_(table.weight, std=embedding**-0.5)
            nn.init.zeros_(table.weight[PAD])
        nn.init.zeros_(self.output.bias)
        if tied:
            self.output.weight = self.target_embedding.weight

    def encode(self, source: Tensor, lengths: Tensor, attention: bool = False) -> Memory:
        """See ``Seq2Seq.encode``. ``summary`` is the sentence in one vector, (B, C)."""
        embedded = self._embed(self.source_embedding, source)  # (B, S, E)
        states, summary = self.encoder(embedded, lengths)  # (B, S, C), (B, C)
        mask = padding_mask(lengths, source.shape[1])  # (B, S)
        return Memory(self.drop(states), mask, summary=(summary,))

    def first_hidden(self, memory: Memory) -> Hidden:
        """The decoder's first state, s₀ = tanh(W · summary), for each layer; an LSTM's cell starts from a linear map
        of the same vector. Bahdanau 2014, A.2.2, has the backward state alone, Luong 2015 copies the last states."""
        layers = self.bridge(memory.summary[0]).float().chunk(self.recurrence.layers, -1)
        return tuple(
            tuple(part if index else part.tanh() for index, part in enumerate(layer.split(self.recurrence.hidden, -1)))
            for layer in layers
        )

    def embed_target(self, target: Tensor) -> Tensor:
        """(…) ids to (…, E), with dropout."""
        return self._embed(self.target_embedding, target)

    def _embed(self, table: nn.Embedding, ids: Tensor) -> Tensor:
        """A table that serves the output projection has small entries; as inputs they get unit variance
        (as in Vaswani 2017, §3.4)."""
        return self.drop(table(ids) * table.embedding_dim**0.5)

    def features(self, vectors: Tensor) -> Tensor:
        """What the decoder knows of the next word, (…, H) within ±1, to what is projected, (…, E): a linear map, so
        that logits have no bound and the output projection can be the embedding."""
        return self.readout(self.drop(vectors))


class AttentiveModel(RecurrentModel):
    """A recurrent model that looks at its source: what Bahdanau's and Luong's wiring share."""

    def __init__(
        self,
        *vocabularies: Any,
        hidden: int,
        score: str,
        local: str = "none",
        window: int = 10,
        coverage: bool = False,
        **common: Any,
    ) -> None:
        """score, local, window, coverage: see ``SourceAttention``."""
        super().__init__(*vocabularies, hidden=hidden, **common)
        options = {"local": local, "window": window, "coverage": coverage}
        self.attention = SourceAttention(score, hidden, hidden, hidden // 2, **options)

    def encode(self, source: Tensor, lengths: Tensor, attention: bool = False) -> Memory:
        """See ``Seq2Seq.encode``. ``cache``: the keys, projected once a sentence."""
        memory = super().encode(source, lengths, attention)
        return Memory(memory.states, memory.mask, (self.attention.project_keys(memory.states),), memory.summary)
