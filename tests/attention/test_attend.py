"""Attention by hand, against PyTorch, and at its edges."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from seq2seq.attention import scores
from seq2seq.attention.attend import attend, masked_softmax
from seq2seq.attention.masks import causal_mask, padding_mask
from seq2seq.attention.multihead import MultiHeadAttention, scaled_dot_product
from seq2seq.attention.scores import SCORES, build_score
from seq2seq.errors import UserError

Q = K = torch.tensor([[1.0, 0, 1, 0], [0, 1, 0, 1], [1, 1, 0, 0]])
V = torch.arange(1.0, 13.0).view(3, 4)


def test_scaled_dot_product_gives_the_numbers_worked_out_by_hand():
    # Q Kᵀ = [[2, 0, 1], [0, 2, 1], [1, 1, 2]]; divided by √4: halves. e¹ = 2.718282, e^½ = 1.648721.
    near, middle = math.e, math.exp(0.5)
    total, last = near + 1 + middle, 2 * middle + near
    expected = torch.tensor(
        [
            [near / total, 1 / total, middle / total],  # 0.50648, 0.18632, 0.30720
            [1 / total, near / total, middle / total],
            [middle / last, middle / last, near / last],  # 0.27407, 0.27407, 0.45186
        ]
    )
    context, weights = scaled_dot_product(Q, K, V, None)
    torch.testing.assert_close(weights, expected, atol=1e-6, rtol=0)
    assert weights[0].tolist() == pytest.approx([0.50648, 0.18632, 0.30720], abs=1e-5)
    # The columns of V differ by a constant: the context is its first column's mean plus 0, 1, 2, 3.
    first = torch.tensor([4.20289, 5.48352, 5.71119])
    torch.testing.assert_close(context, first[:, None] + torch.arange(4.0), atol=1e-4, rtol=0)


def test_scaled_dot_product_equals_pytorch_with_any_mask():
    generator = torch.Generator().manual_seed(0)
    query, keys, values = (torch.randn(2, 3, size, 8, generator=generator) for size in (5, 7, 7))
    mask = torch.rand(2, 1, 5, 7, generator=generator) > 0.3
    mask[..., 0] = True
    ours, _ = scaled_dot_product(query, keys, values, mask)
    torch.testing.assert_close(ours, F.scaled_dot_product_attention(query, keys, values, mask), atol=1e-6, rtol=1e-5)


def test_many_heads_equal_pytorchs_module():
    torch.manual_seed(0)
    ours, theirs = MultiHeadAttention(12, 3), nn.MultiheadAttention(12, 3, batch_first=True)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([ours.query.weight, ours.key_value.weight]))
        theirs.in_proj_bias.copy_(torch.cat([ours.query.bias, ours.key_value.bias]))
        theirs.out_proj.weight.copy_(ours.output.weight)
        theirs.out_proj.bias.copy_(ours.output.bias)
    query, states = torch.randn(2, 4, 12), torch.randn(2, 6, 12)
    mask = padding_mask(torch.tensor([6, 3]), 6)
    expected, expected_weights = theirs(query, states, states, key_padding_mask=~mask, average_attn_weights=False)
    for weights in (False, True):
        output, alignment = ours(query, *ours.keys_values(states), mask[:, None, None], weights=weights)
        torch.testing.assert_close(output, expected, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(alignment, expected_weights, atol=1e-6, rtol=1e-5)


def test_the_fused_path_in_bf16_stays_near_the_readable_one():
    torch.manual_seed(0)
    attention, states = MultiHeadAttention(16, 2), torch.randn(3, 5, 16)
    with torch.autocast("cpu", torch.bfloat16):
        fused, _ = attention(states, *attention.keys_values(states), causal=True)
    readable, _ = attention(states, *attention.keys_values(states), causal_mask(5), weights=True)
    torch.testing.assert_close(fused.float(), readable, atol=3e-2, rtol=3e-2)


def test_a_row_without_keys_is_zero_in_value_and_gradient():
    energies = torch.randn(1, 2, 3, requires_grad=True)
    mask = torch.tensor([[[True, False, True], [False, False, False]]])
    context, weights = attend(energies, torch.randn(1, 3, 4), mask)
    assert weights[0, 1].tolist() == [0, 0, 0]
    assert context[0, 1].tolist() == [0, 0, 0, 0]
    assert weights[0, 0, 1] == 0
    (context.sum() + weights.sum()).backward()
    assert energies.grad.isfinite().all()


def test_softmax_runs_along_the_keys_and_not_over_the_matrix():
    weights = masked_softmax(torch.randn(4, 5), None)
    torch.testing.assert_close(weights.sum(-1), torch.ones(4))


def test_weights_do_not_depend_on_what_stands_at_masked_keys():
    energies = torch.randn(2, 3, 4)
    mask = torch.tensor([True, True, True, False])
    loud = energies.masked_fill(~mask, 1e4)
    torch.testing.assert_close(masked_softmax(energies, mask), masked_softmax(loud, mask))


def test_causal_mask_is_the_lower_triangle():
    assert torch.equal(causal_mask(5), torch.ones(5, 5).tril().bool())


@pytest.mark.parametrize("name", ["additive", "concat"])
def test_additive_scores_equal_the_equation_term_by_term(name):
    torch.manual_seed(0)
    score = build_score(name, 4, 6, 5)
    query, states = torch.randn(2, 3, 4), torch.randn(2, 7, 6)
    energies = score(query, score.project_keys(states))
    matrix = torch.cat([score.query.weight, score.key.weight], 1)  # W = [W₁ W₂]
    for b, t, s in [(0, 0, 0), (1, 2, 6), (0, 1, 3)]:
        joined = torch.cat([query[b, t], states[b, s]])
        torch.testing.assert_close(energies[b, t, s], score.energy.weight[0] @ torch.tanh(matrix @ joined))


def test_general_and_dot_scores_equal_the_equation_term_by_term():
    torch.manual_seed(0)
    query, states = torch.randn(2, 3, 4), torch.randn(2, 7, 6)
    general = build_score("general", 4, 6, 5)
    energies = general(query, general.project_keys(states))
    torch.testing.assert_close(energies[1, 2, 3], query[1, 2] @ general.key.weight @ states[1, 3])
    dot = build_score("dot", 4, 4, 5)
    same = torch.randn(2, 7, 4)
    torch.testing.assert_close(dot(query, dot.project_keys(same))[0, 1, 2], query[0, 1] @ same[0, 2])


def test_scores_refuse_what_cannot_be():
    with pytest.raises(UserError, match="one size"):
        build_score("dot", 4, 6, 5)
    with pytest.raises(UserError, match="additive, dot, general, concat"):
        build_score("cosine", 4, 4, 4)
    with pytest.raises(UserError, match="does not divide"):
        MultiHeadAttention(10, 3)
    assert set(SCORES) == {"additive", "dot", "general", "concat", "location", "scaled_dot"}


def test_the_location_score_reads_the_query_alone_and_nothing_behind_its_table(monkeypatch):
    torch.manual_seed(0)
    monkeypatch.setattr(scores, "LONGEST", 5)
    score = build_score("location", 4, 6, 3)
    query, states = torch.randn(2, 3, 4), torch.randn(2, 7, 6)
    energies = score(query, score.project_keys(states))
    torch.testing.assert_close(energies[..., :5], query @ score.position.weight.T)
    assert (energies.softmax(-1)[..., 5:] == 0).all()
    torch.testing.assert_close(score(query, score.project_keys(states[:, :2])), energies[..., :2])
    with pytest.raises(UserError, match=r"model\.coverage=false"):
        build_score("location", 4, 6, 3, coverage=True)


def test_the_scaled_dot_score_is_that_of_the_transformer():
    torch.manual_seed(0)
    score = build_score("scaled_dot", 4, 4, 3)
    query, states = torch.randn(2, 3, 4), torch.randn(2, 7, 4)
    context, weights = scaled_dot_product(query, states, states, None)
    ours, alignment = attend(score(query, score.project_keys(states)), states, None)
    torch.testing.assert_close(alignment, weights)
    torch.testing.assert_close(ours, context)
