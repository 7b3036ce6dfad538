"""Ufuncs of float32 that are made of faster ones give what NumPy's give, to a few units in the last place; remainders are exact."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from penlight.kernels import faster_ufuncs

EDGES = [0.0, -0.0, 1e-40, -1e-40, 1e-8, 0.5, -0.75, 1.0, -1.0, 30.0, -30.0, 88.9, -89.3, 3e38, np.inf, -np.inf, np.nan]


def operands(ufunc: Any, with_edges: bool) -> list[np.ndarray]:
    pick = np.random.default_rng(0)
    made = []
    for _ in range(ufunc.nin):
        x = np.where(
            pick.random(20_000) < 0.5,
            pick.normal(size=20_000) * 3,
            pick.choice([-1, 1], 20_000) * 10 ** pick.uniform(-12, 1.5, 20_000),
        )
        if ufunc in (np.log1p, np.arctanh):
            x = np.clip(x, -0.9999, 0.9999 if ufunc is np.arctanh else None)
        x = x.astype(np.float32)
        if with_edges:
            x[:300] = pick.choice(np.array(EDGES, np.float32), 300)
        made.append(x)
    return made


CASES = [(ufunc, np.float32) for ufunc in faster_ufuncs.FASTER]
CASES += [(ufunc, np.float64) for ufunc in faster_ufuncs.FASTER if ufunc in faster_ufuncs.ALSO_DOUBLE]


@pytest.mark.parametrize("with_edges", [False, True])
@pytest.mark.parametrize(("ufunc", "dtype"), CASES)
def test_as_numpy(ufunc: Any, dtype: Any, with_edges: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faster_ufuncs, "AS_THEY_ARE", frozenset())  # as on a processor without AVX-512
    given = [x.astype(dtype) for x in operands(ufunc, with_edges)]
    with np.errstate(all="ignore"):
        wanted, exact = ufunc(*given), ufunc(*[x.astype(np.longdouble) for x in given])
    made = faster_ufuncs.run(ufunc, *given)
    assert made.dtype == dtype
    assert np.array_equal(np.isnan(made), np.isnan(wanted)) and np.array_equal(np.isinf(made), np.isinf(wanted))
    if ufunc in (np.remainder, np.fmod, np.floor_divide, np.nextafter):
        np.testing.assert_array_equal(made, wanted)
        return
    finite = np.isfinite(wanted)
    scale = np.abs(exact)
    if ufunc in (np.logaddexp, np.logaddexp2):  # a sum, of numbers of other signs perhaps
        scale = np.maximum.reduce([scale, *np.nan_to_num(np.abs(given), posinf=0.0)])
    units = np.spacing(scale[finite].astype(dtype))
    assert (np.abs(made[finite] - exact[finite]) <= 6 * units).all()
    zero = wanted == 0
    np.testing.assert_array_equal(np.signbit(made[zero]), np.signbit(wanted[zero]))


def test_what_does_not_fit_is_numpys() -> None:
    wide, few = np.linspace(0.1, 0.9, 2000), np.linspace(0.1, 0.9, 20, dtype=np.float32)
    for x in (wide, few, wide.astype(np.float32)[::2]):
        np.testing.assert_array_equal(faster_ufuncs.run(np.log1p, x), np.log1p(x))
    x = np.linspace(-9, 9, 2000, dtype=np.float32)
    np.testing.assert_array_equal(faster_ufuncs.run(np.fmod, x, 0.7), np.fmod(x, np.float32(0.7)))
