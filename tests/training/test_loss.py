"""The loss against its readable definition, PyTorch's own, and the law that padding weighs nothing."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from seq2seq.symbols import PAD
from seq2seq.training import loss as room
from seq2seq.training.loss import projected_loss, reference_loss


def data(rows=11, features=6, size=9):
    torch.manual_seed(0)
    output = nn.Linear(features, size)
    return output, torch.randn(rows, features, requires_grad=True), torch.randint(1, size, (rows,))


def by_definition(output, features, target, smoothing):
    return reference_loss(output(features), target, smoothing)


def loss_and_gradients(way, output, features, target, smoothing):
    wanted = [features, *output.parameters()]
    loss, nll = way(output, features, target, smoothing)
    return [loss.detach(), nll.detach(), *torch.autograd.grad(loss / 7, wanted)]


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(room, "BLOCK", 5)  # the last one short
    monkeypatch.setattr(room, "_CHUNK_ELEMENTS", 27)  # three rows a chunk


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_fast_loss_and_its_gradients_equal_the_definition(smoothing, small_blocks):
    fast, slow = (loss_and_gradients(way, *data(), smoothing) for way in (projected_loss, by_definition))
    for one, other in zip(fast, slow, strict=True):
        torch.testing.assert_close(one, other, atol=2e-7, rtol=1e-5)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_in_bf16_as_well(smoothing):
    # blocks of 1,024 and 476 rows, the second filled up
    with torch.autocast("cpu", torch.bfloat16):
        fast = loss_and_gradients(projected_loss, *data(1500, 32, 200), smoothing)
    slow = loss_and_gradients(by_definition, *data(1500, 32, 200), smoothing)
    assert [one.dtype for one in fast] == [torch.float32] * 5
    for one, other, within in zip(fast, slow, [3e-4, 3e-4, 1e-2, 1e-2, 1e-2], strict=True):
        assert (one - other).norm() < within * other.norm()


def test_without_gradients_it_is_the_definition():
    with torch.no_grad():
        for one, other in zip(projected_loss(*data(), 0.1), by_definition(*data(), 0.1), strict=True):
            assert torch.equal(one, other)


def test_without_smoothing_it_is_pytorchs_cross_entropy():
    output, features, target = data()
    loss, nll = projected_loss(output, features, target, 0.0)
    torch.testing.assert_close(loss, F.cross_entropy(output(features), target, reduction="sum"))
    torch.testing.assert_close(loss, nll)


def test_smoothing_puts_no_mass_on_pad():
    output, features, target = data()
    smoothing, size = 0.1, output.out_features
    wanted = torch.full((len(target), size), smoothing / (size - 1))
    wanted[:, PAD] = 0
    wanted.scatter_add_(1, target[:, None], torch.full((len(target), 1), 1 - smoothing))
    torch.testing.assert_close(wanted.sum(1), torch.ones(len(target)))
    loss, _ = projected_loss(output, features, target, smoothing)
    torch.testing.assert_close(loss, F.cross_entropy(output(features), wanted, reduction="sum"))


def test_nll_does_not_depend_on_smoothing():
    assert projected_loss(*data(), 0.0)[1] == projected_loss(*data(), 0.3)[1]


def test_extreme_logits_lose_nothing():
    logits = torch.tensor([[0.0, -1e4, 9e3, 1e4], [0.0, 300.0, -300.0, 5.0]], requires_grad=True)
    same, target = nn.Linear(4, 4), torch.tensor([1, 2])
    with torch.no_grad():
        same.weight.copy_(torch.eye(4))
        same.bias.zero_()
    for one, other in zip(*(way(same, logits, target, 0.1) for way in (projected_loss, by_definition)), strict=True):
        torch.testing.assert_close(one, other)


def test_what_is_not_a_number_stays_visible():
    output, features, target = data()
    with torch.no_grad():
        features[3, 2] = float("nan")
    loss, nll = projected_loss(output, features, target, 0.1)
    assert loss.isnan()
    assert nll.isnan()


def test_its_gradient_cannot_be_derived_again():
    output, features, target = data()
    (gradient,) = torch.autograd.grad(projected_loss(output, features, target, 0.1)[0], features, create_graph=True)
    with pytest.raises(RuntimeError, match="does not require grad"):
        gradient.sum().backward()
