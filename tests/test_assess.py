import io

import datasets
import pytest
from rich.console import Console
from tiny import ENGLISH, VIETNAMESE, write_corpus, write_run

from seq2seq import assess as room
from seq2seq.assess import assess, assess_texts, corpus_from, decoding_settings, label_decoding, save, show
from seq2seq.errors import UserError
from seq2seq.evaluation.bleu import score
from seq2seq.testsets import read_files, read_split
from seq2seq.translator import Translator

GREEDY = {"beam": 1, "alpha": 0.0, "max_length": 12, "batch_tokens": 500}


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    return write_corpus(tmp_path / "corpus")


def _data(folder, **changes):
    return {"name": "files", "source": "en", "target": "vi", "dir": str(folder), "train": None} | changes


def _text(assessment) -> str:
    console = Console(file=io.StringIO(), width=100)
    show(assessment, console)
    return console.file.getvalue()


def test_a_split_is_translated_and_scored_like_any_texts(tmp_path):
    translator = Translator.from_checkpoint(write_run(tmp_path / "run", "luong"), "cpu")
    found = assess(translator, ENGLISH, VIETNAMESE, GREEDY)
    assert found.hypotheses == [one.text for one in translator.translate(ENGLISH, **GREEDY)]
    assert found.scores == score(found.hypotheses, VIETNAMESE)
    assert sum(bucket.sentences for bucket in found.buckets) == len(ENGLISH)
    assert found.metrics()["decoding"] == "greedy"
    assert found.metrics()["seconds"] > 0


def test_unequal_sides_are_refused_before_translating():
    with pytest.raises(UserError, match="4 source lines but 3 references"):
        assess(None, ENGLISH, VIETNAMESE[:3], GREEDY)


def test_decoding_is_called_by_its_settings():
    assert label_decoding(GREEDY) == "greedy"
    assert label_decoding({"beam": 5, "alpha": 0.6}) == "beam 5, alpha 0.6"
    assert label_decoding({"beam": 4, "alpha": 1}) == "beam 4, alpha 1"
    assert label_decoding({"beam": 4, "alpha": 1, "coverage": 0.2}) == "beam 4, alpha 1, coverage 0.2"
    assert label_decoding({"beam": 4, "alpha": 1, "precision": "fp32"}) == "beam 4, alpha 1"
    assert label_decoding(GREEDY | {"precision": "bf16"}) == "greedy, bf16"


def test_a_run_from_before_a_setting_of_decoding_takes_its_default():
    run = {"decoding": {"beam": 4, "alpha": 1.0}}
    assert decoding_settings(run, {"beam": None, "alpha": 0.5, "precision": None}) == {"beam": 4, "alpha": 0.5}


def test_what_is_written_is_what_was_found(tmp_path):
    hypotheses = [VIETNAMESE[0], "", "một câu khác", VIETNAMESE[3]]
    found = assess_texts(ENGLISH, hypotheses, VIETNAMESE, "greedy", quantiles=2)
    save(found, tmp_path / "new" / "folder", "luong", "dev")
    assert (tmp_path / "new/folder/dev.hyp").read_bytes().decode().split("\n") == [*hypotheses, ""]
    assert (tmp_path / "new/folder/bleu_by_length.png").read_bytes().startswith(b"\x89PNG")


def test_without_sources_there_is_no_table_by_length(tmp_path):
    found = assess_texts(None, VIETNAMESE, VIETNAMESE)
    save(found, tmp_path)
    assert found.metrics()["bleu"] == pytest.approx(100)
    assert found.metrics()["bleu_by_length"] == []
    assert "100.00" in _text(found)
    assert "length (words)" not in _text(found)
    assert "by source length" not in _text(found)
    assert "by source length" in _text(assess_texts(ENGLISH, VIETNAMESE, VIETNAMESE))
    assert [path.name for path in tmp_path.iterdir()] == ["test.hyp"]


@pytest.mark.parametrize(
    ("data", "passed"),
    [
        ({"name": "grammar", "grammar_seed": 3, "vocabulary_size": 9}, {"seed": 3}),
        ({"name": "files", "dir": "D", "train": None, "test": "T", "workers": 0}, {"dir": "D", "test": "T"}),
        ({"name": "iwslt15", "base": "http://localhost/x", "max_ratio": 3.0}, {"base": "http://localhost/x"}),
        ({"name": "opus100", "base": "http://localhost/y", "cache_dir": "c"}, {"base": "http://localhost/y"}),
    ],
)
def test_a_loader_gets_the_keys_it_takes_and_no_others(monkeypatch, data, passed):
    monkeypatch.setattr(room, "load_corpus", lambda name, **settings: (name, settings))
    found = corpus_from(data | {"source": "vi", "target": "en"})
    assert found == (data["name"], passed | {"source": "vi", "target": "en"})


def test_a_split_is_found_again_where_it_has_moved(corpus, tmp_path):
    nowhere = {"dir": None, "train": None, "dev": None, "test": None}
    assert read_split(_data(corpus), "test", nowhere) == (ENGLISH, VIETNAMESE)
    moved = corpus.rename(tmp_path / "new place")
    with pytest.raises(UserError, match="no folder"):
        read_split(_data(corpus), "test", nowhere)
    stale = _data(corpus, train="gone.tsv")
    assert read_split(stale, "test", nowhere | {"dir": str(moved)}) == (ENGLISH, VIETNAMESE)


def test_settings_and_splits_that_the_corpus_lacks_are_named(corpus):
    with pytest.raises(UserError, match=r"data\.base.*files"):
        read_split(_data(corpus), "test", {"base": "x"})
    with pytest.raises(UserError, match=r"split=exam.*train, validation, test"):
        read_split(_data(corpus), "exam", {})


def test_files_are_read_line_by_line_and_must_be_parallel(tmp_path):
    paths = {name: tmp_path / name for name in ("source", "reference", "short", "empty", "bad")}
    paths["source"].write_bytes(b"a\rb\r\n\n c  d")
    paths["reference"].write_bytes("ế\n\nx\n".encode())
    paths["short"].write_bytes(b"a\n")
    paths["empty"].write_bytes(b"")
    paths["bad"].write_bytes(b"a\nb\xff\n")
    names = {name: str(path) for name, path in paths.items()}
    found = read_files(source=names["source"], reference=names["reference"], hypothesis=None)
    assert found == {"source": ["a b", "", "c d"], "reference": ["ế", "", "x"]}
    for other, message in (("short", "has 1"), ("empty", "has 0"), ("bad", "line 2"), ("no", "cannot be read")):
        with pytest.raises(UserError, match=message):
            read_files(source=names["source"], reference=str(tmp_path / other))
    with pytest.raises(UserError, match="empty"):
        read_files(source=names["empty"], reference=names["empty"])
