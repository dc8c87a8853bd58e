"""Every model that the settings can name, tiny, with dropout on so that eval mode matters."""

import torch

from seq2seq.models import build_model

VOCABULARY = 50
RECURRENT = {
    "embedding": 12,
    "hidden": 16,
    "layers": 2,
    "dropout": 0.3,
    "tied": True,
    "bidirectional": True,
    "cell": "lstm",
}
SETTINGS = {
    "rnn": {"name": "rnn", "context_every_step": True, **RECURRENT},
    "rnn sutskever gru": {"name": "rnn", "context_every_step": False, **RECURRENT, "cell": "gru"},
    "bahdanau": {"name": "bahdanau", "score": "additive", **RECURRENT},
    "bahdanau dot gru": {"name": "bahdanau", "score": "dot", **RECURRENT, "cell": "gru"},
    "luong": {"name": "luong", "score": "general", "input_feeding": True, **RECURRENT},
    "luong unfed": {"name": "luong", "score": "dot", "input_feeding": False, **RECURRENT},
    "luong concat one way": {
        **{"name": "luong", "score": "concat", "input_feeding": True},
        **RECURRENT,
        "bidirectional": False,
    },
    "bahdanau local-p": {"name": "bahdanau", "score": "additive", "local": "predictive", "window": 3, **RECURRENT},
    "bahdanau location": {"name": "bahdanau", "score": "location", **RECURRENT},
    "bahdanau covered": {"name": "bahdanau", "score": "concat", "coverage": True, **RECURRENT},
    "bahdanau local-m covered": {
        **{"name": "bahdanau", "score": "scaled_dot", "local": "monotonic", "window": 2, "coverage": True},
        **RECURRENT,
    },
    "luong local-m": {
        **{"name": "luong", "score": "general", "input_feeding": False, "local": "monotonic", "window": 1},
        **RECURRENT,
    },
    "luong local-p": {
        **{"name": "luong", "score": "general", "input_feeding": True, "local": "predictive", "window": 2},
        **RECURRENT,
    },
    "luong unfed covered gru": {
        **{"name": "luong", "score": "general", "input_feeding": False, "coverage": True},
        **RECURRENT,
        "cell": "gru",
    },
    "luong additive local-p covered": {
        **{"name": "luong", "score": "additive", "input_feeding": True, "local": "predictive", "window": 4},
        **{"coverage": True},
        **RECURRENT,
    },
    "transformer": {
        **{"name": "transformer", "hidden": 16, "inner": 32, "heads": 4},
        **{"layers": 2, "dropout": 0.3, "tied": True},
    },
}
# What differs from "transformer". Windows of 1 and 2 are so short that the whole source is cut into blocks.
TRANSFORMERS = {
    "grouped": {"kv_heads": 2},
    "multi-query unscaled": {"kv_heads": 1, "scale": "none"},
    "window": {"attention": "window", "window": 2},
    "window of one": {"attention": "window", "window": 1, "positions": "rotary"},
    "wide window rotary": {"attention": "window", "window": 4, "positions": "rotary", "kv_heads": 2},
    "window t5": {"attention": "window", "window": 2, "positions": "t5"},
    "global": {"attention": "global", "window": 2, "global_positions": 2, "kv_heads": 1},
    "global alibi": {"attention": "global", "window": 1, "global_positions": 1, "positions": "alibi"},
    "strided": {"attention": "strided", "window": 2, "stride": 3, "kv_heads": 2},
    "strided t5": {"attention": "strided", "window": 1, "stride": 2, "positions": "t5"},
    "learned": {"positions": "learned", "max_positions": 5},
    "rotary": {"positions": "rotary"},
    "alibi": {"positions": "alibi"},
    "t5": {"positions": "t5"},
    "without positions": {"positions": "none"},
    "post-norm": {"norm_first": False},
    "rms": {"norm": "rms"},
    "scale norm, post-norm": {"norm": "scale", "norm_first": False},
}
SETTINGS |= {f"transformer, {label}": SETTINGS["transformer"] | changes for label, changes in TRANSFORMERS.items()}


def build(name, **changes):
    """A fresh model in evaluation mode."""
    model = build_model(SETTINGS[name] | changes, VOCABULARY, VOCABULARY, True).eval()
    for label, parameter in model.named_parameters():
        if label.endswith("covered"):  # begins at 0, where it would change nothing
            torch.nn.init.normal_(parameter)
    return model
