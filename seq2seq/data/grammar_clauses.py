"""Simple clauses: one subject and its predicate, as statement.

`tense` is past, future, habit, now, or "" for any; it decides the English form, the Vietnamese particle and the time
phrase, which English puts at either end of the clause and Vietnamese always at its beginning.
"""

from seq2seq.data import grammar_nouns as nouns
from seq2seq.data import grammar_words as words
from seq2seq.data.grammar_core import Phrase, State
from seq2seq.data.grammar_verbs import BE, animal_verb_phrase, relative, verb, verb_phrase
from seq2seq.data.grammar_words import ADJECTIVES, ADVERBS, NOUNS, PREPOSITIONS, TRANSITIVE, of_kind

# weight, name, time of the clause, English auxiliaries (singular, plural), verb form, Vietnamese particle, end
TENSES = (
    (16, "past đã", "past", ("", ""), "past", "", ""),
    (5, "past negation", "past", ("did_not#1", "did_not#1"), "base", "đã_không#1", ""),
    (6, "had to", "past", ("had_to#1", "had_to#1"), "base", "đã_phải#1", ""),
    (4, "used to từng", "", ("used_to#1", "used_to#1"), "base", "đã_từng#1", ""),
    (10, "future sẽ", "future", ("will#1", "will#1"), "base", "sẽ#1", ""),
    (4, "future negation", "future", ("will_not#1", "will_not#1"), "base", "sẽ_không#1", ""),
    (4, "going to sắp", "", ("{be}_going_to#1", "{be}_going_to#1"), "base", "sắp#1", ""),
    (9, "progressive đang", "now", ("{be}#1", "{be}#1"), "ing", "đang#1", ""),
    (3, "progressive negation", "now", ("{be}_not#1", "{be}_not#1"), "ing", "đang_không#1", ""),
    (8, "present", "habit", ("", ""), "third", "", ""),
    (5, "present negation", "habit", ("does_not#1", "do_not#1"), "base", "không#1", ""),
    (8, "frequency", "habit", ("", ""), "third", "", ""),
    (5, "perfect rồi", "", ("has_already#1", "have_already#1"), "participle", "đã#1", "rồi#1"),
    (5, "not yet chưa", "", ("has_not#1", "have_not#1"), "participle", "chưa#1", ""),
    (4, "has just vừa mới", "", ("has_just#1", "have_just#1"), "participle", "vừa_mới#1", ""),
    (4, "has never chưa bao giờ", "", ("has_never#1", "have_never#1"), "participle", "chưa_bao_giờ#1", ""),
    (5, "can có thể", "now", ("can#1", "can#1"), "base", "có_thể#1", ""),
    (4, "cannot không thể", "now", ("cannot#1", "cannot#1"), "base", "không_thể#1", ""),
    (4, "must phải", "future", ("must#1", "must#1"), "base", "phải#1", ""),
    (4, "should nên", "future", ("should#1", "should#1"), "base", "nên#1", ""),
    (3, "should not không nên", "now", ("should_not#1", "should_not#1"), "base", "không_nên#1", ""),
    (3, "must not không được", "", ("must_not#1", "must_not#1"), "base", "không_được#1", ""),
    (3, "would like to muốn", "", ("would_like_to#1", "would_like_to#1"), "base", "muốn#1", ""),
    (3, "do not have to không cần", "habit", ("does_not_have_to#1", "do_not_have_to#1"), "base", "không_cần_phải#1", ""),
)


def be(subject: Phrase, past: bool = False) -> str:
    return BE["past" if past else "present"][subject.agreement]


def tensed(g: State, s: Phrase, tense: str, make_verb_phrase=verb_phrase) -> tuple[Phrase, str]:
    """Subject with predicate in a tense; returns the clause and the time that a time phrase may name."""
    table = [(row[0], row) for row in TENSES if not tense or row[2] == tense]
    _, name, time, auxiliaries, form, particle, end = g.weighted(table)
    auxiliary = auxiliaries[s.agreement not in ("sg",)].replace("{be}", be(s))
    if name in ("present", "frequency"):
        form = "third" if s.agreement == "sg" else "base"
    if name == "frequency":
        a = g.entry(g.pick(of_kind(ADVERBS, "often")))
        v = make_verb_phrase(g, form)
        return g.build("adverb of frequency", "{s} {a} {v}", "{s} {a} {v}", s=s, a=a, v=v), time
    v = make_verb_phrase(g, form, "đã" if name == "past đã" else "")
    suffix = " yet#1" if name == "not yet chưa" and not v.heavy else ""
    english = f"{{s}} {auxiliary} {{v}}{suffix}"
    return g.build(f"tense {name}", english, f"{{s}} {particle} {{v}} {end}", s=s, v=v), time


