"""How two sentences are built side by side: phrases of linked tokens, and templates that join them.

A token carries the number of the meaning node that it expresses (0: none). Two tokens of the two languages are aligned
exactly when they express the same node, so the gold alignment follows from the construction. In a template, `word#1`
marks the words of local node 1; `a_b#1` is two words of one node; `{x}` is the place of a part.
"""

import random
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from seq2seq.data.grammar_words import Entry, partners


class Token(NamedTuple):
    text: str
    node: int


@dataclass(slots=True)
class Phrase:
    """A piece of the two sentences. `used` are names of entries and constructions, `agreement` is I, sg or pl."""

    english: list[Token]
    vietnamese: list[Token]
    used: list[str]
    agreement: str = "sg"
    heavy: bool = False  # holds a clause: nothing that Vietnamese would move may follow it

    def __len__(self) -> int:
        """Length in English words; punctuation is attached to words and does not count."""
        return sum(token.text not in PUNCTUATION for token in self.english)


PUNCTUATION = {",", ";", ":", ".", "?", "!"}


@cache
def _parse(template: str) -> tuple[tuple[str, str, int], ...]:
    """Splits a template into (part name, "", 0) and ("", word, local node) items."""
    items = []
    for piece in template.split():
        if piece[0] == "{":
            items.append((piece[1:-1], "", 0))
            continue
        text, _, node = piece.partition("#")
        items.extend(("", word, int(node or 0)) for word in text.split("_"))
    return tuple(items)


class State:
    """The generator's state: random numbers, decks of entries, who speaks to whom, and which split is being made.

    Only `random()` and `randrange()` are drawn from `random.Random`, whose sequences Python promises to keep.
    """

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.node = 0
        self.testing = False
        self.wealth = 0.3  # chance of an optional part
        self.timeless = False  # whether the clause in the making may not name its time
        self.speakers: set[str] = set()  # pronouns of the clause in the making
        self.set_addressee("tôi", "bạn", "")

    def set_addressee(self, first: str, second: str, unnamed: str) -> None:
        """Settles the Vietnamese for I and you, and the kin that this speaker does not also name."""
        self.first, self.second, self.unnamed = first, second, unnamed.split()
        self.we = f"chúng {first}"

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def rich(self, share: float = 1.0) -> bool:
        """Chance of an optional part, which grows with the length that is wanted."""
        return self.random.random() < self.wealth * share

    def pick(self, items):
        """One of a sequence; of many lexical entries the earlier ones more often: words are not equally frequent.

        The fourth power of a uniform number (products are exact everywhere, powers are not) makes the density fall as
        rank to the power −3/4.
        """
        if len(items) > 7 and isinstance(items[0], Entry):
            uniform = self.random.random()
            return items[int(len(items) * (uniform * uniform * uniform * uniform))]
        return items[self.random.randrange(len(items))]

    def weighted(self, table):
        """One of a sequence of (weight, item)."""
        point = self.random.random() * sum(weight for weight, _ in table)
        for weight, item in table:
            point -= weight
            if point < 0:
                return item
        return table[-1][1]

    def partner(self, first: Entry, entries: tuple[Entry, ...], swap: bool = False) -> Entry | None:
        """An entry to combine with `first`: never a held-out one in training, often one when the test is made."""
        held = partners(first, entries, swap, True) if self.testing else ()
        if held and self.chance(0.2):
            return self.pick(held)
        allowed = entries if self.testing else partners(first, entries, swap, False)
        return self.pick(allowed) if allowed else None

    def build(self, name: str, english: str, vietnamese: str, agreement: str = "sg", **parts: Phrase) -> Phrase:
        """Fills a pair of templates; `name` (may be empty) is the construction's name in the counts."""
        base = self.node
        self.node += 10
        used = [name] if name else []
        for part in parts.values():
            used.extend(part.used)
        heavy = any(part.heavy for part in parts.values())
        phrase = Phrase([], [], used, agreement, heavy)
        for template, tokens, side in ((english, phrase.english, 0), (vietnamese, phrase.vietnamese, 1)):
            for part, word, node in _parse(template):
                if part:
                    tokens.extend(parts[part].vietnamese if side else parts[part].english)
                else:
                    tokens.append(Token(word, base + node if node else 0))
        return phrase

    def word(self, name: str, english: str, vietnamese: str, agreement: str = "sg") -> Phrase:
        """Words that express one node together: every English token is aligned with every Vietnamese one."""
        self.node += 10
        node = self.node - 1
        return Phrase(
            [Token(text, node) for text in english.split()],
            [Token(text, node) for text in vietnamese.split()],
            [name] if name else [],
            agreement,
        )

    def entry(self, entry: Entry) -> Phrase:
        return self.word(entry.name, entry.english, entry.vietnamese)


def _attach(tokens: list[Token]) -> tuple[list[str], list[int]]:
    """Glues punctuation to the word before it and capitalises the first word; returns words and their nodes."""
    words: list[str] = []
    nodes: list[int] = []
    for token in tokens:
        if token.text in PUNCTUATION:
            words[-1] = words[-1].rstrip(",") + token.text
        else:
            words.append(token.text)
            nodes.append(token.node)
    words[0] = words[0][0].upper() + words[0][1:]
    return words, nodes


def _articles(words: list[str]) -> list[str]:
    """Puts "an" for "a" before a vowel sound."""
    result = list(words)
    for position, word in enumerate(words[:-1]):
        following = words[position + 1]
        vowel = following[0].lower() in "aeiou" and not following.startswith(("useful", "uni", "European"))
        if word.lower() == "a" and (vowel or following.startswith(("honest", "hour", "eighteen"))):
            result[position] = word + "n"
    return result


def realise(phrase: Phrase) -> tuple[str, str, str]:
    """The two sentences as raw text and the alignment `i-j i-j ...` over their whitespace tokens."""
    english, english_nodes = _attach(phrase.english)
    vietnamese, vietnamese_nodes = _attach(phrase.vietnamese)
    places: dict[int, list[int]] = {}
    for position, node in enumerate(vietnamese_nodes):
        places.setdefault(node, []).append(position)
    links = [f"{i}-{j}" for i, node in enumerate(english_nodes) if node for j in places.get(node, ())]
    return " ".join(_articles(english)), " ".join(vietnamese), " ".join(links)
