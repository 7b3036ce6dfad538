"""Pooling over as many windows as asked for, part of `pooling`; and what all pooling modules are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from penlight import Tensor
from penlight.nn import functional as F
from penlight.nn.common_types import _size_any_opt_t

from .module import Module

_HOME = "penlight.nn.modules.pooling"  # where PyTorch has these classes, and so what pickles name


class _Pool(Module):
    """A module around one pooling function."""

    __module__ = _HOME

    _operation: ClassVar[Callable[..., Any]]


class _AdaptiveMaxPoolNd(_Pool):
    __module__ = _HOME
    output_size: Any
    return_indices: bool

    def __init__(self, output_size: _size_any_opt_t, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Any:
        """The maximum of each window, with its position if `return_indices`."""
        return type(self)._operation(input, self.output_size, self.return_indices)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """The maxima of as many windows as asked for, in one dimension.

    >>> import penlight as torch
    >>> torch.nn.AdaptiveMaxPool1d(2)(torch.tensor([[1.0, 5.0, 2.0, 3.0]]))
    tensor([[5., 3.]])
    """

    __module__ = _HOME

    _operation = staticmethod(F.adaptive_max_pool1d)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """The maxima of as many windows as asked for, in two dimensions; None keeps a size.

    >>> import penlight as torch
    >>> torch.nn.AdaptiveMaxPool2d((None, 7))(torch.randn(1, 64, 10, 9)).shape
    torch.Size([1, 64, 10, 7])
    """

    __module__ = _HOME

    _operation = staticmethod(F.adaptive_max_pool2d)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """The maxima of as many windows as asked for, in three dimensions.

    >>> import penlight as torch
    >>> torch.nn.AdaptiveMaxPool3d(2)(torch.randn(1, 1, 4, 5, 6)).shape
    torch.Size([1, 1, 2, 2, 2])
    """

    __module__ = _HOME

    _operation = staticmethod(F.adaptive_max_pool3d)


class _AdaptiveAvgPoolNd(_Pool):
    __module__ = _HOME
    output_size: Any

    def __init__(self, output_size: _size_any_opt_t) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        """The average of each window."""
        return type(self)._operation(input, self.output_size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """The averages of as many windows as asked for, in one dimension.

    >>> import penlight as torch
    >>> torch.nn.AdaptiveAvgPool1d(2)(torch.tensor([[1.0, 5.0, 2.0, 4.0]]))
    tensor([[3., 3.]])
    """

    __module__ = _HOME

    _operation = staticmethod(F.adaptive_avg_pool1d)


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """The averages of as many windows as asked for, in two dimensions; None keeps a size.

    >>> import penlight as torch
    >>> torch.nn.AdaptiveAvgPool2d((5, 7))(torch.randn(1, 64, 8, 9)).shape
    torch.Size([1, 64, 5, 7])
    """

    __module__ = _HOME

    _operation = staticmethod(F.adaptive_avg_pool2d)


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """The averages of as many windows as asked for, in three dimensions.

    >>> import penlight as torch
    >>> torch.nn.AdaptiveAvgPool3d(2)(torch.randn(1, 1, 4, 5, 6)).shape
    torch.Size([1, 1, 2, 2, 2])
    """

    __module__ = _HOME

    _operation = staticmethod(F.adaptive_avg_pool3d)
