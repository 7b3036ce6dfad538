"""Saving and loading objects in PyTorch's file formats, without PyTorch."""

from __future__ import annotations

import os
import pickle
import sys
import threading
from enum import Enum
from typing import IO, Any

import penlight
from penlight._common.arguments import explain as _explain
from penlight._common.user_warnings import warn_user
from penlight._serialization import zipformat
from penlight._serialization.atomic import is_path, replacing
from penlight._serialization.legacy import (
    MAGIC_NUMBER as MAGIC_NUMBER,
    PROTOCOL_VERSION as PROTOCOL_VERSION,
    is_tar,
    load_legacy,
    save_legacy,
)
from penlight._serialization.locations import default_restore_location, location_tag, register_package
from penlight._serialization.names import PARAMETER, StorageType, builtin_globals
from penlight._serialization.reading import PickleReader
from penlight._serialization.rebuild import _get_layout as _get_layout
from penlight._serialization.safe import (
    add_safe_globals,
    clear_safe_globals,
    get_safe_globals,
    safe_globals,
    user_globals,
)
from penlight.safetensors import load_file
from penlight.utils.serialization import config

__all__ = [
    "LoadEndianness", "SourceChangeWarning", "StorageType", "add_safe_globals", "check_module_version_greater_or_equal",
    "clear_safe_globals", "default_restore_location", "get_crc32_options", "get_default_load_endianness",
    "get_default_mmap_options", "get_safe_globals", "get_unsafe_globals_in_checkpoint", "load", "location_tag",
    "register_package", "safe_globals", "save", "set_crc32_options", "set_default_load_endianness",
    "set_default_mmap_options", "skip_data",
]  # fmt: skip

DEFAULT_PROTOCOL = 2

# Names for annotations.
FILE_LIKE: Any = Any
MAP_LOCATION: Any = Any

UNSAFE_MESSAGE = (
    "In PyTorch 2.6, we changed the default value of the `weights_only` argument in `torch.load` "
    "from `False` to `True`. Re-running `torch.load` with `weights_only` set to `False` will likely succeed, "
    "but it can result in arbitrary code execution. Do it only if you got the file from a "
    "trusted source."
)
_DOCS_MESSAGE = (
    "\n\nCheck the documentation of torch.load to learn more about types accepted by default with "
    "weights_only https://pytorch.org/docs/stable/generated/torch.load.html."
)


class SourceChangeWarning(Warning):
    """Never issued, since sources of classes are not compared; kept for programs that filter it.

    >>> issubclass(torch.serialization.SourceChangeWarning, Warning)
    True
    """


# ----- Saving ---------------------------------------------------------------------------------------------------------


