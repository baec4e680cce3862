"""A page in a real browser: how its text lies, what scripts find in it, and a picture of it.

The page sits in a frame of the wanted width, because a browser's own window has a smallest one.
Without Chromium tests marked with `needs_browser` are skipped.
"""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

__all__ = ["BROWSER", "Layout", "evaluate", "measure", "needs_browser", "picture"]

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
BROWSER = next(filter(None, map(shutil.which, _NAMES)), None)
_SECONDS = 120

needs_browser = pytest.mark.skipif(BROWSER is None, reason="needs Chromium to show the page")

_FRAME = """<!DOCTYPE html><html><head><meta charset="utf-8">
<style>body{margin:0}iframe{border:0;display:block}</style></head>
<body><iframe srcdoc="@PAGE@" width="@WIDTH@" height="@HEIGHT@"></iframe>
<script>
const frame = document.querySelector("iframe");
frame.onload = () => {
  const use = (page, window) => { @SCRIPT@ };
  const result = use(frame.contentDocument, frame.contentWindow);
  const found = document.createElement("pre");
  found.id = "found";
  found.textContent = JSON.stringify(result ?? null);
  if (result !== undefined) frame.remove();
  document.body.append(found);
};
</script></body></html>"""

# Pieces of text are the lines of text nodes. What scrolls in a box of its own may be wider than
# the page, but not outside that box. Letters do not fill the height of a line: a fifth is left out.
_MEASURE = r"""
function clipped(node, box) {
  let [left, top, right, bottom] = [box.left, box.top, box.right, box.bottom];
  for (let e = node.parentElement; e; e = e.parentElement) {
    if (/auto|scroll|hidden/.test(window.getComputedStyle(e).overflowX)
        && !(e instanceof window.SVGElement)
        && e !== page.body && e !== page.documentElement) {
      const outer = e.getBoundingClientRect();
      left = Math.max(left, outer.left); right = Math.min(right, outer.right);
      top = Math.max(top, outer.top); bottom = Math.min(bottom, outer.bottom);
    }
  }
  return [left, top, right, bottom];
}
function pieces(page) {
  const walker = page.createTreeWalker(page.body, NodeFilter.SHOW_TEXT);
  const found = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (!node.data.trim() || /^(STYLE|SCRIPT|TITLE|DESC)$/i.test(node.parentElement.tagName))
      continue;
    const range = page.createRange();
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) {
      const [left, top, right, bottom] = clipped(node, box);
      if (right - left < 1 || bottom - top < 1) continue;
      found.push({text: node.data.trim().slice(0, 60), left, top, right, bottom});
    }
  }
  return found;
}
function shared(a, b) {
  const margin = 0.2 * Math.min(a.bottom - a.top, b.bottom - b.top);
  const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
  const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
  return wide > 1.5 && high > margin + 1;
}
const width = page.documentElement.clientWidth;
const texts = pieces(page).sort((a, b) => a.top - b.top);
const result = {
  width: width,
  scroll_width: page.documentElement.scrollWidth,
  height: page.documentElement.scrollHeight,
  n_texts: texts.length,
  overflowing: texts.filter(t => t.right > width + 0.5 || t.left < -0.5).map(t => t.text),
  overlapping: [],
};
texts.forEach((a, i) => {
  for (let j = i + 1; j < texts.length && texts[j].top < a.bottom; j++)
    if (shared(a, texts[j])) result.overlapping.push([a.text, texts[j].text]);
});
return result;
"""


@dataclass(frozen=True)
class Layout:
    """How the text of a page lies.

    Attributes
    ----------
    width, height : int
        Of the window and of all that is in it.
    scroll_width : int
        More than `width` if the page scrolls sideways.
    n_texts : int
        Lines of text that were looked at.
    overflowing : list of str
        Texts that reach out of the window.
    overlapping : list of pairs of str
        Texts that lie on each other.
    """

    width: int
    height: int
    scroll_width: int
    n_texts: int
    overflowing: list[str]
    overlapping: list[list[str]]


def measure(page: str, *, width: int = 1200) -> Layout:
    """Lay the page (its HTML) out in a window of the given width."""
    values, _ = evaluate(page, _MEASURE, width=width)
    return Layout(**values)


def evaluate(
    page: str, script: str, *, width: int = 1200, dark: bool = False
) -> tuple[Any, list[str]]:
    """Show the page and call a function on it.

    Parameters
    ----------
    page : str
        HTML.
    script : str
        Body of a function of the page (a Document) and its window. It has to return a value.
    width : int
        Of the window, in pixels.
    dark : bool
        Whether the page has its dark colours.

    Returns
    -------
    (value, list of str)
        What the function returned, and the lines that the browser wrote to its console.
    """
    with TemporaryDirectory() as folder:
        path = _framed(page, Path(folder), width, 800, script, dark)
        options = ["--enable-logging=stderr", "--dump-dom"]
        shown, logged = _run([*options, path.as_uri()], Path(folder))
    found = re.search(r'<pre id="found">(.*?)</pre>', shown, flags=re.DOTALL)
    assert found is not None, "the browser did not show the page"
    console = [line for line in logged.splitlines() if ":CONSOLE" in line]
    return json.loads(html.unescape(found[1])), console


def picture(
    page: str,
    path: Path,
    *,
    width: int = 1200,
    height: int | None = None,
    dark: bool = False,
    script: str = "",
) -> None:
    """Write a PNG of the page, by default of all of it, after a script (see `evaluate`)."""
    height = height or measure(page, width=width).height
    with TemporaryDirectory() as folder:
        framed = _framed(page, Path(folder), width, height, script, dark)
        options = [f"--screenshot={path}", f"--window-size={max(width, 500)},{height}"]
        _run([*options, framed.as_uri()], Path(folder))


def _framed(page: str, folder: Path, width: int, height: int, script: str, dark: bool) -> Path:
    if dark:
        page = page.replace("(prefers-color-scheme: dark)", "(min-width: 0)")
    values = {"@WIDTH@": str(width), "@HEIGHT@": str(height), "@SCRIPT@": script}
    values["@PAGE@"] = html.escape(page)
    text = re.sub("@[A-Z]+@", lambda found: values[found[0]], _FRAME)
    path = folder / "frame.html"
    path.write_text(text, encoding="utf-8")
    return path


def _run(arguments: list[str], folder: Path) -> tuple[str, str]:
    assert BROWSER is not None
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    command += ["--hide-scrollbars", f"--user-data-dir={folder / 'profile'}", *arguments]
    done = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=True)
    return done.stdout.decode("utf-8"), done.stderr.decode("utf-8", "replace")
