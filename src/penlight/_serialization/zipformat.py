"""Saving to and loading from PyTorch's zip files: `data.pkl`, and a record for each storage."""

from __future__ import annotations

import io
import mmap as _mmap
import os
import pickle
import struct
import sys
import zlib
from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING
from collections.abc import Callable
from pickle import UnpicklingError
from pickletools import genops
from typing import Any, NamedTuple

import numpy as np

from penlight._common.user_warnings import warn_user
from penlight._serialization.locations import restore_function
from penlight._serialization.pickler import StorageTable, pickler_class
from penlight._serialization.reading import PickleReader, as_text, checked_key, element_dtype, typed
from penlight._serialization.unpickler import OPCODES
from penlight.storage import TypedStorage, UntypedStorage
from penlight.utils.serialization import config

# ----- The archive: stored (not compressed) records, aligned so that they can be mapped --------------------------------

_LOCAL = struct.Struct("<4s5H3I2H")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_END = struct.Struct("<4s4H2IH")
_END64 = struct.Struct("<4sQ2H2I4Q")
_LOCATOR = struct.Struct("<4sIQI")
_MAX32 = 0xFFFFFFFF
_FLAGS = 0x0808  # names in UTF-8; sizes and checksum follow the data
_NEWEST_VERSION = 10
# PyTorch compresses nothing, but other programs may. A few bytes that decompress to gigabytes are an attack.
_MAX_RATIO = 100  # of decompressed to compressed size
_ANY_RATIO = 1 << 20  # bytes; smaller records may have any ratio

_CORRUPT = (
    " If you are seeing this error, there is a high likelihood that your checkpoint file is corrupted. This can happen "
    "if the checkpoint was not saved properly, was transferred incorrectly, or the file was modified after saving."
)


def _failure(what: str) -> RuntimeError:
    return RuntimeError(f"PytorchStreamReader failed {what}.{_CORRUPT}")


class ArchiveWriter:
    """Writes records by a function that takes bytes, without seeking.

    The files are identical to PyTorch's except for the record `serialization_id`.
    """

    def __init__(self, write: Callable[[Any], Any], name: str, alignment: int, checksums: bool) -> None:
        self._write = write
        self._name = name
        self._alignment = alignment
        self._checksums = checksums
        self._position = 0
        self._directory: list[tuple[bytes, int, int, int]] = []

    def _emit(self, data: Any) -> None:
        self._write(data)
        self._position += memoryview(data).nbytes

    def add(self, name: str, data: Any) -> None:
        """Add a record: bytes, or an array of bytes."""
        view = memoryview(data)
        checksum = zlib.crc32(view) if self._checksums else 0
        self._add_header(name, view.nbytes)
        self._emit(view)
        self._add_descriptor(checksum, view.nbytes)

    def add_blank(self, name: str, size: int) -> None:
        """Add a record of zeros, whose data is filled in later by another program."""
        self._add_header(name, size)
        blank = bytes(min(size, 1 << 20))
        for start in range(0, size, 1 << 20):
            self._emit(blank[: size - start])
        self._add_descriptor(0, size)

    def _add_header(self, name: str, size: int) -> None:
        full_name = f"{self._name}/{name}".encode()
        extra = b""
        if size >= _MAX32 or self._position >= _MAX32:
            extra = _wide_fields(size, self._position)
        start = self._position + _LOCAL.size + len(full_name) + len(extra) + 4
        padding = -start % self._alignment
        extra += struct.pack("<2sH", b"FB", padding) + b"Z" * padding
        self._directory.append((full_name, size, 0, self._position))
        flags = _FLAGS if size else _FLAGS & ~0x0008
        self._emit(_LOCAL.pack(b"PK\3\4", 0, flags, 0, 0, 0, 0, 0, 0, len(full_name), len(extra)) + full_name + extra)

    def _add_descriptor(self, checksum: int, size: int) -> None:
        name, _, _, header = self._directory[-1]
        self._directory[-1] = (name, size, checksum, header)
        if size:
            wide = size >= _MAX32 or header >= _MAX32
            self._emit(struct.pack("<4sI2Q" if wide else "<4s3I", b"PK\7\x08", checksum, size, size))

    def close(self) -> None:
        """Write the closing records and the directory."""
        names = zlib.crc32(b"\0".join(entry[0] for entry in self._directory))
        contents = zlib.crc32(b"".join(entry[2].to_bytes(4, "little") for entry in self._directory))
        self.add("version", b"3\n")
        self.add(".data/serialization_id", f"{names:020d}{contents:020d}".encode())
        start = self._position
        for name, size, checksum, header in self._directory:
            extra = _wide_fields(size, header) if size >= _MAX32 or header >= _MAX32 else b""
            flags = _FLAGS if size else _FLAGS & ~0x0008
            narrow = min(size, _MAX32)
            fields = (b"PK\1\2", 0, 0, flags, 0, 0, 0, checksum, narrow, narrow, len(name), len(extra), 0, 0, 0, 0)
            self._emit(_CENTRAL.pack(*fields, min(header, _MAX32)) + name + extra)
        end, count = self._position, len(self._directory)
        self._emit(_END64.pack(b"PK\6\6", 44, 0x031E, 0x2D, 0, 0, count, count, end - start, start))
        self._emit(_LOCATOR.pack(b"PK\6\7", 0, end, 1))
        entries, size, offset = min(count, 0xFFFF), min(end - start, _MAX32), min(start, _MAX32)
        self._emit(_END.pack(b"PK\5\6", 0, 0, entries, entries, size, offset, 0))


