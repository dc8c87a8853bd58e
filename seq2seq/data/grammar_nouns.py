"""Noun phrases: determiners, adjectives, owners, persons and things.

English puts most of these before the noun, Vietnamese after it: "these three small black cats of Lan's".
"""

from functools import cache

from seq2seq.data import grammar_words as words
from seq2seq.data.grammar_core import Phrase, State, Token
from seq2seq.data.grammar_lexicon import FITS, MEN, OPPOSITES, WOMEN
from seq2seq.data.grammar_words import ADJECTIVES, ADVERBS, KIN, MASS, NOUNS, Entry, of_kind

CONTAINERS = {
    "food": (("bowl", "bát"), ("plate", "đĩa")),
    "drink": (("cup", "tách"), ("glass", "ly"), ("bottle", "chai")),
}
SINGULAR = ((30, "the"), (22, "a"), (9, "this"), (9, "that"), (14, "my"), (14, "owner"), (4, "every"), (5, "another"),
            (6, "ordinal"), (6, "superlative"), (4, "one of"))  # fmt: skip
PLURAL = ((14, "the"), (9, "these"), (9, "those"), (24, "number"), (8, "some"), (8, "many"), (9, "my"), (6, "owner"),
          (5, "all"), (4, "most"), (4, "a few of"), (3, "several"))  # fmt: skip
DEFINITE = (
    (35, "the"),
    (12, "a"),
    (10, "this"),
    (10, "that"),
    (12, "my"),
    (12, "owner"),
    (4, "ordinal"),
    (5, "superlative"),
)
OWN = {"my": "first", "your": "second", "our": "we"}
MARKED = ("the", "these", "those", "my", "owner", "all", "most", "a few of")  # determiners that leave những or các
OTHERS = {"his": "anh ấy", "her": "cô ấy", "their": "họ"}


def owner_word(g: State) -> tuple[str, str]:
    """A possessive pronoun: English, Vietnamese owner."""
    english = g.pick(("my", "my", "your", "our", "his", "her", "their"))
    return english, getattr(g, OWN[english]) if english in OWN else OTHERS[english]


def genitive(owner: Phrase) -> tuple[Phrase, Phrase]:
    """Splits "Lan's" into the owner with 's, and Vietnamese `của` linked to the same word."""
    last = owner.english[-1]
    english = [*owner.english[:-1], Token(last.text + ("'" if last.text.endswith("s") else "'s"), last.node)]
    return Phrase(english, owner.vietnamese, owner.used), Phrase([], [Token("của", last.node)], [])


# Noun and adjective that are never combined, beside those that FITS keeps apart.
CLASHES = {
    ("child", "young"),
    ("child", "old"),
    ("boy", "old"),
    ("girl", "old"),
    ("boy", "young"),
    ("girl", "young"),
    ("egg", "sour"),
    ("tomato", "sour"),
    ("cake", "sweet"),
    ("egg", "sweet"),
    ("lemon", "sweet"),
}


def opposed(first: str, second: str) -> bool:
    """True for two English adjectives that are never said of the same noun together."""
    groups = OPPOSITES.strip().replace("\n", ";").split(";")
    return any({first, second} <= set(group.split()) for group in groups)


@cache
def fitting_adjectives(noun: Entry, without: Entry | None) -> tuple[Entry, ...]:
    """Adjectives that fit the noun; beside another adjective, only those of another meaning and no colour."""
    blocks = [block for kind in noun.kinds for block in FITS.get(kind, ())]
    entries = [entry for entry in of_kind(ADJECTIVES, *blocks) if (noun.english, entry.english) not in CLASHES]
    if without is not None:
        entries = [e for e in entries if e is not without and "colour" not in e.kinds]
        entries = [e for e in entries if not opposed(e.english, without.english)]
    return tuple(entries)


