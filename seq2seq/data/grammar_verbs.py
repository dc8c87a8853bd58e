"""Verb phrases and relative clauses.

A verb phrase is made in one English form (base, third, past, participle, ing). `mark` is the Vietnamese tense particle
that renders the form, e.g. `đã` for the past; it stands before the verb and is linked to it.
"""

from seq2seq.data import grammar_nouns as nouns
from seq2seq.data import grammar_words as words
from seq2seq.data.grammar_core import Phrase, State, Token
from seq2seq.data.grammar_words import ADJECTIVES, ADVERBS, INTRANSITIVE, MASS, NOUNS, TRANSITIVE, Entry, of_kind

BE = {
    "present": {"I": "am", "sg": "is", "pl": "are"},
    "past": {"I": "was", "sg": "was", "pl": "were"},
}


def inflect(entry: Entry, form: str) -> str:
    """The English verb in this form, with the particle that belongs to it."""
    verb = {
        "base": entry.english,
        "third": words.third_person(entry.english),
        "past": entry.forms[0],
        "participle": entry.forms[1],
        "ing": words.ing(entry.english),
    }[form]
    return f"{verb} {entry.particle}" if entry.particle else verb


def verb(g: State, entry: Entry, form: str, mark: str = "") -> tuple[Phrase, Phrase]:
    """The verb, and the part of the Vietnamese verb that follows its object ("cho con mèo ăn")."""
    before, _, after = entry.vietnamese.partition("_")
    result = g.word(entry.name, inflect(entry, form), f"{mark} {before}")
    return result, Phrase([], [Token(text, result.english[0].node) for text in after.split()], [])


def object_of(g: State, entry: Entry) -> Phrase:
    """An object for a transitive verb, sometimes with a relative clause."""
    kinds = entry.kinds
    if "person" in kinds:
        result = nouns.person(g, governor=entry)
    else:
        result = nouns.thing(g, kinds, entry)
    return result


def transitive(g: State, form: str, mark: str, entry: Entry | None = None) -> Phrase:
    entry = entry or g.pick(TRANSITIVE)
    o = object_of(g, entry)
    o = relative(g, o) if g.rich(0.35) else o
    v, rest = verb(g, entry, form, mark)
    if g.rich(0.25) and not o.heavy:
        return g.build("verb object place", "{v} {o} {p}", "{v} {o} {r} {p}", v=v, o=o, r=rest, p=nouns.where(g))
    if g.rich(0.3) and not o.heavy:
        a = g.entry(g.pick(of_kind(ADVERBS, "manner")))
        return g.build("verb object manner", "{v} {o} {a}", "{v} {o} {r} {a}", v=v, o=o, r=rest, a=a)
    return g.build("verb with object", "{v} {o}", "{v} {o} {r}", v=v, o=o, r=rest)


def intransitive(g: State, form: str, mark: str) -> Phrase:
    v, _ = verb(g, g.pick(of_kind(INTRANSITIVE, "human")), form, mark)
    if g.chance(0.5):
        return g.build("intransitive with place", "{v} {p}", "{v} {p}", v=v, p=nouns.where(g))
    if g.chance(0.3):
        q = g.word("", *g.pick(words.NUMBERS))
        return g.build("duration", "{v} for#1 {q} hours#2", "{v} trong#1 {q} giờ#2", v=v, q=q)
    return g.build("intransitive verb", "{v}", "{v}", v=v)


def motion(g: State, form: str, mark: str) -> Phrase:
    v, _ = verb(g, g.pick(of_kind(INTRANSITIVE, "motion")), form, mark)
    parts = {"v": v, "p": nouns.place(g)}
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
    parts = {"v": v, "r": nouns.person(g, coordinate=False), "o": nouns.thing(g, ("tool", "reading", "fruit", "picture"))}
    if entry.vietnamese.endswith("cho _") and g.chance(0.5):
        v.vietnamese.pop()
        return g.build("giving with to", "{v} {o} to#1 {r}", "{v} {o} cho#1 {r}", **parts)
    return g.build("giving with two objects", "{v} {r} {o}", "{v} {r} {a} {o}", a=after, **parts)


