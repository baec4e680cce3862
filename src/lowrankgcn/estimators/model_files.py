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
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_bytes

from lowrankgcn import __version__, estimators
from lowrankgcn._atomic import write_bytes
from lowrankgcn._codec import Arrays, decode, encode, saved
from lowrankgcn._validation import expect_shape, invalid, positive_float, positive_int
from lowrankgcn.estimators.class_labels import read_labels
from lowrankgcn.estimators.gcn_model import SavedNetwork
from lowrankgcn.estimators.gp_model import GPModel
from lowrankgcn.estimators.rows import Kind, table_rows

if TYPE_CHECKING:
    from lowrankgcn.estimators.semi_supervised import SemiSupervisedClassifier


FORMAT = "lowrankgcn"
FORMAT_VERSION = 5

# Classifiers by what a file keeps of them. Their modules are imported on demand: a model that only
# predicts does not wait for scikit-learn.
_STATES = {SavedNetwork: "GCNClassifier", GPModel: "SpectralGPClassifier"}
_KEY = "lowrankgcn"  # key of the JSON document in the safetensors metadata
_DTYPES = "BOOL I8 I16 I32 I64 U8 U16 U32 U64 F16 F32 F64".split()
_LONGEST_DOCUMENT = 50_000_000  # safetensors reads headers of up to 10⁸ bytes, quotes escaped
_LONGEST_TEXT = 500


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
@dataclass(frozen=True, eq=False)
class SavedClassifier:
    """A fitted classifier as a file keeps it; attributes without their underscore."""

    parameters: dict[str, Any]
    classes: NDArray[Any]
    kind: Kind
    n_features_in: int
    feature_names_in: tuple[str, ...] | None
    timings: dict[str, float]
    description: dict[str, Any]
    label_distributions: NDArray[np.float64] | None
    state: GPModel | SavedNetwork

    def __post_init__(self) -> None:
        expect_shape(self.classes, "classes", None)
        try:
            distinct = read_labels(self.classes).n_classes
        except ValueError as error:
            raise invalid("classes_", "texts or finite numbers, to be saved", error) from None
        if distinct < len(self.classes):
            raise invalid("classes_", "distinct classes", repr(self.classes.tolist())[:100])
        count, names = positive_int(self.n_features_in, "n_features_in"), self.feature_names_in
        if names is not None and len(names) != count:
            raise invalid("feature_names_in", f"{count} texts", repr(names)[:100])
        for seconds in self.timings.values():
            positive_float(seconds, "timings", zero=True)
        if self.state.n_classes not in (None, len(self.classes)):
            raise invalid("state", f"{len(self.classes)} classes", self.state.n_classes)
        if isinstance(self.state, SavedNetwork):
            self.state.check_rows(self.label_distributions)
        if (shares := self.label_distributions) is not None:
            expect_shape(shares, "label_distributions", None, len(self.classes))
            if shares.min(initial=0.0) < 0 or (np.abs(shares.sum(axis=1) - 1.0) > 1e-6).any():
                raise invalid("label_distributions", "distributions", "other numbers")

    def distributions(self, X: pd.DataFrame) -> NDArray[np.float64]:
        """Compute the class distributions of a table like the fitted one, shape (q, C)."""
        return self.state.distributions(self._rows(X))

    def prediction_sets(
        self,
        X: pd.DataFrame,
        level: float = 0.9,
        *,
        distributions: NDArray[np.float64] | None = None,
    ) -> NDArray[np.bool_]:
        """Return sets of classes as :meth:`SpectralGPClassifier.prediction_sets`, shape (q, C).

        Distributions that are already known are not computed again.
        """
        if not isinstance(self.state, GPModel):
            raise invalid("level", "no level, because networks have no prediction sets", level)
        known = self.distributions(X) if distributions is None else distributions
        return self.state.prediction_sets(known, level)

    def unsure(self, X: pd.DataFrame, level: float = 0.95) -> NDArray[np.bool_] | None:
        """Return which rows fit no labelled class, shape (q,); None for networks."""
        return self.distributions_and_unsure(X, level)[1]

    def distributions_and_unsure(
        self, X: pd.DataFrame, level: float = 0.95
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_] | None]:
        """Return both, reading the rows once."""
        if not isinstance(self.state, GPModel):
            return self.distributions(X), None
        distributions, measures = self.state.classify(self._rows(X))
        return distributions, self.state.unsure(measures, level)

    def _rows(self, X: pd.DataFrame) -> Any:
        names, count = self.feature_names_in, self.n_features_in
        if X.shape[1] != count or (names is not None and tuple(X.columns) != names):
            got = ", ".join(map(str, X.columns))[:_LONGEST_TEXT]
            raise invalid("X", f"the columns {', '.join(names or ())}"[:_LONGEST_TEXT], got)
        return table_rows(X, self.kind)

    def restored(self) -> Any:
        """Make the classifier."""
        name = _STATES[type(self.state)]
        try:
            classifier = getattr(estimators, name)(**self.parameters)
        except TypeError as error:
            raise invalid("parameters", f"those of {name}", error) from None
        classifier.classes_, classifier.n_features_in_ = self.classes, self.n_features_in
        if self.feature_names_in is not None:
            classifier.feature_names_in_ = np.array(self.feature_names_in, dtype=object)
        if (shares := self.label_distributions) is not None:
            classifier.label_distributions_ = shares
            classifier.transduction_ = self.classes[shares.argmax(axis=1)]
        classifier.timings_, classifier.description_ = self.timings, self.description
        classifier._kind = self.kind
        classifier._restore(self.state)
        return classifier


