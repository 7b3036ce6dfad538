"""Matrix products: mm, bmm, mv, dot, matmul, outer products. addmm.py has the forms with an added term."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import dtypes
from ...autograd.modes import NAMESPACE, is_grad_enabled
from ...autograd.node import NO_EDGE
from ...autograd.views import bump, history_first
from ...kernels.lazy import lazy_import
from ...kernels.linalg.strategies import BLAS_THREADS_FROM
from ...tensor import Tensor, wrap
from ..machinery import dispatch
from ..machinery.arguments import broadcast_shape
from ..machinery.array_namespace import both, graph
from ..machinery.declare import OPS, bilinear, install_method, method, warning_free
from ..machinery.guards import c_name, need_one_dtype, not_implemented, unrecorded
from ..machinery.op import traits
from ..shape.views import _expand, _unsafe_view, _view

__all__ = ["bmm", "dot", "ger", "matmul", "mm", "mv", "outer"]


def geometry(*names: str) -> dict[str, Any]:
    """The sizes and strides that nodes show of a product's saved factors; None for a factor that was not saved."""

    def reader(name: str, what: str) -> Any:
        def read(node: Any) -> Any:
            value = getattr(node, "_saved_" + name)
            return None if value is None else tuple(getattr(value, what)())

        return property(read)

    return {
        f"{n}_sym_{end}": reader(n, what) for n in names for end, what in (("sizes", "size"), ("strides", "stride"))
    }


# ----- Products -------------------------------------------------------------------------------------------------------


def _adjoint_array(x: Any) -> Any:
    if x.dtype.kind == "c":
        x = x.conj()
    return x.T if x.ndim == 2 else x.swapaxes(-1, -2)


def _adjoint_graph(x: Any) -> Any:
    transposed = x.transpose(-2, -1)
    return transposed.conj() if x.is_complex() else transposed


# The conjugate transpose of the last two dimensions; for real arrays, a transposed view.
both("adjoint", _adjoint_array, _adjoint_graph)

_blas = lazy_import(globals(), "_blas", "...kernels.linalg.blas")
_FLOAT32 = dtypes.float32.np
_MOST_SMALL = 1 << 16  # multiplications


@warning_free
def _matmul_array(a: Any, b: Any) -> Any:
    """np.matmul; 16-bit floats are multiplied as float32 and rounded once."""
    dtype = a.dtype
    if a.ndim == b.ndim > 1 and (dtype is _FLOAT32 or (dtype.kind == "f" and dtype.itemsize == 8)):
        if a.size * b.shape[-1] >= BLAS_THREADS_FROM:
            return _blas.multiply(a, b)
        # `dot` treats a 1 x 1 matrix as a scalar, and does not multiply its zero with NaN.
        if a.ndim == 2 and a.size != 1 != b.size:
            return a.dot(b)  # the same BLAS call with half the overhead
    elif a.ndim == b.ndim == 2 and dtype.kind == "c" and a.size != 1 != b.size:
        return a.dot(b)
    if dtype.itemsize < 4 and dtype.kind not in "iu":
        if dtype.kind == "b":
            names = {(1, 1): "dot", (2, 1): "addmv_impl_cpu", (2, 2): "addmm_impl_cpu_"}
            raise not_implemented(names.get((a.ndim, b.ndim), "bmm"), dtype)
        return _matmul_array(a.astype(_FLOAT32), b.astype(_FLOAT32)).astype(dtype)
    return np.matmul(a, b)


# Note [Products laid out like the factor]
# A weight often enters a product transposed, x @ W.T, and its gradient is transposed back. That gradient is computed in the layout of the
# factor (column-major), as in PyTorch, so that the transpose is contiguous and needs no copy.
def _by_columns(grad: Any, strides: tuple[int, ...], rows: int) -> bool:
    """Whether a factor with these strides and this many rows, whose gradient is needed, is a transposed contiguous matrix."""
    return strides[0] == grad.itemsize and strides[1] == strides[0] * rows


def _left_array(grad: Any, other: Any, strides: tuple[int, ...]) -> Any:
    """The gradient of the left factor: grad @ other^H, in the layout given by the factor's strides."""
    other = other.T if other.dtype is _FLOAT32 else _adjoint_array(other)
    if _by_columns(grad, strides, len(grad)):
        return _matmul_array(other.T, grad.T).T
    return _matmul_array(grad, other)


def _right_array(grad: Any, other: Any, strides: tuple[int, ...]) -> Any:
    """The gradient of the right factor: other^H @ grad, in the layout given by the factor's strides."""
    other = other.T if other.dtype is _FLOAT32 else _adjoint_array(other)
    if _by_columns(grad, strides, len(other)):
        return _matmul_array(grad.T, other.T).T
    return _matmul_array(other, grad)


