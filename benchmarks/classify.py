"""Time and memory of whole commands.

    python -m benchmarks classify KIND ROWS

KIND is "num" (16 numbers), "cat" (21 categories) or "mix" (10 numbers and 6 categories). Writes a
CSV file with 40 labels, classifies it by ``lowrankgcn classify --out --save``, and prints one JSON
object: elapsed and processor seconds, peak memory of the command in MB, size of the model in MB and
the share of correct predictions. "pandas" and "Arrow" are the times of plain reading and writing of
the file. Linux only.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.growth import table
from benchmarks.numeric import clusters

LABELLED = 40
_PLAIN = {
    "pandas": "import pandas as p; p.read_csv({0!r}).to_csv({1!r}, index=False)",
    "Arrow": "from pyarrow import csv; csv.write_csv(csv.read_csv({0!r}), {1!r})",
}
_MEASURE = """
import json, os, subprocess, sys, time
begin = time.perf_counter()
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, used = os.wait4(process.pid, 0)
seconds = time.perf_counter() - begin
if status:
    sys.exit("command failed")
print(json.dumps({
    "seconds": round(seconds, 1),
    "processor seconds": round(used.ru_utime + used.ru_stime, 1),
    "peak MB": round(used.ru_maxrss * 1024 / 1e6),
}))
"""


def rows(kind: str, n: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the columns and the class of each row."""
    if kind == "cat":
        return table(n)
    X, hidden, _ = clusters(n)
    frame = pd.DataFrame(X.round(4), columns=[f"n{j:02d}" for j in range(X.shape[1])])
    if kind == "mix":
        for name in frame.columns[10:]:
            cells = np.clip(np.round(frame[name]), -2, 3).astype(int)
            frame[name] = pd.Categorical.from_codes(cells + 2, list("abcdef"))
    return frame, hidden


def run(command: list[str]) -> dict[str, float]:
    """Run a command; return its elapsed and processor seconds, and its peak memory.

    Linux begins the peak of a child at the peak of the process that starts it, so that a small
    process between this one, which holds the table, and the command measures the command.
    """
    ran = subprocess.run([sys.executable, "-c", _MEASURE, *command], stdout=subprocess.PIPE)
    assert ran.returncode == 0, command
    return dict(json.loads(ran.stdout))


def measure(kind: str, n: int, folder: Path) -> dict[str, Any]:
    """Write the table and classify it."""
    frame, hidden = rows(kind, n)
    labels = np.full(n, "", dtype=object)
    known = np.random.default_rng(1).choice(n, LABELLED, replace=False)
    labels[known] = [f"class {code}" for code in hidden[known]]
    source, target, model = (folder / name for name in ("in.csv", "out.csv", "model"))
    frame.assign(kind=labels).to_csv(source, index=False)
    command = [sys.executable, "-m", "lowrankgcn", "classify", str(source), "--target", "kind"]
    command += ["--out", str(target), "--save", str(model), "--quiet"]
    used = run(command)
    predicted = pd.read_csv(target, usecols=["prediction"])["prediction"].to_numpy()
    right = predicted == np.char.add("class ", hidden.astype(str))
    plain = folder / "plain.csv"
    return {
        "kind": kind,
        "rows": n,
        **used,
        "model MB": round(model.stat().st_size / 1e6, 1),
        "accuracy": round(float(np.delete(right, known).mean()), 4),
        **{
            name: run([sys.executable, "-c", code.format(str(source), str(plain))])
            for name, code in _PLAIN.items()
        },
    }


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(measure(sys.argv[1], int(float(sys.argv[2])), Path(folder))))
