"""The operands of an optimiser's formula: arrays with the methods of tensors, or symbols that record the formula."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache, partial
from types import FunctionType
from typing import Any

import numpy as np

from penlight._common.function_code import compile_function


class Weight(float):
    """The weight of a `lerp_`, which has two forms: arrays must know which one, see `pair_of`."""


def pair_of(weight: float) -> tuple[float, bool]:
    """The scalar that `Vector.lerp_` takes for a weight, and whether it is the weight itself: PyTorch selects the better conditioned
    form."""
    return (float(weight), True) if weight < 0.5 else (1 - weight, False)


_PLAIN = {float, bool, type(None)}


def plain(numbers: Iterable[Any]) -> list[Any]:
    """Scalars of any type as floats; True, False and None unchanged."""
    return [n if type(n) in _PLAIN else float(n) for n in numbers]


def pattern_of(numbers: Iterable[Any]) -> tuple[list[Any], list[float]]:
    """The scalars of an update as a pattern, which determines its operations, and the floats that these take.

    In the pattern, `float` represents a float, and a 1-tuple the weight of a `lerp_`: whether it is the weight itself.
    """
    pattern: list[Any] = []
    floats: list[float] = []
    for n in numbers:
        kind: Any = type(n)
        if kind is float:
            pattern.append(float)
            floats.append(n)
        elif kind is Weight:
            number, from_start = pair_of(n)
            pattern.append((from_start,))
            floats.append(number)
        elif kind in _PLAIN:
            pattern.append(n)
        else:
            pattern.append(float)
            floats.append(float(n))
    return pattern, floats


def given_back(pattern: Iterable[Any], floats: Iterable[Any]) -> list[Any]:
    """The scalars restored, with other floats or symbols in them."""
    rest = iter(floats)
    return [next(rest) if n is float else (next(rest), *n) if type(n) is tuple else n for n in pattern]


def number_of(values: Any) -> float:
    """The first element of an array or a tensor."""
    return float(values.reshape(-1)[0])


def _unary(ufunc: np.ufunc) -> Callable[[Vector], Vector]:
    def method(self: Vector) -> Vector:
        out = self._out()
        ufunc(self.array, out=out.array)
        return out

    return method


def _binary(ufunc: np.ufunc) -> Callable[[Vector, Any], Vector]:
    def method(self: Vector, other: Any) -> Vector:
        out = self._out()
        ufunc(self.array, other.array if isinstance(other, Vector) else other, out=out.array)
        return out

    return method


class Vector:
    """A flat array, or a symbol for one, with the tensor methods that formulas use."""

    __slots__ = ("array", "scratch")
    __array_ufunc__ = None  # lets a scalar on the left defer to `__rtruediv__`
    is_sparse = False

    def __init__(self, array: Any, scratch: Scratch) -> None:
        self.array, self.scratch = array, scratch

    def _out(self) -> Vector:
        """The destination of an operation's result."""
        return self.scratch.take()

    def _scaled(self, factor: Any) -> Any:
        """This times a scalar, in memory that the next operation may overwrite."""
        return self.array if factor is None else np.multiply(self.array, factor, self.scratch.spare)

    __neg__, abs, sqrt, sign = map(_unary, (np.negative, np.abs, np.sqrt, np.sign))
    sub, mul, div, maximum = map(_binary, (np.subtract, np.multiply, np.divide, np.maximum))

    def __rtruediv__(self, number: Any) -> Vector:
        out = self._out()
        np.divide(number, self.array, out.array)
        return out

    def add(self, other: Any, alpha: Any = None) -> Vector:
        out = self._out()
        np.add(self.array, other._scaled(alpha) if isinstance(other, Vector) else other, out.array)
        return out

    def addcmul(self, a: Vector, b: Vector, value: float) -> Vector:
        out = self._out()
        np.add(self.array, np.multiply(a._scaled(value), b.array, self.scratch.spare), out.array)
        return out

    def masked_fill(self, mask: Any, value: Any) -> Vector:
        if not isinstance(mask, Written):
            return Vector(np.where(mask, value, self.array), self.scratch)
        out = self._out()
        if out is not self:
            out.copy_(self)
        np.copyto(out.array, value, where=mask)
        return out

    def clone(self) -> Vector:
        return self.scratch.take().copy_(self)

    def gt(self, bound: float) -> Any:
        return self.array > bound

    def lt(self, bound: float) -> Any:
        return self.array < bound

    def eq(self, value: float) -> Any:
        return self.array == value

    def add_(self, other: Any, alpha: Any = None) -> Vector:
        self.array += other._scaled(alpha) if isinstance(other, Vector) else other
        return self

    def mul_(self, factor: Any) -> Vector:
        self.array *= factor.array if isinstance(factor, Vector) else factor
        return self

    def addcmul_(self, a: Vector, b: Vector, value: Any = None) -> Vector:
        self.array += np.multiply(a._scaled(value), b.array, self.scratch.spare)
        return self

    def addcdiv_(self, a: Vector, b: Vector, value: Any = None) -> Vector:
        self.array += np.divide(a._scaled(value), b.array, self.scratch.spare)
        return self

    def lerp_(self, end: Vector, weight: tuple[Any, bool]) -> Vector:
        number, from_start = weight
        way = np.subtract(end.array, self.array, self.scratch.spare)
        way *= number
        if from_start:
            self.array += way
        else:
            np.subtract(end.array, way, self.array)
        return self

    def clamp_(self, low: Any, high: Any = None) -> Vector:
        np.maximum(self.array, low.array if isinstance(low, Vector) else low, out=self.array)
        if high is not None:
            np.minimum(self.array, high, out=self.array)
        return self

    def copy_(self, other: Vector) -> Vector:
        self.array[...] = other.array
        return self


