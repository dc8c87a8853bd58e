"""Attention of a recurrent decoder over its source: a score, and what may be added to it.

score → (window) → softmax → (Gaussian) → context. Local attention is Luong's (``local.py``). Coverage is the sum of a
source position's weights so far (Tu et al. 2016, arXiv 1601.04811, §3.1; in this plain form See et al. 2017,
arXiv 1704.04368, §2.3); the score reads it, so that the decoder can see what is still to be translated.
Legend: B sentences, T queries, S source positions, Q query size, K key size, A size of a score's hidden layer.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from seq2seq.attention.attend import attend
from seq2seq.attention.deferred import Deferred, deferred_values
from seq2seq.attention.local import Local
from seq2seq.attention.scores import build_score


class SourceAttention(nn.Module):
    """Context and weights for queries of a decoder."""

    def __init__(
        self, score: str, query_size: int, key_size: int, size: int, *, local: str, window: int, coverage: bool
    ) -> None:
        """score: see ``scores.py``. size: A. local: ``none`` or a name of ``local.py``, with its ``window``."""
        super().__init__()
        self.score = build_score(score, query_size, key_size, size, coverage)
        self.local = None if local == "none" else Local(local, query_size, window)
        self.coverage = coverage

    def project_keys(self, states: Tensor) -> Tensor:
        """What of the energies depends on the source alone: states (B, S, K) to keys, sentences first."""
        return self.score.project_keys(states)

    def no_coverage(self, mask: Tensor) -> Tensor | None:
        """Before the first step: nothing of the source (B, S) is covered. None for a decoder that does not count."""
        return torch.zeros(mask.shape, device=mask.device) if self.coverage else None

    def forward(
        self, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor, done: Tensor | int, covered: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """query (B, T, Q); values (B, S, D); mask (B, S); covered (B, T, S) or None.

        done: steps before that of each query, (T,), or of all.

        Gives context (B, T, D) and weights (B, T, S).
        """
        return self._finish(self.score(query, keys, covered), query, values, mask, done)

    def _finish(
        self, energies: Tensor, query: Tensor, values: Tensor | Deferred, mask: Tensor, done: Tensor | int
    ) -> tuple[Tensor, Tensor]:
        if self.local is None:
            return attend(energies, values, mask[:, None])
        near, factors = self.local(query, mask, done)  # (B, T, S)
        return attend(energies, values, near, factors)

    def loop(
        self, keys: Tensor, values: Tensor, mask: Tensor, steps: int
    ) -> Callable[[Tensor, int, Tensor | None], tuple[Tensor, Tensor]]:
        """``forward`` for one query (B, 1, Q) a step, to be called ``steps`` times: the same numbers, faster."""
        score, deferred = self.score.loop(keys, steps), deferred_values(values, steps)

        def look(query: Tensor, done: int, covered: Tensor | None) -> tuple[Tensor, Tensor]:
            return self._finish(score(query, covered), query, deferred, mask, done)

        return look
