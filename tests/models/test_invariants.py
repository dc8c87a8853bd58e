"""What must hold for every model (the interface's promises)."""

import pytest
import torch
from zoo import SETTINGS, VOCABULARY, build

from seq2seq.attention import self_attention
from seq2seq.models.interface import reduce_attention
from seq2seq.symbols import PAD

EVERY = pytest.mark.parametrize("name", SETTINGS)
LENGTHS = torch.tensor([9, 4, 1])
REAL = torch.arange(9) < LENGTHS[:, None]  # (B, S)


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


@pytest.fixture(autouse=True)
def blocks_however_short(monkeypatch):
    """Sentences of a few words are cut into blocks as long ones are."""
    monkeypatch.setattr(self_attention, "SHORT", 0)


def data():
    """source (3, 9) padded by LENGTHS, target (3, 6)."""
    source = torch.randint(4, VOCABULARY, (3, 9)).masked_fill(~REAL, PAD)
    return source, torch.randint(4, VOCABULARY, (3, 6))


def forced(model, source, lengths, target, **options):
    features, attention = model.decode(model.encode(source, lengths), target, **options)
    return model.project(features), attention


@EVERY
@torch.no_grad()
def test_step_repeated_gives_what_decode_gives(name):
    model, (source, target) = build(name), data()
    memory = model.encode(source, LENGTHS)
    features, attention = model.decode(memory, target, attention=True)
    state, steps, rows = model.start(memory), [], []
    for column in target.unbind(1):
        output, weights, state = model.step(memory, column, state, attention=True)
        steps.append(output)
        rows.append(weights)
    torch.testing.assert_close(torch.stack(steps, 1), features, atol=1e-5, rtol=1e-5)
    if attention.cross is None:
        assert rows == [None] * 6
    else:
        torch.testing.assert_close(torch.stack(rows, 1), reduce_attention(attention.cross), atol=1e-6, rtol=1e-5)


@EVERY
@torch.no_grad()
def test_a_beam_of_rows_reads_its_own_sentence(name):
    model, (source, target) = build(name), data()
    memory, beam = model.encode(source, LENGTHS), 2
    alone = model.start(memory)
    wide = alone.select(torch.arange(3).repeat_interleave(beam))
    for column in target.unbind(1):
        expected, _, alone = model.step(memory, column, alone)
        output, _, wide = model.step(memory, column.repeat_interleave(beam), wide)
        torch.testing.assert_close(output, expected.repeat_interleave(beam, 0), atol=1e-5, rtol=1e-5)


@EVERY
@torch.no_grad()
def test_selecting_rows_of_memory_and_state_selects_sentences(name):
    model, (source, target) = build(name), data()
    rows = torch.tensor([2, 0])
    memory = model.encode(source, LENGTHS)
    _, _, state = model.step(memory, target[:, 0], model.start(memory))
    expected, _, _ = model.step(memory, target[:, 1], state)
    output, _, _ = model.step(memory.select(rows), target[rows, 1], state.select(rows))
    torch.testing.assert_close(output, expected[rows], atol=1e-5, rtol=1e-5)


@EVERY
@torch.no_grad()
def test_a_batch_gives_what_each_sentence_gives_alone(name):
    model, (source, target) = build(name), data()
    together, _ = forced(model, source, LENGTHS, target)
    for row, length in enumerate(LENGTHS.tolist()):
        alone, _ = forced(model, source[row : row + 1, :length], LENGTHS[row : row + 1], target[row : row + 1])
        torch.testing.assert_close(together[row : row + 1], alone, atol=1e-5, rtol=1e-5)


@EVERY
@torch.no_grad()
def test_extra_padding_changes_nothing(name):
    model, (source, target) = build(name), data()
    wider = torch.cat([source, torch.full((3, 5), PAD)], 1)
    longer = torch.cat([target, torch.full((3, 2), PAD)], 1)
    logits, _ = forced(model, source, LENGTHS, target)
    padded, attention = forced(model, wider, LENGTHS, longer, attention=True)
    torch.testing.assert_close(padded[:, :6], logits, atol=1e-5, rtol=1e-5)
    if attention.cross is not None:
        assert (attention.cross[..., 9:] == 0).all()


