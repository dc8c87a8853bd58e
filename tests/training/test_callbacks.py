"""What a run shows: the same sentences each time, the right words on the axes, weights without dropout."""

from types import SimpleNamespace

import numpy as np
import pytest
import tiny
import torch

from seq2seq.aligner import align
from seq2seq.evaluation.links import Gold
from seq2seq.models import build_model
from seq2seq.training import callbacks
from seq2seq.training.callbacks import AlignmentErrors, Pictures
from seq2seq.translator import Translator


class Board:
    """Keeps what it is given to show."""

    def __init__(self):
        self.figures, self.texts = {}, {}

    def add_figure(self, tag, figure, global_step):
        self.figures[tag, global_step] = figure

    def add_text(self, tag, text, global_step):
        self.texts[tag, global_step] = text


def shown(model="bahdanau", steps=(5, 9), examples=2):
    """The board after a validation at each of ``steps``, of a model in training mode with much dropout."""
    pair = tiny.tokenizers()
    torch.manual_seed(0)
    network = build_model(tiny.MODELS[model], len(pair.source), len(pair.target), True).train()
    module = SimpleNamespace(
        **{"model": network, "tokenizers": pair, "sources": tiny.ENGLISH, "references": tiny.VIETNAMESE},
        **{"translations": ["a | b", "c", "d", "e"], "device": torch.device("cpu")},
        settings={"model": {"name": model}},
    )
    board = Board()
    for step in steps:
        logger = SimpleNamespace(experiment=board)
        trainer = SimpleNamespace(sanity_checking=False, is_global_zero=True, global_step=step, logger=logger)
        Pictures(examples).on_validation_end(trainer, module)
    assert network.training
    return board


def matrix(figure):
    return figure.axes[0].images[0].get_array()


def test_the_same_sentences_are_drawn_each_time_and_without_dropout():
    board = shown()
    for tag in ("alignment/0", "alignment/1"):
        first, second = (np.asarray(matrix(board.figures[tag, step])) for step in (5, 9))
        np.testing.assert_array_equal(first, second)
        np.testing.assert_allclose(first.sum(1), 1, rtol=1e-4)


def test_the_axes_carry_the_words_of_the_pair_and_the_title_names_the_weights():
    figure = shown().figures["alignment/0", 5]
    words = {label.get_text() for label in (*figure.axes[0].get_xticklabels(), *figure.axes[0].get_yticklabels())}
    pairs = zip(tiny.ENGLISH, tiny.VIETNAMESE, strict=True)
    assert any({*english.split(), *vietnamese.split(), "</s>"} == words for english, vietnamese in pairs)
    assert figure.get_suptitle() == "bahdanau · one layer · one head · </s> shown"


def test_a_model_without_attention_has_translations_but_no_heatmap():
    board = shown("rnn")
    assert board.figures == {}
    text = board.texts["translations", 5]
    assert text.splitlines()[0] == "| source | reference | hypothesis |"
    assert len(text.splitlines()) == 2 + 2


@pytest.mark.parametrize("examples", [0, 1, 4, 9])
def test_no_sentence_is_shown_twice(examples):
    rows = callbacks.Pictures(examples)._rows(tiny.ENGLISH)
    assert len(rows) == len(set(rows)) == min(examples, len([s for s in tiny.ENGLISH if len(s.split()) >= 5]))


def aligned(model, gold, **trainer):
    """The points of two validations of a model in training mode, and the random state before and after."""
    pair = tiny.tokenizers()
    torch.manual_seed(0)
    network = build_model(tiny.MODELS[model], len(pair.source), len(pair.target), True).train()
    module = SimpleNamespace(
        **{"model": network, "tokenizers": pair, "sources": tiny.ENGLISH, "references": tiny.VIETNAMESE},
        settings={"model": {"name": model}},
    )
    points = []
    logger = SimpleNamespace(log_metrics=lambda values, step: points.append((values, step)))
    before = torch.get_rng_state()
    for step in (5, 9):
        usual = {"sanity_checking": False, "is_global_zero": True, "global_step": step, "logger": logger}
        AlignmentErrors(gold, pairs=3).on_validation_end(SimpleNamespace(**usual | trainer), module)
    assert network.training
    assert torch.equal(torch.get_rng_state(), before)
    return points, Translator(network.eval(), pair, settings=module.settings)


def test_alignment_errors_are_of_the_first_pairs_without_dropout_and_draw_no_random_number():
    _, translator = aligned("luong", [])
    links = align(translator, tiny.ENGLISH, tiny.VIETNAMESE)
    wrong = [Gold(frozenset({(0, 99)}), frozenset({(0, 99)}))]  # the fourth pair, which is not looked at
    points, _ = aligned("luong", [Gold(one, one) for one in links[:3]] + wrong)
    assert points == [({"alignment/aer": 0.0}, 5), ({"alignment/aer": 0.0}, 9)]


def test_alignment_errors_are_not_asked_of_other_processes_nor_of_models_without_attention():
    gold = [Gold(frozenset(), frozenset())] * 4
    assert aligned("rnn", gold)[0] == []
    for other in ({"is_global_zero": False}, {"sanity_checking": True}, {"logger": None}):
        assert aligned("luong", gold, **other)[0] == []
