import json
import unicodedata

import numpy as np
import pytest
import torch
from tiny import ENGLISH, MODELS, tokenizers, write_run

from seq2seq import translator as room
from seq2seq.data.batching import source_batch
from seq2seq.data.text import normalise
from seq2seq.errors import UserError
from seq2seq.models import build_model
from seq2seq.translator import Translation, Translator

LONG = " ".join(["cat chair city books"] * 40)
LINES = [LONG, "", ENGLISH[0], "  \t\u200b ", ENGLISH[1], "late", ENGLISH[0], "\ufeff", "Đêm nay 🙂 ở 東京?"]
OPTIONS = {"beam": 3, "max_length": 12, "max_source": 1000}


@pytest.fixture(scope="module", params=MODELS)
def translator(request, tmp_path_factory) -> Translator:
    return Translator.from_checkpoint(write_run(tmp_path_factory.mktemp("runs") / "run", request.param), "cpu")


@pytest.fixture
def transformer(tmp_path) -> Translator:
    return Translator.from_checkpoint(write_run(tmp_path / "run", "transformer"), "cpu")


def test_there_is_one_translation_for_each_line_in_order(translator):
    found = translator.translate(LINES, **OPTIONS)
    assert [one.source for one in found] == [normalise(line) for line in LINES]
    assert [one.text for one in found if not one.source] == ["", "", ""]
    assert translator.translate([]) == []


def test_the_precision_of_the_products_is_a_choice(translator, monkeypatch):
    seen = []
    step = type(translator.model).step

    def watched(self, *arguments):
        features, *rest = step(self, *arguments)
        seen.append(self.project(features).dtype)
        return features, *rest

    monkeypatch.setattr(type(translator.model), "step", watched)
    for options in ({}, {"precision": "fp32"}, {"precision": "bf16"}):
        assert translator.translate(ENGLISH[:1], **options)[0].text
        assert set(seen) == {torch.bfloat16 if "bf16" in options.values() else torch.float32}
        seen.clear()
    with pytest.raises(UserError, match="precision is half: choose fp32 or bf16"):
        translator.translate(ENGLISH, precision="half")


def test_blank_lines_never_reach_the_model(translator, monkeypatch):
    monkeypatch.setattr(room, "search", None)
    texts = [one.text for one in translator.translate(["", " ", "\r"], nbest=2)]
    assert texts == ["", "", ""]


def _same(found: list[Translation], expected: list[Translation]) -> None:
    assert [one.text for one in found] == [one.text for one in expected]
    assert [one.score for one in found] == pytest.approx([one.score for one in expected], rel=1e-3)


def test_a_translation_does_not_depend_on_batch_size_neighbours_or_order(translator):
    lines = [*LINES[1:], *ENGLISH[2:], "a", "b c", LONG[:99]]
    for beam in (1, 3):
        options = OPTIONS | {"beam": beam}
        expected = [translator.translate([line], **options)[0] for line in lines]
        assert len({round(one.score, 3) for one in expected}) > 8  # no two lines are the same to the model
        for batch_tokens in (60, 5000):
            _same(translator.translate(lines, batch_tokens=batch_tokens, **options), expected)
        _same(translator.translate([LONG, *lines[::-1], LONG], **options)[-2:0:-1], expected)


def test_a_line_that_is_too_long_is_the_translations_of_its_parts_joined(translator):
    sentences = [*ENGLISH, ENGLISH[0].replace(".", "")]
    first, *parts, last = translator.translate([LONG, *sentences, "late"], nbest=3, **OPTIONS)
    most = max(len(part.source_tokens) for part in parts) - 1
    options = OPTIONS | {"nbest": 3, "max_source": most, "attention": True}
    before, joined, after = translator.translate(["late", " ".join(sentences), "late"], **options)
    assert joined.parts == len(sentences)
    assert joined.source == " ".join(sentences)
    assert joined.text == " ".join(filter(None, (part.text for part in parts)))
    for name in ("tokens", "source_tokens"):
        assert getattr(joined, name) == [token for part in parts for token in getattr(part, name)]
    assert joined.score == pytest.approx(sum(part.score for part in parts), rel=1e-3)
    assert joined.finished == all(part.finished for part in parts)
    assert joined.weights is None
    assert joined.as_dict()["parts"] == len(sentences)
    assert joined.nbest[0] == (joined.text, joined.score)
    second = " ".join(filter(None, (part.nbest[1][0] for part in parts)))
    assert (joined.nbest[1][0], len(joined.nbest)) == (second, 3)
    assert before.text == after.text == last.text
    assert (before.parts, first.parts) == (1, 1)


