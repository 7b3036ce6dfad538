"""Uniform and Bernoulli samples from an `Engine`, with the same draws as PyTorch's CPU kernels."""

from __future__ import annotations

import math

import numpy as np

from ..fma import fma32, fma64
from ..lazy import lazy_import
from ..numpy_warnings import silent
from .engine import BLOCK, PIECE, Engine, unit53

machine = lazy_import(globals(), "machine", ".twister")
native = lazy_import(globals(), "native", "..native")

Shape = tuple[int, ...]

_LOW24 = np.int32(0xFFFFFF)
_F32_SCALE = np.float32(2.0**-24)

_NAMES = {
    "bool": ("Bool", "bool"),
    "uint8": ("Byte", "unsigned char"),
    "int8": ("Char", "signed char"),
    "int16": ("Short", "short int"),
    "int32": ("Int", "int"),
    "int64": ("Long", "long int"),
    "uint16": ("UInt16", "short unsigned int"),
    "uint32": ("UInt32", "unsigned int"),
    "uint64": ("UInt64", "long unsigned int"),
    "float16": ("Half", "c10::Half"),
    "bfloat16": ("BFloat16", "c10::BFloat16"),
    "float32": ("Float", "float"),
    "float64": ("Double", "double"),
    "complex64": ("ComplexFloat", "c10::complex<float>"),
    "complex128": ("ComplexDouble", "c10::complex<double>"),
}


def scalar_name(dtype: np.dtype) -> str:
    """A dtype's name in most of PyTorch's error messages: 'Long', 'Half', ..."""
    return _NAMES.get(dtype.name, (dtype.name, dtype.name))[0]


def c_name(dtype: np.dtype) -> str:
    """A dtype's C++ type, which other error messages use: 'long int', 'c10::Half', ..."""
    return _NAMES.get(dtype.name, (dtype.name, dtype.name))[1]


def is_floating(dtype: np.dtype) -> bool:
    """Whether elements are real floats; bfloat16 is of NumPy's kind 'V'."""
    return dtype.kind == "f" or (dtype.kind == "V" and dtype.itemsize == 2)


def largest(dtype: np.dtype) -> float:
    """The largest finite number of a floating dtype."""
    return 3.3895313892515355e38 if dtype.kind == "V" else float(np.finfo(dtype).max)


def digits(dtype: np.dtype) -> int:
    """The number of bits of a floating dtype's significand."""
    return {8: 53, 4: 24}.get(dtype.itemsize) or (11 if dtype.kind == "f" else 8)


def not_implemented(kernel: str, dtype: np.dtype) -> NotImplementedError:
    """PyTorch's error for a dtype that a kernel has no version for."""
    return NotImplementedError(f"\"{kernel}\" not implemented for '{scalar_name(dtype)}'")


