"""Local attention against Luong's equations, position by position."""

import math

import pytest
import torch

from seq2seq.attention.local import CENTRES, Local
from seq2seq.attention.masks import padding_mask
from seq2seq.attention.source import SourceAttention
from seq2seq.errors import UserError

LENGTHS = torch.tensor([9, 4])
MASK = padding_mask(LENGTHS, 9)


@pytest.mark.parametrize("name", CENTRES)
def test_weights_and_context_equal_the_equations(name):
    torch.manual_seed(0)
    half = 2
    attention = SourceAttention("general", 4, 4, 3, local=name, window=half, coverage=False)
    query, states = torch.randn(2, 7, 4), torch.randn(2, 9, 4)
    context, weights = attention(query, attention.project_keys(states), states, MASK, torch.arange(7), None)
    for b in range(2):
        for t in range(7):
            length = int(LENGTHS[b])
            if name == "monotonic":
                centre = min(t + 1, length)
            else:
                local = attention.local.centre
                share = local.centre.weight[0] @ torch.tanh(local.hidden.weight @ query[b, t]).detach()
                centre = length / (1 + math.exp(-float(share.detach())))
            inside = [s for s in range(1, length + 1) if centre - half <= s <= centre + half]
            energies = torch.stack([query[b, t] @ attention.score.key.weight @ states[b, s - 1] for s in inside])
            expected = torch.zeros(9)
            for s, share in zip(inside, energies.softmax(0), strict=True):
                sigma = half / 2
                gauss = math.exp(-((s - centre) ** 2) / (2 * sigma**2)) if name == "predictive" else 1
                expected[s - 1] = share * gauss
            torch.testing.assert_close(weights[b, t], expected, atol=1e-6, rtol=1e-5)
            torch.testing.assert_close(context[b, t], expected @ states[b], atol=1e-5, rtol=1e-5)


def test_a_predicted_centre_learns():
    torch.manual_seed(0)
    local = Local("predictive", 4, 3)
    _, factors = local(torch.randn(2, 5, 4), MASK, 0)
    factors.sum().backward()
    assert all(parameter.grad.abs().sum() > 0 for parameter in local.parameters())


def test_an_unknown_name_lists_those_there_are():
    with pytest.raises(UserError, match=r"model\.local=wide .* monotonic, predictive"):
        Local("wide", 4, 3)
