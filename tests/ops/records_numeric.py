"""Records of the tables numeric, inquiry, special_functions, special_rare."""

from __future__ import annotations

import math

from recording import B, F, I, S, X, binary, record, unary

INF, NAN = math.inf, math.nan
_SAME = (("float32", "float32"), ("float16", "float16"), ("complex64", "complex64"), ("complex128", "complex128"))
_REALS = (("float32", "float32"), ("float16", "float16"), ("float32", "float64"), ("int64", "float32"))

# ----- numeric ------------------------------------------------------------------------------------------------------

record(
    "lerp",
    binary(mixed=_SAME, weight=0.3), binary(mixed=_SAME, weight=0.8),
    S(X(3), X(3), X(3)), S(X((2, 3)), X(3), X((2, 1))), S(X(3), X(3), X((), "float32")), S(X(3), X(3), 2),
    S(X(3, "complex128"), X(3, "complex128"), 0.3j),
    errors=[(I(1, 2), I(1, 2), 2), (X(2, "float32"), X(2), 0.5), (X(2, "float32"), X(2, "float32"), X(2)), (X(2), X(2), 1j)],
)  # fmt: skip
_THREE = [
    S(X((2, 3)), X((2, 3)), X((2, 3), low=0.5)), S(X(3), X((2, 1)), X((2, 3), low=0.5), value=0.5), S(X(()), X(()), X((), low=0.5), value=3),
    S(X(3, "float32"), X(3, "float32"), X(3, "float64", low=0.5)), S(X(3, "complex64"), X(3, "complex64"), X(3, "complex64"), value=2),
    S(X((0, 2)), X((0, 2)), X((1, 2))), S(X((2, 3), layout="transposed"), X((2, 3)), X((2, 3), layout="expanded", low=0.5)),
]  # fmt: skip
record("addcmul", _THREE, S(I(1, 2), I(3, 4), I(5, 6), value=2), S(I(1, 2), I(3, 4), I(5, 6), value=0.5), S(X(2), 2, X(2), X(2)),
       errors=[(B([True]), B([True]), B([True])), S(X(2), X(2), X(2), value=1j)])  # fmt: skip
record(
    "addcdiv",
    _THREE,
    S(X(2), I(3, 4), X(2, low=1)),
    S(X(2), 2, X(2), X(2, low=1)),
    errors=[(I(1, 2), I(1, 2), I(1, 2)), (X(2), I(1, 2), I(1, 2))],
)
record("copysign", binary(), S(X(3), -1), S(X(3), 0.5), S(I(1, -2), -1), S(F([0.0, -0.0]), F([1.0, -1.0])))
record("frexp", unary(dtypes=("float32", "float16")), S(F([0.0, INF, -INF, NAN, -3.0])), smooth=False, errors=[(I(1),)])
record("float_power", binary(0.5, 2.0, numbers=(2, 0.5, -1), mixed=_REALS), S(2, X(3)), S(2.5, I(1, 2)), S(X(3, "complex64"), 2),
       errors=[S(X(2, "float32"), 2, out=X(2, "float32", grad=False))], node=False)  # fmt: skip
record("fmax", binary(), S(F([1.0, NAN, 3.0, NAN]), F([1.0, 2.0, NAN, NAN])), errors=[(X(2), 2.0)])
record("fmin", binary(), S(F([1.0, NAN, 3.0, NAN]), F([1.0, 2.0, NAN, NAN])))
record("maximum", binary(), S(F([1.0, 2.0]), F([1.0, 3.0])))
record("minimum", binary(), S(F([1.0, 2.0]), F([1.0, 3.0])))
record("hypot", binary(mixed=_REALS), errors=[(I(1), I(1)), (X(2), 2.0), (X(2), X(3))])
record("heaviside", binary(mixed=(("float32", "float32"), ("int64", "int64"))), S(F([0.0, -1.0, 2.0, NAN]), F([0.5])), smooth=False,
       errors=[(X(2), I(1, 2)), (X(2), X(2, "float32"))])  # fmt: skip
