import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2seq.data.text import cut_line, normalise, words


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
def test_all_spellings_of_vietnamese_letters_become_one(form):
    sentence = "Tiếng Việt thường được viết bằng nhiều cách"
    assert normalise(unicodedata.normalize(form, sentence)) == sentence


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("\ufeffxin chào", "xin chào"),  # byte order mark
        ("a\u200bb\u200dc\u00add", "abcd"),  # zero-width space, joiner, soft hyphen
        ("a\u061cb\u034fc\ufff9", "abc"),  # Arabic letter mark, grapheme joiner, annotation
        ("a\u00a0b\tc\rd\u3000e\u2028f", "a b c d e f"),  # every white space is one
        ("  a  b \r\n", "a b"),
        ("a\x00\x07b\x1b", "ab"),
        ("a\ud800b", "ab"),  # half of a surrogate pair cannot be written as UTF-8
        ("snake▁case", "snake_case"),  # SentencePiece's space
        ("e\u200b\u0302\u0301", "ế"),  # marks compose once nothing stands between
        ("ﬁ … ①", "ﬁ … ①"),  # compatibility characters stay
        ("", ""),
    ],
)
def test_what_nobody_sees_is_removed(line, expected):
    assert normalise(line) == expected


@given(st.text(st.characters(codec=None)))
@settings(deadline=None)
def test_normalising_twice_changes_nothing_and_gives_one_writable_line(line):
    once = normalise(line)
    assert normalise(once) == once
    assert once.encode("utf-8").decode("utf-8") == once
    assert len(once.splitlines()) <= 1
    assert unicodedata.is_normalized("NFC", once)


def test_words_are_what_stands_between_white_space():
    assert words("Tôi yêu  tiếng Việt.") == ["Tôi", "yêu", "tiếng", "Việt."]
    assert words("") == []


def _cut(line, most):
    """The parts of a line, as text; every word counts 1."""
    parts = cut_line(line.split(), [1] * len(line.split()), most)
    return [" ".join(line.split()[part]) for part in parts]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("A b c. D e! F g h? I", ["A b c.", "D e!", "F g h?", "I"]),  # at every sentence end
        ('He said: "Go." (Why?) So…', ['He said: "Go."', "(Why?)", "So…"]),  # behind quotes and brackets
        ("a, b c, d e f g. H", ["a, b c,", "d e f g.", "H"]),  # at the last comma that fits
        ("a b c d e f", ["a b c d", "e f"]),  # else between words
        ("a b c, d e; f g h i", ["a b c,", "d e;", "f g h i"]),
        ("Mr. A. Dr. B went", ["Mr. A. Dr. B", "went"]),  # no sentence ends here
        ("it is 3. of 5 and e.g. this one", ["it is 3. of", "5 and e.g. this", "one"]),  # nor before a small letter
        ("", []),
    ],
)
def test_a_line_is_cut_at_sentences_else_clauses_else_words(line, expected):
    assert _cut(line, 4) == expected


@given(
    st.lists(st.tuples(st.sampled_from(["a", "B", "c,", "D.", "e!”", "Mr.", "f;"]), st.integers(1, 9)), max_size=30),
    st.integers(1, 12),
)
def test_parts_hold_every_word_once_in_order_and_are_no_longer_than_allowed(line, most):
    parts = cut_line([word for word, _ in line], [size for _, size in line], most)
    assert [pair for part in parts for pair in line[part]] == line
    for part in parts:
        assert part.stop > part.start
        assert part.stop - part.start == 1 or sum(size for _, size in line[part]) <= most
