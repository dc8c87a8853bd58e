"""A run's folder with an untrained, tiny model: enough to translate, though not well."""

import importlib.util
from functools import cache
from pathlib import Path
from types import ModuleType

import torch

from seq2seq import checkpoint
from seq2seq.data.tokenizer import TokenizerPair
from seq2seq.models import build_model

ENGLISH = ["The cat sleeps on the chair.", "She reads three old books.", "Do you like this city?", "We are late."]
VIETNAMESE = [
    "Con mèo ngủ trên ghế.",
    "Cô ấy đọc ba quyển sách cũ.",
    "Bạn có thích thành phố này không?",
    "Chúng tôi muộn.",
]

_RECURRENT = {
    **{"embedding": 12, "hidden": 12, "layers": 1, "cell": "gru"},
    **{"bidirectional": True, "tied": True, "dropout": 0.5},
}
MODELS = {
    "rnn": {"name": "rnn", "context_every_step": True} | _RECURRENT,
    "bahdanau": {"name": "bahdanau", "score": "additive"} | _RECURRENT,
    "luong": {"name": "luong", "score": "general", "input_feeding": True} | _RECURRENT,
    "transformer": {
        **{"name": "transformer", "hidden": 12, "inner": 16, "heads": 2, "layers": 3},
        **{"tied": True, "dropout": 0.5},
    },
}


@cache
def tokenizers() -> TokenizerPair:
    return TokenizerPair.train(ENGLISH, VIETNAMESE, 360)


def write_run(folder: Path, name: str, corpus: Path | None = None, ways: tuple[str, str] = ("en", "vi")) -> Path:
    """A run of the model ``name`` on the files in ``corpus``; gives the folder. ways: its languages."""
    pair = tokenizers()
    torch.manual_seed(0)
    model = build_model(MODELS[name], len(pair.source), len(pair.target), pair.shared)
    for parameter in model.parameters():
        parameter.data.mul_(3)  # far from uniform: no ties between hypotheses
    settings = {
        "data": {
            **{"name": "files", "source": ways[0], "target": ways[1], "cache_dir": ".cache", "batch_tokens": 100},
            **{"vocabulary_size": 360, "shared_vocabulary": True},
            **{"dir": str(corpus), "train": None, "dev": None, "test": None},
        },
        "model": MODELS[name],
        "decoding": {"beam": 2, "alpha": 0.6, "coverage": 0.0, "max_length": 15, "batch_tokens": 200},
        "seed": 1,
    }
    stored = {
        checkpoint.ENTRY: checkpoint.contents(settings, pair),
        "state_dict": {checkpoint.PREFIX + key: value for key, value in model.state_dict().items()},
        "global_step": 7,
    }
    (folder / "checkpoints").mkdir(parents=True)
    torch.save(stored, folder / "checkpoints" / "best.ckpt")
    return folder


def write_corpus(folder: Path) -> Path:
    """Train, dev and test of the same few pairs."""
    folder.mkdir()
    for split in ("train", "dev", "test"):
        for language, lines in (("en", ENGLISH), ("vi", VIETNAMESE)):
            (folder / f"{split}.{language}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def load_script(name: str) -> ModuleType:
    """The module ``scripts/<name>.py``, which is in no package."""
    path = Path(__file__).resolve().parents[1] / "scripts" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"script_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Aligner:
    """In the place of eflomal's: it links the first words of each pair, and the last where both sides have more."""

    asked = None

    def align(self, sources, targets, links_filename_fwd):
        Aligner.asked = sources, targets
        last = [(len(one.split()) - 1, len(other.split()) - 1) for one, other in zip(sources, targets, strict=True)]
        Path(links_filename_fwd).write_text("".join(f"0-0 {i}-{j}\n" if i and j else "0-0\n" for i, j in last))
