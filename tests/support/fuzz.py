"""Damaged tables, damaged models and killed commands: ``python -m tests.support.fuzz``.

A command given a damaged file exits with code 0 or 2 and never leaves a half-written output. The
test suite runs a few cases; the command line runs as many as asked for.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_iris

from lowrankgcn.cli.app import app
from lowrankgcn.files import read_file

TOKENS = (b'"', b"\0", b",,", b";", b"\t", b"\r", b"\n\n", b"1e999", b"nan", b"-", b"\xff\xfe")
TOKENS += ("\u202e\U0001f33a".encode(), b"9" * 400, b"{", b"]}", b"<script>", b"=1+1")


def flowers() -> pd.DataFrame:
    """Return 60 flowers, 20 of them labelled, with numbers, dates, categories and texts."""
    iris = load_iris(as_frame=True)
    frame = iris.data.iloc[::5, :2].set_axis(["length", "width"], axis=1).reset_index(drop=True)
    frame = pd.concat([frame, frame + 0.01], ignore_index=True)
    rows = np.arange(len(frame))
    kinds = np.tile(iris.target_names[iris.target[::5]], 2).astype(object)
    return frame.assign(
        day=pd.Timestamp("2024-02-27") + pd.to_timedelta(rows % 9, "D"),
        colour=np.array(["red", "blue, dark", 'a "tint"'])[rows % 3],
        words=[f"leaf number {row} is {'green' if row % 2 else 'dry and brown'}" for row in rows],
        kind=np.where(rows % 3 == 0, kinds, None),
    )


def tables() -> dict[str, bytes]:
    """Return one intact file of each format, by ending."""
    frame = flowers()
    found = {"csv": frame.to_csv(index=False).encode()}
    found["tsv"] = frame.to_csv(index=False, sep="\t").encode()
    found["euro.csv"] = frame.to_csv(index=False, sep=";", decimal=",").encode("cp1252")
    found["csv.gz"] = gzip.compress(found["csv"], mtime=0)
    found["jsonl"] = frame.to_json(orient="records", lines=True, date_format="iso").encode()
    for ending, write in {"parquet": frame.to_parquet, "feather": frame.to_feather}.items():
        sink = io.BytesIO()
        write(sink)
        found[ending] = sink.getvalue()
    sink = io.BytesIO()
    frame.to_excel(sink, index=False)
    return found | {"xlsx": sink.getvalue()}


def damaged(data: bytes, chance: random.Random) -> bytes:
    """Change one byte, or change, cut, repeat, move or insert some, once to three times."""
    for _ in range(chance.choice([1, 1, 2, 3])):
        a = chance.randrange(len(data))
        b = min(len(data), a + chance.choice([1, 3, 10, 300]))
        other = bytes(chance.randrange(256) for _ in range(b - a))
        lines = data.split(b"\n")
        chance.shuffle(lines)
        bit = bytes([data[a] ^ 1 << chance.randrange(8)])
        letter = bytes([chance.randrange(32, 127)])
        data = chance.choice(
            [
                data[:a] + bit + data[a + 1 :],
                data[:a] + letter + data[a + 1 :],
                data[:a] + chance.choice(TOKENS) + data[a:],
                data[:a] + other + data[b:],
                data[:a] + data[b:],
                data[:b] + data[a:b] + data[b:],
                data[:a],
                b"\n".join(lines),
            ]
        )
        data = data or b" "
    return data


def run(*arguments: str) -> tuple[int, str, str]:
    """Run a command in this process; return its exit code, output and errors."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            try:
                app(list(arguments), prog_name="lowrankgcn")
                code = 0
            except SystemExit as ended:
                code = int(ended.code or 0)
    return code, out.getvalue(), errors.getvalue()


@contextlib.contextmanager
def checked(folder: Path, out: Path, what: str) -> Iterator[list[tuple[int, str, str]]]:
    """Check the end of a command: appended to the list by the block."""
    before = set(folder.iterdir())
    ended: list[tuple[int, str, str]] = []
    try:
        yield ended
    except Exception as error:  # a traceback for the user
        raise AssertionError(f"{what}: {type(error).__name__}: {error}") from error
    code, _, errors = ended[0]
    assert code in (0, 2), f"{what}: exit code {code}"
    if code == 2:
        lines = [line for line in errors.splitlines() if not line.startswith("warning: ")]
        assert len(lines) == 1 and lines[0].startswith("lowrankgcn: "), f"{what}: {errors}"
        assert set(folder.iterdir()) == before, f"{what}: files are left"
    else:
        assert set(folder.iterdir()) == before | {out}, f"{what}: other files"
        assert len(read_file(out).frame) > 0, what
        out.unlink()


