"""Attention after the recurrence: "Effective Approaches to Attention-based Neural Machine Translation".

Luong et al. 2015, arXiv 1508.04025, §3.1 and §3.3. At step t the cell steps first; its **current** state hₜ looks at
the source, cₜ = Σⱼ αₜⱼ h̄ⱼ, and the attentional vector h̃ₜ = tanh(W_c [cₜ ; hₜ]) predicts the word. With
``input_feeding`` h̃ₜ₋₁ is an input of step t; without, the recurrence knows nothing of attention, and training is
one fused recurrence and one attention for all steps. Legend as in ``recurrent.py``; K beam, N = B·K.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from seq2seq.attention.attend import attend
from seq2seq.attention.scores import build_score
from seq2seq.models.interface import Attention, Memory, State
from seq2seq.models.recurrent import Hidden, RecurrentModel


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
        self.readout = nn.Linear(hidden, embedding)  # so that the output projection can be the embedding

    def encode(self, source: Tensor, lengths: Tensor, attention: bool = False) -> Memory:
        """See ``Seq2Seq.encode``. ``cache``: the keys, projected once a sentence."""
        memory = super().encode(source, lengths, attention)
        return Memory(memory.states, memory.mask, (self.score.project_keys(memory.states),), memory.summary)

    def _attentional(self, memory: Memory, outputs: Tensor) -> tuple[Tensor, Tensor]:
        """outputs (B, T, H) to attentional vectors (B, T, H), before dropout, and weights (B, T, S)."""
        energies = self.score(outputs, memory.cache[0])  # (B, T, S)
        context, weights = attend(energies, memory.states, memory.mask[:, None])  # (B, T, C), (B, T, S)
        joined = torch.cat([context, outputs.to(context.dtype)], -1)  # (B, T, C + H)
        return torch.tanh(self.combine(self.drop(joined))), weights

    def _features(self, vectors: Tensor) -> Tensor:
        """Attentional vectors (…, H) to what is projected, (…, E)."""
        return self.readout(self.drop(vectors))

    def decode(self, memory: Memory, target: Tensor, attention: bool = False) -> tuple[Tensor, Attention | None]:
        """See ``Seq2Seq.decode``."""
        embedded = self.embed_target(target)  # (B, T, E)
        run = self._decode_fed if self.input_feeding else self._decode_free
        vectors, weights = run(memory, embedded)  # (B, T, H), (B, T, S)
        return self._features(vectors), Attention(cross=weights[:, None, None]) if attention else None

    def _decode_free(self, memory: Memory, embedded: Tensor) -> tuple[Tensor, Tensor]:
        outputs, _ = self.recurrence.sequence(embedded, self.first_hidden(memory))  # (B, T, H)
        return self._attentional(memory, outputs)

    def _decode_fed(self, memory: Memory, embedded: Tensor) -> tuple[Tensor, Tensor]:
        projected = self.recurrence.project_known(embedded).unbind(1)  # T × (B, G)
        matrices = self.recurrence.step_weights(embedded)
        state = self.start(memory)
        hidden, fed = state.hidden, state.fed
        vectors, rows = [], []
        for known in projected:
            output, hidden = self.recurrence.step(known, fed, hidden, matrices)  # (B, H)
            vector, weights = self._attentional(memory, output[:, None])  # (B, 1, H), (B, 1, S)
            fed = vector[:, 0]  # (B, H)
            vectors.append(vector)
            rows.append(weights)
        return torch.cat(vectors, 1), torch.cat(rows, 1)

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
        output, hidden = self.recurrence.step(
            self.recurrence.project_known(embedded), state.fed, state.hidden, self.recurrence.step_weights(embedded)
        )  # (N, H)
        queries = output.unflatten(0, (len(memory.mask), -1))  # (B, K, H)
        vectors, weights = self._attentional(memory, queries)  # (B, K, H), (B, K, S)
        vector = vectors.flatten(0, 1)  # (N, H)
        after = LuongState(hidden, vector if self.input_feeding else None)
        return self._features(vector), weights.flatten(0, 1) if attention else None, after
