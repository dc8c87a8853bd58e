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
    "luong unfed covered": {
        **{"name": "luong", "score": "general", "input_feeding": False, "coverage": True},
        **RECURRENT,
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


def build(name, **changes):
    """A fresh model in evaluation mode."""
    model = build_model(SETTINGS[name] | changes, VOCABULARY, VOCABULARY, True).eval()
    for label, parameter in model.named_parameters():
        if label.endswith("covered"):  # begins at 0, where it would change nothing
            torch.nn.init.normal_(parameter)
    return model
