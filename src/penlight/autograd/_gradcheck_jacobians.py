"""gradcheck: Jacobians by finite differences, by backward passes and by forward mode.

A Jacobian has one row for each element of the input and one column for each element of the output.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..kernels.lazy import lazy_import
from ..tensor import Tensor, wrap
from . import grad as differentiate
from .gradcheck import FAILED_NONDET_MSG, GradcheckError, Settings, as_tuple

_module = lazy_import(globals(), "_module", ".forward_ad")


def floating(outputs: Sequence[Any]) -> list[Tensor]:
    """The outputs that can have a gradient."""
    return [o for o in outputs if isinstance(o, Tensor) and (o.is_floating_point() or o.is_complex())]


def inputs_with_grad(inputs: Sequence[Any]) -> list[Tensor]:
    return [i for i in inputs if isinstance(i, Tensor) and i.requires_grad]


# ----- Finite differences -----------------------------------------------------------------------------------------------------------


def _values(fn: Callable[..., Any], inputs: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
    return [o._array.copy() for o in floating(as_tuple(fn(*inputs)))]


def _difference(
    fn: Callable[..., Any], inputs: Sequence[Any], array: Any, where: Any, step: Any, scale: float, index: Any = None
) -> list[np.ndarray[Any, Any]]:
    """How much the outputs change when `array[where]` moves by `step` both ways, over twice `scale`.

    It writes to the input's memory behind autograd's back, and puts everything back.
    """
    before = array[where].copy()
    try:
        array[where] = before - step
        low = _values(fn, inputs)
        array[where] = before + step
        high = _values(fn, inputs)
    finally:
        array[where] = before
    found = []
    for a, b in zip(low, high):
        _check_same_kind(a, b, scale, index)
        found.append(((b - a) / (2 * scale)).reshape(-1))
    return found


def _check_same_kind(a: Any, b: Any, eps: float, index: Any) -> None:
    where = "" if index is None else f"on index {index} "
    for what, one, other in (("shape", wrap(a).shape, wrap(b).shape), ("dtype", wrap(a).dtype, wrap(b).dtype)):
        if one != other:
            raise AssertionError(
                f"Expected `func` to return outputs with the same {what} when inputs are perturbed {where}by {eps}, but got: "
                f"{what}s {one} and {other}."
            )


def numerical_jacobian(
    fn: Callable[..., Any],
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    target: Tensor,
    eps: float,
    forward: bool = False,
) -> tuple[Tensor, ...]:
    """For each output its Jacobian with respect to `target`, one of the inputs, by central differences."""
    if not forward and any(o.is_complex() for o in floating(outputs)):
        raise ValueError(
            "Expected output to be non-complex. get_numerical_jacobian no longer supports functions that return complex outputs."
        )
    array = target._array
    rows: list[list[Any]] = []
    for index in np.ndindex(array.shape):
        where = index or ...
        row = _difference(fn, inputs, array, where, eps, eps, index)
        if target.is_complex():
            imaginary = _difference(fn, inputs, array, where, eps * 1j, eps, index)
            row = [a + b * 1j for a, b in zip(row, imaginary)]
        rows.append(row)
    found = []
    for position, out in enumerate(floating(outputs)):
        dtype = array.dtype if target.is_complex() else out._array.dtype
        jacobian = np.zeros((array.size, out.numel()), dtype)
        for k, row in enumerate(rows):
            jacobian[k] = row[position]
        found.append(wrap(jacobian))
    return tuple(found)


def numerical_product(
    fn: Callable[..., Any], inputs: Sequence[Any], target: Tensor, direction: Any, eps: float
) -> list[np.ndarray[Any, Any]]:
    """The change of each output along a direction of one input; for a complex input along two, as one complex number."""
    array = target._array

    def along(u: Any, unit: complex = 1) -> list[np.ndarray[Any, Any]]:
        step = u.reshape(array.shape) * eps
        return _difference(fn, inputs, array, ..., step if unit == 1 else step * unit, eps)

    if not target.is_complex():
        return along(direction)
    return [a + b * 1j for a, b in zip(along(direction[0]), along(direction[1], 1j))]


# ----- Backward passes --------------------------------------------------------------------------------------------------------------


class Analytical(NamedTuple):
    jacobians: tuple[Tensor, ...]
    reentrant: bool
    sizes_ok: bool
    types_ok: bool


def analytical_rows(inputs: Sequence[Any], output: Tensor, nondet_tol: float, vectors: Any = None) -> Analytical:
    """The Jacobian of one output with respect to each input (or its products with `vectors`), computed twice."""
    wanted = inputs_with_grad(inputs)
    if vectors is None:
        eye = np.eye(output.numel(), dtype=output._array.dtype)
        vectors = [row.reshape(output._array.shape) for row in eye]
    first, sizes_ok, types_ok = _stacked(wanted, _passes(output, wanted, vectors))
    second, _, _ = _stacked(wanted, _passes(output, wanted, vectors))
    same = all(a.size == 0 or not np.abs(a - b).max() > nondet_tol for a, b in zip(first, second))
    return Analytical(tuple(wrap(a) for a in first), bool(same), sizes_ok, types_ok)


def _passes(output: Tensor, wanted: list[Tensor], vectors: Sequence[Any]) -> list[tuple[Any, ...]]:
    return [differentiate(output, wanted, wrap(v.copy()), retain_graph=True, allow_unused=True) for v in vectors]


def _stacked(wanted: list[Tensor], passes: list[tuple[Any, ...]]) -> tuple[list[Any], bool, bool]:
    """The gradients of several passes as columns, and whether their sizes and dtypes are those of the inputs."""
    sizes_ok = types_ok = True
    found = []
    for index, tensor in enumerate(wanted):
        jacobian = np.zeros((tensor.numel(), len(passes)), tensor._array.dtype)
        for j, grads in enumerate(passes):
            grad = grads[index]
            if grad is None:
                continue
            if grad.shape != tensor.shape:
                sizes_ok = False
            elif grad.dtype is not tensor.dtype:
                types_ok = False
            if grad.numel() != tensor.numel():
                raise AssertionError(
                    f"Expected out_jacobian column to have {grad.numel()} elements, but got {tensor.numel()}"
                )
            jacobian[:, j] = grad._array.reshape(-1)
        found.append(jacobian)
    return found, sizes_ok, types_ok


def analytical_jacobian(
    inputs: Sequence[Any], output: Tensor, settings: Settings, vectors: Any = None
) -> tuple[Tensor, ...]:
    """The same, checked."""
    found = analytical_rows(inputs, output, settings.nondet_tol, vectors)
    if not found.types_ok and settings.check_grad_dtypes:
        raise GradcheckError("Gradient has dtype mismatch")
    if not found.sizes_ok:
        raise GradcheckError("Analytical gradient has incorrect size")
    if not found.reentrant:
        raise GradcheckError(
            "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives different "
            "values, although analytical gradient matches numerical gradient.The tolerance for nondeterminism was "
            f"{settings.nondet_tol}." + FAILED_NONDET_MSG
        )
    return found.jacobians


# ----- Forward mode -----------------------------------------------------------------------------------------------------------------


def forward_ad() -> Any:
    """The forward-mode module, if it is there."""
    if not hasattr(_module, "dual_level"):
        raise NotImplementedError("forward mode is not there yet: gradcheck without check_forward_ad")
    return _module


def tangents(
    fn: Callable[..., Any], inputs: Sequence[Any], moved: dict[int, Any], check_dtypes: bool = False
) -> list[Any]:
    """The tangents of the outputs when the inputs at these indices have these tangents; None where there is none."""
    fw = forward_ad()
    with fw.dual_level():
        duals = [fw.make_dual(i.detach(), wrap(moved[k])) if k in moved else i for k, i in enumerate(inputs)]
        found = []
        for out in floating(as_tuple(fn(*duals))):
            value, tangent = fw.unpack_dual(out)
            if check_dtypes and tangent is not None and value.is_complex() != tangent.is_complex():
                raise GradcheckError("Forward AD gradient has dtype mismatch.")
            found.append(None if tangent is None else tangent.detach()._array.copy())
    return found


def forward_jacobians(
    fn: Callable[..., Any], inputs: Sequence[Any], outputs: Sequence[Any], settings: Settings, directions: Any = None
) -> list[list[Tensor]]:
    """By forward mode, for each input: the Jacobian of each output, or its product with a direction of that input."""
    indices = [k for k, i in enumerate(inputs) if isinstance(i, Tensor) and i.requires_grad]
    if any(inputs[k].is_complex() for k in indices):
        raise ValueError("Expected inputs to be non-complex for _get_analytical_jacobian_forward_ad.")
    found = []
    for nr, k in enumerate(indices):
        tensor = inputs[k]
        if directions is not None:
            moves = [directions[nr].reshape(tensor._array.shape)]
        else:
            eye = np.eye(tensor.numel(), dtype=tensor._array.dtype)
            moves = [row.reshape(tensor._array.shape) for row in eye]
        rows = [tangents(fn, inputs, {k: m}, settings.check_grad_dtypes) for m in moves]
        found.append([_forward_rows(out, [row[o] for row in rows]) for o, out in enumerate(floating(outputs))])
    return found


def _forward_rows(out: Tensor, rows: list[Any]) -> Tensor:
    jacobian = np.zeros((len(rows), out.numel()), out._array.dtype)
    for j, row in enumerate(rows):
        if row is not None:
            jacobian[j] = row.reshape(-1)
    return wrap(jacobian)
