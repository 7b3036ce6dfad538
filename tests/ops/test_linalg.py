"""Linear algebra: what its records cannot say. Vectors that are determined up to a phase, singular matrices, large ones."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import penlight as torch
from penlight.autograd import gradcheck, gradgradcheck
from penlight.kernels import linalg as kernels
from penlight.kernels.linalg import ldl
from penlight.kernels.linalg.matrix_exp import matrix_exp

L = torch.linalg


def tensor(*shape, seed=0, complex_=False, grad=True):
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if complex_ else 0)
    return torch.from_numpy(values).requires_grad_(grad)


def size(x):
    """The squared absolute values: no phase is left in them."""
    return (x * x.conj()).real if x.is_complex() else x * x


# ----- Vectors up to a phase ------------------------------------------------------------------------------------------


def by_svd(A):
    U, S, Vh = L.svd(A, full_matrices=False)
    return size(U), S, size(Vh), U[..., :, :2] @ Vh[..., :2, :]


def by_eigh(A):
    values, V = L.eigh(A + A.mH)
    return values, size(V), V[..., :, :2] @ V[..., :, :2].mH


def by_eig(A):
    values, V = L.eig(A)
    order = values.detach().real.argsort() if values.dim() == 1 else None
    return values[order] if order is not None else values, size(V)


@pytest.mark.parametrize("complex_", [False, True])
@pytest.mark.parametrize(
    "function, shape", [(by_svd, (3, 3)), (by_svd, (2, 3, 2)), (by_svd, (2, 3)), (by_eigh, (2, 3, 3)), (by_eig, (3, 3))]
)
def test_derivatives_of_decompositions(function, shape, complex_):
    A = tensor(*shape, seed=1, complex_=complex_)
    assert gradcheck(function, A, check_forward_ad=True)
    assert gradgradcheck(function, A, fast_mode=True)


@pytest.mark.parametrize("complex_", [False, True])
def test_decompositions_multiply_back(complex_):
    A = tensor(2, 4, 3, complex_=complex_, grad=False)
    U, S, Vh = L.svd(A)
    assert U.shape == (2, 4, 4) and Vh.shape == (2, 3, 3)
    assert torch.allclose((U[..., :3] * S.unsqueeze(-2)).to(A.dtype) @ Vh, A)
    H = A.mH @ A
    values, V = L.eigh(H)
    assert torch.allclose((V * values.unsqueeze(-2)) @ V.mH, H)
    values, V = L.eig(H + 1)
    assert torch.allclose((V * values.unsqueeze(-2)) @ L.inv(V), (H + 1).to(V.dtype))
    U, S, V = torch.svd(A)
    assert torch.allclose((U * S.unsqueeze(-2)) @ V.mH, A)


@pytest.mark.parametrize(
    "vectors, words",
    [
        (lambda A: L.svd(A).U, "svd_backward: The singular vectors in the complex case"),
        (lambda A: L.svd(A).Vh, "svd_backward: The singular vectors in the complex case"),
        (lambda A: L.eigh(A @ A.mH).eigenvectors, "linalg_eigh_backward: The eigenvectors in the complex case"),
        (lambda A: L.eig(A).eigenvectors, "linalg_eig_backward: The eigenvectors in the complex case"),
    ],
)
def test_a_loss_that_depends_on_the_phase_is_refused(vectors, words):
    A = tensor(3, 3, seed=3, complex_=True)
    for scale in (1.0, 1e-5):
        for create_graph in (False, True):
            with pytest.raises(RuntimeError, match=words):
                torch.autograd.grad(scale * vectors(A).sum().real, A, create_graph=create_graph)


def test_repeated_values_have_no_vectors_to_differentiate():
    A = torch.eye(3, dtype=torch.float64, requires_grad=True)
    for vectors in (lambda A: L.svd(A).U, lambda A: L.eigh(A).eigenvectors):
        assert torch.isnan(torch.autograd.grad(vectors(A).sum(), A)[0]).all()
    for values in (lambda A: L.svdvals(A).sum(), lambda A: L.eigvalsh(A).sum(), lambda A: L.matrix_norm(A, "nuc")):
        assert torch.equal(torch.autograd.grad(values(A), A)[0], torch.eye(3, dtype=torch.float64))


def test_qr_without_q_and_complete_have_no_derivative():
    A = tensor(4, 3)
    with pytest.raises(RuntimeError, match="depends on Q, which is not computed when mode='r'"):
        L.qr(A, "r").R.sum().backward()
    with pytest.raises(RuntimeError, match="not differentiable when mode='complete' and nrows > ncols"):
        L.qr(A, "complete").R.sum().backward()
    for derivative in (lambda: torch.geqrf(A).a.sum().backward(),):
        with pytest.raises(NotImplementedError, match="the derivative for 'geqrf' is not implemented"):
            derivative()


def test_values_alone_compute_no_vectors():
    A = tensor(3, 3, grad=False)
    assert torch.allclose(L.svdvals(A), L.svd(A).S)
    assert torch.allclose(L.eigvalsh(A), L.eigh(A).eigenvalues)
    assert L.svdvals(A.requires_grad_()).grad_fn.name() == "LinalgSvdBackward0"
    assert L.svdvals(A).output_nr == 1


# ----- Singular matrices ----------------------------------------------------------------------------------------------


def test_determinant_of_a_singular_matrix_has_its_adjugate():
    """PyTorch gives zeros here unless create_graph=True. See Note [The determinant of a singular matrix]."""
    A = torch.tensor([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]], dtype=torch.float64, requires_grad=True)
    adjugate = torch.tensor([[4.0, 4.0, -4.0], [-2.0, -2.0, 2.0], [0.0, 0.0, 0.0]], dtype=torch.float64)
    for create_graph in (False, True):
        (grad,) = torch.autograd.grad(L.det(A), A, create_graph=create_graph)
        assert torch.allclose(grad, adjugate)
    both = torch.stack([A.detach(), torch.eye(3, dtype=torch.float64)]).requires_grad_()
    for create_graph in (False, True):
        (grad,) = torch.autograd.grad(L.det(both).sum(), both, create_graph=create_graph)
        assert torch.allclose(grad[0], adjugate) and torch.allclose(grad[1], torch.eye(3, dtype=torch.float64))
    D = torch.diag(torch.tensor([0.0, 1.0, 2.0], dtype=torch.float64)).requires_grad_()
    assert gradgradcheck(lambda d: L.det(d).reshape(1), D)


def test_errors_say_which_matrix():
    A = torch.stack([torch.eye(2), torch.ones(2, 2)])
    with pytest.raises(
        L.LinAlgError, match=r"linalg.inv: \(Batch element 1\): The diagonal element 2 is zero, the inversion"
    ):
        L.inv(A)
    assert issubclass(L.LinAlgError, RuntimeError) and torch._C._LinAlgError is L.LinAlgError
    assert repr(L.LinAlgError) == "<class 'torch._C._LinAlgError'>"
    inverse, info = L.inv_ex(A)
    assert info.tolist() == [0, 2] and info.dtype == torch.int32
    assert inverse[0].tolist() == [[1, 0], [0, 1]] and torch.isinf(inverse[1]).all()
    with pytest.raises(L.LinAlgError, match=r"torch.linalg.solve: \(Batch element 1\): The solver failed because"):
        L.solve(A, torch.ones(2, 1))
    with pytest.raises(L.LinAlgError, match=r"\(the leading minor of order 2 is not positive-definite\)"):
        L.cholesky(torch.tensor([[1.0, 2.0], [2.0, 1.0]]))
    assert L.cholesky_ex(torch.tensor([[1.0, 2.0], [2.0, 1.0]])).L.tolist() == [[1, 0], [2, -3]]
    with pytest.raises(L.LinAlgError, match="contained non-finite values"):
        L.svd(torch.full((2, 2), math.nan))


def test_a_singular_triangle_divides_by_zero():
    X = L.solve_triangular(torch.zeros(2, 2), torch.ones(2, 1), upper=True)
    assert math.isnan(X[0, 0]) and X[1, 0] == math.inf


def test_condition_numbers_of_singular_matrices():
    A = torch.stack([torch.eye(2), torch.zeros(2, 2)])
    assert L.cond(A, 1).tolist() == [1, math.inf]
    assert L.cond(A, "nuc")[0] == 4 and torch.isnan(L.cond(A, "nuc")[1])
    B = tensor(3, 3, seed=5)
    for p in ("fro", 1, math.inf, "nuc"):
        assert gradcheck(lambda x, p=p: L.cond(x, p), B)


# ----- Large matrices -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
@pytest.mark.parametrize("shape", [(100, 100), (2, 70, 90), (120, 50)])
def test_lu_of_large_matrices(shape, dtype):
    rng = np.random.default_rng(0)
    A = (rng.standard_normal(shape) + (1j if dtype is np.complex128 else 0) * rng.standard_normal(shape)).astype(dtype)
    LU, pivots, info = kernels.lu_factor(A)
    k = min(shape[-2:])
    lower = np.tril(LU[..., :, :k], -1) + np.eye(shape[-2], k, dtype=dtype)
    P = kernels.permutation_matrix(pivots, shape[-2], dtype)
    assert np.abs(P @ lower @ np.triu(LU[..., :k, :]) - A).max() < 1e-4 * (1 if dtype is np.float32 else 1e-8)
    assert np.abs(lower).max() <= 1 + 1e-6 or dtype is np.complex128
    assert not info.any() and pivots.min() >= 1


@pytest.mark.parametrize("upper", [True, False])
@pytest.mark.parametrize("left", [True, False])
def test_large_triangular_systems(upper, left):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((2, 130, 130)) / 20 + 2 * np.eye(130)
    B = rng.standard_normal((2, 130, 7))
    B = B if left else B.swapaxes(-1, -2)
    triangle = np.triu(A) if upper else np.tril(A)
    X = kernels.solve_triangular(A, B, upper, left, False)
    assert np.abs((triangle @ X if left else X @ triangle) - B).max() < 1e-12
    A[0, 3, 3] = 0
    with np.errstate(all="raise"):
        assert not np.isfinite(kernels.solve_triangular(A, B, upper, left, False)[0]).all()


@pytest.mark.parametrize("hermitian", [True, False])
def test_ldl_with_blocks(hermitian):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((2, 9, 9)) + 1j * rng.standard_normal((2, 9, 9))
    A = A + (A.conj() if hermitian else A).swapaxes(-1, -2)
    A[:, range(0, 9, 2), range(0, 9, 2)] = 0
    LD, pivots, info = ldl.ldl_factor(A, hermitian)
    B = rng.standard_normal((2, 9, 3)) + 0j
    assert (pivots < 0).any() and not info.any()
    assert np.abs(A @ ldl.ldl_solve(LD, pivots, B, hermitian) - B).max() < 1e-12


@pytest.mark.parametrize("scale", [1e-9, 0.01, 0.3, 1.0, 4.0, 40.0])
def test_matrix_exp_at_every_scale(scale):
    """Of a rotation: cosines and sines."""
    angle = np.array([[0, -scale], [scale, 0]])
    expected = np.array([[np.cos(scale), -np.sin(scale)], [np.sin(scale), np.cos(scale)]])
    assert np.abs(matrix_exp(angle) - expected).max() < 1e-13
    assert np.abs(matrix_exp(angle.astype(np.float32)) - expected).max() < 1e-5
    mixed = matrix_exp(np.stack([angle, angle * 1e-3, np.full((2, 2), np.inf)]))
    assert np.abs(mixed[0] - expected).max() < 1e-13 and np.isnan(mixed[2]).all()


# ----- Least squares --------------------------------------------------------------------------------------------------


def test_least_squares_of_a_matrix_without_full_rank():
    A = torch.tensor([[1.0, 1.0], [1.0, 1.0], [1.0, 1.0], [2.0, 2.0]])
    B = torch.arange(8.0).view(4, 2)
    for driver in ("gelsy", "gelsd", "gelss"):
        result = L.lstsq(A, B, driver=driver)
        assert torch.allclose(result.solution, torch.tensor([[1.2857, 1.6429], [1.2857, 1.6429]]), atol=1e-4)
        assert result.rank == 1 and result.residuals.numel() == 0
        assert result.singular_values.numel() == (0 if driver == "gelsy" else 2)
    full = L.lstsq(A[:, :1], B, driver="gelsd")
    assert torch.allclose(full.residuals, torch.tensor([9.7143, 8.4286]), atol=1e-4)
    assert L.lstsq(A[:, :1], B).residuals.numel() == 0


def test_least_squares_has_derivatives():
    for shape in ((5, 3), (3, 5)):
        A, B = tensor(*shape), tensor(shape[0], 2, seed=1)
        assert gradcheck(lambda a, b: L.lstsq(a, b, driver="gelsd").solution, (A, B), check_forward_ad=True)
    assert gradcheck(lambda a, b: L.lstsq(a, b, driver="gelsd").residuals, (tensor(5, 3), tensor(5, 2, seed=1)))


def test_pseudo_inverse_of_low_rank():
    A = torch.tensor([[1.0, 2.0], [2.0, 4.0]], dtype=torch.float64)
    assert torch.allclose(L.pinv(A), A / 25)
    assert torch.allclose(torch.pinverse(A), A / 25)
    assert L.pinv(torch.eye(2), atol=2.0).tolist() == [[0, 0], [0, 0]]


# ----- Older names ----------------------------------------------------------------------------------------------------


def test_triangles_that_are_not_read_have_no_gradient():
    B, A = tensor(3, 2), torch.eye(3, dtype=torch.float64).add(0.2).requires_grad_()
    assert gradcheck(torch.cholesky_solve, (B, A), check_forward_ad=True)
    assert gradgradcheck(torch.cholesky_solve, (B, A))
    assert gradcheck(lambda a: torch.cholesky_inverse(a, upper=True), A, check_forward_ad=True)
    assert gradcheck(lambda a, b: L.solve_triangular(a, b, upper=False), (A, B))


def test_cholesky_of_symmetrised_matrices():
    A = tensor(3, 3, complex_=True, seed=2)
    for upper in (False, True):

        def factor(a, upper=upper):
            return L.cholesky(a @ a.mH + torch.eye(3), upper=upper)

        assert gradcheck(factor, A, check_forward_ad=True) and gradgradcheck(factor, A, fast_mode=True)


def test_deprecated_names_warn_once():
    from penlight._common import user_warnings

    user_warnings._warned.clear()
    A = torch.eye(2)
    for name, call in {
        "qr": lambda: torch.qr(A), "cholesky": lambda: torch.cholesky(A), "lu": lambda: torch.lu(A), "lu_solve": lambda: torch.lu_solve(A, *L.lu_factor(A)),
        "triangular_solve": lambda: torch.triangular_solve(A, A),
    }.items():  # fmt: skip
        with pytest.warns(UserWarning, match=f"torch.{name} is deprecated"):
            call()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            call()


def test_removed_names_say_what_to_use():
    A = torch.eye(2)
    for call, words in (
        (lambda: torch.symeig(A), "torch.linalg.eigh"), (lambda: A.eig(), "torch.linalg.eig"), (lambda: A.solve(A), "torch.linalg.solve"),
        (lambda: torch.lstsq(A, A), "torch.linalg.lstsq"), (lambda: torch.matrix_rank(A), "torch.linalg.matrix_rank"),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match=f"(?s)deprecated since version 1.9 and is now removed.*{words}"):
            call()


def test_methods():
    A = tensor(3, 3, grad=False)
    S = A @ A.mT + torch.eye(3)
    assert (
        torch.equal(A.det(), torch.det(A))
        and torch.equal(A.inverse(), L.inv(A))
        and torch.equal(A.matrix_power(2), A @ A)
    )
    assert (
        torch.allclose(S.logdet(), S.det().log())
        and torch.allclose(A.pinverse(), A.inverse())
        and torch.equal(A.slogdet()[1], L.slogdet(A)[1])
    )
    assert torch.equal(S.cholesky_inverse(), torch.cholesky_inverse(S)) and torch.equal(A.matrix_exp(), L.matrix_exp(A))
    assert torch.allclose(A.svd()[1], L.svdvals(A)) and torch.equal(torch.norm(A, "nuc"), L.matrix_norm(A, "nuc"))
    LU, pivots = A.lu()
    assert torch.allclose(S.lu_solve(LU, pivots), L.solve(A, S))


def test_named_results_print_as_pytorch_does():
    assert (
        repr(L.slogdet(torch.eye(2))) == "torch.return_types.linalg_slogdet(\nsign=tensor(1.),\nlogabsdet=tensor(0.))"
    )
    assert type(torch.svd(torch.eye(2))).__name__ == "svd" and torch.svd(torch.eye(2))._fields == ("U", "S", "V")
    assert L.lu_factor_ex(torch.eye(2))._fields == ("LU", "pivots", "info")


def test_low_rank():
    torch.manual_seed(0)
    A = tensor(20, 4, grad=False) @ tensor(4, 9, seed=1, grad=False)
    for U, S, V in (torch.svd_lowrank(A, q=5), torch.svd_lowrank(A.mT, q=5)[2::-1]):
        assert torch.allclose((U * S) @ V.mT, A)
    U, S, V = torch.pca_lowrank(A, q=4)
    assert torch.allclose((U * S) @ V.mT, A - A.mean(0))
    with pytest.raises(ValueError, match="must be non-negative integer and not greater than min"):
        torch.pca_lowrank(A, q=30)


def test_lobpcg_finds_extreme_eigenvalues():
    A = tensor(9, 9, grad=False)
    A, B = A @ A.mT, torch.diag(torch.arange(1.0, 10.0, dtype=torch.float64))
    values = L.eigvalsh(A)
    assert torch.allclose(torch.lobpcg(A, k=2)[0], values[-2:].flip(0))
    assert torch.allclose(torch.lobpcg(A, k=2, largest=False)[0], values[:2])
    E, X = torch.lobpcg(A, k=3, B=B)
    assert torch.allclose(A @ X, B @ X * E)
    with pytest.raises(ValueError, match="LOBPCG algorithm is not applicable"):
        torch.lobpcg(A, k=4)


def test_out_is_written_and_stays_out_of_graphs():
    A = tensor(2, 2, grad=False)
    out = torch.empty(0, dtype=torch.float64)
    assert L.inv(A, out=out) is out and torch.equal(out, L.inv(A))
    result = L.eigh(A, out=(torch.empty(0, dtype=torch.float64), torch.empty(0, dtype=torch.float64)))
    assert torch.equal(result.eigenvalues, L.eigvalsh(A))
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        L.inv(A.requires_grad_(), out=out)


def test_inside_vmap():
    A = tensor(4, 3, 3, grad=False)
    for function in (
        L.inv,
        L.det,
        lambda a: L.solve(a, torch.ones(3, dtype=a.dtype)),
        lambda a: L.lu(a).U,
        L.matrix_exp,
        lambda a: L.cond(a, 1),
        L.matrix_rank,
    ):
        assert torch.allclose(torch.func.vmap(function)(A), torch.stack([function(a) for a in A]))
    with pytest.raises(L.LinAlgError):
        torch.func.vmap(L.inv)(torch.zeros(2, 2, 2))


@pytest.mark.parametrize(
    ("pivots", "words"),
    [
        ([1, 2, 3, 400000], r"\|pivot\| <= LD.size\(-2\)"),
        ([-5, -5, 3, 4], r"\|pivot\| <= LD.size\(-2\)"),
        ([0, 2, 3, 4], r"\|pivot\| >= 1"),
        ([1, 2, 3, -4], "negative in pairs"),
        ([-2, 2, 3, 4], "negative in pairs"),
    ],
)
def test_ldl_solve_refuses_pivots_that_would_leave_the_matrix(pivots, words):
    LD, _ = torch.linalg.ldl_factor(torch.eye(4) * 2)
    with pytest.raises(RuntimeError, match=words):
        torch.linalg.ldl_solve(LD, torch.tensor(pivots, dtype=torch.int32), torch.ones(4, 2))
