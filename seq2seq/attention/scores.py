"""How well does a query match a key? One class for each published score.

| name       | energy of query s and key h      | source                              |
|------------|----------------------------------|-------------------------------------|
| additive   | v·tanh(W₁ s + W₂ h)              | Bahdanau 2014, 1409.0473, A.1.2     |
| dot        | s·h                              | Luong 2015, 1508.04025, §3.1        |
| general    | s·W h                            | Luong 2015, §3.1                    |
| concat     | v·tanh(W [s ; h])                | Luong 2015, §3.1                    |
| location   | the position's entry of W s      | Luong 2015, §3.1, eq. 8             |
| scaled_dot | s·h / √d                         | Vaswani 2017, 1706.03762, §3.2.1    |

Each score does the keys' share of the work once a sentence (``project_keys``), and the rest for each query. With
coverage c of a position, its key moves by c·u for a learned u: W₂ h + c·u in a hidden layer, h + c·u in a product.
Legend: B batch, T queries, S keys, Q query size, K key size, A size of the hidden layer.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from seq2seq.attention.deferred import Deferred, deferred_linear, deferred_values
from seq2seq.errors import UserError
from seq2seq.linear import Linear

LONGEST = 512  # positions that the location score tells apart; it sees nothing of a source behind them


class Score(nn.Module):
    """Energies of queries and keys."""

    def __init__(self, key_size: int, coverage: bool) -> None:
        """key_size: of keys as ``forward`` takes them, so that coverage can move them."""
        super().__init__()
        self.covered = nn.Parameter(torch.zeros(key_size)) if coverage else None

    def project_keys(self, states: Tensor) -> Tensor:
        """The keys' share of the work: states (B, S, K) to what ``forward`` takes, sentences first."""
        raise NotImplementedError

    def forward(self, query: Tensor, keys: Tensor, coverage: Tensor | None = None) -> Tensor:
        """(B, T, Q), what ``project_keys`` gave, and coverage (B, T, S) or None to energies (B, T, S)."""
        raise NotImplementedError

    def loop(self, keys: Tensor, steps: int) -> Callable[[Tensor, Tensor | None], Tensor]:
        """``forward`` for one query (B, 1, Q) a step, to be called ``steps`` times: the same numbers, faster."""
        raise NotImplementedError


class Additive(Score):
    """v·tanh(W₁ s + W₂ h). Query and key may differ in size."""

    def __init__(self, query_size: int, key_size: int, size: int, coverage: bool = False) -> None:
        super().__init__(size, coverage)
        self.query = nn.Linear(query_size, size, bias=False)
        self.key = Linear(key_size, size, bias=False)
        self.energy = nn.Linear(size, 1, bias=False)

    def project_keys(self, states: Tensor) -> Tensor:
        """(B, S, K) to (B, S, A)."""
        return self.key(states)

    def forward(self, query: Tensor, keys: Tensor, coverage: Tensor | None = None) -> Tensor:
        """See ``Score.forward``."""
        return self._energies(self.query(query), keys, coverage)

    def _energies(self, query: Tensor, keys: Tensor, coverage: Tensor | None) -> Tensor:
        hidden = query[:, :, None] + keys[:, None]  # (B, T, S, A)
        if self.covered is not None:
            hidden = hidden + coverage[..., None].to(hidden.dtype) * self.covered
        return self.energy(torch.tanh(hidden)).squeeze(-1)  # (B, T, S)

    def loop(self, keys: Tensor, steps: int) -> Callable[[Tensor, Tensor | None], Tensor]:
        """See ``Score.loop``."""
        project = deferred_linear(self.query, steps, len(keys), keys.dtype)
        return lambda query, coverage=None: self._energies(project(query[:, 0])[:, None], keys, coverage)


class Concat(Additive):
    """v·tanh(W [s ; h]): with W = [W₁ W₂] this is the additive score, so that the keys' half can be done once."""


class Product(Score):
    """s·k with keys k (B, Q, S)."""

    def forward(self, query: Tensor, keys: Tensor | Deferred, coverage: Tensor | None = None) -> Tensor:
        """See ``Score.forward``."""
        energies = query @ keys  # (B, T, S)
        if self.covered is not None:
            energies = energies + (query @ self.covered)[..., None] * coverage
        return energies

    def loop(self, keys: Tensor, steps: int) -> Callable[[Tensor, Tensor | None], Tensor]:
        """See ``Score.loop``."""
        deferred = deferred_values(keys, steps)
        return lambda query, coverage=None: self(query, deferred, coverage)


class General(Product):
    """s·W h. Query and key may differ in size."""

    def __init__(self, query_size: int, key_size: int, size: int, coverage: bool = False) -> None:
        super().__init__(query_size, coverage)
        self.key = Linear(key_size, query_size, bias=False)

    def project_keys(self, states: Tensor) -> Tensor:
        """(B, S, K) to (B, Q, S)."""
        return self.key(states).transpose(1, 2)


class Dot(Product):
    """s·h, which has no parameter and needs query and key of one size."""

    def __init__(self, query_size: int, key_size: int, size: int, coverage: bool = False) -> None:
        super().__init__(query_size, coverage)
        if query_size != key_size:
            raise UserError(
                f"this score needs decoder states ({query_size}) and encoder states ({key_size}) of one size: "
                "choose model.score=general, or sizes that agree"
            )

    def project_keys(self, states: Tensor) -> Tensor:
        """The states themselves, (B, Q, S)."""
        return states.transpose(1, 2)


class ScaledDot(Dot):
    """s·h / √d, so that energies of independent entries have variance 1 whatever the size d."""

    def project_keys(self, states: Tensor) -> Tensor:
        """The states over √d, (B, Q, S)."""
        return super().project_keys(states) / math.sqrt(states.shape[-1])


class Location(Score):
    """aₜ = softmax(W s): the query alone says which positions. Needs no keys."""

    def __init__(self, query_size: int, key_size: int, size: int, coverage: bool = False) -> None:
        if coverage:
            raise UserError(
                "model.score=location looks at no keys, which coverage could move: set model.coverage=false"
            )
        super().__init__(key_size, coverage)
        self.position = nn.Linear(query_size, LONGEST, bias=False)

    def project_keys(self, states: Tensor) -> Tensor:
        """(B, S, 0): only their number counts."""
        return states[..., :0]

    def forward(self, query: Tensor, keys: Tensor, coverage: Tensor | None = None) -> Tensor:
        """See ``Score.forward``."""
        size = keys.shape[1]
        energies = nn.functional.linear(query, self.position.weight[:size])  # (B, T, ≤ S)
        unseen = torch.finfo(energies.dtype).min
        return nn.functional.pad(energies, (0, size - energies.shape[-1]), value=unseen)

    def loop(self, keys: Tensor, steps: int) -> Callable[[Tensor, Tensor | None], Tensor]:
        """See ``Score.loop``."""
        return lambda query, coverage=None: self(query, keys)


SCORES: dict[str, type[Score]] = {
    "additive": Additive,
    "dot": Dot,
    "general": General,
    "concat": Concat,
    "location": Location,
    "scaled_dot": ScaledDot,
}


def build_score(name: str, query_size: int, key_size: int, size: int, coverage: bool = False) -> Score:
    """The score of that name, or a UserError that lists the names there are."""
    if name not in SCORES:
        raise UserError(f"model.score={name} is not a score: choose one of {', '.join(SCORES)}")
    return SCORES[name](query_size, key_size, size, coverage)
