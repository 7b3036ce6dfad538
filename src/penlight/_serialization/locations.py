"""Locations of storages: the tags in files, and `map_location`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import penlight

from .._common.arguments import explain as _explain

_ACCELERATORS = ("cuda", "xpu", "mtia", "hpu", "privateuseone")
_UNREGISTERED = ("hpu", "privateuseone")
_USE_THE_CPU = (
    "If you are running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') "
    "to map your storages to the CPU."
)


def _cpu_tag(storage: Any) -> str | None:
    return "cpu" if storage.device.type == "cpu" else None


def _cpu_deserialize(storage: Any, location: str) -> Any:
    return storage if location == "cpu" else None


def _accelerator_deserialize(storage: Any, location: str) -> Any:
    """Raise PyTorch's error for accelerators, with advice; storages on the meta device lose their data."""
    for name in _ACCELERATORS:
        if location == name or re.match(f"{name}(:|[0-9]+)", location):
            if name in _UNREGISTERED:
                raise RuntimeError(f"The {name.upper()} device module is not registered. {_USE_THE_CPU}")
            raise RuntimeError(
                f"Attempting to deserialize object on a {name.upper()} device but "
                f"torch.{name}.is_available() is False. {_USE_THE_CPU}"
            )
    if location.startswith("mps"):
        raise RuntimeError(f"torch.UntypedStorage(): Storage device not recognized: mps. {_USE_THE_CPU}")
    if location == "meta":
        storage._without_data = True
        return storage
    return None


_packages: list[tuple[int, Callable[[Any], Any], Callable[[Any, str], Any]]] = [
    (10, _cpu_tag, _cpu_deserialize),
    (20, lambda storage: None, _accelerator_deserialize),
]


def register_package(priority: int, tagger: Callable[[Any], Any], deserializer: Callable[[Any, str], Any]) -> None:
    """Register how storages of a kind are tagged in files and restored.

    Args:
        priority: functions with a lower priority are called first
        tagger: a function from a storage to the tag of its location, or None
        deserializer: a function from a storage and a tag to the storage at that location, or None

    >>> torch.serialization.register_package(30, lambda storage: None, lambda storage, tag: None)
    """
    _packages.append((priority, tagger, deserializer))
    _packages.sort(key=lambda package: package[0])


def location_tag(storage: Any) -> str:
    """The tag under which a storage's location is saved.

    Returns:
        a string

    >>> torch.serialization.location_tag(torch.ones(1).untyped_storage())
    'cpu'
    """
    for _, tagger, _ in _packages:
        location = tagger(storage)
        if location:
            return str(location)
    raise RuntimeError(f"don't know how to determine data location of {_type_name(storage)}")


def default_restore_location(storage: Any, location: str) -> Any:
    """Move a storage to the location with a tag.

    Args:
        storage: the storage that was read
        location: the tag

    Returns:
        the storage at that location

    >>> storage = torch.ones(1).untyped_storage()
    >>> torch.serialization.default_restore_location(storage, "cpu") is storage
    True
    """
    for _, _, deserializer in _packages:
        result = deserializer(storage, location)
        if result is not None:
            return result
    raise RuntimeError(f"don't know how to restore data location of {_type_name(storage)} (tagged with {location})")


def _type_name(storage: Any) -> str:
    return f"torch.storage.{type(storage).__name__}"


def restore_function(map_location: Any) -> Callable[[Any, str], Any]:
    """The function by which a `map_location` moves storages: None, a device or its name, a dict from tag to tag, or a function."""
    if map_location is None:
        return default_restore_location
    if isinstance(map_location, dict):
        return lambda storage, location: default_restore_location(storage, map_location.get(location, location))
    if isinstance(map_location, bytes):
        map_location = map_location.decode("ascii")
    if isinstance(map_location, (str, penlight.device)):
        return lambda storage, location: default_restore_location(storage, str(map_location))
    if not callable(map_location):
        raise TypeError(
            f"{type(map_location).__name__!r} object is not callable: map_location is a device, its name, a dict of "
            "names, or a function of storage and location"
        )

    def restore(storage: Any, location: str) -> Any:
        result = map_location(storage, location)
        return default_restore_location(storage, location) if result is None else result

    return restore


_explain(globals())
