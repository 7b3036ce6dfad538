"""The largest singular values or eigenvalues only, with their vectors."""

from __future__ import annotations

from typing import Any

from ... import dtypes
from ...random import randn
from ...tensor import Tensor
from .factor import cholesky
from .orthogonal import qr
from .solve import solve_triangular
from .spectral import eigh, svd

__all__ = ["lobpcg", "pca_lowrank", "svd_lowrank"]


def _basis(A: Tensor, q: int, niter: int, M: Tensor | None) -> Tensor:
    """q orthonormal columns that nearly span the range of A - M: a random projection, improved by power iterations."""
    dtype = A.dtype if A.dtype.category >= dtypes.FLOATING else dtypes.float32
    mixture = randn(A.shape[-1], q, dtype=dtype)

    def span(matrix: Tensor, mean: Tensor | None, columns: Tensor) -> Tensor:
        image = matrix.matmul(columns)
        return qr(image if mean is None else image - mean.matmul(columns)).Q

    Q = span(A, M, mixture)
    for _ in range(niter):
        Q = span(A.mH, None if M is None else M.mH, Q)
        Q = span(A, M, Q)
    return Q


def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """The q largest singular values of A (or of A - M) with their vectors U and V, by random projection.

    >>> torch.svd_lowrank(torch.diag(torch.tensor([3.0, 2.0, 0.0])), q=2)[1].round(decimals=3)
    tensor([3., 2.])
    """
    wide = A.shape[-2] < A.shape[-1]
    M = None if M is None else M.broadcast_to(A.size())
    if wide:
        A, M = A.mH, None if M is None else M.mH
    Q = _basis(A, 6 if q is None else q, 2 if niter is None else niter, M)
    small = Q.mH.matmul(A)
    U, S, Vh = svd(small if M is None else small - Q.mH.matmul(M), full_matrices=False)
    U, V = Q.matmul(U), Vh.mH
    return (V, S, U) if wide else (U, S, V)


def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """The principal components of the rows of A: U, S and V of the centred matrix, by random projection.

    >>> torch.pca_lowrank(torch.tensor([[1.0, 0.0], [-1.0, 0.0]]), q=1)[1]
    tensor([1.4142])
    """
    m, n = A.shape[-2:]
    if q is None:
        q = min(6, m, n)
    elif not 0 <= q <= min(m, n):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, q, niter)


def lobpcg(
    A: Tensor, k: int | None = None, B: Tensor | None = None, X: Tensor | None = None, n: int | None = None, iK: Tensor | None = None,
    niter: int | None = None, tol: float | None = None, largest: bool | None = None, method: str | None = None, tracker: Any = None,
    ortho_iparams: Any = None, ortho_fparams: Any = None, ortho_bparams: Any = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The k largest (or smallest) eigenvalues of A x = l B x, for Hermitian A and positive definite B, with their vectors.

    PyTorch iterates towards them; here they come from the full decomposition, so the arguments that control the iteration (`X`, `iK`,
    `niter`, `tol`, `method`, ...) have no effect, except for the number of columns of `X`.

    >>> torch.lobpcg(torch.diag(torch.arange(9.0)), k=2)[0]
    tensor([8., 7.])
    """
    if tracker is not None:
        raise NotImplementedError("torch.lobpcg: there is no iteration to track here; leave out `tracker`")
    size = A.shape[-1]
    count = k if k is not None else 1 if X is None else X.shape[-1]
    if 3 * (n if n is not None else count) > size:
        raise ValueError(
            f"LOBPCG algorithm is not applicable when the number of A rows (={size}) is smaller than 3 x the number of requested "
            f"eigenpairs (={n if n is not None else count})"
        )
    if B is None:
        values, vectors = eigh(A)
    else:
        L = cholesky(B)
        inner = solve_triangular(L, solve_triangular(L, A, upper=False).mH, upper=False)
        values, vectors = eigh(inner)
        vectors = solve_triangular(L.mH, vectors, upper=True)
    if largest is None or largest:
        return values[..., size - count :].flip(-1), vectors[..., :, size - count :].flip(-1)
    return values[..., :count], vectors[..., :, :count]
