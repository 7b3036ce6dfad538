"""Convolutions and transposed convolutions in one, two and three dimensions, and their lazy forms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import penlight
from penlight import Tensor
from penlight._common.docstrings import example
from penlight._common.module_table import names_of
from penlight.nn import functional as F
from penlight.nn.common_types import _size_any_t

from .lazy import LazySized, make_parameters, named_after, reset_by_fan_in, unless_default
from .module import Module
from .utils import _pair, _reverse_repeat_tuple, _single, _triple

__all__ = names_of(__name__)


class _ConvNd(Module):
    """The common base of all convolutions; sizes arrive here as tuples with an int for each dimension."""

    _function: ClassVar[Callable[..., Tensor]]
    _expand: ClassVar[Any]  # expands a size that is one int to a tuple
    padding: Any  # a tuple, "same" or "valid"
    weight: Tensor
    bias: Tensor | None

    def __init_subclass__(cls, function: Callable[..., Tensor] | None = None, expand: Any = None,
                          becomes: type | None = None, **declared: Any) -> None:  # fmt: skip
        super().__init_subclass__(**declared)
        if function is not None:
            cls._function, cls._expand = staticmethod(function), staticmethod(expand)
        if becomes is not None:
            cls.cls_to_become = becomes  # type: ignore[attr-defined]
        if function is not None or becomes is not None:
            cls.__init__ = named_after(cls.__name__, cls.__init__)  # type: ignore[method-assign]

    def __init__(self, in_channels: int, out_channels: int, kernel_size: tuple[int, ...], stride: tuple[int, ...],
                 padding: str | tuple[int, ...], dilation: tuple[int, ...], transposed: bool,
                 output_padding: tuple[int, ...], groups: int, bias: bool, padding_mode: str, device: Any = None,
                 dtype: Any = None) -> None:  # fmt: skip
        super().__init__()
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride, self.dilation = kernel_size, stride, dilation
        self.padding, self.padding_mode, self.output_padding = padding, padding_mode, output_padding
        self.transposed = transposed
        self._check_settings()
        self._reversed_padding_repeated_twice = self._explicit_padding()
        bias_shape = out_channels if bias else None
        make_parameters(self, device, dtype, weight=self._weight_shape(), bias=bias_shape)
        self.reset_parameters()

    def _expanded(self, settings: dict[str, Any]) -> dict[str, Any]:
        """The arguments of a class with a fixed number of dimensions, converted to those of this `__init__`."""
        named = {name: value for name, value in settings.items() if name not in ("self", "__class__")}
        named = {"transposed": "output_padding" in named, "output_padding": 0, **named}
        for name in ("kernel_size", "stride", "padding", "dilation", "output_padding"):
            if named["transposed"] or not isinstance(named[name], str):
                named[name] = type(self)._expand(named[name])
        return named

    def _check_settings(self) -> None:
        if self.groups <= 0:
            raise ValueError("groups must be a positive integer")
        for name in ("in_channels", "out_channels"):
            if getattr(self, name) % self.groups:
                raise ValueError(f"{name} must be divisible by groups")
        if isinstance(self.padding, str):
            words = {"same", "valid"}
            if self.padding not in words:
                raise ValueError(f"Invalid padding string {self.padding!r}, should be one of {words}")
            if self.padding == "same" and set(self.stride) != {1}:
                raise ValueError("padding='same' is not supported for strided convolutions")
        modes = {"zeros", "reflect", "replicate", "circular"}
        if self.padding_mode not in modes:
            raise ValueError(f"padding_mode must be one of {modes}, but got padding_mode='{self.padding_mode}'")

    def _explicit_padding(self) -> Any:
        """The padding in the form that `F.pad` takes: last dimension first, left and right."""
        if not isinstance(self.padding, str):
            return _reverse_repeat_tuple(self.padding, 2)
        sides = []
        for step, size in zip(reversed(self.dilation), reversed(self.kernel_size), strict=False):
            total = step * (size - 1) if self.padding == "same" else 0
            sides += [total // 2, total - total // 2]
        return sides

    def _weight_shape(self) -> tuple[int, ...]:
        if self.transposed:
            return (self.in_channels, self.out_channels // self.groups, *self.kernel_size)
        return (self.out_channels, self.in_channels // self.groups, *self.kernel_size)

    def reset_parameters(self) -> None:
        """Draws weight and bias uniformly from ±1/√fan_in."""
        if self.weight.is_contiguous():
            reset_by_fan_in(self.weight, self.bias)
            return
        # The random stream fills in logical order, whatever the memory layout.
        drawn = penlight.empty_like(self.weight, memory_format=penlight.contiguous_format)
        reset_by_fan_in(drawn, self.bias)
        with penlight.no_grad():
            self.weight.copy_(drawn)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        function, padding = type(self)._function, self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = 0
        return function(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        """The convolution of the input."""
        return self._conv_forward(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        shown = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        zeros, ones = (0,) * len(self.padding), (1,) * len(self.dilation)
        none = (0,) * len(self.output_padding)
        shown += unless_default(self, padding=zeros, dilation=ones, output_padding=none, groups=1)
        if self.bias is None:
            shown += ", bias=False"
        return shown + unless_default(self, padding_mode="zeros")

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({"padding_mode": "zeros", **state})


def _init_conv(self: Any, in_channels: int, out_channels: int, kernel_size: _size_any_t, stride: _size_any_t = 1,
               padding: str | _size_any_t = 0, dilation: _size_any_t = 1, groups: int = 1, bias: bool = True,
               padding_mode: str = "zeros", device: Any = None, dtype: Any = None) -> None:  # fmt: skip
    _ConvNd.__init__(self, **self._expanded(locals()))


class Conv1d(_ConvNd, function=F.conv1d, expand=_single,
             example=("(16, 33, 3, stride=2)(torch.randn(20, 16, 50)).shape", "torch.Size([20, 33, 24])")):  # fmt: skip
    """A 1-d convolution of (N, C, L) or (C, L).

    `padding` is an int, "same" or "valid"; `padding_mode` is how the margin is filled: "zeros",
    "reflect", "replicate" or "circular".
    """

    __init__ = _init_conv


@example("torch.nn.Conv2d(3, 8, (3, 5), padding=(1, 2))(torch.randn(2, 3, 10, 10)).shape", "torch.Size([2, 8, 10, 10])")
class Conv2d(_ConvNd, function=F.conv2d, expand=_pair):
    """A 2-d convolution of (N, C, H, W) or (C, H, W).

    Sizes are one int for both dimensions or a pair. `padding` may also be "same" or "valid"; `padding_mode` is how the margin is filled:
    "zeros", "reflect", "replicate" or "circular".
    """

    __init__ = _init_conv


class Conv3d(_ConvNd, function=F.conv3d, expand=_triple,
             example=("(1, 2, 3)(torch.randn(1, 1, 5, 6, 7)).shape", "torch.Size([1, 2, 3, 4, 5])")):  # fmt: skip
    """A 3-d convolution of (N, C, D, H, W) or (C, D, H, W)."""

    __init__ = _init_conv


class _ConvTransposeNd(_ConvNd):
    """A transposed convolution: the gradient of a convolution with respect to its input, as a layer."""

    def _check_settings(self) -> None:
        if self.padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super()._check_settings()

    def _output_padding(self, input: Tensor, output_size: Sequence[int] | None, stride: Sequence[int],
                        padding: Sequence[int], kernel_size: Sequence[int], num_spatial_dims: int,
                        dilation: Sequence[int] | None = None) -> Sequence[int]:  # fmt: skip
        """The padding to add at the end to reach `output_size`."""
        if output_size is None:
            return self.output_padding
        leading = 2 if input.dim() == num_spatial_dims + 2 else 1
        wanted = list(output_size)
        if len(wanted) == leading + num_spatial_dims:
            wanted = wanted[leading:]
        if len(wanted) != num_spatial_dims:
            raise ValueError(
                f"ConvTranspose{num_spatial_dims}D: for {input.dim()}D input, output_size must have "
                f"{num_spatial_dims} or {leading + num_spatial_dims} elements (got {len(wanted)})"
            )
        steps = dilation if dilation is not None else (1,) * num_spatial_dims
        smallest = [
            (input.size(d + leading) - 1) * stride[d] - 2 * padding[d] + steps[d] * (kernel_size[d] - 1) + 1
            for d in range(num_spatial_dims)
        ]
        largest = [size + stride[d] - 1 for d, size in enumerate(smallest)]
        if any(not low <= size <= high for low, size, high in zip(smallest, wanted, largest, strict=True)):
            shown = type(output_size)(wanted) if isinstance(output_size, (list, tuple)) else wanted
            raise ValueError(
                f"requested an output size of {shown}, but valid sizes range from {smallest} to {largest} "
                f"(for an input of {input.size()[2:]})"
            )
        return [size - low for size, low in zip(wanted, smallest, strict=True)]

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        """The transposed convolution of the input; `output_size` selects one of the sizes that a stride allows."""
        dims = len(self.kernel_size)
        output_padding = self._output_padding(
            input, output_size, self.stride, self.padding, self.kernel_size, dims, self.dilation
        )
        return type(self)._function(
            input, self.weight, self.bias, self.stride, self.padding, output_padding, self.groups, self.dilation
        )


def _init_transposed(self: Any, in_channels: int, out_channels: int, kernel_size: _size_any_t, stride: _size_any_t = 1,
                     padding: _size_any_t = 0, output_padding: _size_any_t = 0, groups: int = 1, bias: bool = True,
                     dilation: _size_any_t = 1, padding_mode: str = "zeros", device: Any = None,
                     dtype: Any = None) -> None:  # fmt: skip
    _ConvTransposeNd.__init__(self, **self._expanded(locals()))


class ConvTranspose1d(_ConvTransposeNd, function=F.conv_transpose1d, expand=_single,
        example=("(16, 33, 3, stride=2)(torch.randn(20, 16, 50)).shape", "torch.Size([20, 33, 101])")):  # fmt: skip
    """A transposed 1-d convolution: the gradient of `Conv1d` with respect to its input, as a layer."""

    __init__ = _init_transposed


class ConvTranspose2d(_ConvTransposeNd, function=F.conv_transpose2d, expand=_pair):
    """A transposed 2-d convolution: the gradient of `Conv2d` with respect to its input, as a layer.

    >>> up = torch.nn.ConvTranspose2d(16, 16, 3, stride=2, padding=1)
    >>> up(torch.randn(1, 16, 6, 6), output_size=[12, 12]).shape
    torch.Size([1, 16, 12, 12])
    """

    __init__ = _init_transposed


class ConvTranspose3d(_ConvTransposeNd, function=F.conv_transpose3d, expand=_triple,
        example=("(1, 2, 3)(torch.randn(1, 1, 3, 4, 5)).shape", "torch.Size([1, 2, 5, 6, 7])")):  # fmt: skip
    """A transposed 3-d convolution: the gradient of `Conv3d` with respect to its input, as a layer."""

    __init__ = _init_transposed


class _LazyConvXdMixin(LazySized):
    """The lazy part of a convolution: the first input determines the number of input channels."""

    _inferred = "in_channels"

    def _init_lazily(self: Any, settings: dict[str, Any]) -> None:
        """Runs the `__init__` of the convolution without sizes, and registers the names of the parameters."""
        names = ["weight", "bias"] if settings["bias"] else ["weight"]
        given = {name: value for name, value in settings.items() if name != "self"}
        super().__init__(**{**given, "in_channels": 0, "out_channels": 0, "bias": False})
        self._wait_for_shapes(settings["device"], settings["dtype"], *names)
        self.out_channels = settings["out_channels"]

    def initialize_parameters(self: Any, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Takes `in_channels` from the input."""
        if not self.has_uninitialized_params():
            return
        channels = self._get_in_channels(input)
        if channels % self.groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        self.in_channels = channels
        self._materialize(weight=self._weight_shape(), bias=(self.out_channels,))

    def _get_in_channels(self: Any, input: Tensor) -> int:
        unbatched = len(self.kernel_size) + 1
        if input.dim() not in (unbatched, unbatched + 1):
            raise RuntimeError(
                f"Expected {unbatched}D (unbatched) or {unbatched + 1}D (batched) input to {type(self).__name__}, "
                f"but got input of size: {input.shape}"
            )
        return input.shape[-unbatched]