def adjective_for(g: State, noun: Entry, without: Entry | None = None, gradable: bool = False) -> Entry | None:
    """An adjective that fits the noun and may be combined with it in this split; `gradable`: no colour."""
    entries = fitting_adjectives(noun, without)
    if gradable:
        entries = no_colours(entries)
    return g.partner(noun, entries, swap=True) if entries else None


@cache
def no_colours(entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
    return tuple(entry for entry in entries if "colour" not in entry.kinds)


def pair_name(first: Entry, second: Entry) -> str:
    return f"pair {first.name} + {second.name}"


def adjective(g: State, entry: Entry, noun: Entry | None, degree: str = "") -> Phrase:
    """An adjective as said in both languages: plain, with an adverb of degree, comparative or superlative."""
    plain = g.entry(entry)
    if noun is not None:
        plain.used.append(pair_name(entry, noun))
    if degree == "very":
        adverb = g.entry(g.pick(of_kind(ADVERBS, "degree")))
        return g.build("adjective with adverb of degree", "{d} {a}", "{d} {a}", d=adverb, a=plain)
    if degree:
        form, suffix = entry.forms[degree == "most"], {"more": "hơn", "most": "nhất"}[degree]
        if not form:
            return g.build("", f"{degree}#1 {{a}}", f"{{a}} {suffix}#1", a=plain)
        whole = g.word("", form, f"{entry.vietnamese} {suffix}")
        whole.used = plain.used
        return whole
    return plain


def head(g: State, noun: Entry, plural: bool, marked: bool) -> Phrase:
    """Noun with adjectives: "small black cats" / "(những) con mèo màu đen nhỏ"; `marked` shows the plural."""
    marker = ("những " if noun.extra else "các ") if plural and marked else ""
    english = noun.forms[0] if plural else noun.english
    result = g.word(noun.name, english, f"{marker}{noun.extra} {noun.vietnamese}")
    first = adjective_for(g, noun) if g.rich(1.3) else None
    materials = of_kind(of_kind(ADJECTIVES, "material"), *noun.kinds)
    if materials and g.rich(0.7):
        result = g.build("material before noun", "{m} {n}", "{n} {m}", m=g.entry(g.pick(materials)), n=result)
    if first is None:
        return result
    degree, kind = "", "colour"
    if "colour" not in first.kinds:
        # No "some more peaceful towns": English would not tell what `more` belongs to.
        degree = "very" if g.chance(0.15) else "more" if g.chance(0.1) and not plural else ""
        kind = "comparative" if degree == "more" else "adjective"
    result = g.build(f"{kind} before noun", "{a} {n}", "{n} {a}", a=adjective(g, first, noun, degree), n=result)
    second = adjective_for(g, noun, without=first) if not degree and g.rich(0.5) else None
    if second is None:
        return result
    parts = {"a": adjective(g, second, noun), "n": result}
    return g.build("two adjectives before noun", "{a} {n}", "{n} {a}", **parts)


def determined(g: State, noun: Entry, number: str = "") -> Phrase:
    """A full noun phrase of a count noun; `number`: "one" for a definite singular, empty for any."""
    plural = not number and g.chance(0.32)
    kind = g.weighted(PLURAL if plural else DEFINITE if number else SINGULAR)
    if kind in ("my", "owner") and set(noun.kinds) & {"job", "people", "place", "nature"}:
        kind = "the"
    agreement = "pl" if plural else "sg"
    if kind == "superlative":
        entry = adjective_for(g, noun, gradable=True)
        if entry is None:
            kind = "the"
        else:
            noun_word = g.word(noun.name, noun.english, f"{noun.extra} {noun.vietnamese}")
            return g.build("superlative", "the {a} {n}", "{n} {a}", a=adjective(g, entry, noun, "most"), n=noun_word)
    if kind == "one of":
        return g.build("one of the", "one_of#1 the {n}", "một_trong#1 {n}", n=head(g, noun, True, True))
    n = head(g, noun, plural, marked=kind in MARKED)
    templates = {
        "the": ("the {n}", "{n}"),
        "a": ("a#1 {n}", "một#1 {n}"),
        "this": ("this#1 {n}", "{n} này#1"),
        "that": ("that#1 {n}", "{n} đó#1"),
        "these": ("these#1 {n}", "{n} này#1"),
        "those": ("those#1 {n}", "{n} đó#1"),
        "every": ("every#1 {n}", "mọi#1 {n}"),
        "another": ("another#1 {n}", "một#1 {n} khác#1"),
        "some": ("some#1 {n}", "một_vài#1 {n}"),
        "many": ("many#1 {n}", "nhiều#1 {n}"),
        "several": ("several#1 {n}", "mấy#1 {n}"),
        "all": ("all#1 the {n}", "tất_cả#1 {n}"),
        "most": ("most_of#1 the {n}", "hầu_hết#1 {n}"),
        "a few of": ("a_few_of#1 the {n}", "một_vài#1 trong_số#1 {n}"),
    }
    if kind in templates:
        return g.build(f"determiner {kind}", *templates[kind], agreement, n=n)
    if kind == "number":
        english, vietnamese = g.pick(words.NUMBERS)
        return g.build("number and classifier", "{q} {n}", "{q} {n}", agreement, q=g.word("", english, vietnamese), n=n)
    if kind == "ordinal":
        rank = g.entry(g.pick(of_kind(ADVERBS, "rank")))
        return g.build("ordinal", "the {o} {n}", "{n} {o}", o=rank, n=n)
    if kind == "my":
        english, vietnamese = owner_word(g)
        owner = g.word("", english, f"của {vietnamese}")
        return g.build("possessive pronoun", "{o} {n}", "{n} {o}", agreement, o=owner, n=n)
    owner, of = genitive(owner_person(g))
    return g.build("genitive of a person", "{o} {n}", "{n} {of} {o}", agreement, o=owner, of=of, n=n)


def owner_person(g: State) -> Phrase:
    """A short person phrase that can own something."""
    kind = g.weighted(((5, "name"), (3, "kin"), (3, "noun"), (2, "title")))
    if kind == "noun":
        noun = g.pick(of_kind(NOUNS, *words.HUMANS))
        return g.build("", "the {n}", "{n}", n=g.word(noun.name, noun.english, f"{noun.extra} {noun.vietnamese}"))
    return {"name": name, "kin": kin, "title": titled}[kind](g)


def name(g: State) -> Phrase:
    person = g.pick(WOMEN + MEN)
    return g.word("personal name", person, person)


def titled(g: State) -> Phrase:
    """Title and name: "Mrs. Hoa"."""
    english, vietnamese, names = g.pick((("Mr.", "ông", MEN), ("Mrs.", "bà", WOMEN), ("Dr.", "bác sĩ", WOMEN + MEN)))
    person = g.pick(names)
    t, p = g.word("", english, vietnamese), g.word("", person, person)
    return g.build("title and name", "{t} {p}", "{t} {p}", t=t, p=p)


SPOUSES = {"wife": (("my", "your", "his"), MEN), "husband": (("my", "your", "her"), WOMEN)}


def kin(g: State) -> Phrase:
    """A relative: the owner's pronoun follows without `của` ("mẹ tôi"), a named owner with it ("mẹ của Lan")."""
    entry = g.pick(KIN)
    owners, names = SPOUSES.get(entry.english, (None, WOMEN + MEN))
    english, vietnamese = owner_word(g)
    while (
        (owners and english not in owners)
        or (english in OWN and entry.english in g.unnamed)
        or (english == "their" and entry.english == "cousin")  # "anh họ họ"
    ):
        english, vietnamese = owner_word(g)
    agreement = "pl" if entry.extra == "p" else "sg"
    if g.chance(0.75):
        o = g.word("", english, vietnamese)
        return g.build("kin without của", "{o} {k}", "{k} {o}", agreement, o=o, k=g.entry(entry))
    person = g.pick(names)
    owner, of = genitive(g.word("personal name", person, person))
    return g.build("kin of a named person", "{o} {k}", "{k} {of} {o}", agreement, o=owner, of=of, k=g.entry(entry))


SUBJECTS = {"he": "anh ấy", "she": "cô ấy", "they": "họ"}
OBJECTS = {"him": "anh ấy", "her": "cô ấy", "them": "họ"}
OWN_OBJECTS = {"me": "first", "you": "second", "us": "we"}
OWN_SUBJECTS = {"I": "first", "you": "second", "we": "we"}
SAME_PERSON = {"me": {"I", "we"}, "us": {"I", "we"}, "you": {"you"}}


def pronoun(g: State, subject: bool) -> Phrase:
    """A personal pronoun; an object is never the person who is the subject of the clause ("I saw me")."""
    own, others = (OWN_SUBJECTS, SUBJECTS) if subject else (OWN_OBJECTS, OBJECTS)
    english = g.pick([*own, *others])
    while not subject and g.speakers & SAME_PERSON.get(english, set()):
        english = g.pick([*own, *others])
    g.speakers.add({"me": "I", "us": "we"}.get(english, english))
    vietnamese = getattr(g, own[english]) if english in own else others[english]
    agreement = {"I": "I", "you": "pl", "we": "pl", "they": "pl"}.get(english, "sg")
    return g.word("pronoun", english, vietnamese, agreement)


def person(g: State, subject: bool = False, governor: Entry | None = None, coordinate: bool = True) -> Phrase:
    """A person or persons, as subject or object."""
    if subject:
        g.speakers.clear()
    kind = g.weighted(((28, "pronoun"), (20, "name"), (17, "kin"), (28, "noun"), (7, "title"), (9, "and")))
    if kind == "and" and coordinate and g.rich(2):
        first, second = owner_person(g), owner_person(g)
        if first.english[-1].text != second.english[-1].text:
            style = g.weighted(((6, ("coordinated persons", "{a} and#1 {b}", "{a} và#1 {b}")),
                                (2, ("both ... and", "both#1 {a} and#2 {b}", "cả#1 {a} lẫn#2 {b}"))))  # fmt: skip
            return g.build(*style, "pl", a=first, b=second)
    if kind in ("noun", "and"):
        nouns = of_kind(NOUNS, *words.HUMANS)
        noun = g.partner(governor, nouns) if governor else g.pick(nouns)
        result = determined(g, noun)
        if governor:
            result.used.append(pair_name(governor, noun))
        return result
    if kind == "pronoun":
        return pronoun(g, subject)
    return {"name": name, "kin": kin, "title": titled}[kind](g)


def mass(g: State, entry: Entry, governor: Entry | None) -> Phrase:
    """Food, drinks, games, languages: bare, or measured as in "two cups of coffee"."""
    noun = g.entry(entry)
    if governor:
        noun.used.append(pair_name(governor, entry))
    containers = CONTAINERS.get(entry.kinds[0], ())
    if not containers or g.chance(0.6):
        return noun
    english, vietnamese = g.pick(containers)
    if g.chance(0.6):
        c = g.word("", english, vietnamese)
        return g.build("measure word", "a#1 {c} of {n}", "một#1 {c} {n}", c=c, n=noun)
    q, c = g.word("", *g.pick(words.NUMBERS)), g.word("", english + "s", vietnamese)
    return g.build("number and measure word", "{q} {c} of {n}", "{q} {c} {n}", "pl", q=q, c=c, n=noun)


def thing(g: State, kinds: tuple[str, ...], governor: Entry | None = None, number: str = "") -> Phrase:
    """A noun phrase of these kinds, a held-out partner of its verb never in training."""
    choices = of_kind(NOUNS, *kinds) + of_kind(MASS, *kinds)
    noun = g.partner(governor, choices) if governor else g.pick(choices)
    if noun in MASS:
        return mass(g, noun, governor)
    result = determined(g, noun, number)
    if governor:
        result.used.append(pair_name(governor, noun))
    return result