def _wide_fields(size: int, header: int) -> bytes:
    """The zip64 field: the numbers that do not fit into 32 bits."""
    numbers = ([size, size] if size >= _MAX32 else []) + ([header] if header >= _MAX32 else [])
    return struct.pack(f"<2H{len(numbers)}Q", 1, 8 * len(numbers), *numbers)


class _Record(NamedTuple):
    method: int
    checksum: int
    stored: int
    size: int
    header: int


class ArchiveReader:
    """Reads records from a seekable file with an archive from the current position to the end."""

    def __init__(self, file: Any, checksums: bool = True) -> None:
        self._file = file
        self._checksums = checksums
        self._start = file.tell()
        file.seek(0, 2)
        self._size = file.tell() - self._start
        if self._size < _END.size:
            raise _failure("reading zip archive: not a ZIP archive")
        self._records = self._read_directory()
        self._strip_directory_name()

    def _read_at(self, position: int, count: int) -> bytes:
        if position < 0 or position + count > self._size:
            raise _failure("reading zip archive: failed finding central directory")
        self._file.seek(self._start + position)
        data: bytes = self._file.read(count)
        if len(data) != count:
            raise _failure("reading zip archive: file read failed")
        return data

    def _read_directory(self) -> dict[str, _Record]:
        tail_size = min(self._size, _END.size + 0xFFFF)
        tail = self._read_at(self._size - tail_size, tail_size)
        offset = tail.rfind(b"PK\5\6")
        if offset < 0 or offset + _END.size > len(tail):
            raise _failure("reading zip archive: failed finding central directory")
        _, _, _, _, count, size, start, _ = _END.unpack_from(tail, offset)
        end = self._size - tail_size + offset
        if end >= _LOCATOR.size:
            signature, _, end64, _ = _LOCATOR.unpack(self._read_at(end - _LOCATOR.size, _LOCATOR.size))
            if signature == b"PK\6\7":
                fields = _END64.unpack(self._read_at(end64, _END64.size))
                if fields[0] == b"PK\6\6":
                    count, size, start = fields[7], fields[8], fields[9]
        directory = self._read_at(start, size)
        try:
            entries = list(_entries(directory, count))
        except (struct.error, UnicodeDecodeError, ValueError):
            raise _failure("reading zip archive: invalid header or archive is corrupted") from None
        records = dict(entries)
        if len(records) < len(entries):
            raise _failure("reading zip archive: two records have the same name")
        reach = 0
        for record in sorted(records.values(), key=lambda record: record.header):
            if record.header < reach:
                raise _failure("reading zip archive: two records have the same data")
            reach = record.header + _LOCAL.size + record.stored
        return records

    def _strip_directory_name(self) -> None:
        first = next(iter(self._records), "")
        self.name, slash, _ = first.partition("/")
        if not slash:
            raise RuntimeError(f"file in archive is not in a subdirectory: {first}")
        prefix = self.name + slash
        self._records = {n.removeprefix(prefix): r for n, r in self._records.items() if n.startswith(prefix)}
        marker = "version" if "version" in self._records else ".data/version"
        if marker not in self._records:
            raise RuntimeError(
                'Expected hasRecord("version") to be true, but got false: this is not a file of torch.save'
            )
        version = self.read(marker).strip()
        if not version.isdigit() or len(version) > 20:
            raise _failure(f"reading file {marker}: {version[:20]!r} is not a number")
        if int(version) > _NEWEST_VERSION:
            raise RuntimeError(
                f"Attempted to read a PyTorch file with version {int(version)}, but the maximum supported version for "
                f"reading is {_NEWEST_VERSION}. Your PyTorch installation may be too old."
            )

    def __contains__(self, name: str) -> bool:
        return name in self._records

    def _record(self, name: str) -> _Record:
        if name not in self._records:
            raise _failure(f"locating file {name}: file not found")
        return self._records[name]

    def offset(self, name: str) -> int:
        """The offset of a record's data from the start of the file object."""
        header = self._record(name).header
        fields = _LOCAL.unpack(self._read_at(header, _LOCAL.size))
        if fields[0] != b"PK\3\4":
            raise _failure(f"reading file {name}: invalid header or archive is corrupted")
        return self._start + header + _LOCAL.size + fields[9] + fields[10]

    def is_stored(self, name: str) -> bool:
        """Whether a record is not compressed."""
        return self._record(name).method == 0

    def read(self, name: str) -> bytes:
        """The data of a record."""
        return self.read_array(name, self._record(name).size).tobytes()

    def data_offset(self, name: str, size: int) -> int:
        """As `offset`, but the record must have this size and lie within the file."""
        record = self._record(name)
        if record.size != size:
            raise RuntimeError(
                f"record size ({record.size} bytes) does not match expected size ({size} bytes = {size} elements * "
                "1 bytes/element) for dtype Byte"
            )
        position = self.offset(name)
        if position - self._start + record.stored > self._size:
            raise _failure(f"reading file {name}: file read failed")
        return position

    def read_array(self, name: str, size: int) -> np.ndarray:
        """The data of a record, which must have this size, as a new array of bytes."""
        record, position = self._record(name), self.data_offset(name, size)
        self._file.seek(position)
        if record.method == 0 and record.stored == size:
            data = _read_into(self._file, np.empty(size, np.uint8), name)
        elif record.method == 8:
            if size > max(_ANY_RATIO, _MAX_RATIO * record.stored):
                raise _failure(
                    f"reading file {name}: {record.stored} compressed bytes cannot be a record of {size} bytes"
                )
            data = _inflate(_read_into(self._file, np.empty(record.stored, np.uint8), name), size, name)
        else:
            raise _failure(f"reading file {name}: unsupported method")
        # A checksum of 0 means that it was not computed (`set_crc32_options(False)`).
        if self._checksums and record.checksum and zlib.crc32(data.data) != record.checksum:
            raise _failure(f"reading file {name}: CRC-32 check failed")
        return data


