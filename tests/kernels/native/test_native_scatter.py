"""Rows added to computed rows, by machine code and by NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from penlight.kernels import native
from penlight.kernels.native.scatter import add_rows

pytestmark = pytest.mark.skipif(not native.available(), reason="native kernels do not run on this machine")


@pytest.mark.parametrize("columns", [1, 7, 8, 31, 64, 65, 128, 200])
@pytest.mark.parametrize(("rows", "places"), [(1, 1), (50, 3), (700, 5000)])
def test_as_numpy_does(rows, places, columns):
    numbers = np.random.default_rng(0)
    index = numbers.integers(0, places, rows)
    values = numbers.standard_normal((rows, columns)).astype(np.float32)
    got = numbers.standard_normal((places, columns)).astype(np.float32)
    expected = got.copy()
    np.add.at(expected, index, values)
    assert add_rows(got, index, values)
    assert np.array_equal(got, expected)


@pytest.mark.parametrize("bad", [-1, 5, 2**62, -(2**63)])
def test_places_outside_are_refused(bad):
    out = np.zeros((5, 8), np.float32)
    with pytest.raises(IndexError, match="index out of range in self"):
        add_rows(out, np.array([0, bad]), np.ones((2, 8), np.float32))
    assert not out.any()


def test_what_it_cannot_do():
    out, index, rows = np.zeros((5, 8), np.float32), np.array([1, 2]), np.ones((2, 8), np.float32)
    read_only = out.copy()
    read_only.flags.writeable = False
    assert not add_rows(out.astype("d"), index, rows)
    assert not add_rows(out, index.astype(np.int32), rows)
    assert not add_rows(out, index[::-1], rows)
    assert not add_rows(out, index, rows[:, ::-1])
    assert not add_rows(out[:, :7], index, rows)
    assert not add_rows(read_only, index, rows)
    assert not add_rows(out, index[:0], rows[:0])
    assert not out.any()
