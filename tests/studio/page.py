"""What a person does on the page of the studio."""

from __future__ import annotations

from typing import final

import numpy as np

from tests.studio.devtools import Browser, Page
from tests.studio.running import Studio

_SETTLED = """fetch('api/state').then(r => r.json())
  .then(s => !s.refreshing && String(s.version) === document.body.dataset.version)"""
_PREDICTIONS = """fetch('api/predictions').then(r => r.arrayBuffer()).then(b => {
  const rows = new Uint32Array(b, 0, 2)[1];
  return [[...new Uint16Array(b, 8, rows)], [...new Uint8Array(b, 8 + 3 * rows, rows)]];
})"""

WITHOUT_WEBGL = """const get = HTMLCanvasElement.prototype.getContext;
HTMLCanvasElement.prototype.getContext = function (kind, ...more) {
  return kind === 'webgl2' ? null : get.call(this, kind, ...more);
};"""


@final
class Person:
    """Labels rows on a page by clicks and keys."""

    def __init__(self, browser: Browser, running: Studio, **options: int | str) -> None:
        self.page: Page = browser.page(running.address, **options)  # type: ignore[arg-type]
        self.ready()

    def ready(self) -> None:
        """Wait until map and table are there."""
        self.page.wait("document.querySelectorAll('.line[data-row]').length > 0", 60)
        self.page.wait("document.getElementById('map').dataset.drawn")

    def place(self, row: int) -> tuple[float, float]:
        """Return where a row lies in the window."""
        script = "(([x, y], b) => [x + b.left, y + b.top])(studio.place({}), {})"
        box = "document.getElementById('map').getBoundingClientRect()"
        x, y = self.page.run(script.format(row, box))
        return x, y

    @property
    def focus(self) -> int:
        """Row that the page shows."""
        panel = "document.getElementById('row')"
        row = self.page.wait(f"{panel}.ariaBusy !== 'true' && {panel}.dataset.row")
        return int(row)

    def classes(self) -> list[str]:
        """Return the names of the classes in the order of their keys."""
        return list(
            self.page.run("[...document.querySelectorAll('.class bdi')].map(b => b.textContent)")
        )

    def click(self, row: int) -> None:
        """Select a row on the map; of rows in one place, any. Wait until its cells are there."""
        self.page.click(*self.place(row))
        self.page.wait("document.querySelector('#row .cells')")

    def assign(self, name: str) -> None:
        """Give the selected row a class: by its key, or by its name if it is new."""
        names = self.classes()
        if name in names[:9]:
            self.page.key(str(names.index(name) + 1))
            return
        self.page.key("c")
        self.page.type(name)
        self.page.key("Enter")

    def stay(self) -> None:
        """Stay at a row after its label."""
        self.page.run("localStorage.setItem('advance', 'off')")

    def row(self, row: int) -> None:
        """Select a row in the table."""
        self.page.click_on(f".line[data-row='{row}']")
        self.page.wait(f"document.getElementById('row').dataset.row === '{row}'")

    def select(self, name: str) -> None:
        """Choose which rows the table shows."""
        change = "(box => { box.value = %r; box.dispatchEvent(new Event('change')); })"
        self.page.run(f"{change % name}(document.getElementById('filter'))")

    def next(self) -> int:
        """Go to the next suggestion and return its row."""
        self.page.wait("!document.getElementById('next-button').disabled")
        self.page.key("n")
        return self.focus

    def labelled(self, number: int) -> None:
        """Wait until the page shows a number of labels and the colours that follow from them."""
        self.page.wait(f"document.body.dataset.labelled === '{number}'")
        self.page.wait(_SETTLED, 60)

    def accuracy(self, truth: list[str]) -> float:
        """Return the share of rows without a label that have their true class."""
        codes, flags = map(np.array, self.page.run(_PREDICTIONS))
        names = np.array([*self.classes(), ""], dtype=object)
        found = names[np.minimum(codes, len(names) - 1)]
        rest = flags == 0
        return float(np.mean(found[rest] == np.array(truth, dtype=object)[rest]))
