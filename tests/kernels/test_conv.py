"""Convolution kernels against a slow reference, and the transposes against each other."""

from __future__ import annotations

import itertools
import threading

import numpy as np
import pytest

from penlight.kernels import parallel
from penlight.kernels.conv import conv, conv_input_grad, conv_output_shape, conv_weight_grad
from penlight.kernels.conv.im2col import im2col_correlate
from penlight.kernels.conv.positions import find_small

# (input, weight, stride, padding, dilation, groups)
CASES = [
    ((2, 3, 9), (4, 3, 3), (1,), (0,), (1,), 1),
    ((2, 4, 30), (6, 2, 5), (3,), (2,), (2,), 2),
    ((3, 9, 40), (10, 9, 3), (1,), (1,), (1,), 1),
    ((1, 1, 7), (1, 1, 1), (1,), (0,), (1,), 1),
    ((2, 1, 6, 5), (3, 1, 3, 3), (1, 1), (0, 0), (1, 1), 1),
    ((2, 3, 7, 8), (4, 3, 3, 2), (2, 1), (1, 0), (1, 2), 1),
    ((2, 4, 6, 6), (4, 1, 3, 3), (1, 1), (1, 1), (1, 1), 4),
    ((2, 4, 7, 9), (8, 1, 3, 3), (2, 3), (1, 1), (2, 1), 4),
    ((2, 6, 5, 5), (9, 2, 3, 3), (1, 1), (1, 1), (1, 1), 3),
    ((2, 3, 9, 9), (2, 3, 2, 2), (3, 3), (0, 0), (1, 1), 1),
    ((2, 3, 8, 8), (5, 3, 1, 1), (1, 1), (0, 0), (1, 1), 1),
    ((2, 3, 8, 8), (5, 3, 1, 1), (2, 2), (1, 1), (1, 1), 1),
    ((3, 12, 13, 11), (16, 12, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    ((3, 16, 12, 10), (12, 16, 3, 3), (1, 1), (2, 1), (1, 1), 1),
    ((3, 8, 12, 10), (8, 8, 3, 2), (1, 2), (0, 1), (1, 2), 1),
    ((1, 8, 40, 50), (24, 8, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    ((2, 9, 6, 5, 7), (8, 9, 3, 3, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1), 1),
    ((2, 2, 5, 6, 7), (3, 2, 2, 3, 2), (2, 1, 2), (1, 0, 1), (1, 2, 1), 1),
    ((2, 3, 4, 5, 4), (3, 1, 3, 2, 3), (1, 2, 1), (1, 1, 1), (1, 1, 1), 3),
    ((2, 16, 6, 6), (2, 16, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    ((2, 2, 11, 11), (16, 2, 4, 4), (2, 2), (1, 1), (1, 1), 1),
    ((2, 2, 12, 9), (3, 2, 3, 3), (2, 4), (3, 2), (4, 2), 1),
    ((0, 3, 6, 6), (4, 3, 3, 3), (1, 1), (0, 0), (1, 1), 1),
    ((3, 4, 5, 6), (6, 4, 5, 6), (1, 1), (0, 0), (1, 1), 1),
    ((3, 4, 6, 7), (6, 2, 2, 3), (9, 9), (0, 0), (3, 2), 2),
    ((3, 4, 7, 8), (6, 2, 1, 1), (2, 3), (0, 0), (1, 1), 2),
    ((2, 5, 6, 6), (1, 5, 1, 1), (1, 1), (0, 0), (1, 1), 1),
    ((1, 5, 9), (4, 5, 1), (1,), (0,), (1,), 1),
    ((2, 4, 9, 13), (6, 2, 3, 4), (3, 4), (0, 0), (1, 1), 2),
    ((2, 3, 4, 7, 6), (5, 3, 2, 3, 2), (2, 3, 2), (0, 0, 0), (1, 1, 1), 1),
    ((0, 5, 9), (4, 5, 1), (1,), (0,), (1,), 1),
    ((1, 3, 4, 4, 4), (5, 3, 4, 4, 4), (1, 1, 1), (0, 0, 0), (1, 1, 1), 1),
    # Several images with few positions each.
    ((8, 3, 4, 4), (5, 3, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    ((6, 2, 5, 7), (4, 2, 3, 2), (2, 1), (0, 1), (1, 2), 1),
    ((5, 4, 9), (3, 4, 3), (2,), (1,), (1,), 1),
]


def reference(x, w, stride, padding, dilation, groups):
    """Correlation tap by tap, in float64."""
    x = np.pad(x.astype(np.float64), [(0, 0), (0, 0), *((p, p) for p in padding)])
    kernel, each = w.shape[2:], w.shape[0] // groups
    sizes = [(n - d * (k - 1) - 1) // s + 1 for n, k, s, d in zip(x.shape[2:], kernel, stride, dilation)]
    out = np.zeros((len(x), groups, each, *sizes))
    x = x.reshape(len(x), groups, x.shape[1] // groups, *x.shape[2:])
    weights = w.astype(np.float64).reshape(groups, each, -1, *kernel)
    for tap in itertools.product(*map(range, kernel)):
        window = x[(..., *(slice(t * d, t * d + s * n, s) for t, d, s, n in zip(tap, dilation, stride, sizes)))]
        out += np.einsum("ngc...,goc->ngo...", window, weights[(..., *tap)])
    return out.reshape(len(x), groups * each, *sizes)


def arrays(case, dtype=np.float64):
    rng = np.random.default_rng(0)
    shape = conv_output_shape(*case[:5])
    return [rng.standard_normal(s).astype(dtype) for s in (case[0], case[1], shape)]


@pytest.mark.usefixtures("any_way")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_forward_is_correlation(case):
    x, w, _ = arrays(case)
    np.testing.assert_allclose(conv(x, w, *case[2:]), reference(x, w, *case[2:]), rtol=1e-10, atol=1e-11)


@pytest.mark.usefixtures("any_way")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_gradients_are_the_transposes(case):
    """<conv(x, w), g> is linear in x and in w, so that both gradients follow from the forward pass."""
    x, w, g = arrays(case)
    value = np.vdot(conv(x, w, *case[2:]), g)
    grad_x = conv_input_grad(g, w, x.shape, *case[2:])
    grad_w = conv_weight_grad(g, x, w.shape, *case[2:])
    assert grad_x.shape == x.shape and grad_w.shape == w.shape
    np.testing.assert_allclose(np.vdot(x, grad_x), value, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(np.vdot(w, grad_w), value, rtol=1e-10, atol=1e-10)
    if not x.size:
        return
    rng = np.random.default_rng(1)
    for _ in range(8):
        # Single elements of each, by moving one unit of x or w.
        unit = np.zeros_like(x)
        at = tuple(rng.integers(0, n) for n in x.shape)
        unit[at] = 1
        np.testing.assert_allclose(grad_x[at], np.vdot(conv(unit, w, *case[2:]), g), rtol=1e-9, atol=1e-9)
        unit = np.zeros_like(w)
        at = tuple(rng.integers(0, n) for n in w.shape)
        unit[at] = 1
        np.testing.assert_allclose(grad_w[at], np.vdot(conv(x, unit, *case[2:]), g), rtol=1e-9, atol=1e-9)


@pytest.mark.usefixtures("any_way")
@pytest.mark.parametrize("case", CASES[::3], ids=str)
def test_bias_is_added_to_each_channel(case):
    x, w, g = arrays(case)
    bias = np.arange(1.0, 1.0 + w.shape[0])
    column = bias.reshape(-1, *(1,) * len(case[2]))
    np.testing.assert_allclose(conv(x, w, *case[2:], bias), conv(x, w, *case[2:]) + column, atol=1e-12)
    bias = np.arange(1.0, 1.0 + x.shape[1])
    column = bias.reshape(-1, *(1,) * len(case[2]))
    args = (g, w, x.shape, *case[2:])
    np.testing.assert_allclose(conv_input_grad(*args, bias), conv_input_grad(*args) + column, atol=1e-12)


def test_values_from_torch():
    x = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    w = np.array([[[[1, 2], [3, 4]]], [[[0, 1], [0, -1]]]], np.float32)
    expected = [[[34, 54], [114, 134]], [[-4, -4], [-4, -4]]]
    np.testing.assert_array_equal(conv(x, w, (2, 2), (0, 0), (1, 1), 1)[0], expected)
    grad = np.array([[[[1, 0], [1, 0]], [[0, 1], [0, 1]]]], np.float32)
    result = conv_input_grad(grad, w, (1, 1, 4, 4), (2, 2), (0, 0), (1, 1), 1)
    np.testing.assert_array_equal(result[0, 0], [[1, 2, 0, 1], [3, 4, 0, -1], [1, 2, 0, 1], [3, 4, 0, -1]])
    result = conv_weight_grad(grad, x, (2, 1, 2, 2), (2, 2), (0, 0), (1, 1), 1)
    np.testing.assert_array_equal(result[:, 0], [[[8, 10], [16, 18]], [[12, 14], [20, 22]]])


@pytest.mark.usefixtures("any_way")
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.complex64, np.complex128, np.int64])
def test_dtypes(dtype):
    case = CASES[5]
    x, w, g = (a.astype(dtype) for a in arrays(case))
    if np.issubdtype(dtype, np.complexfloating):
        x, w, g = x * (1 + 2j), w * (2 - 1j), g * 1j
        x, w, g = (a.astype(dtype) for a in (x, w, g))
    for result in (
        conv(x, w, *case[2:]),
        conv_input_grad(g, w, x.shape, *case[2:]),
        conv_weight_grad(g, x, w.shape, *case[2:]),
    ):
        assert result.dtype == dtype and result.flags.c_contiguous
    tolerance = {np.float16: 2e-2, np.float32: 1e-5, np.complex64: 1e-5}.get(dtype, 1e-10)
    if np.issubdtype(dtype, np.complexfloating):
        parts = [[reference(a, b, *case[2:]) for b in (w.real, w.imag)] for a in (x.real, x.imag)]
        expected = parts[0][0] - parts[1][1] + 1j * (parts[0][1] + parts[1][0])
        # None of the three conjugates.
        value = (conv(x, w, *case[2:]) * g).sum()
        np.testing.assert_allclose((conv_input_grad(g, w, x.shape, *case[2:]) * x).sum(), value, rtol=1e-4)
        np.testing.assert_allclose((conv_weight_grad(g, x, w.shape, *case[2:]) * w).sum(), value, rtol=1e-4)
    else:
        expected = reference(x, w, *case[2:])
    np.testing.assert_allclose(conv(x, w, *case[2:]), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.usefixtures("any_way")
def test_inputs_need_not_be_contiguous_and_are_not_written_to():
    case = CASES[12]
    x, w, g = arrays(case)
    for a in (x, w, g):
        a.flags.writeable = False
    strided = [np.asfortranarray(a) for a in (x, w, g)]
    y = conv(x, w, *case[2:])
    np.testing.assert_allclose(conv(strided[0], strided[1], *case[2:]), y, rtol=1e-12, atol=1e-12)
    expected = conv_input_grad(g, w, x.shape, *case[2:])
    np.testing.assert_allclose(conv_input_grad(strided[2], strided[1], x.shape, *case[2:]), expected, atol=1e-12)
    expected = conv_weight_grad(g, x, w.shape, *case[2:])
    np.testing.assert_allclose(conv_weight_grad(strided[2], strided[0], w.shape, *case[2:]), expected, atol=1e-12)


def test_no_channels_gives_the_bias():
    y = conv(np.empty((2, 0, 4, 4)), np.empty((3, 0, 2, 2)), (1, 1), (0, 0), (1, 1), 1, np.arange(3.0))
    np.testing.assert_array_equal(y, np.broadcast_to(np.arange(3.0).reshape(3, 1, 1), (2, 3, 3, 3)))


def test_a_small_transpose_multiplies_only_what_meets():
    """An infinite weight makes infinite what it reaches, and nothing else NaN."""
    w = np.ones((1, 1, 3))
    w[0, 0, 0] = np.inf
    small = find_small((1, 1, 8), w.shape, (1, 1, 3), (2,), (0,), (1,), 1)
    x = small.transpose(np.ones((1, 1, 3)), w, None)
    np.testing.assert_array_equal(x, [[[np.inf, 1, np.inf, 1, np.inf, 1, 1, 0]]])


class TestWinograd:
    """The fast way must keep what the direct way promises."""

    case = ((3, 32, 20, 20), (32, 32, 3, 3), (1, 1), (1, 1), (1, 1), 1)

    def direct(self, x, w):
        out = np.empty(conv_output_shape(x.shape, w.shape, (1, 1), (1, 1), (1, 1)), x.dtype)
        im2col_correlate(x, w, (1, 1), (1, 1), (1, 1), 1, out)
        return out

    def test_is_as_accurate_as_the_direct_way(self):
        x, w, _ = arrays(self.case, np.float32)
        exact = reference(x, w, *self.case[2:])
        fast = np.abs(conv(x, w, *self.case[2:]) - exact).max()
        assert fast <= 2 * np.abs(self.direct(x, w) - exact).max()

    @pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan, 3e38])
    def test_extreme_values_stay_where_they_belong(self, bad):
        x, w, g = arrays(self.case, np.float32)
        x[0, 0, 5, 5] = bad
        fast = conv(x, w, *self.case[2:])
        result = conv_weight_grad(g, x, w.shape, *self.case[2:])
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(fast, self.direct(x, w), rtol=1e-5, atol=5e-5)
        assert not np.isfinite(result[:, 0]).any() or bad == 3e38
        assert np.isfinite(result[:, 1:]).all()

    def test_a_masked_kernel_keeps_its_exact_zeros(self):
        x, w, g = arrays(self.case, np.float32)
        w[:, :, 2:] = 0
        w[:, :, 1, 1:] = 0
        g[:, :, 8:] = 0
        # Inputs below the rows that have a gradient are masked, so that nothing flows there.
        assert not conv_input_grad(g, w, x.shape, *self.case[2:])[:, :, 8:].any()


class TestParallel:
    def test_covers_every_item_once(self):
        seen = []
        lock = threading.Lock()

        def body(low, high):
            with lock:
                seen.extend(range(low, high))

        parallel.parallel_for(body, 17)
        assert sorted(seen) == list(range(17))

    def test_errors_reach_the_caller_and_threads_are_given_back(self):
        before = parallel.thread_count()

        def body(low, high):
            raise ValueError(f"{high}")

        with pytest.raises(ValueError, match=r"^\d$"):
            parallel.parallel_for(body, 8)
        assert parallel.thread_count() == before

    def test_result_does_not_depend_on_threads(self, monkeypatch):
        case = ((8, 24, 20, 20), (32, 24, 3, 3), (1, 1), (1, 1), (1, 1), 1)
        x, w, _ = arrays(case, np.float32)
        shared = conv(x, w, *case[2:])
        monkeypatch.setattr(parallel, "_MAX_THREADS", 1)
        np.testing.assert_allclose(conv(x, w, *case[2:]), shared, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(16, 8, 3, 3), (16, 8, 5, 5)])
def test_a_gradient_is_the_same_each_time(dtype, shape, either_way):
    """Threads end in any order; what they made is summed up in the order of its images."""
    draw = np.random.default_rng(0).standard_normal
    x = draw((16, shape[1], 32, 32)).astype(dtype)
    grad = draw((16, shape[0], 32, 32)).astype(dtype)
    border = (shape[2] // 2,) * 2
    before = parallel.thread_limit()
    parallel.set_threads(2)
    try:
        results = {conv_weight_grad(grad, x, shape, (1, 1), border, (1, 1), 1).tobytes() for _ in range(25)}
    finally:
        parallel.set_threads(before)
    assert len(results) == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sizes", [(5, 6), (3, 4, 2)])
def test_kernels_of_one_number_with_channels_last(dtype, sizes):
    """A matrix product in place: results have their channels last as well, and are the same."""
    draw = np.random.default_rng(0).standard_normal
    x, w, g = (draw(s).astype(dtype) for s in ((2, 3, *sizes), (4, 3, *(1,) * len(sizes)), (2, 4, *sizes)))
    ones, zeros, bias = (1,) * len(sizes), (0,) * len(sizes), draw(4).astype(dtype)
    last = [np.moveaxis(np.ascontiguousarray(np.moveaxis(a, 1, -1)), -1, 1) for a in (x, g)]
    y = conv(last[0], w, ones, zeros, ones, 1, bias)
    back = conv_input_grad(last[1], w, x.shape, ones, zeros, ones, 1)
    for found in (y, back):
        assert np.moveaxis(found, 1, -1).flags.c_contiguous
    np.testing.assert_allclose(y, conv(x, w, ones, zeros, ones, 1, bias), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(back, conv_input_grad(g, w, x.shape, ones, zeros, ones, 1), rtol=1e-5, atol=1e-6)
    weights = conv_weight_grad(last[1], last[0], w.shape, ones, zeros, ones, 1)
    np.testing.assert_allclose(
        weights, conv_weight_grad(g, x, w.shape, ones, zeros, ones, 1), rtol=1e-4 if dtype is np.float32 else 1e-9
    )


@pytest.mark.parametrize("images", [1, 2])
def test_one_kernel_for_all_channels_by_expanding_it(images):
    """A copy of an expanded array is not laid out by rows; the kernels that read its memory must not mind."""
    generator = np.random.default_rng(0)
    x = generator.random((images, 8, 16, 20), np.float32)
    for size in (3, 5):
        w = np.broadcast_to(generator.random((size, size), np.float32), (8, 1, size, size))
        for function, more in ((conv, ()), (conv_input_grad, ((images, 8, 15 + size, 19 + size),))):
            found = function(x, w, *more, (1, 1), (0, 0), (1, 1), 8)
            expected = function(x, np.ascontiguousarray(w), *more, (1, 1), (0, 0), (1, 1), 8)
            np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize(("dims", "channels", "size"), [(2, 5, 20), (3, 3, 8)])
def test_gradients_of_weights_are_contiguous(dims, channels, size):
    x = np.ones((2, channels, *[size] * dims), np.float32)
    grad = np.ones((2, 5, *[size - 2] * dims), np.float32)
    found = conv_weight_grad(grad, x, (5, channels, *[3] * dims), (1,) * dims, (0,) * dims, (1,) * dims, 1)
    assert found.shape == (5, channels, *[3] * dims) and found.flags.c_contiguous
