"""The script that says what heads look at, end to end."""

import json
import sys

import numpy as np
import pytest
import torch
from tiny import ENGLISH, VIETNAMESE, load_script, write_corpus, write_run

from seq2seq import cli
from seq2seq.evaluation.patterns import KINDS, Patterns
from seq2seq.translator import Translator


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("runs")
    corpus = write_corpus(folder / "corpus")
    return {name: write_run(folder / name, name, corpus) for name in ("rnn", "luong", "transformer")}


@pytest.fixture
def patterns(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)

    def _patterns(*arguments):
        function, results = load_script("attention_patterns").attention_patterns, []
        monkeypatch.setattr(sys, "argv", ["attention_patterns.py", *map(str, arguments), "device=cpu"])
        cli.run("patterns", lambda settings: results.append(function(settings)), "", multirun=False)
        return results[0]

    return _patterns


def expected(run, kind, field):
    """From single sentences, each in a batch of its own."""
    collected = Patterns(kind)
    translator = Translator.from_checkpoint(run, "cpu")
    for source, target in zip(ENGLISH, VIETNAMESE, strict=True):
        (one,) = translator.force([source], [target])
        collected.add(getattr(one, field))
    return [head.as_dict() for head in collected.heads()]


def test_every_attention_of_a_transformer_is_measured_over_sentences_of_any_length(patterns, runs, tmp_path, capfd):
    found = patterns(f"checkpoint={runs['transformer']}", "output=o.json")
    assert json.loads((tmp_path / "o.json").read_text(encoding="utf-8")) == found
    assert (found["sentences"], found["targets"]) == (len(ENGLISH), "references")
    assert list(found["attention"]) == list(KINDS)
    for kind, field in zip(KINDS, ("weights", "decoder_self", "encoder_self"), strict=True):
        heads = found["attention"][kind]
        assert [(head["layer"], head["head"]) for head in heads] == [(layer, n) for layer in range(3) for n in range(2)]
        for head, same in zip(heads, expected(runs["transformer"], kind, field), strict=True):
            assert head.pop("sink_at") == pytest.approx(same.pop("sink_at"))
            assert head == pytest.approx(same, abs=1e-5)
            assert 0 < head["entropy"] < head["entropy_most"]
    out = capfd.readouterr().out
    for shown in ("Cross-attention", "Self-attention of the decoder", "Self-attention of the encoder", "previous"):
        assert shown in out


def test_a_recurrent_model_has_one_head_and_its_own_translations_if_asked(patterns, runs):
    found = patterns(f"checkpoint={runs['luong']}", "own=true", "most=2", "chunk=1", "decoding.beam=1")
    assert {kind: len(heads) for kind, heads in found["attention"].items()} == {"cross": 1}
    assert (found["sentences"], found["targets"]) == (2, "own translations, greedy")
    translator = Translator.from_checkpoint(runs["luong"], "cpu")
    options = {"beam": 1, "max_length": 15, "attention": True}
    rows = sum(len(one.tokens) for one in translator.translate(ENGLISH[:2], **options))
    assert found["attention"]["cross"][0]["rows"] == rows


def test_one_sentence_or_files_can_be_named(patterns, runs, tmp_path):
    found = patterns(f"checkpoint={runs['luong']}", f"sentence={ENGLISH[2]}, a=b 'c'")
    assert (found["sentences"], found["data"]) == (1, {"sentence": f"{ENGLISH[2]}, a=b 'c'"})
    (tmp_path / "x.en").write_text("\n".join([*ENGLISH, ""]) + "\n", encoding="utf-8")
    (tmp_path / "x.vi").write_text("\n".join([*VIETNAMESE, ""]) + "\n", encoding="utf-8")
    with_references = patterns(f"checkpoint={runs['luong']}", "input=x.en", "reference=x.vi")
    assert (with_references["sentences"], with_references["targets"]) == (len(ENGLISH), "references")
    (head,) = with_references["attention"]["cross"]
    assert head["diagonal"] == pytest.approx(expected(runs["luong"], "cross", "weights")[0]["diagonal"], abs=1e-5)


def test_a_model_without_attention_says_so_in_one_line(patterns, runs, capfd):
    assert patterns(f"checkpoint={runs['rnn']}")["attention"] == {}
    assert capfd.readouterr().out == "model rnn has no attention: there is no head to look at\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no checkpoint is named"),
        (["checkpoint=RUN", "reference=x"], "reference=FILE needs"),
        (["checkpoint=RUN", "sentence=a", "input=x"], "name one thing"),
        (["checkpoint=RUN", "input=gone"], "input=gone: cannot be read"),
        (["checkpoint=RUN", "split=exam"], "split=exam"),
        (["checkpoint=RUN", "most=0"], "most=0"),
        (["checkpoint=RUN", "sentence=a b c d e f g", "max_source=1"], "there is no sentence to look at"),
    ],
)
def test_a_mistake_is_one_line(patterns, runs, capfd, arguments, message):
    with pytest.raises(SystemExit) as stop:
        patterns(*(argument.replace("RUN", str(runs["luong"])) for argument in arguments))
    assert stop.value.code == 2
    (line,) = (line for line in capfd.readouterr().err.splitlines() if line.startswith("error: "))
    assert message in line


def test_forced_translations_are_the_references_with_every_weight(runs):
    translator = Translator.from_checkpoint(runs["transformer"], "cpu")
    lines, references = [*ENGLISH, "", "a " * 50, "b"], [*VIETNAMESE, "", "a", "b " * 50]
    found = translator.force(lines, references, max_source=40)
    assert [one.text for one in found] == [*VIETNAMESE, "", "", ""]
    assert [one.parts for one in found] == [1] * 5 + [0, 0]
    for one in found[:4]:
        rows, columns = len(one.tokens), len(one.source_tokens)
        assert one.weights.shape == (3, 2, rows, columns)
        assert one.decoder_self.shape == (3, 2, rows, rows)
        assert one.encoder_self.shape == (3, 2, columns, columns)
        np.testing.assert_array_equal(one.decoder_self, np.tril(one.decoder_self))
        for table in (one.weights, one.decoder_self, one.encoder_self):
            np.testing.assert_allclose(table.sum(-1), 1, atol=1e-5)
    assert all(one.weights is None for one in found[4:])
