"""Special functions: a table of derivatives over the kernels in kernels/special. only_special.py has the rarer ones."""

from __future__ import annotations

import math
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import dtypes
from ...tensor import Tensor
from ..machinery import dispatch
from ..machinery.declare import OPS, method, pointwise
from ..machinery.guards import lazy, need_number, no_tensor, not_written
from ..machinery.op import traits

if TYPE_CHECKING:
    from ..machinery.op import Number

__all__ = [
    "digamma", "erf", "erfc", "erfinv", "i0", "igamma", "igammac", "lgamma", "logit", "mvlgamma", "polygamma", "sinc",
    "xlogy", "xlogy_"
]  # fmt: skip

_TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)
_ROOT_HALF_PI = math.sqrt(math.pi) / 2


def of_reals(kernel: Any, called: str, refused: str = "c", floating: bool = True, **declared: Any) -> Any:
    """Declare an elementwise op of real numbers. `called` is PyTorch's name of its kernel, in the error for the dtypes that are refused."""

    def decorate(face: Any) -> Any:
        run = lazy("special", kernel) if isinstance(kernel, str) else kernel
        return pointwise(run, floating=floating, **declared)(traits(refuses={refused: called})(face))

    return decorate


# ----- The error function -------------------------------------------------------------------------------------------


@of_reals("erf", "erf_vml_cpu",
          input=lambda grad, input, xp: xp._mul_number(xp.exp(-xp.squared(input)), _TWO_OVER_ROOT_PI) * grad)  # fmt: skip
def erf(input: Tensor) -> Tensor:
    """The error function.

    >>> torch.erf(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8427])
    """


@of_reals("erfc", "erfc_vml_cpu",
          input=lambda grad, input, xp: xp._mul_number(xp.exp(-xp.squared(input)), -_TWO_OVER_ROOT_PI) * grad)  # fmt: skip
def erfc(input: Tensor) -> Tensor:
    """1 - erf(x), accurate even where that is tiny.

    >>> torch.erfc(torch.tensor([0.0, 1.0]))
    tensor([1.0000, 0.1573])
    """


@of_reals("erfinv", "erfinv_vml_cpu",
          input=lambda grad, result, xp: xp._mul_number(xp.exp(xp.squared(result)), _ROOT_HALF_PI) * grad)  # fmt: skip
def erfinv(input: Tensor) -> Tensor:
    """The inverse of `erf`.

    >>> torch.erfinv(torch.tensor([0.0, 0.5]))
    tensor([0.0000, 0.4769])
    """


# ----- The gamma function -------------------------------------------------------------------------------------------


@of_reals("gammaln", "lgamma_vml_cpu", input=lambda grad, input, xp: grad * xp.digamma(input))
def lgamma(input: Tensor) -> Tensor:
    """The logarithm of |gamma(x)|.

    >>> torch.lgamma(torch.tensor([5.0]))
    tensor([3.1781])
    """


@of_reals("digamma", "digamma", input=lambda grad, input, xp: grad * xp._polygamma(input, 1))
def digamma(input: Tensor) -> Tensor:
    """The derivative of `lgamma`.

    >>> torch.digamma(torch.tensor([1.0]))
    tensor([-0.5772])
    """


_polygamma_kernel = lazy("special", "polygamma")


@of_reals(lambda input, n: _polygamma_kernel(n, input), "polygamma", node="PolygammaBackward0",
          input=lambda grad, input, n, xp: grad * xp._polygamma(input, n + 1))  # fmt: skip
def _polygamma(input: Tensor, n: int) -> Tensor: ...


def _order(n: Any, input: Any) -> tuple[Any, int]:
    """The arguments of polygamma: the method takes the tensor first, the function the order."""
    if isinstance(n, Tensor):
        n, input = input, n
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    return input, index(n)


