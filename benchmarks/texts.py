"""Accuracy on columns of texts, by the features that are made of them.

    python -m benchmarks texts [--labels 8] [--splits 3] [--rows 1200] [--methods NAME,NAME,...]
        [--tables NAME,NAME,...]

The tables are made of texts that a Debian system with Python has:

- `packages`: one-line descriptions of packages, by section;
- `changes`: entries of the change logs of installed packages, by package;
- `docstrings`: first paragraphs of functions, by library;
- `readmes`: sentences of the descriptions of installed distributions, by distribution;
- `manual`: one-line descriptions of manual pages, by section of the manual.

Some rows of each class are labelled. The script prints the accuracy on the others, in per cent, and
processor seconds of a fit. `text` is what the library does; the others are alternatives.
"""

from __future__ import annotations

import argparse
import gzip
import importlib
import importlib.metadata
import inspect
import pkgutil
import re
import subprocess
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import lowrankgcn as lg

SECTIONS = "admin database editors games graphics mail math net science sound text web".split()
LIBRARIES = "matplotlib networkx numpy pandas scipy sklearn sympy torch".split()
Texts = Iterator[tuple[str, str]]  # text and class


def packages() -> Texts:
    """Yield descriptions of packages and their sections."""
    available = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, text=True)
    for record in available.stdout.split("\n\n"):
        section = re.search(r"^Section: (\S+)", record, re.M)
        about = re.search(r"^Description(?:-en)?: (.*)", record, re.M)
        if section and about and section[1] in SECTIONS:
            yield about[1], section[1]


def changes() -> Texts:
    """Yield entries of change logs and their packages."""
    found: dict[str, set[str]] = {}
    for path in sorted(Path("/usr/share/doc").glob("*/changelog.gz")):
        log = gzip.decompress(path.read_bytes()).decode(errors="replace")
        entries = re.findall(r"^\s*[*-] (?:[\w./, ()-]+: )?(.*(?:\n\s+[^*\s-].*)*)", log, re.M)
        texts = {" ".join(entry.split())[:300] for entry in entries}
        texts = {text for text in texts if len(text.split()) > 3}
        if not any(texts & others for others in found.values()):  # one source, several packages
            found[path.parent.name] = texts
    for name in sorted(found, key=lambda name: -len(found[name]))[:10]:
        yield from ((text, name) for text in sorted(found[name]))


def docstrings() -> Texts:
    """Yield first paragraphs of the documentation of functions and their libraries."""
    for name in LIBRARIES:
        package = importlib.import_module(name)
        modules = [package]
        for found in pkgutil.iter_modules(package.__path__, f"{name}."):
            if "test" not in found.name:
                try:
                    modules.append(importlib.import_module(found.name))
                except Exception:
                    continue
        for module in modules:
            for _, member in inspect.getmembers(module, callable):
                about = (inspect.getdoc(member) or "").split("\n\n")[0]
                if len(about.split()) > 3:
                    yield re.sub(name, "", " ".join(about.split()), flags=re.I), name


def readmes() -> Texts:
    """Yield sentences of the descriptions of the distributions that have most of them."""
    found = {}
    for one in importlib.metadata.distributions():
        body = (one.read_text("METADATA") or "").partition("\n\n")[2]
        plain = re.sub(r"```.*?```|<[^>]*>|https?:\S+|[#*`|=\[\]()-]+", " ", body, flags=re.S)
        sentences = [" ".join(part.split()) for part in re.split(r"[.!?]\s+|\n\s*\n", plain)]
        found[one.metadata["Name"]] = [part for part in sentences if len(part.split()) > 4]
    for name in sorted(found, key=lambda name: -len(found[name]))[:10]:
        yield from ((re.sub(name, "", text, flags=re.I), name) for text in found[name])


