"""Every model that the settings can name, tiny, with dropout on so that eval mode matters."""

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
    "transformer": {
        **{"name": "transformer", "hidden": 16, "inner": 32, "heads": 4},
        **{"layers": 2, "dropout": 0.3, "tied": True},
    },
}


def build(name, **changes):
    """A fresh model in evaluation mode."""
    return build_model(SETTINGS[name] | changes, VOCABULARY, VOCABULARY, True).eval()