def _left_graph(grad: Any, other: Any, strides: tuple[int, ...]) -> Any:
    if _by_columns(grad, strides, len(grad)):
        return graph._mm(graph.conj(other), grad.t()).t()
    return graph._mm(grad, graph.conj(other.t()))


def _right_graph(grad: Any, other: Any, strides: tuple[int, ...]) -> Any:
    if _by_columns(grad, strides, other.shape[1]):
        return graph._mm(grad.t(), graph.conj(other)).t()
    return graph._mm(graph.conj(other.t()), grad)


both("left_factor", _left_array, _left_graph)
both("right_factor", _right_array, _right_graph)


@bilinear(_matmul_array, node="MmBackward0",
          input=lambda grad, mat2, input_strides, xp: xp.left_factor(grad, mat2, input_strides),
          mat2=lambda grad, input, mat2_strides, xp: xp.right_factor(grad, input, mat2_strides))  # fmt: skip
@traits(shows=geometry("self", "mat2"))
def _mm(input: Tensor, mat2: Tensor) -> Tensor: ...


@bilinear(_matmul_array, node="BmmBackward0",
          input=lambda grad, mat2, xp: xp._bmm(grad, xp.adjoint(mat2)),
          mat2=lambda grad, input, xp: xp._bmm(xp.adjoint(input), grad))  # fmt: skip
def _bmm(input: Tensor, mat2: Tensor) -> Tensor: ...


@bilinear(_matmul_array, node="MvBackward0",
          input=lambda grad, vec, xp: xp._outer(grad, xp.conj(vec)),
          vec=lambda grad, input, xp: xp._mv(xp._t(xp.conj(input)), grad))  # fmt: skip
def _mv(input: Tensor, vec: Tensor) -> Tensor: ...


@bilinear(_matmul_array, node="DotBackward0",
          input=lambda grad, tensor, xp: grad * xp.conj(tensor),
          tensor=lambda grad, input, xp: grad * xp.conj(input))  # fmt: skip
def _dot(input: Tensor, tensor: Tensor) -> Tensor: ...


both("_outer", np.multiply.outer, lambda a, b: a.view(-1, 1) * b)


def _match(a: Tensor, b: Tensor) -> bool:
    """Whether these are two matrices of one dtype that can be multiplied."""
    left, right = a._array, b._array
    return left.ndim == 2 == right.ndim and left.dtype is right.dtype and left.shape[1] == right.shape[0]


@method
def mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of two matrices.

    >>> torch.mm(torch.ones(2, 3), torch.ones(3, 1))
    tensor([[3.],
            [3.]])
    """
    if out is None and (not NAMESPACE["SLOW"] or dispatch.unwatched()) and _match(input, mat2):
        return _mm(input, mat2)
    if input.dim() != 2:
        raise RuntimeError("self must be a matrix")
    if mat2.dim() != 2:
        raise RuntimeError("mat2 must be a matrix")
    check_sizes(input, mat2)
    if input.dtype is not mat2.dtype and not dispatch.dispatches(input, mat2):
        kinds = c_name(input.dtype), c_name(mat2.dtype)
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {kinds[0]} != {kinds[1]}")
    return _mm(input, mat2, out=out)


def check_sizes(mat1: Tensor, mat2: Tensor) -> None:
    """Refuse matrices that cannot be multiplied."""
    (n, k), (m, p) = mat1._array.shape, mat2._array.shape
    if k != m and not dispatch.dispatches(mat1, mat2):
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({n}x{k} and {m}x{p})")


@method
def bmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Products of two batches of matrices.

    >>> torch.bmm(torch.ones(2, 1, 3), torch.ones(2, 3, 1)).flatten()
    tensor([3., 3.])
    """
    check_batches(input, mat2)
    need_one_dtype(input, mat2)
    return _bmm(input, mat2, out=out)


def need_batch(name: str, batch: Tensor) -> None:
    if batch._array.ndim != 3:
        raise RuntimeError(f"{name} must be a 3D tensor")


def check_batches(batch1: Tensor, batch2: Tensor) -> None:
    """Refuse batches of matrices that cannot be multiplied."""
    need_batch("batch1", batch1)
    need_batch("batch2", batch2)
    (b, _, k), (c, m, _) = batch1._array.shape, batch2._array.shape
    if b != c or k != m:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{b}, {k}] but got: [{c}, {m}]."
        )


