"""Linear algebra in Penlight and PyTorch, where records do not reach: functions of vectors that leave their phase out, factors
whose unread triangle PyTorch differentiates, random projections from the same seed."""

from __future__ import annotations

import numpy as np
import pytest

import penlight

pytestmark = pytest.mark.parity
torch = pytest.importorskip("torch")


def size(x):
    return (x * x.conj()).real if x.is_complex() else x * x


def by_svd(lib, A, full=False):
    U, S, Vh = lib.linalg.svd(A, full)
    k = S.shape[-1]
    U, Vh = U[..., :, :k], Vh[..., :k, :]
    return size(U), S, size(Vh), U[..., :, :2] @ Vh[..., :2, :]


def by_eigh(lib, A, which="L"):
    values, V = lib.linalg.eigh(A + A.mH, which)
    return values, size(V), V[..., :, :2] @ V[..., :, :2].mH


def by_eig(lib, A):
    values, V = lib.linalg.eig(A)
    return values, size(V), V[..., :, :1] @ V[..., :, :1].mH


CASES = {
    "svd": (by_svd, (2, 3, 3)), "tall svd": (by_svd, (5, 3)), "wide svd": (by_svd, (2, 5)), "full svd": (lambda lib, A: by_svd(lib, A, True), (4, 3)),
    "left vectors": (lambda lib, A: size(lib.linalg.svd(A, False)[0]), (4, 3)), "right vectors": (lambda lib, A: size(lib.linalg.svd(A, False)[2]), (3, 4)),
    "torch.svd": (lambda lib, A: (lambda U, S, V: U @ V.mH)(*lib.svd(A)), (3, 4)), "eigh": (by_eigh, (2, 3, 3)), "upper eigh": (lambda lib, A: by_eigh(lib, A, "U"), (3, 3)),
    "eig": (by_eig, (4, 4)), "eigvals": (lambda lib, A: lib.linalg.eigvals(A), (2, 3, 3)),
    "cholesky_solve": (lambda lib, A: lib.cholesky_solve(A[:, :2], (A @ A.mH + lib.eye(3)).tril()), (3, 3)),
    "cholesky_inverse": (lambda lib, A: lib.cholesky_inverse((A * A.conj()).real.triu() + lib.eye(3), True), (3, 3)),
    "log of determinant": (lambda lib, A: lib.logdet(A @ A.mH), (2, 3, 3)), "pinv of low rank": (lambda lib, A: lib.linalg.pinv(A @ A.mT), (4, 2)),
}  # fmt: skip


def numbers(x):
    return x.detach().clone().resolve_conj().numpy()


def derivatives(lib, function, array):
    """Values, gradients and second gradients of a random mixture of a function's results."""
    rng = np.random.default_rng(1)
    A = lib.from_numpy(array.copy()).requires_grad_()

    def mixed(results):
        total = 0
        for r in results:
            w = rng.standard_normal(tuple(r.shape)) * (1 + 0.5j if r.is_complex() else 1)
            product = (lib.from_numpy(np.asarray(w)) * r).sum()
            total = total + (product.real if product.is_complex() else product)
        return total

    results = function(lib, A)
    results = results if isinstance(results, tuple) else (results,)
    (first,) = lib.autograd.grad(mixed(results), A, create_graph=True)
    (second,) = lib.autograd.grad(mixed([first]), A)
    return [numbers(r) for r in results], numbers(first), numbers(second), [r.grad_fn.name() for r in results]


@pytest.mark.parametrize("complex_", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_same_derivatives(name, complex_):
    function, shape = CASES[name]
    rng = np.random.default_rng(0)
    array = rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if complex_ else 0)
    mine, theirs = derivatives(penlight, function, array), derivatives(torch, function, array)
    for a, b in zip((*mine[0], mine[1], mine[2]), (*theirs[0], theirs[1], theirs[2])):
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_allclose(a, b, 1e-8, 1e-8 * max(1, np.abs(b).max()))
    assert mine[3] == theirs[3]


@pytest.mark.parametrize("function", ["svd", "eigh", "eig"])
def test_same_refusal_of_a_phase(function):
    array = np.random.default_rng(0).standard_normal((3, 3)) + 1j * np.random.default_rng(1).standard_normal((3, 3))
    said = []
    for lib in (penlight, torch):
        A = lib.from_numpy(array).requires_grad_()
        result = getattr(lib.linalg, function)(A + A.mH if function == "eigh" else A)
        with pytest.raises(RuntimeError) as refusal:
            result[0 if function == "svd" else 1].sum().real.backward()
        said.append(str(refusal.value))
    assert said[0] == said[1]


@pytest.mark.parametrize(
    "function",
    ["cond", "eigh", "solve_triangular", "lu_factor", "cholesky_ex", "inv_ex", "lstsq", "svd", "qr", "matrix_norm"],
)
def test_same_signature(function):
    """Names of arguments that PyTorch's functions take are taken."""
    import inspect

    names = set(inspect.signature(getattr(penlight.linalg, function)).parameters)
    documented = getattr(torch.linalg, function).__doc__.split("(", 1)[1].split("->")[0]
    for word in (
        "upper",
        "left",
        "unitriangular",
        "pivot",
        "check_errors",
        "driver",
        "rcond",
        "UPLO",
        "full_matrices",
        "mode",
        "ord",
        "dim",
        "keepdim",
        "dtype",
        "out",
    ):
        assert (f"{word}=" in documented) <= (word in names), word


def test_same_random_projections():
    array = np.random.default_rng(0).standard_normal((20, 9))
    for name, arguments in (("svd_lowrank", (4,)), ("pca_lowrank", (4,))):
        found = []
        for lib in (penlight, torch):
            lib.manual_seed(0)
            U, S, V = getattr(lib, name)(lib.from_numpy(array), *arguments)
            found.append(numbers((U * S) @ V.mH))
        np.testing.assert_allclose(*found, 1e-8, 1e-10)


def test_same_extreme_eigenvalues():
    array = np.random.default_rng(0).standard_normal((12, 12))
    array = array @ array.T + np.eye(12)
    for largest in (True, False):
        mine = penlight.lobpcg(penlight.from_numpy(array), k=2, largest=largest)[0]
        theirs = torch.lobpcg(torch.from_numpy(array), k=2, largest=largest, niter=1000, tol=1e-12)[0]
        np.testing.assert_allclose(numbers(mine), numbers(theirs), 1e-6)


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_single_precision(dtype):
    rng = np.random.default_rng(0)
    array = (rng.standard_normal((2, 4, 4)) + 3 * np.eye(4)).astype(dtype)
    if dtype == "complex64":
        array = array + 1j * array[::-1]
    for name in ("inv", "det", "slogdet", "qr", "svdvals", "eigvals", "matrix_exp", "pinv", "lu_factor", "cond"):
        mine, theirs = (getattr(lib.linalg, name)(lib.from_numpy(array)) for lib in (penlight, torch))
        for a, b in zip(*((r if isinstance(r, tuple) else (r,)) for r in (mine, theirs))):
            assert str(a.dtype) == str(b.dtype)
            x, y = (np.sort_complex(numbers(v)) if name == "eigvals" else numbers(v) for v in (a, b))
            np.testing.assert_allclose(x, y, 1e-3, 1e-4 * np.abs(y).max(), err_msg=name)
