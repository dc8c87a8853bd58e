"""Local attention: a window around one position of the source (Luong et al. 2015, arXiv 1508.04025, §3.2).

| name       | centre pₜ of the window              | weights                                   |
|------------|--------------------------------------|-------------------------------------------|
| monotonic  | pₜ = t                               | softmax within the window (local-m)       |
| predictive | pₜ = S · sigmoid(v·tanh(W hₜ))       | that, times exp(−(s − pₜ)² / 2σ²) (local-p) |

The window is [pₜ − D, pₜ + D] and σ = D/2; positions count from 1, as in the paper. Rows of local-p sum to at most 1.
Legend: B sentences, T queries, S source positions, Q query size.
"""

import torch
from torch import Tensor, nn

from seq2seq.errors import UserError


class Monotonic(nn.Module):
    """local-m. Behind the end of the source the centre stays at its last position, where the paper has no window."""

    def __init__(self, query_size: int) -> None:
        super().__init__()

    def forward(self, query: Tensor, lengths: Tensor, done: Tensor) -> Tensor:
        """Centres (B, T) for queries (B, T, Q). done: steps before that of each query, (T,), or of all, ()."""
        return torch.minimum(done + 1, lengths[:, None]).expand(query.shape[:2])


class Predictive(nn.Module):
    """local-p, eq. 9."""

    def __init__(self, query_size: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(query_size, query_size, bias=False)
        self.centre = nn.Linear(query_size, 1, bias=False)

    def forward(self, query: Tensor, lengths: Tensor, done: Tensor) -> Tensor:
        """See ``Monotonic``; real numbers from 0 to the source's length."""
        share = torch.sigmoid(self.centre(torch.tanh(self.hidden(query)))[..., 0].float())  # (B, T)
        return lengths[:, None] * share


CENTRES: dict[str, type[nn.Module]] = {"monotonic": Monotonic, "predictive": Predictive}


class Local(nn.Module):
    """Which positions a query may look at, and by what its weights there are multiplied."""

    def __init__(self, name: str, query_size: int, window: int) -> None:
        """window: D. Raises UserError for an unknown name."""
        super().__init__()
        if name not in CENTRES:
            raise UserError(f"model.local={name} is not known: choose one of none, {', '.join(CENTRES)}")
        self.window, self.weighted = window, name == "predictive"
        self.centre = CENTRES[name](query_size)

    def forward(self, query: Tensor, mask: Tensor, done: Tensor | int) -> tuple[Tensor, Tensor | None]:
        """query (B, T, Q), mask (B, S) of real positions; done: see ``Monotonic``.

        Gives the window (B, T, S), bool, and the factors (B, T, S) or None.
        """
        centre = self.centre(query, mask.sum(1), torch.as_tensor(done, device=mask.device))  # (B, T)
        places = torch.arange(1, mask.shape[1] + 1, device=mask.device)  # (S,)
        distance = places - centre[..., None]  # (B, T, S)
        near = mask[:, None] & (distance.abs() <= self.window)
        return near, torch.exp(-2 * (distance / self.window).square()) if self.weighted else None