def save(
    obj: object, f: str | os.PathLike[str] | IO[bytes], pickle_module: Any = pickle,
    pickle_protocol: int = DEFAULT_PROTOCOL, _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:  # fmt: skip
    """Save an object to a file, in PyTorch's format: both PyTorch and Penlight can load it.

    A file given by its path is replaced only when the new one is complete. Tensors that share memory still do after
    loading.

    >>> import io
    >>> buffer = io.BytesIO()
    >>> torch.save({"w": torch.arange(3)}, buffer)
    >>> _ = buffer.seek(0)
    >>> torch.load(buffer)
    {'w': tensor([0, 1, 2])}

    Args:
        obj: the object to save: tensors, a state dict, or anything that can be pickled.
        f: a path, or a binary file to write to.
        pickle_module: a module like `pickle` to write with.
        pickle_protocol: the version of the pickle format.

    Returns:
        None
    """
    _check_dill_version(pickle_module)
    if not is_path(f) and not hasattr(f, "write"):
        raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")
    if not _use_new_zipfile_serialization:
        if _state.skip_data:
            raise RuntimeError("Cannot use skip_data=True with _use_new_zipfile_serialization=False")
        if is_path(f):
            with replacing(os.fspath(f)) as file:  # type: ignore[arg-type]
                save_legacy(obj, file, pickle_module, pickle_protocol)
        else:
            save_legacy(obj, f, pickle_module, pickle_protocol)
            f.flush()  # type: ignore[union-attr]
        return
    byte_order = not _disable_byteorder_record
    if not is_path(f):
        if not callable(f.write):  # type: ignore[union-attr]
            raise TypeError(f"Buffer of {str(type(f)).strip('<>')} has no callable attribute 'write'")
        payload = zipformat.Payload(obj, pickle_module, pickle_protocol)
        payload.write_to(f, "archive", byte_order, _state.skip_data)
        f.flush()  # type: ignore[union-attr]
        return
    path = os.fspath(f)  # type: ignore[arg-type]
    parent = os.path.dirname(path)
    if parent and not os.path.isdir(parent):
        raise RuntimeError(f"Parent directory {parent} does not exist.")
    payload = zipformat.Payload(obj, pickle_module, pickle_protocol)
    if os.path.isdir(path):
        raise RuntimeError(f"open file failed with strerror: Is a directory: {path!r}")
    with replacing(path) as file:
        payload.write_to(file, zipformat.archive_name(path), byte_order, _state.skip_data)


# ----- Loading --------------------------------------------------------------------------------------------------------


def load(
    f: str | os.PathLike[str] | IO[bytes], map_location: Any = None, pickle_module: Any = None, *,
    weights_only: bool | None = None, mmap: bool | None = None, **pickle_load_args: Any,
) -> Any:  # fmt: skip
    """Load an object that `save` (or PyTorch's `torch.save`) has saved.

    By default only tensors, numbers, texts and plain containers of them are accepted, and nothing in the file is run.
    `weights_only=False` unpickles any object, which can run any code: use it only for files that you trust.

    >>> import io
    >>> buffer = io.BytesIO()
    >>> torch.save([torch.ones(2), "text"], buffer)
    >>> _ = buffer.seek(0)
    >>> torch.load(buffer)
    [tensor([1., 1.]), 'text']

    Args:
        f: a path, or a binary file that can seek.
        map_location: the device for tensors that were saved on another one: "cpu", a device, a dict of names, or a function
            of storage and location.
        pickle_module: for `weights_only=False`, a module like `pickle` to read with.
        weights_only: whether to accept plain data only (default: True, unless a `pickle_module` is given).
        mmap: map the file into memory instead of reading it: tensors are read when they are used.
        pickle_load_args: for the unpickler, such as `encoding="latin1"` for files of Python 2.

    Returns:
        the saved object.
    """
    weights_only = _resolve_weights_only(weights_only, pickle_module)
    if weights_only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    if pickle_load_args and weights_only:
        warn_user("pickle_load_args only works if `weights_only=False`.")
    mmap = config.load.mmap if mmap is None else mmap
    _check_dill_version(pickle_module)
    pickle_load_args.setdefault("encoding", "utf-8")
    if is_path(f) and os.fspath(f).endswith(".safetensors"):  # type: ignore[arg-type]
        return _load_safetensors(os.fspath(f), map_location)  # type: ignore[arg-type]
    reader = PickleReader(weights_only, pickle_module, pickle_load_args)
    if not is_path(f):
        _check_seekable(f)
        return _load_from(f, f, reader, map_location, weights_only, mmap)
    with open(f, "rb") as file:  # type: ignore[arg-type]
        return _load_from(file, f, reader, map_location, weights_only, mmap)


def _load_from(file: Any, f: Any, reader: PickleReader, map_location: Any, weights_only: bool, mmap: bool) -> Any:
    """Load from an open file; `f` is the argument of `load`."""
    try:
        if _is_zipfile(file):
            archive = zipformat.open_archive(file)
            zipformat.refuse_torchscript(archive, weights_only, UNSAFE_MESSAGE)
            if mmap and not is_path(f):
                raise ValueError("f must be a file path in order to use the mmap argument")
            mapped = zipformat.map_file(f) if mmap else None
            return zipformat.load_zip(archive, reader, map_location, mapped, _state.skip_data)
        if mmap:
            name = f"{f}, " if isinstance(f, str) else ""
            raise RuntimeError(
                "mmap can only be used with files saved with "
                f"`torch.save({name}_use_new_zipfile_serialization=True), "
                "please torch.save your checkpoint with this option in order to use mmap."
            )
        if is_tar(file):
            _refuse_tar(weights_only)
        return load_legacy(file, reader, map_location, _state.skip_data)
    except pickle.UnpicklingError as error:
        if not weights_only:
            raise
        raise pickle.UnpicklingError(_weights_only_message(str(error))) from None


def _weights_only_message(message: str) -> str:
    """PyTorch's advice for a file that holds more than plain data."""
    if "was not an allowed global by default." in message:
        return (
            "Weights only load failed. This file can still be loaded, to do so you have two options, "
            "\033[1mdo those steps only if you trust the source of the checkpoint\033[0m. "
            f"\n\t(1) {UNSAFE_MESSAGE}\n\t(2) Alternatively, to load with `weights_only=True` please check "
            f"the recommended steps in the following error message.\n\tWeightsUnpickler error: {message}{_DOCS_MESSAGE}"
        )
    blocked = "is blocked" in message
    please = (
        ""
        if blocked
        else "Please file an issue with the following so that we can make "
        "`weights_only=True` compatible with your use case: WeightsUnpickler error: "
    )
    return f"Weights only load failed. {UNSAFE_MESSAGE}\n{please}\n\n{message}{_DOCS_MESSAGE}"


def _refuse_tar(weights_only: bool) -> None:
    if weights_only:
        raise RuntimeError(
            f"Cannot use ``weights_only=True`` with files saved in the legacy .tar format. {UNSAFE_MESSAGE}"
        )
    raise NotImplementedError(
        "penlight does not read the .tar format of PyTorch 0.1: load the file with PyTorch and torch.save it again"
    )


def _resolve_weights_only(weights_only: bool | None, pickle_module: Any) -> bool:
    """Whether to accept plain data only, by the argument, PyTorch's environment variables, or the default."""
    force = _is_set("TORCH_FORCE_WEIGHTS_ONLY_LOAD")
    force_not = _is_set("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD")
    if force and force_not:
        raise RuntimeError(
            "Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD` "
            "should be set, but both were set."
        )
    if force:
        return True
    if weights_only is not None:
        return bool(weights_only)
    if force_not:
        warn_user(
            "Environment variable TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD detected, since the"
            "`weights_only` argument was not explicitly passed to `torch.load`, forcing weights_only=False.",
            UserWarning,
        )
        return False
    return pickle_module is None


def _is_set(variable: str) -> bool:
    return os.getenv(variable, "0").lower() in ("1", "y", "yes", "true")


def _load_safetensors(path: str, map_location: Any) -> Any:
    if isinstance(map_location, dict) or (callable(map_location) and not isinstance(map_location, penlight.device)):
        kind = "dict" if isinstance(map_location, dict) else "callable"
        raise RuntimeError(
            f"Loading safetensors file with {kind} map_location is not supported. "
            "Use a device string or torch.device instead."
        )
    return load_file(path, device="cpu" if map_location is None else str(map_location))


def _is_zipfile(file: Any) -> bool:
    """Whether a zip archive begins at the current position. (`zipfile.is_zipfile` finds archives anywhere in a file.)"""
    position = file.tell()
    head = file.read(4)
    file.seek(position)
    return bytes(head) == b"PK\x03\x04"


def _check_seekable(f: Any) -> None:
    try:
        f.seek(f.tell())
    except (OSError, AttributeError) as error:
        raise type(error)(
            f"{error}. You can only torch.load from a file that is seekable."
            " Please pre-load the data into a buffer like io.BytesIO and"
            " try to load from it instead."
        ) from None


def get_unsafe_globals_in_checkpoint(f: str | os.PathLike[str] | IO[bytes]) -> list[str]:
    """The names of the classes and functions in a file that `weights_only=True` would refuse. No code from the file is run.

    >>> import io
    >>> buffer = io.BytesIO()
    >>> torch.save(slice(1, 2), buffer)
    >>> _ = buffer.seek(0)
    >>> torch.serialization.get_unsafe_globals_in_checkpoint(buffer)
    ['builtins.slice']
    """
    if is_path(f):
        with open(f, "rb") as file:  # type: ignore[arg-type]
            return get_unsafe_globals_in_checkpoint(file)
    if not _is_zipfile(f):
        raise ValueError("Expected input to be a checkpoint returned by torch.save")
    allowed = builtin_globals().keys() | user_globals().keys() | {PARAMETER}
    return sorted(zipformat.globals_named(f) - allowed)


# ----- Settings -------------------------------------------------------------------------------------------------------


class LoadEndianness(Enum):
    """The byte order assumed for files that do not state theirs.

    >>> torch.serialization.LoadEndianness.LITTLE.value
    2
    """

    NATIVE = 1
    LITTLE = 2
    BIG = 3


def get_default_load_endianness() -> LoadEndianness | None:
    """The byte order assumed for files that do not state theirs; None for little-endian.

    >>> torch.serialization.get_default_load_endianness() is None
    True
    """
    chosen: LoadEndianness | None = config.load.endianness
    return chosen


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Set the byte order assumed for files that do not state theirs.

    >>> torch.serialization.set_default_load_endianness(None)
    """
    if not isinstance(endianness, LoadEndianness) and endianness is not None:
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    config.load.endianness = endianness


def get_crc32_options() -> bool:
    """Whether `save` writes checksums and `load` compares them.

    >>> torch.serialization.get_crc32_options()
    True
    """
    return config.save.compute_crc32


def set_crc32_options(compute_crc32: bool) -> None:
    """Set whether `save` writes checksums and `load` compares them.

    >>> torch.serialization.set_crc32_options(True)
    """
    config.save.compute_crc32 = compute_crc32


def get_default_mmap_options() -> int | None:
    """The flags with which `load(mmap=True)` maps files: `mmap.MAP_PRIVATE` by default.

    >>> isinstance(torch.serialization.get_default_mmap_options(), int)
    True
    """
    import mmap

    private: int | None = getattr(mmap, "MAP_PRIVATE", None)
    return private if config.load.mmap_flags is None else config.load.mmap_flags


class set_default_mmap_options:
    """Set the flags with which `load(mmap=True)` maps files, permanently or inside a `with` block.

    `mmap.MAP_PRIVATE` keeps writes to a tensor in memory, `mmap.MAP_SHARED` lets them reach the file.

    >>> import mmap
    >>> with torch.serialization.set_default_mmap_options(mmap.MAP_SHARED):
    ...     torch.serialization.get_default_mmap_options() == mmap.MAP_SHARED
    True
    """

    def __init__(self, flags: int) -> None:
        import mmap

        if sys.platform == "win32":
            raise RuntimeError("Changing the default mmap options is currently not supported for Windows")
        if flags not in (mmap.MAP_PRIVATE, mmap.MAP_SHARED):
            raise ValueError(
                "Invalid argument in function set_default_mmap_options, "
                f"expected mmap.MAP_PRIVATE or mmap.MAP_SHARED, but got {flags}"
            )
        self.prev = config.load.mmap_flags
        config.load.mmap_flags = flags

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        config.load.mmap_flags = self.prev


class _State(threading.local):
    skip_data = False
    materialize_fake_tensors = False


_state = _State()


class skip_data:
    """In a with block, `save` leaves room for the tensors' data instead of writing it, and `load` does not read it.

    >>> import io
    >>> buffer = io.BytesIO()
    >>> with torch.serialization.skip_data():
    ...     torch.save(torch.ones(2), buffer)
    >>> _ = buffer.seek(0)
    >>> torch.load(buffer)
    tensor([0., 0.])

    `materialize_fake_tensors` is accepted.
    """

    def __init__(self, materialize_fake_tensors: bool = False) -> None:
        self.materialize_fake_tensors = materialize_fake_tensors

    def __enter__(self) -> None:
        self._before = (_state.skip_data, _state.materialize_fake_tensors)
        _state.skip_data, _state.materialize_fake_tensors = True, self.materialize_fake_tensors

    def __exit__(self, *exc: object) -> None:
        _state.skip_data, _state.materialize_fake_tensors = self._before


# ----- Versions of pickle modules ---------------------------------------------------------------------------------------


def check_module_version_greater_or_equal(
    module: Any, req_version_tuple: tuple[Any, ...], error_if_malformed: bool = True
) -> bool:
    """Whether a module's `__version__` is at least the given one.

    Args:
        module: the module
        req_version_tuple: the version that is needed
        error_if_malformed: raise if the version cannot be read; otherwise warn, and return True

    >>> torch.serialization.check_module_version_greater_or_equal(torch, (0, 1))
    True
    """
    try:
        parts = module.__version__.split(".")
        version = tuple(type(field)(parts[index]) for index, field in enumerate(req_version_tuple))
        return version >= req_version_tuple
    except Exception as error:
        message = (
            f"'{module.__name__}' module version string is malformed '{module.__version__}' and cannot be compared"
            f" with tuple {req_version_tuple!s}"
        )
        if error_if_malformed:
            raise RuntimeError(message) from error
        warn_user(message + ", but continuing assuming that requirement is met")
        return True


def _check_dill_version(pickle_module: Any) -> None:
    if pickle_module is None or pickle_module.__name__ != "dill":
        return
    if not check_module_version_greater_or_equal(pickle_module, (0, 3, 1), False):
        raise ValueError(
            f"'torch' supports dill >= 0.3.1, but you have dill {pickle_module.__version__}."
            " Please upgrade dill or switch to 'pickle'"
        )


_explain(globals())
