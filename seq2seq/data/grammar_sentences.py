"""Whole sentences: clauses, questions and requests joined into sentences of a wanted length."""

from seq2seq.data import grammar_nouns as nouns
from seq2seq.data import grammar_words as words
from seq2seq.data.grammar_clauses import BARE, action, be, statement, subject
from seq2seq.data.grammar_core import Phrase, State
from seq2seq.data.grammar_questions import adverbial, what, whether, who, yes_no, yes_no_be, you
from seq2seq.data.grammar_verbs import heavy, verb, verb_phrase
from seq2seq.data.grammar_words import ADJECTIVES, INTRANSITIVE, of_kind

# Fronted: name, English, Vietnamese, tense of the subordinate clause, tense of the main clause
FRONTED = (
    ("if nếu thì", "if#1 {a} , {b}", "nếu#1 {a} thì#1 {b}", "habit", "future"),
    ("if event nếu thì", "if#1 {a} , {b}", "nếu#1 {a} thì#1 {b}", "each", "future"),
    ("because vì nên", "because#1 {a} , {b}", "vì#1 {a} nên#1 {b}", "past", "past"),
    ("because now vì nên", "because#1 {a} , {b}", "vì#1 {a} nên#1 {b}", "now", "future"),
    ("although mặc dù nhưng", "although#1 {a} , {b}", "mặc_dù#1 {a} nhưng#1 {b}", "past", "past"),
    ("although now mặc dù nhưng", "although#1 {a} , {b}", "mặc_dù#1 {a} nhưng#1 {b}", "habit", ""),
    ("when khi", "when#1 {a} , {b}", "khi#1 {a} , {b}", "bare", "past"),
    ("as soon as ngay khi", "as_soon_as#1 {a} , {b}", "ngay_khi#1 {a} , {b}", "bare", "past"),
    ("before trước khi", "before#1 {a} , {b}", "trước_khi#1 {a} , {b}", "bare", "past"),
    ("after sau khi", "after#1 {a} , {b}", "sau_khi#1 {a} , {b}", "bare", "past"),
    ("when during khi", "when#1 {a} , {b}", "khi#1 {a} , {b}", "during", "past"),
    ("while trong khi", "while#1 {a} , {b}", "trong_khi#1 {a} , {b}", "during", "past"),
    ("unless trừ khi", "unless#1 {a} , {b}", "trừ_khi#1 {a} , {b}", "each", "future"),
    ("whenever mỗi khi", "whenever#1 {a} , {b}", "mỗi_khi#1 {a} thì#1 {b}", "each", "habit"),
)
# In the middle: weight, name, English, Vietnamese, tense of the second clause ("same" for that of the first)
JOINED = (
    (9, "and", "{a} , and#1 {b}", "{a} và#1 {b}", ""),
    (8, "but", "{a} , but#1 {b}", "{a} nhưng#1 {b}", ""),
    (5, "so nên", "{a} , so#1 {b}", "{a} nên#1 {b}", ""),
    (5, "because vì", "{a} because#1 {b}", "{a} vì#1 {b}", ""),
    (4, "whereas còn", "{a} , whereas#1 {b}", "{a} , còn#1 {b}", ""),
    (2, "while trong khi", "{a} while#1 {b}", "{a} trong_khi#1 {b}", "during"),
    (2, "before trước khi", "{a} before#1 {b}", "{a} trước_khi#1 {b}", "bare"),
    (2, "after sau khi", "{a} after#1 {b}", "{a} sau_khi#1 {b}", "bare"),
    (2, "until cho đến khi", "{a} until#1 {b}", "{a} cho_đến_khi#1 {b}", "bare"),
    (4, "and then rồi", "{a} , and_then#1 {b}", "{a} rồi_sau_đó#1 {b}", "same"),
    (3, "however tuy nhiên", "{a} ; however#1 , {b}", "{a} ; tuy_nhiên#1 , {b}", ""),
    (3, "therefore vì vậy", "{a} ; therefore#1 , {b}", "{a} ; vì_vậy#1 , {b}", ""),
    (3, "besides ngoài ra", "{a} ; besides#1 , {b}", "{a} ; ngoài_ra#1 , {b}", ""),
    (2, "although mặc dù", "{a} , although#1 {b}", "{a} , mặc_dù#1 {b}", ""),
)


def reported(g: State, n: int) -> Phrase:
    """ "Lan said that ..." / "Lan nói rằng ..."; "Lan told me that ...", "it seems that ..."."""
    if g.chance(0.1):
        return heavy(g.build("it seems dường như", "it_seems_that#1 {b}", "dường_như#1 {b}", b=statement(g)))
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
    parts = {"s": s, "v": v, "b": chain(g, n - 4)}
    return heavy(g.build("reported speech", "{s} {v} that#1 {b}", "{s} {v} rằng#1 {b}", **parts))


def fronted(g: State, n: int) -> Phrase:
    """A subordinate clause first. It holds no comma of its own, so that the place of `thì` or `nên` is plain."""
    name, english, vietnamese, first, second = g.pick(FRONTED)
    a = comma_free(g, first)
    rest = n - len(a)
    timeless = first in BARE and second != "future"
    b = statement(g, second, timeless) if rest < 13 else joined(g, rest, second, timeless)
    return heavy(g.build(f"subordinate {name}", english, vietnamese, a=a, b=b))


