"""Pages are made of text that strangers wrote."""

from html.parser import HTMLParser

from seq2seq.evaluation import page

NASTY = """<script>alert("1")</script> & 'x' "y" </td><img src=x onerror=alert(1)>"""


class Elements(HTMLParser):
    """All elements with their attributes, and all text."""

    def __init__(self, text):
        super().__init__()
        self.found, self.text = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.text.append(data)


def everything(text):
    return [
        *(make(text) for make in (page.heading, page.paragraph, page.code)),
        page.bullets([text]),
        page.table([text, text], [[text, text]]),
        page.figure("data:,", text, text),
        page.details(text, page.row([page.paragraph(text)])),
        page.pairs([(text, text)]),
    ]


def test_text_stays_text_wherever_it_stands():
    plain, nasty = (Elements(page.page(text, everything(text))) for text in ("plain", NASTY))
    assert [tag for tag, _ in nasty.found] == [tag for tag, _ in plain.found]
    assert "".join(nasty.text).count(NASTY) == "".join(plain.text).count("plain") > 10
    assert {"alt": NASTY, "src": "data:,"} in [attributes for _, attributes in nasty.found]
    assert not [tag for tag, attributes in nasty.found if any(name.startswith("on") for name in attributes)]


def test_the_policy_comes_before_anything_that_it_could_forbid():
    tags = [(tag, attributes.get("http-equiv")) for tag, attributes in Elements(page.page("x", [])).found]
    assert tags[:4] == [
        *[("html", None), ("head", None), ("meta", None)],
        ("meta", "Content-Security-Policy"),
    ]
    assert page.POLICY.startswith("default-src 'none'; img-src data:;")
