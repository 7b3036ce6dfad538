"""Integers and permutations from an `Engine`, with the same draws as PyTorch's CPU kernels."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np

from ..index.gather_scatter import swap_in_turn
from ..numpy_warnings import silent
from . import FEW_SWAPS, MOST_FROM_BLOCK
from .engine import Engine
from .uniform import Shape, c_name, digits, is_floating, largest, not_implemented, scalar_name

_WIDE = 1 << 28  # from this many values on, a sample takes two draws
_WIDE_PERMUTATION = 0xFFFFFFFF // 20  # from this length on, randperm takes 64-bit draws and shuffles inside out


def randint(engine: Engine, shape: Shape, low: int, high: int | None, dtype: np.dtype) -> np.ndarray:
    """`torch.randint` and `random_(from, to)`: from low to high - 1, or if high is None to the dtype's largest value.

    >>> randint(Engine(0), (4,), 0, 10, np.dtype("int64"))
    array([4, 9, 3, 0])
    """
    if high is None and low == -(2**63):
        return _all_64_bits(engine, shape, dtype)
    if high is None:
        low, top = _check_open(low, dtype)
        count = top - low + 1
    else:
        low, high = _check_bounds(low, high, dtype)
        count = high - low
    return _from_range(engine, shape, low, count, dtype)


def random(engine: Engine, shape: Shape, dtype: np.dtype) -> np.ndarray:
    """`random_()`: from 0 to the largest value, or for floats to the end of the range in which all integers are exact.

    >>> random(Engine(0), (3,), np.dtype("uint8"))
    array([172,  47, 117], dtype=uint8)
    """
    if dtype.kind in "uc" and dtype.itemsize > 1:
        raise not_implemented("random_kernel_cpu", dtype)
    if dtype.kind == "b":
        count = 2
    elif is_floating(dtype):
        count = 2 ** digits(dtype) + 1
    else:
        count = int(np.iinfo(dtype).max) + 1
    draws = engine.random64 if dtype.itemsize == 8 else engine.random32
    return _in_range(draws(_count(shape)), 0, count, shape, dtype)


def _count(shape: Shape) -> int:
    n = 1
    for size in shape:
        n *= size
    return n


def _from_range(engine: Engine, shape: Shape, low: int, count: int, dtype: np.dtype) -> np.ndarray:
    if count < _WIDE and shape and (n := _count(shape)) <= MOST_FROM_BLOCK:
        words = engine.raw(n) if len(shape) == 1 else engine.raw(n).reshape(shape)
        words = words & (count - 1) if count & (count - 1) == 0 else words % count
        return words.astype(dtype) if low == 0 else np.add(words.view(np.int64), low).astype(dtype, copy=False)
    draws = engine.random64 if count >= _WIDE else engine.random32
    return _in_range(draws(_count(shape)), low, count, shape, dtype)


def _in_range(draws: np.ndarray, low: int, count: int, shape: Shape, dtype: np.dtype) -> np.ndarray:
    """low + draws % count, in the dtype; `draws` is overwritten."""
    if count & (count - 1) == 0:
        if count < 2**64:
            draws &= draws.dtype.type(count - 1)
    elif draws.dtype == np.uint32:
        quotient = draws // np.uint32(count)  # NumPy vectorises division by a scalar, but not the remainder
        quotient *= np.uint32(count)
        draws -= quotient
    else:
        draws %= draws.dtype.type(count)
    if low == 0 and len(shape) == 1 and draws.dtype == np.uint32:
        return draws.astype(dtype)
    out = np.empty(shape, dtype)
    flat = out.reshape(-1)
    if draws.dtype == np.uint64:
        draws += np.uint64(low % 2**64)  # wraps around, as int64 arithmetic does
        flat[...] = draws if dtype == np.uint64 else draws.view(np.int64)
    elif low == 0:
        flat[...] = draws
    elif dtype == np.int64:
        np.add(draws, low, out=flat, casting="unsafe", dtype=np.int64)
    else:
        flat[...] = draws.astype(np.int64) + low
    return out


@cache
def _limits(dtype: np.dtype) -> tuple[int, int]:
    """The smallest and the largest integer of a dtype, limited to the range of int64 arguments."""
    if dtype.kind == "b":
        return 0, 1
    if is_floating(dtype):
        top = int(min(largest(dtype), 2.0**63))
        return -top, top
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def _all_64_bits(engine: Engine, shape: Shape, dtype: np.dtype) -> np.ndarray:
    """`random_(-2**63, None)`: any int64."""
    kernel = "random_full_64_bits_range_kernel_cpu"
    if dtype.kind in "bc" or dtype == np.float16 or (dtype.kind == "u" and dtype.itemsize > 1):
        raise not_implemented(kernel, dtype)
    if dtype.kind in "iu" and dtype.itemsize < 8:
        raise RuntimeError(f"{kernel} handles only int64, double, float and bfloat16")
    return _in_range(engine.random64(_count(shape)), 0, 2**64, shape, dtype)


def _check_open(low: int, dtype: np.dtype) -> tuple[int, int]:
    """The first and the last value of `random_(from, None)`."""
    if dtype.kind == "c":
        raise RuntimeError("random_from_to_impl handles only integral, floating-point and boolean types")
    if not is_floating(dtype):
        _check_value("from", low, dtype)
        if dtype == np.uint64:
            raise RuntimeError(f"to - 1 is out of bounds for {c_name(dtype)}")
        return low, _limits(dtype)[1]
    low, top = _round_up(low, dtype), 2 ** digits(dtype)
    if low >= top:
        raise RuntimeError(
            "random_ expects 'from' casted to dtype to be less than or equal to 'to_inc' casted to dtype, but got "
            f"from={low} > to_inc={top}"
        )
    _check_value("from", low, dtype)
    return low, top


def _check_bounds(low: int, high: int, dtype: np.dtype) -> tuple[int, int]:
    """Check the bounds of `random_(from, to)`; returns them, moved inward if a float cannot represent them."""
    if dtype.kind == "i" and dtype.itemsize >= 4 and -(2**31) <= low < high <= 2**31:
        return low, high  # the usual case
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    if dtype.kind == "c":
        raise RuntimeError("check_random_bounds handles only integral, floating-point and boolean types")
    if is_floating(dtype):
        exact = 1 << digits(dtype)
        if -exact <= low and high <= exact:
            return low, high
        low, high = _round_up(low, dtype), _round_down(high, dtype)
        if low >= high:
            raise RuntimeError(
                "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, but got "
                f"from={low} >= to={high}"
            )
    _check_value("from", low, dtype)
    _check_value("to - 1", high - 1, dtype)
    return low, high


def _check_value(name: str, value: int, dtype: np.dtype) -> None:
    bottom, top = _limits(dtype)
    if not bottom <= value <= top:
        raise RuntimeError(f"{name} is out of bounds for {c_name(dtype)}")
    if is_floating(dtype) and abs(value) > 2 ** digits(dtype):
        exact = f"2^{digits(dtype)}"
        warnings.warn(
            f"{name} is out of bounds [-({exact}), {exact}]. Due to precision limitations {c_name(dtype)} can "
            "support discrete uniform distribution only within this range. This warning will become an error in "
            "version 1.7 release, please fix the code in advance",
            UserWarning,
            stacklevel=2,
        )


def _cast(value: int, dtype: np.dtype) -> int:
    """The value converted to the dtype and back to int64; out-of-range values become the smallest int64."""
    with silent():
        converted = float(np.array(value, np.float64 if dtype.itemsize == 8 else np.float32).astype(dtype))
    return int(converted) if abs(converted) < 2.0**63 else -(2**63)


def _spacing(value: int, dtype: np.dtype) -> int:
    """The distance from an integer of this size to the next one that the dtype represents."""
    return 1 << max(abs(value).bit_length() - digits(dtype), 0)


def _round_up(low: int, dtype: np.dtype) -> int:
    """The lower bound, or the next integer that the dtype represents if rounding would go below the bound."""
    rounded = _cast(low + 1, dtype)
    return rounded + _spacing(low + 1, dtype) if rounded < low else low


def _round_down(high: int, dtype: np.dtype) -> int:
    """The upper bound, or a smaller one if the last value would round up to it."""
    rounded = _cast(high - 1, dtype)
    return rounded - _spacing(high - 1, dtype) if rounded >= high else high


def randperm(engine: Engine, n: int, dtype: np.dtype) -> np.ndarray:
    """`torch.randperm`: the numbers below n in random order.

    >>> randperm(Engine(0), 5, np.dtype("int64"))
    array([4, 0, 1, 3, 2])
    """
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    _check_permutation(n, dtype)
    if n >= _WIDE_PERMUTATION:
        order = _inside_out(engine.random64(n))
    elif n > 1:
        order = _shuffle(_targets(engine, n))
    else:
        order = np.arange(n)
    return order.astype(dtype, copy=False)


def _check_permutation(n: int, dtype: np.dtype) -> None:
    if dtype.kind in "bc" or (dtype.kind == "u" and dtype.itemsize > 1):
        raise not_implemented("randperm", dtype)
    if dtype.kind in "iu" and n - 1 > _limits(dtype)[1]:
        raise RuntimeError(f"value cannot be converted to type {dtype.name}_t without overflow")
    if dtype.kind == "f" and n > 2 ** digits(dtype) + 1:
        raise RuntimeError(f"n cannot be greater than {2 ** digits(dtype) + 1} for {scalar_name(dtype)} type.")


def _targets(engine: Engine, n: int) -> np.ndarray:
    """For each position, the one that the shuffle swaps it with: the same or a later one."""
    draws = engine.random32(n - 1)
    draws %= np.arange(n, 1, -1, dtype=np.uint32)
    target = np.arange(n)
    target[:-1] += draws
    return target


def _shuffle(target: np.ndarray) -> np.ndarray:
    """The numbers below n after swapping position i with position target[i] >= i, for i = 0, 1, ..."""
    order = np.arange(target.size)
    if swap_in_turn(order, target):
        return order
    if target.size <= FEW_SWAPS:
        swapped = order.tolist()
        for i, j in enumerate(target.tolist()):
            swapped[i], swapped[j] = swapped[j], swapped[i]
        return np.array(swapped)
    # Note [A shuffle without a loop]
    # Swap i exchanges the values at positions i and target[i]. So position i gets the value that the last earlier swap j
    # with the same target put there, which is the value that swap j found at position j; without such a swap, it gets the
    # number target[i] itself. The value found at position k is in turn the one that the last earlier swap with target k
    # put there, or k. Sorting the pairs (target, i) finds the last earlier swap with the same target for all i: the
    # neighbour in the sorted order. The chains of values found are short, about log n steps at most, and are followed
    # for all positions together.
    n = target.size
    shift = int(n - 1).bit_length()
    source = np.arange(n)
    pairs = target.astype(np.int64) << shift  # more than 32 bits
    pairs |= source
    if 2 * shift <= 32:
        pairs = pairs.astype(np.uint32)  # sorts faster
    pairs.sort()
    position = (pairs >> shift).astype(np.int64, copy=False)
    swap = (pairs & ((1 << shift) - 1)).astype(np.int64, copy=False)
    same = np.flatnonzero(position[1:] == position[:-1])
    earlier, later = swap[same], swap[same + 1]

    source[position] = swap  # the last of several swaps with one target is written last
    with_itself = later == position[same]  # the swap of a position with itself changes nothing
    source[later[with_itself]] = earlier[with_itself]

    found = source[earlier]
    active = np.arange(found.size)
    while active.size:
        current = found[active]
        following = source[current]
        moved = following != current
        active = active[moved]
        found[active] = following[moved]
    order = target.copy()
    order[later] = found
    return order


def _inside_out(draws: np.ndarray) -> np.ndarray:
    """The numbers below n after swapping position i with position draws[i] % (i + 1), for i = 0, 1, ..."""
    # The inverse does these swaps in reverse order; counted from the other end, that is the shuffle above.
    n = draws.size
    target = (n - 1) - (draws % np.arange(1, n + 1, dtype=np.uint64)).astype(np.int64)[::-1]
    undone = _shuffle(target)
    order = np.empty(n, np.int64)
    order[(n - 1) - undone] = np.arange(n - 1, -1, -1)
    return order
