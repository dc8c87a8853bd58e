"""What a user reads, and gets, when text or files are not as they should be: in training, evaluation, translation."""

import json
import logging
import unicodedata

import datasets
import pytest
import torch
from damaged_lines import DAMAGES, damaged_lines
from test_train import settings
from tiny import ENGLISH, VIETNAMESE, load_script, write_corpus, write_run

from seq2seq.data.readers import read_lines
from seq2seq.data.text import normalise
from seq2seq.errors import UserError
from seq2seq.translator import Translator

VERY_LONG = " ".join(ENGLISH * 1053)  # 20,007 words
GREEDY = ["decoding=greedy", "decoding.max_length=4", "device=cpu"]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("runs")
    return write_run(folder / "luong", "luong", write_corpus(folder / "corpus"))


def _write(path, lines, form="NFC", mark="", end="\n"):
    text = mark + "".join(unicodedata.normalize(form, line) + end for line in lines)
    path.write_bytes(text.encode())
    return path


class TestTranslate:
    @pytest.mark.parametrize(
        ("way", "options"),
        [("file", []), ("standard input", []), ("file", ["format=json"]), ("standard input", ["nbest=2"])],
    )
    def test_lines_out_are_lines_in_and_in_order_whatever_they_hold(self, script, run, tmp_path, way, options):
        lines = [line.content for line in damaged_lines(500) if line.damage][:40]
        for place in range(0, len(lines), 5):
            lines.insert(place, ENGLISH[place % 4].encode())
        (tmp_path / "in").write_bytes(b"\n".join(lines))
        given = ["input=in"] if way == "file" else []
        stdin = None if given else (tmp_path / "in").read_bytes()
        arguments = [f"checkpoint={run}", *GREEDY, "decoding.beam=2", *given, *options, "output=out"]
        counts = script("translate", *arguments, stdin=stdin)
        assert counts["lines"] == len(lines)
        out = (tmp_path / "out").read_bytes().decode().split("\n")
        assert out.pop() == ""
        sources = [normalise(line.decode("utf-8", "ignore")) for line in lines]
        options = {"beam": 2, "alpha": 0.0, "max_length": 4, "nbest": 2}
        expected = Translator.from_checkpoint(run, "cpu").translate(sources, **options)
        if "format=json" in arguments:
            out = [json.loads(line) for line in out]
            assert [one["source"] for one in out] == sources
            assert [one["parts"] for one in out] == [one.parts for one in expected]
            assert all((one["attention"] is None) == (one["parts"] > 1 or not one["source"]) for one in out)
            assert [one["translation"] for one in out] == [one.text for one in expected]
        elif "nbest=2" in arguments:
            rows = [line.rsplit(" ||| ", 1)[0] for line in out]
            assert rows == [f"{number} ||| {text}" for number, one in enumerate(expected) for text, _ in one.nbest]
        else:
            assert out == [one.text for one in expected]

    def test_damaged_lines_are_named_a_few_one_by_one_and_all_at_the_end(self, script, run, caplog, capfdbinary):
        lines = [b"a", *[b"caf\xe9 " + ENGLISH[0].encode()] * 7, b"b"]
        with caplog.at_level(logging.WARNING):
            script("translate", f"checkpoint={run}", *GREEDY, stdin=b"\n".join(lines))
        fault = "not UTF-8: translated without the bytes that are no text; convert it to UTF-8 to keep them"
        expected = [f"standard input, line {number}: {fault}" for number in range(2, 7)]
        assert [record.message for record in caplog.records] == [*expected, f"standard input, 7 lines in all: {fault}"]
        out = capfdbinary.readouterr().out
        assert out.count(b"\n") == 9
        caplog.clear()
        script(
            "translate", f"checkpoint={run}", *GREEDY, stdin="\n".join(["a", *["caf " + ENGLISH[0]] * 7, "b"]).encode()
        )
        assert capfdbinary.readouterr().out == out
        assert not caplog.records

    @pytest.mark.parametrize("way", ["split", "refuse"])
    def test_a_line_of_twenty_thousand_words_shifts_nothing_and_is_named(self, script, run, caplog, capfd, way):
        stdin = "\n".join([ENGLISH[0], VERY_LONG, ENGLISH[1]]).encode()
        script("translate", f"checkpoint={run}", *GREEDY, f"too_long={way}", "format=json", stdin=stdin)
        before, long, after = map(json.loads, capfd.readouterr().out.splitlines())
        assert (before["source"], after["source"]) == (ENGLISH[0], ENGLISH[1])
        assert long["source"] == VERY_LONG
        assert long["parts"] == (4212 if way == "split" else 0)
        assert bool(long["translation"]) == (way == "split")
        assert long["attention"] is None
        done = "translated in parts" if way == "split" else "its translation is left empty"
        expected = f"standard input, line 2: more subwords than max_source allows: {done}"
        assert [record.message for record in caplog.records] == [expected]

    @pytest.mark.parametrize("text", [b"", b"\n\n\n", b" \t\n\xe2\x80\x8b\n\xc2\xa0", b"\xef\xbb\xbf", b"\xff\n\xfe"])
    def test_nothing_to_translate_is_no_fault(self, script, run, tmp_path, text):
        (tmp_path / "in").write_bytes(text)
        script("translate", f"checkpoint={run}", "input=in", "output=out")
        lines = text.count(b"\n") + (not text.endswith(b"\n") and text != b"")
        assert (tmp_path / "out").read_bytes() == b"\n" * lines

    def test_marks_and_line_ends_of_other_systems_change_no_translation(self, script, run, tmp_path):
        found = []
        for form, mark, end in (("NFC", "", "\n"), ("NFD", "\ufeff", "\r\n")):
            _write(tmp_path / "in", VIETNAMESE, form, mark, end)
            script("translate", f"checkpoint={run}", "input=in", "output=out", *GREEDY)
            found.append((tmp_path / "out").read_bytes())
        assert found[0] == found[1]
        assert found[0].count(b"\n") == len(VIETNAMESE)

    def test_a_budget_smaller_than_a_sentence_is_a_sentence_a_batch(self, script, run, capfd):
        stdin = "\n".join(ENGLISH).encode()
        script("translate", f"checkpoint={run}", *GREEDY, stdin=stdin)
        script("translate", f"checkpoint={run}", *GREEDY, "decoding.batch_tokens=1", stdin=stdin)
        out = capfd.readouterr().out
        assert out[: len(out) // 2] == out[len(out) // 2 :]

    def test_long_lines_are_read_few_at_a_time(self, monkeypatch):
        module = load_script("translate")
        monkeypatch.setattr(module, "MOST_CHARACTERS", 10)
        chunks = list(module._chunks(["a", "b", "c", "d", "long" * 9, "e", "long" * 9], 3))
        assert chunks == [["a", "b", "c"], ["d", "long" * 9], ["e", "long" * 9]]

    def test_a_full_disk_is_one_line(self, fails, run):
        line = fails("translate", f"checkpoint={run}", *GREEDY, "output=/dev/full", stdin=b"a")
        assert line == "error: /dev/full: No space left on device, the output is not whole"

    def test_no_standard_input_is_one_line(self, fails, run, monkeypatch):
        monkeypatch.setattr("sys.stdin", None)
        assert "closed: name input=FILE" in fails("translate", f"checkpoint={run}")

    @pytest.mark.long
    def test_thousands_of_mixed_lines_come_out_as_each_does_alone(self, script, run, tmp_path, caplog):
        lines = list(damaged_lines(5000))
        assert {line.damage for line in lines} == {None, *DAMAGES}
        (tmp_path / "in").write_bytes(b"".join(line.content + b"\n" for line in lines))
        counts = script("translate", f"checkpoint={run}", *GREEDY, "decoding.max_length=20", "input=in", "output=out")
        assert counts["lines"] == len(lines)
        out = (tmp_path / "out").read_bytes().decode().split("\n")
        assert (len(out), out.pop()) == (len(lines) + 1, "")
        translator = Translator.from_checkpoint(run, "cpu")
        clean = [(line.content.decode(), text) for line, text in zip(lines, out, strict=True) if not line.damage]
        for source, text in clean[::5]:
            assert translator.translate([source], beam=1, alpha=0.0, max_length=20)[0].text == text


@pytest.mark.parametrize("name", ["translate", "evaluate"])
class TestCheckpoint:
    @pytest.mark.parametrize("kind", ["missing", "text", "empty", "cut off", "foreign", "folder"])
    def test_a_wrong_one_is_named_in_one_line(self, fails, run, tmp_path, name, kind):
        whole = (run / "checkpoints" / "best.ckpt").read_bytes()
        path = tmp_path / "wrong"
        if kind == "folder":
            path.mkdir()
        elif kind == "foreign":
            torch.save({"state_dict": {"weight": torch.zeros(2)}, "epoch": 1}, path)
        elif kind != "missing":
            path.write_bytes({"text": b"a text\n" * 99, "empty": b"", "cut off": whole[: len(whole) // 2]}[kind])
        assert fails(name, "checkpoint=wrong", *([] if name == "evaluate" else ["input=/dev/null"])).startswith(
            "error: wrong: "
        )


class TestEvaluate:
    def test_the_score_does_not_depend_on_how_letters_and_lines_are_written(self, script, run, tmp_path):
        scores = []
        for form, mark, end in (("NFC", "", "\n"), ("NFD", "\ufeff", "\r\n")):
            _write(tmp_path / "hypothesis", [*VIETNAMESE[:3], "Chúng tôi đi."], form, mark, end)
            _write(tmp_path / "reference", VIETNAMESE, form, mark, end)
            _write(tmp_path / "source", ENGLISH, form, mark, end)
            for given in ("hypothesis=hypothesis", f"checkpoint={run}"):
                found = script("evaluate", given, "source=source", "reference=reference", "output=out")
                scores.append({key: value for key, value in found["test"].items() if key != "seconds"})
        assert scores[:2] == scores[2:]
        assert 50 < scores[0]["bleu"] < 100

    def test_awkward_lines_are_scored_each_in_its_place(self, script, run, tmp_path, caplog):
        sources = [VERY_LONG, "", " \t\u200b", "a\rb\x00\u2028c", "🙂 שלום สวัสดี", *ENGLISH]
        references = ["x", "", "y", "\u200b", "z\rz", *VIETNAMESE]
        _write(tmp_path / "source", sources)
        _write(tmp_path / "reference", references)
        arguments = ["source=source", "reference=reference", "output=out", "quantiles=50", *GREEDY]
        found = script("evaluate", f"checkpoint={run}", *arguments)
        assert sum(bucket["sentences"] for bucket in found["test"]["bleu_by_length"]) == len(sources)
        assert (tmp_path / "out" / "source.hyp").read_bytes().count(b"\n") == len(sources)
        assert "source text, line 1: more subwords than max_source allows: translated in parts" in caplog.text
        lines = (tmp_path / "out" / "source.hyp").read_text(encoding="utf-8").split("\n")
        assert [bool(line) for line in lines[:3]] == [True, False, False]
        script("evaluate", f"checkpoint={run}", *arguments, "too_long=refuse")
        again = (tmp_path / "out" / "source.hyp").read_text(encoding="utf-8").split("\n")
        assert again == ["", *lines[1:]]

    def test_a_very_long_line_is_scored_without_ter(self, script, tmp_path, caplog):
        for name in ("hypothesis", "reference"):
            _write(tmp_path / name, [VIETNAMESE[0], VERY_LONG])
        found = script("evaluate", "hypothesis=hypothesis", "reference=reference")["test"]
        assert found["bleu"] == pytest.approx(100)
        assert found["ter"] is None
        assert "line 2 is too long for TER, which is left out" in caplog.text

    @pytest.mark.parametrize("other", ["source", "hypothesis"])
    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"", "has 0"),
            (b"a\n" * 5, "has 5"),
            (b"a\nb\xff\nc\nd\n", "line 2: not UTF-8 (byte 0xFF at position 2); convert the file to UTF-8"),
            (b"\xef\xbb\xbfab\xff\nb\nc\nd\n", "line 1: not UTF-8 (byte 0xFF at position 6)"),
        ],
    )
    def test_a_file_that_does_not_fit_is_named(self, fails, run, tmp_path, other, content, message):
        _write(tmp_path / "reference", VIETNAMESE)
        (tmp_path / "other").write_bytes(content)
        given = [f"checkpoint={run}"] if other == "source" else []
        line = fails("evaluate", *given, f"{other}=other", "reference=reference", "output=out")
        assert "other" in line
        assert message in line
        assert not (tmp_path / "out").exists()

    def test_empty_files_are_nothing_to_score(self, fails, tmp_path):
        (tmp_path / "empty").write_bytes(b"")
        line = fails("evaluate", "hypothesis=empty", "reference=empty")
        assert line == "error: empty, empty: empty, there is nothing to score"

    def test_a_corpus_without_a_test_split_says_which_it_has(self, fails, tmp_path):
        corpus = write_corpus(tmp_path / "corpus")
        for language in ("en", "vi"):
            (corpus / f"test.{language}").unlink()
        line = fails("evaluate", f"checkpoint={write_run(tmp_path / 'own', 'rnn', corpus)}", "device=cpu")
        assert line == "error: split=test: data=files has train, validation"

    @pytest.mark.parametrize("content", [b"", b"a\n", b"a\nb\xff\nc\nd\n"])
    def test_a_damaged_split_of_the_corpus_is_named(self, fails, tmp_path, content):
        corpus = write_corpus(tmp_path / "corpus")
        (corpus / "test.en").write_bytes(content)
        line = fails("evaluate", f"checkpoint={write_run(tmp_path / 'own', 'rnn', corpus)}", "device=cpu")
        assert str(corpus / "test.") in line


class TestTrain:
    @pytest.mark.parametrize(
        ("files", "message"),
        [
            ({"train.en": b"", "train.vi": b""}, "train.en is empty; it must hold one sentence a line"),
            ({"dev.en": b"a\n"}, "dev.vi, line 2: no partner: "),
            ({"train.vi": b"a\n" * 9}, "train.vi, line 5: no partner: "),
            ({"train.vi": b"a\nb\nc\xe9\nd\n"}, "train.vi, line 3: not UTF-8 (byte 0xE9 at position 2)"),
            ({"test.en": b"\xff\xfea\0\n\0b\nc\nd"}, "test.en, line 1: not UTF-8 (byte 0xFF at position 1)"),
            ({"train.en": b"\n" * 4, "train.vi": " \t\n\u200b\n\xa0\n\n".encode()}, "the training split has no text"),
            ({"train.en": b"\n \n\xe2\x80\x8b\n\r\n"}, "no training pair is left of 4 (4 empty"),
            ({"train.vi": None}, "there is no file "),
            ({"dev.en": VERY_LONG.encode(), "dev.vi": b"a"}, "no validation pair is left of 1: all have more than "),
            ({"dev.en": None, "dev.vi": None}, "data=files has no validation split: training needs one"),
        ],
    )
    def test_files_that_do_not_fit_are_named(self, tmp_path, files, message):
        given = settings(tmp_path)
        for name, content in files.items():
            path = tmp_path / "corpus" / name
            path.unlink() if content is None else path.write_bytes(content)
        with pytest.raises(UserError) as caught:
            load_script("train").train(given)
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)
        assert not (tmp_path / "run").exists()

    def test_a_budget_smaller_than_every_sentence_says_what_to_raise(self, tmp_path):
        given = settings(tmp_path, "data.batch_tokens=8")
        _write(tmp_path / "corpus" / "train.en", ENGLISH[:3])
        _write(tmp_path / "corpus" / "train.vi", VIETNAMESE[:3])
        with pytest.raises(UserError, match=r"3 over budget.*raise data\.max_length, data\.max_ratio or data\.batch_"):
            load_script("train").train(given)

    def test_awkward_lines_are_trained_on_or_left_out_and_the_end_is_reached(self, tmp_path, caplog):
        given = settings(tmp_path, "model=rnn", "trainer.max_epochs=1", "data.vocabulary_size=8000")
        pairs = [
            *zip(ENGLISH, VIETNAMESE, strict=True),
            *[("", "x"), (" \t", "\u200b"), ("a\rb", "c\x00\x07d"), ("🙂 ok", "שלום"), ("สวัสดี", "<s> ▁ |||")],
            (VERY_LONG, "x"),
        ]
        for split in ("train", "dev"):
            for language, lines in zip(("en", "vi"), zip(*pairs, strict=True), strict=True):
                _write(tmp_path / "corpus" / f"{split}.{language}", lines, "NFD", "\ufeff", "\r\n")
        for language in ("en", "vi"):
            (tmp_path / "corpus" / f"test.{language}").unlink()
        result = load_script("train").train(given)
        assert result["data"]["pairs"] == {"train": 10, "validation": 10}
        assert result["test"] == {}
        assert "training leaves out 4 of 10 pairs: 2 empty, 1 too long, 0 over budget, 1 out of ratio" in caplog.text
        assert "validation leaves out 1 of 10 pairs: they have more than 1024 pieces" in caplog.text
        assert "pieces, not 8000; going on with these" in caplog.text
        translator = Translator.from_checkpoint(tmp_path / "run", "cpu")
        assert translator.tokenizers.source.encode([ENGLISH[0]]) == translator.tokenizers.source.encode(
            ["\ufeff" + ENGLISH[0]]
        )


def test_a_reader_told_to_go_on_leaves_out_what_is_no_text(tmp_path):
    (tmp_path / "x").write_bytes(b"\xef\xbb\xbfa\xffb\r\n\xe1\xba\n\xe1\xba\xbf\n\xef\xbf\xbd\n\x80")
    numbers = []
    assert list(read_lines(str(tmp_path / "x"), damaged=numbers.append)) == ["ab", "", "ế", "\ufffd", ""]
    assert numbers == [1, 2, 5]
