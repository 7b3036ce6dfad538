"""Sends objects between processes over a `multiprocessing` connection: see Note [Batches between processes]."""

from __future__ import annotations

import io
import os
import pickle
import queue
import struct
import threading
from multiprocessing import reduction
from typing import Any

import numpy as np

import penlight
from penlight._serialization.tensors import array_of, tensor_from_array
from penlight.utils.data._utils import blocks
from penlight.utils.data._utils.blocks import LARGE, MappedBlocks, SharedBlocks
from penlight.utils.data._utils.exceptions import ExceptionWrapper

# The location of a part: in the message, in a mapped block, in a block whose descriptor follows, in a file whose descriptor follows, in a
# separate message that follows.
_INLINE, _BLOCK, _NEW_BLOCK, _FILE, _APART = range(5)
_COUNT, _PART = struct.Struct("<I"), struct.Struct("<BIQ")


def _array(dtype: str, shape: tuple[int, ...], memory: Any, strides: tuple[int, ...] | None) -> np.ndarray:
    """An array over this memory. `np.dtype` of a name returns NumPy's singleton, unlike a pickled dtype."""
    return np.ndarray(shape, np.dtype(dtype), memory, 0, strides)


def _tensor(dtype: Any, shape: tuple[int, ...], memory: Any, strides: tuple[int, ...] | None) -> Any:
    return tensor_from_array(np.ndarray(shape, dtype.np, memory, 0, strides))


class _Pickler(reduction.ForkingPickler):
    """Pickles without the memory of arrays, and refuses tensors that would lose their history."""

    def reducer_override(self, obj: Any) -> Any:
        if type(obj) is penlight.Tensor and not obj.requires_grad:
            return _described(_tensor, obj.dtype, array_of(obj))
        if type(obj) is np.ndarray and obj.dtype.kind in "biufcmM":
            return _described(_array, obj.dtype.str, obj)
        if isinstance(obj, penlight.Tensor) and obj.requires_grad and not obj.is_leaf:
            raise RuntimeError(
                "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support "
                "crossing process boundaries.  If you just want to transfer the data, call detach() on the tensor "
                "before serializing (e.g., putting it on the queue)."
            )
        return NotImplemented


def _described(rebuild: Any, dtype: Any, array: Any) -> Any:
    """The pickled form of an array without its memory. An array with gaps arrives without them."""
    if type(array) is not np.ndarray:
        return NotImplemented
    shape, strides = array.shape, None
    if not array.flags.c_contiguous:
        dense = array.transpose(sorted(range(array.ndim), key=lambda dim: -array.strides[dim]))
        strides = array.strides if dense.flags.c_contiguous else None
        array = array if strides is None else dense
    memory: Any = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return rebuild, (dtype, shape, pickle.PickleBuffer(memory), strides)


def _dumps(obj: Any) -> list[memoryview]:
    """The pickle of `obj`, then the memory left out of it."""
    stream = io.BytesIO()
    buffers: list[pickle.PickleBuffer] = []
    _Pickler(stream, 5, True, buffers.append).dump(obj)
    return [stream.getbuffer(), *(buffer.raw() for buffer in buffers)]


def _send_parts(connection: Any, parts: list[memoryview], shared: SharedBlocks | None = None) -> None:
    """Send one message with the locations of all parts and the small parts themselves, then what follows it."""
    described, inline, following = [], [], []
    for part in parts:
        where, number = _INLINE, 0
        if part.nbytes >= LARGE:
            where, number, action = _sent_beside(connection, part, shared)
            following.append(action)
        else:
            inline.append(part)
        described.append(_PART.pack(where, number, part.nbytes))
    connection.send_bytes(b"".join([_COUNT.pack(len(parts)), *described, *inline]))
    for action in following:
        action()


def _sent_beside(connection: Any, part: memoryview, shared: SharedBlocks | None) -> tuple[int, int, Any]:
    """The location of a large part, its block, and the action after the message."""
    block = None if shared is None else shared.placed(part)
    if block is not None and block.file is None:
        return _BLOCK, block.number, lambda: None
    if block is not None:
        return _NEW_BLOCK, block.number, lambda: block.hand_over(connection)
    file = blocks.memory_file(part.nbytes)
    if file is None:
        return _APART, 0, lambda: connection.send_bytes(part)

    def send_file() -> None:
        try:
            _write(file, part)
            blocks.send_descriptor(connection, file)
        finally:
            os.close(file)

    return _FILE, 0, send_file


def _write(file: int, part: memoryview) -> None:
    while part.nbytes:
        part = part[os.write(file, part) :]


def _read(file: int, part: np.ndarray) -> None:
    view, position = part.data, 0
    while view.nbytes:
        read = os.preadv(file, [view], position)
        if not read:
            raise EOFError("a batch from a DataLoader worker is shorter than announced")
        position += read
        view = view[read:]


def send(connection: Any, obj: Any) -> None:
    """Send any picklable object; tensors in it arrive as new leaves."""
    _send_parts(connection, _dumps(obj))


def receive(connection: Any, mapped: MappedBlocks | None = None) -> Any:
    """The next object sent by the other side. Raises EOFError or OSError if it is gone."""
    message = memoryview(connection.recv_bytes())
    (count,) = _COUNT.unpack_from(message)
    start = _COUNT.size + count * _PART.size
    parts = []
    for position in range(_COUNT.size, start, _PART.size):
        where, number, size = _PART.unpack_from(message, position)
        if where in (_BLOCK, _NEW_BLOCK):
            assert mapped is not None
            if where == _NEW_BLOCK:
                mapped.map(number, blocks.receive_descriptor(connection))
            parts.append(mapped.lease(number, size))
            continue
        part = np.empty(size, np.uint8)
        parts.append(part)
        if where == _INLINE:
            part[:] = np.frombuffer(message, np.uint8, size, start)
            start += size
        elif where == _APART:
            connection.recv_bytes_into(part)
        else:
            file = blocks.receive_descriptor(connection)
            try:
                _read(file, part)
            finally:
                os.close(file)
    return pickle.loads(parts[0].data, buffers=parts[1:])


def _can_pickle(obj: Any) -> bool:
    try:
        _dumps(obj)
    except Exception:
        return False
    return True


class Outbox:
    """Sends results; without memory files from a thread, so that a full pipe does not delay the next batch."""

    def __init__(self, connection: Any, shared: SharedBlocks | None) -> None:
        self._connection, self._shared = connection, shared
        self._waiting: Any = None
        if shared is None:
            self._waiting = queue.SimpleQueue()
            threading.Thread(target=self._write, name="penlight-results", daemon=True).start()

    def _write(self) -> None:
        try:
            while True:
                _send_parts(self._connection, self._waiting.get())
        except OSError:
            pass

    def send(self, result: Any, where: str) -> None:
        """Send a result; if it cannot be pickled, send the reason instead."""
        try:
            parts = _dumps(result)
        except Exception:
            # Either the batch cannot be pickled, or an exception's type cannot: its text is sent.
            is_error = isinstance(result.data, ExceptionWrapper)
            failure = result.data if is_error else ExceptionWrapper(where=where)
            if is_error or not _can_pickle(failure):
                failure.exc_type = RuntimeError
            parts = _dumps(result._replace(data=failure))
        if self._waiting is not None:
            self._waiting.put(parts)
        else:
            _send_parts(self._connection, parts, self._shared)
