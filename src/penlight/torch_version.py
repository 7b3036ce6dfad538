"""`torch.__version__`: a string with the order of versions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .version import __version__ as internal_version

__all__ = ["TorchVersion"]


def _key(version: Any) -> tuple[Any, ...]:
    """The sort key of a version, given as text or numbers, by PEP 440 as far as PyTorch's versions need it."""
    if not isinstance(version, str):
        version = ".".join(str(part) for part in version)
    public, _, local = version.strip().lower().removeprefix("v").partition("+")
    release: list[int] = []
    for index, part in enumerate(public.split(".")):
        digits = len(part) - len(part.lstrip("0123456789"))
        if digits:
            release.append(int(part[:digits]))
        if digits < len(part):
            rest = part[digits:] + "".join(public.split(".")[index + 1 :])
            return _trim(release), _stage(rest), local
    return _trim(release), (0,), local


def _trim(release: list[int]) -> tuple[int, ...]:
    while release and release[-1] == 0:
        release.pop()
    return tuple(release)


def _stage(rest: str) -> tuple[Any, ...]:
    """The sort key of a version's suffix: development and pre-releases sort before the release, post-releases after it."""
    letters = rest.rstrip("0123456789").strip("-_.")
    number = int(rest[len(rest.rstrip("0123456789")) :] or 0)
    order = {"dev": -4, "a": -3, "alpha": -3, "b": -2, "beta": -2, "rc": -1, "c": -1, "post": 1}
    if letters not in order:
        raise ValueError(rest)
    return (order[letters], number)


class TorchVersion(str):
    """A version, as text, that can be compared with other versions, with text and with tuples of numbers.

    >>> torch.__version__ >= (1, 8), torch.__version__ > "2.9"
    (True, True)
    """

    def _compare(self, other: Any, how: Callable[[Any, Any], bool], plain: Callable[[str, Any], bool]) -> bool:
        try:
            return how(_key(str(self)), _key(other))
        except (ValueError, TypeError):
            return plain(self, other)

    def __lt__(self, other: Any) -> bool:
        return self._compare(other, lambda a, b: a < b, str.__lt__)

    def __le__(self, other: Any) -> bool:
        return self._compare(other, lambda a, b: a <= b, str.__le__)

    def __gt__(self, other: Any) -> bool:
        return self._compare(other, lambda a, b: a > b, str.__gt__)

    def __ge__(self, other: Any) -> bool:
        return self._compare(other, lambda a, b: a >= b, str.__ge__)

    def __eq__(self, other: Any) -> bool:
        return self._compare(other, lambda a, b: a == b, str.__eq__)

    def __ne__(self, other: Any) -> bool:
        return not self == other

    __hash__ = str.__hash__


__version__ = TorchVersion(internal_version)
