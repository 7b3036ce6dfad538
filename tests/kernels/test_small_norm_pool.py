"""The short ways for small arrays give what the general kernels give."""

import numpy as np
import pytest

import penlight as torch
from penlight.kernels import norm
from penlight.kernels.norm import channels, small

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
