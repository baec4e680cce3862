"""Reports as self-contained HTML pages, rendered by Jinja2 from ``templates/``.

Templates escape all values but those marked as HTML.

>>> class_name("<b>")
Markup('<bdi>&lt;b&gt;</bdi>')
"""

from __future__ import annotations

import base64
import hashlib
import platform
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from matplotlib.axes import Axes

import lowrankgcn
from lowrankgcn import _format
from lowrankgcn._format import plural, shorten
from lowrankgcn.plotting import plot_filter, plot_loss
from lowrankgcn.plotting.quality import draw_certainty, draw_reliability
from lowrankgcn.plotting.spectra import draw_points
from lowrankgcn.plotting.svg import class_key, svg
from lowrankgcn.report.classification import (
    Classification,
    describe_graphs,
    describe_weighting,
)
from lowrankgcn.report.row_map import RowMap, describe_rows, map_rows

_MOST_COLUMNS = 200
_TITLES = {
    "certainty": "Number of rows by the probability of their predicted class",
    "reliability": "Share of correct rows by the probability of their class",
    "map": "Rows by class",
    "filters": "Filter responses over the eigenvalues",
    "loss": "Loss of every restart by iteration",
}
_SCRIPT = Path(__file__).parent / "templates" / "map.js"


def class_name(text: str, longest: int = 40) -> Markup:
    """Return a name or cell from the data, shortened; its writing direction stays inside."""
    return Markup("<bdi>{}</bdi>").format(shorten(text, longest) or "(empty)")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("lowrankgcn.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {name: getattr(_format, name) for name in _format.__all__}
    environment.filters["name"] = class_name
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "ensure_ascii": False}
    return environment


def render_page(template: str, **values: Any) -> str:
    """Render a template of this package: a complete HTML document."""
    return _environment().get_template(template).render({"script_source": "", **values})


def versions() -> tuple[str, ...]:
    """Return the versions of Python and of the packages that affect results."""
    texts = [f"lowrankgcn {lowrankgcn.__version__}", f"Python {platform.python_version()}"]
    for name in ("numpy", "scipy", "scikit-learn", "faiss-cpu", "finufft", "torch"):
        with suppress(PackageNotFoundError):  # torch is optional
            texts.append(f"{name} {version(name)}")
    return tuple(texts)


def render_classification(classification: Classification) -> str:
    """Render the report of a classified table.

    Parameters
    ----------
    classification : Classification

    Returns
    -------
    str
        A complete HTML document, identical for the same classification and smaller than two
        megabytes for any number of rows.

    See Also
    --------
    lowrankgcn.report.classification.Classification : The results to render.

    Examples
    --------
    >>> import lowrankgcn as lg, numpy as np
    >>> from lowrankgcn.report.classification import Classification
    >>> from lowrankgcn.report.pages import render_classification
    >>> X = np.r_[np.zeros((20, 2)), np.ones((20, 2))] + np.arange(80).reshape(40, 2) / 400
    >>> y = np.r_[np.zeros(5), np.full(15, -1), np.ones(5), np.full(15, -1)]
    >>> classifier = lg.SpectralGPClassifier(random_state=0).fit(X, y)
    >>> page = render_classification(Classification(classifier, None, y))
    >>> "<h1><bdi>table: classes of 30 rows</bdi></h1>" in page
    True
    """
    result = classification
    target = shorten(result.columns.target) or "classes"
    shown = sum(result.predicted) or len(result.codes)
    scores = () if result.evidence is None else result.evidence.scores.values()
    script = _SCRIPT.read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    row_map = map_rows(result)
    return render_page(
        "classification.html.j2",
        title=f"{shorten(result.source, 60)}: {target} of {plural(shown, 'row')}",
        subtitle=f"Report by {versions()[0]}",
        result=result,
        evidence=result.evidence,
        n_predicted=sum(result.predicted),
        median=pd.Series(result.certainty[result.asked]).median(),
        class_rows=list(zip(result.classes, result.predicted, result.given, *scores, strict=True)),
        versions=versions(),
        row_map=row_map,
        keys=[class_key(code) for code in range(len(result.classes))],
        charts=_charts(result, row_map),
        descriptions=[] if row_map is None else _encoded(describe_rows(result, row_map.rows)),
        graphs=describe_graphs(result.classifier),
        weighting=describe_weighting(result.classifier),
        most_columns=_MOST_COLUMNS,
        script=Markup(script),
        script_source=f"'sha256-{digest}'",
    )


def _charts(result: Classification, row_map: RowMap | None) -> dict[str, Markup]:
    """Draw the pictures of the page."""
    classifier, evidence = result.classifier, result.evidence
    draw: dict[str, Callable[[Axes], object]] = {}
    if len(result.asked):
        shares, n_classes = result.certainty[result.asked], len(result.classes)
        draw["certainty"] = lambda ax: draw_certainty(ax, shares, n_classes)
    if evidence is not None:
        draw["reliability"] = lambda ax: draw_reliability(ax, evidence.reliability)
    if row_map is not None:
        looks = result.codes[row_map.rows], result.labelled[row_map.rows]
        draw["map"] = lambda ax: draw_points(ax, row_map.points, *looks, row_map.axes)
    if evidence is None or classifier.filter_:
        draw["filters"] = lambda ax: plot_filter(classifier, ax=ax)
    if evidence is None:
        draw["loss"] = lambda ax: plot_loss(classifier, ax=ax)
    return {name: svg(function, name, _TITLES[name]) for name, function in draw.items()}


def _encoded(columns: list[tuple[str, list[str]]]) -> list[tuple[str, list[int], list[str]]]:
    """Replace texts that repeat with positions in the list of distinct texts."""
    encoded = []
    for name, texts in columns:
        short = pd.Series([shorten(text) for text in texts], dtype=object)
        codes, distinct = pd.factorize(short)
        repeat = 2 * len(distinct) <= len(short)
        lists = (codes.tolist(), list(distinct)) if repeat else ([], short.tolist())
        encoded.append((shorten(name), *lists))
    return encoded
