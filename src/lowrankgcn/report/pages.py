"""Reports as self-contained HTML pages, rendered by Jinja2 from ``templates/``.

Templates escape all values but those marked as HTML.

>>> class_name("<b>")
Markup('<bdi>&lt;b&gt;</bdi>')
"""

from __future__ import annotations

import base64
import hashlib
import platform
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

import lowrankgcn
from lowrankgcn import _format
from lowrankgcn._format import shorten
from lowrankgcn.plotting import quality, spectra
from lowrankgcn.plotting.svg import class_key, svg
from lowrankgcn.report.classification import Classification, describe_graphs
from lowrankgcn.report.row_map import describe_rows, map_rows

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
    environment.globals |= {"svg": svg, "class_key": class_key, "versions": versions()}
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
    >>> import lowrankgcn as lg, numpy as np, pandas as pd
    >>> from lowrankgcn.files import Columns
    >>> from lowrankgcn.report.classification import Classification
    >>> from lowrankgcn.report.pages import render_classification
    >>> X = np.r_[np.zeros((20, 2)), np.ones((20, 2))] + np.arange(80).reshape(40, 2) / 400
    >>> y = np.r_[np.zeros(5), np.full(15, -1), np.ones(5), np.full(15, -1)]
    >>> classifier = lg.SpectralGPClassifier(random_state=0).fit(X, y)
    >>> columns = Columns("", {}, {})
    >>> page = render_classification(Classification(
    ...     classifier, pd.DataFrame(X), y, columns, classifier.evidence_, "clouds", {}
    ... ))
    >>> "<h1><bdi>clouds: classes of 30 rows</bdi></h1>" in page
    True
    """
    result, evidence = classification, classification.evidence
    scores = () if evidence is None else evidence.scores.values()
    script = _SCRIPT.read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    row_map = map_rows(result)
    return render_page(
        "classification.html.j2",
        result=result,
        evidence=evidence,
        median=pd.Series(result.certainty[result.asked]).median(),
        class_rows=list(zip(result.classes, result.predicted, result.given, *scores, strict=True)),
        row_map=row_map,
        descriptions=[] if row_map is None else _encoded(describe_rows(result, row_map.rows)),
        graphs=describe_graphs(result.classifier),
        quality=quality,
        spectra=spectra,
        script=Markup(script),
        script_source=f"'sha256-{digest}'",
    )


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
