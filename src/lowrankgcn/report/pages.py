"""Reports as self-contained HTML pages, rendered by Jinja2 from ``templates/``.

Templates escape all values but those marked as HTML.

>>> class_name("<b>")
Markup('<bdi>&lt;b&gt;</bdi>')
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from lowrankgcn import _format
from lowrankgcn._format import plural, shorten
from lowrankgcn.report import figures
from lowrankgcn.report.classification import Classification, versions

_MOST_COLUMNS = 200
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
    shown = result.n_predicted or result.n_rows
    marks = figures.class_marks(shorten(name) or "(empty)" for name in result.classes)
    scores = [] if result.evidence is None else result.evidence.scores.values()
    script = _SCRIPT.read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return render_page(
        "classification.html.j2",
        title=f"{shorten(result.source, 60)}: {target} of {plural(shown, 'row')}",
        subtitle=f"Report by {versions()[0]}",
        result=result,
        evidence=result.evidence,
        class_rows=list(zip(result.classes, result.predicted, result.given, *scores, strict=True)),
        hidden_columns=not set(result.columns.used) <= set(result.shown_columns),
        versions=versions(),
        charts=_charts(result, marks),
        descriptions=[(shorten(name), *_encoded(own)) for name, own in result.descriptions],
        most_columns=_MOST_COLUMNS,
        script=Markup(script),
        script_source=f"'sha256-{digest}'",
    )


def _charts(result: Classification, marks: Sequence[figures.Mark]) -> dict[str, figures.Chart]:
    charts = {}
    if result.n_predicted:
        charts["certainty"] = figures.histogram_chart(*result.histogram)
    if result.evidence is not None:
        charts["reliability"] = figures.reliability_chart(result.evidence.reliability)
    if result.embedding is not None:
        charts["map"] = figures.map_chart(result.embedding, marks)
    if result.filters:
        charts["filters"] = figures.filter_chart(result.filters, result.eigenvalues)
    if result.loss_curve is not None:
        charts["loss"] = figures.loss_chart(result.loss_curve)
    return charts


def _encoded(texts: Sequence[str]) -> tuple[list[int], list[str]]:
    """Return positions in the list of the distinct texts, or none if most differ, and that list."""
    short = pd.Series([shorten(text) for text in texts], dtype=object)
    codes, distinct = pd.factorize(short)
    if 2 * len(distinct) > len(short):
        return [], short.tolist()
    return codes.tolist(), list(distinct)
