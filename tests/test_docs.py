"""The documentation agrees with the code: public names, file names, docstrings."""

from __future__ import annotations

import inspect
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lowrankgcn as lg

ROOT = Path(__file__).parent.parent
REFERENCE = ROOT / "docs" / "reference.md"
DIRECTIVES = r"^\.\. auto(\w+):: (lowrankgcn[\w.]*)$"


def documented_objects() -> dict[str, Any]:
    """Return the objects of the reference page by name."""
    names = re.findall(DIRECTIVES, REFERENCE.read_text(), re.MULTILINE)
    return {name: pkgutil.resolve_name(name) for _, name in names}


def docstrings(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield the docstrings of a module or class and of its public members, or of a function."""
    yield name, inspect.getdoc(value) or ""
    members: Any = vars(value) if inspect.isclass(value) else {}
    if inspect.ismodule(value):
        members = {key: getattr(value, key) for key in getattr(value, "__all__", ())}
    for key, member in members.items():
        if not key.startswith("_"):
            yield f"{name}.{key}", inspect.getdoc(member) or ""


@pytest.mark.skipif(not REFERENCE.is_file(), reason="the documentation is not part of the package")
def test_the_reference_lists_every_public_name() -> None:
    entries = {name for _, name in re.findall(DIRECTIVES, REFERENCE.read_text(), re.MULTILINE)}
    public = {name: getattr(lg, name) for name in lg.__all__ if name not in lg.exceptions.__all__}
    for name, value in public.items():
        expected = value.__name__ if inspect.ismodule(value) else f"lowrankgcn.{name}"
        assert expected in entries, name


@pytest.mark.skipif(not REFERENCE.is_file(), reason="the documentation is not part of the package")
@pytest.mark.parametrize("page", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_files_named_on_a_page_exist(page: str) -> None:
    """Paths start at the project or the package; ``graphs/table.py, columns.py`` share a folder."""
    folder = Path()
    for name in re.findall(r"[\w/]+\.py\b", (ROOT / page).read_text()):
        folder = Path(name).parent if "/" in name else folder
        places = (ROOT, ROOT / "src/lowrankgcn", ROOT / "src/lowrankgcn" / folder)
        assert any((place / name).is_file() for place in places), name


@pytest.mark.skipif(not REFERENCE.is_file(), reason="the documentation is not part of the package")
def test_docstrings_have_no_substitutions() -> None:
    """Outside formulas and code, reStructuredText reads |E| as a substitution."""
    pytest.importorskip("dask", reason="Dask is not installed")
    documented = documented_objects()
    for name, text in (pair for item in documented.items() for pair in docstrings(*item)):
        prose = re.sub(r"``.*?``|`[^`]*`|^\.\. math::.*?(?=^\S)", "", text, flags=re.S | re.M)
        assert not re.search(r"\|[^\s|](?:[^|\n]*[^\s|])?\|", prose), name


def test_dir_lists_the_public_names_only() -> None:
    assert dir(lg) == sorted(lg.__all__)
