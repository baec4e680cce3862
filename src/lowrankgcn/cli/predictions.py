"""Predictions as columns of the table.

>>> import numpy as np, pandas as pd
>>> shares = np.array([[0.25, 0.75], [0.9, 0.1]])
>>> predictions = Predictions.from_labels(np.array(["a", "b"]), shares)
>>> predictions.added_to(pd.DataFrame({"size": ["1", "2"]})).to_dict("list")
{'size': ['1', '2'], 'prediction': ['b', 'a'], 'probability': [0.75, 0.9]}
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import chain, count
from typing import Any, final

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from lowrankgcn.tables.texts import lower_booleans

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
    label_codes : (n,) int array
        Labels as positions in `classes`, −1 for none; labelled rows keep their label.
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
    label_codes: NDArray[np.intp]
    type: str | None = None
    level: float | None = None
    sets: NDArray[np.bool_] | None = None
    unsure: NDArray[np.bool_] | None = None

    @classmethod
    def from_labels(
        cls,
        classes: NDArray[Any],
        shares: Any,
        labels: pd.Series | None = None,
        type: str | None = None,
    ) -> Predictions:
        """Make predictions with given labels, texts that are missing in unlabelled rows."""
        texts = np.array([str(name) for name in classes.tolist()], dtype=object)
        known = [None] * len(shares) if labels is None else labels
        return cls(texts, shares, pd.Index(texts).get_indexer(pd.Index(known, dtype=object)), type)

    @cached_property
    def codes(self) -> NDArray[np.intp]:
        """Class of each row, −1 for none, shape (n,)."""
        predicted = np.where(np.ptp(self.shares, axis=1) > 0, self.shares.argmax(axis=1), -1)
        return np.where(self.unlabelled, predicted, self.label_codes)

    @cached_property
    def probabilities(self) -> NDArray[np.float64]:
        """Probability of the class of each row, NaN for none, shape (n,)."""
        shares = np.take_along_axis(self.shares, self.codes[:, None], axis=1)[:, 0]
        return np.where(self.codes >= 0, np.round(shares, _DIGITS), np.nan)

    @property
    def unlabelled(self) -> NDArray[np.bool_]:
        """Mask of the rows without a given label, shape (n,)."""
        return self.label_codes < 0

    def at(self, row: int) -> tuple[str | None, float | None]:
        """Return the class of a row and its probability, None without a prediction."""
        if self.codes[row] < 0:
            return None, None
        return str(self.classes[self.codes[row]]), float(self.probabilities[row])

    @property
    def set_texts(self) -> Any:
        r"""Set of every row: "unsure", or its classes with bars between; labelled rows are sure.

        Bars in the name of a class are written as \|.
        """
        assert self.sets is not None and self.unsure is not None
        patterns, where = np.unique(self.sets, axis=0, return_inverse=True)
        classes = np.array([name.replace("|", r"\|") for name in self.classes], dtype=object)
        names = ["|".join(classes[members]) for members in patterns]
        unsure = "unsure" if "unsure" not in names else "unsure (no class)"
        sets = np.array([*names, unsure], dtype=object)
        sets = sets[np.where(self.unsure, len(names), where.reshape(-1))]
        return np.where(self.unlabelled, sets, classes[self.label_codes]).tolist()

    @property
    def n_missing(self) -> int:
        """Number of rows without a prediction."""
        return int((self.codes < 0).sum())

    def counts(self) -> dict[str, dict[str, Any]]:
        """Count labels and predictions of each class, with the mean probability."""
        counts: dict[str, dict[str, Any]] = {}
        for position, name in enumerate(self.classes):
            predicted = (self.codes == position) & self.unlabelled
            n_given, n_predicted = (self.label_codes == position).sum(), predicted.sum()
            mean = float(self.probabilities[predicted].mean()) if n_predicted else None
            counts[str(name)] = {"given": int(n_given), "predicted": int(n_predicted)}
            counts[str(name)]["mean_probability"] = mean
        return counts

    def agreement(self, labels: pd.Series) -> dict[str, int] | None:
        """Count the rows with one of `labels`, and those among them predicted correctly."""
        if labels.isna().all():
            return None
        predicted = lower_booleans([*self.classes, None])[self.codes]
        right = labels.notna() & (lower_booleans(labels) == predicted)
        return {"right": int(right.sum()), "rows": int(labels.notna().sum())}

    def names(self, columns: Any, *, each_class: bool = False) -> dict[str, str]:
        """Return names of the new columns, with a number appended if the table has the name."""
        wanted = ["prediction", "probability"]
        wanted += [self._set_name] if self.level is not None else []
        wanted += [f"probability_{name}" for name in self.classes if each_class]
        names: dict[str, str] = {}
        for name in wanted:
            numbered = (f"{name}_{number}" for number in count(2))
            taken = {*columns, *names.values()}
            names[name] = next(free for free in chain([name], numbered) if free not in taken)
        return names

    @property
    def _set_name(self) -> str:
        assert self.level is not None
        return f"classes_{round(100 * self.level, 6):g}"

    def set_facts(self) -> dict[str, str]:
        """Return how many sets have one class, and how many rows fit no class, as a line."""
        if self.sets is None or self.unsure is None:
            return {}
        new = self.unlabelled
        unsure, sure = self.unsure[new], self.sets[new].sum(axis=1)[~self.unsure[new]]
        single, total = int((sure == 1).sum()), int(new.sum())
        text = f"{single} of {total} rows have one class, {total - single - int(unsure.sum())} "
        text += f"several, {int(unsure.sum())} fit no labelled class (unsure)"
        return {f"{100 * (self.level or 0):.4g} % sets": text}

    def renamed_notes(self, columns: Any) -> list[str]:
        """Return a note for each new column whose name the table has already."""
        return [
            f"the table has a column {name!r}; the new one is {free!r}"
            for name, free in self.names(columns).items()
            if free != name
        ]

    def added_to(self, frame: pd.DataFrame, *, each_class: bool = False) -> pd.DataFrame:
        """Add columns "prediction", "probability" and, on request, one for each class."""
        names = self.names(frame.columns, each_class=each_class)
        values = pa.array(self.classes.tolist(), pa.string())
        if self.type is not None:
            try:
                values = values.cast(pa.type_for_alias(self.type))
            except (pa.ArrowException, ValueError):
                pass  # the model has other classes than its description: keep texts
        classes = pd.array(values.to_pylist(), dtype=pd.ArrowDtype(values.type))
        added: dict[str, Any] = {
            names["prediction"]: classes.take(self.codes, allow_fill=True),
            names["probability"]: self.probabilities,
        }
        if self.level is not None:
            added[names[self._set_name]] = pd.array(
                self.set_texts, dtype=pd.ArrowDtype(pa.string())
            )
        if each_class:
            for position, name in enumerate(self.classes):
                added[names[f"probability_{name}"]] = np.round(self.shares[:, position], _DIGITS)
        return pd.concat([frame, pd.DataFrame(added, index=frame.index)], axis=1)
