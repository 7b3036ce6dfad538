"""Convolution, pooling, resampling, folding and padding kernels against the real PyTorch, on random shapes."""

from __future__ import annotations

import random

import numpy as np
import pytest

from penlight.kernels import conv, grid_sample, pad, pool, resample
from penlight.kernels.conv import fold

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity

F = torch.nn.functional
SEEDS = range(4)
PER_SEED = 30


def close(ours, theirs, tolerance=1e-10, what=None):
    theirs = theirs.detach().numpy()
    assert ours.shape == theirs.shape and ours.dtype == theirs.dtype, what
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance, err_msg=str(what))


def raw(*tensors):
    arrays = [t.detach().numpy() for t in tensors]
    return arrays[0] if len(arrays) == 1 else arrays


def pick(rng, choices, dims):
    return tuple(rng.choice(choices) for _ in range(dims))


def conv_case(rng):
    dims = rng.choice([1, 2, 2, 3])
    groups, each, outs = rng.choice(
        [(1, 1, 3), (1, 3, 1), (2, 2, 3), (3, 1, 1), (3, 1, 2), (1, 12, 16), (1, 16, 9), (1, 17, 2)]
    )
    while True:
        sizes, kernel = pick(rng, [1, 4, 7, 12], dims), pick(rng, [1, 2, 3, 3, 4], dims)
        stride, padding, dilation = (
            pick(rng, [1, 1, 2, 3], dims),
            pick(rng, [0, 1, 2], dims),
            pick(rng, [1, 1, 2], dims),
        )
        if all(n + 2 * p > d * (k - 1) for n, p, d, k in zip(sizes, padding, dilation, kernel)):
            batch = rng.choice([0, 1, 3, 20])
            return (batch, groups * each, *sizes), (groups * outs, each, *kernel), stride, padding, dilation, groups


@pytest.mark.usefixtures("any_way")
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.complex128], ids=str)
def test_conv(seed, dtype):
    rng = random.Random(seed)
    torch.manual_seed(seed)
    tolerance = 1e-4 if dtype == torch.float32 else 1e-10
    for _ in range(PER_SEED):
        shape, weight, *options = conv_case(rng)
        stride, padding, dilation, groups = options
        x, w, bias = (torch.randn(s, dtype=dtype, requires_grad=True) for s in (shape, weight, weight[:1]))
        y = [F.conv1d, F.conv2d, F.conv3d][len(stride) - 1](x, w, bias, stride, padding, dilation, groups)
        grad = torch.randn(y.shape, dtype=dtype)
        what = (shape, weight, options)
        close(conv.conv(*raw(x, w), *options, raw(bias)), y, tolerance, what)
        if dtype.is_complex and not x.numel():
            continue
        expected = torch.autograd.grad(y, (x, w), grad)
        # PyTorch's gradients conjugate, the kernels do not.
        g, conj_w, conj_x = raw(grad), raw(w).conj(), raw(x).conj()
        close(conv.conv_input_grad(g, conj_w, shape, *options), expected[0], tolerance, what)
        close(conv.conv_weight_grad(g, conj_x, weight, *options), expected[1], tolerance, what)


@pytest.mark.usefixtures("any_way")
@pytest.mark.parametrize("seed", SEEDS)
def test_transposed_conv(seed):
    rng = random.Random(seed)
    for _ in range(PER_SEED):
        shape, weight, *options = conv_case(rng)
        stride, padding, dilation, groups = options
        out = conv.conv_output_shape(shape, weight, stride, padding, dilation)
        extra = [n - ((o - 1) * s - 2 * p + d * (k - 1) + 1)
                 for n, o, s, p, d, k in zip(shape[2:], out[2:], stride, padding, dilation, weight[2:])]  # fmt: skip
        x, w = torch.randn(out, dtype=torch.float64), torch.randn(weight, dtype=torch.float64)
        bias = torch.randn(shape[1], dtype=torch.float64)
        function = [F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d][len(stride) - 1]
        y = function(x, w, bias, stride, padding, extra, groups, dilation)
        close(conv.conv_input_grad(*raw(x, w), shape, *options, raw(bias)), y, what=(shape, weight, options))


