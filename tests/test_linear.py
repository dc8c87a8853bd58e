"""Linear maps by round numbers of rows against PyTorch's, and what they are round for."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from seq2seq import linear as room
from seq2seq.linear import Linear, affine, round_rows, rounded
from seq2seq.models.transformer import FeedForward


def outcome(layer, x, precision):
    """What a layer gives, and the gradients of x and of all parameters."""
    torch.manual_seed(1)  # of dropout
    with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
        y = layer(x)
    torch.manual_seed(2)
    y.backward(torch.randn(y.shape, dtype=y.dtype))
    return [y.detach(), x.grad, *(parameter.grad for parameter in layer.parameters())]


def pair(make_fast, make_plain, shape):
    fast, plain = make_fast(), make_plain()
    plain.load_state_dict(fast.state_dict())
    torch.manual_seed(0)
    x = torch.randn(shape)
    return (fast, x.clone().requires_grad_()), (plain, x.clone().requires_grad_())


@pytest.mark.parametrize("shape", [(3, 37, 24), (517, 24), (64, 24), (1, 24), (0, 24)])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_linear_map_is_pytorchs(shape, bias, precision):
    fast, plain = pair(lambda: Linear(24, 40, bias=bias), lambda: nn.Linear(24, 40, bias=bias), shape)
    for one, other in zip(outcome(*fast, precision), outcome(*plain, precision), strict=True):
        if precision == "fp32":
            assert torch.equal(one, other)
        torch.testing.assert_close(one, other, atol=1e-2, rtol=1e-2)  # bf16 has three digits
        assert one.dtype == other.dtype


def test_feeding_forward_is_two_maps_with_a_relu_between():
    plain = nn.Sequential(nn.Linear(24, 96), nn.ReLU(), nn.Identity(), nn.Linear(96, 24))
    fast, plain = pair(lambda: FeedForward(24, 96, 0.0), lambda: plain, (3, 37, 24))
    for one, other in zip(outcome(*fast, "bf16"), outcome(*plain, "bf16"), strict=True):
        torch.testing.assert_close(one, other, atol=2e-2, rtol=2e-2)


@pytest.mark.parametrize("count", [1, 31, 32, 33, 500, 4092, 4097])
def test_a_round_number_is_at_most_a_sixteenth_larger(count):
    rows = torch.randn(count, 3)
    full = rounded(rows, torch.bfloat16)
    assert count <= len(full) <= count * 17 / 16
    assert torch.equal(full[:count], rows.bfloat16())
    assert not full[count:].any()


def test_numbers_of_rows_are_few():
    def sizes(counts, step=None):
        return {len(rounded(torch.empty(count, 1), torch.float32, step)) for count in counts}

    assert len(sizes(range(2049, 4097))) == 16
    assert sizes(range(1, 1025), step=256) == {
        256,
        512,
        768,
        1024,
    }


def test_products_in_training_have_round_numbers_of_rows_and_others_do_not(monkeypatch):
    seen = []

    def watched(rows, weight, bias):
        seen.append(len(rows))
        return F.linear(rows, weight, bias)

    monkeypatch.setattr(room, "affine", watched)
    layer, x = Linear(24, 40), torch.randn(3, 37, 24)  # 111 rows
    with torch.autocast("cpu", torch.bfloat16):
        layer(x)
        with torch.no_grad():
            layer(x)
    layer(x)
    assert seen == [112]


def test_rows_are_filled_up_once_for_several_maps():
    with torch.autocast("cpu", torch.bfloat16):
        rows = round_rows(torch.randn(3, 37, 24))
    assert rows.shape == (112, 24)
    assert rounded(rows, torch.bfloat16) is rows
    assert round_rows(torch.randn(3, 37, 24)).shape == (111, 24)  # fp32 has other kernels


@pytest.mark.skipif(not room.ONEDNN_BF16, reason="without AVX-512 there is no such operator")
def test_the_operator_of_onednn_is_a_linear_map():
    rows, weight, bias = (torch.randn(*shape).bfloat16() for shape in ((64, 24), (40, 24), (40,)))
    wanted = F.linear(rows.float(), weight.float(), bias.float())
    torch.testing.assert_close(affine(rows, weight, bias).float(), wanted, atol=2e-2, rtol=1e-2)
