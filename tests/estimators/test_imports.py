"""Torch is imported by networks only."""

from __future__ import annotations

import subprocess
import sys

MODULES = (
    *("base", "labels", "rows", "persistence", "explanation", "dask_dispatch"),
    *("settings", "inputs", "graph_choice", "kernels", "model"),
    *("spectral_gp", "gp_fitting", "gp_model"),
)


def test_torch_is_not_imported_without_networks() -> None:
    lines = [
        "import sys, lowrankgcn as lg, lowrankgcn.estimators",
        "lg.save, lg.load",
        *(f"import lowrankgcn.estimators.{module}" for module in MODULES),
        "assert 'torch' not in sys.modules",
        "lg.GCNClassifier",
        "assert 'torch' in sys.modules",
    ]
    subprocess.run([sys.executable, "-c", "\n".join(lines)], check=True)