def _entries(directory: bytes, count: int) -> Any:
    """(name, record) for each entry of a zip directory."""
    offset = 0
    for _ in range(count):
        fields = _CENTRAL.unpack_from(directory, offset)
        if fields[0] != b"PK\1\2":
            raise ValueError("bad signature")
        name_end = offset + _CENTRAL.size + fields[10]
        name = directory[offset + _CENTRAL.size : name_end].decode()
        extra = directory[name_end : name_end + fields[11]]
        stored, size, header = _widen(extra, fields[8], fields[9], fields[16])
        yield name, _Record(fields[4], fields[7], stored, size, header)
        offset = name_end + fields[11] + fields[12]


def _widen(extra: bytes, stored: int, size: int, header: int) -> tuple[int, int, int]:
    """The sizes and the offset of an entry; those that did not fit into 32 bits are in its zip64 field."""
    offset = 0
    while offset + 4 <= len(extra):
        kind, length = struct.unpack_from("<2H", extra, offset)
        if kind == 1:
            wide = iter(struct.unpack_from(f"<{length // 8}Q", extra, offset + 4))
            size = next(wide, size) if size == _MAX32 else size
            stored = next(wide, stored) if stored == _MAX32 else stored
            header = next(wide, header) if header == _MAX32 else header
        offset += 4 + length
    return stored, size, header


def _read_into(file: Any, target: np.ndarray, name: str) -> np.ndarray:
    """Fill an array of bytes from a file, without a copy if the file has `readinto`."""
    view = target.data
    while view.nbytes:
        if hasattr(file, "readinto"):
            count = file.readinto(view)
        else:
            piece = file.read(view.nbytes)
            count = len(piece)
            view[:count] = piece
        if not count:
            raise _failure(f"reading file {name}: file read failed")
        view = view[count:]
    return target


