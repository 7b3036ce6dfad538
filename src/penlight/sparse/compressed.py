"""Sparse matrices with compressed rows or columns: CSR and CSC.

# Note [Compressed sparse tensors]
A compressed tensor is a COO tensor (Note [Sparse tensors] in coo.py), sorted by rows or by columns, that also has the index at which each
row or column begins. So every function of COO tensors accepts it, and the result is compressed again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

import penlight

from .. import dtypes
from .._common.user_warnings import warn_user
from ..layout import sparse_coo, sparse_csc, sparse_csr, strided
from ..tensor import Tensor, wrap
from ..tensor.printing import close_with
from . import coo, structure
from .coo import SparseTensor

_TABLE: dict[str, Callable[..., Any]] = {}
_TO_COORDINATES = ("to_sparse", "to_sparse_coo")
_warned: list[bool] = []


class CompressedTensor(SparseTensor):
    """The common base of CSR and CSC tensors. See Note [Compressed sparse tensors]."""

    __slots__ = ("_starts",)

    _starts: Tensor  # the compressed indices
    _axis: int  # the compressed dimension
    _words: tuple[str, str, str]  # PyTorch's names of the compressed indices, the plain indices and the layout
    is_sparse = False

    def __new__(cls, starts: Tensor, indices: Tensor, values: Tensor, size: Any) -> Any:
        expanded = wrap(np.repeat(np.arange(len(starts) - 1), np.diff(starts._array)))
        coordinates = (expanded, indices.long()) if cls._axis == 0 else (indices.long(), expanded)
        made: Any = SparseTensor.__new__(cls, penlight.stack(coordinates), values, size, True)
        made._starts = starts
        return made

    @classmethod
    def _run(cls, func: Any, name: str, types: Any, args: Any, kwargs: Any) -> Any:
        if name in _TABLE:
            return _TABLE[name](*args, **kwargs)
        result = super()._run(func, name, types, args, kwargs)
        if type(result) is not SparseTensor or name in _TO_COORDINATES:
            return result
        kind = next(kind for kind in types if issubclass(kind, CompressedTensor))
        return compressed(result, RowTensor if name in ("mm", "matmul", "__matmul__") else kind)

    @property  # type: ignore[misc]
    def grad(self) -> Any:
        grad = self._inner.grad
        return None if grad is None else type(self)(self._starts, self._plain, grad, self._size)

    @property
    def _plain(self) -> Tensor:
        """The plain indices: the column of each element for CSR, the row for CSC."""
        return self._coordinates[1 - self._axis].to(self._starts.dtype)

    def _set_contents(self, made: Any) -> None:
        made = compressed(made, type(self))
        super()._set_contents(made)
        self._starts = made._starts

    def __repr__(self, **_: Any) -> str:  # type: ignore[override]
        return _to_string(self)

    def __reduce_ex__(self, protocol: Any) -> Any:
        parts = (self._starts, self._plain, self._inner.detach(), self._size)
        return penlight._utils._rebuild_sparse_tensor, (self.layout, parts)

    def __copy__(self) -> Any:
        return type(self)(self._starts, self._plain, self._inner, self._size)


class RowTensor(CompressedTensor):
    """A sparse matrix with compressed rows (CSR), made by `torch.sparse_csr_tensor`.

    >>> torch.eye(2).to_sparse_csr() @ torch.ones(2, 1)
    tensor([[1.],
            [1.]])
    """

    __slots__ = ()

    layout = sparse_csr
    is_sparse_csr = True
    _axis, _words = 0, ("crow_indices", "col_indices", "Csr")


class ColumnTensor(CompressedTensor):
    """A sparse matrix with compressed columns (CSC), made by `torch.sparse_csc_tensor`.

    >>> torch.eye(2).to_sparse_csc().ccol_indices()
    tensor([0, 1, 2])
    """

    __slots__ = ()

    layout = sparse_csc
    _axis, _words = 1, ("ccol_indices", "row_indices", "Csc")


_CLASSES: dict[Any, type[CompressedTensor]] = {sparse_csr: RowTensor, sparse_csc: ColumnTensor}


def _to_string(s: CompressedTensor) -> str:
    parts = zip((*s._words[:2], "values"), (s._starts, s._plain, s._inner.detach()))
    lines = []
    for label, tensor in parts:
        text = repr(tensor) if tensor.numel() else f"tensor([], size={tuple(tensor.shape)})"
        text = text.replace(f", dtype={tensor.dtype}", "")
        lines.append(f"{label}={text}".replace("\n", "\n" + " " * (8 + len(label))))
    words = [f"size={tuple(s._size)}", f"nnz={s._inner.shape[0]}"]
    if s.dtype not in (dtypes.get_default_dtype(), dtypes.int64, dtypes.bool_):
        words.append(f"dtype={s.dtype}")
    words.append(f"layout={s.layout}")
    if s.requires_grad:
        words.append(coo.graph_text(s))
    return close_with("tensor(" + ",\n       ".join(lines), words, len("tensor("))


# ----- Constructors ---------------------------------------------------------------------------------------------------


def compressed(s: Any, cls: type[CompressedTensor]) -> Any:
    """Convert a sparse tensor to a compressed layout."""
    if type(s) is cls:
        return s
    if len(s._coordinates) != 2:
        raise NotImplementedError(
            f"{cls.layout}: Penlight has no batches of compressed sparse matrices. Use torch.sparse_coo_tensor, or single matrices"
        )
    _warn_beta(cls)
    c = coo.coalesce(s)
    coordinates = c._coordinates._array
    order = np.lexsort((coordinates[1 - cls._axis], coordinates[cls._axis]))
    ordered = wrap(coordinates[:, order])
    starts = np.searchsorted(ordered._array[cls._axis], np.arange(c._size[cls._axis] + 1)).astype(np.int64)
    made: Any = cls(wrap(starts), ordered[1 - cls._axis], c._inner[wrap(order)], c._size)
    made._twin = s._twin
    return made


def from_dense(input: Tensor, layout: Any, dense_dim: int | None = None) -> Any:
    """Convert a dense or sparse tensor to a layout with its nonzero elements; the last `dense_dim` dimensions stay dense."""
    if layout is strided:
        return input
    if layout not in _CLASSES:
        raise NotImplementedError(
            f"Tensor.to_sparse(layout={layout}): Penlight has the layouts COO, CSR and CSC. Use to_sparse_csr() or to_sparse_csc()"
        )
    return compressed(coo.from_dense(input, input.dim() - (dense_dim or 0)), _CLASSES[layout])


def _warn_beta(cls: type[CompressedTensor]) -> None:
    if not _warned:
        _warned.append(True)
        warn_user(
            f"Sparse {cls._words[2].upper()} tensor support is in beta state. If you miss a functionality in the sparse tensor support, please submit "
            "a feature request to https://github.com/pytorch/pytorch/issues."
        )


def sparse_compressed_tensor(
    compressed_indices: Any, plain_indices: Any, values: Any, size: Any = None, *, dtype: Any = None, layout: Any = None,
    device: Any = None, pin_memory: bool = False, requires_grad: bool = False, check_invariants: bool | None = None,
) -> Any:  # fmt: skip
    """A sparse matrix in the layout `torch.sparse_csr` or `torch.sparse_csc`.

    >>> torch.sparse_compressed_tensor([0, 1, 2], [1, 0], [2.0, 3.0], layout=torch.sparse_csr).to_dense()
    tensor([[0., 2.],
            [3., 0.]])
    """
    if layout is None:
        raise RuntimeError("sparse_compressed_tensor expected sparse compressed tensor layout but got none")
    if layout not in _CLASSES:
        raise NotImplementedError(f"{layout}: Penlight has torch.sparse_csr and torch.sparse_csc")
    cls = _CLASSES[layout]
    starts, plain = (
        _indices(penlight.as_tensor(given, device=device)) for given in (compressed_indices, plain_indices)
    )
    vals = penlight.as_tensor(values, dtype=dtype, device=device)
    if size is None:
        size = (len(starts) - 1, int(plain.max()) + 1 if plain.numel() else 0)
        size = (*(size if cls._axis == 0 else size[::-1]), *vals.shape[1:])
    _check(cls, starts, plain, vals, size)
    _warn_beta(cls)
    made: Any = cls(starts, plain, vals, size)
    return made.requires_grad_() if requires_grad else made


def _indices(given: Tensor) -> Tensor:
    return given.long() if given.numel() == 0 else given


def sparse_csr_tensor(crow_indices: Any, col_indices: Any, values: Any, size: Any = None, **options: Any) -> Any:
    """A CSR matrix: row `i` has the elements from `crow_indices[i]` up to `crow_indices[i + 1]`.

    >>> torch.sparse_csr_tensor([0, 1, 3], [1, 0, 1], [2.0, 3.0, 4.0]).to_dense()
    tensor([[0., 2.],
            [3., 4.]])
    """
    return sparse_compressed_tensor(crow_indices, col_indices, values, size, **{**options, "layout": sparse_csr})


def sparse_csc_tensor(ccol_indices: Any, row_indices: Any, values: Any, size: Any = None, **options: Any) -> Any:
    """A CSC matrix: column `i` has the elements from `ccol_indices[i]` up to `ccol_indices[i + 1]`.

    >>> torch.sparse_csc_tensor([0, 1, 3], [1, 0, 1], [2.0, 3.0, 4.0]).to_dense()
    tensor([[0., 3.],
            [2., 4.]])
    """
    return sparse_compressed_tensor(ccol_indices, row_indices, values, size, **{**options, "layout": sparse_csc})


def _check(cls: type[CompressedTensor], starts: Tensor, plain: Tensor, vals: Tensor, size: Any) -> None:
    """Check the indices, so that none is out of range."""
    first, second, _ = cls._words
    unit, across = ("rows", "ncols") if cls._axis == 0 else ("columns", "nrows")
    if starts.dim() != plain.dim():
        raise RuntimeError(
            f"{first} and {second} dimensionalities must be equal but got {starts.dim()} and {plain.dim()}, respectively"
        )
    if starts.dim() != 1:
        raise NotImplementedError(f"{cls.layout}: Penlight has no batches of compressed sparse matrices")
    dense = tuple(vals.shape[1:])
    if len(size) != 2 + len(dense):
        raise RuntimeError(
            f"tensor dimensionality must be sum of batch, base, and dense dimensionalities (=0 + 2 + {len(dense)}) but got {len(size)}"
        )
    if tuple(size[2:]) != dense:
        raise RuntimeError(
            f"values must have shape {list((len(vals), *size[2:]))}, but got {list(vals.shape)}: the sizes after the first two are its own"
        )
    if len(starts) != size[cls._axis] + 1:
        raise RuntimeError(
            f"{first}.shape[-1] must be equal to the number of {unit} + 1 (={size[cls._axis] + 1}), but got {len(starts)}"
        )
    if len(plain) != len(vals):
        raise RuntimeError(
            f"{second}.shape[-1] must be equal to nnz (={len(vals)}) as defined by values.shape[0], but got {len(plain)}"
        )
    if starts.dtype is not plain.dtype:
        names = (dtypes.LEGACY[t.dtype] for t in (starts, plain))
        raise RuntimeError(
            f"{first} and {second} must have the same dtype, bot got {' and '.join(names)}, respectively"
        )
    at, to = starts._array, plain._array
    each = np.repeat(np.arange(len(at) - 1), np.maximum(np.diff(at), 0)) if len(at) else at
    for fine, words in (
        (at[0] == 0, f"{first}[..., 0] == 0"),
        (at[-1] == len(vals), f"{first}[..., -1] == nnz"),
        ((np.diff(at) >= 0).all(), f"0 <= {first}[..., 1:] - {first}[..., :-1] <= {across}"),
        (((to >= 0) & (to < size[1 - cls._axis])).all(), f"0 <= {second} < {across}"),
        (
            len(each) == len(to) and ((np.diff(to) > 0) | (np.diff(each) > 0)).all(),
            f"{second}[..., {first}[..., i - 1]:{first}[..., i]] for all i = 1, ..., n{unit.replace('columns', 'cols')} are sorted and distinct "
            "along the last dimension values",
        ),
    ):
        if not fine:
            raise RuntimeError(f"`{words}` is not satisfied.")


# ----- Functions that differ from those of COO tensors ----------------------------------------------------------------


def _of_layout(name: str, wanted: type[CompressedTensor] | None, kind: str, get: Any) -> Any:
    def method(s: Any) -> Any:
        if type(s) is not wanted:
            got = s._words[2] if isinstance(s, CompressedTensor) else ""
            raise RuntimeError(f"{name} expected sparse {kind} tensor layout but got Sparse{got}")
        return get(s)

    return method


for _name, _wanted, _kind, _get in (
    ("crow_indices", RowTensor, "row compressed", lambda s: s._starts),
    ("col_indices", RowTensor, "row compressed", lambda s: s._plain),
    ("ccol_indices", ColumnTensor, "column compressed", lambda s: s._starts),
    ("row_indices", ColumnTensor, "column compressed", lambda s: s._plain),
    *((name, None, "coordinate", None) for name in ("is_coalesced", "indices", "coalesce", "_indices")),
):
    _TABLE[_name] = _of_layout(_name, _wanted, _kind, _get)
    coo.TABLE.setdefault(_name, _TABLE[_name])


def _no_numpy(s: CompressedTensor, *_: Any, **__: Any) -> NoReturn:
    raise TypeError(f"can't convert Sparse{s._words[2]} layout tensor to numpy. Use Tensor.to_dense() first.")


def _has_none(what: str) -> Any:
    def method(s: CompressedTensor, *_: Any, **__: Any) -> NoReturn:
        raise RuntimeError(f"Sparse {s._words[2].upper()} tensors do not have {what}")

    return method


def _transpose(s: CompressedTensor, dim0: int = 0, dim1: int = 1) -> Any:
    """The transpose: the other layout with the same indices."""
    if s._inner.dim() > 1:
        raise RuntimeError("transpose(): hybrid sparse compressed tensors with dense dimensions are not supported")
    if dim0 % 2 == dim1 % 2:
        return s
    return _CLASSES[sparse_csc if s._axis == 0 else sparse_csr](s._starts, s._plain, s._inner, s._size[::-1])


def _add(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Any:
    if not isinstance(other, Tensor):
        raise RuntimeError("add of a compressed sparse tensor and a number: use Tensor.to_dense() first")
    if isinstance(input, SparseTensor) and isinstance(other, SparseTensor):
        kind = next(type(t) for t in (input, other) if isinstance(t, CompressedTensor))
        return compressed(coo._add(_as_coo(input), _as_coo(other), alpha=alpha), kind)
    dense = [t.to_dense() if isinstance(t, SparseTensor) else t for t in (input, other)]
    return penlight.add(*dense, alpha=alpha)


def _sum(s: CompressedTensor, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    if dim is None:
        return s._inner.sum(dtype=dtype)
    if not keepdim:
        raise RuntimeError("reduction operations on CSR tensors with keepdim=False is unsupported")
    return compressed(coo.from_dense(s.to_dense().sum(dim, True, dtype=dtype)), type(s))


def _as_coo(s: Any) -> Any:
    """Convert to COO; the coordinates of a CSC tensor are not sorted, as in PyTorch."""
    return SparseTensor(s._coordinates, s._inner, s._size, type(s) is RowTensor)


def to_layout(s: Any, sparse_dim: Any = None, *, layout: Any = sparse_coo, **_: Any) -> Any:
    """Convert a sparse tensor to a layout."""
    if sparse_dim is not None and sparse_dim != s.sparse_dim():
        raise RuntimeError(
            "to_sparse: conversion from Sparse to Sparse with sparse_dim argument !=self.sparse_dim() is not supported"
        )
    if layout is strided:
        return s.to_dense()
    if layout in (None, sparse_coo):
        return _as_coo(s) if isinstance(s, CompressedTensor) else s
    return from_dense(s, layout)


def _like(s: CompressedTensor, **options: Any) -> Any:
    if options.get("layout") is strided:
        return penlight.zeros(s._size, dtype=options.get("dtype") or s.dtype)
    empty = penlight.zeros(0, *s._inner.shape[1:], dtype=options.get("dtype") or s.dtype)
    return type(s)(penlight.zeros_like(s._starts), s._plain[:0], empty, s._size)


def _pick(s: CompressedTensor, index: Any) -> Any:
    if isinstance(index, tuple) and all(isinstance(i, int) for i in index):
        return s.to_dense()[index]
    return structure.pick(_as_coo(s), index) if isinstance(index, int) else _has_none("strides")(s)


_TABLE |= {
    "t": _transpose,
    "transpose": _transpose,
    "add": _add,
    "sub": lambda input, other, *, alpha=1, out=None: _add(input, other, alpha=-alpha),
    "sum": _sum,
    "clone": lambda s, **_: type(s)(s._starts.clone(), s._plain, s._inner.clone(), s._size),
    "cpu": lambda s, **_: s,
    "detach": lambda s: type(s)(s._starts, s._plain, s._inner.detach(), s._size),
    "to": lambda s, *a, **k: type(s)(s._starts, s._plain, s._inner.to(*a, **k), s._size),
    "zeros_like": _like,
    "zero_": lambda s: coo.write(s, _like(s)),
    "copy_": lambda s, other, *_: coo.write(s, other),
    "select": lambda s, dim, index: coo.from_dense(s.to_dense().select(dim, index)),
    "__getitem__": lambda s, index: _pick(s, index),
    "is_contiguous": _has_none("is_contiguous"),
    "contiguous": _has_none("is_contiguous"),
    "stride": _has_none("strides"),
    "numpy": _no_numpy,
    "__array__": _no_numpy,
}


def _to_compressed(layout: Any) -> Any:
    return lambda s, dense_dim=None: from_dense(s, layout, dense_dim)


for _name, _layout in (("to_sparse_csr", sparse_csr), ("to_sparse_csc", sparse_csc)):
    coo.TABLE[_name] = _to_compressed(_layout)
coo.TABLE["to_sparse"] = coo.TABLE["to_sparse_coo"] = to_layout


def sampled_addmm(input: Any, mat1: Tensor, mat2: Tensor, *, beta: Any = 1.0, alpha: Any = 1.0, out: Any = None) -> Any:
    """`alpha * (mat1 @ mat2) + beta * input` at the stored elements of `input`.

    >>> torch.sparse.sampled_addmm(torch.eye(2).to_sparse_csr(), torch.ones(2, 3), torch.ones(3, 2)).values()
    tensor([4., 4.])
    """
    if input._inner.dim() > 1:
        raise RuntimeError("sampled_addmm: Expected non-hybrid self tensor")
    row, column = input._coordinates
    products = (mat1[row] * mat2.mT[column]).sum(-1)
    return type(input)(input._starts, input._plain, alpha * products + beta * input._inner, input._size)


def reduced_product(mat1: Any, mat2: Tensor, reduce: str) -> Tensor:
    """`torch.sparse.mm` with a reduction other than the sum."""
    reduce = {"max": "amax", "min": "amin"}.get(reduce, reduce)
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if type(mat1) is ColumnTensor:
        raise RuntimeError("sparse_mm_reduce: expect self to be SparseCsr, got SparseCsc")
    if type(mat1) is not RowTensor:
        raise NotImplementedError(f"torch.sparse.mm(reduce={reduce!r}) takes a CSR matrix: use Tensor.to_sparse_csr()")
    if mat1._inner.dim() > 1:
        raise RuntimeError("sparse_mm_reduce: expected non-hybrid self tensor.")
    row, column = mat1._coordinates
    products = mat1._inner.unsqueeze(1) * mat2.index_select(0, column)
    result = penlight.zeros(mat1._size[0], mat2.shape[1], dtype=products.dtype)
    index = row.unsqueeze(1).expand(products.shape)
    return result.scatter_reduce(0, index, products, reduce, include_self=False)


def from_diagonals(diagonals: Tensor, offsets: Tensor, shape: Any, layout: Any) -> Any:
    """`torch.sparse.spdiags`."""
    if diagonals.dim() not in (1, 2):
        raise RuntimeError("Diagonals must be vector or matrix")
    if len(shape) != 2:
        raise RuntimeError("Output shape must be 2d")
    rows, at = diagonals.reshape(-1, diagonals.shape[-1]), offsets.reshape(-1)
    if len(rows) != len(at):
        raise RuntimeError(f"Number of diagonals ({len(rows)}) does not match the number of offsets ({len(at)})")
    if offsets.dtype is not dtypes.int64:
        raise RuntimeError(f"Offset Tensor must have dtype Long but got {dtypes.LEGACY[offsets.dtype]}")
    if len(np.unique(at._array)) < len(at):
        raise RuntimeError("Offset tensor contains duplicate values")
    if layout not in (None, sparse_coo, sparse_csr, sparse_csc):
        raise RuntimeError(f"Only output layouts (Sparse, SparseCsc, SparseCsr) are supported, got {_name_of(layout)}")
    diagonal, column = np.indices((len(rows), min(rows.shape[1], shape[1]))).reshape(2, -1)
    row = column - at._array[diagonal]
    (inside,) = np.nonzero((row >= 0) & (row < shape[0]))
    values = rows[wrap(diagonal[inside]), wrap(column[inside])]
    made = SparseTensor(wrap(np.stack([row[inside], column[inside]])), values, shape)
    return made if layout in (None, sparse_coo) else from_dense(made, layout)


def _name_of(layout: Any) -> str:
    """The name of a layout in PyTorch's errors, such as `SparseBsr`."""
    return "".join(part.capitalize() for part in str(layout).removeprefix("torch.").split("_"))
