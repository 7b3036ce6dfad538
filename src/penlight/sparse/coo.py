"""Sparse COO tensors, with the functions that programs commonly use.

# Note [Sparse tensors]
A sparse tensor is a pair of dense tensors, indices and values; gradients flow through the values. It overrides the library's functions
(Note [Overridden functions] in _torch_function.py), so that no code on the hot path handles it: functions in the table below run, others
raise an error that names `to_dense()`.

PyTorch's gradient of a sparse tensor is dense after most functions (a product, a sum of all elements): after `x.to_sparse() @ w` the zeros
of `x` have a gradient too. So a sparse tensor that was converted from a dense one that requires grad also keeps a dense copy, its twin in
`_twin`. Each function of the sparse tensor is also computed on the twin, and a dense result gets the graph of the twin's result. Through
the functions in `_MASKED` only stored elements get a gradient; those of torch.sparse use the graph of the values.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from copy import copy
from importlib import import_module
from typing import Any, NoReturn

import numpy as np

import penlight

from .. import dtypes
from .._common.dims import wrap_existing_dim
from .._torch_function import WrappingTensor
from ..autograd import modes
from ..autograd.function import Function
from ..layout import sparse_coo
from ..ops.machinery.guards import refuse_tangents
from ..ops.shape.views import _sparse_from_values
from ..size import Size
from ..tensor import Tensor, wrap

TABLE: dict[str, Callable[..., Any]] = {}


class SparseTensor(WrappingTensor):
    """A tensor with the coordinates and values of its nonzero elements, made by `torch.sparse_coo_tensor`.

    >>> s = torch.sparse_coo_tensor([[0, 1], [1, 0]], [2.0, 3.0], (2, 2))
    >>> s @ torch.ones(2, 1)
    tensor([[2.],
            [3.]])
    """

    __slots__ = ("_coalesced", "_coordinates", "_size", "_twin")

    _coordinates: Tensor
    _size: Size
    _coalesced: bool
    _twin: Tensor | None

    is_sparse = True
    layout = sparse_coo

    def __new__(cls, indices: Tensor, values: Tensor, size: Any, coalesced: bool = False) -> Any:
        made: Any = super().__new__(cls, values, _coordinates=indices, _size=Size(size), _twin=None)
        made._coalesced = coalesced or len(values) < 2
        return made

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name, kwargs = getattr(func, "__name__", str(func)), kwargs or {}
        if name in _INTO_DENSE and not isinstance(args[0], SparseTensor) and _has_twin(args):
            return func(*_twins(args), **kwargs)
        return _with_twin(cls._run(func, name, types, args, kwargs), func, name, args, kwargs)

    @classmethod
    def _run(cls, func: Any, name: str, types: Any, args: Any, kwargs: Any) -> Any:
        if name in TABLE:
            return TABLE[name](*args, **kwargs)
        if func == Tensor.grad.__set__:  # type: ignore[attr-defined]  # of a dense or a sparse leaf
            with penlight.overrides.DisableTorchFunctionSubclass():
                return func(*args)
        return refuse(name)

    @property
    def _array(self) -> NoReturn:  # type: ignore[override]
        raise NotImplementedError(
            "This function supports dense tensors only, and was given a sparse one. Use Tensor.to_dense() first."
        )

    shape = property(lambda self: self._size)
    H = property(lambda self: self.t().conj())
    mH = property(lambda self: self.transpose(-2, -1).conj())

    @property  # type: ignore[misc]
    def grad(self) -> Any:
        grad = self._inner.grad
        return None if grad is None else SparseTensor(self._coordinates, grad, self._size)

    def _coalesced_(self, coalesced: bool) -> Any:
        """Set whether the indices are sorted and unique, without a check."""
        self._coalesced = coalesced
        return self

    def __repr__(self, **_: Any) -> str:  # type: ignore[override]
        return _to_string(self)

    def _set_contents(self, made: Any) -> None:
        self._coordinates, self._inner = made._coordinates, made._inner
        self._size, self._coalesced = made._size, made._coalesced

    def _dimI(self) -> int:
        return self._coordinates.shape[0]

    def _dimV(self) -> int:
        return self._inner.dim() - 1

    def __iter__(self) -> Any:
        return iter(self.unbind())

    def __reduce_ex__(self, protocol: Any) -> Any:
        parts = (self._coordinates, self._inner.detach(), self._size, self._coalesced)
        return penlight._utils._rebuild_sparse_tensor, (self.layout, parts)

    def __copy__(self) -> Any:
        return SparseTensor(self._coordinates, self._inner, self._size, self._coalesced)


# Functions that give no gradient to elements that are not stored; that keep the twin; that can also write to a dense tensor.
_MASKED = {"values", "to_dense", "sparse_mask", "sparse_resize_", "resize_as_"}
_KEEPS_TWIN = {"coalesce", "to_sparse", "to_sparse_coo", "to_sparse_csr", "to_sparse_csc"}
_INTO_DENSE = {"add_", "sub_", "mul_"}


def _writes(name: str) -> bool:
    return name.endswith("_") and not name.endswith("__")


def _has_twin(args: Any) -> bool:
    return any(
        _has_twin(a) if type(a) in (list, tuple) else isinstance(a, SparseTensor) and a._twin is not None for a in args
    )


def _twins(args: Any) -> list[Any]:
    """Replace sparse tensors among the arguments by their twins, or by dense copies."""
    return [
        type(a)(_twins(a)) if type(a) in (list, tuple) else a if not isinstance(a, SparseTensor)
        else a.to_dense() if a._twin is None else a._twin
        for a in args
    ]  # fmt: skip


def _with_twin(result: Any, func: Any, name: str, args: Any, kwargs: Any) -> Any:
    """Add the twin to the result of a function: the result of the same function of the twins. See Note [Sparse tensors]."""
    if not isinstance(result, Tensor) or not _has_twin(args):
        return result
    if not result.requires_grad:
        twin = None
    elif name in _KEEPS_TWIN:
        twin = args[0]._twin
    elif name in _MASKED:
        twin = _at_elements(args[0], name, result, kwargs)
    else:
        twins = _twins(args)
        twin = func(twins[0].clone(), *twins[1:], **kwargs) if _writes(name) else func(*twins, **kwargs)
    if isinstance(result, SparseTensor):
        result._twin = twin
    elif twin is not None:
        np.copyto(twin._array, result._array)  # in a sparse product, zero times infinity is not NaN
        return twin
    return result


def _at_elements(s: Any, name: str, result: Tensor, kwargs: Any) -> Any:
    """The result of a function in `_MASKED` from the twin, through which only stored elements get a gradient; None for other functions."""
    if name == "values":
        return s._twin[tuple(s._coordinates)]
    if name != "to_dense":
        return None
    twin = s._twin.to(result.dtype)
    if kwargs.get("masked_grad") is False:
        return twin.clone()
    sparse = len(s._coordinates)
    stored = np.zeros((*s._size[:sparse], *[1] * (len(s._size) - sparse)), bool)
    stored[tuple(s._coordinates._array)] = True
    return penlight.where(wrap(stored), twin, 0)


def masked(tensor: Any) -> Any:
    """A sparse tensor without its twin, so that only stored elements get a gradient; dense tensors are returned unchanged."""
    return copy(tensor) if isinstance(tensor, SparseTensor) else tensor


def refuse(name: str) -> NoReturn:
    raise NotImplementedError(
        f"Could not run 'aten::{name}' with arguments from the 'SparseCPU' backend: Penlight's sparse tensors do not support it. "
        "Use Tensor.to_dense() first."
    )


def _to_string(s: SparseTensor) -> str:
    def part(label: str, tensor: Tensor, indent: int) -> str:
        text = repr(tensor) if tensor.numel() else f"tensor([], size={tuple(tensor.shape)})"
        return label + text.replace("\n", "\n" + " " * indent)

    lines = [
        "tensor(" + part("indices=", s._coordinates, 15) + ",",
        "       " + part("values=", s._inner.detach(), 14) + ",",
    ]
    words = [f"size={tuple(s._size)}", f"nnz={s._inner.shape[0]}"]
    if s.dtype not in (dtypes.get_default_dtype(), dtypes.int64, dtypes.bool_):
        words.append(f"dtype={s.dtype}")
    words.append("layout=torch.sparse_coo")
    last = "       " + ", ".join(words)
    if s.requires_grad:
        more = graph_text(s)
        last += (",\n       " if len(last) + len(more) + 3 > 80 else ", ") + more
    return "\n".join([*lines, last + ")"])


def graph_text(s: SparseTensor) -> str:
    """The part of the repr of a tensor that requires grad."""
    return "requires_grad=True" if s.grad_fn is None else f"grad_fn=<{s.grad_fn.name()}>"


# ----- Constructors ---------------------------------------------------------------------------------------------------


def sparse_coo_tensor(
    indices: Any = None, values: Any = None, size: Any = None, *, dtype: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False, check_invariants: bool | None = None, is_coalesced: bool | None = None,
) -> Any:  # fmt: skip
    """A sparse tensor with these values at these coordinates, the columns of `indices`; values at equal coordinates are added.

    >>> torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3)).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 5.]])
    """
    if values is None and (indices is not None or size is not None):
        size = size if size is not None else indices
        indices, values = penlight.empty(len(size), 0, dtype=dtypes.int64), penlight.empty(0, dtype=dtype)
    if values is None:
        raise TypeError(
            "sparse_coo_tensor() received an invalid combination of arguments - got (), but expected indices and values"
        )
    coordinates = penlight.as_tensor(indices, device=device).long()
    vals = penlight.as_tensor(values, dtype=dtype, device=device)
    if coordinates.dim() != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(coordinates.shape)}")
    vals = vals.reshape(1) if vals.dim() == 0 else vals
    if vals.shape[0] != coordinates.shape[1]:
        raise RuntimeError(
            f"indices and values must have same nnz, but got nnz from indices: {coordinates.shape[1]}, nnz from values: {vals.shape[0]}"
        )
    if size is None:
        size = [int(n) + 1 for n in coordinates._array.max(1)] if coordinates.shape[1] else [0] * coordinates.shape[0]
        size = [*size, *vals.shape[1:]]
    _check_coordinates(coordinates, size, vals)
    if is_coalesced and len(vals) > 1 and (np.diff(_flat_index(coordinates, size)) <= 0).any():
        raise RuntimeError("cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor")
    vals = _sparse_from_values(vals) if vals.requires_grad and not requires_grad else vals
    made: Any = SparseTensor(coordinates, vals, size, bool(is_coalesced))
    return requires_grad_(made) if requires_grad else made


def _check_coordinates(coordinates: Tensor, size: Any, vals: Tensor) -> None:
    if len(size) != coordinates.shape[0] + vals.dim() - 1:
        raise RuntimeError(
            f"number of dimensions must be sparse_dim ({coordinates.shape[0]}) + dense_dim ({vals.dim() - 1}), but got {len(size)}"
        )
    if not coordinates.numel():
        return
    low, high = coordinates._array.min(1), coordinates._array.max(1)
    for d, n in enumerate(size[: coordinates.shape[0]]):
        if low[d] < 0:
            raise RuntimeError(f"found negative index {low[d]} for dim {d}")
        if high[d] >= n:
            raise RuntimeError(f"size is inconsistent with indices: for dim {d}, size is {n} but found index {high[d]}")


def from_dense(input: Tensor, sparse_dim: int | None = None, **_: Any) -> Any:
    """Convert a dense tensor to a sparse one with its nonzero elements."""
    if isinstance(input, SparseTensor):
        return input
    refuse_tangents("_to_sparse", input)
    dims = input.dim() if sparse_dim is None else sparse_dim
    array = input._array
    kept = array != 0 if dims == array.ndim else (array != 0).any(axis=tuple(range(dims, array.ndim)))
    if not dims:
        return SparseTensor(wrap(np.zeros((0, 1), np.int64)), input.unsqueeze(0), input.shape, True)
    coordinates = wrap(np.stack(np.nonzero(kept)))
    made: Any = SparseTensor(coordinates, input[tuple(coordinates)], input.shape, True)
    if made.requires_grad:
        made._twin = input.clone()
    return made


# ----- The table --------------------------------------------------------------------------------------------------------


def function(*names: str) -> Callable[[Any], Any]:
    """Register a function in the table, under its name or these names."""

    def enter(made: Any) -> Any:
        for name in names or (made.__name__,):
            TABLE[name] = made
        return made

    return enter


def _flat(s: SparseTensor) -> np.ndarray[Any, Any]:
    """The coordinates as indices into the flattened sparse dimensions."""
    return _flat_index(s._coordinates, s._size)


def _flat_index(coordinates: Tensor, size: Any) -> np.ndarray[Any, Any]:
    if not coordinates.numel():
        return np.zeros(coordinates.shape[1], np.int64)
    return np.ravel_multi_index(tuple(coordinates._array), tuple(size[: len(coordinates)]))


def _with(s: SparseTensor, values: Tensor) -> Any:
    """The same coordinates with these values."""
    return s if values is s._inner else SparseTensor(s._coordinates, values, s._size, s._coalesced)


def write(s: SparseTensor, made: Any) -> Any:
    """Write the contents of another sparse tensor to this one, in place."""
    if s.requires_grad and s.is_leaf and penlight.is_grad_enabled():
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
    s._set_contents(made)
    return s


@function()
def to_dense(s: SparseTensor, dtype: Any = None, *, masked_grad: Any = None) -> Tensor:
    dims = s._coordinates.shape[0]
    rows = int(np.prod(s._size[:dims], dtype=np.int64))
    values = s._inner if dtype is None else s._inner.to(dtype)
    empty = penlight.zeros((rows, *values.shape[1:]), dtype=values.dtype)
    return empty.index_add(0, wrap(_flat(s)), values).view(tuple(s._size))


@function()
def coalesce(s: SparseTensor) -> Any:
    if s._coalesced:
        return s
    dims = s._coordinates.shape[0]
    flat, inverse = np.unique(_flat(s), return_inverse=True)
    coordinates = (
        np.stack(np.unravel_index(flat, tuple(s._size[:dims]))).astype(np.int64)
        if dims
        else s._coordinates._array[:, :1]
    )
    empty = penlight.zeros((flat.size, *s._inner.shape[1:]), dtype=s._inner.dtype)
    return SparseTensor(wrap(coordinates), empty.index_add(0, wrap(inverse.reshape(-1)), s._inner), s._size, True)


@function()
def indices(s: SparseTensor) -> Tensor:
    if not s._coalesced:
        raise RuntimeError("Cannot get indices on an uncoalesced tensor, please call .coalesce() first")
    return s._coordinates


@function()
def values(s: SparseTensor) -> Tensor:
    if not s._coalesced:
        raise RuntimeError("Cannot get values on an uncoalesced tensor, please call .coalesce() first")
    return s._inner


TABLE |= {
    "_indices": lambda s: s._coordinates,
    "_values": lambda s: s._inner.detach(),
    "_nnz": lambda s: s._inner.shape[0],
    "is_coalesced": lambda s: s._coalesced,
    "sparse_dim": lambda s: s._coordinates.shape[0],
    "dense_dim": lambda s: s._inner.dim() - 1,
    "dim": lambda s: len(s._size),
    "ndimension": lambda s: len(s._size),
    "numel": lambda s: s._size.numel(),
    "nelement": lambda s: s._size.numel(),
    "size": lambda s, dim=None: s._size if dim is None else s._size[dim],
    "is_floating_point": lambda s: s.dtype.is_floating_point,
    "is_complex": lambda s: s.dtype.is_complex,
    "element_size": lambda s: s._inner.element_size(),
    "get_device": lambda s: s._inner.get_device(),
    "is_inference": lambda s: s._inner.is_inference(),
    "type": lambda s, dtype=None: (
        f"torch.sparse.{dtypes.LEGACY[s.dtype]}Tensor" if dtype is None else _with(s, s._inner.type(dtype))
    ),
    "detach": lambda s: _with(s, s._inner.detach()),
    "clone": lambda s, **_: SparseTensor(s._coordinates.clone(), s._inner.clone(), s._size, s._coalesced),
    "contiguous": lambda s, **_: s,
    "cpu": lambda s, **_: s,
    "to": lambda s, *a, **k: _with(s, s._inner.to(*a, **k)),
    "is_contiguous": lambda s, **_: False,
    "__format__": object.__format__,
    "numpy": lambda s, **_: _raise(
        TypeError("can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.")
    ),
    "__array__": lambda s, *_, **__: _raise(
        TypeError("can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.")
    ),
    "cuda": lambda s, *a, **k: s._inner.cuda(*a, **k),
    "any": lambda s: s._inner.any(),
}


def _raise(error: Exception) -> NoReturn:
    raise error


@function()
def requires_grad_(s: SparseTensor, requires_grad: bool = True) -> Any:
    s._inner = s._inner.detach()._require_grad_(requires_grad)
    return s


TABLE["detach_"] = lambda s: requires_grad_(s, False)
TABLE["_require_grad_"] = requires_grad_
TABLE["zero_"] = lambda s: write(s, SparseTensor(s._coordinates[:, :0], s._inner.detach()[:0], s._size, True))


for _name in ("float", "double", "half", "bfloat16", "int", "long", "bool"):
    TABLE[_name] = lambda s, _name=_name, **_: _with(s, getattr(s._inner, _name)())

# Functions that map 0 to 0: they run on the values of a coalesced tensor. With PyTorch's aliases.
_KEEPS_ZEROS = """abs=absolute sign sgn sqrt sin tan tanh sinh asin=arcsin asinh=arcsinh atan=arctan atanh=arctanh expm1 log1p relu
    floor ceil round trunc=fix erf erfinv square deg2rad rad2deg frac nan_to_num isnan isinf isposinf isneginf signbit"""
# Linear functions, which run on the values even of uncoalesced tensors.
_LINEAR = "neg=negative positive conj conj_physical resolve_conj resolve_neg"


def _on_values(name: str, coalesced: bool) -> None:
    function, alias = (name.split("=") * 2)[:2]

    def on_values(s: SparseTensor, *args: Any, **options: Any) -> Any:
        c = coalesce(s) if coalesced else s
        return _with(c, getattr(c._inner, function)(*args, **options))

    def in_place(s: SparseTensor, *args: Any, **options: Any) -> Any:
        if coalesced and not s._coalesced:
            raise RuntimeError(f"{function}_ requires coalesced input")
        return write(s, on_values(s, *args, **options))

    for called in (function, alias):
        TABLE[called], TABLE[called + "_"] = on_values, in_place


for _names, _of_coalesced in ((_KEEPS_ZEROS, True), (_LINEAR, False)):
    for _name in _names.split():
        _on_values(_name, _of_coalesced)


@function()
def pow(s: Any, exponent: Any) -> Any:
    if not isinstance(s, SparseTensor) or isinstance(exponent, Tensor) or not exponent:
        refuse("pow")
    c = coalesce(s)
    return _with(c, c._inner**exponent)


@function("add")
def _add(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Any:
    if not isinstance(input, SparseTensor):
        return penlight.add(input, other.to_dense(), alpha=alpha)
    if not isinstance(other, SparseTensor):
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    if input._size != other._size:
        raise RuntimeError(
            f"add: expected sizes of 'self' and 'other' to match, but {list(input._size)} != {list(other._size)}"
        )
    added = other._inner if alpha == 1 else other._inner * alpha
    coordinates = penlight.cat([input._coordinates, other._coordinates], 1)
    both = SparseTensor(coordinates, penlight.cat([input._inner, added]), input._size)
    return coalesce(both) if input._coalesced and other._coalesced else both


@function("sub")
def _sub(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Any:
    return _add(input, other, alpha=-alpha)


@function("add_")
def _add_in_place(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """Add a sparse tensor to a dense one in place, as an optimiser does for the rows of an embedding."""
    if isinstance(input, SparseTensor):
        return write(input, _add(input, other, alpha=alpha))
    c = coalesce(other)
    if c._coordinates.shape[0] == 1:
        return input.index_add_(0, c._coordinates[0], c._inner.to(input.dtype), alpha=alpha)
    return input.add_(c.to_dense(), alpha=alpha)


TABLE["sub_"] = lambda input, other, *, alpha=1: _add_in_place(input, other, alpha=-alpha)


@function("mul")
def _mul(input: Any, other: Any, *, out: Any = None) -> Any:
    s, factor = (input, other) if isinstance(input, SparseTensor) else (other, input)
    if isinstance(factor, SparseTensor):
        return _sparse_product(s, factor)
    if not isinstance(factor, Tensor) or factor.dim() == 0:
        return _with(s, s._inner * factor)
    return _with(s, s._inner * factor.expand(tuple(s._size))[tuple(s._coordinates)])


def _sparse_product(one: SparseTensor, other: SparseTensor) -> Any:
    """The elementwise product of two sparse tensors, with the elements that both have."""
    if one._size != other._size or len(one._coordinates) != len(other._coordinates):
        raise RuntimeError(
            "sparse_binary_op_intersection_cpu(): expects sparse inputs with equal dimensionality, number of sparse dimensions, and shape "
            "of sparse dimensions"
        )
    one, other = coalesce(one), coalesce(other)
    _, here, there = np.intersect1d(_flat(one), _flat(other), assume_unique=True, return_indices=True)
    values = one._inner[wrap(here)] * other._inner[wrap(there)]
    return SparseTensor(one._coordinates[:, wrap(here)], values, one._size, True)


@function("div")
def _div(input: Any, other: Any, *, rounding_mode: Any = None, out: Any = None) -> Any:
    if not isinstance(input, SparseTensor) or (isinstance(other, Tensor) and other.dim()):
        refuse("div")
    c = coalesce(input) if rounding_mode else input
    return _with(c, c._inner.div(other, rounding_mode=rounding_mode))


@function("mul_")
def _mul_in_place(input: Any, other: Any) -> Any:
    return write(input, _mul(input, other)) if isinstance(input, SparseTensor) else input.mul_(other.to_dense())


TABLE["div_"] = lambda input, other, **options: write(input, _div(input, other, **options))
TABLE["floor_divide"] = TABLE["__floordiv__"] = lambda input, other: _div(input, other, rounding_mode="floor")


@function("copy_")
def _copy(input: Any, other: Any, non_blocking: bool = False) -> Any:
    if not isinstance(input, SparseTensor) or not isinstance(other, SparseTensor):
        raise RuntimeError(
            "copy_() between dense and sparse Tensors is not implemented! Found self type = "
            f"{input.type()} and src type = {other.type()}"
        )
    if input._size != other._size:
        refuse("copy_")
    return write(input, _with(other, other._inner.to(input.dtype)))


@function("mm", "matmul", "spmm", "smm", "dsmm", "hsmm", "mv", "__matmul__")
def matmul(input: Any, other: Any, *, out: Any = None) -> Any:
    """A matrix product with a sparse operand: for each of its elements, a multiple of a row is added."""
    if not isinstance(input, SparseTensor):
        if input.dim() == 1:
            return matmul(other.t(), input)
        return matmul(other.t(), input.mT).mT
    if len(input._size) != 2:
        raise RuntimeError(f"mat1 must be a matrix, got {len(input._size)}-D tensor")
    rows, columns = input._size
    if isinstance(other, SparseTensor):
        return from_dense(matmul(input, other.to_dense()))
    if other.shape[0] != columns or other.dim() > 2:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({rows}x{columns} and {'x'.join(map(str, other.shape))})"
        )
    row, column = input._coordinates
    if _by_scipy(input._inner, other):
        return _Product.apply(input._inner, other, row, column, rows)
    picked = other.index_select(0, column)
    added = picked * (input._inner if other.dim() == 1 else input._inner.unsqueeze(1))
    return penlight.zeros((rows, *other.shape[1:]), dtype=added.dtype).index_add(0, row, added)


TABLE["__rmatmul__"] = lambda input, other: matmul(other, input)


@function()
def bmm(input: Any, mat2: Any, *, out: Any = None) -> Any:
    """Batched products, as one product of a block diagonal matrix."""
    if not isinstance(input, SparseTensor) or input._inner.dim() != 1 or isinstance(mat2, SparseTensor):
        refuse("bmm")
    batches, rows, columns = input._size
    if tuple(mat2.shape[:2]) != (batches, columns):
        raise RuntimeError(f"bmm: sizes {list(input._size)} and {list(mat2.shape)} do not match")
    batch, row, column = input._coordinates
    blocks = SparseTensor(
        penlight.stack([batch * rows + row, batch * columns + column]),
        input._inner,
        (batches * rows, batches * columns),
    )
    return matmul(blocks, mat2.reshape(batches * columns, -1)).reshape(batches, rows, -1)


def _by_scipy(values: Tensor, other: Tensor) -> bool:
    """Whether SciPy computes a product: five times faster for 200,000 elements and 64 columns, but slower for small products."""
    if (
        values.dtype is not other.dtype
        or values.dtype not in (dtypes.float32, dtypes.float64)
        or modes.NAMESPACE["SLOW"]
    ):
        return False
    work = values.numel() * (other.shape[1] if other.dim() == 2 else 1)
    return work >= 1 << 17 and _scipy_sparse() is not None


@functools.cache
def _scipy_sparse() -> Any:
    """The module scipy.sparse, or None if it cannot be imported."""
    try:
        return import_module("scipy.sparse")
    except ImportError:
        return None


class _Product(Function):
    """A product by SciPy. Its gradient with respect to the dense operand is such a product too, so all derivatives exist."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, other: Tensor, row: Tensor, column: Tensor, rows: int) -> Tensor:
        ctx.save_for_backward(values, other, row, column)
        coordinates = (row._array, column._array)
        matrix = _scipy_sparse().csr_array((values._array, coordinates), (rows, other.shape[0]))
        return wrap(matrix @ other._array)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        values, other, row, column = ctx.saved_tensors
        by_values = by_other = None
        if ctx.needs_input_grad[0]:
            by_values = grad.index_select(0, row) * other.index_select(0, column)
            by_values = by_values.sum(1) if other.dim() == 2 else by_values
        if ctx.needs_input_grad[1]:
            by_other = _Product.apply(values, grad, column, row, other.shape[0])
        return by_values, by_other, None, None, None


