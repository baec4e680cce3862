"""What every report is laid out with: the page, its sections, tables and figures.

Texts are escaped here and nowhere else: a function takes plain text and gives HTML, or takes HTML
that another one gave.

>>> print(table(["a<b", "n"], [["x & y", "3"]], numeric=[1], label="letters"))
<div class="wide"><table aria-label="letters">
<thead><tr><th scope="col">a&lt;b</th><th scope="col" class="number">n</th></tr></thead>
<tbody>
<tr><td>x &amp; y</td><td class="number">3</td></tr>
</tbody>
</table></div>
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from string import Template

from lowrankgcn.report.text import short

__all__ = [
    "bar",
    "bullets",
    "cards",
    "code",
    "columns",
    "facts",
    "figure",
    "heading",
    "markup",
    "name",
    "navigation",
    "note",
    "page",
    "paragraph",
    "section",
    "sentence",
    "table",
]

_PAGE = Template(
    """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<style>
$css</style>
</head>
<body>
<header>
<h1>$heading</h1>
<p class="soft">$subtitle</p>
</header>
<main>
$main
</main>
</body>
</html>
"""
)


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def markup(text: str) -> Markup:
    """Mark HTML as such: it is not escaped again."""
    return Markup(text)


def sentence(*parts: str) -> Markup:
    """Join texts, those that are HTML already as they are."""
    return Markup("".join(map(_inside, parts)))


def name(text: str) -> Markup:
    """A name or cell from the data, shortened, its direction of writing kept to itself."""
    return Markup(f"<bdi>{escape(short(text)) or '(empty)'}</bdi>")


def _inside(text: str) -> str:
    """HTML of a text; what is HTML already stays."""
    return text if isinstance(text, Markup) else escape(text)


def page(title: str, subtitle: str, blocks: Iterable[str]) -> str:
    """A complete HTML document: no script, no network, style and figures inside."""
    return _PAGE.substitute(
        title=escape(title),
        heading=f"<bdi>{escape(title)}</bdi>",
        subtitle=escape(subtitle),
        css=files("lowrankgcn.report").joinpath("report.css").read_text("utf-8"),
        main="\n".join(blocks),
    )


def section(name: str, title: str, *blocks: str) -> str:
    """A part of the page under a heading of the second level, with an id to link to."""
    inside = "\n".join([f"<h2>{_inside(title)}</h2>", *blocks])
    return f'<section id="{escape(name)}">\n{inside}\n</section>'


def heading(title: str) -> str:
    """A heading within a section."""
    return f"<h3>{_inside(title)}</h3>"


def navigation(links: Iterable[tuple[str, str]]) -> str:
    """Links to the sections: pairs of id and text."""
    inside = "".join(f'<li><a href="#{escape(to)}">{_inside(text)}</a></li>' for to, text in links)
    return f'<nav aria-label="Contents"><ul>{inside}</ul></nav>'


def paragraph(text: str, *, soft: bool = False) -> str:
    """A paragraph; `soft` for what is said aside."""
    return f'<p class="soft">{_inside(text)}</p>' if soft else f"<p>{_inside(text)}</p>"


def note(text: str) -> str:
    """A paragraph that must not be missed."""
    return f'<p class="note">{_inside(text)}</p>'


def bullets(items: Iterable[str]) -> str:
    """A list."""
    return "<ul>\n" + "".join(f"<li>{_inside(item)}</li>\n" for item in items) + "</ul>"


def code(text: str, *, wrapped: bool = False) -> str:
    """Text to be typed, as it is; `wrapped` where long lines may be broken."""
    kind = ' class="wrapped"' if wrapped else ""
    return f"<pre{kind}><code>{escape(text)}</code></pre>"


def cards(pairs: Iterable[tuple[str, str]]) -> str:
    """Large numbers, each with a line that says what it is."""
    inside = "".join(
        f'<div class="card"><b>{_inside(value)}</b><span>{_inside(text)}</span></div>\n'
        for value, text in pairs
    )
    return f'<div class="cards">\n{inside}</div>'


def columns(*blocks: str) -> str:
    """Blocks side by side, below each other on a narrow screen."""
    inside = "\n".join(f"<div>{block}</div>" for block in blocks)
    return f'<div class="columns">\n{inside}\n</div>'


def figure(svg: str, caption: str, *, legend: str = "") -> str:
    """A picture with its caption and, above it, a legend."""
    inside = "\n".join(filter(None, [legend, svg]))
    return f"<figure>\n{inside}\n<figcaption>{_inside(caption)}</figcaption>\n</figure>"


def bar(share: float) -> Markup:
    """A share of one as a bar, for a cell of a table that has the number beside it."""
    return Markup(f'<span class="bar" aria-hidden="true" style="--share:{share:.4f}"></span>')


def facts(rows: Iterable[tuple[str, str]], *, numeric: bool = False) -> str:
    """Names with values, one in a line; `numeric` aligns the values to the right."""
    cell = '<td class="number">' if numeric else "<td>"
    inside = "".join(
        f'<tr><th scope="row">{_inside(name)}</th>{cell}{_inside(value)}</td></tr>\n'
        for name, value in rows
    )
    return f'<div class="wide"><table class="facts">\n<tbody>\n{inside}</tbody>\n</table></div>'


def table(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    numeric: Sequence[int] = (),
    wrapped: Sequence[int] = (),
    named: bool = False,
    label: str = "",
) -> str:
    """A table that scrolls by itself where it is wider than the page.

    Parameters
    ----------
    header : sequence of str
    rows : iterable of sequences of str
    numeric : sequence of int
        Columns aligned to the right.
    wrapped : sequence of int
        Columns of sentences, whose lines may be broken.
    named : bool
        Whether the first column names the row.
    label : str
        What the table shows, for those who hear the page.
    """

    def cell(tag: str, column: int, text: str) -> str:
        kind = ' class="number"' if column in numeric else ""
        kind = ' class="text"' if column in wrapped else kind
        return f"<{tag}{kind}>{_inside(text)}</{tag.split()[0]}>"

    first = 'th scope="row"' if named else "td"
    # A column without a name has no header to read out.
    head = "".join(
        cell('th scope="col"' if text else "td", j, text) for j, text in enumerate(header)
    )
    body = "".join(
        "<tr>"
        + "".join(cell(first if j == 0 else "td", j, text) for j, text in enumerate(row))
        + "</tr>\n"
        for row in rows
    )
    attribute = f' aria-label="{escape(label)}"' if label else ""
    return (
        f'<div class="wide"><table{attribute}>\n<thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{body}</tbody>\n</table></div>"
    )
