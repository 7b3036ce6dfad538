"""Outline: replaces the array in tensors that have none."""

from __future__ import annotations

from typing import Any, NoReturn


class Outline:
    """Shape, strides and dtype of a tensor whose values are stored elsewhere; reading its values raises.

    Much code reads the shape or dtype of a tensor's `_array`. `_like` is an array that has them; its values are never read.
    """

    __slots__ = ("_like",)

    def __init__(self, like: Any) -> None:
        self._like = like

    def _refuse(self, as_number: bool = False) -> NoReturn:
        raise NotImplementedError

    shape = property(lambda self: self._like.shape)
    ndim = property(lambda self: self._like.ndim)
    size = property(lambda self: self._like.size)
    strides = property(lambda self: self._like.strides)
    dtype = property(lambda self: self._like.dtype)
    itemsize = property(lambda self: self._like.itemsize)
    nbytes = property(lambda self: self.size * self.itemsize)
    flags = property(lambda self: self._like.flags)
    base = property(lambda self: self._like.base)

    def __len__(self) -> int:
        return int(self.shape[0])

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        self._refuse()

    def __getitem__(self, index: Any) -> NoReturn:
        self._refuse()

    def __bool__(self) -> NoReturn:
        self._refuse()

    def __eq__(self, other: object) -> NoReturn:
        self._refuse()

    __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __eq__
    __hash__ = None  # type: ignore[assignment]

    def __int__(self) -> NoReturn:
        self._refuse(as_number=True)

    __index__ = __float__ = __complex__ = __int__

    def __getattr__(self, name: str) -> NoReturn:
        self._refuse()
