import unicodedata

import pytest
import sacrebleu

from seq2seq.errors import UserError
from seq2seq.evaluation.bleu import score

REFERENCES = [
    "Con mèo đen ngồi trên cái bàn cũ.",
    "Cô giáo đã mua một quyển sách mới.",
    "Nếu trời mưa thì tôi ở nhà.",
]
HYPOTHESES = [
    "Con mèo đen nằm trên cái bàn cũ.",
    "Cô giáo mua một quyển sách.",
    "Nếu trời mưa thì tôi sẽ ở nhà.",
]


def test_identical_text_scores_100():
    scores = score(REFERENCES, REFERENCES)
    assert scores.bleu == pytest.approx(100)
    assert scores.chrf == pytest.approx(100)
    assert scores.ter == 0
    assert scores.length_ratio == 1


def test_scores_are_sacrebleu_on_one_reference_stream():
    scores = score(HYPOTHESES, REFERENCES)
    assert scores.bleu == sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES]).score
    assert scores.chrf == sacrebleu.corpus_chrf(HYPOTHESES, [REFERENCES]).score
    assert scores.ter == sacrebleu.corpus_ter(HYPOTHESES, [REFERENCES]).score
    assert scores.bleu < 90  # one list a sentence would have taken each character for a reference


def test_one_sentence_by_hand():
    # 6 tokens against 6: 5 unigrams, 3 of 5 bigrams, 2 of 4 trigrams, 1 of 3 four-grams are right.
    scores = score(["a b c d x f"], ["a b c d e f"])
    assert scores.bleu == pytest.approx(100 * (5 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** 0.25)
    assert scores.ter == pytest.approx(100 / 6)


def test_length_ratio_is_hypothesis_over_reference_tokens():
    assert score(["một hai ba"], ["một hai ba bốn"]).length_ratio == pytest.approx(3 / 4)


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_composed_and_decomposed_letters_score_the_same(form):
    hypotheses = [unicodedata.normalize(form, text) for text in HYPOTHESES]
    references = [unicodedata.normalize(form, text) for text in REFERENCES]
    expected = score(HYPOTHESES, REFERENCES)
    assert score(hypotheses, REFERENCES) == expected
    assert score(HYPOTHESES, references) == expected


def test_signatures_name_tokeniser_and_version():
    scores = score(HYPOTHESES, REFERENCES)
    assert "tok:13a" in scores.bleu_signature
    assert "nrefs:1" in scores.bleu_signature
    assert f"version:{sacrebleu.__version__}" in scores.bleu_signature
    assert "nc:6" in scores.chrf_signature


def test_without_ter_all_other_scores_stay():
    fast, full = score(HYPOTHESES, REFERENCES, with_ter=False), score(HYPOTHESES, REFERENCES)
    assert fast.ter is None
    assert (fast.bleu, fast.chrf, fast.length_ratio) == (full.bleu, full.chrf, full.length_ratio)


def test_empty_hypotheses_score_0():
    scores = score(["", ""], REFERENCES[:2])
    assert (scores.bleu, scores.chrf, scores.length_ratio) == (0, 0, 0)
    assert scores.ter == 100


def test_empty_references_do_not_crash():
    assert score(["xin chào"], [""]).length_ratio == 0


def test_one_line_too_few_is_an_error_that_names_both_counts():
    with pytest.raises(UserError, match=r"2 hypotheses .* 3 references"):
        score(HYPOTHESES[:2], REFERENCES)


def test_no_sentences_is_an_error():
    with pytest.raises(UserError, match="nothing to score"):
        score([], [])