def timed(g: State, clause: Phrase, time: str, share: float = 1.0) -> Phrase:
    """Adds a time phrase. In Vietnamese it comes first wherever the English has it."""
    t = nouns.when(g, time) if g.chance(min(0.6, 0.2 + g.wealth) * share) else None
    if t is None:
        return clause
    if clause.heavy or g.chance(0.3):
        return g.build("time phrase first", "{t} , {c}", "{t} {c}", t=t, c=clause)
    return g.build("time phrase last", "{c} {t}", "{t} {c}", t=t, c=clause)


def subject(g: State) -> Phrase:
    s = nouns.person(g, subject=True)
    return relative(g, s) if g.rich(0.5) else s


def action(g: State, tense: str) -> Phrase:
    clause, time = tensed(g, subject(g), tense)
    return timed(g, clause, time)


def animal_action(g: State, tense: str) -> Phrase:
    s = nouns.thing(g, ("animal",))
    clause, time = tensed(g, s, tense if tense != "" else g.pick(("past", "now", "habit")), animal_verb_phrase)
    return timed(g, clause, time, 0.5)


def copula_noun(g: State, tense: str) -> Phrase:
    """ "Lan is a young doctor" / "Lan là một bác sĩ trẻ"."""
    s = nouns.person(g, subject=True, coordinate=False)
    noun = g.pick(of_kind(NOUNS, "job"))
    if s.agreement == "pl" and s.english[0].text.lower() not in ("you",):
        n = nouns.head(g, noun, True, False)
        return g.build("copula là plural", f"{{s}} {be(s)}#1 {{n}}", "{s} là#1 {n}", s=s, n=n)
    n = g.build("", "a#1 {n}", "một#1 {n}", n=nouns.head(g, noun, False, False))
    style = g.weighted(((6, ("copula là", "{s} {be}#1 {n}", "{s} là#1 {n}")),
                        (3, ("copula negation không phải là", "{s} {be}_not#1 {n}", "{s} không_phải_là#1 {n}")),
                        (2, ("copula used to be", "{s} used_to_be#1 {n}", "{s} đã_từng_là#1 {n}")),
                        (2, ("wants to become", "{s} want_to_become#1 {n}", "{s} muốn_trở_thành#1 {n}"))))  # fmt: skip
    name, english, vietnamese = style
    english = english.replace("{be}", be(s))
    if s.agreement == "sg":
        english = english.replace("want_", "wants_")
    return g.build(name, english, vietnamese, s=s, n=n)


def describable(g: State) -> tuple[Phrase, object]:
    """A thing, place or animal, and an adjective that fits it."""
    for _ in range(20):
        noun = g.pick([entry for entry in NOUNS if not set(entry.kinds) & {"job", "people"}])
        entry = nouns.adjective_for(g, noun)
        if entry is not None and "colour" not in entry.kinds:
            break
    wealth, g.wealth = g.wealth, g.wealth * 0.5
    s = nouns.determined(g, noun)
    g.wealth = wealth
    s = relative(g, s) if g.rich(0.5) else s
    s.used.append(nouns.pair_name(entry, noun))
    return s, entry


def copula_adjective(g: State, tense: str) -> Phrase:
    """A predicate adjective, without copula in Vietnamese."""
    if g.chance(0.5):
        s, entry = subject(g), g.pick(of_kind(ADJECTIVES, "state", "state", "person"))
    else:
        s, entry = describable(g)
    past = tense == "past" or (not tense and g.chance(0.4))
    a = nouns.adjective(g, entry, None, "very" if g.chance(0.3) else "")
    style = g.weighted(((6, ("predicate adjective", "{s} {be} {a}", "{s} {a}")),
                        (3, ("predicate adjective negation", "{s} {be} not#1 {a}", "{s} không#1 {a}")),
                        (1, ("predicate too", "{s} {be} too#1 {a}", "{s} quá#1 {a}"))))  # fmt: skip
    if a.used[0].startswith("adjective with") or tense == "future":
        style = ("predicate adjective", "{s} {be} {a}", "{s} {a}")
    english = style[1].replace("{be}", "will be#1" if tense == "future" else be(s, past))
    vietnamese = style[2].replace("{s}", "{s} sẽ#1") if tense == "future" else style[2]
    clause = g.build(style[0], english, vietnamese, s=s, a=a)
    return timed(g, clause, "past" if past else "future" if tense == "future" else "now", 0.7)


