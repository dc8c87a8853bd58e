"""Counted costs against what the code does: multiply-adds by PyTorch's counter, paths by walking, bytes by tensors."""

import math

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from seq2seq.attention.banded import banded
from seq2seq.attention.cost import MECHANISMS, Sizes, cache_bytes, fused, score_matrix
from seq2seq.attention.dot_product import fused as fused_attention
from seq2seq.attention.dot_product import scaled_dot_product
from seq2seq.attention.masks import Pattern
from seq2seq.attention.strided import strided
from seq2seq.models import build_model

CALLS = {"window": banded, "global": banded, "strided": strided}


def sizes(name, n, causal, **changes):
    options = {"window": 4, "stride": 3, "global_positions": 2 if name == "global" else 0}
    return Sizes(n, 16, 4, 4, causal=causal, **options | changes)


def pattern_of(name, s):
    return Pattern(name, s.window, s.global_positions, s.stride, s.causal)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("n", [24, 25])
@pytest.mark.parametrize("window", [1, 4])
@pytest.mark.parametrize("name", ["explicit", "fused", *CALLS])
def test_multiply_adds_are_half_of_pytorchs_count_of_operations(name, window, n, causal):
    s, inputs = sizes(name, n, causal, window=window), torch.randn(3, 1, 4, n, 4)
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:  # a CPU's fused kernel is not counted
        if name in CALLS:
            CALLS[name](*inputs, pattern_of(name, s))
        else:
            {"explicit": scaled_dot_product, "fused": fused_attention}[name](*inputs, None)
    assert 2 * MECHANISMS[name](s).multiply_adds == counter.get_total_flops()


def test_cross_attention_counts_its_own_keys():
    assert MECHANISMS["explicit"](Sizes(6, 8, 2, 2, m=5)).multiply_adds == 2 * 6 * 5 * 8
    assert score_matrix(Sizes(6, 8, 2, 2, m=5, item=2)) == 2 * 6 * 5 * 2


@pytest.mark.parametrize("name", ["window", "global", "strided"])
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(("window", "stride"), [(2, 5), (3, 3), (4, 9), (1, 4), (1, 1), (30, 4)])
def test_the_longest_path_is_found_by_walking(name, causal, window, stride):
    s = sizes(name, 25, causal, window=window, stride=stride)
    one = pattern_of(name, s).dense(25).float()
    seen, layers = one, 1
    wanted = torch.ones(25, 25).tril() if causal else torch.ones(25, 25)
    while not seen[wanted.bool()].all() and layers < 30:
        seen, layers = (seen @ one > 0).float(), layers + 1
    assert MECHANISMS[name](s).path == (math.inf if layers == 30 else layers)


@pytest.mark.parametrize(
    ("changes", "window"), [({}, None), ({"kv_heads": 2}, None), ({"attention": "window", "window": 3}, 3)]
)
@torch.no_grad()
def test_a_cache_takes_the_bytes_that_its_tensors_take(changes, window):
    settings = {"name": "transformer", "hidden": 16, "inner": 8, "heads": 4, "layers": 3, "dropout": 0.0, "tied": True}
    model = build_model(settings | changes, 20, 20, True).eval()
    memory = model.encode(torch.full((1, 4), 5), torch.tensor([4]))
    state = model.start(memory)
    for _ in range(9):
        _, _, state = model.step(memory, torch.tensor([5]), state)
    held = sum(part[:, :, : cache.size].nbytes for cache in state.caches for part in (cache.keys, cache.values))
    assert cache_bytes(Sizes(9, 16, 4, changes.get("kv_heads", 4)), 3, window) == held


def test_the_score_matrix_of_one_head_in_half_precision():
    found = {n: score_matrix(Sizes(n, 128, 1, 1, item=2)) for n in (2**12, 2**15, 2**17, 2**20)}
    assert found == {2**12: 32 * 2**20, 2**15: 2 * 2**30, 2**17: 32 * 2**30, 2**20: 2 * 2**40}
    assert fused(Sizes(2**20, 128, 1, 1, item=2)).bytes == 4 * 2**20
