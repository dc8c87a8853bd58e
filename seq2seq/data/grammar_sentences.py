"""Whole sentences: questions, requests, and clauses joined into sentences of a wanted length."""

from seq2seq.data import grammar_nouns as nouns
from seq2seq.data import grammar_words as words
from seq2seq.data.grammar_clauses import action, be, copula_adjective, statement, subject, timed, weather
from seq2seq.data.grammar_core import Phrase, State
from seq2seq.data.grammar_verbs import heavy, inflect, simple, verb, verb_phrase
from seq2seq.data.grammar_words import ADJECTIVES, INTRANSITIVE, NOUNS, TRANSITIVE, of_kind

# Fronted: name, English, Vietnamese, tense of the subordinate clause, tense of the main clause
FRONTED = (
    ("if nếu thì", "if#1 {a} , {b}", "nếu#1 {a} thì#1 {b}", "habit", "future"),
    ("if past nếu thì", "if#1 {a} , {b}", "nếu#1 {a} thì#1 {b}", "past", ""),
    ("because vì nên", "because#1 {a} , {b}", "vì#1 {a} nên#1 {b}", "past", "past"),
    ("because now vì nên", "because#1 {a} , {b}", "vì#1 {a} nên#1 {b}", "now", "future"),
    ("although mặc dù nhưng", "although#1 {a} , {b}", "mặc_dù#1 {a} nhưng#1 {b}", "past", "past"),
    ("although now mặc dù nhưng", "although#1 {a} , {b}", "mặc_dù#1 {a} nhưng#1 {b}", "habit", ""),
    ("when khi", "when#1 {a} , {b}", "khi#1 {a} , {b}", "past", "past"),
    ("as soon as ngay khi", "as_soon_as#1 {a} , {b}", "ngay_khi#1 {a} , {b}", "past", "past"),
    ("before trước khi", "before#1 {a} , {b}", "trước_khi#1 {a} , {b}", "past", "past"),
    ("after sau khi", "after#1 {a} , {b}", "sau_khi#1 {a} , {b}", "past", "past"),
    ("unless trừ khi", "unless#1 {a} , {b}", "trừ_khi#1 {a} , {b}", "habit", "future"),
    ("whenever mỗi khi", "whenever#1 {a} , {b}", "mỗi_khi#1 {a} thì#1 {b}", "habit", "habit"),
)
# In the middle: weight, name, English, Vietnamese, tense of the second clause ("same" for that of the first)
JOINED = (
    (9, "and", "{a} , and#1 {b}", "{a} và#1 {b}", ""),
    (8, "but", "{a} , but#1 {b}", "{a} nhưng#1 {b}", ""),
    (5, "so nên", "{a} , so#1 {b}", "{a} nên#1 {b}", ""),
    (5, "because vì", "{a} because#1 {b}", "{a} vì#1 {b}", ""),
    (4, "while trong khi", "{a} , while#1 {b}", "{a} , còn#1 {b}", ""),
    (4, "and then rồi", "{a} , and_then#1 {b}", "{a} rồi_sau_đó#1 {b}", "same"),
    (3, "however tuy nhiên", "{a} ; however#1 , {b}", "{a} ; tuy_nhiên#1 , {b}", ""),
    (3, "therefore vì vậy", "{a} ; therefore#1 , {b}", "{a} ; vì_vậy#1 , {b}", ""),
    (3, "besides ngoài ra", "{a} ; besides#1 , {b}", "{a} ; ngoài_ra#1 , {b}", ""),
    (2, "although mặc dù", "{a} , although#1 {b}", "{a} , mặc_dù#1 {b}", ""),
    (2, "or hoặc", "{a} , or#1 {b}", "{a} hoặc#1 {b}", ""),
)


