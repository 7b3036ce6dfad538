"""torch.autograd.functional: argument checks, conversion of inputs and outputs, and PyTorch's errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..creation import zeros_like
from ..tensor import Tensor
from . import grad as differentiate


def as_tuple(value: Any, what: str, name: str) -> tuple[bool, tuple[Any, ...]]:
    """A tensor or tuple of tensors as a tuple, and whether it was one."""
    was_tuple = isinstance(value, tuple)
    tensors = value if was_tuple else (value,)
    for index, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):
            where = f"value at index {index}" if was_tuple else f"given {what}"
            raise TypeError(
                f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but the {where} has type "
                f"{type(tensor)}."
            )
    return was_tuple, tensors


def unwrapped(tensors: Any, several: bool) -> Any:
    return tensors if several else tensors[0]


def prepared(tensors: Sequence[Tensor], create_graph: bool, need_graph: bool = True) -> tuple[Tensor, ...]:
    """New tensors with these values that require grad; with create_graph they stay connected to the caller's graph."""
    made = []
    for tensor in tensors:
        fresh = tensor.view_as(tensor) if create_graph else tensor.detach()
        if need_graph and not fresh.requires_grad:
            fresh.requires_grad_()
        made.append(fresh)
    return tuple(made)


def finish(tensors: Sequence[Any], create_graph: bool) -> tuple[Any, ...]:
    """Detach the results unless create_graph was requested."""
    return tuple(tensors) if create_graph else tuple(t.detach() for t in tensors)


def gradients(
    outputs: Sequence[Any], inputs: Sequence[Tensor], vector: Sequence[Any] | None, create_graph: bool,
    keep: bool = False,
) -> tuple[Any, ...]:  # fmt: skip
    """`autograd.grad` that skips outputs without a graph and returns None for inputs without a gradient."""
    if vector is None:
        vector = (None,) * len(outputs)
    pairs = [(o, v) for o, v in zip(outputs, vector) if o is not None and o.requires_grad]
    if not pairs:
        return (None,) * len(inputs)
    return differentiate(
        [o for o, _ in pairs],
        inputs,
        [v for _, v in pairs],
        retain_graph=True if keep else None,
        create_graph=create_graph,
        allow_unused=True,
    )


_NONE = {
    "back": "The output of the user-provided function is independent of input {}. This is not allowed in strict mode.",
    "back_trick": "The gradient with respect to the input is independent of entry {} in the grad_outputs when using the double "
    "backward trick to compute forward mode gradients. This is not allowed in strict mode.",
    "double_back": "The jacobian of the user-provided function is independent of input {}. This is not allowed in strict mode.",
    "double_back_trick": "The hessian of the user-provided function is independent of entry {} in the grad_jacobian. This is "
    "not allowed in strict mode as it prevents from using the double backward trick to replace forward mode AD.",
}


def filled(
    grads: Sequence[Any], like: Sequence[Tensor], strict: bool, create_graph: bool, stage: str
) -> tuple[Any, ...]:
    """Replace missing gradients by zeros; in strict mode, raise."""
    found = []
    for index, (grad, tensor) in enumerate(zip(grads, like)):
        if grad is None and strict:
            raise RuntimeError(_NONE[stage].format(index))
        if grad is not None and strict and create_graph and not grad.requires_grad:
            matrix = "hessian" if "double" in stage else "jacobian"
            raise RuntimeError(
                f"The {matrix} of the user-provided function is independent of input {index}. This is not allowed in strict "
                "mode when create_graph=True."
            )
        found.append(zeros_like(tensor) if grad is None else grad)
    return tuple(found)


_WITHOUT_GRAD = {
    "outputs": "Output {} of the user-provided function does not require gradients. The outputs must be computed in a "
    "differentiable manner from the input when running in strict mode.",
    "grad_inputs": "The gradient with respect to input {} is independent of the inputs of the user-provided function. This is "
    "not allowed in strict mode.",
    "jacobian": "While computing the hessian, found that the jacobian of the user-provided function with respect to input {} is "
    "independent of the input. This is not allowed in strict mode. You should ensure that your function is twice "
    "differentiable and that the jacobian depends on the inputs (this would be violated by a linear function for example).",
    "hessian": "While computing the hessian, found that the jacobian of the user-provided function with respect to input {} is "
    "independent of the input. This is not allowed in strict mode. You should ensure that your function is twice "
    "differentiable and that the jacobian depends on the inputs (this would be violated by a linear function for example).",
}
_MISSING = "The output of the user-provided function is independent of input {}. This is not allowed in strict mode."


def require_grad_everywhere(tensors: Sequence[Any], what: str, strict: bool) -> None:
    """In strict mode, refuse outputs that do not depend on the inputs."""
    if not strict:
        return
    for index, tensor in enumerate(tensors):
        if tensor is None:
            raise RuntimeError(_MISSING.format(index))
        if not tensor.requires_grad:
            raise RuntimeError(_WITHOUT_GRAD[what].format(index))


def single_output(outputs: Sequence[Any], was_tuple: bool, name: str) -> Any:
    """The only output of a function that must return a scalar."""
    if was_tuple:
        raise RuntimeError(f"The function given to {name} should return a single Tensor")
    if outputs[0].numel() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {name} should contain a single element")
    return outputs[0]


def check_vector(vector: Sequence[Tensor], like: Sequence[Tensor], several: bool) -> None:
    """Refuse a vector whose shapes differ from those of the tensors it multiplies."""
    if several and len(vector) != len(like):
        raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(vector)}.")
    if not several and len(vector) != 1:
        raise RuntimeError("The given v should contain a single Tensor.")
    for index, (v, tensor) in enumerate(zip(vector, like)):
        if v.shape != tensor.shape:
            which = f"Entry {index} in v" if several or len(like) > 1 else "v"
            raise RuntimeError(f"{which} has invalid size: should be {tensor.shape} but got {v.shape}.")


# ----- By PyTorch's names, for libraries that import them -----------------------------------------------------------


def _as_tuple(inp: Any, arg_name: str | None = None, fn_name: str | None = None) -> tuple[bool, tuple[Any, ...]]:
    """A tensor or tuple of tensors as a tuple, and whether it was one. Without names, elements of any type are accepted."""
    if arg_name is None and fn_name is None:
        return isinstance(inp, tuple), inp if isinstance(inp, tuple) else (inp,)
    return as_tuple(inp, str(arg_name), str(fn_name))


def _tuple_postprocess(res: Any, to_unpack: bool | tuple[bool, bool]) -> Any:
    """Undo `_as_tuple`: unwrap tuples (or tuples of tuples) that were made from a single tensor."""
    if isinstance(to_unpack, tuple):
        outer, inner = to_unpack
        rows = res if inner else tuple(row[0] for row in res)
        return rows if outer else rows[0]
    return res if to_unpack else res[0]


def _grad_postprocess(inputs: Any, create_graph: bool) -> Any:
    """Detach gradients, also in nested tuples, unless create_graph was requested."""
    if create_graph:
        return inputs
    return tuple(t.detach() if isinstance(t, Tensor) else _grad_postprocess(t, create_graph) for t in inputs)


def _construct_standard_basis_for(tensors: Sequence[Tensor], tensor_numels: Sequence[int]) -> tuple[Tensor, ...]:
    """The standard basis of the space of all elements of some tensors: for each tensor its part of the basis, one vector per row."""
    rows, start, parts = sum(tensor_numels), 0, []
    for tensor, count in zip(tensors, tensor_numels):
        part = tensor.new_zeros(rows, count)
        part.diagonal(-start).fill_(1)
        parts.append(part)
        start += count
    return tuple(parts)
