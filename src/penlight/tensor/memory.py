"""Properties of a tensor's shape and memory: a part of `Tensor`.

`__init__.py` copies the members of the class into `Tensor` itself, so that `Tensor` has no such base class at runtime.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import dtypes
from .._common.dims import wrap_existing_dim
from .._common.function_code import explains_failures
from ..device import CPU, device
from ..kernels.addresses import address, offset
from ..kernels.lazy import lazy_import
from ..layout import strided
from ..size import Size

if TYPE_CHECKING:
    from . import Tensor

_public_functions = lazy_import(globals(), "_public_functions", "..ops.machinery.public_functions")
_shared = lazy_import(globals(), "_shared", "..multiprocessing._shared")


def _failed(name: str, values: tuple[Any, ...], failure: Exception) -> Any:
    return _public_functions.failed(name, values, failure)


class ShapeAndMemory:
    """Sizes, strides, dtype, device, storage."""

    __slots__ = ()

    _array: np.ndarray[Any, Any]

    @property
    def shape(self: Any) -> Size:
        """The size of each dimension.

        >>> torch.ones(2, 3).shape
        torch.Size([2, 3])
        """
        return Size(self._array.shape)

    @explains_failures
    def size(self: Any, dim: int | None = None) -> Any:
        """The sizes of all dimensions, or of one.

        >>> torch.zeros(2, 3).size(), torch.zeros(2, 3).size(1)
        (torch.Size([2, 3]), 3)
        """
        try:
            if dim is None:
                return Size(self._array.shape)
            shape = self._array.shape
            return shape[wrap_existing_dim(dim, len(shape))]
        except Exception as failure:
            return _failed("size", (self, dim), failure)

    def stride(self: Any, dim: int | None = None) -> Any:
        """The distance in memory, in elements, between neighbours along each dimension, or along one.

        >>> torch.zeros(2, 3).stride(), torch.zeros(2, 3).t().stride()
        ((3, 1), (1, 3))
        """
        array = self._array
        if array.size == 0 or 1 in array.shape:
            strides = torch_strides(array)
        else:
            itemsize = array.itemsize
            strides = tuple([s // itemsize for s in array.strides])
        if dim is None:
            return strides
        return strides[wrap_existing_dim(dim, array.ndim)]

    def storage_offset(self: Any) -> int:
        """The offset of this tensor in its storage, in elements.

        >>> torch.arange(5)[2:].storage_offset()
        2
        """
        return storage_offset_of(self._array)

    def data_ptr(self: Any) -> int:
        """The address of the first element.

        >>> x = torch.zeros(4)
        >>> x[1:].data_ptr() - x.data_ptr()
        4
        """
        return _address(self._array)

    def is_contiguous(self: Any, memory_format: Any = None) -> bool:
        """Whether the elements are contiguous in memory, last dimension fastest.

        >>> x = torch.zeros(2, 3)
        >>> x.is_contiguous(), x.t().is_contiguous()
        (True, False)
        """
        if memory_format is not None and str(memory_format) in ("torch.channels_last", "torch.channels_last_3d"):
            rank = 5 if str(memory_format).endswith("3d") else 4
            return self._array.ndim == rank and np.moveaxis(self._array, 1, -1).flags.c_contiguous
        return self._array.flags.c_contiguous

    def element_size(self: Any) -> int:
        """The size of one element in bytes.

        >>> torch.zeros(2, dtype=torch.float64).element_size()
        8
        """
        return self._array.itemsize

    @property
    def itemsize(self: Any) -> int:
        """The size of one element in bytes.

        >>> torch.zeros(2).itemsize
        4
        """
        return self._array.itemsize

    @property
    def nbytes(self: Any) -> int:
        """The size of all elements in bytes.

        >>> torch.zeros(2, 3).nbytes
        24
        """
        return self._array.nbytes

    @explains_failures
    def numel(self: Any) -> int:
        """The number of elements.

        >>> torch.zeros(2, 3).numel()
        6
        """
        try:
            return self._array.size
        except Exception as failure:
            return _failed("numel", (self,), failure)

    nelement = numel

    @explains_failures
    def dim(self: Any) -> int:
        """The number of dimensions.

        >>> torch.zeros(2, 3).dim()
        2
        """
        try:
            return self._array.ndim
        except Exception as failure:
            return _failed("dim", (self,), failure)

    ndimension = dim

    @property
    def ndim(self: Any) -> int:
        """The number of dimensions.

        >>> torch.zeros(2, 3).ndim
        2
        """
        return self._array.ndim

    @property
    def dtype(self: Any) -> dtypes.dtype:
        """The element type.

        >>> torch.zeros(1).dtype
        torch.float32
        """
        try:
            return dtypes.BY_NP[self._array.dtype]
        except KeyError:
            return dtypes.from_np(self._array.dtype)

    @property
    def device(self: Any) -> device:
        """The device of the data: always the CPU.

        >>> torch.zeros(1).device
        device(type='cpu')
        """
        return CPU

    @property
    def layout(self: Any) -> Any:
        """The memory layout: `torch.strided`.

        >>> torch.zeros(2).layout
        torch.strided
        """
        return strided

    is_cuda = is_sparse = is_sparse_csr = is_quantized = is_meta = is_mps = is_mkldnn = is_xpu = is_nested = False
    is_cpu = True
    names: Any = None
    name: Any = None

    def get_device(self: Any) -> int:
        """The number of the device: -1 for the CPU.

        >>> torch.zeros(1).get_device()
        -1
        """
        return -1

    def is_floating_point(self: Any) -> bool:
        """Whether the elements are floating-point numbers.

        >>> torch.zeros(1).is_floating_point(), torch.tensor(1).is_floating_point()
        (True, False)
        """
        return self.dtype.is_floating_point

    def is_complex(self: Any) -> bool:
        """Whether the elements are complex.

        >>> torch.zeros(1, dtype=torch.complex64).is_complex()
        True
        """
        return self._array.dtype.kind == "c"

    def is_signed(self: Any) -> bool:
        """Whether the dtype can hold negative values.

        >>> torch.tensor(1).is_signed(), torch.tensor(True).is_signed()
        (True, False)
        """
        return self.dtype.is_signed

    def is_same_size(self: Any, other: Tensor) -> bool:
        """Whether the other tensor has the same shape.

        >>> torch.zeros(2).is_same_size(torch.ones(2))
        True
        """
        return self.shape == other.shape

    def is_shared(self: Any) -> bool:
        """Whether the data is in shared memory: see `share_memory_`.

        >>> torch.zeros(1).is_shared()
        False
        """
        return _shared.memory_of(self._array) is not None

    def is_pinned(self: Any) -> bool:
        """False: no device here benefits from pinned memory.

        >>> torch.zeros(1).is_pinned()
        False
        """
        return False

    def share_memory_(self: Any) -> Tensor:
        """Move the data to memory shared with processes that this one starts or sends the tensor to.

        >>> torch.zeros(1).share_memory_().is_shared()
        True
        """
        return _shared.share(self)

    def pin_memory(self: Any, device: Any = None) -> Tensor:
        """The tensor itself: no device here benefits from pinned memory.

        >>> x = torch.zeros(2)
        >>> x.is_pinned()
        False
        """
        return self

    def untyped_storage(self: Any) -> Any:
        """The memory that this tensor and its views share.

        >>> torch.zeros(2, 3).untyped_storage().nbytes()
        24
        """
        from ..storage import storage_of

        return storage_of(root_of(self._array))

    def storage(self: Any) -> Any:
        """The memory that this tensor and its views share, as elements of its dtype.

        >>> torch.arange(6)[2:].untyped_storage().nbytes()
        48
        """
        from ..storage import TypedStorage

        return TypedStorage(root_of(self._array), self.dtype)


def root_of(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The array that owns the memory."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def storage_offset_of(array: np.ndarray[Any, Any]) -> int:
    """The offset of an array in the memory that it shares, in elements."""
    if array.base is None:
        return 0
    root = root_of(array)
    return offset(array, root) // array.itemsize


def _address(array: np.ndarray[Any, Any]) -> int:
    return address(array) if array.size and isinstance(array, np.ndarray) else 0


def torch_strides(array: np.ndarray[Any, Any]) -> tuple[int, ...]:
    """Strides in elements as PyTorch defines them: NumPy has 0 for a new dimension of size 1, and for new memory without elements."""
    strides: list[int] = []
    step, unset = 1, array.size == 0 and not any(array.strides)
    for n, s in zip(reversed(array.shape), reversed(array.strides)):
        own = s // array.itemsize
        strides.append(step if unset or (n == 1 and s == 0) else own)
        step = max(n, 1) * strides[-1]
    return tuple(reversed(strides))
