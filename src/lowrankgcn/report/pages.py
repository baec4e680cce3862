"""Reports as self-contained HTML pages, rendered by Jinja2 from ``templates/``.

Templates escape all values but those marked as HTML.

>>> class_name("<b>")
Markup('<bdi>&lt;b&gt;</bdi>')
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from lowrankgcn import _format
from lowrankgcn._format import plural, shorten
from lowrankgcn.report import figures
from lowrankgcn.report.classification import Classification, versions


def class_name(text: str) -> Markup:
    """Return a name or cell from the data, shortened; its writing direction stays inside."""
    return Markup("<bdi>{}</bdi>").format(shorten(text) or "(empty)")


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
    return environment


def render_page(template: str, **values: Any) -> str:
    """Render a template of this package: a complete HTML document."""
    return _environment().get_template(template).render(values)


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

    Examples
    --------
    >>> import lowrankgcn as lg, numpy as np
    >>> X = np.r_[np.zeros((20, 2)), np.ones((20, 2))] + np.arange(80).reshape(40, 2) / 400
    >>> y = np.r_[np.zeros(5), np.full(15, -1), np.ones(5), np.full(15, -1)]
    >>> classifier = lg.SpectralGPClassifier(random_state=0).fit(X, y)
    >>> page = render_classification(Classification(classifier, None, y))
    >>> "<h1><bdi>table: classes of 30 rows</bdi></h1>" in page
    True
    """
    result = classification
    target = shorten(result.columns.target) or "classes"
    counts = np.array(result.given) + np.array(result.predicted)
    marks = figures.class_marks([shorten(name) or "(empty)" for name in result.classes], counts)
    scores = [] if result.evidence is None else result.evidence.scores.values()
    return render_page(
        "classification.html.j2",
        title=f"{shorten(result.source, 60)}: {target} of {plural(result.n_predicted, 'row')}",
        subtitle=f"Report by {versions()[0]}",
        result=result,
        evidence=result.evidence,
        class_rows=list(zip(result.classes, result.predicted, result.given, *scores, strict=True)),
        hidden_columns=not set(result.columns.used) <= set(result.shown_columns),
        versions=versions(),
        marks=marks,
        figures=_classification_figures(result, marks),
    )


def _classification_figures(result: Classification, marks: Any) -> dict[str, Markup]:
    drawings = {}
    if result.n_predicted:
        drawings["certainty"] = figures.draw_counts(*result.histogram)
    if result.embedding is not None:
        drawings["map"] = figures.draw_map(result.embedding, marks)
    if result.filters:
        drawings["filters"] = figures.draw_filter(result.filters, result.eigenvalues)
    if result.loss_curve is not None:
        drawings["loss"] = figures.draw_loss(result.loss_curve)
    return drawings
