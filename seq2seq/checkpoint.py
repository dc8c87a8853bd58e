"""One file that stands alone: weights, model settings and the tokenizers' bytes, in plain types only.

Such a file is a Lightning checkpoint with one entry more, ``seq2seq``, so that the same file serves for going on
with a training and for translating on another machine. Nothing in it can run code: it is read with
``weights_only=True``, and classes are chosen by name from this package's own tables.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from seq2seq.data.tokenizer import TokenizerPair
from seq2seq.errors import UserError
from seq2seq.models import build_model
from seq2seq.models.interface import Seq2Seq

ENTRY = "seq2seq"
VERSION = 1
PREFIX = "model."  # of the network's weights in Lightning's state_dict


@dataclass(frozen=True)
class Loaded:
    """model: in evaluation mode on the CPU. settings: what the run was started with, plain types."""

    path: Path
    model: Seq2Seq
    tokenizers: TokenizerPair
    settings: dict[str, Any]
    step: int


def contents(settings: dict[str, Any], tokenizers: TokenizerPair) -> dict[str, Any]:
    """The entry that makes a Lightning checkpoint stand alone. settings: the run's, with ``settings["model"]``."""
    return {"version": VERSION, "settings": settings, "tokenizers": tokenizers.state()}


def find_checkpoint(path: str | Path) -> Path:
    """A file as it is; a run's folder (or its ``checkpoints``) gives its ``best.ckpt``, else ``last.ckpt``."""
    path = Path(path).expanduser()
    if path.is_file():
        return path
    for folder in (path / "checkpoints", path):
        for name in ("best", "last"):
            if (folder / f"{name}.ckpt").is_file():
                return folder / f"{name}.ckpt"
    if path.is_dir():
        raise UserError(f"{path}: no checkpoints/best.ckpt or last.ckpt in this folder: is it a run's folder?")
    raise UserError(f"{path}: no such file or folder: give a run's folder or a .ckpt file")


def load_checkpoint(path: str | Path) -> Loaded:
    """Read a checkpoint of this project, from a file or a run's folder. Raises UserError for anything else."""
    file = find_checkpoint(path)
    try:
        stored = torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:  # whatever a damaged or foreign file provokes
        raise UserError(
            f"{file}: not a readable checkpoint ({type(error).__name__}): give a whole file that scripts/train.py wrote"
        ) from error
    entry = stored.get(ENTRY) if isinstance(stored, dict) else None
    if not isinstance(entry, dict):
        raise UserError(f"{file}: a checkpoint, but of another program: give one that scripts/train.py wrote")
    if entry.get("version") != VERSION:
        raise UserError(
            f"{file}: written in version {entry.get('version')} of the format, this program reads {VERSION}: "
            "use the release that wrote it"
        )
    tokenizers = TokenizerPair.from_state(entry["tokenizers"])
    settings = entry["settings"]
    model = build_model(settings["model"], len(tokenizers.source), len(tokenizers.target), tokenizers.shared)
    weights = {key.removeprefix(PREFIX): value for key, value in stored["state_dict"].items() if key.startswith(PREFIX)}
    try:
        model.load_state_dict(weights)
    except RuntimeError as error:
        raise UserError(f"{file}: its weights do not fit its own settings: the file is damaged") from error
    return Loaded(file, model.eval(), tokenizers, settings, int(stored.get("global_step", 0)))
