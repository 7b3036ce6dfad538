"""Generates the function that runs an op's rules on arrays. See Note [Generated ops] in generate.py."""

from __future__ import annotations

from typing import Any

import numpy as np

from .generate import joins
from .op import LIST, NUMBER, OPTIONAL, TENSOR, Op, freed_wants, saved_anyhow, slot_kind, unpack_order
from .rules import elementwise_rule
from .ufunc_calls import written_out


def backward(op: Op) -> list[str]:
    """The source of `run_raw(node, grad, keep)`."""
    grad = "grads" if op.outputs > 1 or op.kind == "multi" else "grad"
    out = [f"def run_raw(node, {grad}, keep):"]
    if any(op.kinds[i] == LIST for i in op.rules):
        leave = f"return dispatch_backward(node, {grad}, keep)"
        if not joins(op):
            return [*out, f"    {leave}"]
        ((i, wants),) = op.wants.items()
        values = ", ".join(_unpack(op, want, False)[0] for want in wants)
        return [*out, f"    if node._fit is not None or PARTIAL: {leave}", f"    return rule_{op.name}_{i}({values})"]
    out.append("    fit = node._fit")
    out.append(f"    if fit is not None and type(fit) is not tuple: return dispatch_backward(node, {grad}, keep)")
    if len(op.wants) > 1 or "needs" in next(iter(op.wants.values()), ()):
        out.append("    edges = node.next_functions if not PARTIAL else wanted_edges_checked(node)")
    if grad == "grads":
        out.append("    if type(grads) is not list: grads = [grads]")
        out.append(f"    elif nothing(grads): return (None,) * {len(op.rules)}")
    out.append("    try:")
    if _on_scalars(op):
        out += ["        if type(grad) is ndarray:", *("            " + line for line in _gradients(op))]
        out += ["        else:", *("            " + line for line in _gradients(op, scalars=True))]
    else:
        out += ["        " + line for line in _gradients(op)]
    out += ["    except AttributeError as error:", "        explain(node, error)"]
    freed = [f"node.s_{w}" for w in freed_wants(op)]
    if freed:
        out.append(f"    if not keep: {' = '.join(freed)} = FREED")
    out.append(f"    return ({', '.join('g_' + i for i in op.rules)},)")
    return out


def _on_scalars(op: Op) -> bool:
    """Whether the rules run on NumPy scalars if the gradient is one, as that of a 0-d result is.

    Arithmetic on two NumPy scalars takes a tenth of the time of arithmetic with a 0-d array.
    """
    arithmetic = type(op.kernel) is np.ufunc or all(written_out(op, i) for i in op.rules)
    return op.kind == "pointwise" and op.outputs == 1 and arithmetic


def _gradients(op: Op, scalars: bool = False) -> list[str]:
    """Lines that compute `g_input`, `g_other`, ...; None for an edge that leads nowhere."""
    bodies = {i: _rule(op, index, i, scalars) for index, i in enumerate(op.wants)}
    out = []
    if any(" if small else " in line for body in bodies.values() for line in body):
        least = "COSTLY" if any(map(_costly, op.rules.values())) else "LARGE"
        out.append(f"small = grad.size < HALVES or grad.size < {least} and grad.itemsize != 2")
    for index, (i, body) in enumerate(bodies.items()):
        if len(bodies) > 1:
            # A dead end still computes its gradient if PyTorch checks its saved tensors, and raises if they were freed.
            dead = f" and edges[{index}] is not DEAD_END" if saved_anyhow(op, i) else ""
            out.append(f"if edges[{index}][0] is None{dead}: g_{i} = None")
            body = ["else:", *("    " + line for line in body)]
        out += body
    return out


_COSTLY = {
    "exp", "expm1", "exp2", "log", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh", "sqrt", "_pow", "power", "_div_floor",
}  # fmt: skip


def _costly(rule: Any) -> bool:
    """Whether a rule calls a function that is expensive in NumPy."""
    return not _COSTLY.isdisjoint(rule.__code__.co_names)


def _rule(op: Op, index: int, i: str, scalars: bool) -> list[str]:
    """Lines that fetch the values one rule needs, and run it."""
    wants = op.wants[i]
    lines: list[str] = []
    fetched = {want: _unpack(op, want, scalars) for want in wants}
    for want in unpack_order(op, i):
        lines += fetched[want][1]
    values = [fetched[want][0] for want in wants]
    call = f"rule_{op.name}_{i}({', '.join(values)})"
    fits = op.kind == "pointwise" and len([k for k in op.inputs if op.kinds[k] != OPTIONAL]) > 1
    if op.kind == "pointwise" and not scalars:
        call = written_out(op, i) or call
        if elementwise_rule(op, i):
            call = f"({call})" if " else " in call else call
            call += f" if small else apply_elementwise(rule_{op.name}_{i}, {', '.join(values)})"
            if fits and values[0] == "grad":
                call += f" if fit is None else apply_summed(fit[{index}], rule_{op.name}_{i}, {', '.join(values)})"
    lines.append(f"g_{i} = {call}")
    if fits:
        lines.append(f"if fit is not None and g_{i}.shape != fit[{index}]: g_{i} = sum_to(g_{i}, fit[{index}])")
    return lines


def _unpack(op: Op, want: str, scalars: bool) -> tuple[str, list[str]]:
    """The expression for a saved value in the array namespace, and the lines that fetch and check it."""
    kind = slot_kind(op, want)
    if kind == "call":
        return {"xp": "raw", "needs": "[e[0] is not None for e in edges]"}.get(want, want), []
    if kind in ("plain", "shape", "dtype", "strides"):
        return f"node.s_{want}", []
    if kind == "result":
        output_nr = op.results.index(want)
        return want, [
            f"{want} = node.s_{want}",
            f"if node.c_{want}[0] != node.v_{want}: result_modified(node, {want}, node.c_{want}[0], node.v_{want}, {output_nr})",
            f"if type({want}) is not ndarray: {want} = {want}._array",
            *([f"{want} = {want}[()]"] if scalars else []),
        ]
    lines = [f"{want} = node.s_{want}"]
    check = [
        f"vc = {want}._vc",
        f"if vc is not None and vc[0] != node.v_{want}: input_modified({want}, node.v_{want}, node, '{want}')",
        f"{want} = {want}._array" + ("[()]" if scalars else ""),
    ]
    if op.kinds[want] == TENSOR:
        return want, lines + check
    test = f"{want} is not None" if op.kinds[want] == OPTIONAL else f"node.v_{want} is not None"
    lines += [f"if {test}:", *("    " + c for c in check)]
    if op.kinds[want] == NUMBER:
        lines.append(f"elif {want} is FREED: raise AttributeError")
        if type(op.kernel) is np.ufunc and not scalars:
            lines.append(f"elif grad.dtype is float32: {want} = NUMBERS32.get({want}, {want})")
        if op.traits.full_scalars:
            lines.append(f"elif grad.itemsize == 2: {want} = asarray({want}, float32)")
    return want, lines
