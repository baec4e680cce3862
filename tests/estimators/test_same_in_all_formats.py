"""Messy tables give the same predictions as CSV, Excel, Parquet, pandas, polars and Arrow."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import lowrankgcn as lg
from lowrankgcn.cli.labelled_table import read_labelled_table
from lowrankgcn.gp import recipe

N = 48
TRUTH = np.arange(N) % 2
LABELS = np.where(np.arange(N) < 20, np.array(["yes", "no"], object)[TRUTH], None)
RNG = np.random.default_rng(0)
SIZE = TRUTH + RNG.normal(0, 0.3, N).round(3)
DAYS = pd.Timestamp("2024-01-01") + pd.to_timedelta(RNG.integers(0, 90, N) + 60 * TRUTH, "D")


def holes(values: Any, every: int = 7) -> list[Any]:
    """Return values, some of them missing."""
    return [None if k % every == 3 else value for k, value in enumerate(values)]


def texts(pattern: str, values: Any = SIZE) -> list[str]:
    return [pattern.format(value) for value in values]


COLOURS = np.where(RNG.random(N) < 0.8, TRUTH, 1 - TRUTH)
NOTES = [f"{'warm sunny' if t else 'cold rainy'} day of week {k % 9}" for k, t in enumerate(TRUTH)]
#: Tables by what is messy about them.
TABLES: dict[str, dict[str, Any]] = {
    "numbers": {"size": SIZE},
    "integers with holes": {"count": holes((10 * SIZE).astype(int).tolist())},
    "booleans": {"flag": (COLOURS > 0).tolist()},
    "booleans with holes": {"flag": holes((COLOURS > 0).tolist())},
    "booleans as texts": {"flag": np.where(COLOURS > 0, "TRUE", "False").tolist()},
    "dates": {"day": DAYS},
    "dates with holes": {"day": holes(DAYS.tolist())},
    "day first": {"day": DAYS.strftime("%d/%m/%Y").tolist()},
    "names of months": {"day": DAYS.strftime("%b %d, %Y").tolist()},
    "thousands and currency": {"price": texts("${:,.2f}", 5000 * SIZE)},
    "accountants": {
        "price": [f"({-p:,.2f})" if p < 0 else f"{p:,.2f}" for p in 5000 * SIZE - 2000]
    },
    "per cent": {"share": texts("{:.1f} %")},
    "decimal commas": {"size": [f"{one:.3f}".replace(".", ",") for one in SIZE]},
    "missing texts": {"size": ["NA" if k % 5 == 0 else f"{one:.3f}" for k, one in enumerate(SIZE)]},
    "padded": {"size": texts(" {:.2f}  "), "colour": texts("{} ", COLOURS)},
    "codes with zeros": {"code": texts("00{}", COLOURS), "size": SIZE},
    "nearly numbers": {"size": ["about 1", *texts("{:.1f}")[1:]]},
    "free text": {"note": NOTES},
    "free text with holes": {"note": holes(NOTES), "size": SIZE},
    "letters of any script": {"größe": SIZE, "цвет": np.where(COLOURS > 0, "красный", "синий")},
    "identifiers": {"id": texts("K{:03d}", np.arange(N) * 7 % 50), "size": SIZE},
    "names of files": {
        "file": [f"{'cat' if t else 'dog'}_{k * 37 % 90:03d}.jpg" for k, t in enumerate(TRUTH)],
        "size": SIZE,
    },
    "constant and empty": {"unit": ["km"] * N, "nothing": [None] * N, "size": SIZE},
    "large numbers": {"n": (SIZE * 1e15).astype(np.int64), "size": SIZE * 1e-30},
    "vectors": {"point": [[float(one), float(t)] for one, t in zip(SIZE, TRUTH, strict=True)]},
}


def frame_of(columns: dict[str, Any]) -> pd.DataFrame:
    return pd.DataFrame(columns | {"source": "lab", "kind": LABELS})  # no row is empty


def written(frame: pd.DataFrame, path: Path) -> Any:
    """Return the features and labels of a file."""
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    elif path.suffix == ".xlsx":
        frame.map(lambda cell: str(cell) if isinstance(cell, list) else cell).to_excel(
            path, index=False
        )
    else:
        frame.to_csv(path, index=False)
    return read_labelled_table({"table": [path], "target": "kind"}).features


FORMATS: dict[str, Callable[[pd.DataFrame, Path], Any]] = {
    "csv": lambda frame, folder: written(frame, folder / "t.csv"),
    "excel": lambda frame, folder: written(frame, folder / "t.xlsx"),
    "parquet": lambda frame, folder: written(frame, folder / "t.parquet"),
    "pandas": lambda frame, _: frame.drop(columns="kind"),
    "arrow": lambda frame, _: pa.Table.from_pandas(frame.drop(columns="kind")),
    "polars": lambda frame, _: pl.from_pandas(frame.drop(columns="kind")),
}


@pytest.mark.parametrize("format", FORMATS)
def test_same_predictions(format: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipe, "_TREES", 4)
    wrong = []
    for name, columns in TABLES.items():
        frame = frame_of(columns)
        answers = []
        for rows in (FORMATS[format](frame, tmp_path), FORMATS["pandas"](frame, tmp_path)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", lg.ColumnWarning)
                classifier = lg.SpectralGPClassifier(rank=10, random_state=0).fit(rows, LABELS)
            answers.append(classifier.label_distributions_)
        if not np.allclose(*answers, rtol=0, atol=1e-9):
            wrong.append((name, float(np.abs(answers[0] - answers[1]).max())))
        assert (classifier.transduction_ == np.array(["yes", "no"])[TRUTH]).mean() > 0.55, name
    assert not wrong
