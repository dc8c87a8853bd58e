"""Attention before the recurrence: "Neural Machine Translation by Jointly Learning to Align and Translate".

Bahdanau et al. 2014, arXiv 1409.0473, §3.1 and A.2.2. At step t the **previous** state looks at the source,
eₜⱼ = v·tanh(W₁ sₜ₋₁ + W₂ hⱼ), and the context cₜ = Σⱼ αₜⱼ hⱼ goes **into** the cell: sₜ = f(sₜ₋₁, yₜ₋₁, cₜ).
Row t of the weights therefore belongs to the word being generated. A deep output reads sₜ, yₜ₋₁ and cₜ (eq. 4), here
with one tanh layer where the paper (A.2.2) has maxout. Legend as in ``recurrent.py``; K beam, N = B·K.
"""

from typing import Any

import torch
from torch import Tensor

from seq2seq.linear import Linear
from seq2seq.models.interface import Attention, Memory
from seq2seq.models.recurrent import AttentiveModel, Hidden, RecurrentState


class Bahdanau(AttentiveModel):
    """Wiring: attend with sₜ₋₁, then step. Score, local attention and coverage are options."""

    def __init__(self, *vocabularies: Any, hidden: int, embedding: int, **common: Any) -> None:
        super().__init__(*vocabularies, hidden=hidden, embedding=embedding, fed=hidden, **common)
        self.combine = Linear(hidden + hidden + embedding, hidden)

    def _output(self, outputs: Tensor, context: Tensor, embedded: Tensor) -> Tensor:
        """The deep output: (…, H), (…, C), (…, E) to (…, E)."""
        joined = torch.cat([outputs, context.to(outputs.dtype), embedded.to(outputs.dtype)], -1)  # (…, H + C + E)
        return self.features(torch.tanh(self.combine(self.drop(joined))))

    def decode(self, memory: Memory, target: Tensor, attention: bool = False) -> tuple[Tensor, Attention | None]:
        """See ``Seq2Seq.decode``. Only attention and the cell are in the loop."""
        embedded = self.embed_target(target)  # (B, T, E)
        steps = self.recurrence.steps(embedded.transpose(0, 1))
        look = self.attention.loop(memory.cache[0], memory.states, memory.mask, target.shape[1])
        hidden = self.first_hidden(memory)
        covered = self.attention.no_coverage(memory.mask)
        outputs, contexts, rows = [], [], []
        for done in range(target.shape[1]):
            context, weights = look(_query(hidden), done, None if covered is None else covered[:, None])
            output, hidden = steps(context[:, 0], hidden)  # (B, H)
            covered = None if covered is None else covered + weights[:, 0]  # (B, S)
            outputs.append(output)
            contexts.append(context)
            rows.append(weights)
        features = self._output(torch.stack(outputs, 1), torch.cat(contexts, 1), embedded)  # (B, T, E)
        return features, Attention(cross=torch.cat(rows, 1)[:, None, None]) if attention else None

    def start(self, memory: Memory) -> RecurrentState:
        """See ``Seq2Seq.start``."""
        return RecurrentState(self.first_hidden(memory), covered=self.attention.no_coverage(memory.mask))

    def step(
        self, memory: Memory, tokens: Tensor, state: RecurrentState, attention: bool = False
    ) -> tuple[Tensor, Tensor | None, RecurrentState]:
        """See ``Seq2Seq.step``. A sentence's K rows are its K queries."""
        embedded, sentences = self.embed_target(tokens), len(memory.mask)  # (N, E)
        query = _query(state.hidden)[:, 0].unflatten(0, (sentences, -1))  # (B, K, H)
        covered = None if state.covered is None else state.covered.unflatten(0, (sentences, -1))  # (B, K, S)
        context, weights = self.attention(
            query, memory.cache[0], memory.states, memory.mask, state.done, covered
        )  # (B, K, C), (B, K, S)
        context, weights = context.flatten(0, 1), weights.flatten(0, 1)  # (N, C), (N, S)
        output, hidden = self.recurrence.step(embedded, context, state.hidden)  # (N, H)
        covered = None if covered is None else state.covered + weights  # (N, S)
        after = RecurrentState(hidden, state.done + 1, covered)
        return self._output(output, context, embedded), weights if attention else None, after


def _query(hidden: Hidden) -> Tensor:
    """The top layer's state, (N, 1, H)."""
    return hidden[-1][0][:, None]
