"""Padding: with a constant, by reflection, by replication, around."""

from __future__ import annotations

from typing import Any, ClassVar

from penlight import Tensor
from penlight.nn import functional as F
from penlight.nn.common_types import _size_any_t

from ._options import Unary
from ._parameters import named_after
from .batchnorm import _expect_dims
from .utils import _ntuple

__all__ = [
    "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d",
    "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d",
    "ReplicationPad3d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d",
]  # fmt: skip


class _PadNd(Unary, shown="{self.padding}"):
    """Padding of the last `dims` dimensions, at two sides of each: one number for all sides, or one for each."""

    _dims: ClassVar[int]
    _mode: ClassVar[str]

    def __init_subclass__(cls, dims: int | None = None, **declared: Any) -> None:
        if dims is not None:  # a class of its own for users, so errors name its own `__init__`
            cls._dims, declared["shown"] = dims, cls._shown
            cls.__init__ = named_after(cls.__name__, cls.__init__.__wrapped__)  # type: ignore[attr-defined, method-assign]
        super().__init_subclass__(**declared)

    def __init__(self, padding: _size_any_t) -> None: ...

    def _set_options(self, options: dict[str, Any]) -> None:
        super()._set_options({**options, "padding": _ntuple(2 * self._dims)(options["padding"])})

    def forward(self, input: Tensor) -> Tensor:
        """The padded input."""
        return F.pad(input, self.padding, self._mode)


class _CircularPadNd(_PadNd):
    _mode = "circular"

    def _check_input_dim(self, input: Tensor) -> None:
        _expect_dims(input, self._dims + 1, self._dims + 2)

    def forward(self, input: Tensor) -> Tensor:
        """The padded input."""
        self._check_input_dim(input)
        return super().forward(input)


class CircularPad1d(_CircularPadNd, dims=1,
                    example=("(1)(torch.arange(3.0).view(1, 1, 3))", "tensor([[[2., 0., 1., 2., 0.]]])")):  # fmt: skip
    """Padding that goes on at the other end: one number or (left, right)."""


class CircularPad2d(_CircularPadNd, dims=2, example=("(1)(torch.zeros(1, 1, 3, 3)).shape", "torch.Size([1, 1, 5, 5])")):
    """Padding that goes on at the other end: one number or (left, right, top, bottom)."""


class CircularPad3d(_CircularPadNd, dims=3,
                    example=("(1)(torch.zeros(1, 1, 3, 3, 3)).shape", "torch.Size([1, 1, 5, 5, 5])")):  # fmt: skip
    """Padding that goes on at the other end: one number or (left, right, top, bottom, front, back)."""


class _ReflectionPadNd(_PadNd):
    _mode = "reflect"


class ReflectionPad1d(_ReflectionPadNd, dims=1,
        example=("(1)(torch.arange(3.0).view(1, 1, 3))", "tensor([[[1., 0., 1., 2., 1.]]])")):  # fmt: skip
    """Padding that mirrors the input at its edge: one number or (left, right)."""


class ReflectionPad2d(_ReflectionPadNd, dims=2,
                      example=("(1)(torch.zeros(1, 1, 3, 3)).shape", "torch.Size([1, 1, 5, 5])")):  # fmt: skip
    """Padding that mirrors the input at its edge: one number or (left, right, top, bottom)."""


class ReflectionPad3d(_ReflectionPadNd, dims=3,
                      example=("(1)(torch.zeros(1, 1, 3, 3, 3)).shape", "torch.Size([1, 1, 5, 5, 5])")):  # fmt: skip
    """Padding that mirrors the input at its edge: one number or (left, right, top, bottom, front, back)."""


class _ReplicationPadNd(_PadNd):
    _mode = "replicate"


class ReplicationPad1d(_ReplicationPadNd, dims=1,
        example=("(1)(torch.arange(3.0).view(1, 1, 3))", "tensor([[[0., 0., 1., 2., 2.]]])")):  # fmt: skip
    """Padding that repeats the edge: one number or (left, right)."""


class ReplicationPad2d(_ReplicationPadNd, dims=2,
                       example=("(1)(torch.zeros(1, 1, 3, 3)).shape", "torch.Size([1, 1, 5, 5])")):  # fmt: skip
    """Padding that repeats the edge: one number or (left, right, top, bottom)."""


class ReplicationPad3d(_ReplicationPadNd, dims=3,
                       example=("(1)(torch.zeros(1, 1, 3, 3, 3)).shape", "torch.Size([1, 1, 5, 5, 5])")):  # fmt: skip
    """Padding that repeats the edge: one number or (left, right, top, bottom, front, back)."""


class _ConstantPadNd(_PadNd, shown="padding={self.padding}, value={self.value}"):
    def __init__(self, padding: _size_any_t, value: float) -> None: ...

    def forward(self, input: Tensor) -> Tensor:
        """The padded input."""
        return F.pad(input, self.padding, "constant", self.value)


class ConstantPad1d(_ConstantPadNd, dims=1, example=("(1, 3.5)(torch.zeros(1, 1)).shape", "torch.Size([1, 3])")):
    """Padding with a value: one number or (left, right)."""


class ConstantPad2d(_ConstantPadNd, dims=2, example=("(1, 3.5)(torch.zeros(1, 1, 1)).shape", "torch.Size([1, 3, 3])")):
    """Padding with a value: one number or (left, right, top, bottom)."""


class ConstantPad3d(_ConstantPadNd, dims=3,
                    example=("(1, 3.5)(torch.zeros(1, 1, 1, 1)).shape", "torch.Size([1, 3, 3, 3])")):  # fmt: skip
    """Padding with a value: one number or (left, right, top, bottom, front, back)."""


class ZeroPad1d(ConstantPad1d, example=("(1)(torch.ones(1, 1)).sum()", "tensor(1.)")):
    """Padding with zeros: one number or (left, right)."""

    _shown = "{self.padding}"

    def __init__(self, padding: _size_any_t) -> None:
        super().__init__(padding, 0.0)


class ZeroPad2d(ConstantPad2d, example=("(1)(torch.ones(1, 1, 1)).sum()", "tensor(1.)")):
    """Padding with zeros: one number or (left, right, top, bottom)."""

    _shown = "{self.padding}"

    def __init__(self, padding: _size_any_t) -> None:
        super().__init__(padding, 0.0)


class ZeroPad3d(ConstantPad3d, example=("(1)(torch.ones(1, 1, 1, 1)).sum()", "tensor(1.)")):
    """Padding with zeros: one number or (left, right, top, bottom, front, back)."""

    _shown = "{self.padding}"

    def __init__(self, padding: _size_any_t) -> None:
        super().__init__(padding, 0.0)
