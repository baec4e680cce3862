"""Files with changed bytes: a table, or a clear error."""

from __future__ import annotations

import random
from pathlib import Path

import pandas as pd
import pyarrow.feather

from lowrankgcn.files import read_file, write_file
from tests.support.each import each

ENDINGS = [
    *(".csv .tsv .jsonl .json .parquet .feather .arrow .xlsx".split()),
    *(".csv.gz .csv.bz2 .csv.zst .csv.xz".split()),
]
N = 200


def original(path: Path) -> bytes:
    """The bytes of a table with texts, numbers, dates and missing cells."""
    n = 30
    frame = pd.DataFrame(
        {
            "text": [None if k % 7 == 0 else f"wört {k % 5}" for k in range(n)],
            "count": range(n),
            "size": [k / 7 for k in range(n)],
            "day": pd.date_range("2024-01-01", periods=n),
            "on": [k % 3 == 0 for k in range(n)],
        }
    )
    if path.suffix == ".arrow":
        pyarrow.feather.write_feather(frame, path, compression="lz4")
    else:
        write_file(frame, path)
    return path.read_bytes()


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Some bytes changed, cut out, repeated or exchanged."""
    changed = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 8])):
        begin = rng.randrange(len(changed))
        end = min(len(changed), begin + rng.choice([1, 4, 30]))
        match rng.randrange(4):
            case 0:
                changed[begin] ^= 1 << rng.randrange(8)
            case 1:
                changed[begin:end] = rng.randbytes(end - begin)
            case 2 if len(changed) > 2 * (end - begin):
                del changed[begin:end]
            case _:
                changed[begin:begin] = changed[begin:end]
    return bytes(changed[: rng.randrange(1, len(changed))] if rng.random() < 0.1 else changed)


@each("ending", ENDINGS)
def test_changed_bytes(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"t{ending}"
    data = original(path)
    rng = random.Random(ending)
    refused = 0
    for _ in range(N):
        path.write_bytes(damaged(data, rng))
        try:
            read_file(path)
        except ValueError as error:
            refused += 1
            message = str(error)
            assert type(error) is ValueError, message
            assert message.startswith(f"{path}: ")
            assert len(message.splitlines()) == 1
    assert refused > N / 20  # JSON and texts survive most changes
    assert refused > N / 2 or not ending.endswith((".gz", ".bz2", ".xz"))


@each("ending", ENDINGS)
def test_all_lengths(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"t{ending}"
    data = original(path)
    for length in sorted({*range(12), *range(12, len(data), 1 + len(data) // 40)}):
        path.write_bytes(data[:length])
        try:
            read_file(path)
        except ValueError as error:
            assert str(error).startswith(f"{path}: ")
