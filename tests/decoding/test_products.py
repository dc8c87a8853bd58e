"""Products with packed weights against plain ones, and what is left of them behind the search."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from seq2seq.decoding.products import check_precision, products
from seq2seq.errors import UserError
from seq2seq.linear import ONEDNN


@pytest.fixture
def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(12, 40), nn.Tanh(), nn.Linear(40, 7, bias=False))


@pytest.mark.parametrize("shape", [(1, 12), (5, 3, 12), (0, 12), (130, 12)])
def test_packed_weights_give_the_plain_products(model, shape):
    x = torch.randn(shape)
    with torch.no_grad():
        expected = model(x)
        with products(model):
            found = model(x)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


def test_bf16_is_that_of_autocast(model):
    x = torch.randn(9, 12)
    with torch.no_grad():
        with torch.autocast("cpu", torch.bfloat16):
            expected = model(x)
        with products(model, "bf16"):
            found = model(x)
        exact = model(x)
    assert found.dtype == expected.dtype == torch.bfloat16
    torch.testing.assert_close(found, expected, atol=1e-2, rtol=1e-2)
    assert (found.float() - exact).abs().max() > 1e-4


def test_fp32_is_fp32_whatever_is_around_it(model):
    x = torch.randn(9, 12)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16), products(model):
        found = model(x)
    torch.testing.assert_close(found, model(x), atol=1e-5, rtol=1e-5)


def test_behind_it_the_model_learns_and_uses_its_own_weights_again(model):
    x = torch.randn(2, 12)
    with pytest.raises(ZeroDivisionError), products(model):
        raise ZeroDivisionError
    with torch.no_grad():
        model[2].weight.zero_()
    assert (model(x) == 0).all()
    assert model(x).requires_grad
    assert not any("forward" in vars(part) for part in model)


@pytest.mark.skipif(not ONEDNN, reason="no packed weights on this processor")
def test_inside_each_product_is_of_the_packed_weights(model):
    with products(model):
        assert [("forward" in vars(part)) for part in model] == [True, False, True]


def test_an_unknown_precision_is_refused():
    with pytest.raises(UserError, match="precision is fp8: choose fp32 or bf16"):
        check_precision("fp8")


def test_bf16_works_on_a_processor_that_has_none():
    code = """
import torch
from torch import nn
from seq2seq.decoding.products import products
model, x = nn.Linear(40, 9), torch.randn(3, 40)
with torch.no_grad(), products(model, "bf16"):
    assert (model(x) - x @ model.weight.T - model.bias).abs().max() < 0.1
"""
    environment = os.environ | {"ONEDNN_MAX_CPU_ISA": "AVX2"}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment, cwd=Path(__file__).parents[2])
