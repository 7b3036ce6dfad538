"""Non-arithmetic tensor methods: resizing, replacing memory, applying Python functions, DLPack."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import dtypes
from .._common.user_warnings import warn_user
from ..autograd import modes, views
from ..kernels.addresses import address, offset
from ..kernels.copies.order import in_format
from ..layout import channels_last as channels_last_format, channels_last_3d, memory_format, preserve_format
from ..tensor import Tensor, wrap
from ..tensor.conjugates import Marked
from ..tensor.memory import root_of
from .machinery.arguments import sizes
from .machinery.channels_last import channels_last
from .machinery.declare import install_method, method
from .machinery.guards import c_name, need_countable, refuse_tangents
from .machinery.in_place import in_place_view, refuse_inference
from .pointwise.arithmetic import scalar_like
from .shape.strided import as_strided, check_window

__all__ = ["as_strided_", "from_dlpack", "resize_as_", "to_dlpack"]

_CHANNELS_LAST = {4: channels_last_format, 5: channels_last_3d}

# ----- Other sizes, other memory ------------------------------------------------------------------------------------


def _flat_memory(array: Any) -> Any:
    """All the memory that an array is a part of, as a flat array of its dtype."""
    root = root_of(array)
    if not root.flags.c_contiguous:
        root = root.transpose(sorted(range(root.ndim), key=lambda d: -root.strides[d]))
    return root.reshape(-1).view(array.dtype)


def _resized(array: Any, shape: tuple[int, ...], memory_format: Any = None) -> Any:
    """The same memory in another shape; if it is too small, larger memory with the old content."""
    flat = _flat_memory(array) if array.size else np.empty(0, array.dtype)
    start = offset(array, flat) // array.itemsize if array.size else 0
    need = math.prod(shape)
    if start + need > flat.size:
        grown = np.empty(start + need, array.dtype)
        grown[: flat.size] = flat
        flat = grown
    return in_format(lambda size, _: flat[start : start + need].reshape(size), shape, None, memory_format)


@method
def resize_(input: Tensor, *args: Any, size: Any = None, memory_format: Any = None) -> Tensor:
    """Resize the tensor in place; elements keep their memory offsets, and new ones are uninitialised.

    >>> torch.arange(6).resize_(2, 2)
    tensor([[0, 1],
            [2, 3]])
    """
    if input.requires_grad and not (input.is_inference() or modes.inference.get()):
        raise RuntimeError("cannot resize variables that require grad")
    if input._rare_state is not None and input._rare_state.tangents:
        raise RuntimeError("cannot resize variables that has a forward grad")
    shape = sizes(args if size is None else (size,), "resize_")
    if shape and min(shape) < 0:
        raise RuntimeError(f"numel: integer multiplication overflow\nsizes {list(shape)} must not be negative")
    if memory_format is preserve_format:
        raise RuntimeError("Unsupported memory formatPreserve")
    need_countable(shape)
    need_countable(shape, input._array.itemsize)
    if tuple(input.shape) != shape or memory_format is not None:
        refuse_inference(input)
        input._array = _resized(input._array, shape, memory_format)
        views.bump(input)
    return input


@method
def resize_as_(input: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """Resize the tensor to the size of another, in place.

    >>> torch.arange(4).resize_as_(torch.zeros(2, 2))
    tensor([[0, 1],
            [2, 3]])
    """
    if memory_format is preserve_format:
        last = the_template.dim() in (4, 5) and channels_last(the_template._array)
        memory_format = None if not last else _CHANNELS_LAST[the_template.dim()]
    return resize_(input, tuple(the_template.shape), memory_format=memory_format)


@method
def resize(input: Tensor, *size: Any) -> Tensor:
    """The tensor in another shape with as many elements; an old spelling of `reshape`.

    >>> torch.arange(4).resize(2, 2).shape
    torch.Size([2, 2])
    """
    warn_user("non-inplace resize is deprecated")
    shape = sizes(size, "resize")
    if math.prod(shape) != input.numel():
        raise RuntimeError(
            f"requested resize to {'x'.join(map(str, shape))} ({math.prod(shape)} elements in total), but the given tensor has a "
            f"size of {'x'.join(map(str, input.shape))} ({input.numel()} elements). autograd's resize can only change the shape "
            "of a given tensor, while preserving the number of elements. "
        )
    return input.contiguous().view(shape)


@method
def resize_as(input: Tensor, tensor: Tensor) -> Tensor:
    """The tensor in another tensor's shape; an old spelling of `reshape_as`.

    >>> torch.arange(4).resize_as(torch.zeros(2, 2)).shape
    torch.Size([2, 2])
    """
    warn_user("non-inplace resize_as is deprecated")
    return input.contiguous().view(tuple(tensor.shape))


@method
def as_strided_(input: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """In-place version of `as_strided`: the tensor itself becomes that window of its memory.

    >>> torch.arange(4).as_strided_((2, 2), (1, 2))
    tensor([[0, 2],
            [1, 3]])
    """
    return _as_strided_in_place(input, size, stride, storage_offset)


_as_strided_in_place = in_place_view(as_strided, {"AsStridedBackward0": "AsStridedBackward1"})


@method
def set_(input: Tensor, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None) -> Tensor:
    """Make the tensor a window of other memory: another tensor's, or a storage.

    >>> torch.zeros(2).set_(torch.ones(3))
    tensor([1., 1., 1.])
    """
    views.check_inplace(input, input.requires_grad)
    refuse_inference(input)
    refuse_tangents("set_", input)
    if type(input) is Marked:
        raise RuntimeError(
            "set_: the tensor is a conjugate or negative view. Call resolve_conj() and resolve_neg() first"
        )
    if source is None:
        input._array = np.empty(0, input.dtype.np)
        return input
    kind = getattr(source, "dtype", input.dtype)
    if isinstance(kind, dtypes.dtype) and kind is not input.dtype:
        raise RuntimeError(f"Could not set tensor of type {c_name(kind)} to a tensor of type {c_name(input.dtype)}")
    if isinstance(source, Tensor):
        memory = source._array
        if size is None:
            input._array = memory
            return input
        flat = _flat_memory(memory)
    else:
        untyped = source if hasattr(source, "_bytes") else source._untyped_storage
        flat = untyped._bytes.view(input.dtype.np)
    shape = (flat.size,) if size is None else tuple(size)
    steps = [math.prod(shape[d + 1 :]) for d in range(len(shape))] if stride is None else list(stride)
    check_window(shape, tuple(steps), storage_offset, flat.itemsize, flat.nbytes)
    input._array = views.strided_window(flat, shape, tuple(s * flat.itemsize for s in steps), storage_offset)
    return input


@method
def dim_order(input: Tensor, *, ambiguity_check: Any = False) -> tuple[int, ...]:
    """The dimensions in order of decreasing stride.

    `ambiguity_check=True` refuses a tensor whose strides allow several orders, such as with a dimension of size 1. A list of memory formats
    accepts it if it is contiguous in exactly one of them.

    >>> torch.zeros(2, 3).t().dim_order()
    (1, 0)
    """
    formats = [] if isinstance(ambiguity_check, bool) else ambiguity_check
    if not isinstance(formats, list) or not all(isinstance(f, memory_format) for f in formats):
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    strides = input.stride()
    if ambiguity_check is not False and input.dim():
        if min(input.shape) < 2 and sum(input.is_contiguous(memory_format=f) for f in formats) != 1:
            raise RuntimeError(
                "The tensor does not have unique dim order, or cannot map to exact one of the given memory formats."
            )
        if len({*strides}) < len(strides) or 0 in strides:
            raise RuntimeError("The tensor does not have unique dim order.")
    return tuple(sorted(range(input.dim()), key=lambda d: (-strides[d], d)))


@method
def const_data_ptr(input: Tensor) -> int:
    """The address of the first element, for reading.

    >>> x = torch.zeros(2)
    >>> x.data_ptr() == x.const_data_ptr()
    True
    """
    return input.data_ptr()


# ----- Functions of Python, element by element ----------------------------------------------------------------------


def _refuse_graph(name: str, input: Tensor) -> None:
    if input.requires_grad:
        raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")


def _written(input: Tensor, values: Any) -> Tensor:
    input._array[...] = np.asarray(values, dtype=input.dtype.np).reshape(input._array.shape)
    views.bump(input)
    return input


@method
def apply_(input: Tensor, callable: Any) -> Tensor:
    """Replace each element by a Python function of it. Slow; meant for a few elements.

    >>> torch.tensor([1.0, 2.0]).apply_(lambda x: x + 1)
    tensor([2., 3.])
    """
    _refuse_graph("apply_", input)
    return _written(input, [callable(x) for x in input.flatten().tolist()])


@method
def map_(input: Tensor, tensor: Tensor, callable: Any) -> Tensor:
    """Replace each element by a Python function of it and of another tensor's element.

    >>> torch.tensor([1.0, 2.0]).map_(torch.tensor([3.0, 4.0]), lambda a, b: a * b)
    tensor([3., 8.])
    """
    _refuse_graph("map_", input)
    others = tensor.expand(tuple(input.shape)).flatten().tolist()
    return _written(input, [callable(x, y) for x, y in zip(input.flatten().tolist(), others)])


@method
def map2_(input: Tensor, x: Tensor, y: Tensor, callable: Any) -> Tensor:
    """Replace each element by a Python function of it and of two other tensors' elements.

    >>> torch.tensor([1.0]).map2_(torch.tensor([2.0]), torch.tensor([3.0]), lambda a, b, c: a + b * c)
    tensor([7.])
    """
    _refuse_graph("map2_", input)
    first, second = (t.expand(tuple(input.shape)).flatten().tolist() for t in (x, y))
    return _written(input, [callable(*values) for values in zip(input.flatten().tolist(), first, second)])


# ----- DLPack and Python's protocols --------------------------------------------------------------------------------


def _dlpack(self: Tensor, **kwargs: Any) -> Any:
    """The tensor's memory for another library, through NumPy."""
    if self.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    kwargs.pop("stream", None)
    return self._array.__dlpack__(**kwargs)


