"""Sums over the columns of a table of what each value contributes, by few look-ups for a row.

Columns with few values are joined: one table holds the sums for all their combinations.

>>> import numpy as np
>>> first, second = np.array([[1.0], [2.0]]), np.array([[10.0], [20.0], [30.0]])
>>> tables = JointTables.of([(0, first), (1, second)], np.add)
>>> len(tables.groups), tables.at(np.array([[0, 2], [1, 1]])).tolist()
(1, [[31.0], [22.0]])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

# Measured on 21 columns of categories: larger tables leave the cache of a core.
_MOST_COMBINATIONS, _MOST_BYTES = 1024, 2**21


@final
@dataclass(frozen=True, eq=False)
class JointTables:
    """Tables of joined columns.

    Attributes
    ----------
    groups : list of (columns, sizes, table)
        Joined columns, their numbers of values, and the contributions of all combinations.
    combine : ufunc
        ``np.add``, or ``np.bitwise_and`` for sets as bits.
    """

    groups: list[tuple[list[int], list[int], NDArray[Any]]]
    combine: np.ufunc

    @classmethod
    def of(cls, tables: Sequence[tuple[int, NDArray[Any]]], combine: np.ufunc) -> JointTables:
        """Join tables: pairs of a column and the contributions (V, K) of its values."""
        groups: list[tuple[list[int], list[int], NDArray[Any]]] = []
        for column, table in tables:
            if groups:
                columns, sizes, joined = groups[-1]
                count = len(joined) * len(table)
                if count <= _MOST_COMBINATIONS and count * joined[0].nbytes <= _MOST_BYTES:
                    pairs = combine(joined[:, None], table[None]).reshape(count, -1)
                    groups[-1] = [*columns, column], [*sizes, len(table)], pairs
                    continue
            groups.append(([column], [len(table)], np.ascontiguousarray(table)))
        return cls(groups, combine)

    def at(self, places: NDArray[Any]) -> Any:
        """Return the combined contributions of rows (q, K); None without tables.

        `places` (q, p) holds the position of each column's value.
        """
        total: Any = None
        for columns, sizes, table in self.groups:
            index = places[:, columns[0]]
            for column, size in zip(columns[1:], sizes[1:], strict=True):
                index = index * size + places[:, column]
            part = table.take(index, axis=0)
            total = part if total is None else self.combine(total, part, out=total)
        return total
