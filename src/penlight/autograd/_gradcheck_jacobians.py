"""gradcheck: Jacobians by finite differences, by backward passes and by forward mode, and their comparison.

A Jacobian has one row for each element of the input and one column for each element of the output.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..kernels.lazy import lazy_import
from ..random import Generator, rand
from ..tensor import Tensor, wrap
from . import grad as differentiate
from .gradcheck import FAILED_NONDET_MSG, FAST_FAIL_SLOW_OK_MSG, GradcheckError, Settings, as_tuple, differentiable

_module = lazy_import(globals(), "_module", ".forward_ad")


def floating(outputs: Sequence[Any]) -> list[Tensor]:
    """The outputs that can have gradients."""
    return [o for o in outputs if isinstance(o, Tensor) and (o.is_floating_point() or o.is_complex())]


def inputs_with_grad(inputs: Sequence[Any]) -> list[Tensor]:
    return [i for i in inputs if isinstance(i, Tensor) and i.requires_grad]


# ----- Finite differences -----------------------------------------------------------------------------------------------------------


def _values(fn: Callable[..., Any], inputs: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
    return [o._array.copy() for o in floating(as_tuple(fn(*inputs)))]


def _difference(
    fn: Callable[..., Any], inputs: Sequence[Any], array: Any, where: Any, step: Any, scale: float, index: Any = None
) -> list[np.ndarray[Any, Any]]:
    """The central difference of the outputs: `array[where]` moves by `step` in both directions, divided by twice `scale`.

    It writes to the input's memory without autograd's knowledge, and restores it.
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
    fn: Callable[..., Any], inputs: Sequence[Any], outputs: Sequence[Any], target: Tensor, eps: float,
    forward: bool = False,
) -> tuple[Tensor, ...]:  # fmt: skip
    """The Jacobian of each output with respect to `target`, one of the inputs, by central differences."""
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
    """The directional derivative of each output along a direction of one input; for a complex input along two, combined into one complex number."""
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
    """The gradients of several passes as columns, and whether their sizes and dtypes match the inputs."""
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
    """`analytical_rows`, checked."""
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
    """The forward-mode module, if available."""
    if not hasattr(_module, "dual_level"):
        raise NotImplementedError("forward mode is not there yet: gradcheck without check_forward_ad")
    return _module


def tangents(
    fn: Callable[..., Any], inputs: Sequence[Any], moved: dict[int, Any], check_dtypes: bool = False
) -> list[Any]:
    """The tangents of the outputs if the inputs at these indices have these tangents; None for an output without one."""
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
    """For each input, by forward mode: the Jacobian of each output, or its product with a direction of that input."""
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


def undefined_forward(func: Callable[..., Any], inputs: Sequence[Any]) -> None:
    """An input without a tangent must behave like one with a zero tangent."""
    indices = [i for i, t in enumerate(inputs) if isinstance(t, Tensor) and t.requires_grad]
    moved = {i: np.ones(inputs[i]._array.shape, inputs[i]._array.dtype) for i in indices}
    for skipped in indices:
        zero = tangents(func, inputs, {**moved, skipped: np.zeros_like(moved[skipped])})
        others = {i: m for i, m in moved.items() if i != skipped}
        given = tuple(t.detach() if i == skipped else t for i, t in enumerate(inputs))
        for index, (a, b) in enumerate(zip(zero, tangents(func, given, others))):
            if a is not None and b is not None and not np.allclose(a, b):
                raise GradcheckError(
                    f"Mismatch in tangent values for output with index: {index} when input: {inputs[skipped]} has an undefined "
                    f"tangent value.  Got: {wrap(a)} but expected: {wrap(b)}"
                )


# ----- Comparing, element by element (slow mode) or by products with random vectors (fast mode) -------------------------


class Part:
    """Which part of complex outputs (or, in forward mode, inputs) a comparison covers."""

    def __init__(self, indices: Sequence[int] = (), imaginary: bool = False, forward: bool = False) -> None:
        self.indices, self.imaginary, self.forward = indices, imaginary, forward

    def mismatch(self, analytical: Tensor, numerical: Tensor, output: int, input: int) -> str:
        """PyTorch's message for two Jacobians that differ."""
        part = "imaginary" if self.imaginary else "real"
        element = "inputs" if self.forward else "outputs"
        prefix = ""
        if (input if self.forward else output) in self.indices:
            prefix = f"While considering the {part} part of complex {element} only, "
        mode = "computed with forward mode " if self.forward else ""
        return (
            f"{prefix}Jacobian {mode}mismatch for output {output:d} with respect to input {input:d},\n"
            f"numerical:{numerical}\nanalytical:{analytical}\n"
        )