def asking(g: State, form: str, mark: str) -> Phrase:
    v, _ = verb(g, g.pick(of_kind(INTRANSITIVE, "asking")), form, mark)
    parts = {"v": v, "o": nouns.person(g), "w": simple(g, "base")}
    if g.chance(0.25):
        return heavy(g.build("asking not to", "{v} {o} not#1 to {w}", "{v} {o} đừng#1 {w}", **parts))
    return heavy(g.build("asking somebody to", "{v} {o} to {w}", "{v} {o} {w}", **parts))


def trying(g: State, form: str, mark: str) -> Phrase:
    v, _ = verb(g, g.pick(of_kind(INTRANSITIVE, "trying")), form, mark)
    return heavy(g.build("verb with infinitive", "{v} to {w}", "{v} {w}", v=v, w=simple(g, "base")))


def liking(g: State, form: str, mark: str) -> Phrase:
    v, _ = verb(g, g.pick(of_kind(INTRANSITIVE, "liking")), form, mark)
    return heavy(g.build("verb with gerund", "{v} {w}", "{v} {w}", v=v, w=simple(g, "ing")))


def making(g: State, form: str, mark: str) -> Phrase:
    """ "made Lan happy" / "đã làm cho Lan vui"."""
    make = {"base": "make", "third": "makes", "past": "made", "participle": "made", "ing": "making"}[form]
    a = g.entry(g.pick(of_kind(ADJECTIVES, "state")))
    v = g.word("", make, f"{mark} làm cho")
    return g.build("making somebody feel", "{v} {o} {a}", "{v} {o} {a}", v=v, o=nouns.person(g), a=a)


def preferring(g: State, form: str, mark: str) -> Phrase:
    block = of_kind(MASS, g.pick(("food", "drink", "sport", "subject", "language")))
    first, second = g.pick(block), g.pick(block)
    end = {"third": "s", "past": "red", "participle": "red", "ing": "ring"}.get(form, "")
    v = g.word("", "prefer" + end, f"{mark} thích")
    return g.build("preferring to", "{v} {a} to#1 {b}", "{v} {a} hơn#1 {b}", v=v, a=g.entry(first), b=g.entry(second))


def heavy(phrase: Phrase) -> Phrase:
    phrase.heavy = True
    return phrase


def simple(g: State, form: str, mark: str = "") -> Phrase:
    """A verb phrase without another one inside."""
    return g.weighted(((9, transitive), (4, intransitive), (3, motion), (2, giving)))(g, form, mark)