@function()
def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Any:
    return beta * input + alpha * matmul(mat1, mat2)


@function()
def linear(input: Any, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    product = matmul(input, weight.t())
    return product if bias is None else product + bias


@function("sum")
def sum_of(s: SparseTensor, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    if dim is None:
        return s._inner.sum(dtype=dtype)
    dims = [d % len(s._size) for d in ((dim,) if isinstance(dim, int) else dim)]
    sparse = s._coordinates.shape[0]
    vals = s._inner.sum([d - sparse + 1 for d in dims if d >= sparse]) if any(d >= sparse for d in dims) else s._inner
    kept = [d for d in range(sparse) if d not in dims]
    if not kept:
        result: Any = vals.sum(0)
    else:
        result = coalesce(SparseTensor(s._coordinates[kept], vals, [n for d, n in enumerate(s._size) if d not in dims]))
    for d in sorted(dims) if keepdim else ():
        result = result.unsqueeze(d)
    return result if dtype is None else result.to(dtype)


@function("norm")
def norm(s: SparseTensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    return coalesce(s)._inner.norm(p) if dim is None else refuse("norm")


TABLE["dist"] = lambda s, other, p=2: norm(s - other, p)


@function("sparse_mask")
def sparse_mask(input: Tensor, mask: Any) -> Any:
    return _with(mask, input.to_dense()[tuple(mask._coordinates)])


@function("softmax", "log_softmax")
def _softmax(*args: Any, **kwargs: Any) -> NoReturn:
    raise NotImplementedError(
        "softmax of a sparse tensor: use torch.sparse.softmax(tensor, dim), or Tensor.to_dense() first."
    )


def softmax(s: SparseTensor, dim: int, logarithm: bool) -> Any:
    """The softmax along a dimension over the stored elements."""
    c = coalesce(s)
    dim, sparse = wrap_existing_dim(dim, len(c._size)), c._coordinates.shape[0]
    if dim >= sparse:
        along = dim - sparse + 1
        return _with(c, c._inner.log_softmax(along) if logarithm else c._inner.softmax(along))
    others = [d for d in range(sparse) if d != dim]
    flat = _flat_index(c._coordinates[others], [c._size[d] for d in others])
    found, inverse = np.unique(flat, return_inverse=True)
    line, shape = wrap(inverse.reshape(-1)), (found.size, *c._inner.shape[1:])
    index = line.reshape(-1, *[1] * (c._inner.dim() - 1)).expand(c._inner.shape)
    top = penlight.full(shape, -np.inf, dtype=c.dtype).scatter_reduce(0, index, c._inner.detach(), "amax")
    shifted = c._inner - top[line]
    total = penlight.zeros(shape, dtype=c.dtype).index_add(0, line, shifted.exp())[line]
    return _with(c, shifted - total.log() if logarithm else shifted.exp() / total)
