"""The models by name. A name in a config or a checkpoint chooses from this table and from nothing else."""

import re
from typing import Any

from seq2seq.errors import UserError
from seq2seq.models.bahdanau import Bahdanau
from seq2seq.models.interface import Seq2Seq
from seq2seq.models.luong import Luong
from seq2seq.models.rnn import RNN
from seq2seq.models.transformer import Transformer

MODELS: dict[str, type[Seq2Seq]] = {"rnn": RNN, "bahdanau": Bahdanau, "luong": Luong, "transformer": Transformer}


def family_of(name: Any) -> str:
    """The key of MODELS that a name begins with: ``transformer_gqa`` is a Transformer, so named in folders and tables.

    Raises UserError for any other name. A name becomes a folder's, also where a checkpoint from elsewhere gives it.
    """
    match = re.fullmatch(r"([a-z]+)(_[a-z0-9_]{1,40})?", name) if isinstance(name, str) else None
    if not match or match[1] not in MODELS:
        raise UserError(f"model name {name!r} is unknown: choose one of {', '.join(MODELS)}, or one of them and _more")
    return match[1]


def build_model(settings: dict[str, Any], source_vocabulary: int, target_vocabulary: int, shared: bool) -> Seq2Seq:
    """A model with fresh weights from plain settings: ``name`` and its constructor's keywords.

    Raises UserError for a name, key or size that cannot be.
    """
    options = dict(settings)
    name = options.pop("name", None)
    family = family_of(name)
    try:
        return MODELS[family](source_vocabulary, target_vocabulary, shared, **options)
    except (TypeError, ValueError, RuntimeError, ZeroDivisionError) as error:
        raise UserError(f"settings of model {name} do not fit: {error}") from error


def count_parameters(model: Seq2Seq) -> int:
    """Trainable parameters; a tied matrix counts once."""
    return sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
