"""A method as data: a name, its settings in words, and one function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from lowrankgcn.experiments.comparison.task import Task

__all__ = ["Classify", "Method"]

Classify = Callable[[Task, NDArray[np.intp], int], NDArray[Any]]


@final
@dataclass(frozen=True)
class Method:
    """A way to classify all rows of a table from few labels.

    Attributes
    ----------
    key : str
        Name for ``--methods``.
    title : str
        Name in tables.
    settings : str
        What it is and how it is set, in one line.
    classify : function of (task, labels, seed)
        Classes of all rows, (n,) integers, from labels (n,) that are −1 where they are not known.
    package : str or None
        Package that has to be there beyond the library's own dependencies.
    install : str or None
        Its name for pip.
    most_rows : int or None
        Rows beyond which it would take more memory or time than a comparison is worth.
    reason : str
        What it would take.
    """

    key: str
    title: str
    settings: str
    classify: Classify
    package: str | None = None
    install: str | None = None
    most_rows: int | None = None
    reason: str = ""

    def missing(self) -> str | None:
        """What has to be installed, None if nothing."""
        if self.package is None or find_spec(self.package) is not None:
            return None
        return f"{self.install} is not installed"

    def obstacle(self, task: Task) -> str | None:
        """Why the method is not run on a table, None if it is."""
        missing = self.missing()
        if missing is None and self.most_rows is not None and task.n_rows > self.most_rows:
            return f"more than {self.most_rows} rows: {self.reason}"
        return missing
