"""Saving to and loading from PyTorch's zip files: `data.pkl`, and a record for each storage."""

from __future__ import annotations

import io
import mmap as _mmap
import os
import pickle
import sys
from typing import Any

import numpy as np

from penlight._common.user_warnings import warn_user
from penlight._serialization.archive import ArchiveReader, ArchiveWriter
from penlight._serialization.locations import restore_function
from penlight._serialization.pickler import StorageTable, pickler_class
from penlight._serialization.reading import PickleReader, checked_key, decoded, element_dtype, typed
from penlight.storage import TypedStorage, UntypedStorage
from penlight.utils.serialization import config


class Payload:
    """An object taken apart for a zip file: the pickle, and the storages it refers to."""

    def __init__(self, obj: Any, pickle_module: Any, protocol: int) -> None:
        stream = io.BytesIO()
        self._storages = StorageTable()
        pickler_class(pickle_module)(stream, protocol, self._storages).dump(obj)
        self._pickle = stream.getbuffer()

    def write_to(self, file: Any, name: str, byte_order: bool, skip_data: bool) -> None:
        """Write the archive, under a directory name, to anything with `write`."""
        archive = ArchiveWriter(file.write, name, config.save.storage_alignment, config.save.compute_crc32)
        archive.add("data.pkl", self._pickle)
        archive.add(".format_version", b"1")
        archive.add(".storage_alignment", str(config.save.storage_alignment).encode())
        if byte_order:
            archive.add("byteorder", sys.byteorder.encode())
        for key, memory in self._storages.memory.items():
            if skip_data:
                archive.add_blank(f"data/{key}", memory.size)
            else:
                archive.add(f"data/{key}", memory)
        archive.close()


def archive_name(path: str) -> str:
    """The name of the directory inside a zip file: that of the file, without its extension."""
    name = os.path.basename(path).rpartition(".")[0] or os.path.basename(path)
    return name if name.isascii() and name else "archive"


class _Storages:
    """Makes the storages of a zip file as the pickle asks for them, each once."""

    def __init__(self, archive: ArchiveReader, map_location: Any, mapped: Any, skip_data: bool) -> None:
        self._archive = archive
        self._restore = restore_function(map_location)
        self._mapped = mapped
        self._skip_data = skip_data
        self._foreign_order = _byte_order(archive) != sys.byteorder
        self._made: dict[str, TypedStorage] = {}

    def load(self, saved: Any) -> TypedStorage:
        """The storage for ('storage', class, key, location, number of elements)."""
        if not isinstance(saved, tuple) or len(saved) != 5 or decoded(saved[0]) != "storage":
            raise pickle.UnpicklingError(f"Unknown persistent id, expected that of a storage but got {saved!r}")
        _, storage_type, key, location, count = saved
        dtype = element_dtype(storage_type)
        if checked_key(key) not in self._made:
            if type(count) is not int or count < 0:
                raise pickle.UnpicklingError(f"a storage cannot have {count!r} elements")
            storage = self._read(f"data/{key}", count * dtype.itemsize)
            if self._foreign_order:
                storage.byteswap(dtype)
            self._made[key] = typed(self._restore(storage, decoded(location)), dtype)
        return self._made[key]

    def _read(self, name: str, size: int) -> UntypedStorage:
        if self._skip_data:
            return UntypedStorage(size)
        if self._mapped is None or size == 0 or not self._archive.is_stored(name):
            return UntypedStorage(self._archive.read_array(name, size))
        array = np.frombuffer(self._mapped, np.uint8, size, self._archive.data_offset(name, size))
        return UntypedStorage(array.copy() if self._foreign_order else array)


def _byte_order(archive: ArchiveReader) -> str:
    """The byte order of the data: 'little' or 'big'."""
    if "byteorder" in archive:
        order = archive.read("byteorder").decode(errors="replace")
        if order not in ("little", "big"):
            raise ValueError(f"Unknown endianness type: {order}")
        return order
    chosen = config.load.endianness
    if chosen is None:
        return "little"
    return {"LITTLE": "little", "BIG": "big", "NATIVE": sys.byteorder}[chosen.name]


def map_file(path: Any) -> Any:
    """The memory map of a file: copied where it is written to, unless the settings say that writes go to the file."""
    shared = config.load.mmap_flags is not None and config.load.mmap_flags == getattr(_mmap, "MAP_SHARED", None)
    with open(path, "r+b" if shared else "rb") as file:
        return _mmap.mmap(file.fileno(), 0, access=_mmap.ACCESS_WRITE if shared else _mmap.ACCESS_COPY)


def open_archive(file: Any) -> ArchiveReader:
    """The archive that begins at the current position of a file."""
    return ArchiveReader(file, config.save.compute_crc32)


def load_zip(archive: ArchiveReader, reader: PickleReader, map_location: Any, mapped: Any, skip_data: bool) -> Any:
    """The object in an archive; `mapped` is the memory map of its file, or None to read the storages."""
    storages = _Storages(archive, map_location, mapped, skip_data)
    return reader.load(io.BytesIO(archive.read("data.pkl")), storages.load)


def refuse_torchscript(archive: ArchiveReader, weights_only: bool, unsafe_message: str) -> None:
    """TorchScript archives are zip files too: say that this is one."""
    if "constants.pkl" not in archive:
        return
    warn_user(
        "'torch.load' received a zip file that looks like a TorchScript archive dispatching to 'torch.jit.load' "
        "(call 'torch.jit.load' directly to silence this warning)",
    )
    if weights_only:
        raise RuntimeError(
            f"Cannot use ``weights_only=True`` with TorchScript archives passed to ``torch.load``. {unsafe_message}"
        )
    raise NotImplementedError(
        "penlight does not run TorchScript: save the module's state_dict() with PyTorch, and load that"
    )
