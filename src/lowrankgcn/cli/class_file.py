"""Classes that are known before the first label, with descriptions and keys.

>>> read_classes("bill, spam")
{'bill': {}, 'spam': {}}
"""

from __future__ import annotations

from pathlib import Path

from lowrankgcn.exceptions import prefix_errors
from lowrankgcn.files import read_file, read_texts

_FREE_KEYS = "bdgijkmopqtvwxy"  # letters without another meaning in the studio


def read_classes(option: str | None) -> dict[str, dict[str, str]]:
    """Return classes and their "description" and "key", if they have one.

    Parameters
    ----------
    option : str or None
        Names separated by commas, or the name of a table with the column "class".

    Raises
    ------
    ValueError
        If a class is empty or there twice, or a key has another meaning.
    """
    path = Path(option or "")
    if option is None or not path.is_file():
        names = [] if option is None else [name.strip() for name in option.split(",")]
        return _checked("--classes", [(name, None, None) for name in names])
    frame = read_file(path).frame
    with prefix_errors(f"--classes {path.name}"):
        if "class" not in frame.columns:
            raise ValueError(
                f"expected a column 'class', got {', '.join(map(repr, frame.columns))}"
            )
        columns = [
            read_texts(frame, name).tolist() if name in frame.columns else [None] * len(frame)
            for name in ("class", "description", "key")
        ]
    return _checked(f"--classes {path.name}", list(zip(*columns, strict=True)))


def _checked(
    where: str, entries: list[tuple[str | None, str | None, str | None]]
) -> dict[str, dict[str, str]]:
    classes: dict[str, dict[str, str]] = {}
    keys: set[str] = set()
    with prefix_errors(where):
        for name, description, key in entries:
            name = (name or "").strip()
            if not name or name in classes:
                raise ValueError(f"expected different names of classes, got {name!r}")
            if key is not None and (key in keys or len(key) != 1 or key not in _FREE_KEYS):
                raise ValueError(f"expected different keys among {_FREE_KEYS}, got {key!r}")
            keys |= {key} if key is not None else set()
            about = {"description": description, "key": key}
            classes[name] = {what: text for what, text in about.items() if text is not None}
    return classes