def narrow(samples: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Float64 samples cast to a floating dtype; to 16 bits through float32, as in PyTorch."""
    if dtype == np.float64:
        return samples
    with silent():
        single = samples.astype(np.float32)
        return single if dtype == np.float32 else single.astype(dtype)


def in_memory_order(array: np.ndarray) -> np.ndarray:
    """The array with its axes sorted by stride, longest first: the order in which PyTorch fills an existing tensor.

    >>> in_memory_order(np.empty((2, 3)).T).shape
    (2, 3)
    """
    if array.flags.c_contiguous:
        return array
    return array.transpose(sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis])))


_SINGLE, _DOUBLE = np.dtype(np.float32), np.dtype(np.float64)


def fill24(engine: Engine, out: np.ndarray) -> None:
    """Fill a flat float32 array with multiples of 2**-24 in [0, 1): the lower 24 bits of one draw each."""
    samples = engine.ahead24(out.size)
    if samples is not None:
        out[...] = samples
        return
    start = 0
    for words in engine.pieces(out.size) if out.size > BLOCK else (engine.raw(out.size),):
        part = out[start : start + words.size]
        start += words.size
        if words.dtype == np.uint32 and part.flags.c_contiguous:
            native.over_elements(machine.uniform24, words.view(np.float32), part)
            continue
        bits = words.astype(np.int32)
        bits &= _LOW24
        part[...] = bits
        part *= _F32_SCALE


def fill53(engine: Engine, out: np.ndarray) -> None:
    """Fill a flat float64 array with multiples of 2**-53 in [0, 1): the lower 53 bits of a pair of draws each."""
    samples = engine.ahead53(out.size)
    if samples is not None:
        out[...] = samples
        return
    start = 0
    for words in engine.pieces(2 * out.size):
        part = out[start : start + words.size // 2]
        part[...] = unit53(words)
        start += part.size


def uniform53(engine: Engine, shape: Shape) -> np.ndarray:
    """Samples from [0, 1) in float64, from which most other distributions are made."""
    n = math.prod(shape)
    samples = engine.ahead53(n)
    if samples is not None:
        return samples.copy() if len(shape) == 1 else samples.reshape(shape).copy()
    out = np.empty(shape)
    fill53(engine, out.reshape(-1))
    return out


def check_uniform(dtype: np.dtype, low: float, high: float) -> None:
    """Check the bounds of `uniform_`, with PyTorch's errors."""
    if dtype.kind in "fc" and ((low == 0.0 and high == 1.0) or (dtype.itemsize >= 4 and -1e4 < low <= high < 1e4)):
        return
    if dtype.kind == "c":
        dtype = np.dtype(f"f{dtype.itemsize // 2}")
    if not is_floating(dtype):
        raise not_implemented("check_uniform_bounds", dtype)
    bound = largest(dtype)
    for name, value in (("from", low), ("to", high)):
        if not -bound <= value <= bound:
            raise RuntimeError(f"{name} is out of bounds for {c_name(dtype)}")
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
    if high - low > bound:
        raise RuntimeError(
            f"uniform_ expects to-from <= std::numeric_limits<{scalar_name(dtype)}>::max(), but found to={high:g} and "
            f"from={low:g} which result in to-from to exceed the limit"
        )


def uniform(engine: Engine, shape: Shape, dtype: np.dtype, low: float = 0.0, high: float = 1.0) -> np.ndarray:
    """`torch.rand` and `uniform_`: samples from [low, high).

    >>> uniform(Engine(0), (3,), np.dtype("float32"))
    array([0.4962566 , 0.7682218 , 0.08847743], dtype=float32)
    """
    if (dtype in (_SINGLE, _DOUBLE)) and low == 0.0 and high == 1.0:
        n = math.prod(shape)
        samples = engine.ahead24(n) if dtype == _SINGLE else engine.ahead53(n)
        if samples is not None:
            return samples.copy() if len(shape) == 1 else samples.reshape(shape).copy()
    low, high = float(low), float(high)
    check_uniform(dtype, low, high)
    out = np.empty(shape, dtype)
    flat = out.reshape(-1)
    if dtype.kind == "c":
        flat = flat.view(f"f{dtype.itemsize // 2}")
    unit = low == 0.0 and high == 1.0
    if flat.dtype.itemsize >= 4:
        (fill24 if flat.dtype.itemsize == 4 else fill53)(engine, flat)
        if not unit:
            _stretch(flat, low, high)
    else:
        wide = np.empty(flat.size, np.float32)
        fill24(engine, wide)
        if not unit:
            _stretch(wide, low, high)
        flat[...] = wide
        flat[flat == dtype.type(high)] = low
    return out


def _stretch(u: np.ndarray, low: float, high: float) -> None:
    """Map [0, 1) to [low, high) in place, rounded once like PyTorch's fused multiply-add; a result of `high` becomes `low`."""
    # Note [One rounding without a fused multiply-add]
    # u * (high - low) + low is rounded once in PyTorch. If low is zero, only the product is rounded. If low is -high,
    # 2u - 1 is exact, because u is a multiple of 2**-24 (2**-53) below one, and again one product remains. Nearly all
    # programs use one of these two cases; other bounds use the slower `fma32` and `fma64`.
    low, high = (float(u.dtype.type(value)) for value in (low, high))
    if low == 0.0 or low == -high:
        if low:
            u *= 2
            u -= 1
        if high != 1.0:
            u *= u.dtype.type(high)
        return
    step = PIECE
    span = float(u.dtype.type(high) - u.dtype.type(low))
    for start in range(0, u.size, step):
        part = u[start : start + step]
        part[...] = fma32(part, span, low) if u.dtype == np.float32 else fma64(part, span, low)
        part[part == high] = low


def bernoulli(engine: Engine, p: float, shape: Shape, dtype: np.dtype) -> np.ndarray:
    """`bernoulli_(p)`: ones with probability p; two draws for each element of any dtype.

    >>> bernoulli(Engine(0), 0.5, (4,), np.dtype("int64"))
    array([0, 0, 1, 0])
    """
    p = float(p)
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    if dtype.kind == "c":
        raise not_implemented("bernoulli_scalar_cpu_", dtype)
    n = math.prod(shape)
    samples = engine.ahead53(n) if shape else None
    if samples is not None:
        return (samples.reshape(shape) < p).astype(dtype)
    out = np.empty(shape, dtype)
    flat = out.reshape(-1)
    start = 0
    for words in engine.pieces(2 * flat.size):
        part = flat[start : start + words.size // 2]
        start += part.size
        part[...] = unit53(words) < p
    return out


def bernoulli_each(engine: Engine, p: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """`torch.bernoulli(p)` and `bernoulli_(p)` for an array of probabilities: one draw each, or two in float64.

    >>> bernoulli_each(Engine(0), np.array([0.0, 0.9, 0.5], np.float32), np.dtype("float32"))
    array([0., 1., 1.], dtype=float32)
    """
    if dtype.kind == "c":
        raise not_implemented("bernoulli_tensor_cpu_self_", dtype)
    if not is_floating(p.dtype):
        raise not_implemented("bernoulli_tensor_cpu_p_", p.dtype)
    p = p if p.dtype.itemsize >= 4 else p.astype(np.float32)
    if not _are_probabilities(p):
        raise RuntimeError(
            "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  "
            "(Could this error message be improved?  If so, please report an enhancement request to PyTorch.)"
        )
    wide = p.dtype.itemsize == 8
    samples = (engine.ahead53 if wide else engine.ahead24)(p.size) if p.ndim else None
    if samples is not None:
        return (samples.reshape(p.shape) < p).astype(dtype)
    u = np.empty(p.shape, p.dtype)
    (fill53 if wide else fill24)(engine, u.reshape(-1))
    return np.asarray(u < p).astype(dtype)


def _are_probabilities(p: np.ndarray) -> bool:
    """Whether all elements of a float32 or float64 array are between 0 and 1."""
    # As unsigned integers, the bits of negative numbers (and -0), of numbers above 1 and of NaN are larger than those of 1.
    bits, one = (np.uint32, 0x3F800000) if p.dtype.itemsize == 4 else (np.uint64, 0x3FF0000000000000)
    if not p.size or np.maximum.reduce(p.view(bits), None) <= one:
        return True
    return bool(np.minimum.reduce(p, None) >= 0 and np.maximum.reduce(p, None) <= 1)
