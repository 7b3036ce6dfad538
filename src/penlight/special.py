"""torch.special: special functions under SciPy's names.

>>> import penlight as torch
>>> torch.special.expit(torch.tensor([0.0]))
tensor([0.5000])
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from . import ops as _ops
from ._common.docstrings import documented
from .ops.machinery import dispatch
from .ops.machinery.public_functions import public_functions as _public_functions
from .ops.pointwise.arithmetic import _add_number, _mul_number
from .ops.special import only_special as _more
from .ops.special.functions import _special_i1 as i1

if TYPE_CHECKING:
    from collections.abc import Callable

    from .ops.machinery.op import Number
    from .tensor import Tensor

    def __getattr__(name: str) -> Callable[..., Tensor]: ...  # those made by the loops below


__all__ = [
    "digamma", "entr", "erf", "erfc", "erfcx", "erfinv", "exp2", "expit", "expm1", "gammainc", "gammaincc", "gammaln", "i0", "i0e",
    "i1", "i1e", "log1p", "log_ndtr", "log_softmax", "logit", "logsumexp", "multigammaln", "ndtr", "ndtri", "polygamma", "psi",
    "round", "sinc", "softmax", "xlog1py", "xlogy", "zeta", *_more.UNARY, *_more.POLYNOMIALS,
]  # fmt: skip

digamma, erf, erfc, erfinv, i0 = _ops.digamma, _ops.erf, _ops.erfc, _ops.erfinv, _ops.i0
exp2, expit, expm1, log1p = _ops.exp2, _ops.sigmoid, _ops.expm1, _ops.log1p
gammainc, gammaincc, gammaln, multigammaln, polygamma = (
    _ops.igamma,
    _ops.igammac,
    _ops.lgamma,
    _ops.mvlgamma,
    _ops.polygamma,
)
logit, sinc, xlogy = _ops.logit, _ops.sinc, _ops.xlogy
log_softmax, logsumexp, softmax = _ops.log_softmax, _ops.logsumexp, _ops.softmax
psi = digamma
entr, erfcx, i0e, i1e = _more._special_entr, _more._special_erfcx, _more._special_i0e, _more._special_i1e
log_ndtr, ndtri = _more._special_log_ndtr, _more._special_ndtri


def ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The normal distribution function.

    >>> torch.special.ndtr(torch.tensor([0.0, 1.0]))
    tensor([0.5000, 0.8413])
    """
    result = _mul_number(_add_number(erf(_mul_number(input, math.sqrt(0.5))), 1), 0.5)
    return dispatch.given("special_ndtr", result, out)


def round(input: Tensor, *, decimals: int = 0, out: Tensor | None = None) -> Tensor:
    """The nearest number with this many decimals, halves to even.

    >>> torch.special.round(torch.tensor([0.5, 1.5]))
    tensor([0., 2.])
    """
    return _ops.round(input, decimals=decimals, out=out)


def xlog1py(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """input * log1p(other), and 0 where `input` is 0.

    >>> torch.special.xlog1py(torch.tensor([0.0, 2.0]), torch.tensor([-1.0, 0.0]))
    tensor([0., 0.])
    """
    return _more.xlog1py_any(input, other, out)


def zeta(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The Hurwitz zeta function: the sum of (k + other)**-input over k = 0, 1, 2, ...

    >>> torch.special.zeta(torch.tensor([2.0]), 1)
    tensor([1.6449])
    """
    return _more.zeta_any(input, other, out)


_DOCS = {
    "airy_ai": "The Airy function Ai.",
    "bessel_j0": "The Bessel function of the first kind of order 0.",
    "bessel_j1": "The Bessel function of the first kind of order 1.",
    "bessel_y0": "The Bessel function of the second kind of order 0.",
    "bessel_y1": "The Bessel function of the second kind of order 1.",
    "modified_bessel_i0": "The modified Bessel function of the first kind of order 0.",
    "modified_bessel_i1": "The modified Bessel function of the first kind of order 1.",
    "modified_bessel_k0": "The modified Bessel function of the second kind of order 0.",
    "modified_bessel_k1": "The modified Bessel function of the second kind of order 1.",
    "scaled_modified_bessel_k0": "exp(x) times `modified_bessel_k0`.",
    "scaled_modified_bessel_k1": "exp(x) times `modified_bessel_k1`.",
    "spherical_bessel_j0": "The spherical Bessel function of the first kind of order 0: sin(x) / x.",
}


def _polynomial(name: str) -> Any:
    run = _more.declare_polynomial(name)

    def polynomial(x: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
        return run(x, n, out)

    polynomial.__name__ = polynomial.__qualname__ = name
    family = name.rsplit("_polynomial", 1)[0].replace("_", " ")
    for person in ("chebyshev", "hermite", "laguerre", "legendre"):
        family = family.replace(person, person.capitalize())
    letter = "He" if name.endswith("_he") else name[-1].upper()
    polynomial.__doc__ = documented(
        f"The {family} polynomial {letter} of degree n at x.",
        f">>> torch.special.{name}(torch.tensor([0.5]), 0)", "tensor([1.])",
    )  # fmt: skip
    return polynomial


for _name in _more.UNARY:
    _text = documented(_DOCS[_name], f">>> torch.special.{_name}(torch.tensor([1.0])).shape", "torch.Size([1])")
    globals()[_name] = _more.declare_unary(_name, _text)
for _name in _more.POLYNOMIALS:
    globals()[_name] = _polynomial(_name)

globals().update(_public_functions(globals(), "special_", __name__))
