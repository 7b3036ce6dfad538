"""A line search for a point that satisfies the strong Wolfe conditions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import penlight
from penlight import Tensor


class Point:
    """A place on the line: how far along, the value, the gradient and the slope there."""

    __slots__ = ("f", "g", "slope", "t")

    def __init__(self, t: Any, f: Any, g: Tensor, slope: Any) -> None:
        self.t, self.f, self.g, self.slope = t, f, g, slope


def cubic_minimum(a: Point, b: Point, bounds: tuple[Any, Any] | None = None) -> Any:
    """Where the cubic through two points with the slopes there is smallest, within the bounds (or between the two)."""
    low, high = bounds if bounds is not None else ((a.t, b.t) if a.t <= b.t else (b.t, a.t))
    d1 = a.slope + b.slope - 3 * (a.f - b.f) / (a.t - b.t)
    d2_square = d1**2 - a.slope * b.slope
    if not d2_square >= 0:
        return (low + high) / 2.0
    d2 = d2_square.sqrt()
    if a.t > b.t:
        a, b = b, a
    t = b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
    return min(max(t, low), high)


def strong_wolfe(objective: Callable[[Any], tuple[float, Tensor]], t: Any, d: Tensor, f: float, g: Tensor,
                 slope: Tensor, c1: float = 1e-4, c2: float = 0.9, tolerance_change: float = 1e-9,
                 max_calls: int = 25) -> tuple[float, Tensor, Any, int]:  # fmt: skip
    """Search along ``d`` from a point with value ``f``, gradient ``g`` and ``slope``, beginning with step length ``t``.

    ``objective(t)`` returns the value and the gradient. Returns the value and gradient found, the step length, and the
    number of calls. A point is good when the value fell enough (``c1``) and the slope is flat enough (``c2``).
    """

    def evaluate(t: Any) -> Point:
        f_new, g_new = objective(t)
        return Point(t, f_new, g_new.clone(memory_format=penlight.contiguous_format), g_new.dot(d))

    start = Point(0, f, g.clone(memory_format=penlight.contiguous_format), slope)
    previous, new = start, evaluate(t)
    tried = 0  # points beyond the first
    bracket: list[Point] = []
    done = False
    while tried < max_calls:
        too_high = new.f > (f + c1 * new.t * slope) or (tried > 1 and new.f >= previous.f)
        if not too_high and abs(new.slope) <= -c2 * slope:
            bracket, done = [new], True
            break
        if too_high or new.slope >= 0:
            bracket = [previous, new]
            break
        bounds = (new.t + 0.01 * (new.t - previous.t), new.t * 10)
        t = cubic_minimum(previous, new, bounds)
        previous, new = new, evaluate(t)
        tried += 1
    if not bracket:
        bracket = [start, new]
    low = _low(bracket)
    if not done:
        low, tried = _zoom(evaluate, bracket, start, d.abs().max(), tried, max_calls, c1, c2, tolerance_change)
    best = bracket[low]
    return best.f, best.g, best.t, tried + 1


def _low(bracket: list[Point]) -> int:
    return 0 if bracket[0].f <= bracket[-1].f else 1


def _zoom(evaluate: Callable[[Any], Point], bracket: list[Point], start: Point, d_norm: Tensor, tried: int,
          max_calls: int, c1: float, c2: float, tolerance_change: float) -> tuple[int, int]:  # fmt: skip
    """Shrink a bracket, in place, until its lower end is a good point; return that end and the number of points tried."""
    stalled = False
    low = _low(bracket)
    while tried < max_calls:
        if abs(bracket[1].t - bracket[0].t) * d_norm < tolerance_change:
            break
        t = cubic_minimum(bracket[0], bracket[1])
        t, stalled = _away_from_ends(t, bracket, stalled)
        new = evaluate(t)
        tried += 1
        high = 1 - low
        if new.f > (start.f + c1 * t * start.slope) or new.f >= bracket[low].f:
            bracket[high] = new
            low = _low(bracket)
            continue
        done = abs(new.slope) <= -c2 * start.slope
        if not done and new.slope * (bracket[high].t - bracket[low].t) >= 0:
            bracket[high] = bracket[low]
        bracket[low] = new
        if done:
            break
    return low, tried


def _away_from_ends(t: Any, bracket: list[Point], stalled: bool) -> tuple[Any, bool]:
    """Keep a trial point a tenth of the bracket away from its ends when it is the second in a row that is so close."""
    left, right = min(bracket[0].t, bracket[1].t), max(bracket[0].t, bracket[1].t)
    margin = 0.1 * (right - left)
    if not min(right - t, t - left) < margin:
        return t, False
    if not (stalled or t >= right or t <= left):
        return t, True
    return (right - margin if abs(t - right) < abs(t - left) else left + margin), False


def _cubic_interpolate(x1: Any, f1: Any, g1: Any, x2: Any, f2: Any, g2: Any, bounds: Any = None) -> Any:
    """`cubic_minimum` as PyTorch's module has it: places, values and slopes one by one. Libraries import it."""
    return cubic_minimum(Point(x1, f1, g1, g1), Point(x2, f2, g2, g2), bounds)


def _strong_wolfe(obj_func: Callable[..., Any], x: Any, t: Any, d: Tensor, f: Any, g: Tensor, gtd: Any,
                  c1: float = 1e-4, c2: float = 0.9, tolerance_change: float = 1e-9,
                  max_ls: int = 25) -> tuple[Any, Tensor, Any, int]:  # fmt: skip
    """`strong_wolfe` as PyTorch's module has it: ``obj_func(x, t, d)`` returns the value and the gradient. Libraries import it."""
    return strong_wolfe(lambda at: obj_func(x, at, d), t, d, f, g, gtd, c1, c2, tolerance_change, max_ls)
