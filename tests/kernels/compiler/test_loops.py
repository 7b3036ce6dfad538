"""Loops in machine code beside the Python functions that they are compiled from."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest

from penlight.kernels import executable
from penlight.kernels.compiler import ir, python, text
from penlight.kernels.compiler.loops import (
    Bytes,
    Doubles,
    Floats,
    Ints,
    checked,
    compile_loops,
    fma,
    reassociated,
    simd,
)
from penlight.kernels.waiting_threads import over

pytestmark = pytest.mark.skipif(executable.backend() is None, reason="no machine code on this machine")
TYPES = [np.dtype(np.float64), np.dtype(np.float32)]


def sums(begin: int, end: int, x: Floats, out: Floats, columns: int) -> None:
    for row in range(begin, end):
        total = 0.0
        for i in range(columns):
            total += x[row * columns + i]
        out[row] = total


def softmax(begin: int, end: int, x: Floats, out: Floats, columns: int, scale: float) -> None:
    for row in range(begin, end):
        start = row * columns
        top = -math.inf
        for i in range(columns):
            top = max(top, x[start + i])
        total = 0.0
        for i in range(columns):
            part = math.exp((x[start + i] - top) * scale)
            total += part
            out[start + i] = part
        for i in range(columns):
            out[start + i] /= total


def folded(at: float, low: int, high: int) -> float:
    if at < low:
        return low - at
    if at > high:
        return high * 2 - at
    return at


def mixture(begin: int, end: int, x: Floats, index: Ints, out: Floats, *, stops: bool) -> None:
    for i in range(begin, end):
        j = checked(index[i], 7)
        if j != index[i]:
            if stops:
                break
            else:
                continue
        k = 3 * j % 7 // 2 + min(j, 2) - max(1, j)
        v = folded(x[j], -1, 1) if not k <= 0 else abs(x[j])
        w = fma(v, 2.0, float(k)) if x[j] == x[j] else 7.0
        q = 0
        for _ in range(2):
            for _ in range(j):
                q += 1
        while True:
            q += 1
            if q * q > j:
                break
        if -1 < w <= 1 and j != 3:
            w = math.sqrt(abs(w)) if w < 0.5 else -w
        out[i] = w + math.floor(w) * 100 + q + int(w) - (-w) + round(w) + math.ceil(w) * min(w, 1.0)


def crowded(begin: int, end: int, x: Floats, out: Floats, seen: Bytes, sums: Doubles) -> None:
    """More values at a time than there are registers, whole ones and floats."""
    a, b, c, d, e, f, g, h = 1, 2, 3, 4, 5, 6, 7, 8
    p, q, r, s, t, u, v, w = 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5
    for i in range(begin, end):
        a, b, c, d = b, c, d, a + 1
        e, f, g, h = f + a, g + b, h - c, e - d
        j, k, m, n = a * b, c - d, e + f, g - h
        p, q, r, s = q, r, s, p * 0.5 + x[i]
        t, u, v, w = u - p, v + q, w * 0.25, t + r
        y, z = p + q * r, s - t / (1.0 + abs(u))
        o = v * w
        out[i] = y + z + o + a + b + c + d + e + f + g + h + (j + k + m + n) + p + q + r + s + t + u
        seen[i] = 1 if out[i] > 0 else 0
        sums[0] += v + w
        sums[1] = x[i] if math.log(1.0 + abs(o)) > 1 else math.exp(-abs(z)) + p + a


@pytest.mark.parametrize("dtype", TYPES)
def test_sums_of_rows(dtype):
    x = np.random.default_rng(0).normal(size=(5, 9)).astype(dtype)
    out, expected = np.empty(5, dtype), np.empty(5, dtype)
    compile_loops(sums, dtype)(0, 5, x, out, 9)
    sums(0, 5, x.ravel(), expected, 9)
    np.testing.assert_allclose(out, expected, rtol=1e-6)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("wide", [False, True])
def test_functions_of_the_c_library(dtype, wide):
    x = np.random.default_rng(1).normal(size=(6, 11)).astype(dtype)
    out, expected = np.empty_like(x), np.empty(66)
    over(compile_loops(softmax, dtype, wide), 6, 1, x, out, 11, 1.5)
    softmax(0, 6, x.ravel(), expected, 11, 1.5)
    np.testing.assert_allclose(out.ravel(), expected, rtol=1e-12 if dtype == np.float64 else 1e-6)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("stops", [False, True])
def test_branches_and_other_functions(dtype, stops):
    rng = np.random.default_rng(2)
    x = (rng.normal(size=7) * 3).astype(dtype)
    x[3] = np.nan
    index = rng.integers(-1, 8, size=60)
    out, expected = np.zeros(60, dtype), np.zeros(60)
    compile_loops(mixture, dtype, stops=stops)(0, 60, x, index, out)
    mixture(0, 60, x, index, expected, stops=stops)
    np.testing.assert_allclose(out, expected, rtol=1e-4)


@pytest.mark.parametrize("dtype", TYPES)
def test_more_values_than_registers(dtype):
    x = np.random.default_rng(3).normal(size=8).astype(dtype)
    out, expected = np.empty(8, dtype), np.empty(8)
    seen, seen_expected = np.empty(8, np.uint8), np.empty(8, np.uint8)
    total, total_expected = np.zeros(2), np.zeros(2)
    compile_loops(crowded, dtype)(0, 8, x, out, seen, total)
    crowded(0, 8, x, expected, seen_expected, total_expected)
    np.testing.assert_allclose(out, expected, rtol=1e-5)
    np.testing.assert_array_equal(seen, seen_expected)
    np.testing.assert_allclose(total, total_expected, rtol=1e-5)


def strange(begin: int, end: int, x: Floats) -> None:
    x[begin] = sorted(x)


def test_what_is_not_understood_is_refused():
    with pytest.raises(NotImplementedError, match="sorted"):
        python.loops(strange, ir.F64, ir.F64)


def constants(begin: int, end: int, x: Floats, out: Floats, places: Ints) -> None:
    for i in range(begin, end):
        out[i] = x[i] + 5e-324
        places[i] = 7 if x[i] > 0.0 else -5


def test_constants_with_few_bits_fill_their_lanes() -> None:
    """The smallest float64 and small integers have only zeros in the upper half of a lane."""
    x = np.linspace(-1e-323, 1e-323, 11)
    out, places = compile_loops(constants, x.dtype)(0, 11, x, (11,), (11,))
    np.testing.assert_array_equal(out, x + 5e-324)
    np.testing.assert_array_equal(places, np.where(x > 0, 7, -5))


def extremes(x: Floats, start: int, columns: int) -> tuple[float, float]:
    low, high = x[start], x[start]
    for i in range(columns):
        low, high = min(low, x[start + i]), max(high, x[start + i])
    return low, high


def scale_row(out: Floats, x: Floats, start: int, columns: int, by: float) -> None:
    for i in range(columns):
        out[start + i] = x[start + i] * by


def scaled(begin: int, end: int, x: Floats, out: Floats, columns: int) -> None:
    for row in range(begin, end):
        low, high = extremes(x, row * columns, columns)
        scale_row(out, x, row * columns, columns, high - low)


@pytest.mark.parametrize("dtype", TYPES)
def test_functions_of_loops_are_repeated_where_they_are_called(dtype):
    x = np.random.default_rng(0).standard_normal((3, 19)).astype(dtype)
    expected = np.empty_like(x)
    scaled(0, 3, x.reshape(-1), expected.reshape(-1), 19)
    np.testing.assert_array_equal(compile_loops(scaled, dtype)(0, 3, x, x.shape, 19), expected)


def pairs(rows: int, columns: int) -> Iterator[tuple[int, int]]:
    for row in range(rows):
        for column in range(columns):
            yield row, column


def cells(x: Floats, rows: int, columns: int) -> Iterator[tuple[int, float]]:
    for row, column in pairs(rows, columns):
        at = row * columns + column
        yield at, x[at]


def generated(begin: int, end: int, x: Floats, out: Floats, rows: int, columns: int, *, inverse: bool) -> None:
    for i in range(begin, end):
        total, last = 0.0, 0
        for at, value in cells(x, rows, columns):
            total += value * i
            if value > 0.0:
                last = at
        source, target = (out, x) if inverse else (x, out)
        before = target[i]
        target[i] = total + last + source[i]
        target[i] -= before


@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize("dtype", TYPES)
def test_loops_over_generators_are_repeated_around_their_bodies(dtype, inverse):
    arrays = [np.random.default_rng(0).standard_normal(12).astype(dtype) for _ in range(2)]
    expected = [array.copy() for array in arrays]
    generated(0, 12, *expected, 3, 4, inverse=inverse)
    compile_loops(generated, dtype, inverse=inverse)(0, 12, *arrays, 3, 4)
    np.testing.assert_allclose(arrays, expected, rtol=1e-5 if dtype == np.float32 else 1e-12)


def left(begin: int, end: int, x: Floats, out: Floats) -> None:
    for at, value in cells(x, begin, end):
        if value > 0.0:
            break
        out[at] = value


def test_a_loop_over_a_generator_is_not_left():
    with pytest.raises(NotImplementedError, match="generator"):
        python.loops(left, ir.F64, ir.F64)


def windows(begin: int, end: int, x: Floats, weight: Floats, at: Ints, out: Floats, columns: int, taps: int) -> None:
    for row in range(begin, end):
        start = row * (columns + 9)
        for c in simd(range(columns)):
            total = weight[0]
            for _ in range(2):
                for tap in range(taps):
                    total = fma(weight[tap], x[start + (checked(at[tap], 10) + c)], total)
            out[row * columns + c] = total / 2.0


def window_sums(begin: int, end: int, x: Floats, out: Floats, taps: int, *, columns: int) -> None:
    for row in range(begin, end):
        total = 0.5
        for c in reassociated(range(columns)):
            part = 0.0
            for tap in range(taps):
                part += x[row * columns + tap + c]
            total += part
        out[row] = total


@pytest.mark.parametrize("columns", [1, 8, 16, 29])
@pytest.mark.parametrize("dtype", TYPES)
def test_outer_loops_over_vectors(dtype, columns):
    draw = np.random.default_rng(0).standard_normal
    x, weight, at = draw(3 * (columns + 9)).astype(dtype), draw(3).astype(dtype), np.array([7, 0, 9])
    expected = np.zeros(3 * columns, dtype)
    windows(0, 3, x, weight, at, expected, columns, 3)
    found = compile_loops(windows, dtype)(0, 3, x, weight, at, expected.shape, columns, 3)
    np.testing.assert_allclose(found, expected, rtol=1e-4 if dtype == np.float32 else 1e-12, atol=1e-6)
    expected = np.zeros(3, dtype)
    window_sums(0, 3, x, expected, 5, columns=columns)
    found = compile_loops(window_sums, dtype, columns=columns)(0, 3, x, expected.shape, 5)
    np.testing.assert_allclose(found, expected, rtol=1e-4 if dtype == np.float32 else 1e-12)


def test_outer_loops_become_vector_loops():
    for function, known in ((windows, {}), (window_sums, {"columns": 16})):
        kernel = python.loops(function, ir.F32, ir.F32, **known)
        assert "f32x8 = load_vector x" in text.printed(kernel)
    assert "= load x" not in text.printed(kernel)  # sixteen columns are two whole vectors, and nothing is left
