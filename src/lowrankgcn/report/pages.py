"""Reports as self-contained HTML pages, rendered by Jinja2 from ``templates/``.

Templates escape all values but those marked as HTML.

>>> class_name("<b>")
Markup('<bdi>&lt;b&gt;</bdi>')
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from lowrankgcn import _format
from lowrankgcn._format import plural, shorten
from lowrankgcn.report import figures
from lowrankgcn.report.classification import Classification, versions
from lowrankgcn.report.study import Study

__all__ = ["class_name", "render_classification", "render_page", "render_studies"]


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
    >>> page = render_classification(Classification.from_classifier(classifier, None, y))
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
        drawings["certainty"] = figures.draw_counts(*result.histogram, "certainty")
    if (drawn := result.embedding) is not None:
        drawings["map"] = figures.draw_points(
            drawn.coordinates, drawn.codes, drawn.given, marks, drawn.axes, "map", "Rows by class"
        )
    if result.filters:
        drawings["filters"] = figures.draw_filter(result.filters, result.eigenvalues, "filters")
    if result.loss_curve is not None:
        drawings["loss"] = figures.draw_loss(result.loss_curve, "loss")
    return drawings


def render_studies(
    studies: Sequence[Study], *, title: str, subtitle: str, note: str, command: str, seconds: float
) -> str:
    """Render the report of the demo.

    Parameters
    ----------
    studies : sequence of Study
    title, subtitle : str
    note : str
        Printed before the numbers.
    command : str
        Command line that makes the report.
    seconds : float
        Total computing time.

    Returns
    -------
    str
        A complete HTML document.
    """
    steps = {
        f"{study.name}: {step}": value for study in studies for step, value in study.seconds.items()
    }
    return render_page(
        "studies.html.j2",
        title=title,
        subtitle=subtitle,
        note=note,
        studies=studies,
        figures={study.name: _study_figures(study) for study in studies},
        command=command,
        code="\n\n".join(["import lowrankgcn as lg", *(study.code.strip() for study in studies)]),
        seconds=seconds,
        steps=steps,
        versions=versions(),
    )


def _study_figures(study: Study) -> dict[str, Any]:
    pairs, whole = study.pairs, study.spectrum
    eigenvalues = pairs.eigenvalues if whole is None else np.array([value for value, _ in whole])
    marks = []
    for target in study.targets:
        sizes = np.bincount(target.classes, minlength=len(target.class_names))
        marks.append(figures.class_marks(target.class_names, sizes))

    def draw(index: int, points: Any, axes: tuple[str, str], name: str) -> Markup:
        target = study.targets[index]
        title = f"Points of {study.name} by {target.name}"
        name = f"{study.name}-{name}"
        return figures.draw_points(
            points, target.classes, target.labelled, marks[index], axes, name, title
        )

    targets, points = enumerate(study.targets), None
    if study.points is not None:
        points = draw(0, study.points, study.point_names, "points")
    return {
        "spectrum": figures.draw_spectrum(
            pairs.eigenvalues, pairs.residuals, f"{study.name}-spectrum"
        ),
        "filters": figures.draw_filter(study.filters, eigenvalues, f"{study.name}-filters"),
        "marks": marks,
        "targets": [draw(i, t.coordinates, t.axis_names, f"target{i}") for i, t in targets],
        "points": points,
    }
