"""The meta device: tensors that have a shape, a dtype and an edge in the graph, and no data.

# Note [Tensors without data]
A tensor on the meta device overrides the library's functions (Note [Overridden functions] in _torch_function.py). Its array is memory
that is never written, so the system allocates no pages for it, however large it is: mapped memory, or a sparse file where the system
reserves memory for all of a mapping (Windows, Linux without overcommitment). A function runs on this array as on any other, and its
result becomes a tensor on the meta device; the numbers are discarded. Outside of such calls `_array` raises an error, so that an
overlooked path cannot compute with numbers that do not exist. Functions that need numbers are refused.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
import tempfile
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

import numpy as np

from . import _torch_function
from .autograd import modes
from .device import CPU, META, device, on_meta, require_cpu
from .dtypes import get_default_dtype
from .nn.parameter import Parameter
from .overrides import DisableTorchFunctionSubclass
from .random import default_generator
from .tensor import Tensor, wrap
from .tensor.printing import close_with, history

if sys.platform == "win32":
    import msvcrt

NO_DATA = "Cannot copy out of meta tensor; no data!"
_NO_ITEM = "Tensor.item() cannot be called on meta tensors"
_NORESERVE = 0x4000  # mmap.MAP_NORESERVE, in Python since 3.12: mappings may be larger than memory
_SET_SPARSE = 0x900C4  # FSCTL_SET_SPARSE of Windows
_SMALL = 1 << 16  # bytes; smaller arrays are not mapped
_slot = Tensor.__dict__["_array"]

# Functions that need a single number, all numbers, or the numbers to know the shape of the result.
_ITEM = {"item", "__bool__", "__float__", "__int__", "__index__", "__complex__", "allclose", "is_nonzero"}
_DATA = {"tolist", "cpu", "__array__", "__dlpack__", "share_memory_", "pin_memory"}
_COUNTING = {
    "nonzero",
    "argwhere",
    "unique",
    "unique_consecutive",
    "masked_select",
    "equal",
    "bincount",
    "nonzero_static",
}

# Functions that only write numbers.
_WRITING = {
    "uniform_", "normal_", "bernoulli_", "exponential_", "random_", "cauchy_", "log_normal_", "geometric_", "fill_", "zero_",
    "copy_", "fill_diagonal_", "masked_fill_",
}  # fmt: skip
# Functions whose arguments may be on different devices.
_MAY_MIX = {
    "copy_",
    "type_as",
    "is_same_size",
    "to",
    "expand_as",
    "view_as",
    "reshape_as",
    "__set__",
    "__get__",
    "equal",
}


def untouched(shape: tuple[int, ...], dtype: np.dtype[Any], strides: tuple[int, ...] | None = None) -> Any:
    """An array over memory that is never written."""
    size = dtype.itemsize
    if 0 in shape:
        size, strides = 0, None
    elif strides is None:
        for n in shape:
            size *= n
    else:
        size += sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
    return np.ndarray(shape, dtype, np.zeros(max(size, 1), np.uint8) if size <= _SMALL else _mapped(size), 0, strides)


def _mapped(size: int) -> Any:
    """Memory whose pages the system allocates when they are first accessed. See Note [Tensors without data]."""
    if size > sys.maxsize:
        raise MemoryError(f"a tensor of {size} bytes is larger than the address space of this {sys.platform} process")
    if sys.platform != "win32":
        try:
            # Other systems reserve nothing for private memory, and the flag may have another value there.
            flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | (_NORESERVE if sys.platform == "linux" else 0)
            return mmap.mmap(-1, size, flags=flags)
        except OSError:
            pass
    with tempfile.TemporaryFile() as file:
        if sys.platform == "win32":
            _allow_holes(file.fileno())  # mmap extends the file; `truncate` would write zeros
        else:
            file.truncate(size)
        return mmap.mmap(file.fileno(), size)


def _allow_holes(descriptor: int) -> None:
    """Make a file sparse on Windows: its unwritten parts take no space."""
    if sys.platform == "win32":
        returned = ctypes.c_ulong()
        handle = ctypes.c_void_p(msvcrt.get_osfhandle(descriptor))
        control = ctypes.windll.kernel32.DeviceIoControl
        control(handle, _SET_SPARSE, None, 0, None, 0, ctypes.byref(returned), None)


class _NoData:
    """The common base of tensors and parameters on the meta device. See Note [Tensors without data]."""

    __slots__ = ()

    is_meta, is_cpu = True, False
    device = META

    @property
    def _array(self) -> Any:
        if not _torch_function.subclasses_off.get():
            raise NotImplementedError(NO_DATA)
        return _slot.__get__(self)

    @_array.setter
    def _array(self, value: Any) -> None:
        _slot.__set__(self, value)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return call(func, args, kwargs or {})

    def __repr__(self: Any, **_: Any) -> str:
        with _open():
            words = ["device='meta'", f"size={tuple(self.shape)!r}"]
            if self.dtype is not get_default_dtype():
                words.append(f"dtype={self.dtype}")
            text = close_with("tensor(...", words + history(self), len("tensor("))
        return "Parameter containing:\n" + text if isinstance(self, Parameter) else text

    __str__ = __repr__

    def __iter__(self: Any) -> Any:
        return iter(self.unbind(0))

    def __format__(self: Any, spec: str) -> str:
        if spec and self.dim() == 0:
            raise TypeError("unsupported format string passed to Tensor.__format__")
        return object.__format__(self, spec)

    def __deepcopy__(self: Any, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            if not self.is_leaf:
                Tensor.__deepcopy__(self, memo)  # raises an error
            memo[id(self)] = made = _like(self, type(self))
            made.__dict__.update(self.__dict__)
            made.requires_grad_(self.requires_grad)
        return memo[id(self)]

    def __reduce_ex__(self: Any, protocol: Any) -> Any:
        return rebuild, (self.dtype, tuple(self.shape), self.stride(), self.requires_grad, isinstance(self, Parameter))


class MetaTensor(_NoData, Tensor):  # type: ignore[misc]
    """A tensor on the meta device."""

    __slots__ = ()


class MetaParameter(_NoData, Parameter):  # type: ignore[misc]
    """A parameter on the meta device."""

    __slots__ = ()

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:
        return Parameter(data, requires_grad)  # `type(parameter)(data)` is on the device of the data


# PyTorch has no separate classes for the meta device.
for _kind, _own in ((MetaTensor, Tensor), (MetaParameter, Parameter)):
    _kind.__name__, _kind.__qualname__, _kind.__module__ = _own.__name__, _own.__qualname__, _own.__module__


_open = DisableTorchFunctionSubclass  # a region in which the arrays can be accessed


@contextmanager
def _no_draws() -> Any:
    """A region that leaves the default generator unchanged, since no random numbers are drawn for the meta device."""
    state = default_generator.get_state()
    try:
        yield
    finally:
        default_generator.set_state(state)


def made(shape: tuple[int, ...], dtype: Any, requires_grad: bool = False, strides: Any = None) -> Tensor:
    """A new tensor on the meta device; strides in elements."""
    _torch_function.activate()
    width = dtype.np.itemsize
    out: Any = wrap(untouched(shape, dtype.np, None if strides is None else tuple(s * width for s in strides)))
    out.__class__ = MetaTensor
    return out.requires_grad_() if requires_grad else out


def _like(tensor: Any, cls: type) -> Any:
    with _open():
        array = tensor._array
        out: Any = wrap(untouched(array.shape, array.dtype, array.strides))
    out.__class__ = cls
    return out


def to_meta(result: Any) -> Any:
    """Move the tensors in a function's result to the meta device, in place; returns the result."""
    if isinstance(result, Tensor):
        if not isinstance(result, _NoData):
            _torch_function.activate()
            array = result._array
            if array.base is None and array.nbytes > _SMALL:
                result._array = untouched(array.shape, array.dtype, array.strides)
            result.__class__ = MetaTensor
        return result
    if isinstance(result, (tuple, list)):
        for value in result:
            to_meta(value)
    return result


