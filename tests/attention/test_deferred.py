"""Products whose matrices get their gradient behind the loop, against the plain products."""

import pytest
import torch
from torch import nn

from seq2seq.attention.deferred import Deferred, deferred_linear, deferred_values
from seq2seq.attention.scores import SCORES, build_score

STEPS, ROWS = 5, 3


def test_a_recurrence_has_the_values_and_gradients_of_plain_products():
    torch.manual_seed(0)
    base, first = torch.randn(STEPS, ROWS, 4), torch.randn(ROWS, 4)
    matrices = [torch.randn(4, 4), torch.randn(2, 4)]
    fed = torch.randn(STEPS, ROWS, 2)
    found = []
    for deferred in (True, False):
        leaves = [tensor.clone().requires_grad_() for tensor in (base, first, *matrices, fed)]
        product = Deferred(leaves[0], *leaves[2:4])
        state, outputs = leaves[1], []
        for step in range(STEPS):
            if deferred:
                state = product(state, leaves[4][step]).tanh()
            else:
                state = (leaves[0][step] + state @ leaves[2] + leaves[4][step] @ leaves[3]).tanh()
            outputs.append(state)
        torch.stack(outputs).square().sum().backward()
        found.append([torch.stack(outputs), *(leaf.grad for leaf in leaves)])
    for ours, plain in zip(*found, strict=True):
        torch.testing.assert_close(ours, plain)


@pytest.mark.parametrize("bias", [True, False])
def test_a_layer_and_its_deferred_twin_agree(bias):
    torch.manual_seed(0)
    layer, inputs = nn.Linear(4, 2, bias=bias), torch.randn(STEPS, ROWS, 4)
    found = []
    for way in (deferred_linear(layer, STEPS, ROWS, torch.float32), layer):
        layer.zero_grad()
        outputs = torch.stack([way(one) for one in inputs])
        outputs.square().sum().backward()
        found.append([outputs, *(parameter.grad for parameter in layer.parameters())])
    for ours, plain in zip(*found, strict=True):
        torch.testing.assert_close(ours, plain)


def test_values_of_each_sentence_in_half_precision_and_a_dtype_of_their_own():
    torch.manual_seed(0)
    values = torch.randn(ROWS, 4, 2).bfloat16().requires_grad_()
    weights = torch.rand(STEPS, ROWS, 1, 4)
    deferred = deferred_values(values, STEPS)
    outputs = torch.stack([one.to(deferred.dtype) @ deferred for one in weights])  # (T, B, 1, 2)
    torch.testing.assert_close(outputs, weights.bfloat16() @ values.detach())
    outputs.float().sum().backward()
    expected = weights.bfloat16().sum(0).transpose(1, 2).expand(-1, -1, 2)  # in bf16, so not to the last digit
    torch.testing.assert_close(values.grad, expected, atol=0.02, rtol=0.02)


@pytest.mark.parametrize("name", SCORES)
def test_a_score_in_a_loop_is_the_score_of_all_queries_at_once(name):
    torch.manual_seed(0)
    score = build_score(name, 4, 4, 3)
    states, query = torch.randn(2, 6, 4, requires_grad=True), torch.randn(2, STEPS, 4, requires_grad=True)
    factors = torch.randn(2, STEPS, 6)
    found = []
    for looped in (True, False):
        score.zero_grad()
        states.grad = query.grad = None
        keys = score.project_keys(states)
        if looped:
            loop = score.loop(keys, STEPS)
            energies = torch.cat([loop(query[:, step, None]) for step in range(STEPS)], 1)
        else:
            energies = score(query, keys)
        (energies * factors).sum().backward()
        found.append([energies, states.grad, query.grad, *(parameter.grad for parameter in score.parameters())])
    for ours, plain in zip(*found, strict=True):
        torch.testing.assert_close(ours, plain, atol=1e-5, rtol=1e-5)


def test_other_functions_of_a_deferred_matrix_are_refused():
    with pytest.raises(TypeError):
        torch.ones(ROWS, 1, 4) + deferred_values(torch.ones(ROWS, 4, 2), 1)
