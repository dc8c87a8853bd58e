"""Values of systems against ones computed by hand, and against sacreBLEU on the same sentences."""

import statistics

import numpy as np
import pytest
import tiny
from sacrebleu.metrics import BLEU
from written import TEST, run

from seq2seq.aligner import align
from seq2seq.compare.runs import Store, System
from seq2seq.compare.scores import (
    alignment_errors,
    counts,
    curve,
    describe,
    length_starts,
    long_bleu,
    mean_of,
    median_run,
    paired,
    score_run,
)
from seq2seq.compare.testset import TestSet
from seq2seq.errors import UserError
from seq2seq.evaluation.links import Gold, alignment_error_rate

BAD = ["Con mèo ngủ ở đâu đó.", *tiny.VIETNAMESE[1:]]
WORSE = ["Con mèo ngủ ở đâu đó.", "Cô ấy đọc ba cái gì đó.", *tiny.VIETNAMESE[2:]]


def scored(tmp_path, *outputs):
    return [
        score_run(run(tmp_path / str(seed), seed=seed, hypotheses=lines), TEST) for seed, lines in enumerate(outputs, 1)
    ]


def test_scores_of_the_run_s_own_test_are_taken_from_it(tmp_path):
    (one,) = scored(tmp_path, BAD)
    assert one.values["bleu"] == pytest.approx(BLEU().corpus_score(BAD, [tiny.VIETNAMESE]).score)
    assert one.values["sentences_per_second"] == 2.0  # four in two seconds
    assert set(one.values) == {"bleu", "chrf", "ter", "length_ratio", "sentences_per_second"}


def test_output_that_is_not_what_was_scored_is_found_out(tmp_path):
    one = run(tmp_path, hypotheses=BAD)
    one.hypotheses = list(tiny.VIETNAMESE)
    with pytest.raises(UserError, match=r"test.hyp has BLEU 100.00, metrics.json \d\d"):
        score_run(one, TEST)
    one.hypotheses = BAD[:3]
    with pytest.raises(UserError, match="3 translations of 4 sentences"):
        score_run(one, TEST)


def test_on_other_sentences_the_checkpoint_translates(tmp_path):
    one = run(tiny.write_run(tmp_path / "run", "rnn"))
    files = TestSet("talks.en", tiny.ENGLISH[:2], tiny.VIETNAMESE[:2], split=False)
    found = score_run(one, files)
    assert found.hypotheses == one.translate(tiny.ENGLISH[:2])[0]
    assert found.values["bleu"] == pytest.approx(BLEU().corpus_score(found.hypotheses, [tiny.VIETNAMESE[:2]]).score)
    assert found.values["sentences_per_second"] > 0


def test_several_runs_are_their_mean_and_the_deviation_of_a_sample(tmp_path):
    runs = scored(tmp_path, tiny.VIETNAMESE, BAD, WORSE)
    row = describe(System("rnn", [one.run for one in runs]), runs)
    values = [one.values["bleu"] for one in runs]
    assert row["bleu"] == {"mean": sum(values) / 3, "sd": statistics.stdev(values), "values": values}
    assert (row["seeds"], row["parameters"], row["epochs"]["mean"]) == ([1, 2, 3], 1000, 2)
    assert row["train_seconds"] == {"mean": 90.0, "sd": 0.0, "values": [90.0] * 3}
    assert row["median_run"] == str(tmp_path / "2")


def test_the_mean_of_one_has_no_deviation_and_of_a_gap_there_is_none():
    assert mean_of([2.0]) == {"mean": 2.0, "sd": None, "values": [2.0]}
    assert mean_of([1.0, 3.0])["sd"] == pytest.approx(2**0.5)
    assert mean_of([1.0, None]) is None
    assert mean_of([]) is None


def test_the_median_run_is_the_lower_of_two(tmp_path):
    first, second, third = scored(tmp_path, WORSE, tiny.VIETNAMESE, BAD)
    assert median_run([first, second, third]) is third
    assert median_run([second, third]) is third


def test_a_curve_is_the_mean_between_lowest_and_highest_or_one_runs_interval(tmp_path):
    runs, lengths = scored(tmp_path, BAD, tiny.VIETNAMESE, WORSE), TEST.lengths("source")
    assert lengths.tolist() == [6, 5, 5, 3]
    starts, pooled = length_starts(lengths, {"edges": [1, 6], "quantiles": None, "smallest": 1})
    assert (starts, pooled) == ([1, 6], False)
    values = [BLEU().corpus_score(one.hypotheses[1:], [tiny.VIETNAMESE[1:]]).score for one in runs]
    point = curve(runs, lengths, starts, over_seeds=True)[0]
    assert (point.bleu, point.interval_low) == (pytest.approx(np.mean(values)), pytest.approx(min(values)))
    assert (point.interval_high, point.sentences) == (pytest.approx(max(values)), 3)
    point = curve(runs, lengths, starts, over_seeds=False)[0]
    assert point.bleu == values[0]  # the median run's


def test_small_buckets_are_pooled_and_it_is_said():
    options = {"edges": [1, 6], "quantiles": None, "smallest": 2}
    assert length_starts(TEST.lengths("source"), options) == ([1], True)
    assert length_starts(TEST.lengths("source"), options | {"edges": [1]}) == ([1], False)


def test_lengths_can_be_the_references():
    assert TEST.lengths("reference").tolist() == [5, 7, 7, 3]
    with pytest.raises(UserError, match="length=target: choose source or reference"):
        TEST.lengths("target")


def test_long_sentences_are_pooled_and_a_handful_has_no_score(tmp_path):
    runs = scored(tmp_path, BAD)
    lengths = np.array([40, 39, 65, 3])
    expected = BLEU().corpus_score([BAD[0], BAD[2]], [[tiny.VIETNAMESE[0], tiny.VIETNAMESE[2]]]).score
    assert long_bleu(runs, lengths, 2)["mean"] == pytest.approx(expected)
    assert long_bleu(runs, lengths, 3) is None


def test_counts_and_paired_tests_are_kept(tmp_path, monkeypatch):
    one, other = scored(tmp_path, BAD, tiny.VIETNAMESE)
    found = paired(one, other, TEST, Store(tmp_path / "cache"))
    table = counts(one.run.store, BAD, tiny.VIETNAMESE)
    for name in ("paired_tests", "sentence_statistics"):
        monkeypatch.delattr(f"seq2seq.compare.scores.{name}")
    assert paired(one, other, TEST, Store(tmp_path / "cache")) == found
    assert np.array_equal(counts(one.run.store, BAD, tiny.VIETNAMESE), table)
    assert paired(one, other, TEST, Store(tmp_path / "cache"))["bleu"] == pytest.approx(one.values["bleu"])


def test_alignment_errors_are_of_both_conventions_and_none_without_attention(tmp_path):
    links = [frozenset({(0, 0), (1, 1), (2, 2)})] * 4
    gold = [Gold(one, one) for one in links]
    test = TestSet("a test", tiny.ENGLISH, tiny.VIETNAMESE, True, 6, gold)
    attending, blind = (run(tiny.write_run(tmp_path / name, name), name) for name in ("luong", "rnn"))
    found = alignment_errors(attending, test, -1, "mean")
    for convention in ("generated", "shifted"):
        made = align(attending.translator, tiny.ENGLISH, tiny.VIETNAMESE, convention=convention)
        assert found[convention] == alignment_error_rate(made, gold).as_dict()
    assert alignment_errors(blind, test, -1, "mean") is None
    assert alignment_errors(attending, TEST, -1, "mean") is None  # no gold
