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

import torch
from torch import Tensor, nn

from seq2seq.errors import UserError


class Additive(nn.Module):
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
        hidden = self.query(query)[:, :, None] + keys[:, None]  # (B, T, S, A)
        return self.energy(torch.tanh(hidden)).squeeze(-1)  # (B, T, S)


class Concat(Additive):
    """v·tanh(W [s ; h]): with W = [W₁ W₂] this is the additive score, so that the keys' half can be done once."""


class General(nn.Module):
    """s·W h. Query and key may differ in size."""

    def __init__(self, query_size: int, key_size: int, size: int) -> None:
        super().__init__()
        self.key = nn.Linear(key_size, query_size, bias=False)

    def project_keys(self, states: Tensor) -> Tensor:
        """(B, S, K) to (B, S, Q)."""
        return self.key(states)

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """(B, T, Q) and (B, S, Q) to energies (B, T, S)."""
        return query @ keys.transpose(1, 2)


class Dot(nn.Module):
    """s·h, which has no parameter and needs query and key of one size."""

    def __init__(self, query_size: int, key_size: int, size: int) -> None:
        super().__init__()
        if query_size != key_size:
            raise UserError(
                f"score=dot needs decoder states ({query_size}) and encoder states ({key_size}) of one size: "
                "choose score=general, or sizes that agree"
            )

    def project_keys(self, states: Tensor) -> Tensor:
        """The states themselves, (B, S, K)."""
        return states

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """(B, T, Q) and (B, S, Q) to energies (B, T, S)."""
        return query @ keys.transpose(1, 2)


SCORES: dict[str, type[nn.Module]] = {"additive": Additive, "dot": Dot, "general": General, "concat": Concat}


def build_score(name: str, query_size: int, key_size: int, size: int) -> nn.Module:
    """The score of that name, or a UserError that lists the names there are."""
    if name not in SCORES:
        raise UserError(f"model.score={name} is not a score: choose one of {', '.join(SCORES)}")
    return SCORES[name](query_size, key_size, size)
