"""HTML and short texts of objects in notebooks."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn

import lowrankgcn as lg
from lowrankgcn._html import card, curve
from lowrankgcn.estimators.gp_model import LearnedFilter

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


def test_learned_filters() -> None:
    for values, response in (([0.0, 0.5, 1.0], [3.0, 1.0, 0.0]), ([0.2], [0.0]), ([], [])):
        learned = LearnedFilter(HOSTILE, np.array(values), np.array(response))
        html = learned._repr_html_()
        assert {"svg", "polyline"} <= Reader(html).tags
        assert "nan" not in html
        assert "script" not in Reader(html).tags
    assert 'points="18.0,18.0 150.0,74.0 282.0,102.0"' in curve(
        np.array([0.0, 0.5, 1.0]), np.array([3.0, 1.0, 0.0]), "λ", "φ"
    )


def test_classifiers_add_their_results_to_the_diagram() -> None:
    classifier = lg.SpectralGPClassifier(random_state=0)
    assert "leave-one-out" not in classifier._repr_html_()
    classifier.fit(points(), labels(HOSTILE, "yes"))
    html = classifier._repr_html_()
    assert "sk-container" in html  # scikit-learn's own
    assert facts(html)["leave-one-out accuracy"].startswith("100.0 % (90 % interval ")
    assert facts(html)["rows"] == "40"
    assert facts(html)["labelled rows"] == "10"
    assert "%)" in facts(html)["largest blocks"]
    assert HOSTILE not in html
    bundle = classifier._repr_mimebundle_()
    assert facts(bundle["text/html"]) == facts(html)
    with sklearn.config_context(display="text"):
        assert set(classifier._repr_mimebundle_()) == {"text/plain"}
        assert not hasattr(classifier, "_repr_html_")


def test_networks_and_loaded_classifiers(tmp_path: Any) -> None:
    pytest.importorskip("torch")
    network = lg.GCNClassifier(max_iter=20, random_state=0).fit(points(), labels("no", "yes"))
    assert facts(network._repr_html_())["restarts"] == "3"
    assert facts(network._repr_html_())["graph"] == repr(network.graph_)
    lg.save(network, tmp_path / "model", fitted_rows=False)
    found = facts(lg.load(tmp_path / "model")._repr_html_())
    assert found["classes"] == "2: no, yes"
    assert "rows" not in found


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
    assert "row 39: " in Reader(explanation._repr_html_()).texts[0]
