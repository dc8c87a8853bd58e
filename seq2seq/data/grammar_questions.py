"""Questions of one clause. Vietnamese asks "what" and "whom" in place, and yes or no around the predicate."""

from seq2seq.data import grammar_nouns as nouns
from seq2seq.data.grammar_clauses import TENSES, be, subject, tensed, timed
from seq2seq.data.grammar_core import Phrase, State
from seq2seq.data.grammar_verbs import inflect, simple, verb_phrase
from seq2seq.data.grammar_words import ADJECTIVES, NOUNS, TRANSITIVE, of_kind, volitional


def you(g: State) -> Phrase:
    g.speakers = {"you"}
    return g.word("pronoun", "you", g.second, "pl")


ASKED_HOW = tuple(entry for entry in volitional(TRANSITIVE) if "_" not in entry.vietnamese)
ASKABLE = tuple(entry for entry in ASKED_HOW if "person" not in entry.kinds)
# "wear" and "wash" have several translations, by their objects, so that the bare "what" would not tell which.
UNSETTLED = {
    entry.english for entry in ASKABLE if len({e.vietnamese for e in ASKABLE if e.english == entry.english}) > 1
}


def asked(g: State) -> Phrase:
    """Whom a question is about."""
    return you(g) if g.chance(0.4) else nouns.person(g, subject=True, coordinate=False)


def yes_no(g: State) -> Phrase:
    """ "Do you like the book?" / "Bạn có thích quyển sách không?" and the like, with the other auxiliaries."""
    s = asked(g)
    third = s.agreement == "sg"
    do, have = ("does", "has") if third else ("do", "have")
    table = (
        (4, "yes/no did", "did#1 {s} {v}", "{s} có#1 {v} không#1", "do", "past"),
        (4, "yes/no do", f"{do}#1 {{s}} {{v}}", "{s} có#1 {v} không#1", "base", "habit"),
        (3, "yes/no will", "will#1 {s} {v}", "{s} sẽ#1 {v} chứ#1", "do", "future"),
        (3, "yes/no perfect", f"{have}#1 {{s}} {{v}} yet#1", "{s} đã#1 {v} chưa#1", "done", ""),
        (3, "yes/no can", "can#1 {s} {v}", "{s} có_thể#1 {v} không#1", "do", "future"),
        (2, "yes/no progressive", f"{be(s)}#1 {{s}} {{v}}", "có_phải#1 {s} đang#1 {v} không#1", "ing", "now"),
    )
    _, name, english, vietnamese, form, time = g.weighted([(row[0], row) for row in table])
    v = verb_phrase(g, form)
    if v.heavy:
        english = english.replace(" yet#1", "")
    clause = g.build(name, english, vietnamese, s=s, v=v)
    return timed(g, clause, time, 0.7)


def yes_no_be(g: State) -> Phrase:
    """ "Is Lan a doctor?" / "Lan có phải là bác sĩ không?"; "Is Lan tired?" / "Lan có mệt không?"."""
    s = asked(g)
    if g.chance(0.5) and (s.agreement != "pl"):
        job = g.pick(of_kind(NOUNS, "job"))
        n = g.word(job.name, job.english, job.vietnamese)
        english, vietnamese = f"{be(s)}#1 {{s}} a#2 {{n}}", "{s} có_phải_là#1 một#2 {n} không#1"
        return g.build("yes/no copula noun", english, vietnamese, s=s, n=n)
    a = nouns.adjective(g, g.pick(of_kind(ADJECTIVES, "state", "person")), None)
    return g.build("yes/no copula adjective", f"{be(s)}#1 {{s}} {{a}}", "{s} có#1 {a} không#1", s=s, a=a)


