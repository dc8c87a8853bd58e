"""How well does a query match a key? One class for each published score.

| name       | energy of query s and key h | source                         |
|------------|-----------------------------|--------------------------------|
| additive   | v·tanh(W₁ s + W₂ h)         | Bahdanau 2014, 1409.0473, A.1.2 |
| dot        | s·h                         | Luong 2015, 1508.04025, §3.1   |
| general    | s·W h                       | Luong 2015, §3.1               |
| concat     | v·tanh(W [s ; h])           | Luong 2015, §3.1               |

Each score does the keys' share of the work once a sentence (``project_keys``), and the rest for each query.
Legend: B batch, T queries, S keys, Q query size, K key size, A size of the hidden layer.
"""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from seq2seq.attention.deferred import deferred_linear, deferred_values
from seq2seq.errors import UserError


class Score(nn.Module):
    """Energies of queries and keys."""

    def project_keys(self, states: Tensor) -> Tensor:
        """The keys' share of the work: states (B, S, K) to what ``forward`` takes, sentences first."""
        raise NotImplementedError

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """(B, T, Q) and what ``project_keys`` gave to energies (B, T, S)."""
        raise NotImplementedError

    def loop(self, keys: Tensor, steps: int) -> Callable[[Tensor], Tensor]:
        """``forward`` for one query (B, 1, Q) a step, to be called ``steps`` times: the same numbers, faster."""
        return partial(self, keys=deferred_values(keys, steps))


class Additive(Score):
    """v·tanh(W₁ s + W₂ h). Query and key may differ in size."""

    def __init__(self, query_size: int, key_size: int, size: int) -> None:
        super().__init__()
        self.query = nn.Linear(query_size, size, bias=False)
        self.key = nn.Linear(key_size, size, bias=False)
        self.energy = nn.Linear(size, 1, bias=False)

    def project_keys(self, states: Tensor) -> Tensor:
        """(B, S, K) to (B, S, A)."""
        return self.key(states)

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """(B, T, Q) and (B, S, A) to energies (B, T, S)."""
        return self._energies(self.query(query), keys)

    def _energies(self, query: Tensor, keys: Tensor) -> Tensor:
        hidden = query[:, :, None] + keys[:, None]  # (B, T, S, A)
        return self.energy(torch.tanh(hidden)).squeeze(-1)  # (B, T, S)

    def loop(self, keys: Tensor, steps: int) -> Callable[[Tensor], Tensor]:
        """See ``Score.loop``."""
        project = deferred_linear(self.query, steps, len(keys), keys.dtype)
        return lambda query: self._energies(project(query[:, 0])[:, None], keys)


class Concat(Additive):
    """v·tanh(W [s ; h]): with W = [W₁ W₂] this is the additive score, so that the keys' half can be done once."""


class General(Score):
    """s·W h. Query and key may differ in size."""

    def __init__(self, query_size: int, key_size: int, size: int) -> None:
        super().__init__()
        self.key = nn.Linear(key_size, query_size, bias=False)

    def project_keys(self, states: Tensor) -> Tensor:
        """(B, S, K) to (B, Q, S)."""
        return self.key(states).transpose(1, 2)

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """(B, T, Q) and (B, Q, S) to energies (B, T, S)."""
        return query @ keys


class Dot(Score):
    """s·h, which has no parameter and needs query and key of one size."""

    def __init__(self, query_size: int, key_size: int, size: int) -> None:
        super().__init__()
        if query_size != key_size:
            raise UserError(
                f"score=dot needs decoder states ({query_size}) and encoder states ({key_size}) of one size: "
                "choose score=general, or sizes that agree"
            )

    def project_keys(self, states: Tensor) -> Tensor:
        """The states themselves, (B, K, S)."""
        return states.transpose(1, 2)

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """(B, T, Q) and (B, Q, S) to energies (B, T, S)."""
        return query @ keys


SCORES: dict[str, type[Score]] = {"additive": Additive, "dot": Dot, "general": General, "concat": Concat}


def build_score(name: str, query_size: int, key_size: int, size: int) -> Score:
    """The score of that name, or a UserError that lists the names there are."""
    if name not in SCORES:
        raise UserError(f"model.score={name} is not a score: choose one of {', '.join(SCORES)}")
    return SCORES[name](query_size, key_size, size)
