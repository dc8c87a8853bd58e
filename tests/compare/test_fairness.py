"""What is equal, and what is not, by name."""

import pytest
import tiny
from written import run

from seq2seq.compare.fairness import check_fairness
from seq2seq.compare.runs import Run, Store, System, systems_of


@pytest.fixture
def systems(tmp_path, monkeypatch):
    """Systems of one run each, whose tokenizer is not read from a checkpoint."""
    monkeypatch.setattr(Run, "tokenizer", lambda one: "t")

    def _systems(**changed):
        return [
            System(name, [run(tmp_path / name, name, **changes)]) for name, changes in ({"rnn": {}} | changed).items()
        ]

    return _systems


def test_nothing_differs_but_the_model(systems):
    found = check_fairness(systems(luong={}))
    assert found["different"] == []
    assert found["equal"]["data.batch_tokens"] == "1024"
    assert found["equal"]["decoder"] == "beam 2, alpha 0.6, fp32"
    assert found["equal"]["precision"] == "32-true"
    assert "highest validation BLEU" in found["equal"]["selection"]


def test_each_difference_is_a_line_with_its_name_and_values(systems):
    changes = {
        "luong": {"data": {"batch_tokens": 2048}},
        "transformer": {"training": {"learning_rate": 0.1}, "decoding": {"beam": 1}, "seed": 2},
    }
    assert check_fairness(systems(**changes))["different"] == [
        "not equal: data.batch_tokens: rnn, transformer 1024; luong 2048",
        "not equal: decoder: rnn, luong beam 2, alpha 0.6, fp32; transformer greedy, fp32",
        "not equal: training.learning_rate: rnn, luong 0.003; transformer 0.1",
        "not equal: seeds: rnn, luong 1; transformer 2",
    ]


def test_many_systems_with_one_value_are_not_all_named(systems):
    found = check_fairness(systems(b={}, c={}, d={}, e={"trainer": {"max_epochs": 6}}))
    assert found["different"] == ["not equal: trainer.max_epochs: rnn, b, c and 1 more 5; e 6"]


def test_tokenizers_are_compared_by_their_bytes(tmp_path):
    both = [System(name, [run(tiny.write_run(tmp_path / name, name), name)]) for name in ("rnn", "luong")]
    found = check_fairness(both)
    assert len(found["equal"]["tokenizer (fingerprint of its bytes)"]) == 16
    both[1].runs[0].store.get = lambda *_: "other"
    assert any("tokenizer" in line and "luong other" in line for line in check_fairness(both)["different"])


def test_a_checkpoint_that_cannot_be_read_is_no_reason_not_to_compare(tmp_path, caplog):
    folder = tiny.write_run(tmp_path / "rnn", "rnn")
    (folder / "checkpoints" / "best.ckpt").write_bytes(b"x")
    found = check_fairness(systems_of([run(folder)]))
    assert found["equal"]["tokenizer (fingerprint of its bytes)"] == "not known"
    assert "best.ckpt" in caplog.text


def test_of_others_output_nothing_is_known(systems, tmp_path):
    other = System("other", [Run("other", tmp_path / "other.vi", [], Store(tmp_path))])
    assert check_fairness([*systems(), other])["different"] == [
        "not known: other is a file of translations, and nothing else is known of it"
    ]
