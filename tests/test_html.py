"""HTML and short texts of objects in notebooks."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pandas as pd
import pytest

import lowrankgcn as lg
from lowrankgcn._html import card, curve

HOSTILE = '<script>alert("1")</script>&'


class Reader(HTMLParser):
    """Texts of a piece of HTML whose elements are all closed in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.texts: list[str] = []
        self.feed(html)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)
        self.tags.add(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append(data.strip())


def facts(html: str) -> dict[str, str]:
    """Cells of a table of facts by their names."""
    found = re.findall(r"<th>(.*?)</th>\s*<td>(.*?)</td>", html)
    return dict(found)


def points() -> np.ndarray:
    return np.r_[np.zeros((20, 2)), np.ones((20, 2))] + np.arange(80).reshape(40, 2) / 400


def labels(first: str, second: str) -> np.ndarray:
    return np.array([first] * 5 + [""] * 15 + [second] * 5 + [""] * 15, dtype=object)


def test_texts_are_escaped() -> None:
    html = card(HOSTILE, {HOSTILE: HOSTILE}, note=HOSTILE)
    reader = Reader(html + card("table", pd.DataFrame({HOSTILE: [HOSTILE]})))
    assert "script" not in reader.tags
    assert reader.texts.count(HOSTILE) == 6
    assert "script>" not in curve(np.array([0.0]), np.array([1.0]), HOSTILE, HOSTILE)


def test_long_texts_are_whole_and_colours_are_those_of_the_page() -> None:
    html = card("title", {"name": "x" * 300}, figure=curve(np.zeros(2), np.zeros(2), "x", "y"))
    assert "x" * 300 in html
    assert not re.search(r"#[0-9a-f]{3}|rgb|background", html)
    assert "nan" not in html


def test_graphs() -> None:
    table = pd.DataFrame({"a": list("xxyy"), "b": list("uvuv")})
    for graph, expected in (
        (lg.GaussianGraph(points(), bandwidth=0.5), {"rows": "40", "bandwidth": "0.5"}),
        (lg.AdjacencyGraph.knn(points(), 3), {"rows": "40", "separate parts": "2"}),
        (lg.Hypergraph.from_table(table), {"rows": "4", "groups": "4", "separate parts": "1"}),
    ):
        html = graph._repr_html_()
        Reader(html)
        assert expected.items() <= facts(html).items()
        assert graph.description.meaning in html


def test_components_of_large_graphs_are_not_computed_for_display(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph = lg.GaussianGraph(np.arange(3000.0)[:, None], bandwidth=1.0)
    find = lg.GaussianGraph._find_components
    with monkeypatch.context() as patch:
        patch.setattr(lg.GaussianGraph, "_find_components", None)
        assert facts(graph._repr_html_())["rows"] == "3000"
    assert find(graph).shape == graph.components.shape
    assert facts(graph._repr_html_())["separate parts"] == "1"


def test_eigenpairs_and_kernels() -> None:
    laplacian = lg.Laplacian(lg.GaussianGraph(points(), bandwidth=1.0))
    pairs = lg.eigenpairs(laplacian, 30)
    html = pairs._repr_html_()
    texts = Reader(html).texts
    assert texts.count("...") == 3  # between the first and the last five
    assert f"{pairs.eigenvalues[-1]:.6g}" in texts
    assert f"{pairs.residuals[-1]:.1e}" in texts
    kernel = lg.kernel(laplacian, "heat", rank=4)
    found = facts(kernel._repr_html_())
    assert (found["filter"], found["form"], found["rank"]) == ("heat", "low-rank", "4")
    assert found["graph"] == repr(laplacian.graph)
    assert "rank" not in facts(lg.kernel(laplacian, "heat")._repr_html_())


def test_texts_are_one_short_line() -> None:
    laplacian = lg.Laplacian(lg.AdjacencyGraph.knn(points(), 25), np.ones(40))
    pairs = lg.eigenpairs(laplacian, 5)
    table = pd.DataFrame({f"column {k}": list("xyxy") for k in range(50)})
    classifier = lg.SpectralGPClassifier(random_state=0).fit(points(), labels("no", "yes"))
    explanation = classifier.explain(points())
    shown = [
        laplacian,
        pairs,
        lg.kernel(laplacian, "heat", rank=5),
        lg.kernel(laplacian, "heat"),
        lg.TableEncoder.fit(table),
        explanation,
        explanation[0],
        classifier,
        *classifier.graphs_.values(),
        *classifier.filter_.values(),
        *(getattr(lg.filters, name)() for name in ("Heat", "Linear", "Pseudoinverse")),
    ]
    for value in shown:
        assert "\n" not in repr(value)
        assert len(repr(value)) < 200, repr(value)
    assert repr(pairs).startswith("Eigenpairs(5 of 40, eigenvalues 0..")
    assert repr(lg.Eigenpairs(*(np.zeros(0), np.zeros((3, 0)), np.zeros(0)), "block", 0, 1)) == (
        "Eigenpairs(0 of 3, eigenvalues (none), residuals <= 0, method='block')"
    )
    assert repr(explanation).startswith("Explanation(40 rows, by=")
