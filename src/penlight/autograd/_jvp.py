"""The forward-mode derivative of an op: derived from its rules according to its kind, or given explicitly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..ops.machinery.array_namespace import graph
from ..ops.machinery.op import slot_kind
from . import grad as gradient
from .modes import grad_mode

if TYPE_CHECKING:
    from ..ops.machinery.op import Op
    from ..tensor import Tensor


def jvp(op: Op, arguments: tuple[Any, ...], tangents: dict[str, Any], result: Any) -> list[Any]:
    """The tangents of an op's results from those of its inputs: by the op's kind, or by transposing its rules."""
    env = dict(zip(op.parameters, arguments))
    results = result if isinstance(result, tuple) else (result,)
    if op.kind == "multi":
        env["result"] = results
    else:
        env.update(zip(op.results, results))
    if callable(op.jvp):
        moved = op.jvp(tangents, env, graph)
        return list(moved) if isinstance(moved, (tuple, list)) else [moved]
    for name in tangents:
        if (without := getattr(op.rules[name], "not_forward", None)) is not None:
            raise NotImplementedError(f"Trying to use forward AD with {without.format(op.public)}")
    if op.jvp == "pointwise" and not op.complex_rule:
        return [_pointwise(op, env, tangents, results[0])] if results[0].dtype.category >= 2 else [None]
    if op.jvp == "linear":
        return _linear(op, env, tangents)
    if op.jvp == "bilinear":
        return [_bilinear(op, env, tangents)]
    return _transposed(op, env, tangents, results, [r.dtype.category >= 2 for r in results])


def _wants(op: Op, name: str, env: dict[str, Any], grad: Any, needs: list[bool]) -> list[Any]:
    """The values that a rule needs, taken from the arguments and results."""
    env["grad"] = env["grads"] = grad
    env["xp"], env["needs"] = graph, needs
    return [env[want] if want in env else _told(op, want, env) for want in op.wants[name]]


def _told(op: Op, want: str, env: dict[str, Any]) -> Any:
    """A shape or dtype that a rule needs."""
    value = env[want.rpartition("_")[0]]
    if value is None:
        return None
    return tuple(value.shape) if slot_kind(op, want) == "shape" else value.dtype.np


def _pointwise(op: Op, env: dict[str, Any], tangents: dict[str, Any], result: Tensor) -> Any:
    total: Any = None
    dtype = result.dtype
    for name in op.operands:  # of integers or bools, as in the backward pass
        if hasattr(env[name], "_edge") and env[name].dtype.category < 2:
            env[name] = env[name].to(dtype)
    for name, tangent in tangents.items():
        if tangent.dtype is not dtype:
            tangent = tangent.to(dtype)
        part = op.rules[name](*_wants(op, name, env, tangent, [i == name for i in op.rules]))
        total = part if total is None else total + part
    if total is None:
        return None
    if total.shape != result.shape:
        total = total.expand(result.shape)
    return total if total.dtype is dtype else total.to(dtype)


def _zeros(tensor: Any) -> Any:
    return tensor.new_zeros(tensor.shape)


def _linear(op: Op, env: dict[str, Any], tangents: dict[str, Any]) -> list[Any]:
    """The op applied to the tangents, with zeros for inputs that have none."""
    arguments = []
    for p in op.parameters:
        value = env[p]
        if p in tangents and isinstance(tangents[p], list):
            value = tuple(_zeros(v) if t is None else t for v, t in zip(value, tangents[p]))
        elif p in tangents:
            value = tangents[p]
        elif p in op.rules and hasattr(value, "_edge"):
            value = _zeros(value)
        arguments.append(value)
    moved = op.function(*arguments)
    return list(moved) if isinstance(moved, tuple) else [moved]


def _bilinear(op: Op, env: dict[str, Any], tangents: dict[str, Any]) -> Any:
    total = None
    for name, tangent in tangents.items():
        part = op.function(*(tangent if p == name else env[p] for p in op.parameters))
        total = part if total is None else total + part
    return total


def _transposed(op: Op, env: dict[str, Any], tangents: dict[str, Any], results: Any, floating: list[bool]) -> list[Any]:
    """Forward mode from the backward rules alone.

    A rule is linear in the gradient u of the result: rule(u) = Jᵀu. Its own gradient in u, for the tangent t, is J t.
    """
    before = grad_mode.get()
    try:
        grad_mode.set(True)
        cotangents = [_zeros(r)._require_grad_() if f else None for r, f in zip(results, floating)]
        given: Any = cotangents[0] if op.outputs == 1 and op.kind != "multi" else cotangents
        needs = [p in tangents for p in op.rules]
        backs, moves = [], []
        for name, tangent in tangents.items():
            back = op.rules[name](*_wants(op, name, env, given, needs))
            if isinstance(tangent, list):
                pairs = [(b, t) for b, t in zip(back, tangent) if t is not None]
            else:
                back = back if back is None or back.shape == tangent.shape else _fit(back, tangent.shape)
                pairs = [(back, tangent)]
            for b, t in pairs:
                if b is not None and b.requires_grad:
                    backs.append(b)
                    moves.append(t if t.dtype is b.dtype else t.to(b.dtype))
    finally:
        grad_mode.set(before)
    wanted = [u for u in cotangents if u is not None]
    if not backs:
        return [None if u is None else _zeros(u) for u in cotangents]
    found = iter(
        gradient(backs, wanted, moves, create_graph=grad_mode.get(), allow_unused=True, materialize_grads=True)
    )
    return [None if u is None else next(found) for u in cotangents]


def _fit(tensor: Tensor, shape: Any) -> Tensor:
    return graph.sum_to(tensor, tuple(shape))  # type: ignore[no-any-return]