def _reversed(self: Tensor) -> Tensor:
    """The tensor with its first dimension reversed."""
    return self.flip(0) if self.dim() else self


def _no_deletion(self: Tensor, index: Any) -> None:
    raise TypeError("Tensor does not support deleting items")


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor that shares the memory of another library's array.

    >>> import numpy as np, penlight as torch
    >>> torch.from_dlpack(np.ones(2))
    tensor([1., 1.], dtype=torch.float64)
    """
    if hasattr(ext_tensor, "__dlpack__"):
        array = np.from_dlpack(ext_tensor)
    else:
        array = _from_capsule(ext_tensor)
    if copy or not array.flags.writeable:
        array = array.copy()
    return wrap(array)


def _from_capsule(capsule: Any) -> np.ndarray[Any, Any]:
    """The memory of a bare DLPack capsule as an array, writable unless the capsule forbids it."""
    can_tell = '"dltensor"' not in repr(capsule)  # version 0 capsules do not tell whether memory is read-only
    try:
        array = np.from_dlpack(_Capsule(capsule))
    except ValueError:
        raise RuntimeError(
            "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once, so you might have already "
            "constructed a tensor from it once."
        ) from None
    return array if can_tell else np.asarray(_Writable(array))


class _Writable:
    """The memory of an array that NumPy considers read-only, as an object with NumPy's array interface."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array
        self.__array_interface__ = {**array.__array_interface__, "data": (address(array), False)}


