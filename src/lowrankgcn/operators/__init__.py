"""Linear algebra without n×n matrices: symmetric operators and tall factors."""

from lowrankgcn.operators.factors import Factor, FloatArray, MatrixFactor, ScaledFactor
from lowrankgcn.operators.symmetric_operator import (
    DiagonalPlusLowRank,
    MatrixOperator,
    PolynomialOperator,
    SymmetricOperator,
)

__all__ = [
    "DiagonalPlusLowRank",
    "Factor",
    "FloatArray",
    "MatrixFactor",
    "MatrixOperator",
    "PolynomialOperator",
    "ScaledFactor",
    "SymmetricOperator",
]
