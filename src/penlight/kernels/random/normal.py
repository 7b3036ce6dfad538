"""Normal samples from an `Engine`, with the same draws and digits as PyTorch's CPU kernels."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .. import native
from ..fma import fma32, fma64
from .box_muller import InNumPy, box_muller32, samples
from .engine import BLOCK, Engine, one_at_a_time
from .uniform import Shape, fill24, fill53, is_floating, narrow, not_implemented

Function = Callable[[np.ndarray, np.ndarray], np.ndarray]
_FUNCTIONS: dict[str, Function] = {}


def libm(name: str) -> Function:
    """A function of the C library on float64 arrays, such as 'log' or 'cos'; called with an input and an output array."""
    # Note [The C library's last digit]
    # PyTorch calls the C library for these, as Python's math does. So does NumPy, except on processors for which it
    # has SIMD versions that differ in the last digit. A trial on a few hundred numbers shows whether they differ.
    function = _FUNCTIONS.get(name)
    if function is None:
        scalar: Callable[[float], float] = getattr(math, name)
        ufunc: Function = getattr(np, name)

        def slow(x: np.ndarray, out: np.ndarray) -> np.ndarray:
            out[...] = np.fromiter(map(scalar, x.ravel().tolist()), np.float64, x.size).reshape(x.shape)
            return out

        trial = np.linspace(1e-9, 0.999, 500) * {"log": 1.0, "log1p": -1.0}.get(name, 2.0 * math.pi)
        agree = np.array_equal(ufunc(trial, np.empty(500)), slow(trial, np.empty(500)))
        function = _FUNCTIONS[name] = ufunc if agree else slow
    return function


def normal(
    engine: Engine, shape: Shape, dtype: np.dtype, mean: float = 0.0, std: float = 1.0, contiguous: bool = True
) -> np.ndarray:
    """`torch.randn` and `normal_`; `contiguous=False` returns the samples that PyTorch draws for a non-contiguous tensor.

    >>> normal(Engine(0), (3,), np.dtype("float32"))
    array([ 1.5409961, -0.2934289, -2.1787894], dtype=float32)
    """
    mean, std = float(mean), float(std)
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    out = np.empty(shape, dtype)
    flat = out.reshape(-1)
    if dtype.kind == "c":
        flat = flat.view(f"f{dtype.itemsize // 2}")
        std /= math.sqrt(2.0)
    elif not is_floating(dtype):
        raise not_implemented("normal_kernel_cpu", dtype)
    if flat.size < 16:
        drawn = _short_pairs(engine, flat.size)
        if mean != 0.0 or std != 1.0 or flat.dtype.itemsize == 2:
            flat[...] = narrow(scale64(drawn, mean, std), flat.dtype)
        else:
            flat[...] = drawn
    elif not contiguous:
        flat[...] = narrow(scale64(normal_pairs(engine, flat.size), mean, std), flat.dtype)
    elif flat.dtype.itemsize == 8:
        _fill_long(engine, flat, fill53, _box_muller64)
        scaled = scale64(flat, mean, std)
        if scaled is not flat:
            flat[...] = scaled
    elif flat.dtype.itemsize == 4:
        if native.available() or not _fill_ahead(engine, flat):
            _fill_long(engine, flat, fill24, box_muller32)
        _scale32(flat, mean, std)
    else:
        flat[...] = _fill_rounded(engine, flat.size, mean, std)
    return out


def normal_tensors(
    engine: Engine, shape: Shape, dtype: np.dtype, mean: float | np.ndarray, std: float | np.ndarray
) -> np.ndarray:
    """`torch.normal` where mean, std or both are arrays (which broadcast to the shape).

    >>> normal_tensors(Engine(0), (2,), np.dtype("float32"), np.array([0, 10], np.float32), 1.0)
    array([1.5409961, 9.706572 ], dtype=float32)
    """
    if not isinstance(std, np.ndarray):
        out = normal(engine, shape, dtype, 0.0, std)
        out += mean
        return out
    if std.dtype.kind == "c":
        raise RuntimeError("normal expects standard deviation to be non-complex")
    if not (std >= 0).all():
        raise RuntimeError("normal expects all elements of std >= 0.0")
    out = normal(engine, shape, dtype)
    out *= std
    out += mean if isinstance(mean, np.ndarray) else dtype.type(mean)
    return out


@one_at_a_time
def normal_pairs(engine: Engine, n: int) -> np.ndarray:
    """n standard normal samples in float64, made in pairs; an unused second sample is kept for the next call."""
    if n < 16:
        return _short_pairs(engine, n)
    out = np.empty(n)
    start = 0
    if engine._normal is not None:
        out[0], engine._normal, start = engine._normal, None, 1
    pairs = (n - start + 1) // 2
    u = np.empty(2 * pairs)
    fill53(engine, u)
    angle, radius = np.ascontiguousarray(u.reshape(-1, 2).T)
    np.negative(radius, out=radius)
    libm("log1p")(radius, radius)
    radius *= -2.0
    np.sqrt(radius, out=radius)
    angle *= 2.0 * math.pi
    work = np.empty(pairs)
    np.multiply(radius, libm("cos")(angle, work), out=u[0::2])
    np.multiply(radius, libm("sin")(angle, work), out=u[1::2])
    out[start:] = u[: n - start]
    if u.size > n - start:
        engine._normal = float(u[-1])
    return out


@one_at_a_time
def _short_pairs(engine: Engine, n: int) -> np.ndarray:
    """`normal_pairs` in Python scalars, which is faster for a few samples."""
    made = [] if engine._normal is None or not n else [engine._normal]
    pairs = (n - len(made) + 1) // 2
    if made or pairs:
        engine._normal = None
    if pairs:
        u = engine.ahead53(2 * pairs)
        if u is None:
            u = np.empty(2 * pairs)
            fill53(engine, u)
        draws = u.tolist()
        for i in range(0, 2 * pairs, 2):
            radius, angle = math.sqrt(-2.0 * math.log1p(-draws[i + 1])), 2.0 * math.pi * draws[i]
            made.append(radius * math.cos(angle))
            made.append(radius * math.sin(angle))
        if len(made) > n:
            engine._normal = made.pop()
    return np.array(made)


def scale64(samples: np.ndarray, mean: float, std: float) -> np.ndarray:
    """samples * std + mean in float64, rounded once."""
    if mean == 0.0 or std == 1.0 or (math.frexp(std)[0] == 0.5 and 1e-150 < std < 1e150):  # the product is exact
        if std != 1.0:
            samples *= std
        samples += mean
        return samples
    return fma64(samples, std, mean)


def _scale32(samples: np.ndarray, mean: float, std: float) -> None:
    """samples * std + mean in float32, rounded once, in place."""
    if mean == 0.0 and std == 1.0:
        return  # the transform returns no -0
    mean, std = float(np.float32(mean)), float(np.float32(std))
    if mean == 0.0 or std == 1.0:
        if std != 1.0:
            samples *= np.float32(std)
        samples += np.float32(mean)  # also if mean is zero: -0 becomes 0
    else:
        samples[...] = fma32(samples, std, mean)


def _fill_long(
    engine: Engine, out: np.ndarray, fill: Callable[[Engine, np.ndarray], None], transform: Callable[[np.ndarray], None]
) -> None:
    """Fill an array of at least 16 elements with standard normal samples."""
    # Note [Sixteen at a time]
    # The array is filled with uniform samples, then each group of 16 is transformed to normal samples in place: the first
    # eight are the radii and the last eight the angles. If the size is not a multiple of 16, the last 16 elements are
    # filled with fresh uniform samples and transformed again.
    whole = out.size & ~15
    if whole == out.size:
        fill(engine, out)
        transform(out)
    else:
        longer = np.empty(out.size + 16, out.dtype)
        fill(engine, longer)
        longer[whole : whole + 16] = longer[-16:]
        longer = longer[: whole + 16]
        transform(longer)
        out[:whole] = longer[:whole]
        out[-16:] = longer[whole:]


@one_at_a_time
def _fill_ahead(engine: Engine, out: np.ndarray) -> bool:
    """`_fill_long` from the block's normal samples (Note [Uniform samples ahead]); False if the rest of the block is too short."""
    whole, start = out.size & ~15, engine._next
    uniform = engine.ahead24(out.size if out.size == whole else out.size + 16)
    if uniform is None:
        return False
    words, made = engine._normals
    if words is not engine._words:
        of_words = engine._singles[1]
        made = np.empty((2, BLOCK), np.float32)
        made[:, :-8] = samples(InNumPy, of_words[:-8], of_words[8:])
        engine._normals = engine._words, made
    for part, at in ((out[:whole], start), (out[-16:], start + out.size)):
        if at < engine._next:
            part.reshape(-1, 2, 8)[...] = made[:, at : at + part.size].reshape(2, -1, 16)[:, :, :8].transpose(1, 0, 2)
    return True


