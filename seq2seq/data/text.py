"""The one place where text is normalised: corpora, what is typed, and what a model writes all pass here.

One Vietnamese letter has several spellings in Unicode (``ế`` is one code point or two or three). They look alike
and compare unequal, so every line is brought to NFC (Unicode Standard Annex 15), and what nobody sees is removed.
"""

import re
import unicodedata

# Control characters that are no white space, lone surrogates, and characters of no width: soft hyphen, joiners,
# direction marks, byte order mark. They would make equal words unequal. (`re` needs escapes, not the characters.)
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ud800-\udfff]"
)
_WORD_MARK = "\u2581"  # SentencePiece writes a space as this block; as a character of the text it would be a space


def normalise(line: str) -> str:
    """Bring one line to its only spelling: NFC, nothing invisible, single spaces, none at the ends.

    Every kind of white space (tabs, no-break space, a lone carriage return) counts as a space. The lower block
    ``▁`` becomes ``_``, because SentencePiece means a space by it. Normalising twice changes nothing.
    """
    visible = _INVISIBLE.sub("", line).replace(_WORD_MARK, "_")
    return " ".join(unicodedata.normalize("NFC", visible).split())


def words(line: str) -> list[str]:
    """The words of a line, as the length buckets and alignments count them: what stands between white space."""
    return line.split()
