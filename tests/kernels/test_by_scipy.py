"""SciPy's special functions are ours to rounding on the intervals on which they stand in for them, also at their ends."""

from __future__ import annotations

import numpy as np
import pytest

from penlight.kernels import executable, native, special
from penlight.kernels.special import by_scipy

pytest.importorskip("scipy")


def arguments(row: by_scipy.Function, size: int, dtype: type) -> list[np.ndarray]:
    pick = np.random.default_rng(size)
    made = []
    for low, high in row.intervals:
        x = pick.uniform(low, high, size)
        if low > 0:  # as many near its begin
            x = np.where(pick.random(size) < 0.5, x, np.exp(pick.uniform(np.log(low), np.log(high), size)))
        x[:2] = low, high
        made.append(
            np.clip(x.astype(dtype), np.nextafter(dtype(low), dtype(high)), np.nextafter(dtype(high), dtype(low)))
        )
    return made


def without_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing asks for kernels, so none is remembered as missing."""
    monkeypatch.setattr(executable, "backend", lambda: None)
    monkeypatch.setattr(native, "available", lambda: False)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", by_scipy.FUNCTIONS)
def test_they_agree(name: str, dtype: type, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executable, "backend", lambda: "x86")
    ours = getattr(special, name)
    without_backend(monkeypatch)
    theirs = getattr(special, name)
    row = by_scipy.FUNCTIONS[name]
    given = arguments(row, int(min(row.most, 2000)), dtype)
    assert by_scipy._fits(row, tuple(given))
    wanted, made = ours(*given), theirs(*given)
    assert made.dtype == dtype and made.shape == wanted.shape
    scale = np.abs(wanted)
    if "bessel_j" in name or "bessel_y" in name or name in ("gammaln", "airy_ai"):
        scale = np.maximum(scale, 1e-1)  # both lose digits beside their zeros
    tolerance = 1e-11 if dtype is np.float64 else 3e-6
    wrong = np.abs(made.astype(np.float64) - wanted) > tolerance * scale + np.finfo(dtype).tiny
    assert not wrong.any(), [(*[x[wrong][0] for x in given], made[wrong][0], wanted[wrong][0])]


def test_ours_does_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    without_backend(monkeypatch)
    digamma = special.digamma
    for x in ([np.nan, 1.0], [-0.5, 2.0], [np.inf], []):
        array = np.array(x)
        assert not by_scipy._fits(by_scipy.FUNCTIONS["digamma"], (array,))
        digamma(array)
