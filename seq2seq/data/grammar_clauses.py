"""Simple clauses: one subject and its predicate, as statements.

`tense` is past, future, habit, now, or "" for any; after `when` or `before` it is "bare" (a past for which Vietnamese
has no particle), "during" (the same, progressive) or "each" (the same, present). It decides the English form, the
Vietnamese particle and the time phrase, which English puts at either end of the clause and Vietnamese always first.
"""

from seq2seq.data import grammar_adverbials as adverbials
from seq2seq.data import grammar_nouns as nouns
from seq2seq.data import grammar_words as words
from seq2seq.data.grammar_core import Phrase, State
from seq2seq.data.grammar_predicates import (
    comparison,
    copula_noun,
    existence,
    having,
    measure,
    not_yet_said,
    subject_adjective,
)
from seq2seq.data.grammar_verbs import (
    BE,
    animal_verb_phrase,
    heavy,
    pet_verb_phrase,
    relative,
    simple,
    verb,
    verb_phrase,
)
from seq2seq.data.grammar_words import ADJECTIVES, ADVERBS, PREPOSITIONS, TRANSITIVE, of_kind

# weight, name, time of the clause, English auxiliary (singular, plural), verb form, Vietnamese before and after it
TENSES = (
    (16, "past đã", "past", ("", ""), "past", "", ""),
    (5, "past negation", "past", ("did_not#1", "did_not#1"), "base", "đã_không#1", ""),
    (5, "had to", "past", ("had_to#1", "had_to#1"), "do", "đã_phải#1", ""),
    (4, "used to từng", "", ("used_to#1", "used_to#1"), "base", "đã_từng#1", ""),
    (10, "future sẽ", "future", ("will#1", "will#1"), "do", "sẽ#1", ""),
    (4, "future negation", "future", ("will_not#1", "will_not#1"), "do", "sẽ_không#1", ""),
    (4, "going to sắp", "", ("{be}_going_to#1", "{be}_going_to#1"), "do", "sắp#1", ""),
    (9, "progressive đang", "now", ("{be}#1", "{be}#1"), "ing", "đang#1", ""),
    (3, "progressive negation", "now", ("{be}_not#1", "{be}_not#1"), "ing", "không#1", ""),
    (8, "present", "habit", ("", ""), "third", "", ""),
    (5, "present negation", "habit", ("does_not#1", "do_not#1"), "base", "không#1", ""),
    (8, "frequency", "habit", ("", ""), "third", "", ""),
    (5, "perfect rồi", "", ("has_already#1", "have_already#1"), "done", "đã#1", "rồi#1"),
    (5, "not yet chưa", "", ("has_not#1", "have_not#1"), "participle", "chưa#1", ""),
    (4, "has just vừa mới", "", ("has_just#1", "have_just#1"), "done", "vừa_mới#1", ""),
    (4, "has never chưa bao giờ", "", ("has_never#1", "have_never#1"), "participle", "chưa_bao_giờ#1", ""),
    (5, "can có thể", "now", ("can#1", "can#1"), "do", "có_thể#1", ""),
    (4, "cannot không thể", "now", ("cannot#1", "cannot#1"), "do", "không_thể#1", ""),
    (4, "must phải", "future", ("must#1", "must#1"), "do", "phải#1", ""),
    (4, "should nên", "future", ("should#1", "should#1"), "do", "nên#1", ""),
    (3, "should not không nên", "now", ("should_not#1", "should_not#1"), "do", "không_nên#1", ""),
    (3, "must not không được", "", ("must_not#1", "must_not#1"), "do", "không_được#1", ""),
    (3, "would like to muốn", "", ("would_like_to#1", "would_like_to#1"), "do", "muốn#1", ""),
    (3, "need not không cần phải", "habit", ("does_not_have_to#1", "do_not_have_to#1"), "do", "không_cần_phải#1", ""),
)
ANIMAL_TENSES = tuple(
    row for row in TENSES if row[1] in ("past đã", "progressive đang", "present", "frequency", "future sẽ")
)


def be(subject: Phrase, past: bool = False) -> str:
    return BE["past" if past else "present"][subject.agreement]


def tensed(g: State, s: Phrase, tense: str, tenses=TENSES, make_verb_phrase=verb_phrase) -> tuple[Phrase, str]:
    """Subject with predicate in a tense; returns the clause and the time that a time phrase may name."""
    table = [(row[0], row) for row in tenses if not tense or row[2] == tense]
    _, name, time, auxiliaries, form, particle, end = g.weighted(table)
    singular = s.agreement == "sg"
    if form == "third" and not singular:
        form = "base"
    if name == "frequency":
        a = g.entry(g.pick(of_kind(ADVERBS, "often")))
        v = make_verb_phrase(g, form)
        return g.build("adverb of frequency", "{s} {a} {v}", "{s} {a} {v}", s=s, a=a, v=v), time
    v = make_verb_phrase(g, form, "đã" if name == "past đã" else "")
    auxiliary = auxiliaries[0 if singular else 1].replace("{be}", be(s))
    yet = "yet#1" if name == "not yet chưa" and not v.heavy else ""
    return g.build(f"tense {name}", f"{{s}} {auxiliary} {{v}} {yet}", f"{{s}} {particle} {{v}} {end}", s=s, v=v), time


