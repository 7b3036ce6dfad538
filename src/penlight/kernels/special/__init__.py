"""Special functions on raw arrays, in NumPy alone, named as in torch.special.

Each takes float16, bfloat16, float32 or float64 arrays and keeps the dtype; integers are the caller's to promote.
A family's file is imported when the first of its functions is asked for. Where no machine code runs and SciPy is installed, a function is
SciPy's where that is faster: by_scipy.py.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .. import executable

# Thresholds. What goes element by element, and what as bodies of NumPy, in blocks.
# Elements that go one by one: a kernel takes dozens of calls of NumPy, each as long as the C library for some ten elements
MOST_ONE_BY_ONE = 128
MOST_IN_PYTHON = 200  # elements of a function of scalars: it takes 2 to 10 µs for each, the interpreter of IR 0.5 ms and more for any number
MOST_BY_SCIPY = 1 << 11  # elements; more are done as fast by blocks, unless by_scipy.py says otherwise of a function
MOST_DEGREE = 24  # of a polynomial that is a kernel of its own: each degree is compiled

_FAMILIES = {
    "bessel": "airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 spherical_bessel_j0",
    "bessel_modified": (
        "i0 i0e i1 i1e modified_bessel_i0 modified_bessel_i1 modified_bessel_k0 modified_bessel_k1 "
        "scaled_modified_bessel_k0 scaled_modified_bessel_k1"
    ),
    "error_functions": "erf erfc erfcx erfinv log_ndtr ndtri",
    "gamma": "digamma gammaln multigammaln polygamma zeta",
    "incomplete_gamma": "gammainc gammaincc",
    "elementary": "entr logit sinc xlog1py xlogy",
    "polynomials": (
        "chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w "
        "hermite_polynomial_h hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p "
        "shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v "
        "shifted_chebyshev_polynomial_w"
    ),
}
_FAMILY_OF = {name: family for family, names in _FAMILIES.items() for name in names.split()}
__all__ = list(_FAMILY_OF)


def __getattr__(name: str) -> Any:
    if name not in _FAMILY_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    ours = getattr(import_module(f"{__name__}.{_FAMILY_OF[name]}"), name)
    if executable.backend() is not None:
        return ours
    return import_module(f"{__name__}.by_scipy").instead(name, _tabled(ours))


def _tabled(function: Any) -> Any:
    """A function that looks results of 16-bit floats up: Note [Functions as tables] in elementwise/tables.py."""
    tables = import_module("..elementwise.tables", __name__)

    def run(*arguments: Any) -> Any:
        made = tables.looked_up(function, arguments)
        return function(*arguments) if made is None else made

    return run
