"""torch.Size: the shape of a tensor."""

from __future__ import annotations

from typing import Any, SupportsIndex, overload


class Size(tuple):
    """A shape, made of an `iterable` of ints: a tuple that prints as `torch.Size([2, 3])`.

    >>> torch.Size([2, 3]).numel(), torch.Size([2]) + torch.Size([3])
    (6, torch.Size([2, 3]))
    """

    __slots__ = ()

    def numel(self) -> int:
        """The number of elements of a tensor with this shape.

        >>> torch.Size([2, 3]).numel()
        6
        """
        total = 1
        for n in self:
            total *= n
        return total

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    __str__ = __repr__

    def __add__(self, other: Any) -> Size:
        return Size(tuple.__add__(self, tuple(other))) if isinstance(other, tuple) else NotImplemented

    def __radd__(self, other: Any) -> Size:
        return Size(tuple(other) + tuple(self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, times: Any) -> Size:
        return Size(tuple.__mul__(self, times))

    __rmul__ = __mul__

    @overload
    def __getitem__(self, index: SupportsIndex) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> Size: ...
    def __getitem__(self, index: Any) -> Any:
        found = tuple.__getitem__(self, index)
        return Size(found) if isinstance(index, slice) else found

    def __reduce__(self) -> Any:
        return (_size, (tuple(self),))


def _size(values: tuple[int, ...]) -> Size:
    return Size(values)


Size.__module__ = "torch"
