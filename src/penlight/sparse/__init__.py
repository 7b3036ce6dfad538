"""torch.sparse: products, sums and softmax of sparse tensors. Other functions are refused when they are called."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from .._common.arguments import explain as _explain
from .._common.user_warnings import warn_user
from .._refused import refuse
from .compressed import from_diagonals, reduced_product, sampled_addmm as sampled_addmm
from .coo import masked, softmax as _softmax, sparse_coo_tensor, sum_of


def mm(mat1: Any, mat2: Any, reduce: str = "sum") -> Any:
    """The product of a sparse matrix and a dense one, differentiable in both. With `reduce` (`mean`, `amax`, `amin`, `prod`), for CSR
    matrices, another reduction of the products than their sum, 0 for a row without elements.

    >>> torch.sparse.mm(torch.eye(2).to_sparse(), torch.ones(2, 1))
    tensor([[1.],
            [1.]])
    """
    return masked(mat1) @ masked(mat2) if reduce == "sum" else reduced_product(mat1, mat2, reduce)


def spdiags(diagonals: Any, offsets: Any, shape: Any, layout: Any = None) -> Any:
    """A sparse matrix with these diagonals, at `offsets` above (positive) or below the main one. Element `j` of a diagonal is in column
    `j`.

    >>> torch.sparse.spdiags(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([0, 1]), (2, 2)).to_dense()
    tensor([[1., 4.],
            [0., 2.]])
    """
    return from_diagonals(diagonals, offsets, shape, layout)


def addmm(mat: Any, mat1: Any, mat2: Any, beta: float = 1.0, alpha: float = 1.0) -> Any:
    """`beta * mat + alpha * (mat1 @ mat2)` for a sparse `mat1`.

    >>> torch.sparse.addmm(torch.ones(2, 1), torch.eye(2).to_sparse(), torch.ones(2, 1))
    tensor([[2.],
            [2.]])
    """
    return beta * mat + alpha * mm(mat1, mat2)


def sum(input: Any, dim: Any = None, dtype: Any = None) -> Any:
    """The sum of a sparse tensor's elements: dense over all dimensions, otherwise sparse.

    >>> torch.sparse.sum(torch.eye(3).to_sparse())
    tensor(3.)
    """
    return sum_of(input, dim, dtype=dtype)


def softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """The softmax along a dimension over the stored elements; the others count as minus infinity.

    >>> torch.sparse.softmax(torch.eye(2).to_sparse(), 1).to_dense()
    tensor([[1., 0.],
            [0., 1.]])
    """
    return _softmax(input if dtype is None else input.to(dtype), dim, False)


def log_softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """The logarithm of `softmax`.

    >>> torch.sparse.log_softmax(torch.eye(2).to_sparse(), 1).values()
    tensor([0., 0.])
    """
    return _softmax(input if dtype is None else input.to(dtype), dim, True)


class check_sparse_tensor_invariants:
    """Accepted: the coordinates of a sparse tensor are always checked.

    >>> torch.sparse.check_sparse_tensor_invariants.is_enabled()
    True
    """

    def __init__(self, enable: bool = True) -> None:
        pass

    @staticmethod
    def is_enabled() -> bool:
        """Always True: sparse tensors are checked when they are made."""
        return True

    @staticmethod
    def enable() -> None:
        """Accepted: they are always checked."""

    @staticmethod
    def disable() -> None:
        """Accepted: they are always checked."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        pass


def _legacy(name: str, dtype: dtypes.dtype) -> Any:
    def make(*args: Any, device: Any = None) -> Any:
        warn_user(
            "torch.sparse.SparseTensor(indices, values, shape, *, device=) is deprecated.  Please use "
            "torch.sparse_coo_tensor(indices, values, shape, dtype=, device=).",
        )
        if len(args) < 2 or isinstance(args[0], int):
            return sparse_coo_tensor(size=args, dtype=dtype)
        return sparse_coo_tensor(*args, dtype=dtype, device=device)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"""A sparse tensor of {dtype}: the legacy constructor.

    >>> torch.sparse.{name}(torch.tensor([[0, 1]]), torch.ones(2).to({dtype}), torch.Size([2])).is_sparse
    True
    """
    return make


FloatTensor, DoubleTensor, HalfTensor, LongTensor, IntTensor = (
    _legacy(n, d)
    for n, d in {
        "FloatTensor": dtypes.float32, "DoubleTensor": dtypes.float64, "HalfTensor": dtypes.float16, "LongTensor": dtypes.int64,
        "IntTensor": dtypes.int32,
    }.items()
)  # fmt: skip


__getattr__ = refuse(
    __name__,
    "Penlight has few functions of sparse tensors.",
    "Use torch.sparse_coo_tensor, torch.sparse_csr_tensor, or a dense tensor.",
)


_explain(globals())
