"""Fitted classifiers show their results in notebooks; other objects are one short line."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import sklearn

import lowrankgcn as lg

HOSTILE = '<script>alert("1")</script>&'


def facts(html: str) -> dict[str, str]:
    """Cells of a table of facts by their names."""
    return dict(re.findall(r"<th>(.*?)</th>\s*<td>(.*?)</td>", html))


def points() -> np.ndarray:
    return np.r_[np.zeros((20, 2)), np.ones((20, 2))] + np.arange(80).reshape(40, 2) / 400


def labels(first: str, second: str) -> np.ndarray:
    return np.array([first] * 5 + [""] * 15 + [second] * 5 + [""] * 15, dtype=object)


def test_classifiers_add_their_results_to_the_diagram() -> None:
    classifier = lg.SpectralGPClassifier(random_state=0)
    assert "leave-one-out" not in classifier._repr_html_()
    classifier.fit(points(), labels(HOSTILE, "yes"))
    html = classifier._repr_html_()
    assert "sk-container" in html  # scikit-learn's own
    assert " % (90 % interval " in facts(html)["estimated accuracy"]
    assert facts(html)["rows"] == "40"
    assert facts(html)["labelled rows"] == "10"
    assert HOSTILE not in html
    bundle = classifier._repr_mimebundle_()
    assert facts(bundle["text/html"]) == facts(html)
    with sklearn.config_context(display="text"):
        assert set(classifier._repr_mimebundle_()) == {"text/plain"}
        assert not hasattr(classifier, "_repr_html_")


def test_networks_and_loaded_classifiers(tmp_path: Any) -> None:
    network = lg.GCNClassifier(max_iter=20, random_state=0).fit(points(), labels("no", "yes"))
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
