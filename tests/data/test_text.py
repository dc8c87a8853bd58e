import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2seq.data.text import normalise, words


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
def test_all_spellings_of_vietnamese_letters_become_one(form):
    sentence = "Tiếng Việt thường được viết bằng nhiều cách"
    assert normalise(unicodedata.normalize(form, sentence)) == sentence


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("\ufeffxin chào", "xin chào"),  # byte order mark
        ("a\u200bb\u200dc\u00add", "abcd"),  # zero-width space, joiner, soft hyphen
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
