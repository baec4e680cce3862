"""Recall of a rare class: SpectralGPClassifier with each kind of class shares, and forests.

    python -m benchmarks rare TABLE.csv CLASS [--splits 20]

The class is in the last column of the file; at most 2000 rows are used. Labels are drawn class by
class (5, 10 and 20 of each) or at random (40, 100 and 200 rows). The script prints means over the
splits, in per cent, of recall and precision of CLASS, accuracy and balanced accuracy on the
unlabelled rows; forests are scikit-learn's with default arguments, and with balanced class weights.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.metrics import balanced_accuracy_score, precision_score, recall_score
from sklearn.preprocessing import OneHotEncoder

import lowrankgcn as lg

ROWS = 2000
SHARES = ("auto", "labels", "equal")


def features(X: pd.DataFrame) -> np.ndarray:
    """Return imputed numbers and one-hot categories."""
    numeric = X.select_dtypes("number").columns
    others = X.columns.difference(numeric)
    parts = [(SimpleImputer(strategy="median"), numeric), (OneHotEncoder(), others)]
    encoded: np.ndarray = make_column_transformer(*parts, sparse_threshold=0).fit_transform(X)
    return encoded


def draw(y: np.ndarray, by_class: bool, count: int, seed: int) -> np.ndarray:
    """Return rows to label, of at least two classes."""
    generator = np.random.default_rng((count, seed))
    if by_class:
        groups = [np.flatnonzero(y == c) for c in np.unique(y)]
        sizes = [max(1, min(count, len(group) // 2)) for group in groups]
        drawn = zip(groups, sizes, strict=True)
        return np.concatenate([generator.choice(g, size, replace=False) for g, size in drawn])
    while True:
        rows = generator.choice(len(y), count, replace=False)
        if len(set(y[rows])) > 1:
            return rows


def evaluate(
    X: pd.DataFrame, y: np.ndarray, rare: str, known: np.ndarray, seed: int
) -> pd.DataFrame:
    """Return the measures of every method."""
    half = np.full(len(y), "", dtype=object)
    half[known] = y[known]
    rest, F = np.setdiff1d(np.arange(len(y)), known), features(X)
    found = {}
    for shares in SHARES:
        classifier = lg.SpectralGPClassifier(class_shares=shares, random_state=seed).fit(X, half)
        found[f"class_shares={shares!r}"] = classifier.transduction_
    for weight in (None, "balanced"):
        forest = RandomForestClassifier(class_weight=weight, random_state=seed)
        name = "RandomForestClassifier" + (", balanced" if weight else "")
        found[name] = forest.fit(F[known], y[known].astype(str)).predict(F)
    truth = y[rest].astype(str)
    rows = []
    for name, predicted in found.items():
        own = predicted[rest].astype(str)
        options = {"labels": [rare], "average": "macro", "zero_division": 0}
        rows.append(
            {
                "method": name,
                "recall": 100 * recall_score(truth, own, **options),
                "precision": 100 * precision_score(truth, own, **options),
                "accuracy": 100 * (truth == own).mean(),
                "balanced accuracy": 100 * balanced_accuracy_score(truth, own),
            }
        )
    return pd.DataFrame(rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("table", type=Path)
    parser.add_argument("rare", metavar="CLASS")
    parser.add_argument("--splits", type=int, default=20)
    options = parser.parse_args()
    frame = pd.read_csv(options.table)
    frame = frame.sample(min(ROWS, len(frame)), random_state=7).reset_index(drop=True)
    X, y = frame.iloc[:, :-1].dropna(axis=1, how="all"), frame.iloc[:, -1].to_numpy(object)
    parts = []
    for how, counts in (("class by class", (5, 10, 20)), ("at random", (40, 100, 200))):
        for count in counts:
            for seed in range(options.splits):
                known = draw(y, how == "class by class", count, seed)
                found = evaluate(X, y, options.rare, known, seed)
                parts.append(found.assign(labels=how, count=count))
    every = pd.concat(parts)
    print(every.groupby(["labels", "count", "method"], sort=False).mean().round(1).to_string())


if __name__ == "__main__":
    main()
