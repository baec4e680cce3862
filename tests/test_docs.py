"""The documentation agrees with the code: public names, examples, file names, links, docstrings."""

from __future__ import annotations

import ast
import builtins
import doctest
import inspect
import pkgutil
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import lowrankgcn as lg

ROOT = Path(__file__).parent.parent
REFERENCE = ROOT / "docs" / "reference" / "index.md"
# Packages whose public names have pages, besides those of lowrankgcn itself.
PACKAGES = ("datasets", "distributed", "estimators", "exceptions", "files", "graphs", "nn")
PACKAGES += ("operators", "plotting", "spectral.filters")

pytestmark = pytest.mark.skipif(
    not REFERENCE.is_file(), reason="the documentation is not part of the package"
)


def documented_objects() -> dict[str, Any]:
    """Return the objects of the reference by name; each has a page."""
    names = re.findall(r"^   ([a-zA-Z][\w.]*)$", REFERENCE.read_text("utf-8"), re.MULTILINE)
    return {name: resolve(f"lowrankgcn.{name}") for name in names}


def resolve(name: str) -> Any:
    """Return the object of a name; functions come before modules of the same name."""
    package, _, attribute = name.rpartition(".")
    module = lg.filters if package == "lowrankgcn.filters" else pkgutil.resolve_name(package)
    return getattr(module, attribute, None) or import_module(name)


def docstrings(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield the docstrings of a module or class and of its public members, or of a function."""
    yield name, inspect.getdoc(value) or ""
    members: Any = vars(value) if inspect.isclass(value) else {}
    if inspect.ismodule(value):
        members = {key: getattr(value, key) for key in getattr(value, "__all__", ())}
    for key, member in members.items():
        if not key.startswith("_"):
            yield f"{name}.{key}", inspect.getdoc(member) or ""


def is_public(value: Any) -> bool:
    """Return whether a value is a class or function; helpers for messages are not documented."""
    helper = inspect.isfunction(value) and value.__module__ == "lowrankgcn.exceptions"
    ours = getattr(value, "__module__", "").startswith("lowrankgcn")
    return ours and (inspect.isclass(value) or inspect.isfunction(value)) and not helper


def undefined_names(docstring: str) -> set[str]:
    """Return the names that the examples of a docstring use without defining them."""
    source = "".join(part.source for part in doctest.DocTestParser().get_examples(docstring))
    nodes = list(ast.walk(ast.parse(source)))
    names = [node for node in nodes if isinstance(node, ast.Name)]
    defined = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
    for node in nodes:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            defined |= {(item.asname or item.name).partition(".")[0] for item in node.names}
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            defined.add(node.name)
        elif isinstance(node, ast.arg):
            defined.add(node.arg)
    return {node.id for node in names} - defined - set(dir(builtins))


def test_every_public_name_has_a_page() -> None:
    pytest.importorskip("dask", reason="Dask is not installed")
    pages = {id(value) for value in documented_objects().values()}
    public = {f"lowrankgcn.{name}": getattr(lg, name) for name in lg.__all__}
    for package in PACKAGES:
        module = import_module(f"lowrankgcn.{package}")
        names = getattr(module, "__all__", vars(module))
        values = {name: getattr(module, name) for name in names}
        public |= {f"{package}.{name}": value for name, value in values.items()}
    classes_and_functions = {name for name, value in public.items() if is_public(value)}
    assert {name for name in classes_and_functions if id(public[name]) not in pages} == set()


def test_every_page_has_examples_that_run_on_their_own() -> None:
    """Doctests run in the namespace of their module; readers start with an empty one."""
    pytest.importorskip("dask", reason="Dask is not installed")
    for name, value in documented_objects().items():
        if inspect.isclass(value) or inspect.isfunction(value):
            text = inspect.cleandoc(value.__doc__ or "")
            assert "\n\nExamples\n--------\n" in text, name
        for member, text in docstrings(name, value):
            assert undefined_names(text) == set(), member


@pytest.mark.parametrize("page", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_files_named_on_a_page_exist(page: str) -> None:
    """Paths start at the project or the package; ``tables/table.py, cells.py`` share a folder."""
    folder = Path()
    for name in re.findall(r"[\w/]+\.py\b", (ROOT / page).read_text()):
        folder = Path(name).parent if "/" in name else folder
        places = (ROOT, ROOT / "src/lowrankgcn", ROOT / "src/lowrankgcn" / folder)
        assert any((place / name).is_file() for place in places), name


def anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of a page, as GitHub and MyST spell them."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ +(.+?) *$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_links_between_files_resolve() -> None:
    """Sphinx checks the pages of the documentation; other files link to them as well."""
    pages = [*ROOT.glob("*.md"), *(ROOT / ".github").rglob("*.md"), *(ROOT / "docs").rglob("*.md")]
    built = ("docs/reference/generated/", "docs/reference/commands/", "docs/auto_gallery/")
    for page in pages:
        text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
        for link in re.findall(r"\]\(<?([^)\s>]+)>?\)", re.sub(r"`[^`\n]*`", "", text)):
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            where = f"{page.relative_to(ROOT)}: {link}"
            if ":" in path or str(target.relative_to(ROOT)).startswith(built):
                continue
            assert target.exists(), where
            assert not anchor or anchor in anchors(target), where


def test_figures_at_the_top_of_the_readme_are_those_of_the_evidence() -> None:
    top = (ROOT / "README.md").read_text("utf-8").partition("\n## ")[0]
    figures = re.findall(r"\b(\d+\.\d) %", top)
    evidence = (ROOT / "docs" / "evidence.md").read_text("utf-8")
    assert len(figures) > 3
    assert [one for one in figures if not re.search(rf"\b{one}\b", evidence)] == []


def test_docstrings_have_no_substitutions() -> None:
    """Outside formulas and code, reStructuredText reads |E| as a substitution."""
    pytest.importorskip("dask", reason="Dask is not installed")
    documented = documented_objects()
    for name, text in (pair for item in documented.items() for pair in docstrings(*item)):
        prose = re.sub(r"``.*?``|`[^`]*`|^\.\. math::.*?(?=^\S)", "", text, flags=re.S | re.M)
        assert not re.search(r"\|[^\s|](?:[^|\n]*[^\s|])?\|", prose), name


def test_dir_lists_the_public_names_only() -> None:
    assert dir(lg) == sorted(lg.__all__)
