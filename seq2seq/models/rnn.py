"""An encoder–decoder without attention: the whole sentence in one fixed vector.

Sutskever et al. 2014, arXiv 1409.3215: the vector is where the decoder starts from.
Cho et al. 2014, arXiv 1406.1078, §2.2: and it is an input of every step (``context_every_step``).
Legend as in ``recurrent.py``.
"""

from typing import Any

import torch
from torch import Tensor

from seq2seq.linear import Linear
from seq2seq.models.interface import Attention, Memory
from seq2seq.models.recurrent import Hidden, RecurrentModel, RecurrentState


class RNN(RecurrentModel):
    """No attention anywhere: weights are None."""

    def __init__(
        self, *vocabularies: Any, hidden: int, embedding: int, context_every_step: bool, **common: Any
    ) -> None:
        fed = hidden if context_every_step else 0
        super().__init__(*vocabularies, hidden=hidden, embedding=embedding, fed=fed, **common)
        self.context_every_step = context_every_step
        self.combine = Linear(hidden, hidden)

    def _run(self, memory: Memory, tokens: Tensor, hidden: Hidden) -> tuple[Tensor, Hidden]:
        """tokens (N, T) from a state with N rows: features (N, T, E) and the next state."""
        inputs = self.embed_target(tokens)  # (N, T, E)
        if self.context_every_step:
            vector = memory.summary[0].repeat_interleave(len(tokens) // len(memory.mask), 0)  # (N, C)
            vector = vector[:, None].expand(-1, tokens.shape[1], -1).to(inputs.dtype)  # (N, T, C)
            inputs = torch.cat([inputs, vector], -1)  # (N, T, E + C)
        outputs, hidden = self.recurrence.sequence(inputs, hidden)  # (N, T, H)
        return self.features(torch.tanh(self.combine(self.drop(outputs)))), hidden  # (N, T, E)

    def decode(self, memory: Memory, target: Tensor, attention: bool = False) -> tuple[Tensor, Attention | None]:
        """See ``Seq2Seq.decode``."""
        features, _ = self._run(memory, target, self.first_hidden(memory))
        return features, Attention() if attention else None

    def start(self, memory: Memory) -> RecurrentState:
        """See ``Seq2Seq.start``."""
        return RecurrentState(self.first_hidden(memory))

    def step(
        self, memory: Memory, tokens: Tensor, state: RecurrentState, attention: bool = False
    ) -> tuple[Tensor, Tensor | None, RecurrentState]:
        """See ``Seq2Seq.step``."""
        features, hidden = self._run(memory, tokens[:, None], state.hidden)  # (N, 1, E)
        return features[:, 0], None, RecurrentState(hidden)
