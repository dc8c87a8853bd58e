import numpy as np
import pytest

from seq2seq.evaluation.alignment import caption, merge_pieces

SOURCE = ["▁The", "▁tea", "cher", "</s>"]
TARGET = ["▁Cô", "▁gi", "áo", "</s>"]
WEIGHTS = np.array(
    [
        [0.7, 0.1, 0.1, 0.1],
        [0.1, 0.4, 0.3, 0.2],
        [0.1, 0.2, 0.3, 0.4],
        [0.0, 0.0, 0.1, 0.9],
    ]
)


def test_merging_by_hand():
    merged, source, target = merge_pieces(WEIGHTS, SOURCE, TARGET)
    assert source == ["The", "teacher", "</s>"]
    assert target == ["Cô", "giáo", "</s>"]
    np.testing.assert_allclose(merged, [[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.0, 0.1, 0.9]])


def test_rows_still_sum_to_1_after_merging():
    weights = np.random.default_rng(0).random((7, 9))
    weights /= weights.sum(1, keepdims=True)
    source = ["▁a", "b", "c", "▁d", "▁e", "f", "▁g", "h", "</s>"]
    target = ["▁m", "n", "▁o", "p", "q", "r", "</s>"]
    merged, source_words, target_words = merge_pieces(weights, source, target)
    assert merged.shape == (len(target_words), len(source_words)) == (3, 5)
    np.testing.assert_allclose(merged.sum(1), 1)


def test_whole_words_are_left_as_they_are():
    merged, source, _ = merge_pieces(WEIGHTS, ["▁a", "▁b", "▁c", "</s>"], ["▁x", "▁y", "▁z", "</s>"])
    np.testing.assert_array_equal(merged, WEIGHTS)
    assert source == ["a", "b", "c", "</s>"]


def test_end_of_sentence_is_never_glued_to_a_word():
    _, source, _ = merge_pieces(np.full((1, 3), 1 / 3), ["▁a", "</s>", "b"], ["</s>"])
    assert source == ["a", "</s>", "b"]


def test_a_lone_word_start_belongs_to_the_word_it_begins():
    merged, source, _ = merge_pieces(np.array([[0.2, 0.3, 0.5]]), ["▁", "ế", "▁b"], ["</s>"])
    assert source == ["ế", "b"]
    np.testing.assert_allclose(merged, [[0.5, 0.5]])


def test_byte_pieces_become_the_letter_they_spell():
    pieces = ["▁gi", *(f"<0x{byte:02X}>" for byte in "ữ".encode())]
    _, source, _ = merge_pieces(np.full((1, 4), 0.25), pieces, ["</s>"])
    assert source == ["giữ"]


def test_shape_that_is_not_target_by_source_is_an_error():
    with pytest.raises(ValueError, match=r"\(4, 4\)"):
        merge_pieces(WEIGHTS, SOURCE[:3], TARGET)


def test_caption_names_model_layer_head_and_end_column():
    assert caption("bahdanau", end_shown=True) == "bahdanau · one layer · one head · </s> shown"
    text = caption("transformer", -1, "max", end_shown=False, layers=4, heads=8)
    assert text == "transformer · layer 3 of 0–3 · maximum of 8 heads · </s> column left out, rows rescaled"
    assert "mean of 4 layers · head 0 of 0–7" in caption("transformer", "mean", 0, end_shown=True, layers=4, heads=8)
