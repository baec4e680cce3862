"""Fitted classifiers in files: safetensors with a JSON description, no pickle.

>>> import tempfile, pathlib
>>> import lowrankgcn as lg, numpy as np
>>> X = np.r_[np.zeros((20, 2)), np.ones((20, 2))] + np.arange(80).reshape(40, 2) / 400
>>> y = np.r_[0, np.full(19, -1), 1, np.full(19, -1)]
>>> classifier = lg.GCNClassifier(max_iter=20, random_state=0).fit(X, y)
>>> with tempfile.TemporaryDirectory() as folder:
...     lg.save(classifier, pathlib.Path(folder) / "two-groups.safetensors")
...     loaded = lg.load(pathlib.Path(folder) / "two-groups.safetensors")
>>> bool((loaded.predict_proba(X + 0.01) == classifier.predict_proba(X + 0.01)).all())
True
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping
from typing import Any, cast, get_args

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_bytes
from sklearn.utils.validation import check_is_fitted

from lowrankgcn import __version__
from lowrankgcn._atomic import write_bytes
from lowrankgcn._validation import choice, invalid, positive_float, positive_int
from lowrankgcn.estimators.classifier import GCNClassifier
from lowrankgcn.estimators.evidence import Evidence
from lowrankgcn.estimators.plain import (
    classes_from_plain,
    classes_to_plain,
    from_plain,
    to_plain,
)
from lowrankgcn.estimators.reading import Kind
from lowrankgcn.estimators.saved_model import (
    Arrays,
    array_of,
    field_of,
    model_from_state,
    model_state,
    restored_with,
)
from lowrankgcn.estimators.selection import Selection

__all__ = ["load", "save"]

FORMAT = "lowrankgcn.GCNClassifier"
FORMAT_VERSION = 1

_KEY = "lowrankgcn"  # of the JSON document in the metadata of the safetensors file
_DTYPES = {"BOOL": "bool", "F32": "float32", "F64": "float64", "I64": "int64"}
_LONGEST_DOCUMENT = 50_000_000  # safetensors reads headers of up to 10⁸ bytes, quotes escaped
_SCORES = ("cv_loss", "cv_accuracy", "cv_deviation")


def save(
    classifier: GCNClassifier,
    path: str | os.PathLike[str],
    *,
    fitted_rows: bool = True,
    description: Mapping[str, Any] | None = None,
) -> None:
    """Write a fitted classifier into one safetensors file.

    Parameters
    ----------
    classifier : GCNClassifier
        Fitted.
    path : str or path
        File to write; one that is there is replaced, in one step and only when all is written.
    fitted_rows : bool
        Whether to keep what concerns the rows given to fit: ``label_distributions_``,
        ``transduction_`` and ``unplaced_``, and the labelled rows that explanations name.
    description : mapping, optional
        Texts, numbers, lists and mappings to keep beside it, such as where the rows came from; they
        come back as ``description_``. By default that of a loaded classifier, if it has one.

    Raises
    ------
    ValueError
        If it is no classifier, is not fitted, has classes that are neither numbers nor texts,
        nothing would be left of it without the fitted rows, or JSON cannot hold the description.
    OSError
        If the file cannot be written; one that was there stays as it was.

    Notes
    -----
    The file holds what new rows need, O(m R) numbers for m hyperedges or landmarks and R extended
    vectors. Graphs of neighbours and Gaussian graphs without landmarks need all fitted points,
    which are then in the file, with or without `fitted_rows`.

    Graph, Laplacian, eigenpairs and torch modules are not kept. Parameters are, except for graph
    objects, functions and random generators: these come back as ``NotSaved`` with their printed
    form, which :meth:`GCNClassifier.fit` refuses.

    Examples
    --------
    >>> import lowrankgcn as lg
    >>> lg.save(lg.GCNClassifier(), "model.safetensors")
    Traceback (most recent call last):
        ...
    sklearn.exceptions.NotFittedError: This GCNClassifier instance is not fitted yet...
    """
    if type(classifier) is not GCNClassifier:
        raise invalid("classifier", "a fitted GCNClassifier", type(classifier).__name__)
    check_is_fitted(classifier, "classes_")
    arrays, contents = _state(classifier, bool(fitted_rows))
    contents["description"] = _described(classifier, description)
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    document = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "library_version": __version__,
        "sha256": _digest(arrays, contents),
        "contents": contents,
    }
    text = json.dumps(document, allow_nan=False)
    if len(text) > _LONGEST_DOCUMENT:
        expected = "a table with fewer distinct values, to be saved"
        raise invalid("classifier", expected, f"{len(text)} characters of them")
    write_bytes(path, to_bytes(arrays, {_KEY: text}))


def load(path: str | os.PathLike[str]) -> GCNClassifier:
    """Read a classifier that :func:`save` wrote; runs no code from the file.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    GCNClassifier
        With ``classes_``, ``selection_``, ``n_features_in_``, ``feature_names_in_`` if there were
        names, ``loss_curve_``, ``n_iter_``, ``timings_``, ``description_``, and what `fitted_rows`
        kept. It predicts, bit for bit, what the saved one does.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If it is damaged, incomplete, not a classifier, or of a later format; the message names the
        file and what is wrong.

    Notes
    -----
    A checksum tells accidental damage. It is no signature: whoever can write the file can choose
    the predictions, but nothing else.

    Examples
    --------
    >>> import lowrankgcn as lg
    >>> lg.load("nothing-here.safetensors")
    Traceback (most recent call last):
        ...
    FileNotFoundError: [Errno 2] No such file or directory: 'nothing-here.safetensors'
    """
    with open(path, "rb"):  # the usual errors for what is missing, a folder or not readable
        pass
    try:
        arrays, document = _read(path)
        return _classifier(arrays, _contents(arrays, document))
    except SafetensorError as error:
        found = f"not a saved classifier, or a damaged one ({error})"
        raise ValueError(f"{os.fspath(path)}: cannot be loaded: {found}") from error
    except (ValueError, RecursionError, OverflowError, OSError) as error:
        raise ValueError(f"{os.fspath(path)}: cannot be loaded: {error}") from error


def _read(path: str | os.PathLike[str]) -> tuple[Arrays, Any]:
    """All arrays of a safetensors file, and its JSON document."""
    with safe_open(path, framework="numpy") as file:
        metadata = file.metadata() or {}
        if _KEY not in metadata:
            raise invalid("file", "a saved GCNClassifier", "a safetensors file of something else")
        document = json.loads(metadata[_KEY])
        names = list(file.keys())
        for name in names:
            dtype = file.get_slice(name).get_dtype()
            if dtype not in _DTYPES:
                raise invalid(name, f"one of the dtypes {', '.join(_DTYPES)}", dtype)
        arrays = {name: np.array(file.get_tensor(name), order="C") for name in names}
    return arrays, document


def _contents(arrays: Arrays, document: Any) -> dict[str, Any]:
    """The document's contents, once format, version and checksum are right."""
    name = field_of(document, "format", str)
    if name != FORMAT:
        raise invalid("format", repr(FORMAT), repr(name))
    version = positive_int(document.get("format_version"), "format_version")
    if version > FORMAT_VERSION:
        writer = f"{version}, written by lowrankgcn {document.get('library_version')}"
        raise invalid(
            "format_version", f"at most {FORMAT_VERSION}; a newer release reads it", writer
        )
    contents: dict[str, Any] = field_of(document, "contents", dict)
    if document.get("sha256") != _digest(arrays, contents):
        raise invalid("file", "contents as they were written", "others: it is damaged")
    return contents


