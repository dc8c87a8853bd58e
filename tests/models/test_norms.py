"""Norms against PyTorch and by hand, values and gradients."""

import pytest
import torch
import torch.nn.functional as F

from seq2seq.errors import UserError
from seq2seq.models.norms import build_norm


def by_hand(name, states, norm):
    if name == "layer":
        centred = states - states.mean(-1, keepdim=True)
        return centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt() * norm.weight + norm.bias
    if name == "rms":
        return states / states.square().mean(-1, keepdim=True).sqrt() * norm.weight
    return norm.weight * F.normalize(states, dim=-1)


@pytest.mark.parametrize("name", ["layer", "rms", "scale"])
def test_norms_are_their_equations(name):
    torch.manual_seed(0)
    norm, states = build_norm(name, 12), torch.randn(2, 3, 12, requires_grad=True)
    at_first = norm(states).norm(dim=-1)
    torch.testing.assert_close(at_first, torch.full((2, 3), 12**0.5), atol=1e-3, rtol=1e-3)
    with torch.no_grad():
        norm.weight.add_(torch.rand_like(norm.weight))
    inputs = [states, *norm.parameters()]
    found, expected = norm(states), by_hand(name, states, norm)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
    direction = torch.randn(2, 3, 12)
    pairs = (torch.autograd.grad((output * direction).sum(), inputs) for output in (found, expected))
    for one, other in zip(*pairs, strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", ["layer", "rms", "scale"])
def test_a_vector_of_zeros_gives_no_nan(name):
    states = torch.zeros(1, 12, requires_grad=True)
    build_norm(name, 12)(states).sum().backward()
    assert states.grad.isfinite().all()


def test_an_unknown_norm_is_refused():
    with pytest.raises(UserError, match=r"model\.norm=batch is not known: choose one of layer, rms, scale"):
        build_norm("batch", 4)
