"""Predictions as columns of the table.

>>> import numpy as np, pandas as pd
>>> shares = np.array([[0.25, 0.75], [0.9, 0.1]])
>>> predictions = Predictions.from_labels(np.array(["a", "b"]), shares)
>>> frame, notes = predictions.added_to(pd.DataFrame({"size": ["1", "2"]}))
>>> frame.to_dict("list")
{'size': ['1', '2'], 'prediction': ['b', 'a'], 'probability': [0.75, 0.9]}
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain, count
from typing import TYPE_CHECKING, Any, final

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from lowrankgcn._format import empty_text, percent, plural
from lowrankgcn.cli.terminal import Run
from lowrankgcn.tables.cells import lower_boolean

if TYPE_CHECKING:
    from lowrankgcn.estimators.evidence import Evidence

_DIGITS = 6  # decimals of probabilities


@final
@dataclass(frozen=True, eq=False)
class Predictions:
    """The class of each row and its probability.

    Attributes
    ----------
    classes : (C,) array of texts
    shares : (n, C) array
        Class distributions. A row of equal shares has no prediction: no path connects it to a
        labelled row.
    unlabelled : (n,) bool array
        Rows without a given label; labelled rows keep their label.
    codes : (n,) int array
        Class of each row as a position in `classes`, −1 for none.
    probabilities : (n,) array
        Probability of the class of each row, NaN for none.
    type : str or None
        Arrow type of the predictions, that of the target column in Parquet; None for text.
    level : float or None
        Probability with which the sets contain the true class; None without sets.
    sets : (n, C) bool array or None
        Classes that belong to the set of each row.
    unsure : (n,) bool array or None
        Rows that fit no labelled class.
    """

    classes: NDArray[Any]
    shares: NDArray[np.float64]
    unlabelled: NDArray[np.bool_]
    codes: NDArray[np.intp]
    probabilities: NDArray[np.float64]
    type: str | None = None
    level: float | None = None
    sets: Any = None
    unsure: Any = None

    @classmethod
    def from_labels(
        cls, classes: NDArray[Any], shares: Any, labels: Any = None, **attributes: Any
    ) -> Predictions:
        """Make predictions with given labels, texts that are missing in unlabelled rows."""
        texts = np.array([str(name) for name in classes.tolist()], dtype=object)
        known = pd.Index([None] * len(shares) if labels is None else labels, dtype=object)
        labels = pd.Index(texts).get_indexer(known)
        predicted = np.where(np.ptp(shares, axis=1) > 0, shares.argmax(axis=1), -1)
        codes = np.where(labels < 0, predicted, labels)
        of_codes = np.take_along_axis(shares, codes[:, None], axis=1)[:, 0]
        probabilities = np.where(codes >= 0, np.round(of_codes, _DIGITS), np.nan)
        return cls(texts, shares, labels < 0, codes, probabilities, **attributes)

    def at(self, row: int) -> tuple[str | None, float | None]:
        """Return the class of a row and its probability, None without a prediction."""
        if self.codes[row] < 0:
            return None, None
        return str(self.classes[self.codes[row]]), float(self.probabilities[row])

    def _set_texts(self) -> list[str]:
        r"""Return the set of every row, classes with bars between; a labelled row has its label.

        Bars in the name of a class are written as \|.
        """
        patterns, where = np.unique(self.sets, axis=0, return_inverse=True)
        classes = np.array([name.replace("|", r"\|") for name in self.classes], dtype=object)
        names = np.array(["|".join(classes[members]) for members in patterns], dtype=object)
        return list(np.where(self.unlabelled, names[where.reshape(-1)], classes[self.codes]))

    def added_to(
        self, frame: pd.DataFrame, *, each_class: bool = False
    ) -> tuple[pd.DataFrame, list[str]]:
        """Add columns "prediction", "probability" and, on request, sets, "unsure", each class.

        A number is appended to a name that the table has already, with a note.
        """
        values = pa.array(self.classes.tolist(), pa.string())
        if self.type is not None:
            # The model may have other classes than its description: these are texts.
            with suppress(pa.ArrowException, TypeError, ValueError):
                values = values.cast(pa.type_for_alias(self.type))
        classes = pd.array(values.to_pylist(), dtype=pd.ArrowDtype(values.type))
        columns = {
            "prediction": classes.take(self.codes, allow_fill=True),
            "probability": self.probabilities,
        }
        if self.level is not None:
            texts = pd.array(self._set_texts(), dtype=pd.ArrowDtype(pa.string()))
            columns[f"classes_{round(100 * self.level, 6):g}"] = texts
            marked = pa.array(self.unsure & self.unlabelled)
            columns["unsure"] = pd.array(marked, dtype=pd.ArrowDtype(pa.bool_()))
        for name, shares in zip(self.classes, self.shares.T, strict=True) if each_class else ():
            columns[f"probability_{name}"] = np.round(shares, _DIGITS)
        added: dict[str, Any] = {}
        notes = []
        for name, column in columns.items():
            numbered = chain([name], (f"{name}_{number}" for number in count(2)))
            free = next(one for one in numbered if one not in {*frame.columns, *added})
            added[free] = column
            if free != name:
                notes.append(f"the table has a column {name!r}; the new one is {free!r}")
        return pd.concat([frame, pd.DataFrame(added, index=frame.index)], axis=1), notes


@final
class Tally:
    """Counts of predictions, added up over blocks of rows.

    Attributes
    ----------
    classes : (C,) array of texts
    n_rows : int
    n_labelled : int
        Rows with a given label.
    level : float or None
        That of the sets of classes, if there are any.
    right, checked : int
        Rows of :meth:`check` that are predicted correctly, and all of them.
    empty : int
        Rows without a label and without any cell.
    unreadable : Counter
        Cells of each column that are not numbers or dates like the others.
    unknown : Counter
        Cells of each column and value that the model was not fitted to.
    """

    def __init__(self, classes: NDArray[Any]) -> None:
        self.classes = classes
        self.level: float | None = None
        self.n_rows = self.n_labelled = self.right = self.checked = self.empty = 0
        self.unreadable: Counter[Any] = Counter()
        self.unknown: Counter[tuple[str, str]] = Counter()
        self._missing = self._single = self._several = self._unsure = 0
        self._given = np.zeros(len(classes), np.intp)
        self._predicted = np.zeros(len(classes), np.intp)
        self._probability = np.zeros(len(classes))

    def merge(self, other: Tally) -> None:
        """Add the counts of other rows."""
        self.level = other.level
        for name, value in vars(other).items():
            if name not in ("classes", "level"):
                setattr(self, name, getattr(self, name) + value)

    @property
    def unsure(self) -> int | None:
        """Rows without a label that fit no labelled class; None if sets were not asked for."""
        return None if self.level is None else self._unsure

    def add(self, predictions: Predictions) -> None:
        """Count the rows of a block."""
        new, codes = predictions.unlabelled, predictions.codes
        placed, count = new & (codes >= 0), partial(np.bincount, minlength=len(self.classes))
        self.n_rows += len(codes)
        self.n_labelled += int((~new).sum())
        self._missing += int((codes < 0).sum())
        self._given += count(codes[~new])
        self._predicted += count(codes[placed])
        self._probability += count(codes[placed], weights=predictions.probabilities[placed])
        if predictions.level is not None:
            self.level, sizes = predictions.level, predictions.sets[new].sum(axis=1)
            self._single += int((sizes == 1).sum())
            self._several += int((sizes != 1).sum())
            self._unsure += int(predictions.unsure[new].sum())

    def check(self, predictions: Predictions, labels: pd.Series) -> None:
        """Count the rows with one of `labels`, and those among them predicted correctly."""
        classes = np.array([*map(lower_boolean, self.classes), None], dtype=object)
        right = labels.notna() & (labels.map(lower_boolean) == classes[predictions.codes])
        self.checked += int(labels.notna().sum())
        self.right += int(right.sum())

    def notes(self) -> list[str]:
        """Return notes on cells that are missing because they differ from the others.

        Raises
        ------
        ValueError
            If these are most of a column.
        """
        for name, cells in self.unreadable.items():
            if 2 * cells > self.n_rows:
                got = f"others in {cells} of {self.n_rows} rows"
                raise ValueError(
                    f"column {name!r}: expected numbers or dates as at first, got {got}"
                )
        return [
            f"column {name!r}: {plural(cells, 'cell')} that are not numbers or dates like the "
            "others are read as missing"
            for name, cells in self.unreadable.items()
            if cells
        ]

    def warnings(self) -> list[str]:
        """Return a warning on rows without any cell."""
        return [empty_text(self.empty)] if self.empty else []

    def counts(self) -> dict[str, dict[str, Any]]:
        """Count labels and predictions of each class, with the mean probability."""
        means = self._probability / np.maximum(1, self._predicted)
        columns = self._given.tolist(), self._predicted.tolist(), means.tolist()
        return {
            str(name): {
                "given": given,
                "predicted": predicted,
                "mean_probability": mean if predicted else None,
            }
            for name, given, predicted, mean in zip(self.classes, *columns, strict=True)
        }

    def set_facts(self) -> dict[str, str]:
        """Return how many sets have one class, and how many rows fit no class, as a line."""
        if self.level is None:
            return {}
        total = self._single + self._several
        text = f"{self._single} of {total} rows have one class, {self._several} several; "
        text += f"{self._unsure} fit no labelled class (unsure), up to about 5 % are expected"
        return {f"{100 * self.level:.4g} % sets": text}

    def print_summary(
        self,
        run: Run,
        facts: Mapping[str, str],
        document: Mapping[str, Any],
        evidence: Evidence | None = None,
    ) -> None:
        """Print the result of ``classify`` or ``predict``: a few lines, or one JSON document.

        Parameters
        ----------
        run : Run
        facts, document : mappings
            Lines of the text, and entries of the JSON document.
        evidence : Evidence, optional
            Adds the scores of each class.
        """
        counts, missing = self.counts(), self._missing
        scores: dict[str, list[Any]] = {}
        if evidence is not None:
            scores = {**evidence.scores, "recall_interval": evidence.recall_intervals}
        for place, row in enumerate(counts.values()):
            row |= {name: values[place] for name, values in scores.items()}
        if run.as_json:
            results = {"classes": counts, "without_prediction": missing, "notes": run.notes}
            more = {
                "warnings": run.warnings,
                "files": run.files,
                "seconds": run.seconds | {"total": run.total()},
            }
            run.print_json({**document, **results, **more})
            return
        run.print_facts({**facts, **self.set_facts(), "note": run.notes})
        numbers = ["given", "predicted"] if self.n_labelled else ["predicted"]
        header = ["class", *numbers, "mean probability"]
        rows = [
            [name, *(str(row[key]) for key in numbers), percent(row["mean_probability"])]
            for name, row in counts.items()
        ]
        if evidence is not None:
            header += ["recall", "precision"]
            precision = map(percent, evidence.scores["precision"])
            for line, *cells in zip(rows, evidence.recall_texts, precision, strict=True):
                line += cells
        if missing:
            dashes = len(header) - len(numbers) - 1
            rows.append(["none", *"–" * (len(numbers) - 1), str(missing), *"–" * dashes])
        run.console.print()
        run.print_table(header, rows, range(1, 6), show_edge=False)
        run.console.print()
        for name, path in run.files.items():
            run.print_line(f"{name:<12}{path}")
        run.print_times()
