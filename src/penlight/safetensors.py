"""The safetensors format: a JSON table of names, dtypes and shapes, then the bytes. Loading a file runs no code from it.

>>> import penlight as torch
>>> from penlight import safetensors
>>> data = safetensors.save({"w": torch.arange(3)})
>>> safetensors.load(data)
{'w': tensor([0, 1, 2])}
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterator, Mapping
from math import prod
from typing import IO, Any, NamedTuple

import numpy as np

import penlight
from penlight import dtypes
from penlight._serialization.atomic import replacing
from penlight._serialization.tensors import array_of, tensor_from_array
from penlight.tensor.memory import root_of

from ._common.arguments import explain as _explain

__all__ = ["SafetensorError", "load", "load_file", "safe_open", "save", "save_file"]

_MAX_HEADER = 100_000_000

# The format's names of dtypes. Tensors are stored in the order of this table, so that each is aligned.
_DTYPES = {
    "U64": "uint64",
    "I64": "int64",
    "F64": "float64",
    "C64": "complex64",
    "F32": "float32",
    "U32": "uint32",
    "I32": "int32",
    "BF16": "bfloat16",
    "F16": "float16",
    "U16": "uint16",
    "I16": "int16",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
    "F8_E8M0": "float8_e8m0fnu",
    "I8": "int8",
    "U8": "uint8",
    "BOOL": "bool",
}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}
_RANK = {name: rank for rank, name in enumerate(_DTYPES)}


class SafetensorError(Exception):
    """An error in a safetensors file.

    >>> from penlight import safetensors
    >>> safetensors.load(b"")
    Traceback (most recent call last):
    penlight.safetensors.SafetensorError: ...
    """


# ----- Saving ---------------------------------------------------------------------------------------------------------


def save(tensors: dict[str, Any], metadata: dict[str, str] | None = None) -> bytes:
    """The bytes of a safetensors file with these tensors and optional metadata.

    >>> from penlight import safetensors
    >>> len(safetensors.save({"w": torch.ones(2)})) % 8
    0
    """
    header, arrays = _prepare(tensors, metadata)
    return b"".join((header, *(_bytes(array) for array in arrays)))


def save_file(
    tensors: dict[str, Any], filename: str | os.PathLike[str], metadata: dict[str, str] | None = None
) -> None:
    """Write tensors to a safetensors file, which is replaced only when the new one is complete.

    >>> import os, tempfile
    >>> from penlight import safetensors
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = os.path.join(directory, "model.safetensors")
    ...     safetensors.save_file({"w": torch.ones(2)}, path)
    ...     safetensors.load_file(path)
    {'w': tensor([1., 1.])}
    """
    header, arrays = _prepare(tensors, metadata)
    with replacing(os.fspath(filename)) as file:
        file.write(header)
        for array in arrays:
            file.write(_bytes(array))


def _bytes(array: np.ndarray) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _prepare(tensors: Any, metadata: dict[str, str] | None) -> tuple[bytes, list[np.ndarray]]:
    """The header of a file, and the arrays in the order of the file."""
    _check(tensors, metadata)
    kinds = {name: _kind(tensor) for name, tensor in tensors.items()}
    order = sorted(tensors, key=lambda name: (_RANK[kinds[name]], name))
    table: dict[str, Any] = {} if metadata is None else {"__metadata__": metadata}
    arrays, end = [], 0
    for name in order:
        array = array_of(tensors[name])
        start, end = end, end + array.nbytes
        table[name] = {"dtype": kinds[name], "shape": list(array.shape), "data_offsets": [start, end]}
        arrays.append(array)
    return _encode_header(table), arrays


def _encode_header(table: dict[str, Any]) -> bytes:
    text = json.dumps(table, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text


def _kind(tensor: Any) -> str:
    dtype = str(tensor.dtype).removeprefix("torch.")
    if dtype not in _NAMES:
        raise KeyError(f"the safetensors format has no {tensor.dtype}")
    return _NAMES[dtype]


def _check(tensors: Any, metadata: Any) -> None:
    if not isinstance(tensors, dict):
        raise ValueError(f"Expected a dict of [str, torch.Tensor] but received {type(tensors)}")
    for name, tensor in tensors.items():
        if not isinstance(name, str):
            raise TypeError(f"argument 'tensor_dict': '{type(name).__name__}' object is not an instance of 'str'")
        if not isinstance(tensor, penlight.Tensor):
            raise ValueError(f"Key `{name}` is invalid, expected torch.Tensor but received {type(tensor)}")
    for text in (metadata or {}).items():
        for part in text:
            if not isinstance(part, str):
                raise TypeError(f"argument 'metadata': '{type(part).__name__}' object is not an instance of 'str'")
    _check_sharing(tensors)
    for name, tensor in tensors.items():
        if not tensor.is_contiguous():
            raise ValueError(
                f"You are trying to save a non contiguous tensor: `{name}` which is not allowed. It either means you"
                " are trying to save tensors which are reference of each other in which case it's recommended to save"
                " only the full tensors, and reslice at load time, or simply call `.contiguous()` on your tensor to"
                " pack it before saving."
            )


def _check_sharing(tensors: Mapping[str, Any]) -> None:
    """Refuse tensors that overlap: the format cannot express it, and they would be separate after loading."""
    families: dict[int, list[tuple[int, int, str]]] = {}
    for name, tensor in tensors.items():
        array = array_of(tensor)
        if array.size:
            start, end = np.lib.array_utils.byte_bounds(array)
            families.setdefault(id(root_of(array)), []).append((start, end, name))
    shared: list[set[str]] = []
    for family in families.values():
        group: set[str] = set()
        reach = -1
        for start, end, name in sorted(family):
            if start >= reach:
                group = {name}
            else:
                if len(group) == 1:
                    shared.append(group)
                group.add(name)
            reach = max(reach, end)
    if shared:
        raise RuntimeError(
            "Some tensors share memory, this will lead to duplicate memory on disk and potential differences when "
            f"loading them again: {shared}. Save only one tensor of each group, or clone() them."
        )


# ----- Loading --------------------------------------------------------------------------------------------------------


class _Entry(NamedTuple):
    dtype: str
    shape: tuple[int, ...]
    start: int
    end: int


def load(data: bytes) -> dict[str, Any]:
    """The tensors in the bytes of a safetensors file.

    Args:
        data: the bytes.

    Returns:
        a dict of tensors by name.

    >>> from penlight import safetensors
    >>> safetensors.load(safetensors.save({"w": torch.arange(3)}))
    {'w': tensor([0, 1, 2])}
    """
    view = memoryview(data)
    size = _header_size(bytes(view[:8]), len(view))
    _, entries = _read_header(bytes(view[8 : 8 + size]), len(view) - 8 - size)
    body = view[8 + size :]
    return {name: _tensor(np.frombuffer(body[e.start : e.end], np.uint8).copy(), e) for name, e in entries.items()}


def load_file(filename: str | os.PathLike[str], device: Any = "cpu") -> dict[str, Any]:
    """The tensors in a safetensors file.

    Args:
        filename: the path of the file.
        device: the device of the tensors: the CPU.

    Returns:
        a dict of tensors by name.

    >>> import os, tempfile
    >>> from penlight import safetensors
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = os.path.join(directory, "w.safetensors")
    ...     safetensors.save_file({"w": torch.arange(3)}, path)
    ...     safetensors.load_file(path)
    {'w': tensor([0, 1, 2])}
    """
    with safe_open(filename, framework="pt", device=device) as file:
        return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)


class safe_open:
    """A safetensors file from which tensors are read one by one.

    >>> import os, tempfile
    >>> from penlight import safetensors
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = os.path.join(directory, "model.safetensors")
    ...     safetensors.save_file({"w": torch.ones(2)}, path, metadata={"made": "today"})
    ...     with safetensors.safe_open(path, framework="pt") as file:
    ...         print(file.keys(), file.metadata(), file.get_tensor("w"))
    ['w'] {'made': 'today'} tensor([1., 1.])
    """

    def __init__(self, filename: str | os.PathLike[str], framework: str = "pt", device: Any = "cpu") -> None:
        if framework not in ("pt", "torch", "pytorch", "penlight"):
            raise SafetensorError(f"framework {framework} is invalid")
        if penlight.device(device).type != "cpu":
            raise RuntimeError(f"penlight runs on the CPU: load with device='cpu' instead of {str(device)!r}")
        self._file: IO[bytes] = open(filename, "rb")  # noqa: SIM115 (closed by __exit__)
        try:
            total = os.fstat(self._file.fileno()).st_size
            size = _header_size(self._file.read(8), total)
            self._body = 8 + size
            self._metadata, self._entries = _read_header(self._file.read(size), total - self._body)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> safe_open:
        return self

    def __exit__(self, *exc: object) -> None:
        self._file.close()

    def keys(self) -> list[str]:
        """The names of the tensors, sorted."""
        return sorted(self._entries)

    def offset_keys(self) -> list[str]:
        """The names of the tensors, in the order of the file."""
        return list(self._entries)

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def metadata(self) -> dict[str, str] | None:
        """The metadata that was saved with the tensors."""
        return self._metadata

    def get_tensor(self, name: str) -> Any:
        """Read a tensor."""
        if name not in self._entries:
            raise SafetensorError(f"File does not contain tensor {name}")
        entry = self._entries[name]
        self._file.seek(self._body + entry.start)
        raw = np.empty(entry.end - entry.start, np.uint8)
        if self._file.readinto(raw.data) != raw.size:  # type: ignore[attr-defined]
            raise SafetensorError(f"the file ends within tensor `{name}`")
        return _tensor(raw, entry)


def _tensor(raw: np.ndarray, entry: _Entry) -> Any:
    dtype = getattr(penlight, _DTYPES[entry.dtype])
    if dtype in dtypes.FLOAT8:
        return tensor_from_array(raw.reshape(entry.shape)).view(dtype)
    array = raw.view(dtype.np).reshape(entry.shape)
    return tensor_from_array(array if np.little_endian else array.byteswap())


def _bad(what: str) -> SafetensorError:
    return SafetensorError(f"Error while deserializing: {what}")


def _header_size(prefix: bytes, total: int) -> int:
    if len(prefix) < 8:
        raise _bad("header too small")
    (size,) = struct.unpack("<Q", prefix)
    if size > _MAX_HEADER:
        raise _bad("header too large")
    if size > total - 8:
        raise _bad("invalid header length")
    return int(size)


def _read_header(text: bytes, body_size: int) -> tuple[dict[str, str] | None, dict[str, _Entry]]:
    """Parse and check a header: its metadata, and its tensors, to which each byte of the body belongs exactly once."""
    try:
        table = json.loads(text.decode(), object_pairs_hook=_table)
    except (ValueError, RecursionError) as error:
        raise _bad(f"invalid JSON in header: {error}") from None
    if not isinstance(table, dict):
        raise _bad("invalid JSON in header: expected a table of tensors")
    metadata = table.pop("__metadata__", None)
    if metadata is not None and not (isinstance(metadata, dict) and all(isinstance(v, str) for v in metadata.values())):
        raise _bad("invalid JSON in header: __metadata__ must be a table of texts")
    entries = {name: _entry(name, description) for name, description in table.items()}
    entries = dict(sorted(entries.items(), key=lambda item: (item[1].start, item[1].end)))
    reach = 0
    for name, entry in entries.items():
        if entry.start != reach or entry.end < entry.start:
            raise _bad(f"invalid offset for tensor `{name}`")
        reach = entry.end
    if reach != body_size:
        raise _bad("incomplete metadata, file not fully covered")
    return metadata, entries


def _table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("duplicate name")
    return made


def _entry(name: str, description: Any) -> _Entry:
    try:
        dtype, shape = description["dtype"], tuple(description["shape"])
        start, end = description["data_offsets"]
    except (TypeError, KeyError, ValueError):
        raise _bad(f"invalid JSON in header: the entry of `{name}` is not complete") from None
    if not isinstance(dtype, str) or dtype not in _DTYPES:
        raise _bad(f"unknown or unsupported dtype `{dtype}` of tensor `{name}`, expected one of {', '.join(_DTYPES)}")
    if not all(type(number) is int and number >= 0 for number in (*shape, start, end)):
        raise _bad(f"invalid JSON in header: the numbers of `{name}` must be integers of at least 0")
    if prod(shape) * getattr(penlight, _DTYPES[dtype]).itemsize != end - start:
        raise _bad("invalid shape, data type, or offset for tensor")
    if len(shape) > 64 or prod([n or 1 for n in shape]) >= 2**60:
        raise _bad(f"tensor `{name}` has a shape that no array can have")
    return _Entry(dtype, shape, start, end)


_explain(globals())
