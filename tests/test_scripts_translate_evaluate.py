import json
import logging
import os
import pty
import subprocess
import sys
import unicodedata
from pathlib import Path

import datasets
import numpy as np
import pytest
import torch
from tiny import ENGLISH, VIETNAMESE, write_corpus, write_run

from seq2seq.evaluation import figures
from seq2seq.translator import Translator

SCRIPTS = Path(__file__).resolve().parents[1] / "scripts"
SHORT = ["decoding.beam=2", "decoding.max_length=10", "device=cpu"]
OPTIONS = {"beam": 2, "alpha": 0.6, "max_length": 10}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("runs")
    corpus = write_corpus(folder / "corpus")
    return {name: write_run(folder / name, name, corpus) for name in ("rnn", "luong", "transformer")}


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path_factory.mktemp("cache"))


def test_lines_out_are_lines_in_whatever_they_hold(script, runs, capfdbinary):
    lines = [ENGLISH[0], "", "  \t", "a\rb\x0bc\u2028d", ENGLISH[1] * 30, "", ENGLISH[2]]
    counts = script("translate", f"checkpoint={runs['luong']}", "chunk=2", *SHORT, stdin="\n".join(lines).encode())
    out = capfdbinary.readouterr().out.decode()
    expected = [one.text for one in Translator.from_checkpoint(runs["luong"], "cpu").translate(lines, **OPTIONS)]
    assert out == "".join(f"{text}\n" for text in expected)
    assert [bool(text) for text in expected] == [True, False, False, True, True, False, True]
    assert counts == {"lines": 7, "heatmaps": 0}


@pytest.mark.parametrize("stdin", [b"", b"\n", b"\xef\xbb\xbf\r\n"])
def test_no_text_is_no_work(script, runs, capfdbinary, stdin):
    script("translate", f"checkpoint={runs['rnn']}", stdin=stdin)
    assert capfdbinary.readouterr().out == b"\n" * stdin.count(b"\n")


def test_both_spellings_of_a_letter_give_one_translation(script, runs, capfdbinary):
    both = [unicodedata.normalize(form, "Đường này ở đâu ạ?") for form in ("NFC", "NFD")]
    script("translate", f"checkpoint={runs['luong']}", *SHORT, stdin="\n".join(both).encode())
    first, second, end = capfdbinary.readouterr().out.split(b"\n")
    assert (first, end) == (second, b"")
    assert first


