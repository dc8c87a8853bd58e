"""Verb phrases and relative clauses.

A verb phrase is made in one English form: base, third, past, participle, ing. "do" and "done" are base and participle
of verbs that name no state ("he must read", never "he must know"), and ing is of these too. `mark` is the Vietnamese
tense particle that renders the form, e.g. `đã` for the past; it stands before the verb and is linked to it.
"""

from seq2seq.data import grammar_adverbials as adverbials
from seq2seq.data import grammar_nouns as nouns
from seq2seq.data import grammar_words as words
from seq2seq.data.grammar_core import Phrase, State, Token
from seq2seq.data.grammar_words import (
    ADJECTIVES,
    ADVERBS,
    INTRANSITIVE,
    MASS,
    NOUNS,
    TRANSITIVE,
    Entry,
    of_kind,
    volitional,
)

BE = {
    "present": {"I": "am", "sg": "is", "pl": "are"},
    "past": {"I": "was", "sg": "was", "pl": "were"},
}
VOLITIONAL = ("do", "done", "ing")


def inflect(entry: Entry, form: str) -> str:
    """The English verb in this form, with the particle that belongs to it."""
    verb = {
        "base": entry.english,
        "do": entry.english,
        "third": words.third_person(entry.english),
        "past": entry.forms[0],
        "participle": entry.forms[1],
        "done": entry.forms[1],
        "ing": words.ing(entry.english),
    }[form]
    return f"{verb} {entry.particle}" if entry.particle else verb


def verb(g: State, entry: Entry, form: str, mark: str = "") -> tuple[Phrase, Phrase]:
    """The verb, and the part of the Vietnamese verb that follows its object ("cho con mèo ăn")."""
    before, _, after = entry.vietnamese.partition("_")
    result = g.word(entry.name, inflect(entry, form), f"{mark} {before}")
    return result, Phrase([], [Token(text, result.english[0].node) for text in after.split()], [])


def choose(g: State, verbs: tuple[Entry, ...], form: str) -> Entry:
    """One of the verbs that may have this form."""
    return g.pick(volitional(verbs) if form in VOLITIONAL else verbs)


def heavy(phrase: Phrase) -> Phrase:
    """Marks a phrase that holds a clause, so that nothing is put after it that would move in Vietnamese."""
    phrase.heavy = True
    return phrase


# --- verb phrases ----------------------------------------------------------------------------------------------------


def object_of(g: State, entry: Entry) -> Phrase:
    if "person" in entry.kinds:
        return nouns.person(g, governor=entry)
    return nouns.thing(g, entry.kinds, entry)


def transitive(g: State, form: str, mark: str) -> Phrase:
    entry = choose(g, TRANSITIVE, form)
    o = object_of(g, entry)
    o = relative(g, o) if g.rich(0.35) else o
    v, rest = verb(g, entry, form, mark)
    if g.rich(0.25) and not (o.heavy or entry.stative):
        return g.build("verb object place", "{v} {o} {p}", "{v} {o} {r} {p}", v=v, o=o, r=rest, p=adverbials.where(g))
    if g.rich(0.3) and not (o.heavy or entry.stative):
        a = g.entry(g.pick(of_kind(ADVERBS, "manner")))
        return g.build("verb object manner", "{v} {o} {a}", "{v} {o} {r} {a}", v=v, o=o, r=rest, a=a)
    return g.build("verb with object", "{v} {o}", "{v} {o} {r}", v=v, o=o, r=rest)


def intransitive(g: State, form: str, mark: str) -> Phrase:
    v, _ = verb(g, g.pick(of_kind(INTRANSITIVE, "human")), form, mark)
    if g.chance(0.5):
        return g.build("intransitive with place", "{v} {p}", "{v} {p}", v=v, p=adverbials.where(g))
    if g.chance(0.3):
        q = g.word("", *g.pick(words.NUMBERS[:9]))
        return g.build("duration", "{v} for#1 {q} hours#2", "{v} trong#1 {q} giờ#2", v=v, q=q)
    return g.build("intransitive verb", "{v}", "{v}", v=v)


