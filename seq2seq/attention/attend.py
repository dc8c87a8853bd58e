"""From energies to weights to a context: the second half of every attention.

Legend: … any leading axes, T queries, S keys, D value size.
"""

import torch
from torch import Tensor


def masked_softmax(energies: Tensor, mask: Tensor | None) -> Tensor:
    """Softmax over the last axis, the keys, in fp32.

    energies: (…, T, S). mask: broadcastable to it, True where a key may be attended to.
    Masked keys get exactly 0; a row without any key is all 0, never NaN: the fill value is finite,
    so that such a row has a softmax, which the mask then removes.
    """
    energies = energies.float()
    if mask is None:
        return energies.softmax(-1)
    fill = torch.finfo(energies.dtype).min
    return energies.masked_fill(~mask, fill).softmax(-1).masked_fill(~mask, 0.0)


def attend(
    energies: Tensor, values: Tensor, mask: Tensor | None, factors: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """The weighted sum of the values, Σⱼ αᵢⱼ vⱼ with α = softmax(energies), times ``factors`` where there are some.

    energies, factors: (…, T, S); values: (…, S, D). Gives context (…, T, D) and weights (…, T, S).
    """
    weights = masked_softmax(energies, mask)  # (…, T, S)
    if factors is not None:
        weights = weights * factors
    return weights.to(values.dtype) @ values, weights
