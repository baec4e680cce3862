"""Reports as self-contained HTML pages, rendered by Jinja2 from ``templates/``.

Templates escape all values but those marked as HTML.

>>> class_name("<b>")
Markup('<bdi>&lt;b&gt;</bdi>')
"""

from __future__ import annotations

import base64
import hashlib
import platform
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

import lowrankgcn
from lowrankgcn import _format
from lowrankgcn._format import shorten
from lowrankgcn.plotting.svg import class_key, svg


def class_name(text: str, longest: int = 40) -> Markup:
    """Return a name or cell from the data, shortened; its writing direction stays inside."""
    return Markup("<bdi>{}</bdi>").format(shorten(text, longest) or "(empty)")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("lowrankgcn.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {name: getattr(_format, name) for name in _format.__all__}
    environment.filters |= {"name": class_name, "sha256": _digest}
    environment.globals |= {"svg": svg, "class_key": class_key, "versions": versions(), "zip": zip}
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "ensure_ascii": False}
    return environment


def render_page(template: str, **values: Any) -> str:
    """Render a template of this package: a complete HTML document."""
    return _environment().get_template(template).render(values)


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def versions() -> tuple[str, ...]:
    """Return the versions of Python and of the packages that affect results."""
    texts = [f"lowrankgcn {lowrankgcn.__version__}", f"Python {platform.python_version()}"]
    for name in ("numpy", "scipy", "scikit-learn", "faiss-cpu", "finufft", "torch"):
        with suppress(PackageNotFoundError):  # torch is optional
            texts.append(f"{name} {version(name)}")
    return tuple(texts)
