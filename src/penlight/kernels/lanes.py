"""Functions of numbers, done to arrays: all elements at once, each on its own way through the function.

Note [Elements as lanes]
A function such as the incomplete gamma function takes other steps for other numbers: another formula in each region, and of a series as many terms
as it takes. It is written down once, as a Python function of numbers (Note [Compiled scalars] in native/scalar.py), and `of_numbers`
runs its machine code. Where there is none, the function's statements are done one after the other to arrays of all
elements: an `if` parts them, a `while` lets those go that are through, a `return` writes down its value for those that are there. So the number of steps is that of
the function's longest way, not that of the elements.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from functools import lru_cache, reduce
from operator import attrgetter
from typing import Any

import numpy as np

from . import special_common
from ._late import late
from .silence import silent

scalar = late(globals(), "scalar", ".native.scalar")

Array = np.ndarray
Names = dict[str, Any]  # a variable's values: an array with one for each lane, or a number that all share

_SIZES = {"f": 4, "d": 8}
_ARITHMETIC = {ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply, ast.Div: np.divide}
_RELATIONS = {
    ast.Lt: np.less, ast.LtE: np.less_equal, ast.Gt: np.greater, ast.GtE: np.greater_equal, ast.Eq: np.equal, ast.NotEq: np.not_equal,
}  # fmt: skip
_MATH = {
    "sqrt": np.sqrt, "floor": np.floor, "ceil": np.ceil, "exp": np.exp, "expm1": np.expm1, "log": np.log, "log1p": np.log1p,
    "sin": np.sin, "cos": np.cos, "acos": np.arccos, "isnan": np.isnan, "pow": np.power,
}  # fmt: skip
_POLYNOMIALS = ("horner", "horner_monic", "rational")


def wide(function: Any) -> Any:
    """Of what `own` precision is asked for, this part is computed in float64 all the same."""
    function.wide = True
    return function


def of_numbers(function: Callable[..., float], *arrays: Array, own: bool = False) -> Array:
    """`function(*numbers)` for the elements of arrays that broadcast, computed in float64, or with `own` in the arrays' dtype, which the result has."""
    first = arrays[0]
    dtype, shape = first.dtype, first.shape
    size = _SIZES.get(dtype.char, 0)
    alike = True
    for array in arrays:
        if array.dtype != dtype or not size:
            return _converted(function, arrays, own)
        alike = alike and array.shape == shape and array.flags.c_contiguous and type(array) is np.ndarray
    columns, sizes = arrays, (size,) * len(arrays)
    if not alike:
        shape = _common_shape(arrays)
        columns = tuple([_column(array, shape) for array in arrays])
        sizes = tuple([0 if column.size == 1 else size for column in columns])
    out = np.empty(shape, dtype)
    if out.size:
        _fill(function, columns, sizes, out, own)
    return out


def _common_shape(arrays: tuple[Array, ...]) -> tuple[int, ...]:
    shape = max(arrays, key=_size).shape
    for array in arrays:
        if array.shape != shape and not (array.size == 1 and array.ndim <= len(shape)):
            return np.broadcast_shapes(*[array.shape for array in arrays])
    return shape


_size = attrgetter("size")


def _column(array: Array, shape: tuple[int, ...]) -> Array:
    """An array's elements in one piece; one that is the same everywhere stays alone."""
    if array.size != 1 and array.shape != shape:
        array = np.broadcast_to(array, shape)
    # One of NumPy's numbers is no array: its memory must not be read as one.
    return array if array.flags.c_contiguous and type(array) is np.ndarray else np.ascontiguousarray(array)


def _converted(function: Callable[..., float], arrays: tuple[Array, ...], own: bool) -> Array:
    """Of several dtypes, of halves and of bytes in another order."""
    dtype = np.result_type(*arrays)
    kind = np.dtype(np.float64 if dtype == np.float64 else np.float32)
    return of_numbers(function, *[array.astype(kind) for array in arrays], own=own).astype(dtype, copy=False)


@lru_cache(None)
def constant(value: float, dtype: np.dtype) -> Array:
    """A number that all elements share, as an array."""
    return np.full((), value, dtype)


