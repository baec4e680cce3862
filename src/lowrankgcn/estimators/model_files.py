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
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_bytes

from lowrankgcn import __version__, estimators
from lowrankgcn._atomic import write_bytes
from lowrankgcn._codec import decode, encode, saved
from lowrankgcn._validation import choice, invalid
from lowrankgcn.estimators.class_labels import read_labels
from lowrankgcn.estimators.gcn_model import GCNModel
from lowrankgcn.estimators.gp_model import GPModel
from lowrankgcn.estimators.rows import Fit
from lowrankgcn.operators import FloatArray
from lowrankgcn.tables import Table
from lowrankgcn.tables.column_choice import Columns

if TYPE_CHECKING:
    from lowrankgcn.estimators.semi_supervised import SemiSupervisedClassifier

FORMAT_VERSION = 8

_CLASSIFIERS = ("GCNClassifier", "SpectralGPClassifier")
_KEY = "lowrankgcn"  # in the safetensors metadata: version, release and checksum, then JSON
_LONGEST_DOCUMENT = 50_000_000  # safetensors reads headers of up to 10⁸ bytes, quotes escaped
_LONGEST_TEXT = 500
_RANKED_COLUMNS = 30  # up to which their importance is always in the file
_EARLIER = (
    "an earlier release, whose models cannot be converted; fit the classifier again and save it, "
    "or predict with lowrankgcn 0.2"
)


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
@dataclass(frozen=True, eq=False, kw_only=True)
class SavedClassifier(Fit):
    """A fitted classifier as a file keeps it.

    Attributes
    ----------
    name : str
        Class of the classifier.
    parameters : dict
    description : dict
    """

    name: str
    parameters: dict[str, Any]
    description: dict[str, Any]
    model: GPModel | GCNModel | None

    def classify(
        self, X: Any, level: float | None = None
    ) -> tuple[FloatArray, NDArray[np.bool_] | None, NDArray[np.bool_] | None]:
        """Classify a table like the fitted one.

        Returns
        -------
        distributions : (q, C) array
        sets : (q, C) bool array or None
            As :meth:`SpectralGPClassifier.prediction_sets`; None without a `level`.
        unsure : (q,) bool array or None
            As :meth:`SpectralGPClassifier.unsure`; None without a `level`.
        """
        self.check_new_rows()
        names, model = self.feature_names_in, self.model
        table = Table.read(X, "X")
        fits = len(table.names) == self.n_features_in and names in (None, table.names)
        if self.columns is None and not fits:
            got = ", ".join(map(str, table.names))[:_LONGEST_TEXT]
            raise invalid("X", f"the columns {', '.join(names or ())}"[:_LONGEST_TEXT], got)
        rows = table if self.kind in ("table", "nodes") else table.as_matrix()
        assert model is not None
        if level is None:
            return model.distributions(rows), None, None
        if not isinstance(model, GPModel):
            raise invalid("level", "no level, because networks have no prediction sets", level)
        distributions, measures = model.distributions_and_novelty(rows)
        return distributions, model.prediction_sets(distributions, level), model.unsure(measures)

    def restored(self) -> Any:
        """Make the classifier."""
        # A file can name nothing else of this package.
        classifier = getattr(estimators, choice(self.name, "name", _CLASSIFIERS))(**self.parameters)
        classifier.description_ = self.description
        classifier._restore(self)
        return classifier


def predictor(classifier: Any) -> SavedClassifier:
    """Return what classifies new rows of a fitted classifier."""
    fit = classifier._fit.savable(fitted_rows=False)
    return SavedClassifier(**vars(fit), name="", parameters={}, description={})