LINKED = (
    ("two actions", "{a} and#1 {b}", "{a} và#1 {b}", ""),
    ("in order to", "{a} in_order_to#1 {b}", "{a} để#1 {b}", "base"),
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
    if g.chance(0.5):
        return simple(g, form, mark)
    table = ((4, asking), (4, trying), (3, liking), (1, making), (1, preferring), (1 + 10 * g.wealth, linked))
    if g.wealth < 0.25 and g.chance(0.6):
        return simple(g, form, mark)
    return g.weighted(table)(g, form, mark)


def animal_verb_phrase(g: State, form: str, mark: str = "") -> Phrase:
    v, _ = verb(g, g.pick(of_kind(INTRANSITIVE, "creature")), form, mark)
    if g.chance(0.5):
        entry = g.pick(of_kind(words.PREPOSITIONS, "on"))
        p = g.word(entry.name, entry.english, f"ở {entry.vietnamese}")
        n = nouns.thing(g, ("furniture",), number="sg")
        return g.build("animal and place", "{v} {p} {n}", "{v} {p} {n}", v=v, p=p, n=n)
    return g.build("", "{v}", "{v}", v=v)


def relative(g: State, noun: Phrase) -> Phrase:
    """Adds a relative clause to a noun phrase of a thing or person that can take one."""
    human, thing = is_human(noun), is_thing(noun)
    wealth, g.wealth = g.wealth, min(g.wealth, 0.12)
    try:
        if human:
            return g.weighted(((5, who), (2, whom), (2, whose)))(g, noun)
        return g.weighted(((5, which), (3, by_whom)))(g, noun) if thing else noun
    finally:
        g.wealth = wealth


PERSON_VERBS = of_kind(TRANSITIVE, "person")
BY_NAME = {entry.name: entry for entry in NOUNS}


def _kinds(noun: Phrase) -> set[str]:
    names = [used for used in noun.used if used.startswith("noun ")]
    return set(BY_NAME[names[0]].kinds) if len(names) == 1 else set()


def is_human(noun: Phrase) -> bool:
    return bool(_kinds(noun) & {"job", "people"}) and not any(name.startswith("genitive") for name in noun.used)


def is_thing(noun: Phrase) -> bool:
    return bool(_kinds(noun) & set(words.THINGS)) and not any(name.startswith("genitive") for name in noun.used)


def who(g: State, noun: Phrase) -> Phrase:
    """Subject relative clause, without a Vietnamese relative word: "người đàn ông đang ngủ"."""
    plural = noun.agreement == "pl"
    be = "are" if plural else "is"
    tense = g.pick(("progressive", "past", "present"))
    if tense == "progressive":
        c = g.build("", f"{be}#1 {{v}}", "đang#1 {v}", v=simple(g, "ing"))
    elif tense == "past":
        c = simple(g, "past", "đã")
    else:
        often = g.entry(g.pick(of_kind(ADVERBS, "often")))
        c = g.build("", "{o} {v}", "{o} {v}", o=often, v=simple(g, "base" if plural else "third"))
    return heavy(g.build("relative clause who", "{n} who {c}", "{n} {c}", noun.agreement, n=noun, c=c))


def whom(g: State, noun: Phrase) -> Phrase:
    s = nouns.person(g, subject=True, coordinate=False)
    entry = _governor(g, noun, PERSON_VERBS)
    if entry is None:
        return noun
    v, _ = verb(g, entry, "past", "đã")
    name, english, vietnamese = "relative clause whom", "{n} whom#1 {s} {v}", "{n} mà#1 {s} {v}"
    return heavy(g.build(name, english, vietnamese, noun.agreement, n=noun, s=s, v=v))


def whose(g: State, noun: Phrase) -> Phrase:
    """ "the girl whose father is a doctor" / "cô gái có bố là bác sĩ"."""
    k = g.entry(g.pick([entry for entry in words.KIN if entry.extra == "s"]))
    job = g.pick(of_kind(NOUNS, "job"))
    j = g.word(job.name, job.english, job.vietnamese)
    english, vietnamese = "{n} whose#1 {k} is#2 a {j}", "{n} có#1 {k} là#2 {j}"
    return heavy(g.build("relative clause whose", english, vietnamese, noun.agreement, n=noun, k=k, j=j))


def _governor(g: State, noun: Phrase, verbs: list[Entry]) -> Entry | None:
    """A verb whose object this noun can be, and in this split may be."""
    entry = next(BY_NAME[used] for used in noun.used if used in BY_NAME)
    fitting = [verb for verb in verbs if set(entry.kinds) & set(verb.kinds)]
    chosen = g.partner(entry, fitting, swap=True) if fitting else None
    if chosen is not None:
        noun.used.append(nouns.pair_name(chosen, entry))
    return chosen


def which(g: State, noun: Phrase) -> Phrase:
    """Object relative clause: "the book that Lan bought" / "quyển sách mà Lan đã mua"."""
    s = nouns.person(g, subject=True, coordinate=False)
    entry = _governor(g, noun, TRANSITIVE)
    if entry is None:
        return noun
    v, after = verb(g, entry, "past", "đã")
    english, vietnamese = "{n} that#1 {s} {v}", "{n} mà#1 {s} {v} {a}"
    return heavy(g.build("relative clause that", english, vietnamese, noun.agreement, n=noun, s=s, v=v, a=after))


def by_whom(g: State, noun: Phrase) -> Phrase:
    """ "a letter written by Lan" / "một bức thư do Lan viết"."""
    entry = _governor(g, noun, [entry for entry in TRANSITIVE if entry.extra == "được"])
    if entry is None:
        return noun
    v, _ = verb(g, entry, "participle")
    s = nouns.owner_person(g)
    english, vietnamese = "{n} {v} by#1 {s}", "{n} do#1 {s} {v}"
    return heavy(g.build("participle with agent", english, vietnamese, noun.agreement, n=noun, s=s, v=v))
