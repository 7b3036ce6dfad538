"""The meta device: tensors that have a shape, a dtype and an edge in the graph, and no data.

# Note [Tensors without data]
A tensor on the meta device is of a class that takes over functions (see Note [Functions taken over] in _takeover.py). Its array
is memory that was never written, so that the system gives it no pages, however large it is: mapped memory, or, where the system
counts on all of it being used (Windows, Linux without overcommitment), a file that is one hole. A function runs on it as on any
other; what comes out is on the meta device again, and its numbers are forgotten. Outside of such a call the array can't be
reached, so that no path that was overlooked computes with numbers that are not there. What asks for numbers is refused.
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

from . import _takeover
from .autograd import modes
from .device import CPU, META, device, on_meta, require_cpu
from .dtypes import get_default_dtype
from .nn.parameter import Parameter
from .random import default_generator
from .tensor import Tensor, wrap
from .tensor.printing import close_with, history

if sys.platform == "win32":
    import msvcrt

NO_DATA = "Cannot copy out of meta tensor; no data!"
_NO_ITEM = "Tensor.item() cannot be called on meta tensors"
_NORESERVE = 0x4000  # mmap.MAP_NORESERVE, which Python has since 3.12: more than there is memory may be asked for
_SET_SPARSE = 0x900C4  # FSCTL_SET_SPARSE of Windows
_SMALL = 1 << 16  # bytes that are not worth a mapping of their own
_slot = Tensor.__dict__["_array"]

# What asks for one number; for the numbers; for those of some property, whose count they decide.
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

# What only writes numbers.
_WRITING = {
    "uniform_", "normal_", "bernoulli_", "exponential_", "random_", "cauchy_", "log_normal_", "geometric_", "fill_", "zero_",
    "copy_", "fill_diagonal_", "masked_fill_",
}  # fmt: skip
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
    """Memory of which the system gives a page when it is first touched. See Note [Tensors without data]."""
    if size > sys.maxsize:
        raise MemoryError(f"a tensor of {size} bytes is larger than the address space of this {sys.platform} process")
    if sys.platform != "win32":
        try:
            # Systems other than Linux reserve nothing for private memory, and may know the flag by another number.
            flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | (_NORESERVE if sys.platform == "linux" else 0)
            return mmap.mmap(-1, size, flags=flags)
        except OSError:
            pass
    with tempfile.TemporaryFile() as file:
        if sys.platform == "win32":
            _allow_holes(file.fileno())  # mmap makes the file as long: `truncate` would write zeros
        else:
            file.truncate(size)
        return mmap.mmap(file.fileno(), size)


def _allow_holes(descriptor: int) -> None:
    """Let Windows keep no zeros for a file that becomes long without being written."""
    if sys.platform == "win32":
        returned = ctypes.c_ulong()
        handle = ctypes.c_void_p(msvcrt.get_osfhandle(descriptor))
        control = ctypes.windll.kernel32.DeviceIoControl
        control(handle, _SET_SPARSE, None, 0, None, 0, ctypes.byref(returned), None)


class _NoData:
    """What tensors and parameters on the meta device share. See Note [Tensors without data]."""

    __slots__ = ()

    is_meta, is_cpu = True, False
    device = META

    @property
    def _array(self) -> Any:
        if not _takeover.subclasses_off.get():
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
                Tensor.__deepcopy__(self, memo)  # which says what is wrong with that
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
        return Parameter(data, requires_grad)  # `type(parameter)(data)` is where the data is


# As PyTorch, which has no class of its own for them, prints them.
for _kind, _own in ((MetaTensor, Tensor), (MetaParameter, Parameter)):
    _kind.__name__, _kind.__qualname__, _kind.__module__ = _own.__name__, _own.__qualname__, _own.__module__


@contextmanager
def _open() -> Any:
    """A region that reaches the arrays."""
    outer = _takeover.subclasses_off.get()
    _takeover.subclasses_off.set(True)
    try:
        yield
    finally:
        _takeover.subclasses_off.set(outer)


@contextmanager
def _no_draws() -> Any:
    """A region after which the random numbers go on as before it: those of the meta device are never drawn."""
    state = default_generator.get_state()
    try:
        yield
    finally:
        default_generator.set_state(state)


def made(shape: tuple[int, ...], dtype: Any, requires_grad: bool = False, strides: Any = None) -> Tensor:
    """A new tensor on the meta device; strides in elements."""
    _takeover.wake()
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


def become(result: Any) -> Any:
    """Tensors in the result of a function, on the meta device from now on."""
    if isinstance(result, Tensor):
        if not isinstance(result, _NoData):
            _takeover.wake()
            array = result._array
            if array.base is None and array.nbytes > _SMALL:
                result._array = untouched(array.shape, array.dtype, array.strides)
            result.__class__ = MetaTensor
        return result
    if isinstance(result, (tuple, list)):
        for value in result:
            become(value)
    return result


def created(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What a function that makes tensors gives, on the meta device, without drawing random numbers."""
    with _open(), _no_draws():
        return become(function(*args, **kwargs))