@EVERY
@torch.no_grad()
def test_what_stands_at_padding_is_never_read(name):
    model, (source, target) = build(name), data()
    logits, _ = forced(model, source, LENGTHS, target)
    noisy, _ = forced(model, torch.where(REAL, source, 7), LENGTHS, target)
    torch.testing.assert_close(noisy, logits, atol=1e-5, rtol=1e-5)


@EVERY
@torch.no_grad()
def test_a_position_does_not_see_what_comes_after_it(name):
    model, (source, target) = build(name), data()
    logits, _ = forced(model, source, LENGTHS, target)
    changed = target.clone()
    changed[:, 3:] = 5
    other, _ = forced(model, source, LENGTHS, changed)
    torch.testing.assert_close(other[:, :3], logits[:, :3], atol=1e-6, rtol=1e-5)
    assert (other[:, 3:] - logits[:, 3:]).abs().max() > 1e-4


@EVERY
@torch.no_grad()
def test_attention_rows_sum_to_one_over_real_tokens_and_are_zero_on_padding(name):
    model, (source, target) = build(name), data()
    _, attention = forced(model, source, LENGTHS, target, attention=True)
    if name.startswith("rnn"):
        assert attention.cross is None
        return
    cross = attention.cross  # (B, L, heads, T, S)
    if "local-p" in name:
        assert (cross.sum(-1) < 1 + 1e-5).all()
        assert (cross.sum(-1) > 0).all()
    else:
        torch.testing.assert_close(cross.sum(-1), torch.ones(cross.shape[:-1]))
    padding = ~REAL[:, None, None, None].expand_as(cross)
    assert (cross[padding] == 0).all()


@EVERY
@torch.no_grad()
def test_asking_for_weights_does_not_change_the_answer(name):
    model, (source, target) = build(name), data()
    quiet, nothing = forced(model, source, LENGTHS, target)
    asked, _ = forced(model, source, LENGTHS, target, attention=True)
    assert nothing is None
    torch.testing.assert_close(asked, quiet, atol=1e-5, rtol=1e-5)


@EVERY
def test_every_parameter_gets_a_finite_gradient(name):
    model, (source, target) = build(name).train(), data()
    logits, _ = forced(model, source, LENGTHS, target)
    logits.logsumexp(-1).sum().backward()
    for label, parameter in model.named_parameters():
        assert parameter.grad is not None, label
        assert parameter.grad.isfinite().all(), label


@EVERY
def test_calls_leave_nothing_on_the_module(name):
    model, (source, target) = build(name), data()
    before = {key: set(vars(module)) for key, module in model.named_modules()}
    first, _ = forced(model, source, LENGTHS, target)
    forced(model, source.flip(0), LENGTHS.flip(0), target)
    again, _ = forced(model, source, LENGTHS, target)
    assert {key: set(vars(module)) for key, module in model.named_modules()} == before
    torch.testing.assert_close(again, first, atol=0, rtol=0)


@EVERY
@torch.no_grad()
def test_bf16_autocast_stays_near_fp32(name):
    model, (source, target) = build(name), data()
    exact, _ = forced(model, source, LENGTHS, target)
    with torch.autocast("cpu", torch.bfloat16):
        rough, _ = forced(model, source, LENGTHS, target)
    torch.testing.assert_close(rough.float(), exact, atol=0.1, rtol=0.1)


@torch.no_grad()
def test_the_transformer_gives_self_attention_of_both_sides_causal_in_the_decoder():
    model, (source, target) = build("transformer"), data()
    memory = model.encode(source, LENGTHS, attention=True)
    _, attention = model.decode(memory, target, attention=True)
    assert attention.encoder_self.shape == (3, 2, 4, 9, 9)
    assert attention.decoder_self.shape == (3, 2, 4, 6, 6)
    assert (attention.decoder_self.triu(1) == 0).all()
    torch.testing.assert_close(attention.decoder_self.sum(-1), torch.ones(3, 2, 4, 6))
