"""Linear algebra at the top level of torch: older names and conventions, and functions removed from PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._common.user_warnings import warn_once
from ...kernels import linalg as kernels
from ...tensor import Tensor
from ..machinery.declare import differentiable
from ..machinery.rules import joint_rules
from .common import NOT_POSITIVE, columns, into, is_square, make_system, named, need_lapack, need_square, refuse_info
from .factor import (
    _checked_for_lu,
    _cholesky,
    _linalg_lu_factor_ex,
    check_system,
    cholesky_inverse as cholesky_inverse,
    cholesky_solve as cholesky_solve,
    lu_solve as _lu_solve,
    lu_unpack as lu_unpack,
)
from .functions import matrix_exp as matrix_exp, matrix_power as matrix_power
from .least_squares import pinv
from .orthogonal import geqrf as geqrf, householder_product, ormqr as ormqr, qr as _qr
from .solve import _sign_and_log, det as _det, inv, logdet as logdet
from .spectral import svd as _svd, svdvals

__all__ = [
    "cholesky", "det", "eig", "inverse", "lstsq", "lu", "lu_solve", "matrix_rank", "orgqr", "pinverse", "qr",
    "slogdet", "solve", "svd", "symeig", "triangular_solve"
]  # fmt: skip

# ----- The same under another name --------------------------------------------------------------------------------------


def det(input: Tensor) -> Tensor:
    """The determinant; `torch.linalg.det`.

    >>> torch.det(torch.tensor([[2.0, 1.0], [0.0, 4.0]]))
    tensor(8.)
    """
    return _det(input)


def slogdet(input: Tensor, *, out: Any = None) -> Any:
    """The determinant's sign and the logarithm of its absolute value; `torch.linalg.slogdet`.

    >>> torch.slogdet(torch.tensor([[-1.0, 0.0], [0.0, 1.0]]))
    torch.return_types.slogdet(
    sign=tensor(-1.),
    logabsdet=tensor(0.))
    """
    return into("slogdet", out, named("slogdet", "sign logabsdet", _sign_and_log("linalg.slogdet", input)), input)


def inverse(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse; `torch.linalg.inv`.

    >>> torch.tensor([[2.0, 0.0], [0.0, 4.0]]).inverse()
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    return inv(input, out=out)


def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """The pseudo-inverse; `torch.linalg.pinv`.

    >>> torch.pinverse(torch.tensor([[3.0], [4.0]]))
    tensor([[0.1200, 0.1600]])
    """
    return pinv(input, rcond)


def orgqr(input: Tensor, input2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A product of Householder reflectors; `torch.linalg.householder_product`.

    >>> torch.orgqr(*torch.geqrf(torch.tensor([[3.0], [4.0]])))
    tensor([[-0.6000],
            [-0.8000]])
    """
    return householder_product(input, input2, out=out)


# ----- Other conventions ------------------------------------------------------------------------------------------------


def svd(input: Tensor, some: bool = True, compute_uv: bool = True, *, out: Any = None) -> Any:
    """U, S and V (not its adjoint) with A = U diag(S) V^H; reduced if `some`.

    >>> U, S, V = torch.svd(torch.tensor([[3.0, 0.0], [0.0, 4.0]]))
    >>> U @ torch.diag(S) @ V.T
    tensor([[3., 0.],
            [0., 4.]])
    """
    if input.dim() < 2:
        raise RuntimeError(
            f"linalg.svd: input should have at least 2 dimensions, but has {input.dim()} dimensions instead"
        )
    if compute_uv:
        U, S, Vh = _svd(input, not some)
        result = (U, S, Vh.mH)
    else:
        m, n = input.shape[-2:]
        batch = input.shape[:-2]
        result = (input.new_zeros((*batch, m, m)), svdvals(input), input.new_zeros((*batch, n, n)))
    return into("svd", out, named("svd", "U S V", result), input)


def qr(input: Tensor, some: bool = True, *, out: Any = None) -> Any:
    """Q and R; reduced if `some`. Deprecated for `torch.linalg.qr`.

    >>> Q, R = torch.qr(torch.tensor([[3.0], [4.0]]))
    >>> (Q @ R).round(decimals=3)
    tensor([[3.],
            [4.]])
    """
    warn_once(
        "torch.qr is deprecated in favor of torch.linalg.qr and will be removed in a future PyTorch release.\nThe boolean "
        "parameter 'some' has been replaced with a string parameter 'mode'.\nQ, R = torch.qr(A, some)\nshould be replaced with\n"
        "Q, R = torch.linalg.qr(A, 'reduced' if some else 'complete')",
    )
    return into("qr", out, named("qr", "Q R", _qr(input, "reduced" if some else "complete")), input)


