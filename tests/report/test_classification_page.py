"""The report of a classified table: complete, escaped, and legible in a browser."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from lowrankgcn.files import choose_columns
from lowrankgcn.report.classification import Classification, versions
from lowrankgcn.report.evidence import Evidence
from lowrankgcn.report.pages import render_classification
from tests.browser import measure, needs_browser
from tests.report.classified import KINDS, classified, of_kind, process
from tests.report.page import Page, check

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
    known = pd.Index(classifier.classes_).get_indexer(pd.Index(labels))
    return classified(
        classifier,
        X,
        labels,
        frame,
        columns=columns,
        evidence=Evidence.from_classifier(classifier, known, importance=True),
        source="<i>a folder</i>/" + "very-long-name-" * 20 + ".csv",
        command="lowrankgcn classify '<x>' " + "y" * 300,
    )


@pytest.fixture(scope="module", params=[2, 60])
def hostile(request: Any) -> Classification:
    return _hostile(request.param)


@pytest.fixture(scope="module")
def hostile_html(hostile: Classification) -> str:
    return render_classification(hostile)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_graph(kind: str) -> None:
    result = of_kind(kind)
    assert result.n_given + result.n_predicted + result.n_unplaced == result.n_rows
    assert sum(result.histogram[0]) == result.n_predicted
    networks = result.evidence is None
    assert (result.embedding is None) == (kind == "full rank")
    assert networks == (result.loss_curve is not None)
    page = check(render_classification(result))
    assert [text for level, text in page.headings if level == "h2"] == [
        "Results",
        "Accuracy and confidence",
        "Rows to review",
        "Map of the rows",
        "Input",
        "Method",
        "How to reproduce",
    ]
    n_figures = sum(
        [
            result.n_predicted > 0,
            result.embedding is not None,
            bool(result.filters),
            networks,
        ]
    )
    assert page.tags.count("figure") == n_figures
    assert all(f"Warning: {text}" in page.text for text in result.warnings)
    assert ("no prediction: no chain of similar rows connects them" in page.words) == (
        result.n_unplaced > 0
    )
    for graph in result.graphs.values():
        assert all(name in page.text for name in graph.facts)
    if result.evidence is not None:
        assert f"mean log-loss of {result.evidence.log_loss:.2f}" in page.words


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
    @pytest.mark.parametrize("width", [1200, 420])
    def test_text_fits_the_page(self, hostile_html: str, width: int) -> None:
        layout = measure(hostile_html, width=width)
        assert layout.n_texts > 100
        assert layout.scroll_width == width
        assert (layout.overflowing, layout.overlapping) == ([], [])


def changed(original: Any, **changes: Any) -> Any:
    """Return a copy with other attributes."""
    other = copy(original)
    vars(other).update(changes)
    return other


@pytest.fixture(scope="module")
def result() -> Classification:
    return of_kind("table")


@pytest.mark.usefixtures("no_drawings")
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
        for interval, largest, text in [
            ((0.7, 0.97), 0.25, "Always predicting the most frequent label is correct for 25 %"),
            ((0.7, 0.97), 0.8, "correct for 80 %, which lies within this interval"),
            ((0.2, 0.4), 0.5, "correct for 50 %, which lies above this interval"),
        ]:
            evidence = changed(
                result.evidence,
                accuracy=0.9,
                interval=interval,
                largest_class=largest,
                codes=codes,
                distributions=shares,
            )
            words = self.page(result, evidence=evidence, classes=("p", "q", "r")).words
            assert "90 % of 30 rows are correct" in words
            assert text in words
            for line in ("p 9 1 –", "q – 10 –", "r 2 – 8"):
                assert line in words
            given = {"given": (10, 10, 10), "predicted": (1, 2, 3)}
            words = self.page(result, evidence=evidence, classes=("p", "q", "r"), **given).words
            for line in ("p 1 17 % 10 90 % 82 % 86 %", "r 3 50 % 10 80 % 100 % 89 %"):
                assert line in words

    def test_command_versions_and_seed(self, result: Classification) -> None:
        words = self.page(result, command="lowrankgcn classify t.csv", seed=5).words
        assert "lowrankgcn classify t.csv" in words
        assert "seed 5" in words
        assert all(version in words for version in versions())

    def test_no_predicted_rows(self, result: Classification) -> None:
        page = self.page(result, predicted=(0, 0, 0), least_certain=())
        assert "Confidence" not in page.words


@pytest.mark.slow
def test_page_of_a_million_rows_is_small() -> None:
    n = 1_000_000
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
    result = classified(process(fit_rows=10_000), frame, labels, frame)
    html = render_classification(result)
    assert len(html.encode()) < 2_000_000
    assert "The map shows 4000 of the 1\N{NO-BREAK SPACE}000\N{NO-BREAK SPACE}000 rows" in html
    check(html)
