"""Angles and complex numbers: degrees, phases, parts, polar coordinates, conjugates."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import dtypes
from ...kernels.copies import contiguous
from ...kernels.elementwise import apply, one_pass
from ...kernels.numpy_calls import broadcast_shapes
from ...tensor import Tensor
from ..machinery import dispatch
from ..machinery.declare import OPS, method, pointwise
from ..machinery.op import traits

__all__ = ["angle", "complex", "conj_physical", "conj_physical_", "deg2rad", "polar", "rad2deg"]


@pointwise(lambda input: input * (math.pi / 180), node="Deg2RadBackward0", floating=True,
           input=lambda grad, xp: xp.times(grad, math.pi / 180))  # fmt: skip
@traits(refuses={"c": RuntimeError("deg2rad is not supported for complex tensors.")})
def deg2rad(input: Tensor) -> Tensor:
    """Degrees converted to radians.

    >>> torch.deg2rad(torch.tensor([180.0]))
    tensor([3.1416])
    """


@pointwise(lambda input: input * (180 / math.pi), node="Rad2DegBackward0", floating=True,
           input=lambda grad, xp: xp.times(grad, 180 / math.pi))  # fmt: skip
@traits(refuses={"c": RuntimeError("rad2deg is not supported for complex tensors.")})
def rad2deg(input: Tensor) -> Tensor:
    """Radians converted to degrees.

    >>> torch.rad2deg(torch.tensor([1.0]))
    tensor([57.2958])
    """


@one_pass
def _real_angle(input: Any) -> Any:
    """The angle of real numbers: 0, or pi for negative ones."""
    angle = (input < 0) * input.dtype.type(math.pi)
    nan = np.isnan(input)
    return angle if type(nan) is np.ndarray and not nan.any() else np.where(nan, input, angle)


def _angle_array(input: Any) -> Any:
    if input.dtype.kind == "c":
        if input.size < 4096:
            return np.arctan2(input.imag, input.real)
        return apply(np.arctan2, contiguous(input.imag), contiguous(input.real))
    return apply(_real_angle, input) if input.size >= 4096 else _real_angle(input)


def _angle_rule(grad: Any, input: Any, xp: Any) -> Any:
    """Real numbers: zero. A complex z: i z / |z|^2, which is perpendicular to z."""
    if not xp.is_complex(input):
        return xp.zeros_like(grad)
    size = xp.abs(input)
    return xp.where(size == 0, 0.0, grad * (input * 1j) / (size * size))


@pointwise(_angle_array, floating=True, complex_rule=True, inplace=False, input=_angle_rule)
def angle(input: Tensor) -> Tensor:
    """The angle of a complex number; 0 or pi for a real one.

    >>> torch.angle(torch.tensor([1j, -1 + 0j]))
    tensor([1.5708, 3.1416])
    """


def _pair_of_reals(env: dict[str, Any]) -> None:
    _check_pair(*(t.dtype for t in env.values()))


def _check_pair(first: dtypes.dtype, second: dtypes.dtype) -> None:
    names = dtypes.LEGACY[first], dtypes.LEGACY[second]
    if any(d.category != dtypes.FLOATING or d is dtypes.bfloat16 for d in (first, second)):
        raise RuntimeError(
            f"Expected both inputs to be Half, Float or Double tensors but got {names[0]} and {names[1]}"
        )
    if first is not second:
        raise RuntimeError(
            f"Expected object of scalar type {names[0]} but got scalar type {names[1]} for second argument"
        )


def _complex_array(real: Any, imag: Any) -> Any:
    if real.dtype.itemsize == 2:
        raise NotImplementedError("complex numbers of half precision (torch.complex32): use float32 or float64 parts")
    out = np.empty(
        broadcast_shapes(real.shape, imag.shape), _COMPLEX.get(real.dtype) or np.result_type(real.dtype, np.complex64)
    )
    out.real, out.imag = real, imag
    return out


_COMPLEX: Any = {np.dtype(np.float32): np.dtype(np.complex64), np.dtype(np.float64): np.dtype(np.complex128)}


def _of_reals(kernel: Any) -> Any:
    def run(first: Any, second: Any) -> Any:
        if first.dtype.kind not in "fV":
            _check_pair(dtypes.from_np(first.dtype), dtypes.from_np(second.dtype))
        return kernel(first, second)

    return run


@pointwise(_of_reals(_complex_array), complex_rule=True, inplace=False, check=_pair_of_reals,
           real=lambda grad, xp: xp.real_part(grad),
           imag=lambda grad, xp: xp.real_part(grad * -1j))  # fmt: skip
def complex(real: Tensor, imag: Tensor) -> Tensor:
    """Complex numbers from their real and imaginary parts.

    >>> torch.complex(torch.tensor([1.0]), torch.tensor([2.0]))
    tensor([1.+2.j])
    """


@pointwise(_of_reals(lambda abs, angle: _complex_array(abs * np.cos(angle), abs * np.sin(angle))), complex_rule=True, inplace=False,
           check=_pair_of_reals,
           abs=lambda grad, result, xp: xp.real_part(xp.conj(grad) * xp.sgn(result)),
           angle=lambda grad, result, xp: xp.real_part(xp.conj(grad) * (result * 1j)))  # fmt: skip
def polar(abs: Tensor, angle: Tensor) -> Tensor:
    """Complex numbers from their absolute values and angles.

    >>> torch.polar(torch.tensor([2.0]), torch.tensor([0.0]))
    tensor([2.+0.j])
    """


@pointwise(
    lambda input: np.conj(input) if input.dtype.kind == "c" else input.copy(),
    complex_rule=True,
    node="ConjPhysicalBackward0",
    input=lambda grad, xp: xp.conj(grad),
)
def _conj_physical(input: Tensor) -> Tensor: ...


@method
def conj_physical(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The complex conjugate, computed immediately; a real tensor is returned unchanged.

    >>> torch.conj_physical(torch.tensor([1 + 2j]))
    tensor([1.-2.j])
    """
    return _conj_physical(input, out=out) if input.is_complex() or out is not None else input


@method
def conj_physical_(input: Tensor) -> Tensor:
    """In-place version of `conj_physical`.

    >>> torch.tensor([1 + 2j]).conj_physical_()
    tensor([1.-2.j])
    """
    return dispatch.run_in_place(OPS["_conj_physical"], (input,))
