"""The built-in corpus: English–Vietnamese sentence pairs from a synchronous grammar, with gold word alignments.

Both sentences are made from one meaning, side by side, so the Vietnamese follows from the English alone, whole phrases
change places, and every alignment link is known. The same seed gives the same corpus everywhere.

Alignment: words are linked when they express the same thing, each English word of it with each Vietnamese one.
Classifier and plural marker (`những`, `các`) belong to the noun, a tense particle to the verb form or auxiliary that it
renders, both halves of `nếu ... thì` to "if", `của` to the word that carries 's. "the", "to" before a verb, and "than"
after a form in -er are linked to nothing. Punctuation is part of the word before it.
"""

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from seq2seq.data.grammar_core import State, realise
from seq2seq.data.grammar_sentences import sentence
from seq2seq.errors import UserError

# Source length in words: from, to, share of the training and of the test sentences.
BUCKETS = (
    (3, 9, 0.75),
    (10, 19, 0.07),
    (20, 29, 0.04),
    (30, 39, 0.04),
    (40, 49, 0.05),
    (50, 65, 0.05),
)


DOUBLED = re.compile(r"\b(?!that\b)(\w+) \1\b")  # "showed Nga Nga's hammer" is dropped


class Pair(NamedTuple):
    """One sentence pair as raw text; `alignment` is `i-j i-j ...`, 0-based, over whitespace tokens of both sides."""

    source: str
    target: str
    alignment: str


@dataclass(frozen=True)
class Sentence:
    """A pair and the names of the lexical entries, constructions and word combinations it was made of."""

    pair: Pair
    used: tuple[str, ...]


def _quotas(size: int, shares: tuple[float, ...]) -> list[int]:
    """Whole numbers of sentences for each bucket that add up to size."""
    edges = [round(size * sum(shares[:index]) / sum(shares)) for index in range(len(shares) + 1)]
    return [after - before for before, after in pairwise(edges)]


def _fill(g: State, quotas: list[int], seen: set[str]) -> list[Sentence]:
    """Sentences for every bucket until its quota is met, none of whose two sides was seen before, shuffled."""
    result: list[Sentence] = []
    for (low, high, _), quota in zip(BUCKETS, quotas, strict=True):
        missing = quota
        while missing:
            phrase = sentence(g, low + g.random.randrange(high - low + 1))
            if not low <= len(phrase) <= high:
                continue
            pair = Pair(*realise(phrase))
            if pair.source in seen or pair.target in seen or DOUBLED.search(pair.source):
                continue
            seen.update((pair.source, pair.target))
            result.append(Sentence(pair, tuple(phrase.used)))
            missing -= 1
    for last in range(len(result) - 1, 0, -1):
        other = g.random.randrange(last + 1)
        result[last], result[other] = result[other], result[last]
    return result


def generate_sentences(
    seed: int = 0, train: int = 20000, validation: int = 500, test: int = 1000
) -> dict[str, list[Sentence]]:
    """Like `generate`, with the record of what each sentence was made of."""
    for name, size in (("train", train), ("validation", validation), ("test", test)):
        if size < 0:
            raise UserError(f"data=grammar: {name}={size} is not a number of sentences; give 0 or more")
    g = State(seed)
    seen: set[str] = set()
    shares = tuple(share for _, _, share in BUCKETS)
    even = (1.0,) * len(BUCKETS)
    g.testing = True
    held = _fill(g, _quotas(test, even), seen)
    g.testing = False
    return {
        "train": _fill(g, _quotas(train, shares), seen),
        "validation": _fill(g, _quotas(validation, even), seen),
        "test": held,
    }


def generate(seed: int = 0, train: int = 20000, validation: int = 500, test: int = 1000) -> dict[str, list[Pair]]:
    """The corpus: splits train, validation and test, each of the given number of pairs.

    Train has more short sentences than long ones; validation and test have a sixth in each of six buckets of source
    length. Test holds combinations of words (adjective and noun, verb and object) that the other two never have.
    """
    splits = generate_sentences(seed, train, validation, test)
    return {name: [sentence.pair for sentence in sentences] for name, sentences in splits.items()}
