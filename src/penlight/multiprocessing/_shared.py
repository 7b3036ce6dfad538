"""Tensors in memory that processes share.

# Note [Shared memory]
The memory of a shared tensor is an unnamed file, mapped by every process that uses it. A forked process inherits the mapping; another one
receives the file's descriptor (on Windows, a handle) with the pickled tensor, which only `multiprocessing` can send. Since the file has
no name, nothing is left behind, whichever process ends first.
"""

from __future__ import annotations

import mmap
import os
import sys
import tempfile
from multiprocessing import reduction
from typing import Any

import numpy as np

from penlight.tensor import Tensor, rebuild, wrap

if sys.platform == "win32":
    import msvcrt

from ..kernels.lazy import lazy_import

_parameter = lazy_import(globals(), "_parameter", "penlight.nn.parameter")


_READ_AND_WRITE = 0xC0000000  # GENERIC_READ | GENERIC_WRITE of Windows


class SharedMap(mmap.mmap):
    """A mapped file with its descriptor."""

    descriptor: int

    def __del__(self) -> None:
        descriptor = self.__dict__.pop("descriptor", None)
        if descriptor is not None:
            os.close(descriptor)


def _map(descriptor: int, size: int) -> SharedMap:
    made = SharedMap(descriptor, size)  # also extends the file on Windows
    made.descriptor = descriptor
    return made


def _new_file(size: int) -> int:
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("penlight-shared", os.MFD_CLOEXEC)
    else:
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    if sys.platform != "win32":
        os.ftruncate(descriptor, size)
    return descriptor


def _for_another_process(descriptor: int) -> Any:
    """An object that can be pickled for another process; `_received` converts it to a descriptor there."""
    if sys.platform == "win32":
        return reduction.DupHandle(msvcrt.get_osfhandle(descriptor), _READ_AND_WRITE)
    return reduction.DupFd(descriptor)


def _received(handle: Any) -> int:
    """The descriptor of a file that another process has sent by `_for_another_process`."""
    received: int = handle.detach()
    if sys.platform == "win32":
        return msvcrt.open_osfhandle(received, os.O_RDWR)
    return received


def memory_of(array: np.ndarray[Any, Any]) -> SharedMap | None:
    """The shared memory that contains an array, or None."""
    base: Any = array
    while base is not None and not isinstance(base, SharedMap):
        base = base.obj if isinstance(base, memoryview) else getattr(base, "base", None)
    return base


def shared_copy(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A contiguous copy of an array in new shared memory."""
    memory = _map(_new_file(max(array.nbytes, 1)), max(array.nbytes, 1))
    copy = np.frombuffer(memory, array.dtype, array.size).reshape(array.shape)
    copy[...] = array
    return copy


def share(tensor: Tensor) -> Tensor:
    """Move a tensor to shared memory; its views keep the old memory. See Note [Shared memory]."""
    if memory_of(tensor._array) is None:
        tensor.data = wrap(shared_copy(tensor._array))
    return tensor


def _reduce(tensor: Tensor) -> Any:
    """The reduction of a tensor for `multiprocessing`: a descriptor for shared memory, the bytes for other memory."""
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support crossing "
            "process boundaries.  If you just want to transfer the data, call detach() on the tensor before serializing "
            "(e.g., putting it on the queue)."
        )
    array = tensor._array
    memory = memory_of(array)
    if memory is None:
        return tensor.__reduce_ex__(2)
    start = array.__array_interface__["data"][0] - np.frombuffer(memory, np.uint8).__array_interface__["data"][0]
    layout = (len(memory), start, tensor.dtype, array.shape, array.strides)
    return _attach, (
        type(tensor),
        _for_another_process(memory.descriptor),
        layout,
        tensor.requires_grad,
        dict(tensor.__dict__),
    )


def _attach(cls: type, handle: Any, layout: tuple[Any, ...], requires_grad: bool, extra: dict[str, Any]) -> Tensor:
    size, start, dtype, shape, strides = layout
    memory = _map(_received(handle), size)
    array: Any = np.ndarray(shape, dtype.np, buffer=memory, offset=start, strides=strides)
    return rebuild(cls, array, None, requires_grad, extra)


def init_reductions() -> None:
    """Register the reductions of tensors with `multiprocessing`.

    Returns:
        None

    >>> torch.multiprocessing.reductions.init_reductions()
    """
    for cls in (Tensor, _parameter.Parameter):
        reduction.ForkingPickler.register(cls, _reduce)
