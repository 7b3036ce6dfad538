"""Rows added to computed rows and the like, by machine code and by NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from penlight.kernels import executable
from penlight.kernels.index.gather_scatter import reduce_rows

pytestmark = pytest.mark.skipif(executable.backend() is None, reason="no machine code on this machine")


WAYS = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("columns", [1, 3, 7, 8, 31, 64, 65, 200])
@pytest.mark.parametrize(("rows", "places"), [(1, 1), (50, 3), (700, 5000)])
def test_as_numpy_does(rows, places, columns, dtype, way):
    numbers = np.random.default_rng(0)
    index = numbers.integers(0, places, rows)
    values = numbers.standard_normal((rows, columns)).astype(dtype)
    got = numbers.standard_normal((places, columns)).astype(dtype)
    values[::7] = np.nan
    got[::11] = np.nan
    expected = got.copy()
    WAYS[way].at(expected, index, values)
    assert reduce_rows(got, index, values, way)
    assert np.array_equal(got, expected, equal_nan=True)


@pytest.mark.parametrize("bad", [-1, 5, 2**62, -(2**63)])
def test_places_outside_are_refused(bad):
    out = np.zeros((5, 8), np.float32)
    with pytest.raises(IndexError, match="index out of range in self"):
        reduce_rows(out, np.array([0, bad]), np.ones((2, 8), np.float32))
    assert not out.any()


def test_what_it_cannot_do():
    out, index, rows = np.zeros((5, 8), np.float32), np.array([1, 2]), np.ones((2, 8), np.float32)
    read_only = out.copy()
    read_only.flags.writeable = False
    assert not reduce_rows(out.astype("d"), index, rows)
    assert not reduce_rows(out, index.astype(np.int32), rows)
    assert not reduce_rows(out, index[::-1], rows)
    assert not reduce_rows(out, index, rows[:, ::-1])
    assert not reduce_rows(out[:, :7], index, rows)
    assert not reduce_rows(read_only, index, rows)
    assert not reduce_rows(out, index[:0], rows[:0])
    assert not out.any()
