"""Masks. True means "may be attended to", everywhere in this project."""

import torch
from torch import Tensor


def padding_mask(lengths: Tensor, size: int) -> Tensor:
    """(B,) lengths to (B, size) bool, True at real tokens."""
    return torch.arange(size, device=lengths.device) < lengths[:, None]


def causal_mask(size: int, device: torch.device | None = None) -> Tensor:
    """(size, size) bool, True where key j ≤ query i: a position sees itself and what came before.

    "Attention Is All You Need", arXiv 1706.03762, §3.2.3.
    """
    return torch.ones(size, size, dtype=torch.bool, device=device).tril()