def close(a: Tensor, b: Tensor, rtol: float, atol: float) -> bool:
    return bool(np.allclose(a._array, b._array, rtol, atol))


# ----- Real and imaginary parts -----------------------------------------------------------------------------------------------------


def backward_mode(func: Callable[..., Any], func_out: Any, inputs: Any, outputs: Any, settings: Settings) -> None:
    """Compare backward passes with finite differences. The imaginary and real parts of a complex output are compared separately."""
    compare = _fast if settings.fast else _slow
    if not any(o.is_complex() for o in as_tuple(func_out)):
        compare(func, func_out, inputs, outputs, settings, Part())
        return
    indices = [i for i, o in enumerate(outputs) if o.is_complex()]
    for name in ("imag", "real"):
        part = _part_of_outputs(func, name)
        part_out = part(*inputs)
        compare(part, part_out, inputs, differentiable(part_out), settings, Part(indices, name == "imag"))


def _part_of_outputs(func: Callable[..., Any], name: str) -> Callable[..., Any]:
    return lambda *args: tuple(getattr(o, name) if o.is_complex() else o for o in as_tuple(func(*args)))


def forward_mode(
    func: Callable[..., Any], func_out: Any, inputs: Any, outputs: Any, settings: Settings, check_undefined: bool
) -> None:
    """Compare forward mode with finite differences. The imaginary and real parts of complex inputs are compared separately."""
    compare = _fast if settings.fast else _slow
    indices = [i for i, t in enumerate(inputs) if isinstance(t, Tensor) and t.is_complex()]
    if not indices:
        compare(func, func_out, inputs, outputs, settings, Part(forward=True))
        if check_undefined:
            undefined_forward(func, inputs)
        return
    halves = []
    for name in ("imag", "real"):
        part = _part_of_inputs(func, indices, inputs, name)
        args = tuple(getattr(t, name) if i in indices else t for i, t in enumerate(inputs))
        part_out = part(*args)
        compare(part, part_out, args, differentiable(part_out), settings, Part(indices, name == "imag", forward=True))
        halves.append((part, args))
    if check_undefined:
        for part, args in halves:
            undefined_forward(part, args)


def _part_of_inputs(func: Callable[..., Any], indices: list[int], inputs: Any, name: str) -> Callable[..., Any]:
    """`func` as a function of the real or imaginary parts of its complex inputs, with the other parts fixed."""

    def part(*args: Any) -> Any:
        whole = list(args)
        for i in indices:
            whole[i] = inputs[i].real + args[i] * 1j if name == "imag" else args[i] + inputs[i].imag * 1j
        return as_tuple(func(*whole))

    return part


# ----- Slow mode --------------------------------------------------------------------------------------------------------------------


def _slow(func: Callable[..., Any], func_out: Any, inputs: Any, outputs: Any, settings: Settings, part: Part) -> None:
    func_out = as_tuple(func_out)
    wanted = inputs_with_grad(inputs)
    by_input = [numerical_jacobian(func, inputs, func_out, t, settings.eps, part.forward) for t in wanted]
    if not outputs:
        _expect_zero([j._array for row in by_input for j in row], 0.0)
        return
    kept = [i for i, o in enumerate(floating(func_out)) if o.requires_grad]
    forward = forward_jacobians(func, inputs, func_out, settings) if part.forward else None
    for i, (nr, out) in enumerate(zip(kept, outputs)):
        if forward is None:
            analytical: Any = analytical_jacobian(inputs, out, settings)
        else:
            analytical = [row[nr] for row in forward]
        for j, a in enumerate(analytical):
            n = by_input[j][nr]
            if not close(a, n, settings.rtol, settings.atol):
                raise GradcheckError(part.mismatch(a, n, i, j))


def _expect_zero(jacobians: list[Any], tolerance: float) -> None:
    if any(j.size and np.abs(j).max() > tolerance for j in jacobians):
        raise GradcheckError("Numerical gradient for function expected to be zero")


# ----- Fast mode --------------------------------------------------------------------------------------------------------------------