def comparison(g: State, tense: str) -> Phrase:
    """ "This table is smaller than that one" kinds of clause."""
    if g.chance(0.6):
        s, o = nouns.person(g, True, coordinate=False), nouns.owner_person(g)
        entry = g.pick(of_kind(ADJECTIVES, "person"))
    else:
        s, entry = describable(g)
        noun_name = next(used for used in s.used if used.startswith("noun "))
        noun = next(noun for noun in NOUNS if noun.name == noun_name)
        o = nouns.thing(g, noun.kinds[:1], number="sg")
    parts = {"s": s, "o": o}
    verb_be = be(s, tense == "past")
    if g.chance(0.35):
        a = nouns.adjective(g, entry, None)
        english, vietnamese = f"{{s}} {verb_be} as#1 {{a}} as#1 {{o}}", "{s} {a} bằng#1 {o}"
        return g.build("equative", english, vietnamese, a=a, **parts)
    if g.chance(0.2):
        a = nouns.adjective(g, entry, None)
        english, vietnamese = f"{{s}} {verb_be} not as#1 {{a}} as#1 {{o}}", "{s} không_{a} bằng#1 {o}"
        vietnamese, english = "{s} không#2 {a} bằng#1 {o}", english.replace("not", "not#2")
        return g.build("negated equative", english, vietnamese, a=a, **parts)
    a = nouns.adjective(g, entry, None, "more")
    if g.chance(0.3):
        return g.build("much comparative", f"{{s}} {verb_be} much#1 {{a}} than {{o}}", "{s} {a} {o} nhiều#1", a=a, **parts)
    return g.build("comparative", f"{{s}} {verb_be} {{a}} than {{o}}", "{s} {a} {o}", a=a, **parts)


def passive(g: State, tense: str) -> Phrase:
    """ "The house was built by the workers" / "Ngôi nhà đã được các công nhân xây"."""
    entry = g.pick([entry for entry in TRANSITIVE if entry.extra and set(entry.kinds) != {"food"} and
                    not set(entry.kinds) & {"food", "subject", "language"}])  # fmt: skip
    human = "person" in entry.kinds
    s = nouns.person(g, True, entry) if human else nouns.thing(g, entry.kinds, entry)
    s = relative(g, s) if g.rich(0.3) else s
    v, after = verb(g, entry, "participle")
    v.vietnamese.extend(after.vietnamese)
    o = nouns.owner_person(g)
    mark = entry.extra
    styles = {
        "past": (be(s, True) + "#1", f"đã#1 {mark}#1", "past"),
        "future": ("will_be#1", f"sẽ#1 {mark}#1", "future"),
        "now": (be(s) + "_being#1", f"đang#1 {mark}#1", "now"),
        "habit": (("have" if s.agreement != "sg" else "has") + "_not_been#1", f"chưa#1 {mark}#1", ""),
    }
    auxiliary, particle, time = styles[tense or g.weighted(((5, "past"), (2, "future"), (1, "now"), (1, "habit")))]
    if g.chance(0.7):
        english, vietnamese = f"{{s}} {auxiliary} {{v}} by#2 {{o}}", f"{{s}} {particle} {{o}} {{v}}"
        clause = g.build(f"passive {mark} with agent", english, vietnamese, s=s, v=v, o=o)
    else:
        english, vietnamese = f"{{s}} {auxiliary} {{v}}", f"{{s}} {particle} {{v}}"
        clause = g.build(f"passive {mark}", english, vietnamese, s=s, v=v)
    return timed(g, clause, time, 0.7)


def existence(g: State, tense: str) -> Phrase:
    """ "There are two cats under the table" / "Dưới cái bàn có hai con mèo"."""
    where, what = g.pick((("furniture", ("animal", "tool", "fruit")), ("room", ("furniture", "animal", "plant")),
                          ("place", ("people", "job", "vehicle"))))  # fmt: skip
    entry = g.pick(of_kind(PREPOSITIONS, {"furniture": "on"}.get(where, "in")))
    place = nouns.thing(g, (where,), number="sg")
    kind = g.pick(("a", "number", "no", "many"))
    noun = g.pick(of_kind(NOUNS, *what))
    n = nouns.head(g, noun, kind != "a", False)
    past = tense == "past" or (not tense and g.chance(0.3))
    verb_be = ("was" if past else "is") if kind == "a" else ("were" if past else "are")
    q = {"a": ("a", "một"), "no": ("no", ""), "many": ("many", "nhiều"), "number": g.pick(words.NUMBERS)}[kind]
    parts = {"q": g.word("", *q), "n": n, "p": g.entry(entry), "l": place}
    english = f"there#1 {verb_be}#1 {{q}} {{n}} {{p}} {{l}}"
    vietnamese = "{p} {l} không#1 có#1 {n}" if kind == "no" else "{p} {l} có#1 {q} {n}"
    if kind == "no":
        english = english.replace("{q}", "no#1")
    return g.build(f"existence {kind}", english, vietnamese, **parts)


