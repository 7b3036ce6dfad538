"""Storages: the flat memory that a tensor and its views share."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakValueDictionary

import numpy as np

import penlight
from penlight._common.arguments import explain as _explain
from penlight._common.docstrings import documented
from penlight._common.user_warnings import warn_once

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["TypedStorage", "UntypedStorage"]

# The names of PyTorch's storage classes in its files, and the dtypes of their elements.
LEGACY_DTYPES = {
    "DoubleStorage": "float64",
    "FloatStorage": "float32",
    "HalfStorage": "float16",
    "LongStorage": "int64",
    "IntStorage": "int32",
    "ShortStorage": "int16",
    "CharStorage": "int8",
    "ByteStorage": "uint8",
    "BoolStorage": "bool",
    "BFloat16Storage": "bfloat16",
    "ComplexFloatStorage": "complex64",
    "ComplexDoubleStorage": "complex128",
}
_LEGACY_NAMES = {dtype: name for name, dtype in LEGACY_DTYPES.items()}


def bytes_of(owner: np.ndarray) -> np.ndarray | None:
    """The memory of an array as bytes, without a copy; None if it is not contiguous in C or Fortran order."""
    if not owner.flags.c_contiguous:
        owner = owner.T
    if not owner.flags.c_contiguous:
        return None
    return owner.reshape(-1).view(np.uint8)


def legacy_name(dtype: Any) -> str | None:
    """The storage class of a dtype in PyTorch's files; None for the dtypes that have none (uint16 and the like)."""
    return _LEGACY_NAMES.get(str(dtype).removeprefix("torch."))


class _Storage:
    """The common base of storages of bytes and of elements."""

    __slots__ = ()

    _elements: np.ndarray

    def __len__(self) -> int:
        return self._elements.size

    is_cuda = is_hpu = is_sparse = is_sparse_csr = False

    def get_device(self) -> int:
        """The number of the device: -1, the CPU."""
        return -1

    def cpu(self) -> Self:
        """The storage itself, which is on the CPU."""
        return self

    def to(self, device: Any, non_blocking: bool = False) -> Self:
        """The storage itself if `device` is the CPU; other devices raise PyTorch's error."""
        return self if penlight.device(device).type == "cpu" else self.cuda()

    def cuda(self, device: Any = None, non_blocking: bool = False) -> Self:
        """Raise PyTorch's error: there is no CUDA."""
        raise AssertionError("Torch not compiled with CUDA enabled")

    def share_memory_(self) -> Self:
        """Accepted; processes of Penlight exchange copies."""
        return self

    def is_shared(self) -> bool:
        """Whether other processes see the same memory: no."""
        return False

    def is_pinned(self, device: Any = None) -> bool:
        """Whether the memory is pinned for an accelerator: no."""
        return False

    def resizable(self) -> bool:
        """Whether `resize_` can change the size: no."""
        return False

    def resize_(self, size: int) -> Self:
        """The storage itself if it has this size. Others are refused: tensors hold arrays, whose memory NumPy does not move."""
        if size != self._elements.size:
            raise NotImplementedError(
                f"resize_: a storage of size {self._elements.size} cannot change its size in Penlight. Use Tensor.resize_, which gives a "
                "tensor new memory, or x.data = torch.empty(0), which releases it"
            )
        return self

    def copy_(self, source: Any, non_blocking: bool = False) -> Self:
        """Overwrite with the bytes of another storage of the same size."""
        ours, theirs = self._elements.view(np.uint8), source._elements.view(np.uint8)
        if ours.size != theirs.size:
            raise RuntimeError(f"size does not match, self was {ours.size} bytes but src was {theirs.size} bytes")
        ours[:] = theirs
        return self

    def fill_(self, value: Any) -> Self:
        """Set every element, or every byte."""
        self._elements.fill(value)
        return self


