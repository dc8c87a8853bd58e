"""The script that aligns words, end to end, on untrained models: links, scores and mistakes."""

import json
import logging
import sys
import unicodedata
from types import SimpleNamespace

import datasets
import pytest
import torch
from tiny import ENGLISH, VIETNAMESE, Aligner, write_corpus, write_run

from seq2seq.aligner import align, align_by_each
from seq2seq.evaluation import eflomal_baseline
from seq2seq.evaluation.links import symmetrise, transposed, write_pharaoh
from seq2seq.translator import Translator


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("runs")
    corpus = write_corpus(folder / "corpus")
    found = {name: write_run(folder / name, name, corpus) for name in ("rnn", "bahdanau", "transformer")}
    return found | {"back": write_run(folder / "back", "luong", corpus, ("vi", "en"))}


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path_factory.mktemp("cache"))
    monkeypatch.setattr(eflomal_baseline, "find_spec", lambda name: None)  # also where it is installed


def lines(links):
    return "".join(f"{write_pharaoh(one)}\n" for one in links)


def test_links_of_a_split_are_a_line_a_pair_on_standard_output(script, runs, tmp_path, capfd, caplog):
    caplog.set_level(logging.INFO)
    result = script("align", f"checkpoint={runs['bahdanau']}")
    expected = align(Translator.from_checkpoint(runs["bahdanau"], "cpu"), ENGLISH, VIETNAMESE)
    out, err = capfd.readouterr()
    assert (out, err) == (lines(expected), "")
    assert (result["pairs"], result["links"], result["scores"]) == (4, sum(map(len, expected)), [])
    assert "there are no gold alignments, and so no scores; gold=FILE names some" in caplog.messages
    assert list(tmp_path.iterdir()) == []


def test_its_own_links_as_gold_are_perfect_in_one_convention_and_not_in_the_other(script, runs, tmp_path, capfd):
    script("align", f"checkpoint={runs['transformer']}", "convention=shifted", "layer=1", "output=own/links")
    arguments = ["convention=both", "layer=1", "gold=own/links", "output=again"]
    result = script("align", f"checkpoint={runs['transformer']}", *arguments)
    assert json.loads((tmp_path / "again.json").read_text(encoding="utf-8")) == result
    shifted, generated, diagonal = result["scores"]
    assert (shifted["aligner"], shifted["convention"], shifted["aer"]) == ("transformer", "shifted", 0)
    assert (shifted["precision"], shifted["recall"], shifted["sentences"]) == (1, 1, 4)
    assert (generated["convention"], diagonal["aligner"], diagonal["convention"]) == ("generated", "diagonal", None)
    assert min(generated["aer"], diagonal["aer"]) > 0
    both = align_by_each(Translator.from_checkpoint(runs["transformer"], "cpu"), ENGLISH, VIETNAMESE, layer=1)
    assert (tmp_path / "again").read_text() == lines(both["generated"])
    out, err = capfd.readouterr()
    assert out == ""
    assert "AER" in err
    assert "diagonal" in err


def test_a_model_of_the_other_direction_is_turned_round_and_joined(script, runs, capfd):
    result = script("align", f"checkpoint={runs['bahdanau']}", f"reverse={runs['back']}", "method=grow-diag")
    there, back = (Translator.from_checkpoint(runs[name], "cpu") for name in ("bahdanau", "back"))
    forward, backward = align(there, ENGLISH, VIETNAMESE), align(back, VIETNAMESE, ENGLISH)
    pairs = zip(forward, backward, strict=True)
    expected = [symmetrise(one, transposed(other), "grow-diag") for one, other in pairs]
    assert capfd.readouterr().out == lines(expected)
    assert (result["names"], result["aligner"]) == (["bahdanau", "luong"], "grow-diag")


