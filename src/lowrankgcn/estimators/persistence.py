"""Saving and loading of fitted classifiers: safetensors with a JSON document, no pickle.

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
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_bytes
from sklearn.utils.validation import check_is_fitted

from lowrankgcn import __version__
from lowrankgcn._atomic import write_bytes
from lowrankgcn._codec import MAY_BE_INFINITE, Arrays, decode, encode, saved
from lowrankgcn._validation import expect_shape, invalid, positive_float, positive_int
from lowrankgcn.estimators.classifier import GCNClassifier
from lowrankgcn.estimators.evidence import Evidence
from lowrankgcn.estimators.labels import read_labels
from lowrankgcn.estimators.model import Model
from lowrankgcn.estimators.rows import Kind
from lowrankgcn.estimators.selection import Selection

__all__ = ["NotSaved", "load", "save"]

FORMAT = "lowrankgcn.GCNClassifier"
FORMAT_VERSION = 2

_KEY = "lowrankgcn"  # key of the JSON document in the safetensors metadata
_DTYPES = "BOOL I8 I16 I32 I64 U8 U16 U32 U64 F16 F32 F64".split()
_LONGEST_DOCUMENT = 50_000_000  # safetensors reads headers of up to 10⁸ bytes, quotes escaped
_LONGEST_TEXT = 500
# Fitted attributes (with an underscore at the end) that a file keeps as they are, if there are any.
_ATTRIBUTES = "classes n_features_in loss_curve n_iter timings label_distributions unplaced".split()


@saved
@final
@dataclass(frozen=True)
class NotSaved:
    """Stand-in for a parameter that a file does not keep: a graph, a function, a generator.

    Attributes
    ----------
    text : str
        How the parameter was printed.
    """

    text: str


@saved
@final
@dataclass(frozen=True)
class SavedCandidate:
    """One row of a :class:`Selection`."""

    architecture: str
    filter: str
    rank: int | None
    hidden_widths: tuple[int, ...]
    cv_loss: float = field(metadata=MAY_BE_INFINITE)
    cv_accuracy: float = field(metadata=MAY_BE_INFINITE)
    cv_deviation: float = field(metadata=MAY_BE_INFINITE)
    share: float

    def __post_init__(self) -> None:
        positive_float(self.share, "share", zero=True)
        for width in self.hidden_widths:
            positive_int(width, "hidden_widths")


@saved
@final
@dataclass(frozen=True, eq=False)
class SavedClassifier:
    """A fitted :class:`GCNClassifier` as a file keeps it; attributes without their underscore."""

    parameters: dict[str, Any]
    classes: NDArray[Any]
    kind: Kind
    n_features_in: int
    feature_names_in: tuple[str, ...] | None
    selection: tuple[SavedCandidate, ...]
    loss_curve: NDArray[Any] = field(metadata=MAY_BE_INFINITE)
    n_iter: int
    timings: dict[str, float]
    description: dict[str, Any]
    model: Model | None
    evidence: Evidence | None
    label_distributions: NDArray[np.float64] | None
    unplaced: NDArray[np.bool_] | None

    def __post_init__(self) -> None:
        unknown = set(self.parameters) - set(GCNClassifier().get_params(deep=False))
        if unknown:
            raise invalid("parameters", "those of GCNClassifier", repr(min(unknown)))
        _check_classes(self.classes)
        count, names = positive_int(self.n_features_in, "n_features_in"), self.feature_names_in
        if names is not None and len(names) != count:
            raise invalid("feature_names_in", f"{count} texts", repr(names)[:100])
        if not self.selection:
            raise invalid("selection", "one candidate or more", "none")
        expect_shape(self.loss_curve, "loss_curve", None, None)
        positive_int(self.n_iter, "n_iter", minimum=0)
        for seconds in self.timings.values():
            positive_float(seconds, "timings", zero=True)
        self._check_model()
        self._check_rows()

    def _check_model(self) -> None:
        if self.model is None or self.evidence is None:
            if self.label_distributions is None or self.model or self.evidence:
                expected = "a model with its evidence, or the distributions of the fitted rows"
                raise invalid("model", expected, "other values")
            return
        if self.model.n_classes != len(self.classes):
            raise invalid("n_classes", len(self.classes), self.model.n_classes)  # type: ignore[arg-type]
        self.evidence.check(self.model)

    def _check_rows(self) -> None:
        if (shares := self.label_distributions) is not None:
            expect_shape(shares, "label_distributions", None, len(self.classes))
            if self.unplaced is None or self.unplaced.shape != (len(shares),):
                raise invalid("unplaced", f"{len(shares)} booleans", "other values")
            if shares.min(initial=0.0) < 0 or (np.abs(shares.sum(axis=1) - 1.0) > 1e-6).any():
                raise invalid("label_distributions", "distributions", "other numbers")


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
        File to write. An existing file is replaced atomically.
    fitted_rows : bool
        Whether to save the results of the rows given to fit: ``label_distributions_``,
        ``transduction_``, ``unplaced_``, and the labelled rows for explanations. Lazy results of
        a Dask collection are never saved.
    description : mapping, optional
        JSON values to save with the classifier, such as the source of the rows; loaded as
        ``description_``. The default is the description of a loaded classifier.

    Raises
    ------
    ValueError
        If `classifier` is not a fitted GCNClassifier, has classes other than numbers and texts, or
        cannot predict new rows and `fitted_rows` is False; or if `description` is not JSON.
    OSError
        If the file cannot be written; an existing file is left unchanged.

    Notes
    -----
    The file holds O(m R) numbers for m hyperedges or landmarks and R extended vectors. Graphs of
    neighbours and Gaussian graphs without landmarks need all fitted points, which are then in the
    file even without `fitted_rows`.

    Graph, Laplacian, eigenpairs and torch modules are not saved. Parameters are saved, except for
    graph objects, functions and random generators; these are loaded as ``NotSaved`` with their
    printed form, which :meth:`GCNClassifier.fit` rejects.

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
    # Lazy results of a Dask collection are not computed.
    fitted_rows &= not hasattr(getattr(classifier, "label_distributions_", None), "dask")
    arrays, contents = encode(_snapshot(classifier, fitted_rows, description))
    document = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "library_version": __version__,
        "sha256": _digest(arrays, contents),
        "contents": contents,
    }
    text = json.dumps(document, allow_nan=False)
    if len(text) > _LONGEST_DOCUMENT:
        raise invalid("classifier", "fewer distinct values", f"{len(text)} characters of them")
    write_bytes(path, to_bytes(arrays, {_KEY: text}))


def load(path: str | os.PathLike[str]) -> GCNClassifier:
    """Load a classifier written by :func:`save`, without running code from the file.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    GCNClassifier
        With ``classes_``, ``selection_``, ``n_features_in_``, ``feature_names_in_`` if there were
        names, ``loss_curve_``, ``n_iter_``, ``timings_``, ``description_``, and what `fitted_rows`
        kept. Its predictions equal those of the saved classifier.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is damaged, incomplete, not a classifier, of a later format, or written by
        version 0.1; the message names the file and what is wrong.

    Notes
    -----
    A checksum detects accidental damage. It is not a signature: whoever can write the file can
    choose the predictions, but nothing else.

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
        return _restored(decode(arrays, _contents(arrays, document), SavedClassifier))
    except (SafetensorError, ValueError, RecursionError, OverflowError, OSError) as error:
        foreign = isinstance(error, SafetensorError)
        found = f"not a saved classifier, or a damaged one ({error})" if foreign else error
        raise ValueError(f"{os.fspath(path)}: cannot be loaded: {found}") from error