def test_a_file_becomes_a_file_and_nothing_else_is_left(script, runs, capfd, tmp_path):
    (tmp_path / "đầu vào, a=b.txt").write_text("\n".join(ENGLISH), encoding="utf-8")
    script("translate", f"checkpoint={runs['luong']}", "input=đầu vào, a=b.txt", "output=out 'x'.txt", *SHORT)
    assert capfd.readouterr().out == ""
    assert (tmp_path / "out 'x'.txt").read_bytes().decode().count("\n") == len(ENGLISH)
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("source", ["file", "standard input"])
def test_several_workers_give_what_one_gives(script, runs, capfd, tmp_path, source):
    text = "\n".join([*ENGLISH * 3, "", ENGLISH[0]])
    (tmp_path / "in.txt").write_text(text, encoding="utf-8")
    given = {"stdin": text.encode()} if source == "standard input" else {}
    outputs = []
    for workers in (1, 2):
        options = [f"workers={workers}", "chunk=2", "format=json", f"heatmap=pictures-{workers}", *SHORT]
        options += [] if given else ["input=in.txt"]
        counts = script("translate", f"checkpoint={runs['luong']}", *options, **given)
        assert counts == {"lines": 3 * len(ENGLISH) + 2, "heatmaps": 3 * len(ENGLISH) + 1}
        outputs.append(capfd.readouterr().out)
    assert outputs[0] == outputs[1]
    one, two = (sorted(path.name for path in (tmp_path / f"pictures-{workers}").iterdir()) for workers in (1, 2))
    assert one == two
    assert len(one) == 3 * len(ENGLISH) + 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_when_nothing_can_be_written_no_worker_goes_on(runs, tmp_path):
    (tmp_path / "in.txt").write_text("\n".join(ENGLISH * 50), encoding="utf-8")
    options = ["workers=2", "chunk=2", f"input={tmp_path}/in.txt", "output=/dev/full", *SHORT]
    command = [sys.executable, SCRIPTS / "translate.py", f"checkpoint={runs['luong']}", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 2
    assert done.stderr == "error: /dev/full: No space left on device, the output is not whole\n"


def test_nbest_lines_carry_number_text_and_score(script, runs, capfd):
    script(
        "translate", f"checkpoint={runs['luong']}", "nbest=2", *SHORT, stdin=f"{ENGLISH[0]}\n\n{ENGLISH[1]}".encode()
    )
    rows = [line.split(" ||| ") for line in capfd.readouterr().out.splitlines()]
    found = Translator.from_checkpoint(runs["luong"], "cpu").translate([ENGLISH[0], "", ENGLISH[1]], nbest=2, **OPTIONS)
    assert [row[0] for row in rows] == ["0", "0", "1", "2", "2"]
    pairs = [pair for one in found for pair in one.nbest]
    assert [row[1] for row in rows] == [text for text, _ in pairs]
    assert [float(row[2]) for row in rows] == pytest.approx([score for _, score in pairs], rel=1e-3)


@pytest.mark.parametrize(("model", "layers", "heads"), [("transformer", 3, 2), ("luong", 1, 1)])
def test_json_has_all_layers_and_heads_with_rows_that_sum_to_one(script, runs, capfd, model, layers, heads):
    script("translate", f"checkpoint={runs[model]}", "format=json", *SHORT, stdin=f"{ENGLISH[0]}\n\n".encode())
    full, empty = map(json.loads, capfd.readouterr().out.splitlines())
    assert (len(full["attention"]), len(full["attention"][0])) == (layers, heads)
    for head in (head for layer in full["attention"] for head in layer):
        assert [len(row) for row in head] == [len(full["source_tokens"])] * len(full["tokens"])
        assert [sum(row) for row in head] == pytest.approx([1.0] * len(head), abs=1e-4)
    assert (full["source"], full["translation"]) == (ENGLISH[0], full["nbest"][0]["text"])
    assert (empty["translation"], empty["attention"]) == ("", None)


def test_json_has_self_attention_as_well_if_asked(script, runs, capfd):
    options = ["format=json", "attention=all", *SHORT]
    script("translate", f"checkpoint={runs['transformer']}", *options, stdin=ENGLISH[0].encode())
    full = json.loads(capfd.readouterr().out)
    rows, columns = len(full["tokens"]), len(full["source_tokens"])
    for name, size in (("decoder_self", rows), ("encoder_self", columns)):
        assert np.shape(full[name]) == (3, 2, size, size)
        assert np.sum(full[name], -1) == pytest.approx(1, abs=1e-4)
    assert np.triu(full["decoder_self"], 1).max() == 0
    script("translate", f"checkpoint={runs['luong']}", *options, stdin=ENGLISH[0].encode())
    recurrent = json.loads(capfd.readouterr().out)
    assert (recurrent["decoder_self"], recurrent["encoder_self"]) == (None, None)
    assert np.shape(recurrent["attention"])[:2] == (1, 1)


def test_a_picture_leaves_the_end_out_if_asked(script, runs, monkeypatch):
    titles = []
    monkeypatch.setattr(figures, "figure_to_png", lambda figure, path: titles.append(figure.get_suptitle()))
    for end in ("shown", "hidden"):
        options = ["heatmap=h", "layer=0", "head=1", f"end={end}", *SHORT]
        script("translate", f"checkpoint={runs['transformer']}", *options, stdin=ENGLISH[0].encode())
    place = "transformer · layer 0 of 0–2 · head 1 of 0–1 · </s>"
    assert titles == [f"{place} shown", f"{place} column left out, rows rescaled"]


def test_there_is_a_picture_for_each_sentence_that_fits(script, runs, tmp_path, caplog):
    stdin = "\n".join([ENGLISH[0], "", ENGLISH[1], "xyz " * 150, "xyz " * 999]).encode()
    options = ["heatmap=a b", "head=max", "max_source=999", *SHORT]
    found = script("translate", f"checkpoint={runs['transformer']}", *options, stdin=stdin)
    pictures = sorted((tmp_path / "a b").iterdir())
    assert [path.name for path in pictures] == ["00001.png", "00003.png"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in pictures)
    assert found == {"lines": 5, "heatmaps": 2}
    assert "line 4: more than 200 pieces" in caplog.text
    assert "line 5: more subwords than max_source allows: translated in parts" in caplog.text


def test_a_model_without_attention_says_so_once_and_draws_nothing(script, runs, tmp_path, caplog, capfd):
    with caplog.at_level(logging.WARNING):
        script("translate", f"checkpoint={runs['rnn']}", "heatmap=pictures", *SHORT, stdin="\n".join(ENGLISH).encode())
    assert [record.message for record in caplog.records] == ["model rnn has no attention: there is nothing to draw"]
    assert not (tmp_path / "pictures").exists()
    assert capfd.readouterr().out.count("\n") == len(ENGLISH)
    script("translate", f"checkpoint={runs['rnn']}", "format=json", *SHORT, stdin=b"a")
    assert json.loads(capfd.readouterr().out)["attention"] is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no checkpoint is named"),
        (["checkpoint=nowhere"], "nowhere: no such file or folder"),
        (["checkpoint=RUN", "input=nowhere"], "input=nowhere: there is no such file"),
        (["checkpoint=RUN", "input=."], "Is a directory"),
        (["checkpoint=RUN", "input=text", "output=no/where"], "no/where: No such file"),
        (["checkpoint=RUN", "input=text", "output=./text"], "is the input itself"),
        (["checkpoint=RUN", "input=text", "format=xml"], "format=xml: choose text or json"),
        (["checkpoint=RUN", "input=text", "end=cut"], "end=cut: choose shown or hidden"),
        (["checkpoint=RUN", "input=text", "attention=best"], "attention=best: choose cross or all"),
        (["checkpoint=RUN", "input=text", "attention=all"], "add format=json"),
        (["checkpoint=RUN", "input=text", "chunk=0"], "chunk=0"),
        (["checkpoint=RUN", "input=text", "chunk=1", "workers=2"], "chunk=1 answers each line"),
        (["checkpoint=RUN", "input=text", "nbest=9"], "nbest is 9 with beam 5"),
        (["checkpoint=RUN", "input=text", "device=toaster"], "device=toaster"),
        (["checkpoint=RUN", "input=text", "heatmap=h", "layer=3"], "layer=3: this model has layers 0 to 2"),
        (["checkpoint=RUN", "input=text", "max_source=0"], "max_source is 0"),
        (["checkpoint=RUN", "input=text", "max_source=far"], "max_source=far: a whole number is expected"),
        (["checkpoint=RUN", "input=text", "too_long=cut"], "too_long=cut: choose split or refuse"),
    ],
)
def test_a_mistake_in_translating_is_one_line(fails, runs, tmp_path, arguments, message):
    (tmp_path / "text").write_text("a\n")
    arguments = [argument.replace("RUN", str(runs["transformer"])) for argument in arguments]
    line = fails("translate", *arguments)
    assert message in line
    assert (tmp_path / "text").read_text() == "a\n"


