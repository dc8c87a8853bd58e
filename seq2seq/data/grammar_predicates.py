"""Predicates without a full verb: what somebody is, has, how much, how old, how something compares, what there is."""

from collections.abc import Callable

from seq2seq.data import grammar_nouns as nouns
from seq2seq.data import grammar_words as words
from seq2seq.data.grammar_core import Phrase, State
from seq2seq.data.grammar_verbs import BE, noun_of, relative
from seq2seq.data.grammar_words import ADJECTIVES, KIN, MASS, NOUNS, PREPOSITIONS, Entry, of_kind

PERSON = next(entry for entry in NOUNS if entry.english == "woman")
INANIMATE = tuple(entry for entry in NOUNS if entry.kinds[0] not in words.HUMANS)


def copula_noun(g: State, tense: str) -> Phrase:
    """ "Lan is a young doctor" / "Lan là một bác sĩ trẻ"."""
    s = nouns.person(g, subject=True, coordinate=False)
    while (noun_of(s) or PERSON).kinds[0] == "job":
        s = nouns.person(g, subject=True, coordinate=False)
    noun, be = g.pick(of_kind(NOUNS, "job")), BE["present"][s.agreement]
    if s.agreement == "pl" and s.english[0].text != "you":
        n = nouns.head(g, noun, True, False)
        return g.build("copula là plural", f"{{s}} {be}#1 {{n}}", "{s} là#1 {n}", s=s, n=n)
    if g.chance(0.25):
        subject = g.entry(g.pick(of_kind(MASS, "subject", "language")))
        teacher = next(entry for entry in NOUNS if entry.english == "teacher")
        t = g.word(teacher.name, teacher.english, teacher.vietnamese)
        n = g.build("subject teacher", "a#1 {m} {t}", "một#1 {t} {m}", m=subject, t=t)
    else:
        n = g.build("", "a#1 {n}", "một#1 {n}", n=nouns.head(g, noun, False, False))
    want = "wants" if s.agreement == "sg" else "want"
    style = g.weighted(
        (
            (6, ("copula là", f"{{s}} {be}#1 {{n}}", "{s} là#1 {n}")),
            (3, ("copula negation không phải là", f"{{s}} {be}_not#1 {{n}}", "{s} không_phải_là#1 {n}")),
            (2, ("copula used to be", "{s} used_to_be#1 {n}", "{s} đã_từng_là#1 {n}")),
            (2, ("wants to become", f"{{s}} {want}_to_become#1 {{n}}", "{s} muốn_trở_thành#1 {n}")),
        )
    )
    return g.build(*style, s=s, n=n)


def describable(g: State) -> tuple[Phrase, Entry, Entry]:
    """A thing, place or animal without adjectives, an adjective that fits it, and its noun."""
    entry = None
    while entry is None:
        noun = g.pick(INANIMATE)
        entry = nouns.adjective_for(g, noun, gradable=True)
    wealth, g.wealth = g.wealth, 0.0
    s = nouns.determined(g, noun)
    while any(name.startswith("superlative") for name in s.used):
        s = nouns.determined(g, noun)
    g.wealth = wealth
    s = relative(g, s) if g.rich(0.5) else s
    s.used.append(nouns.pair_name(entry, noun))
    return s, entry, noun


