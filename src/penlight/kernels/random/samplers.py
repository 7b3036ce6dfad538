"""Exponential, geometric, Cauchy, log-normal and multinomial samples, with the same draws as PyTorch's CPU kernels."""

from __future__ import annotations

import math

import numpy as np

from ..index_width import wide_indices
from ..numpy_warnings import silent
from .engine import Engine
from .normal import libm, normal_pairs, scale64
from .uniform import Shape, c_name, in_memory_order, is_floating, narrow, not_implemented, scalar_name, uniform53


def exponential(engine: Engine, shape: Shape, dtype: np.dtype, lambd: float = 1.0) -> np.ndarray:
    """`exponential_`.

    >>> exponential(Engine(0), (2,), np.dtype("float32"))
    array([3.5083263, 1.2303847], dtype=float32)
    """
    lambd = float(lambd)
    if not is_floating(dtype):
        raise RuntimeError(
            "Exponential distribution is a continuous probability distribution. dtype must be a floating point but "
            f"you specified {scalar_name(dtype)}"
        )
    if not lambd > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
    u = uniform53(engine, shape)
    np.negative(u, out=u)
    libm("log1p")(u, u)
    u *= -1.0 / lambd
    return narrow(u, dtype)


def geometric(engine: Engine, shape: Shape, dtype: np.dtype, p: float) -> np.ndarray:
    """`geometric_`: the number of trials up to and including the first success.

    >>> geometric(Engine(0), (3,), np.dtype("int64"), 0.3)
    array([1, 1, 3])
    """
    p = float(p)
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    if dtype.kind == "c":
        raise not_implemented("geometric_cpu", dtype)
    u = uniform53(engine, shape)
    scale = math.log1p(-p)
    with silent():
        trials = np.log(u, np.empty(shape))
        trials /= scale
        # The last digit of a logarithm matters only close to integers: Note [The C library's last digit].
        close = np.abs(trials - np.rint(trials)) <= 1e-14 * trials
    if close.any():
        trials[close] = libm("log")(u[close], np.empty(int(close.sum()))) / scale
    u = np.ceil(trials, out=trials)
    if dtype.kind in "iu":
        with silent():
            return u.astype(np.int64).astype(dtype, copy=False)
    return narrow(u, dtype) if is_floating(dtype) else u.astype(dtype)


def cauchy(engine: Engine, shape: Shape, dtype: np.dtype, median: float = 0.0, sigma: float = 1.0) -> np.ndarray:
    """`cauchy_`.

    >>> cauchy(Engine(0), (2,), np.dtype("float32"))
    array([10.59773  ,  0.7647673], dtype=float32)
    """
    median, sigma = float(median), float(sigma)
    if not sigma > 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    if not is_floating(dtype):
        raise RuntimeError(
            "Cauchy distribution is a continuous probability distribution. dtype must be a floating point but "
            f"you specified {c_name(dtype)}"
        )
    u = uniform53(engine, shape)
    u -= 0.5
    u *= math.pi
    libm("tan")(u, u)
    return narrow(scale64(u, median, sigma), dtype)


def log_normal(engine: Engine, shape: Shape, dtype: np.dtype, mean: float = 1.0, std: float = 2.0) -> np.ndarray:
    """`log_normal_`: the exponential of normal samples.

    >>> log_normal(Engine(0), (2,), np.dtype("float32"))
    array([59.263416,  1.51156 ], dtype=float32)
    """
    mean, std = float(mean), float(std)
    if not std > 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    if not is_floating(dtype):
        raise not_implemented("log_normal_cpu", dtype)
    out = scale64(normal_pairs(engine, math.prod(shape)), mean, std).reshape(shape)
    with silent():
        libm("exp")(out, out)
    return narrow(out, dtype)


@wide_indices()
def multinomial(engine: Engine, weights: np.ndarray, num_samples: int, replacement: bool = False) -> np.ndarray:
    """`torch.multinomial`: indices drawn from each row of weights.

    >>> multinomial(Engine(0), np.array([0.1, 0.2, 0.7], np.float32), 2)
    array([2, 1])
    """
    _check_multinomial(weights, num_samples, replacement)
    if replacement and num_samples > 1:
        return _with_replacement(engine, weights, num_samples)
    _check_weights(weights)
    # weight / exponential sample is largest at an index with a probability proportional to its weight.
    if weights.flags.c_contiguous:
        score = exponential(engine, weights.shape, weights.dtype)
    else:
        score = np.empty_like(weights)
        ordered = in_memory_order(score)
        ordered[...] = exponential(engine, ordered.shape, weights.dtype)
    with silent():
        np.divide(weights, score, out=score)
    score = score.astype(np.float32) if score.dtype.itemsize == 2 else score
    if num_samples == 1:
        best: np.ndarray = score.argmax(axis=-1, keepdims=True)
        return best
    return _largest(score, num_samples)


def _largest(score: np.ndarray, k: int) -> np.ndarray:
    """The indices of the k largest elements of each row, largest first."""
    score = np.negative(score)
    if 4 * k < score.shape[-1]:
        some = np.argpartition(score, k, axis=-1)[..., :k]
        order = np.argsort(np.take_along_axis(score, some, axis=-1), axis=-1)
        return np.take_along_axis(some, order, axis=-1)
    return np.argsort(score, axis=-1, kind="stable")[..., :k].copy()


def _check_multinomial(weights: np.ndarray, num_samples: int, replacement: bool) -> None:
    if weights.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if not is_floating(weights.dtype):
        raise RuntimeError(
            f"multinomial only supports floating-point dtypes for input, got: {scalar_name(weights.dtype)}"
        )
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > weights.shape[-1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    if weights.shape[-1] > 2**24:
        raise RuntimeError("number of categories cannot exceed 2^24")


def _check_weights(weights: np.ndarray) -> None:
    if weights.shape[-1] == 0:
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity."
        )
    wide = weights.astype(np.float32) if weights.dtype.itemsize == 2 else weights
    if not wide.size:
        return
    least = np.minimum.reduce(wide, None)  # NaN, if there is one
    if not (least >= 0 and np.maximum.reduce(wide, None) < math.inf):
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if least == 0 and (wide.sum(axis=-1) == 0).any():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")


def _with_replacement(engine: Engine, weights: np.ndarray, num_samples: int) -> np.ndarray:
    """Look up uniform samples in the cumulative weights, row by row."""
    wide = weights.astype(np.float32) if weights.dtype.itemsize == 2 else weights
    least = np.minimum.reduce(wide, None, initial=math.inf)  # NaN, if there is one
    if not least >= 0:
        raise RuntimeError("invalid multinomial distribution (encountering probability entry < 0)")
    if not np.maximum.reduce(wide, None, initial=0.0) < math.inf:
        raise RuntimeError("invalid multinomial distribution (encountering probability entry = infinity or NaN)")
    total = wide.reshape(math.prod(wide.shape[:-1]), wide.shape[-1]).cumsum(axis=-1, dtype=wide.dtype)
    if (least == 0 or not total.shape[1]) and not (total[:, -1:] > 0).any(axis=-1).all():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    total /= total[:, -1:]
    out = np.empty((*weights.shape[:-1], num_samples), np.int64)
    u = uniform53(engine, (len(total), num_samples))
    total, indices = total.astype(np.float64), out.reshape(-1, num_samples)
    for row, samples, found in zip(total, u, indices, strict=True):
        found[...] = row.searchsorted(samples)
    return out
