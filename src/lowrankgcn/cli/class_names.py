"""Classes under several names, and the options that merge them.

>>> labels = pd.Series(["Yes", "yes ", "Y", "No", None], dtype=object)
>>> merged_classes(labels, "Yes=Y", ignore_case=True)[0].tolist()
['Yes', 'Yes', 'Yes', 'No', None]
>>> merged_classes(labels.replace("No", "yes"), "Yes=Y", ignore_case=True)[0].unique().tolist()
['Yes', None]
"""

from __future__ import annotations

import pandas as pd

from lowrankgcn._format import plural
from lowrankgcn.estimators.label_notes import plain_name

_EXPECTED = "expected names such as 'Yes=yes,Y;No=no,N'"


def merged_classes(
    labels: pd.Series, merge: str | None = None, ignore_case: bool = False
) -> tuple[pd.Series, list[str]]:
    """Merge classes.

    Parameters
    ----------
    labels : Series of texts
        None in unlabelled rows.
    merge : str, optional
        The option ``--merge-classes``: names of classes, each with the names that it replaces.
    ignore_case : bool
        Whether names that differ only by blanks, case or ".0" are one class. It gets the name in
        `merge`, or the most frequent one of them.

    Raises
    ------
    ValueError
        If `merge` is malformed, names a class that does not occur, or a class twice.
    """
    counts = labels.value_counts().sort_index()
    new_name: dict[str, str] = {}
    for part in filter(str.strip, (merge or "").split(";")):
        name, equals, texts = part.partition("=")
        if not equals or not name.strip():
            raise ValueError(f"--merge-classes: {_EXPECTED}, got {part!r}")
        for text in texts.split(","):
            known = [one for one in (text, text.strip()) if one in counts.index]
            if not known or known[0] in new_name:
                got = f"{text!r} twice" if known else f"{text!r}, which is no class"
                raise ValueError(f"--merge-classes: {_EXPECTED}, got {got}")
            new_name[known[0]] = name.strip()
    if ignore_case:
        renamed = counts.index.map(lambda one: new_name.get(one, one))
        totals = counts.groupby(renamed).sum()
        plain = totals.index.map(plain_name)
        usual = totals.groupby(plain).idxmax()
        usual = {**usual, **{plain_name(name): name for name in new_name.values()}}
        new_name = {one: usual[plain_name(new_name.get(one, one))] for one in counts.index}
    changed = {one: name for one, name in new_name.items() if one != name}
    if not changed:
        return labels, []
    n_rows = int(counts[list(changed)].sum())
    pairs = ", ".join(f"{one!r} is {name!r}" for one, name in changed.items())
    return labels.replace(changed), [f"{plural(n_rows, 'label')} renamed: {pairs}"]
