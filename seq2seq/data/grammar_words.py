"""Reads the lexicon into entries, and inflects English words.

An entry's `name` ("verb eat") is what the counts in the tests are about; its `index` decides which combinations are
kept for the test split.
"""

import re
from dataclasses import dataclass
from functools import cache

from seq2seq.data import grammar_lexicon as lexicon

DOUBLING = {"stop", "cut", "get", "put", "run", "swim", "plan", "begin", "forget", "hug", "admit", "beg", "travel"}


@dataclass(frozen=True, eq=False)
class Entry:
    """One lexical entry: a meaning with its English forms and its Vietnamese word.

    `english` is the base or singular form; `forms` are plural (nouns), past and participle (verbs), comparative and
    superlative (adjectives); `extra` is the classifier (nouns), the passive particle (verbs) or number (kin).
    """

    name: str
    kinds: tuple[str, ...]
    english: str
    vietnamese: str
    index: int
    forms: tuple[str, ...] = ()
    extra: str = ""
    particle: str = ""  # the English word that follows the verb: "wait for"
    stative: bool = False  # a verb like "know", for which there is no asking, trying or progressive


def rows(block: str) -> list[tuple[tuple[str, ...], list[str]]]:
    """Splits a block of `kinds: a|b; c|d` lines into (kinds, fields) rows."""
    result = []
    for line in block.strip().splitlines():
        kinds, _, entries = line.partition(": ")
        for entry in entries.strip().rstrip(";").split(";"):
            result.append((tuple(kinds.split()), [part.strip() for part in entry.split("|")]))
    return result


def pairs(text: str) -> list[tuple[str, str]]:
    """Splits `a|b; c|d` into [(a, b), (c, d)]."""
    return [tuple(part.strip() for part in entry.split("|")) for entry in text.split(";")]


def plural(noun: str) -> str:
    return noun + "s"


def third_person(verb: str) -> str:
    """Third person singular present: "go" gives "goes"."""
    if re.search(r"[^aeiou]y$", verb):
        return verb[:-1] + "ies"
    return verb + ("es" if re.search(r"(s|x|z|ch|sh|o)$", verb) else "s")


def ing(verb: str) -> str:
    """Present participle: "write" gives "writing"."""
    if verb.endswith("ie"):
        return verb[:-2] + "ying"
    if verb.endswith("e") and not verb.endswith("ee"):
        return verb[:-1] + "ing"
    return verb + (verb[-1] if verb in DOUBLING else "") + "ing"


def past(verb: str) -> str:
    """Regular past tense: "carry" gives "carried"."""
    if re.search(r"[^aeiou]y$", verb):
        return verb[:-1] + "ied"
    if verb.endswith("e"):
        return verb + "d"
    return verb + (verb[-1] if verb in DOUBLING else "") + "ed"


def degrees(adjective: str) -> tuple[str, str]:
    """Comparative and superlative; empty strings where English says "more" and "most"."""
    if adjective in ("sour", "strange"):
        return "", ""
    if len(re.findall(r"[aeiouy]+", re.sub(r"e$", "", adjective))) == 1 and not adjective.endswith("ed"):
        stem = adjective
        if re.search(r"[^aeiou][aeiou][^aeiouwxy]$", adjective):
            stem = adjective + adjective[-1]
        stem = stem.removesuffix("e")
        return stem + "er", stem + "est"
    if adjective == "clever":
        return "cleverer", "cleverest"
    if adjective.endswith("y") and len(adjective) < 9:
        return adjective[:-1] + "ier", adjective[:-1] + "iest"
    return "", ""


def _nouns() -> tuple[Entry, ...]:
    result = []
    for index, (kinds, (english, classifier, vietnamese)) in enumerate(rows(lexicon.NOUNS)):
        singular, _, irregular = english.partition("/")
        forms = (irregular or plural(singular),)
        result.append(Entry(f"noun {singular}", kinds, singular, vietnamese, index, forms, classifier))
    return tuple(result)


def _verbs(block: str, kind: str) -> tuple[Entry, ...]:
    result = []
    for index, (kinds, fields) in enumerate(rows(block)):
        english, _, particle = fields[0].partition("+")
        base, *forms = english.split("/")
        stative, base = base.endswith("~"), base.rstrip("~")
        forms = tuple(forms) or (past(base), past(base))
        passive = fields[2] if len(fields) > 2 else ""
        name = f"{kind} {base} {particle} = {fields[1]}".replace("  ", " ")
        result.append(Entry(name, kinds, base, fields[1], index, forms, passive, particle, stative))
    return tuple(result)


def _plain(block: str, kind: str) -> tuple[Entry, ...]:
    result = []
    for index, (kinds, (english, vietnamese, *extra)) in enumerate(rows(block)):
        forms = degrees(english) if kind == "adjective" else ()
        name = f"{kind} {english} = {vietnamese}"
        result.append(Entry(name, kinds, english, vietnamese, index, forms, extra[0] if extra else ""))
    return tuple(result)


NOUNS = _nouns()
MASS = _plain(lexicon.MASS, "mass")
KIN = _plain(lexicon.KIN, "kin")
ADJECTIVES = _plain(lexicon.ADJECTIVES, "adjective")
TRANSITIVE = _verbs(lexicon.TRANSITIVE, "verb")
INTRANSITIVE = _verbs(lexicon.INTRANSITIVE, "verb")
ADVERBS = _plain(lexicon.ADVERBS, "adverb")
PREPOSITIONS = _plain(lexicon.PREPOSITIONS, "preposition")
TOWNS = pairs(lexicon.TOWNS)
NUMBERS = pairs(lexicon.NUMBERS)
WEEKDAYS = pairs(lexicon.WEEKDAYS)
ADDRESSEES = [fields for _, fields in rows("to: " + lexicon.ADDRESSEES.strip().replace("\n", "; "))]

THINGS = ("furniture", "tool", "machine", "vehicle", "clothes", "hat", "jewel", "reading", "picture", "instrument")
HUMANS = ("job", "people")


@cache
def of_kind(entries: tuple[Entry, ...], *kinds: str) -> tuple[Entry, ...]:
    """The entries that belong to any of these kinds: the first of each line of the lexicon, then the second, …"""
    chosen = [entry for entry in entries if any(kind in entry.kinds for kind in kinds)]
    places: list[int] = []  # of each entry among those of its line
    before: dict[tuple[str, ...], int] = {}
    for entry in chosen:
        places.append(before.get(entry.kinds, 0))
        before[entry.kinds] = places[-1] + 1
    return tuple(chosen[row] for row in sorted(range(len(chosen)), key=places.__getitem__))


@cache
def volitional(entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
    """The verbs that somebody can be asked to do."""
    return tuple(entry for entry in entries if not entry.stative)


def lexical_entries() -> set[str]:
    """Names of all lexical entries (names of persons and places, numbers, weekdays and months are not among them)."""
    blocks = (NOUNS, MASS, KIN, ADJECTIVES, TRANSITIVE, INTRANSITIVE, ADVERBS, PREPOSITIONS)
    return {entry.name for block in blocks for entry in block}


def held_out(first: Entry, second: Entry) -> bool:
    """True for the combinations (adjective and noun, verb and object) that only the test split may contain."""
    return (first.index * 7 + second.index * 5) % 12 == 3


@cache
def partners(first: Entry, entries: tuple[Entry, ...], swap: bool, held: bool) -> tuple[Entry, ...]:
    """The entries whose combination with `first` is, or is not, held out. `swap`: `first` is the second of the pair."""
    return tuple(e for e in entries if (held_out(e, first) if swap else held_out(first, e)) == held)
