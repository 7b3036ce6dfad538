"""In-place random sampling, and sampling from weights and rates. The random streams are PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from operator import index
from typing import Any

import numpy as np

from .. import dtypes
from ..autograd.modes import slow
from ..kernels.lazy import lazy_import
from ..random import bernoulli
from ..tensor import Tensor, wrap
from .machinery import dispatch
from .machinery.declare import OPS, differentiable, install_method, method
from .machinery.guards import lazy, no_derivative
from .machinery.op import traits
from .machinery.rules import zero_gradient

__all__ = ["binomial", "multinomial", "poisson"]

_randomness = lazy_import(globals(), "_randomness", "..func.randomness")


_random = lazy_import(globals(), "_random", "..random")

# ----- In place -----------------------------------------------------------------------------------------------------


def in_memory_order(array: Any, draw: Callable[[tuple[int, ...]], Any]) -> Any:
    """Samples for an array, assigned in the order of its memory, as PyTorch fills a tensor."""
    if array.flags.c_contiguous:
        return draw(array.shape)
    axes = _memory_axes(array)
    return draw(tuple(array.shape[a] for a in axes)).transpose(np.argsort(axes))


def _memory_axes(array: Any) -> list[int]:
    """The dimensions of an array in memory order, outermost first."""
    return sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis]))


def _filler(module: str, name: str, contiguous: bool = False, of_parts: Any = None) -> Any:
    """A kernel that draws a sample for every element; `contiguous` tells it whether the tensor is, `of_parts` gives the parameters for
    the real and imaginary parts of complex numbers."""
    draw: Any = None

    def kernel(input: Any, engine: Any, *parameters: Any) -> Any:
        nonlocal draw
        if draw is None:
            draw = getattr(import_module("penlight.kernels." + module), name)
        dense = input.flags.c_contiguous
        more = (False,) if contiguous and not dense else ()

        def drawn(shape: tuple[int, ...]) -> Any:
            if of_parts is None or input.dtype.kind != "c":
                return draw(engine, shape, input.dtype, *parameters, *more)
            components = draw(engine, (*shape, 2), input.real.dtype, *of_parts(*parameters), *more)
            return components.view(input.dtype)[..., 0]

        return drawn(input.shape) if dense else in_memory_order(input, drawn)

    return kernel


def _declare_filler(name: str, kernel: Any, node: str, parameters: int) -> None:
    """Declare an op `_name_into(input, engine, ...)` that only runs in place."""
    faces: list[Any] = []

    def face0(input: Tensor, engine: Any) -> Tensor: ...

    def face1(input: Tensor, engine: Any, a: Any) -> Tensor: ...

    def face2(input: Tensor, engine: Any, a: Any, b: Any) -> Tensor: ...

    faces += [face0, face1, face2]
    face = faces[parameters]
    if name == "geometric":
        traits(refuses={"b": "geometric_cpu"})(face)
    face.__name__ = f"_{name}_into"
    differentiable(kernel, node=node, inplace=True, input=zero_gradient)(face)


_FILLERS: dict[str, tuple[Any, str, int]] = {
    "uniform": (_filler("random.uniform", "uniform", False, lambda low, high: (low, high)), "UniformBackward0", 2),
    "normal": (_filler("random.normal", "normal", True, lambda mean, std: (mean, std / 2**0.5)), "NormalBackward0", 2),
    "exponential": (_filler("random.samplers", "exponential"), "ExponentialBackward0", 1),
    "geometric": (_filler("random.samplers", "geometric"), "GeometricBackward0", 1),
    "cauchy": (_filler("random.samplers", "cauchy"), "CauchyBackward0", 2),
    "log_normal": (_filler("random.samplers", "log_normal"), "LogNormalBackward0", 2),
    "random": (_filler("random.integers", "random"), "RandomBackward2", 0),
    "random_below": (lambda input, engine, high: _randint(input, engine, 0, high), "RandomBackward1", 1),
    "random_between": (lambda input, engine, low, high: _randint(input, engine, low, high), "RandomBackward0", 2),
    "bernoulli": (lambda input, engine, p: _bernoulli(input, engine, p), "BernoulliBackward2", 1),
    "bernoulli_each": (lambda input, engine, p: _bernoulli_each(input, engine, p), "BernoulliBackward1", 1),
}
for _name, (_kernel, _node, _parameters) in _FILLERS.items():
    _declare_filler(_name, _kernel, _node, _parameters)


_draw_randint, _draw_bernoulli = lazy("random.integers", "randint"), lazy("random.uniform", "bernoulli")
_draw_bernoulli_each, _draw_multinomial = (
    lazy("random.uniform", "bernoulli_each"),
    lazy("random.samplers", "multinomial"),
)
_draw_poisson, _draw_binomial = lazy("random.rejection", "poisson"), lazy("random.rejection", "binomial")


def _randint(input: Any, engine: Any, low: int, high: int | None) -> Any:
    return in_memory_order(input, lambda shape: _draw_randint(engine, shape, low, high, input.dtype))


def _bernoulli(input: Any, engine: Any, p: float) -> Any:
    return in_memory_order(input, lambda shape: _draw_bernoulli(engine, p, shape, input.dtype))


def _bernoulli_each(input: Any, engine: Any, p: Any) -> Any:
    p = p if p.shape == input.shape else np.broadcast_to(p, input.shape)
    if input.flags.c_contiguous:
        return _draw_bernoulli_each(engine, p, input.dtype)
    axes = _memory_axes(input)
    return _draw_bernoulli_each(engine, p.transpose(axes), input.dtype).transpose(np.argsort(axes))


_INTO = {name: OPS[f"_{name}_into"] for name in _FILLERS}


def _fill(name: str, input: Tensor, generator: Any, *parameters: Any) -> Tensor:
    engine = _random.engine_of(generator)
    if slow() and _random.inside_vmap():
        _randomness.check_filled(input)
    return dispatch.run_in_place(_INTO[name], (input, engine, *parameters))


@method
def normal_(input: Tensor, mean: float = 0, std: float = 1, *, generator: Any = None) -> Tensor:
    """Fill with samples of a normal distribution.

    >>> _ = torch.manual_seed(0); torch.empty(2).normal_()
    tensor([ 1.5410, -0.2934])
    """
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    return _fill("normal", input, generator, float(mean), float(std))


def uniform_(input: Tensor, *bounds: float, generator: Any = None, **more: float) -> Tensor:
    """Fill with samples of a uniform distribution from `from` (0) to `to` (1).

    >>> _ = torch.manual_seed(0); torch.empty(2).uniform_(0, 10)
    tensor([4.9626, 7.6822])
    """
    low, high = _named_bounds("uniform_", bounds, more, (0.0, 1.0)) if bounds or more else (0.0, 1.0)
    return _fill("uniform", input, generator, float(low), float(high))


def _named_bounds(
    name: str, given: tuple[Any, ...], more: dict[str, Any], defaults: tuple[Any, Any]
) -> tuple[Any, Any]:
    """`from` and `to`, by position or by keyword; `from` cannot be a parameter name in Python."""
    if not more and len(given) == 2:
        return given
    values = dict(zip(("from", "to"), given))
    for key, value in more.items():
        if key not in ("from", "to") or key in values:
            raise TypeError(f"{name}() got an unexpected keyword argument '{key}'")
        values[key] = value
    if len(given) > 2:
        raise TypeError(f"{name}() takes from 0 to 2 positional arguments but {len(given)} were given")
    return values.get("from", defaults[0]), values.get("to", defaults[1])


def random_(input: Tensor, *bounds: Any, generator: Any = None, **more: Any) -> Tensor:
    """Fill with random integers: `random_(to)` below a bound, `random_(from, to)` between two, or all that the dtype represents exactly.

    >>> _ = torch.manual_seed(0); torch.empty(3).random_(10)
    tensor([4., 9., 3.])
    """
    if len(bounds) == 1 and not more:
        return _fill("random_below", input, generator, int(bounds[0]))
    if not bounds and not more:
        return _fill("random", input, generator)
    low, high = _named_bounds("random_", bounds, more, (None, None))
    if low is None and high is None:
        return _fill("random", input, generator)
    if low is None:
        return _fill("random_below", input, generator, int(high))
    return _fill("random_between", input, generator, int(low), None if high is None else int(high))


install_method("uniform_", uniform_)
install_method("random_", random_)


@method
def exponential_(input: Tensor, lambd: float = 1, *, generator: Any = None) -> Tensor:
    """Fill with samples of an exponential distribution.

    >>> bool((torch.empty(100).exponential_() >= 0).all())
    True
    """
    return _fill("exponential", input, generator, float(lambd))


@method
def geometric_(input: Tensor, p: float, *, generator: Any = None) -> Tensor:
    """Fill with samples of a geometric distribution: the number of trials until a success of probability p.

    >>> bool((torch.empty(100).geometric_(0.5) >= 1).all())
    True
    """
    return _fill("geometric", input, generator, float(p))


@method
def cauchy_(input: Tensor, median: float = 0, sigma: float = 1, *, generator: Any = None) -> Tensor:
    """Fill with samples of a Cauchy distribution.

    >>> torch.empty(3).cauchy_().shape
    torch.Size([3])
    """
    return _fill("cauchy", input, generator, float(median), float(sigma))


@method
def log_normal_(input: Tensor, mean: float = 1, std: float = 2, *, generator: Any = None) -> Tensor:
    """Fill with samples of a log-normal distribution.

    >>> bool((torch.empty(100).log_normal_() > 0).all())
    True
    """
    return _fill("log_normal", input, generator, float(mean), float(std))


@method
def bernoulli_(input: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
    """Fill with ones, with probability p (a scalar, or a tensor with one for each element), and zeros.

    >>> torch.empty(2).bernoulli_(1.0)
    tensor([1., 1.])
    """
    if isinstance(p, Tensor):
        if input._level is not None or p._level is not None:
            return input.copy_(bernoulli(p.expand(tuple(input.shape)), generator=generator))
        return _fill("bernoulli_each", input, generator, p.expand(tuple(input.shape))._array)
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    return _fill("bernoulli", input, generator, float(p))


def _draw_each(input: Any, engine: Any) -> Any:
    return _draw_bernoulli_each(engine, input, input.dtype)


@differentiable(_draw_each, node="BernoulliBackward0", input=zero_gradient)
def _bernoulli_of(input: Tensor, engine: Any) -> Tensor: ...


def _no_slope(grad: Any, mean_shape: Any, xp: Any) -> Any:
    return xp.zeros_for(grad, mean_shape)


@differentiable(lambda mean, values: values, node="NormalBackward1", mean=_no_slope)
def _normal_about(mean: Tensor, values: Any) -> Tensor: ...


@differentiable(lambda mean, values: values, node="NormalBackward2", mean=_no_slope)
def _normal_within(mean: Tensor, values: Any) -> Tensor: ...


@differentiable(lambda mean, std, values: values, node="NormalBackward3", mean=_no_slope,
                std=lambda grad, std_shape, xp: xp.zeros_for(grad, std_shape))  # fmt: skip
def _normal_about_within(mean: Tensor, std: Tensor, values: Any) -> Tensor: ...


def normal_of(mean: Any, std: Any, values: Any) -> Tensor:
    """Samples with means or deviations that require grad: the gradient is zero, as in PyTorch."""
    if not isinstance(std, Tensor):
        return _normal_about(mean, values)
    return _normal_about_within(mean, std, values) if isinstance(mean, Tensor) else _normal_within(std, values)


def _bernoulli_method(input: Tensor, p: float | None = None, *, generator: Any = None) -> Tensor:
    """Ones with the probabilities in this tensor (or p), else zeros.

    >>> torch.tensor([0.0, 1.0]).bernoulli()
    tensor([0., 1.])
    """
    return bernoulli(input, p, generator=generator)


install_method("bernoulli", _bernoulli_method)

# ----- From weights and rates ---------------------------------------------------------------------------------------


@method
def multinomial(
    input: Tensor, num_samples: int, replacement: bool = False, *, generator: Any = None, out: Tensor | None = None
) -> Tensor:
    """Indices sampled by weights (one row per distribution), with or without replacement.

    >>> torch.multinomial(torch.tensor([0.0, 1.0]), 1)
    tensor([1])
    """
    made = _random._drawn_from((input,), lambda t: _multinomial_rows(t, num_samples, replacement, generator))
    if made is not None:
        return made
    drawn = wrap(_draw_multinomial(_random.engine_of(generator), input._array, index(num_samples), bool(replacement)))
    return dispatch.given("multinomial", drawn, out)


def _multinomial_rows(input: Tensor, num_samples: int, replacement: bool, generator: Any) -> Tensor:
    """`multinomial` for weights with any number of leading dimensions."""
    *lead, n = input.shape
    return multinomial(input.reshape(-1, n).contiguous(), num_samples, replacement, generator=generator).reshape(
        *lead, num_samples
    )


@differentiable(lambda input, engine: _draw_poisson(engine, input), node="PoissonBackward0", input=zero_gradient)
def _poisson(input: Tensor, engine: Any) -> Tensor: ...


def poisson(input: Tensor, generator: Any = None) -> Tensor:
    """Samples of Poisson distributions with these rates.

    >>> torch.poisson(torch.zeros(2))
    tensor([0., 0.])
    """
    made = _random._drawn_from((input,), lambda t: poisson(t, generator))
    return _poisson(input, _random.engine_of(generator)) if made is None else made


@differentiable(
    lambda count, prob, engine: _draw_binomial(engine, count, prob),
    node="NotImplemented",
    method=False,
    count=no_derivative("binomial"),
    prob=no_derivative("binomial"),
)
def _binomial(count: Tensor, prob: Tensor, engine: Any) -> Tensor: ...


def binomial(count: Tensor, prob: Tensor, generator: Any = None) -> Tensor:
    """The number of successes in `count` trials of probability `prob`, sampled.

    >>> torch.binomial(torch.tensor([5.0]), torch.tensor([1.0]))
    tensor([5.])
    """
    for name, value in (("count", count), ("prob", prob)):
        if value.dtype.category != dtypes.FLOATING:
            raise ValueError(
                f"binomial only supports floating-point dtypes for {name}, got: {dtypes.LEGACY[value.dtype]}"
            )
    made = _random._drawn_from((count, prob), lambda n, p: binomial(n, p, generator))
    return _binomial(count, prob, _random.engine_of(generator)) if made is None else made
