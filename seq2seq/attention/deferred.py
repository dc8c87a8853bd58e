"""Products in a loop over target steps, with the gradient of what is the same in all steps computed once, behind it.

A recurrent decoder multiplies by the same matrices at every step: weights, and each sentence's keys and states. The
gradient of such a matrix is a sum over steps of thin products, each as large as the matrix; written and added up step
by step they cost more than all the rest of the backward pass. The inputs of all steps side by side make it one
product: Σₜ xₜᵀ·gₜ = [x₁; x₂; …]ᵀ·[g₁; g₂; …]. Only the order of summation differs from the plain way, to which tests
bind it.
Legend: T steps, N rows, D input size, G output size, B sentences.
"""

from typing import Any

import torch
from torch import Tensor, nn


class _Taps(torch.autograd.Function):
    """Hands ``base`` on as it is. Its gradient, and the inputs noted by then, give those of the matrices."""

    @staticmethod
    def forward(ctx: Any, inputs: list[tuple[Tensor, ...]], base: Tensor, *matrices: Tensor) -> Tensor:
        ctx.inputs, ctx.dtypes = inputs, [matrix.dtype for matrix in matrices]
        return base.view_as(base)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        products = []
        for column, dtype in zip(zip(*ctx.inputs, strict=True), ctx.dtypes, strict=True):
            left, right = torch.stack(column), gradient.to(column[0].dtype)  # (T, N, D), (T, N, G)
            if left.dim() == 3:
                product = left.flatten(0, 1).t() @ right.flatten(0, 1)  # (D, G)
            else:  # (T, B, 1, D), (T, B, 1, G)
                product = left.squeeze(2).permute(1, 2, 0) @ right.squeeze(2).transpose(0, 1)  # (B, D, G)
            products.append(product.to(dtype))
        ctx.inputs.clear()
        return None, gradient, *products


class Deferred:
    """Stands for ``matrix`` in ``x @ matrix``, once a step: (D, G) for rows x (N, D), or (B, D, G) for x (B, 1, D)."""

    def __init__(self, base: Tensor, *matrices: Tensor) -> None:
        """base: what is added to the product of each step, (T, N, G) or (T, B, 1, G).

        With several matrices it is the sum of their products with as many inputs.
        """
        self._inputs: list[tuple[Tensor, ...]] = []
        self._matrices = [matrix.detach() for matrix in matrices]
        self._base = iter(_Taps.apply(self._inputs, base, *matrices).unbind())

    @property
    def dtype(self) -> torch.dtype:
        """The matrices'."""
        return self._matrices[0].dtype

    def __call__(self, *inputs: Tensor) -> Tensor:
        """The next step's product, with its base."""
        inputs = tuple(one.to(self.dtype) for one in inputs)
        self._inputs.append(tuple(one.detach() for one in inputs))
        total = next(self._base)
        for one, matrix in zip(inputs, self._matrices, strict=True):
            total = (torch.addmm if one.dim() == 2 else torch.baddbmm)(total, one, matrix)
        return total

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, arguments: tuple, options: dict | None = None) -> Tensor:
        """``x @ deferred``."""
        if function not in (torch.matmul, Tensor.matmul, Tensor.__matmul__):
            return NotImplemented
        inputs, deferred = arguments
        return deferred(inputs)


def deferred_values(matrix: Tensor, steps: int) -> Deferred:
    """For each sentence's own matrix (B, D, G), such as its keys or its states: ``x @ matrix`` for x (B, 1, D)."""
    return Deferred(matrix.new_zeros(()).expand(steps, len(matrix), 1, matrix.shape[2]), matrix)


def deferred_linear(layer: nn.Linear, steps: int, rows: int, dtype: torch.dtype) -> Deferred:
    """What ``layer`` does, (N, D) to (N, G), in the precision ``dtype``."""
    weight = layer.weight.to(dtype)  # (G, D)
    base = weight.new_zeros(()) if layer.bias is None else layer.bias.to(dtype)
    return Deferred(base.expand(steps, rows, layer.out_features), weight.t())