def _digest(arrays: Mapping[str, NDArray[Any]], contents: Any) -> str:
    """SHA-256 of everything that is read, independent of how the file arranges it."""
    digest = hashlib.sha256(json.dumps(contents, sort_keys=True).encode("ascii"))
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(json.dumps([name, array.dtype.name, array.shape]).encode("ascii"))
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _state(classifier: GCNClassifier, fitted_rows: bool) -> tuple[Arrays, dict[str, Any]]:
    """A classifier as arrays and JSON values."""
    model = classifier._model
    if model is None and not fitted_rows:
        raise invalid("fitted_rows", "True, as new rows cannot be classified", False)
    arrays: Arrays = {"loss_curve": np.asarray(classifier.loss_curve_)}
    names = getattr(classifier, "feature_names_in_", None)
    parameters = classifier.get_params(deep=False)
    plain: dict[str, Any] = {}
    contents: dict[str, Any] = {
        "parameters": plain,
        "classes": classes_to_plain(classifier.classes_),
        "kind": classifier._kind,
        "n_features_in": int(classifier.n_features_in_),
        "feature_names_in": None if names is None else [str(name) for name in names],
        "selection": [_selection_row(row) for row in classifier.selection_],
        "n_iter": int(classifier.n_iter_),
        "timings": {name: float(seconds) for name, seconds in classifier.timings_.items()},
        "model": None,
    }
    for name, value in parameters.items():
        if isinstance(value, np.ndarray) and value.dtype.name in _DTYPES.values():
            arrays[f"parameter.{name}"] = value
        else:
            plain[name] = to_plain(value)
    if model is not None:
        parts, contents["model"] = model_state(model)
        arrays |= parts
        evidence = classifier._evidence
        if evidence is not None:
            state = evidence.state(fitted_rows=fitted_rows)
            arrays |= {f"evidence.{name}": array for name, array in state.items()}
    if fitted_rows and hasattr(classifier, "label_distributions_"):
        arrays["label_distributions"] = classifier.label_distributions_
        arrays["unplaced"] = classifier.unplaced_
    return arrays, contents