def test_a_line_that_is_too_long_is_refused_if_asked(translator):
    options = OPTIONS | {"max_source": 40, "too_long": "refuse"}
    lines = [ENGLISH[0], LONG, ENGLISH[1]]
    before, refused, after = translator.translate(lines, nbest=2, **options)
    assert (refused.source, refused.text, refused.parts, refused.finished) == (LONG, "", 0, False)
    assert refused.nbest == [("", 0.0)]
    _same([before, after], translator.translate([ENGLISH[0], ENGLISH[1]], **options))


def test_no_part_is_longer_than_allowed_even_of_an_endless_word(transformer, monkeypatch):
    widths, search = [], room.search

    def spy(model, source, lengths, **options):
        widths.extend(lengths.tolist())
        return search(model, source, lengths, **options)

    monkeypatch.setattr(room, "search", spy)
    for line in ("x" * 500, "🙂" * 100, LONG, "a, b " * 200, "Mr. " * 99, "." * 300):
        (one,) = transformer.translate([line], **OPTIONS | {"max_source": 20})
        assert one.parts == len(widths) > 1
        assert max(widths) == 21  # and EOS
        pieces = tokenizers().source.encode([line])[0]
        assert [token for token in one.source_tokens if token != "</s>"] == tokenizers().source.pieces(pieces)
        widths.clear()


def test_too_long_is_what_training_left_out_unless_it_is_said(tmp_path):
    translator = Translator.from_checkpoint(write_run(tmp_path / "run", "rnn"), "cpu")
    for stored, most in (({}, 128), ({"data": {"max_length": 30}}, 30)):
        translator.settings = stored
        found = translator.translate(["a " * most, "a " * (most + 1)], beam=1, max_length=1)
        assert [one.parts for one in found] == [1, 2]


def test_attention_of_many_lines_is_taken_some_at_a_time(transformer, monkeypatch):
    expected = transformer.translate(LINES, attention=True, **OPTIONS)
    areas, forced = [], room.forced_attention

    def spy(model, source, *rest):
        areas.append(len(source) * source.shape[1])
        return forced(model, source, *rest)

    monkeypatch.setattr(room, "forced_attention", spy)
    monkeypatch.setattr(room, "WEIGHTS_AT_ONCE", 2000)
    for one, other in zip(transformer.translate(LINES, attention=True, **OPTIONS), expected, strict=True):
        if one.source:
            np.testing.assert_allclose(one.weights, other.weights, atol=1e-5)
    assert len(areas) > 2
    areas.clear()
    _, whole = transformer.translate([LONG, ENGLISH[0]], attention=True, **OPTIONS | {"max_source": 40})
    assert sum(areas) <= 41  # nothing for the parts of a line
    assert whole.weights.shape[-1] == len(whole.source_tokens)


def test_no_batch_is_over_its_budget_but_for_a_single_long_line(translator, monkeypatch):
    shapes, search = [], room.search

    def spy(model, source, *rest, **options):
        shapes.append(source.shape)
        return search(model, source, *rest, **options)

    monkeypatch.setattr(room, "search", spy)
    translator.translate(LINES, batch_tokens=200, **OPTIONS)
    assert sum(rows for rows, _ in shapes) == sum(bool(normalise(line)) for line in LINES)
    assert all(rows == 1 or rows * width * OPTIONS["beam"] <= 200 for rows, width in shapes)
    assert max(rows for rows, _ in shapes) > 1
    assert max(rows * width * OPTIONS["beam"] for rows, width in shapes) > 200


def test_nbest_is_what_search_ranks_with_the_translation_first(translator):
    for line, one in zip(ENGLISH, translator.translate(ENGLISH, beam=4, nbest=4, max_length=12), strict=True):
        ids = tokenizers().source.encode([line])
        (ranked,) = room.search(translator.model, *source_batch(ids), beam=4, nbest=4, max_length=12)
        assert [text for text, _ in one.nbest] == tokenizers().target.decode([other.tokens for other in ranked])
        assert [score for _, score in one.nbest] == pytest.approx([other.score for other in ranked], rel=1e-3)
        assert one.nbest[0] == (one.text, one.score)