def _fill_rounded(engine: Engine, n: int, mean: float, std: float) -> np.ndarray:
    """At least 16 samples in float32, for the 16-bit dtypes. An incomplete last group uses its 16 fresh samples only."""
    longer = np.empty((n + 15) & ~15, np.float32)
    fill24(engine, longer)
    box_muller32(longer)
    _scale32(longer, mean, std)
    if longer.size > n:
        longer[n - 16 : n] = longer[-16:].copy()
    return longer[:n]


def _box_muller64(u: np.ndarray) -> None:
    """Transform each group of 16 uniform samples of a flat float64 array to normal samples, in place."""
    log, cos, sin = libm("log"), libm("cos"), libm("sin")
    blocks = u.view("V64").reshape(-1, 2)
    step = 512
    pair = np.empty((3, 8 * min(step, len(blocks))))
    for start in range(0, len(blocks), step):
        part = blocks[start : start + step].T
        radius, angle, sine = pair[:, : 8 * part.shape[1]]
        radius.view("V64")[...], angle.view("V64")[...] = part
        np.subtract(1.0, radius, out=radius)
        log(radius, radius)
        radius *= -2.0
        np.sqrt(radius, out=radius)
        angle *= 2.0 * math.pi
        sin(angle, sine)
        cos(angle, angle)
        angle *= radius
        sine *= radius
        part[0], part[1] = angle.view("V64"), sine.view("V64")