def having(g: State, tense: str) -> Phrase:
    s = nouns.person(g, subject=True)
    o = nouns.thing(g, ("tool", "machine", "vehicle", "clothes", "animal", "instrument", "hat", "jewel"))
    o = relative(g, o) if g.rich(0.5) else o
    have = "has" if s.agreement == "sg" else "have"
    style = g.weighted(((4, (have, "có", "")), (2, ("does_not_have" if have == "has" else "do_not_have", "không_có", " negation")),
                        (2, ("had", "đã_từng_có", " past")), (2, ("will_have", "sẽ_có", " future"))))  # fmt: skip
    return g.build(f"having{style[2]}", f"{{s}} {style[0]}#1 {{o}}", f"{{s}} {style[1]}#1 {{o}}", s=s, o=o)


def measure(g: State, tense: str) -> Phrase:
    """Age and price: predicates of number without copula."""
    if g.chance(0.5):
        s = nouns.person(g, subject=True, coordinate=False)
        q = g.word("", *g.pick(words.NUMBERS[4:]))
        return g.build("age", f"{{s}} {be(s)} {{q}} years_old#1", "{s} {q} tuổi#1", s=s, q=q)
    s = nouns.thing(g, ("tool", "machine", "vehicle", "clothes", "jewel", "instrument", "furniture"))
    q, cost = g.word("", *g.pick(words.NUMBERS)), "costs" if s.agreement == "sg" else "cost"
    unit, vietnamese = g.pick((("thousand", "nghìn"), ("hundred", "trăm"), ("million", "triệu")))
    u = g.word("", unit, vietnamese)
    return g.build("price", f"{{s}} {cost}#1 {{q}} {{u}} dong#2", "{s} giá#1 {q} {u} đồng#2", s=s, q=q, u=u)


def weather(g: State, tense: str) -> Phrase:
    a = g.entry(g.pick(of_kind(ADJECTIVES, "weather")))
    place = g.word("name of a place", *g.pick(words.TOWNS))
    tense = tense or g.pick(("past", "future", "now"))
    verb_be = {"past": "was", "future": "will be", "now": "is", "habit": "is"}[tense]
    style = g.pick((("weather in a town", "in_#0 {p}", "ở {p}"), ("weather", "", "")))
    mark = " sẽ#1" if tense == "future" else ""
    verb_be = verb_be.replace("will", "will#1")
    if style[1]:
        english, vietnamese = f"the weather#2 in#3 {{p}} {verb_be} {{a}}", f"thời_tiết#2 ở#3 {{p}}{mark} {{a}}"
        clause = g.build("weather in a town", english, vietnamese, p=place, a=a)
    else:
        clause = g.build("weather", f"the weather#2 {verb_be} {{a}}", f"trời#2{mark} {{a}}", a=a)
    return timed(g, clause, tense)


def location(g: State, tense: str) -> Phrase:
    """ "The key is under the table" / "Chiếc chìa khóa ở dưới cái bàn"."""
    if g.chance(0.4):
        s, p = subject(g), nouns.where(g)
        english, vietnamese = f"{{s}} {be(s)} {{p}}", "{s} đang {p}"
        return timed(g, g.build("location of a person", english, vietnamese, s=s, p=p), "now")
    s = nouns.thing(g, ("tool", "machine", "reading", "picture", "clothes", "fruit"))
    entry = g.pick(of_kind(PREPOSITIONS, "on"))
    p = g.word(entry.name, entry.english, f"ở {entry.vietnamese}")
    o = nouns.thing(g, ("furniture",), number="sg")
    verb_be = be(s, tense == "past")
    return g.build("location of a thing", f"{{s}} {verb_be} {{p}} {{o}}", "{s} {p} {o}", s=s, p=p, o=o)


STATEMENTS = ((44, action), (6, animal_action), (7, copula_noun), (9, copula_adjective), (7, comparison), (9, passive),
              (7, existence), (5, having), (4, measure), (3, weather), (5, location))  # fmt: skip
TENSED = ((44, action), (6, animal_action), (9, copula_adjective), (9, passive), (3, weather))


def statement(g: State, tense: str = "") -> Phrase:
    """One simple clause; with `tense`, one whose time is that."""
    return g.weighted(TENSED if tense else STATEMENTS)(g, tense)
