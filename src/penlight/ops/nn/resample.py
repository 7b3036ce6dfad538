"""Resizing of images."""

from __future__ import annotations

from operator import index
from typing import Any

from ... import dtypes
from ..._common.user_warnings import warn_user
from ...kernels import resample as kernels
from ...kernels.lazy import lazy_import
from ...kernels.resample import interpolate_bytes
from ...tensor import Tensor
from ..machinery.array_namespace import both
from ..machinery.declare import OPS, linear
from ..machinery.guards import need_countable, not_implemented
from ..machinery.op import traits

__all__ = ["interpolate", "upsample", "upsample_bilinear", "upsample_nearest"]

_adaptive_pool = lazy_import(globals(), "_adaptive_pool", ".adaptive_pool")


Ints = tuple[int, ...]

# ----- Resizing -----------------------------------------------------------------------------------------------------

_NODES = {
    ("nearest", 1): "UpsampleNearest1D", ("nearest", 2): "UpsampleNearest2D", ("nearest", 3): "UpsampleNearest3D",
    ("nearest-exact", 1): "UpsampleNearestExact1D", ("nearest-exact", 2): "UpsampleNearestExact2D",
    ("nearest-exact", 3): "UpsampleNearestExact3D", ("linear", 1): "UpsampleLinear1D", ("bilinear", 2): "UpsampleBilinear2D",
    ("trilinear", 3): "UpsampleTrilinear3D", ("bicubic", 2): "UpsampleBicubic2D",
}  # fmt: skip


def _resize_array(input: Any, output_size: Ints, mode: str, align_corners: bool, scales: Any, antialias: bool) -> Any:
    if input.dtype.kind == "u" and not mode.startswith("nearest"):
        return interpolate_bytes(input, output_size, mode, align_corners, scales, antialias)
    return kernels.interpolate(input, output_size, mode, align_corners, scales, antialias)


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
    grad: Any, input_shape: Ints, output_size: Ints, mode: str, align_corners: bool, scales: Any, antialias: bool, xp: Any,
) -> Any:  # fmt: skip
    return xp._resize_backward(grad, input_shape, output_size, mode, align_corners, scales, antialias)


def _op_name(mode: str, dims: int, antialias: bool) -> str:
    return f"_resize_{mode.replace('-', '_')}{dims}d{'_aa' if antialias else ''}"


def _declare(mode: str, dims: int, node: str, antialias: bool) -> None:
    """Declare the op of a mode; PyTorch has one for each."""

    def face(
        input: Tensor, output_size: Ints, mode: str, align_corners: bool, scales: Any, antialias: bool
    ) -> Tensor: ...

    of_gradient = "" if mode in ("bicubic", "lanczos") else "grad"
    traits(channels_last=((), (4,), (4, 5))[dims - 1], gradient_format=of_gradient, backward="grad")(face)
    face.__name__ = _op_name(mode, dims, antialias)
    linear(_resize_array, node=node + ("AaBackward0" if antialias else "Backward0"), input=_rule)(face)


for (_mode, _dims), _node in _NODES.items():
    _declare(_mode, _dims, _node, False)
    if _mode in ("bilinear", "bicubic"):
        _declare(_mode, _dims, _node, True)
_declare("lanczos", 2, "UpsampleLanczos2D", True)


def _resize(input: Tensor, output_size: Ints, mode: str, align_corners: bool, scales: Any, antialias: bool) -> Tensor:
    op = OPS[_op_name(mode, input.dim() - 2, antialias)].function
    return op(input, output_size, mode, align_corners, scales, antialias)


both("resize", kernels.interpolate, _resize)


def _sizes(input: Tensor, size: Any, scale_factor: Any) -> tuple[Ints | None, Any]:
    """Either the requested size or the scale factors, one for each spatial dimension."""
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
        return tuple(index(n) for n in size), None
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