def to_dlpack(tensor: Tensor) -> Any:
    """A tensor's memory as a DLPack capsule.

    >>> torch.from_dlpack(torch.to_dlpack(torch.tensor([1, 2])))
    tensor([1, 2])
    """
    return _dlpack(tensor)


class _Capsule:
    """A bare DLPack capsule of CPU memory, as an object that NumPy accepts."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


for _name, _function in {
    "__dlpack__": _dlpack, "__dlpack_device__": lambda self: self._array.__dlpack_device__(), "__reversed__": _reversed,
    "__delitem__": _no_deletion, "__abs__": lambda self: self.abs(), "__div__": lambda self, other: self / other,
    "__rdiv__": lambda self, other: self.__rtruediv__(other), "__idiv__": lambda self, other: self.div_(other),
    "__nonzero__": lambda self: bool(self), "__long__": lambda self: int(self),
}.items():  # fmt: skip
    install_method(_name, _function)


def _shifted(name: str, operator: str) -> Any:
    def reflected(self: Tensor, other: Any) -> Any:
        if isinstance(other, np.generic):
            other = other.item()
        return getattr(scalar_like(other), operator)(self) if isinstance(other, (bool, int, float)) else NotImplemented

    reflected.__name__ = reflected.__qualname__ = name
    return reflected


install_method("__rlshift__", _shifted("__rlshift__", "bitwise_left_shift"))
install_method("__rrshift__", _shifted("__rrshift__", "bitwise_right_shift"))