def comma_free(g: State, tense: str) -> Phrase:
    while True:
        a = statement(g, tense, timeless=tense == "habit")
        if all(token.text != "," for token in a.english):
            return a


def joined(g: State, n: int, tense: str = "", timeless: bool = False) -> Phrase:
    """Two clauses with a conjunction between them; after the plain ones the second may go on."""
    if not tense and g.chance(0.08):
        return so_that(g)
    rows = [(row[0], row) for row in JOINED if tense in ("", "past") or row[4] in ("", "same")]
    _, name, english, vietnamese, second = g.weighted(rows)
    if second == "same":
        second = tense = tense if tense in ("past", "future", "habit") else "past"
    elif second:
        tense = "past"
    a = statement(g, tense, timeless)
    b = statement(g, second) if second else chain(g, n - len(a) - 1, plain=name in PLAIN)
    return heavy(g.build(f"coordination {name}", english, vietnamese, a=a, b=b))


def so_that(g: State) -> Phrase:
    """ "so tired that ..." / "mệt đến mức ..."."""
    s = subject(g)
    a = g.entry(g.pick(of_kind(ADJECTIVES, "state")))
    english, vietnamese = f"{{s}} {be(s, True)} so#1 {{a}} that#1 {{b}}", "{s} {a} đến_mức#1 {b}"
    return heavy(g.build("so that đến mức", english, vietnamese, s=s, a=a, b=action(g, "past")))


PLAIN = ("because vì", "although mặc dù", "so nên", "therefore vì vậy")  # no `because` or `although` right after these


def chain(g: State, n: int, plain: bool = False) -> Phrase:
    """Clauses of about n words together; `plain`: none that begins with a subordinate clause."""
    if n < 13 or (n < 16 and g.chance(0.4)):
        return statement(g)
    return g.weighted(((5, joined), (2, reported)) if plain else ((5, joined), (2, reported), (2, fronted)))(g, n)


def question(g: State, n: int) -> Phrase:
    q = g.weighted(((6, yes_no), (2, yes_no_be), (5, what), (3, who), (4, adverbial), (1, whether)))
    if n < 13:
        return q(g)
    if g.chance(0.4):
        y = you(g)
        english, vietnamese = "do#1 {y} think#2 that#3 {b}", "{y} có#1 nghĩ#2 rằng#3 {b} không#1"
        return g.build("question do you think", english, vietnamese, y=y, b=chain(g, n - 4))
    a = comma_free(g, "each")
    return g.build("question after if", "if#1 {a} , {b}", "nếu#1 {a} thì#1 {b}", a=a, b=q(g))


REQUESTS = (
    ("please xin hãy", "please#1 {v}", "xin_hãy#1 {v}", "you"),
    ("prohibition đừng", "do_not#1 {v}", "đừng#1 {v}", "you"),
    ("let us chúng ta hãy", "let_us#1 {v}", "chúng_ta_hãy#1 {v}", "we"),
    ("never đừng bao giờ", "never#1 {v}", "đừng_bao_giờ#1 {v}", "you"),
)


def request(g: State, n: int) -> Phrase:
    """ "Please close the door." / "Xin hãy đóng cánh cửa."."""
    name, english, vietnamese, who_acts = g.pick(REQUESTS)
    g.speakers = {who_acts}
    r = g.build(f"request {name}", english, vietnamese, v=verb_phrase(g, "do"))
    if n - len(r) < 4:
        return r
    if g.chance(0.5):
        return g.build("request with if", "if#1 {a} , {b}", "nếu#1 {a} thì#1 {b}", a=comma_free(g, "habit"), b=r)
    a = chain(g, n - len(r) - 1, plain=True)
    return g.build("request with because", "{b} because#1 {a}", "{b} vì#1 {a}", a=a, b=r)


def sentence(g: State, n: int) -> Phrase:
    """A whole sentence of about n English words, with its final mark."""
    g.wealth = 0.12 if n < 8 else 0.3 if n < 14 else 0.42
    g.set_addressee("tôi", "bạn", "")
    g.timeless = False
    vocative, tagged = None, False
    if n > 5 and g.chance(0.14):
        vocative = address(g)
        n -= 1
    kind = g.weighted(((70, "statement"), (20, "question"), (8, "request")))
    mark = "?" if kind == "question" and n <= 34 else "."
    if kind == "statement" or n > 34:
        body, tagged = chain(g, n), vocative is None and g.chance(0.05)
    elif kind == "question":
        body = question(g, n)
        if n > 25:
            a = chain(g, n - len(body))
            body = g.build("question after reason", "{a} , so#1 {b}", "{a} nên#1 {b}", a=a, b=body)
    else:
        body = request(g, n)
    if vocative is not None:
        return g.build("addressee", f"{{a}} , {{b}} {mark}", f"{{a}} , {{b}} {mark}", a=vocative, b=body)
    if tagged:
        return g.build("tag question", "{b} , right#1 ?", "{b} , phải_không#1 ?", b=body)
    return g.build("", f"{{b}} {mark}", f"{{b}} {mark}", b=body)


def address(g: State) -> Phrase:
    """Names whom the sentence speaks to, which settles the Vietnamese for I and you."""
    if g.chance(0.25):
        person = nouns.name(g)
        name = person.english[0].text
        return g.word("personal name", name, f"{name} ơi")
    english, vietnamese, first, second, unnamed = g.pick(words.ADDRESSEES)
    g.set_addressee(first, second, unnamed)
    return g.word("", english, vietnamese)