def _start(name, *arguments, **options):
    return subprocess.Popen(
        [sys.executable, SCRIPTS / f"{name}.py", *arguments], env=os.environ | {"OMP_NUM_THREADS": "1"}, **options
    )


def test_a_reader_that_has_enough_ends_it_quietly(runs, tmp_path):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = _start("translate", f"checkpoint={runs['luong']}", "chunk=1", *SHORT, cwd=tmp_path, **pipes)
    process.stdin.write(f"{ENGLISH[0]}\n".encode())
    process.stdin.flush()
    assert process.stdout.readline().endswith(b"\n")  # chunk=1 answers before the input ends
    process.stdout.close()
    process.stdin.write(f"{ENGLISH[1]}\n".encode() * 3)
    process.stdin.close()
    assert process.wait(60) == 0
    assert process.stderr.read() == b""
    process.stderr.close()


def test_typed_lines_are_answered_after_a_prompt_on_standard_error(runs, tmp_path):
    keyboard, terminal = pty.openpty()
    with open(terminal, "rb") as stdin:
        pipes = {"stdin": stdin, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = _start("translate", f"checkpoint={runs['luong']}", *SHORT, cwd=tmp_path, **pipes)
    os.write(keyboard, f"{ENGLISH[0]}\n".encode())
    answer = process.stdout.readline().decode()
    os.write(keyboard, b"\x04")
    rest, errors = process.communicate(timeout=60)
    os.close(keyboard)
    found = Translator.from_checkpoint(runs["luong"], "cpu").translate([ENGLISH[0]], **OPTIONS)
    assert (answer, rest) == (f"{found[0].text}\n", b"")
    assert errors.decode().split() == [">", ">"]


def test_a_run_is_evaluated_as_it_was_tested(script, runs, capfd):
    result = script("evaluate", f"checkpoint={runs['luong']}", "device=cpu")
    folder = runs["luong"] / "evaluation" / "test, beam 2, alpha 0.6"
    assert json.loads((folder / "evaluation.json").read_text(encoding="utf-8")) == result
    assert result["data"] == {"name": "files", "split": "test"}
    assert result["test"]["decoding"] == "beam 2, alpha 0.6"
    assert sum(bucket["sentences"] for bucket in result["test"]["bleu_by_length"]) == len(ENGLISH)
    assert (folder / "bleu_by_length.png").read_bytes().startswith(b"\x89PNG")
    translator = Translator.from_checkpoint(runs["luong"], "cpu")
    texts = [one.text for one in translator.translate(ENGLISH, beam=2, max_length=15)]
    assert (folder / "test.hyp").read_text(encoding="utf-8") == "".join(f"{text}\n" for text in texts)
    out = capfd.readouterr().out
    for shown in ("BLEU", "chrF", "TER", "length ratio", "tok:13a", "1–9"):
        assert shown in out


def test_what_is_typed_goes_before_what_the_run_had(script, runs, tmp_path):
    corpus = write_corpus(tmp_path / "moved")
    (corpus / "dev.en").write_text("a\nb\nc\n")
    (corpus / "dev.vi").write_text("x\ny\nz\n")
    arguments = ["split=validation", "data.dir=moved", "decoding=greedy", "edges=[1,2]", "output=results"]
    result = script("evaluate", f"checkpoint={runs['rnn'] / 'checkpoints' / 'best.ckpt'}", *arguments)
    assert result["test"]["decoding"] == "greedy"
    assert [(b["from"], b["to"], b["sentences"]) for b in result["test"]["bleu_by_length"]] == [(1, 1, 3)]
    names = ["bleu_by_length.png", "evaluation.json", "validation.hyp"]
    assert sorted(path.name for path in (tmp_path / "results").iterdir()) == names
    assert {path.name for path in tmp_path.iterdir()} == {"moved", "results"}


def test_any_pair_of_files_is_scored_through_a_checkpoint(script, runs, tmp_path):
    (tmp_path / "talk.en").write_text("\n".join(ENGLISH[:2]), encoding="utf-8")
    (tmp_path / "talk.vi").write_text(unicodedata.normalize("NFD", "\n".join(VIETNAMESE[:2])), encoding="utf-8")
    arguments = ["source=talk.en", "reference=talk.vi", "output=."]
    result = script("evaluate", f"checkpoint={runs['transformer']}", *arguments)
    assert result["data"] == {"source": "talk.en", "reference": "talk.vi"}
    assert (tmp_path / "talk.hyp").read_text(encoding="utf-8").count("\n") == 2


def test_translations_of_others_are_scored_as_they_are(script, tmp_path, capfd):
    (tmp_path / "x.en").write_text("\n".join(ENGLISH), encoding="utf-8")
    (tmp_path / "x.vi").write_text("\n".join(VIETNAMESE), encoding="utf-8")
    (tmp_path / "other").write_text(unicodedata.normalize("NFD", "\n".join(VIETNAMESE)), encoding="utf-8")
    result = script("evaluate", "hypothesis=other", "reference=x.vi", "source=x.en", "quantiles=2")
    assert result["test"]["bleu"] == pytest.approx(100)
    assert len(result["test"]["bleu_by_length"]) == 2
    assert len(list(tmp_path.iterdir())) == 3
    assert script("evaluate", "hypothesis=other", "reference=x.vi", "output=o")["test"]["bleu_by_length"] == []
    assert sorted(path.name for path in (tmp_path / "o").iterdir()) == ["evaluation.json"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name one thing to score"),
        (["checkpoint=RUN", "hypothesis=x", "reference=x"], "name one thing to score"),
        (["hypothesis=one"], "hypothesis=FILE needs reference=FILE"),
        (["hypothesis=one", "reference=two"], "hypothesis=one has 1, reference=two has 2"),
        (["checkpoint=RUN", "source=one"], "source=FILE and reference=FILE go together"),
        (["checkpoint=RUN", "source=one", "reference=gone"], "reference=gone: cannot be read"),
        (["checkpoint=RUN", "split=exam"], "split=exam: data=files has"),
        (["checkpoint=RUN", "data.dir=gone"], "data.dir: there is no folder gone"),
        (["checkpoint=RUN", "data.base=x"], "data.base: the run's corpus is data=files"),
        (["checkpoint=RUN", "edges=[5,2]"], "increasing"),
        (["checkpoint=RUN", "decoding.beam=0"], "beam is 0"),
    ],
)
def test_a_mistake_in_evaluating_is_one_line(fails, runs, tmp_path, arguments, message):
    (tmp_path / "one").write_text("a\n")
    (tmp_path / "two").write_text("a\nb\n")
    line = fails("evaluate", *(argument.replace("RUN", str(runs["rnn"])) for argument in arguments))
    assert message in line
    assert not (runs["rnn"] / "evaluation").exists()