def test_text_is_the_tokens_put_together(translator):
    for one in translator.translate(ENGLISH, **OPTIONS):
        ids = [tokenizers().target._processor.piece_to_id(token) for token in one.tokens if token != "</s>"]
        assert tokenizers().target.decode([ids]) == [one.text]
        assert one.finished == (one.tokens[-1] == "</s>")
        assert one.source_tokens[-1] == "</s>"


def test_both_spellings_of_a_letter_are_one_text(translator):
    line = "Tiếng Việt ở đâu?"
    composed, decomposed = translator.translate([line, unicodedata.normalize("NFD", line)], **OPTIONS)
    assert composed.text == decomposed.text
    assert composed.source_tokens == decomposed.source_tokens


def test_weights_have_a_row_a_token_and_a_column_a_source_piece(translator):
    for one in translator.translate(LINES, attention=True, **OPTIONS):
        if isinstance(one.weights, np.ndarray):
            assert one.weights.shape[2:] == (len(one.tokens), len(one.source_tokens))
            np.testing.assert_allclose(one.weights.sum(-1), 1.0, atol=1e-5)
        else:
            assert translator.settings["model"]["name"] == "rnn" or not one.source
    assert all(one.weights is None for one in translator.translate(LINES, **OPTIONS))


def test_a_cut_off_translation_has_no_end_and_no_row_for_it(transformer):
    (one,) = transformer.translate([LONG], beam=1, max_length=2, max_source=1000, attention=True)
    assert not one.finished
    assert "</s>" not in one.tokens
    assert one.weights.shape[2] == len(one.tokens) == 2


def test_weights_are_the_same_alone_and_in_company(transformer):
    together = transformer.translate(LINES, attention=True, **OPTIONS)
    alone = transformer.translate([ENGLISH[0]], attention=True, **OPTIONS)[0]
    np.testing.assert_allclose(together[2].weights, alone.weights, atol=1e-5)


def test_a_checkpoint_stands_alone(tmp_path, monkeypatch):
    run = write_run(tmp_path / "run", "luong")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    torch.load(run / "checkpoints" / "best.ckpt", weights_only=True)
    texts = [Translator.from_checkpoint(path).translate(ENGLISH)[1].text for path in (run, run / "checkpoints")]
    assert texts[0] == texts[1]
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_model_with_dropout_on_does_not_translate():
    pair = tokenizers()
    model = build_model(MODELS["luong"], len(pair.source), len(pair.target), pair.shared)
    translator = Translator(model, pair)
    with pytest.raises(RuntimeError, match="eval"):
        translator.translate(ENGLISH)
    model.eval()
    assert len(translator.translate(ENGLISH, max_length=3)) == len(ENGLISH)


@pytest.mark.parametrize(
    "options",
    [
        {"beam": 0},
        {"beam": 2.0},
        {"nbest": 9},
        {"max_length": 0},
        {"batch_tokens": 0},
        {"alpha": -1.0},
        {"max_source": 0},
        {"too_long": "cut"},
    ],
)
def test_settings_without_a_sense_are_refused(transformer, options):
    with pytest.raises(UserError, match=next(iter(options))):
        transformer.translate(ENGLISH, **options)


def test_a_device_that_is_not_there_is_named():
    with pytest.raises(UserError, match="device=cuda:77"):
        room.find_device("cuda:77")
    with pytest.raises(UserError, match="device=toaster"):
        room.find_device("toaster")


def test_json_keeps_everything(transformer):
    (one,) = transformer.translate([ENGLISH[0]], nbest=2, attention=True, **OPTIONS)
    back = json.loads(json.dumps(one.as_dict()))
    np.testing.assert_allclose(back["attention"], one.weights, atol=1e-6)
    assert "decoder_self" not in back
    everything = json.loads(json.dumps(one.as_dict(self_attention=True)))
    assert everything["attention"] == back["attention"]
    np.testing.assert_allclose(everything["decoder_self"], one.decoder_self, atol=1e-6)
    np.testing.assert_allclose(everything["encoder_self"], one.encoder_self, atol=1e-6)
    assert (back["source"], back["translation"], back["score"]) == (one.source, one.text, one.score)
    assert (back["source_tokens"], back["tokens"]) == (one.source_tokens, one.tokens)
    assert [(entry["text"], entry["score"]) for entry in back["nbest"]] == one.nbest