def _init_lazy_conv(self: Any, out_channels: int, kernel_size: _size_any_t, stride: _size_any_t = 1,
                    padding: str | _size_any_t = 0, dilation: _size_any_t = 1, groups: int = 1, bias: bool = True,
                    padding_mode: str = "zeros", device: Any = None, dtype: Any = None) -> None:  # fmt: skip
    self._init_lazily(locals())


def _init_lazy_transposed(self: Any, out_channels: int, kernel_size: _size_any_t, stride: _size_any_t = 1,
                          padding: _size_any_t = 0, output_padding: _size_any_t = 0, groups: int = 1,
                          bias: bool = True, dilation: _size_any_t = 1, padding_mode: str = "zeros",
                          device: Any = None, dtype: Any = None) -> None:  # fmt: skip
    self._init_lazily(locals())


class LazyConv1d(_LazyConvXdMixin, Conv1d, becomes=Conv1d,
                 example=("(4, 3)(torch.randn(1, 2, 5)).shape", "torch.Size([1, 4, 3])")):  # fmt: skip
    """A `Conv1d` that infers `in_channels` from its first input."""

    __init__ = _init_lazy_conv


class LazyConv2d(_LazyConvXdMixin, Conv2d, becomes=Conv2d,
                 example=("(4, 3)(torch.randn(1, 2, 5, 5)).shape", "torch.Size([1, 4, 3, 3])")):  # fmt: skip
    """A `Conv2d` that infers `in_channels` from its first input."""

    __init__ = _init_lazy_conv


