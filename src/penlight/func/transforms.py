"""grad, grad_and_value, vjp, jvp, linearize: derivatives as functions."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

from ..autograd import forward_ad, modes
from ..autograd.modes import grad_mode
from ..creation import zeros_like
from ..tensor import Tensor
from ..utils._pytree import tree_flatten, tree_map, tree_unflatten, treespec_pprint
from .batched import physical
from .mapping import _like
from .reverse import Span, Tape, released

Argnums = int | tuple[int, ...]

# ----- Which arguments ----------------------------------------------------------------------------------------------


def _argument_index(argnum: Any, count: int) -> int:
    if not isinstance(argnum, int):
        raise RuntimeError(f"argnum must be int, got: {type(argnum)}")
    if not -count <= argnum < count:
        raise RuntimeError(f"Got argnum={argnum}, but only {count} positional inputs")
    return argnum % count


def indices(argnums: Any, count: int) -> tuple[int, ...]:
    """The positions of the differentiated arguments."""
    if isinstance(argnums, int):
        return (_argument_index(argnums, count),)
    if not isinstance(argnums, tuple):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    if not argnums:
        raise RuntimeError("argnums must be non-empty")
    found = tuple([_argument_index(a, count) for a in argnums])
    if len(set(found)) != len(found):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    return found


def picked(args: tuple[Any, ...], argnums: Any) -> Any:
    """The differentiated arguments: one, or a tuple."""
    found = indices(argnums, len(args))
    return args[found[0]] if isinstance(argnums, int) else tuple([args[i] for i in found])


def replaced(args: tuple[Any, ...], argnums: Any, values: Any) -> tuple[Any, ...]:
    """All arguments, with the differentiated ones replaced."""
    found = list(args)
    for index, value in zip(indices(argnums, len(args)), (values,) if isinstance(argnums, int) else values):
        found[index] = value
    return tuple(found)


def _parted(output: Any, has_aux: bool, name: str) -> tuple[Any, Any]:
    """The return value of a function, split into its output and `aux`."""
    if not has_aux:
        return output, None
    if not isinstance(output, tuple) or len(output) != 2:
        raise RuntimeError(f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True")
    return output


def _outside(value: Any, span: Span) -> Any:
    """An output or `aux`, as returned to the caller of a transform."""
    if isinstance(value, Tensor):
        return released(value, span)
    if isinstance(value, tuple):
        return tree_map(lambda v: _outside(v, span), tuple(value))
    raise RuntimeError(f"Expected tensors, got unsupported type {type(value)}")


# ----- Gradients of a number ----------------------------------------------------------------------------------------


def grad_and_value(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that returns the gradient of the scalar-valued `func`, and its value.

    >>> torch.func.grad_and_value(lambda x: x**2)(torch.tensor(3.0))
    (tensor(6.), tensor(9.))
    """

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        gradient, value, aux = _gradient(func, argnums, has_aux, args, kwargs)
        return (gradient, (value, aux)) if has_aux else (gradient, value)

    return _like(wrapper, func)


