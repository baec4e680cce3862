"""Rows that fit no labelled class: how many of them SpectralGPClassifier.unsure marks.

    python -m benchmarks unsure FOLDER [--labels 5,10,20] [--hidden 4]

Each CSV file has the class in its last column; at most 2000 rows are used. A fit labels random rows
of every class but one (at most half of a class), for up to `--hidden` classes of each table with at
least three. The script prints means over the tables, in per cent, of

- the area under the curve of the measure between rows of the hidden class and the others;
- the share of the hidden class that is marked;
- the share of the other unlabelled rows that is marked;
- the share of unlabelled rows that is marked without a hidden class, for all tables.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

import lowrankgcn as lg
from benchmarks.prior import read


def evaluate(X: pd.DataFrame, y: np.ndarray, labels: int, hidden: int | None) -> dict[str, float]:
    """Return the measures of one fit."""
    generator = np.random.default_rng((labels, 0 if hidden is None else 1 + hidden))
    groups = [np.flatnonzero(y == c) for c in range(y.max() + 1) if c != hidden]
    sizes = [max(1, min(labels, len(group) // 2)) for group in groups]
    drawn = [
        generator.choice(group, size, replace=False)
        for group, size in zip(groups, sizes, strict=True)
    ]
    known = np.concatenate(drawn)
    half = np.full(len(y), -1)
    half[known] = y[known]
    fitted = lg.SpectralGPClassifier(random_state=0).fit(X, half)
    of_views = fitted._model.novelty.measures
    measures, marked = of_views(fitted._fitted_rows().views.views), fitted.unsure()
    rest = np.setdiff1d(np.arange(len(y)), known)
    if hidden is None:
        return {"marked without a hidden class": 100 * marked[rest].mean()}
    strange = y[rest] == hidden
    return {
        "area": 100 * roc_auc_score(strange, measures[rest]),
        "marked of the hidden class": 100 * marked[rest][strange].mean(),
        "marked of the others": 100 * marked[rest][~strange].mean(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--labels", default="5,10,20")
    parser.add_argument("--hidden", type=int, default=4)
    options = parser.parse_args()
    rows = []
    for path in sorted(options.folder.glob("*.csv")):
        X, y = read(path)
        n_classes = int(y.max()) + 1
        order = np.random.default_rng(5).permutation(n_classes)[: options.hidden]
        chosen = [int(c) for c in order] if n_classes > 2 else []
        for labels in map(int, options.labels.split(",")):
            for hidden in [None, *chosen]:
                found = evaluate(X, y, labels, hidden)
                rows.append({"table": path.stem, "labels": labels, **found})
        print(path.stem, file=sys.stderr, flush=True)
    means = pd.DataFrame(rows).groupby(["labels", "table"]).mean()
    print(means.round(1).to_string())
    print(means.groupby("labels").mean().round(1).to_string())


if __name__ == "__main__":
    main()