class LazyConv3d(_LazyConvXdMixin, Conv3d, becomes=Conv3d,
                 example=("(4, 3)(torch.randn(1, 2, 5, 5, 5)).shape", "torch.Size([1, 4, 3, 3, 3])")):  # fmt: skip
    """A `Conv3d` that infers `in_channels` from its first input."""

    __init__ = _init_lazy_conv


class LazyConvTranspose1d(_LazyConvXdMixin, ConvTranspose1d, becomes=ConvTranspose1d,
                          example=("(4, 3)(torch.randn(1, 2, 5)).shape", "torch.Size([1, 4, 7])")):  # fmt: skip
    """A `ConvTranspose1d` that infers `in_channels` from its first input."""

    __init__ = _init_lazy_transposed


class LazyConvTranspose2d(_LazyConvXdMixin, ConvTranspose2d, becomes=ConvTranspose2d,
                          example=("(4, 3)(torch.randn(1, 2, 5, 5)).shape", "torch.Size([1, 4, 7, 7])")):  # fmt: skip
    """A `ConvTranspose2d` that infers `in_channels` from its first input."""

    __init__ = _init_lazy_transposed


class LazyConvTranspose3d(_LazyConvXdMixin, ConvTranspose3d, becomes=ConvTranspose3d,
        example=("(4, 3)(torch.randn(1, 2, 5, 5, 5)).shape", "torch.Size([1, 4, 7, 7, 7])")):  # fmt: skip
    """A `ConvTranspose3d` that infers `in_channels` from its first input."""

    __init__ = _init_lazy_transposed