class UntypedStorage(_Storage):
    """Memory as bytes. `size` is their number or a list of their values; `device` can only be the CPU.

    >>> storage = torch.UntypedStorage(4).fill_(1)
    >>> storage.nbytes(), storage.tolist()
    (4, [1, 1, 1, 1])
    """

    __slots__ = ("__weakref__", "_bytes", "_filename", "_without_data")  # the last: whether it is on the meta device

    def __init__(self, size: Any = 0, *, device: Any = None) -> None:
        if device is not None and penlight.device(device).type != "cpu":
            raise RuntimeError(f"torch.UntypedStorage(): Storage device not recognized: {penlight.device(device).type}")
        self._bytes: np.ndarray
        self._filename: str | None = None
        if isinstance(size, np.ndarray):  # the array's own memory, not a copy
            memory = bytes_of(size)
            if memory is None:
                raise RuntimeError("the memory of this array is not contiguous: copy it first")
            self._bytes = memory
        else:
            self._bytes = np.empty(size, np.uint8) if isinstance(size, int) else np.array(list(size), np.uint8)

    @classmethod
    def from_file(cls, filename: Any, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """The bytes of a file, read when they are used; with `shared`, writes go to the file."""
        try:
            size = os.path.getsize(filename)
        except OSError as error:
            mode = "read-write" if shared else "read-only"
            raise RuntimeError(
                f"unable to open file <{filename}> in {mode} mode: {error.strerror} ({error.errno})"
            ) from None
        if nbytes > size and not shared:
            raise RuntimeError(f"file <{filename}> size <{size}> is smaller than the required mapping size <{nbytes}>")
        memory = np.memmap(filename, np.uint8, "r+" if shared else "c", shape=(nbytes,) if nbytes else None)
        made = cls(memory.view(np.ndarray))
        made._filename = os.fspath(filename) if shared else None
        return made

    @property
    def filename(self) -> str | None:
        """The file whose bytes these are, if they are a file's."""
        return self._filename

    @classmethod
    def from_buffer(
        cls, buffer: Any, byte_order: str | None = None, count: int = -1, offset: int = 0, *, dtype: Any = None
    ) -> UntypedStorage:
        """A copy of the elements in a buffer, which have this dtype and byte order.

        >>> torch.UntypedStorage.from_buffer(bytes([1, 0, 2, 0]), "big", dtype=torch.int16).tolist()
        [0, 1, 0, 2]
        """
        if dtype is None:
            raise RuntimeError("argument 'dtype' cannot be None")
        if byte_order is None and dtype is not penlight.uint8:
            raise RuntimeError("function missing required argument 'byte_order' (pos 2)")
        orders = {None: "=", "native": "=", "little": "<", "big": ">"}
        if byte_order not in orders:
            raise ValueError(f"invalid byte_order '{byte_order}' (expected 'big', 'little', or 'native')")
        memory = np.frombuffer(memoryview(buffer).cast("B"), np.uint8)
        size, step = memory.size, dtype.itemsize
        if not 0 <= offset <= size:
            raise ValueError(
                f"offset must be non-negative and no greater than buffer length ({offset}) , but got {size}"
            )
        if count < 0 and (size - offset) % step:
            raise ValueError(f"buffer size ({size - offset}) must be a multiple of element size ({step})")
        count = (size - offset) // step if count < 0 else count
        if offset + count * step > size:
            raise ValueError(
                f"buffer has only {size - offset} elements after offset {offset}, but specified a size of {count}"
            )
        elements = memory[offset : offset + count * step].copy().view(dtype.np)
        if dtype.np.newbyteorder(orders[byte_order]) != dtype.np:
            elements = elements.byteswap()
        return cls(elements.view(np.uint8) != 0 if dtype is penlight.bool else elements)

    @property
    def device(self) -> Any:
        """The device of the memory: the CPU, or the meta device."""
        return penlight.device("meta" if getattr(self, "_without_data", False) else "cpu")

    def data_ptr(self) -> int:
        """The address of the first byte; 0 if there is none."""
        nowhere = self._bytes.size == 0 or getattr(self, "_without_data", False)
        return 0 if nowhere else self._bytes.__array_interface__["data"][0]

    @property
    def _cdata(self) -> int:
        return self.data_ptr()

    def nbytes(self) -> int:
        """The number of bytes."""
        return self._bytes.size

    size = nbytes

    def element_size(self) -> int:
        """The size of an element: one byte."""
        return 1

    def tolist(self) -> list[int]:
        """The bytes as ints."""
        return self._bytes.tolist()

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, slice):
            return int(self._bytes[index])
        if index.step not in (None, 1):
            raise RuntimeError(f"Trying to slice with a step of {index.step}, but only a step of 1 is supported")
        part = type(self).__new__(type(self))
        part._bytes = np.asarray(self._bytes.data[index])  # a memoryview, at which `root_of` stops
        part._filename = None
        return part

    def __setitem__(self, index: Any, value: Any) -> None:
        self._bytes[index] = value

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    @property
    def _elements(self) -> np.ndarray:  # type: ignore[override]
        return self._bytes

    def clone(self) -> UntypedStorage:
        """A copy in memory of its own."""
        return UntypedStorage(self._bytes.copy())

    def byteswap(self, dtype: Any) -> None:
        """Reverse the bytes of each element (of each part of a complex one), in place."""
        width = dtype.itemsize // (2 if dtype.is_complex else 1)
        if width > 1:
            self._bytes.view(f"u{width}").byteswap(inplace=True)

    def untyped(self) -> UntypedStorage:
        """The storage itself."""
        return self

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """The name of the class; or with `dtype`, the bytes converted to another class: see `TypedStorage.type`."""
        return "torch.storage.UntypedStorage" if dtype is None else _converted(self, dtype)

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes()

    def __repr__(self) -> str:
        return _listing(self.tolist(), f"torch.storage.UntypedStorage(device=cpu) of size {len(self)}")