def timed(g: State, clause: Phrase, time: str, share: float = 1.0) -> Phrase:
    """Adds a time phrase. In Vietnamese it comes first wherever the English has it."""
    if g.timeless or not g.chance(min(0.6, 0.2 + g.wealth) * share):
        return clause
    t = adverbials.when(g, time)
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


def animal(g: State):
    """An animal as subject, and what makes verb phrases for it: only small ones are found on a table."""
    if g.chance(0.6):
        return nouns.thing(g, ("pet",)), pet_verb_phrase
    return nouns.thing(g, ("animal",)), animal_verb_phrase


def animal_action(g: State, tense: str) -> Phrase:
    s, make_verb_phrase = animal(g)
    clause, time = tensed(g, s, tense, ANIMAL_TENSES, make_verb_phrase)
    return timed(g, clause, time, 0.5)


BARE = ("bare", "during", "each")


def bare(g: State, tense: str) -> Phrase:
    """A clause after `when` or `before`: "Lan came home" / "Lan về nhà", "Lan was reading" / "Lan đang đọc sách"."""
    if tense == "bare" and g.chance(0.15):
        s, make_verb_phrase = animal(g)
        return g.build("past without particle", "{s} {v}", "{s} {v}", s=s, v=make_verb_phrase(g, "past"))
    s = nouns.person(g, subject=True)
    if tense == "each":
        return g.build(
            "present event", "{s} {v}", "{s} {v}", s=s, v=simple(g, "third" if s.agreement == "sg" else "base")
        )
    if tense == "during":
        english = f"{{s}} {be(s, True)}#1 {{v}}"
        return g.build("past progressive", english, "{s} đang#1 {v}", s=s, v=simple(g, "ing"))
    return g.build("past without particle", "{s} {v}", "{s} {v}", s=s, v=simple(g, "past"))


def copula_adjective(g: State, tense: str) -> Phrase:
    """A predicate adjective, without copula in Vietnamese."""
    s, entry = subject_adjective(g, subject)
    if tense == "future":
        a = nouns.adjective(g, entry, None)
        clause = g.build("predicate adjective future", "{s} will#1 be#1 {a}", "{s} sẽ#1 {a}", s=s, a=a)
        return timed(g, clause, "future", 0.7)
    past = tense == "past" or (not tense and g.chance(0.4))
    verb_be, very = be(s, past), g.chance(0.3)
    a = nouns.adjective(g, entry, None, "very" if very else "")
    if very or g.chance(0.5):
        clause = g.build("predicate adjective", f"{{s}} {verb_be} {{a}}", "{s} {a}", s=s, a=a)
    elif g.chance(0.8):
        clause = g.build("predicate adjective negation", f"{{s}} {verb_be} not#1 {{a}}", "{s} không#1 {a}", s=s, a=a)
    else:
        clause = g.build("predicate too", f"{{s}} {verb_be} too#1 {{a}}", "{s} quá#1 {a}", s=s, a=a)
    return timed(g, clause, "past" if past else "now", 0.7)


ABILITIES = {"strong", "clever", "brave", "patient", "rich", "kind", "careful", "tall", "polite", "honest", "friendly"}
ABLE = tuple(entry for entry in of_kind(ADJECTIVES, "person") if entry.english in ABILITIES)


def able(g: State, tense: str) -> Phrase:
    """ "too tired to swim" / "quá mệt để bơi"; "strong enough to swim" / "đủ khỏe để bơi"."""
    s = subject(g)
    past, too = tense == "past" or (not tense and g.chance(0.5)), g.chance(0.5)
    entries = of_kind(ADJECTIVES, "state") if too else ABLE
    parts = {"s": s, "a": g.entry(g.pick(not_yet_said(s, entries))), "v": simple(g, "do")}
    if too:
        english, vietnamese = f"{{s}} {be(s, past)} too#1 {{a}} to#2 {{v}}", "{s} quá#1 {a} để#2 {v}"
        return heavy(g.build("too to", english, vietnamese, **parts))
    english, vietnamese = f"{{s}} {be(s, past)} {{a}} enough#1 to#2 {{v}}", "{s} đủ#1 {a} để#2 {v}"
    return heavy(g.build("enough to", english, vietnamese, **parts))


def emphasis(g: State, tense: str) -> Phrase:
    """ "It was Lan who ..." / "Chính Lan ..."; "neither ... nor"; "it took Lan two hours to ..."."""
    g.speakers.clear()
    kind = g.pick(("cleft", "neither", "took"))
    a, b = nouns.owner_person(g), nouns.owner_person(g)
    if kind == "cleft":
        v = verb_phrase(g, "past", "đã")
        return heavy(g.build("cleft chính", "it_was#1 {s} who#1 {v}", "chính#1 {s} {v}", s=a, v=v))
    if kind == "neither" and a.english[-1].text != b.english[-1].text:
        v = verb_phrase(g, "past", "")
        english, vietnamese = "neither#1 {a} nor#2 {b} {v}", "cả#1 {a} lẫn#2 {b} đều_không#1 {v}"
        return heavy(g.build("neither nor", english, vietnamese, a=a, b=b, v=v))
    q = g.word("", *g.pick(words.NUMBERS[:9]))
    english, vietnamese = "it_took#1 {a} {q} hours#2 to#3 {v}", "{a} đã_mất#1 {q} giờ#2 để#3 {v}"
    return heavy(g.build("it took somebody", english, vietnamese, a=a, q=q, v=simple(g, "do")))


