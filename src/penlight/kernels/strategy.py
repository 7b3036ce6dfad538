"""Tables of implementations: which one runs when.

A family of kernels describes what it is asked for as a problem (a NamedTuple of shapes, dtypes and options), and its table `strategies.py` has its
implementations in order, best first. Every threshold stands there, with its reason. Choosing looks at the problem only, so that a choice is
made once for each problem and kept.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple


class Strategy(NamedTuple):
    """One implementation: for which problems, what it gains over the next in the table (measured), and for which operands if their values matter."""

    suits: Callable[[Any], bool]
    run: Callable[..., Any]
    gain: str
    values: Callable[..., bool] | None = None


@lru_cache(1024)
def _suitable(table: tuple[Strategy, ...], problem: Any) -> tuple[Strategy, ...]:
    """The strategies that suit a problem, up to the first that does not depend on values."""
    found = []
    for strategy in table:
        if strategy.suits(problem):
            found.append(strategy)
            if strategy.values is None:
                break
    return tuple(found)


def run(table: tuple[Strategy, ...], problem: Any, a: Any, b: Any, *rest: Any) -> Any:
    """``run(a, b, problem, *rest)`` of the first strategy that suits the problem and the values of `a` and `b`.

    >>> table = (Strategy(lambda n: n < 10, lambda a, b, n: a + b, "small"), Strategy(lambda n: True, lambda a, b, n: a - b, "any"))
    >>> run(table, 3, 5, 2), run(table, 30, 5, 2)
    (7, 3)
    """
    for strategy in _suitable(table, problem):
        if strategy.values is None or strategy.values(a, b):
            return strategy.run(a, b, problem, *rest)
    raise AssertionError(f"no strategy for {problem}")


forget = _suitable.cache_clear  # for tests that change a threshold
