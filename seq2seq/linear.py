"""Linear maps in training, where a product in bf16 takes less time than to get ready for it.

oneDNN makes a kernel for each size of a product. On a processor with matrix units (AMX) that takes longer than the
product itself, and every batch of sentences has another number of rows: so rows are filled up to a round number.
Legend: … any leading axes, N their product, n ≥ N rows with those filled up, D features in, G features out.
"""

import platform
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

DIGITS = 5  # binary, of a round number: at most a sixteenth is for nothing
# PyTorch's own compiler emits oneDNN's operators; elsewhere they may be missing, or slower.
ONEDNN = platform.machine() in ("x86_64", "AMD64") and torch.backends.mkldnn.is_available()
ONEDNN_BF16 = ONEDNN and torch.ops.mkldnn._is_mkldnn_bf16_supported()  # those of a processor with AVX-512


def compute_dtype(like: Tensor) -> torch.dtype:
    """The precision of matrix products around here: autocast's inside autocast, else that of ``like``."""
    device = like.device.type
    return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else like.dtype


def rounded(rows: Tensor, dtype: torch.dtype, step: int | None = None) -> Tensor:
    """(N, D) to (n, D) of that type, filled up with zeros. n: a multiple of step, by default by ``DIGITS``."""
    count = len(rows)
    missing = -count % (step or 1 << max(0, count.bit_length() - DIGITS))
    if not missing:
        return rows.to(dtype)
    full = rows.new_empty(count + missing, rows.shape[1], dtype=dtype)
    full[:count] = rows
    full[count:] = 0
    return full


def affine(rows: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """x Wᵀ + b without gradients: (N, D), (G, D) and (G,), all of one type, to (N, G)."""
    if ONEDNN_BF16 and rows.device.type == "cpu" and rows.dtype == torch.bfloat16:
        return torch.ops.mkldnn._linear_pointwise(rows, weight, bias, "none", [], "")  # adds b within the product
    return F.linear(rows, weight, bias)


def _rounds(x: Tensor) -> bool:
    return torch.is_grad_enabled() and x.device.type == "cpu" and compute_dtype(x) == torch.bfloat16


def round_rows(x: Tensor) -> Tensor:
    """(…, D) to the rows (n, D) that ``linear`` fills up, once for several maps in a row; elsewhere to (N, D)."""
    rows = x.flatten(0, -2)
    return _Rounded.apply(rows) if _rounds(x) else rows


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``F.linear``, (…, D) to (…, G); for training in bf16 on a CPU by round numbers of rows."""
    if not _rounds(x):
        return F.linear(x, weight, bias)
    return _Linear.apply(x.flatten(0, -2), weight, bias).view(*x.shape[:-1], len(weight))


class Linear(nn.Linear):
    """``nn.Linear`` by ``linear``."""

    def forward(self, x: Tensor) -> Tensor:
        """(…, D) to (…, G)."""
        return linear(x, self.weight, self.bias)


class _Rounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor) -> Tensor:
        ctx.count = len(rows)
        return rounded(rows, torch.bfloat16)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return gradient[: ctx.count]


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        full, matrix = rounded(x, torch.bfloat16), weight.bfloat16()  # (n, D), (G, D)
        ctx.save_for_backward(full, matrix)
        result = affine(full, matrix, None if bias is None else bias.bfloat16())  # (n, G)
        return result if len(full) == len(x) else result[: len(x)]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        full, matrix = ctx.saved_tensors
        right, wants = rounded(gradient, torch.bfloat16), ctx.needs_input_grad  # (n, G)
        return (
            (right @ matrix)[: len(gradient)] if wants[0] else None,
            right.t() @ full if wants[1] else None,
            gradient.sum(0) if wants[2] else None,
        )
