"""Creates tensors: from data, filled with values, and like other tensors. `ranges.py` has ranges."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes
from .._common.dims import sizes
from .._common.docstrings import documented
from .._common.user_warnings import warn_once, warn_user
from ..autograd import modes
from ..device import CPU, on_meta, require_cpu
from ..kernels.copies.order import empty_like as memory_like, in_format
from ..kernels.lazy import lazy_import
from ..layout import preserve_format
from ..ops.machinery.declare import install_method
from ..ops.machinery.dispatch import mark_inference
from ..ops.machinery.guards import need_countable
from ..tensor import Tensor, resize_to, wrap
from .data import NEGATIVE_STRIDES, array_of, tensors_in

_legacy = lazy_import(globals(), "_legacy", ".legacy")
_meta = lazy_import(globals(), "_meta", ".._meta")
_batched = lazy_import(globals(), "_batched", "..func.batched")


# ----- From data ----------------------------------------------------------------------------------------------------


def tensor(
    data: Any, *, dtype: dtypes.dtype | None = None, device: Any = None, requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """A new leaf tensor with a copy of the data: scalars, nested lists, an array.

    >>> torch.tensor([[1, 2], [3, 4]], dtype=torch.float32)
    tensor([[1., 2.],
            [3., 4.]])
    """
    if dtype is not None:
        dtype = dtypes.given(dtype, "tensor(): ")
    if _check(dtype, device, "tensor"):
        return _meta_or_float8(tensor, data, dtype=dtype, requires_grad=requires_grad)
    if isinstance(data, Tensor):
        warn_user(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor)."
        )
    out = wrap(array_of(data, dtype, copy=True))
    if modes.slow():
        modes.report_cut(tensors_in(data), out, "torch.tensor()")
    return _leaf(out, requires_grad)


def _leaf(out: Tensor, requires_grad: bool) -> Tensor:
    if requires_grad:
        if out._array.dtype.kind in "biu":
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        out._require_grad_()
    if modes.slow() and modes.inference.get():
        mark_inference(out)
    return out


def _check(dtype: Any, device: Any, name: str) -> bool:
    """Refuse a wrong dtype or an unavailable device; returns whether `_meta_or_float8` creates the tensor."""
    if dtype is not None and not isinstance(dtype, dtypes.dtype):
        raise TypeError(f"{name}(): argument 'dtype' must be torch.dtype, not {type(dtype).__name__}")
    if device is not None:
        if device is not CPU and on_meta(device):
            if dtype in dtypes.FLOAT8:
                raise NotImplementedError(f"Penlight has no tensors of {dtype} on the meta device")
            return True
        require_cpu(device)
    return dtype is not None and dtype._np is None and dtype in dtypes.FLOAT8


def _meta_or_float8(function: Any, *args: Any, **kwargs: Any) -> Tensor:
    """A tensor without data: see Note [Tensors without data] in _meta.py. Or one of 8-bit floats: see Note [8-bit floats] in float8.py."""
    if kwargs["dtype"] in dtypes.FLOAT8:
        wide = function(*args, **{**kwargs, "dtype": dtypes.float32, "requires_grad": False})
        return wide.to(kwargs["dtype"]).requires_grad_(kwargs.get("requires_grad", False))
    return _meta.created(function, *args, **kwargs)


def as_tensor(data: Any, dtype: dtypes.dtype | None = None, device: Any = None) -> Tensor:
    """Data as a tensor, without a copy if memory can be shared; a tensor is returned unchanged.

    >>> torch.as_tensor([1, 2])
    tensor([1, 2])
    """
    if dtype is not None:
        dtype = dtypes.given(dtype, "as_tensor(): ")
    if _check(dtype, device, "as_tensor"):
        return data.to(device, dtype) if isinstance(data, Tensor) else _meta_or_float8(as_tensor, data, dtype=dtype)
    if isinstance(data, Tensor):
        return data if dtype is None else data.to(dtype)
    out = wrap(array_of(data, dtype, copy=False))
    if modes.slow():
        modes.report_cut(tensors_in(data), out, "torch.as_tensor()")
    return out


def from_numpy(ndarray: np.ndarray[Any, Any]) -> Tensor:
    """A tensor that shares an array's memory: writing to one writes to the other.

    >>> import numpy as np, penlight as torch
    >>> a = np.zeros(2); torch.from_numpy(a)[0] = 5; a
    array([5., 0.])
    """
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    own = dtypes.from_np(ndarray.dtype).np
    if not ndarray.dtype.isnative:
        raise ValueError(
            "given numpy array has byte order different from the native byte order. Conversion between byte orders is currently not supported."
        )
    if any(s < 0 for s in ndarray.strides):
        raise ValueError(NEGATIVE_STRIDES)
    if any(s % ndarray.itemsize for s in ndarray.strides):
        raise ValueError(
            "given numpy array strides not a multiple of the element byte size. Copy the numpy array to reallocate the memory."
        )
    if not ndarray.flags.writeable:
        warn_user(
            "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. This means writing to "
            "this tensor will result in undefined behavior. You may want to copy the array to protect its data or make it "
            "writable before converting it to a tensor. This type of warning will be suppressed for the rest of this program."
        )
    return wrap(ndarray.view(own, np.ndarray) if ndarray.base is None else _own_root(ndarray, own))


def _own_root(array: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """The same memory as an array whose storage starts and ends with it, even if it is a part of a larger array."""
    span = array.itemsize + sum((n - 1) * s for n, s in zip(array.shape, array.strides)) if array.size else 0
    return np.ndarray(array.shape, dtype, np.asarray(_Memory(array, span)), 0, array.strides)


class _Memory:
    """Exposes the memory of an array, from its first byte to its last, to NumPy without the array: the chain of bases ends here."""

    __slots__ = ("__array_interface__", "kept")

    def __init__(self, array: np.ndarray[Any, Any], span: int) -> None:
        known = array.__array_interface__
        self.__array_interface__ = {"data": known["data"], "shape": (span,), "typestr": "|u1", "version": 3}
        self.kept = array


def asarray(
    obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None, requires_grad: bool | None = None
) -> Tensor:
    """An object as a tensor, sharing memory unless `copy` is given. A tensor keeps its requires_grad, unless `requires_grad` is given.

    >>> torch.asarray([1, 2])
    tensor([1, 2])
    """
    if dtype is not None:
        dtype = dtypes.given(dtype, "asarray(): ")
    if _check(dtype, device, "asarray"):
        return _meta_or_float8(asarray, obj, dtype=dtype, copy=copy, requires_grad=requires_grad)
    if not isinstance(obj, (Tensor, np.ndarray, np.generic)) and _is_buffer(obj):
        obj = frombuffer(obj, dtype=dtype or dtypes.get_default_dtype())
    if copy is False:
        _refuse_copy(obj, dtype)
    out = obj if isinstance(obj, Tensor) else wrap(array_of(obj, dtype, copy=bool(copy)))
    if dtype is not None:
        out = out.to(dtype)
    if copy and out is obj:
        out = out.clone()
    if requires_grad is None:
        requires_grad = isinstance(obj, Tensor) and obj.requires_grad
        if requires_grad:
            warn_once(_KEEPS_REQUIRES_GRAD)
    if requires_grad == out.requires_grad:
        return out
    return _leaf(out.detach() if out.grad_fn is not None else out._require_grad_(False), requires_grad)


_KEEPS_REQUIRES_GRAD = (
    "torch.asarray: unspecified requires_grad now defaults to obj.requires_grad instead of False. Pass requires_grad=False explicitly "
    "to get the old behavior and silence this warning."
)


def _is_buffer(obj: Any) -> bool:
    try:
        memoryview(obj)
    except TypeError:
        return False
    return True


def _refuse_copy(obj: Any, dtype: dtypes.dtype | None) -> None:
    """Refuse objects whose memory a tensor cannot share."""
    if isinstance(obj, np.generic):
        raise RuntimeError("can't alias NumPy scalars. Either remove copy=False or transform it in a ndarray. ")
    if not isinstance(obj, (Tensor, np.ndarray)) and not hasattr(obj, "__array__"):
        raise ValueError("can't alias arbitrary sequence into a tensor.")
    own = obj.dtype if isinstance(obj, Tensor) else dtypes.from_np(np.asarray(obj).dtype)
    if dtype is not None and own is not dtype:
        kinds = dtypes.LEGACY[own], dtypes.LEGACY[dtype]
        raise ValueError(f"can't alias tensor with dtype '{kinds[0]}' into dtype '{kinds[1]}'.")


def scalar_tensor(s: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A 0-d tensor of a scalar, in the default dtype.

    >>> torch.scalar_tensor(3)
    tensor(3.)
    """
    if dtype is not None:
        dtype = dtypes.given(dtype)
    found = dtype or dtypes.get_default_dtype()
    if isinstance(s, (bool, int, float, complex)):
        s = dtypes.number_for(s, found, True)
    elif not isinstance(s, np.generic) and not (isinstance(s, Tensor) and s.dim() == 0):
        raise TypeError(f"scalar_tensor(): argument 's' (position 1) must be Number, not {type(s).__name__}")
    return tensor(s, dtype=found, device=device, requires_grad=requires_grad)