class Temporary(Vector):
    """An intermediate result of a formula.

    Note [Intermediate results]
    `square.sqrt().div(x).add(eps)` on arrays writes to one array: the root goes to scratch memory, and each operation on a result in
    scratch memory overwrites it, so that a formula needs few arrays and they stay in the cache. A formula that needs an intermediate result
    twice must do the overwriting operation last, as Rprop does with the sign of the gradient.
    """

    __slots__ = ()

    def _out(self) -> Vector:
        return self


class Scratch:
    """Represents the arrays of a formula's intermediate results; each is created at its first use."""

    __slots__ = ("make", "spare", "used")

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make, self.spare, self.used = make, make(), 1

    def take(self) -> Temporary:
        self.used += 1
        return Temporary(self.make(), self)


class Written(np.lib.mixins.NDArrayOperatorsMixin):
    """Represents an array or a scalar of this name while a formula is translated to NumPy calls."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, name: str, lines: list[str]) -> None:
        self.name, self.lines = name, lines

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None) -> Written:
        result = Written(f"m{len(self.lines)}", self.lines) if out is None else out[0]
        args = ", ".join(str(getattr(x, "name", x)) for x in inputs)
        call = f"{ufunc.__name__}({args}, out={result.name})"
        self.lines.append(call if out is not None else f"{result.name} = {ufunc.__name__}({args})")
        return result

    def __array_function__(self, function: Any, types: Any, args: tuple[Any, ...], where: dict[str, Any]) -> None:
        """For `np.copyto(out, value, where=mask)`."""
        out, value = (str(getattr(x, "name", x)) for x in args)
        self.lines.append(f"{function.__name__}({out}, {value}, where={where['where'].name})")

    def __setitem__(self, everything: Any, value: Written) -> None:
        self.lines.append(f"{self.name}[...] = {value.name}")


@lru_cache(None)
def body_of(rule: Any, pattern: tuple[Any, ...], decays: int, count: int, stand: type) -> Callable[..., None]:
    """The update as a function of the gradient, the parameter and its buffers (``count``), and the floats among the numbers."""

    def body(grad: Any, *rest: Any) -> None:
        _apply(rule, given_back(pattern, rest[count:]), decays, [grad, *rest[:count]], Scratch(stand))

    return partial(body)  # one object per pattern, because kernels are found by identity


def _apply(rule: Any, numbers: list[Any], decays: int, arrays: list[Any], scratch: Scratch) -> None:
    grad, p, *buffers = (Vector(array, scratch) for array in arrays)
    rule._on_arrays(p, grad, numbers[:decays], numbers[decays:], buffers)


@lru_cache(None)
def written_out(rule: Any, pattern: tuple[Any, ...], decays: int, count: int) -> tuple[Callable[..., None], int]:
    """The update as a function that consists only of NumPy calls, and the number of arrays for intermediate results it takes.

    For few elements a step costs as much as its Python calls. Therefore the formula runs once on symbols that record its operations, and
    the record is compiled. Its arguments are the gradient, the parameter and its buffers (``count``), the intermediate results, and the floats.
    """
    lines: list[str] = []
    results: list[str] = []

    def result() -> Written:
        results.append(f"r{len(results)}")
        return Written(results[-1], lines)

    arrays = ["grad", "p", *(f"b{i}" for i in range(1, count))]
    floats = [f"n{i}" for i, n in enumerate(pattern) if n is float or type(n) is tuple]
    stands = [[Written(name, lines) for name in names] for names in (arrays, floats)]
    _apply(rule, given_back(pattern, stands[1]), decays, stands[0], Scratch(result))
    source = f"def update({', '.join(arrays + results + floats)}):\n" + "".join(f"    {line}\n" for line in lines)
    code = compile_function(source, f"<the update of {rule.__name__} {decays} {pattern}>")
    return FunctionType(code, vars(np), "update"), len(results)
