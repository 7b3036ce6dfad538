"""gradcheck: the checks other than the Jacobians, and the function that gradgradcheck checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import dtypes
from .._common.user_warnings import warn_user
from ..layout import strided
from ..ops import stack
from ..random import rand, randn_like
from ..tensor import Tensor, wrap
from . import grad as differentiate
from ._gradcheck_jacobians import forward_ad, inputs_with_grad
from .gradcheck import FAILED_BATCHED_GRAD_MSG, FAILED_BATCHED_GRAD_MSG_FWD_AD, GradcheckError, as_tuple, differentiable
from .modes import sequence
from .node import Node
from .views import edge_of


def check_inputs(inputs: Sequence[Any]) -> None:
    """Warn about single precision; refuse inputs without a difference quotient."""
    for index, tensor in enumerate(inputs):
        if not (isinstance(tensor, Tensor) and tensor.requires_grad):
            continue
        if tensor.dtype not in (dtypes.float64, dtypes.complex128):
            warn_user(
                f"Input #{index} requires gradient and is not a double precision floating point or complex. This check will "
                "likely fail if all the inputs are not of double precision floating point or complex. "
            )
        if tensor.layout is strided and not all(
            stride > 0 or size <= 1 for stride, size in zip(tensor.stride(), tensor.shape)
        ):
            raise RuntimeError(
                f"The {index}th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping to "
                "be able to compute the numerical gradients correctly. You should call .contiguous on the input before "
                "passing it to gradcheck."
            )
    if not inputs_with_grad(inputs):
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
        )


def multiplied_by_grad_output(outputs: Sequence[Tensor], inputs: Sequence[Any], masked: bool) -> None:
    """Zero gradients of the outputs must give zero gradients of the inputs, with the inputs' dtypes and sizes."""
    wanted = _wanted(inputs)
    zeros = [_zeros_like(o) for o in outputs]
    for found, tensor in zip(differentiate(outputs, wanted, zeros, allow_unused=True) if outputs else (), wanted):
        if found is None:
            continue
        nonzero = not np.allclose(found._array, 0) if masked else bool((found._array != 0).any())
        if nonzero:
            raise GradcheckError("backward not multiplied by grad_output")
        if found.dtype is not tensor.dtype:
            raise GradcheckError("grad is incorrect type")
        if found.shape != tensor.shape:
            raise GradcheckError("grad is incorrect size")


def _wanted(inputs: Sequence[Any]) -> list[Tensor]:
    wanted = inputs_with_grad(inputs)
    if not wanted:
        raise GradcheckError("no Tensors requiring grad found in input")
    return wanted


def _zeros_like(tensor: Tensor) -> Tensor:
    return wrap(np.zeros(tensor._array.shape, tensor._array.dtype))


# ----- Undefined gradients ----------------------------------------------------------------------------------------------------------


class UndefinedGradBackward(Node):
    """Returns no gradient at all."""

    __slots__ = ()

    def __init__(self, next_functions: Any) -> None:
        self.seq = next(sequence)
        self._hooks = self._fit = None
        self.next_functions = next_functions

    def run_raw(self, grad: Any, keep: bool) -> tuple[Any, ...]:
        return (None,)

    run_graph = run_raw


def without_grad(tensor: Tensor) -> Tensor:
    """The same values, behind a node that returns no gradient."""
    out = wrap(tensor._array)
    out._edge = (UndefinedGradBackward((edge_of(tensor),)), 0)
    return out


def undefined_backward(func: Callable[..., Any], outputs: Sequence[Tensor], inputs: Sequence[Any]) -> None:
    """Missing gradients must count as zeros: for all outputs together, then for each alone."""
    wanted = _wanted(inputs)
    fresh = differentiable(func(*inputs))
    cases = [[without_grad(o) for o in fresh]]
    if len(fresh) > 1:
        for skipped in range(len(outputs)):
            again = differentiable(func(*inputs))
            cases.append([without_grad(o) if i == skipped else o for i, o in enumerate(again)])
    for case in cases:
        _undefined_case(case, wanted)


def _undefined_case(outputs: list[Tensor], wanted: list[Tensor]) -> None:
    if not outputs:
        return
    try:
        grads = differentiate(outputs, wanted, [_zeros_like(o) for o in outputs], allow_unused=True)
    except RuntimeError as error:
        _warn_undefined()
        raise GradcheckError(
            'Expected backward function to handle undefined output grads. Please look at "Notes about undefined output '
            'gradients" in "tools/autograd/derivatives.yaml"'
        ) from error
    if any(g is not None and bool((g._array != 0).any()) for g in grads):
        _warn_undefined()
        raise GradcheckError(
            "Expected all input grads to be undefined or zero when all output grads are undefined or zero. Please look at "
            '"Notes about undefined output gradients" in "tools/autograd/derivatives.yaml"'
        )


def _warn_undefined() -> None:
    warn_user(
        "Backwards compatibility: New undefined gradient support checking feature is enabled by default, but it may break "
        "existing callers of this function. If this is true for you, you can call this function with "
        '"check_undefined_grad=False" to disable the feature'
    )


