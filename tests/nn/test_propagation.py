"""Kernels as torch modules: products, selected rows and gradients of every form."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import lowrankgcn as lg
from lowrankgcn.nn import (
    Propagation,
    SpectralPropagation,
    as_propagation,
    as_propagations,
)
from lowrankgcn.operators import DiagonalPlusLowRank, MatrixFactor, MatrixOperator, ScaledFactor
from lowrankgcn.spectral import filters
from tests.support.cases import nn_problems as cases
from tests.support.cases import strategies
from tests.support.cases.problems import (
    KINDS,
    calm_blas,  # noqa: F401
    problems,
)
from tests.support.each import each


def as_numpy(X: torch.Tensor) -> np.ndarray:
    return X.detach().numpy()


@each("form", cases.FORMS)
def test_products_and_rows_are_the_kernels(form: str) -> None:
    K = cases.kernel(form)
    module = as_propagation(K, dtype=torch.float64)
    assert type(module).__name__ == cases.module_name(form)
    assert module.n == K.n
    X = cases.features(K.n, 3)
    index = torch.tensor([K.n - 1, 0, 0])
    dense = K.to_dense()
    assert_allclose(as_numpy(module(X)), dense @ as_numpy(X), rtol=0, atol=1e-12)
    assert_allclose(as_numpy(module(X, index)), (dense @ as_numpy(X))[index], atol=1e-12)
    assert module(X, index[:0]).shape == (0, 3)
    assert module(X[:, :0]).shape == (K.n, 0)


@each("kind", KINDS)
@given(data=st.data())
def test_every_graph_smoother_and_filter(kind: str, data: st.DataObject) -> None:
    problem = data.draw(problems(kind))
    smoother = data.draw(strategies.smoothers(problem.n))
    case = data.draw(strategies.simple_filters())
    if case.needs and problem.spectrum(smoother).largest == 0:
        return
    K = lg.kernel(lg.Laplacian(problem.graph, smoother), case.filter)
    module = as_propagation(K, dtype=torch.float64)
    X = cases.features(problem.n, 2)
    expected = K @ as_numpy(X)
    scale = max(1.0, float(np.abs(expected).max()))
    assert_allclose(as_numpy(module(X)), expected, rtol=0, atol=1e-11 * scale)
    rows = data.draw(st.lists(st.integers(0, problem.n - 1), max_size=4))
    selected = module(X, torch.tensor(rows, dtype=torch.long))
    assert_allclose(as_numpy(selected), expected[rows], rtol=0, atol=1e-11 * scale)


@each("form", cases.FORMS)
def test_gradients_of_every_form(form: str) -> None:
    module = as_propagation(cases.kernel(form), dtype=torch.float64)
    X = cases.features(module.n, 2).requires_grad_()
    index = torch.tensor([1, 0, 1])
    assert torch.autograd.gradcheck(module, X)
    assert torch.autograd.gradcheck(lambda X: module(X, index), X)
    assert torch.autograd.gradgradcheck(lambda X: module(X) ** 2, X)


@pytest.mark.parametrize("form", ["low rank", "affine, incidence", "dense", "polynomial, blocks"])
def test_single_precision_and_conversion(form: str) -> None:
    K = cases.kernel(form)
    X = cases.features(K.n, 2)
    exact = K @ as_numpy(X)
    single = as_propagation(K)
    assert single(X.float()).dtype == torch.float32
    assert_allclose(as_numpy(single(X.float())), exact, rtol=0, atol=2e-5)
    double = copy.deepcopy(single).to(torch.float64)
    assert double(X).dtype == torch.float64
    assert_allclose(as_numpy(double(X)), exact, rtol=0, atol=2e-5)
    assert all(buffer.dtype != torch.float32 for buffer in double.buffers())
    assert not single.state_dict()
    assert not list(single.parameters())


def test_operators_other_than_kernels() -> None:
    for laplacian in (cases.hypergraph(), cases.given(True), cases.given(False), cases.points()):
        X = cases.features(laplacian.n, 2)
        module = as_propagation(laplacian, dtype=torch.float64)
        assert_allclose(as_numpy(module(X)), laplacian @ as_numpy(X), atol=1e-13)
    weights = cases.given(True).affinity.operator
    assert isinstance(weights, MatrixOperator)
    assert_allclose(as_numpy(as_propagation(weights, dtype=torch.float64)(X[:6])), weights @ X[:6])


def test_spectral_propagation_is_a_diagonal() -> None:
    module = SpectralPropagation([1.0, 0.5, -2.0], torch.float64)
    X = cases.features(3, 2).requires_grad_()
    expected = np.diag([1.0, 0.5, -2.0]) @ as_numpy(X)
    assert_allclose(as_numpy(module(X)), expected)
    assert_allclose(as_numpy(module(X, torch.tensor([2, 2]))), expected[[2, 2]])
    assert torch.autograd.gradcheck(module, X)


# --- sharing and storage ----------------------------------------------------------------------


def test_kernels_of_the_same_eigenvectors_share_one_buffer() -> None:
    kernels = lg.kernel(cases.points(), ["pseudoinverse", "heat"], rank=4)
    modules = as_propagations(kernels)
    assert modules[0].factor is modules[1].factor
    assert sum(buffer.numel() for buffer in modules.buffers()) == 9 * 4 + 2 * 4
    laplacian = cases.table()
    linear, other = as_propagations(
        [lg.kernel(laplacian, "linear"), lg.kernel(laplacian, filters.Polynomial((0.0, 1.0)))]
    )
    assert linear.factor is other.factor


def test_buffers_are_copies_of_set_up_arrays() -> None:
    K = cases.kernel("low rank")
    assert K.eigenpairs is not None
    before = K.eigenpairs.eigenvectors.copy()
    module: Any = as_propagation(K, dtype=torch.float64)
    module.factor.matrix.zero_()
    assert_allclose(K.eigenpairs.eigenvectors, before)


def test_numpy_multiplies_factors_too_large_to_store(monkeypatch: pytest.MonkeyPatch) -> None:
    K = cases.kernel("structured landmarks")
    X = cases.features(K.n, 2).requires_grad_()
    stored = as_propagation(K, dtype=torch.float64)
    monkeypatch.setattr("lowrankgcn.nn.conversion._STORED_ENTRIES", 10)
    evaluated: Any = as_propagation(K, dtype=torch.float64)
    assert type(evaluated).__name__ == "NumpyMatrix"
    index = torch.tensor([3, 1])
    assert_allclose(as_numpy(evaluated(X)), as_numpy(stored(X)), atol=1e-12)
    assert_allclose(as_numpy(evaluated(X, index)), as_numpy(stored(X))[index], atol=1e-12)
    assert torch.autograd.gradcheck(evaluated, X)
    assert torch.autograd.gradcheck(lambda X: evaluated(X, index), X)


def test_scaled_factors() -> None:
    generator = np.random.default_rng(0)
    matrix, rows, columns = (generator.normal(size=shape) for shape in ((5, 2), (5,), (2,)))
    for stored in (matrix, sp.csr_array(matrix)):
        factor = ScaledFactor(MatrixFactor(stored), rows, columns)
        module = as_propagation(DiagonalPlusLowRank(np.ones(5), factor), dtype=torch.float64)
        expected = rows[:, None] * matrix * columns
        expected = np.eye(5) + expected @ expected.T
        assert_allclose(as_numpy(module(torch.eye(5, dtype=torch.float64))), expected, atol=1e-12)


def test_products_by_numpy_propagate_nan() -> None:
    module = as_propagation(cases.kernel("polynomial, blocks"))
    X = torch.ones(module.n, 2)
    X[0, 0] = torch.inf
    assert module(X).isnan().all()
    assert module(X, torch.tensor([1])).isnan().all()


def test_sparse_products_do_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        module = as_propagation(cases.kernel("affine, codes"))
        module(torch.ones(module.n, 1))


# --- malformed calls --------------------------------------------------------------------------


def test_malformed_kernels_and_dtypes() -> None:
    for kernels in (None, np.eye(3), "linear", [], [None], 3, torch.eye(3)):
        with pytest.raises(ValueError, match=r"^kernels: expected"):
            as_propagations(kernels)  # type: ignore[arg-type]
    for dtype in (None, "float32", float, torch.int64, torch.float16, np.float32):
        with pytest.raises(ValueError, match=r"^dtype: expected torch.float32 or torch.float64"):
            as_propagation(cases.kernel("dense"), dtype=dtype)  # type: ignore[arg-type]


def test_kernels_of_different_graphs() -> None:
    with pytest.raises(ValueError, match=r"^kernels: expected kernels of one graph, got \[6, 9\]"):
        as_propagations([cases.kernel("dense"), cases.kernel("affine, codes")])


def test_propagation_is_abstract() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Propagation()  # type: ignore[abstract]
