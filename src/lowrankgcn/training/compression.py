"""Smaller arrays with the same products: row spaces and merged equal rows.

>>> import torch
>>> F = torch.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 1.0, 2.0], [2.0, 0.0, 2.0]])
>>> reduced, basis = row_space(F)  # the third column is the sum of the others
>>> reduced.shape, torch.allclose(reduced @ basis.T, F, atol=1e-5)
(torch.Size([4, 2]), True)
"""

from __future__ import annotations

import torch
from torch import Tensor

from lowrankgcn._parallel import chunks

__all__ = ["COPIED_ENTRIES", "column_major", "merge_equal_rows", "row_space"]

# Rows converted to another data type at a time: a few megabytes for a hundred columns.
_CHUNK_ROWS = 4096
#: Entries up to which arrays of n rows may be copied to make products faster: 256 MB in float32.
COPIED_ENTRIES = 2**26
# Compression must remove at least a tenth of the columns or rows.
_WORTHWHILE = 0.9
# Multiplications, a few seconds, up to which the row space is searched.
_GRAM_WORK = 10**11
# Number of nodes from which equal rows are merged: training fewer is faster than the search.
_MERGED_NODES = 1024


def row_space(features: Tensor) -> tuple[Tensor, Tensor | None]:
    """Return F Q and an orthonormal basis Q of the row space, if that is smaller to rounding."""
    m, width = features.shape
    if m < width:
        Q = torch.linalg.qr(features.double().T).Q
        return (features.double() @ Q).to(features.dtype), Q.to(features.dtype)
    if width < 3 or m * width**2 > _GRAM_WORK:
        return features, None
    gram = features.new_zeros(width, width, dtype=torch.float64)
    for a, b in chunks(m, _CHUNK_ROWS):
        block = features[a:b].double()
        gram.addmm_(block.T, block)
    values, vectors = torch.linalg.eigh(gram)
    eps = torch.finfo(features.dtype).eps
    kept = values > max((8 * eps) ** 2, width * 1e-15) * values[-1]
    if int(kept.sum()) > _WORTHWHILE * width:
        return features, None
    Q = vectors[:, kept]
    reduced = features.new_empty(m, Q.shape[1])
    error = largest = 0.0
    for a, b in chunks(m, _CHUNK_ROWS):
        block = features[a:b].double()
        inside = block @ Q
        reduced[a:b] = inside
        error = max(error, float((block - inside @ Q.T).abs().max()))
        largest = max(largest, float(block.abs().max()))
    if error > 32 * eps * largest:  # the small eigenvalues were not rounding errors
        return features, None
    return reduced, Q.to(features.dtype)


def merge_equal_rows(features: Tensor, tall: Tensor) -> tuple[Tensor, Tensor]:
    """Return the distinct rows of the features, and sums of the rows of `tall` over equal ones."""
    if len(features) < _MERGED_NODES:
        return features, tall
    # Equal rows have equal random sums, added up in the same order; others hardly ever do.
    generator = torch.Generator().manual_seed(0)
    weights = torch.rand(features.shape[1], generator=generator).to(features)
    blocks = chunks(len(features), _CHUNK_ROWS)
    sums = torch.cat([(features[a:b] * weights).double().sum(dim=1) for a, b in blocks])
    values, group = torch.unique(sums, return_inverse=True)
    if len(values) > _WORTHWHILE * len(sums):
        return features, tall
    order = torch.arange(len(sums), device=sums.device)
    first = order.new_full((len(values),), len(sums)).scatter_reduce_(0, group, order, "amin")
    kept = features[first]
    if not all(torch.equal(features[a:b], kept[group[a:b]]) for a, b in blocks):
        return features, tall
    total = tall.new_zeros(len(values), tall.shape[1]).index_add_(0, group, tall)
    return kept, column_major(total)


def column_major(X: Tensor) -> Tensor:
    """Store a matrix by columns, which suits narrow products; leave large ones as they are."""
    return X if X.numel() > COPIED_ENTRIES else X.T.contiguous().T
