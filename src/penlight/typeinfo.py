"""Limits of dtypes, legacy tensor types, the default device, and functions that report the type of an object."""

from __future__ import annotations

import os
from functools import cache
from typing import Any

import numpy as np

from . import dtypes
from ._common.docstrings import documented
from ._common.user_warnings import warn_once
from .creation import empty
from .creation.legacy import legacy_tensor
from .device import CPU, device as Device, on_meta, require_cpu
from .kernels.lazy import lazy_import
from .layout import contiguous_format, strided
from .ops.conversion import legacy_dtype
from .storage import TypedStorage, UntypedStorage
from .tensor import Tensor, wrap

_meta = lazy_import(globals(), "_meta", "._meta")
_torch_function = lazy_import(globals(), "_torch_function", "._torch_function")


legacy_contiguous_format = contiguous_format

# ----- Limits of dtypes ---------------------------------------------------------------------------------------------


# eps, max and smallest normal number of the 8-bit dtypes.
_FINFO8 = {
    dtypes.float8_e4m3fn: (2.0**-3, 448.0, 2.0**-6),
    dtypes.float8_e4m3fnuz: (2.0**-3, 240.0, 2.0**-7),
    dtypes.float8_e5m2: (2.0**-2, 57344.0, 2.0**-14),
    dtypes.float8_e5m2fnuz: (2.0**-3, 57344.0, 2.0**-15),
    dtypes.float8_e8m0fnu: (1.0, 2.0**127, 2.0**-127),
}


@cache
def _limits(dtype: dtypes.dtype) -> tuple[float, float, float, float]:
    """eps, the largest and the smallest normal number, and the resolution of a floating dtype."""
    info: Any = np.finfo(dtype.np)
    return float(info.eps), float(info.max), float(info.tiny), float(str(info.resolution))


@cache
def _integer_limits(dtype: dtypes.dtype) -> tuple[int, int, int, str]:
    info: Any = np.iinfo(dtype.np)
    return int(info.min), int(info.max), 8 * dtype.itemsize, str(dtype).removeprefix("torch.")


class finfo:
    """The limits of a floating dtype, `type`; None is the default dtype.

    >>> torch.finfo(torch.float32).eps
    1.1920928955078125e-07
    """

    __slots__ = ("bits", "dtype", "eps", "max", "min", "resolution", "smallest_normal", "tiny")

    def __init__(self, type: dtypes.dtype | None = None) -> None:
        found = dtypes.given(type) or dtypes.get_default_dtype()
        if not isinstance(found, dtypes.dtype) or found.category < dtypes.FLOATING:
            raise TypeError(
                "torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'"
            )
        found = found.to_real()
        if found is dtypes.bfloat16:
            self.eps, self.max, self.tiny, self.resolution = 2.0**-7, (2 - 2.0**-7) * 2.0**127, 2.0**-126, 0.01
        elif found in _FINFO8:
            (self.eps, self.max, self.tiny), self.resolution = _FINFO8[found], 1.0
        else:
            self.eps, self.max, self.tiny, self.resolution = _limits(found)
        self.min, self.smallest_normal = -self.max if found.is_signed else self.tiny, self.tiny
        self.bits, self.dtype = 8 * found.itemsize, str(found).removeprefix("torch.")

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, finfo) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(("finfo", self.dtype))


class iinfo:
    """The limits of an integer dtype, `type`.

    >>> torch.iinfo(torch.int8).max
    127
    """

    __slots__ = ("bits", "dtype", "max", "min")

    def __init__(self, type: dtypes.dtype) -> None:
        type = dtypes.given(type)
        if not isinstance(type, dtypes.dtype) or type.category != dtypes.INTEGRAL:
            if type is dtypes.bool_:
                raise TypeError("torch.bool is not supported by torch.iinfo")
            raise TypeError("torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'")
        self.min, self.max, self.bits, self.dtype = _integer_limits(type)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, iinfo) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(("iinfo", self.dtype))


finfo.__module__ = iinfo.__module__ = "torch"

# ----- The legacy tensor types --------------------------------------------------------------------------------------