def frombuffer(
    buffer: Any, *, dtype: dtypes.dtype, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Tensor:
    """A 1-d tensor that shares the memory of a buffer.

    >>> torch.frombuffer(bytearray([1, 0, 2, 0]), dtype=torch.int16)
    tensor([1, 2], dtype=torch.int16)
    """
    if dtype is not None:
        dtype = dtypes.given(dtype, "frombuffer(): ")
    return _leaf(wrap(np.frombuffer(buffer, dtype.np, count, offset)), requires_grad)


# ----- Filled -------------------------------------------------------------------------------------------------------


def _size(args: tuple[Any, ...], name: str) -> tuple[int, ...]:
    size = sizes(args, name)
    if size and min(size) < 0:
        bad = next(n for n in size if n < 0)
        if name == "zeros":
            raise RuntimeError("zeros: Dimension size must be non-negative.")
        raise RuntimeError(f"Trying to create tensor with negative dimension {bad}: {list(size)}")
    if size and max(size) >= 1 << 30 and math.prod(size) >= 1 << 60:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(size)}")
    return size


def _filled(name: str, fill: Any) -> Callable[..., Tensor]:
    def make(
        *size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False, out: Tensor | None = None,
        **more: Any,
    ) -> Tensor:  # fmt: skip
        memory_format = None
        if more:
            if name == "empty":
                memory_format = more.pop("memory_format", None)
            if "size" in more:
                size = (more.pop("size"),)
            _accept(name, more)
        if dtype is not None:
            dtype = dtypes.given(dtype)
        elsewhere = (dtype is not None or device is not None) and _check(dtype, device, name)
        if not size:
            raise TypeError(f"{name}() received an invalid combination of arguments - got (), but expected a size")
        if elsewhere and out is None:
            if dtype in dtypes.FLOAT8:
                return _meta_or_float8(make, *size, dtype=dtype, requires_grad=requires_grad)
            return _meta.made(_size(size, name), dtype or dtypes.get_default_dtype(), requires_grad)
        shape, np_dtype = _size(size, name), (dtype or dtypes.get_default_dtype()).np
        if memory_format is preserve_format:
            raise RuntimeError("unsupported memory format Preserve")
        array = fill(shape, np_dtype) if memory_format is None else in_format(fill, shape, np_dtype, memory_format)
        if out is not None:
            return _leaf(_into(out, wrap(array), dtype), requires_grad)
        return _leaf(wrap(array), requires_grad)

    make.__name__ = make.__qualname__ = name
    return make


