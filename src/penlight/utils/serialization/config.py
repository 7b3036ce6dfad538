"""The settings of `penlight.save` and `penlight.load`.

>>> from penlight.utils.serialization import config
>>> config.save.storage_alignment
64
"""

from __future__ import annotations

from functools import wraps
from typing import Any


class load:
    """Settings of `penlight.load`.

    >>> from penlight.utils.serialization import config
    >>> config.load.mmap
    False
    """

    mmap: bool = False
    endianness: Any = None
    mmap_flags: int | None = None
    calculate_storage_offsets: bool = False


class save:
    """Settings of `penlight.save`.

    >>> from penlight.utils.serialization import config
    >>> config.save.compute_crc32
    True
    """

    compute_crc32: bool = True
    use_pinned_memory_for_d2h: bool = False
    storage_alignment: int = 64


class patch:
    """Other settings for the duration of a with block (or of a function that it decorates).

    Args:
        changes: the new values by the names of the settings, or one name
        value: the new value, if one name is given

    >>> from penlight.utils.serialization import config
    >>> with config.patch({"load.mmap": True}):
    ...     config.load.mmap
    True
    >>> config.load.mmap
    False
    """

    def __init__(self, changes: dict[str, Any] | None = None, value: Any = None, **more: Any) -> None:
        self._changes = {changes: value} if isinstance(changes, str) else {**(changes or {}), **more}
        self._before: list[tuple[Any, str, Any]] = []

    def __enter__(self) -> None:
        for name, value in self._changes.items():
            group, _, setting = name.partition(".")
            section = {"load": load, "save": save}.get(group)
            if section is None or not hasattr(section, setting):
                raise AttributeError(f"penlight.utils.serialization.config.{name} does not exist")
            self._before.append((section, setting, getattr(section, setting)))
            setattr(section, setting, value)

    def __exit__(self, *exc: object) -> None:
        while self._before:
            setattr(*self._before.pop())

    def __call__(self, function: Any) -> Any:
        @wraps(function)
        def patched(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return patched
