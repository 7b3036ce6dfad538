"""Padding: with a constant, by reflection, by replication, around."""

from __future__ import annotations

from typing import ClassVar

from penlight import Tensor
from penlight.nn import functional as F
from penlight.nn.common_types import _size_2_t, _size_4_t, _size_6_t

from .batchnorm import _expect_dims
from .module import Module
from .utils import _ntuple, _pair, _quadruple

__all__ = [
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]

_sextuple = _ntuple(6)


class _PadNd(Module):
    """Padding with values of the input itself."""

    _mode: ClassVar[str]
    padding: tuple[int, ...]

    def forward(self, input: Tensor) -> Tensor:
        """The padded input."""
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _CircularPadNd(_PadNd):
    _mode = "circular"


class CircularPad1d(_CircularPadNd):
    """Padding that goes on at the other end: one number or (left, right).

    >>> import penlight as torch
    >>> torch.nn.CircularPad1d(1)(torch.arange(3.0).view(1, 1, 3))
    tensor([[[2., 0., 1., 2., 0.]]])
    """

    def __init__(self, padding: _size_2_t) -> None:
        super().__init__()
        self.padding = _pair(padding)

    def _check_input_dim(self, input: Tensor) -> None:
        _expect_dims(input, 2, 3)

    def forward(self, input: Tensor) -> Tensor:
        """The padded input."""
        self._check_input_dim(input)
        return super().forward(input)


class CircularPad2d(_CircularPadNd):
    """Padding that goes on at the other end: one number or (left, right, top, bottom).

    >>> import penlight as torch
    >>> torch.nn.CircularPad2d(1)(torch.zeros(1, 1, 3, 3)).shape
    torch.Size([1, 1, 5, 5])
    """

    def __init__(self, padding: _size_4_t) -> None:
        super().__init__()
        self.padding = _quadruple(padding)

    def _check_input_dim(self, input: Tensor) -> None:
        _expect_dims(input, 3, 4)

    def forward(self, input: Tensor) -> Tensor:
        """The padded input."""
        self._check_input_dim(input)
        return super().forward(input)


class CircularPad3d(_CircularPadNd):
    """Padding that goes on at the other end: one number or (left, right, top, bottom, front, back).

    >>> import penlight as torch
    >>> torch.nn.CircularPad3d(1)(torch.zeros(1, 1, 3, 3, 3)).shape
    torch.Size([1, 1, 5, 5, 5])
    """

    def __init__(self, padding: _size_6_t) -> None:
        super().__init__()
        self.padding = _sextuple(padding)

    def _check_input_dim(self, input: Tensor) -> None:
        _expect_dims(input, 4, 5)

    def forward(self, input: Tensor) -> Tensor:
        """The padded input."""
        self._check_input_dim(input)
        return super().forward(input)


class _ReflectionPadNd(_PadNd):
    _mode = "reflect"


class ReflectionPad1d(_ReflectionPadNd):
    """Padding that mirrors the input at its edge: one number or (left, right).

    >>> import penlight as torch
    >>> torch.nn.ReflectionPad1d(1)(torch.arange(3.0).view(1, 1, 3))
    tensor([[[1., 0., 1., 2., 1.]]])
    """

    def __init__(self, padding: _size_2_t) -> None:
        super().__init__()
        self.padding = _pair(padding)


class ReflectionPad2d(_ReflectionPadNd):
    """Padding that mirrors the input at its edge: one number or (left, right, top, bottom).

    >>> import penlight as torch
    >>> torch.nn.ReflectionPad2d(1)(torch.zeros(1, 1, 3, 3)).shape
    torch.Size([1, 1, 5, 5])
    """

    def __init__(self, padding: _size_4_t) -> None:
        super().__init__()
        self.padding = _quadruple(padding)


class ReflectionPad3d(_ReflectionPadNd):
    """Padding that mirrors the input at its edge: one number or (left, right, top, bottom, front, back).

    >>> import penlight as torch
    >>> torch.nn.ReflectionPad3d(1)(torch.zeros(1, 1, 3, 3, 3)).shape
    torch.Size([1, 1, 5, 5, 5])
    """

    def __init__(self, padding: _size_6_t) -> None:
        super().__init__()
        self.padding = _sextuple(padding)


