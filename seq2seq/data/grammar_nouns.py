"""Noun phrases: determiners, adjectives, owners, persons, places and times.

English puts most of these before the noun, Vietnamese after it: "these three small black cats of Lan's".
"""

from seq2seq.data import grammar_words as words
from seq2seq.data.grammar_core import Phrase, State, Token
from seq2seq.data.grammar_lexicon import FITS, MEN, MONTHS, WOMEN
from seq2seq.data.grammar_words import ADJECTIVES, ADVERBS, KIN, MASS, NOUNS, PREPOSITIONS, Entry, of_kind

CONTAINERS = {"food": (("bowl", "bát"), ("plate", "đĩa")), "drink": (("cup", "tách"), ("glass", "ly"), ("bottle", "chai"))}
SINGULAR = ((30, "the"), (22, "a"), (9, "this"), (9, "that"), (14, "my"), (14, "owner"), (4, "every"), (5, "another"),
            (6, "ordinal"), (6, "superlative"), (4, "one of"), (3, "the same"))  # fmt: skip
PLURAL = ((14, "the"), (9, "these"), (9, "those"), (24, "number"), (8, "some"), (8, "many"), (9, "my"), (6, "owner"),
          (5, "all"), (4, "most"), (4, "a few of"), (3, "several"))  # fmt: skip
OWN = {"my": "first", "your": "second", "our": "we"}
OTHERS = {"his": "anh ấy", "her": "cô ấy", "their": "họ"}


def owner_word(g: State, unnamed: bool = False) -> tuple[str, str]:
    """A possessive pronoun: English, Vietnamese owner. `unnamed` leaves out the speaker's own."""
    english = g.pick(("her", "his", "their")) if unnamed else g.pick(("my", "my", "your", "our", "his", "her", "their"))
    return english, getattr(g, OWN[english]) if english in OWN else OTHERS[english]


def genitive(owner: Phrase) -> tuple[Phrase, Phrase]:
    """Splits "Lan's" into the owner with 's, and Vietnamese `của` linked to the same word."""
    last = owner.english[-1]
    english = [*owner.english[:-1], Token(last.text + ("'" if last.text.endswith("s") else "'s"), last.node)]
    return Phrase(english, owner.vietnamese, owner.used), Phrase([], [Token("của", last.node)], [])


def adjective_for(g: State, noun: Entry, without: tuple[Entry, ...] = ()) -> Entry | None:
    """An adjective that fits the noun and may be combined with it in this split."""
    blocks = [block for kind in noun.kinds for block in FITS.get(kind, ())]
    if without:
        blocks = [block for block in blocks if block != "colour" and block not in without[0].kinds] or blocks[:1]
    fitting = [entry for entry in of_kind(ADJECTIVES, *blocks) if entry not in without]
    return g.partner(noun, fitting, swap=True) if fitting else None


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
    if "furniture" in noun.kinds and g.rich(0.5):
        material = g.entry(g.pick(of_kind(ADJECTIVES, "material")[:4]))
        result = g.build("material before noun", "{m} {n}", "{n} {m}", m=material, n=result)
    first = adjective_for(g, noun) if g.rich(1.3) else None
    if first is None:
        return result
    degree = "very" if g.chance(0.15) else "more" if g.chance(0.08) else ""
    name = "comparative before noun" if degree == "more" else "adjective before noun"
    result = g.build(name, "{a} {n}", "{n} {a}", a=adjective(g, first, noun, degree), n=result)
    if not degree and g.rich(0.5):
        second = adjective_for(g, noun, without=(first,))
        if second is not None and "colour" not in second.kinds:
            second = adjective(g, second, noun)
            return g.build("two adjectives before noun", "{a} {n}", "{n} {a}", a=second, n=result)
    return result


