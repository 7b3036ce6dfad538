"""Sampling of images at the points of a grid, and grids of affine maps.

# Note [Differentiating a grid's gradient]
The gradient for the image is the transpose of sampling, so it is equally differentiable. The gradient for the grid contains the derivatives
of the weights. Its own derivatives come from sampling written with differentiable ops (`_sampled`), of which it is the gradient: a weight
is a polynomial of the coordinate, so it equals its Taylor series around the coordinate's value.
"""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

import numpy as np

from ... import dtypes
from ..._common.user_warnings import warn_user
from ...autograd import grad as gradient
from ...autograd.grad_mode import enable_grad
from ...autograd.modes import is_grad_enabled
from ...kernels import grid_sample as kernels
from ...kernels.numpy_warnings import silent
from ...tensor import Tensor, wrap
from ..machinery.array_namespace import both
from ..machinery.declare import OPS, differentiable, linear
from ..machinery.guards import need_one_dtype, not_implemented
from ..machinery.op import traits
from ..machinery.rules import saved_as_input
from ..shape.views import _alias

__all__ = ["affine_grid", "affine_grid_generator", "grid_sample", "grid_sampler"]

Ints = tuple[int, ...]

GRID_MODES = ("bilinear", "nearest", "bicubic")
GRID_PADDINGS = ("zeros", "border", "reflection")