class tensortype(type):
    """The metaclass of `torch.FloatTensor` and others: a call makes a tensor, and `isinstance` checks the dtype."""

    dtype: dtypes.dtype
    is_cuda = is_sparse = False

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return legacy_tensor(cls.dtype, *args, **kwargs)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and instance.dtype is cls.dtype

    @property
    def layout(cls) -> Any:
        return strided


tensortype.__module__ = "torch"


def _legacy(name: str, dtype: dtypes.dtype) -> Any:
    doc = documented(
        f"The legacy constructor of {dtype!r} tensors: `torch.{name}(2, 3)` is uninitialised, `torch.{name}([1, 2])` holds data.",
        f">>> torch.{name}([1, 2]).dtype", repr(dtype),
    )  # fmt: skip
    return tensortype(name, (), {"dtype": dtype, "__module__": "torch", "__doc__": doc, "__slots__": ()})


FloatTensor, DoubleTensor = _legacy("FloatTensor", dtypes.float32), _legacy("DoubleTensor", dtypes.float64)
HalfTensor, BFloat16Tensor = _legacy("HalfTensor", dtypes.float16), _legacy("BFloat16Tensor", dtypes.bfloat16)
LongTensor, IntTensor = _legacy("LongTensor", dtypes.int64), _legacy("IntTensor", dtypes.int32)
ShortTensor, CharTensor = _legacy("ShortTensor", dtypes.int16), _legacy("CharTensor", dtypes.int8)
ByteTensor, BoolTensor = _legacy("ByteTensor", dtypes.uint8), _legacy("BoolTensor", dtypes.bool_)


def set_default_tensor_type(t: Any) -> None:
    """Set the dtype of new float tensors by a legacy type, such as `torch.DoubleTensor` or its name.

    >>> torch.set_default_tensor_type("torch.FloatTensor")
    """
    if isinstance(t, str) and "cuda" in t:
        require_cpu("cuda")
    found = legacy_dtype(t)
    if found.category != dtypes.FLOATING:
        raise TypeError("only floating-point types are supported as the default type")
    warn_once(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use torch.set_default_dtype() and torch.set_default_device() as "
        "alternatives."
    )
    dtypes.set_default_dtype(found)


# ----- Devices ------------------------------------------------------------------------------------------------------


def set_default_device(device: Any) -> None:
    """Set the device of new tensors: the CPU or the meta device. Others are refused.

    >>> torch.set_default_device("cpu")
    """
    if device is not None and on_meta(device):
        _meta.set_default(Device("meta"))
        return
    require_cpu(device)
    if _torch_function.modes.get():
        _meta.set_default(None)


def get_default_device() -> Device:
    """The device of new tensors: the CPU, unless another was set.

    >>> torch.get_default_device()
    device(type='cpu')
    """
    return _meta.default_device() if _torch_function.modes.get() else CPU


def get_device(input: Tensor) -> int:
    """The number of a tensor's device; -1 is the CPU.

    >>> torch.get_device(torch.ones(1))
    -1
    """
    return input.get_device()


# ----- Rare constructors ----------------------------------------------------------------------------------------------


def empty_permuted(
    size: Any, physical_layout: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, **more: Any
) -> Tensor:
    """An uninitialised tensor whose dimensions have a given order in memory, from the largest stride to the smallest.

    >>> torch.empty_permuted((2, 3), (1, 0)).stride()
    (1, 2)
    """
    size, order = tuple(size), tuple(physical_layout)
    for index, d in enumerate(order):
        if len(order) == len(size) and not 0 <= d < len(size):
            raise RuntimeError(f"Dimension out of range (expected to be between 0 and {len(size) - 1}, but got {d} at index {index}).  NB: "
                               "negative dims not currently supported; file an issue if you want it.")  # fmt: skip
    if len(order) == len(size) != len(set(order)):
        raise RuntimeError("Duplicate dim not allowed")
    if sorted(order) != list(range(len(size))):
        raise RuntimeError(f"Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = {len(size)} "
                           f"is not equal to len(physical_layout) = {len(order)}")  # fmt: skip
    made = empty(tuple([size[d] for d in order]), dtype=dtype, device=device)
    back = [order.index(d) for d in range(len(order))]
    if type(made) is Tensor and made._rare_state is None:
        made._array = made._array.transpose(back)  # it has no views yet
    else:
        made = made.permute(back).detach()
    return made._require_grad_() if requires_grad else made


