"""Run one benchmark by its name.

    python -m benchmarks NAME [OPTION ...]

Without a name, print the first line of the documentation of each one.
"""

from __future__ import annotations

import ast
import runpy
import sys
from pathlib import Path

NOT_RUN = {"__init__", "__main__", "peers", "setup_time", "training_peers", "training_time"}


def titles() -> dict[str, str]:
    """Return the first line of the documentation of every benchmark, by its name."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    lines = {file.stem: ast.get_docstring(ast.parse(file.read_text())) or "" for file in files}
    return {
        name.replace("_", "-"): text.splitlines()[0]
        for name, text in lines.items()
        if name not in NOT_RUN
    }


def main() -> None:
    """Run the benchmark named by the first argument with the other arguments."""
    known, arguments = titles(), sys.argv[1:]
    if not arguments or arguments[0] not in known:
        width = max(map(len, known))
        print("\n".join(f"{name.ljust(width)}  {title}" for name, title in known.items()))
        sys.exit(f"unknown benchmark {arguments[0]!r}; choose one of these" if arguments else 0)
    module = "benchmarks." + arguments[0].replace("-", "_")
    sys.argv = [f"python -m benchmarks {arguments[0]}", *arguments[1:]]
    runpy.run_module(module, run_name="__main__")


if __name__ == "__main__":
    main()