def reported(g: State, n: int, tense: str = "") -> Phrase:
    """ "Lan said that ..." / "Lan nói rằng ..."; "Lan told me that ...", "it seems that ..."."""
    if g.chance(0.15):
        return heavy(g.build("it seems dường như", "it_seems_that#1 {b}", "dường_như#1 {b}", b=chain(g, n - 3)))
    if g.chance(0.12):
        english, vietnamese = "nobody#1 knows#1 why#2 {b}", "không_ai#1 biết#1 tại_sao#2 {b}"
        return heavy(g.build("nobody knows why", english, vietnamese, b=statement(g)))
    s = nouns.owner_person(g) if g.chance(0.5) else nouns.person(g, subject=True)
    if g.chance(0.35):
        v, _ = verb(g, g.pick(of_kind(INTRANSITIVE, "telling")), "past", "đã")
        parts = {"s": s, "v": v, "o": nouns.person(g, coordinate=False)}
        parts["b"] = chain(g, n - 5)
        return heavy(g.build("telling somebody that", "{s} {v} {o} that#1 {b}", "{s} {v} {o} rằng#1 {b}", **parts))
    past = g.chance(0.5)
    entry = g.pick(of_kind(INTRANSITIVE, "saying"))
    form = "past" if past else "third" if s.agreement == "sg" else "base"
    v, _ = verb(g, entry, form, "đã" if past else "")
    name = "reported speech"
    return heavy(g.build(name, "{s} {v} that#1 {b}", "{s} {v} rằng#1 {b}", s=s, v=v, b=chain(g, n - 4)))


def fronted(g: State, n: int) -> Phrase:
    """A subordinate clause first. It holds no comma of its own, so that the place of `thì` or `nên` is plain."""
    name, english, vietnamese, first, second = g.pick(FRONTED)
    wealth = g.wealth
    a = comma_free(g, first)
    g.wealth = wealth
    rest = n - len(a)
    b = statement(g, second) if rest < 13 else joined(g, rest, second)
    return heavy(g.build(f"subordinate {name}", english, vietnamese, a=a, b=b))


def comma_free(g: State, tense: str) -> Phrase:
    while True:
        a = statement(g, tense)
        if all(token.text != "," for token in a.english):
            return a


def joined(g: State, n: int, tense: str = "") -> Phrase:
    """Two parts with a conjunction between them; the second may go on."""
    _, name, english, vietnamese, second = g.weighted([(row[0], row) for row in JOINED])
    if second == "same":
        tense = tense if tense in ("past", "future", "habit") else "past"
        second = tense
    a = statement(g, tense)
    rest = n - len(a) - 1
    b = statement(g, second) if second else chain(g, rest)
    return heavy(g.build(f"coordination {name}", english, vietnamese, a=a, b=b))


def chain(g: State, n: int) -> Phrase:
    """Clauses of about n words together."""
    if n < 13 or (n < 16 and g.chance(0.4)):
        return statement(g)
    return g.weighted(((5, joined), (2, fronted), (2, reported)))(g, n)


# --- questions -------------------------------------------------------------------------------------------------------


def you(g: State) -> Phrase:
    return g.word("pronoun", "you", g.second, "pl")


def asked(g: State) -> Phrase:
    """Whom a question is about."""
    return you(g) if g.chance(0.4) else nouns.person(g, subject=True, coordinate=False)


