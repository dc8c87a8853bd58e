import random

import numpy as np
import pytest
import sacrebleu
from sacrebleu.metrics import BLEU

from seq2seq.errors import UserError
from seq2seq.evaluation.length import bleu_by_length, bucket_starts, sentence_bleu, sentence_statistics


def corpus(lengths, seed=0):
    """Sources of the given lengths, references of the same words, hypotheses with a quarter of the words wrong."""
    draw = random.Random(seed)
    references = [[f"w{draw.randrange(40)}" for _ in range(n)] for n in lengths]
    hypotheses = [[word if draw.random() < 0.75 else "sai" for word in words] for words in references]
    join = [" ".join(words) for words in references]
    return join, [" ".join(words) for words in hypotheses], join


MIXED = [1, 5, 9, 10, 14, 19, 20, 29, 35, 49, 50, 64] * 3


def test_bucket_bleu_is_sacrebleu_on_the_sentences_of_the_bucket():
    sources, hypotheses, references = corpus(MIXED)
    buckets = bleu_by_length(sources, hypotheses, references, bootstrap=10)
    assert [(b.low, b.high) for b in buckets] == [(1, 9), (10, 19), (20, 29), (30, 39), (40, 49), (50, None)]
    for bucket in buckets:
        rows = [i for i, n in enumerate(MIXED) if bucket.low <= n <= (bucket.high or n)]
        expected = BLEU().corpus_score([hypotheses[i] for i in rows], [[references[i] for i in rows]])
        assert bucket.sentences == len(rows)
        assert bucket.bleu == expected.score


def test_bucket_without_a_right_4_gram_is_smoothed_as_sacrebleu_does():
    (bucket,) = bleu_by_length(["a b c d"], ["a b c x"], ["a b c d"], bootstrap=1)
    assert bucket.bleu == BLEU().corpus_score(["a b c x"], [["a b c d"]]).score > 0


def test_interval_is_as_wide_as_the_one_sacrebleu_computes():
    sources, hypotheses, references = corpus([12] * 30)
    (bucket,) = bleu_by_length(sources, hypotheses, references, bootstrap=200)
    expected = BLEU().corpus_score(hypotheses, [references], n_bootstrap=200)
    assert (bucket.interval_high - bucket.interval_low) / 2 == pytest.approx(expected._ci, rel=1e-4)
    assert 0 < bucket.interval_low < bucket.bleu < bucket.interval_high < 100


def test_bootstrap_depends_on_the_seed_alone():
    sources, hypotheses, references = corpus(MIXED)
    random.seed(1)
    first = bleu_by_length(sources, hypotheses, references, bootstrap=50, seed=3)
    random.seed(2)
    assert bleu_by_length(sources, hypotheses, references, bootstrap=50, seed=3) == first
    assert bleu_by_length(sources, hypotheses, references, bootstrap=50, seed=4) != first


def test_length_is_counted_in_words_of_the_source():
    (bucket,) = bleu_by_length(
        ["a  b\tc"], ["một hai ba bốn năm"], ["một hai ba bốn năm"], edges=(1, 3, 4), bootstrap=1
    )
    assert (bucket.low, bucket.high, bucket.sentences) == (3, 3, 1)


def test_perfect_output_of_short_sentences_scores_100():
    texts = ["Vâng", "Xin chào", "Cảm ơn bạn"]
    (bucket,) = bleu_by_length(texts, texts, texts, bootstrap=50)
    assert (bucket.bleu, bucket.interval_low, bucket.interval_high) == pytest.approx((100, 100, 100))


def test_resamples_of_short_sentences_only_keep_perfect_output_at_100():
    texts = ["Vâng", "Tôi ở nhà hôm nay"]
    (bucket,) = bleu_by_length(texts, texts, texts, bootstrap=50)
    assert bucket.interval_low == pytest.approx(100)


def test_short_output_for_long_references_gets_no_relief():
    (bucket,) = bleu_by_length(["a b c d e"], ["một hai"], ["một hai ba bốn năm"], bootstrap=10)
    assert bucket.bleu == 0


def test_one_sentence_is_its_own_interval():
    (bucket,) = bleu_by_length(["a b c d e f"], ["a b c d x f"], ["a b c d e f"], bootstrap=10)
    assert bucket.sentences == 1
    assert bucket.interval_low == bucket.bleu == bucket.interval_high > 0