def determined(g: State, noun: Entry, number: str = "") -> Phrase:
    """A full noun phrase of a count noun; `number` forces "sg" or "pl"."""
    plural = number == "pl" or (not number and g.chance(0.32))
    kind = g.weighted(PLURAL if plural else SINGULAR)
    if kind in ("my", "owner") and set(noun.kinds) & {"job", "people", "place", "nature"}:
        kind = "the"
    agreement = "pl" if plural else "sg"
    if kind == "superlative":
        entry = adjective_for(g, noun)
        if entry is None or "colour" in entry.kinds:
            kind = "the"
        else:
            noun_word = g.word(noun.name, noun.english, f"{noun.extra} {noun.vietnamese}")
            return g.build("superlative", "the {a} {n}", "{n} {a}", a=adjective(g, entry, noun, "most"), n=noun_word)
    if kind == "one of":
        return g.build("one of the", "one_of#1 the {n}", "một_trong#1 {n}", n=head(g, noun, True, True))
    n = head(g, noun, plural, marked=kind in ("the", "these", "those", "my", "owner"))
    templates = {
        "the": ("the {n}", "{n}"),
        "a": ("a#1 {n}", "một#1 {n}"),
        "this": ("this#1 {n}", "{n} này#1"),
        "that": ("that#1 {n}", "{n} đó#1"),
        "these": ("these#1 {n}", "{n} này#1"),
        "those": ("those#1 {n}", "{n} đó#1"),
        "every": ("every#1 {n}", "mỗi#1 {n}"),
        "another": ("another#1 {n}", "một#1 {n} khác#1"),
        "some": ("some#1 {n}", "một_vài#1 {n}"),
        "many": ("many#1 {n}", "nhiều#1 {n}"),
        "several": ("several#1 {n}", "mấy#1 {n}"),
        "all": ("all#1 the {n}", "tất_cả_các#1 {n}"),
        "most": ("most_of#1 the {n}", "hầu_hết_các#1 {n}"),
        "a few of": ("a_few_of#1 the {n}", "một_vài#1 trong_số_các#1 {n}"),
        "the same": ("the same#1 {n}", "cùng_một#1 {n}"),
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


def kin(g: State, owned: bool = True) -> Phrase:
    """A relative: the owner's pronoun follows without `của` ("mẹ tôi"), a named owner with it ("mẹ của Lan")."""
    while True:
        entry = g.pick(KIN)
        english, vietnamese = owner_word(g)
        if not (english in ("my", "our") and (entry.english in g.unnamed)):
            break
    agreement = "pl" if entry.extra == "p" else "sg"
    if g.chance(0.75):
        o = g.word("", english, vietnamese)
        return g.build("kin without của", "{o} {k}", "{k} {o}", agreement, o=o, k=g.entry(entry))
    owner, of = genitive(name(g))
    return g.build("kin of a named person", "{o} {k}", "{k} {of} {o}", agreement, o=owner, of=of, k=g.entry(entry))


SUBJECTS = {"he": "anh ấy", "she": "cô ấy", "they": "họ"}
OBJECTS = {"him": "anh ấy", "her": "cô ấy", "them": "họ"}


def pronoun(g: State, subject: bool) -> Phrase:
    own = (("I", g.first), ("you", g.second), ("we", g.we)) if subject else (("me", g.first), ("you", g.second), ("us", g.we))
    english, vietnamese = g.pick(own + tuple((SUBJECTS if subject else OBJECTS).items()))
    agreement = {"I": "I", "you": "pl", "we": "pl", "they": "pl"}.get(english, "sg")
    return g.word("pronoun", english, vietnamese, agreement)


def person(g: State, subject: bool = False, governor: Entry | None = None, coordinate: bool = True) -> Phrase:
    """A person or persons, as subject or object."""
    kind = g.weighted(((28, "pronoun"), (20, "name"), (17, "kin"), (28, "noun"), (7, "title"), (9, "and")))
    if kind == "and" and coordinate and g.rich(2):
        first, second = owner_person(g), owner_person(g)
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
    noun = None
    choices = of_kind(NOUNS, *kinds) + of_kind(MASS, *kinds)
    noun = g.partner(governor, choices) if governor else g.pick(choices)
    if noun is None:
        noun = choices[0]
    if noun in MASS:
        return mass(g, noun, governor)
    result = determined(g, noun, number)
    if governor:
        result.used.append(pair_name(governor, noun))
    return result


def place(g: State) -> Phrase:
    """Somewhere to go: a town by name or a place."""
    if g.chance(0.25):
        return g.word("name of a place", *g.pick(words.TOWNS))
    return thing(g, ("place",), number="sg")


def where(g: State) -> Phrase:
    """An adverbial of place: "near the old market" / "gần khu chợ cổ"."""
    if g.chance(0.25):
        return g.entry(g.pick(of_kind(ADVERBS, "spot")))
    if g.chance(0.15):
        return g.build("in a named town", "in#1 {p}", "ở#1 {p}", p=g.word("name of a place", *g.pick(words.TOWNS)))
    entry = g.pick(of_kind(PREPOSITIONS, "at"))
    p = g.word(entry.name, entry.english, f"ở {entry.vietnamese}")
    return g.build("place adverbial", "{p} {n}", "{p} {n}", p=p, n=thing(g, ("place", "room"), number="sg"))


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
