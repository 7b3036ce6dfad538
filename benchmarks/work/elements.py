"""Functions of so many elements, each on vectors of float32, float64 and float16 as far as PyTorch takes them: what `--elements` of benchmarks.ops times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

_ANY = (
    "abs neg sign signbit sgn square positive ceil floor round trunc frac exp exp2 expm1 sin cos tan sinh cosh tanh asinh atan sigmoid erf erfc "
    "sinc nan_to_num isnan isinf isfinite isposinf deg2rad rad2deg logical_not relu softmax angle"
)
_OF_UNIT = "asin acos atanh erfinv logit sqrt rsqrt log log2 log10 log1p reciprocal lgamma digamma"
_SPECIAL = (
    "i0 i0e i1 i1e entr log_ndtr ndtr ndtri erfcx bessel_j0 bessel_j1 bessel_y0 bessel_y1 modified_bessel_i0 modified_bessel_i1 modified_bessel_k0 "
    "modified_bessel_k1 scaled_modified_bessel_k0 scaled_modified_bessel_k1 spherical_bessel_j0 airy_ai"
)
_OF_TWO = (
    "add sub mul div maximum minimum fmax fmin atan2 hypot logaddexp logaddexp2 fmod remainder copysign xlogy floor_divide pow eq lt logical_and "
    "nextafter heaviside ldexp true_divide"
)
_SPECIAL_OF_TWO = "gammainc gammaincc zeta xlog1py"
_POLYNOMIALS = (
    "chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w shifted_chebyshev_polynomial_t "
    "hermite_polynomial_h hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p"
)
_ACTIVATIONS = "relu6 leaky_relu elu selu celu gelu silu mish softplus softsign tanhshrink hardtanh hardsigmoid hardswish logsigmoid softshrink hardshrink threshold"
_FOLDS = "sum mean prod amax amin argmax argmin var std norm nansum logsumexp any all median count_nonzero aminmax"
_SCANS = "cumsum cumprod cummax cummin logcumsumexp"
_SAMPLERS = "normal_ uniform_ exponential_ log_normal_ cauchy_ bernoulli_ random_"
_OF_HALVES = (
    "abs neg square floor exp sin tanh sigmoid erf sqrt rsqrt log reciprocal add sub mul div maximum pow eq lt relu gelu silu softmax "
    "leaky_relu elu sum mean amax cumsum logsumexp var clamp lerp addcmul where"
)

Call = Callable[[], Any]


def calls(t: Any, count: int) -> dict[str, Call]:
    """The functions by name and dtype, on vectors of so many elements."""
    rng = np.random.default_rng(0)
    normal, unit = rng.standard_normal(count), rng.random(count) * 0.9 + 0.05
    made: dict[str, Call] = {}
    for dtype in (t.float32, t.float64, t.float16):
        made |= {
            f"{name} {str(dtype)[6:]}": call
            for name, call in _of(t, t.tensor(normal).to(dtype), t.tensor(unit).to(dtype)).items()
            if dtype != t.float16 or name in _OF_HALVES.split()
        }
    ints, mask = t.tensor(rng.integers(1, 50, count)), t.tensor(normal > 0)
    x, order = t.tensor(normal).float(), t.tensor(rng.permutation(count))
    return made | {
        "add int64": lambda: ints + ints, "mul int64": lambda: ints * ints, "floor_divide int64": lambda: ints // 7, "remainder int64": lambda: ints % 7,
        "sum int64": lambda: ints.sum(), "cumsum int64": lambda: ints.cumsum(0), "gcd int64": lambda: t.gcd(ints, ints),
        "bitwise_and int64": lambda: ints & ints, "to float32 int64": lambda: ints.float(), "to float16": lambda: x.half(), "to float64": lambda: x.double(),
        "to int64": lambda: x.long(), "to bool": lambda: x.bool(), "index": lambda: x[order], "index mask": lambda: x[mask],
        "gather": lambda: x.gather(0, order), "scatter_add": lambda: x.scatter_add(0, order, x), "flip": lambda: x.flip(0), "roll": lambda: x.roll(3),
        "sort": lambda: x.sort(), "topk": lambda: x.topk(5), "unique": lambda: ints.unique(), "bincount": lambda: ints.bincount(), "nonzero": lambda: mask.nonzero(),
        "histc": lambda: t.histc(x, 10), "randperm": lambda: t.randperm(count), "randint": lambda: t.randint(0, 10, (count,)), "masked_fill": lambda: x.masked_fill(mask, 0.0),
    }  # fmt: skip


def _of(t: Any, x: Any, y: Any) -> dict[str, Call]:
    """The functions of floats: x is any, y between 0 and 1."""
    f, degree, one_half = t.nn.functional, t.full_like(y, 5), y * 0 + 0.5
    made: dict[str, Call] = {}

    def add(names: str, home: Any, *arguments: Any) -> None:
        for name in names.split():
            made[name] = lambda function=getattr(home, name): function(*arguments)

    add(_ANY.replace("softmax", ""), t, x)
    add(_OF_UNIT, t, y)
    add(_SPECIAL, t.special, y)
    add(_OF_TWO, t, x, y)
    add(_SPECIAL_OF_TWO.replace("zeta", ""), t.special, y, one_half)
    add("zeta", t.special, y + 1, y)
    add(_POLYNOMIALS, t.special, y, degree)
    add(_ACTIVATIONS.replace("threshold", ""), f, x)
    add(_FOLDS.replace("logsumexp", ""), t, x)
    for name in ("logsumexp", "softmax", "log_softmax"):
        add(name, t, x, 0)
    add(_SCANS, t, x, 0)
    add(_SAMPLERS, x.clone())
    return made | {
        "pow 2": lambda: x**2, "pow 3": lambda: x**3, "pow 1.7": lambda: y**1.7, "pow of 2": lambda: 2.0**x, "clamp": lambda: x.clamp(-1, 1),
        "clamp_min": lambda: x.clamp(min=0.5), "where": lambda: t.where(x > 0, x, y), "lerp": lambda: t.lerp(x, y, 0.3), "addcmul": lambda: t.addcmul(x, x, y, value=0.5),
        "addcdiv": lambda: t.addcdiv(x, x, y, value=0.5), "threshold": lambda: f.threshold(x, 0.1, 0.0), "polygamma": lambda: t.polygamma(2, y), "mvlgamma": lambda: t.mvlgamma(y + 2, 2),
        "geometric_": lambda: x.clone().geometric_(0.3), "rand": lambda: t.rand(x.shape, dtype=x.dtype), "randn": lambda: t.randn(x.shape, dtype=x.dtype), "poisson of few": lambda: t.poisson(y * 5),
        "poisson of many": lambda: t.poisson(y * 100 + 10), "standard_gamma": lambda: t._standard_gamma(y * 5 + 1), "standard_gamma of few": lambda: t._standard_gamma(y),
        "binomial of few": lambda: t.binomial(degree * 2, y), "binomial of many": lambda: t.binomial(degree * 100, one_half), "dirichlet": lambda: t._sample_dirichlet(y.view(-1, 10)),
        "poisson of few, one rate": lambda: t.poisson(one_half * 8), "poisson of many, one rate": lambda: t.poisson(one_half * 100), "binomial of few, one chance": lambda: t.binomial(degree * 2, one_half),
        "multinomial": lambda: t.multinomial(y, 10, replacement=True) if len(y) < 1 << 24 else None, "dropout": lambda: f.dropout(x, 0.1), "rrelu": lambda: f.rrelu(x, training=True),
        "mse_loss": lambda: f.mse_loss(x, y), "huber_loss": lambda: f.huber_loss(x, y), "binary_cross_entropy": lambda: f.binary_cross_entropy(y, y),
        "binary_cross_entropy_with_logits": lambda: f.binary_cross_entropy_with_logits(x, y), "kl_div": lambda: f.kl_div(x, y, reduction="sum"),
        "gaussian_nll_loss": lambda: f.gaussian_nll_loss(x, y, y), "poisson_nll_loss": lambda: f.poisson_nll_loss(x, y), "dist": lambda: t.dist(x, y), "dot": lambda: x.dot(y),
        "diff": lambda: x.diff(), "trapezoid": lambda: t.trapezoid(x), "isclose": lambda: t.isclose(x, y),
    }  # fmt: skip
