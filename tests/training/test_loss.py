"""The loss against its readable definition, PyTorch's own, and the law that padding weighs nothing."""

import pytest
import torch
import torch.nn.functional as F

from seq2seq.symbols import PAD
from seq2seq.training import loss as room
from seq2seq.training.loss import reference_loss, smoothed_cross_entropy


def data(rows=11, size=9):
    torch.manual_seed(0)
    return torch.randn(rows, size, requires_grad=True), torch.randint(1, size, (rows,))


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_fast_loss_and_its_gradient_equal_the_definition(smoothing, monkeypatch):
    monkeypatch.setattr(room, "_CHUNK_ELEMENTS", 36)  # four rows a chunk, the last one short
    logits, target = data()
    fast, fast_nll = smoothed_cross_entropy(logits, target, smoothing)
    (fast / 7).backward()
    gradient, logits.grad = logits.grad, None
    slow, slow_nll = reference_loss(logits, target, smoothing)
    (slow / 7).backward()
    torch.testing.assert_close(fast, slow)
    torch.testing.assert_close(fast_nll, slow_nll)
    torch.testing.assert_close(gradient, logits.grad, atol=1e-7, rtol=1e-5)


def test_without_smoothing_it_is_pytorchs_cross_entropy():
    logits, target = data()
    loss, nll = smoothed_cross_entropy(logits, target, 0.0)
    torch.testing.assert_close(loss, F.cross_entropy(logits, target, reduction="sum"))
    torch.testing.assert_close(loss, nll)


def test_smoothing_puts_no_mass_on_pad():
    logits, target = data()
    smoothing, size = 0.1, logits.shape[1]
    wanted = torch.full((len(target), size), smoothing / (size - 1))
    wanted[:, PAD] = 0
    wanted.scatter_add_(1, target[:, None], torch.full((len(target), 1), 1 - smoothing))
    torch.testing.assert_close(wanted.sum(1), torch.ones(len(target)))
    loss, _ = smoothed_cross_entropy(logits, target, smoothing)
    torch.testing.assert_close(loss, F.cross_entropy(logits, wanted, reduction="sum"))


def test_nll_does_not_depend_on_smoothing():
    logits, target = data()
    assert smoothed_cross_entropy(logits, target, 0.0)[1] == smoothed_cross_entropy(logits, target, 0.3)[1]


def test_extreme_logits_lose_nothing():
    logits = torch.tensor([[0.0, -1e4, 9e3, 1e4], [0.0, 300.0, -300.0, 5.0]], requires_grad=True)
    target = torch.tensor([1, 2])
    for one, other in zip(*(way(logits, target, 0.1) for way in (smoothed_cross_entropy, reference_loss)), strict=True):
        torch.testing.assert_close(one, other)


def test_a_second_derivation_is_refused():
    loss, _ = smoothed_cross_entropy(*data(), 0.1)
    loss.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="once only"):
        loss.backward()