class _ReplicationPadNd(_PadNd):
    _mode = "replicate"


class ReplicationPad1d(_ReplicationPadNd):
    """Padding that repeats the edge: one number or (left, right).

    >>> import penlight as torch
    >>> torch.nn.ReplicationPad1d(1)(torch.arange(3.0).view(1, 1, 3))
    tensor([[[0., 0., 1., 2., 2.]]])
    """

    def __init__(self, padding: _size_2_t) -> None:
        super().__init__()
        self.padding = _pair(padding)


class ReplicationPad2d(_ReplicationPadNd):
    """Padding that repeats the edge: one number or (left, right, top, bottom).

    >>> import penlight as torch
    >>> torch.nn.ReplicationPad2d(1)(torch.zeros(1, 1, 3, 3)).shape
    torch.Size([1, 1, 5, 5])
    """

    def __init__(self, padding: _size_4_t) -> None:
        super().__init__()
        self.padding = _quadruple(padding)


class ReplicationPad3d(_ReplicationPadNd):
    """Padding that repeats the edge: one number or (left, right, top, bottom, front, back).

    >>> import penlight as torch
    >>> torch.nn.ReplicationPad3d(1)(torch.zeros(1, 1, 3, 3, 3)).shape
    torch.Size([1, 1, 5, 5, 5])
    """

    def __init__(self, padding: _size_6_t) -> None:
        super().__init__()
        self.padding = _sextuple(padding)


class _ConstantPadNd(Module):
    padding: tuple[int, ...]
    value: float

    def __init__(self, value: float) -> None:
        super().__init__()
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        """The padded input."""
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """Padding with a value: one number or (left, right).

    >>> import penlight as torch
    >>> torch.nn.ConstantPad1d(1, 3.5)(torch.zeros(1, 1)).shape
    torch.Size([1, 3])
    """

    def __init__(self, padding: _size_2_t, value: float) -> None:
        super().__init__(value)
        self.padding = _pair(padding)


class ConstantPad2d(_ConstantPadNd):
    """Padding with a value: one number or (left, right, top, bottom).

    >>> import penlight as torch
    >>> torch.nn.ConstantPad2d(1, 3.5)(torch.zeros(1, 1, 1)).shape
    torch.Size([1, 3, 3])
    """

    def __init__(self, padding: _size_4_t, value: float) -> None:
        super().__init__(value)
        self.padding = _quadruple(padding)


class ConstantPad3d(_ConstantPadNd):
    """Padding with a value: one number or (left, right, top, bottom, front, back).

    >>> import penlight as torch
    >>> torch.nn.ConstantPad3d(1, 3.5)(torch.zeros(1, 1, 1, 1)).shape
    torch.Size([1, 3, 3, 3])
    """

    def __init__(self, padding: _size_6_t, value: float) -> None:
        super().__init__(value)
        self.padding = _sextuple(padding)


class ZeroPad1d(ConstantPad1d):
    """Padding with zeros: one number or (left, right).

    >>> import penlight as torch
    >>> torch.nn.ZeroPad1d(1)(torch.ones(1, 1)).sum()
    tensor(1.)
    """

    def __init__(self, padding: _size_2_t) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad2d(ConstantPad2d):
    """Padding with zeros: one number or (left, right, top, bottom).

    >>> import penlight as torch
    >>> torch.nn.ZeroPad2d(1)(torch.ones(1, 1, 1)).sum()
    tensor(1.)
    """

    def __init__(self, padding: _size_4_t) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad3d(ConstantPad3d):
    """Padding with zeros: one number or (left, right, top, bottom, front, back).

    >>> import penlight as torch
    >>> torch.nn.ZeroPad3d(1)(torch.ones(1, 1, 1, 1)).sum()
    tensor(1.)
    """

    def __init__(self, padding: _size_6_t) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"
