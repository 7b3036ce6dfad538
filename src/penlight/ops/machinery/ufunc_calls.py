"""Translates rules into ufunc calls.

# Note [Rules written out]
On small arrays, half the cost of a rule like `grad * (1 - result * result)` is its own call, Python's operators, and converting
`1` to an array. So when an op's backward is generated, its rules are called once with symbolic terms as arguments.
A rule that only does arithmetic with them becomes an expression of ufuncs, here
`multiply(grad, subtract(number_1, multiply(result, result)))`, with its constants stored as float32 arrays. Any other rule, and this
one for other dtypes, is called unchanged. Both give the same bits (tests/ops/test_ufunc_calls.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...autograd.modes import NAMESPACE
from .op import Op, slot_kind


class Beyond(Exception):
    """Raised when a term is used for anything but arithmetic."""


class Term:
    """Represents an array while a rule is translated: `text` is the expression that computes it, `calls` the calls in it."""

    __slots__ = ("calls", "text")
    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, text: str, calls: tuple[str, ...] = ()) -> None:
        self.text, self.calls = text, calls

    def __getattr__(self, name: str) -> Any:
        raise Beyond

    def __bool__(self) -> bool:
        raise Beyond

    def __pow__(self, exponent: Any) -> Term:
        if type(exponent) is int and exponent == 2:
            return _call(np.square, self)
        raise Beyond  # NumPy's operator has shortcuts that a ufunc call lacks


def _text(value: Any) -> str:
    if type(value) is Term:
        return value.text
    if type(value) not in (int, float):
        raise Beyond
    name = f"number_{value!r}".replace(".", "_").replace("-", "minus_").replace("+", "")
    array = NAMESPACE.setdefault(name, np.asarray(value, np.float32))
    array.flags.writeable = False
    return name


def _call(ufunc: Any, *operands: Any) -> Term:
    NAMESPACE[ufunc.__name__] = ufunc
    text = f"{ufunc.__name__}({', '.join(map(_text, operands))})"
    return Term(text, (text, *(c for o in operands if type(o) is Term for c in o.calls)))


def _refuse(self: Term, *others: Any) -> Any:
    raise Beyond


for _name, _ufunc in (("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("truediv", np.divide)):
    setattr(Term, f"__{_name}__", lambda self, other, ufunc=_ufunc: _call(ufunc, self, other))
    setattr(Term, f"__r{_name}__", lambda self, other, ufunc=_ufunc: _call(ufunc, other, self))
for _name in ("eq", "ne", "lt", "le", "gt", "ge", "getitem", "len", "iter"):
    setattr(Term, f"__{_name}__", _refuse)
setattr(Term, "__neg__", lambda self: _call(np.negative, self))


class _Namespace:
    """Represents `xp`: its ufuncs and arithmetic are translated, anything else aborts the translation."""

    def __getattr__(self, name: str) -> Any:
        function = getattr(NAMESPACE["raw"], name, None)
        if type(function) is np.ufunc:
            return lambda *operands: _call(function, *operands)
        if getattr(function, "arithmetic", False):
            return function
        raise Beyond


def arithmetic(kernel: Any) -> Any:
    """Mark a kernel that only does arithmetic on its arguments, so that rules calling it through `xp` are translated too."""
    kernel.arithmetic = True
    return kernel


def written_out(op: Op, i: str) -> str | None:
    """The rule for input `i` of a pointwise op as an expression of the values it needs; None if it is not plain arithmetic."""
    wants = op.wants[i]
    if op.kind != "pointwise" or any(
        want != "xp" and slot_kind(op, want) not in ("call", "input", "result") for want in wants
    ):
        return None
    terms: list[Any] = [_Namespace() if want == "xp" else Term(want) for want in wants]
    try:
        result = op.rules[i](*terms)
    except Exception:  # it inspects values, or refuses to be differentiated
        return None
    if type(result) is not Term or len(set(result.calls)) != len(result.calls):
        return None  # an expression would compute something twice
    if any(call.partition("(")[0] in op.parameters for call in result.calls):
        return None  # a parameter hides the ufunc
    if "number_" not in result.text:
        return result.text
    values = ", ".join("raw" if want == "xp" else want for want in wants)
    return f"{result.text} if grad.dtype is float32 else rule_{op.name}_{i}({values})"
