"""Count the functions of the library that one use calls.

    python -m benchmarks walk

Each use runs once before it is counted, so that imports and bodies of classes do not count.
Comprehensions and templates are not functions. ``--list`` prints the functions.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import tempfile
import threading
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
import pandas as pd

import lowrankgcn as lg
from lowrankgcn.cli.app import app

ROOT = Path(lg.__file__).parent


def table(n: int = 240) -> pd.DataFrame:
    """Return a table of two numbers, a category and a flag; every sixth row has a class."""
    rng = np.random.default_rng(0)
    kinds = np.arange(n) % 3
    return pd.DataFrame(
        {
            "length": (kinds + rng.normal(size=n)).round(3),
            "width": rng.normal(size=n).round(3),
            "colour": np.array(["red", "green", "blue"])[(kinds + (rng.random(n) < 0.3)) % 3],
            "ripe": np.where((kinds == 1) ^ (rng.random(n) < 0.2), "yes", "no"),
            "fruit": np.where(np.arange(n) % 6 < 3, np.array(["fig", "kiwi", "plum"])[kinds], ""),
        }
    )


def fit_and_predict() -> None:
    """Fit a Gaussian process to a table, and predict rows of it."""
    frame = table()
    features = frame.drop(columns="fruit")
    lg.SpectralGPClassifier(random_state=0).fit(features, frame.fruit).predict(features.head(20))


def classify() -> None:
    """Run the command ``classify`` with a report and a model."""
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        table().to_csv("fruit.csv", index=False)
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            arguments = "classify fruit.csv --target fruit --report page.html --save fruit.model"
            with contextlib.suppress(SystemExit):
                app(arguments.split(), prog_name="lowrankgcn")
            if not Path("page.html").exists():
                raise RuntimeError("classify failed")


def touched(use: Callable[[], None]) -> set[CodeType]:
    """Return the functions of the library that the second run of a use calls, in all threads."""
    codes: set[CodeType] = set()

    def note(frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        comprehension = code.co_name.endswith(("comp>", "genexpr>"))
        if code.co_filename.startswith(str(ROOT)) and not comprehension:
            codes.add(code)

    use()
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        use()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]  # None ends it
    return {code for code in codes if code.co_filename.endswith(".py")}  # no templates


def main() -> None:
    """Count and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks walk", description=__doc__)
    parser.add_argument("--list", action="store_true", help="print the functions")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for use, target in ((fit_and_predict, 280), (classify, 450)):
        codes = touched(use)
        places = {code: Path(code.co_filename).relative_to(ROOT) for code in codes}
        files = len(set(places.values()))
        print(f"{use.__name__}: {len(codes)} functions in {files} files (target {target})")
        rooms = Counter(
            place.parts[0] if len(place.parts) > 1 else "." for place in places.values()
        )
        print("  " + ", ".join(f"{room} {count}" for room, count in rooms.most_common()))
        if options.list:
            for line in sorted(
                f"{places[code]}:{code.co_firstlineno} {code.co_qualname}" for code in codes
            ):
                print("   ", line)


if __name__ == "__main__":
    main()
