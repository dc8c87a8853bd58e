"""Learning rate as a factor of its peak, by optimiser step and by how much of the run is done."""

import math
from collections.abc import Callable

from seq2seq.errors import UserError


def _constant(step: int, warmup: int, progress: float) -> float:
    return 1.0


def _inverse_sqrt(step: int, warmup: int, progress: float) -> float:
    """Vaswani 2017, arXiv 1706.03762, §5.3, scaled so that the peak is 1."""
    return math.sqrt(max(warmup, 1) / max(step, warmup, 1))


def _linear(step: int, warmup: int, progress: float) -> float:
    return 1.0 - progress


def _cosine(step: int, warmup: int, progress: float) -> float:
    return 0.5 * (1.0 + math.cos(math.pi * progress))


SCHEDULES: dict[str, Callable[[int, int, float], float]] = {
    "constant": _constant,
    "inverse_sqrt": _inverse_sqrt,
    "linear": _linear,
    "cosine": _cosine,
}


def check_schedule(name: str) -> None:
    """Raises UserError for a name that is not in the table."""
    if name not in SCHEDULES:
        raise UserError(f"training.schedule={name} is not a schedule: choose one of {', '.join(SCHEDULES)}")


def learning_rate_factor(name: str, step: int, warmup: int, progress: float) -> float:
    """Factor of the peak learning rate for the update after ``step`` updates.

    warmup: updates of linear rise before the schedule. progress: share of the run that is done, 0 … 1, by
    whichever limit is nearest: steps, epochs or time.
    """
    rise = min(1.0, (step + 1) / max(warmup, 1))
    return rise * SCHEDULES[name](step, warmup, min(max(progress, 0.0), 1.0))