def save(
    classifier: SemiSupervisedClassifier,
    path: str | os.PathLike[str],
    *,
    fitted_rows: bool = True,
    description: Mapping[str, Any] | None = None,
) -> None:
    """Write a fitted classifier into one safetensors file.

    Parameters
    ----------
    classifier : SpectralGPClassifier or GCNClassifier
        Fitted.
    path : str or path
        File to write. An existing file is replaced atomically.
    fitted_rows : bool
        Whether to save results of the rows given to fit, such as ``label_distributions_`` and
        ``transduction_``. Lazy results of a Dask collection are never saved.
    description : mapping, optional
        JSON values to save with the classifier, such as the source of the rows; loaded as
        ``description_``. The default is the description of a loaded classifier.

    Raises
    ------
    ValueError
        If `classifier` is not a fitted classifier of this library, has classes other than numbers
        and texts, or cannot predict new rows and `fitted_rows` is False; or if `description` is not
        JSON.
    OSError
        If the file cannot be written; an existing file is left unchanged.

    See Also
    --------
    load : Reads the file.

    Notes
    -----
    The file holds O(m R) numbers for m hyperedges or landmarks and R extended vectors. Graphs of
    neighbours and Gaussian graphs without landmarks need all fitted points, which are then in the
    file even without `fitted_rows`. Explanations of a `SpectralGPClassifier` need 32 fitted rows.

    Graphs, Laplacians, eigenpairs and torch modules are not saved. Parameters are saved, except for
    graph objects, functions and random generators; these are loaded as ``NotSaved`` with their
    printed form, which ``fit`` rejects.

    Examples
    --------
    >>> import lowrankgcn as lg
    >>> lg.save(lg.GCNClassifier(), "model.safetensors")
    Traceback (most recent call last):
        ...
    sklearn.exceptions.NotFittedError: This GCNClassifier instance is not fitted yet...
    """
    kind = type(classifier)
    if kind not in (getattr(estimators, name) for name in _STATES.values()):
        expected = f"a fitted {' or '.join(_STATES.values())}"
        raise invalid("classifier", expected, kind.__name__)
    from sklearn.utils.validation import check_is_fitted

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


def load(path: str | os.PathLike[str]) -> Any:
    """Load a classifier written by :func:`save`, without running code from the file.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    SpectralGPClassifier or GCNClassifier
        With ``classes_``, ``n_features_in_``, ``feature_names_in_`` if there were names,
        ``timings_``, ``description_``, and what `fitted_rows` kept. Its predictions equal those of
        the saved classifier.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is damaged, incomplete, not a classifier, or of an earlier or later format; the
        message names the file and what is wrong.

    See Also
    --------
    save : Writes the file.

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
    found = read_model(path)
    with _loading(path):
        return found.restored()


def read_model(path: str | os.PathLike[str]) -> SavedClassifier:
    """Read what a file keeps of a classifier; like :func:`load`, but without scikit-learn."""
    with open(path, "rb"):  # the usual errors for what is missing, a folder or not readable
        pass
    with _loading(path):
        arrays, document = _read(path)
        contents = _contents(arrays, document)
        found: SavedClassifier = decode(arrays, contents, SavedClassifier)
        return found


@contextmanager
def _loading(path: str | os.PathLike[str]) -> Iterator[None]:
    """Report all that is wrong with a file in one ValueError that names it."""
    try:
        yield
    except (SafetensorError, ValueError, RecursionError, OverflowError, OSError) as error:
        foreign = isinstance(error, SafetensorError)
        found = f"not a saved classifier, or a damaged one ({error})" if foreign else error
        raise ValueError(f"{os.fspath(path)}: cannot be loaded: {found}") from error


def _read(path: str | os.PathLike[str]) -> tuple[Arrays, Any]:
    """Return all arrays of a safetensors file, and its JSON document."""
    with safe_open(path, framework="numpy") as file:
        metadata = file.metadata() or {}
        if _KEY not in metadata:
            raise invalid("file", "a saved classifier", "a safetensors file of something else")
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
    if version < FORMAT_VERSION:
        expected = f"{FORMAT_VERSION}; fit and save the classifier again"
        raise invalid("format_version", expected, f"{version}, of an earlier release")
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
    classifier: SemiSupervisedClassifier, fitted_rows: bool, description: Mapping[str, Any] | None
) -> SavedClassifier:
    """Collect what a file keeps of a classifier."""
    given = vars(classifier)
    if description is None:
        description = given.get("description_", {})
    try:
        described = json.loads(json.dumps(dict(description), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise invalid("description", "values that JSON supports", error) from None
    names = given.get("feature_names_in_")
    return SavedClassifier(
        parameters=_savable(classifier.get_params(deep=False)),
        classes=classifier.classes_,
        kind=classifier._kind,
        n_features_in=given["n_features_in_"],
        feature_names_in=None if names is None else tuple(map(str, names)),
        timings=given["timings_"],
        description=described,
        label_distributions=given.get("label_distributions_") if fitted_rows else None,
        state=classifier._saved_state(fitted_rows),
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
