"""The matrix products of inference: their precision, and weights laid out for them once.

A search multiplies by the same matrices at every step. oneDNN can bring a matrix into the order in which its kernel
reads it before the first step; without that it does so in every product, or (in fp32) PyTorch calls another library,
which on some processors uses half of what they have.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from seq2seq.errors import UserError
from seq2seq.linear import ONEDNN, ONEDNN_BF16
from seq2seq.memory import keep_few_kernels, keep_freed_memory

PRECISIONS = {"fp32": torch.float32, "bf16": torch.bfloat16}
FP32 = "fp32"
ROWS = 64  # of a usual batch; the layout suits others as well


def check_precision(precision: str) -> None:
    if precision not in PRECISIONS:
        raise UserError(f"precision is {precision}: choose {' or '.join(PRECISIONS)}")


@contextmanager
def products(model: nn.Module, precision: str = FP32) -> Iterator[None]:
    """Inside, a model multiplies in this precision, whatever autocast was set to outside.

    Its weights stay what they are and must not change meanwhile. On an x86 processor each ``nn.Linear`` computes with
    a copy of them in oneDNN's layout: the same up to rounding, without gradients. What the process keeps of memory and
    kernels changes for good, as ``seq2seq/memory.py`` says.
    """
    check_precision(precision)
    keep_few_kernels()
    keep_freed_memory()
    device, dtype = next(model.parameters()).device.type, PRECISIONS[precision]
    packs = device == "cpu" and (ONEDNN if precision == FP32 else ONEDNN_BF16)
    linears = [part for part in model.modules() if isinstance(part, nn.Linear)] if packs else []
    try:
        for linear in linears:
            linear.forward = _Product(linear, dtype)  # found before the class's own
        with torch.autocast(device, torch.bfloat16, enabled=precision != FP32):
            yield
    finally:
        for linear in linears:
            vars(linear).pop("forward", None)


class _Product:
    """x (…, in) to x Wᵀ + b (…, out)."""

    def __init__(self, linear: nn.Linear, dtype: torch.dtype) -> None:
        self.dtype = dtype
        weight = linear.weight.detach().to(dtype)  # (out, in)
        self.weight = torch.ops.mkldnn._reorder_linear_weight(weight, ROWS)
        self.bias = None if linear.bias is None else linear.bias.detach().to(dtype)  # (out,)

    def __call__(self, x: Tensor) -> Tensor:
        return torch.ops.mkldnn._linear_pointwise(x.to(self.dtype), self.weight, self.bias, "none", [], "")
