"""Search against literal exhaustive search, a slow reference, and the invariants every model relies on."""

import math

import pytest
import torch

from seq2seq.decoding.scoring import score_references
from seq2seq.decoding.search import LENGTH_EXTRA, LENGTH_FACTOR, Hypothesis, largest, length_penalty, search
from seq2seq.errors import UserError
from seq2seq.symbols import BOS, EOS, PAD

from .reference import beam_search, greedy
from .toy import Toy, batch, every_sentence

ALPHAS = [0.0, 0.6, 1.0]


def forced(model, source, lengths, tokens, finished=True) -> float:
    output = [*tokens, EOS] if finished else tokens
    target_input = torch.tensor([[BOS, *output[:-1]]])
    value, count = score_references(model, source, lengths, target_input, torch.tensor([output]))
    assert count.item() == len(output)
    return value.item()


def agree(found: list[Hypothesis], expected: list[Hypothesis]) -> bool:
    same = [h.tokens for h in found] == [h.tokens for h in expected]
    return same and [h.score for h in found] == pytest.approx([h.score for h in expected], abs=1e-4)


@pytest.mark.parametrize("seed", range(8))
def test_beam_one_is_the_greedy_loop(seed):
    model, (source, lengths) = Toy(vocabulary=12, seed=seed, eos=-2.0), batch(2, 5, 9, 3)
    for row, (best,) in enumerate(search(model, source, lengths, max_length=15)):
        size = int(lengths[row])
        tokens, finished = greedy(model, source[row : row + 1, :size], lengths[row : row + 1], 15)
        assert (best.tokens, best.finished) == (tokens, finished)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("seed", range(6))
def test_a_wide_beam_finds_what_exhaustive_search_finds(seed, alpha):
    model, limit, nbest = Toy(seed=seed), 4, 6
    source, lengths = batch(3, 6)
    results = search(model, source, lengths, beam=120, alpha=alpha, max_length=limit, nbest=nbest)
    for row, found in enumerate(results):
        one = source[row : row + 1, : lengths[row]], lengths[row : row + 1]
        scores = {
            tokens: forced(model, *one, tokens) / ((5 + len(tokens) + 1) / 6) ** alpha
            for tokens in every_sentence(7, limit)
        }
        best = sorted(scores, key=scores.get, reverse=True)[:nbest]
        assert [tuple(h.tokens) for h in found] == best
        assert [h.score for h in found] == pytest.approx([scores[tokens] for tokens in best], abs=1e-5)


@pytest.mark.parametrize(("alpha", "coverage"), [*((alpha, 0.0) for alpha in ALPHAS), (0.6, 0.3), (0.0, 2.0)])
@pytest.mark.parametrize("beam", [2, 3, 5])
@pytest.mark.parametrize("seed", range(4))
def test_batched_search_that_stops_early_finds_what_the_slow_reference_finds(seed, beam, alpha, coverage):
    model, (source, lengths) = Toy(vocabulary=9, seed=seed, eos=-2.0), batch(4, 2, 7)
    for nbest in (1, beam):
        options = {"beam": beam, "alpha": alpha, "max_length": 10, "nbest": nbest, "coverage": coverage}
        results = search(model, source, lengths, **options)
        for row, found in enumerate(results):
            one = source[row : row + 1, : lengths[row]], lengths[row : row + 1]
            expected = beam_search(model, *one, beam, alpha, 10, nbest, coverage)
            assert [(h.tokens, h.finished) for h in found] == [(tokens, done) for _, tokens, done in expected]
            assert [h.score for h in found] == pytest.approx([score for score, _, _ in expected], abs=1e-5)


@pytest.mark.parametrize(("alpha", "words"), [(0.0, 0), (4.0, 2)])
def test_a_longer_hypothesis_may_overtake_one_that_ended_first(alpha, words):
    model, chances = Toy(vocabulary=5), torch.tensor([0.5, 0.4, 0.99])  # of EOS after 0, 1 and 2 words

    def project(features):
        eos = chances[features[:, -1].long()][:, None]  # (N, 1)
        return torch.cat([torch.zeros(len(eos), 3), eos, 1 - eos], 1).log()  # (N, 5), one word beside EOS

    model.project = project
    ((best,),) = search(model, *batch(3), beam=2, alpha=alpha, max_length=3)
    assert len(best.tokens) == words  # 0.5 for nothing; 0.5 · 0.6 · 0.99 for two words
    assert best.log_probability == pytest.approx(math.log(0.5 if words == 0 else 0.5 * 0.6 * 0.99), abs=1e-6)


