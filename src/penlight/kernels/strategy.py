"""Strategy tables: which implementation runs when.

A family of kernels has a table of its implementations, best first, in its `strategies.py` or `__init__.py`. Every threshold is
there, with its reason. If choosing takes long, the family describes a call as a problem (a NamedTuple of shapes, dtypes and
options): `run` looks at nothing else, so the choice is made once per problem and cached. If choosing takes only a few
comparisons, `apply` looks at the arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, NamedTuple

from .call import Unfit


class Strategy(NamedTuple):
    """One implementation (a function, or a class of functions), the problems it suits, its measured gain over the next in the
    table, and the operands it suits if their values matter."""

    suits: Callable[..., bool] | None  # None: for all
    run: Any
    gain: str
    values: Callable[..., bool] | None = None


@lru_cache(1024)
def _suitable(table: tuple[Strategy, ...], problem: Any) -> tuple[Strategy, ...]:
    """The strategies that suit a problem, up to the first that does not depend on values."""
    found = []
    for strategy in table:
        if strategy.suits is None or strategy.suits(problem):
            found.append(strategy)
            if strategy.values is None:
                break
    return tuple(found)


def run(table: tuple[Strategy, ...], problem: Any, a: Any, b: Any, *rest: Any) -> Any:
    """``run(a, b, problem, *rest)`` of the first strategy that suits the problem and the values of `a` and `b`.

    >>> table = (Strategy(lambda n: n < 10, lambda a, b, n: a + b, "small"), Strategy(None, lambda a, b, n: a - b, "any"))
    >>> run(table, 3, 5, 2), run(table, 30, 5, 2)
    (7, 3)
    """
    for strategy in _suitable(table, problem):
        if strategy.values is None or strategy.values(a, b):
            return strategy.run(a, b, problem, *rest)
    raise AssertionError(f"no strategy for {problem}")


def apply(table: tuple[Strategy, ...], *arguments: Any) -> Any:
    """The result of the first strategy that suits the arguments. If a strategy returns None, or its machine code refuses an
    array, the next one is tried: see Note [Calling machine code].

    >>> apply((Strategy(lambda n: n < 10, lambda n: None, "none"), Strategy(None, lambda n: -n, "any")), 3)
    -3
    """
    for suits, implementation, _, _ in table:
        if suits is None or suits(*arguments):
            try:
                result = implementation(*arguments)
            except Unfit:
                continue
            if result is not None:
                return result
    raise AssertionError(f"no strategy for {arguments}")


def by_table(table: tuple[Strategy, ...]) -> Any:
    """`apply` bound to a table, as a function with the signature and docstring of its last implementation. Arguments are positional.

    >>> by_table((Strategy(lambda n: n < 10, lambda n: n, "small"), Strategy(None, abs, "any")))(-30)
    -30
    """

    @wraps(table[-1].run)
    def run(*arguments: Any) -> Any:
        return apply(table, *arguments)

    return run


forget = _suitable.cache_clear  # for tests that change a threshold
