"""Finished runs as files, without a training: what ``metrics.json``, ``config.yaml`` and ``test.hyp`` would hold."""

import json
from pathlib import Path

import tiny
import yaml

from seq2seq.assess import assess_texts
from seq2seq.compare.runs import Run, Store
from seq2seq.compare.testset import TestSet

SETTINGS = {
    "data": {"name": "files", "source": "en", "target": "vi", "batch_tokens": 1024, "cache_dir": ".cache"},
    "training": {"learning_rate": 0.003},
    "trainer": {"validate_every": 1.0, "precision": "auto", "max_epochs": 5},
    "decoding": {"beam": 2, "alpha": 0.6, "coverage": 0.0, "max_length": 15, "batch_tokens": 200},
    "init_from": None,
}
TEST = TestSet("a test", tiny.ENGLISH, tiny.VIETNAMESE, split=True, longest=6)


def run(folder: Path, name="rnn", seed=1, hypotheses=tiny.VIETNAMESE, **changed) -> Run:
    """A run of a model. changed: values of groups of SETTINGS, such as ``data={"batch_tokens": 1}``."""
    settings = {
        key: value | changed.get(key, {}) if isinstance(value, dict) else value for key, value in SETTINGS.items()
    }
    settings |= {"model": {"name": name}, "seed": seed}
    metrics = {
        "model": {"name": name, "parameters": 1000},
        "data": {"name": "files", "fingerprint": "f", "pairs": {"train": 4, "test": 4}},
        "train": {
            **{"seconds": 90.0, "epochs": 2, "steps": 8, "tokens_per_second": 1000.0, "best_step": 8, "seed": seed},
            "precision": "32-true",
        },
        "test": assess_texts(None, hypotheses, tiny.VIETNAMESE, seconds=2.0).metrics(),
        "versions": {"torch": "2"},
    }
    return Run(name, folder, list(hypotheses), Store(folder / "comparison"), settings, metrics)


def write(one: Run) -> Path:
    """The same in its folder."""
    one.path.mkdir(parents=True)
    (one.path / "metrics.json").write_text(json.dumps(one.metrics), "utf-8")
    (one.path / "config.yaml").write_text(yaml.safe_dump(one.settings), "utf-8")
    (one.path / "test.hyp").write_text("".join(f"{line}\n" for line in one.hypotheses), "utf-8")
    return one.path
