import io
import json

import pytest
from rich.console import Console

from seq2seq.evaluation.bleu import Scores
from seq2seq.evaluation.length import Bucket
from seq2seq.evaluation.report import metrics, print_tables, score_metrics, write_json

SCORES = Scores(81.234, "nrefs:1|tok:13a", 90.5, "nrefs:1|nc:6", 12.25, 0.987)
BUCKETS = [Bucket(1, 9, 170, 85.0, 80.0, 89.5), Bucket(50, None, 160, 70.0, 66.0, 74.5)]
TRAIN = {
    "seconds": 200.0,
    "epochs": 5,
    "steps": 900,
    "tokens_per_second": 9000.0,
    "best_step": 800,
    "seed": 1,
    "precision": "32-true",
}


def all_metrics(**changes):
    values = {
        "model": "bahdanau",
        "parameters": 10,
        "data": "grammar",
        "fingerprint": "0123456789abcdef",
        "pairs": {"train": 3, "validation": 2, "test": 1},
        "train": TRAIN,
        "test": score_metrics(SCORES, BUCKETS, "beam 5, alpha 0.6", 3.5),
    }
    return metrics(**(values | changes))


def printed(**settings):
    stream = io.StringIO()
    print_tables(Console(file=stream, width=100), **settings)
    return stream.getvalue()


def test_tables_show_scores_signature_decoding_and_buckets():
    text = printed(scores=SCORES, buckets=BUCKETS, decoding="beam 5, alpha 0.6")
    for part in ("beam 5, alpha 0.6", "81.23", "nrefs:1|tok:13a", "90.50", "12.25", "0.987", "1–9", "50+", "170"):
        assert part in text
    assert "80.0 – 89.5" in text


def test_square_brackets_are_text_not_markup():
    assert "greedy [bold]" in printed(scores=SCORES, buckets=[], decoding="greedy [bold]")


def test_ter_that_was_not_computed_has_no_row():
    without = Scores(1.0, "a", 2.0, "b", None, 1.0)
    assert "TER" not in printed(scores=without, buckets=[], decoding="greedy")


def test_metrics_have_the_documented_structure():
    data = all_metrics()
    assert list(data) == ["model", "data", "train", "test", "versions"]
    assert data["model"] == {"name": "bahdanau", "parameters": 10}
    assert data["data"]["pairs"] == {"train": 3, "validation": 2, "test": 1}
    assert data["train"] == TRAIN
    assert data["test"] == {
        "decoding": "beam 5, alpha 0.6",
        "bleu": 81.234,
        "bleu_signature": "nrefs:1|tok:13a",
        "chrf": 90.5,
        "ter": 12.25,
        "length_ratio": 0.987,
        "seconds": 3.5,
        "bleu_by_length": [
            {"from": 1, "to": 9, "sentences": 170, "bleu": 85.0, "low": 80.0, "high": 89.5},
            {"from": 50, "to": None, "sentences": 160, "bleu": 70.0, "low": 66.0, "high": 74.5},
        ],
    }
    assert set(data["versions"]) == {"torch", "lightning", "sacrebleu"}


@pytest.mark.parametrize("train", [TRAIN | {"speed": 1}, {"seconds": 1.0}])
def test_missing_or_unknown_training_numbers_are_errors(train):
    with pytest.raises(ValueError, match="exactly the keys"):
        all_metrics(train=train)


def test_json_comes_back_as_it_was_and_keeps_its_letters(tmp_path):
    path = tmp_path / "new folder" / "metrics.json"
    data = all_metrics(data="ngữ pháp")
    write_json(path, data)
    assert json.loads(path.read_text(encoding="utf-8")) == data
    assert "ngữ pháp" in path.read_text(encoding="utf-8")
    assert [file.name for file in path.parent.iterdir()] == ["metrics.json"]


def test_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "metrics.json"
    write_json(path, {"bleu": 1.0})

    def full_disk(*_):
        raise OSError("no space left")

    with pytest.raises(ValueError, match="JSON compliant"):
        write_json(path, {"bleu": float("nan")})
    monkeypatch.setattr("os.replace", full_disk)
    with pytest.raises(OSError, match="no space"):
        write_json(path, {"bleu": 2.0})
    assert json.loads(path.read_text()) == {"bleu": 1.0}
    assert list(tmp_path.iterdir()) == [path]
