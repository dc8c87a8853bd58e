"""Lines of text as they come in practice: most are sentences of the built-in grammar, a tenth is damaged.

The same count and seed give the same bytes:  python tests/damaged_lines.py 100000 > lines.txt
"""

import random
import sys
import unicodedata
from collections.abc import Callable, Iterator
from typing import NamedTuple

from seq2seq.data import grammar

SHARE = 0.1  # of damaged lines
LONG, VERY_LONG = 300, 20_000  # words of a line that is too long, and of a few of them
SPACES = "\t\x0b\x0c\r\x1c\x1d\x1e\x85\u00a0\u2003\u2028\u2029\u3000 "
CONTROLS = "\x00\x01\x07\x08\x1b\x7f\x80\x9f"
NO_WIDTH = "\u200b\u200c\u200d\u2060\u00ad\ufeff\u200e\u202e\u2066"
FOREIGN = ["สวัสดีชาวโลก", "今日は東京へ行きます。", "Привет, как дела?", "नमस्ते दुनिया", "Ὦ ξεῖν᾽ ἀγγέλλειν", "ሰላም"]
RIGHT_TO_LEFT = ["שלום, מה שלומך היום?", "مرحبا بالعالم، كيف حالك؟"]
EMOJI = ["🙂", "👩‍🚀", "🇻🇳", "❤️", "👍🏽", "🏴󠁧󠁢󠁥󠁮󠁧󠁿"]
NOT_UTF8 = [
    b"\xff",
    b"\xe1\xba",
    b"\x80",
    b"\xc0\xaf",
    b"\xed\xa0\x80",
    b"\xf8\x88\x80\x80\x80",
    "ế".encode("utf-16-be"),
]
SYMBOLS = ["<s>", "</s>", "<unk>", "<pad>", "<0x0A>", "▁", "|||", "&lt;b&gt;", '"', "\\n", "{}", "\ufffd"]


class Line(NamedTuple):
    """content: without the line feed that ends it. damage: what was done to it, None for a clean sentence."""

    content: bytes
    damage: str | None


def _between(sentence: str, inserts: str | list[str], draw: random.Random) -> str:
    """The sentence with something put in at three places."""
    for _ in range(3):
        place = draw.randrange(len(sentence) + 1)
        sentence = sentence[:place] + draw.choice(inserts) + sentence[place:]
    return sentence


def _not_utf8(sentence: str, draw: random.Random) -> bytes:
    place = draw.randrange(len(sentence) + 1)
    return sentence[:place].encode() + draw.choice(NOT_UTF8) + sentence[place:].encode()


def _long(sentence: str, draw: random.Random) -> str:
    count = VERY_LONG if draw.random() < 0.02 else LONG
    return " ".join((sentence.split() * count)[:count])


DAMAGES: dict[str, Callable[[str, random.Random], str | bytes]] = {
    "empty": lambda sentence, draw: "",
    "white space": lambda sentence, draw: "".join(draw.choices(SPACES, k=5)),
    "long": _long,
    "long without a stop": lambda sentence, draw: " ".join((sentence.replace(".", "").split() * LONG)[:LONG]),
    "endless word": lambda sentence, draw: sentence.replace(" ", "") * 20,
    "not UTF-8": _not_utf8,
    "latin-1": lambda sentence, draw: f"{sentence} déjà vu à Huế".encode("latin-1", "ignore"),
    "random bytes": lambda sentence, draw: draw.randbytes(60).replace(b"\n", b"\0"),
    "byte-order mark": lambda sentence, draw: "\ufeff" + sentence,
    "carriage return at the end": lambda sentence, draw: sentence + "\r",
    "other line ends inside": lambda sentence, draw: _between(sentence, SPACES, draw),
    "control characters": lambda sentence, draw: _between(sentence, CONTROLS, draw),
    "decomposed": lambda sentence, draw: unicodedata.normalize("NFD", f"{sentence} Tiếng Việt rất đẹp."),
    "no width": lambda sentence, draw: _between(sentence, NO_WIDTH, draw),
    "emoji": lambda sentence, draw: _between(sentence, EMOJI, draw),
    "right to left": lambda sentence, draw: draw.choice([sentence + " ", ""]) + draw.choice(RIGHT_TO_LEFT),
    "another language": lambda sentence, draw: draw.choice(FOREIGN),
    "symbols": lambda sentence, draw: _between(sentence, SYMBOLS, draw),
    "marks": lambda sentence, draw: _between(sentence, ["\u0301\u0323\u0302" * 20], draw),
}


def damaged_lines(count: int, seed: int = 0) -> Iterator[Line]:
    """``count`` lines, all kinds of damage among them if there are some hundreds."""
    draw = random.Random(seed)
    kinds = list(DAMAGES)
    for pair in grammar.generate(seed, train=count, validation=0, test=0)["train"]:
        if draw.random() >= SHARE:
            yield Line(pair.source.encode(), None)
            continue
        kind = draw.choice(kinds)
        content = DAMAGES[kind](pair.source, draw)
        yield Line(content.encode() if isinstance(content, str) else content, kind)


if __name__ == "__main__":
    for line in damaged_lines(int(sys.argv[1])):
        sys.stdout.buffer.write(line.content + b"\n")
