"""The page of the studio in a real browser."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.studio.devtools import Browser, Page
from tests.studio.page import WITHOUT_WEBGL, Person
from tests.studio.running import Studio, digits, iris, studio, studio_process
from tests.support.browser import needs_browser

pytest.importorskip("starlette", reason="needs lowrankgcn[studio]")
pytest.importorskip("uvicorn", reason="needs lowrankgcn[studio]")
pytestmark = [needs_browser, pytest.mark.filterwarnings("ignore::UserWarning")]  # of graphs

_TOKEN = "a-token-that-survives-a-restart"
_CONTROLS = "button textbox searchbox combobox grid image columnheader DisclosureTriangle".split()
_REQUESTS = "performance.getEntriesByType('resource').map(entry => entry.name)"
_ROWS = "Number(document.getElementById('grid').ariaRowCount) - 1"


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """A studio whose table no test labels."""
    path, truth = iris(tmp_path_factory.mktemp("shown"))
    frame = pd.read_csv(path, dtype={"species": object})
    frame.loc[::10, "species"] = truth[::10]
    frame.to_csv(path, index=False)
    with studio(path, "species") as running:
        yield running


def test_ten_labels_classify_iris(chromium: Browser, tmp_path: Path) -> None:
    path, truth = iris(tmp_path)
    with studio(path, "species") as running:
        person = Person(chromium, running)
        for count, row in enumerate([7, 70, 120], start=1):
            person.click(row)
            person.assign(truth[person.focus])
            person.labelled(count)
        for count in range(4, 11):
            person.assign(truth[person.next()])
            person.labelled(count)
        assert len(set(person.classes())) == 3
        assert person.accuracy(truth) >= 0.9
        person.page.wait("performance.getEntriesByName('label → painted').length >= 10")
        assert person.page.text("#accuracy") == "accuracy: too few labels"
        assert person.page.errors == []
    journal = path.with_name("iris.csv.labels.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(journal) == 10
    assert all(one["species"] == truth[one["row"] - 1] for one in map(json.loads, journal))


def test_labels_classify_digits(chromium: Browser, tmp_path: Path) -> None:
    path, truth = digits(tmp_path, n_rows=600)
    with studio(path, "digit") as running:
        person = Person(chromium, running)
        # Twenty labels reach about 85 %: more until it is 90 %.
        accuracy, count = 0.0, 0
        while accuracy < 0.9 and count < 100:
            for _ in range(5 if count else 20):
                count += 1
                person.assign(truth[person.next()])
                person.page.wait(f"document.body.dataset.labelled === '{count}'")
            person.labelled(count)
            accuracy = person.accuracy(truth)
        assert accuracy >= 0.9, f"{accuracy:.3f} with {count} labels"
        assert person.page.errors == []


def test_page_goes_on_after_the_server_was_killed(chromium: Browser, tmp_path: Path) -> None:
    path, truth = iris(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]  # another studio may take the usual one in between
    with studio_process(path, "species", "--port", str(port), token=_TOKEN) as first:
        person = Person(chromium, first)
        assert first.port == port
        person.click(0)
        person.assign(truth[person.focus])
        person.labelled(1)
        first.kill()
    person.page.wait("document.body.classList.contains('away')")
    person.page.click_on("#grid .line:nth-child(3)")
    person.page.wait("document.querySelector('#grid .line:nth-child(3)').matches('.focus')")
    row = person.page.run("Number(document.querySelector('.line.focus').dataset.row)")
    person.assign(truth[row])
    assert "1 label waits" in person.page.wait("document.getElementById('connection').textContent")
    with studio(path, "species", "--port", str(port), token=_TOKEN):
        person.page.wait("!document.body.classList.contains('away')")
        person.labelled(2)
        person.assign("setosa") if person.next() < 50 else person.assign("versicolor")
        person.labelled(3)
    # A label waits while the server starts again under another address, opened in the same tab.
    person.page.wait("document.body.classList.contains('away')")
    person.page.click_on("#grid .line:nth-child(5)")
    person.page.wait("document.querySelector('#grid .line:nth-child(5)').matches('.focus')")
    person.assign("virginica")
    with studio(path, "species", "--port", str(port)) as third:
        refused = "document.getElementById('connection').textContent.includes('new address')"
        person.page.wait(refused)
        person.page.go(third.address)
        person.labelled(4)
    lines = path.with_name("iris.csv.labels.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["row"] for line in lines][1] == row + 1
    assert len(lines) == 4


def test_two_tabs_see_each_other(chromium: Browser, tmp_path: Path) -> None:
    path, _ = iris(tmp_path)
    with studio(path, "species") as running:
        here, there = Person(chromium, running), Person(chromium, running)
        here.click(3)
        here.assign("one")
        there.labelled(1)
        assert there.classes() == ["one"]
        there.click(100)
        there.assign("two")
        here.labelled(2)
        assert here.classes() == ["one", "two"]
        there.page.key("u")
        here.labelled(1)
        here.page.key("r")
        there.labelled(2)
        assert here.page.errors + there.page.errors == []
        # A label that cannot be saved is not shown as if it were.
        path.with_name("iris.csv.labels.jsonl").write_text("")
        here.click(70)
        here.assign("three")
        here.page.wait("document.getElementById('message').textContent.includes('not saved')")
        here.labelled(2)
        here.page.wait("document.querySelectorAll('.class').length === 2")


def test_hostile_cells_are_text(chromium: Browser, tmp_path: Path) -> None:
    script = "<script>window.hurt = 1</script><img src=x onerror='window.hurt = 1'>"
    turned = "\u202egnp.exe\u2066 \u2067abc"
    frame = pd.DataFrame(
        {"text": [script, turned, "x" * 100_000] + [f"row {i}" for i in range(40)]}
    )
    frame["<b>number</b>"] = np.arange(43.0) ** 0.5
    frame["class"] = [script, "<i>b</i>", turned] + [script, "<i>b</i>"] * 5 + [None] * 30
    path = tmp_path / "hostile & <b>.csv"
    frame.to_csv(path, index=False)
    with studio(path, "class") as running:
        person = Person(chromium, running)
        person.stay()
        page = person.page
        assert page.text("#name") == path.name
        for row, text in enumerate([script, turned]):
            page.click_on(f".line[data-row='{row}']")
            page.wait(f"document.getElementById('row').dataset.row === '{row}'")
            assert text in page.run("document.querySelector('#row .content').textContent")
        page.click_on(".line[data-row='2']")
        page.wait("document.getElementById('row').dataset.row === '2'")
        assert person.focus == 2  # with complete cells
        assert page.run("document.querySelector('.prose').textContent.length") == 20_000
        page.run("document.querySelector('.prose + button').click()")
        assert page.run("document.querySelector('.prose').textContent.length") == 100_000
        assert page.run("document.documentElement.scrollWidth <= innerWidth")
        assert page.run("window.hurt === undefined && !document.querySelector('main img, main i')")
        assert page.run("document.querySelectorAll('script').length") == 1
        page.click_on(".line[data-row='4']")
        person.assign(turned)  # a class of the table may have any name
        person.labelled(13)
        page.wait("document.querySelector('#row .given')?.textContent.includes('gnp')")
        # What turns the writing direction around ends with its cell.
        isolated = "[...document.querySelectorAll('#grid bdi')].every(b => b.dir === 'auto')"
        assert page.run(isolated)
        assert page.errors == []


def test_lasso_labels_many_rows_and_undo_takes_them_back(chromium: Browser, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.normal(size=(60, 2)) - 5, rng.normal(size=(60, 2)) + 5])
    path = tmp_path / "points.csv"
    pd.DataFrame(points, columns=["x", "y"]).assign(side=None).to_csv(path, index=False)
    rings = "Number(document.getElementById('map').dataset.rings)"
    with studio(path, "side") as running:
        person = Person(chromium, running)
        person.stay()
        page = person.page
        places = np.array([person.place(row) for row in range(60)])
        (left, top), (right, bottom) = places.min(axis=0) - 6, places.max(axis=0) + 6
        page.key("l")
        page.drag([(left, top), (right, top), (right, bottom), (left, bottom)])
        assert page.wait("document.querySelector('#row h2').textContent") == "60 rows selected"
        person.assign("left")
        person.labelled(60)
        person.click(100)
        person.assign("right")
        person.labelled(61)
        page.run("document.querySelector('.class').focus()")
        page.key("Enter")  # new buttons take the place of the old ones and keep the focus
        page.wait("document.querySelector('.class b').textContent === '61'")
        person.labelled(61)
        assert page.run("document.activeElement === document.querySelector('.class')")
        page.key("u")
        person.labelled(61)
        page.click_on("#undo")
        person.labelled(60)
        page.key("u")
        person.labelled(0)
        page.key("r")
        page.key("R", shift=True)
        person.labelled(61)
        few = page.wait(f"{rings} > 1 && {rings} < 61 && {rings}")  # near rows have one ring
        for _ in range(4):
            page.key("+")
        page.wait(f"{rings} > {few}")
        page.key("f")
        page.wait(f"{rings} === {few}")
        page.key("Delete")
        person.labelled(60)
        assert page.errors == []


def test_keys(chromium: Browser, shown: Studio) -> None:
    page = Person(chromium, shown).page
    focus = "Number(document.querySelector('.line.focus')?.dataset.row ?? -1)"
    for key, row in [("ArrowDown", 0), ("ArrowDown", 1), ("ArrowDown", 2), ("ArrowUp", 1)]:
        page.key(key)
        page.wait(f"{focus} === {row}")
    page.key("ArrowDown", shift=True)
    page.wait("document.querySelectorAll('.line.selected').length === 2")
    page.key("/")
    page.type("7.7")
    expected = "document.getElementById('found').textContent.includes(' found')"
    page.wait(f"{expected} && {_ROWS} < 20")
    page.key("Escape")
    page.wait(f"{_ROWS} === 150 && {focus} === -1")
    page.key("?")
    page.wait("document.getElementById('help').open")
    page.key("Escape")
    page.wait("!document.getElementById('help').open")
    page.click_on("#uncertain")
    page.wait("document.querySelector('[aria-sort=ascending]')?.innerText === 'certainty'")
    cells = "[...document.querySelectorAll('.line .fixed .cell:nth-child(3)')]"
    shares = f"{cells}.map(c => parseInt(c.innerText))"
    # The sorted rows arrive after the header shows the order.
    ordered = f"{shares}.every((s, i, all) => s >= 0 && (!i || all[i - 1] <= s))"
    page.wait(f"{shares}.length > 5 && {ordered}")
    page.key("n")
    page.wait(f"{focus} >= 0 || document.querySelector('#row .title')")
    assert page.errors == []


@pytest.mark.parametrize(
    ("width", "height", "phone"),
    [(1400, 900, False), (820, 700, False), (730, 700, False), (390, 844, True)],
)
def test_everything_fits(
    chromium: Browser, shown: Studio, width: int, height: int, phone: bool
) -> None:
    person = Person(chromium, shown, width=width, height=height)
    page = person.page
    page.resize(width, height, phone=phone)
    person.next()
    for tab in ("map", "row", "table") if phone else ("map",):
        if phone:
            page.click_on(f"#tabs [data-tab={tab}]")
        for dark in (False, True):
            page.dark(dark)
            outside = """[...document.querySelectorAll('button, input, h1, summary')].filter(e => {
              const b = e.getBoundingClientRect();
              const scrolled = e.closest('#classes, #suggestions, #grid, #row, .menu ul, dialog');
              return b.width && !scrolled && (b.left < 0 || b.right > innerWidth + 1);
            }).map(e => e.outerHTML.slice(0, 120))"""
            assert page.run(outside) == []
            overlapping = """(all => all.slice(1).some((e, i) => {
              const [a, b] = [all[i].getBoundingClientRect(), e.getBoundingClientRect()];
              return a.right > b.left && b.right > a.left && a.bottom > b.top && b.bottom > a.top;
            }))([...document.querySelectorAll('#next-button, .tools > *')])"""
            assert not page.run(overlapping)
            assert page.run("document.documentElement.scrollWidth") <= width
            assert page.run("document.documentElement.scrollHeight") <= height
    assert page.errors == []


def test_fingers(chromium: Browser, shown: Studio) -> None:
    person = Person(chromium, shown)
    page = person.page
    page.resize(390, 844, phone=True)
    page.wait("Array.from({ length: 150 }, (_, row) => studio.place(row)[0]).every(x => x < 390)")

    def touch(kind: str, *places: tuple[float, float]) -> None:
        points = [{"x": x, "y": y, "id": number} for number, (x, y) in enumerate(places)]
        page.send("Input.dispatchTouchEvent", type=f"touch{kind}", touchPoints=points)

    x, y = person.place(0)
    touch("Start", (x, y))
    touch("End")
    assert person.focus >= 0  # a tap selects
    before = np.subtract(person.place(0), person.place(100))
    touch("Start", (150, 500))
    touch("Start", (150, 500), (250, 500))
    touch("Move", (130, 500), (270, 500))
    touch("Move", (100, 500), (300, 500))
    touch("End")
    after = np.subtract(person.place(0), person.place(100))
    np.testing.assert_allclose(after / before, 2, atol=0.1)  # fingers twice as far apart
    assert page.errors == []


def test_controls_have_names(chromium: Browser, shown: Studio) -> None:
    person = Person(chromium, shown)
    page, spoken = person.page, "document.getElementById('spoken').textContent"
    page.wait(f"{spoken}.startsWith('15 rows labelled. Predicted: ')")
    row = person.next()
    page.wait(f"{spoken}.startsWith('Row {row + 1}')")
    page.send("Accessibility.enable")
    nodes = page.send("Accessibility.getFullAXTree")["nodes"]
    controls = [node for node in nodes if node.get("role", {}).get("value") in _CONTROLS]
    assert len(controls) > 20
    assert [node for node in controls if not node.get("name", {}).get("value")] == []
    page.send("Accessibility.disable")


def _colours(page: Page) -> int:
    """Return how many pixels of the map show the colour of the first class."""
    import io

    from matplotlib.image import imread

    picture = np.asarray(imread(io.BytesIO(page.picture())))[..., :3]
    box = page.run(
        "(b => [b.top, b.bottom, b.left, b.right])"
        "(document.getElementById('map').getBoundingClientRect())"
    )
    top, bottom, left, right = map(int, box)
    blue = np.array([0x00, 0x72, 0xB2]) / 255
    return int((np.abs(picture[top:bottom, left:right] - blue).max(axis=2) < 0.02).sum())


@pytest.mark.parametrize("painter", ["webgl", "flat"])
def test_map_is_drawn(chromium: Browser, shown: Studio, painter: str) -> None:
    person = Person(chromium, shown, script=WITHOUT_WEBGL if painter == "flat" else "")
    page = person.page
    page.dark(False)
    page.wait("document.querySelectorAll('.class').length === 3")
    assert page.run("document.getElementById('map').dataset.painter") == painter
    time.sleep(0.3)
    assert _colours(page) > 200
    before = person.place(0)
    page.send(
        "Input.dispatchMouseEvent",
        type="mouseWheel",
        x=before[0] + 60,
        y=before[1],
        deltaX=0,
        deltaY=-400,
    )
    page.wait(f"studio.place(0)[0] !== {before[0]}")
    if painter == "webgl":  # a graphics driver may take the context away
        page.run(
            "document.querySelector('canvas.points').getContext('webgl2')"
            ".getExtension('WEBGL_lose_context').loseContext()"
        )
        page.wait("document.getElementById('map').dataset.painter === 'flat'")
        page.key("f")
        time.sleep(0.5)
        assert _colours(page) > 200
    assert page.errors == []


def test_cloud_in_space_turns(chromium: Browser, tmp_path: Path) -> None:
    cloud = pd.DataFrame(np.random.default_rng(0).normal(size=(300, 3)), columns=["x", "y", "z"])
    path = tmp_path / "cloud.csv"
    cloud.assign(kind=None).to_csv(path, index=False)
    with studio(path, "kind") as running:
        person = Person(chromium, running)
        before = [person.place(row) for row in range(3)]
        x, y = 300.0, 300.0
        person.page.drag([(x, y), (x + 30, y), (x + 60, y + 20), (x + 90, y + 20)])
        after = [person.place(row) for row in range(3)]
        moves = np.subtract(after, before)
        assert np.ptp(moves, axis=0).max() > 5  # a turn moves rows differently, a shift does not
        person.click(5)
        person.assign("a")
        person.labelled(1)
        places = np.array([person.place(row) for row in range(300)])
        left, top = np.quantile(places, 0.3, axis=0)
        right, bottom = np.quantile(places, 0.7, axis=0)
        corners = [(left, top), (right, top), (right, bottom), (left, bottom)]
        person.page.drag(corners, modifiers=8)  # Shift: a lasso, which goes through the cloud
        inside = ((places > (left, top)) & (places < (right, bottom))).all(axis=1).sum()
        title = person.page.wait("document.querySelector('#row h2').textContent")
        assert title == f"{inside} rows selected"
        assert person.page.errors == []


def test_large_table(
    chromium: Browser, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    values = np.random.default_rng(0).normal(size=(10_000, 2))
    path = tmp_path / "long.csv"
    pd.DataFrame(values, columns=["x", "y"]).assign(kind=None).to_csv(path, index=False)
    with studio(path, "kind") as running:
        person = Person(chromium, running)
        page = person.page
        assert page.run("document.querySelectorAll('.line').length") < 40  # those in the window
        assert page.run(_ROWS) == 10_000
        page.key("End")
        page.wait("document.querySelector('.line.focus')?.dataset.row === '9999'")
        page.run("document.getElementById('grid').scrollTop = 2000 * 28")
        page.wait("document.querySelector('.line[data-row=\"2001\"]')")
        assert page.run("document.querySelectorAll('.line').length") < 40
        page.run("document.querySelectorAll('#head button')[3].click()")
        smallest = int(np.argmin(values[:, 0]))
        page.wait(f"document.querySelector('.line')?.dataset.row === '{smallest}'")
        for count in range(1, 6):
            person.assign("left" if values[person.next(), 0] < 0 else "right")
            person.labelled(count)
        entries = "performance.getEntriesByName('label → painted').map(entry => entry.duration)"
        times = page.wait(f"{entries}.length === 5 && {entries}")
        record_property("milliseconds from a label to new colours", times)
        # A label costs a few answers: after it, after the update and after the fit.
        for what, most in (("positions", 1), ("table", 1), ("predictions", 20), ("rows?", 30)):
            assert page.run(f"{_REQUESTS}.filter(one => one.includes('api/{what}')).length") <= most
        assert page.errors == []
