"""Reports as self-contained HTML pages, rendered by Jinja2 from ``templates/``.

Templates escape all values but those marked as HTML. The page of a classified table has a map of
its rows, computed from a few eigenpairs.

>>> class_name("<b>")
Markup('<bdi>&lt;b&gt;</bdi>')
"""

from __future__ import annotations

import base64
import hashlib
import platform
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from numpy.typing import NDArray

import lowrankgcn
from lowrankgcn import _format
from lowrankgcn._format import count, rounded_percent, shorten
from lowrankgcn.estimators.semi_supervised import main_eigenpairs
from lowrankgcn.operators import FloatArray
from lowrankgcn.plotting import quality, spectra
from lowrankgcn.plotting.drawing import class_key, svg
from lowrankgcn.report.classification import Classification
from lowrankgcn.spectral.eigenpairs import Eigenpairs, fix_signs

# Conventions of the map; no prediction depends on them.
_POINTS = 4000
_LABELLED = 400
_APART = 3.0  # distance of components, in units of the root mean square of an eigenvector
_DAMPING = 0.25  # the plane shows classes apart more often than with 0, 0.5 or 1
_SAME = 1e-9  # class means closer than this share of the largest distance coincide


def class_name(text: str, longest: int = 40) -> Markup:
    """Return a name or cell from the data, shortened; its writing direction stays inside."""
    return Markup("<bdi>{}</bdi>").format(shorten(text, longest) or "(empty)")