_storages: WeakValueDictionary[int, UntypedStorage] = WeakValueDictionary()


def storage_of(owner: np.ndarray) -> UntypedStorage:
    """The storage of an array that owns its memory: the same object while a reference to it exists."""
    known = _storages.get(id(owner))
    if known is None:
        known = _storages[id(owner)] = UntypedStorage(owner)
    return known


def _listing(values: list[Any], closing: str) -> str:
    return "".join(f" {value}\n" for value in values) + f"[{closing}]"


def _warn_of_removal() -> None:
    warn_once(
        "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage class. "
        "This should only matter to you if you are using storages directly.  To access UntypedStorage directly, use "
        "tensor.untyped_storage() instead of tensor.storage()"
    )


class TypedStorage(_Storage):
    """Memory as elements of a dtype; `tensor.storage()` returns one.

    `wrap_storage` is the `UntypedStorage` to use. Without it, new memory is allocated, for a length or a list of values. `device` is
    accepted.

    >>> torch.TypedStorage([1, 2], dtype=torch.int16).tolist()
    [1, 2]
    """

    __slots__ = ("__weakref__", "_dtype", "_untyped_storage")

    _legacy_dtype: str | None = None

    def __init__(
        self, *content: Any, wrap_storage: UntypedStorage | None = None, dtype: Any = None, device: Any = None,
        _internal: bool = False,
    ) -> None:  # fmt: skip
        if not _internal:
            _warn_of_removal()
        if len(content) == 2 and isinstance(content[0], np.ndarray):
            wrap_storage, dtype = storage_of(content[0]), content[1]
        if dtype is None:
            dtype = getattr(penlight, self._legacy_dtype) if self._legacy_dtype else penlight.get_default_dtype()
        self._dtype = dtype
        if wrap_storage is None:
            wrap_storage = _new_storage(content, dtype)
        elif not isinstance(wrap_storage, UntypedStorage):
            raise TypeError(f"Argument 'wrap_storage' must be UntypedStorage, but got {type(wrap_storage)}")
        self._untyped_storage = wrap_storage

    @classmethod
    def from_buffer(cls, *args: Any, dtype: Any = None, **kwargs: Any) -> TypedStorage:
        """A copy of the elements in a buffer: see `UntypedStorage.from_buffer`.

        >>> torch.ByteStorage.from_buffer(b"ab").nbytes()
        2
        """
        if cls._legacy_dtype is not None:
            if dtype is not None:
                raise RuntimeError(
                    "from_buffer: 'dtype' can only be specified in UntypedStorage.from_buffer and TypedStorage.from_buffer"
                )
            dtype = getattr(penlight, cls._legacy_dtype)
        dtype = dtype or penlight.get_default_dtype()
        return cls(wrap_storage=UntypedStorage.from_buffer(*args, dtype=dtype, **kwargs), dtype=dtype, _internal=True)

    @classmethod
    def from_file(cls, filename: Any, shared: bool, size: int) -> TypedStorage:
        """The first `size` elements of a file, read when they are used; with `shared`, writes go to the file."""
        if cls._legacy_dtype is None:
            raise RuntimeError("from_file can only be called on derived classes")
        dtype = getattr(penlight, cls._legacy_dtype)
        memory = UntypedStorage.from_file(filename, shared, size * dtype.itemsize)
        return cls(wrap_storage=memory, dtype=dtype, _internal=True)

    @property
    def filename(self) -> str | None:
        """The file whose bytes these are, if they are a file's."""
        return self._untyped_storage.filename

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self._untyped_storage.nbytes()

    @property
    def _elements(self) -> np.ndarray:  # type: ignore[override]
        return self._untyped_storage._bytes.view(self._dtype.np)

    @property
    def dtype(self) -> Any:
        """The dtype of the elements."""
        _warn_of_removal()
        return self._dtype

    @property
    def device(self) -> Any:
        """The device of the memory."""
        _warn_of_removal()
        return self._untyped_storage.device

    def untyped(self) -> UntypedStorage:
        """The same memory as bytes."""
        _warn_of_removal()
        return self._untyped_storage

    @property
    def _cdata(self) -> int:
        return self._untyped_storage._cdata

    def data_ptr(self) -> int:
        """The address of the first element."""
        _warn_of_removal()
        return self._untyped_storage.data_ptr()

    def nbytes(self) -> int:
        """The number of bytes."""
        _warn_of_removal()
        return self._untyped_storage.nbytes()

    def element_size(self) -> int:
        """The size of an element in bytes."""
        _warn_of_removal()
        return self._dtype.itemsize

    def _size(self) -> int:
        return self._untyped_storage.nbytes() // self._dtype.itemsize

    def size(self) -> int:
        """The number of elements."""
        _warn_of_removal()
        return self._size()

    __len__ = size

    def tolist(self) -> list[Any]:
        """The elements as Python numbers."""
        _warn_of_removal()
        return self._elements.tolist()

    def __getitem__(self, index: int) -> Any:
        _warn_of_removal()
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        return self._elements[index].item()

    def __setitem__(self, index: Any, value: Any) -> None:
        _warn_of_removal()
        self._elements[index] = value

    def __iter__(self) -> Iterator[Any]:
        _warn_of_removal()
        return iter(self._elements.tolist())

    def clone(self) -> TypedStorage:
        """A copy in memory of its own."""
        _warn_of_removal()
        return TypedStorage(wrap_storage=self._untyped_storage.clone(), dtype=self._dtype, _internal=True)

    def pickle_storage_type(self) -> str:
        """The name of the storage class in files."""
        _warn_of_removal()
        name = legacy_name(self._dtype)
        if name is None:
            raise KeyError(self._dtype)
        return name

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """The name of the class; or with `dtype`, the elements converted to another storage class or dtype.

        >>> storage = torch.FloatStorage([1.5])
        >>> storage.type(), storage.type("torch.IntStorage").tolist()
        ('torch.FloatStorage', [1])
        """
        _warn_of_removal()
        return f"torch.{self.pickle_storage_type()}" if dtype is None else _converted(self, dtype)

    def __repr__(self) -> str:
        kind = f"torch.storage.TypedStorage(dtype={self._dtype}, device=cpu) of size {self._size()}"
        return _listing(self._elements.tolist(), kind)


