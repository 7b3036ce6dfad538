"""gradcheck: comparing Jacobians, element by element (slow mode) or by products with random vectors (fast mode)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..random import Generator, rand
from ..tensor import Tensor, wrap
from ._gradcheck_jacobians import (
    analytical_jacobian,
    analytical_rows,
    floating,
    forward_jacobians,
    inputs_with_grad,
    numerical_jacobian,
    numerical_product,
)
from ._gradcheck_more import undefined_forward
from .gradcheck import FAST_FAIL_SLOW_OK_MSG, GradcheckError, Settings, as_tuple, differentiable


class Part:
    """Which part of complex outputs (or, in forward mode, inputs) a comparison looks at."""

    def __init__(self, indices: Sequence[int] = (), imaginary: bool = False, forward: bool = False) -> None:
        self.indices, self.imaginary, self.forward = indices, imaginary, forward

    def mismatch(self, analytical: Tensor, numerical: Tensor, output: int, input: int) -> str:
        """PyTorch's message about two Jacobians that differ."""
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
    """Compare backward passes with differences. Of a complex output, the imaginary and the real part by themselves."""
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
    """Compare forward mode with differences. Of complex inputs, the imaginary and the real part by themselves."""
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
    """`func` of the real or imaginary parts of its complex inputs, the other parts staying as they are."""

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
    """A random direction of length 1 with as many entries as a tensor has elements."""
    dtype = tensor._array.dtype
    if real and dtype.kind == "c":
        dtype = np.dtype(f"f{dtype.itemsize // 2}")
    entries = rand(tensor.numel(), generator=generator)._array.astype(dtype)
    with np.errstate(all="ignore"):
        return entries / np.linalg.norm(entries).astype(dtype)  # type: ignore[no-any-return]


def _fast(func: Callable[..., Any], func_out: Any, inputs: Any, outputs: Any, settings: Settings, part: Part) -> None:
    """Compare v^T J u for random u and v: as many function calls as inputs instead of as many as their elements."""
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
    func: Callable[..., Any],
    inputs: Any,
    func_out: Any,
    outputs: Any,
    i: int,
    j: int,
    nr: int,
    settings: Settings,
    part: Part,
) -> str:
    """What slow mode would have compared: for the message of a failure in fast mode."""
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