def manual() -> Texts:
    """Yield one-line descriptions of manual pages and the sections of the manual."""
    lines = subprocess.run(["man", "-k", "."], capture_output=True, text=True).stdout
    for line in lines.splitlines():
        if (one := re.match(r"\S+ \(([1-8])\w*\)\s+- (.*)", line)) and len(one[2].split()) > 2:
            yield one[2], one[1]


TABLES: dict[str, Callable[[], Texts]] = {
    "packages": packages,
    "changes": changes,
    "docstrings": docstrings,
    "readmes": readmes,
    "manual": manual,
}


def table(name: str, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return different texts and their classes, about equally many of each."""
    frame = pd.DataFrame(TABLES[name](), columns=["text", "kind"]).drop_duplicates("text")
    counts = frame["kind"].value_counts()
    frame = frame[frame["kind"].isin(counts.index[counts >= 30])].sample(frac=1, random_state=0)
    each = rows // frame["kind"].nunique()
    frame = frame.groupby("kind").head(each).sample(frac=1, random_state=1)
    return frame["text"].to_numpy(object), pd.factorize(frame["kind"])[0]


def vectors(weights: Any, rank: int) -> Callable[[np.ndarray], Any]:
    def of_texts(texts: np.ndarray) -> Any:
        reduced = make_pipeline(weights, TruncatedSVD(rank, random_state=0)).fit_transform(texts)
        return pd.DataFrame({"text": list(reduced)})

    return of_texts


def words(texts: np.ndarray) -> Any:
    counter = CountVectorizer(binary=True, min_df=2, max_df=0.5, max_features=200)
    return pd.DataFrame(counter.fit_transform(texts).toarray() > 0).add_prefix("word ")


def grams(n: int = 3, m: int = 4, analyzer: str = "char_wb", **more: Any) -> Any:
    return TfidfVectorizer(
        analyzer=analyzer, ngram_range=(n, m), sublinear_tf=True, min_df=2, **more
    )


METHODS: dict[str, Callable[[np.ndarray], Any]] = {
    "text": lambda texts: pd.DataFrame({"text": texts}),
    "words": words,
    "grams-30": vectors(grams(), 30),
    "grams-64": vectors(grams(), 64),
    "grams-100": vectors(grams(), 100),
    "words-64": vectors(grams(1, 1, "word"), 64),
    "words-100": vectors(grams(1, 1, "word"), 100),
}


def accuracy(name: str, texts: np.ndarray, y: np.ndarray, labels: int, seed: int) -> Any:
    """Return the accuracy on unlabelled rows in per cent, and the processor seconds of the fit."""
    generator = np.random.default_rng(seed)
    groups = [np.flatnonzero(y == c) for c in range(y.max() + 1)]
    known = np.concatenate([generator.choice(group, labels, replace=False) for group in groups])
    half = np.full(len(y), -1)
    half[known] = y[known]
    start = time.process_time()
    if name == "logistic":
        X = grams().fit_transform(texts)
        predicted = LogisticRegression(C=10).fit(X[known], y[known]).predict(X)
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", lg.ColumnWarning)
            classifier = lg.SpectralGPClassifier(random_state=0)
            predicted = classifier.fit(METHODS[name](texts), half).transduction_
    taken = time.process_time() - start
    return 100 * float((predicted == y)[half < 0].mean()), taken


def main() -> None:
    """Print accuracies."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--labels", type=int, default=8)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--rows", type=int, default=1200)
    parser.add_argument("--methods", default=",".join([*METHODS, "logistic"]))
    parser.add_argument("--tables", default=",".join(TABLES))
    args = parser.parse_args()
    for name in args.tables.split(","):
        texts, y = table(name, args.rows)
        print(f"{name}: {len(y)} texts, {y.max() + 1} classes", flush=True)
        for method in args.methods.split(","):
            runs = [accuracy(method, texts, y, args.labels, seed) for seed in range(args.splits)]
            mean, taken = np.mean(runs, axis=0)
            print(f"  {method:12s} {mean:5.1f} %  {taken:5.1f} s", flush=True)


if __name__ == "__main__":
    main()
