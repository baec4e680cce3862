"""What the times were measured on.

>>> "Python" in machine()
True
"""

from __future__ import annotations

import os
import platform
import re
from importlib.metadata import version
from pathlib import Path

from lowrankgcn._parallel import available_threads

__all__ = ["load", "machine"]


def load() -> str:
    """How busy the machine has been in the last minutes, where the system tells."""
    if not hasattr(os, "getloadavg"):
        return ""
    return f"; load average {os.getloadavg()[2]:.1f} when this was written"


def machine() -> str:
    """Processor, cores and versions, in a line."""
    name = platform.processor() or platform.machine()
    described = Path("/proc/cpuinfo")
    if described.is_file():
        found = re.search(r"^model name\s*:\s*(.+)$", described.read_text(), re.MULTILINE)
        name = found[1].strip() if found else name
    cores = available_threads()
    packages = ", ".join(f"{package} {version(package)}" for package in ("numpy", "torch"))
    unit = "core" if cores == 1 else "cores"
    return f"{name}, {cores} {unit}; Python {platform.python_version()}, {packages}"