@method
def mv(input: Tensor, vec: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A matrix times a vector.

    >>> torch.mv(torch.ones(2, 3), torch.ones(3))
    tensor([3., 3.])
    """
    check_vector_product(input._array.shape[:1] or (0,), vec.dtype, input, vec)
    return _mv(input, vec, out=out)


def check_vector_product(shape: tuple[int, ...], dtype: dtypes.dtype, mat: Tensor, vec: Tensor) -> None:
    """Refuse a matrix and a vector whose product cannot be added to a tensor of this shape and dtype."""
    factors, size = mat._array.shape, vec._array.shape
    if len(factors) != 2 or len(size) != 1 or len(shape) > 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {len(shape)}, {len(factors)}, {len(size)}")
    rows, columns = factors
    count = shape[0] if shape else 1
    if columns != size[0] or count not in (1, rows):
        raise RuntimeError(f"size mismatch, got input ({count}), mat ({rows}x{columns}), vec ({size[0]})")
    if not dtype is mat.dtype is vec.dtype:
        kinds = [dtypes.LEGACY[kind] for kind in (dtype, mat.dtype, vec.dtype)]
        raise RuntimeError(
            f"addmv input tensors must have the same dtype, but got {kinds[0]}, {kinds[1]}, and {kinds[2]}"
        )


@method
def dot(input: Tensor, tensor: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The scalar product of two vectors.

    >>> torch.dot(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))
    tensor(11.)
    """
    check_vectors(input, tensor)
    return _dot(input, tensor, out=out)


def check_vectors(a: Tensor, b: Tensor) -> None:
    """Refuse vectors that have no scalar product."""
    left, right = a._array.shape, b._array.shape
    if len(left) != 1 or len(right) != 1:
        raise RuntimeError(f"1D tensors expected, but got {len(left)}D and {len(right)}D tensors")
    if a.dtype is not b.dtype:
        kinds = dtypes.LEGACY[a.dtype], dtypes.LEGACY[b.dtype]
        raise RuntimeError(f"dot : expected both vectors to have same dtype, but found {kinds[0]} and {kinds[1]}")
    if left != right:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor {list(left)} and src {list(right)} to have the same number of elements, but "
            f"got {left[0]} and {right[0]} elements respectively"
        )


@method
def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The matrix product, with NumPy's rules of `@` for vectors and batches.

    >>> torch.matmul(torch.ones(2, 3), torch.ones(3))
    tensor([3., 3.])
    """
    result = _matmul(input, other)
    if out is None:
        return result
    return dispatch.write_out(OPS["_mm"], {"input": input, "mat2": other}, result._array, out)


def _matmul(a: Tensor, b: Tensor) -> Tensor:
    try:
        return _by_dims(a, b)
    except RuntimeError:
        history_first(a, b)  # PyTorch reports invalid histories before shape errors
        raise


def _by_dims(a: Tensor, b: Tensor) -> Tensor:
    da, db = a.dim(), b.dim()
    if da == 2 and db == 2:
        return mm(a, b)
    if da == 0 or db == 0:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {da}D and {db}D")
    if da == 1 and db == 1:
        return dot(a, b)
    if da == 2 and db == 1:
        return mv(a, b)
    # The layout of a folded product depends on `requires_grad`, even if nothing is recorded.
    if _plain(a, b) and not (da < db > 2 and a.requires_grad):
        try:
            product = wrap(NAMESPACE["call"](_small_product, (a._array, b._array)))
            if da == 1 and db == 2:
                bump(product)  # as `squeeze_` below does
            return product
        except ValueError:
            pass  # explained below
    if da == 1 and db == 2:
        return mm(a.unsqueeze(0), b).squeeze_(0)
    return _folded(a, b) if _should_fold(a, b) else _batched(a, b)


@warning_free
def _small_product(x: Any, y: Any) -> Any:
    """np.matmul; a batch times one matrix or vector is computed as one tall matrix."""
    if x.ndim > 2 >= y.ndim and x.flags.c_contiguous and x.size != 1 != y.size:
        *lead, k = x.shape
        return x.reshape(math.prod(lead), k).dot(y).reshape((*lead, *y.shape[1:]))
    return np.matmul(x, y)


def _plain(a: Tensor, b: Tensor) -> bool:
    """Whether nothing is recorded and small arrays can be multiplied directly."""
    x, y = a._array, b._array
    if x.dtype is not y.dtype or x.dtype.char not in "fdFD" or x.size > _SMALL or y.size > _SMALL or NAMESPACE["SLOW"]:
        return False
    return not is_grad_enabled() or getattr(a, "_edge", None) is NO_EDGE is getattr(b, "_edge", None)


_SMALL = 4096  # elements; for larger ones the algorithm matters


def _should_fold(a: Tensor, b: Tensor) -> bool:
    """Whether a batch times one matrix is computed as one tall matrix: to keep the matrix's gradient small, or because it is free."""
    larger, smaller = (a, b) if a.dim() >= b.dim() else (b, a)
    if larger.dim() < 3 or smaller.dim() > 2:
        return False
    if smaller.requires_grad:
        return True
    if a.dim() == 2:
        return False
    t = a if larger is a else b.mT
    shape, stride = t.shape, t.stride()
    return t.numel() == 0 or all(stride[i] == stride[i + 1] * shape[i + 1] for i in range(t.dim() - 2))