def _described(classifier: GCNClassifier, description: Mapping[str, Any] | None) -> Any:
    if description is None:
        description = getattr(classifier, "description_", {})
    try:
        return json.loads(json.dumps(dict(description), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise invalid("description", "what JSON can hold", error) from None


def _selection_row(row: Mapping[str, Any]) -> dict[str, Any]:
    scores = {name: None if math.isnan(row[name]) else float(row[name]) for name in _SCORES}
    return {
        "architecture": str(row["architecture"]),
        "filter": str(row["filter"]),
        "rank": None if row["rank"] is None else int(row["rank"]),
        "hidden_widths": [int(width) for width in row["hidden_widths"]],
        **scores,
        "share": float(row["share"]),
    }


def _classifier(arrays: Arrays, contents: dict[str, Any]) -> GCNClassifier:
    """Restore what :func:`_state` returned."""
    classifier = GCNClassifier(**_parameters(arrays, contents))
    classes = classes_from_plain(contents.get("classes"))
    n_features = positive_int(field_of(contents, "n_features_in", int), "n_features_in")
    names = field_of(contents, "feature_names_in", (list, type(None)))
    if names is not None:
        if len(names) != n_features or not all(isinstance(name, str) for name in names):
            raise invalid("feature_names_in", f"{n_features} texts", repr(names)[:100])
        classifier.feature_names_in_ = np.array(names, dtype=object)
    classifier._kind = cast(Kind, choice(contents.get("kind"), "kind", get_args(Kind)))
    classifier.n_features_in_ = n_features
    classifier.classes_ = classes
    classifier.selection_ = _selection(field_of(contents, "selection", list))
    curve = array_of(arrays, "loss_curve", (None, None), ("float32", "float64"), finite=False)
    classifier.loss_curve_ = curve
    classifier.n_iter_ = positive_int(contents.get("n_iter"), "n_iter", minimum=0)
    timings = field_of(contents, "timings", dict)
    classifier.timings_ = {k: positive_float(v, "timings", zero=True) for k, v in timings.items()}
    _restore_rows(classifier, arrays)
    classifier.description_ = field_of({"description": {}, **contents}, "description", dict)
    model = field_of(contents, "model", (dict, type(None)))
    classifier._model = classifier._evidence = None
    if model is not None:
        restored = model_from_state(arrays, model, n_features, len(classes))
        classifier._model = restored
        evidence = restored_with(arrays, "evidence.")
        classifier._evidence = Evidence.from_state(evidence, restored) if evidence else None
    elif "label_distributions" not in arrays:
        raise invalid("model", "a model or the distributions of the fitted rows", "neither")
    return classifier


def _restore_rows(classifier: GCNClassifier, arrays: Arrays) -> None:
    if "label_distributions" not in arrays and "unplaced" not in arrays:
        return
    count = len(classifier.classes_)
    shares = array_of(arrays, "label_distributions", (None, count))
    if shares.min(initial=0.0) < 0 or (np.abs(shares.sum(axis=1) - 1.0) > 1e-6).any():
        raise invalid("label_distributions", "distributions", "other numbers")
    classifier.label_distributions_ = shares
    classifier.transduction_ = classifier.classes_[shares.argmax(axis=1)]
    classifier.unplaced_ = array_of(arrays, "unplaced", (len(shares),), ("bool",))


def _parameters(arrays: Arrays, contents: dict[str, Any]) -> dict[str, Any]:
    plain = field_of(contents, "parameters", dict)
    values = {name: from_plain(value) for name, value in plain.items()}
    values |= restored_with(arrays, "parameter.")
    unknown = set(values) - set(GCNClassifier().get_params(deep=False))
    if unknown:
        raise invalid("parameters", "those of GCNClassifier", repr(min(unknown)))
    return values


def _selection(rows: list[Any]) -> Selection:
    if not rows:
        raise invalid("selection", "one candidate or more", "none")
    return Selection([_restored_row(row) for row in rows])


def _restored_row(row: Any) -> dict[str, Any]:
    widths = field_of(row, "hidden_widths", list)
    scores = {name: field_of(row, name, (float, int, type(None))) for name in _SCORES}
    return {
        "architecture": field_of(row, "architecture", str),
        "filter": field_of(row, "filter", str),
        "rank": field_of(row, "rank", (int, type(None))),
        "hidden_widths": tuple(positive_int(width, "hidden_widths") for width in widths),
        **{name: math.nan if score is None else float(score) for name, score in scores.items()},
        "share": positive_float(row.get("share"), "share", zero=True),
    }