def motion(g: State, form: str, mark: str) -> Phrase:
    v, _ = verb(g, g.pick(of_kind(INTRANSITIVE, "motion")), form, mark)
    parts = {"v": v, "p": adverbials.place(g)}
    if g.chance(0.25):
        return g.build("companion", "{v} {p} with#1 {c}", "{v} {p} cùng#1 {c}", c=nouns.person(g), **parts)
    if g.rich(0.4):
        hour = g.word("", *g.pick(words.NUMBERS[:11]))
        return g.build("clock time", "{v} {p} at#1 {h} o'clock#2", "{v} {p} lúc#1 {h} giờ#2", h=hour, **parts)
    return g.build("motion verb", "{v} {p}", "{v} {p}", **parts)


def giving(g: State, form: str, mark: str) -> Phrase:
    """ "give Lan a book" / "đưa cho Lan một quyển sách"; "give a book to Lan" / "đưa một quyển sách cho Lan"."""
    entry = g.pick(of_kind(INTRANSITIVE, "giving"))
    v, after = verb(g, entry, form, mark)
    parts = {"v": v, "r": nouns.person(g, coordinate=False)}
    parts["o"] = nouns.thing(g, ("tool", "reading", "fruit", "picture"))
    if entry.vietnamese.endswith("cho _") and g.chance(0.5):
        v.vietnamese.pop()
        return g.build("giving with to", "{v} {o} to#1 {r}", "{v} {o} cho#1 {r}", **parts)
    return g.build("giving with two objects", "{v} {r} {o}", "{v} {r} {a} {o}", a=after, **parts)


def asking(g: State, form: str, mark: str) -> Phrase:
    entry = g.pick(of_kind(INTRANSITIVE, "asking"))
    v, _ = verb(g, entry, form, mark)
    parts = {"v": v, "o": nouns.person(g), "w": simple(g, "do")}
    if entry.english in ("ask", "advise", "remind", "beg") and g.chance(0.4):
        return heavy(g.build("asking not to", "{v} {o} not#1 to {w}", "{v} {o} đừng#1 {w}", **parts))
    return heavy(g.build("asking somebody to", "{v} {o} to {w}", "{v} {o} {w}", **parts))


def trying(g: State, form: str, mark: str) -> Phrase:
    v, _ = verb(g, choose(g, of_kind(INTRANSITIVE, "trying"), form), form, mark)
    return heavy(g.build("verb with infinitive", "{v} to {w}", "{v} {w}", v=v, w=simple(g, "do")))


def liking(g: State, form: str, mark: str) -> Phrase:
    v, _ = verb(g, choose(g, of_kind(INTRANSITIVE, "liking"), form), form, mark)
    return heavy(g.build("verb with gerund", "{v} {w}", "{v} {w}", v=v, w=simple(g, "ing")))


def seeing(g: State, form: str, mark: str) -> Phrase:
    """ "saw Lan sleeping" / "đã nhìn thấy Lan đang ngủ"."""
    v, _ = verb(g, choose(g, of_kind(INTRANSITIVE, "seeing"), form), form, mark)
    parts = {"v": v, "o": nouns.person(g), "w": simple(g, "ing", "đang")}
    return heavy(g.build("seeing somebody do", "{v} {o} {w}", "{v} {o} {w}", **parts))


def making(g: State, form: str, mark: str) -> Phrase:
    """ "made Lan happy" / "đã làm cho Lan vui"."""
    make = {"third": "makes", "past": "made", "participle": "made", "done": "made", "ing": "making"}.get(form, "make")
    a = g.entry(g.pick(of_kind(ADJECTIVES, "state")))
    v = g.word("", make, f"{mark} làm cho")
    return g.build("making somebody feel", "{v} {o} {a}", "{v} {o} {a}", v=v, o=nouns.person(g), a=a)


