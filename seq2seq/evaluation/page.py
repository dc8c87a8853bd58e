"""One HTML file that stands alone: no script, no network, readable on a phone and in the dark.

Everything that is text goes through ``html.escape``; pictures are in the page itself, and its content security policy
forbids the browser to fetch anything, so that a page about strangers' sentences can do nothing but be read.
"""

import base64
from collections.abc import Iterable, Sequence
from html import escape

POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 0 auto; padding: 0 1rem 3rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.25rem; margin-top: 2.5rem; } h3 { font-size: 1rem; }
p, li, dd { overflow-wrap: anywhere; max-width: 48rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9rem; }
th, td { padding: .3rem .6rem; text-align: right; white-space: nowrap; border-bottom: 1px solid #8885; }
thead th { vertical-align: bottom; white-space: normal; }
th:first-child { text-align: left; position: sticky; left: 0; background: Canvas; white-space: nowrap; }
.text td { white-space: normal; text-align: left; overflow-wrap: anywhere; }
.row { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(20rem, 100%), 1fr)); gap: 1rem; }
figure { margin: 1rem 0; } figcaption { font-size: .9rem; max-width: 48rem; }
img { max-width: 100%; height: auto; background: #fff; border-radius: .3rem; }
.row figure { margin: 0; }
.none { border: 1px dashed #888; border-radius: .3rem; padding: .3rem .8rem; }
.warn { border-left: .3rem solid #d55e00; padding-left: .8rem; }
pre { overflow-x: auto; font-size: .85rem; border: 1px solid #8885; border-radius: .3rem; padding: .6rem; }
dt { font-weight: 600; margin-top: .4rem; } dd { margin: 0 0 0 1rem; }
summary { cursor: pointer; }
"""


def page(title: str, parts: Iterable[str]) -> str:
    """The whole file. title: plain text. parts: HTML, such as the functions below give."""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>{escape(title)}</title>
<style>{STYLE}</style>
</head>
<body>
<h1>{escape(title)}</h1>
{chr(10).join(parts)}
</body>
</html>
"""


def heading(text: str, level: int = 2) -> str:
    """A heading."""
    return f"<h{level}>{escape(text)}</h{level}>"


def paragraph(text: str, kind: str = "") -> str:
    """A paragraph. kind: ``warn`` or ``none``, see STYLE."""
    return f"<p{_class(kind)}>{escape(text)}</p>"


def bullets(lines: Sequence[str], kind: str = "") -> str:
    """A list, empty for no lines."""
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<ul{_class(kind)}>{items}</ul>" if lines else ""


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], kind: str = "") -> str:
    """A table that scrolls sideways in itself; the first cell of a row is its heading."""
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in headings)
    body = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>{"".join(f"<td>{escape(cell)}</td>" for cell in row[1:])}</tr>\n'
        for row in rows
    )
    return f'<div class="wide"><table{_class(kind)}><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>'


def svg(text: str) -> str:
    """The address of a picture from SVG text."""
    return "data:image/svg+xml;base64," + base64.b64encode(text.encode()).decode("ascii")


def figure(address: str, alternative: str, caption: str = "") -> str:
    """A picture. address: ``data:…``. alternative: what it shows, for who does not see it."""
    below = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return f'<figure><img src="{escape(address)}" alt="{escape(alternative)}">{below}</figure>'


def row(parts: Sequence[str]) -> str:
    """Figures side by side, where there is room."""
    return f'<div class="row">{"".join(parts)}</div>'


def details(summary: str, inside: str, is_open: bool = False) -> str:
    """Something to be unfolded."""
    return f"<details{' open' if is_open else ''}><summary>{escape(summary)}</summary>{inside}</details>"


def code(text: str) -> str:
    """Lines as they are to be typed."""
    return f"<pre>{escape(text)}</pre>"


def pairs(items: Iterable[tuple[str, str]]) -> str:
    """Names with what they say."""
    return f"<dl>{''.join(f'<dt>{escape(name)}</dt><dd>{escape(text)}</dd>' for name, text in items)}</dl>"


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""
