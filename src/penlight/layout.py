"""Memory formats and layouts, as far as a strided CPU library has them."""

from __future__ import annotations


class _Named:
    """A constant of the module `torch`, printed and pickled by its name."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return "torch." + self._name

    def __reduce__(self) -> str:
        return self._name


class layout(_Named):
    """How a tensor is stored: `torch.strided`, or a sparse layout.

    >>> torch.ones(2).layout
    torch.strided
    """

    __slots__ = ()


class memory_format(_Named):
    """The order of dimensions in memory: `torch.contiguous_format` and the like.

    >>> torch.ones(1, 2, 3, 3).contiguous(memory_format=torch.channels_last).stride()
    (18, 1, 6, 2)
    """

    __slots__ = ()


strided, sparse_coo, sparse_csr, sparse_csc, jagged = (
    layout(n) for n in ("strided", "sparse_coo", "sparse_csr", "sparse_csc", "jagged")
)
contiguous_format, preserve_format, channels_last, channels_last_3d = (
    memory_format(n) for n in ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")
)