def preferring(g: State, form: str, mark: str) -> Phrase:
    """ "prefers tea to coffee" / "thích trà hơn cà phê"."""
    block = of_kind(MASS, g.pick(("food", "drink", "sport", "subject", "language")))
    first, second = g.pick(block), g.pick(block)
    while second is first:
        second = g.pick(block)
    v = g.word("", "prefer" + {"third": "s", "past": "red", "participle": "red"}.get(form, ""), f"{mark} thích")
    return g.build("preferring to", "{v} {a} to#1 {b}", "{v} {a} hơn#1 {b}", v=v, a=g.entry(first), b=g.entry(second))


def simple(g: State, form: str, mark: str = "") -> Phrase:
    """A verb phrase without another one beside it."""
    return g.weighted(((9, transitive), (4, intransitive), (3, motion), (2, giving)))(g, form, mark)


LINKED = (
    ("two actions", "{a} and#1 {b}", "{a} và#1 {b}", ""),
    ("in order to", "{a} in_order_to#1 {b}", "{a} để#1 {b}", "do"),
    ("without doing", "{a} without#1 {b}", "{a} mà_không#1 {b}", "ing"),
    ("instead of doing", "{a} instead_of#1 {b}", "{a} thay_vì#1 {b}", "ing"),
    ("before doing", "{a} before#1 {b}", "{a} trước_khi#1 {b}", "ing"),
    ("after doing", "{a} after#1 {b}", "{a} sau_khi#1 {b}", "ing"),
)


def linked(g: State, form: str, mark: str) -> Phrase:
    """Two verb phrases: "read the book before going to school"."""
    name, english, vietnamese, second = g.pick(LINKED)
    a, b = simple(g, form, mark), simple(g, second or form)
    return heavy(g.build(name, english, vietnamese, a=a, b=b))


def verb_phrase(g: State, form: str, mark: str = "") -> Phrase:
    """Any verb phrase of a human subject, richer when long sentences are wanted."""
    if g.chance(0.5) or (g.wealth < 0.25 and g.chance(0.6)):
        return simple(g, form, mark)
    states = () if form in VOLITIONAL else ((2, seeing), (3, preferring))
    return g.weighted(((4, asking), (4, trying), (3, liking), (1, making), (1 + 10 * g.wealth, linked), *states))(
        g, form, mark
    )


def animal_verb_phrase(g: State, form: str, mark: str = "") -> Phrase:
    v, _ = verb(g, g.pick(of_kind(INTRANSITIVE, "creature")), form, mark)
    if g.chance(0.5):
        return v
    return g.build("animal outdoors", "{v} {p}", "{v} {p}", v=v, p=adverbials.where(g))


def pet_verb_phrase(g: State, form: str, mark: str = "") -> Phrase:
    if g.chance(0.5):
        return animal_verb_phrase(g, form, mark)
    v, _ = verb(g, g.pick(of_kind(INTRANSITIVE, "creature")), form, mark)
    entry = g.pick(of_kind(words.PREPOSITIONS, "on"))
    p = g.word(entry.name, entry.english, f"ở {entry.vietnamese}")
    n = nouns.thing(g, ("surface",), number="one")
    return g.build("animal and furniture", "{v} {p} {n}", "{v} {p} {n}", v=v, p=p, n=n)


# --- relative clauses ------------------------------------------------------------------------------------------------

# After these determiners a Vietnamese relative clause would read as the predicate.
CLOSED = {f"determiner {kind}" for kind in ("this", "that", "these", "those", "every")}
CLOSED |= {"possessive pronoun", "genitive of a person"}
PERSON_VERBS = of_kind(TRANSITIVE, "person")
WELCOME = tuple(entry for entry in TRANSITIVE if entry.extra == "được")
BY_NAME = {entry.name: entry for entry in NOUNS}


def noun_of(phrase: Phrase) -> Entry | None:
    """The noun of a noun phrase that holds exactly one."""
    found = [BY_NAME[name] for name in phrase.used if name in BY_NAME]
    return found[0] if len(found) == 1 else None