def _full(shape: Any, value: Any, np_dtype: Any) -> np.ndarray[Any, Any]:
    """A faster `np.full`, which takes twice as long for a small array."""
    array = np.empty(shape, np_dtype)
    if type(value) is float and np_dtype.kind == "f":
        array.fill(value)
    else:
        np.copyto(array, value, casting="unsafe")
    return array


def _ones(shape: Any, np_dtype: Any) -> np.ndarray[Any, Any]:
    array = np.empty(shape, np_dtype)
    array.fill(1)
    return array


zeros = _filled("zeros", np.zeros)
zeros.__doc__ = """Zeros of a shape.

    >>> torch.zeros(2)
    tensor([0., 0.])
    """
ones = _filled("ones", _ones)
ones.__doc__ = """Ones of a shape.

    >>> torch.ones(2)
    tensor([1., 1.])
    """
empty = _filled("empty", np.empty)
empty.__doc__ = """An uninitialised tensor of a shape.

    >>> torch.empty(2, 3).shape
    torch.Size([2, 3])
    """


def full(
    size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, out: Any = None,
    **more: Any,
) -> Tensor:  # fmt: skip
    """A tensor of a shape filled with one value, whose type determines the dtype.

    >>> torch.full((2,), 7)
    tensor([7, 7])
    """
    if dtype is not None:
        dtype = dtypes.given(dtype)
    if (dtype is not None or device is not None) and _check(dtype, device, "full"):
        return _meta_or_float8(full, size, fill_value, dtype=dtype, requires_grad=requires_grad)
    _accept("full", more)
    if not isinstance(size, (tuple, list)):
        raise TypeError(f"full(): argument 'size' (position 1) must be tuple of ints, not {type(size).__name__}")
    wanted = dtype
    if isinstance(fill_value, Tensor):
        dtype = dtype or fill_value.dtype
        fill_value = fill_value.item()
    if not isinstance(fill_value, (bool, int, float, complex, np.generic)):
        raise TypeError(f"full(): argument 'fill_value' (position 2) must be Number, not {type(fill_value).__name__}")
    found = dtype or dtypes.of_number(fill_value)
    shape = _size((size,), "full")
    result = wrap(_full(shape, dtypes.number_for(_plain(fill_value), found, math.prod(shape) == 1), found.np))
    return _leaf(result if out is None else _into(out, result, wanted), requires_grad)


