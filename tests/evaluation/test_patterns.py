"""Patterns of heads on matrices whose numbers are known."""

import math

import numpy as np
import pytest
import torch

from seq2seq.evaluation.patterns import Patterns, diagonal


def only_head(kind, *matrices):
    patterns = Patterns(kind)
    for matrix in matrices:
        patterns.add(np.asarray(matrix, dtype=float)[None, None])
    (head,) = patterns.heads()
    return head


def test_an_identity_looks_at_itself_and_at_nothing_else():
    head = only_head("encoder_self", np.eye(4))
    assert (head.itself, head.previous, head.entropy) == (1, 0, 0)
    assert head.entropy_most == pytest.approx(math.log(4))
    assert head.sink == 0.25
    assert head.diagonal is None


def test_the_first_row_has_no_previous_position():
    shifted = np.eye(4, k=-1)
    shifted[0, 0] = 1
    assert only_head("decoder_self", shifted).previous == 1
    assert only_head("decoder_self", shifted, shifted[:1, :1]).previous == 1
    assert only_head("decoder_self", [[1]]).previous is None


def test_even_attention_has_the_largest_entropy():
    head = only_head("cross", np.full((3, 5), 0.2))
    assert head.entropy == pytest.approx(head.entropy_most) == pytest.approx(math.log(5))
    head = only_head("decoder_self", np.tril(np.ones((4, 4))) / np.arange(1, 5)[:, None])
    assert head.entropy == pytest.approx(head.entropy_most) == pytest.approx(math.log(24) / 4)


def test_a_sink_is_found_with_its_place():
    weights = np.full((4, 3), 0.1)
    for column, place in ((0, "first"), (1, "other"), (2, "last")):
        sunk = weights.copy()
        sunk[:, column] = 0.8
        head = only_head("cross", sunk)
        assert head.sink == pytest.approx(0.8)
        assert head.sink_at == pytest.approx({"first": 0, "last": 0, "other": 0} | {place: 1})
    both = only_head("cross", [[0.0, 1.0]] * 3, [[1.0, 0.0]])
    assert (both.sink, both.sink_at) == (1, {"first": 0.25, "last": 0.75, "other": 0})
    assert only_head("decoder_self", [[1]]).sink_at == {"first": 1, "last": 0, "other": 0}


def test_the_diagonal_of_matrices_that_are_not_square():
    assert diagonal(3, 3).tolist() == np.eye(3, dtype=bool).tolist()
    assert diagonal(2, 4).tolist() == [[True, True, False, False], [False, False, True, True]]
    assert diagonal(4, 2).tolist() == diagonal(2, 4).T.tolist()
    assert diagonal(1, 3).all()
    for rows in range(1, 9):
        for columns in range(1, 9):
            assert diagonal(rows, columns).any(0).all()
            assert diagonal(rows, columns).any(1).all()
    weights = [[0.5, 0.2, 0.2, 0.1], [0.0, 0.1, 0.3, 0.6]]
    assert only_head("cross", weights).diagonal == pytest.approx(0.8)


def test_a_mean_weighs_rows_alike_whatever_sentence_they_are_of():
    head = only_head("encoder_self", np.eye(1), np.full((3, 3), 1 / 3))
    assert head.rows == 4
    assert head.itself == pytest.approx((1 + 3 / 3) / 4)
    assert head.entropy == pytest.approx(3 * math.log(3) / 4)


def test_padding_is_ignored():
    random = np.random.default_rng(0)
    weights = random.dirichlet(np.ones(5), size=(2, 3, 4))  # (L, h, T, S)
    padded = np.pad(weights, ((0, 0), (0, 0), (0, 2), (0, 3)))
    padded[:, :, 4:, 0] = 1  # rows behind the last token mean nothing
    for kind in ("cross", "encoder_self"):
        plain, cut = Patterns(kind), Patterns(kind)
        plain.add(weights)
        cut.add(torch.from_numpy(padded), rows=4, columns=5)
        assert plain.heads() == cut.heads()


def test_heads_keep_their_places():
    weights = np.zeros((2, 3, 4, 4))
    weights[..., 0] = 1
    weights[1, 2] = np.eye(4)
    patterns = Patterns("encoder_self")
    assert patterns.heads() == []
    patterns.add(weights)
    heads = patterns.heads()
    assert [(head.layer, head.head) for head in heads] == [(layer, head) for layer in (0, 1) for head in (0, 1, 2)]
    assert [head.itself for head in heads] == [0.25] * 5 + [1]


def test_rows_that_sum_to_less_than_one_are_shares_of_what_there_is():
    head = only_head("cross", np.eye(3) / 2)
    assert (head.diagonal, head.entropy) == (1, 0)
    assert only_head("cross", np.zeros((2, 2))).diagonal == 0