def created(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The result of a factory function, on the meta device, without drawing random numbers."""
    with _open(), _no_draws():
        return to_meta(function(*args, **kwargs))


def parameter(data: Any, requires_grad: bool) -> Any:
    """A parameter for data on the meta device."""
    with _open():
        out: Any = wrap(data._array)
    out.__class__ = MetaParameter
    out.requires_grad_(requires_grad)
    return out


def rebuild(dtype: Any, size: Any, stride: Any, requires_grad: bool, is_parameter: bool = False) -> Any:
    """Recreate a pickled tensor or parameter."""
    out = made(tuple(size), dtype, requires_grad and not is_parameter, tuple(stride))
    return parameter(out, requires_grad) if is_parameter else out


# ----- Running functions ----------------------------------------------------------------------------------------------


def call(function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Run a function with a tensor on the meta device among its arguments."""
    name = getattr(function, "__name__", "")
    _refuse(name, args)
    if name == "to":
        return _to(*args, **kwargs)
    if name == "module_load":
        return _load(*args, **kwargs)
    if name == "data_ptr":
        return 0
    if name == "untyped_storage":
        with _open():
            storage = function(*args)
        storage._without_data = True
        return storage
    if name == "type" and len(args) == 1 and not kwargs:
        with _open():
            return function(*args).replace("torch.", "torch.meta.")
    _check_devices(name, args, kwargs)
    if name == "__set__" and "data" in str(_torch_function.NAMES.get(function)):
        _check_data(*args)
    if name in _WRITING and not (args[0].requires_grad and modes.is_grad_enabled()):
        with _open():
            Tensor.add_(args[0][:0] if args[0].dim() else args[0], 0)  # counts as a write
        return args[0]
    where = kwargs.pop("device", None) if "device" in kwargs else META
    with _open(), _no_draws(), np.errstate(all="ignore"):
        result = function(*args, **kwargs)
    if where is None or on_meta(where):
        return to_meta(result)
    require_cpu(where)
    return result


def _refuse(name: str, args: Any) -> None:
    if name in _ITEM:
        if name != "allclose" and args[0].numel() != 1:
            raise RuntimeError(f"a Tensor with {args[0].numel()} elements cannot be converted to Scalar")
        raise RuntimeError(_NO_ITEM)
    if name == "numpy":
        raise TypeError(
            "can't convert meta device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first."
        )
    if name in _DATA or (name == "copy_" and not isinstance(args[0], _NoData)):
        raise NotImplementedError(NO_DATA)
    masked = name == "__getitem__" and any(
        isinstance(i, _NoData) and i.dtype.itemsize == 1 and repr(i.dtype) == "torch.bool"  # type: ignore[attr-defined]
        for i in (args[1] if isinstance(args[1], tuple) else (args[1],))
    )
    if name in _COUNTING or masked:
        name = "nonzero" if masked else name
        raise NotImplementedError(
            f"torch.{name}() of a tensor on the meta device: its result depends on numbers, and there are none. Run it on "
            "the CPU"
        )


def _check_devices(name: str, args: Any, kwargs: dict[str, Any]) -> None:
    """Refuse tensors on different devices; 0-d tensors may be on any device."""
    if name in _MAY_MIX:
        return
    found = [v for a in (*args, *kwargs.values()) for v in (a if isinstance(a, (list, tuple)) else (a,))]
    tensors = [t for t in found if isinstance(t, Tensor)]
    for t in tensors:
        if isinstance(t, _NoData) is not isinstance(tensors[0], _NoData) and t.dim() and tensors[0].dim():
            raise RuntimeError(f"Tensor on device {t.device} is not on the expected device {tensors[0].device}!")


def _check_data(tensor: Any, value: Any) -> None:
    if isinstance(tensor, _NoData) is not isinstance(value, _NoData):
        raise RuntimeError(
            "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor type."
        )


def _to(tensor: Any, *args: Any, **kwargs: Any) -> Any:
    """`Tensor.to` where the tensor itself, or the argument `other`, is on the meta device."""
    if not isinstance(tensor, _NoData):
        return tensor.to(*[a.dtype if isinstance(a, Tensor) else a for a in args], device=META)
    given = [*args, *kwargs.values()]
    wanted = [a.device if isinstance(a, Tensor) else a for a in given if isinstance(a, (str, device, Tensor))]
    if wanted and not on_meta(wanted[0]):
        require_cpu(wanted[0])
        raise NotImplementedError(NO_DATA)
    rest = [a.dtype if isinstance(a, Tensor) else a for a in args if not isinstance(a, (str, device))]
    kwargs.pop("device", None)
    if isinstance(kwargs.get("other"), Tensor):
        kwargs["dtype"] = kwargs.pop("other").dtype
    with _open():
        return to_meta(Tensor.to(tensor, *rest, **kwargs))  # type: ignore[arg-type]


def _load(input: Any, other: Any, assign: bool = False) -> Any:
    """`module_load`: the result is where the tensor is that it comes from."""
    return (other if assign else input.copy_(other)).detach()


def moved(input: Any, dtype: Any) -> Any:
    """Move a tensor with data to the meta device."""
    if input.requires_grad and modes.is_grad_enabled():
        return to_meta(input.to(dtype, copy=True))
    array = input._array
    width = array.itemsize
    return made(array.shape, dtype, False, tuple(s // width for s in array.strides))


# ----- The default device ---------------------------------------------------------------------------------------------

_NEW = {
    "arange", "asarray", "as_tensor", "bartlett_window", "blackman_window", "empty", "empty_permuted", "empty_strided", "eye",
    "full", "hamming_window", "hann_window", "kaiser_window", "linspace", "logspace", "normal", "ones", "rand", "randint",
    "randn", "randperm", "range", "scalar_tensor", "tensor", "tril_indices", "triu_indices", "zeros",
}  # fmt: skip


class DefaultDevice:
    """The mode of `with torch.device(...)` and `set_default_device`: passes the device to factory functions."""

    def __init__(self, where: device) -> None:
        self.device = where

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if (
            kwargs.get("device") is None
            and getattr(func, "__name__", "") in _NEW
            and func.__module__ != "penlight.tensor"
        ):
            kwargs = {**kwargs, "device": self.device}
        return func(*args, **kwargs)


def default_device() -> device:
    """The device of new tensors in this thread."""
    found = [m for m in _torch_function.modes.get() if isinstance(m, DefaultDevice)]
    return found[-1].device if found else CPU


def enter(where: device) -> Any:
    """Make new tensors on a device; returns the modes that were open before."""
    _torch_function.activate()
    before = _torch_function.modes.get()
    _torch_function.modes.set((*before, DefaultDevice(where)))
    return before


def set_default(where: device | None) -> None:
    """Set the default device of new tensors; None for the CPU."""
    rest = _torch_function.modes.get()
    if rest and isinstance(rest[0], DefaultDevice):
        rest = rest[1:]
    if where is not None:
        _torch_function.activate()
        rest = (DefaultDevice(where), *rest)
    _torch_function.modes.set(rest)