def render_page(template: str, **values: Any) -> str:
    """Render a template of this package: a complete HTML document."""
    environment = Environment(
        loader=PackageLoader("lowrankgcn.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {name: getattr(_format, name) for name in _format.__all__}
    environment.filters |= {"name": class_name, "sha256": _digest}
    environment.globals |= {"svg": svg, "class_key": class_key, "versions": versions(), "zip": zip}
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "ensure_ascii": False}
    return environment.get_template(template).render(values)


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


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
    return render_page(
        "classification.html.j2",
        result=classification,
        median=pd.Series(classification.certainty[classification.asked]).median(),
        row_map=map_rows(classification),
        describe_rows=describe_rows,
        quality=quality,
        spectra=spectra,
    )


class RowMap(NamedTuple):
    """Some rows as points in a plane.

    Attributes
    ----------
    rows : (m,) int array
        In the order of drawing; labelled ones are the last and so drawn over the others.
    points : (m, 2) array
    axes : pair of str
        Labels of the axes.
    n_outside : int
        Number of distant points, drawn at the edge.
    """

    rows: NDArray[np.intp]
    points: FloatArray
    axes: tuple[str, str]
    n_outside: int


def map_rows(result: Classification) -> RowMap | None:
    """Place up to 4000 rows in a plane, up to 400 of them labelled.

    Rows without a prediction are not placed. Return None if no eigenvectors were computed.

    Notes
    -----
    Cost: O(n) for the sample, O(m r) for the coordinates of m rows.
    """
    pairs, nodes = main_eigenpairs(result.classifier)
    if pairs is None:
        return None
    nodes = np.arange(len(result.codes))[nodes]
    placed = np.flatnonzero(~result.unplaced[nodes] | result.labelled[nodes])
    looks = result.codes[nodes[placed]], result.labelled[nodes[placed]]
    chosen = placed[spectra.choose_points(*looks, _POINTS, _LABELLED, result.seed or 0)]
    rows = nodes[chosen]
    points, axes = spectral_embedding(pairs, chosen), ("direction 1", "direction 2")
    if points.shape[1] == 1:
        points = np.column_stack([points[:, 0], result.certainty[rows]])
        axes = ("entry in the only eigenvector", "probability of the class")
    else:
        points = class_plane(points, result.codes[rows], np.flatnonzero(result.labelled[rows]))
    # A margin as wide as the range of most points; a few distant ones are moved to its edge.
    low, high = np.quantile(points, [0.01, 0.99], axis=0)
    inside = np.clip(points, 2 * low - high, 2 * high - low)
    return RowMap(rows, inside, axes, int((inside != points).any(axis=1).sum()))


def describe_rows(result: Classification, rows: NDArray[np.intp]) -> list[tuple[str, Any, Any]]:
    """Return row, class, probability and cells of some rows, for the script of the page.

    A column has a name, codes and texts; if texts repeat, the codes are their positions, otherwise
    there are none. An empty text is a missing cell, or does not apply.
    """
    labelled, classes = result.labelled[rows], result.classes
    certain = [rounded_percent(share) for share in result.certainty[rows]]
    columns: list[tuple[str, Any]] = [
        ("row", [count(row) for row in (result.numbers[rows] + 1).tolist()]),
        ("class", [classes[code] for code in result.codes[rows]]),
        ("probability", np.where(labelled, "", certain)),
    ]
    if result.evidence is None:
        columns.append(("label", np.where(labelled, "given", "")))
    else:
        shares = result.evidence.distributions[np.cumsum(result.labelled)[rows] - 1]
        likely = zip(shares.argmax(axis=1), shares.max(axis=1), strict=True)
        guesses = [f"{shorten(classes[code])}, {rounded_percent(share)}" for code, share in likely]
        columns.append(("without its label", np.where(labelled, guesses, "")))
    described = []
    for name, texts in (*columns, *result.cells(rows).items()):
        short = np.array([shorten(text) for text in texts], dtype=object)
        codes, distinct = pd.factorize(short)
        repeat = 2 * len(distinct) <= len(codes)
        lists = (codes.tolist(), distinct.tolist()) if repeat else ([], short.tolist())
        described.append((shorten(name), *lists))
    return described


def spectral_embedding(pairs: Eigenpairs, rows: Any) -> FloatArray:
    """Return some rows of U_r, weighted by (λ₂/λ)^¼, with a mean square of at most one.

    The weights damp oscillating eigenvectors. The constant eigenvector of a connected graph is
    omitted. Several zero eigenvalues separate their components by equal distances.
    """
    values, vectors = pairs.eigenvalues, np.asarray(pairs.eigenvectors[rows], np.float64)
    zero, positive, scale = values == 0, values > 0, np.zeros(len(values))
    if zero.sum() > 1 or not positive.any():
        largest = np.abs(vectors[:, zero]).max(axis=0)
        scale[zero] = _APART / np.where(largest > 0, largest, 1.0)
    weights = (values[positive].min(initial=np.inf) / values[positive]) ** _DAMPING
    scale[positive] = weights * np.sqrt(len(pairs.eigenvectors))
    return vectors[:, scale > 0] * scale[scale > 0]


def class_plane(
    embedding: FloatArray, classes: NDArray[Any], training: NDArray[np.intp]
) -> FloatArray:
    """Project onto the plane with the largest distances between class means, shape (n, 2).

    Unlike two single eigenvectors, the plane does not depend on the basis of a multiple eigenvalue.
    Two means span only a line; the second direction is then the orthogonal one of largest variance.

    Parameters
    ----------
    embedding : (n, q) array, q ≥ 2
    classes : (n,) array
    training : int array
        Nodes that define the class means.
    """
    means = pd.DataFrame(embedding[training]).groupby(classes[training]).mean().to_numpy()
    _, spread, directions = np.linalg.svd(means - means.mean(axis=0), full_matrices=False)
    directions = directions[:2][spread[:2] > _SAME * spread[0]]
    if len(directions) < 2:
        rest = embedding - embedding.mean(axis=0)
        rest = rest - rest @ directions.T @ directions
        directions = np.vstack([directions, np.linalg.svd(rest, full_matrices=False)[2]])[:2]
    coordinates: FloatArray = embedding @ directions.T
    fix_signs(coordinates)
    return coordinates
