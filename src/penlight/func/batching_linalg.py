"""Batching rules of linear algebra, whose ops accept batches of matrices anyway."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..ops.machinery.op import PLAIN, Op
from ..tensor import Tensor
from .batching import RULES, elementwise, insert_dims, rule, run, together

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
    """All tensors with the batch, and samples with equally many dimensions: leading ones broadcast."""
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
    """A X = B. B may be a vector, or one vector for each matrix. The infos belong to the matrices A."""
    A, B, left = arguments
    vector = B.dim() == 1 or tuple(B.shape) == tuple(A.shape[:-1])
    result, info = _matrices(level, op, (A, B.unsqueeze(-1) if vector else B, left))
    return (result.squeeze(-1) if vector else result), info.reshape(level.size, *A.shape[:-2])


RULES["_linalg_solve_ex"] = _solve


@rule("_linalg_lstsq")
def lstsq(level: BatchLevel, A: Any, B: Any, rcond: float, driver: str) -> Any:
    """Like `_solve`; results that a driver does not compute are empty."""
    vector = A.dim() - B.dim() == 1
    b = B.unsqueeze(-1) if vector else B
    ndim = max(A.dim(), b.dim())
    X, *rest = run("_linalg_lstsq", _wide(level, A, ndim), _wide(level, b, ndim), rcond, driver)
    rest = [r.expand(level.size, 0) if r.numel() == 0 and r.dim() == 1 else r for r in rest]
    return X.squeeze(-1) if vector else X, *rest


RULES["_linalg_householder_product"] = RULES["_ormqr"] = together


def _factored(level: BatchLevel, op: Op, arguments: tuple[Any, ...]) -> Any:
    """Solving with factors: pivots have one dimension less than the matrices."""
    factors, pivots, B, *rest = arguments
    ndim = max(factors.dim(), B.dim())
    return op.function(_wide(level, factors, ndim), _wide(level, pivots, ndim - 1), _wide(level, B, ndim), *rest)


RULES["_linalg_lu_solve"] = RULES["_linalg_ldl_solve"] = _factored

# ----- Other products -------------------------------------------------------------------------------------------------


@rule("_linalg_cross")
def cross(level: BatchLevel, input: Any, other: Any, dim: int) -> Any:
    ndim = max(input.dim(), other.dim())
    return run("_linalg_cross", _wide(level, input, ndim), _wide(level, other, ndim), dim + 1)


@rule("_vdot")
def vdot(level: BatchLevel, input: Any, other: Any) -> Any:
    return dot(level, input.conj(), other)


@rule("trace")
def trace(level: BatchLevel, input: Any) -> Any:
    return input._value.diagonal(0, 1, 2).sum(1)


@rule("_addmv")
def addmv(level: BatchLevel, input: Any, mat: Any, vec: Any, beta: Any, alpha: Any) -> Any:
    if not level.has(mat) and not level.has(vec):
        return _plus(level, run("_mv", mat, vec), input, 1, beta, alpha).expand(level.size, mat.shape[0])
    return _plus(level, mv(level, mat, vec), input, 1, beta, alpha)


@rule("_addr")
def addr(level: BatchLevel, input: Any, vec1: Any, vec2: Any, beta: Any, alpha: Any) -> Any:
    product = level.full(vec1).unsqueeze(2) * level.full(vec2).unsqueeze(1)
    return _plus(level, product, input, 2, beta, alpha)


@rule("_addbmm")
def addbmm(level: BatchLevel, input: Any, batch1: Any, batch2: Any, beta: Any, alpha: Any) -> Any:
    if not level.has(batch1) and not level.has(batch2):
        product = run("_bmm", batch1, batch2).sum(0)
        return _plus(level, product, input, 2, beta, alpha).expand(level.size, *product.shape)
    return _plus(level, bmm(level, batch1, batch2).sum(1), input, 2, beta, alpha)


@rule("_bilinear_form")
def bilinear_form(level: BatchLevel, input1: Any, weight: Any, input2: Any) -> Any:
    """input1[n] @ weight[o] @ input2[n]: if all samples share one weight, they are merged into n."""
    if not level.has(weight):
        first, second = (level.full(t).reshape(-1, t.shape[1]) for t in (input1, input2))
        out = run("_bilinear_form", first, weight, second)
        return out.reshape(level.size, input1.shape[0], weight.shape[0])
    o, i, j = weight.shape
    columns = weight._value.transpose(1, 2).reshape(level.size, i, o * j)
    half = level.full(input1).matmul(columns).reshape(level.size, -1, o, j)
    return half.matmul(level.full(input2).unsqueeze(-1)).squeeze(-1)


@rule("_dist")
def dist(level: BatchLevel, input: Any, other: Any, p: Any) -> Any:
    """The norm of the difference, over all elements of a sample."""
    apart = input - other
    return apart.norm(p, tuple(range(apart.dim())))._value if apart.dim() else apart.abs()._value


# ----- Matrix products ------------------------------------------------------------------------------------------------

# Results are contiguous, like those of the ops on samples, because they may be viewed later.


@rule("_mm")
def mm(level: BatchLevel, input: Any, mat2: Any) -> Any:
    if level.has(input) and not level.has(mat2):
        return _tall(input._value, mat2)
    return run("_bmm", level.full(input), level.full(mat2))


def _tall(value: Any, mat2: Any) -> Any:
    """Matrices times one matrix, as a single product of all rows."""
    b, n, k = value.shape
    return run("_mm", value.reshape(b * n, k), mat2).reshape(b, n, mat2.shape[1])


@rule("_bmm")
def bmm(level: BatchLevel, input: Any, mat2: Any) -> Any:
    size = level.size
    b, n, _ = input.shape
    k, p = mat2.shape[1:]
    if level.has(input) and not level.has(mat2):
        rows = input._value.permute(1, 0, 2, 3).reshape(b, size * n, k)
        return run("_bmm", rows, mat2).reshape(b, size, n, p).permute(1, 0, 2, 3).contiguous()
    if level.has(mat2) and not level.has(input):
        columns = mat2._value.permute(1, 2, 0, 3).reshape(b, k, size * p)
        return run("_bmm", input, columns).reshape(b, n, size, p).permute(2, 0, 1, 3).contiguous()
    left, right = input._value.reshape(size * b, n, k), mat2._value.reshape(size * b, k, p)
    return run("_bmm", left, right).reshape(size, b, n, p)


@rule("_mv")
def mv(level: BatchLevel, input: Any, vec: Any) -> Any:
    if not level.has(input):
        return run("_mm", vec._value, input.t())
    n, k = input.shape
    if not level.has(vec):
        return run("_mv", input._value.reshape(level.size * n, k), vec).reshape(level.size, n)
    return run("_bmm", input._value, vec._value.unsqueeze(2)).squeeze(2)


@rule("_dot")
def dot(level: BatchLevel, input: Any, tensor: Any) -> Any:
    if not level.has(input):
        input, tensor = tensor, input
    if not level.has(tensor):
        return run("_mv", input._value, tensor)
    return run("_bmm", input._value.unsqueeze(1), tensor._value.unsqueeze(2)).reshape(level.size)


def _scaled(x: Any, factor: Any) -> Any:
    return x if factor == 1 else x * factor


def _plus(level: BatchLevel, product: Any, input: Any, ndim: int, beta: Any, alpha: Any) -> Any:
    """`beta * input + alpha * product`, with a batched product."""
    product = _scaled(product, alpha)
    if beta == 0:
        return product
    return product + _scaled(insert_dims(level, input, ndim) if level.has(input) else input, beta)


@rule("_addmm")
def addmm(level: BatchLevel, input: Any, mat1: Any, mat2: Any, beta: Any, alpha: Any) -> Any:
    size = level.size
    if level.has(mat1) and level.has(mat2):
        added = insert_dims(level, input, 2) if level.has(input) else input
        return run("_baddbmm", added, mat1._value, mat2._value, beta, alpha)
    if level.has(mat1) and not level.has(input) and input.dim() < 2:
        n, k = mat1.shape
        return run("_addmm", input, mat1._value.reshape(size * n, k), mat2, beta, alpha).reshape(size, n, mat2.shape[1])
    if not level.has(mat1) and not level.has(mat2):
        return _plus(level, run("_mm", mat1, mat2), input, 2, beta, alpha).expand(size, mat1.shape[0], mat2.shape[1])
    return _plus(level, mm(level, mat1, mat2), input, 2, beta, alpha)


@rule("_baddbmm")
def baddbmm(level: BatchLevel, input: Any, mat1: Any, mat2: Any, beta: Any, alpha: Any) -> Any:
    if not level.has(mat1) and not level.has(mat2):
        b, n, p = mat1.shape[0], mat1.shape[1], mat2.shape[2]
        return _plus(level, run("_bmm", mat1, mat2), input, 3, beta, alpha).expand(level.size, b, n, p)
    return _plus(level, bmm(level, mat1, mat2), input, 3, beta, alpha)
