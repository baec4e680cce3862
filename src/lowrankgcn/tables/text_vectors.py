"""Columns of free text as vectors: latent semantic analysis of character n-grams.

A text is a vector of the frequencies of its n-grams, three or four characters of one word with the
blanks around it. Frequencies count logarithmically, n-grams of many texts less, and the vectors
have length one (tf-idf). Singular vectors reduce them to 64 numbers. In ``benchmarks/texts.py``
this is more accurate than the presence of frequent words.

>>> import pandas as pd
>>> from lowrankgcn.tables import Cells
>>> reviews = ["A great film", "great, GREAT fun", "not a great idea", "such a bad idea"]
>>> cells = Cells.read(pd.Series(reviews), "review")
>>> vectors = TextVectors.fit(cells)
>>> vectors.grams[:4]
(' a ', ' gr', ' gre', ' id')
>>> vectors.read(cells).numbers.shape
(4, 4)
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Annotated, Any, final
from unicodedata import normalize

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp
from numpy.typing import NDArray

from lowrankgcn._codec import saved
from lowrankgcn._parallel import chunks
from lowrankgcn.tables.cells import Cells

# Conventions, described in choose_columns.
_LEAST_WORDS = 3  # mean number of words of a text
_LEAST_SHARE = 0.5  # of distinct texts among the cells; the same text again is a category
# Chosen by benchmarks/texts.py.
_LENGTHS = (3, 4)
_RANK, _LEAST_RANK, _MOST_CELLS = 64, 30, 2 * 10**7  # less for many rows
_LEAST_ROWS = 2  # with an n-gram
_MOST_GRAMS = 10_000  # the most frequent ones
_SAMPLE = 20_000  # texts that are fitted
_FEW = 100  # texts that show whether there is something to fit
_CHUNK = 50_000  # texts whose frequencies are held at a time
_MORE_DIRECTIONS, _STEPS = 16, 6  # of the subspace iteration


def is_free_text(cells: Cells) -> bool:
    """Return whether texts without an order have several words and are mostly different."""
    present = int((~cells.missing).sum())
    if cells.numbers is not None or cells.ordered or len(cells.values) <= _LEAST_SHARE * present:
        return False
    gaps = pc.count_substring_regex(
        pc.utf8_trim_whitespace(pa.array(map(str, cells.values))), r"\s+"
    )
    return bool(pc.mean(gaps).as_py() + 1 >= _LEAST_WORDS)


@saved
@final
@dataclass(frozen=True, eq=False)
class TextVectors:
    """A map from texts to vectors.

    Attributes
    ----------
    grams : tuple of str
        The n-grams in use.
    weights : (g,) array
        Their inverse document frequencies.
    basis : (g, d) array
        Singular vectors of the fitted texts.
    """

    grams: tuple[str, ...]
    weights: Annotated[NDArray[np.float32], "g"]
    basis: Annotated[NDArray[np.float32], "g d"]

    @classmethod
    def fit(cls, cells: Cells) -> TextVectors | None:
        """Fit to a column; None if no n-gram occurs in two rows."""
        step = -(-len(cells.values) // _SAMPLE)
        n_rows = np.bincount(cells.codes[~cells.missing], minlength=len(cells.values))[::step]
        counts, known = _frequencies(_texts(cells)[::step])
        occurrences = (counts > 0).T @ n_rows  # rows with an n-gram
        order = np.argsort(-occurrences, kind="stable")[:_MOST_GRAMS]
        used = np.sort(order[occurrences[order] >= _LEAST_ROWS])
        if not len(used):
            return None
        grams = tuple(known[k] for k in used)
        weights = np.log((1 + n_rows.sum()) / (1 + occurrences[used])) + 1
        weights = weights.astype(np.float32)
        rows = _unit_rows(counts[:, used] @ sp.diags_array(weights))
        X = sp.csr_array(sp.diags_array(np.sqrt(n_rows)) @ rows)
        most = min(_RANK, max(_LEAST_RANK, _MOST_CELLS // max(1, len(cells))))
        rank = min(most, *X.shape)
        basis = _leading_directions(X, rank)
        largest = np.abs(basis).argmax(axis=1)[:, None]
        basis = basis * np.sign(np.take_along_axis(basis, largest, axis=1))
        return cls(grams, weights, np.ascontiguousarray(basis.T, np.float32))

    def read(self, cells: Cells) -> Cells:
        """Return the vectors of texts."""
        texts = _texts(cells)
        vectors = np.zeros((len(texts) + 1, self.basis.shape[1]), np.float32)
        place = {gram: k for k, gram in enumerate(self.grams)}
        for start, stop in chunks(len(texts), _CHUNK):
            counts, known = _frequencies(texts[start:stop])
            columns = np.array([place.get(gram, -1) for gram in known], np.intp)
            kept = np.flatnonzero(columns >= 0)
            basis, weights = self.basis[columns[kept]], self.weights[columns[kept]]
            vectors[start:stop] = _unit_rows(counts[:, kept] @ sp.diags_array(weights)) @ basis
        return Cells(cells.missing, vectors[cells.codes])


#: Stands for a column of free text whose vectors are not found yet.
UNFITTED = TextVectors((), np.zeros(0, np.float32), np.zeros((0, 0), np.float32))


def share_grams(cells: Cells) -> bool:
    """Return whether an n-gram occurs in two of the first texts, so that vectors can be fitted."""
    step = -(-len(cells.values) // _SAMPLE)
    known = np.bincount(cells.codes[~cells.missing], minlength=len(cells.values))[::step] > 0
    some = np.flatnonzero(known)[:_FEW]
    counts, _ = _frequencies([str(cells.values[step * k]) for k in some])
    return bool(((counts > 0).sum(axis=0) >= _LEAST_ROWS).any())


def _texts(cells: Cells) -> list[str]:
    return list(map(str, cells.as_categories().values))


def _frequencies(texts: list[str]) -> tuple[sp.csr_array, list[str]]:
    """Return logarithmic frequencies of n-grams, shape (len(texts), len(grams)), and the n-grams.

    The n-grams of a word are counted once for all its occurrences.
    """
    lists = pc.split_pattern_regex(pa.array(texts, pa.string()), r"[\s\p{Z}]+")
    spelled = pc.list_flatten(lists).dictionary_encode()
    in_text = np.asarray(pc.list_parent_indices(lists)), np.asarray(spelled.indices)
    words = [normalize("NFKC", word).casefold() for word in spelled.dictionary.to_pylist()]
    found: dict[str, int] = {}
    in_word: list[tuple[int, int, int]] = []
    for k, word in enumerate(words):
        counts = Counter(_grams(word))
        in_word += [(k, found.setdefault(gram, len(found)), n) for gram, n in counts.items()]
    order = sorted(found)  # the same for texts in any order
    place = np.empty(len(found), np.intp)
    place[[found[gram] for gram in order]] = np.arange(len(found))
    rows, columns, times = np.array(in_word, np.intp).reshape(-1, 3).T
    shape = len(words), len(found)
    A: Any = sp.csr_array((times.astype(np.float32), (rows, place[columns])), shape=shape)
    ones = np.ones(len(in_text[0]), np.float32)
    B: Any = sp.csr_array((ones, in_text), shape=(len(texts), len(words)))
    frequencies = sp.csr_array(B @ A)
    frequencies.sort_indices()
    frequencies.data = 1 + np.log(frequencies.data)
    return frequencies, order


def _grams(word: str) -> list[str]:
    """Return all n-grams of a word between blanks, of one letter once.

    >>> _grams("ab"), _grams("a")
    ([' ab', 'ab ', ' ab '], [' a '])
    """
    padded = f" {word} " if word else ""
    lengths = [n for n in _LENGTHS if n <= len(padded)]
    return [padded[k : k + n] for n in lengths for k in range(len(padded) - n + 1)]


def _leading_directions(X: sp.csr_array, rank: int) -> NDArray[np.float64]:
    """Return right singular vectors of the largest singular values by subspace iteration, (r, g).

    ARPACK fills the null space of a matrix of lower rank with other vectors in every call.
    """
    count = min(rank + _MORE_DIRECTIONS, X.shape[1])
    Q = np.random.default_rng(0).standard_normal((X.shape[1], count))
    for _ in range(_STEPS):
        Q = np.linalg.qr(X.T @ (X @ Q))[0]
    within: NDArray[np.float64] = np.linalg.svd(X @ Q, full_matrices=False)[2]
    return within[:rank] @ Q.T


def _unit_rows(rows: Any) -> sp.csr_array:
    norms = np.sqrt(rows.multiply(rows).sum(axis=1))
    return sp.csr_array(sp.diags_array(1 / np.where(norms > 0, norms, 1).astype(np.float32)) @ rows)