record("nextafter", binary(mixed=_REALS), S(F([1.0]), F([1.0])), smooth=False, errors=[(I(1), I(1))])
record(
    "gcd",
    S(I(12, -9, 0), I(18, 6, 0)),
    S(X((2, 3), "int32", high=20), X(3, "uint8", high=20)),
    errors=[(X(2), X(2)), (B([True]), B([True])), (I(1), 2)],
)
record(
    "lcm", S(I(12, -9, 0), I(18, 6, 0)), S(X((2, 3), "int32", high=20), X(3, "uint8", high=20)), errors=[(X(2), X(2))]
)
record("ldexp", binary(mixed=_REALS), S(X(3), I(3, 2, 0)), S(I(1, 2), I(3, 4)), errors=[(X(2), 2)])
record(
    "logaddexp",
    binary(mixed=_SAME),
    S(F([1000.0, -INF, 0.0]), F([1000.0, -INF, -INF])),
    errors=[(I(1), I(1))],
    second=False,
)
record("logaddexp2", binary(mixed=_REALS), S(F([1000.0]), F([1000.0])), errors=[(I(1), I(1))])
record("deg2rad", unary(dtypes=("float32", "float16", "int64", "bool")), errors=[(X(2, "complex64"),)])
record("rad2deg", unary(dtypes=("float32", "float16", "int64", "bool")), errors=[(X(2, "complex64"),)])
record("angle", unary(), S(F([-1.0, 0.0, -0.0, NAN])), S(X(data=[0j, 1j, -1 + 0j], dtype="complex128")), smooth=False)
record("complex", binary(mixed=(("float32", "float32"),)), errors=[(X(2, "float32"), X(2)), (I(1), I(1))])
record("polar", binary(0.2, 2, mixed=(("float32", "float32"),)), errors=[(X(2, "float32"), X(2)), (I(1), I(1))])
record("conj_physical", unary())
record("positive", unary(), errors=[(B([True]),)], method=True, inplace=False)
record("nan_to_num", unary(dtypes=("float32", "float16", "int64", "complex64")), S(F([NAN, INF, -INF, 1.0])), S(F([NAN, INF, -INF, 1.0]), 1.0, posinf=3),
       S(F([NAN, INF, -INF]), neginf=-7.0), S(X(data=[complex(NAN, INF)], dtype="complex64")), S(F([INF], "float16"), posinf=1e9))  # fmt: skip
record("round", unary(-20, 20), S(X((2, 3), low=-20, high=20), decimals=1), S(X(3, low=-200, high=200), decimals=-1), S(F([0.5, 1.5, 2.5])),
       smooth=False)  # fmt: skip
record("sign", unary(), S(F([0.0, -0.0, NAN])), smooth=False)
record("sgn", unary(), S(X(data=[0j, 1j], dtype="complex64")))
record("clamp", unary(-2, 2, -0.5, 0.5), unary(-2, 2, None, 0.5, dtypes=("float32", "int64")), S(X(3), min=X(3), max=X(3, low=2, high=3)),
       S(X((2, 3)), X(3)), S(X((2, 3)), max=X(3)), S(F([1.0, 2.0, NAN]), 1.0, 2.0), errors=[(X(2),)])  # fmt: skip

# ----- inquiry ------------------------------------------------------------------------------------------------------

for _name in ("isnan", "isinf", "isfinite", "isreal"):
    record(
        _name,
        unary(),
        S(F([NAN, INF, -INF, 0.0])),
        S(X(data=[complex(NAN, 1), complex(1, INF), 1 + 0j], dtype="complex64")),
    )
for _name in ("isposinf", "isneginf"):
    record(
        _name, unary(dtypes=("float32", "int64", "bool")), S(F([NAN, INF, -INF, 0.0])), errors=[(X(2, "complex64"),)]
    )