def _inflate(packed: np.ndarray, size: int, name: str) -> np.ndarray:
    try:
        machine = zlib.decompressobj(-15)
        data = machine.decompress(packed.data, size + 1)
    except zlib.error:
        raise _failure(f"reading file {name}: decompression failed") from None
    if len(data) != size:
        raise _failure(f"reading file {name}: unexpected decompressed size")
    return np.frombuffer(bytearray(data), np.uint8)


# ----- Saving to and loading from PyTorch's zip files -----------------------------------------------------------------


class Payload:
    """The content of a zip file for an object: the pickle, and its storages."""

    def __init__(self, obj: Any, pickle_module: Any, protocol: int) -> None:
        stream = io.BytesIO()
        self._storages = StorageTable()
        pickler_class(pickle_module)(stream, protocol, self._storages).dump(obj)
        self._pickle = stream.getbuffer()

    def write_to(self, file: Any, name: str, byte_order: bool, skip_data: bool) -> None:
        """Write the archive, with a directory name, to a file or another object with `write`."""
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
    """The name of the directory inside a zip file: the file's name without its extension."""
    name = os.path.basename(path).rpartition(".")[0] or os.path.basename(path)
    return name if name.isascii() and name else "archive"


class _Storages:
    """Makes each storage of a zip file when the pickle first refers to it."""

    def __init__(self, archive: ArchiveReader, map_location: Any, mapped: Any, skip_data: bool) -> None:
        self._archive = archive
        self._restore = restore_function(map_location)
        self._mapped = mapped
        self._skip_data = skip_data
        self._foreign_order = _byte_order(archive) != sys.byteorder
        self._made: dict[str, TypedStorage] = {}

    def load(self, saved: Any) -> TypedStorage:
        """The storage for ('storage', class, key, location, number of elements)."""
        if not isinstance(saved, tuple) or len(saved) != 5 or as_text(saved[0]) != "storage":
            raise pickle.UnpicklingError(f"Unknown persistent id, expected that of a storage but got {saved!r}")
        _, storage_type, key, location, count = saved
        dtype = element_dtype(storage_type)
        if checked_key(key) not in self._made:
            if type(count) is not int or count < 0:
                raise pickle.UnpicklingError(f"a storage cannot have {count!r} elements")
            storage = self._read(f"data/{key}", count * dtype.itemsize)
            if self._foreign_order:
                storage.byteswap(dtype)
            self._made[key] = typed(self._restore(storage, as_text(location)), dtype)
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
    """The memory map of a file. Writes go to a private copy, unless the settings direct them to the file."""
    shared = config.load.mmap_flags is not None and config.load.mmap_flags == getattr(_mmap, "MAP_SHARED", None)
    with open(path, "r+b" if shared else "rb") as file:
        return _mmap.mmap(file.fileno(), 0, access=_mmap.ACCESS_WRITE if shared else _mmap.ACCESS_COPY)


def open_archive(file: Any) -> ArchiveReader:
    """The archive that begins at the current position of a file."""
    return ArchiveReader(file, config.save.compute_crc32)


def load_zip(archive: ArchiveReader, reader: PickleReader, map_location: Any, mapped: Any, skip_data: bool) -> Any:
    """Load the object in an archive; `mapped` is the memory map of its file, or None to read the storages."""
    storages = _Storages(archive, map_location, mapped, skip_data)
    return reader.load(io.BytesIO(archive.read("data.pkl")), storages.load)


def refuse_torchscript(archive: ArchiveReader, weights_only: bool, unsafe_message: str) -> None:
    """Raise an error if a zip file is a TorchScript archive."""
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


# ----- Inspecting a file without loading it ---------------------------------------------------------------------------


def globals_named(file: Any) -> set[str]:
    """The full names of the classes and functions in a zip file's pickle; refuses the opcodes that loading refuses."""
    archive = ArchiveReader(file)
    if "constants.pkl" in archive:
        raise ValueError("Expected input to be a checkpoint returned by torch.save but got a torchscript checkpoint")
    found = set()
    try:
        for opcode, argument, _ in genops(archive.read("data.pkl")):
            if opcode.code.encode("latin1") not in OPCODES:
                raise UnpicklingError(f"Unsupported operand {ord(opcode.code)}")
            if opcode.name == "GLOBAL" and argument:
                found.add(_python3_name(*argument.split(" ", 1)))
    except ValueError as error:
        raise UnpicklingError(f"the pickle is damaged: {error}") from error
    return found


def _python3_name(module: str, name: str) -> str:
    """The full Python 3 name for a name that may be Python 2's."""
    module, name = NAME_MAPPING.get((module, name), (IMPORT_MAPPING.get(module, module), name))
    return f"{module}.{name}"
