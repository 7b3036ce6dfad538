"""Elementwise work: ufuncs, functions of ufuncs, derivative rules, and kernels written as bodies.

Note [Elementwise work]
Elementwise means that any part of the result depends only on the same part of the operands. All such work takes one path:

    attempt -> plan -> machine code

`attempt` looks up a plan by one key: the function, the dtypes of its operands, and their layout if they are not contiguous arrays of one shape. A
plan is made once (plans.py). If the function can be traced (Note [Bodies as machine code] in compiler/trace.py) and a backend
compiles it, the plan is a compiled kernel, called directly with the arrays. If not, the plan says so, and NumPy does the work
(blocks.py): in one call, or in blocks that fit in the cache, on several threads. The size thresholds are in strategies.py.

A function is a ufunc; a function of arrays that returns a result, such as the rules of ops; or an `Elementwise`, whose body
writes to `out`. Scalar operands are arguments of the kernel, so one kernel serves all their values. A function that branches on
them (`if slope > 1`) has a kernel for each value.

NumPy takes more than half a microsecond for each of its functions, however few the elements; a compiled kernel takes about one
microsecond in all, and another to look up. So bodies of several ufuncs are compiled for arrays of any size, and at the first
call: results must not depend on the number of earlier calls.

Results have the layout that NumPy would give them, whichever implementation computes them.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from types import FunctionType
from typing import Any, TypeVar

import numpy as np

from ..lazy import lazy_import
from .strategies import COMPILED

_blocks = lazy_import(globals(), "_blocks", ".blocks")
_native = lazy_import(globals(), "_native", "..native")
_planning = lazy_import(globals(), "_planning", ".plans")

K = TypeVar("K", bound=Callable[..., Any])
_ndarray = np.ndarray
_shape_and_strides = attrgetter("shape", "strides")
_plans: dict[Any, Any] = {}
_kernels: dict[Any, Elementwise] = {}  # of `as_kernel`


def attempt(
    function: Any, values: tuple[Any, ...], out: np.ndarray | None = None, sum_to: tuple[int, ...] | None = None
) -> np.ndarray | None:
    """function(*values) by machine code; None if there is none for such values.

    `out`, contiguous, may be one of the operands. With `sum_to` the result is summed to that shape without being stored first.
    """
    if not _native.available():
        return None
    key: list[Any]
    by_value = False
    if type(function) is not FunctionType:
        key = [function]
        by_value = type(function) is Elementwise and function.by_value
    elif function.__closure__ is None and function.__defaults__ is None:
        key = [function.__code__]
    else:
        key = [_planning.signature(function)]
    arrays: list[np.ndarray] = []
    scalars: list[Any] = []
    shape, flat = None, sum_to is None
    for value in values:
        kind = type(value)
        if kind is _ndarray:
            key.append(value.dtype)
            if value.ndim:
                arrays.append(value)
                if not value.flags.c_contiguous:
                    flat = False
                elif shape is None:
                    shape = value.shape
                elif value.shape != shape:
                    flat = False
            else:
                scalars.append(value)
                key.append(0)
        elif kind is float or kind is int:
            key.append(kind)
            if by_value:
                key.append(value if value and value == value else repr(value))  # for -0.0 and NaN as keys
            else:
                scalars.append(value)
        else:
            key.append(kind)
            key.append(value if kind is not tuple else repr(value))
    if out is not None:
        key.append(out.dtype)
    if not flat:
        key.append(sum_to)
        key += map(_shape_and_strides, arrays)
    plan_key = tuple(key)
    try:
        plan = _plans[plan_key]
    except KeyError:
        plan = _planning.make(plan_key, function, values, arrays, out, flat, sum_to, by_value)
    except TypeError:  # an unhashable value
        return None
    if type(plan) is str:
        if plan is _planning.NUMPY:
            return None
        plan_key = *plan_key, *[_planning.signature(scalar) for scalar in scalars if type(scalar) is not _ndarray]
        plan = _plans.get(plan_key) or _planning.make(plan_key, function, values, arrays, out, flat, sum_to, True)
        if plan is _planning.NUMPY:
            return None
        scalars = [scalar for scalar in scalars if type(scalar) is _ndarray]
    if not flat:
        return plan.execute(arrays, scalars, out, function, values)
    size = arrays[0].size
    if size < plan.least or not size:
        return None
    if out is None:
        out = np.empty(shape, plan.dtype)  # type: ignore[arg-type]
    elif not plan.may_hold(out, shape):
        return None
    if size < plan.most and not size & plan.uneven:
        if scalars:
            plan.run(0, size, *arrays, out, *map(float, scalars))
        else:
            plan.run(0, size, *arrays, out)
    else:
        plan.share(size, arrays, out, scalars)
    return None if plan.partial and _planning.has_nan(out) else out


def apply(function: Any, *values: Any) -> Any:
    """function(*values), for a ufunc or an elementwise function of arrays."""
    result = attempt(function, values)
    return _blocks.run(function, values) if result is None else result


def apply_into(ufunc: Any, *operands: Any) -> None:
    """Write ufunc(*operands[:-1]) into the last operand, which is contiguous and may be among the others."""
    *given, out = operands
    if attempt(ufunc, tuple(given), out) is None:
        ufunc(*operands)


def apply_summed(shape: tuple[int, ...], rule: Callable[..., Any], *values: Any) -> Any:
    """`apply` for a gradient that is then summed to a shape: summed in the same pass if possible, else returned unsummed."""
    result = None if shape == values[0].shape else attempt(rule, values, None, shape)
    return apply(rule, *values) if result is None else result


def one_pass(kernel: K, least: int = COMPILED) -> K:
    """Mark an op's kernel as made only of ufuncs on its operands, so that arrays of at least that many elements go to `apply`."""
    kernel.one_pass = least  # type: ignore[attr-defined]
    return kernel