record("signbit", unary(dtypes=("float32", "int64", "uint8", "bool")), S(F([0.0, -0.0])), errors=[(X(2, "complex64"),)])
_CLOSE = [
    S(F([1.0, 2.0, INF, NAN]), F([1.0 + 1e-9, 2.1, INF, NAN])), S(F([1.0, NAN]), F([1.1, NAN]), rtol=0.2, equal_nan=True), S(I(1, 2), I(1, 3)),
    S(X((2, 3)), X(3)), S(X(2, "complex64"), X(2, "complex64")), S(B([True]), B([True])), S(F([1.0]), F([2.0]), 0, 1.5), S(X((0,)), X((0,))),
]  # fmt: skip
_APART = [(X(2, "float32"), X(2)), (X(2), I(1, 2)), (X(2), 1.0), S(X(2), X(2), rtol=-1), S(X(2), X(2), atol=-1)]
record("isclose", _CLOSE, errors=_APART)
record("allclose", _CLOSE, errors=_APART)
record("equal", S(I(1, 2), I(1, 2)), S(I(1, 2), I(1, 3)), S(X(2), X(3)), S(F([1.0]), F([1.0], "float32")), S(F([NAN]), F([NAN])), S(X((0,)), X((0,))),
       errors=[(X(2), 1.0)])  # fmt: skip
record(
    "isin",
    S(I(1, 2, 3), I(2, 3)),
    S(X((2, 3), "int64"), I(1)),
    S(I(1, 2), 2),
    S(2, I(1, 2)),
    S(I(1, 2), I(2), invert=True),
    S(X(3), X((0,))),
    S(X(()), X(2)),
)
record("is_nonzero", S(F([1.0])), S(I(0)), errors=[(X(2),), (X((0,)),)])
record("is_same_size", S(X(2), X(2)), S(X(2), X(3)))

# ----- special_functions --------------------------------------------------------------------------------------------

_FLOATS = ("float32", "float16", "int64", "bool")
_EDGES = S(F([0.0, -0.0, INF, -INF, NAN, 1.0, 0.5]))
record("erf", unary(-4, 4, dtypes=_FLOATS), _EDGES, errors=[(X(2, "complex64"),)], rtol=4)
record("erfc", unary(-4, 4, dtypes=_FLOATS), _EDGES, rtol=4)
record("erfinv", unary(-0.95, 0.95, dtypes=_FLOATS), S(F([-1.0, 1.0, 2.0, NAN])), rtol=20)
record("lgamma", unary(0.1, 6, dtypes=_FLOATS), _EDGES, S(X(6, low=-4, high=0)), errors=[(X(2, "complex64"),)], rtol=20)
record("digamma", unary(0.1, 6, dtypes=_FLOATS), _EDGES, S(X(6, low=-4, high=0)), rtol=50)
record("polygamma", S(1, X((2, 3), low=0.2, high=4)), S(0, X(3, low=0.2)), S(3, X(3, "float32", low=0.5)), S(1, I(1, 2)), S(2, X((), low=0.5)),
       errors=[(-1, X(2))], method=False, rtol=100)  # fmt: skip
record(
    "mvlgamma",
    S(X((2, 3), low=2, high=5), 2),
    S(X(3, "float32", low=2, high=5), 3),
    S(I(3, 4), 1),
    errors=[(X(2), 0)],
    rtol=50,
)
record("igamma", S(X(3, low=0.5, high=4, grad=False), X(3, low=0.5, high=4)), S(X((2, 1), low=0.5, high=4, grad=False), X(3, low=0.5, high=4)),
       S(X(2, low=1), X(2, low=1)), errors=[(I(3), I(3))], rtol=100)  # fmt: skip
record("igammac", S(X(3, low=0.5, high=4, grad=False), X(3, low=0.5, high=4)), S(X(2, low=1), X(2, low=1)), rtol=100)
record("i0", unary(-6, 6, dtypes=_FLOATS), _EDGES, rtol=100)
record("sinc", unary(0.4, 2.5, dtypes=(*_FLOATS, "complex64")), S(F([1.0, -2.0, -0.3])), rtol=10)
# PyTorch has no second derivative at 0; ours is right.
record("Tensor.sinc", S(F([0.0, 1.0])), second=False)
record(
    "logit",
    unary(0.05, 0.95, dtypes=_FLOATS),
    unary(0.05, 0.95, 0.2, dtypes=("float32",)),
    S(F([0.0, 1.0, 0.5, -0.1, 1.1])),
    S(F([0.0, 0.05, 0.5, 1.0]), eps=0.1),
)
_XLOG = [
    S(F([0.0, 0.0, 0.0, 1.0, 2.0]), F([0.0, -1.0, NAN, 0.0, 3.0])),
    S(X(3), 2.0),
    S(F([0.0, 1.0]), 0),
    S(2.0, X(3, low=0.5)),
    S(I(1, 2), 2),
    S(0, F([0.0, 1.0])),
]
record("xlogy", binary(0.5, 2.0, mixed=_REALS), _XLOG)