def _vector(tensor: Tensor, generator: Any, real: bool = False) -> np.ndarray[Any, Any]:
    """A random unit vector with as many entries as a tensor has elements."""
    dtype = tensor._array.dtype
    if real and dtype.kind == "c":
        dtype = np.dtype(f"f{dtype.itemsize // 2}")
    entries = rand(tensor.numel(), generator=generator)._array.astype(dtype)
    with np.errstate(all="ignore"):
        return entries / np.linalg.norm(entries).astype(dtype)  # type: ignore[no-any-return]


def _fast(func: Callable[..., Any], func_out: Any, inputs: Any, outputs: Any, settings: Settings, part: Part) -> None:
    """Compare v^T J u for random u and v: one function call per input instead of one per element."""
    func_out = as_tuple(func_out)
    wanted = inputs_with_grad(inputs)
    generator = Generator()
    us: list[Any] = []
    for t in wanted:
        u = _vector(t, generator, real=True)
        us.append((u, _vector(t, generator, real=True)) if t.is_complex() else u)
    vs = None if part.forward else [_vector(o, generator) for o in outputs]
    kept = [i for i, o in enumerate(floating(func_out)) if o.requires_grad]
    products = [numerical_product(func, inputs, t, u, settings.eps) for t, u in zip(wanted, us)]
    if not outputs and not part.forward:
        _expect_zero([p for row in products for p in row], settings.nondet_tol)
    forward = forward_jacobians(func, inputs, func_out, settings, us) if part.forward else None
    for j, nr in enumerate(kept):
        exact = None if forward is not None else _backward_products(inputs, outputs[j], vs[j], us, settings)  # type: ignore[index]
        for i in range(len(wanted)):
            if forward is not None:
                a, n = wrap(forward[i][nr]._array.reshape(-1)), wrap(products[i][nr])
            else:
                a, n = exact[i], wrap(np.asarray((vs[j] * products[i][nr]).sum()))  # type: ignore[index]
            atol = settings.atol * _sum(us[i]) * (1.0 if vs is None else float(vs[j].sum()))
            if not close(a, n, settings.rtol, atol):
                detail = _in_full(func, inputs, func_out, outputs, i, j, nr, settings, part)
                raise GradcheckError(part.mismatch(a, n, j, i) + detail)


def _sum(u: Any) -> float:
    return float(u[0].sum()) + float(u[1].sum()) if isinstance(u, tuple) else float(u.sum())


def _backward_products(inputs: Any, output: Tensor, v: Any, us: list[Any], settings: Settings) -> list[Tensor]:
    """v^T J u for each input, from one backward pass."""
    jacobians = analytical_jacobian(inputs, output, settings, [v.reshape(output._array.shape)])
    found: list[Any] = []
    for jacobian, u in zip(jacobians, us):
        vj = jacobian._array[:, 0]
        found.append(vj.real.dot(u[0]) + 1j * vj.imag.dot(u[1]) if isinstance(u, tuple) else vj.dot(u))
    return [wrap(np.asarray(f)) for f in found]


def _in_full(
    func: Callable[..., Any], inputs: Any, func_out: Any, outputs: Any, i: int, j: int, nr: int, settings: Settings,
    part: Part,
) -> str:  # fmt: skip
    """The full comparison of slow mode, for the error message when fast mode fails."""
    target = inputs_with_grad(inputs)[i]
    numerical = numerical_jacobian(func, inputs, func_out, target, settings.eps, part.forward)[nr]
    if part.forward:
        analytical = forward_jacobians(func, inputs, func_out, settings)[i][nr]
    else:
        analytical = analytical_rows(inputs, outputs[j], float("inf")).jacobians[i]
    worst = wrap(np.asarray(np.abs(numerical._array - analytical._array).max()))
    message = (
        "\nThe above quantities relating the numerical and analytical jacobians are computed \n"
        "in fast mode. See: https://github.com/pytorch/pytorch/issues/53876 for more background \n"
        "about fast mode. Below, we recompute numerical and analytical jacobians in slow mode:\n\n"
        f"Numerical:\n {numerical}\n"
        f"Analytical:\n{analytical}\n\n"
        f"The max per-element difference (slow mode) is: {worst}.\n"
    )
    if close(analytical, numerical, settings.rtol, settings.atol):
        message += FAST_FAIL_SLOW_OK_MSG
    return message
