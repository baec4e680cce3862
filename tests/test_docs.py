"""The reference page lists every public name, in docstrings that reStructuredText can read."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import lowrankgcn as lg

REFERENCE = Path(__file__).parent.parent / "docs" / "reference.md"
DIRECTIVES = r"^\.\. auto(\w+):: (lowrankgcn[\w.]*)$"


def public_docstrings() -> Iterator[tuple[str, str]]:
    for name in lg.__all__:
        value = getattr(lg, name)
        yield name, inspect.getdoc(value) or ""
        if inspect.ismodule(value):
            members = {key: getattr(value, key) for key in value.__all__}
        else:
            members = vars(value) if inspect.isclass(value) else {}
        for key, member in members.items():
            if not key.startswith("_"):
                yield f"{name}.{key}", inspect.getdoc(member) or ""


@pytest.mark.skipif(not REFERENCE.is_file(), reason="the documentation is not part of the package")
def test_every_public_name_has_its_entry() -> None:
    entries = {name for _, name in re.findall(DIRECTIVES, REFERENCE.read_text(), re.MULTILINE)}
    public = {name: getattr(lg, name) for name in lg.__all__ if name not in lg.exceptions.__all__}
    for name, value in public.items():
        expected = value.__name__ if inspect.ismodule(value) else f"lowrankgcn.{name}"
        assert expected in entries, name


def test_bars_are_not_taken_for_substitutions() -> None:
    """Outside formulas and code, |E| would be the name of a text to put in its place."""
    for name, text in public_docstrings():
        prose = re.sub(r"``.*?``|`[^`]*`|^\.\. math::.*?(?=^\S)", "", text, flags=re.S | re.M)
        assert not re.search(r"\|[^\s|](?:[^|\n]*[^\s|])?\|", prose), name


def test_dir_lists_the_public_names_only() -> None:
    assert dir(lg) == sorted(lg.__all__)