def _folded(a: Tensor, b: Tensor) -> Tensor:
    """A batch times one matrix or vector, in either order: the batch becomes one tall matrix."""
    swapped = b.dim() > a.dim()
    batch = b.mT if swapped else a
    single = b if not swapped else a.t() if a.dim() == 2 else a
    *lead, k = batch.shape
    tall = batch.reshape(math.prod(lead), k)
    if single.dim() == 1:
        return _unsafe_view(mv(tall, single), tuple(lead))
    product = _unsafe_view(mm(tall, single), (*lead, single.shape[1]))
    return product.mT.contiguous() if swapped else product


def _alike(x: Any, y: Any) -> bool:
    """Whether two arrays are batches of matrices that can be multiplied directly."""
    same = x.dtype is y.dtype and x.dtype.kind in "fc" and x.ndim == y.ndim and not NAMESPACE["SLOW"]
    return same and x.shape[:-2] == y.shape[:-2] and x.shape[-1] == y.shape[-2]


def _batched_alike(a: Tensor, b: Tensor) -> Tensor:
    """`_batched` for batches of one shape: the same ops, without checks."""
    x, y = a._array, b._array
    *batch, n, k = x.shape
    p, count = y.shape[-1], math.prod(batch)
    left, right = _expand(a, x.shape), _expand(b, y.shape)
    left = _view(left, (count, n, k)) if x.flags.c_contiguous else left.reshape(count, n, k)
    right = _view(right, (count, k, p)) if y.flags.c_contiguous else right.reshape(count, k, p)
    return _unsafe_view(_bmm(left, right), (*batch, n, p))


def _batched(a: Tensor, b: Tensor) -> Tensor:
    if _alike(a._array, b._array):
        if not is_grad_enabled() or getattr(a, "_edge", None) is NO_EDGE is getattr(b, "_edge", None):
            return wrap(_matmul_array(a._array, b._array))
        return _batched_alike(a, b)
    if a.dim() == 3 and b.dim() == 3 and a.shape[0] != b.shape[0]:
        if a.shape[0] == 1 and a.requires_grad:
            return _matmul(a.squeeze(0), b)
        if b.shape[0] == 1 and b.requires_grad:
            return _matmul(a, b.squeeze(0))
    n, k = (a.shape[-2] if a.dim() > 1 else 1), a.shape[-1]
    m, p = (b.shape[-2] if b.dim() > 1 else b.shape[0]), b.shape[-1]
    batch = broadcast_shape(tuple(a.shape[:-2]), tuple(b.shape[:-2]))
    count = math.prod(batch)
    left = a.expand(*batch, n, k).reshape(count, n, k)
    if b.dim() == 1:
        right = b.expand(*batch, m).reshape(count, m).unsqueeze(2)
        return _unsafe_view(bmm(left, right).squeeze(-1), (*batch, *([n] if a.dim() > 1 else [])))
    right = b.expand(*batch, m, p).reshape(count, m, p)
    return _unsafe_view(bmm(left, right), (*batch, *([n] if a.dim() > 1 else []), p))


setattr(Tensor, "__matmul__", lambda self, other: _matmul(self, other) if isinstance(other, Tensor) else NotImplemented)
setattr(Tensor, "__rmatmul__", lambda self, other: matmul(other, self) if isinstance(other, Tensor) else NotImplemented)


@method
def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The outer product: all products of elements of two vectors.

    >>> torch.outer(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))
    tensor([[3., 4.],
            [6., 8.]])
    """
    for name, vector in (("self", input), ("vec2", vec2)):
        if vector.dim() != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {vector.dim()}-D")
    column = wrap(input._array[:, None]) if unrecorded((input, vec2)) else input.view(-1, 1)
    return OPS["mul"].function(column, vec2, out=out)


ger = outer
install_method("ger", outer)
