"""Reports as self-contained HTML pages, rendered by Jinja2 from ``templates/``.

Templates escape all values but those marked as HTML.

>>> class_name("<b>")
Markup('<bdi>&lt;b&gt;</bdi>')
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from lowrankgcn import _format
from lowrankgcn._format import duration, plural, rounded_percent, shorten, value_text
from lowrankgcn.estimators import Validation
from lowrankgcn.report.classification import Classification, versions
from lowrankgcn.report.figures import (
    class_marks,
    draw_filters,
    draw_histogram,
    draw_points,
    draw_spectrum,
)
from lowrankgcn.report.study import Study, TargetResult

__all__ = ["class_name", "render_classification", "render_page", "render_studies"]

_MOST_CLASSES = 100  # in the table of classes
_MOST_CONFUSED = 8  # classes in a square table of confusions
_MOST_MISTAKES = 10  # in the list of confusions of more classes


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
    >>> classifier = lg.GCNClassifier(random_state=0).fit(X, y)
    >>> page = render_classification(Classification.from_classifier(classifier, None, y))
    >>> "<h1><bdi>table: classes of 30 rows</bdi></h1>" in page
    True
    """
    result = classification
    target = "classes" if result.target is None else shorten(result.target)
    counts = np.array(result.given) + np.array(result.predicted)
    marks = class_marks([shorten(name) or "(empty)" for name in result.classes], counts)
    validation = result.validation
    return render_page(
        "classification.html.j2",
        title=f"{shorten(result.source, 60)}: {target} of {plural(result.n_predicted, 'row')}",
        subtitle=f"Report by {result.versions[0]}",
        result=result,
        validation=validation,
        confusions=None if validation is None else _confusions(result.classes, validation),
        class_counts=_class_counts(result),
        hidden_columns=not set(result.used) <= set(result.shown_columns),
        graph_facts=[(name, value_text(value)) for name, value in result.graph.facts.items()],
        marks=marks,
        figures=_classification_figures(result, marks),
        times=_times(result.seconds, sum(result.seconds.values())),
    )


def _times(seconds: Mapping[str, float], total: float) -> list[tuple[str, str]]:
    return [(step, duration(taken)) for step, taken in {**seconds, "total": total}.items()]


def _class_counts(result: Classification) -> list[tuple[str, int, int]]:
    """Return name, predicted and labelled rows of each class; rare classes are added up."""
    order = sorted(range(len(result.classes)), key=lambda code: -result.predicted[code])
    rows: list[tuple[str, int, int]] = [
        (class_name(result.classes[code]), result.predicted[code], result.given[code])
        for code in order[:_MOST_CLASSES]
    ]
    rest = order[_MOST_CLASSES:]
    if rest:
        sums = [sum(n[code] for code in rest) for n in (result.predicted, result.given)]
        rows.append((plural(len(rest), "other class", "other classes"), sums[0], sums[1]))
    return rows


def _confusions(classes: Sequence[str], found: Validation) -> dict[str, Any] | None:
    """Return a table of hidden labels and predictions: square, or the worst of many classes."""
    times = {(str(own), str(put)): rows for own, put, rows in found.confusions}
    totals = {str(name): rows for name, (_, rows) in found.recalls.items()}

    def share(own: str, put: str) -> str:
        rows = times.get((own, put), 0.0)
        return rounded_percent(rows / totals[own]) if rows else "–"

    if len(classes) <= _MOST_CONFUSED:
        return {
            "title": "Predictions for the hidden labels of each class",
            "header": ["hidden label", *classes],
            "rows": [[own, *(share(own, put) for put in classes)] for own in totals],
            "numeric": range(1, len(classes) + 1),
        }
    wrong = sorted((-rows, own, put) for (own, put), rows in times.items() if own != put)
    if not wrong:
        return None
    return {
        "title": "Most frequent mistakes",
        "header": ["hidden label", "predicted as", "share of its labels"],
        "rows": [[own, class_name(put), share(own, put)] for _, own, put in wrong[:_MOST_MISTAKES]],
        "numeric": [2],
    }


def _classification_figures(result: Classification, marks: Any) -> dict[str, Markup]:
    figures = {}
    if result.certainty.n_rows:
        title = "Number of rows by the probability of their predicted class"
        certainty = result.certainty
        figures["certainty"] = draw_histogram(
            certainty.edges, certainty.counts, name="certainty", title=title
        )
    if result.embedding is not None:
        figures["map"] = draw_points(
            result.embedding.coordinates,
            result.embedding.codes,
            result.embedding.given,
            marks,
            axes=result.embedding.axes,
            name="map",
            title="Rows as points, by class",
        )
    if result.eigenvalues is not None:
        figures["spectrum"] = draw_spectrum(result.eigenvalues, None, "spectrum")
        if result.filters:
            figures["filters"] = draw_filters(result.filters, result.eigenvalues, "filters")
    return figures


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
    taken = {
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
        times=_times(taken, seconds),
        versions=versions(),
    )


def _study_figures(study: Study) -> dict[str, Any]:
    def draw(target: TargetResult, points: Any, axes: tuple[str, str], name: str) -> Markup:
        return draw_points(
            points,
            target.classes,
            target.labelled,
            marks(target),
            axes=axes,
            name=f"{study.name}-{name}",
            title=f"Points of {study.name} by {target.name}",
        )

    def marks(target: TargetResult) -> Any:
        sizes = np.bincount(target.classes, minlength=len(target.class_names))
        return class_marks(target.class_names, sizes)

    pairs, whole = study.pairs, study.spectrum
    eigenvalues = pairs.eigenvalues if whole is None else np.array([value for value, _ in whole])
    figures = {
        "spectrum": draw_spectrum(pairs.eigenvalues, pairs.residuals, f"{study.name}-spectrum"),
        "filters": draw_filters(study.filters, eigenvalues, f"{study.name}-filters"),
        "marks": [marks(target) for target in study.targets],
        "targets": [
            draw(target, target.coordinates, target.axis_names, f"task{index}")
            for index, target in enumerate(study.targets)
        ],
    }
    if study.points is not None:
        figures["points"] = draw(study.targets[0], study.points, study.point_names, "points")
    return figures
