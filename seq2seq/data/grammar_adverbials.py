"""Where and when: places, dates and other time phrases."""

from seq2seq.data import grammar_nouns as nouns
from seq2seq.data import grammar_words as words
from seq2seq.data.grammar_core import Phrase, State
from seq2seq.data.grammar_lexicon import MONTHS
from seq2seq.data.grammar_words import ADVERBS, PREPOSITIONS, of_kind


def place(g: State) -> Phrase:
    """Somewhere to go: a town by name or a place."""
    if g.chance(0.25):
        return g.word("name of a place", *g.pick(words.TOWNS))
    return nouns.thing(g, ("place",), number="one")


def where(g: State) -> Phrase:
    """An adverbial of place: "near the old market" / "ở gần khu chợ cổ"."""
    kind = g.weighted(((4, "spot"), (2, "town"), (8, "at"), (4, "nature")))
    if kind == "spot":
        return g.entry(g.pick(of_kind(ADVERBS, "spot")))
    if kind == "town":
        return g.build("in a named town", "in#1 {p}", "ở#1 {p}", p=g.word("name of a place", *g.pick(words.TOWNS)))
    entry = g.pick(of_kind(PREPOSITIONS, kind))
    n = nouns.thing(g, ("place", "room") if kind == "at" else ("nature",), number="one")
    p = g.word(entry.name, entry.english, f"ở {entry.vietnamese}")
    return g.build("place adverbial", "{p} {n}", "{p} {n}", p=p, n=n)


def month_day(g: State) -> Phrase:
    """A date: "on May 3" / "vào ngày 3 tháng 5"."""
    month = g.random.randrange(12)
    day = str(1 + g.random.randrange(28))
    m, d = g.word("", MONTHS[month], f"tháng {month + 1}"), g.word("", day, f"ngày {day}")
    return g.build("date", "on#1 {m} {d}", "vào#1 {d} {m}", m=m, d=d)


def ago(g: State) -> Phrase:
    unit, vietnamese = g.pick((("days", "ngày"), ("weeks", "tuần"), ("months", "tháng"), ("years", "năm")))
    q, u = g.word("", *g.pick(words.NUMBERS[:9])), g.word("", unit, vietnamese)
    return g.build("time ago", "{q} {u} ago#1", "{q} {u} trước#1", q=q, u=u)


def from_now(g: State) -> Phrase:
    unit, vietnamese = g.pick((("days", "ngày"), ("weeks", "tuần"), ("months", "tháng"), ("years", "năm")))
    q, u = g.word("", *g.pick(words.NUMBERS[:9])), g.word("", unit, vietnamese)
    return g.build("time from now", "in#1 {q} {u}", "{q} {u} nữa#1", q=q, u=u)


def weekday(g: State, past: bool) -> Phrase:
    d = g.word("", *g.pick(words.WEEKDAYS))
    if past:
        return g.build("last weekday", "last#1 {d}", "{d} tuần_trước#1", d=d)
    return g.build("next weekday", "next#1 {d}", "{d} tuần_sau#1", d=d)


def when(g: State, tense: str) -> Phrase | None:
    """A time phrase that goes with this tense, or None."""
    if tense in ("past", "future") and g.chance(0.4):
        past = tense == "past"
        return g.pick((month_day, ago if past else from_now, lambda g: weekday(g, past)))(g)
    if tense in ("past", "future", "habit", "now"):
        return g.entry(g.pick(of_kind(ADVERBS, tense)))
    return None