def _check_resize(input: Tensor, size: Ints, mode: str, dims: int, antialias: bool) -> None:
    shape, sides = list(input.shape), "DHW"[-dims:]
    if min(size) <= 0 or 0 in shape[2:]:
        was, now = (", ".join(f"{s}: {n}" for s, n in zip(sides, v)) for v in (shape[2:], size))
        joined = " and output" if dims == 1 else " output"
        raise RuntimeError(f"Input and output sizes should be greater than 0, but got input ({was}){joined} ({now})")
    if 0 in shape[1:]:
        raise RuntimeError(f"Non-empty {dims + 2}D data tensor expected but got a tensor with sizes {shape}")
    nearest = mode.startswith("nearest")
    if antialias and shape[2:] == list(size):
        return  # nothing is computed
    if input.dtype.category != dtypes.FLOATING and (input.dtype is not dtypes.uint8 or not (dims == 2 or nearest)):
        way = "nearest" if nearest else mode
        if antialias:
            name = "compute_index_ranges_weights"
        elif dims == 2 and mode != "bicubic":
            name = f"upsample_{way}2d_channels_last"
        else:
            name = "compute_indices_weights_" + ("cubic" if way == "bicubic" else way.removeprefix("tri"))
        raise not_implemented(name, input._array.dtype)


def interpolate(input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None,
                recompute_scale_factor: bool | None = None, antialias: bool = False) -> Tensor:  # fmt: skip
    """Images (N, C, *spatial) resized to a size or by factors; by nearest, linear, cubic or area interpolation.

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
    try:
        found = wanted if factors is None else tuple(int(n * f) for n, f in zip(input.shape[2:], factors))
    except (OverflowError, ValueError):
        raise RuntimeError("value cannot be converted to type int64_t without overflow") from None
    assert found is not None
    if any(n >= 2**63 for n in found):
        raise RuntimeError("value cannot be converted to type int64_t without overflow")
    need_countable((*input.shape[:2], *found), input.element_size())
    if recompute_scale_factor:
        factors = None
    if antialias and not (mode in ("bilinear", "bicubic", "lanczos") and input.dim() == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input"
        )
    if mode == "area" and dims in (1, 2, 3):
        return getattr(_adaptive_pool, f"adaptive_avg_pool{dims}d")(input, found)
    if (mode, dims) not in _NODES and not (mode == "lanczos" and dims == 2 and antialias and not align_corners):
        _refuse_mode(mode, dims, align_corners, antialias)
    _check_resize(input, found, mode, dims, bool(antialias))
    return _resize(input, found, mode, bool(align_corners), factors, antialias)


def _refuse_mode(mode: str, dims: int, align_corners: Any, antialias: bool) -> None:
    needs = {"linear": 1, "bilinear": 2, "trilinear": 3}.get(mode)
    if needs is not None and dims in (1, 2, 3):
        raise NotImplementedError(f"Got {dims + 2}D input, but {mode} mode needs {needs + 2}D input")
    if mode == "lanczos" and dims == 2:
        if align_corners:
            raise ValueError("Lanczos mode does not support align_corners=True")
        raise ValueError("Lanczos mode requires antialias=True")
    raise NotImplementedError(
        f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {dims + 2}D) for the modes: nearest | linear | bilinear | "
        f"bicubic | trilinear | lanczos | area | nearest-exact (got {mode})"
    )


def upsample(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
) -> Tensor:
    """The old name of `interpolate`.

    >>> torch.nn.functional.interpolate(torch.tensor([[[1.0, 2.0]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    warn_user("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """The old name of `interpolate(mode="nearest")`.

    >>> torch.nn.functional.interpolate(torch.tensor([[[1.0, 2.0]]]), scale_factor=2, mode="nearest")
    tensor([[[1., 1., 2., 2.]]])
    """
    warn_user("`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """The old name of `interpolate(mode="bilinear", align_corners=True)`.

    >>> torch.nn.functional.interpolate(torch.ones(1, 1, 2, 2), scale_factor=2, mode="bilinear", align_corners=True).shape
    torch.Size([1, 1, 4, 4])
    """
    warn_user("`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)
