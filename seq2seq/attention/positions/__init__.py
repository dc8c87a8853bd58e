"""How attention, which has no order of its own, is told of positions. One mechanism a file."""

from seq2seq.attention.positions.absolute import Learned, Sinusoidal
from seq2seq.attention.positions.alibi import ALiBi
from seq2seq.attention.positions.base import Positions
from seq2seq.attention.positions.rotary import Rotary
from seq2seq.attention.positions.t5 import T5
from seq2seq.errors import UserError

__all__ = ["POSITIONS", "T5", "ALiBi", "Learned", "Positions", "Rotary", "Sinusoidal", "build_positions"]

POSITIONS: dict[str, type[Positions]] = {
    "sinusoidal": Sinusoidal,
    "learned": Learned,
    "rotary": Rotary,
    "alibi": ALiBi,
    "t5": T5,
    "none": Positions,
}


def build_positions(name: str, size: int, heads: int, most: int, causal: bool) -> Positions:
    """The mechanism of that name for one side, or a UserError that lists the names there are. See ``Positions``."""
    if name not in POSITIONS:
        raise UserError(f"model.positions={name} is not known: choose one of {', '.join(POSITIONS)}")
    return POSITIONS[name](size, heads, most, causal)
