"""The von Mises distribution."""

from __future__ import annotations

import math
from typing import Any

import penlight

from ..size import Size
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import broadcast_all, formula, lazy_property

__all__ = ["VonMises"]


# Polynomials of Abramowitz and Stegun, 9.8.1 to 9.8.4, for the modified Bessel functions of order 0 and 1.
_SMALL = (
    (1.0, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.360768e-1, 0.45813e-2),
    (0.5, 0.87890594, 0.51498869, 0.15084934, 0.2658733e-1, 0.301532e-2, 0.32411e-3),
)
_LARGE = (
    (0.39894228, 0.1328592e-1, 0.225319e-2, -0.157565e-2, 0.916281e-2, -0.2057706e-1, 0.2635537e-1, -0.1647633e-1, 0.392377e-2),
    (0.39894228, -0.3988024e-1, -0.362018e-2, 0.163801e-2, -0.1031555e-1, 0.2282967e-1, -0.2895312e-1, 0.1787654e-1, -0.420059e-2),
)  # fmt: skip


def _polynomial(x: Tensor, coefficients: tuple[float, ...]) -> Any:
    result: Any = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        result = coefficient + x * result
    return result


def _log_bessel(x: Tensor, order: int = 0) -> Tensor:
    small = _polynomial((x / 3.75) * (x / 3.75), _SMALL[order])
    if order == 1:
        small = x.abs() * small
    large = x - 0.5 * x.log() + _polynomial(3.75 / x, _LARGE[order]).log()
    return penlight.where(x < 3.75, small.log(), large)


class VonMises(Distribution):
    """Angles around `loc`: a normal distribution on the circle.

    >>> import penlight as torch
    >>> torch.distributions.VonMises(torch.tensor(1.0), torch.tensor(4.0)).mean
    tensor(1.)
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, Size(), validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        validate_args = self.__dict__.get("_validate_args")
        return type(self)(
            self.loc.expand(batch_shape), self.concentration.expand(batch_shape), validate_args=validate_args
        )

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        return self.concentration * (value - self.loc).cos() - math.log(2 * math.pi) - _log_bessel(self.concentration)

    @lazy_property
    def _loc(self) -> Any:
        return self.loc.to(penlight.double)

    @lazy_property
    def _concentration(self) -> Any:
        return self.concentration.to(penlight.double)

    @lazy_property
    def _proposal_r(self) -> Any:
        kappa = self._concentration
        tau = 1 + (1 + 4 * kappa**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        return penlight.where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho**2) / (2 * rho))

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        """By the rejection of Best and Fisher, from a wrapped Cauchy distribution, in float64."""
        with penlight.no_grad():
            shape = self._extended_shape(sample_shape)
            r, loc = self._proposal_r, self._loc
            angle = penlight.zeros(shape, dtype=loc.dtype)
            done = penlight.zeros(shape, dtype=penlight.bool)
            while not done.all():
                u1, u2, u3 = penlight.rand((3,) + tuple(shape), dtype=loc.dtype).unbind()
                z = (math.pi * u1).cos()
                f = (1 + r * z) / (r + z)
                c = self._concentration * (r - f)
                accept = ((c * (2 - c) - u2) > 0) | ((c / u2).log() + 1 - c >= 0)
                angle = penlight.where(accept, (u3 - 0.5).sign() * f.acos(), angle)
                done = done | accept
            return ((angle + math.pi + loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)

    mean = mode = formula(lambda d: d.loc)

    @lazy_property
    def variance(self) -> Any:
        return 1 - (_log_bessel(self.concentration, order=1) - _log_bessel(self.concentration, order=0)).exp()