def fuzz_tables(count: int, seed: int, folder: Path) -> Counter[int]:
    """Classify damaged tables; return how often each exit code came."""
    ends: Counter[int] = Counter()
    intact = list(tables().items())
    for number in range(count):
        chance = random.Random(f"{seed}-{number}")
        ending, data = intact[number % len(intact)]
        table, out = folder / f"t.{ending}", folder / f"o.{intact[number % 7][0]}"
        table.write_bytes(damaged(data, chance))
        what = f"table {number} of seed {seed} ({ending})"
        command = "suggest" if number % 5 == 4 else "classify"
        count_of = ("-k", "3") if command == "suggest" else ("--level", "0.8")
        with checked(folder, out, what) as ended:
            ended.append(run(command, str(table), "-t", "kind", "-o", str(out), *count_of))
        ends[ended[0][0]] += 1
        table.unlink()
    return ends


def fuzz_models(count: int, seed: int, folder: Path) -> Counter[int]:
    """Predict with damaged models; every one of them is refused."""
    table, model, out = folder / "t.csv", folder / "f.model", folder / "o.csv"
    table.write_bytes(tables()["csv"])
    assert run("classify", str(table), "-t", "kind", "--save", str(model), "-q")[0] == 0
    intact = model.read_bytes()
    ends: Counter[int] = Counter()
    for number in range(count):
        data = damaged(intact, random.Random(f"{seed}-{number}"))
        if data == intact:
            continue
        model.write_bytes(data)
        what = f"model {number} of seed {seed}"
        with checked(folder, out, what) as ended:
            ended.append(run("predict", str(model), str(table), "-o", str(out)))
        code, _, errors = ended[0]
        assert code == 2 and str(model) in errors, f"{what}: {errors}"
        ends[code] += 1
    return ends


def kill(count: int, seed: int, folder: Path) -> Counter[str]:
    """Kill commands that replace files; each file is the old one or the whole new one."""
    table = folder / "t.csv"
    pd.concat([flowers()] * 50).to_csv(table, index=False)
    outputs = {
        "--out": folder / "o.csv",
        "--report": folder / "r.html",
        "--save": folder / "f.model",
    }
    options = [text for option, path in outputs.items() for text in (option, str(path))]
    command = [sys.executable, "-m", "lowrankgcn", "classify", str(table), "-t", "kind", *options]
    begin = time.monotonic()
    subprocess.run([*command, "-q"], check=True)
    lasts = time.monotonic() - begin
    whole = {path: path.stat().st_size for path in outputs.values()}
    ends: Counter[str] = Counter()
    chance = random.Random(seed)
    for number in range(count):
        for path in outputs.values():
            path.write_text("old")
        # Half of the moments are in the last third, when files are written.
        delay = chance.uniform(0, 1.1) if number % 2 else chance.uniform(0.6, 1.1)
        with subprocess.Popen([*command, "-q"]) as process:
            time.sleep(delay * lasts)
            process.send_signal(signal.SIGKILL)
        ends["killed" if process.returncode < 0 else "complete"] += 1
        for path, size in whole.items():
            old = path.stat().st_size == 3 and path.read_text() == "old"
            # Reports contain times, so that sizes vary a little.
            assert old or abs(path.stat().st_size - size) < 0.05 * size, f"moment {number}: {path}"
            ends[f"{path.name} old" if old else f"{path.name} new"] += 1
    return ends


def main() -> None:
    """Run the cases of all three kinds and print how they ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=2000)
    parser.add_argument("--models", type=int, default=500)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    kinds = {fuzz_tables: given.tables, fuzz_models: given.models, kill: given.kills}
    for kind, count in kinds.items():
        with tempfile.TemporaryDirectory() as folder:
            print(kind.__name__, count, dict(kind(count, given.seed, Path(folder))), flush=True)


if __name__ == "__main__":
    main()