def not_yet_said(s: Phrase, entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
    """The adjectives that neither repeat nor contradict what the phrase says already."""
    said = [name.split(" = ")[0].removeprefix("adjective ") for name in s.used if name.startswith("adjective ")]
    return tuple(e for e in entries if not any(word == e.english or nouns.opposed(word, e.english) for word in said))


def subject_adjective(g: State, subject: Callable[[State], Phrase]) -> tuple[Phrase, Entry]:
    """A subject and an adjective to be said of it."""
    if g.chance(0.5):
        return describable(g)[:2]
    s = subject(g)
    entries = not_yet_said(s, of_kind(ADJECTIVES, "state" if g.chance(0.7) else "person"))
    noun = noun_of(s)
    if noun is None:
        return s, g.pick(entries)
    entry = g.partner(noun, tuple(e for e in entries if (noun.english, e.english) not in nouns.CLASHES), swap=True)
    s.used.append(nouns.pair_name(entry, noun))
    return s, entry


def comparison(g: State, tense: str) -> Phrase:
    """Comparatives and equatives: "taller than" / "cao hơn", "as tall as" / "cao bằng"."""
    if g.chance(0.6):
        s, o = nouns.person(g, True, coordinate=False), nouns.owner_person(g)
        entry = g.pick(not_yet_said(s, of_kind(ADJECTIVES, "person")))
    else:
        s, entry, noun = describable(g)
        o = nouns.thing(g, noun.kinds[:1], number="one")
    be = BE["present"][s.agreement]
    style = g.weighted(
        (
            (4, ("equative", f"{{s}} {be} as#1 {{a}} as#1 {{o}}", "{s} {a} bằng#1 {o}")),
            (2, ("negated equative", f"{{s}} {be} not#2 as#1 {{a}} as#1 {{o}}", "{s} không#2 {a} bằng#1 {o}")),
            (6, ("comparative", f"{{s}} {be} {{a}} than {{o}}", "{s} {a} {o}")),
            (3, ("comparative with much", f"{{s}} {be} much#1 {{a}} than {{o}}", "{s} {a} {o} nhiều#1")),
        )
    )
    a = nouns.adjective(g, entry, None, "more" if style[0].startswith("comparative") else "")
    return g.build(*style, s=s, a=a, o=o)


PLACED = (
    ("surface", "on", ("tool", "fruit", "reading", "pet")),
    ("room", "in", ("furniture", "pet", "plant")),
    ("place", "in", ("people", "job", "vehicle")),
    ("nature", "nature", ("plant", "animal", "vehicle", "people")),
)


def existence(g: State, tense: str) -> Phrase:
    """ "There are two cats under the table" / "Dưới cái bàn có hai con mèo"."""
    where, preposition, what = g.pick(PLACED)
    kind = g.pick(("a", "number", "no", "many"))
    verb = {"a": "is#1"}.get(kind, "are#1") if g.chance(0.7) else {"a": "was#1"}.get(kind, "were#1")
    n = nouns.head(g, g.pick(of_kind(NOUNS, *what)), kind != "a", False)
    parts = {"p": g.entry(g.pick(of_kind(PREPOSITIONS, preposition))), "l": nouns.thing(g, (where,), number="one")}
    if kind == "no":
        english, vietnamese = f"there#1 {verb} no#2 {{n}} {{p}} {{l}}", "{p} {l} không#2 có#1 {n} nào#2"
        return g.build("existence none", english, vietnamese, n=n, **parts)
    q = g.word("", *{"a": ("a", "một"), "many": ("many", "nhiều")}.get(kind, g.pick(words.NUMBERS)))
    return g.build(
        f"existence {kind}", f"there#1 {verb} {{q}} {{n}} {{p}} {{l}}", "{p} {l} có#1 {q} {n}", q=q, n=n, **parts
    )


def having(g: State, tense: str) -> Phrase:
    s = nouns.person(g, subject=True)
    o = nouns.thing(g, ("tool", "machine", "vehicle", "clothes", "animal", "instrument", "hat", "jewel"))
    o = relative(g, o) if g.rich(0.5) else o
    singular = s.agreement == "sg"
    name, english, vietnamese = g.weighted(
        (
            (4, ("having", "has#1" if singular else "have#1", "có#1")),
            (2, ("having negation", "does_not_have#1" if singular else "do_not_have#1", "không_có#1")),
            (2, ("having past", "had#1", "đã_từng_có#1")),
            (2, ("having future", "will_have#1", "sẽ_có#1")),
        )
    )
    return g.build(name, f"{{s}} {english} {{o}}", f"{{s}} {vietnamese} {{o}}", s=s, o=o)


YOUNGER = KIN[4:10] + KIN[14:17]


def measure(g: State, tense: str) -> Phrase:
    """Age and price: predicates of number without copula."""
    if g.chance(0.5):
        if g.chance(0.5):
            s = nouns.name(g)
        else:
            english, vietnamese = nouns.owner_word(g)
            o, k = g.word("", english, vietnamese), g.entry(g.pick(YOUNGER))
            s = g.build("kin without của", "{o} {k}", "{k} {o}", o=o, k=k)
        q = g.word("", *g.pick(words.NUMBERS[3:]))
        return g.build("age", "{s} is {q} years_old#1", "{s} {q} tuổi#1", s=s, q=q)
    s = nouns.thing(g, ("tool", "machine", "vehicle", "clothes", "jewel", "instrument", "furniture"))
    cost = "costs#1" if s.agreement == "sg" else "cost#1"
    q = g.word("", *g.pick(words.NUMBERS))
    if g.chance(0.5):
        return g.build("price in dollars", f"{{s}} {cost} {{q}} dollars#2", "{s} giá#1 {q} đô_la#2", s=s, q=q)
    u = g.word("", *g.pick((("thousand", "nghìn"), ("million", "triệu"))))
    return g.build("price in dong", f"{{s}} {cost} {{q}} {{u}} dong#2", "{s} giá#1 {q} {u} đồng#2", s=s, q=q, u=u)
