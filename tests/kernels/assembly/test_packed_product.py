"""Products with a matrix that was arranged before."""

import numpy as np
import pytest

from penlight.kernels import executable
from penlight.kernels.assembly.calls import repeat
from penlight.kernels.assembly.packed_product import panels, products

pytestmark = pytest.mark.skipif(not executable.available(), reason="this machine cannot run AVX2 code")


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 6, 7, 12, 16, 17])
@pytest.mark.parametrize("inner", [1, 2, 9, 64])
@pytest.mark.parametrize("columns", [16, 17, 31, 32, 80, 100])
def test_like_numpy(rows, inner, columns):
    draw = np.random.default_rng(rows + inner + columns).standard_normal
    a, b = draw((rows, inner)).astype(np.float32), draw((inner, columns)).astype(np.float32)
    memory = np.full(rows * columns + 32, 7, np.float32)
    result = memory[: rows * columns].reshape(rows, columns)
    repeat(1, products(a, panels(b), result))
    np.testing.assert_allclose(result, a @ b, rtol=1e-4, atol=1e-5)
    assert (memory[rows * columns :] == 7).all()


def test_panels_of_a_transposed_matrix():
    matrix = np.arange(64, dtype=np.float32).reshape(32, 2).T
    arranged = panels(matrix)
    assert arranged.shape == (2, 2, 16)
    assert arranged.flags.c_contiguous
    np.testing.assert_array_equal(arranged[1, 0], matrix[0, 16:])


def test_nan_and_infinity_go_through():
    a = np.array([[1, np.nan], [np.inf, 1]], np.float32)
    b, result = np.ones((2, 16), np.float32), np.empty((2, 16), np.float32)
    repeat(1, products(a, panels(b), result))
    assert np.isnan(result[0]).all()
    assert np.isinf(result[1]).all()
