"""Attention after the recurrence: "Effective Approaches to Attention-based Neural Machine Translation".

Luong et al. 2015, arXiv 1508.04025, §3.1 and §3.3. At step t the cell steps first; its **current** state hₜ looks at
the source, cₜ = Σⱼ αₜⱼ h̄ⱼ, and the attentional vector h̃ₜ = tanh(W_c [cₜ ; hₜ]) predicts the word. With
``input_feeding`` h̃ₜ₋₁ is an input of step t; without, the recurrence knows nothing of attention, and training is
one fused recurrence and one attention for all steps. Legend as in ``recurrent.py``; K beam, N = B·K.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from seq2seq.attention.attend import attend
from seq2seq.attention.deferred import Deferred, deferred_linear, deferred_values
from seq2seq.attention.scores import build_score
from seq2seq.models.interface import Attention, Memory, State
from seq2seq.models.recurrent import Hidden, RecurrentModel, compute_dtype


@dataclass(frozen=True)
class LuongState(State):
    """hidden: see ``recurrent.Hidden``. fed: the last attentional vector (N, H), None without input feeding."""

    hidden: Hidden
    fed: Tensor | None


class Luong(RecurrentModel):
    """Wiring: step, then attend with hₜ. Score and input feeding are options."""

    def __init__(
        self, *vocabularies: Any, hidden: int, embedding: int, score: str, input_feeding: bool, **common: Any
    ) -> None:
        fed = hidden if input_feeding else 0
        super().__init__(*vocabularies, hidden=hidden, embedding=embedding, fed=fed, **common)
        self.input_feeding = input_feeding
        self.score = build_score(score, hidden, hidden, hidden // 2)
        self.combine = nn.Linear(hidden + hidden, hidden)

    def encode(self, source: Tensor, lengths: Tensor, attention: bool = False) -> Memory:
        """See ``Seq2Seq.encode``. ``cache``: the keys, projected once a sentence."""
        memory = super().encode(source, lengths, attention)
        return Memory(memory.states, memory.mask, (self.score.project_keys(memory.states),), memory.summary)

    def _attentional(
        self, memory: Memory, outputs: Tensor, score: Callable, values: Tensor | Deferred, combine: Callable
    ) -> tuple[Tensor, Tensor]:
        """outputs (B, T, H) to attentional vectors (B·T, H) and weights (B, T, S)."""
        context, weights = attend(score(outputs), values, memory.mask[:, None])  # (B, T, C), (B, T, S)
        joined = torch.cat([context, outputs.to(context.dtype)], -1)  # (B, T, C + H)
        return torch.tanh(combine(self.drop(joined.flatten(0, 1)))), weights

    def _ready(self, memory: Memory) -> tuple[Callable, Tensor, Callable]:
        """What ``_attentional`` needs of memory and model, for any number of queries at once."""
        return partial(self.score, keys=memory.cache[0]), memory.states, self.combine

    def decode(self, memory: Memory, target: Tensor, attention: bool = False) -> tuple[Tensor, Attention | None]:
        """See ``Seq2Seq.decode``."""
        embedded = self.embed_target(target)  # (B, T, E)
        run = self._decode_fed if self.input_feeding else self._decode_free
        vectors, weights = run(memory, embedded)  # (B, T, H), (B, T, S)
        return self.features(vectors), Attention(cross=weights[:, None, None]) if attention else None

    def _decode_free(self, memory: Memory, embedded: Tensor) -> tuple[Tensor, Tensor]:
        outputs, _ = self.recurrence.sequence(embedded, self.first_hidden(memory))  # (B, T, H)
        vectors, weights = self._attentional(memory, outputs, *self._ready(memory))
        return vectors.view_as(outputs), weights

    def _decode_fed(self, memory: Memory, embedded: Tensor) -> tuple[Tensor, Tensor]:
        steps = self.recurrence.steps(embedded.transpose(0, 1))
        count, dtype = embedded.shape[1], compute_dtype(embedded)
        score = self.score.loop(memory.cache[0], count)
        values = deferred_values(memory.states, count)
        combine = deferred_linear(self.combine, count, len(embedded), dtype)
        state = self.start(memory)
        hidden, fed = state.hidden, state.fed
        vectors, rows = [], []
        for _ in range(count):
            output, hidden = steps(fed, hidden)  # (B, H)
            fed, weights = self._attentional(memory, output[:, None], score, values, combine)  # (B, H), (B, 1, S)
            vectors.append(fed)
            rows.append(weights)
        return torch.stack(vectors, 1), torch.cat(rows, 1)

    def start(self, memory: Memory) -> LuongState:
        """See ``Seq2Seq.start``."""
        hidden = self.first_hidden(memory)
        fed = hidden[0][0].new_zeros(len(memory.mask), self.combine.out_features) if self.input_feeding else None
        return LuongState(hidden, fed)

    def step(
        self, memory: Memory, tokens: Tensor, state: LuongState, attention: bool = False
    ) -> tuple[Tensor, Tensor | None, LuongState]:
        """See ``Seq2Seq.step``."""
        embedded = self.embed_target(tokens)  # (N, E)
        output, hidden = self.recurrence.step(embedded, state.fed, state.hidden)  # (N, H)
        queries = output.unflatten(0, (len(memory.mask), -1))  # (B, K, H)
        vectors, weights = self._attentional(memory, queries, *self._ready(memory))  # (N, H), (B, K, S)
        after = LuongState(hidden, vectors if self.input_feeding else None)
        return self.features(vectors), weights.flatten(0, 1) if attention else None, after