def from_file(filename: str, shared: bool | None = None, size: int = 0, *, dtype: Any = None, **more: Any) -> Tensor:
    """A 1-d tensor over the memory of a file, mapped: with `shared`, writes go to the file.

    >>> torch.from_file(torch.__file__, size=3, dtype=torch.uint8)
    tensor([34, 34, 34], dtype=torch.uint8)
    """
    found = dtype or dtypes.get_default_dtype()
    if shared:
        need = size * found.itemsize
        if not os.path.exists(filename) or os.path.getsize(filename) < need:
            with open(filename, "ab") as file:
                file.truncate(need)
    array = np.memmap(filename, found.np, "r+" if shared else "c", shape=(size,))
    return wrap(np.asarray(array))


# ----- Types of objects -----------------------------------------------------------------------------------------------


def is_tensor(obj: Any) -> bool:
    """Whether an object is a tensor.

    >>> torch.is_tensor(torch.zeros(1)), torch.is_tensor([0])
    (True, False)
    """
    return isinstance(obj, Tensor)


def is_storage(obj: Any) -> bool:
    """Whether an object is a storage.

    >>> torch.is_storage(torch.ones(1).untyped_storage()), torch.is_storage(torch.ones(1))
    (True, False)
    """
    return isinstance(obj, (TypedStorage, UntypedStorage))


def _of_tensor(name: str, summary: str, *example: str) -> Any:
    def ask(input: Tensor) -> Any:
        if not isinstance(input, Tensor):
            raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
        return getattr(input, name)()

    ask.__name__ = ask.__qualname__ = name
    ask.__module__, ask.__doc__ = "penlight", documented(summary, *example)
    return ask


is_floating_point = _of_tensor(
    "is_floating_point",
    "Whether a tensor's dtype is a floating one.",
    ">>> torch.is_floating_point(torch.ones(1))",
    "True",
)
is_complex = _of_tensor(
    "is_complex", "Whether a tensor's dtype is a complex one.", ">>> torch.is_complex(torch.ones(1))", "False"
)
is_signed = _of_tensor(
    "is_signed", "Whether a tensor's dtype has negative numbers.", ">>> torch.is_signed(torch.ones(1))", "True"
)
is_inference = _of_tensor(
    "is_inference", "Whether a tensor was made in inference mode.", ">>> torch.is_inference(torch.ones(1))", "False"
)
is_distributed = _of_tensor(
    "is_distributed",
    "Whether a tensor is distributed over processes: never here.",
    ">>> torch.is_distributed(torch.ones(1))",
    "False",
)
numel = _of_tensor("numel", "The number of elements of a tensor.", ">>> torch.numel(torch.ones(2, 3))", "6")
detach = _of_tensor(
    "detach",
    "A tensor with the same memory, detached from the graph.",
    ">>> torch.detach(torch.ones(1, requires_grad=True) * 2)",
    "tensor([2.])",
)
detach_ = _of_tensor(
    "detach_",
    "Detach a tensor from the graph, in place.",
    ">>> torch.detach_(torch.ones(1, requires_grad=True) * 2)",
    "tensor([2.])",
)


def typename(obj: Any) -> str:
    """The full name of an object's type; for a tensor, the legacy name.

    >>> torch.typename(torch.zeros(1))
    'torch.FloatTensor'
    """
    if isinstance(obj, Tensor):
        return obj.type()
    found = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(found, "__module__", None) or ""
    return found.__qualname__ if module in ("", "builtins") else f"{module}.{found.__qualname__}"


def result_type(tensor1: Any, tensor2: Any) -> dtypes.dtype:
    """The dtype of an operation on two tensors or numbers.

    >>> torch.result_type(torch.tensor([1]), 1.5)
    torch.float32
    """
    operands = (tensor1, tensor2)
    arrays = [t._array for t in operands if isinstance(t, Tensor)]
    return dtypes.result_dtype(arrays, [n for n in operands if not isinstance(n, Tensor)])