PASSIVES = tuple(e for e in TRANSITIVE if e.extra and not set(e.kinds) & {"food", "subject", "language"})


def passive(g: State, tense: str) -> Phrase:
    """ "The house was built by the workers" / "Ngôi nhà đã được các công nhân xây"."""
    entry = g.pick(PASSIVES)
    mark = entry.extra
    s = nouns.person(g, True, entry) if "person" in entry.kinds else nouns.thing(g, entry.kinds, entry)
    s = relative(g, s) if g.rich(0.3) else s
    v, after = verb(g, entry, "participle")
    v.vietnamese.extend(after.vietnamese)
    auxiliary, particle, time = {
        "past": (be(s, True) + "#1", f"đã#1 {mark}#1", "past"),
        "future": ("will_be#1", f"sẽ#1 {mark}#1", "future"),
        "now": (be(s) + "_being#1", f"đang#1 {mark}#1", "now"),
        "habit": (be(s) + "#1 often#3", f"thường#3 {mark}#1", "habit"),
        "perfect": (("has" if s.agreement == "sg" else "have") + "_not_been#1", f"chưa#1 {mark}#1", ""),
    }[tense or g.weighted(((10, "past"), (4, "future"), (2, "now"), (2, "habit"), (3, "perfect")))]
    if entry.stative and time == "now":
        auxiliary, particle, time = be(s, True) + "#1", f"đã#1 {mark}#1", "past"
    if g.chance(0.7):
        english, vietnamese = f"{{s}} {auxiliary} {{v}} by#2 {{o}}", f"{{s}} {particle} {{o}} {{v}}"
        parts = {"s": s, "v": v, "o": nouns.owner_person(g)}
        return timed(g, g.build(f"passive {mark} with agent", english, vietnamese, **parts), time, 0.7)
    english, vietnamese = f"{{s}} {auxiliary} {{v}}", f"{{s}} {particle} {{v}}"
    return timed(g, g.build(f"passive {mark}", english, vietnamese, s=s, v=v), time, 0.7)


def weather(g: State, tense: str) -> Phrase:
    """ "The weather is cold" / "Trời lạnh"; of a town: "Thời tiết ở Huế lạnh"."""
    tense = tense or g.pick(("past", "future", "now"))
    verb_be, mark = {"past": ("was#2", ""), "future": ("will#1 be#2", "sẽ#1")}.get(tense, ("is#2", ""))
    a = g.entry(g.pick(of_kind(ADJECTIVES, "weather")))
    if g.chance(0.5):
        p = g.word("name of a place", *g.pick(words.TOWNS))
        english, vietnamese = f"the weather#2 in#3 {{p}} {verb_be} {{a}}", f"thời_tiết#2 ở#3 {{p}} {mark} {{a}}"
        clause = g.build("weather in a town", english, vietnamese, p=p, a=a)
    else:
        clause = g.build("weather", f"the weather#2 {verb_be} {{a}}", f"trời#2 {mark} {{a}}", a=a)
    return timed(g, clause, tense)


def location(g: State, tense: str) -> Phrase:
    """ "The key is under the table" / "Chiếc chìa khóa ở dưới cái bàn"."""
    if g.chance(0.4):
        s, p = subject(g), adverbials.where(g)
        clause = g.build("location of a person", f"{{s}} {be(s)} {{p}}", "{s} đang {p}", s=s, p=p)
        return timed(g, clause, "now")
    s = nouns.thing(g, ("tool", "machine", "reading", "picture", "clothes", "fruit"))
    entry = g.pick(of_kind(PREPOSITIONS, "on"))
    p = g.word(entry.name, entry.english, f"ở {entry.vietnamese}")
    o = nouns.thing(g, ("surface",), number="one")
    return g.build("location of a thing", f"{{s}} {be(s, tense == 'past')} {{p}} {{o}}", "{s} {p} {o}", s=s, p=p, o=o)


TENSED = ((44, action), (6, animal_action), (9, copula_adjective), (9, passive), (2, weather))
STATEMENTS = (
    *TENSED,
    *((7, copula_noun), (7, comparison), (7, existence), (5, having), (4, measure)),
    *((5, location), (5, able), (5, emphasis)),
)


def statement(g: State, tense: str = "", timeless: bool = False) -> Phrase:
    """One simple clause; with `tense`, one whose time is that; `timeless`: without a phrase that names the time."""
    g.timeless = timeless
    if tense in BARE:
        return bare(g, tense)
    return g.weighted(TENSED if tense else STATEMENTS)(g, tense)