@pytest.mark.parametrize("beam", [1, 4])
def test_batch_order_and_neighbours_change_nothing(beam):
    model, (source, lengths) = Toy(vocabulary=12, seed=4, eos=-2.0), batch(5, 2, 9, 3, 7, 4, 8, 6, 2, 5, 3, 11)
    together = search(model, source, lengths, beam=beam, nbest=beam)
    order = torch.randperm(len(lengths), generator=torch.Generator().manual_seed(0))
    shuffled = search(model, source[order], lengths[order], beam=beam, nbest=beam)
    for place, row in enumerate(order.tolist()):
        assert agree(shuffled[place], together[row])
        (alone,) = search(model, source[row : row + 1, : lengths[row]], lengths[row : row + 1], beam=beam, nbest=beam)
        assert agree(alone, together[row])


def test_the_n_best_are_distinct_and_sorted_and_begin_with_the_best():
    model, (source, lengths) = Toy(vocabulary=12, seed=5, eos=-2.0), batch(5, 2, 9)
    single = search(model, source, lengths, beam=5)
    for (best,), found in zip(single, search(model, source, lengths, beam=5, nbest=5), strict=True):
        assert len(found) == 5
        assert len({tuple(h.tokens) for h in found}) == 5
        assert [h.score for h in found] == sorted((h.score for h in found), reverse=True)
        assert agree([best], found[:1])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("beam", [1, 5])
def test_log_probability_is_the_forced_score_and_score_its_penalised_value(beam, dtype):
    model, (source, lengths) = Toy(vocabulary=12, seed=2, eos=-2.0, dtype=dtype), batch(5, 2, 9)
    kinds = set()
    for row, found in enumerate(search(model, source, lengths, beam=beam, nbest=beam, alpha=0.8, max_length=6)):
        one = source[row : row + 1, : lengths[row]], lengths[row : row + 1]
        for h in found:
            kinds.add(h.finished)
            length = len(h.tokens) + h.finished
            assert h.log_probability == pytest.approx(forced(model, *one, h.tokens, h.finished), abs=1e-4)
            assert h.score == pytest.approx(h.log_probability / length_penalty(length, 0.8), abs=1e-5)
    assert kinds == {True, False}


@pytest.mark.parametrize("beam", [1, 3])
def test_finished_sentences_leave_the_batch(beam):
    model, (source, lengths) = Toy(vocabulary=12, seed=2, eos=-2.0), batch(2, 5, 9, 3, 7, 4)
    alone = []
    for row in range(len(lengths)):
        model.rows.clear()
        search(model, source[row : row + 1], lengths[row : row + 1], beam=beam, max_length=20)
        alone.append(len(model.rows))
    assert len(set(alone)) > 2
    model.rows.clear()
    search(model, source, lengths, beam=beam, max_length=20)
    living = [sum(steps > step for steps in alone) for step in range(max(alone))]
    assert model.rows == [living[0], *(beam * count for count in living[1:])]


@pytest.mark.parametrize("eos", [-2.0, -13.0])  # -13: some end before, some after the limit of the others
def test_a_sentence_that_is_done_but_still_in_the_batch_is_left_as_it_was(monkeypatch, eos):
    model, (source, lengths) = Toy(vocabulary=12, seed=2, eos=eos), batch(2, 5, 9, 3, 7, 4)
    prompt = search(model, source, lengths, beam=3, nbest=3)
    monkeypatch.setattr("seq2seq.decoding.search.LEAVE_AT", 1.0)  # nobody leaves before all are done
    late = search(model, source, lengths, beam=3, nbest=3)
    assert all(agree(*pair) for pair in zip(late, prompt, strict=True))


@pytest.mark.parametrize("beam", [1, 4])
def test_the_limit_of_each_sentence_holds_and_marks_what_it_cuts(beam):
    model, (source, lengths) = Toy(vocabulary=12, eos=-99.0), batch(2, 30, 9)
    for max_length in (1, 7, 35, 200):
        results = search(model, source, lengths, beam=beam, nbest=beam, max_length=max_length)
        for size, found in zip(lengths.tolist(), results, strict=True):
            assert len(found) == beam
            for h in found:
                assert not h.finished
                assert len(h.tokens) == min(max_length, LENGTH_FACTOR * size + LENGTH_EXTRA)
                assert h.score == pytest.approx(h.log_probability / length_penalty(len(h.tokens), 0.6))


@pytest.mark.parametrize("vocabulary", [4, 5, 7])
def test_a_beam_wider_than_the_vocabulary_gives_each_hypothesis_once(vocabulary):
    model, (source, lengths) = Toy(vocabulary=vocabulary), batch(3, 5)
    for found in search(model, source, lengths, beam=40, nbest=40, max_length=2):
        finished = {tuple(h.tokens) for h in found if h.finished}
        assert finished == set(every_sentence(vocabulary, 2))
        assert len(found) == len(finished) + (vocabulary - 4) ** 2  # and those that two words cut off


