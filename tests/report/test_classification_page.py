"""The report of a classified table: complete, escaped, and legible in a browser."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from lowrankgcn._format import percent, rounded_percent
from lowrankgcn.estimators.evidence import Evidence
from lowrankgcn.files import choose_columns
from lowrankgcn.report.classification import Classification
from lowrankgcn.report.pages import (
    RowMap,
    describe_rows,
    map_rows,
    render_classification,
    versions,
)
from tests.report.classified import (
    KINDS,
    blobs,
    classified,
    decoded,
    network,
    of_kind,
    process,
)
from tests.report.page import Page, check
from tests.support.browser import evaluate, measure, needs_browser
from tests.support.each import each

_HOSTILE = [
    "<script>alert(1)</script>",
    "</td></table><h1>",
    "\u202eright to left",
    "שלום עולם",
    "🚗🚗🚗",
    "&amp; \"quoted\" 'text'",
    "-1",
    "7",
    "$\\alpha_{$",
    "W" * 10_000,
    "Donaudampfschifffahrtsgesellschaft",
    "{braces} %s %(x)d",
]


def _hostile(n_classes: int) -> Classification:
    """A table with markup in its cells, columns and classes."""
    names = (_HOSTILE + [f"class {i:02d}" for i in range(n_classes)])[:n_classes]
    n = 8 * n_classes
    codes = np.arange(n) % n_classes
    labels = np.array(names, dtype=object)[codes]
    labels[2 * n_classes :] = None
    frame = pd.DataFrame(
        {
            "<b>id</b>": [f"{_HOSTILE[i % 12]}{i}" for i in range(n)],
            "<img src=x onerror=alert(1)>": [f"{_HOSTILE[code % 12]} {code}" for code in codes],
            "W" * 500: [f"{code % 5}" * 300 for code in codes],
            "שורה": np.arange(n) % 7 / 7,
            "class </h2>": labels,
        }
    )
    columns = choose_columns(frame, "class </h2>", categorical=["W" * 500])
    X = columns.features(frame)
    classifier = process(graph="hypergraph").fit(X, labels)
    return classified(
        classifier,
        X,
        labels,
        frame,
        columns=columns,
        evidence=Evidence.from_classifier(classifier, importance=True),
        source="<i>a folder</i>/" + "very-long-name-" * 20 + ".csv",
        command="lowrankgcn classify '<x>' " + "y" * 300,
    )


@pytest.fixture(scope="module", params=[2, 100])
def hostile(request: Any) -> Classification:
    return _hostile(request.param)


@pytest.fixture(scope="module")
def hostile_html(hostile: Classification) -> str:
    return render_classification(hostile)


@each("kind", KINDS)
def test_every_kind_of_graph(kind: str) -> None:
    result = of_kind(kind)
    n_predicted, n_unplaced = sum(result.predicted), result.unplaced.sum()
    assert sum(result.given) + n_predicted + n_unplaced == len(result.codes)
    networks = result.evidence is None
    assert (map_rows(result) is None) == (kind == "full rank")
    page = check(render_classification(result))
    assert [text for level, text in page.headings if level == "h2"] == [
        "Results",
        "Accuracy and confidence",
        "Rows to review",
        "Map of the rows",
        "Columns",
        "Method",
        "How to reproduce",
    ]
    charts = {
        "certainty": n_predicted > 0,
        "reliability": result.evidence is not None and result.evidence.is_known,
        "map": kind != "full rank",
        "filters": networks or bool(result.classifier.filter_),
        "loss": networks,
    }
    names = [name for name, drawn in charts.items() if drawn]
    assert page.tags.count("figure") == len(names)
    assert [name for name in charts if f"{name}-figure_1" in page.ids] == names
    assert all(f"Warning: {text}" in page.text for text in result.warnings)
    assert ("no prediction: no chain of similar rows connects them" in page.words) == (
        n_unplaced > 0
    )
    for graph in getattr(result.classifier, "graphs_", {}).values():
        assert all(name in page.text for name in graph.description.facts)
    if result.evidence is not None and not result.evidence.is_known:
        assert f"The accuracy is {result.evidence.meaning}." in page.words
    elif result.evidence is not None:
        assert ["log-loss", f"{result.evidence.log_loss:.2f}"] in page.tables[""]


class TestHostileTable:
    def test_is_shown_as_text(self, hostile: Classification, hostile_html: str) -> None:
        page = check(hostile_html)
        assert page.tags.count("b") == [own.get("class") for _, own in page.attributes].count(
            "card"
        )
        assert "img" not in page.tags
        assert page.tags.count("h2") == 7
        assert "<script>alert(1)</script>" in page.text
        assert "<img src=x onerror=alert(1)>" in page.words

    def test_long_texts_are_shortened(self, hostile_html: str) -> None:
        assert len(hostile_html) < 500_000
        assert "W" * 41 not in hostile_html

    def test_repeats_to_the_byte(self, hostile: Classification, hostile_html: str) -> None:
        assert render_classification(hostile) == hostile_html

    @needs_browser
    @pytest.mark.parametrize("width", [1200, 820, 390])
    def test_text_fits_the_page(self, hostile_html: str, width: int) -> None:
        layout = measure(hostile_html, width=width)
        assert layout.n_texts > 100
        assert layout.scroll_width == width
        assert (layout.overflowing, layout.overlapping) == ([], [])


def text(words: str) -> str:
    """Return the words with plain blanks."""
    return " ".join(words.split())


def changed(original: Any, **changes: Any) -> Any:
    """Return a copy with other attributes."""
    other = copy(original)
    vars(other).update(changes)
    return other


@pytest.fixture(scope="module")
def result() -> Classification:
    return of_kind("table")


class TestWords:
    def page(self, result: Classification, **changes: Any) -> Page:
        return Page(render_classification(changed(result, **changes)))

    def test_results(self, result: Classification) -> None:
        columns = replace(result.columns, target="kind")
        words = self.page(result, source="toys.csv", columns=columns).words
        assert "toys.csv: kind of 170 rows" in words
        assert "“ kind ” was known in 30 of 200 rows and was predicted for the other 170." in words
        for name, count in zip(result.classes, result.predicted, strict=True):
            assert f"{name} {count} " in words

    def test_networks_have_no_estimate(self) -> None:
        assert "Networks have no leave-one-out estimate" in self.page(of_kind("network")).words

    def test_accuracy(self, result: Classification) -> None:
        assert result.evidence is not None
        codes = np.repeat([0, 1, 2], 10)
        shares = np.eye(3)[[*[0] * 9, 1, *[1] * 10, *[2] * 8, 0, 0]]
        evidence = replace(result.evidence, codes=codes, distributions=shares, promised=None)
        words = self.page(result, evidence=evidence, classes=("p", "q", "r")).words
        assert "27 of 30 rows were predicted correctly without their own label" in words
        assert "Always predicting the most frequent label is correct for 33 %" in words
        for line in ("p 9 1 –", "q – 10 –", "r 2 – 8"):
            assert line in words
        assert "balanced accuracy 90.0 %" in words
        given = {"given": (10, 10, 10), "predicted": (1, 2, 3)}
        words = self.page(result, evidence=evidence, classes=("p", "q", "r"), **given).words
        for line in ("p 1 17 % 10 90 %, 51–100 82 % 86 %", "r 3 50 % 10 80 %, 41–98 100 % 89 %"):
            assert line in words
        for sizes, correct, text in [
            ((24, 3, 3), 27, "correct for 80 %, which lies within this interval"),
            ((15, 8, 7), 6, "correct for 50 %, which lies above this interval"),
        ]:
            codes = np.repeat([0, 1, 2], sizes)
            shares = np.eye(3)[np.where(np.arange(30) < correct, codes, (codes + 1) % 3)]
            evidence = replace(result.evidence, codes=codes, distributions=shares, promised=None)
            assert text in self.page(result, evidence=evidence, classes=("p", "q", "r")).words

    def test_command_versions_and_seed(self, result: Classification) -> None:
        words = self.page(result, command="lowrankgcn classify t.csv", seed=5).words
        assert "lowrankgcn classify t.csv" in words
        assert "seed 5" in words
        assert all(version in words for version in versions())

    def test_no_predicted_rows(self) -> None:
        page = self.page(of_kind("all labelled"), source="t.csv")
        assert "Confidence" not in page.words
        assert "t.csv: classes of 120 rows" in page.words
        assert "was known in all 120 rows." in page.words
        assert "predicted rows" not in page.words

    def test_many_columns(self, result: Classification) -> None:
        assert result.evidence is not None
        names = [f"c{k}" for k in range(1000)]
        columns = replace(result.columns, used=dict.fromkeys(names, "number"), left_out={})
        evidence = replace(result.evidence, importance=dict.fromkeys(names, 0.001))
        frame = pd.DataFrame(0.0, result.frame.index, names)
        wide = replace(result, frame=frame, columns=columns, evidence=evidence)
        page = Page(render_classification(wide))
        assert len(page.tables["Columns"]) == 201
        assert "800 further columns with 80 % of the importance." in page.words


class TestNumbers:
    """Every number of the page is that of the classification."""

    @pytest.fixture(scope="class")
    def page(self, measured: Classification) -> Page:
        return check(render_classification(measured))

    @pytest.fixture(scope="class")
    def measured(self) -> Classification:
        points, _ = blobs()
        truth = np.arange(120) % 3
        frame = pd.DataFrame(points, columns=["x", "y"])
        frame["colour"] = np.array(["red", "green", "blue"])[truth]
        frame.loc[5, "colour"] = None
        labels = np.where(np.arange(120) < 60, truth, -1)
        labels[7] = 0  # is 1
        classifier = process().fit(frame, labels)
        evidence = Evidence.from_classifier(classifier, importance=True)
        return Classification(classifier, frame, labels, evidence=evidence, seed=0)

    def test_classes(self, page: Page, measured: Classification) -> None:
        assert measured.evidence is not None
        scores = measured.evidence.scores
        expected = {
            name: [
                str(measured.predicted[k]),
                text(rounded_percent(measured.predicted[k] / sum(measured.predicted))),
                str(measured.given[k]),
                text(measured.evidence.recall_texts[k]),
                *(text(rounded_percent(scores[name][k] or 0.0)) for name in ("precision", "f1")),
                "",
            ]
            for k, name in enumerate(measured.classes)
        }
        assert {row[0]: row[1:] for row in page.tables["Rows of each class"][1:]} == expected

    def test_evidence(self, page: Page, measured: Classification) -> None:
        found = measured.evidence
        assert found is not None
        facts = dict(row for row in page.tables[""] if len(row) == 2)
        assert facts["accuracy"] == percent(found.accuracy)
        assert facts["balanced accuracy"] == percent(found.balanced_accuracy)
        assert facts["F1, mean of the classes"] == percent(found.f1)
        assert facts["log-loss"] == f"{found.log_loss:.2f}"
        assert found.calibration in page.words
        assert page.tables["Reliability"][1:] == [
            [percent(part.probability), percent(part.correct), str(part.rows)]
            for part in found.reliability
        ]
        assert page.tables["Labels and predictions"][1:] == [
            [name, *(str(rows) if rows else "–" for rows in counts)]
            for name, counts in zip(measured.classes, found.confusion.tolist(), strict=True)
        ]

    def test_rows_and_columns(self, page: Page, measured: Classification) -> None:
        for label, rows in [
            ("Possibly mislabelled rows", measured.suspicious),
            ("Least certain rows", measured.least_certain),
        ]:
            assert rows
            assert page.tables[label][1:] == [
                [
                    str(number),
                    *(
                        own
                        for name, share in guesses
                        for own in (name, text(rounded_percent(share)))
                    ),
                    *(cell or "empty" for cell in cells),
                ]
                for number, cells, guesses in rows
            ]
        assert page.tables["Columns"][1:] == [
            [
                own["name"],
                text(rounded_percent(own["importance"] or 0.0)),
                "",
                {"number": "numbers", "category": "categories"}[own["kind"]],
                str(own["missing"]),
                str(own["distinct"]),
            ]
            for own in measured.overview
        ]
        assert ["colour", "1"] in [[row[0], row[4]] for row in page.tables["Columns"]]

    def test_map(self, page: Page, measured: Classification) -> None:
        placed = map_rows(measured)
        assert placed is not None
        described = decoded(describe_rows(measured, placed.rows))
        assert decoded(page.data) == {name: [*map(text, own)] for name, own in described.items()}
        groups = [name for name in page.ids if name.startswith("map-class-")]
        assert {int(name.split("-")[2]) for name in groups} == {0, 1, 2}


def test_facts_are_results() -> None:
    points, labels = blobs()
    facts = {"90 % sets": "1 of 2 rows have <one> class"}
    html = render_classification(classified(process(), points, labels, facts=facts))
    page = check(html)
    assert html.index("90 % sets") < html.index('id="trust"')
    assert "90 % sets 1 of 2 rows have <one> class" in page.words


@each(
    ("classifier", "said"),
    [
        (process(), ""),
        (process(class_shares="equal"), "All classes count alike"),
        (process(class_shares="labels"), "as frequent as among the labelled rows"),
        (process(class_shares={0: 0.5, 1: 0.25, 2: 0.25}), "class_shares is given: 0 0.5, 1 0.25"),
        (network(), ""),
        (network(class_weight="balanced"), "All classes count alike"),
        (network(class_weight={0: 2.0, 1: 1.0, 2: 1.0}), "class_weight is given: 0 2, 1 1, 2 1."),
    ],
)
def test_weighting_is_part_of_the_method(classifier: Any, said: str) -> None:
    result = classified(classifier, *blobs())
    html = render_classification(result)
    method = html[html.index('id="method"') :]
    assert said in method
    words = ("count alike", "assumed to be as frequent", "is given:")
    assert any(word in method for word in words) == bool(said)


def test_page_does_not_grow_with_the_rows() -> None:
    n = 50_000
    generator = np.random.default_rng(0)
    truth = generator.integers(0, 3, n)
    frame = pd.DataFrame(
        {
            name: pd.Categorical.from_codes(
                np.where(generator.random(n) < 0.7, truth, 2 - truth), ["a", "b", "c"]
            )
            for name in "xyz"
        }
    )
    labels = np.where(np.arange(n) < 300, truth, -1)
    result = classified(process(fit_rows=5_000), frame, labels, frame)
    html = render_classification(result)
    assert len(html.encode()) < 2_000_000
    assert "The map shows 4000 of the 50\N{NO-BREAK SPACE}000 rows" in html
    check(html)


# What a person sees of the map: the tip after moving to a point, and which points are faded.
_POINT = """
const svg = page.querySelector("#map-figure .drawn"), tip = page.querySelector(".tip");
const uses = [...svg.querySelectorAll("[id^=map-class-] use")];
const lines = () => tip.hidden ? null : [...tip.querySelectorAll("dt, dd")].map(e => e.textContent);
const send = (name, more) =>
  svg.dispatchEvent(new window.PointerEvent(name, {bubbles: true, ...more}));
