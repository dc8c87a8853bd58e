"""Scores and weights of given sentences, against probabilities that are known and against single steps."""

import pytest
import torch

from seq2seq.decoding import scoring
from seq2seq.decoding.scoring import forced_attention, score_references
from seq2seq.decoding.search import search
from seq2seq.symbols import BOS, EOS, PAD

from .toy import Toy, batch, every_sentence


def test_the_probabilities_of_all_sentences_and_all_unfinished_ones_sum_to_one():
    model, (source, lengths) = Toy(vocabulary=6), batch(4)
    model.bias[:EOS] = -99.0  # nothing left for padding, unknown and begin
    ended = every_sentence(6, 4)
    rows = [[*tokens, EOS] for tokens in ended] + [[*tokens] for tokens in every_sentence(6, 5) if len(tokens) == 4]
    output = torch.tensor([row + [PAD] * (4 - len(row)) for row in rows])  # (B, 4)
    target_input = torch.cat([torch.full((len(rows), 1), BOS), output[:, :-1]], 1)
    value, _ = score_references(model, source.expand(len(rows), -1), lengths.expand(len(rows)), target_input, output)
    assert value.exp().sum().item() == pytest.approx(1, abs=1e-5)


def test_chunks_and_padding_change_no_score(monkeypatch):
    model, (source, lengths) = Toy(), batch(3, 5)
    output = torch.tensor([[5, 6, 4, EOS, PAD, PAD], [EOS, PAD, PAD, PAD, PAD, PAD]])
    target_input = torch.cat([torch.full((2, 1), BOS), output[:, :-1]], 1)
    whole, count = score_references(model, source, lengths, target_input, output)
    assert count.tolist() == [4, 1]
    monkeypatch.setattr(scoring, "POSITIONS_AT_ONCE", 5)
    pieces, _ = score_references(model, source, lengths, target_input, output)
    assert torch.allclose(pieces, whole)
    short, _ = score_references(model, source[:1, :3], lengths[:1], target_input[:1, :4], output[:1, :4])
    assert short.item() == pytest.approx(whole[0].item(), abs=1e-6)


def test_forced_attention_has_the_weights_of_the_steps_that_made_a_beam_hypothesis():
    model, (source, lengths) = Toy(vocabulary=12, seed=5, eos=-2.0), batch(5, 3, 7)
    hypotheses = [found[0].tokens for found in search(model, source, lengths, beam=4, max_length=12)]
    assert len({len(tokens) for tokens in hypotheses}) > 1
    cross = forced_attention(model, source, lengths, hypotheses).cross  # (B, 1, 1, T, S)
    assert cross.shape == (3, 1, 1, 1 + max(map(len, hypotheses)), 7)
    for row, tokens in enumerate(hypotheses):
        memory = model.encode(source[row : row + 1], lengths[row : row + 1])
        state = model.start(memory)
        for position, token in enumerate([BOS, *tokens]):
            _, weights, state = model.step(memory, torch.tensor([token]), state, attention=True)
            assert torch.allclose(cross[row, 0, 0, position], weights[0], atol=1e-6)


def test_the_empty_hypothesis_has_the_row_that_generates_its_end():
    source, lengths = batch(5)
    assert forced_attention(Toy(), source, lengths, [[]]).cross.shape == (1, 1, 1, 1, 5)