# ----- Batches ----------------------------------------------------------------------------------------------------------------------


def batched_grad(inputs: Sequence[Any], output: Tensor, index: int) -> None:
    """The gradients of a batch of two must equal those of its members."""
    wanted = inputs_with_grad(inputs)
    vectors = [randn_like(output) for _ in range(2)]
    rows = [differentiate(output, wanted, v, retain_graph=True, allow_unused=True) for v in vectors]
    try:
        batch = differentiate(
            output, wanted, stack(vectors), retain_graph=True, allow_unused=True, is_grads_batched=True
        )
    except RuntimeError as error:
        raise GradcheckError(f"While computing batched gradients, got: {error}\n\n{FAILED_BATCHED_GRAD_MSG}") from error
    for i, (found, *expected) in enumerate(zip(batch, *rows)):
        if found is None:
            continue
        right = stack(expected)
        if not np.allclose(found._array, right._array, 1e-5, 1e-8):
            raise GradcheckError(_batch_message(index, i, found, right, FAILED_BATCHED_GRAD_MSG))


def _batch_message(output: int, input: int, found: Any, expected: Any, story: str) -> str:
    return f"For output {output} and input {input}:\n\n{story}\n\nGot:\n{found}\n\nExpected:\n{expected}"


def batched_forward_grad(func: Callable[..., Any], inputs: Sequence[Any]) -> None:
    """The tangents of a batch of two must equal those of its members."""
    fw = forward_ad()
    try:
        from ..func import vmap  # type: ignore[attr-defined,unused-ignore]
    except ImportError:
        raise NotImplementedError("vmap is not there yet: gradcheck without check_batched_forward_grad") from None
    for index, tensor in enumerate(inputs):
        if not (isinstance(tensor, Tensor) and tensor.requires_grad):
            continue

        def product(tangent: Tensor, index: int = index, tensor: Tensor = tensor) -> Any:
            with fw.dual_level():
                dual = fw.make_dual(tensor.detach(), tangent)
                args = [
                    dual if i == index else t.detach() if isinstance(t, Tensor) else t for i, t in enumerate(inputs)
                ]
                pairs = [fw.unpack_dual(o) for o in as_tuple(func(*args)) if o is not None]
                return tuple(_zeros_like(p) if t is None else t for p, t in pairs)

        vectors = [randn_like(tensor.detach()) for _ in range(2)]
        expected = [stack(rows) for rows in zip(*map(product, vectors))]
        try:
            batch = vmap(product)(stack(vectors))
        except RuntimeError as error:
            raise GradcheckError(
                f"While computing batched gradients, got: {error}\n\n{FAILED_BATCHED_GRAD_MSG_FWD_AD}"
            ) from error
        for i, (found, right) in enumerate(zip(batch, expected)):
            if not np.allclose(found._array, right._array, 1e-5, 1e-8):
                raise GradcheckError(_batch_message(i, index, found, right, FAILED_BATCHED_GRAD_MSG_FWD_AD))


# ----- gradgradcheck ----------------------------------------------------------------------------------------------------------------


def random_grad_outputs(outputs: Sequence[Tensor], noncontiguous: bool) -> tuple[Tensor, ...]:
    """Gradients between -1 and 1 for a function's outputs."""
    made = []
    for out in outputs:
        dtype = out.dtype if out.is_floating_point() or out.is_complex() else dtypes.float64
        shape = (*out.shape, 2) if dtype.category == dtypes.COMPLEX else tuple(out.shape)
        array = rand(shape, dtype=dtype if dtype.category != dtypes.COMPLEX else dtype.to_real())._array * 2 - 1
        if dtype.category == dtypes.COMPLEX:
            array = (array[..., 0] + 1j * array[..., 1]).astype(dtype.np)
        if noncontiguous and array.size > 1:
            array = np.repeat(array[..., None], 2, axis=-1)[..., 0]
        made.append(wrap(np.asarray(array)).requires_grad_())
    return tuple(made)


def gradient_function(func: Callable[..., Any], inputs: tuple[Any, ...], grads: tuple[Any, ...]) -> Callable[..., Any]:
    """A function that maps the inputs and gradients of the outputs to the gradients of the inputs."""
    of_inputs = {i for i, t in enumerate(inputs) if isinstance(t, Tensor) and t.requires_grad}
    of_grads = {i for i, g in enumerate(grads) if g.requires_grad}

    def gradients(*args: Any) -> tuple[Tensor, ...]:
        count = len(args) - len(grads)
        given = [t.requires_grad_() if i in of_inputs else t for i, t in enumerate(args[:count])]
        seeds = [g.requires_grad_() if i in of_grads else g for i, g in enumerate(args[count:])]
        outputs = differentiable(func(*given))
        wanted = [t for i, t in enumerate(given) if i in of_inputs]
        return tuple(
            g for g in differentiate(outputs, wanted, seeds, create_graph=True, allow_unused=True) if g is not None
        )

    return gradients