@pytest.mark.parametrize("beam", [1, 4])
def test_a_model_that_ends_at_once_gives_the_empty_hypothesis_in_one_step(beam):
    model, (source, lengths) = Toy(eos=99.0), batch(3, 5)
    for (best,) in search(model, source, lengths, beam=beam):
        assert best == Hypothesis([], pytest.approx(0, abs=1e-5), pytest.approx(0, abs=1e-5), True)
    assert len(model.rows) == 1


@pytest.mark.parametrize("beam", [1, 5])
def test_padding_unknown_and_begin_are_never_generated_but_keep_their_share_of_probability(beam):
    model, (source, lengths) = Toy(), batch(3, 5)
    model.bias[:EOS] = 5.0
    for row, found in enumerate(search(model, source, lengths, beam=beam, nbest=beam, max_length=9)):
        for h in found:
            assert all(token > EOS for token in h.tokens)
            one = source[row : row + 1, : lengths[row]], lengths[row : row + 1]
            assert h.log_probability == pytest.approx(forced(model, *one, h.tokens, h.finished), abs=1e-4)


@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize(
    ("token", "value", "message"),
    [
        (PAD, "nan", "not a number"),
        (5, "nan", "not a number"),
        (EOS, "inf", "not a number"),
        (PAD, "inf", "not a number"),
        (PAD, "3e38", "probability 0"),
    ],
)
def test_logits_that_are_not_numbers_are_an_error_and_never_a_hang(beam, token, value, message):
    model = Toy()
    if value == "3e38":
        model.bias.fill_(-3e38)  # so far below that it is infinitely less likely
    model.bias[token] = float(value)
    with pytest.raises(UserError, match=message):
        search(model, *batch(3, 5), beam=beam)


@pytest.mark.parametrize("beam", [1, 3])
def test_search_leaves_the_logits_of_the_model_as_they_are(beam):
    model, table = Toy(), torch.randn(8, 7)
    before = table.clone()
    model.project = lambda features: table[: len(features)]
    search(model, *batch(3, 5), beam=beam, max_length=4)
    assert torch.equal(table, before)


def test_no_sentences_give_no_results():
    assert search(Toy(), torch.empty(0, 4, dtype=torch.long), torch.empty(0, dtype=torch.long)) == []


@pytest.mark.parametrize(
    "settings",
    [
        {"beam": 0},
        {"nbest": 2},
        {"nbest": 0},
        {"max_length": 0},
        {"alpha": -0.1},
        {"alpha": float("nan")},
        {"coverage": -1.0},
    ],
)
def test_settings_that_make_no_sense_are_one_clear_line(settings):
    with pytest.raises(UserError, match=next(iter(settings))):
        search(Toy(), *batch(3), **settings)


def test_a_coverage_penalty_without_attention_is_refused():
    model = Toy()
    model.step = lambda *arguments: (lambda features, _, state: (features, None, state))(*Toy.step(model, *arguments))
    with pytest.raises(UserError, match="no attention"):
        search(model, *batch(3), beam=2, coverage=0.2)


def test_a_coverage_penalty_can_turn_the_choice():
    model, (source, lengths) = Toy(vocabulary=9, seed=1, eos=-2.0), batch(4, 6, 7)
    plain = search(model, source, lengths, beam=5, max_length=10)
    covering = search(model, source, lengths, beam=5, max_length=10, coverage=5.0)
    assert [best.tokens for (best,) in plain] != [best.tokens for (best,) in covering]


@pytest.mark.parametrize("count", [1, 3, 6, 10])
@pytest.mark.parametrize("width", [1, 3, 5])
@pytest.mark.parametrize("size", [7, 64, 65, 200, 385, 700, 1000])
def test_the_largest_of_a_sentence_are_those_of_topk(size, count, width):
    torch.manual_seed(size)
    scores, base = torch.randn(6, width, size), torch.randn(6, width)
    scores[1] = torch.arange(size)  # all in the last blocks
    scores[2], base[2] = 1.0, 0.0  # ties
    scores[3, :, 2:] = -math.inf
    base[4, 1:] = -math.inf
    base[5] = -math.inf  # a sentence that is done
    count = min(count, width * size)
    values, beams, columns = largest(scores, base, count)
    expected = base[..., None] + scores  # (A, K, V)
    assert torch.equal(values, expected.flatten(1).topk(count)[0])
    assert torch.equal(expected[torch.arange(6)[:, None], beams, columns], values)
    assert all(len(set(row)) == count for row in (beams * size + columns)[:5].tolist())


def test_a_number_that_is_none_is_not_overlooked():
    scores = torch.zeros(2, 1, 300)
    scores[1, 0, 250] = math.nan
    assert largest(scores, torch.zeros(2, 1), 1)[0].isnan().flatten().tolist() == [False, True]
