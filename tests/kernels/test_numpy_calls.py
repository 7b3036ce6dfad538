"""Shorter versions of NumPy functions return what NumPy returns."""

import numpy as np
import pytest

from penlight.kernels import numpy_calls

rng = np.random.default_rng(0)
SHAPES = [(5,), (3, 4), (2, 3, 4), (1, 4, 1, 2)]


@pytest.mark.parametrize("a", [(), (1,), (3,), (2, 1, 3), (4, 1)])
@pytest.mark.parametrize("b", [(), (1,), (3,), (2, 1), (5, 1, 1, 3), (4, 3)])
def test_broadcast_shapes(a, b):
    try:
        expected = np.broadcast_shapes(a, b)
    except ValueError:
        with pytest.raises(ValueError, match="cannot be broadcast"):
            numpy_calls.broadcast_shapes(a, b)
    else:
        assert numpy_calls.broadcast_shapes(a, b) == expected


@pytest.mark.parametrize("shape", SHAPES)
def test_along_an_axis(shape):
    x = rng.standard_normal(shape)
    for axis in range(len(shape)):
        for count in (1, 6):
            index = rng.integers(0, shape[axis], (*shape[:axis], count, *shape[axis + 1 :]))
            np.testing.assert_array_equal(numpy_calls.take_along(x, index, axis), np.take_along_axis(x, index, axis))
            turned = np.asfortranarray(x)
            np.testing.assert_array_equal(
                numpy_calls.take_along(turned, index, axis), np.take_along_axis(x, index, axis)
            )
        index = x.argmax(axis)
        wide = numpy_calls.expand_dims(index, axis)
        assert wide.shape == np.expand_dims(index, axis).shape
        made, expected = np.zeros(shape), np.zeros(shape)
        numpy_calls.put_along(made, wide, 2.0, axis)
        np.put_along_axis(expected, wide, 2.0, axis)
        np.testing.assert_array_equal(made, expected)


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (5, 3), (2, 4, 4), (70, 70)])
@pytest.mark.parametrize("diagonal", [-9, -1, 0, 2, 9])
def test_triangles(shape, diagonal):
    x = rng.standard_normal(shape).astype(np.float32)
    x[..., 0, 0] = np.nan
    for ours, theirs in ((numpy_calls.tril, np.tril), (numpy_calls.triu, np.triu)):
        made, expected = ours(x, diagonal), theirs(x, diagonal)
        np.testing.assert_array_equal(made, expected)
        assert made.dtype == x.dtype


@pytest.mark.parametrize("shape", SHAPES)
def test_moves(shape):
    x = rng.standard_normal(shape)
    last = len(shape) - 1
    for axis in range(len(shape)):
        for shift in (-7, -1, 0, 2, 9):
            np.testing.assert_array_equal(numpy_calls.roll(x, shift, axis), np.roll(x, shift, axis))
        np.testing.assert_array_equal(numpy_calls.flip(x, (axis,)), np.flip(x, axis))
        np.testing.assert_array_equal(numpy_calls.moveaxis(x, axis, last), np.moveaxis(x, axis, last))
    np.testing.assert_array_equal(numpy_calls.flip(x, tuple({0, last})), np.flip(x, tuple({0, last})))
    assert numpy_calls.roll(x[:0], 1, 0).shape == x[:0].shape


@pytest.mark.parametrize("times", [(2,), (1, 3), (2, 1, 2), (0, 2)])
@pytest.mark.parametrize("shape", [(), (3,), (2,)])
def test_tile(shape, times):
    x = rng.standard_normal(shape)
    made = numpy_calls.tile(x, times)
    np.testing.assert_array_equal(made, np.tile(x, times))
    assert made.flags.c_contiguous
