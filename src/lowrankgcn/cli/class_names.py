"""Classes under several names: spellings that are noticed, and options that merge them.

>>> labels = pd.Series(["Yes", "yes ", "Y", "No", None], dtype=object)
>>> merged_classes(labels, "Yes=Y", ignore_case=True)[0].tolist()
['Yes', 'Yes', 'Yes', 'No', None]
>>> list(spelling_notes(labels))
["classes 'Y', 'Yes', 'yes ' may be one class; --merge-classes 'Yes=Y,yes ' merges them"]
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import pandas as pd

from lowrankgcn._format import plural

_SHORT = {"y": "yes", "n": "no", "t": "true", "f": "false", "m": "male"}
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
        Whether names that differ only by blanks, case or ".0" are one class. It gets the most
        frequent one of them.

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
            known = [one for one in counts.index if one in (text, text.strip())]
            if not known or known[0] in new_name:
                got = f"{text!r} twice" if known else f"{text!r}, which is no class"
                raise ValueError(f"--merge-classes: {_EXPECTED}, got {got}")
            new_name[known[0]] = name.strip()
    if ignore_case:
        renamed = counts.index.map(lambda one: new_name.get(one, one))
        totals = counts.groupby(renamed).sum()
        plain = totals.index.map(plain_class)
        usual = totals.groupby(plain).idxmax()
        new_name = {one: usual[plain_class(new_name.get(one, one))] for one in counts.index}
    changed = {one: name for one, name in new_name.items() if one != name}
    if not changed:
        return labels, []
    n_rows = int(counts[list(changed)].sum())
    pairs = ", ".join(f"{one!r} is {name!r}" for one, name in changed.items())
    return labels.replace(changed), [f"{plural(n_rows, 'label')} renamed: {pairs}"]


def spelling_notes(labels: pd.Series) -> Iterator[str]:
    """Yield notes on classes that may be one class, with the option that merges them."""
    counts = labels.value_counts().sort_index()
    for _, same in counts.groupby(counts.index.map(_unabbreviated)):
        names = same.index.tolist()
        usual = max(names, key=lambda name: (plain_class(name) not in _SHORT, same[name]))
        listed = ", ".join(map(repr, names))
        others = ",".join(name for name in names if name != usual)
        if len({*map(plain_class, names)}) > 1:
            option = f"--merge-classes {shlex.quote(f'{usual}={others}')}"
            yield f"classes {listed} may be one class; {option} merges them"
        elif len(names) > 1:
            advice = "--ignore-case merges them"
            yield f"classes {listed} differ only by blanks, case or zeros; {advice}"


def plain_class(name: str) -> str:
    """Return a class without differences of spelling; "3.0" is 3."""
    text = " ".join(name.split()).casefold()
    return text[:-2] if re.fullmatch(r"-?[0-9]+\.0", text) else text


def _unabbreviated(name: str) -> str:
    return _SHORT.get(plain_class(name), plain_class(name))
