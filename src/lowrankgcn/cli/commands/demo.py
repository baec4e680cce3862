"""``lowrankgcn demo``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lowrankgcn.cli.app import app
from lowrankgcn.cli.options import AsJson, Quiet, Seed

__all__ = ["demo"]

_EXAMPLES = """Examples:

lowrankgcn demo

lowrankgcn demo --out tour --seed 1
"""


@app.command(epilog=_EXAMPLES)
def demo(
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="DIR", readable=False, help="Folder for the report."),
    ] = Path("demo-output"),
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Take a tour on an embedded table and an embedded point cloud.

    Builds the graph of each, computes eigenpairs of its Laplacian with their residuals, filters and
    low-rank kernels, shows how far the few eigenpairs tell the classes apart, and writes
    **DIR/report.html**, a page with figures that needs no network.
    """
    from lowrankgcn.cli.demo import run

    run(out, seed=seed, as_json=as_json, quiet=quiet)