class Elementwise:
    """A kernel written as a body: `body(*arrays, out, *scalars)` writes to `out`, which has the arrays' size and the first one's
    dtype. Callers omit `out`, which is returned. 16-bit results are computed in float32 and rounded once.

    A body is called with arrays, or with tracing placeholders when it, or a function that calls it, is compiled.

    >>> @Elementwise
    ... def scaled(x, out, factor=2.0):
    ...     np.multiply(x, factor, out)
    >>> scaled(np.ones(2)), scaled(np.ones(2), factor=3.0)
    (array([2., 2.]), array([3., 3.]))
    """

    by_value = False  # whether it branches on its scalars, and so has a plan for each of their values

    def __init__(self, body: Callable[..., None], arrays: int | None = None) -> None:
        self.body = body
        names = body.__code__.co_varnames[: body.__code__.co_argcount]
        self.arrays = names.index("out") if arrays is None else arrays
        self._names = tuple([name for name in names if name != "out"])
        self._defaults = body.__defaults__ or ()
        self.__name__, self.__doc__ = body.__name__, body.__doc__

    def __call__(self, *values: Any, **options: Any) -> Any:
        missing = len(self._names) - len(values)
        if missing and not options:
            values += self._defaults[-missing:]
        elif missing:
            given = self._names[len(values) :]
            default = dict(zip(self._names[::-1], self._defaults[::-1], strict=False))
            values = *values, *[options[name] if name in options else default[name] for name in given]
        result = attempt(self, values)
        return _blocks.fill(self, values) if result is None else result


def as_kernel(body: Callable[..., None], arrays: int) -> Elementwise:
    """The kernel of a body of so many arrays. The body may be a new function at each call: its code and closure identify it."""
    key = _planning.signature(body), arrays
    try:
        return _kernels[key]
    except KeyError:
        made = _kernels[key] = Elementwise(body, arrays)
        return made
    except TypeError:  # its closure holds an array, or another unhashable value
        return _Uncompiled(body, arrays)


class _Uncompiled(Elementwise):
    """A kernel without a cached plan: it is not hashable."""

    __hash__ = None  # type: ignore[assignment]
