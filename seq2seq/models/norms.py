"""What keeps a layer's features at one size.

| name  | of a vector x with D features            | source                                        |
|-------|------------------------------------------|-----------------------------------------------|
| layer | (x − mean) / deviation · g + b           | LayerNorm, Ba 2016, arXiv 1607.06450, §3      |
| rms   | x / root mean square · g                 | RMSNorm, Zhang & Sennrich 2019, 1910.07467, §3 |
| scale | x / length · g, with one g for all       | ScaleNorm, Nguyen & Salazar 2019, 1910.05895, §2.2 |
"""

import torch
from torch import Tensor, nn

from seq2seq.errors import UserError


class ScaleNorm(nn.Module):
    """One learned length for every vector, √D at first."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.full((1,), size**0.5))

    def forward(self, states: Tensor) -> Tensor:
        """(…, D) to (…, D)."""
        return states * (self.weight / states.norm(dim=-1, keepdim=True).clamp_min(1e-5))


NORMS: dict[str, type[nn.Module]] = {"layer": nn.LayerNorm, "rms": nn.RMSNorm, "scale": ScaleNorm}


def build_norm(name: str, size: int) -> nn.Module:
    """The norm of that name, or a UserError that lists the names there are."""
    if name not in NORMS:
        raise UserError(f"model.norm={name} is not known: choose one of {', '.join(NORMS)}")
    return NORMS[name](size)
