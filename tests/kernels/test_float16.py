"""Conversions of float16 by integer arithmetic, and its rounding to integers by any backend, are NumPy's in every bit."""

from __future__ import annotations

import numpy as np
import pytest

import penlight as torch
from penlight.kernels.copies.convert import to_half, to_single

ALL = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
SINGLES = ALL.astype(np.float32)
with np.errstate(all="ignore"):
    FINITE = np.sort(SINGLES[np.isfinite(SINGLES)])
    TIES = ((FINITE[1:].astype(np.float64) + FINITE[:-1]) / 2).astype(np.float32)
CASES = {
    "halves": SINGLES,
    "ties": TIES,
    "above ties": np.nextafter(TIES, np.float32(np.inf)),
    "below ties": np.nextafter(TIES, np.float32(-np.inf)),
    "any bits": np.random.default_rng(0).integers(0, 1 << 32, 100_000, dtype=np.uint32).view(np.float32),
    "ends": np.array(
        [65519.99, 65520, 65535, -65520, 1e38, np.inf, -np.inf, 0.0, -0.0, 2.0**-25, 3e-8, 1e-45], np.float32
    ),
    "nothing": np.empty((3, 0), np.float32),
}


def same(a: np.ndarray, b: np.ndarray) -> bool:
    nan = np.isnan(a)
    bits = f"u{a.itemsize}"
    return (
        a.shape == b.shape
        and np.array_equal(nan, np.isnan(b))
        and np.array_equal(a[~nan].view(bits), b[~nan].view(bits))
    )


def test_to_single() -> None:
    assert same(to_single(ALL), SINGLES)
    finite = ALL[np.isfinite(ALL)].reshape(2, -1)
    assert same(to_single(finite), finite.astype(np.float32))


@pytest.mark.parametrize("name", CASES)
def test_to_half(name: str) -> None:
    for x in (CASES[name], CASES[name][~np.isnan(CASES[name])]):
        with np.errstate(all="ignore"):
            assert same(to_half(x), x.astype(np.float16))


@pytest.mark.parametrize("name", ["floor", "ceil", "trunc", "round"])
def test_rounding_to_integers(name: str) -> None:
    made = getattr(torch, name)(torch.from_numpy(ALL.copy())).numpy()
    with np.errstate(all="ignore"):  # signalling NaN
        assert same(made, getattr(np, name)(ALL))
