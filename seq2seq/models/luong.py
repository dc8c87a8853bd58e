"""Attention after the recurrence: "Effective Approaches to Attention-based Neural Machine Translation".

Luong et al. 2015, arXiv 1508.04025, §3.1 and §3.3. At step t the cell steps first; its **current** state hₜ looks at
the source, cₜ = Σⱼ αₜⱼ h̄ⱼ, and the attentional vector h̃ₜ = tanh(W_c [cₜ ; hₜ]) predicts the word. With
``input_feeding`` h̃ₜ₋₁ is an input of step t; without, the recurrence knows nothing of attention, and training is
one fused recurrence and one attention for all steps. Legend as in ``recurrent.py``; K beam, N = B·K.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from seq2seq.attention.deferred import deferred_linear
from seq2seq.linear import Linear, compute_dtype
from seq2seq.models.interface import Attention, Memory
from seq2seq.models.recurrent import AttentiveModel, RecurrentState


class Luong(AttentiveModel):
    """Wiring: step, then attend with hₜ. Score, input feeding, local attention and coverage are options."""

    def __init__(self, *vocabularies: Any, hidden: int, input_feeding: bool, **common: Any) -> None:
        super().__init__(*vocabularies, hidden=hidden, fed=hidden if input_feeding else 0, **common)
        self.input_feeding = input_feeding
        self.combine = Linear(hidden + hidden, hidden)

    def _attentional(self, context: Tensor, outputs: Tensor, combine: Callable[[Tensor], Tensor]) -> Tensor:
        """h̃ₜ: context and outputs (…, T, H) to attentional vectors (…·T, H)."""
        joined = torch.cat([context, outputs.to(context.dtype)], -1).flatten(0, -2)  # (…·T, C + H)
        return torch.tanh(combine(self.drop(joined)))

    def decode(self, memory: Memory, target: Tensor, attention: bool = False) -> tuple[Tensor, Attention | None]:
        """See ``Seq2Seq.decode``."""
        embedded = self.embed_target(target)  # (B, T, E)
        in_turn = self.input_feeding or self.attention.coverage
        vectors, weights = (self._in_turn if in_turn else self._at_once)(memory, embedded)  # (B, T, H), (B, T, S)
        return self.features(vectors), Attention(cross=weights[:, None, None]) if attention else None

    def _at_once(self, memory: Memory, embedded: Tensor) -> tuple[Tensor, Tensor]:
        outputs, _ = self.recurrence.sequence(embedded, self.first_hidden(memory))  # (B, T, H)
        done = torch.arange(outputs.shape[1], device=outputs.device)  # (T,)
        context, weights = self.attention(outputs, memory.cache[0], memory.states, memory.mask, done, None)
        return self._attentional(context, outputs, self.combine).view_as(outputs), weights

    def _in_turn(self, memory: Memory, embedded: Tensor) -> tuple[Tensor, Tensor]:
        rows, count, _ = embedded.shape
        steps = self.recurrence.steps(embedded.transpose(0, 1))
        look = self.attention.loop(memory.cache[0], memory.states, memory.mask, count)
        combine = deferred_linear(self.combine, count, rows, compute_dtype(embedded))
        state = self.start(memory)
        hidden, fed, covered = state.hidden, state.fed, state.covered
        vectors, alignment = [], []
        for done in range(count):
            output, hidden = steps(fed, hidden)  # (B, H)
            context, weights = look(output[:, None], done, None if covered is None else covered[:, None])
            vectors.append(self._attentional(context[:, 0], output, combine))  # (B, H)
            alignment.append(weights)  # (B, 1, S)
            fed = vectors[-1] if self.input_feeding else None
            covered = None if covered is None else covered + weights[:, 0]  # (B, S)
        return torch.stack(vectors, 1), torch.cat(alignment, 1)

    def start(self, memory: Memory) -> RecurrentState:
        """See ``Seq2Seq.start``. ``fed`` is the last attentional vector."""
        hidden = self.first_hidden(memory)
        fed = hidden[0][0].new_zeros(len(memory.mask), self.combine.out_features) if self.input_feeding else None
        return RecurrentState(hidden, 0, self.attention.no_coverage(memory.mask), fed)

    def step(
        self, memory: Memory, tokens: Tensor, state: RecurrentState, attention: bool = False
    ) -> tuple[Tensor, Tensor | None, RecurrentState]:
        """See ``Seq2Seq.step``. A sentence's K rows are its K queries."""
        sentences = len(memory.mask)
        output, hidden = self.recurrence.step(self.embed_target(tokens), state.fed, state.hidden)  # (N, H)
        queries = output.unflatten(0, (sentences, -1))  # (B, K, H)
        covered = None if state.covered is None else state.covered.unflatten(0, (sentences, -1))  # (B, K, S)
        context, weights = self.attention(
            queries, memory.cache[0], memory.states, memory.mask, state.done, covered
        )  # (B, K, C), (B, K, S)
        vectors, weights = self._attentional(context, queries, self.combine), weights.flatten(0, 1)  # (N, H), (N, S)
        covered = None if covered is None else state.covered + weights  # (N, S)
        after = RecurrentState(hidden, state.done + 1, covered, vectors if self.input_feeding else None)
        return self.features(vectors), weights if attention else None, after
