"""Generates the variant of an elementwise op for operands of mixed dtypes, bfloat16, complex numbers, and scalars of another kind.

It does what the readable path does (`execute` in `dispatch.py`), specialised to the op's arguments, and leaves rarer cases to that path:
NumPy's scalars, argument errors.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

import numpy as np

from ... import dtypes
from ...autograd.modes import NAMESPACE
from ...kernels.copies.convert import cast_operand, is_half, plain_mask
from ...kernels.elementwise.strategies import least_size
from .dispatch import cast_number, execute, fit_of_arrays, narrow, stays_full
from .generate import _edges, _make, _node, _number, _save, lays_out
from .guards import refusal
from .op import NUMBER, TENSOR, Op

_NUMBER_TYPES = frozenset((int, float, bool, complex))

# The common dtype of operands, keyed by their dtypes, whether they have dimensions, the types of scalars, and the default dtype.
_common: dict[Any, Any] = {}


def promoted(op: Op, *operands: Any) -> Any:
    """The operands in their common dtype; None if the readable path must decide. See Note [Dimension categories] in dtypes.py."""
    key: Any = (
        op.floating,
        dtypes._default[0],
        *[(a.dtype, a.ndim > 0) if type(a) is np.ndarray else type(a) for a in operands],
    )
    try:
        common = _common[key]
    except KeyError:
        common = _common[key] = _find_common(op, operands)
    if common is None or (op.traits.refuses and refusal(op, common.np) is not None):
        return None
    np_dtype = common.np
    found = [
        (a if a.dtype is np_dtype else cast_operand(a, np_dtype)) if type(a) is np.ndarray else cast_number(a, common)
        for a in operands
    ]
    if op.traits.compares_bytes and common is dtypes.bool_:
        return [plain_mask(a) for a in found]
    if op.traits.full_scalars and is_half(np_dtype) and stays_full(operands[-1]):
        found[-1] = np.asarray(operands[-1], np.float32)
    return found


def _find_common(op: Op, operands: tuple[Any, ...]) -> Any:
    arrays = [a for a in operands if type(a) is np.ndarray]
    if any(a.dtype.kind not in "biufc" and a.dtype is not dtypes.bfloat16._np for a in arrays):
        return None
    common = dtypes.result_dtype(arrays, [n for n in operands if type(n) is not np.ndarray])
    return dtypes.get_default_dtype() if op.floating and common.category < dtypes.FLOATING else common


NAMESPACE.update(
    NUMBER_TYPES=_NUMBER_TYPES, promoted=promoted, fit_of_arrays=fit_of_arrays, execute=execute, narrow=narrow
)


def mixed(op: Op) -> Any:
    """The generated function of an op for such operands."""
    source = op.source
    made = FunctionType(_make(op, _lines(op), "mixed"), NAMESPACE, op.name, op.face.__defaults__)
    made.__kwdefaults__ = op.face.__kwdefaults__
    op.source = source
    return made


def _lines(op: Op) -> list[str]:
    arguments = ", ".join(op.parameters)
    leave = f"return execute(op_{op.name}, ({arguments},))"
    if op.outputs > 1 or any(op.kinds[i] not in (TENSOR, NUMBER) for i in op.inputs):
        return [f"def {op.name}({arguments}):", f"    {leave}"]
    body = []
    for i in op.inputs:
        if op.kinds[i] == NUMBER:
            body += [f"other_kind = type({i}) in NUMBER_TYPES", f"{i}_ = {i} if other_kind else {i}._array"]
        else:
            body.append(f"{i}_ = {i}._array")
    operands, number = op.operands, _number(op)
    body += [f"found = promoted(op_{op.name}, {', '.join(i + '_' for i in operands)})", f"if found is None: {leave}"]
    if op.check is not None:
        body.append(f"op_{op.name}.check({{{', '.join(f'{p!r}: {p}' for p in op.parameters)}}})")
    body.append(f"{', '.join(i + '_p' for i in operands)}, = found")
    given = ", ".join(p + "_p" if p in operands else p + "_" if p in op.inputs else p for p in op.parameters)
    call = f"kernel_{op.name}({given})"
    if type(op.kernel) is np.ufunc or hasattr(op.kernel, "one_pass"):
        least = f"HALVES if {operands[0]}_p.itemsize == 2 else {least_size(op.kernel)}"
        call = f"{call} if {operands[0]}_.size < ({least}) else apply_elementwise(kernel_{op.name}, {given})"
    full = f" or {operands[0]}_p.dtype is float16" if op.traits.full_scalars else ""
    strided = " or ".join(f"type({i}_p) is ndarray and not {i}_p.flags.c_contiguous" for i in operands)
    body += [
        "versions = None",
        f"if {lays_out(op)} and ({strided}): result = arranged(op_{op.name}, {given}); versions = [0, None]",
        f"else: result = {call}",
        "if type(result) is not ndarray: result = asarray(result)",
        # Notes [Numbers beside bfloat16] and [Numbers beside 16-bit floats]
        f"if {operands[0]}_p.dtype.kind == 'V'{full}: result = narrow(result, {operands[0]}_p.dtype)",
        "wrapped = new(Tensor)",
        "wrapped._array = result",
        "wrapped._edge = NO_EDGE",
        "wrapped._vc = versions; wrapped._grad = wrapped._view = wrapped._rare_state = None",
    ]
    if op.rules:
        body.append("if result.dtype.kind not in 'fcV': return wrapped")
        if number is not None:
            body += ["if other_kind:", *("    " + line for line in _record(op, number))]
        body += _record(op)
    else:
        body.append("return wrapped")
    return [
        f"def {op.name}({arguments}):",
        "    try:",
        *("        " + line for line in body),
        "    except (AttributeError, ValueError, TypeError): pass  # which is explained there",
        f"    {leave}",
    ]


def _record(op: Op, number: str | None = None) -> list[str]:
    """Lines that add a node to the graph if an input requires grad, and return; `number` is the operand that is a scalar here."""
    return [
        *_edges(op, number),
        "    return wrapped",
        *_node(op, number),
        "node._shape = result.shape",
        f"node._fit = fit_of_arrays(result, ({', '.join(i + '_' for i in op.rules)},))",
        *_save(op, number),
        "wrapped._edge = (node, 0)",
        "return wrapped",
    ]
