"""Linear algebra without n×n matrices: symmetric operators and tall factors."""

from lowrankgcn.operators.base import FloatArray, SymmetricOperator
from lowrankgcn.operators.factors import DenseFactor, Factor, ScaledFactor, SparseFactor
from lowrankgcn.operators.structured import (
    DenseOperator,
    DiagonalPlusLowRank,
    PolynomialOperator,
    SparseOperator,
)

__all__ = [
    "DenseFactor",
    "DenseOperator",
    "DiagonalPlusLowRank",
    "Factor",
    "FloatArray",
    "PolynomialOperator",
    "ScaledFactor",
    "SparseFactor",
    "SparseOperator",
    "SymmetricOperator",
]
