"""vmap of functions whose batching is not just a dimension more: against a loop over the samples, and against torch.

Each is also differentiated for each sample, and vmapped twice.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import penlight

RNG = np.random.default_rng(0)


def real(*shape):
    return RNG.standard_normal(shape)


def whole(high, *shape):
    return RNG.integers(0, high, shape)


def lengths(low, high, *shape):
    return RNG.integers(low, high + 1, shape)


def recurrent(kind, *options):
    def run(t, x, h, *weights):
        if kind == "lstm":
            out, hy, cy = t.lstm(x, (h, h * 0.5), list(weights), True, 1, 0.0, False, False, False)
            return out.sum() + (hy * cy).sum()
        out, hy = getattr(t, kind)(x, h, list(weights), True, 1, 0.0, False, False, False)
        return out.sum() + (hy * hy).sum()

    return run


def weights(gates, batched):
    lead = (3,) if batched else ()
    return [real(*lead, *shape) for shape in ((gates * 3, 4), (gates * 3, 3), (gates * 3,), (gates * 3,))]


MASK = np.array([[True, False, True], [False, True, True]])
F = "nn.functional"
# name: (function of the library and samples, in_dims of the arguments, the arguments)
CASES = {
    "median": (lambda t, x: t.median(x), 0, [np.round(real(3, 2, 4))]),
    "nanmedian": (lambda t, x: t.nanmedian(x), 0, [np.where(real(3, 9) > 1, np.nan, np.round(real(3, 9)))]),
    "median of a number": (lambda t, x: t.median(x), 0, [real(3)]),
    "pdist": (lambda t, x: t.pdist(x), 0, [real(3, 4, 2)]),
    "pdist 1": (lambda t, x: t.pdist(x, 1.0), 0, [real(3, 4, 2)]),
    "block_diag": (lambda t, a, b, c: t.block_diag(a, b, c), (0, None, 0), [real(3, 2, 3), real(1, 2), real(3)]),
    "pinv": (lambda t, x: t.linalg.pinv(x), 0, [real(3, 4, 2)]),
    "pinv of wide ones": (lambda t, x: t.linalg.pinv(x), 0, [real(3, 2, 2, 4)]),
    "pinv with tolerances": (lambda t, x, e: t.linalg.pinv(x, atol=e), (0, 0), [real(3, 3, 3), np.array([0.1, 1.0, 3.0])]),
    "matrix_rank with tolerances": (
        lambda t, x, e: t.linalg.matrix_rank(x, atol=e), (None, 0), [real(2, 3, 3), np.array([0.1, 1.0, 3.0])],
    ),
    "lstsq": (lambda t, a, b: t.linalg.lstsq(a, b).solution, (0, 0), [real(3, 4, 2), real(3, 4, 3)]),
    "lstsq, one matrix": (lambda t, a, b: t.linalg.lstsq(a, b).solution, (None, 0), [real(4, 2), real(3, 4, 1)]),
    "bilinear": (lambda t, x, y, w: t.nn.functional.bilinear(x, y, w), (0, 0, None), [real(3, 2, 4), real(3, 2, 5), real(2, 4, 5)]),
    "bilinear, own weights": (
        lambda t, x, y, w: t.nn.functional.bilinear(x, y, w), (0, None, 0), [real(3, 2, 4), real(2, 5), real(3, 2, 4, 5)],
    ),
    "masked_scatter": (lambda t, x, m, s: x.masked_scatter(m, s), (0, None, 0), [real(3, 2, 3), MASK, real(3, 5)]),
    "masked_scatter, own masks": (
        lambda t, x, m, s: x.masked_scatter(m, s), (0, 0, None), [real(3, 2, 3), real(3, 2, 3) > 0, real(6)],
    ),
    "conv_tbc": (lambda t, x, w, b: t.conv_tbc(x, w, b, 1), (0, None, None), [real(3, 5, 2, 4), real(3, 4, 2), real(2)]),
    "conv_tbc, own weights": (lambda t, x, w, b: t.conv_tbc(x, w, b, 1), (0, 0, 0), [real(3, 5, 2, 4), real(3, 3, 4, 2), real(3, 2)]),
    "ctc": (
        lambda t, x, y: t.nn.functional.ctc_loss(x.log_softmax(-1), y, (6, 5), (2, 3)), (0, 0), [real(3, 6, 2, 4), 1 + whole(3, 3, 2, 3)],
    ),
    "ctc, own lengths": (
        lambda t, x, y, n, m: t.nn.functional.ctc_loss(x.log_softmax(-1), y, n, m), (0, None, 0, 0),
        [real(3, 6, 2, 4), 1 + whole(3, 2, 2), lengths(5, 6, 3, 2), lengths(1, 2, 3, 2)],
    ),
    "multi_margin_loss": (
        lambda t, x, y, w: t.nn.functional.multi_margin_loss(x, y, p=2, weight=w), (0, 0, None), [real(3, 4, 5), whole(5, 3, 4), abs(real(5))],
    ),
    "multi_margin_loss, own weights": (
        lambda t, x, y, w: t.nn.functional.multi_margin_loss(x, y, weight=w, reduction="sum"), (0, None, 0),
        [real(3, 4, 5), whole(5, 4), abs(real(3, 5))],
    ),
    "multilabel_margin_loss": (
        lambda t, x, y: t.nn.functional.multilabel_margin_loss(x, y), (0, 0),
        [real(3, 2, 4), np.array([[[0, 2, -1, 1], [3, -1, 0, 0]], [[1, -1, 2, 3]] * 2, [[-1, 0, 0, 0], [3, 2, 1, 0]]])],
    ),
    "nll_loss, own weights": (
        lambda t, x, y, w: t.nn.functional.nll_loss(x, y, w), (0, 0, 0), [real(3, 4, 5), whole(5, 3, 4), abs(real(3, 5))],
    ),
    "cross_entropy of images, own weights": (
        lambda t, x, y, w: t.nn.functional.cross_entropy(x, y, w, ignore_index=1), (0, None, 0),
        [real(3, 2, 4, 2, 2), whole(4, 2, 2, 2), abs(real(3, 4))],
    ),
    "histc": (lambda t, x: t.histc(x, 4), 0, [real(3, 7)]),
    "histc of given limits": (lambda t, x: t.histc(x, 5, -1.0, 0.5), 0, [real(3, 2, 7)]),
    "histc of one value": (lambda t, x: t.histc(x, 3), 0, [np.ones((3, 4))]),
    "bincount": (lambda t, x: t.bincount(x, minlength=6), 0, [whole(5, 3, 9)]),
    "bincount with weights": (lambda t, x, w: t.bincount(x, w), (None, 0), [np.array([1, 3, 1]), real(3, 3)]),
    "embedding_bag": (lambda t, w, i: t.nn.functional.embedding_bag(i, w), (0, 0), [real(3, 5, 2), whole(5, 3, 2, 4)]),
    "embedding_bag sum": (
        lambda t, w, i, s: t.nn.functional.embedding_bag(i, w, mode="sum", per_sample_weights=s), (None, 0, 0),
        [real(5, 2), whole(5, 3, 2, 4), real(3, 2, 4)],
    ),
    "embedding_bag with offsets": (
        lambda t, w, i, o: t.nn.functional.embedding_bag(i, w, o, padding_idx=1), (0, 0, None), [real(3, 5, 2), whole(5, 3, 7), np.array([0, 3, 3, 5])],
    ),
    "embedding_bag max": (
        lambda t, w, i, o: t.nn.functional.embedding_bag(i, w, o, mode="max"), (0, None, None), [real(3, 5, 2), whole(5, 7), np.array([0, 3, 5])],
    ),
    "embedding_bag frequencies": (
        lambda t, w, i: t.nn.functional.embedding_bag(i, w, mode="sum", scale_grad_by_freq=True), (None, 0), [real(3, 2), whole(3, 3, 2, 4)],
    ),
    "isin": (lambda t, x, y: t.isin(x, y), (0, 0), [whole(6, 3, 2, 4), whole(6, 3, 5)]),
    "isin, other sets": (lambda t, x, y: t.isin(x, y, invert=True), (None, 0), [whole(6, 4), whole(6, 3, 5)]),
    "index_reduce": (
        lambda t, x, i, s: x.index_reduce(1, i, s, "amax"), (0, 0, None), [real(3, 2, 4), whole(4, 3, 3), real(2, 3)],
    ),
    "index_reduce prod": (lambda t, x, i, s: x.index_reduce(0, i, s, "prod"), (0, 0, 0), [real(3, 4, 2), whole(4, 3, 3), real(3, 3, 2)]),
    "repeat_interleave": (
        lambda t, x, n: x.repeat_interleave(n, 0), (0, 0), [real(3, 3, 2), np.array([[1, 2, 0], [3, 0, 0], [1, 1, 1]])],
    ),
    "lanczos": (
        lambda t, x: t.nn.functional.interpolate(x, size=(3, 2), mode="lanczos", antialias=True), 0, [real(3, 1, 2, 4, 5)],
    ),
    "fractional_max_pool2d": (
        lambda t, x, s: t.nn.functional.fractional_max_pool2d(x, 2, output_size=2, _random_samples=s), (0, 0),
        [real(3, 2, 5, 6), RNG.random((3, 1, 2, 2))],
    ),
    "lstm": (recurrent("lstm"), (0, 0, *[None] * 4), [real(3, 5, 2, 4), real(3, 1, 2, 3), *weights(4, False)]),
    "lstm, own weights": (recurrent("lstm"), (0, None, *[0] * 4), [real(3, 5, 2, 4), real(1, 2, 3), *weights(4, True)]),
    "gru": (recurrent("gru"), (0, 0, *[None] * 4), [real(3, 5, 2, 4), real(3, 1, 2, 3), *weights(3, False)]),
    "gru, own weights": (recurrent("gru"), (None, 0, *[0] * 4), [real(5, 2, 4), real(3, 1, 2, 3), *weights(3, True)]),
    "rnn_relu": (recurrent("rnn_relu"), (0, None, *[None] * 4), [real(3, 5, 2, 4), real(1, 2, 3), *weights(1, False)]),
    "rnn_tanh, own weights": (recurrent("rnn_tanh"), (0, 0, *[0] * 4), [real(3, 5, 2, 4), real(3, 1, 2, 3), *weights(1, True)]),
}  # fmt: skip

# What torch's vmap refuses, or gets wrong.
NOT_IN_TORCH = {
    "lstm", "lstm, own weights", "gru", "gru, own weights", "rnn_relu", "rnn_tanh, own weights",
    "pinv with tolerances", "matrix_rank with tolerances", "embedding_bag frequencies", "ctc, own lengths",
}  # fmt: skip
NO_GRADIENT_IN_TORCH = {"conv_tbc", "ctc", "index_reduce prod"}


def dims_of(case):
    dims, arguments = CASES[case][1:]
    return dims if isinstance(dims, tuple) else (dims,) * len(arguments)


def sample(array, dim, i):
    return array if dim is None else np.moveaxis(array, dim, 0)[i]


def tensors(library, arrays):
    return [library.from_numpy(np.array(a, order="C")) for a in arrays]


def places(case):
    if "loss" in case or "cross_entropy" in case or "fractional" in case:
        return (0,)
    return tuple([i for i, a in enumerate(CASES[case][2]) if a.dtype.kind == "f"])


def gradient(library, function, where):
    """The gradients of a weighted sum, for the arguments that have one."""

    def total(*arguments):
        out = function(*arguments)
        return (out * library.arange(1.0, out.numel() + 1, dtype=out.dtype).reshape(out.shape)).sum()

    return library.func.grad(total, where)


def runs(library, case):
    function, _, arguments = CASES[case]
    one = lambda *a: function(library, *a)
    yield one
    out = one(*tensors(library, [sample(a, d, 0) for a, d in zip(arguments, dims_of(case))]))
    if out.dtype.is_floating_point and not case.startswith(("histc", "bincount")):
        yield gradient(library, one, places(case))


def results(found):
    return [np.asarray(r.detach()) for r in (found if isinstance(found, tuple) else (found,))]


def same(found, expected):
    for mine, theirs in zip(results(found), expected, strict=True):
        assert mine.dtype == theirs.dtype and mine.shape == theirs.shape
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-12)


@pytest.fixture
def no_warnings():
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="There is a performance drop")
        yield


@pytest.mark.parametrize("case", CASES)
def test_vmap_is_the_loop(case, no_warnings):
    arguments, dims = CASES[case][2], dims_of(case)
    for run in runs(penlight, case):
        rows = [results(run(*tensors(penlight, [sample(a, d, i) for a, d in zip(arguments, dims)]))) for i in range(3)]
        expected = [np.stack(column) for column in zip(*rows)]
        same(penlight.vmap(run, dims)(*tensors(penlight, arguments)), expected)


@pytest.mark.parametrize("case", CASES)
def test_vmap_of_vmap(case, no_warnings):
    """Each argument is mapped twice: by the inner vmap as it says, by the outer one if it is the first that can be."""
    arguments, dims = CASES[case][2], dims_of(case)
    outer = tuple([0 if d is not None else None for d in dims])
    inner = tuple([None if d is None else d for d in dims])
    twice = [a if d is None else np.stack([a, a[::-1] if d else a]) for a, d in zip(arguments, dims)]
    for run in runs(penlight, case):
        found = penlight.vmap(penlight.vmap(run, inner), outer)(*tensors(penlight, twice))
        rows = [
            results(penlight.vmap(run, inner)(*tensors(penlight, [sample(a, o, i) for a, o in zip(twice, outer)])))
            for i in range(2)
        ]
        same(found, [np.stack(column) for column in zip(*rows)])


@pytest.mark.parity
@pytest.mark.parametrize("case", sorted(set(CASES) - NOT_IN_TORCH))
def test_as_in_torch(case):
    torch = pytest.importorskip("torch")
    arguments, dims = CASES[case][2], dims_of(case)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for mine, theirs in list(zip(runs(penlight, case), runs(torch, case)))[
            : 1 if case in NO_GRADIENT_IN_TORCH else 2
        ]:
            expected = results(torch.vmap(theirs, dims)(*tensors(torch, arguments)))
            same(penlight.vmap(mine, dims)(*tensors(penlight, arguments)), expected)


# ----- Windows of memory ----------------------------------------------------------------------------------------------


def window(x):
    """Where a sample is (2, 4) and its rows are 12 elements apart: its transpose, without the last row."""
    return x.as_strided((3, 2), (1, 12), x.storage_offset())


def test_as_strided_of_samples_that_lie_among_each_other():
    x = penlight.arange(24.0).reshape(2, 3, 4)
    assert penlight.vmap(window, in_dims=1)(x).tolist() == x.permute(1, 2, 0)[:, :3].tolist()
    weights = penlight.arange(6.0).reshape(3, 2)
    found = penlight.vmap(penlight.func.grad(lambda s: (window(s) * weights).sum()), in_dims=1)(x)
    assert found.tolist() == [[[0, 2, 4, 0], [1, 3, 5, 0]]] * 3


@pytest.mark.parity
def test_as_strided_as_in_torch():
    torch = pytest.importorskip("torch")
    data = real(2, 3, 4)
    mine, theirs = penlight.from_numpy(data), torch.from_numpy(data)
    for dim, size, stride, offset in (
        (0, (2, 2), (1, 2), 1),
        (1, (2, 4), (12, 1), 0),
        (2, (2, 3), (12, 4), 0),
        (0, (0,), (1,), 99),
    ):

        def run(x, size=size, stride=stride, offset=offset):
            return x.as_strided(size, stride, offset)

        expected = torch.vmap(run, dim)(theirs)
        found = penlight.vmap(run, dim)(mine)
        assert not found.numel() or found.stride() == expected.stride()
        assert found.tolist() == expected.tolist()
        same(
            penlight.vmap(penlight.func.grad(lambda x: (run(x) ** 2).sum()), dim)(mine),
            results(torch.vmap(torch.func.grad(lambda x: (run(x) ** 2).sum()), dim)(theirs)),
        )


# ----- Refused ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "function, words",
    [
        (lambda x: x[1:].as_strided((2, 2), (1, 2), 0), r"range \[0, 4\], but `tensor` can only access some memory in range \[4, 12\]"),
        (lambda x: x.as_strided((2, 2), (1, 20)), r"please try to rewrite the `as_strided` call as a sequence of PyTorch view"),
        (lambda x: penlight.vmap(lambda y: y.as_strided((2, 2), (1, 2)), in_dims=0)(x.t()), "elements of other samples"),
        (lambda x: x.masked_select(x > 0), "Attempted to vmap over `mask` in torch.masked_select"),
        (lambda x: x.is_contiguous(memory_format=penlight.channels_last), "NYI: querying is_contiguous inside of vmap"),
        (lambda x: penlight.bincount(x[0].long()), "can output dynamic shape. Attempted to vmap over aten::bincount"),
        (lambda x: x[0].repeat_interleave(x[0].long()), "Attempted to vmap over aten::repeat_interleave"),
        (lambda x: x.masked_scatter(x > 0, penlight.ones(2)), "Number of elements of source < number of ones in mask"),
        (lambda x: penlight.histc(x * float("inf"), 3), "is not finite"),
        (lambda x: penlight.histc(x, 0), "bins must be > 0"),
        (lambda x: penlight.as_strided_scatter(x, penlight.ones(2), (2,), (12,)), "reaches beyond the 12 elements"),
    ],
)  # fmt: skip
def test_refused(function, words):
    x = penlight.arange(24.0).reshape(2, 3, 4)
    with pytest.raises(RuntimeError, match=words):
        penlight.vmap(function)(x)
