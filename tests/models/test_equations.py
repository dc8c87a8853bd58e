"""The attentive recurrent models against a literal loop over the papers' equations, one sentence and step at a time."""

import pytest
import torch
from zoo import VOCABULARY, build

SOURCE = torch.randint(4, VOCABULARY, (1, 6), generator=torch.Generator().manual_seed(1))
TARGET = torch.randint(4, VOCABULARY, (1, 5), generator=torch.Generator().manual_seed(2))
LENGTHS = torch.tensor([6])


def lstm(cell, inputs, state):
    """One layer of ``nn.LSTM``: inputs (D,), state ((H,), (H,))."""
    hidden, memory = state
    gates = cell.weight_ih_l0 @ inputs + cell.bias_ih_l0 + cell.weight_hh_l0 @ hidden + cell.bias_hh_l0
    i, f, g, o = gates.chunk(4)
    memory = f.sigmoid() * memory + i.sigmoid() * g.tanh()
    return o.sigmoid() * memory.tanh(), memory


def energy(score, kind, query, state, covered):
    """One energy, from the table in scores.py; covered: the position's coverage, or None."""
    moved = 0 if covered is None else covered * score.covered
    if kind == "additive":
        return score.energy.weight[0] @ torch.tanh(score.query.weight @ query + score.key.weight @ state + moved)
    key = score.key.weight @ state if kind == "general" else state
    return query @ (key + moved) / (len(state) ** 0.5 if kind == "scaled_dot" else 1)


@pytest.mark.parametrize("coverage", [False, True])
@pytest.mark.parametrize(
    ("wiring", "score"), [("bahdanau", "additive"), ("bahdanau", "dot"), ("luong", "general"), ("luong", "additive")]
)
def test_values_and_gradients_equal_the_equations(wiring, score, coverage):
    torch.manual_seed(0)
    model = build(wiring, score=score, coverage=coverage, layers=1)
    found = []
    for literal in (False, True):
        model.zero_grad()
        features = _literally(model, wiring, score) if literal else _fast(model)
        features.square().sum().backward()
        found.append([features, *(parameter.grad for parameter in model.parameters())])
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-4)


def _fast(model):
    features, _ = model.decode(model.encode(SOURCE, LENGTHS), TARGET)
    return features[0]


def _literally(model, wiring, score):
    memory = model.encode(SOURCE, LENGTHS)
    states = memory.states[0]
    ((hidden, cell),) = model.first_hidden(memory)
    hidden, cell = hidden[0], cell[0]
    fed, covered, rows = torch.zeros(16), torch.zeros(6), []

    def look(query):
        seen = covered if model.attention.coverage else [None] * 6
        energies = [energy(model.attention.score, score, query, *pair) for pair in zip(states, seen, strict=True)]
        weights = torch.stack(energies).softmax(0)
        return weights @ states, weights

    for embedded in model.embed_target(TARGET)[0]:
        if wiring == "bahdanau":
            context, weights = look(hidden)
            hidden, cell = lstm(model.recurrence.stack[0], torch.cat([embedded, context]), (hidden, cell))
            vector = torch.tanh(model.combine(torch.cat([hidden, context, embedded])))
        else:
            hidden, cell = lstm(model.recurrence.stack[0], torch.cat([embedded, fed]), (hidden, cell))
            context, weights = look(hidden)
            vector = fed = torch.tanh(model.combine(torch.cat([context, hidden])))
        covered = covered + weights
        rows.append(model.readout(vector))
    return torch.stack(rows)
