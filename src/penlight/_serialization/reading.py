"""What both formats share when a file is read: which unpickler, and what it makes of a storage's description."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import penlight
from penlight._serialization import names
from penlight._serialization.unpickler import WeightsUnpickler
from penlight.storage import TypedStorage, UntypedStorage


class PickleReader:
    """How the pickles of one file are read: by the weights-only machine, or by a full pickle module."""

    def __init__(self, weights_only: bool, pickle_module: Any, arguments: dict[str, Any]) -> None:
        self._weights_only = weights_only
        self._arguments = arguments
        self._full: Any = None if weights_only else _full_unpickler(pickle_module or pickle)

    def load(self, file: Any, persistent_load: Callable[[Any], Any]) -> Any:
        """One object from a file."""
        if self._weights_only:
            return WeightsUnpickler(file, persistent_load, **self._arguments).load()
        unpickler = self._full(file, **self._arguments)
        unpickler.persistent_load = persistent_load
        return unpickler.load()


def _full_unpickler(pickle_module: Any) -> Any:
    class TorchUnpickler(pickle_module.Unpickler):
        """The unpickler of a pickle module, with PyTorch's names for our classes."""

        def find_class(self, module: str, name: str) -> Any:
            if module == "torch" or module.startswith("torch."):
                return names.find(module, name)
            return super().find_class(module, name)

    return TorchUnpickler


def no_storages(saved: Any) -> Any:
    """For pickles that hold none."""
    raise pickle.UnpicklingError("unsupported persistent id encountered")


def decoded(text: Any) -> str:
    """A text that a pickle of Python 2 may hold as bytes."""
    text = text.decode("latin1") if isinstance(text, bytes) else text
    if not isinstance(text, str):
        raise pickle.UnpicklingError(f"expected a text in the description of a storage, but got {type(text)}")
    return text


def checked_key(key: Any) -> Any:
    """The key of a storage in a file: a text or a number."""
    if type(key) not in (str, bytes, int):
        raise pickle.UnpicklingError(f"the key of a storage must be a text, but the file has {type(key)}")
    return key


def element_dtype(storage_type: Any) -> Any:
    """The dtype of the elements of a storage, from what a file names as its class."""
    if storage_type is UntypedStorage:
        return penlight.uint8
    if not isinstance(storage_type, names.StorageType):
        raise pickle.UnpicklingError(f"expected a storage class, but got {storage_type}")
    return storage_type.dtype


def typed(storage: Any, dtype: Any) -> TypedStorage:
    """A storage with the dtype of its elements."""
    return TypedStorage(wrap_storage=storage, dtype=dtype, _internal=True)
