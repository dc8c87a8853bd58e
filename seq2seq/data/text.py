"""The one place where text is normalised: corpora, what is typed, and what a model writes all pass here.

One Vietnamese letter has several spellings in Unicode (``ế`` is one code point or two or three). They look alike
and compare unequal, so every line is brought to NFC (Unicode Standard Annex 15), and what nobody sees is removed.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise

# Control characters that are no white space, lone surrogates, and characters of no width: soft hyphen, joiners,
# direction marks, byte order mark. They would make equal words unequal. (`re` needs escapes, not the characters.)
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064"
    "\u2066-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
_WORD_MARK = "\u2581"  # SentencePiece writes a space as this block; as a character of the text it would be a space


def normalise(line: str) -> str:
    """Bring one line to its only spelling: NFC, nothing invisible, single spaces, none at the ends.

    Every kind of white space (tabs, no-break space, a lone carriage return) counts as a space. The lower block
    ``▁`` becomes ``_``, because SentencePiece means a space by it. Normalising twice changes nothing.
    """
    visible = _INVISIBLE.sub("", line).replace(_WORD_MARK, "_")
    return " ".join(unicodedata.normalize("NFC", visible).split())


_CLOSING = r"[\"'”’»)\]]*$"
_SENTENCE_END = re.compile(r"[.!?…]" + _CLOSING)
_CLAUSE_END = re.compile(r"[,;:–—]" + _CLOSING)
_TITLE = re.compile(r"\W*(?:[A-ZĐ]|Mrs?|Ms|Dr|Prof|St)\.$")  # its full stop ends no sentence: `Mr. Smith`, `J. Smith`


def cut_line(words: Sequence[str], sizes: Sequence[int], most: int) -> list[slice]:
    """Where to cut a line that is too long: every sentence is a part; one that is itself too long is cut behind the
    last clause punctuation that leaves a part of at most ``most``, else behind the last word that does.

    sizes: of each word, in the unit of ``most``. A part of more than ``most`` is a single word.
    """
    ends = [
        number
        for number, (word, after) in enumerate(pairwise([*words, ""]), start=1)
        if not after or (_SENTENCE_END.search(word) and not _TITLE.match(word) and not after[0].islower())
    ]
    before = [0, *accumulate(sizes)]  # the size of all words in front of each
    parts, start = [], 0
    for end in ends:
        while before[end] - before[start] > most and end - start > 1:
            room = max(start + 1, bisect_right(before, before[start] + most) - 1)
            clauses = (stop for stop in range(room, start, -1) if _CLAUSE_END.search(words[stop - 1]))
            parts.append(slice(start, next(clauses, room)))
            start = parts[-1].stop
        if start < end:
            parts.append(slice(start, end))
        start = end
    return parts


def words(line: str) -> list[str]:
    """The words of a line, as the length buckets and alignments count them: what stands between white space."""
    return line.split()