def yes_no(g: State) -> Phrase:
    """ "Do you like the book?" / "Bạn có thích quyển sách không?" and the like, with the other auxiliaries."""
    s = asked(g)
    third = s.agreement == "sg"
    do, have = ("does", "has") if third else ("do", "have")
    table = (
        (4, "yes/no did", "did#1 {s} {v}", "{s} có#1 {v} không#1", "base", "past"),
        (4, "yes/no do", f"{do}#1 {{s}} {{v}}", "{s} có#1 {v} không#1", "base", "habit"),
        (3, "yes/no will", "will#1 {s} {v}", "{s} sẽ#1 {v} chứ#1", "base", "future"),
        (3, "yes/no perfect", f"{have}#1 {{s}} {{v}} yet#1", "{s} đã#1 {v} chưa#1", "participle", ""),
        (3, "yes/no can", "can#1 {s} {v}", "{s} có_thể#1 {v} không#1", "base", "future"),
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
    entry = g.pick([entry for entry in TRANSITIVE if "person" not in entry.kinds and "_" not in entry.vietnamese])
    v = g.word(entry.name, inflect(entry, "base"), entry.vietnamese)
    third = s.agreement == "sg"
    do, mark, time = g.weighted(((5, ("did#1", "đã#1", "past")), (3, ("will#1", "sẽ#1", "future")),
                                 (2, ("does#1" if third else "do#1", "", "habit"))))  # fmt: skip
    kind = g.weighted(((5, "what"), (4, "which"), (3, "how many"), (3, "whose")))
    options = [noun for noun in of_kind(NOUNS, *entry.kinds)]
    noun = g.partner(entry, options) if options else None
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
    return g.build("question who future", "who#1 will#2 {v}", "ai#1 sẽ#2 {v}", v=simple(g, "base"))


def adverbial(g: State) -> Phrase:
    """Where, when, why, how: some stay in place in Vietnamese, some come first."""
    s, third = asked(g), None
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
    entry = g.pick([entry for entry in TRANSITIVE if "_" not in entry.vietnamese])
    v = g.word(entry.name, inflect(entry, form), entry.vietnamese)
    o = nouns.person(g, governor=entry) if "person" in entry.kinds else nouns.thing(g, entry.kinds, entry)
    return g.build(name, english, vietnamese, s=s, v=g.build("", "{v} {o}", "{v} {o}", v=v, o=o))


def question(g: State, n: int) -> Phrase:
    q = g.weighted(((6, yes_no), (2, yes_no_be), (5, what), (3, who), (4, adverbial)))
    if n < 13:
        return q(g)
    if g.chance(0.5):
        style = g.pick((("do you know whether", "do#1 you_know whether#2 {b}", "{y} có#1 biết liệu#2 {b} không#1"),
                        ("do you think", "do#1 you_think that#2 {b}", "{y} có#1 nghĩ rằng#2 {b} không#1")))  # fmt: skip
        name, english, vietnamese = style
        y, k = you(g), g.word("", *(("know", "biết") if "know" in name else ("think", "nghĩ")))
        english = english.replace("you_know", "{y} {k}").replace("you_think", "{y} {k}")
        vietnamese = vietnamese.replace("biết", "{k}").replace("nghĩ", "{k}")
        b = statement(g) if "whether" in name else chain(g, n - 4)
        return g.build(f"question {name}", english, vietnamese, y=y, k=k, b=b)
    a = comma_free(g, "habit")
    return g.build("question after if", "if#1 {a} , {b}", "nếu#1 {a} thì#1 {b}", a=a, b=q(g))


def request(g: State, n: int) -> Phrase:
    """ "Please close the door." / "Xin hãy đóng cánh cửa."."""
    style = g.pick((("please xin hãy", "please#1 {v}", "xin_hãy#1 {v}"), ("prohibition đừng", "do_not#1 {v}", "đừng#1 {v}"),
                    ("let us", "let_us#1 {v}", "chúng_ta_hãy#1 {v}"),
                    ("never request", "never#1 {v}", "đừng_bao_giờ#1 {v}")))  # fmt: skip
    r = g.build(f"request {style[0]}", style[1], style[2], v=verb_phrase(g, "base"))
    rest = n - len(r)
    if rest < 4:
        return r
    if g.chance(0.5):
        return g.build("request with if", "if#1 {a} , {b}", "nếu#1 {a} thì#1 {b}", a=comma_free(g, "habit"), b=r)
    return g.build("request with because", "{b} because#1 {a}", "{b} vì#1 {a}", a=chain(g, rest - 1), b=r)


def sentence(g: State, n: int) -> Phrase:
    """A whole sentence of about n English words, with its final mark."""
    g.wealth = 0.12 if n < 8 else 0.3 if n < 14 else 0.42
    g.set_addressee("tôi", "bạn", "")
    vocative = None
    if n > 5 and g.chance(0.14):
        vocative = address(g)
        n -= 1
    kind = g.weighted(((70, "."), (20, "?"), (8, "!")))
    if kind == "." or n > 34:
        kind, body = ".", chain(g, n)
    elif kind == "?":
        body = question(g, n)
        if n > 25:
            body = g.build("question after reason", "{a} , so#1 {b}", "{a} nên#1 {b}", a=chain(g, n - len(body)), b=body)
    else:
        kind, body = ".", request(g, n)
    if vocative is not None:
        return g.build("addressee", f"{{a}} , {{b}} {kind}", f"{{a}} , {{b}} {kind}", a=vocative, b=body)
    if kind == "." and g.chance(0.05):
        return g.build("tag question", "{b} , right#1 ?", "{b} , phải_không#1 ?", b=body)
    return g.build("", f"{{b}} {kind}", f"{{b}} {kind}", b=body)


def address(g: State) -> Phrase:
    """Names whom the sentence speaks to, which settles the Vietnamese for I and you."""
    if g.chance(0.25):
        person = nouns.name(g)
        name = person.english[0].text
        return g.word("personal name", name, f"{name} ơi")
    english, vietnamese, first, second, unnamed = g.pick(words.ADDRESSEES)
    g.set_addressee(first, second, unnamed)
    return g.word("", english, vietnamese)
