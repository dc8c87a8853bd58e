"""A cache is a value: what others do with it later is not to be seen in it."""

import pytest
import torch

from seq2seq.attention.cache import ROOM, Cache


def position(number):
    """Keys and values of two rows that say which position, and which of the two, they are."""
    keys = torch.full((2, 3, 1, 4), float(number)) + torch.tensor([0.0, 0.25])[:, None, None, None]
    return keys, keys + 0.5


def after(numbers, cache=None):
    cache = cache or Cache.empty(torch.zeros(2, 3, 9, 4))
    for number in numbers:
        cache = cache.append(*position(number))
    return cache


def check(cache, numbers):
    expected = torch.cat([torch.zeros(2, 3, 0, 4), *(position(number)[0] for number in numbers)], 2)
    assert cache.size == len(numbers)
    for part, wanted in ((cache.keys, expected), (cache.values, expected + 0.5)):
        assert torch.equal(part[:, :, : cache.size], wanted)
        assert part.isfinite().all()  # so is a product over all of it
    assert cache.room == cache.keys.shape[2] - cache.size < ROOM


@pytest.mark.parametrize("count", [0, 1, ROOM - 1, ROOM, ROOM + 1, 3 * ROOM])
@torch.no_grad()
def test_positions_stand_in_their_order(count):
    check(after(range(count)), list(range(count)))


@torch.no_grad()
def test_two_continuations_of_one_cache_do_not_see_each_other():
    stem = after([0, 1])
    left, right = after([10, 11], stem), after([20], stem)
    check(left, [0, 1, 10, 11])
    check(right, [0, 1, 20])
    check(after([12], left), [0, 1, 10, 11, 12])
    check(stem, [0, 1])


@torch.no_grad()
def test_most_steps_copy_nothing():
    cache = after([0])
    assert after([1], cache).keys.data_ptr() == cache.keys.data_ptr()
    assert after([2], cache).keys.data_ptr() != cache.keys.data_ptr()  # its place has been taken


@torch.no_grad()
def test_selected_rows_go_on_by_themselves():
    stem = after(range(3))
    swapped = stem.select(torch.tensor([1, 0]))
    after([7], stem)
    again = after([9], swapped)
    assert torch.equal(again.keys[0, 0, :4, 0], torch.tensor([0.25, 1.25, 2.25, 9.0]))
    assert torch.equal(stem.select(torch.tensor([0, 1])).keys[:, :, :3], stem.keys[:, :, :3])


@torch.no_grad()
def test_a_position_can_leave():
    stem = after(range(4))
    check(stem.append(*position(8), dropped=1), [0, 2, 3, 8])
    check(after([9], stem.append(*position(8), dropped=0)), [1, 2, 3, 8, 9])
    check(stem, [0, 1, 2, 3])


@pytest.mark.parametrize("outer", [torch.no_grad, torch.enable_grad])
def test_a_cache_of_inference_can_be_continued_elsewhere(outer):
    with torch.inference_mode():
        stem = after([0, 1])
    with outer():
        check(after([2, 3], stem), [0, 1, 2, 3])


@pytest.mark.parametrize("outer", [torch.no_grad, torch.enable_grad])
def test_a_cache_keeps_its_type(outer):
    with outer():
        cache = after([1, 2], Cache.empty(torch.zeros(2, 3, 9, 4, dtype=torch.bfloat16)))
    assert cache.keys.dtype == cache.values.dtype == torch.bfloat16


def test_gradients_reach_every_position():
    keys = [position(number)[0].requires_grad_() for number in range(3)]
    cache = Cache.empty(torch.zeros(2, 3, 9, 4))
    total = 0.0
    for one in keys:
        cache = cache.append(one, one)
        total = total + cache.keys.square().sum()
    total.backward()
    for times, one in zip((3, 2, 1), keys, strict=True):
        torch.testing.assert_close(one.grad, 2 * times * one.detach())