def _read(path: str | os.PathLike[str]) -> tuple[Arrays, Any]:
    """Return all arrays of a safetensors file, and its JSON document."""
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


def _contents(arrays: Arrays, document: Any) -> Any:
    """Return the document's contents after checking format, version and checksum."""
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        got = document.get("format") if isinstance(document, dict) else document
        raise invalid("format", repr(FORMAT), repr(got)[:100])
    version = positive_int(document.get("format_version"), "format_version")
    if version == 1:
        raise ValueError("written by version 0.1; fit and save the classifier again")
    if version > FORMAT_VERSION:
        writer = f"{version}, written by lowrankgcn {document.get('library_version')}"
        expected = f"at most {FORMAT_VERSION}; install a newer release"
        raise invalid("format_version", expected, writer)
    contents = document.get("contents")
    if document.get("sha256") != _digest(arrays, contents):
        raise ValueError("the file is damaged: its checksum does not match")
    return contents


def _digest(arrays: Mapping[str, NDArray[Any]], contents: Any) -> str:
    """Return the SHA-256 of all that is read, independent of how the file arranges it."""
    digest = hashlib.sha256(json.dumps(contents, sort_keys=True).encode("ascii"))
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(json.dumps([name, array.dtype.name, array.shape]).encode("ascii"))
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _snapshot(
    classifier: GCNClassifier, fitted_rows: bool, description: Mapping[str, Any] | None
) -> SavedClassifier:
    """Collect what a file keeps of a classifier."""
    model, evidence = classifier._model, classifier._evidence
    if model is None and not fitted_rows:
        raise invalid("fitted_rows", "True, because new rows cannot be classified", False)
    if evidence is not None and not fitted_rows:
        evidence = replace(evidence, labelled=None)
    if description is None:
        description = getattr(classifier, "description_", {})
    try:
        described = json.loads(json.dumps(dict(description), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise invalid("description", "values that JSON supports", error) from None
    names = getattr(classifier, "feature_names_in_", None)
    attributes: dict[str, Any]
    attributes = {name: getattr(classifier, f"{name}_", None) for name in _ATTRIBUTES}
    if not fitted_rows:
        attributes["label_distributions"] = attributes["unplaced"] = None
    return SavedClassifier(
        parameters=_savable(classifier.get_params(deep=False)),
        kind=classifier._kind,
        feature_names_in=None if names is None else tuple(map(str, names)),
        selection=tuple(SavedCandidate(**row) for row in classifier.selection_),
        description=described,
        model=model,
        evidence=evidence,
        **attributes,
    )


def _savable(value: Any) -> Any:
    """Replace what a file does not keep by its printed form."""
    if type(value) in (list, tuple):
        return type(value)(map(_savable, value))
    if isinstance(value, Mapping):
        return {_savable(key): _savable(part) for key, part in value.items()}
    try:
        encode(value)
    except ValueError:
        # Addresses differ each time.
        return NotSaved(re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))[:_LONGEST_TEXT])
    return value


def _check_classes(classes: NDArray[Any]) -> None:
    try:
        distinct = read_labels(classes).n_classes
    except ValueError as error:
        raise invalid("classes_", "texts or finite numbers, to be saved", error) from None
    if distinct < len(classes):
        raise invalid("classes_", "distinct classes", repr(classes.tolist())[:100])


def _restored(parts: SavedClassifier) -> GCNClassifier:
    """Make a classifier from what a file keeps."""
    classifier = GCNClassifier(**parts.parameters)
    if parts.feature_names_in is not None:
        classifier.feature_names_in_ = np.array(parts.feature_names_in, dtype=object)
    for name in _ATTRIBUTES:
        if (value := getattr(parts, name)) is not None:
            setattr(classifier, f"{name}_", value)
    if parts.label_distributions is not None:
        classifier.transduction_ = parts.classes[parts.label_distributions.argmax(axis=1)]
    classifier.selection_ = Selection([vars(row) for row in parts.selection])
    classifier.description_ = parts.description
    classifier._kind, classifier._model = parts.kind, parts.model
    classifier._evidence = parts.evidence
    return classifier