def grad(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that returns the gradient of the scalar-valued `func`.

    >>> torch.func.grad(torch.sin)(torch.tensor(0.0))
    tensor(1.)
    >>> torch.func.grad(torch.func.grad(lambda x: x**3))(torch.tensor(2.0))
    tensor(12.)
    """

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        gradient, _, aux = _gradient(func, argnums, has_aux, args, kwargs)
        return (gradient, aux) if has_aux else gradient

    return _like(wrapper, func)


def _gradient(
    func: Any, argnums: Any, has_aux: bool, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, Any, Any]:
    name = "grad_and_value(f)(*args)"
    with Tape() as tape:
        flat, spec = tree_flatten(picked(args, argnums))
        inputs = tree_unflatten([tape.enter(t) for t in flat], spec)
        output, aux = _parted(func(*replaced(args, argnums, inputs), **kwargs), has_aux, name)
        if not isinstance(output, Tensor):
            raise RuntimeError(f"{name}: Expected f(*args) to return a Tensor, got {type(output)}")
        if output.dim():
            raise RuntimeError(
                f"{name}: Expected f(*args) to return a scalar Tensor, got tensor with {output.dim()} dims. Maybe you wanted to "
                "use the vjp or jacrev APIs instead?"
            )
    found = tape.pull([output], None, keep=False, create_graph=tape.recording)
    aux = tree_map(lambda a: _outside(a, tape.span), aux) if has_aux else None
    return tree_unflatten(found, spec), released(output, tape.span), aux


# ----- Vector-Jacobian products -------------------------------------------------------------------------------------


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The output of `func`, and a function that maps cotangents (in the structure of the output) to gradients of the inputs.

    >>> output, pull = torch.func.vjp(torch.sin, torch.zeros(2))
    >>> pull(torch.ones(2))
    (tensor([1., 1.]),)
    """
    return vjp_of(func, primals, None, has_aux)


def vjp_of(func: Any, primals: tuple[Any, ...], argnums: Any, has_aux: bool = False) -> Any:
    """`vjp` with respect to some of the arguments."""
    name = "vjp(f, *primals)"
    with Tape() as tape:
        flat, spec = tree_flatten(primals if argnums is None else picked(primals, argnums))
        inputs = tree_unflatten([tape.enter(t) for t in flat], spec)
        arguments = inputs if argnums is None else replaced(primals, argnums, inputs)
        output, aux = _parted(func(*arguments), has_aux, name)
        outputs, out_spec = tree_flatten(output)
        if not outputs:
            raise RuntimeError(
                f"{name}: Expected f to be a function that has non-empty output (got output = {outputs})"
            )  # fmt: skip
        for out in outputs:
            _check_vjp_output(out)
    aux = tree_map(lambda a: _outside(a, tape.span), aux) if has_aux else None

    def pull(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        given, given_spec = tree_flatten(cotangents)
        if given_spec != out_spec:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. "
                f"cotangents: {treespec_pprint(given_spec)}, primal output: {treespec_pprint(out_spec)}"
            )
        wanted = grad_mode.get() if create_graph is None else create_graph
        return tree_unflatten(tape.pull(outputs, given, retain_graph, wanted), spec)

    result = tree_unflatten([released(out, tape.span) for out in outputs], out_spec)
    return (result, pull, aux) if has_aux else (result, pull)


def _check_vjp_output(out: Any) -> None:
    if not isinstance(out, Tensor):
        raise RuntimeError(
            f"vjp(f, *primals): expected f(*primals) to return only tensors, got unsupported type {type(out)}"
        )
    if not (out.dtype.is_floating_point or out.dtype.is_complex):
        raise RuntimeError(
            "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype "
            + str(out.dtype)
        )


# ----- Jacobian-vector products -------------------------------------------------------------------------------------

_JVP = "jvp(f, primals, tangents)"


def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """The output of `func`, and its derivative in the direction of the tangents.

    >>> torch.func.jvp(torch.sin, (torch.zeros(2),), (torch.tensor([1.0, 10.0]),))
    (tensor([0., 0.]), tensor([ 1., 10.]))
    """
    return jvp_of(func, primals, tangents, None, strict, has_aux)


def jvp_of(func: Any, primals: Any, tangents: Any, argnums: Any, strict: bool = False, has_aux: bool = False) -> Any:
    """`jvp` with respect to some of the arguments: `primals` are all, `tangents` those of the selected ones."""
    if not isinstance(primals, tuple):
        raise RuntimeError(f"{_JVP}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    moving = primals if argnums is None else picked(primals, argnums)
    flat, spec = tree_flatten(moving)
    moves, moves_spec = tree_flatten(tangents)
    if spec != moves_spec:
        raise RuntimeError(
            f"{_JVP}: Expected primals and tangents to have the same python structure. For example, if primals is a tuple of 3 "
            f"tensors, tangents also must be. Got primals with structure {spec} and tangents with structure {moves_spec}"
        )
    _check_tensors(flat, "primals")
    _check_tensors(moves, "tangents")
    level, span = forward_ad.open_level(), (next(modes.sequence), inf)
    level.number = modes.transforms.get() + 1
    modes.transforms.set(level.number)
    inference = modes.inference.get()
    modes.inference.set(False)  # in inference mode there are no tangents
    try:
        duals = tree_unflatten([_dual(level, p, t) for p, t in zip(flat, moves)], spec)
        arguments = duals if argnums is None else replaced(primals, argnums, duals)
        output, aux = _parted(func(*arguments), has_aux, _JVP)
        outputs, out_spec = tree_flatten(output)
        if not outputs:
            raise RuntimeError(
                f"{_JVP}: Expected f to be a function that has non-empty output (got output = {outputs})"
            )  # fmt: skip
        pairs = [[_within(t, span) for t in _undual(level, out, strict)] for out in outputs]
        aux = tree_map(lambda a: _primal(level, a), aux) if has_aux else None
    finally:
        modes.inference.set(inference)
        modes.transforms.set(modes.transforms.get() - 1)
        forward_ad.close_level(level)
    value, moved = (tree_unflatten(list(column), out_spec) for column in zip(*pairs))
    return (value, moved, aux) if has_aux else (value, moved)


def _within(tensor: Any, span: Span) -> Any:
    """A result whose graph is dropped if it leads only to tensors made inside."""
    return released(tensor, span) if physical(tensor).requires_grad else tensor


def _check_tensors(flat: list[Any], name: str) -> None:
    if not flat:
        raise RuntimeError(f"{_JVP}: Expected {name} to contain at least one Tensor.")
    for t in flat:
        if not isinstance(t, Tensor):
            raise RuntimeError(f"{_JVP}: Expected {name} to only contain Tensors, got {type(t)}")


def _dual(level: Any, primal: Tensor, tangent: Tensor) -> Any:
    for t, name in ((primal, "primal"), (tangent, "tangent")):
        if not (t.dtype.is_floating_point or t.dtype.is_complex):
            raise ValueError(f"Expected {name} to be floating point or complex, but got: {t.dtype}")
    if primal.shape != tangent.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not supported. "
            f"Tensor is of size {list(primal.shape)} while the given forward gradient is of size {list(tangent.shape)}."
        )
    return forward_ad.lift(level, primal, tangent)


def _undual(level: Any, out: Any, strict: bool) -> tuple[Any, Any]:
    if not isinstance(out, Tensor):
        raise RuntimeError(f"{_JVP}: expected f(*primals) to return only tensors, got unsupported type {type(out)}")
    value, tangent = forward_ad.lower(level, out)
    if tangent is None:
        if strict:
            raise RuntimeError(
                "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not allowed with "
                "strict=True."
            )
        tangent = zeros_like(value)
    return value, tangent


def _primal(level: Any, value: Any) -> Any:
    return forward_ad.lower(level, value).primal if isinstance(value, Tensor) else value


# ----- Linear approximation -----------------------------------------------------------------------------------------


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """The output of `func`, and its derivative at that point as a function of tangents.

    >>> output, push = torch.func.linearize(torch.sin, torch.zeros(2))
    >>> push(torch.ones(2))
    tensor([1., 1.])
    """
    output = func(*primals)
    flat, spec = tree_flatten(primals)
    described = [(p.shape, p.dtype) for p in flat]

    def push(*tangents: Any) -> Any:
        moves, moves_spec = tree_flatten(tangents)
        if moves_spec != spec:
            raise RuntimeError(f"Expected the tangents {moves_spec} to have the same argspec as the primals {spec}")
        for index, (t, known) in enumerate(zip(moves, described)):
            for what, mine, wanted in zip(("shape", "dtype"), (t.shape, t.dtype), known):
                if mine != wanted:
                    raise RuntimeError(
                        f"tangent:{index} with {what} {mine} in flattened pytree doesn't match the {what} {wanted} of the "
                        "corresponding primal."
                    )
        return jvp(func, primals, tangents)[1]

    return output, push


# ----- Others -------------------------------------------------------------------------------------------------------


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """The function itself. In PyTorch a tracer would see no in-place ops in it; there is no tracer here.

    >>> torch.func.functionalize(lambda x: x.clone().add_(1))(torch.tensor(1.0))
    tensor(2.)
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. Valid options are:\n"
            "     remove='mutations': all inplace and out= operators will be removed from the program, and replaced with their "
            "out-of-place equivalents.\n"
            "     remove='mutations_and_views': In addition to the above, all aliasing operators {view} will be replaced with "
            "their non-aliasing counterparts, {view}_copy.\n"
        )

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **kwargs)

    return _like(wrapped, func)


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """The tensor inside one that a transform made: for a vmapped one, the full batch. For debugging only.

    >>> seen = []
    >>> _ = torch.vmap(lambda x: seen.append(torch.func.debug_unwrap(x)) or x)(torch.ones(2))
    >>> seen
    [tensor([1., 1.])]
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(f"Expected a Tensor, got {type(tensor)}")
    if tensor._level is None:
        return tensor
    batched: Any = tensor
    return physical(batched) if recurse else batched._value