def _sample_array(input: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Any:
    return kernels.grid_sample(input, grid, GRID_MODES[interpolation_mode], GRID_PADDINGS[padding_mode], align_corners)


def _image_grad_array(
    upstream: Any, grid: Any, shape: Ints, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Any:
    mode, padding = GRID_MODES[interpolation_mode], GRID_PADDINGS[padding_mode]
    return kernels.grid_sample_input_grad(upstream, grid, shape, mode, padding, align_corners)


def _grid_grad_array(
    upstream: Any, input: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Any:
    mode, padding = GRID_MODES[interpolation_mode], GRID_PADDINGS[padding_mode]
    return kernels.grid_sample_grid_grad(upstream, input, grid, mode, padding, align_corners)


@differentiable(_image_grad_array,
                upstream=lambda grad, grid, interpolation_mode, padding_mode, align_corners, xp:
                    xp.grid_sample_again(grad, grid, interpolation_mode, padding_mode, align_corners),
                grid=lambda grad, upstream, grid, interpolation_mode, padding_mode, align_corners, xp:
                    xp._grid_sampler_grid(upstream, grad, grid, interpolation_mode, padding_mode, align_corners))  # fmt: skip
def _grid_sampler_image(
    upstream: Tensor, grid: Tensor, shape: Ints, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor: ...


def _bends(sampler: Any, dim: int, at: Any) -> list[tuple[Any, Any]]:
    """The second and third derivatives of each tap's weight by the coordinate; none for linear weights."""
    if sampler.mode != "bicubic":
        return []
    size = sampler.sizes[dim]
    scale = (size - 1) / 2 if sampler.align_corners else size / 2
    at = (at + 1) * scale if sampler.align_corners else ((at + 1) * size - 1) / 2
    part, a = at - np.floor(at), -0.75
    second = (
        6 * a * (part + 1) - 10 * a, 6 * (a + 2) * part - 2 * (a + 3), 6 * (a + 2) * (1 - part) - 2 * (a + 3), 6 * a * (2 - part) - 10 * a,
    )  # fmt: skip
    third = (6 * a, 6 * (a + 2), -6 * (a + 2), -6 * a)
    return [(s * scale**2, np.full_like(part, t * scale**3)) for s, t in zip(second, third)]


def _tap_weights(sampler: Any, dim: int, at: Any, move: Tensor) -> list[tuple[Any, Tensor]]:
    """Indices along a dimension, and weights as functions of the coordinate. See Note [Differentiating a grid's gradient]."""
    bends = _bends(sampler, dim, at)
    found = []
    for tap, (index, weight, slope, inside) in enumerate(sampler._taps(at, sampler.sizes[dim])):
        series = wrap(weight) + wrap(np.broadcast_to(slope, weight.shape)) * move
        if bends:
            second, third = (b if inside is None else np.where(inside, b, 0) for b in bends[tap])
            series = series + move * move * (wrap(second) / 2 + wrap(third) / 6 * move)
        found.append((index, series))
    return found


def _sampled(input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Tensor:
    """`grid_sample` as a composition of differentiable ops. Coordinates of 16 bits are too coarse to compute with."""
    if grid.dtype.itemsize == 2:
        return _sampled(input.float(), grid.float(), interpolation_mode, padding_mode, align_corners).to(input.dtype)
    shape, count = tuple(input.shape), grid.shape[0]
    sampler = kernels._Sampler(
        grid._array, shape, GRID_MODES[interpolation_mode], GRID_PADDINGS[padding_mode], align_corners, slopes=True
    )
    points = grid.reshape(count, sampler.points, grid.shape[-1])
    moves = points - points.detach()
    flat = input.reshape(count, shape[1], sampler.size)
    dims = len(sampler.sizes)
    taps = []
    with silent():
        for dim in range(dims):
            at = np.ascontiguousarray(sampler.grid[:, :, dims - 1 - dim])
            step = prod(sampler.sizes[dim + 1 :])
            taps.append([(i * step, w) for i, w in _tap_weights(sampler, dim, at, moves[:, :, dims - 1 - dim])])
    total: Any = None
    for corner in product(*taps):
        index, weight = corner[0]
        for more, other in corner[1:]:
            index, weight = index + more, weight * other
        where = np.broadcast_to(index[:, None].astype(np.int64), (count, shape[1], sampler.points))
        part = flat.gather(2, wrap(np.ascontiguousarray(where))) * weight.unsqueeze(1)
        total = part if total is None else total + part
    return total.reshape(count, shape[1], *grid.shape[1:-1])


def _grid_grad_rule(position: int) -> Any:
    """The derivative of the grid's gradient by its upstream (0), its image (1) or its grid (2)."""

    def rule(
        grad: Any, upstream: Any, input: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool, xp: Any,
    ) -> Any:  # fmt: skip
        values = (upstream, input, grid)
        if interpolation_mode == 1:
            return xp.zeros_like(values[position])
        raw = not hasattr(grad, "_array")
        again = not raw and is_grad_enabled()
        with enable_grad():
            leaves = [wrap(np.asarray(v))._require_grad_() if raw else _alias(v) for v in values]
            for needed in {2, position}:
                if not leaves[needed].requires_grad:
                    leaves[needed] = leaves[needed].detach()._require_grad_()
            out = _sampled(leaves[1], leaves[2], interpolation_mode, padding_mode, align_corners)
            (slopes,) = gradient(out, leaves[2], leaves[0], create_graph=True)
            upon = wrap(np.asarray(grad)) if raw else grad
            (found,) = gradient(slopes, leaves[position], upon, create_graph=again, allow_unused=True)
        if found is None:
            return xp.zeros_like(values[position])
        return found._array if raw else found

    return rule


@differentiable(_grid_grad_array, upstream=_grid_grad_rule(0), input=_grid_grad_rule(1), grid=_grid_grad_rule(2))
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
@traits(backward="grad input grid")
def _grid_sampler2d(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor: ...


@differentiable(_sample_array, node="GridSampler3DBackward0", input=_image_rule, grid=_grid_rule)
@traits(backward="grad input grid")
def _grid_sampler3d(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor: ...


saved_as_input(OPS["_grid_sampler2d"], OPS["_grid_sampler3d"])


def _sample(input: Tensor, grid: Tensor, *modes: Any) -> Tensor:
    return (_grid_sampler2d if input.dim() == 4 else _grid_sampler3d)(input, grid, *modes)


both("grid_sample_again", _sample_array, _sample)


def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """`grid_sample` with its modes given as numbers.

    `interpolation_mode` is 0 bilinear, 1 nearest, 2 bicubic; `padding_mode` is 0 zeros, 1 border, 2 reflection.

    >>> torch.grid_sampler(torch.tensor([[[[1.0, 2.0], [3.0, 4.0]]]]), torch.zeros(1, 1, 1, 2), 0, 0, False)
    tensor([[[[2.5000]]]])
    """
    shape, points = input._array.shape, grid._array.shape
    kind = input._array.dtype
    fits = len(shape) == len(points) == 4 and shape[0] == points[0] and points[3] == 2 and shape[2] and shape[3]
    plain = kind.char in "fd" and kind is grid._array.dtype and input._level is None is grid._level
    if not fits or not plain:
        _check_grid(input, grid, interpolation_mode)
    return _sample(input, grid, interpolation_mode, padding_mode, align_corners)


def _check_grid(input: Tensor, grid: Tensor, interpolation_mode: int) -> None:
    """Refuse inputs that cannot be sampled."""
    shape, points = list(input.shape), list(grid.shape)
    if shape[:1] != points[:1]:
        raise RuntimeError(
            f"grid_sampler(): expected grid and input to have same batch size, but got input with sizes {shape} and grid with sizes "
            f"{points}"
        )
    if len(points) != len(shape):
        raise RuntimeError(
            f"grid_sampler(): expected {len(shape)}D input and grid with same number of dimensions, but got input with sizes {shape} "
            f"and grid with sizes {points}"
        )
    if points[-1] != len(shape) - 2:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {len(shape) - 2} in last dimension, but got grid with sizes {points}"
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
    need_one_dtype(input, grid)
    if input.dtype.category != dtypes.FLOATING:
        raise not_implemented(
            "grid_sampler_2d_cpu_kernel_impl" if len(shape) == 4 else "grid_sampler3d_cpu", input._array.dtype
        )


_CHANGED = (
    "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify "
    "align_corners=True if the old behavior is desired. See the documentation of grid_sample for details."
)


def grid_sample(
    input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Tensor:
    """Images sampled at the points of a grid, with coordinates from -1 to 1.

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
        warn_user(_CHANGED)
        align_corners = False
    return grid_sampler(input, grid, GRID_MODES.index(mode), GRID_PADDINGS.index(padding_mode), align_corners)


def _affine_array(theta: Any, size: Ints, align_corners: bool) -> Any:
    base = kernels.affine_grid_base(size[2:], align_corners, theta.dtype)
    made = np.matmul(base.reshape(-1, base.shape[-1]), np.swapaxes(theta, 1, 2))  # bfloat16 gives float32
    return made.astype(theta.dtype, copy=False).reshape(len(theta), *size[2:], theta.shape[1])


def _affine_rule(grad: Any, size: Ints, align_corners: bool, xp: Any) -> Any:
    base = kernels.affine_grid_base(size[2:], align_corners, xp.np_dtype(grad))
    flat = xp.reshape(grad, (grad.shape[0], base.size // base.shape[-1], grad.shape[-1]))
    return xp._transpose(xp.constant(base.reshape(-1, base.shape[-1]).T) @ flat, 1, 2)


@linear(_affine_array, node="AffineGridGeneratorBackward0", theta=_affine_rule)
def _affine_grid(theta: Tensor, size: Ints, align_corners: bool) -> Tensor: ...


def affine_grid_generator(theta: Tensor, size: Any, align_corners: bool) -> Tensor:
    """`affine_grid` without its checks.

    >>> torch.affine_grid_generator(torch.eye(2, 3).unsqueeze(0), (1, 1, 1, 2), False)
    tensor([[[[-0.5000,  0.0000],
              [ 0.5000,  0.0000]]]])
    """
    shape = tuple(size)
    if theta.shape[0] != shape[0]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{shape[0]}, {len(shape) - 1}] but got: "
            f"[{theta.shape[0]}, {theta.shape[2]}]."
        )
    return _affine_grid(theta, shape, align_corners)


def affine_grid(theta: Tensor, size: Any, align_corners: bool | None = None) -> Tensor:
    """The grid for `grid_sample` that applies affine maps (N, dims, dims + 1) to an output of a given size.

    >>> same = torch.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    >>> torch.nn.functional.affine_grid(same, (1, 1, 1, 2), align_corners=False)
    tensor([[[[-0.5000,  0.0000],
              [ 0.5000,  0.0000]]]])
    """
    if align_corners is None:
        warn_user(_CHANGED)
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
        warn_user(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when align_corners=True. This is not an "
            "intended use case of affine_grid. See the documentation of affine_grid for details."
        )
    elif min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    return affine_grid_generator(theta, size, align_corners)
