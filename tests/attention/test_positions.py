"""Each way to tell positions against a reference that is written out literally."""

import math

import pytest
import torch

from seq2seq.attention.masks import Pattern
from seq2seq.attention.positions import POSITIONS, build_positions
from seq2seq.attention.positions.t5 import bucket
from seq2seq.attention.self_attention import SelfAttention
from seq2seq.errors import UserError


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def test_sinusoids_are_the_papers_equation():
    found = build_positions("sinusoidal", 6, 2, 9, causal=False).embed(torch.zeros(1, 50, 6), torch.arange(50))[0]
    for place in (0, 1, 7, 49):
        for i in range(3):
            angle = place / 10000 ** (2 * i / 6)
            assert found[place, i].item() == pytest.approx(math.sin(angle), abs=1e-5)
            assert found[place, 3 + i].item() == pytest.approx(math.cos(angle), abs=1e-5)


def test_learned_positions_are_rows_of_a_table_and_share_the_last_beyond_its_end():
    positions = build_positions("learned", 6, 2, 5, causal=False)
    states = torch.randn(2, 8, 6)
    added = positions.embed(states, torch.arange(8)) - states
    expected = positions.table.weight[[0, 1, 2, 3, 4, 4, 4, 4]].expand(2, 8, 6)
    torch.testing.assert_close(added, expected, atol=1e-6, rtol=1e-5)


def test_rotary_positions_multiply_pairs_by_complex_units():
    positions = build_positions("rotary", 16, 2, 9, causal=False)
    vectors, places = torch.randn(2, 2, 7, 8, requires_grad=True), torch.tensor([0, 1, 2, 3, 40, 41, 1000])
    units = torch.polar(torch.ones(7, 4), places[:, None] * 10000.0 ** (-torch.arange(4) * 2 / 8))  # (T, d/2)
    expected = torch.view_as_real(torch.view_as_complex(vectors.unflatten(-1, (4, 2))) * units).flatten(-2)
    found = positions.rotate(vectors, places)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
    direction = torch.randn_like(found)
    pairs = (torch.autograd.grad((output * direction).sum(), vectors)[0] for output in (found, expected))
    torch.testing.assert_close(*pairs, atol=1e-5, rtol=1e-5)


def test_products_of_rotated_vectors_depend_on_the_distance_only():
    positions = build_positions("rotary", 8, 1, 9, causal=False)
    query, key = torch.randn(2, 1, 1, 1, 8).unbind()

    def energy(i, j):
        return (positions.rotate(query, torch.tensor([i])) * positions.rotate(key, torch.tensor([j]))).sum().item()

    assert energy(5, 2) == pytest.approx(energy(105, 102), abs=1e-4)
    assert energy(5, 2) != pytest.approx(energy(2, 5), abs=1e-2)


@pytest.mark.parametrize("heads", [8, 3])
def test_alibi_is_a_slope_times_the_distance(heads):
    places = torch.arange(12)
    found = build_positions("alibi", 24, heads, 9, causal=False).bias(places[:, None] - places)
    for head in range(heads):
        for i in range(12):
            for j in range(12):
                assert found[head, i, j].item() == pytest.approx(-(2 ** (-8 * (head + 1) / heads)) * abs(i - j))
    if heads == 8:  # §3: one half, one quarter, … one 256th
        assert found[:, 1, 0].tolist() == [-(2.0**-n) for n in range(1, 9)]


def literal_bucket(distance, causal):
    """T5's program, for one query i and key j with distance = i − j."""
    number, count = 0, 32
    if not causal:
        count = 16
        number += count if distance < 0 else 0
        distance = abs(distance)
    distance = max(distance, 0)
    if distance < count // 2:
        return number + distance
    # in whole numbers: the largest k with (128 / exact)^k ≤ (distance / exact)^exact
    exact = count // 2
    k = max(k for k in range(300) if (128 // exact) ** k * exact**exact <= distance**exact)
    return number + min(exact + k, count - 1)


@pytest.mark.parametrize("causal", [True, False])
def test_t5_looks_its_bias_up_by_the_bucket_of_the_distance(causal):
    positions = build_positions("t5", 16, 4, 9, causal=causal)
    distances = list(range(-300, 301))
    expected = torch.tensor([literal_bucket(distance, causal) for distance in distances])
    assert torch.equal(bucket(torch.tensor(distances), causal), expected)
    never = set() if causal else {16}  # a key after the query at distance 0
    assert set(expected.tolist()) == set(range(32)) - never
    found = positions.bias(torch.tensor([distances, distances[::-1]]))
    assert found.shape == (4, 2, 601)
    for head in range(4):
        for row, column in ((0, 0), (0, 310), (1, 290), (1, 600)):
            place = column if row == 0 else 600 - column
            assert found[head, row, column] == positions.table.weight[expected[place], head]


@pytest.mark.parametrize("name", ["alibi", "t5"])
def test_a_bias_is_added_to_the_energies(name):
    attention, positions = SelfAttention(8, 2, 2, "sqrt_dk", Pattern()), build_positions(name, 8, 2, 9, causal=False)
    states = torch.randn(1, 5, 8)
    _, weights = attention.sequence(states, positions, weights=True)
    query, (keys, _) = attention.queries(states)[0], attention.keys_values(states)
    for head in range(2):
        for i in range(5):
            energies = [
                query[head, i] @ keys[0, head, j] / 2 + positions.bias(torch.tensor(i - j))[head] for j in range(5)
            ]
            torch.testing.assert_close(weights[0, head, i], torch.stack(energies).softmax(0), atol=1e-5, rtol=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("name", POSITIONS)
def test_all_but_none_tell_the_order_of_words(name):
    attention, positions = SelfAttention(8, 2, 2, "sqrt_dk", Pattern()), build_positions(name, 8, 2, 9, causal=False)
    states, places = torch.randn(1, 5, 8), torch.arange(5)
    whole, shuffled, mirrored = (
        attention.sequence(positions.embed(states[:, order], places), positions)[0][:, torch.tensor(order).argsort()]
        for order in ([0, 1, 2, 3, 4], [0, 2, 4, 1, 3], [4, 3, 2, 1, 0])
    )
    assert torch.allclose(whole, shuffled, atol=1e-5) == (name == "none")
    assert torch.allclose(whole, mirrored, atol=1e-5) == (name in ("none", "alibi"))


def test_what_cannot_be_is_refused():
    with pytest.raises(UserError, match=r"model\.positions=absolute is not known: choose one of sinusoidal, learned"):
        build_positions("absolute", 8, 2, 9, causal=True)
    with pytest.raises(UserError, match="head size of 3 is odd"):
        build_positions("rotary", 12, 4, 9, causal=True)
