"""Masks. True means "may be attended to", everywhere in this project."""

from dataclasses import dataclass

import torch
from torch import Tensor

from seq2seq.errors import UserError

KINDS = ("full", "window", "global", "strided")


def padding_mask(lengths: Tensor, size: int) -> Tensor:
    """(B,) lengths to (B, size) bool, True at real tokens."""
    return torch.arange(size, device=lengths.device) < lengths[:, None]


def causal_mask(size: int, device: torch.device | None = None) -> Tensor:
    """(size, size) bool, True where key j ≤ query i: a position sees itself and what came before.

    "Attention Is All You Need", arXiv 1706.03762, §3.2.3.
    """
    return torch.ones(size, size, dtype=torch.bool, device=device).tril()


@dataclass(frozen=True)
class Pattern:
    """Which positions a position attends to in self-attention; always itself.

    | kind    | position i sees j where                            | source                                  |
    |---------|----------------------------------------------------|-----------------------------------------|
    | full    | always                                             | Vaswani 2017, 1706.03762                |
    | window  | abs(i − j) < window                                | Longformer, Beltagy 2020, 2004.05150, §3.1 |
    | global  | as window, or j or i is one of the first positions | Longformer §3.1; BigBird, 2007.14062, §2 |
    | strided | as window, or stride divides i − j                 | Sparse Transformers, 1904.10509, §4.3   |

    causal: and j ≤ i; a window is then the position itself and the window − 1 before it.
    """

    kind: str = "full"
    window: int = 8
    global_positions: int = 1
    stride: int = 8
    causal: bool = False

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise UserError(f"model.attention={self.kind} is not known: choose one of {', '.join(KINDS)}")

    @property
    def anchors(self) -> int:
        """How many of the first positions everyone sees."""
        return self.global_positions if self.kind == "global" else 0

    def allows(self, i: Tensor, j: Tensor) -> Tensor:
        """Positions of queries and of keys, broadcast against each other, to bool."""
        near = (i - j).abs() < self.window
        if self.kind == "full":
            allowed = torch.ones_like(near)
        elif self.kind == "strided":
            allowed = near | ((i - j) % self.stride == 0)
        else:
            allowed = near | (j < self.anchors) | (i < self.anchors)
        return allowed & (j <= i) if self.causal else allowed

    def dense(self, size: int, device: torch.device | None = None) -> Tensor:
        """The mask of a sequence, (size, size)."""
        places = torch.arange(size, device=device)
        return self.allows(places[:, None], places)

    def kept(self, done: int, device: torch.device | None = None) -> Tensor:
        """Positions whose keys a decoder still needs after ``done`` tokens, (kept,): the window's, the first ones'."""
        places = torch.arange(done, device=device)
        if self.kind in ("full", "strided") or done <= self.anchors + self.window:
            return places
        return torch.cat([places[: self.anchors], places[done - self.window :]])
