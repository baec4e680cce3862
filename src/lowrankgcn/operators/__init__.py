"""Linear algebra without n×n matrices: symmetric operators and tall factors."""

from lowrankgcn.operators.factors import Factor, MatrixFactor, ScaledFactor
from lowrankgcn.operators.structured import DiagonalPlusLowRank, MatrixOperator, PolynomialOperator
from lowrankgcn.operators.symmetric_operator import FloatArray, SymmetricOperator

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