def test_files_are_aligned_by_their_words_and_gold_may_count_from_one(script, runs, tmp_path, capfd):
    (tmp_path / "x.en").write_text("\n".join(["", *ENGLISH]) + "\n", encoding="utf-8")
    (tmp_path / "x.vi").write_text(unicodedata.normalize("NFD", "\n".join(["a", *VIETNAMESE])) + "\n", encoding="utf-8")
    script("align", f"checkpoint={runs['bahdanau']}", "source=x.en", "target=x.vi")
    found = capfd.readouterr().out
    assert found == "\n" + lines(align(Translator.from_checkpoint(runs["bahdanau"], "cpu"), ENGLISH, VIETNAMESE))
    one_based = [
        " ".join("-".join(str(int(number) + 1) for number in link.split("-")) for link in line.split())
        for line in found.splitlines()
    ]
    (tmp_path / "gold").write_text("\n".join(one_based) + "\n")
    more = ["source=x.en", "target=x.vi", "gold=gold", "gold_base=1"]
    assert script("align", f"checkpoint={runs['bahdanau']}", *more)["scores"][0]["aer"] == 0


def test_eflomal_is_scored_beside_where_it_is_and_missed_in_a_line_where_it_is_not(script, runs, tmp_path, caplog):
    caplog.set_level(logging.INFO)
    (tmp_path / "gold").write_text("0-0\n" * 4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(eflomal_baseline, "find_spec", lambda name: True)
        patch.setitem(sys.modules, "eflomal", SimpleNamespace(Aligner=Aligner))
        result = script("align", f"checkpoint={runs['bahdanau']}", "gold=gold")
        assert len(Aligner.asked[0]) == 8  # the training split and the pairs
        assert (result["scores"][-1]["aligner"], result["scores"][-1]["recall"]) == ("eflomal", 1)
        assert result["scores"][-1]["agreement"] == 1
        result = script("align", f"checkpoint={runs['bahdanau']}", "eflomal=always")
        assert set(result["scores"][0]) == {"aligner", "convention", "agreement"}
        assert script("align", f"checkpoint={runs['bahdanau']}")["scores"] == []
    result = script("align", f"checkpoint={runs['bahdanau']}", "gold=gold")
    assert result["scores"][-1]["aligner"] == "diagonal"
    assert "eflomal is not installed and not scored beside; pip install eflomal" in caplog.messages
    caplog.clear()
    script("align", f"checkpoint={runs['bahdanau']}", "gold=gold", "eflomal=never")
    assert caplog.messages == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no checkpoint is named"),
        (["checkpoint=RUN", "convention=other"], "convention=other: choose one of generated, shifted, both"),
        (["checkpoint=RUN", "method=grow"], "method=grow: choose one of"),
        (["checkpoint=RUN", "extraction=some"], "extraction=some: choose argmax or threshold"),
        (["checkpoint=RUN", "threshold=0"], "threshold=0: give a share"),
        (["checkpoint=RUN", "layer=7"], "layer=7: this model has layer 0 alone"),
        (["checkpoint=RUN", "head=min"], "head=min: this model has head 0 alone"),
        (["checkpoint=RNN"], "model rnn has no attention: there is nothing to align by"),
        (["checkpoint=RUN", "reverse=RNN"], "reverse= must translate the other way round: it goes en to vi"),
        (["checkpoint=RUN", "split=exam"], "split=exam: data=files has"),
        (["checkpoint=RUN", "source=one"], "source=FILE and target=FILE go together"),
        (["checkpoint=RUN", "source=one", "target=four"], "source=one has 1, target=four has 4"),
        (["checkpoint=RUN", "gold=gone"], "gone: the gold alignments cannot be read"),
        (["checkpoint=RUN", "gold=one"], "one has 1 lines for 4 sentence pairs"),
        (["checkpoint=RUN", "gold=four"], "four, line 3: '1:1' is no link"),
    ],
)
def test_a_mistake_is_one_line(fails, runs, tmp_path, arguments, message):
    (tmp_path / "one").write_text("0-0\n")
    (tmp_path / "four").write_text("0-0\n0-0\n1:1\n0-0\n")
    places = {"RUN": str(runs["bahdanau"]), "RNN": str(runs["rnn"])}
    given = ["=".join(places.get(part, part) for part in argument.split("=")) for argument in arguments]
    assert message in fails("align", *given)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["four", "one"]
