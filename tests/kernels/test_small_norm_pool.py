"""The short ways for small arrays give what the general kernels give."""

import numpy as np
import pytest

import penlight as torch
from penlight.kernels import norm, pool
from penlight.kernels.norm import channels, small
from penlight.kernels.pool import small as pool_small

rng = np.random.default_rng(0)
EPS = 1e-5


def close(made, expected, dtype):
    tolerance = 1e-12 if dtype == np.float64 else 2e-5
    for a, b in zip(made, expected, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            assert a.shape == b.shape
            assert a.dtype == b.dtype
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("shape", [(5,), (1, 7), (32, 64), (2, 3, 4, 5)])
def test_layer_norm(shape, affine, dtype, either_way):
    x, g = rng.standard_normal((2, *shape)).astype(dtype)
    weight, bias = rng.standard_normal((2, shape[-1])).astype(dtype) if affine else (None, None)
    made = small.layer_norm(x, weight, bias, EPS)
    close(made, norm.layer_norm(x, 1, weight, bias, EPS), dtype)
    for needs in [(True, True, True), (True, False, False), (False, True, False), (False, False, True)]:
        back = small.layer_norm_backward(g, x, *made[1:], weight, needs)
        close(back, norm.layer_norm_backward(g, x, 1, *made[1:], weight, needs), dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("shape", [(7, 1), (32, 64), (4, 3, 5), (4, 3, 7, 7), (2, 3, 2, 3, 2)])
def test_batch_norm(shape, affine, dtype, either_way):
    x, g = rng.standard_normal((2, *shape)).astype(dtype)
    weight, bias = rng.standard_normal((2, shape[1])).astype(dtype) if affine else (None, None)
    made = small.batch_norm(x, weight, bias, EPS)
    close(made, channels.batch_norm(x, weight, bias, EPS), dtype)
    for needs in [(True, True, True), (True, False, False), (False, True, False), (False, False, True)]:
        back = small.batch_norm_backward(g, x, made[1], made[2], weight, needs)
        close(back, channels.batch_norm_backward(g, x, made[1], made[2], weight, True, needs), dtype)


def test_what_is_not_simple_is_left_to_the_general_kernels():
    x = rng.standard_normal((6, 4)).astype(np.float32)
    assert small.layer_norm(x.T, None, None, EPS) is None
    assert small.layer_norm(x.astype(np.float16), None, None, EPS) is None
    assert small.layer_norm(x, np.ones(4), None, EPS) is None
    assert small.layer_norm(x[:0], None, None, EPS) is None
    assert small.batch_norm(x.T, None, None, EPS) is None
    image = x.reshape(1, 1, 6, 4)
    whole = (0, 0), (1, 1), False
    assert pool_small.max_pool(image[:, :, ::2], (2, 2), (2, 2), *whole) is None
    assert pool_small.max_pool(image.astype(np.int64), (2, 2), (2, 2), *whole) is None
    assert pool_small.max_pool(image * np.nan, (2, 2), (2, 2), *whole) is None
    assert pool_small.avg_pool(image[:0], (2, 2), (1, 1), (0, 0), False, True) is None


GEOMETRIES = [
    # shape, kernel, stride, padding, dilation, ceil_mode
    ((3, 2, 6, 8), (2, 2), (2, 2), (0, 0), (1, 1), False),
    ((3, 2, 6, 8), (1, 1), (1, 1), (0, 0), (1, 1), False),
    ((3, 2, 6, 8), (6, 4), (6, 4), (0, 0), (1, 1), False),
    ((2, 3, 7, 9), (3, 3), (2, 2), (1, 1), (1, 1), False),
    ((2, 3, 7, 9), (3, 2), (2, 2), (1, 0), (1, 1), True),
    ((2, 3, 7, 8), (2, 3), (1, 2), (0, 1), (2, 1), False),
    ((2, 5, 11), (3,), (2,), (1,), (1,), True),
    ((1, 2, 4, 5, 6), (2, 2, 3), (2, 1, 2), (1, 0, 1), (1, 1, 1), False),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_largest_of_windows(geometry, dtype):
    shape, kernel, stride, padding, dilation, ceil_mode = geometry
    x = rng.integers(-3, 4, shape).astype(dtype)  # with equals, of which the first counts
    expected = pool.max_pool(x, kernel, stride, padding, dilation, ceil_mode)
    for made in (
        pool_small.max_pool(x, kernel, stride, padding, dilation, ceil_mode),
        [part[None] for part in pool_small.max_pool(x[0], kernel, stride, padding, dilation, ceil_mode)],
    ):
        for a, b in zip(made, expected, strict=True):
            np.testing.assert_array_equal(a, b[: len(a)])
            assert a.dtype == b.dtype
    g = rng.standard_normal(expected[0].shape).astype(dtype)
    back = pool_small.max_pool_backward(g, expected[1], shape, len(kernel), False)
    close([back], [pool.max_pool_backward(g, expected[1], shape)], dtype)
    if kernel == stride and not any(padding):
        back = pool_small.max_pool_backward(g, expected[1], shape, len(kernel), True)
        np.testing.assert_array_equal(back, pool.max_pool_backward(g, expected[1], shape, True))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("include_pad", [False, True])
@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_means_of_windows(geometry, include_pad, dtype):
    shape, kernel, stride, padding, _, ceil_mode = geometry
    x = rng.standard_normal(shape).astype(dtype)
    arguments = kernel, stride, padding, ceil_mode, include_pad
    expected = pool.avg_pool(x, *arguments)
    close([pool_small.avg_pool(x, *arguments)], [expected], dtype)
    g = rng.standard_normal(expected.shape).astype(dtype)
    close([pool_small.avg_pool_backward(g, shape, *arguments)], [pool.avg_pool_backward(g, shape, *arguments)], dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("shape", "out"),
    [((2, 3, 7, 9), (3, 4)), ((2, 3, 8, 8), (4, 1)), ((2, 1, 3, 4), (5, 7)), ((1, 2, 4, 5, 6), (2, 3, 1))],
)
def test_even_windows(shape, out, dtype):
    x = rng.integers(-3, 4, shape).astype(dtype)
    for a, b in zip(pool_small.adaptive_max_pool(x, out), pool.adaptive_max_pool(x, out), strict=True):
        np.testing.assert_array_equal(a, b)
    expected = pool.adaptive_avg_pool(x, out)
    close([pool_small.adaptive_avg_pool(x, out)], [expected], dtype)
    g = rng.standard_normal(expected.shape).astype(dtype)
    made = pool_small.adaptive_avg_pool_backward(g, shape, len(out))
    close([made], [pool.adaptive_avg_pool_backward(g, shape)], dtype)


def test_nan_infinity_and_no_warnings():
    x = torch.tensor([[1.0, float("nan"), 3.0], [float("inf"), 1.0, 2.0], [3e38, -3e38, 3e38]], requires_grad=True)
    for made in (
        torch.nn.functional.layer_norm(x, (3,)),
        torch.nn.functional.batch_norm(x, None, None, training=True),
        torch.nn.functional.avg_pool2d(x[None, None, :2, :2], 2),
        torch.softmax(x, 1),
        torch.softmax(x * 30, 1),
    ):
        made.sum().backward()
    image = torch.tensor([[[[1.0, float("nan")], [float("nan"), 2.0]]]])
    values, indices = torch.nn.functional.max_pool2d(image, 2, return_indices=True)
    assert values.isnan().all()
    assert indices.item() == 2
    assert torch.softmax(x.detach(), 1)[2].tolist() == [0.5, 0.0, 0.5]
