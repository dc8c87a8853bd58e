"""Curves of several runs laid over each other."""

import json

import pytest
import tiny

from seq2seq.errors import UserError


def write(folder, model, seed, bleu, fingerprint="a"):
    """The part of a run's ``metrics.json`` that the script reads."""
    buckets = [
        {"from": 1, "to": 9, "sentences": 5, "bleu": bleu, "low": bleu - 1, "high": bleu + 2},
        {"from": 10, "to": None, "sentences": 5, "bleu": bleu / 2, "low": 0.0, "high": bleu},
    ]
    metrics = {
        "model": {"name": model, "parameters": 1000},
        "data": {"fingerprint": fingerprint},
        "train": {"seed": seed, "epochs": 2},
        "test": {"bleu": bleu, "bleu_by_length": buckets},
    }
    folder.mkdir()
    (folder / "metrics.json").write_text(json.dumps(metrics), encoding="utf-8")
    return str(folder)


def test_seeds_become_their_mean_and_models_stand_in_their_order(tmp_path):
    runs = [write(tmp_path / "b1", "luong", 2, 40.0), write(tmp_path / "b2", "luong", 1, 60.0)]
    runs += [write(tmp_path / "a1", "rnn", 1, 10.0), write(tmp_path / "a2", "rnn", 2, 20.0)]
    script = tiny.load_script("bleu_by_length")
    rows = script.main([*runs, f"output={tmp_path / 'curves.png'}"]).splitlines()[2:]
    assert rows[0] == "| rnn | 1, 2 | 1,000 | 2 | 15.0 (10.0 – 20.0) | 15.0 | 7.5 |"
    assert rows[1] == "| luong | 1, 2 | 1,000 | 2 | 50.0 (40.0 – 60.0) | 50.0 | 25.0 |"
    assert (tmp_path / "curves.png").stat().st_size > 0


def test_variants_stand_behind_their_family(tmp_path):
    names = ["transformer_mqa", "transformer_gqa", "rnn", "transformer"]
    models = tiny.load_script("bleu_by_length").read([write(tmp_path / name, name, 1, 1.0) for name in names])
    assert list(models) == ["rnn", "transformer", "transformer_gqa", "transformer_mqa"]


def test_one_run_keeps_its_bootstrap_interval(tmp_path):
    script = tiny.load_script("bleu_by_length")
    models = script.read([write(tmp_path / "a", "rnn", 1, 10.0)])
    bucket = script.curve(models["rnn"])[0]
    assert (bucket.interval_low, bucket.bleu, bucket.interval_high) == (9.0, 10.0, 12.0)


def test_unfinished_runs_are_left_out_and_others_corpora_refused(tmp_path, capsys):
    script = tiny.load_script("bleu_by_length")
    good = write(tmp_path / "a", "rnn", 1, 10.0)
    assert len(script.main([good, str(tmp_path)]).splitlines()) == 3
    assert "not finished" in capsys.readouterr().err
    with pytest.raises(UserError, match="different corpora"):
        script.main([good, write(tmp_path / "b", "luong", 1, 10.0, "b")])
    with pytest.raises(UserError, match="no finished run"):
        script.main([str(tmp_path)])
