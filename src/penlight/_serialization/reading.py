"""Reading pickles, for both file formats: the unpickler, and the checks of a storage's description."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import penlight
from penlight._serialization import names
from penlight._serialization.unpickler import WeightsUnpickler
from penlight.storage import TypedStorage, UntypedStorage


class PickleReader:
    """Reads the pickles of a file, with the weights-only unpickler or with a pickle module."""

    def __init__(self, weights_only: bool, pickle_module: Any, arguments: dict[str, Any]) -> None:
        self._weights_only = weights_only
        self._arguments = arguments
        self._full: Any = None if weights_only else _full_unpickler(pickle_module or pickle)

    def load(self, file: Any, persistent_load: Callable[[Any], Any]) -> Any:
        """Read one object from a file."""
        if self._weights_only:
            return WeightsUnpickler(file, persistent_load, **self._arguments).load()
        unpickler = self._full(file, **self._arguments)
        unpickler.persistent_load = persistent_load
        return unpickler.load()


def _full_unpickler(pickle_module: Any) -> Any:
    class TorchUnpickler(pickle_module.Unpickler):
        """The unpickler of a pickle module, which finds Penlight's classes under PyTorch's names."""

        def find_class(self, module: str, name: str) -> Any:
            if module == "torch" or module.startswith("torch."):
                return names.find(module, name)
            return super().find_class(module, name)

    return TorchUnpickler


def no_storages(saved: Any) -> Any:
    """The `persistent_load` for pickles without storages: raises an error."""
    raise pickle.UnpicklingError("unsupported persistent id encountered")


def as_text(text: Any) -> str:
    """A string as str; pickles of Python 2 have bytes."""
    text = text.decode("latin1") if isinstance(text, bytes) else text
    if not isinstance(text, str):
        raise pickle.UnpicklingError(f"expected a text in the description of a storage, but got {type(text)}")
    return text


def checked_key(key: Any) -> Any:
    """Check the key of a storage in a file: a string or an int."""
    if type(key) not in (str, bytes, int):
        raise pickle.UnpicklingError(f"the key of a storage must be a text, but the file has {type(key)}")
    return key


def element_dtype(storage_type: Any) -> Any:
    """The dtype of the elements of a storage, by its class in the file."""
    if storage_type is UntypedStorage:
        return penlight.uint8
    if not isinstance(storage_type, names.StorageType):
        raise pickle.UnpicklingError(f"expected a storage class, but got {storage_type}")
    return storage_type.dtype


def typed(storage: Any, dtype: Any) -> TypedStorage:
    """A storage with the dtype of its elements."""
    return TypedStorage(wrap_storage=storage, dtype=dtype, _internal=True)
