"""The script that counts and measures attention."""

import math

import pytest
import tiny

from seq2seq.attention.cost import MECHANISMS
from seq2seq.errors import UserError


@pytest.fixture
def cost():
    return tiny.load_script("attention_cost")


def test_every_mechanism_is_counted_measured_and_drawn(cost, tmp_path):
    text = cost.main(["longest=128", "size=16", "heads=2", "window=16", f"output={tmp_path / 'x.png'}"])
    for name in MECHANISMS:
        (row,) = (line for line in text.splitlines() if line.startswith(f"| {name} | 128 |"))
        assert "| 0 B |" not in row
    assert (tmp_path / "x.png").stat().st_size > 0
    assert "| 4,096 | 32 MiB |" in text
    assert "32 TiB of scores, 440 cards of 80 GB" in text


def test_the_peak_of_the_readable_path_is_seen(cost):
    (found,) = (row for row in cost.rows(cost.parse(["longest=128"])) if row["mechanism"] == "explicit")
    assert 1 <= found["peak"] / found["bytes"] <= 2


def test_what_would_not_fit_is_left_out(cost):
    options = cost.parse(["longest=256", "size=8", "heads=8"]) | {"memory": 0.004}
    lengths = {n: {row["mechanism"] for row in cost.rows(options) if row["n"] == n} for n in (128, 256)}
    assert "explicit" in lengths[128]
    assert "explicit" not in lengths[256]
    assert "fused" in lengths[256]


def test_exponents_are_slopes_between_8_and_64_windows(cost):
    points = [{"n": n, "seconds": 3e-6 * n**1.5} for n in (64, 128, 256, 512)]
    points += [{"n": 32, "seconds": 1.0}, {"n": 1024, "seconds": 1.0}]
    assert cost.exponent(points, "seconds", 8) == pytest.approx(1.5)
    assert math.isnan(cost.exponent(points[:2], "seconds", 8))


@pytest.mark.parametrize("word", ["longest=many", "longest=64", "n=3", "heads=3", "size", "output=no/where/x.png"])
def test_a_mistake_is_one_line(cost, word):
    with pytest.raises(UserError) as caught:
        cost.main([word])
    assert word.partition("=")[0] in str(caught.value)
    assert "\n" not in str(caught.value)
