"""Tensor methods that are stubs or raise: sparse, quantised, other devices, deprecated names."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from .._common.docstrings import documented
from .._common.user_warnings import warn_user
from ..device import require_cpu
from ..kernels.lazy import lazy_import
from ..layout import sparse_coo, sparse_csc, sparse_csr
from ..tensor import Tensor
from .machinery.declare import install_method, method

__all__ = ["dequantize", "is_distributed"]

_sparse_coo = lazy_import(globals(), "_sparse_coo", "..sparse.coo")
_sparse_compressed = lazy_import(globals(), "_sparse_compressed", "..sparse.compressed")
_storage = lazy_import(globals(), "_storage", "..storage")


def _refuse(name: str, kind: type[Exception], summary: str, message: str) -> None:
    """Add a Tensor method that raises this error."""

    def refuse(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        raise kind(message)

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = documented(
        f"Refused: {summary}",
        f">>> torch.ones(2).{name}()", "Traceback (most recent call last):", "  ...", f"{kind.__name__}: {message.partition('.')[0]}...",
    )  # fmt: skip
    install_method(name, refuse)


for _layout, _names in {
    "sparse coordinate tensor": "is_coalesced coalesce indices _indices _values", "sparse tensor": "values _nnz",
    "sparse row compressed tensor": "crow_indices col_indices", "sparse column compressed tensor": "ccol_indices row_indices",
}.items():  # fmt: skip
    for _name in _names.split():
        _refuse(_name, RuntimeError, "only sparse tensors have it, and this one is dense.",
                f"{_name} expected {_layout} layout but got Strided")  # fmt: skip
for _name in ("to_sparse_bsr", "to_sparse_bsc", "sparse_resize_",
              "sparse_resize_and_clear_", "to_mkldnn", "resize_as_sparse_", "smm", "sspaddmm"):  # fmt: skip
    _refuse(_name, NotImplementedError, "Penlight's tensors are dense, or sparse by coordinates, compressed rows or columns.",
            f"Tensor.{_name}: Penlight has no such sparse tensors. Use to_sparse(), keep the tensor dense (nonzero() and masks select "
            "elements), or use scipy.sparse on tensor.numpy()")  # fmt: skip
_refuse(
    "to_padded_tensor",
    NotImplementedError,
    "only nested tensors have it.",
    "Could not run 'aten::to_padded_tensor' with arguments from the 'CPU' backend. Only nested tensors have it, and this one is dense",
)
for _name in ("int_repr", "q_scale", "q_zero_point", "q_per_channel_axis", "q_per_channel_scales", "q_per_channel_zero_points",
              "qscheme"):  # fmt: skip
    _refuse(_name, NotImplementedError, "Penlight has no quantized tensors.",
            f"Could not run 'aten::{_name}': Penlight has no quantized tensors, only ordinary dtypes")  # fmt: skip


@method
def to_dense(input: Tensor, dtype: Any = None, *, masked_grad: Any = None) -> Tensor:
    """The tensor itself: it is dense.

    >>> torch.ones(2).to_dense()
    tensor([1., 1.])
    """
    return input if dtype is None else input.to(dtype)


@method
def dequantize(input: Tensor) -> Tensor:
    """The tensor in float32; it is not quantized.

    >>> torch.tensor([1.0]).dequantize()
    tensor([1.])
    """
    return input.to(dtypes.float32)


@method
def to_sparse(input: Tensor, sparse_dim: Any = None, *, layout: Any = None, **more: Any) -> Any:
    """The nonzero elements and their indices, as a sparse tensor; with `sparse_dim`, the indices of the first dimensions only.

    >>> torch.eye(2).to_sparse().indices()
    tensor([[0, 1],
            [0, 1]])
    """
    if layout not in (None, sparse_coo):
        return _sparse_compressed.from_dense(input, layout, more.get("dense_dim"))
    if sparse_dim is not None and not 0 <= sparse_dim <= input.dim():
        raise RuntimeError(
            f"dense_to_sparse: sparse_dim argument must be in [0,{input.dim()}] range, but {sparse_dim} is given"
        )
    if sparse_dim == 0 < input.dim():
        raise RuntimeError("dense_to_sparse: sparse_dim argument must be in >0 when self.dim()>0")
    return _sparse_coo.from_dense(input, sparse_dim)


install_method("to_sparse_coo", to_sparse)


@method
def to_sparse_csr(input: Tensor, dense_dim: int | None = None) -> Any:
    """The nonzero elements of a matrix, in compressed rows.

    >>> torch.eye(2).to_sparse_csr().crow_indices()
    tensor([0, 1, 2])
    """
    return _sparse_compressed.from_dense(input, sparse_csr, dense_dim)


@method
def to_sparse_csc(input: Tensor, dense_dim: int | None = None) -> Any:
    """The nonzero elements of a matrix, in compressed columns.

    >>> torch.eye(2).to_sparse_csc().row_indices()
    tensor([0, 1])
    """
    return _sparse_compressed.from_dense(input, sparse_csc, dense_dim)


@method
def sparse_mask(input: Tensor, mask: Any) -> Any:
    """The elements at the indices of a sparse tensor, as a new sparse tensor.

    >>> torch.ones(2, 2).sparse_mask(torch.eye(2).to_sparse()).values()
    tensor([1., 1.])
    """
    return _sparse_coo.sparse_mask(input, mask)


@method
def sparse_dim(input: Tensor) -> int:
    """The number of sparse dimensions: none.

    >>> torch.ones(2, 3).sparse_dim()
    0
    """
    return 0


@method
def dense_dim(input: Tensor) -> int:
    """The number of dense dimensions: all.

    >>> torch.ones(2, 3).dense_dim()
    2
    """
    return input.dim()


@method
def is_distributed(input: Tensor) -> bool:
    """False: there is one process.

    >>> torch.ones(1).is_distributed()
    False
    """
    return False


@method
def reinforce(input: Tensor, *args: Any) -> None:
    """Removed from PyTorch: use torch.distributions.

    >>> torch.ones(2).reinforce()
    Traceback (most recent call last):
      ...
    RuntimeError: reinforce() was removed...
    """
    raise RuntimeError(
        "reinforce() was removed.\nUse torch.distributions instead: Categorical(probs).log_prob(action) * reward"
    )


@method
def record_stream(input: Tensor, stream: Any) -> None:
    """Does nothing: the CPU has no streams.

    >>> torch.ones(2).record_stream(None)
    """


@method
def storage_type(input: Tensor) -> Any:
    """The class of the tensor's storage under its old name.

    >>> torch.zeros(2).storage_type().__name__
    'FloatStorage'
    """
    name = _storage.legacy_name(input.dtype)
    return None if name is None else getattr(_storage, name)


@method
def module_load(input: Tensor, other: Tensor, assign: bool = False) -> Tensor:
    """The tensor that `load_state_dict` puts in place of this one: itself with the other's values, or (`assign`) the other.

    >>> torch.zeros(2).module_load(torch.ones(2))
    tensor([1., 1.])
    """
    return other.detach() if assign else input.copy_(other).detach()


for _name in ("is_xla", "is_ipu", "is_maia", "is_mtia", "is_vulkan"):
    install_method(_name, False)


def _volatile(self: Tensor) -> bool:
    """Removed from PyTorch: warns, and returns False.

    >>> import penlight as torch, warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     torch.ones(2).volatile
    False
    """
    warn_user("volatile was removed (Variable.volatile is always False)")
    return False


install_method("volatile", property(_volatile))


def _elsewhere(name: str) -> Any:
    def move(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        require_cpu(name)
        return self

    move.__name__ = move.__qualname__ = name
    move.__doc__ = documented(
        "Refused: Penlight runs on the CPU.",
        f">>> torch.ones(2).{name}()", "Traceback (most recent call last):", "  ...", "RuntimeError: ...",
    )  # fmt: skip
    return move


for _name in ("xpu", "ipu", "mtia"):
    install_method(_name, _elsewhere(_name))
