"""The fast recurrences against PyTorch's own, which are the reference."""

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from seq2seq.errors import UserError
from seq2seq.linear import ONEDNN_BF16
from seq2seq.models.recurrent import CELLS, Encoder, Recurrence, reversal

LENGTHS = torch.tensor([7, 3, 1])


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("layers", [1, 3])
def test_steps_equal_the_fused_sequence(cell, layers):
    torch.manual_seed(0)
    recurrence = Recurrence(cell, known=5, fed=4, hidden=6, layers=layers, dropout=0.0)
    known, fed = torch.randn(2, 8, 5), torch.randn(2, 8, 4)
    parts = 2 if cell == "lstm" else 1
    start = tuple(tuple(torch.randn(2, 6) for _ in range(parts)) for _ in range(layers))
    expected, last = recurrence.sequence(torch.cat([known, fed], -1), start)
    state, outputs = start, []
    steps = recurrence.steps(known.transpose(0, 1))
    for step in range(8):
        output, state = steps(fed[:, step], state)
        outputs.append(output)
    torch.testing.assert_close(torch.stack(outputs, 1), expected, atol=1e-6, rtol=1e-5)
    for ours, theirs in zip(state, last, strict=True):
        for one, other in zip(ours, theirs, strict=True):
            torch.testing.assert_close(one, other, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("layers", [1, 2])
def test_the_unpacked_encoder_equals_pytorchs_packed_bidirectional_one(cell, layers):
    torch.manual_seed(0)
    ours = Encoder(cell, 5, 8, layers, dropout=0.0, bidirectional=True)
    theirs = CELLS[cell](5, 4, layers, batch_first=True, bidirectional=True)
    with torch.no_grad():
        for layer in range(layers):
            for kernel, suffix in ((ours.forwards[layer], ""), (ours.backwards[layer], "_reverse")):
                for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
                    getattr(theirs, f"{name}_l{layer}{suffix}").copy_(getattr(kernel.stack[0], f"{name}_l0"))
    inputs = torch.randn(3, 7, 5)
    packed = pack_padded_sequence(inputs, LENGTHS, batch_first=True)
    outputs, last = theirs(packed)
    expected, _ = pad_packed_sequence(outputs, batch_first=True)
    hidden = last[0] if cell == "lstm" else last
    states, summary = ours(inputs, LENGTHS)
    real = torch.arange(7) < LENGTHS[:, None]
    torch.testing.assert_close(states[real], expected[real], atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(summary, torch.cat([hidden[-2], hidden[-1]], -1), atol=1e-6, rtol=1e-5)


def test_reversal_is_its_own_inverse_and_leaves_padding_in_place():
    flip = reversal(LENGTHS, 7)
    assert flip[1].tolist() == [2, 1, 0, 3, 4, 5, 6]
    torch.testing.assert_close(flip.gather(1, flip), torch.arange(7).expand(3, -1))


def test_a_cell_that_is_not_there_is_named():
    with pytest.raises(UserError, match="lstm, gru"):
        Recurrence("elman", 4, 0, 4, 1, 0.0)
    with pytest.raises(UserError, match="even"):
        Encoder("lstm", 4, 7, 1, 0.0, bidirectional=True)
    assert issubclass(CELLS["gru"], nn.GRU)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("rows", [1, 8, 11])
def test_in_bf16_a_kernel_is_given_rows_by_eights_which_changes_nothing(cell, rows):
    torch.manual_seed(0)
    recurrence = Recurrence(cell, known=5, fed=0, hidden=16, layers=2, dropout=0.0)
    start = tuple(tuple(torch.randn(rows, 16) for _ in range(2 if cell == "lstm" else 1)) for _ in range(2))
    inputs, seen, results = torch.randn(rows, 7, 5, requires_grad=True), [], []
    for kernel in recurrence.stack:
        kernel.register_forward_pre_hook(lambda _, arguments: seen.append(len(arguments[0])))
    for narrow in (False, True):
        with torch.autocast("cpu", torch.bfloat16, enabled=narrow):
            outputs, last = recurrence.sequence(inputs, start)
        ends = [part for layer in last for part in layer]
        loss = outputs.float().square().sum() + sum(part.float().square().sum() for part in ends)
        results.append([outputs, *ends, *torch.autograd.grad(loss, [inputs, *recurrence.parameters()])])
    assert seen == [rows] * 2 + [-(-rows // 8) * 8 if ONEDNN_BF16 else rows] * 2
    for one, other in zip(*results, strict=True):
        assert one.shape == other.shape
        assert (one - other.float()).norm() < 0.05 * one.norm()
