"""Columns of free text as the words that occur in them.

>>> import pandas as pd
>>> from lowrankgcn.tables import Cells
>>> reviews = ["A great film", "great, GREAT fun", "not a great idea", "such a bad idea"]
>>> cells = Cells.read(pd.Series(reviews), "review")
>>> find_words(cells)
('idea',)
>>> word_columns(cells, ("idea",))["idea"].texts()
['False', 'False', 'True', 'True']
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any
from unicodedata import normalize

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lowrankgcn.tables.cells import Cells

# Conventions, described in choose_columns.
_LEAST_WORDS = 3  # mean number of words of a text
_LEAST_SHARE = 0.5  # of distinct texts among the cells; the same text again is a category
_MOST_WORDS, _FEWEST_WORDS, _MOST_CELLS = 200, 50, 2 * 10**7  # fewer words for many rows
_LEAST_ROWS = 2
_LARGEST_SHARE = 0.5  # words in more of the rows do not tell them apart


def is_free_text(cells: Cells) -> bool:
    """Return whether texts without an order have several words and are mostly different."""
    present = int((~cells.missing).sum())
    if cells.numbers is not None or cells.ordered or len(cells.values) <= _LEAST_SHARE * present:
        return False
    gaps = pc.count_substring_regex(
        pc.utf8_trim_whitespace(pa.array(map(str, cells.values))), r"\s+"
    )
    return bool(pc.mean(gaps).as_py() + 1 >= _LEAST_WORDS)


def find_words(cells: Cells, taken: Collection[str] = ()) -> tuple[str, ...]:
    """Return the most frequent words of a column in descending order of frequency.

    Words in a single row or in more than half of the rows are left out.

    Parameters
    ----------
    cells : Cells
    taken : words
        Words to leave out.
    """
    texts, codes, words = _occurrences(cells)
    pairs = pd.unique(texts * len(words) + codes)  # a word counts once in a row
    texts, codes = np.divmod(pairs, max(1, len(words)))
    counts = np.bincount(cells.codes[~cells.missing], minlength=len(cells.values))
    rows = np.bincount(codes, weights=counts[texts], minlength=len(words)).astype(np.int64)
    allowed = (rows >= _LEAST_ROWS) & (rows <= _LARGEST_SHARE * len(cells))
    known = ((-rows[k], words[k]) for k in np.flatnonzero(allowed) if words[k] not in taken)
    most = min(_MOST_WORDS, max(_FEWEST_WORDS, _MOST_CELLS // len(cells)))
    return tuple(word for _, word in sorted(known)[:most])


def word_columns(cells: Cells, words: tuple[str, ...]) -> dict[str, Cells]:
    """Return for each word whether the cells contain it."""
    texts, codes, known = _occurrences(cells)
    columns = np.zeros((len(words), len(cells.values) + 1), dtype=bool)  # code -1 reads the last
    place = {word: k for k, word in enumerate(words)}
    rows = np.array([place.get(word, -1) for word in known], dtype=np.intp)[codes]
    columns[rows[rows >= 0], texts[rows >= 0]] = True
    return {
        word: Cells.of_categories(*pd.factorize(columns[k][cells.codes]))
        for word, k in place.items()
    }


def _occurrences(cells: Cells) -> tuple[NDArray[Any], NDArray[Any], list[str]]:
    """Return the text and the word of every occurrence, as positions, and the words."""
    lists = pc.split_pattern_regex(
        pc.utf8_lower(pa.array(map(str, cells.values), pa.string())), r"[^\p{L}\p{M}\p{N}]+"
    )
    spelled = pc.list_flatten(lists).dictionary_encode()
    folded = [normalize("NFKC", word).casefold() for word in spelled.dictionary.to_pylist()]
    words = list(dict.fromkeys(word for word in folded if len(word) > 1))
    place = {word: k for k, word in enumerate(words)}
    codes = np.array([place.get(word, -1) for word in folded], dtype=np.int64)
    codes, texts = codes[spelled.indices], np.asarray(pc.list_parent_indices(lists))
    return texts[codes >= 0], codes[codes >= 0], words
