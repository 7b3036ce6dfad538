"""Images resized, sampled at the places of a grid, and channels traded for pixels."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .. import dtypes
from ..kernels import grid_sample as grid_kernels
from ..kernels import resample as kernels
from ..tensor import Tensor
from ._declare import OPS, differentiable, linear
from ._guards import no_derivative, not_implemented
from ._raw import both

__all__ = [
    "affine_grid",
    "affine_grid_generator",
    "grid_sample",
    "grid_sampler",
    "interpolate",
    "upsample",
    "upsample_bilinear",
    "upsample_nearest",
]

Ints = tuple[int, ...]

# ----- Resizing -----------------------------------------------------------------------------------------------------

_NODES = {
    ("nearest", 1): "UpsampleNearest1D", ("nearest", 2): "UpsampleNearest2D", ("nearest", 3): "UpsampleNearest3D",
    ("nearest-exact", 1): "UpsampleNearestExact1D", ("nearest-exact", 2): "UpsampleNearestExact2D",
    ("nearest-exact", 3): "UpsampleNearestExact3D", ("linear", 1): "UpsampleLinear1D", ("bilinear", 2): "UpsampleBilinear2D",
    ("trilinear", 3): "UpsampleTrilinear3D", ("bicubic", 2): "UpsampleBicubic2D",
}  # fmt: skip


def _resize_array(input: Any, output_size: Ints, mode: str, align_corners: bool, scales: Any, antialias: bool) -> Any:
    if input.dtype.kind in "iu":
        return _resize_bytes(input, output_size, mode, align_corners, scales, antialias)
    return kernels.interpolate(input, output_size, mode, align_corners, scales, antialias)


def _resize_bytes(input: Any, output_size: Ints, mode: str, align_corners: bool, scales: Any, antialias: bool) -> Any:
    if mode.startswith("nearest"):
        return kernels.interpolate(input, output_size, mode, align_corners, scales, antialias)
    wide = kernels.interpolate(input.astype(np.float32), output_size, mode, align_corners, scales, antialias)
    return np.floor(wide + 0.5).clip(0, 255).astype(input.dtype)


def _back_rule(
    grad: Any, output_size: Ints, mode: str, align_corners: bool, scales: Any, antialias: bool, xp: Any
) -> Any:
    return xp.resize(grad, output_size, mode, align_corners, scales, antialias)


def _back_array(
    input: Any, shape: Ints, output_size: Ints, mode: str, align_corners: bool, scales: Any, antialias: bool
) -> Any:
    return kernels.interpolate_backward(input, shape, mode, align_corners, scales, antialias)


@linear(_back_array, input=_back_rule)
def _resize_backward(
    input: Tensor, shape: Ints, output_size: Ints, mode: str, align_corners: bool, scales: Any, antialias: bool
) -> Tensor: ...


def _rule(
    grad: Any,
    input_shape: Ints,
    output_size: Ints,
    mode: str,
    align_corners: bool,
    scales: Any,
    antialias: bool,
    xp: Any,
) -> Any:
    return xp._resize_backward(grad, input_shape, output_size, mode, align_corners, scales, antialias)


def _op_name(mode: str, dims: int, antialias: bool) -> str:
    return f"_resize_{mode.replace('-', '_')}{dims}d{'_aa' if antialias else ''}"


def _declare(mode: str, dims: int, node: str, antialias: bool) -> None:
    """The op of a mode; PyTorch has one for each."""

    def face(
        input: Tensor, output_size: Ints, mode: str, align_corners: bool, scales: Any, antialias: bool
    ) -> Tensor: ...

    face.__name__ = _op_name(mode, dims, antialias)
    linear(_resize_array, node=node + ("AaBackward0" if antialias else "Backward0"), input=_rule)(face)


for (_mode, _dims), _node in _NODES.items():
    _declare(_mode, _dims, _node, False)
    if _mode in ("bilinear", "bicubic"):
        _declare(_mode, _dims, _node, True)


def _resize(input: Tensor, output_size: Ints, mode: str, align_corners: bool, scales: Any, antialias: bool) -> Tensor:
    op = OPS[_op_name(mode, input.dim() - 2, antialias)].function
    return op(input, output_size, mode, align_corners, scales, antialias)


both("resize", kernels.interpolate, _resize)


def _sizes(input: Tensor, size: Any, scale_factor: Any) -> tuple[Ints | None, Any]:
    """Either the wanted size or the factors, one for each spatial dimension."""
    dims, spatial = input.dim() - 2, list(input.shape[2:])
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is not None:
        if not isinstance(size, (list, tuple)):
            return (size,) * dims, None
        if len(size) != dims:
            raise ValueError(
                "Input and output must have the same number of spatial dimensions, but got input with spatial dimensions of "
                f"{spatial} and output size of {size}. Please provide input tensor in (N, C, d1, d2, ...,dK) format and output "
                "size in (o1, o2, ...,oK) format."
            )
        if any(isinstance(n, float) or not hasattr(n, "__index__") for n in size):
            raise TypeError(
                "expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, int], but got size with types "
                f"{[type(n) for n in size]}"
            )
        return tuple(n.__index__() for n in size), None
    if scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    if not isinstance(scale_factor, (list, tuple)):
        return None, (scale_factor,) * dims
    if len(scale_factor) != dims:
        raise ValueError(
            "Input and scale_factor must have the same number of spatial dimensions, but got input with spatial dimensions of "
            f"{spatial} and scale_factor of shape {scale_factor}. Please provide input tensor in (N, C, d1, d2, ...,dK) format "
            "and scale_factor in (s1, s2, ...,sK) format."
        )
    return None, tuple(scale_factor)


def _check_resize(input: Tensor, size: Ints, mode: str, dims: int) -> None:
    shape, sides = list(input.shape), "DHW"[-dims:]
    if min(size) <= 0 or 0 in shape[2:]:
        was, now = (", ".join(f"{s}: {n}" for s, n in zip(sides, v)) for v in (shape[2:], size))
        joined = " and output" if dims == 1 else " output"
        raise RuntimeError(f"Input and output sizes should be greater than 0, but got input ({was}){joined} ({now})")
    if 0 in shape[1:]:
        raise RuntimeError(f"Non-empty {dims + 2}D data tensor expected but got a tensor with sizes {shape}")
    if input.dtype.category != dtypes.FLOATING and (input.dtype is not dtypes.uint8 or dims == 1):
        name = f"upsample_{mode.replace('-', '_')}{dims}d" + ("_channels_last" if dims > 1 else "")
        raise not_implemented(name, input._array.dtype)


def interpolate(input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None,
                recompute_scale_factor: bool | None = None, antialias: bool = False) -> Tensor:  # fmt: skip
    """Images (N, C, *spatial) resized: to a size or by factors; by nearest pixels, lines, cubics or means.

    >>> import penlight as torch
    >>> torch.nn.functional.interpolate(torch.tensor([[[1.0, 2.0]]]), scale_factor=2, mode="linear")
    tensor([[[1.0000, 1.2500, 1.7500, 2.0000]]])
    """
    if mode in ("nearest", "area", "nearest-exact") and align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
        )
    dims = input.dim() - 2
    wanted, factors = _sizes(input, size, scale_factor)
    if recompute_scale_factor and size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    found = wanted if factors is None else tuple(int(n * f) for n, f in zip(input.shape[2:], factors))
    assert found is not None
    if recompute_scale_factor:
        factors = None
    if antialias and not (mode in ("bilinear", "bicubic", "lanczos") and input.dim() == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input"
        )
    if mode == "area" and dims in (1, 2, 3):
        from . import adaptive_pool

        return getattr(adaptive_pool, f"adaptive_avg_pool{dims}d")(input, found)
    if (mode, dims) not in _NODES:
        _refuse_mode(mode, dims, align_corners, antialias)
    _check_resize(input, found, mode, dims)
    return _resize(input, found, mode, bool(align_corners), factors, antialias)


def _refuse_mode(mode: str, dims: int, align_corners: Any, antialias: bool) -> None:
    needs = {"linear": 1, "bilinear": 2, "trilinear": 3}.get(mode)
    if needs is not None and dims in (1, 2, 3):
        raise NotImplementedError(f"Got {dims + 2}D input, but {mode} mode needs {needs + 2}D input")
    if mode == "lanczos" and dims == 2:
        if align_corners:
            raise ValueError("Lanczos mode does not support align_corners=True")
        if not antialias:
            raise ValueError("Lanczos mode requires antialias=True")
        raise NotImplementedError("interpolate(mode='lanczos'): use mode='bicubic' with antialias=True instead")
    raise NotImplementedError(
        f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {dims + 2}D) for the modes: nearest | linear | bilinear | "
        f"bicubic | trilinear | lanczos | area | nearest-exact (got {mode})"
    )


def upsample(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
) -> Tensor:
    """The old name of `interpolate`."""
    warnings.warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2)
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """The old name of `interpolate(mode="nearest")`."""
    warnings.warn(
        "`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2
    )
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """The old name of `interpolate(mode="bilinear", align_corners=True)`."""
    warnings.warn(
        "`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2
    )
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


# ----- Sampling by a grid -------------------------------------------------------------------------------------------

GRID_MODES = ("bilinear", "nearest", "bicubic")
GRID_PADDINGS = ("zeros", "border", "reflection")


def _sample_array(input: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Any:
    return grid_kernels.grid_sample(
        input, grid, GRID_MODES[interpolation_mode], GRID_PADDINGS[padding_mode], align_corners
    )


def _image_grad_array(
    upstream: Any, grid: Any, shape: Ints, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Any:
    mode, padding = GRID_MODES[interpolation_mode], GRID_PADDINGS[padding_mode]
    return grid_kernels.grid_sample_input_grad(upstream, grid, shape, mode, padding, align_corners)


def _grid_grad_array(
    upstream: Any, input: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Any:
    mode, padding = GRID_MODES[interpolation_mode], GRID_PADDINGS[padding_mode]
    return grid_kernels.grid_sample_grid_grad(upstream, input, grid, mode, padding, align_corners)


# The gradient for the image is as differentiable as sampling; that for the grid is not, as in PyTorch.
@differentiable(_image_grad_array,
                upstream=lambda grad, grid, interpolation_mode, padding_mode, align_corners, xp:
                    xp.grid_sample_again(grad, grid, interpolation_mode, padding_mode, align_corners),
                grid=lambda grad, upstream, grid, interpolation_mode, padding_mode, align_corners, xp:
                    xp._grid_sampler_grid(upstream, grad, grid, interpolation_mode, padding_mode, align_corners))  # fmt: skip
def _grid_sampler_image(
    upstream: Tensor, grid: Tensor, shape: Ints, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor: ...


@differentiable(_grid_grad_array, upstream=no_derivative("grid_sampler_2d_backward"), input=no_derivative("grid_sampler_2d_backward"),
                grid=no_derivative("grid_sampler_2d_backward"))  # fmt: skip
def _grid_sampler_grid(
    upstream: Tensor, input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor: ...


def _image_rule(
    grad: Any, grid: Any, input_shape: Ints, interpolation_mode: int, padding_mode: int, align_corners: bool, xp: Any
) -> Any:
    return xp._grid_sampler_image(grad, grid, input_shape, interpolation_mode, padding_mode, align_corners)


def _grid_rule(
    grad: Any, input: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool, xp: Any
) -> Any:
    return xp._grid_sampler_grid(grad, input, grid, interpolation_mode, padding_mode, align_corners)


@differentiable(_sample_array, node="GridSampler2DBackward0", input=_image_rule, grid=_grid_rule)
def _grid_sampler2d(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor: ...


@differentiable(_sample_array, node="GridSampler3DBackward0", input=_image_rule, grid=_grid_rule)
def _grid_sampler3d(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor: ...


def _sample(input: Tensor, grid: Tensor, *modes: Any) -> Tensor:
    return (_grid_sampler2d if input.dim() == 4 else _grid_sampler3d)(input, grid, *modes)


both("grid_sample_again", _sample_array, _sample)


def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """`grid_sample` by the numbers of its modes."""
    shape, places = list(input.shape), list(grid.shape)
    if shape[:1] != places[:1]:
        raise RuntimeError(
            f"grid_sampler(): expected grid and input to have same batch size, but got input with sizes {shape} and grid with sizes "
            f"{places}"
        )
    if len(places) != len(shape):
        raise RuntimeError(
            f"grid_sampler(): expected {len(shape)}D input and grid with same number of dimensions, but got input with sizes {shape} "
            f"and grid with sizes {places}"
        )
    if places[-1] != len(shape) - 2:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {len(shape) - 2} in last dimension, but got grid with sizes {places}"
        )
    for d in range(2, len(shape)):
        if shape[d] == 0:
            raise RuntimeError(
                f"grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes {shape} with dimension "
                f"{d} being empty"
            )
    if len(shape) not in (4, 5):
        raise RuntimeError(
            f"grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but got input with sizes {shape}"
        )
    if len(shape) == 5 and interpolation_mode == 2:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    if input.dtype is not grid.dtype:
        kinds = dtypes.LEGACY[input.dtype], dtypes.LEGACY[grid.dtype]
        raise RuntimeError(f"expected scalar type {kinds[0]} but found {kinds[1]}")
    if input.dtype.category != dtypes.FLOATING:
        raise not_implemented(f"grid_sampler_{len(shape) - 2}d_cpu_kernel_impl", input._array.dtype)
    return _sample(input, grid, interpolation_mode, padding_mode, align_corners)


_CHANGED = (
    "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify "
    "align_corners=True if the old behavior is desired. See the documentation of grid_sample for details."
)


def grid_sample(
    input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Tensor:
    """Images sampled at the places that a grid names, by coordinates from -1 to 1.

    >>> import penlight as torch
    >>> image = torch.tensor([[[[1.0, 3.0]]]])
    >>> torch.nn.functional.grid_sample(image, torch.zeros(1, 1, 1, 2), align_corners=False)
    tensor([[[[2.]]]])
    """
    if mode not in GRID_MODES:
        raise ValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'"
        )
    if padding_mode not in GRID_PADDINGS:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: "
            f"'{padding_mode}'"
        )
    if align_corners is None:
        warnings.warn(_CHANGED, stacklevel=2)
        align_corners = False
    return grid_sampler(input, grid, GRID_MODES.index(mode), GRID_PADDINGS.index(padding_mode), align_corners)


def _affine_array(theta: Any, size: Ints, align_corners: bool) -> Any:
    base = grid_kernels.affine_grid_base(size[2:], align_corners, theta.dtype)
    return np.matmul(base.reshape(-1, base.shape[-1]), np.swapaxes(theta, 1, 2)).reshape(
        len(theta), *size[2:], theta.shape[1]
    )


def _affine_rule(grad: Any, size: Ints, align_corners: bool, xp: Any) -> Any:
    base = grid_kernels.affine_grid_base(size[2:], align_corners, xp.np_dtype(grad))
    flat = xp.reshape(grad, (grad.shape[0], base.size // base.shape[-1], grad.shape[-1]))
    return xp._transpose(flat, 1, 2) @ xp.constant(base.reshape(-1, base.shape[-1]))


@linear(_affine_array, node="AffineGridGeneratorBackward0", theta=_affine_rule)
def _affine_grid(theta: Tensor, size: Ints, align_corners: bool) -> Tensor: ...


def affine_grid_generator(theta: Tensor, size: Any, align_corners: bool) -> Tensor:
    """`affine_grid` without its checks."""
    shape = tuple(size)
    if theta.shape[0] != shape[0]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{shape[0]}, {len(shape) - 1}] but got: "
            f"[{theta.shape[0]}, {theta.shape[2]}]."
        )
    return _affine_grid(theta, shape, align_corners)


def affine_grid(theta: Tensor, size: Any, align_corners: bool | None = None) -> Tensor:
    """The grid for `grid_sample` that maps a result of a size through affine maps (N, dims, dims + 1).

    >>> import penlight as torch
    >>> same = torch.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    >>> torch.nn.functional.affine_grid(same, (1, 1, 1, 2), align_corners=False)
    tensor([[[[-0.5000,  0.0000],
              [ 0.5000,  0.0000]]]])
    """
    if align_corners is None:
        warnings.warn(_CHANGED, stacklevel=2)
        align_corners = False
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    if len(size) not in (4, 5):
        raise NotImplementedError(
            f"affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size {size}."
        )
    dims = len(size) - 2
    if theta.dim() != 3 or tuple(theta.shape[-2:]) != (dims, dims + 1):
        raise ValueError(
            f"Expected a batch of {dims}D affine matrices of shape Nx{dims}x{dims + 1} for size {size}. Got {theta.shape}."
        )
    if align_corners and min(size[2:]) == 1:
        warnings.warn(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when align_corners=True. This is not an "
            "intended use case of affine_grid. See the documentation of affine_grid for details.",
            stacklevel=2,
        )
    elif min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    return affine_grid_generator(theta, size, align_corners)
