"""Attention before the recurrence: "Neural Machine Translation by Jointly Learning to Align and Translate".

Bahdanau et al. 2014, arXiv 1409.0473, §3.1 and A.2.2. At step t the **previous** state looks at the source,
eₜⱼ = v·tanh(W₁ sₜ₋₁ + W₂ hⱼ), and the context cₜ = Σⱼ αₜⱼ hⱼ goes **into** the cell: sₜ = f(sₜ₋₁, yₜ₋₁, cₜ).
Row t of the weights therefore belongs to the word being generated. A deep output reads sₜ, yₜ₋₁ and cₜ (eq. 4), here
with one tanh layer where the paper (A.2.2) has maxout. Legend as in ``recurrent.py``; K beam, N = B·K.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from seq2seq.attention.attend import attend
from seq2seq.attention.deferred import Deferred, deferred_values
from seq2seq.attention.scores import build_score
from seq2seq.models.interface import Attention, Memory, State
from seq2seq.models.recurrent import Hidden, RecurrentModel


@dataclass(frozen=True)
class BahdanauState(State):
    """hidden: see ``recurrent.Hidden``."""

    hidden: Hidden


class Bahdanau(RecurrentModel):
    """Wiring: attend with sₜ₋₁, then step. The score is an option."""

    def __init__(self, *vocabularies: Any, hidden: int, embedding: int, score: str, **common: Any) -> None:
        super().__init__(*vocabularies, hidden=hidden, embedding=embedding, fed=hidden, **common)
        self.score = build_score(score, hidden, hidden, hidden // 2)
        self.combine = nn.Linear(hidden + hidden + embedding, hidden)

    def encode(self, source: Tensor, lengths: Tensor, attention: bool = False) -> Memory:
        """See ``Seq2Seq.encode``. ``cache``: the keys, projected once a sentence."""
        memory = super().encode(source, lengths, attention)
        return Memory(memory.states, memory.mask, (self.score.project_keys(memory.states),), memory.summary)

    def _attend(
        self, memory: Memory, hidden: Hidden, score: Callable, values: Tensor | Deferred
    ) -> tuple[Tensor, Tensor]:
        """Context (N, C) and weights (N, S) for the state's N rows; a sentence's K rows are its K queries."""
        query = hidden[-1][0].unflatten(0, (len(memory.mask), -1))  # (B, K, H)
        context, weights = attend(score(query), values, memory.mask[:, None])  # (B, K, C), (B, K, S)
        return context.flatten(0, 1), weights.flatten(0, 1)

    def _output(self, outputs: Tensor, context: Tensor, embedded: Tensor) -> Tensor:
        """The deep output: (…, H), (…, C), (…, E) to (…, E)."""
        joined = torch.cat([outputs, context.to(outputs.dtype), embedded.to(outputs.dtype)], -1)  # (…, H + C + E)
        return self.features(torch.tanh(self.combine(self.drop(joined))))

    def decode(self, memory: Memory, target: Tensor, attention: bool = False) -> tuple[Tensor, Attention | None]:
        """See ``Seq2Seq.decode``. Only attention and the cell are in the loop."""
        embedded = self.embed_target(target)  # (B, T, E)
        steps = self.recurrence.steps(embedded.transpose(0, 1))
        score = self.score.loop(memory.cache[0], target.shape[1])
        values = deferred_values(memory.states, target.shape[1])
        hidden = self.first_hidden(memory)
        outputs, contexts, rows = [], [], []
        for _ in range(target.shape[1]):
            context, weights = self._attend(memory, hidden, score, values)  # (B, C), (B, S)
            output, hidden = steps(context, hidden)  # (B, H)
            outputs.append(output)
            contexts.append(context)
            rows.append(weights)
        features = self._output(torch.stack(outputs, 1), torch.stack(contexts, 1), embedded)  # (B, T, E)
        return features, Attention(cross=torch.stack(rows, 1)[:, None, None]) if attention else None

    def start(self, memory: Memory) -> BahdanauState:
        """See ``Seq2Seq.start``."""
        return BahdanauState(self.first_hidden(memory))

    def step(
        self, memory: Memory, tokens: Tensor, state: BahdanauState, attention: bool = False
    ) -> tuple[Tensor, Tensor | None, BahdanauState]:
        """See ``Seq2Seq.step``."""
        embedded = self.embed_target(tokens)  # (N, E)
        score = partial(self.score, keys=memory.cache[0])
        context, weights = self._attend(memory, state.hidden, score, memory.states)  # (N, C), (N, S)
        output, hidden = self.recurrence.step(embedded, context, state.hidden)  # (N, H)
        return self._output(output, context, embedded), weights if attention else None, BahdanauState(hidden)