def empty_strided(
    size: Any, stride: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, **more: Any
) -> Tensor:
    """An uninitialised tensor with the given strides in elements.

    >>> torch.empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    if dtype is not None:
        dtype = dtypes.given(dtype)
    if _check(dtype, device, "empty_strided"):
        return _meta.made(tuple(size), dtype or dtypes.get_default_dtype(), requires_grad, tuple(stride))
    np_dtype = (dtype or dtypes.get_default_dtype()).np
    size, stride = tuple(size), tuple(stride)
    if 0 in size:
        return _leaf(wrap(np.empty(size, np_dtype)), requires_grad)
    span = 1 + sum((n - 1) * s for n, s in zip(size, stride))
    if span * np_dtype.itemsize >= 2**63:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}")
    array = np.ndarray(size, np_dtype, np.empty(span, np_dtype), 0, tuple(s * np_dtype.itemsize for s in stride))
    return _leaf(wrap(array), requires_grad)


def eye(
    n: int, m: int | None = None, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
    out: Any = None, **more: Any,
) -> Tensor:  # fmt: skip
    """A matrix with ones on the diagonal and zeros elsewhere.

    >>> torch.eye(2)
    tensor([[1., 0.],
            [0., 1.]])
    """
    if dtype is not None:
        dtype = dtypes.given(dtype)
    if _check(dtype, device, "eye"):
        return _meta_or_float8(eye, n, m, dtype=dtype, requires_grad=requires_grad)
    _accept("eye", more)
    for name, value in (("n", n), ("m", m)):
        if value is not None and value < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {value}")
    need_countable((n, n if m is None else m))
    result = wrap(np.eye(n, m, dtype=(dtype or dtypes.get_default_dtype()).np))
    return _leaf(result if out is None else _into(out, result, dtype), requires_grad)


def _accept(name: str, more: dict[str, Any]) -> None:
    """Accept keyword arguments that have no effect for a dense tensor on the CPU, and refuse any others."""
    if not more:
        return
    if "sparse" in repr(more.get("layout")):
        raise RuntimeError(
            f"{name}(...) is not implemented for sparse layout. Use torch.sparse_coo_tensor(size=...), or to_sparse(layout=...) of a dense tensor"
        )
    for ignored in ("layout", "pin_memory", "names"):
        more.pop(ignored, None)
    if more:
        raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(more))}'")


def _into(out: Tensor, result: Tensor, dtype: Any = None) -> Tensor:
    """Write a result to `out`, which is resized to its shape; a requested dtype must be that of `out`."""
    if dtype is not None and out.dtype is not dtype:
        kinds = dtypes.LEGACY[dtype], dtypes.LEGACY[out.dtype]
        raise RuntimeError(f"dtype {kinds[0]} does not match dtype of out parameter ({kinds[1]})")
    if out.shape != result.shape:
        resize_to(out, result.shape)
    return out.copy_(result)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, (Tensor, np.generic)) else value


# ----- Like another tensor ------------------------------------------------------------------------------------------


def _like(name: str, fill: Any) -> Callable[..., Tensor]:
    def make(
        input: Tensor, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, layout: Any = None,
        memory_format: Any = None, pin_memory: bool = False,
    ) -> Tensor:  # fmt: skip
        if layout is not None:
            _accept(name, {"layout": layout})
        if dtype is not None:
            dtype = dtypes.given(dtype)
        if (dtype is not None or device is not None) and _check(dtype, device, name):
            return _meta_or_float8(make, input, dtype=dtype, requires_grad=requires_grad, memory_format=memory_format)
        if input._level is not None:
            return _leaf(input._level.like(make, input, dtype=dtype, memory_format=memory_format), requires_grad)
        array, np_dtype = input._array, (dtype or input.dtype).np
        return _leaf(wrap(like(fill, array, np_dtype, memory_format)), requires_grad)

    make.__name__ = make.__qualname__ = name
    return make


def like(fill: Any, array: Any, np_dtype: Any, memory_format: Any) -> Any:
    """The result of `fill(shape, np_dtype)`, in the layout of an array or in a memory format."""
    if memory_format is None or memory_format is preserve_format:
        return memory_like(array, np_dtype, fill)
    return in_format(fill, array.shape, np_dtype, memory_format)


zeros_like = _like("zeros_like", np.zeros)
zeros_like.__doc__ = documented(
    "Zeros with another tensor's shape and dtype.", ">>> torch.zeros_like(torch.tensor([3.0, 4.0]))", "tensor([0., 0.])"
)
ones_like = _like("ones_like", _ones)
ones_like.__doc__ = documented(
    "Ones with another tensor's shape and dtype.", ">>> torch.ones_like(torch.tensor([3, 4]))", "tensor([1, 1])"
)
empty_like = _like("empty_like", np.empty)
empty_like.__doc__ = documented(
    "An uninitialised tensor with another's shape and dtype.",
    ">>> torch.empty_like(torch.ones(2, 3)).shape",
    "torch.Size([2, 3])",
)


def full_like(
    input: Tensor, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
    memory_format: Any = None, **more: Any,
) -> Tensor:  # fmt: skip
    """A tensor of one value, in another tensor's shape and dtype.

    >>> torch.full_like(torch.zeros(2), 3)
    tensor([3., 3.])
    """
    if dtype is not None:
        dtype = dtypes.given(dtype)
    if _check(dtype, device, "full_like"):
        return _meta_or_float8(full_like, input, fill_value, dtype=dtype, requires_grad=requires_grad)
    _accept("full_like", more)
    if input._level is not None:
        return _leaf(input._level.like(full_like, input, fill_value, dtype=dtype), requires_grad)
    found = dtype or input.dtype
    number = dtypes.number_for(_plain(fill_value), found, input.numel() == 1)
    array = like(lambda shape, np_dtype: _full(shape, number, np_dtype), input._array, found.np, memory_format)
    return _leaf(wrap(array), requires_grad)


def _new(name: str, make: Any) -> Any:
    def method(self: Tensor, *size: Any, dtype: Any = None, **kwargs: Any) -> Tensor:
        return make(*size, dtype=dtype or self.dtype, **kwargs)

    method.__name__ = method.__qualname__ = "new_" + name
    more = ", 7" if name == "full" else ""
    method.__doc__ = documented(
        f"`torch.{name}` in this tensor's dtype.", f">>> torch.tensor([1]).new_{name}((2,){more}).dtype", "torch.int64"
    )
    return method


def _install() -> None:
    install_method("new_zeros", _new("zeros", zeros))
    install_method("new_ones", _new("ones", ones))
    install_method("new_empty", _new("empty", empty))
    install_method("new_full", _new("full", full))

    def new_tensor(
        self: Tensor, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
    ) -> Tensor:
        """Like `torch.tensor`, in this tensor's dtype.

        >>> torch.tensor([1]).new_tensor([2.0, 3.0])
        tensor([2, 3])
        """
        out = tensor(
            data._array if isinstance(data, Tensor) else data,
            dtype=dtype or self.dtype,
            device=device,
            requires_grad=requires_grad,
        )
        if modes.slow() and isinstance(data, Tensor):
            modes.report_cut([data], out, "new_tensor()")
        return out

    def new_empty_strided(self: Tensor, size: Any, stride: Any, *, dtype: Any = None, **kwargs: Any) -> Tensor:
        """Like `torch.empty_strided`, in this tensor's dtype.

        >>> torch.tensor([1]).new_empty_strided((2, 3), (1, 2)).stride()
        (1, 2)
        """
        return empty_strided(size, stride, dtype=dtype or self.dtype, **kwargs)

    def new(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """The legacy constructor in this tensor's dtype.

        >>> torch.tensor([1]).new([2, 3])
        tensor([2, 3])
        """
        return _legacy.legacy_tensor(self.dtype, *args, **kwargs)

    for function in (new_tensor, new_empty_strided, new):
        install_method(function.__name__, function)


_install()
