"""Banded and strided attention against the dense mask: values, gradients, and what they cost."""

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from seq2seq.attention import self_attention
from seq2seq.attention.dot_product import scaled_dot_product
from seq2seq.attention.masks import Pattern
from seq2seq.attention.positions import build_positions
from seq2seq.attention.self_attention import SPARSE, SelfAttention

CASES = [
    Pattern("window", window=1),
    Pattern("window", window=4),
    Pattern("window", window=4, causal=True),
    Pattern("global", window=3, global_positions=2),
    Pattern("global", window=3, global_positions=2, causal=True),
    Pattern("global", window=2, global_positions=5),
    Pattern("global", window=2, global_positions=5, causal=True),
    Pattern("global", window=2, global_positions=0),
    Pattern("strided", window=3, stride=4),
    Pattern("strided", window=3, stride=4, causal=True),
    Pattern("strided", window=5, stride=2, causal=True),
    Pattern("strided", window=1, stride=7),
]
EVERY = pytest.mark.parametrize("pattern", CASES, ids=lambda p: f"{p.kind} {p.window} {p.global_positions} {p.causal}")


@pytest.fixture(autouse=True)
def blocks_however_short(monkeypatch):
    """Sentences of a few words are cut into blocks as long ones are."""
    monkeypatch.setattr(self_attention, "SHORT", 0)


@EVERY
@pytest.mark.parametrize("size", [1, 2, 7, 12, 13, 25])
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("positions", ["none", "t5"])
def test_blocks_give_what_the_dense_mask_gives(pattern, size, padded, positions):
    torch.manual_seed(size)
    shapes = [(3, 4, size, 6), (3, 2, size, 6), (3, 2, size, 6)]
    inputs = [torch.randn(shape, requires_grad=True) for shape in shapes]
    relative = build_positions(positions, 16, 4, 9, causal=pattern.causal)
    mask, real, bias = pattern.dense(size), None, None
    if padded:
        real = torch.arange(size) < torch.tensor([size, max(1, size // 2), 1])[:, None]  # (B, n)
        mask = mask & real[:, None, None]
    if relative.relative:
        places = torch.arange(size)
        bias, inputs = relative.bias(places[:, None] - places), [*inputs, relative.table.weight]
    expected, _ = scaled_dot_product(*inputs[:3], mask, bias=bias)
    found = SPARSE[pattern.kind](*inputs[:3], pattern, real, bias=relative.bias if relative.relative else None)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
    direction = torch.randn_like(expected)
    pairs = (torch.autograd.grad((output * direction).sum(), inputs) for output in (found, expected))
    for one, other in zip(*pairs, strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


class Largest(TorchDispatchMode):
    """Elements of the largest tensor that any operation gives."""

    elements = 0

    def __torch_dispatch__(self, function, types, arguments=(), options=None):
        result = function(*arguments, **(options or {}))
        outputs = result if isinstance(result, tuple | list) else [result]
        sizes = [tensor.numel() for tensor in outputs if isinstance(tensor, torch.Tensor)]
        self.elements = max(self.elements, *sizes, 0)
        return result


def cost(pattern, size, positions="none"):
    """Elements of the largest tensor, and multiply-adds, of one pass and its gradient; the key projection is small."""
    attention = SelfAttention(4, 2, 2, "sqrt_dk", pattern)
    states = torch.randn(1, size, 4, requires_grad=True)
    relative = build_positions(positions, 4, 2, 9, causal=pattern.causal)
    # a CPU's fused kernel is neither counted nor looked into
    with sdpa_kernel(SDPBackend.MATH), Largest() as largest, FlopCounterMode(display=False) as counter:
        attention.sequence(states, relative, torch.ones(1, size, dtype=torch.bool))[0].sum().backward()
    return largest.elements, counter.get_total_flops()


@pytest.mark.parametrize("kind", ["window", "global"])
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("positions", ["none", "alibi"])
def test_window_and_global_attention_cost_in_proportion_to_the_length(kind, causal, positions):
    pattern = Pattern(kind, window=8, global_positions=2, causal=causal)
    for once, twice in zip(cost(pattern, 256, positions), cost(pattern, 512, positions), strict=True):
        assert twice <= 2.05 * once


def test_strided_attention_costs_a_share_of_the_square():
    dense, _ = cost(Pattern("full"), 512, "alibi")
    largest, _ = cost(Pattern("strided", window=16, stride=16), 512)
    assert dense == 2 * 512 * 512
    assert largest <= 2 * 512 * (3 * 16 + 512 / 16)


@EVERY
@pytest.mark.parametrize("positions", ["sinusoidal", "rotary", "alibi", "t5"])
def test_asking_for_weights_takes_the_dense_path_and_gives_the_same(pattern, positions):
    torch.manual_seed(0)
    attention, states = SelfAttention(16, 4, 2, "sqrt_dk", pattern), torch.randn(2, 25, 16)
    relative, real = build_positions(positions, 16, 4, 9, causal=pattern.causal), torch.ones(2, 25, dtype=torch.bool)
    real[1, 20:] = False
    quick, nothing = attention.sequence(states, relative, real)
    readable, weights = attention.sequence(states, relative, real, weights=True)
    assert nothing is None
    torch.testing.assert_close(quick, readable, atol=1e-5, rtol=1e-5)
    allowed = pattern.dense(25) & real[:, None, None]
    assert (weights[~allowed.expand_as(weights)] == 0).all()
    torch.testing.assert_close(weights.sum(-1), allowed.any(-1).float().expand_as(weights[..., 0]))


@torch.no_grad()
@EVERY
def test_bf16_stays_near_fp32(pattern):
    torch.manual_seed(0)
    attention, states = SelfAttention(16, 4, 2, "sqrt_dk", pattern), torch.randn(2, 25, 16)
    relative = build_positions("alibi", 16, 4, 9, causal=pattern.causal)
    exact, _ = attention.sequence(states, relative)
    with torch.autocast("cpu", torch.bfloat16):
        rough, _ = attention.sequence(states, relative)
    torch.testing.assert_close(rough.float(), exact, atol=3e-2, rtol=3e-2)
