"""Pages that load nothing from the network: formulas are MathML, and addresses are checked."""

from __future__ import annotations

from html import escape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

logger = logging.getLogger(__name__)


def _mathml(node: nodes.Element, *, block: bool) -> str:
    try:
        return str(tex2mathml(node.astext(), as_block=block))
    except MathError as error:
        logger.warning("formula %r: %s", node.astext(), error, location=node)
        return f"<code>{escape(node.astext())}</code>"


def _visit_math(translator: Any, node: nodes.math) -> None:
    translator.body.append(_mathml(node, block=False))
    raise nodes.SkipNode


def _visit_math_block(translator: Any, node: nodes.math_block) -> None:
    translator.body.append(translator.starttag(node, "div", CLASS="math"))
    if node["number"]:
        number = get_node_equation_number(translator, node)
        translator.body.append(f'<span class="eqno">({number})')
        translator.add_permalink_ref(node, "Link to this equation")
        translator.body.append("</span>")
    translator.body.append(_mathml(node, block=True) + "</div>\n")
    raise nodes.SkipNode


class _Loaded(HTMLParser):
    """Collects the addresses that a browser loads with a page; links are not among them."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = {"link": ("href",), "a": ()}.get(tag, ("src", "srcset", "data", "poster"))
        self.addresses += [value for name, value in attrs if name in names and value]


def check_pages(app: Sphinx, exception: Exception | None) -> None:
    """Warn of pages that load anything from the network."""
    if exception is not None or app.builder.format != "html":
        return
    for path in sorted(Path(app.outdir).rglob("*.html")):
        parser = _Loaded()
        parser.feed(path.read_text(encoding="utf-8"))
        remote = [a for a in parser.addresses if a.startswith(("http:", "https:", "//"))]
        for address in remote:
            logger.warning("%s loads %s", path.relative_to(app.outdir), address)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (_visit_math, None), (_visit_math_block, None))
    app.connect("build-finished", check_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
