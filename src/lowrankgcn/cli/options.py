"""Options that several commands have, spelled the same in all of them."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["AsJson", "Quiet", "Seed"]

Seed = Annotated[int, typer.Option("--seed", min=0, metavar="N", help="Seed of everything random.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing; write the files only.")]