@method
def polygamma(n: int, input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The n-th derivative of `digamma`.

    >>> torch.polygamma(1, torch.tensor([1.0]))
    tensor([1.6449])
    """
    return _polygamma(*_order(n, input), out=out)


@method
def polygamma_(input: Tensor, n: int) -> Tensor:
    """In-place version of `polygamma`.

    >>> torch.tensor([1.0]).polygamma_(1)
    tensor([1.6449])
    """
    return dispatch.run_in_place(OPS["_polygamma"], _order(n, input))


_multigammaln = lazy("special", "multigammaln")


def _mvlgamma_array(input: Any, p: int) -> Any:
    if index(p) < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    return _multigammaln(input, p)


def _mvlgamma_rule(grad: Any, input: Any, p: int, xp: Any) -> Any:
    total = xp.digamma(input)
    for j in range(1, p):
        total = total + xp.digamma(input - j / 2)
    return grad * total


def _no_truth_values(env: dict[str, Any]) -> None:
    if env["input"].dtype is dtypes.bool_:
        raise RuntimeError("The input tensor may not be a boolean tensor.")


@pointwise(_mvlgamma_array, floating=True, check=_no_truth_values, input=_mvlgamma_rule)
@traits(contiguous=True, refuses={"c": "mvlgamma"})
def mvlgamma(input: Tensor, p: int) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension p.

    >>> torch.mvlgamma(torch.tensor([2.0]), 2)
    tensor([0.4516])
    """


def _gamma_density(grad: Any, input: Any, other: Any, xp: Any) -> Any:
    """The derivative of the incomplete gamma function by its second argument."""
    return grad * xp.exp((input - 1) * xp.log(other) - other - xp.lgamma(input))


@of_reals("gammainc", "igamma_cpu", "biuc", floating=False, input=not_written("igamma: input"), other=_gamma_density)
def igamma(input: Tensor, other: Tensor) -> Tensor:
    """The lower incomplete gamma function P(input, other), between 0 and 1.

    >>> torch.igamma(torch.tensor([4.0]), torch.tensor([4.0]))
    tensor([0.5665])
    """


@of_reals("gammaincc", "igammac_cpu", "biuc", floating=False, input=not_written("igammac: input"),
          other=lambda grad, input, other, xp: -_gamma_density(grad, input, other, xp))  # fmt: skip
def igammac(input: Tensor, other: Tensor) -> Tensor:
    """The upper incomplete gamma function 1 - P(input, other).

    >>> torch.igammac(torch.tensor([4.0]), torch.tensor([4.0]))
    tensor([0.4335])
    """


# ----- Modified Bessel functions ------------------------------------------------------------------------------------


@of_reals("i0", "i0_vml_cpu", input=lambda grad, input, xp: grad * xp._special_i1(input))
def i0(input: Tensor) -> Tensor:
    """The modified Bessel function of order 0.

    >>> torch.i0(torch.tensor([0.0, 1.0]))
    tensor([1.0000, 1.2661])
    """


def away_from_zero(input: Any, xp: Any) -> tuple[Any, Any]:
    """A mask of nearly zero elements, and the elements with a tiny value there, so that they can be divisors."""
    kind = xp.np_dtype(input)
    epsilon = 2.0**-7 if kind.kind == "V" else float(np.finfo(kind).eps)
    tiny = ~(xp.abs(input) > epsilon)  # NaN too, as in PyTorch
    return tiny, xp.where(tiny, epsilon, input)


def _i1_rule(grad: Any, input: Any, result: Any, xp: Any) -> Any:
    """i0(x) - i1(x) / x, and one half near 0."""
    tiny, safe = away_from_zero(input, xp)
    return grad * xp.where(tiny, 0.5, xp.i0(safe) - result / safe)


@of_reals("i1", "i1_cpu", node="SpecialI1Backward0", inplace=False, input=_i1_rule)
def _special_i1(input: Tensor) -> Tensor:
    """The modified Bessel function of the first kind, order 1.

    >>> torch.special.i1(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.5652])
    """


# ----- Sines, entropies and odds ------------------------------------------------------------------------------------


def _sinc_rule(grad: Any, input: Any, xp: Any) -> Any:
    """At 0, where the formula divides by 0, the first term of the series: exact there, as is its own derivative."""
    zero = input * input == 0
    safe = xp.where(zero, 1.0, input)
    angle = safe * math.pi
    slope = (angle * xp.cos(angle) - xp.sin(angle)) / (angle * safe)
    return grad * xp.where(zero, input * (-math.pi * math.pi / 3), slope)


@pointwise(lazy("special", "sinc"), floating=True, input=_sinc_rule)
def sinc(input: Tensor) -> Tensor:
    """sin(pi x) / (pi x), and 1 for 0.

    >>> torch.sinc(torch.tensor([0.0, 0.5]))
    tensor([1.0000, 0.6366])
    """


def _logit_rule(grad: Any, input: Any, eps: Any, xp: Any) -> Any:
    """1 / (x (1 - x)); 0 where x was clamped, NaN outside [0, 1] where it wasn't."""
    slope = grad / (input * (1 - input))
    if eps is None or eps < 0:
        return xp.where((input < 0) | (input > 1), math.nan, slope)
    low, high = _logit_bounds(eps, xp.np_dtype(input))
    return xp.where((input < low) | (input > high), 0.0, slope)


_logit_bounds = lazy("special.elementary", "logit_bounds")


@of_reals("logit", "logit_cpu", input=_logit_rule)
def logit(input: Tensor, eps: float | None = None) -> Tensor:
    """log(x / (1 - x)), with x clamped to [eps, 1 - eps] if `eps` is given.

    >>> torch.logit(torch.tensor([0.5, 0.9]))
    tensor([0.0000, 2.1972])
    """


@of_reals("xlogy", "xlogy_cpu", node="XlogyBackward0",
          input=lambda grad, input, other, xp: grad * xp.where((input == 0) & (other <= 0), 0.0, xp.log(other)),
          other=lambda grad, input, other: grad * input / other)  # fmt: skip
def _xlogy(input: Tensor, other: Tensor) -> Tensor: ...


def _log_of(number: Any) -> float:
    return math.log(number) if number > 0 else -math.inf if number == 0 else math.nan


def _xlogy_number_rule(grad: Any, input: Any, other: Any, xp: Any) -> Any:
    slope = _log_of(other)
    return grad * (xp.where(input == 0, xp.zeros_like(grad), slope) if other <= 0 else slope)


_xlogy_kernel = lazy("special", "xlogy")


def like(number: Any, array: Any) -> Any:
    """A scalar as a 0-d array of an array's dtype."""
    return np.asarray(number).astype(array.dtype)


@of_reals(lambda input, other: _xlogy_kernel(input, like(other, input)), "xlogy_cpu", node="XlogyBackward2",
          input=_xlogy_number_rule)  # fmt: skip
def _xlogy_number(input: Tensor, other: Number) -> Tensor: ...


@of_reals(lambda other, input: _xlogy_kernel(like(input, other), other), "xlogy_cpu", node="XlogyBackward1", inplace=False,
          other=lambda grad, other, input: grad * input / other)  # fmt: skip
def _xlogy_of_number(other: Tensor, input: Number) -> Tensor: ...


def by_operands(name: str, both_tensors: Any, number_second: Any, number_first: Any) -> Any:
    """A function of two operands, one of which may be a scalar: selects the op for each case."""

    def run(input: Any, other: Any, out: Any = None) -> Tensor:
        input, other = need_number(input), need_number(other)
        if isinstance(input, Tensor):
            return (both_tensors if isinstance(other, Tensor) else number_second)(input, other, out=out)
        if isinstance(other, Tensor):
            return number_first(other, input, out=out)
        raise no_tensor(name, input, other, parameters=("x", "n") if "polynomial" in name else ("input", "other"))

    return run


_xlogy_any = by_operands("xlogy", _xlogy, _xlogy_number, _xlogy_of_number)


@method
def xlogy(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """input * log(other), and 0 where `input` is 0.

    >>> torch.xlogy(torch.tensor([0.0, 2.0]), torch.tensor([0.0, 1.0]))
    tensor([0., 0.])
    """
    return _xlogy_any(input, other, out)


@method
def xlogy_(input: Tensor, other: Tensor | Number) -> Tensor:
    """In-place version of `xlogy`.

    >>> torch.tensor([0.0, 2.0]).xlogy_(torch.tensor([0.0, 1.0]))
    tensor([0., 0.])
    """
    return dispatch.run_in_place(OPS["_xlogy" if isinstance(other, Tensor) else "_xlogy_number"], (input, other))
