"""Linear algebra without n×n matrices: symmetric operators and tall factors."""

from lowrankgcn.operators.base import FloatArray, SymmetricOperator
from lowrankgcn.operators.factors import Factor, MatrixFactor, ScaledFactor
from lowrankgcn.operators.structured import DiagonalPlusLowRank, MatrixOperator, PolynomialOperator

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