def cholesky(input: Tensor, upper: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The Cholesky factor. Deprecated for `torch.linalg.cholesky`.

    >>> torch.cholesky(torch.tensor([[4.0, 2.0], [2.0, 2.0]]))
    tensor([[2., 0.],
            [1., 1.]])
    """
    warn_once(
        "torch.cholesky is deprecated in favor of torch.linalg.cholesky and will be removed in a future PyTorch release.\nL = "
        "torch.cholesky(A)\nshould be replaced with\nL = torch.linalg.cholesky(A)\nand\nU = torch.cholesky(A, upper=True)\nshould "
        "be replaced with\nU = torch.linalg.cholesky(A).mH\nThis transform will produce equivalent results for all valid "
        "(symmetric positive definite) inputs.",
    )
    if not is_square(input):
        need_square(input, "cholesky")
        need_lapack(input, "cholesky_cpu")
    factor, info = _cholesky(input, upper)
    refuse_info("cholesky", info, NOT_POSITIVE)
    return into("cholesky", out, factor, input)


def lu(A: Tensor, pivot: bool = True, get_infos: bool = False, out: Any = None) -> Any:
    """L and U packed in one matrix, and the pivots. Deprecated for `torch.linalg.lu_factor`.

    >>> torch.lu(torch.tensor([[1.0, 2.0], [2.0, 2.0]]))
    (tensor([[2.0000, 2.0000],
            [0.5000, 1.0000]]), tensor([2, 2], dtype=torch.int32))
    """
    warn_once(
        "torch.lu is deprecated in favor of torch.linalg.lu_factor / torch.linalg.lu_factor_ex and will be removed in a future "
        "PyTorch release.\nLU, pivots = torch.lu(A, compute_pivots)\nshould be replaced with\nLU, pivots = "
        "torch.linalg.lu_factor(A, compute_pivots)\nand\nLU, pivots, info = torch.lu(A, compute_pivots, get_infos=True)\nshould be "
        "replaced with\nLU, pivots, info = torch.linalg.lu_factor_ex(A, compute_pivots)",
    )
    LU, pivots, info = _linalg_lu_factor_ex(_checked_for_lu(A, pivot, "torch.lu_factor"), pivot)
    if get_infos:
        return into("lu", out, named("_lu_with_info", "LU pivots info", (LU, pivots, info)), A)
    return into("lu", out, (LU, pivots), A)


def lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = None) -> Tensor:
    """X with A X = B from A's LU factorisation. Deprecated for `torch.linalg.lu_solve`.

    >>> torch.lu_solve(torch.tensor([[6.0]]), *torch.linalg.lu_factor(torch.tensor([[2.0]])))
    tensor([[3.]])
    """
    warn_once(
        "torch.lu_solve is deprecated in favor of torch.linalg.lu_solveand will be removed in a future PyTorch release.\nNote that "
        "torch.linalg.lu_solve has its arguments reversed.\nX = torch.lu_solve(B, LU, pivots)\nshould be replaced with\nX = "
        "torch.linalg.lu_solve(LU, pivots, B)",
    )
    return _lu_solve(LU_data, LU_pivots, input, out=out)


# ----- Triangular systems -----------------------------------------------------------------------------------------------


def _triangular_kernel(input: Any, A: Any, upper: bool, transpose: bool, unitriangular: bool) -> Any:
    matrix = A.swapaxes(-1, -2) if transpose else A
    X = kernels.solve_triangular(matrix, input, upper != transpose, True, unitriangular)
    batch = X.shape[:-2]
    copied = A if A.shape[:-2] == batch else np.broadcast_to(A, (*batch, *A.shape[-2:]))
    return columns(X), np.array(copied.swapaxes(-1, -2), order="C").swapaxes(-1, -2)


def _triangular_gradients(
    grads: Any, A: Any, solution: Any, input_shape: Any, upper: bool, transpose: bool, unitriangular: bool, needs: Any, xp: Any
) -> tuple[Any, Any]:  # fmt: skip
    grad, copied = grads
    gB = gA = None
    if grad is not None:
        # The solution with the adjoint of A, or with its conjugate if x solves the transposed system.
        gB = xp._triangular_solve(grad, xp.conj(A), upper, not transpose, unitriangular)[0]
        if needs[1]:
            gA = xp.conj(solution) @ xp.mT(gB) if transpose else gB @ xp.adjoint(solution)
            gA = xp.triu(-gA, int(unitriangular)) if upper else xp.tril(-gA, -int(unitriangular))
    if copied is not None and needs[1]:
        gA = copied if gA is None else gA + copied
    gB = xp.zeros_for(copied, input_shape) if gB is None else xp.sum_to(gB, input_shape)
    return gB, None if gA is None else xp.sum_to(gA, tuple(A.shape))


@differentiable(_triangular_kernel, node="TriangularSolveBackward0", results=("solution", "cloned_coefficient"),
                **joint_rules(_triangular_gradients, "input", "A"))  # fmt: skip
def _triangular_solve(
    input: Tensor, A: Tensor, upper: bool, transpose: bool, unitriangular: bool
) -> tuple[Tensor, Tensor]: ...


def triangular_solve(
    input: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False, *, out: Any = None,
) -> Any:  # fmt: skip
    """X with A X = B for a triangular A, and a copy of A. Deprecated for `torch.linalg.solve_triangular`.

    >>> torch.triangular_solve(torch.tensor([[6.0]]), torch.tensor([[2.0]])).solution
    tensor([[3.]])
    """
    warn_once(
        "torch.triangular_solve is deprecated in favor of torch.linalg.solve_triangularand will be removed in a future PyTorch "
        "release.\ntorch.linalg.solve_triangular has its arguments reversed and does not return a copy of one of the inputs.\nX = "
        "torch.triangular_solve(B, A).solution\nshould be replaced with\nX = torch.linalg.solve_triangular(A, B).",
    )
    if not make_system(A, input):
        check_system("triangular_solve", "torch.triangular_solve: ", input, A)
    result = _triangular_solve(input, A, upper, transpose, unitriangular)
    return into("triangular_solve", out, named("triangular_solve", "solution cloned_coefficient", result), input, A)


# ----- Removed ----------------------------------------------------------------------------------------------------------

_REMOVED = "This function was deprecated since version 1.9 and is now removed."


def matrix_rank(input: Tensor, tol: Any = None, symmetric: bool = False, *, out: Any = None) -> Tensor:
    """Removed from PyTorch: `torch.linalg.matrix_rank`.

    >>> torch.linalg.matrix_rank(torch.ones(2, 2))
    tensor(1)
    """
    raise RuntimeError(
        f"{_REMOVED}\nPlease use the `torch.linalg.matrix_rank` function instead. The parameter 'symmetric' was renamed in "
        "`torch.linalg.matrix_rank()` to 'hermitian'."
    )


def solve(input: Tensor, A: Tensor, *, out: Any = None) -> Any:
    """Removed from PyTorch: `torch.linalg.solve`.

    >>> torch.linalg.solve(torch.tensor([[2.0]]), torch.tensor([[6.0]]))
    tensor([[3.]])
    """
    raise RuntimeError(
        f"{_REMOVED} `torch.solve` is deprecated in favor of `torch.linalg.solve`. `torch.linalg.solve` has its arguments reversed "
        "and does not return the LU factorization.\n\nTo get the LU factorization see `torch.lu`, which can be used with "
        "`torch.lu_solve` or `torch.lu_unpack`.\nX = torch.solve(B, A).solution should be replaced with:\nX = torch.linalg.solve(A, B)"
    )


def lstsq(input: Tensor, A: Tensor, *, out: Any = None) -> Any:
    """Removed from PyTorch: `torch.linalg.lstsq`.

    >>> torch.linalg.lstsq(torch.tensor([[2.0]]), torch.tensor([[6.0]])).solution
    tensor([[3.]])
    """
    raise RuntimeError(
        f"{_REMOVED} `torch.lstsq` is deprecated in favor of `torch.linalg.lstsq`.\n`torch.linalg.lstsq` has reversed arguments and "
        "does not return the QR decomposition in the returned tuple (although it returns other information about the problem).\n\n"
        "To get the QR decomposition consider using `torch.linalg.qr`.\n\nThe returned solution in `torch.lstsq` stored the "
        "residuals of the solution in the last m - n columns of the returned value whenever m > n. In torch.linalg.lstsq, the "
        "residuals are in the field 'residuals' of the returned named tuple.\n\nThe unpacking of the solution, as in\nX, _ = "
        "torch.lstsq(B, A).solution[:A.size(1)]\nshould be replaced with:\nX = torch.linalg.lstsq(A, B).solution"
    )


def eig(self: Tensor, eigenvectors: bool = False, *, e: Any = None, v: Any = None) -> Any:
    """Removed from PyTorch: `torch.linalg.eig`.

    >>> torch.linalg.eig(torch.tensor([[2.0]])).eigenvalues
    tensor([2.+0.j])
    """
    raise RuntimeError(
        f"{_REMOVED} `torch.linalg.eig` returns complex tensors of dtype `cfloat` or `cdouble` rather than real tensors mimicking "
        "complex tensors.\n\nL, _ = torch.eig(A) should be replaced with:\nL_complex = torch.linalg.eigvals(A)\n\nand\n\nL, V = "
        "torch.eig(A, eigenvectors=True) should be replaced with:\nL_complex, V_complex = torch.linalg.eig(A)"
    )


def symeig(input: Tensor, eigenvectors: bool = False, upper: bool = True, *, out: Any = None) -> Any:
    """Removed from PyTorch: `torch.linalg.eigh`.

    >>> torch.linalg.eigh(torch.tensor([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    tensor([1., 2.])
    """
    raise RuntimeError(
        f"{_REMOVED} The default behavior has changed from using the upper triangular portion of the matrix by default to using the "
        "lower triangular portion.\n\nL, _ = torch.symeig(A, upper=upper) should be replaced with:\nL = torch.linalg.eigvalsh(A, "
        "UPLO='U' if upper else 'L')\n\nand\n\nL, V = torch.symeig(A, eigenvectors=True) should be replaced with:\nL, V = "
        "torch.linalg.eigh(A, UPLO='U' if upper else 'L')"
    )
