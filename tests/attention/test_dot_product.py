"""The readable path against the fused one and against PyTorch, with all that they take; values and gradients."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from seq2seq.attention import dot_product
from seq2seq.attention.dot_product import FEW_ENERGIES, FEW_QUERIES, few_passes, fused, scaled_dot_product
from seq2seq.attention.multihead import MultiHeadAttention
from seq2seq.errors import UserError


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


LONG = FEW_QUERIES + 4  # queries: more than ``few_passes`` gets in fp32


def vectors(kv_heads=4, size=7):
    shapes = [(2, 4, size, 8), (2, kv_heads, size, 8), (2, kv_heads, size, 8)]
    return [torch.randn(shape, requires_grad=True) for shape in shapes]


def same(ours, theirs, inputs):
    """Values, and gradients of a sum that weighs each element differently."""
    torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-5)
    direction = torch.randn_like(ours)
    pairs = (torch.autograd.grad((output * direction).sum(), inputs) for output in (ours, theirs))
    for one, other in zip(*pairs, strict=True):
        assert one.abs().max() > 1e-3
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kv_heads", [1, 2, 4])
@pytest.mark.parametrize("scaled", [True, False])
def test_shared_heads_equal_pytorchs_grouped_queries(kv_heads, scaled):
    inputs = vectors(kv_heads)
    mask = torch.rand(2, 1, 7, 7) > 0.3
    mask[..., 0] = True
    theirs = F.scaled_dot_product_attention(*inputs, mask, enable_gqa=True, scale=None if scaled else 1.0)
    same(scaled_dot_product(*inputs, mask, scaled=scaled)[0], theirs, inputs)


@pytest.mark.parametrize("kv_heads", [1, 2, 4])
@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize("size", [7, LONG])
def test_the_fused_path_means_what_the_readable_one_means(kv_heads, scaled, biased, size):
    inputs = vectors(kv_heads, size)
    bias = torch.randn(4, size, size, requires_grad=True) if biased else None
    mask = torch.rand(2, 1, size, size) > 0.5
    mask[0, :, 3] = False  # a row without keys
    options = {"scaled": scaled, "bias": bias}
    context = fused(*inputs, mask, **options)
    assert (context[0, :, 3] == 0).all()
    same(context, scaled_dot_product(*inputs, mask, **options)[0], inputs + [bias] * biased)


@pytest.mark.parametrize("kv_heads", [1, 2, 4])
@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize("queries", [1, 7])
def test_few_passes_are_the_readable_ones(kv_heads, scaled, biased, queries):
    query, *rest = vectors(kv_heads)
    inputs = [query[:, :, :queries].detach().requires_grad_(), *rest]
    bias = torch.randn(4, queries, 7, requires_grad=True) if biased else None
    theirs = scaled_dot_product(*inputs, None, bias=bias, scaled=scaled)[0]
    same(few_passes(*inputs, bias, scaled=scaled), theirs, inputs + [bias] * biased)


@pytest.mark.parametrize(
    ("dtype", "queries", "keys", "few"),
    [
        (torch.float32, FEW_QUERIES, 1000, True),
        (torch.float32, FEW_QUERIES + 1, 3, False),
        (torch.bfloat16, 64, FEW_ENERGIES // 64, True),
        (torch.bfloat16, 64, FEW_ENERGIES // 64 + 1, False),
        (torch.float16, 1, 3, True),  # as fp32
        (torch.float16, FEW_QUERIES + 1, 3, False),
        (torch.float64, 1, 3, False),
    ],
)
def test_which_of_the_two_does_the_work(dtype, queries, keys, few, monkeypatch):
    calls = []

    def spy(place, name):
        original = getattr(place, name)

        def call(*given, **options):
            calls.append((name, given[0].dtype))
            return original(*given, **options)

        monkeypatch.setattr(place, name, call)

    spy(dot_product, "few_passes")
    spy(F, "scaled_dot_product_attention")
    query, keys = torch.randn(1, 2, queries, 4, dtype=dtype), torch.randn(1, 1, keys, 4, dtype=dtype)
    context = fused(query, keys, keys, None)
    kept = dtype == torch.float64 or (few and dtype == torch.bfloat16)
    assert calls == [("few_passes" if few else "scaled_dot_product_attention", dtype if kept else torch.float32)]
    assert context.dtype == dtype
    expected, _ = scaled_dot_product(query.double(), keys.double(), keys.double(), None)
    torch.testing.assert_close(context.double(), expected, atol=2e-2, rtol=2e-2)


@pytest.mark.parametrize("types", [(torch.float32, torch.bfloat16), (torch.bfloat16, torch.float32)])
@pytest.mark.parametrize("size", [2, 300])
def test_keys_of_another_type_are_taken_to_that_of_the_query(types, size):
    query, keys = torch.randn(1, 2, size, 4, dtype=types[0]), torch.randn(1, 2, size, 4, dtype=types[1])
    context = fused(query, keys, keys, torch.ones(1, 1, size, size, dtype=torch.bool))
    expected, _ = scaled_dot_product(query.float(), keys.float(), keys.float(), None)
    assert context.dtype == types[0]
    torch.testing.assert_close(context.float(), expected, atol=2e-2, rtol=2e-2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("shape", [(0, 4, 3, 8), (2, 4, 0, 8)])
def test_nothing_to_attend_from_is_nothing(dtype, shape):
    query, keys = torch.randn(shape, dtype=dtype), torch.randn(shape[0], 2, 5, 8, dtype=dtype)
    assert fused(query, keys, keys, None).shape == shape


@pytest.mark.parametrize("size", [7, 300])  # by few passes, and by the kernel
@pytest.mark.parametrize("options", [{}, {"scaled": False}, {"causal": True}, {"masked": True}, {"biased": True}])
def test_bf16_on_a_cpu_is_fp32_up_to_rounding(size, options):
    inputs = [vector.detach().bfloat16() for vector in vectors(2, size)]
    causal, scaled = options.get("causal", False), options.get("scaled", True)
    mask = bias = None
    if "masked" in options:
        mask = torch.rand(2, 1, size, size) > 0.5
        mask[0, :, 3] = False  # a row without keys
    if "biased" in options:
        bias = torch.randn(4, size, size)
    seen = torch.ones(size, size).tril().bool() if causal else mask
    wide = [vector.float() for vector in inputs]
    context = fused(*inputs, mask, causal=causal, scaled=scaled, bias=bias)
    assert context.dtype == torch.bfloat16
    theirs, _ = scaled_dot_product(*wide, seen, scaled=scaled, bias=bias)
    torch.testing.assert_close(context.float(), theirs, atol=2e-2, rtol=2e-2)


@pytest.mark.parametrize("size", [1, 7, LONG])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_sentence_without_a_key_is_no_nan(size, dtype):
    inputs = [vector.detach().to(dtype).requires_grad_() for vector in vectors(2, size)]
    context = fused(*inputs, torch.tensor([[[[True] * size]], [[[False] * size]]]))
    assert context.isfinite().all()
    for gradient in torch.autograd.grad(context.float().sum(), inputs):
        assert gradient.isfinite().all()


@pytest.mark.parametrize("size", [7, LONG])
def test_the_fused_triangle_is_the_causal_mask(size):
    inputs = vectors(2, size)
    theirs, _ = scaled_dot_product(*inputs, torch.ones(size, size).tril().bool())
    same(fused(*inputs, None, causal=True), theirs, inputs)


def test_grouped_heads_are_many_heads_with_copied_weights():
    grouped, many = MultiHeadAttention(12, 6, kv_heads=2), MultiHeadAttention(12, 6)
    copied = {name: weight.clone() for name, weight in grouped.state_dict().items()}
    for name in ("key_value.weight", "key_value.bias"):
        rows = copied[name].unflatten(0, (2, 2, 2))  # keys and values, head, d
        copied[name] = rows.repeat_interleave(3, 1).flatten(0, 2)
    many.load_state_dict(copied)
    states = torch.randn(2, 5, 12)
    keys, _ = grouped.keys_values(states)
    assert keys.shape == (2, 2, 5, 2)
    for weights in (False, True):
        ours, _ = grouped(states, *grouped.keys_values(states), weights=weights)
        theirs, _ = many(states, *many.keys_values(states), weights=weights)
        torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=1e-5)


def test_many_heads_have_the_gradients_of_pytorchs_module():
    ours, theirs = MultiHeadAttention(12, 3), nn.MultiheadAttention(12, 3, batch_first=True)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([ours.query.weight, ours.key_value.weight]))
        theirs.in_proj_bias.copy_(torch.cat([ours.query.bias, ours.key_value.bias]))
        theirs.out_proj.load_state_dict(ours.output.state_dict())
    states, direction = torch.randn(2, 6, 12), torch.randn(2, 6, 12)
    (theirs(states, states, states)[0] * direction).sum().backward()
    expected = theirs.in_proj_weight.grad
    for weights in (False, True):
        ours.zero_grad()
        (ours(states, *ours.keys_values(states), weights=weights)[0] * direction).sum().backward()
        found = torch.cat([ours.query.weight.grad, ours.key_value.weight.grad])
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


def test_without_scaling_large_heads_saturate():
    """Energies of unit vectors have variance d (arXiv 1706.03762, footnote 4)."""
    query, keys = torch.randn(1, 1, 200, 256), torch.randn(1, 1, 16, 256)
    largest = {
        scaled: scaled_dot_product(query, keys, keys, None, scaled=scaled)[1].amax(-1).mean().item()
        for scaled in (True, False)
    }
    assert largest[True] < 0.5
    assert largest[False] > 0.9


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kv_heads": 3}, "model.kv_heads=3 does not divide model.heads=4"),
        ({"scale": "d"}, "model.scale=d is not known: choose one of sqrt_dk, none"),
    ],
)
def test_heads_and_scales_that_cannot_be_are_refused(options, message):
    with pytest.raises(UserError, match=message):
        MultiHeadAttention(16, 4, **options)