def _converted(storage: _Storage, kind: Any) -> TypedStorage:
    """A copy of the elements, converted to a dtype, or to that of a storage class or its name."""
    if not isinstance(kind, penlight.dtype):
        name = kind if isinstance(kind, str) else kind.__name__
        kind = getattr(penlight, LEGACY_DTYPES[name.removeprefix("torch.")])
    elements = penlight.empty(0, dtype=getattr(storage, "_dtype", penlight.uint8)).set_(storage)
    return TypedStorage(wrap_storage=elements.to(kind, copy=True).untyped_storage(), dtype=kind, _internal=True)


def _add_conversions() -> None:
    """Define the methods `float`, `long`, ..., which convert the elements to another dtype."""
    for name, dtype in LEGACY_DTYPES.items():
        if dtype.startswith("complex"):
            method = "complex_double" if dtype == "complex128" else "complex_float"
        else:
            method = name.removesuffix("Storage").lower()

        def convert(self: _Storage, dtype: str = dtype) -> TypedStorage:
            return _converted(self, getattr(penlight, dtype))

        convert.__name__, convert.__qualname__ = method, f"_Storage.{method}"
        convert.__doc__ = f"A copy of the elements, converted to torch.{dtype}."
        setattr(_Storage, method, convert)


_add_conversions()


def _new_storage(content: tuple[Any, ...], dtype: Any) -> UntypedStorage:
    if len(content) > 1:
        raise TypeError(f"Too many positional arguments ({len(content)} given, 0 or 1 expected)")
    if not content:
        return UntypedStorage(np.empty(0, dtype.np))
    if isinstance(content[0], int):
        return UntypedStorage(np.empty(content[0], dtype.np))
    return UntypedStorage(np.array(list(content[0]), dtype.np))


def __getattr__(name: str) -> Any:
    """The classes `FloatStorage`, `LongStorage`, ..., made at first use."""
    if name not in LEGACY_DTYPES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    dtype = LEGACY_DTYPES[name]
    doc = documented(
        f"The legacy storage of torch.{dtype} elements: see `TypedStorage`, also for `wrap_storage`, `dtype` and `device`.",
        f">>> torch.{name}(3).dtype", f"torch.{dtype}",
    )  # fmt: skip
    members = {"__slots__": (), "_legacy_dtype": dtype, "__module__": "torch", "__doc__": doc}
    made = type(name, (TypedStorage,), members)
    globals()[name] = made
    return made


_explain(globals())
