"""Film a tour of the studio: ``python -m docs.tools.studio_tour docs/images/studio.webp``.

The pictures are those of a real browser that labels the digits of scikit-learn. Labels follow from
the digits that the page draws. A frame has the duration that a viewer needs, not the time that it
took.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits
from tests.studio.devtools import Page, browser
from tests.studio.page import Person
from tests.studio.running import digits, studio

_SIZE = (1200, 760)
_CLUSTER = 40  # rows of one class that the lasso should surround
_DRAWN = """(c => c && [...c.getContext("2d").getImageData(0, 0, 8, 8).data]
  .filter((_, i) => i % 4 === 0))(document.querySelector("#row .pictures canvas"))"""
_STAGE = """(() => {
  const line = document.createElement("div"), hand = document.createElement("div");
  Object.assign(line.style, {
    position: "fixed", left: "14px", zIndex: 20, padding: "7px 14px", fontSize: "17px",
    fontWeight: 600, borderRadius: "8px", background: "var(--ink)", color: "var(--paper)",
  });
  Object.assign(hand.style, {
    position: "fixed", left: "-40px", top: "-40px", zIndex: 30, width: "18px", height: "18px",
    borderRadius: "50%", background: "rgb(213 94 0 / .45)", border: "2px solid #d55e00",
    pointerEvents: "none", translate: "-50% -50%",
  });
  document.body.append(line, hand);
  const map = document.getElementById("map");
  const follow = () => { line.style.top = `${map.getBoundingClientRect().top + 10}px`; };
  new ResizeObserver(follow).observe(map);
  follow();
  window.say = text => { line.textContent = text; };
  window.point = (x, y) => { hand.style.left = `${x}px`; hand.style.top = `${y}px`; };
})()"""


class Film:
    """Pictures of a page with their durations."""

    def __init__(self, person: Person) -> None:
        self.person, self.page = person, person.page
        self.frames: list[Image.Image] = []
        self.durations: list[int] = []
        self.page.run(_STAGE)

    def say(self, text: str) -> None:
        self.page.run(f"say({text!r})")

    def shoot(self, seconds: float) -> None:
        """Show the page as it is now for a number of seconds."""
        self.page.run("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")
        picture = Image.open(io.BytesIO(self.page.picture())).convert("RGB")
        self.frames.append(picture)
        self.durations.append(round(1000 * seconds))

    def point(self, x: float, y: float) -> None:
        self.page.run(f"point({x}, {y})")
        self.page.mouse("Moved", x, y)

    def click_on(self, selector: str) -> None:
        box = f"document.querySelector({selector!r}).getBoundingClientRect()"
        x, y = self.page.run(f"(b => [b.x + b.width / 2, b.y + b.height / 2])({box})")
        self.point(x, y)
        self.shoot(0.4)
        self.page.click(x, y)

    def write(self, path: Path) -> None:
        options = {"duration": self.durations, "loop": 0, "quality": 60, "method": 4}
        first, *others = self.frames
        first.save(path, save_all=True, append_images=others, minimize_size=True, **options)


def tour(folder: Path) -> Film:
    """Label the digits from the first row to the written table."""
    path, truth = digits(folder)
    with studio(path, "digit") as running, browser() as chromium:
        person = Person(chromium, running, width=_SIZE[0], height=_SIZE[1])
        person.page.wait("!document.getElementById('next-button').disabled")
        film = Film(person)
        film.say("1797 handwritten digits, none of them labelled")
        film.shoot(2.2)
        _label(film, truth)
        _look(film)
        _surround(film, truth)
        _finish(film)
    return film


def look(page: Page, truth: list[str]) -> str:
    """Return the digit that the page draws, by comparing its pixels with all pictures."""
    pixels = page.wait(_DRAWN)
    away = np.abs(load_digits().data * 255 / 16 - pixels).sum(axis=1)
    return truth[int(away.argmin())]


def _label(film: Film, truth: list[str]) -> None:
    person, count = film.person, 0
    for slow, number in ((True, 3), (False, 32)):
        typed, pressed = "N: a digit worth a label; type which it is", "N, look, press its key"
        film.say(typed if slow else pressed)
        for _ in range(number):
            count += 1
            person.next()
            digit = look(film.page, truth)
            film.shoot(0.8 if slow else 0.1)
            if slow:
                film.page.key("c")
                film.page.type(digit)
                film.shoot(0.4)
                film.page.key("Enter")
            else:
                person.assign(digit)
            person.labelled(count)
            film.shoot(0.5 if slow else 0.13)
    film.say(f"{count} labels, and all other rows have their class")
    film.page.key("Escape")
    film.shoot(2.0)


def _look(film: Film) -> None:
    page = film.page
    uncertain = film.person.next()
    x, y = film.person.place(uncertain)
    film.say("Below each digit: probabilities, the parts that decide, labelled digits near it")
    film.point(x, y)
    page.run("document.querySelector('#row .evidence').scrollIntoView()")
    for _ in range(8):
        page.send("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=-120)
        film.shoot(0.09)
    film.shoot(2.3)
    page.key("f")
    page.wait("new Promise(r => setTimeout(() => r(1), 500))")
    film.shoot(0.4)


def _surround(film: Film, truth: list[str]) -> None:
    person, page = film.person, film.page
    places = np.array(page.run("Array.from({length: 1797}, (_, row) => studio.place(row))"))
    box = "document.getElementById('map').getBoundingClientRect()"
    left, top = page.run(f"(b => [b.left, b.top])({box})")
    classes = np.array(truth)
    best = (0.0, 0, 0.0)
    for row, place in enumerate(places):
        away = np.hypot(*(places - place).T)
        radius = away[classes != classes[row]].min() - 4
        if (inside := int((away < radius).sum())) >= _CLUSTER:
            best = max(best, (float(inside), row, float(min(radius, 60))))
    _, row, radius = best
    angles = np.linspace(0, 2 * np.pi, 25)
    x, y = places[row] + (left, top)
    circle = np.column_stack([x + radius * np.cos(angles), y + radius * np.sin(angles)])
    film.say("L: draw around many rows and label them at once")
    page.key("l")
    page.mouse("Pressed", *circle[0], button="left", buttons=1, clickCount=1)
    for px, py in circle[1:]:
        page.mouse("Moved", px, py, button="left", buttons=1)
        page.run(f"point({px}, {py})")
        film.shoot(0.05)
    page.mouse("Released", *circle[-1], button="left", clickCount=1)
    film.shoot(1.0)
    count = int(page.run("document.body.dataset.labelled"))
    person.assign(truth[row])
    page.wait(f"Number(document.body.dataset.labelled) > {count}")
    film.shoot(1.4)
    page.key("u")
    film.say("U takes it back")
    person.labelled(count)
    film.shoot(1.0)


def _finish(film: Film) -> None:
    page = film.page
    film.say("The most uncertain rows first")
    film.click_on("#uncertain")
    page.wait("document.querySelector('[aria-sort=ascending]')")
    page.wait("new Promise(r => setTimeout(() => r(1), 500))")
    film.shoot(1.6)
    film.say("Write the labels, the classified table, the report, the model")
    film.click_on("#write summary")
    film.shoot(1.4)
    film.click_on("#write [data-what=table]")
    page.wait("document.getElementById('message').textContent.startsWith('Written')", 60)
    film.point(-40, -40)
    film.shoot(1.4)
    page.dark()
    film.say("lowrankgcn studio digits.csv --target digit")
    film.shoot(2.6)


if __name__ == "__main__":
    goal = Path(sys.argv[1])
    with TemporaryDirectory() as place:
        made = tour(Path(place))
    made.write(goal)
    seconds, size = sum(made.durations) / 1000, goal.stat().st_size / 1e6
    print(f"{goal}: {len(made.frames)} frames, {seconds:.1f} s, {size:.2f} MB")
