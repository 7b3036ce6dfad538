"""Special functions on raw arrays, in NumPy alone, named as in torch.special.

Each takes float16, bfloat16, float32 or float64 arrays and keeps the dtype; integers are the caller's to promote.
The functions live in the `special_*` modules, one for each family.
"""

from __future__ import annotations

from .special_bessel import airy_ai, bessel_j0, bessel_j1, bessel_y0, bessel_y1, spherical_bessel_j0
from .special_bessel_modified import (
    i0,
    i0e,
    i1,
    i1e,
    modified_bessel_i0,
    modified_bessel_i1,
    modified_bessel_k0,
    modified_bessel_k1,
    scaled_modified_bessel_k0,
    scaled_modified_bessel_k1,
)
from .special_erf import erf, erfc, erfcx, erfinv, log_ndtr, ndtr, ndtri
from .special_gamma import digamma, gammaln, multigammaln, polygamma
from .special_gammainc import gammainc, gammaincc
from .special_misc import entr, exp2, expit, log_sigmoid, logaddexp2, logit, sinc, softplus, xlog1py, xlogy
from .special_polynomials import (
    chebyshev_polynomial_t,
    chebyshev_polynomial_u,
    chebyshev_polynomial_v,
    chebyshev_polynomial_w,
    hermite_polynomial_h,
    hermite_polynomial_he,
    laguerre_polynomial_l,
    legendre_polynomial_p,
    shifted_chebyshev_polynomial_t,
    shifted_chebyshev_polynomial_u,
    shifted_chebyshev_polynomial_v,
    shifted_chebyshev_polynomial_w,
)
from .special_zeta import zeta

lgamma = gammaln
psi = digamma
sigmoid = expit

__all__ = [
    "airy_ai",
    "bessel_j0",
    "bessel_j1",
    "bessel_y0",
    "bessel_y1",
    "chebyshev_polynomial_t",
    "chebyshev_polynomial_u",
    "chebyshev_polynomial_v",
    "chebyshev_polynomial_w",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
    "exp2",
    "expit",
    "gammainc",
    "gammaincc",
    "gammaln",
    "hermite_polynomial_h",
    "hermite_polynomial_he",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "laguerre_polynomial_l",
    "legendre_polynomial_p",
    "lgamma",
    "log_ndtr",
    "log_sigmoid",
    "logaddexp2",
    "logit",
    "modified_bessel_i0",
    "modified_bessel_i1",
    "modified_bessel_k0",
    "modified_bessel_k1",
    "multigammaln",
    "ndtr",
    "ndtri",
    "polygamma",
    "psi",
    "scaled_modified_bessel_k0",
    "scaled_modified_bessel_k1",
    "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u",
    "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w",
    "sigmoid",
    "sinc",
    "softplus",
    "spherical_bessel_j0",
    "xlog1py",
    "xlogy",
    "zeta",
]