def _fill(function: Any, columns: tuple[Array, ...], sizes: tuple[int, ...], out: Array, own: bool) -> None:
    single = out.dtype.itemsize == 4
    run = scalar.over_columns(function, len(columns), single, own and single)
    count = out.size
    if run is None:
        with silent():
            special_common.spread(_in_numpy(function, columns, out, own), count, special_common.BLOCK_BYTES // 8)
        return
    steps = scalar.steps(sizes)
    if count < _SHARED_FROM:
        run(count, steps, out, *columns)
        return

    def part(low: int, high: int) -> None:
        parts = [c.reshape(-1)[low:high] if c.size > 1 else c for c in columns]
        target = out.reshape(-1)[low:high]
        run(high - low, steps, target, *parts)

    special_common.spread(part, count, _SHARED_FROM // 4)


_SHARED_FROM = 1 << 14  # elements, which threads share


# ----- In NumPy -----------------------------------------------------------------------------------------------------


def _in_numpy(function: Any, columns: tuple[Array, ...], out: Array, own: bool) -> Callable[[int, int], None]:
    kind = out.dtype if own else np.dtype(np.float64)

    def part(low: int, high: int) -> None:
        numbers = [(c.reshape(-1)[low:high] if c.size > 1 else np.repeat(c.reshape(-1), high - low)) for c in columns]
        out.reshape(-1)[low:high] = _called(
            function, [n.astype(kind, copy=False) for n in numbers], high - low, kind.type
        )

    return part


@lru_cache(None)
def _definition(function: Any) -> tuple[list[str], list[ast.stmt], Names]:
    from .native._translate import numbers_of, parsed

    tree = parsed(function)
    return numbers_of(tree), tree.body, function.__globals__


def _called(function: Any, arguments: list[Any], count: int, kind: Any) -> Array:
    """What a function gives for so many lanes, computed in numbers of this type."""
    names, body, module = _definition(function)
    if hasattr(function, "wide"):
        kind = np.float64
        arguments = [np.asarray(argument, kind) for argument in arguments]
    call = _Call(module, count, kind)
    call.block(body, dict(zip(names, arguments, strict=True)), np.arange(count))
    assert call.result is not None
    return call.result


class _Call:
    """A function's call, for many lanes. See Note [Elements as lanes]."""

    def __init__(self, module: Names, count: int, kind: Any) -> None:
        self.module, self.count, self.kind = module, count, kind
        self.result: Array | None = None

    def block(self, statements: list[ast.stmt], names: Names, lanes: Array) -> tuple[Names, Array]:
        """Do statements; what the variables are then, and the lanes that have not returned."""
        for statement in statements:
            if not lanes.size:
                break
            match statement:
                case ast.Expr(ast.Constant()):
                    pass
                case ast.Assign([ast.Tuple(targets)], ast.Tuple(values)):
                    made = [self.value(value, names, lanes.size) for value in values]
                    names |= {target.id: value for target, value in zip(targets, made, strict=True)}  # type: ignore[attr-defined]
                case ast.Assign([ast.Name(name)], value):
                    names |= {name: self.value(value, names, lanes.size)}
                case ast.AugAssign(ast.Name(name), operator, value):
                    names |= {name: self.value(ast.BinOp(ast.Name(name), operator, value), names, lanes.size)}
                case ast.If(test, body, otherwise):
                    (yes, yes_lanes), (no, no_lanes) = self.parted(test, names, lanes)
                    names, lanes = _joined(self.block(body, yes, yes_lanes), self.block(otherwise, no, no_lanes))
                case ast.While(test, body):
                    names, lanes = self.loop(test, body, names, lanes)
                case ast.For(ast.Name(name), ast.Name(table), body):
                    for row in self.module[table]:
                        names, lanes = self.block(body, names | {name: row}, lanes)
                case ast.Return(ast.expr() as value):
                    self.give(self.value(value, names, lanes.size), lanes)
                    return names, lanes[:0]
                case _:
                    raise NotImplementedError(ast.unparse(statement))
        return names, lanes

    def give(self, value: Any, lanes: Array) -> None:
        if self.result is None:
            self.result = np.empty(self.count, np.result_type(value))
        elif self.result.dtype != np.result_type(self.result, value):
            self.result = self.result.astype(np.float64)
        self.result[lanes] = value

    def loop(self, test: ast.expr, body: list[ast.stmt], names: Names, lanes: Array) -> tuple[Names, Array]:
        through: list[tuple[Names, Array]] = []
        while lanes.size:
            (names, lanes), (left, left_lanes) = self.parted(test, names, lanes)
            if left_lanes.size:
                through.append((left, left_lanes))
            names, lanes = self.block(body, names, lanes)
        return _joined(*through)

    def parted(self, test: ast.expr, names: Names, lanes: Array) -> tuple[tuple[Names, Array], tuple[Names, Array]]:
        """The lanes for which a test holds, and the others."""
        holds = np.asarray(self.value(test, names, lanes.size))
        if holds.all():
            return (names, lanes), (dict(names), lanes[:0])
        if not holds.any():
            return (dict(names), lanes[:0]), (names, lanes)
        return tuple(  # type: ignore[return-value]
            ({name: _at(value, index) for name, value in names.items()}, lanes.take(index))
            for index in (holds.nonzero()[0], (~holds).nonzero()[0])
        )

    def value(self, node: ast.expr, names: Names, count: int) -> Any:
        def of(node: ast.expr) -> Any:
            return self.value(node, names, count)

        match node:
            case ast.Constant(value):
                return self.kind(value)
            case ast.Name(name):
                if name in names:
                    return names[name]
                found = self.module[name]
                return found if type(found) is tuple else self.kind(found)
            case ast.Attribute(ast.Name("math"), name):
                return self.kind(getattr(math, name))
            case ast.BinOp(left, operator, right):
                return _ARITHMETIC[type(operator)](of(left), of(right))
            case ast.UnaryOp(ast.USub(), operand):
                return np.negative(of(operand))
            case ast.UnaryOp(ast.Not(), operand):
                return np.logical_not(of(operand))
            case ast.BoolOp(operator, values):
                return reduce(np.logical_and if isinstance(operator, ast.And) else np.logical_or, map(of, values))
            case ast.Compare(left, operators, rights):
                made = [of(operand) for operand in (left, *rights)]
                return reduce(np.logical_and, [_RELATIONS[type(o)](a, b) for o, a, b in zip(operators, made, made[1:])])
            case ast.IfExp(test, body, otherwise):
                return self.choice(test, body, otherwise, names, count)
            case ast.Call(function, arguments):
                return self.call(function, arguments, names, count)
        raise NotImplementedError(ast.unparse(node))

    def choice(self, test: ast.expr, body: ast.expr, otherwise: ast.expr, names: Names, count: int) -> Any:
        call = _Call(self.module, count, self.kind)
        call.block([ast.If(test, [ast.Return(body)], [ast.Return(otherwise)])], dict(names), np.arange(count))
        return call.result

    def call(self, function: ast.expr, arguments: list[ast.expr], names: Names, count: int) -> Any:
        values = [self.value(argument, names, count) for argument in arguments]
        match function:
            case ast.Name("abs"):
                return np.abs(*values)
            case ast.Attribute(ast.Name("math"), name):
                return _MATH[name](*values)
            case ast.Name(name) if name in _POLYNOMIALS:
                return getattr(special_common, name)(*values)
            case ast.Name(name):
                return _called(self.module[name], values, count, self.kind)
        raise NotImplementedError(ast.unparse(function))


def _at(value: Any, index: Array) -> Any:
    return value.take(index) if type(value) is np.ndarray and value.ndim else value


def _joined(*parts: tuple[Names, Array]) -> tuple[Names, Array]:
    """The lanes of all parts, with what they know of the variables that each part has."""
    full = [part for part in parts if part[1].size]
    if len(full) < 2:
        return full[0] if full else parts[0] if parts else ({}, np.empty(0, np.intp))
    shared = set.intersection(*[set(names) for names, _ in full])
    joined: Names = {}
    for name in shared:
        values = [names[name] for names, _ in full]
        if all(value is values[0] for value in values):
            joined[name] = values[0]
        else:
            joined[name] = np.concatenate(
                [np.broadcast_to(value, lanes.shape) for value, (_, lanes) in zip(values, full)]
            )
    return joined, np.concatenate([lanes for _, lanes in full])
