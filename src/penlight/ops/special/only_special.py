"""Special functions that PyTorch has only in torch.special; imported with `penlight.special`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ...tensor import Tensor
from ..machinery.guards import lazy, not_written
from .functions import _log_of, away_from_zero, by_operands, like, of_reals

if TYPE_CHECKING:
    from ..machinery.op import Number


__all__: list[str] = []

_TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)
_ROOT_TWO_PI = math.sqrt(2 * math.pi)

# ----- With a derivative --------------------------------------------------------------------------------------------


@of_reals("erfcx", "erfcx_cpu", "ch", node="SpecialErfcxBackward0", inplace=False,
          input=lambda grad, input, result: (2.0 * input * result - _TWO_OVER_ROOT_PI) * grad)  # fmt: skip
def _special_erfcx(input: Tensor) -> Tensor:
    """The complementary error function scaled by exp(x**2), which stays finite for large x.

    >>> torch.special.erfcx(torch.tensor([0.0, 10.0]))
    tensor([1.0000, 0.0561])
    """


@of_reals("ndtri", "ndtri_cpu", "ch", node="SpecialNdtriBackward0", inplace=False,
          input=lambda grad, result, xp: grad * (_ROOT_TWO_PI * xp.exp(result * result / 2)))  # fmt: skip
def _special_ndtri(input: Tensor) -> Tensor:
    """The inverse of the standard normal distribution function.

    >>> torch.special.ndtri(torch.tensor([0.5, 0.975]))
    tensor([0.0000, 1.9600])
    """


@of_reals("log_ndtr", "log_ndtr_cpu", "ch", node="SpecialLogNdtrBackward0", inplace=False,
          input=lambda grad, input, xp: grad / xp._special_erfcx(input * -math.sqrt(0.5)) * math.sqrt(2 / math.pi))  # fmt: skip
def _special_log_ndtr(input: Tensor) -> Tensor:
    """The logarithm of the standard normal distribution function, accurate even far below zero.

    >>> torch.special.log_ndtr(torch.tensor([-20.0, 0.0]))
    tensor([-203.9172,   -0.6931])
    """


@of_reals("entr", "entr_cpu", node="SpecialEntrBackward0", inplace=False,
          input=lambda grad, input, xp: grad * -xp._add_number(xp.log(input), 1))  # fmt: skip
def _special_entr(input: Tensor) -> Tensor:
    """`-x ln(x)` for each element: 0 at 0, -inf below.

    >>> torch.special.entr(torch.tensor([0.0, 0.5, 1.0]))
    tensor([0.0000, 0.3466, -0.0000])
    """


@of_reals("i0e", "i0e_cpu", node="SpecialI0EBackward0", inplace=False,
          input=lambda grad, input, result, xp: grad * (xp._special_i1e(input) - xp.sgn(input) * result))  # fmt: skip
def _special_i0e(input: Tensor) -> Tensor:
    """The modified Bessel function of order 0, scaled by exp(-|x|).

    >>> torch.special.i0e(torch.tensor([0.0, 1.0]))
    tensor([1.0000, 0.4658])
    """


def _i1e_rule(grad: Any, input: Any, result: Any, xp: Any) -> Any:
    tiny, safe = away_from_zero(input, xp)
    return grad * xp.where(tiny, 0.5, xp._special_i0e(safe) - result * (xp.sgn(safe) + 1 / safe))


@of_reals("i1e", "i1e_cpu", node="SpecialI1EBackward0", inplace=False, input=_i1e_rule)
def _special_i1e(input: Tensor) -> Tensor:
    """The modified Bessel function of order 1, scaled by exp(-|x|).

    >>> torch.special.i1e(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.2079])
    """


_xlog1py_kernel, _zeta_kernel = lazy("special", "xlog1py"), lazy("special", "zeta")


@of_reals("xlog1py", "xlog1py_cpu", node="SpecialXlog1PyBackward0", inplace=False,
          input=lambda grad, input, other, xp: grad * xp.where((input == 0) & (other <= -1), 0.0, xp.log1p(other)),
          other=lambda grad, input, other, xp: grad * input / xp._add_number(other, 1))  # fmt: skip
def _special_xlog1py(input: Tensor, other: Tensor) -> Tensor: ...


def _xlog1py_number_rule(grad: Any, input: Any, other: Any, xp: Any) -> Any:
    slope = math.log1p(other) if other > -1 else _log_of(other + 1)
    return grad * (xp.where(input == 0, xp.zeros_like(grad), slope) if other <= -1 else slope)


@of_reals(lambda input, other: _xlog1py_kernel(input, like(other, input)), "xlog1py_cpu", node="SpecialXlog1PyBackward2",
          inplace=False, input=_xlog1py_number_rule)  # fmt: skip
def _xlog1py_number(input: Tensor, other: Number) -> Tensor: ...


@of_reals(lambda other, input: _xlog1py_kernel(like(input, other), other), "xlog1py_cpu", node="SpecialXlog1PyBackward1",
          inplace=False, other=lambda grad, other, input: grad * input / (other + 1))  # fmt: skip
def _xlog1py_of_number(other: Tensor, input: Number) -> Tensor: ...


xlog1py_any = by_operands("special_xlog1py", _special_xlog1py, _xlog1py_number, _xlog1py_of_number)


@of_reals("zeta", "zeta_cpu", "ch", node="SpecialZetaBackward0", inplace=False,
          input=not_written("zeta"),
          other=lambda grad, input, other, xp: grad * -input * xp._special_zeta(input + 1, other))  # fmt: skip
def _special_zeta(input: Tensor, other: Tensor) -> Tensor: ...


@of_reals(lambda input, other: _zeta_kernel(input, like(other, input)), "zeta_cpu", "ch", node="SpecialZetaBackward2", inplace=False,
          input=not_written("zeta"))  # fmt: skip
def _zeta_number(input: Tensor, other: Number) -> Tensor: ...


@of_reals(lambda other, input: _zeta_kernel(like(input, other), other), "zeta_cpu", "ch", node="SpecialZetaBackward1", inplace=False,
          other=lambda grad, other, input, xp: grad * -input * xp._zeta_of_number(other, input + 1))  # fmt: skip
def _zeta_of_number(other: Tensor, input: Number) -> Tensor: ...


zeta_any = by_operands("special_zeta", _special_zeta, _zeta_number, _zeta_of_number)

# ----- Without one ----------------------------------------------------------------------------------------------------

UNARY = (
    "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "modified_bessel_i0", "modified_bessel_i1",
    "modified_bessel_k0", "modified_bessel_k1", "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "spherical_bessel_j0",
)  # fmt: skip
POLYNOMIALS = (
    "chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w", "hermite_polynomial_h",
    "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p", "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v", "shifted_chebyshev_polynomial_w",
)  # fmt: skip


def declare_unary(name: str, doc: str) -> Any:
    """Declare a function of one argument from the kernel of that name."""

    def face(input: Tensor) -> Tensor: ...

    face.__name__, face.__doc__ = "_special_" + name, doc
    return of_reals(name, name + "_cpu", "ch", inplace=False)(face)


def declare_polynomial(name: str) -> Any:
    """Declare a polynomial in x whose degree n is a tensor or a scalar."""
    run = lazy("special", name)

    def face(x: Tensor, n: Tensor) -> Tensor: ...

    def face_number(x: Tensor, n: Number) -> Tensor: ...

    def face_of_number(n: Tensor, x: Number) -> Tensor: ...

    for f, end in ((face, ""), (face_number, "_number"), (face_of_number, "_of_number")):
        f.__name__ = f"_special_{name}{end}"
    return by_operands(
        "special_" + name,
        of_reals(run, name + "_cpu", "ch", inplace=False)(face),
        of_reals(lambda x, n: run(x, like(n, x)), name + "_cpu", "ch", inplace=False)(face_number),
        of_reals(lambda n, x: run(like(x, n), n), name + "_cpu", "ch", inplace=False)(face_of_number),
    )
