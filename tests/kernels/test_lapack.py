"""LAPACK called directly: the same numbers as by the NumPy kernels, which serve where it cannot be had."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from penlight.kernels import linalg
from penlight.kernels.linalg import gufuncs, lapack, lapack_calls, ldl

SHAPES = [(), (3,), (2, 1), (70,)]


def matrices(dtype, *shape):
    rng = np.random.default_rng(5)
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def close(a, b, dtype):
    tolerance = 1e-3 if np.dtype(dtype).itemsize in (4, 8) and np.dtype(dtype).char in "fF" else 1e-9
    assert a.dtype == b.dtype and a.shape == b.shape
    np.testing.assert_allclose(a, b, tolerance, tolerance)


@pytest.fixture
def without(monkeypatch):
    """Runs a function as where LAPACK cannot be reached."""

    def run(function, *args):
        with monkeypatch.context() as patch:
            patch.setattr(lapack_calls, "there", lambda: False)
            return function(*args)

    return run


@pytest.mark.parametrize("dtype", ["f", "d", "F", "D"])
@pytest.mark.parametrize("batch", SHAPES)
def test_triangular_systems(dtype, batch, without):
    A = matrices(dtype, *batch, 5, 5) + 3 * np.eye(5, dtype=dtype)
    B = matrices(dtype, *batch, 5, 4)
    for upper in (False, True):
        for unit in (False, True):
            for matrix in (A, A.swapaxes(-1, -2)):
                args = matrix, B, upper, True, unit
                close(linalg.solve_triangular(*args), without(linalg.solve_triangular, *args), dtype)
                args = matrix, B.swapaxes(-1, -2), upper, False, unit
                close(linalg.solve_triangular(*args), without(linalg.solve_triangular, *args), dtype)


@pytest.mark.parametrize("dtype", ["f", "d", "F", "D"])
@pytest.mark.parametrize("batch", SHAPES)
@pytest.mark.parametrize("shape", [(5, 5), (7, 4), (4, 7), (1, 1)])
def test_lu(dtype, batch, shape, without):
    A = matrices(dtype, *batch, *shape)
    for ours, other in zip(linalg.lu_factor(A), without(linalg.lu_factor, A), strict=True):
        close(ours, other, dtype)
    if shape[0] == shape[1]:
        LU, pivots, _ = linalg.lu_factor(A)
        B = matrices(dtype, *batch, shape[0], 3)
        for function in (linalg.rows_exchanged, linalg.rows_restored):
            close(function(pivots, B), without(function, pivots, B), dtype)
        P = linalg.permutation_matrix(pivots, shape[0], dtype)
        close(P, without(linalg.permutation_matrix, pivots, shape[0], dtype), dtype)
        for adjoint in (False, True):
            args = LU, pivots, B, True, adjoint
            close(linalg.lu_solve(*args), without(linalg.lu_solve, *args), dtype)


@pytest.mark.parametrize("dtype", ["f", "d", "F", "D"])
@pytest.mark.parametrize("batch", SHAPES)
def test_cholesky_reflectors_and_ldl(dtype, batch, without):
    A = matrices(dtype, *batch, 6, 6)
    P = A @ linalg.adjoint(A) + np.eye(6, dtype=dtype)
    B = matrices(dtype, *batch, 6, 3)
    for upper in (False, True):
        L = linalg.cholesky(P, upper)[0]
        close(L, without(linalg.cholesky, P, upper)[0], dtype)
        close(linalg.cholesky_solve(B, L, upper), without(linalg.cholesky_solve, B, L, upper), dtype)
    factors = linalg.geqrf(A[..., :4])
    close(linalg.householder_product(*factors), without(linalg.householder_product, *factors), dtype)
    for mode in ("reduced", "complete", "r"):
        for matrix in (A, A[..., :4], A[..., :2, :]):
            for ours, other in zip(linalg.qr(matrix, mode), without(linalg.qr, matrix, mode), strict=True):
                close(ours, other, dtype)
    for transpose in (False, True):
        close(linalg.ormqr(*factors, B, True, transpose), without(linalg.ormqr, *factors, B, True, transpose), dtype)
        args = (*factors, B.swapaxes(-1, -2), False, transpose)
        close(linalg.ormqr(*args), without(linalg.ormqr, *args), dtype)
    S = A + A.swapaxes(-1, -2)
    for matrix, hermitian in ((P, True), (S, False)):
        for ours, other in zip(
            ldl.ldl_factor(matrix, hermitian), without(ldl.ldl_factor, matrix, hermitian), strict=True
        ):
            close(ours, other, dtype)
        LD, pivots, _ = ldl.ldl_factor(matrix, hermitian)
        args = LD, pivots, B, hermitian
        close(ldl.ldl_solve(*args), without(ldl.ldl_solve, *args), dtype)


@pytest.mark.parametrize("dtype", ["f", "d", "F", "D"])
@pytest.mark.parametrize("upper", [False, True])
def test_matrices_that_are_not_positive_definite(dtype, upper, without):
    P = np.stack([np.eye(3), np.diag([4.0, -1, 1]), 4 * np.eye(3), np.diag([1.0, 1, np.nan])]).astype(dtype)
    L, info = linalg.cholesky(P, upper)
    assert info.tolist() == [0, 2, 0, 3]
    other, also = without(linalg.cholesky, P, upper)
    np.testing.assert_array_equal(L, other)
    np.testing.assert_array_equal(info, also)
    single, order = linalg.cholesky(P[1], upper)
    np.testing.assert_array_equal(single, L[1])
    assert order == 2


def test_what_is_singular_or_not_finite_goes_the_other_way():
    A = np.array([[1.0, 2.0], [0.0, 0.0]])
    assert lapack.solve_triangular(A, np.ones((2, 1)), True, True, False) is None
    X = linalg.solve_triangular(A, np.ones((2, 1)), True, True, False)
    np.testing.assert_array_equal(X, [[-np.inf], [np.inf]])
    _, _, info = linalg.lu_factor(A)
    assert info == 2
    assert linalg.lu_factor(np.zeros((3, 0, 2)))[0].shape == (3, 0, 2)


def test_arguments_are_left_alone():
    A, B = matrices("d", 3, 3) + 3 * np.eye(3), matrices("d", 3, 2)
    before = A.copy(), B.copy()
    linalg.solve_triangular(A, B, True, True, False)
    linalg.lu_factor(A)
    linalg.cholesky_solve(B, A, False)
    np.testing.assert_array_equal(A, before[0])
    np.testing.assert_array_equal(B, before[1])


def _cholesky(module, A, upper):
    return module.cholesky_or_nan(A, upper) if module is gufuncs else module.cholesky(A, upper=upper)


CALLS = {
    "solve": lambda module, A: module.solve(A, A),
    "inv": lambda module, A: module.inv(A),
    "cholesky": lambda module, A: _cholesky(module, A, False),
    "upper": lambda module, A: _cholesky(module, A, True),
    "det": lambda module, A: module.det(A),
    "slogdet": lambda module, A: module.slogdet(A),
    "qr": lambda module, A: module.qr(A),
    "complete": lambda module, A: module.qr(A[..., :2], "complete"),
    "svd": lambda module, A: module.svd(A, full_matrices=False),
    "svdvals": lambda module, A: module.svdvals(A),
    "eigh": lambda module, A: module.eigh(A, "U"),
    "eigvalsh": lambda module, A: module.eigvalsh(A),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", ["f", "d", "F", "D"])
@pytest.mark.parametrize("batch", [(), (3,), (0,)])
@pytest.mark.parametrize("here", [True, False])
def test_loops_give_what_numpy_gives(name, dtype, batch, here, monkeypatch):
    if not here:
        monkeypatch.setattr(gufuncs, "_available", lambda: False)
    A = matrices(dtype, *batch, 4, 4)
    P = A @ linalg.adjoint(A) + np.eye(4, dtype=dtype)
    ours, theirs = CALLS[name](gufuncs, P), CALLS[name](np.linalg, P)
    for a, b in zip(*((x if isinstance(x, tuple) else (x,)) for x in (ours, theirs)), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", [name for name in CALLS if name not in ("cholesky", "upper")])  # which give NaN
@pytest.mark.parametrize("bad", [np.zeros((2, 2)), np.full((2, 2), np.nan), np.stack([np.eye(2), -np.eye(2)])])
@pytest.mark.filterwarnings("ignore:.*encountered in det")
@pytest.mark.filterwarnings("ignore:.*encountered in slogdet")
def test_failures_are_those_of_numpy(name, bad):
    def outcome(module):
        try:
            return CALLS[name](module, bad)
        except np.linalg.LinAlgError as error:
            return str(error)

    if name.startswith("svd") and np.isnan(bad).any():  # see Note [Matrices that are not finite]
        theirs: Any = tuple([np.full_like(part, np.nan) for part in np.linalg.svd(np.zeros_like(bad))])
        theirs = theirs[1] if name == "svdvals" else theirs
    else:
        theirs = outcome(np.linalg)
    ours = outcome(gufuncs)
    if isinstance(theirs, str):
        assert ours == theirs
    else:
        for a, b in zip(*((x if isinstance(x, tuple) else (x,)) for x in (ours, theirs)), strict=True):
            np.testing.assert_array_equal(a, b)