def parameter(data: Any, requires_grad: bool) -> Any:
    """A parameter of data on the meta device."""
    with _open():
        out: Any = wrap(data._array)
    out.__class__ = MetaParameter
    out.requires_grad_(requires_grad)
    return out


def rebuild(dtype: Any, size: Any, stride: Any, requires_grad: bool, is_parameter: bool = False) -> Any:
    """A tensor that was saved."""
    out = made(tuple(size), dtype, requires_grad and not is_parameter, tuple(stride))
    return parameter(out, requires_grad) if is_parameter else out


# ----- Functions on them ----------------------------------------------------------------------------------------------


def call(function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """A function with a tensor on the meta device among its arguments."""
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
    if name == "__set__" and "data" in str(_takeover.NAMES.get(function)):
        _check_data(*args)
    if name in _WRITING and not (args[0].requires_grad and modes.is_grad_enabled()):
        with _open():
            Tensor.add_(args[0][:0] if args[0].dim() else args[0], 0)  # counts as a write
        return args[0]
    where = kwargs.pop("device", None) if "device" in kwargs else META
    with _open(), _no_draws(), np.errstate(all="ignore"):
        result = function(*args, **kwargs)
    if where is None or on_meta(where):
        return become(result)
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
    """Tensors on different devices don't go together, except for single numbers."""
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
    """`to` with a tensor on the meta device as what is converted, or as what says where to."""
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
        return become(Tensor.to(tensor, *rest, **kwargs))  # type: ignore[arg-type]


def _load(input: Any, other: Any, assign: bool = False) -> Any:
    """`module_load`: the result is where the tensor is that it comes from."""
    return (other if assign else input.copy_(other)).detach()


def moved(input: Any, dtype: Any) -> Any:
    """A tensor with data, without it on the meta device."""
    if input.requires_grad and modes.is_grad_enabled():
        return become(input.to(dtype, copy=True))
    array = input._array
    width = array.itemsize
    return made(array.shape, dtype, False, tuple(s // width for s in array.strides))


# ----- Where new tensors go -------------------------------------------------------------------------------------------

_NEW = {
    "arange", "asarray", "as_tensor", "bartlett_window", "blackman_window", "empty", "empty_permuted", "empty_strided", "eye",
    "full", "hamming_window", "hann_window", "kaiser_window", "linspace", "logspace", "normal", "ones", "rand", "randint",
    "randn", "randperm", "range", "scalar_tensor", "tensor", "tril_indices", "triu_indices", "zeros",
}  # fmt: skip


class DefaultDevice:
    """The mode of `with torch.device(...)` and `set_default_device`: names the device in functions that make tensors."""

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
    """Where new tensors go, here."""
    found = [m for m in _takeover.modes.get() if isinstance(m, DefaultDevice)]
    return found[-1].device if found else CPU


def enter(where: device) -> Any:
    """Let new tensors go to a device; gives the modes that were open."""
    _takeover.wake()
    before = _takeover.modes.get()
    _takeover.modes.set((*before, DefaultDevice(where)))
    return before


def set_default(where: device | None) -> None:
    """Let new tensors go to a device until told otherwise."""
    rest = _takeover.modes.get()
    if rest and isinstance(rest[0], DefaultDevice):
        rest = rest[1:]
    if where is not None:
        _takeover.wake()
        rest = (DefaultDevice(where), *rest)
    _takeover.modes.set(rest)