def relative(g: State, phrase: Phrase) -> Phrase:
    """Adds a relative clause to a noun phrase that can take one; other phrases are left as they are."""
    noun = noun_of(phrase)
    if noun is None or any(name in CLOSED for name in phrase.used):
        return phrase
    if noun.kinds[0] in words.HUMANS:
        make = g.weighted(((5, who), (2, whom), (2, whose)))
    elif noun.kinds[0] in words.THINGS:
        make = g.weighted(((5, which), (3, by_whom)))
    else:
        return phrase
    wealth, g.wealth = g.wealth, min(g.wealth, 0.12)
    speakers, g.speakers = g.speakers, set()
    result = make(g, phrase, noun)
    g.wealth, g.speakers = wealth, speakers
    return result


def who(g: State, phrase: Phrase, noun: Entry) -> Phrase:
    """Subject relative clause, without a Vietnamese relative word: "người đàn ông đang ngủ"."""
    plural = phrase.agreement == "pl"
    tense = g.pick(("progressive", "past", "present"))
    if tense == "progressive":
        c = g.build("", f"{'are' if plural else 'is'}#1 {{v}}", "đang#1 {v}", v=simple(g, "ing"))
    elif tense == "past":
        c = simple(g, "past", "đã")
    else:
        often = g.entry(g.pick(of_kind(ADVERBS, "often")[:2]))
        c = g.build("", "{o} {v}", "{o} {v}", o=often, v=simple(g, "base" if plural else "third"))
    return heavy(g.build("relative clause who", "{n} who {c}", "{n} {c}", phrase.agreement, n=phrase, c=c))


def governor(g: State, phrase: Phrase, noun: Entry, verbs: tuple[Entry, ...]) -> Entry | None:
    """A verb whose object this noun can be, and in this split may be."""
    fitting = of_kind(verbs, *(("person",) if noun.kinds[0] in words.HUMANS else noun.kinds))
    chosen = g.partner(noun, fitting, swap=True) if fitting else None
    if chosen is not None:
        phrase.used.append(nouns.pair_name(chosen, noun))
    return chosen


def _object_clause(g: State, phrase: Phrase, entry: Entry, name: str, word: str) -> Phrase:
    s = nouns.person(g, subject=True, coordinate=False)
    v, after = verb(g, entry, "past", "đã")
    english, vietnamese = f"{{n}} {word}#1 {{s}} {{v}}", "{n} mà#1 {s} {v} {a}"
    return heavy(g.build(name, english, vietnamese, phrase.agreement, n=phrase, s=s, v=v, a=after))


def whom(g: State, phrase: Phrase, noun: Entry) -> Phrase:
    """ "the man whom Lan met" / "người đàn ông mà Lan đã gặp"."""
    entry = governor(g, phrase, noun, PERSON_VERBS)
    return _object_clause(g, phrase, entry, "relative clause whom", "whom") if entry else phrase


def which(g: State, phrase: Phrase, noun: Entry) -> Phrase:
    """ "the book that Lan bought" / "quyển sách mà Lan đã mua"."""
    entry = governor(g, phrase, noun, TRANSITIVE)
    return _object_clause(g, phrase, entry, "relative clause that", "that") if entry else phrase


def whose(g: State, phrase: Phrase, noun: Entry) -> Phrase:
    """ "the girl whose father is a doctor" / "cô gái có bố là bác sĩ"."""
    job = g.pick(of_kind(NOUNS, "job"))
    k = g.entry(g.pick(words.KIN[:8]))
    j = g.word(job.name, job.english, f"{job.extra} {job.vietnamese}")
    english, vietnamese = "{n} whose#1 {k} is#2 a {j}", "{n} có#1 {k} là#2 {j}"
    return heavy(g.build("relative clause whose", english, vietnamese, phrase.agreement, n=phrase, k=k, j=j))


def by_whom(g: State, phrase: Phrase, noun: Entry) -> Phrase:
    """ "a letter written by Lan" / "một bức thư do Lan viết"."""
    entry = governor(g, phrase, noun, WELCOME)
    if entry is None:
        return phrase
    v, _ = verb(g, entry, "participle")
    english, vietnamese = "{n} {v} by#1 {s}", "{n} do#1 {s} {v}"
    s = nouns.owner_person(g)
    return heavy(g.build("participle with agent", english, vietnamese, phrase.agreement, n=phrase, s=s, v=v))
