"""One file that stands alone: weights, model settings and the tokenizers' bytes, in plain types only.

Such a file is a Lightning checkpoint with one entry more, ``seq2seq``, so that the same file serves for going on
with a training and for translating on another machine. Any file can be given to the functions here, also one that
was made to do harm: nothing in it runs code, classes are chosen by name from this package's own tables, and reading
takes memory and time in proportion to the file's size.
"""

import reprlib
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from seq2seq.data.tokenizer import TokenizerPair
from seq2seq.errors import UserError
from seq2seq.models import build_model
from seq2seq.models.interface import Seq2Seq
from seq2seq.training.settings import LIMITS
from seq2seq.unpack import AGAIN, GIVE, unpack

ENTRY = "seq2seq"
VERSION = 3
PREFIX = "model."  # of the network's weights in Lightning's state_dict
BEST, LAST, PREVIOUS = "best.ckpt", "last.ckpt", "previous.ckpt"  # in a run's folder ``checkpoints``

# What the settings must hold for a translation, an evaluation, and a training that starts from the file.
_NEEDED = {
    "model": {"name": str},
    "data": {"name": str, "source": str, "target": str, "vocabulary_size": int, "shared_vocabulary": bool},
    "decoding": {"beam": int, "alpha": float, "coverage": float, "max_length": int, "batch_tokens": int},
}


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
    models = {side: torch.frombuffer(bytearray(model), dtype=torch.uint8) for side, model in tokenizers.state().items()}
    return {"version": VERSION, "settings": settings, "tokenizers": models}


def stored_tokenizers(stored: dict[str, Any]) -> TokenizerPair:
    """Those in a checkpoint's content. They are kept as tensors: a pickle has bytes by way of a function call.

    Raises KeyError, TypeError, ValueError or AttributeError where there are none.
    """
    models = stored[ENTRY]["tokenizers"]
    return TokenizerPair.from_state({side: model.numpy().tobytes() for side, model in models.items()})


def find_checkpoint(path: str | Path) -> Path:
    """A file as it is; a run's folder (or its ``checkpoints``) gives its best checkpoint, else its last.

    Raises UserError where there is none.
    """
    try:
        path = Path(path).expanduser()
        if path.is_file():
            return path
        for folder in (path / "checkpoints", path):
            for name in (BEST, LAST, PREVIOUS):
                if (folder / name).is_file():
                    return folder / name
        is_folder = path.is_dir()
    except (OSError, RuntimeError) as error:  # RuntimeError: ``~name`` of nobody
        raise UserError(f"{path}: cannot be looked at ({getattr(error, 'strerror', None) or error})") from error
    if is_folder:
        raise UserError(f"{path}: no checkpoints/{BEST} or {LAST} in this folder: is it a run's folder?")
    raise UserError(f"{path}: no such file or folder: give a run's folder or a .ckpt file")


def load_checkpoint(path: str | Path) -> Loaded:
    """Read a checkpoint of this project, from a file or a run's folder. Raises UserError for anything else."""
    file = find_checkpoint(path)
    stored = read_checkpoint(file)
    settings = stored[ENTRY]["settings"]
    tokenizers = stored_tokenizers(stored)
    model = build_model(settings["model"], len(tokenizers.source), len(tokenizers.target), tokenizers.shared)
    model.load_state_dict(_weights(stored))
    return Loaded(file, model.eval(), tokenizers, settings, stored["global_step"])


def read_checkpoint(file: Path) -> dict[str, Any]:
    """What one checkpoint file holds, tensors on the CPU: Lightning's entries as they were saved, and ours verified.

    Raises UserError for a file that cannot be read, is damaged, or is not this project's.
    """
    try:
        with open(file, "rb") as stream:
            stored = unpack(stream)
        _verify(stored)
    except UserError as error:
        raise UserError(f"{file}: {error}") from error
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        raise UserError(f"{file}: cannot be read ({error.strerror})") from error
    except Exception as error:  # whatever a damaged file provokes
        raise UserError(f"{file}: damaged or cut off ({_one_line(error) or type(error).__name__}): {AGAIN}") from error
    return stored


def _one_line(error: Exception) -> str:
    """Its text without what could disturb a terminal, and not longer than can be read: parts come from the file."""
    text = "".join(letter if letter.isprintable() else " " for letter in str(error)[:2000])
    return textwrap.shorten(text, 300, placeholder=" …")


# What this project puts into it


