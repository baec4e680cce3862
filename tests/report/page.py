"""A page taken apart by a strict reader: tags close in order, and nothing comes from elsewhere.

The only script of a page is the one whose hash is in its policy.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any

__all__ = ["Page", "check"]

_VOID = {"meta", "br", "img", "hr", "link", "input", "col", "base", "source", "wbr"}
_LOADING = {"src", "href", "xlink:href", "srcset", "data", "poster", "action", "background"}


class Page(HTMLParser):
    """Collects what the checks need, and fails on tags that do not close in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.references: list[str] = []
        self.text: list[str] = []
        self.headings: list[tuple[str, str]] = []
        self.attributes: list[tuple[str, dict[str, str]]] = []
        self.scripts: list[tuple[dict[str, str], str]] = []
        self.tables: dict[str, list[list[str]]] = {}
        self._rows: list[list[str]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def _note(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes.append((tag, {name: value or "" for name, value in attributes}))
        if re.fullmatch("h[1-6]", tag):
            self.headings.append((tag, ""))
        for name, value in attributes:
            assert value is not None, f"<{tag}> has the attribute {name} without a value"
            if name == "id":
                self.ids.append(value)
            if name in _LOADING:
                self.references.append(value)
            self.references += re.findall(r"url\(\s*['\"]?([^)'\"]*)", value)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note(tag, attrs)
        own = self.attributes[-1][1]
        if tag == "table":
            self._rows = self.tables.setdefault(own.get("aria-label", ""), [])
        elif tag == "tr":
            self._rows.append([])
        elif tag in ("td", "th"):
            self._rows[-1].append("")
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts.append((self.attributes[-1][1], data))
        elif self.open and self.open[-1] == "style":
            self.references += re.findall(r"url\(([^)]*)|(@import[^;]*)", data)
        else:
            self.text.append(data)
            if {"td", "th"} & set(self.open):
                self._rows[-1][-1] = " ".join(f"{self._rows[-1][-1]}{data}".split())
            for level in ("h1", "h2", "h3"):
                if level in self.open:
                    self.headings[-1] = (level, self.headings[-1][1] + data)

    @property
    def data(self) -> Any:
        """The rows of the map."""
        (found,) = [text for own, text in self.scripts if own.get("id") == "map-rows"]
        return json.loads(found)

    @property
    def words(self) -> str:
        """All text with single blanks."""
        return " ".join(" ".join(self.text).split())


def check(html: str) -> Page:
    """Read the page, and check what holds for every report."""
    page = Page(html)
    assert html.startswith("<!DOCTYPE html>")
    assert '<meta charset="utf-8">' in html
    assert 'name="viewport"' in html
    assert "prefers-color-scheme: dark" in html
    assert page.tags.count("title") == page.tags.count("h1") == 1
    # Nothing is loaded, and only the script that the policy names runs.
    assert page.references
    assert all(r.startswith(("#", "data:image/png;base64,")) for r in page.references)
    assert "http:" not in html
    assert "https:" not in html
    assert not {"iframe", "link", "object", "embed", "form", "base"} & set(page.tags)
    (policy,) = [own["content"] for _, own in page.attributes if "http-equiv" in own]
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:;")
    running = [text for own, text in page.scripts if own.get("type") != "application/json"]
    hashes = [base64.b64encode(hashlib.sha256(t.encode()).digest()).decode() for t in running]
    allowed = re.findall(r"script-src ([^;]*);", policy)
    assert allowed == ([f"'sha256-{digest}'" for digest in hashes] or ["'none'"])
    assert not any(name.startswith("on") for _, own in page.attributes for name in own)
    # Ids are unique, and links lead somewhere.
    assert len(page.ids) == len(set(page.ids))
    assert {r[1:] for r in page.references if r.startswith("#")} <= set(page.ids)
    # Headings go down one level at a time.
    levels = [int(level[1]) for level, _ in page.headings]
    assert levels[0] == 1
    assert all(later - earlier <= 1 for earlier, later in pairwise(levels))
    assert all(text.strip() for _, text in page.headings)
    # Pictures say what they show, or are decoration.
    for tag, own in page.attributes:
        if tag == "svg":
            assert own.get("aria-hidden") == "true" or (own["role"] == "img" and own["aria-label"])
        if tag == "th":
            assert own["scope"] in ("row", "col")
    assert page.tags.count("table") <= page.tags.count("th")
    return page
