"""Batching rules of linear algebra: its ops take batches of matrices anyway."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..ops import OPS
from ..ops.machinery.op import PLAIN, Op
from ..tensor import Tensor
from .batching import RULES, elementwise, insert_dims, rule
from .batching_matmul import _plus, bmm, dot, mv

if TYPE_CHECKING:
    from .level import BatchLevel

# ----- One matrix ---------------------------------------------------------------------------------------------------

for _name in (
    "_cholesky", "_cholesky_inverse", "_linalg_cholesky_ex", "_linalg_lu", "_linalg_lu_factor_ex", "_lu_unpack", "_linalg_matrix_exp",
    "_linalg_ldl_factor_ex", "_geqrf", "_linalg_qr", "_linalg_det", "_linalg_inv_ex", "_linalg_slogdet", "_eig_values",
    "_eigvalsh_values", "_linalg_eig", "_linalg_eigh", "_linalg_svd", "_svd_values", "_linalg_pinv", "_pdist",
):  # fmt: skip
    RULES[_name] = elementwise


# ----- Several ------------------------------------------------------------------------------------------------------


def _matrices(level: BatchLevel, op: Op, arguments: tuple[Any, ...]) -> Any:
    """All tensors with the batch, and samples of the same number of dimensions: those in front broadcast."""
    tensors = [a for a, p in zip(arguments, op.parameters) if op.kinds[p] != PLAIN and isinstance(a, Tensor)]
    ndim = max(t.dim() for t in tensors)
    return op.function(*(_wide(level, a, ndim) if isinstance(a, Tensor) else a for a in arguments))


def _wide(level: BatchLevel, tensor: Any, ndim: int) -> Any:
    if level.has(tensor):
        return insert_dims(level, tensor, ndim)
    value = level.full(tensor)
    extra = ndim - tensor.dim()
    return value if extra <= 0 else value.reshape(level.size, *(1,) * extra, *tensor.shape)


for _name in ("_cholesky_solve", "_linalg_solve_triangular", "_cdist", "_triangular_solve"):
    RULES[_name] = _matrices


def _solve(level: BatchLevel, op: Op, arguments: tuple[Any, ...]) -> Any:
    """A X = B. B may be a vector, or a vector for each matrix. The infos are those of the matrices A."""
    A, B, left = arguments
    vector = B.dim() == 1 or tuple(B.shape) == tuple(A.shape[:-1])
    result, info = _matrices(level, op, (A, B.unsqueeze(-1) if vector else B, left))
    return (result.squeeze(-1) if vector else result), info.reshape(level.size, *A.shape[:-2])


RULES["_linalg_solve_ex"] = _solve


@rule("_linalg_lstsq")
def lstsq(level: BatchLevel, A: Any, B: Any, rcond: float, driver: str) -> Any:
    """As `_solve`; what a driver does not compute is empty."""
    vector = A.dim() - B.dim() == 1
    b = B.unsqueeze(-1) if vector else B
    ndim = max(A.dim(), b.dim())
    X, *rest = OPS["_linalg_lstsq"].function(_wide(level, A, ndim), _wide(level, b, ndim), rcond, driver)
    rest = [r.expand(level.size, 0) if r.numel() == 0 and r.dim() == 1 else r for r in rest]
    return X.squeeze(-1) if vector else X, *rest


def _same_batches(level: BatchLevel, op: Op, arguments: tuple[Any, ...]) -> Any:
    """All tensors with the batch: their own batch dimensions are the same already."""
    return op.function(*(level.full(a) if isinstance(a, Tensor) else a for a in arguments))


for _name in ("_linalg_householder_product", "_ormqr"):
    RULES[_name] = _same_batches


def _factored(level: BatchLevel, op: Op, arguments: tuple[Any, ...]) -> Any:
    """Solving with factors: pivots have one dimension less than matrices."""
    factors, pivots, B, *rest = arguments
    ndim = max(factors.dim(), B.dim())
    return op.function(_wide(level, factors, ndim), _wide(level, pivots, ndim - 1), _wide(level, B, ndim), *rest)


RULES["_linalg_lu_solve"] = RULES["_linalg_ldl_solve"] = _factored

# ----- Products -----------------------------------------------------------------------------------------------------


@rule("_linalg_cross")
def cross(level: BatchLevel, input: Any, other: Any, dim: int) -> Any:
    ndim = max(input.dim(), other.dim())
    return OPS["_linalg_cross"].function(_wide(level, input, ndim), _wide(level, other, ndim), dim + 1)


@rule("_vdot")
def vdot(level: BatchLevel, input: Any, other: Any) -> Any:
    return dot(level, input.conj(), other)


@rule("trace")
def trace(level: BatchLevel, input: Any) -> Any:
    return input._value.diagonal(0, 1, 2).sum(1)


@rule("_addmv")
def addmv(level: BatchLevel, input: Any, mat: Any, vec: Any, beta: Any, alpha: Any) -> Any:
    if not level.has(mat) and not level.has(vec):
        return _plus(level, OPS["_mv"].function(mat, vec), input, 1, beta, alpha).expand(level.size, mat.shape[0])
    return _plus(level, mv(level, mat, vec), input, 1, beta, alpha)


@rule("_addr")
def addr(level: BatchLevel, input: Any, vec1: Any, vec2: Any, beta: Any, alpha: Any) -> Any:
    product = level.full(vec1).unsqueeze(2) * level.full(vec2).unsqueeze(1)
    return _plus(level, product, input, 2, beta, alpha)


@rule("_addbmm")
def addbmm(level: BatchLevel, input: Any, batch1: Any, batch2: Any, beta: Any, alpha: Any) -> Any:
    if not level.has(batch1) and not level.has(batch2):
        product = OPS["_bmm"].function(batch1, batch2).sum(0)
        return _plus(level, product, input, 2, beta, alpha).expand(level.size, *product.shape)
    return _plus(level, bmm(level, batch1, batch2).sum(1), input, 2, beta, alpha)


@rule("_bilinear_form")
def bilinear_form(level: BatchLevel, input1: Any, weight: Any, input2: Any) -> Any:
    """input1[n] @ weight[o] @ input2[n]: with one weight for all samples they join n."""
    if not level.has(weight):
        first, second = (level.full(t).reshape(-1, t.shape[1]) for t in (input1, input2))
        out = OPS["_bilinear_form"].function(first, weight, second)
        return out.reshape(level.size, input1.shape[0], weight.shape[0])
    o, i, j = weight.shape
    columns = weight._value.transpose(1, 2).reshape(level.size, i, o * j)
    half = level.full(input1).matmul(columns).reshape(level.size, -1, o, j)
    return half.matmul(level.full(input2).unsqueeze(-1)).squeeze(-1)


@rule("_dist")
def dist(level: BatchLevel, input: Any, other: Any, p: Any) -> Any:
    """The norm of the difference, over all of a sample."""
    apart = input - other
    return apart.norm(p, tuple(range(apart.dim())))._value if apart.dim() else apart.abs()._value
