"""PyTorch's format before the zip files: several pickles, followed by the storages."""

from __future__ import annotations

import io
import pickle
import struct
import sys
from typing import Any

import numpy as np

from penlight._serialization.locations import restore_function
from penlight._serialization.pickler import StorageTable, pickler_class
from penlight._serialization.reading import PickleReader, as_text, checked_key, element_dtype, no_storages, typed
from penlight.storage import TypedStorage, UntypedStorage

MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001


def save_legacy(obj: Any, file: Any, pickle_module: Any, protocol: int) -> None:
    """Write an object to a file or another object with `write`."""
    storages = StorageTable()

    class LegacyPickler(pickler_class(pickle_module)):  # type: ignore[misc]
        """The description of a storage has one more field here, for views of storages. It is unused: None."""

        def persistent_form(self, reference: Any) -> tuple[Any, ...]:
            reference.kind = reference.kind or "ByteStorage"  # PyTorch cannot read untyped storages in this format
            return (*super().persistent_form(reference), None)

    body = io.BytesIO()
    LegacyPickler(body, protocol, storages).dump(obj)
    system = {
        "protocol_version": PROTOCOL_VERSION,
        "little_endian": sys.byteorder == "little",
        "type_sizes": {"short": 2, "int": 4, "long": struct.calcsize("l")},
    }
    for part in (MAGIC_NUMBER, PROTOCOL_VERSION, system):
        file.write(pickle.dumps(part, protocol))
    file.write(body.getbuffer())
    keys = sorted(storages.memory)
    file.write(pickle.dumps(keys, protocol))
    for key in keys:
        memory, width = storages.memory[key], storages.widths[key]
        file.write(struct.pack("<q", memory.size // width))
        if sys.byteorder == "big":
            memory = memory.view(f"u{width}").byteswap()
        file.write(memory.data)


class _Storages:
    """Makes empty storages while the pickle is read, and fills them with the data that follows it."""

    def __init__(self, file: Any, map_location: Any, skip_data: bool) -> None:
        self._restore = restore_function(map_location)
        self._skip_data = skip_data
        self._remaining = _remaining_size(file)  # the bytes that the remaining storages can have in total
        self._made: dict[Any, TypedStorage] = {}

    def load(self, saved: Any) -> Any:
        """The storage for ('storage', class, key, location, number of elements, view); the class for ('module', ...)."""
        if not isinstance(saved, tuple) or not saved:
            raise pickle.UnpicklingError(f"Unknown persistent id {saved!r}")
        kind = as_text(saved[0])
        if kind == "module":
            return saved[1]  # followed by the source of the class, which is not compared here
        if kind != "storage" or len(saved) != 6:
            raise RuntimeError(f"Unknown saved id type: {saved[0]}")
        _, storage_type, key, location, count, view = saved
        dtype = element_dtype(storage_type)
        if checked_key(key) not in self._made:
            if type(count) is not int or count < 0:
                raise pickle.UnpicklingError(f"a storage cannot have {count!r} elements")
            self._remaining -= 0 if self._skip_data else count * dtype.itemsize
            if self._remaining < 0:
                raise RuntimeError(f"the file is too short for a storage of {count} elements. It might be corrupted.")
            empty = UntypedStorage(count * dtype.itemsize)
            self._made[key] = typed(self._restore(empty, as_text(location)), dtype)
        if view is None:
            return self._made[key]
        if not isinstance(view, tuple) or len(view) != 3 or not all(type(n) is int and n >= 0 for n in view[1:]):
            raise pickle.UnpicklingError(f"expected the key, offset and size of a view of a storage, but got {view!r}")
        view_key, offset, size = view
        if checked_key(view_key) not in self._made:
            width = dtype.itemsize
            part = self._made[key]._untyped_storage[offset * width : (offset + size) * width]
            self._made[view_key] = typed(part, dtype)
        return self._made[view_key]

    def fill(self, file: Any, keys: Any) -> None:
        """Read the data of the storages, which is in the order of the keys."""
        if self._skip_data:
            return
        if not isinstance(keys, list):
            raise RuntimeError(
                f"expected a list of the keys of storages, but got {type(keys)}. The file might be corrupted."
            )
        for key in keys:
            if checked_key(key) not in self._made:
                raise RuntimeError(f"the file has a storage {key!r} that no tensor uses. It might be corrupted.")
            storage = self._made[key]
            memory = storage._untyped_storage._bytes
            (count,) = struct.unpack("<q", _exactly(file, 8))
            if count * storage._dtype.itemsize != memory.size:
                raise RuntimeError(
                    f"the file's storage {key} has {count} elements instead of {storage._size()}. "
                    "The file might be corrupted."
                )
            _fill(file, memory)
            if sys.byteorder == "big":
                storage._untyped_storage.byteswap(storage._dtype)


def _remaining_size(file: Any) -> int:
    position = file.tell()
    size: int = file.seek(0, 2) - position
    file.seek(position)
    return size


def _exactly(file: Any, count: int) -> bytes:
    buffer = np.empty(count, np.uint8)
    _fill(file, buffer)
    return buffer.tobytes()


def _fill(file: Any, memory: np.ndarray) -> None:
    view = memory.data
    while view.nbytes:
        piece = file.read(min(view.nbytes, 1 << 26))
        if not piece:
            raise RuntimeError(f"unexpected EOF, expected {view.nbytes} more bytes. The file might be corrupted.")
        view[: len(piece)] = piece
        view = view[len(piece) :]


def load_legacy(file: Any, reader: PickleReader, map_location: Any, skip_data: bool) -> Any:
    """Load the object in a file of this format."""
    try:
        magic = reader.load(file, no_storages)
    except (pickle.UnpicklingError, AttributeError, ImportError, KeyError, TypeError, ValueError, IndexError) as error:
        if "GLOBAL" in str(error):
            raise  # a valid pickle, but not allowed
        raise RuntimeError(f"Invalid magic number; corrupt file? It is not a file of torch.save ({error})") from None
    if magic != MAGIC_NUMBER:
        raise RuntimeError("Invalid magic number; corrupt file?")
    version = reader.load(file, no_storages)
    if version != PROTOCOL_VERSION:
        raise RuntimeError(f"Invalid protocol version: {version}")
    reader.load(file, no_storages)  # about the system that wrote the file
    storages = _Storages(file, map_location, skip_data)
    result = reader.load(file, storages.load)
    storages.fill(file, reader.load(file, no_storages))
    return result


def is_tar(file: Any) -> bool:
    """Whether a file has PyTorch's first format, a tar archive."""
    position = file.tell()
    head = file.read(262)
    file.seek(position)
    return bytes(head[257:262]) == b"ustar"