def renumber(classifier: Any, numbers: NDArray[np.integer[Any]]) -> None:
    """Set the numbers, counted from 0, of the rows given to fit, which explanations name."""
    model = classifier._model
    if isinstance(model, GPModel):
        model = replace(model, labelled=numbers[model.labelled].astype(np.int64))
        classifier._restore(replace(classifier._fit, model=model))


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
        JSON values and :class:`files.Columns` to save with the classifier, such as the source of
        the rows; loaded as ``description_``. The default is the description of a loaded classifier.

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
    file even without `fitted_rows`. So are graph and features of all nodes, for features on a
    graph. Explanations of a `SpectralGPClassifier` need 32 fitted rows.

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
    if type(classifier) not in (getattr(estimators, name) for name in _CLASSIFIERS):
        expected = f"a fitted {' or '.join(_CLASSIFIERS)}"
        raise invalid("classifier", expected, type(classifier).__name__)
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(classifier, "classes_")
    # Lazy results of a Dask collection are not computed.
    fitted_rows &= not hasattr(getattr(classifier, "label_distributions_", None), "dask")
    maps: Any = getattr(classifier._model, "maps", None)
    in_memory = isinstance(getattr(classifier, "label_distributions_", None), np.ndarray)
    of_columns = maps is not None and maps.nodes is None and maps.features is not None
    if in_memory and of_columns and hasattr(classifier, "_prepared"):
        if not classifier._fit.fitted_only and len(maps.features.used) <= _RANKED_COLUMNS:
            classifier.column_importance()  # the fit keeps it
    fit = classifier._fit.savable(fitted_rows=fitted_rows)
    if fit.fitted_only and not fitted_rows:
        raise invalid("fitted_rows", "True, because new rows cannot be classified", False)
    if description is None:
        description = getattr(classifier, "description_", {})
    try:
        columns = {k: value for k, value in dict(description).items() if isinstance(value, Columns)}
        others = {k: value for k, value in description.items() if k not in columns}
        described = json.loads(json.dumps(others, allow_nan=False)) | columns
    except (TypeError, ValueError) as error:
        raise invalid("description", "values that JSON supports", error) from None
    try:
        read_labels(classifier.classes_)
    except ValueError as error:
        raise invalid("classes_", "texts or finite numbers, to be saved", error) from None
    snapshot = {
        **vars(fit),
        "name": type(classifier).__name__,
        "parameters": _savable(classifier.get_params(deep=False)),
        "description": described,
    }
    arrays, contents = encode(SavedClassifier(**snapshot))
    document = json.dumps(contents, allow_nan=False)
    if len(document) > _LONGEST_DOCUMENT:
        raise invalid("classifier", "fewer distinct values", f"{len(document)} characters of them")
    head = f"{FORMAT_VERSION} {__version__} {_digest(arrays, document)}"
    write_bytes(path, to_bytes(arrays, {_KEY: f"{head}\n{document}"}))


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
    return read_model(path).restored()


def read_model(path: str | os.PathLike[str]) -> SavedClassifier:
    """Read what a file keeps of a classifier; like :func:`load`, but without scikit-learn."""
    with open(path, "rb"):  # the usual errors for what is missing, a folder or not readable
        pass
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            if _KEY not in metadata:
                raise invalid("file", "a saved classifier", "a safetensors file of something else")
            head, _, document = metadata[_KEY].partition("\n")
            version, *rest = head.split(" ")
            if version != str(FORMAT_VERSION):
                newer = version.isdecimal() and int(version) > FORMAT_VERSION and rest
                advice = f"lowrankgcn {rest[0]}; install a newer release" if newer else _EARLIER
                raise ValueError(f"the file was written by {advice}")
            arrays = {name: np.array(file.get_tensor(name), order="C") for name in file.keys()}
        if rest[-1:] != [_digest(arrays, document)]:
            raise ValueError("the file is damaged: its checksum does not match")
        classifier: SavedClassifier = decode(arrays, json.loads(document), SavedClassifier)
        return classifier
    except (SafetensorError, ValueError, TypeError, OSError) as error:
        foreign = isinstance(error, SafetensorError | TypeError)
        reason = f"not a saved classifier, or a damaged one ({error})" if foreign else error
        raise ValueError(f"{os.fspath(path)}: cannot be loaded: {reason}") from error


def _digest(arrays: Mapping[str, NDArray[Any]], document: str) -> str:
    """Return the SHA-256 of all that is read, independent of how the file arranges it."""
    digest = hashlib.sha256(document.encode("utf-8", "surrogatepass"))
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(json.dumps([name, array.dtype.name, array.shape]).encode("ascii"))
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


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