def _verify(stored: Any) -> None:
    """Raises UserError where the content is not this project's, or where its parts do not fit each other."""
    entry = stored.get(ENTRY) if isinstance(stored, dict) else None
    if not isinstance(entry, dict):
        raise UserError(f"a checkpoint, but of another program: {GIVE}")
    _check_version(entry.get("version"))
    settings = entry.get("settings")
    _check_settings(settings)
    if type(stored.get("global_step")) is not int:
        raise UserError(f"the number of its step (global_step) is missing: {AGAIN}")
    try:
        pair = stored_tokenizers(stored)
        for side in (pair.source, pair.target):
            side.pieces(list(range(len(side))))  # all must be text: UnicodeDecodeError is a ValueError
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UserError(f"its tokenizer cannot be used ({_one_line(error)}): {AGAIN}") from error
    try:
        with torch.device("meta"), _NoFirstWeights():  # shapes without memory
            model = build_model(settings["model"], len(pair.source), len(pair.target), pair.shared)
    except UserError as error:
        raise UserError(f"its model cannot be built ({_one_line(error)}): {GIVE}") from error
    _check_weights(model, _weights(stored))


def _check_version(version: Any) -> None:
    shown = f"format {reprlib.repr(version)}, and this program reads {VERSION}"
    if type(version) is not int or version < 1:
        raise UserError(f"{shown}; no release wrote that: {GIVE}")
    if version > VERSION:
        raise UserError(f"{shown}; it is of a newer release: update the program")
    if version < VERSION:
        raise UserError(f"{shown}; it is of an older release: use the one that wrote it, or train again")


def _check_settings(settings: Any) -> None:
    """Raises UserError where they are not plain values, lack something, or ask for a model of impossible size."""
    _check_plain(settings)
    for group, needed in _NEEDED.items():
        for key, kind in needed.items():
            values = settings.get(group) if isinstance(settings, dict) else None
            value = values.get(key) if isinstance(values, dict) else None
            if type(value) is not kind and (kind, type(value)) != (float, int):
                raise UserError(f"its setting {group}.{key} is missing or no {kind.__name__}: {AGAIN}")
    for name, value in settings["model"].items():
        low, high = LIMITS.get(f"model.{name}", (None, None))
        if low is not None and (type(value) not in (int, float) or not low <= value <= high):
            raise UserError(f"its setting model.{name}={reprlib.repr(value)} is not from {low} to {high}: {AGAIN}")


def _check_plain(value: Any) -> None:
    if isinstance(value, dict):
        for key, part in value.items():
            if type(key) is not str or key.startswith("_"):  # ``_target_`` and its like make some programs run code
                raise UserError(
                    f"its settings have the key {reprlib.repr(key)}, which this program never writes: {GIVE}"
                )
            _check_plain(part)
    elif isinstance(value, list):
        for part in value:
            _check_plain(part)
    elif value is not None and type(value) not in (str, int, float, bool):
        raise UserError(f"its settings hold a {type(value).__name__}, and not plain values only: {GIVE}")


def _weights(stored: dict[str, Any]) -> dict[str, Any]:
    """The network's, by the names that it gives them itself."""
    weights = stored.get("state_dict")
    if not isinstance(weights, dict):
        raise UserError(f"its weights (state_dict) are missing: {AGAIN}")
    named = {str(key): value for key, value in weights.items()}
    return {key.removeprefix(PREFIX): value for key, value in named.items() if key.startswith(PREFIX)}


class _NoFirstWeights(TorchFunctionMode):
    """Inside, nothing is drawn: on ``meta`` it would mean nothing, and load torch's compiler, which takes seconds."""

    def __torch_function__(
        self, function: Any, types: Any, arguments: tuple = (), options: dict[str, Any] | None = None
    ) -> Any:
        options = options or {}
        if getattr(function, "__name__", "") in ("normal_", "uniform_", "kaiming_uniform_"):
            return arguments[0] if arguments else options["tensor"]
        return function(*arguments, **options)


def _check_weights(model: Seq2Seq, weights: dict[str, Any]) -> None:
    """Raises UserError where weights have other names, shapes or types than those of ``model``, or where one stored
    matrix stands for so many that the model would be larger than the file."""
    expected = {name: tensor.shape for name, tensor in model.state_dict().items()}
    if expected != {name: getattr(tensor, "shape", None) for name, tensor in weights.items()}:
        raise UserError(f"its weights do not fit its own settings: {AGAIN}")
    if not all(tensor.is_floating_point() for tensor in weights.values()):
        raise UserError(f"its weights are whole numbers: {GIVE}")
    storages = {tensor.untyped_storage().data_ptr(): tensor.untyped_storage().nbytes() for tensor in weights.values()}
    needed = sum(parameter.numel() * weights[name].element_size() for name, parameter in model.named_parameters())
    if needed > sum(storages.values()):
        raise UserError(
            f"its settings ask for {needed} bytes of weights, and it holds {sum(storages.values())}: {GIVE}"
        )