const over = (k) => {
  svg.scrollIntoView();
  const box = svg.getBoundingClientRect(), scale = box.width / svg.viewBox.baseVal.width;
  return {clientX: box.left + uses[k].x.baseVal.value * scale,
          clientY: box.top + uses[k].y.baseVal.value * scale};
};
const press = (key) => {
  svg.dispatchEvent(new window.KeyboardEvent("keydown", {key, bubbles: true}));
  return lines();
};
"""


@needs_browser
class TestInABrowser:
    @pytest.fixture(scope="class")
    def shown(self) -> Classification:
        return of_kind("points")

    @pytest.fixture(scope="class")
    def html(self, shown: Classification) -> str:
        return render_classification(shown)

    @pytest.fixture(scope="class")
    def placed(self, shown: Classification) -> RowMap:
        placed = map_rows(shown)
        assert placed is not None
        return placed

    def lines(self, shown: Classification, row: int) -> list[str]:
        described = decoded(describe_rows(shown, np.array([row])))
        pairs = [(name, text(own[0])) for name, own in described.items()]
        return [word for name, value in pairs if value for word in (name, value)]

    @pytest.mark.parametrize("width", [1200, 390])
    def test_pointer(self, html: str, shown: Classification, placed: RowMap, width: int) -> None:
        script = f"""{_POINT}
        const found = [];
        for (const [name, type] of [["pointermove", "mouse"], ["pointerdown", "touch"]])
          for (const k of [0, uses.length - 1]) {{
            send(name, {{pointerType: type, ...over(k)}});
            const box = tip.getBoundingClientRect();
            const width = page.documentElement.clientWidth;
            found.push([lines(), box.left >= 0 && box.right <= width && box.width > 50]);
          }}
        send("pointermove", {{pointerType: "mouse", clientX: -99, clientY: -99}});
        const wide = page.scrollingElement.scrollWidth;
        return [found, lines(), wide];
        """
        (found, away, wide), console = evaluate(html, script, width=width)
        expected = [[self.lines(shown, placed.rows[k]), True] for k in (0, -1, 0, -1)]
        assert found == expected
        assert away is None
        assert wide <= width
        assert console == []

    def test_keys(self, html: str, placed: RowMap) -> None:
        script = f"""{_POINT}
        const found = [press("ArrowRight")];
        for (let k = 1; k < uses.length; k++) found.push(press("ArrowRight"));
        return [found, press("ArrowLeft"), press("ArrowDown"), press("Escape"), svg.tabIndex];
        """
        (found, left, down, hidden, order), console = evaluate(html, script)
        assert len(found) == len(placed.rows) == len({tuple(lines) for lines in found})
        # Every point is reached, from left to right.
        across = {str(row + 1): x for row, (x, _) in zip(placed.rows, placed.points, strict=True)}
        places = [across[lines[1]] for lines in found]
        assert np.diff(places).min() > -0.01 * np.ptp(places)
        assert left == found[-2] and down not in (None, left)
        assert (hidden, order) == (None, 0)
        assert console == []

    def test_legend(self, html: str) -> None:
        script = f"""{_POINT}
        const faded = () => [...new Set([...svg.querySelectorAll("[id^=map-class-]")]
          .filter(e => e.style.opacity).map(e => e.id.split("-")[2]))].sort();
        const entries = [...page.querySelectorAll("#map-figure [data-mark]")];
        const found = [];
        entries[1].dispatchEvent(new window.PointerEvent("pointerenter"));
        found.push(faded());
        entries[1].dispatchEvent(new window.PointerEvent("pointerleave"));
        found.push(faded());
        entries[2].click();
        found.push(faded(), entries.map(e => e.getAttribute("aria-pressed")));
        send("pointermove", {{pointerType: "mouse", ...over(uses.length - 1)}});
        entries[2].dispatchEvent(new window.KeyboardEvent("keydown", {{key: "Enter"}}));
        found.push(faded(), entries.map(e => e.tabIndex));
        return found;
        """
        found, console = evaluate(html, script)
        assert found == [
            ["0", "2"],
            [],
            ["0", "1"],
            ["false", "false", "true"],
            [],
            [0, 0, 0],
        ]
        assert console == []

    def test_foreign_scripts_do_not_run(self, html: str) -> None:
        foreign = '<script>document.title = "changed"</script><img src="x" onerror="this.id=1">'
        page = html.replace("</main>", f"{foreign}</main>")
        script = "return [page.title, page.images[0].id, page.querySelector('.live') !== null];"
        (title, image, live), console = evaluate(page, script)
        assert title != "changed" and image == "" and live
        assert any("Content Security Policy" in line for line in console)

    @pytest.mark.parametrize("dark", [False, True])
    def test_contrast_of_all_texts(self, html: str, dark: bool) -> None:
        script = f"""{_POINT}
        send("pointermove", {{pointerType: "mouse", ...over(0)}});
        const canvas = page.createElement("canvas").getContext("2d");
        const light = (colour, below) => {{  // relative luminance of a colour over another
          canvas.clearRect(0, 0, 1, 1);
          for (const own of [...below, colour]) {{
            canvas.fillStyle = own;
            canvas.fillRect(0, 0, 1, 1);
          }}
          const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map(v => v / 255)
            .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
          return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        }};
        const found = [];
        const walker = page.createTreeWalker(page.body, NodeFilter.SHOW_TEXT);
        for (let node = walker.nextNode(); node; node = walker.nextNode()) {{
          const own = node.parentElement, style = window.getComputedStyle(own);
          if (!node.data.trim() || own.tagName === "SCRIPT" || !own.getClientRects().length)
            continue;
          const below = [];
          for (let e = own; e; e = e.parentElement)
            below.unshift(window.getComputedStyle(e).backgroundColor);
          const text = own instanceof window.SVGElement ? style.fill : style.color;
          const [low, high] = [light(text, below), light(below.pop(), below)]
            .sort((a, b) => a - b);
          found.push([(high + 0.05) / (low + 0.05), node.data.trim()]);
        }}
        const paper = light(window.getComputedStyle(page.body).backgroundColor, []);
        return [found, paper];
        """
        (found, paper), _ = evaluate(html, script, dark=dark)
        assert len(found) > 150
        assert [words for ratio, words in found if ratio < 4.5] == []
        assert (paper < 0.05) == dark

    @pytest.mark.parametrize("kind", ["network", "all labelled", "full rank", "in parts"])
    def test_other_pages_on_a_phone(self, kind: str) -> None:
        page = render_classification(of_kind(kind))
        script = "return [page.scrollingElement.scrollWidth, page.querySelectorAll('use').length];"
        (width, n_uses), console = evaluate(page, script, width=390)
        assert width <= 390 and n_uses + (kind == "full rank") > 0
        assert console == []

    def test_print(self, hostile_html: str) -> None:
        # The rules of print, in a window as wide as paper.
        page = hostile_html.replace("@media print", "@media all")
        layout = measure(page.replace("@media screen", "@media not all"), width=720)
        assert (layout.overflowing, layout.overlapping) == ([], [])
        assert layout.scroll_width == 720