# ----- special_rare -------------------------------------------------------------------------------------------------

record("special.erfcx", unary(-3, 4, dtypes=_FLOATS), rtol=20)
record("special.ndtri", unary(0.05, 0.95, dtypes=_FLOATS), S(F([0.0, 1.0, -1.0])), rtol=50)
record("special.log_ndtr", unary(-6, 4, dtypes=_FLOATS), rtol=50)
record("special.ndtr", unary(-6, 4, dtypes=_FLOATS))
record("special.entr", unary(0.05, 2, dtypes=_FLOATS), S(F([0.0, -1.0])))
record("special.i0e", unary(-6, 6, dtypes=_FLOATS), _EDGES, rtol=100)
record("special.i1", unary(-6, 6, dtypes=_FLOATS), S(F([0.0, 1e-20, 5.0])), rtol=100)
record("special.i1e", unary(-6, 6, dtypes=_FLOATS), S(F([0.0, 1e-20, 5.0])), rtol=100)
record(
    "special.xlog1py",
    binary(0.5, 2.0, mixed=_REALS),
    S(F([0.0, 0.0, 1.0]), F([-1.0, -2.0, 3.0])),
    S(X(3), 2.0),
    S(2.0, X(3, low=0.5)),
    S(F([0.0, 1.0]), -1),
)
record("special.zeta", S(X(3, low=1.5, high=4, grad=False), X(3, low=0.5, high=4)), S(2.0, X(3, low=0.5, high=4)), S(X(3, low=2, high=4), 2.0),
       S(X(3, low=2, high=4), X(3, low=1)), rtol=100)  # fmt: skip
for _name in ("airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "modified_bessel_i0", "modified_bessel_i1", "modified_bessel_k0",
              "modified_bessel_k1", "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "spherical_bessel_j0"):  # fmt: skip
    # PyTorch computes some of them to 7 digits only, in float64 too.
    record("special." + _name, unary(0.1, 9, dtypes=("float32", "int64")), rtol=1e5 if "bessel_" in _name[:7] else 200)
for _name in ("chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w", "hermite_polynomial_h",
              "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p", "shifted_chebyshev_polynomial_t",
              "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v", "shifted_chebyshev_polynomial_w"):  # fmt: skip
    record(
        "special." + _name,
        S(X((2, 3), low=-0.9, high=0.9), 3),
        S(X(3, "float32", low=0.1, high=0.9), I(0, 1, 4)),
        S(0.5, I(2, 3)),
        S(I(1, 2), 2),
        rtol=100,
    )
for _name in (
    "erf",
    "erfc",
    "erfinv",
    "expit",
    "exp2",
    "expm1",
    "log1p",
    "gammaln",
    "psi",
    "digamma",
    "i0",
    "sinc",
    "round",
):
    record("special." + _name, S(X(3, low=0.2, high=0.8)), rtol=20)
record("special.gammainc", S(X(3, low=0.5, grad=False), X(3, low=0.5)), rtol=100)
record("special.gammaincc", S(X(3, low=0.5, grad=False), X(3, low=0.5)), rtol=100)
record("special.logit", S(X(3, low=0.2, high=0.8)), S(X(3, low=0.2, high=0.8), 0.3))
record("special.multigammaln", S(X(3, low=2, high=3), 2), rtol=50)
record("special.polygamma", S(2, X(3, low=0.5)), rtol=100)
record("special.xlogy", S(X(3), X(3, low=0.5)))
record("special.softmax", S(X((2, 3)), 1))
record("special.log_softmax", S(X((2, 3)), 0))
record("special.logsumexp", S(X((2, 3)), 0))
