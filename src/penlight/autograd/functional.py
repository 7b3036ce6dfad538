"""torch.autograd.functional: Jacobians and Hessians of a function, and their products with vectors.

Everything here uses backward passes. A Jacobian-vector product comes from two of them: the vjp is linear in its vector, so its
own vjp is the jvp ("double backward").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.arguments import explain as _explain
from ..creation import eye, ones_like, zeros, zeros_like
from ..kernels.lazy import lazy_import
from ..ops import stack
from ..tensor import wrap
from . import grad as differentiate
from ._functional_arguments import (
    _as_tuple as _as_tuple,
    _construct_standard_basis_for as _construct_standard_basis_for,
    _grad_postprocess as _grad_postprocess,
    _tuple_postprocess as _tuple_postprocess,
    as_tuple,
    check_vector,
    filled,
    finish,
    gradients,
    prepared,
    require_grad_everywhere,
    single_output,
    unwrapped,
)
from .grad_mode import enable_grad, set_grad_enabled
from .modes import is_grad_enabled

if TYPE_CHECKING:
    from ..tensor import Tensor

_forward_ad = lazy_import(globals(), "_forward_ad", ".forward_ad")
_jacobians = lazy_import(globals(), "_jacobians", "..func.jacobians")
_mapping = lazy_import(globals(), "_mapping", "..func.mapping")


__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Tensors = Any  # a Tensor or a tuple of them


def _called(func: Callable[..., Any], inputs: tuple[Any, ...], name: str, strict: bool) -> tuple[bool, tuple[Any, ...]]:
    """The outputs of the user's function as a tuple, and whether they were one."""
    was_tuple, outputs = as_tuple(func(*inputs), "outputs of the user-provided function", name)
    require_grad_everywhere(outputs, "outputs", strict)
    return was_tuple, outputs


