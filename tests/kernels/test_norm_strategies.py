"""Every implementation of a norm gives what the general one gives."""

import numpy as np
import pytest

import penlight as torch
from penlight.kernels import executable, norm, strategy

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


def each(table, *arguments):
    """What every implementation makes of the arguments that does not leave them to the next."""
    made = [strategy.apply((row,), *arguments) for row in table if takes(row, *arguments)]
    assert made
    return made


def takes(row, *arguments):
    last = strategy.Strategy(None, lambda *_: "left", "")
    return not isinstance(strategy.apply((row, last), *arguments), str)


NEEDS = [(True, True, True), (True, False, False), (False, True, False), (False, False, True)]
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])
AFFINE = pytest.mark.parametrize("affine", [False, True])


@DTYPES
@AFFINE
@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize(
    ("shape", "dims"), [((5,), 1), ((1, 7), 1), ((32, 64), 1), ((2, 3, 4, 5), 1), ((2, 3, 4, 5), 2)]
)
def test_layer_norm(shape, dims, centred, affine, dtype):
    x, g = rng.standard_normal((2, *shape)).astype(dtype)
    weight, bias = rng.standard_normal((2, *shape[-dims:])).astype(dtype) if affine else (None, None)
    *others, made = each(norm.LAYER, x, dims, weight, bias, EPS, centred)
    for other in others:
        close(other, made, dtype)
    for needs in NEEDS:
        *others, back = each(norm.LAYER_GRADIENTS, g, x, dims, *made[1:], weight, needs)
        for other in others:
            close(other, back, dtype)


@DTYPES
@AFFINE
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("shape", [(7, 1), (32, 64), (4, 3, 5), (4, 3, 7, 7), (2, 3, 2, 3, 2)])
def test_batch_norm(shape, training, affine, dtype):
    x, g = rng.standard_normal((2, *shape)).astype(dtype)
    weight, bias = rng.standard_normal((2, shape[1])).astype(dtype) if affine else (None, None)
    *others, made = each(norm.BATCH, x, weight, bias, EPS)
    for other in others:
        close(other, made, dtype)
    *others, fixed = each(norm.BATCH_EVAL, x, made[1], made[3], weight, bias, EPS)
    for other in others:
        close([other], [fixed], dtype)
    for needs in NEEDS:
        *others, back = each(norm.BATCH_GRADIENTS, g, x, made[1], made[2], weight, training, needs)
        for other in others:
            close(other, back, dtype)


@DTYPES
@AFFINE
@pytest.mark.parametrize(("shape", "groups"), [((3, 4), 2), ((2, 6, 5), 3), ((4, 4, 7, 7), 1)])
def test_group_norm(shape, groups, affine, dtype):
    x, g = rng.standard_normal((2, *shape)).astype(dtype)
    weight, bias = rng.standard_normal((2, shape[1])).astype(dtype) if affine else (None, None)
    *others, made = each(norm.GROUP, x, groups, weight, bias, EPS)
    for other in others:
        close(other, made, dtype)
    for needs in NEEDS:
        *others, back = each(norm.GROUP_GRADIENTS, g, x, groups, *made[1:], weight, needs)
        for other in others:
            close(other, back, dtype)


def test_other_arrays_are_left_to_the_general_kernels():
    x = rng.standard_normal((6, 4)).astype(np.float32)
    assert len(each(norm.LAYER, x, 1, None, None, EPS, True)) > 1 or executable.backend() is None
    made, *_ = each(norm.LAYER, x.astype(np.float16), 1, None, None, EPS, True)
    assert [a.dtype for a in made] == [np.float16, np.float32, np.float32]
    assert len(each(norm.LAYER, x, 1, np.ones(4), None, EPS, True)) == 1
    assert len(each(norm.LAYER, x[:0], 1, None, None, EPS, True)) == 1


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