# Big enough for threads, blocks of rows, and every way of doing the work.
BIG = [
    ((64, 1, 28, 28), (32, 1, 3, 3), (1, 1), (0, 0), (1, 1), 1),
    ((16, 32, 26, 26), (64, 32, 3, 3), (1, 1), (0, 0), (1, 1), 1),
    ((2, 3, 96, 96), (64, 3, 7, 7), (2, 2), (3, 3), (1, 1), 1),
    ((2, 64, 28, 28), (64, 64, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    ((4, 64, 28, 28), (96, 64, 1, 1), (1, 1), (0, 0), (1, 1), 1),
    ((4, 64, 4, 4), (128, 64, 3, 3), (2, 2), (1, 1), (1, 1), 1),
    ((4, 32, 40, 40), (32, 1, 3, 3), (1, 1), (1, 1), (1, 1), 32),
    ((4, 32, 40, 40), (32, 1, 3, 3), (2, 2), (1, 1), (1, 1), 32),
    ((4, 64, 500), (64, 64, 5), (1,), (2,), (1,), 1),
    ((2, 8, 12, 20, 20), (16, 8, 3, 3, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1), 1),
    ((1, 256, 14, 14), (256, 256, 3, 3), (1, 1), (1, 1), (1, 1), 1),
]


@pytest.mark.parametrize("case", BIG, ids=str)
def test_big_conv(case):
    """In float32, against PyTorch in float64: no worse than rounding of the sums allows."""
    shape, weight, *options = case
    torch.manual_seed(0)
    x, w = (torch.randn(s, dtype=torch.float32).double().requires_grad_() for s in (shape, weight))
    y = [F.conv1d, F.conv2d, F.conv3d][len(options[0]) - 1](x, w, None, *options)
    grad = torch.randn(y.shape, dtype=torch.float32).double()
    expected = torch.autograd.grad(y, (x, w), grad)
    a, b, g = (t.astype(np.float32) for t in raw(x, w, grad))
    for ours, theirs in (
        (conv.conv(a, b, *options), y),
        (conv.conv_input_grad(g, b, shape, *options), expected[0]),
        (conv.conv_weight_grad(g, a, weight, *options), expected[1]),
    ):
        theirs = raw(theirs)
        assert ours.dtype == np.float32
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=2e-6 * np.abs(theirs).max())


@pytest.mark.parametrize("seed", SEEDS)
def test_pools(seed):
    rng = random.Random(seed)
    torch.manual_seed(seed)
    for _ in range(PER_SEED):
        dims = rng.choice([1, 2, 2, 3])
        sizes, kernel, stride = (
            pick(rng, [4, 5, 8, 11], dims),
            pick(rng, [1, 2, 3, 4], dims),
            pick(rng, [1, 2, 3], dims),
        )
        padding, dilation = tuple(rng.randint(0, k // 2) for k in kernel), pick(rng, [1, 1, 2], dims)
        ceil_mode, include = rng.random() < 0.5, rng.random() < 0.5
        if any(n + 2 * p <= d * (k - 1) for n, p, d, k in zip(sizes, padding, dilation, kernel)):
            continue
        x = torch.randn(2, 3, *sizes, dtype=torch.float64)
        if rng.random() < 0.3:
            x = torch.randint(0, 3, x.shape).double()
        if rng.random() < 0.2:
            x.view(-1)[::7] = float("nan")
            x.view(-1)[1::3] = -float("inf")
        x.requires_grad_()
        options = kernel, stride, padding, dilation, ceil_mode
        y, where = [F.max_pool1d, F.max_pool2d, F.max_pool3d][dims - 1](x, *options, return_indices=True)
        values, indices = pool.max_pool(raw(x), *options)
        np.testing.assert_array_equal(values, raw(y), err_msg=str(options))
        np.testing.assert_array_equal(indices, raw(where), err_msg=str(options))
        grad = torch.randn(y.shape, dtype=torch.float64)
        expected = torch.autograd.grad(y, x, grad)[0]
        close(pool.max_pool_backward(raw(grad), indices, x.shape, dims), expected, what=options)
        average = [F.avg_pool1d, F.avg_pool2d, F.avg_pool3d][dims - 1]
        options = kernel, stride, padding, ceil_mode, include
        y = average(x, *options)
        close(pool.avg_pool(raw(x), *options), y, what=options)
        grad = torch.randn(y.shape, dtype=torch.float64)
        close(pool.avg_pool_backward(raw(grad), x.shape, *options), torch.autograd.grad(y, x, grad)[0], what=options)


@pytest.mark.parametrize("seed", SEEDS)
def test_adaptive_pools(seed):
    rng = random.Random(seed)
    torch.manual_seed(seed)
    for _ in range(PER_SEED // 2):
        dims = rng.choice([1, 2, 3])
        sizes, out = pick(rng, [1, 3, 5, 8, 11], dims), pick(rng, [1, 2, 3, 4, 7, 12], dims)
        x = torch.randn(rng.choice([0, 2]), 3, *sizes, dtype=torch.float64, requires_grad=True)
        y, where = [F.adaptive_max_pool1d, F.adaptive_max_pool2d, F.adaptive_max_pool3d][dims - 1](
            x, out, return_indices=True
        )
        values, indices = pool.adaptive_max_pool(raw(x), out)
        np.testing.assert_array_equal(values, raw(y))
        np.testing.assert_array_equal(indices, raw(where))
        y = [F.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d][dims - 1](x, out)
        close(pool.adaptive_avg_pool(raw(x), out), y, what=(sizes, out))
        grad = torch.randn(y.shape, dtype=torch.float64)
        close(
            pool.adaptive_avg_pool_backward(raw(grad), x.shape, dims),
            torch.autograd.grad(y, x, grad)[0],
            what=(sizes, out),
        )


@pytest.mark.parametrize("dims", [2, 3])
def test_fractional_max_pool(dims):
    x, samples = torch.randn(2, 3, *(9, 8, 7)[:dims]), torch.rand(2, 3, dims)
    function = F.fractional_max_pool2d if dims == 2 else F.fractional_max_pool3d
    y, where = function(x, (2, 3, 2)[:dims], (5, 4, 3)[:dims], return_indices=True, _random_samples=samples)
    values, indices = pool.fractional_max_pool(raw(x), (2, 3, 2)[:dims], (5, 4, 3)[:dims], raw(samples))
    np.testing.assert_array_equal(values, raw(y))
    np.testing.assert_array_equal(indices, raw(where))


def test_max_unpool():
    x = torch.randn(2, 3, 8, 6)
    y, where = F.max_pool2d(x, 2, return_indices=True)
    close(pool.max_unpool(*raw(y, where), (8, 6)), F.max_unpool2d(y, where, 2))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_interpolate(seed, dtype):
    rng = random.Random(seed)
    torch.manual_seed(seed)
    tolerance = 2e-5 if dtype == torch.float32 else 1e-10
    for _ in range(PER_SEED):
        dims = rng.choice([1, 2, 2, 3])
        mode = rng.choice(
            ["nearest", "nearest-exact", ("linear", "bilinear", "trilinear")[dims - 1], "area", "bicubic"]
        )
        if mode == "bicubic" and dims != 2:
            continue
        smooth = mode not in ("nearest", "nearest-exact", "area")
        align = rng.random() < 0.5 if smooth else None
        antialias = smooth and dims == 2 and rng.random() < 0.5
        sizes, scales = pick(rng, [2, 3, 7, 16, 33], dims), None
        if rng.random() < 0.5:
            out = pick(rng, [1, 2, 4, 10, 32, 70], dims)
            options = {"size": out}
        else:
            scales = pick(rng, [0.5, 2.0, 1.5, 2.7, 3.0, 0.77], dims)
            out = tuple(int(n * s) for n, s in zip(sizes, scales))
            options = {"scale_factor": scales, "recompute_scale_factor": False}
        # PyTorch 2.13 repeats the first row of an antialiased image that becomes one pixel wide.
        if 0 in out or (antialias and out[-1] == 1):
            continue
        what = (mode, sizes, options, align, antialias)
        x = torch.randn(2, 2, *sizes, dtype=dtype, requires_grad=True)
        y = F.interpolate(x, mode=mode, align_corners=align, antialias=antialias, **options)
        close(resample.interpolate(raw(x), out, mode, bool(align), scales, antialias), y, tolerance, what)
        if scales and mode.startswith("nearest"):
            # PyTorch's backward rounds positions on its own and is not always the transpose of its forward.
            continue
        grad = torch.randn(y.shape, dtype=dtype)
        ours = resample.interpolate_backward(raw(grad), x.shape, mode, bool(align), scales, antialias)
        close(ours, torch.autograd.grad(y, x, grad)[0], 5 * tolerance, what)


@pytest.mark.parametrize("seed", SEEDS)
def test_grid_sample(seed):
    rng = random.Random(seed)
    torch.manual_seed(seed)
    for _ in range(PER_SEED):
        dims = rng.choice([2, 2, 3])
        mode = rng.choice(["bilinear", "nearest", "bicubic"][: 5 - dims])
        options = mode, rng.choice(["zeros", "border", "reflection"]), rng.random() < 0.5
        x = torch.randn(2, 3, *pick(rng, [1, 2, 5, 8], dims), dtype=torch.float64, requires_grad=True)
        grid = (
            torch.randn(2, *pick(rng, [1, 3], dims), dims, dtype=torch.float64) * rng.choice([0.6, 3])
        ).requires_grad_()
        y = F.grid_sample(x, grid, *options)
        what = (options, x.shape)
        close(grid_sample.grid_sample(*raw(x, grid), *options), y, what=what)
        grad = torch.randn(y.shape, dtype=torch.float64)
        expected = torch.autograd.grad(y, (x, grid), grad)
        close(grid_sample.grid_sample_input_grad(*raw(grad, grid), x.shape, *options), expected[0], what=what)
        close(grid_sample.grid_sample_grid_grad(*raw(grad, x, grid), *options), expected[1], 1e-9, what)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 1e4, 2.0])
def test_grid_sample_of_strange_places(value):
    for dims in (2, 3):
        x = torch.arange(1.0, 1.0 + 3**dims).reshape(1, 1, *(3,) * dims)
        grid = torch.full((1, *(1,) * dims, dims), value)
        for mode in ["bilinear", "nearest", "bicubic"][: 5 - dims]:
            for padding in ("zeros", "border", "reflection"):
                for align in (True, False):
                    ours = grid_sample.grid_sample(*raw(x, grid), mode, padding, align)
                    close(ours, F.grid_sample(x, grid, mode, padding, align), what=(dims, mode, padding, align))


@pytest.mark.parametrize("sizes", [(3, 4), (1, 5), (7, 6), (2, 3, 5), (10, 11, 1)])
@pytest.mark.parametrize("align", [True, False])
@pytest.mark.filterwarnings("ignore:Since version 1.3.0")
def test_affine_grid(sizes, align):
    dims = len(sizes)
    theta = torch.randn(2, dims, dims + 1)
    base = grid_sample.affine_grid_base(sizes, align, np.dtype(np.float32))
    ours = (base.reshape(-1, dims + 1) @ raw(theta).swapaxes(1, 2)).reshape(2, *sizes, dims)
    close(ours, F.affine_grid(theta, [2, 1, *sizes], align), 1e-6)


@pytest.mark.usefixtures("any_way")
@pytest.mark.parametrize("seed", SEEDS)
def test_fold(seed):
    rng = random.Random(seed)
    for _ in range(PER_SEED):
        sizes, kernel, dilation = pick(rng, [3, 5, 8, 11], 2), pick(rng, [1, 2, 3], 2), pick(rng, [1, 1, 2], 2)
        options = kernel, dilation, pick(rng, [0, 1, 2], 2), pick(rng, [1, 2, 3, 5], 2)
        if min(fold.block_counts(sizes, *options)) < 1:
            continue
        x = torch.randn(rng.choice([1, 3]), 2, *sizes, dtype=torch.float64)
        columns = F.unfold(x, *options)
        close(fold.unfold(raw(x), *options), columns, what=options)
        close(fold.fold(raw(columns), sizes, *options), F.fold(columns, sizes, *options), what=options)


@pytest.mark.parametrize("seed", SEEDS)
def test_pad(seed):
    rng = random.Random(seed)
    for _ in range(2 * PER_SEED):
        mode, dims = rng.choice(["constant", "reflect", "replicate", "circular"]), rng.choice([1, 2, 3])
        sizes = pick(rng, [2, 3, 5], dims)
        pads = [(rng.choice([-1, 0, 1, 2]), rng.choice([-1, 0, 1, 2])) for _ in range(dims)]
        left = [n + min(a, 0) + min(b, 0) for n, (a, b) in zip(sizes, pads)]
        if any(m < 1 or max(pair) >= m for m, pair in zip(left, pads)):
            continue
        x = torch.randn(2, 2, *sizes, dtype=torch.float64, requires_grad=True)
        value = 1.5 if mode == "constant" else None
        y = F.pad(x, [amount for pair in reversed(pads) for amount in pair], mode, value)
        close(pad.pad(raw(x), pads, mode, 1.5), y, what=(mode, sizes, pads))
        grad = torch.randn(y.shape, dtype=torch.float64)
        ours = pad.pad_backward(raw(grad), x.shape, pads, mode)
        close(ours, torch.autograd.grad(y, x, grad)[0], what=(mode, sizes, pads))