def what(g: State) -> Phrase:
    """ "What did you buy?" / "Bạn đã mua gì?"; "Which book ...", "Whose book ...", "How many books ..."."""
    s = asked(g)
    entry = g.pick(ASKABLE)
    v = g.word(entry.name, inflect(entry, "base"), entry.vietnamese)
    third = s.agreement == "sg"
    do, mark, time = g.weighted(((5, ("did#1", "đã#1", "past")), (3, ("will#1", "sẽ#1", "future")),
                                 (2, ("does#1" if third else "do#1", "", "habit"))))  # fmt: skip
    kind = g.weighted(((5, "what"), (4, "which"), (3, "how many"), (3, "whose")))
    options = of_kind(NOUNS, *entry.kinds)
    noun = g.partner(entry, options) if options else None
    if kind == "what" and entry.english in UNSETTLED:
        kind = "which"
    if kind == "what" or noun is None:
        clause = g.build("question what", f"what#2 {do} {{s}} {{v}}", f"{{s}} {mark} {{v}} gì#2", s=s, v=v)
        return timed(g, clause, time, 0.7)
    templates = {
        "which": ("which#2 {n}", "{n} nào#2"),
        "how many": ("how_many#2 {n}", "bao_nhiêu#2 {n}"),
        "whose": ("whose#2 {n}", "{n} của#2 ai#2"),
    }
    n = nouns.head(g, noun, kind == "how many", False)
    n.used.append(nouns.pair_name(entry, noun))
    english, vietnamese = templates[kind]
    english, vietnamese = f"{english} {do} {{s}} {{v}}", f"{{s}} {mark} {{v}} {vietnamese}"
    return timed(g, g.build(f"question {kind}", english, vietnamese, s=s, v=v, n=n), time, 0.7)


def who(g: State) -> Phrase:
    """ "Who bought the car?" / "Ai đã mua chiếc ô tô?"; "Whom did you meet?" / "Bạn đã gặp ai?"."""
    if g.chance(0.4):
        s = asked(g)
        entry = g.pick(of_kind(TRANSITIVE, "person"))
        v = g.word(entry.name, inflect(entry, "base"), entry.vietnamese)
        clause = g.build("question whom", "whom#1 did#2 {s} {v}", "{s} đã#2 {v} ai#1", s=s, v=v)
        return timed(g, clause, "past", 0.7)
    if g.chance(0.6):
        return g.build("question who past", "who#1 {v}", "ai#1 {v}", v=simple(g, "past", "đã"))
    return g.build("question who future", "who#1 will#2 {v}", "ai#1 sẽ#2 {v}", v=simple(g, "do"))


def adverbial(g: State) -> Phrase:
    """Where, when, why, how: some stay in place in Vietnamese, some come first."""
    s = asked(g)
    third = s.agreement == "sg"
    do = "does#1" if third else "do#1"
    table = (
        ("question where", "where#2 did#1 {s} {v}", "{s} đã#1 {v} ở_đâu#2", "base"),
        ("question when past", "when#2 did#1 {s} {v}", "{s} đã#1 {v} khi_nào#2", "base"),
        ("question when future", "when#2 will#1 {s} {v}", "khi_nào#2 {s} sẽ#1 {v}", "base"),
        ("question why past", "why#2 did#1 {s} {v}", "tại_sao#2 {s} đã#1 {v}", "base"),
        ("question why not", f"why#2 {do} {{s}} not#3 {{v}}", "tại_sao#2 {s} không#3 {v}", "base"),
        ("question how", "how#2 did#1 {s} {v}", "{s} đã#1 {v} như_thế_nào#2", "base"),
        ("question how often", f"how_often#2 {do} {{s}} {{v}}", "bao_lâu#2 {s} {v} một_lần#2", "base"),
    )
    name, english, vietnamese, form = g.pick(table)
    entry = g.pick(ASKED_HOW)
    v = g.word(entry.name, inflect(entry, form), entry.vietnamese)
    o = nouns.person(g, governor=entry) if "person" in entry.kinds else nouns.thing(g, entry.kinds, entry)
    return g.build(name, english, vietnamese, s=s, v=g.build("", "{v} {o}", "{v} {o}", v=v, o=o))


WHETHER = tuple(row for row in TENSES if row[1] in ("past đã", "future sẽ", "can có thể"))


def whether(g: State) -> Phrase:
    """ "Do you know whether Lan will come?" / "Bạn có biết liệu Lan sẽ đến hay không?"."""
    y = you(g)
    b, _ = tensed(g, subject(g), "", WHETHER)
    english, vietnamese = "do#1 {y} know#2 whether#3 {b}", "{y} có#1 biết#2 liệu#3 {b} hay_không#3"
    return g.build("question do you know whether", english, vietnamese, y=y, b=b)
