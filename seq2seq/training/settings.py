"""Settings of a run: looked at as a whole before any time is spent, and turned into what Lightning wants."""

import math
from datetime import timedelta
from typing import Any

import torch

from seq2seq.decoding.products import FP32, check_precision
from seq2seq.decoding.search import check_search
from seq2seq.errors import UserError
from seq2seq.training.schedules import check_schedule

# Smallest and largest value, both allowed; None: no bound.
LIMITS: dict[str, tuple[float | None, float | None]] = {
    "seed": (0, 2**32 - 1),
    "data.batch_tokens": (8, None),
    "data.max_length": (1, None),
    "data.max_ratio": (1, None),
    "data.vocabulary_size": (1, None),
    "data.workers": (0, None),
    "decoding.batch_tokens": (1, None),
    "model.dropout": (0, 0.99),
    "model.embedding": (1, 2**16),
    "model.global_positions": (0, 2**16),
    "model.heads": (1, 2**10),
    "model.hidden": (1, 2**16),
    "model.inner": (1, 2**18),
    "model.kv_heads": (1, 2**10),
    "model.layers": (1, 2**8),
    "model.max_positions": (1, 2**16),
    "model.stride": (1, 2**16),
    "model.window": (1, 2**16),
    "trainer.accumulate": (1, None),
    "trainer.log_every": (1, None),
    "trainer.nodes": (1, None),
    "trainer.save_minutes": (0, None),
    "trainer.save_steps": (1, None),
    "training.clip": (0, None),
    "training.examples": (0, None),
    "training.label_smoothing": (0, 0.99),
    "training.learning_rate": (0, None),
    "training.warmup": (0, None),
    "training.weight_decay": (0, None),
}

# Lightning's others are for whole models in one type: it would convert the batches as well.
PRECISIONS = ("auto", "32-true", "bf16-mixed", "16-mixed")
SHORT_PRECISIONS = ("32", "bf16", "16")

ENDS = ("max_epochs", "max_steps", "max_time")  # of ``trainer``: what a run ends by


def check_settings(settings: dict[str, Any]) -> None:
    """Raises UserError for the first value that cannot be. settings: the keys of ``conf/train.yaml``."""
    for key, (low, high) in LIMITS.items():
        group, _, name = key.rpartition(".")
        value = (settings[group] if group else settings).get(name)
        if value is None:
            continue
        if (low is not None and value < low) or (high is not None and value > high):
            allowed = f"at least {low}" if high is None else f"from {low} to {high}"
            raise UserError(f"{key}={value}: give a number {allowed}")
    check_schedule(settings["training"]["schedule"])
    decoding = settings["decoding"]
    check_search(decoding["beam"], decoding["alpha"], decoding["max_length"], 1, decoding["coverage"])
    check_precision(decoding.get("precision", FP32))  # a run from before there was a choice goes on
    options = settings["trainer"]
    if str(options["precision"]) not in PRECISIONS + SHORT_PRECISIONS:
        raise UserError(f"trainer.precision={options['precision']}: choose {', '.join(PRECISIONS)}")
    duration(options["max_time"])
    if 0 in (options["max_epochs"], options["max_steps"]):
        raise UserError("trainer.max_epochs=0 or trainer.max_steps=0: nothing would be trained; give 1 or more")
    every = options["validate_every"]
    if every <= 0 or (every > 1 and not isinstance(every, int)):
        raise UserError(f"trainer.validate_every={every}: give a share of an epoch (0.5) or a whole number of batches")


def duration(limit: Any) -> timedelta | None:
    """``trainer.max_time``: minutes as a number, or HH:MM:SS, with DD: before it or not."""
    if limit is None:
        return None
    if isinstance(limit, int | float) and limit > 0:
        return timedelta(minutes=limit)
    parts = str(limit).split(":")
    if not all(part.isdigit() for part in parts) or len(parts) not in (3, 4):
        raise UserError(f"trainer.max_time={limit}: give minutes (25) or HH:MM:SS (quoted, '00:25:00')")
    days, hours, minutes, seconds = (int(part) for part in ["0", *parts][-4:])
    return timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)


def extends(old: dict[str, Any], new: dict[str, Any]) -> bool:
    """Whether a limit in ``new`` is beyond that in ``old``; both with the keys of ``conf/trainer/auto.yaml``."""
    return any(_size(new[key]) > _size(old[key]) for key in ENDS)


def _size(limit: Any) -> float:
    if limit in (None, -1):
        return math.inf
    return duration(limit).total_seconds() / 60 if isinstance(limit, str) else limit


def precision(wanted: str, accelerator: str) -> str:
    """``auto``: bf16-mixed where the hardware multiplies bf16 matrices faster than fp32 ones, else 32-true."""
    if wanted != "auto":
        return wanted
    if accelerator != "cpu" and torch.cuda.is_available():
        return "bf16-mixed" if torch.cuda.get_device_capability() >= (8, 0) else "32-true"
    fast = torch.cpu._is_amx_tile_supported() or torch.cpu._is_avx512_bf16_supported()
    return "bf16-mixed" if fast else "32-true"