def vjp(
    func: Callable[..., Any], inputs: Tensors, v: Tensors | None = None, create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """The outputs of a function, and the product of a vector with its Jacobian.

    >>> torch.autograd.functional.vjp(lambda x: x**2, torch.tensor([1.0, 3.0]), torch.ones(2))
    (tensor([1., 9.]), tensor([2., 6.]))
    """
    with enable_grad():
        several, args = as_tuple(inputs, "inputs", "vjp")
        args = prepared(args, create_graph)
        out_several, outputs = _called(func, args, "vjp", strict)
        vector = None
        if v is not None:
            vector = prepared(as_tuple(v, "v", "vjp")[1], create_graph, need_graph=False)
            check_vector(vector, outputs, out_several)
        elif len(outputs) != 1 or outputs[0].numel() != 1:
            raise RuntimeError(
                "The vector v can only be None if the user-provided function returns a single Tensor with a single element."
            )
    with set_grad_enabled(create_graph or _is_grad_enabled()):
        grads = gradients(outputs, args, vector, create_graph)
        result = filled(grads, args, strict, create_graph, "back")
    outputs, result = finish(outputs, create_graph), finish(result, create_graph)
    return unwrapped(outputs, out_several), unwrapped(result, several)


def _is_grad_enabled() -> bool:
    return is_grad_enabled()


def _given_vector(
    v: Tensors | None, args: tuple[Any, ...], several: bool, name: str, create_graph: bool
) -> tuple[Any, ...]:
    """The vector of a product, in the shape of the inputs; 1 for a single input with one element."""
    if v is not None:
        vector = prepared(as_tuple(v, "v", name)[1], create_graph, need_graph=False)
        check_vector(vector, args, several)
        return vector
    if len(args) != 1 or args[0].numel() != 1:
        raise RuntimeError(
            "The vector v can only be None if the input to the user-provided function is a single Tensor with a single element."
        )
    return (ones_like(args[0]),)


def jvp(
    func: Callable[..., Any], inputs: Tensors, v: Tensors | None = None, create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """The outputs of a function, and its Jacobian times a vector.

    >>> torch.autograd.functional.jvp(lambda x: x**2, torch.tensor([1.0, 3.0]), torch.tensor([1.0, 10.0]))
    (tensor([1., 9.]), tensor([ 2., 60.]))
    """
    with enable_grad():
        several, args = as_tuple(inputs, "inputs", "jvp")
        args = prepared(args, create_graph)
        vector = _given_vector(v, args, several, "jvp", create_graph)
        out_several, outputs = _called(func, args, "jvp", strict)
        trick = _zeros_with_grad(outputs)
        grads = gradients(outputs, args, trick, create_graph=True)
        require_grad_everywhere(grads, "grad_inputs", strict)
    if create_graph:
        with enable_grad():
            products = gradients(grads, trick, vector, create_graph=True)
            result = filled(products, outputs, strict, create_graph, "back_trick")
    else:
        products = gradients(grads, trick, vector, create_graph=False)
        result = filled(products, outputs, strict, create_graph, "back_trick")
    outputs, result = finish(outputs, create_graph), finish(result, create_graph)
    return unwrapped(outputs, out_several), unwrapped(result, out_several)


def _zeros_with_grad(like: Sequence[Tensor]) -> tuple[Tensor, ...]:
    return tuple(zeros_like(t).requires_grad_() for t in like)


# ----- Whole matrices ---------------------------------------------------------------------------------------------------------------


def jacobian(
    func: Callable[..., Any], inputs: Tensors, create_graph: bool = False, strict: bool = False,
    vectorize: bool = False, strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """The Jacobian of a function: the shape of each output followed by the shape of each input.

    >>> torch.autograd.functional.jacobian(lambda x: x**2, torch.tensor([1.0, 3.0]))
    tensor([[2., 0.],
            [0., 6.]])
    """
    if strategy == "forward-mode":
        return _forward_jacobian(func, inputs, create_graph, strict, vectorize)
    if strategy != "reverse-mode":
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more outputs than '
            'inputs, "forward-mode" tends to be more performant. Otherwise, prefer to use "reverse-mode".'
        )
    with enable_grad():
        several, args = as_tuple(inputs, "inputs", "jacobian")
        args = prepared(args, create_graph)
        out_several, outputs = _called(func, args, "jacobian", strict)
        if vectorize and strict:
            raise RuntimeError(
                "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. Please "
                "either set `strict=False` or `vectorize=False`."
            )
        rows = [_rows(i, out, args, create_graph, strict, vectorize) for i, out in enumerate(outputs)]
        rows = [finish(row, create_graph) for row in rows]
    return unwrapped(tuple(unwrapped(row, several) for row in rows), out_several)


def _rows(
    index: int, out: Tensor, args: tuple[Any, ...], create_graph: bool, strict: bool, vectorize: bool
) -> tuple[Any, ...]:
    """The Jacobian of one output with respect to each input, by one backward pass per element of the output."""
    count = out.numel()
    if not count or not out.requires_grad:
        return tuple(_zeros(out, arg) for arg in args)
    if vectorize:
        return _rows_at_once(out, args, create_graph)
    if out.is_complex():
        raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {out.dtype}")
    columns: list[list[Any]] = [[] for _ in args]
    for unit in _basis(out):
        for i, (column, grad) in enumerate(zip(columns, gradients((out,), args, (unit,), create_graph, True))):
            if grad is None:
                if strict:
                    raise RuntimeError(
                        f"Output {index} of the user-provided function is independent of input {i}. This is not allowed in "
                        "strict mode."
                    )
                grad = zeros_like(args[i])
            elif strict and create_graph and not grad.requires_grad:
                raise RuntimeError(
                    f"The jacobian of the user-provided function is independent of input {index}. This is not allowed in "
                    "strict mode when create_graph=True."
                )
            column.append(grad)
    return tuple(stack(column).view(*out.shape, *arg.shape) for column, arg in zip(columns, args))


def _rows_at_once(out: Tensor, args: tuple[Any, ...], create_graph: bool) -> tuple[Any, ...]:
    """`_rows` with all elements in one batch."""
    count = out.numel()
    basis = eye(count, dtype=out.dtype).view(count, *out.shape)
    grads = differentiate(
        out, args, basis, retain_graph=True, create_graph=create_graph, allow_unused=True, is_grads_batched=True
    )
    return tuple(_zeros(out, a) if g is None else g.view(*out.shape, *a.shape) for g, a in zip(grads, args))


def _zeros(out: Tensor, arg: Tensor) -> Tensor:
    return zeros(*out.shape, *arg.shape, dtype=arg.dtype)


def _basis(out: Tensor) -> Any:
    """Tensors like `out` that are 1 at one element and 0 elsewhere, for each element."""
    for j in range(out.numel()):
        unit = np.zeros(out._array.shape, out._array.dtype)
        unit.reshape(-1)[j] = 1
        yield wrap(unit)


def _forward_jacobian(
    func: Callable[..., Any], inputs: Tensors, create_graph: bool, strict: bool, vectorize: bool
) -> Any:
    """The Jacobian by forward mode: one pass with a batch of tangents, one for each element of the inputs."""
    from ..func.level import BatchLevel

    if create_graph:
        raise NotImplementedError(
            'torch.autograd.functional.jacobian: `create_graph=True` and `strategy="forward-mode"` are not supported '
            'together (yet). Please either set `create_graph=False` or `strategy="reverse-mode"`.'
        )
    if strict:
        raise RuntimeError(
            'torch.autograd.functional.jacobian: `strict=True` and `strategy="forward-mode"` are not supported together (yet). '
            'Please either set `strict=False` or `strategy="reverse-mode"`.'
        )
    several, args = as_tuple(inputs, "inputs", "jacobian")
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly implemented for `vectorize=True`."
        )
    total = sum(arg.numel() for arg in args)
    units = _jacobians._units(list(args), 0, total)
    with BatchLevel(total, tangents_only=True) as level, _forward_ad.dual_level():
        duals = [_forward_ad.make_dual(arg, _mapping.enter(level, unit, 0)) for arg, unit in zip(args, units)]
        out_several, outputs = as_tuple(func(*duals), "outputs of the user-provided function", "jacobian")
        moved = [_mapping.leave(level, _tangent(_forward_ad.unpack_dual(out)), 0, "jacobian") for out in outputs]
    # PyTorch returns lists if there are several inputs.
    rows = [
        _jacobians._split_columns(m, list(args)) if several else _jacobians._split_columns(m, list(args))[0]
        for m in moved
    ]
    if not out_several:
        return rows[0]
    return rows if several else tuple(rows)


def _tangent(dual: Any) -> Tensor:
    return zeros_like(dual.primal) if dual.tangent is None else dual.tangent


def hessian(
    func: Callable[..., Any], inputs: Tensors, create_graph: bool = False, strict: bool = False,
    vectorize: bool = False, outer_jacobian_strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """The Hessian of a scalar-valued function.

    >>> torch.autograd.functional.hessian(lambda x: (x**3).sum(), torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    several, args = as_tuple(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')

    def number(*given: Any) -> Any:
        out = func(*given)
        was_tuple, outputs = as_tuple(out, "outputs of the user-provided function", "hessian")
        require_grad_everywhere(outputs, "outputs", strict)
        return single_output(outputs, was_tuple, "hessian").squeeze()

    def gradient(*given: Any) -> Any:
        if outer_jacobian_strategy == "forward-mode":
            given = tuple(t._require_grad_() for t in given)
        jac = jacobian(number, given, create_graph=True)
        require_grad_everywhere(jac, "jacobian", strict)
        return jac

    result = jacobian(gradient, args, create_graph, strict, vectorize, outer_jacobian_strategy)
    return unwrapped(tuple(unwrapped(row, several) for row in result), several)


# ----- Products with the Hessian ----------------------------------------------------------------------------------------------------


def vhp(
    func: Callable[..., Any], inputs: Tensors, v: Tensors | None = None, create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """The output of a scalar-valued function, and the product of a vector with its Hessian.

    >>> torch.autograd.functional.vhp(lambda x: (x**3).sum(), torch.tensor([1.0, 2.0]), torch.ones(2))
    (tensor(9.), tensor([ 6., 12.]))
    """
    return _times_hessian("vhp", func, inputs, v, create_graph, strict)


def hvp(
    func: Callable[..., Any], inputs: Tensors, v: Tensors | None = None, create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """The output of a scalar-valued function, and the product of its Hessian with a vector.

    `vhp` computes the same (the Hessian is symmetric), faster.

    >>> torch.autograd.functional.hvp(lambda x: (x**3).sum(), torch.tensor([1.0, 2.0]), torch.ones(2))
    (tensor(9.), tensor([ 6., 12.]))
    """
    return _times_hessian("hvp", func, inputs, v, create_graph, strict)


def _times_hessian(
    name: str, func: Callable[..., Any], inputs: Tensors, v: Tensors | None, create_graph: bool, strict: bool
) -> tuple[Any, Any]:
    with enable_grad():
        several, args = as_tuple(inputs, "inputs", name)
        sources = args = prepared(args, create_graph)
        vector = _given_vector(v, args, several, name, create_graph)
        out_several, outputs = _called(func, args, name, strict)
        single_output(outputs, out_several, name)
        made, stage = gradients(outputs, args, None, create_graph=True), "double_back"
        require_grad_everywhere(made, "jacobian", strict)
        if name == "hvp":
            sources, stage = _zeros_with_grad(args), "double_back_trick"
            made = gradients(made, args, sources, create_graph=True)
            require_grad_everywhere(made, "hessian", strict)
    with set_grad_enabled(create_graph or _is_grad_enabled()):
        result = filled(gradients(made, sources, vector, create_graph), args, strict, create_graph, stage)
    outputs, result = finish(outputs, create_graph), finish(result, create_graph)
    return unwrapped(outputs, out_several), unwrapped(result, several)


_explain(globals())