def test_empty_buckets_are_left_out():
    buckets = bleu_by_length(*corpus([5, 55]), bootstrap=10)
    assert [(b.low, b.high, b.sentences) for b in buckets] == [(1, 9, 1), (50, None, 1)]


def test_empty_hypotheses_score_0():
    sources, _, references = corpus(MIXED)
    buckets = bleu_by_length(sources, [""] * len(sources), references, bootstrap=10)
    assert {(b.bleu, b.interval_low, b.interval_high) for b in buckets} == {(0, 0, 0)}


def test_sentences_below_the_first_edge_get_a_bucket_of_their_own():
    buckets = bleu_by_length(["", "a b"], ["x", "y"], ["x", "y"], bootstrap=10)
    assert [(b.low, b.high, b.sentences) for b in buckets] == [(0, 0, 1), (1, 9, 1)]


@pytest.mark.parametrize("quantiles", [1, 3, 6, 100])
def test_quantile_buckets_hold_every_sentence_once(quantiles):
    buckets = bleu_by_length(*corpus(MIXED), quantiles=quantiles, bootstrap=1)
    assert sum(b.sentences for b in buckets) == len(MIXED)
    assert [b.high for b in buckets[:-1]] == [b.low - 1 for b in buckets[1:]]
    assert (buckets[0].low, buckets[-1].high) == (min(MIXED), None)
    assert len(buckets) == min(quantiles, len(set(MIXED)))


def test_quantile_buckets_are_of_equal_size_where_lengths_differ():
    buckets = bleu_by_length(*corpus(range(1, 61)), quantiles=6, bootstrap=1)
    assert [b.sentences for b in buckets] == [10] * 6


def test_equal_lengths_make_one_quantile_bucket():
    (bucket,) = bleu_by_length(*corpus([7] * 10), quantiles=4, bootstrap=1)
    assert (bucket.low, bucket.high, bucket.sentences) == (7, None, 10)


def test_dictionary_has_the_keys_of_the_json_file():
    bucket = bleu_by_length(*corpus(MIXED), bootstrap=10)[-1]
    assert bucket.as_dict() == {
        "from": 50,
        "to": None,
        "sentences": 6,
        "bleu": bucket.bleu,
        "low": bucket.interval_low,
        "high": bucket.interval_high,
    }
    assert bucket.label == "50+"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"edges": (10, 5)}, "increasing"),
        ({"edges": ()}, "increasing"),
        ({"quantiles": 0}, "quantile"),
        ({"bootstrap": 0}, "resamples"),
    ],
)
def test_impossible_settings_are_errors(settings, message):
    with pytest.raises(UserError, match=message):
        bleu_by_length(*corpus([5]), **settings)


def test_unequal_lengths_are_errors():
    with pytest.raises(UserError, match="2 source lines but 1 references"):
        bleu_by_length(["a", "b"], ["x"], ["x"])
    with pytest.raises(UserError, match=r"1 hypotheses .* 2 references"):
        bleu_by_length(["a", "b"], ["x"], ["x", "y"])


def test_small_buckets_are_pooled_with_their_smaller_neighbour():
    lengths = np.repeat([5, 12, 25, 35, 45, 60], [30, 40, 50, 3, 10, 4])
    assert bucket_starts(lengths) == [1, 10, 20, 30, 40, 50]
    # 3 of 30–39 go to the 10 of 40–49 (smaller than the 50 before), the 4 of 50+ to these 13, and 17 to the 50
    assert bucket_starts(lengths, smallest=5) == [1, 10, 20, 30]
    assert bucket_starts(lengths, smallest=20) == [1, 10, 20]
    assert bucket_starts(lengths, smallest=1000) == [1]


def test_an_empty_bucket_is_pooled_too():
    lengths = np.repeat([5, 45], [30, 30])
    assert bucket_starts(lengths, smallest=20) == [1, 40]
    assert bucket_starts(lengths, (1, 10, 20, 50), smallest=20) == [1, 20]


def test_a_sentence_alone_has_sacrebleus_sentence_score():
    hypotheses, references = ["the cat sat", "a dog runs in rain"], ["the cat sat down", "a dog runs in the rain"]
    expected = [sacrebleu.sentence_bleu(one, [other]).score for one, other in zip(hypotheses, references, strict=True)]
    assert sentence_bleu(sentence_statistics(hypotheses, references)) == pytest.approx(expected)
