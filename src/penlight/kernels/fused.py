"""Rules of elementwise ops as short programs of ufuncs.

Note [Traced rules]
A rule such as `lambda grad, result: grad * (1 - result * result)` allocates an array for each of its operators. Called once
with terms that stand for its operands, it tells which ufuncs it is made of, in which order, and those are then run on one
block after the other with `out=`: into scratch blocks that stay in the cache, the last straight into the result. A rule
that does anything else with a term than arithmetic (it looks at values, shapes or dtypes) is not traced and runs as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


class Untraceable(Exception):
    """Raised by a term that is used for more than arithmetic."""


class CallsKernel(Untraceable):
    """Raised when a rule asks for a kernel, which works in blocks and threads of its own where that pays."""


Step = tuple[Any, tuple[Any, ...], int]  # a ufunc, its operands, the register that it writes


class Term:
    """Stands for an operand or an intermediate value while a rule is traced."""

    __slots__ = ("number", "place", "steps")
    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, place: int, steps: list[tuple[Any, tuple[Any, ...]]], number: bool = False) -> None:
        self.place, self.steps, self.number = place, steps, number

    def __bool__(self) -> bool:
        raise Untraceable

    def __getattr__(self, name: str) -> Any:
        raise Untraceable


def _record(steps: list[Any], ufunc: Any, operands: tuple[Any, ...]) -> Term:
    for value in operands:
        if not isinstance(value, (Term, int, float)) or isinstance(value, bool):
            raise Untraceable
    if not any(isinstance(value, Term) and not value.number for value in operands):
        raise Untraceable  # arithmetic with numbers only is Python's, with more digits
    steps.append((ufunc, operands))
    return Term(-len(steps), steps)


def _forward(ufunc: Any) -> Any:
    return lambda self, *others: _record(self.steps, ufunc, (self, *others))


def _reflected(ufunc: Any) -> Any:
    return lambda self, other: _record(self.steps, ufunc, (other, self))


def _refuse(self: Term, *others: Any) -> Any:
    raise Untraceable


def _power(self: Term, exponent: Any) -> Term:
    if type(exponent) is int and exponent == 2:
        return _record(self.steps, np.square, (self,))
    raise Untraceable  # NumPy's operator takes shortcuts that the ufunc does not


for _name, _ufunc in (("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("truediv", np.divide)):
    setattr(Term, f"__{_name}__", _forward(_ufunc))
    setattr(Term, f"__r{_name}__", _reflected(_ufunc))
for _name in ("eq", "ne", "lt", "le", "gt", "ge", "getitem", "len", "iter"):
    setattr(Term, f"__{_name}__", _refuse)
setattr(Term, "__neg__", _forward(np.negative))
setattr(Term, "__pow__", _power)


class _Namespace:
    """Stands for `xp`: its ufuncs are recorded, anything else ends the tracing."""

    def __init__(self, namespace: Any, steps: list[Any]) -> None:
        self._namespace, self._steps = namespace, steps

    def __getattr__(self, name: str) -> Any:
        ufunc = getattr(self._namespace, name, None)
        if type(ufunc) is not np.ufunc:
            raise CallsKernel
        if ufunc not in _SAME_DTYPE:
            raise Untraceable
        return lambda *operands: _record(self._steps, ufunc, operands)


# Ufuncs whose result has the dtype of their float operands.
_SAME_DTYPE = frozenset(
    (np.add, np.subtract, np.multiply, np.divide, np.negative, np.square, np.sqrt, np.reciprocal, np.abs, np.sign, np.exp, np.exp2)
    + (np.expm1, np.log, np.log2, np.log10, np.log1p, np.sin, np.cos, np.tan, np.sinh, np.cosh, np.tanh, np.maximum, np.minimum)
)  # fmt: skip


class Program:
    """The ufuncs that a rule is made of, with registers for their results; the last one writes the result."""

    __slots__ = ("registers", "steps")

    def __init__(self, recorded: list[tuple[Any, tuple[Any, ...]]]) -> None:
        last_use: dict[int, int] = {}
        for when, (_, operands) in enumerate(recorded):
            for value in operands:
                if isinstance(value, Term):
                    last_use[value.place] = when
        self.steps: list[Step] = []
        free: list[int] = []
        home: dict[int, int] = {}
        self.registers = 0
        for when, (ufunc, operands) in enumerate(recorded):
            # An operand is (-1 - register), (0, leaf) as its number, or a constant in a tuple of one.
            coded = tuple(self._code(value, home) for value in operands)
            for value in operands:
                place = value.place if isinstance(value, Term) else 0
                if place < 0 and last_use[place] == when and home[place] not in free:
                    free.append(home[place])
            if free:
                target = free.pop()
            else:
                target, self.registers = self.registers, self.registers + 1
            home[-when - 1] = target
            self.steps.append((ufunc, coded, target))

    @staticmethod
    def _code(value: Any, home: dict[int, int]) -> Any:
        if not isinstance(value, Term):
            return (value,)
        return value.place if value.place >= 0 else -1 - home[value.place]

    def run(self, leaves: list[Any], scratch: list[Any], out: Any) -> None:
        """Run on one block of each leaf, writing to `out`; `scratch` has an array of its length for each register."""
        final = len(self.steps) - 1
        for when, (ufunc, coded, target) in enumerate(self.steps):
            operands = [c[0] if type(c) is tuple else leaves[c] if c >= 0 else scratch[-1 - c] for c in coded]
            ufunc(*operands, out=out if when == final else scratch[target])


_OPERANDS = (np.ndarray, int, float)  # what programs take whatever its value
_programs: dict[Any, Program | bool] = {}


def program_of(rule: Callable[..., Any], values: tuple[Any, ...]) -> Program | bool:
    """The program of a rule for values of these kinds. See Note [Traced rules].

    If it has none: whether it should be run on blocks, as it is; not if it calls a kernel.
    """
    key = (rule, *[type(v) if type(v) in _OPERANDS else v for v in values])
    try:
        return _programs[key]
    except KeyError:
        program = _programs[key] = _trace(rule, values)
        return program
    except TypeError:
        return True  # an argument that cannot be looked up


def _trace(rule: Callable[..., Any], values: tuple[Any, ...]) -> Program | bool:
    steps: list[tuple[Any, tuple[Any, ...]]] = []
    terms: list[Any] = []
    for place, value in enumerate(values):
        if type(value) in _OPERANDS:
            terms.append(Term(place, steps, type(value) is not np.ndarray))
        elif type(getattr(value, "exp", None)) is np.ufunc:
            terms.append(_Namespace(value, steps))  # the namespace that the rule runs in
        else:
            terms.append(value)  # a word, a flag, nothing: the rule may decide by it
    try:
        result = rule(*terms)
    except CallsKernel:
        return False
    except (Untraceable, TypeError, AttributeError):
        return True
    if not isinstance(result, Term) or not steps or result.place != -len(steps):
        return True
    return Program(steps)
