"""Row kernels against torch: scatter, softmax, norms, activations, losses, sorting, reductions."""

from __future__ import annotations

import numpy as np
import pytest

import penlight
from penlight.kernels import loss, norm, reduce, scan, softmax, sorting
from penlight.kernels.elementwise import activation, gated
from penlight.kernels.index import scatter
from penlight.kernels.norm import in_numpy

torch = pytest.importorskip("torch")
F = torch.nn.functional
pytestmark = [
    pytest.mark.parity,
    pytest.mark.filterwarnings(
        "ignore:.*degrees of freedom", "ignore:.*beta and the API", "ignore:reduction. .mean. divides"
    ),
]

rng = np.random.default_rng(0)
INF, NAN = float("inf"), float("nan")
TOLERANCE = {np.float32: {"rtol": 3e-6, "atol": 3e-6}, np.float64: {"rtol": 1e-10, "atol": 1e-12}}


def rms_norm(x, dims, weight, eps):
    return norm.layer_norm(x, dims, weight, None, eps, False)[::2]


def rms_norm_backward(grad, x, dims, rstd, weight, needs):
    return norm.layer_norm_backward(grad, x, dims, None, rstd, weight, (*needs, False))[:2]


def tensor(x, grad=False):
    return None if x is None else torch.tensor(np.array(x)).requires_grad_(grad)


def check(ours, theirs, dtype=np.float64, **tolerance):
    theirs = theirs.detach().numpy()
    assert ours.shape == theirs.shape
    assert ours.dtype == theirs.dtype
    np.testing.assert_allclose(ours, theirs, **(TOLERANCE[dtype] | tolerance))


def check_grads(ours, output, inputs, grad):
    """`ours` against the gradients of `output`, for those inputs that are not None."""
    wanted = [x for x in inputs if x is not None]
    theirs = torch.autograd.grad(output, wanted, tensor(grad))
    for mine, his in zip([g for g, x in zip(ours, inputs, strict=True) if x is not None], theirs, strict=True):
        check(mine, his)


# ---------------------------------------------------------------- scatter


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_scatter_family(dim):
    base = rng.standard_normal((4, 5, 6))
    shape = [3, 4, 5]
    index = rng.integers(0, base.shape[dim], shape)
    source = rng.standard_normal((4, 5, 6))
    t_base, t_index, t_source = tensor(base), tensor(index), tensor(source)
    check(scatter.scatter_add(base, dim, index, source), t_base.scatter_add(dim, t_index, t_source))
    for how in ("sum", "prod", "mean", "amax", "amin"):
        for include in (True, False):
            check(
                scatter.scatter_reduce(base, dim, index, source, how, include),
                t_base.scatter_reduce(dim, t_index, t_source, how, include_self=include),
            )
    vector = rng.integers(0, base.shape[dim], base.shape[dim])
    t_vector = tensor(vector)
    check(scatter.index_add(base, dim, vector, source, 2.5), t_base.index_add(dim, t_vector, t_source, alpha=2.5))
    for how in ("prod", "mean", "amax", "amin"):
        check(
            scatter.index_reduce(base, dim, vector, source, how, False),
            t_base.index_reduce(dim, t_vector, t_source, how, include_self=False),
        )


@pytest.mark.parametrize(
    "indices",
    [
        (np.array([0, 2, 2, -1]),),
        (slice(None), np.array([1, 1, 0])),
        (np.array([1, 0, 1]), slice(None, None, 2), np.array([3, 3, 3])),
        (1, slice(None), np.array([3, 3])),
        (np.array([1, 1]), 0, np.array([2, 2])),
        (slice(0, 2), 1, np.array([[0], [1]])),
        (None, np.array([1, 1]), slice(1, 3)),
        (rng.random((3, 4)) < 0.5,),
        (Ellipsis, np.array([1, 1, 1])),
    ],
    ids=range(9),
)
def test_index_put_add(indices):
    """The gradient of indexing is index_put_add into zeros."""
    x = tensor(rng.standard_normal((3, 4, 5)), grad=True)
    y = x[tuple(tensor(i) if isinstance(i, np.ndarray) else i for i in indices)]
    grad = rng.standard_normal(tuple(y.shape))
    check(scatter.index_put_add((3, 4, 5), indices, grad), torch.autograd.grad(y, x, tensor(grad))[0])


def test_embedding_backward():
    grad, indices = rng.standard_normal((3, 50, 6)), rng.integers(0, 20, (3, 50))
    for padding in (-1, 3):
        for scale in (False, True):
            check(
                scatter.embedding_backward(grad, indices, 20, padding, scale),
                torch.ops.aten.embedding_dense_backward(tensor(grad), tensor(indices), 20, padding, scale),
            )


# ---------------------------------------------------------------- softmax


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("shape", "dim"), [((64, 10), 1), ((300, 500), 1), ((6, 5, 4), 1), ((6, 5, 4), 0), ((), 0)])
def test_softmax_family(shape, dim, dtype):
    x, grad = (np.asarray(rng.standard_normal(shape) * 3).astype(dtype) for _ in range(2))
    for ours, backward, theirs in (
        (softmax.softmax, softmax.softmax_backward, torch.softmax),
        (softmax.log_softmax, softmax.log_softmax_backward, torch.log_softmax),
    ):
        t_x = tensor(x, grad=True)
        y = theirs(t_x, dim)
        check(ours(x, dim), y, dtype)
        dx = torch.autograd.grad(y, t_x, tensor(grad))[0]
        check(backward(grad, y.detach().numpy(), dim), dx, dtype, atol=1e-5 if dtype == np.float32 else 1e-12)
    check(softmax.logsumexp(x, (dim,), False), torch.logsumexp(tensor(x), dim), dtype)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("shape", [(7, 5), (900, 200)])
def test_cross_entropy(shape, reduction, weighted, smoothing):
    x, target = rng.standard_normal(shape) * 4, rng.integers(0, shape[1], shape[0])
    target[::5] = -100
    weight = rng.random(shape[1]) if weighted else None
    t_x = tensor(x, grad=True)
    theirs = F.cross_entropy(t_x, tensor(target), tensor(weight), reduction=reduction, label_smoothing=smoothing)
    ours, saved = softmax.nll_from_logits(x, target, weight, -100, reduction, smoothing)
    check(ours, theirs)
    grad = np.asarray(rng.standard_normal(ours.shape))
    check_grads([softmax.nll_from_logits_backward(grad, saved)], theirs, [t_x], grad)


# ---------------------------------------------------------------- norms


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize(("shape", "dims"), [((7, 5), 1), ((3, 4, 6), 2), ((700, 300), 1)])
def test_layer_and_rms_norm(shape, dims, affine):
    tail = shape[len(shape) - dims :]
    x, grad = rng.standard_normal(shape) * 3 + 5, rng.standard_normal(shape)
    weight, bias = (rng.standard_normal(tail), rng.standard_normal(tail)) if affine else (None, None)
    inputs = [
        tensor(x, True),
        weight if weight is None else tensor(weight, True),
        bias if bias is None else tensor(bias, True),
    ]
    theirs, t_mean, t_rstd = torch.native_layer_norm(inputs[0], tail, *inputs[1:], 1e-5)
    ours, mean, rstd = norm.layer_norm(x, dims, weight, bias, 1e-5)
    check(ours, theirs)
    check(mean, t_mean)
    check(rstd, t_rstd)
    needs = (True, affine, affine)
    check_grads(norm.layer_norm_backward(grad, x, dims, mean, rstd, weight, needs), theirs, inputs, grad)
    theirs = F.rms_norm(inputs[0], tail, inputs[1], 1e-6)
    ours, rstd = rms_norm(x, dims, weight, 1e-6)
    check(ours, theirs)
    check_grads(rms_norm_backward(grad, x, dims, rstd, weight, needs[:2]), theirs, inputs[:2], grad)


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("shape", [(7, 6), (3, 6, 2, 2), (60, 6, 20, 20)])
def test_batch_and_group_norm(shape, affine):
    x, grad = rng.standard_normal(shape) * 3 + 5, rng.standard_normal(shape)
    weight, bias = (rng.standard_normal(6), rng.standard_normal(6)) if affine else (None, None)
    inputs = [
        tensor(x, True),
        weight if weight is None else tensor(weight, True),
        bias if bias is None else tensor(bias, True),
    ]
    running_mean, running_var = torch.zeros(6).double(), torch.ones(6).double()
    theirs = F.batch_norm(inputs[0], running_mean, running_var, *inputs[1:], True, 1.0, 1e-5)
    ours, mean, rstd, var = in_numpy.batch_norm(x, weight, bias, 1e-5)
    check(ours, theirs)
    check(mean, running_mean)
    check(var * (x.size / 6) / (x.size / 6 - 1), running_var)
    needs = (True, affine, affine)
    check_grads(in_numpy.batch_norm_backward(grad, x, mean, rstd, weight, True, needs), theirs, inputs, grad)
    mean, var = rng.standard_normal(6), rng.random(6)
    theirs = F.batch_norm(inputs[0], tensor(mean), tensor(var), *inputs[1:], False, 1.0, 1e-5)
    ours, rstd = in_numpy.batch_norm_eval(x, mean, var, weight, bias, 1e-5), 1 / np.sqrt(var + 1e-5)
    check(ours, theirs)
    check_grads(in_numpy.batch_norm_backward(grad, x, mean, rstd, weight, False, needs), theirs, inputs, grad)
    for groups in (1, 2, 3):
        theirs = F.group_norm(inputs[0], groups, *inputs[1:], 1e-5)
        ours, mean, rstd = in_numpy.group_norm(x, groups, weight, bias, 1e-5)
        check(ours, theirs)
        check_grads(in_numpy.group_norm_backward(grad, x, groups, mean, rstd, weight, needs), theirs, inputs, grad)


# ---------------------------------------------------------------- activations

SELU = (1.6732632423543772, 1.0507009873554805)
A = activation
ACTIVATIONS = {
    "relu": (F.relu, A.relu, lambda g, x: A.threshold_backward(g, A.relu(x), 0)),
    "threshold": (
        lambda x: F.threshold(x, 0.5, 9.0),
        lambda x: A.threshold(x, 0.5, 9.0),
        lambda g, x: A.threshold_backward(g, x, 0.5),
    ),
    "silu": (F.silu, A.silu, A.silu_backward),
    "gelu": (F.gelu, A.gelu, A.gelu_backward),
    "gelu_tanh": (
        lambda x: F.gelu(x, approximate="tanh"),
        lambda x: A.gelu(x, "tanh"),
        lambda g, x: A.gelu_backward(g, x, "tanh"),
    ),
    "elu": (lambda x: F.elu(x, 2.0), lambda x: A.elu(x, 2.0), lambda g, x: A.elu_backward(g, x, 2.0)),
    "selu": (F.selu, lambda x: A.elu(x, *SELU), lambda g, x: A.elu_backward(g, x, *SELU)),
    "celu": (lambda x: F.celu(x, 2.0), lambda x: A.elu(x, 2.0, 1, 0.5), lambda g, x: A.elu_backward(g, x, 2.0, 1, 0.5)),
    "softplus": (
        lambda x: F.softplus(x, 2, 3),
        lambda x: A.softplus(x, 2, 3),
        lambda g, x: A.softplus_backward(g, x, 2, 3),
    ),
    "logsigmoid": (F.logsigmoid, A.logsigmoid, A.logsigmoid_backward),
    "mish": (F.mish, A.mish, A.mish_backward),
    "hardtanh": (F.hardtanh, A.hardtanh, A.hardtanh_backward),
    "hardsigmoid": (F.hardsigmoid, A.hardsigmoid, A.hardsigmoid_backward),
    "hardswish": (F.hardswish, A.hardswish, A.hardswish_backward),
    "leaky_relu": (
        lambda x: F.leaky_relu(x, 0.1),
        lambda x: A.leaky_relu(x, 0.1),
        lambda g, x: A.leaky_relu_backward(g, x, 0.1),
    ),
    "softshrink": (F.softshrink, A.softshrink, A.shrink_backward),
    "hardshrink": (F.hardshrink, A.hardshrink, A.shrink_backward),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activation(name, dtype):
    theirs, ours, backward = ACTIVATIONS[name]
    kinks = [-200, -30, -3, -1, -0.5, -1e-4, 0, 1e-4, 0.5, 1, 1.5, 3, 6, 20, 21, 22, 23, 100]
    x = np.concatenate((kinks, rng.standard_normal(2000) * 4)).astype(dtype)
    grad = rng.standard_normal(x.size).astype(dtype)
    t_x = tensor(x, grad=True)
    y = theirs(t_x)
    check(ours(x), y, dtype)
    # PyTorch divides by 6 in float32 even for float64 here.
    tolerance = {"rtol": 1e-7} if name == "hardsigmoid" and dtype == np.float64 else {}
    check(backward(grad, x), torch.autograd.grad(y, t_x, tensor(grad))[0], dtype, **tolerance)


def test_prelu_and_glu():
    x, weight, grad = rng.standard_normal((4, 6, 5)), rng.standard_normal(6), rng.standard_normal((4, 6, 5))
    t_x, t_weight = tensor(x, True), tensor(weight, True)
    theirs = F.prelu(t_x, t_weight)
    check(gated.prelu(x, weight), theirs)
    check_grads(gated.prelu_backward(grad, x, weight), theirs, [t_x, t_weight], grad)
    theirs = F.glu(t_x, 1)
    check(gated.glu(x, 1), theirs)
    check_grads([gated.glu_backward(grad[:, :3], x, 1)], theirs, [t_x], grad[:, :3])


# ---------------------------------------------------------------- losses

WEIGHT, POS = rng.random(6), rng.random(6) * 3
T_WEIGHT, T_POS = tensor(WEIGHT), tensor(POS)
LOSSES = {
    "huber": (
        lambda *a: loss.huber_loss(*a, 0.7),
        lambda *a: loss.huber_loss_backward(*a, 0.7),
        lambda x, t, r: F.huber_loss(x, t, reduction=r, delta=0.7),
    ),
    "smooth_l1": (
        lambda *a: loss.smooth_l1_loss(*a, 0.7),
        lambda *a: loss.smooth_l1_loss_backward(*a, 0.7),
        lambda x, t, r: F.smooth_l1_loss(x, t, reduction=r, beta=0.7),
    ),
    "bce_with_logits": (
        lambda x, t, r: loss.bce_with_logits(x, t, WEIGHT, POS, r),
        lambda g, x, t, r: loss.bce_with_logits_backward(g, x, t, WEIGHT, POS, r),
        lambda x, t, r: F.binary_cross_entropy_with_logits(x, t, T_WEIGHT, pos_weight=T_POS, reduction=r),
    ),
    "bce": (
        lambda x, t, r: loss.bce(x, t, WEIGHT, r),
        lambda g, x, t, r: loss.bce_backward(g, x, t, WEIGHT, r),
        lambda x, t, r: F.binary_cross_entropy(x, t, T_WEIGHT, reduction=r),
    ),
}


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("name", LOSSES)
def test_loss(name, reduction):
    ours, backward, theirs = LOSSES[name]
    x, target = rng.random((5, 4, 6)), rng.random((5, 4, 6))
    t_x = tensor(x, grad=True)
    y = theirs(t_x, tensor(target), reduction)
    check(ours(x, target, reduction), y)
    grad = np.asarray(rng.standard_normal(tuple(y.shape)))
    check_grads([backward(grad, x, target, reduction)], y, [t_x], grad)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_nll(reduction):
    for shape in ((5, 4), (2, 4, 3), (2, 4, 3, 2)):
        x = rng.standard_normal(shape)
        classes = rng.integers(0, 4, shape[:1] + shape[2:])
        classes.flat[0] = -100
        for weight in (None, rng.random(4)):
            t_x = tensor(x, grad=True)
            theirs = F.nll_loss(t_x, tensor(classes), tensor(weight), reduction=reduction)
            check(loss.nll_loss(x, classes, weight, -100, reduction)[0], theirs)
            grad = np.asarray(rng.standard_normal(tuple(theirs.shape)))
            check_grads([loss.nll_loss_backward(grad, x, classes, weight, -100, reduction)], theirs, [t_x], grad)


# ---------------------------------------------------------------- sorting


def same(ours, theirs):
    np.testing.assert_array_equal(ours, theirs.numpy())
    assert ours.shape == tuple(theirs.shape)


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i8", "i4", "u1"])
@pytest.mark.parametrize("shape", [(9,), (5, 6), (60, 70)])
@pytest.mark.parametrize("kind", ["ties", "nan", "plain"])
def test_sorting(shape, dtype, kind):
    x = (
        rng.integers(0, 9, shape).astype(dtype)
        if kind == "ties" or dtype[0] != "f"
        else rng.standard_normal(shape).astype(dtype)
    )
    if kind == "nan" and dtype[0] == "f":
        x[rng.random(shape) < 0.2] = NAN
    t_x = tensor(x)
    for dim in range(len(shape)):
        for descending in (False, True):
            for ours, theirs in zip(
                sorting.sort(x, dim, descending), t_x.sort(dim=dim, descending=descending, stable=True), strict=True
            ):
                same(ours, theirs)
        for k in (1, shape[dim] // 2, shape[dim]):
            same(sorting.topk(x, k, dim)[0], t_x.topk(k, dim)[0])
            same(sorting.topk(x, k, dim, False)[0], t_x.topk(k, dim, largest=False)[0])
            same(sorting.kthvalue(x, k, dim)[0], t_x.kthvalue(k, dim)[0])
        same(sorting.median(x, dim)[0], t_x.median(dim)[0])
        same(sorting.nanmedian(x, dim, True)[0], t_x.nanmedian(dim, keepdim=True)[0])
        if kind != "nan":
            same(sorting.mode(x, dim)[0], t_x.mode(dim)[0])
            for ours, theirs in zip(
                sorting.unique_dim(x, dim, True, True), torch.unique(t_x, True, True, True, dim), strict=True
            ):
                same(ours, theirs)
        for ours, theirs in zip(
            sorting.unique_consecutive(x, dim, True, True), torch.unique_consecutive(t_x, True, True, dim), strict=True
        ):
            same(ours, theirs)
    if kind != "nan":
        for ours, theirs in zip(sorting.unique(x, True, True), torch.unique(t_x, True, True, True), strict=True):
            same(ours, theirs)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_searching_and_histograms(dtype):
    for rows in (3, 40):
        sequence = np.sort(rng.integers(0, 20, (rows, 13)).astype(dtype), -1)
        values = rng.integers(-1, 22, (rows, 9)).astype(dtype)
        for right in (False, True):
            theirs = torch.searchsorted(tensor(sequence), tensor(values), right=right)
            same(sorting.searchsorted(sequence, values, right), theirs)
            same(
                sorting.searchsorted(sequence[0], values, right),
                torch.bucketize(tensor(values), tensor(sequence[0]), right=right),
            )
    for x in (rng.standard_normal(1000).astype(dtype), (rng.integers(-20, 20, 1000) / 8).astype(dtype)):
        for bins, low, high in ((10, 0, 0), (7, -1, 1), (100, 0, 1), (13, -2.5, 2.7)):
            same(sorting.histc(x, bins, low, high), torch.histc(tensor(x), bins, low, high))
    counted = rng.integers(0, 9, 100)
    same(sorting.bincount(counted, None, 12), torch.bincount(tensor(counted), minlength=12))
    weights = rng.integers(0, 9, 100).astype(dtype)
    same(sorting.bincount(counted, weights), torch.bincount(tensor(counted), tensor(weights)))


# ---------------------------------------------------------------- reductions


@pytest.mark.parametrize("dim", [0, 1])
def test_running_reductions(dim):
    for x in (rng.integers(0, 5, (7, 8)).astype("f8"), rng.standard_normal((7, 8)), rng.integers(0, 5, (7, 8))):
        if x.dtype.kind == "f":
            x[3, 4] = NAN
        for ours, theirs in ((scan.cummax, torch.cummax), (scan.cummin, torch.cummin)):
            for mine, his in zip(ours(x, dim), theirs(tensor(x), dim), strict=True):
                same(mine, his)
    x, grad = rng.standard_normal((7, 8)) * 30, rng.standard_normal((7, 8))
    t_x = tensor(x, grad=True)
    theirs = torch.logcumsumexp(t_x, dim)
    check(scan.logcumsumexp(x, dim), theirs)
    check_grads([scan.logcumsumexp_backward(grad, x, theirs.detach().numpy(), dim)], theirs, [t_x], grad)


@pytest.mark.parametrize("zeros", [0, 1, 3])
@pytest.mark.parametrize("kind", ["real", "complex"])
def test_products(zeros, kind):
    x, grad = rng.standard_normal((6, 8)), rng.standard_normal((6, 8))
    if kind == "complex":
        x, grad = x + 1j * rng.standard_normal(x.shape), grad + 1j * rng.standard_normal(x.shape)
    for row in x[::2]:
        row[rng.choice(8, zeros, replace=False)] = 0
    t_x = tensor(x, grad=True)
    for dim in (0, 1):
        theirs = torch.cumprod(t_x, dim)
        check_grads([scan.cumprod_backward(grad, x, theirs.detach().numpy(), dim)], theirs, [t_x], grad)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
@pytest.mark.parametrize("dims", [(0,), (1,), (0, 2), (1, 2), (0, 1, 2)])
def test_variance_and_sums(dims, dtype):
    x = (rng.standard_normal((5, 6, 7)) + 10).astype(dtype)
    if dtype == np.complex128:
        x = x + 1j * rng.standard_normal(x.shape)
    kind = np.float32 if dtype == np.float32 else np.float64
    for correction in (0, 1, 2.5, 400):
        ours = reduce.var_mean(x, dims, correction, True)
        theirs = torch.var_mean(tensor(x), dims, correction=correction, keepdim=True)
        for mine, his in zip(ours, theirs, strict=True):
            check(mine, his, kind)
    check(reduce.reduce_sum(x, dims), tensor(x).sum(dims), kind)
    if dtype != np.complex128:
        x[1, 2] = NAN
        check(reduce.nansum(x, dims), torch.nansum(tensor(x), dims), kind)


@pytest.mark.parametrize("p", [0, 1, 1.5, 2, 3, 0.5, -1, -0.5, -2, INF, -INF])
@pytest.mark.parametrize("kind", ["real", "complex", "zeros"])
def test_norm(p, kind):
    x = rng.integers(-3, 4, (5, 6, 4)).astype("f8")
    if kind == "complex":
        x = x + 1j * rng.integers(-3, 4, x.shape)
    if kind == "zeros":
        x[:2] = 0
    for dims in ((2,), (0, 1), (0, 1, 2)):
        ours = penlight.linalg.vector_norm(penlight.from_numpy(x), p, dims).numpy()
        check(ours, torch.linalg.vector_norm(tensor(x), p, dims))


@pytest.mark.parametrize("interpolation", ["linear", "lower", "higher", "midpoint", "nearest"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_quantile(interpolation, dtype):
    x = rng.standard_normal((5, 6, 7)).astype(dtype)
    some = np.array([0, 0.1, 0.25, 0.5, 0.6, 0.875, 1]).astype(dtype)
    with_nan = x.copy()
    with_nan[rng.random(x.shape) < 0.1] = NAN
    for q in (some, np.asarray(some[2])):
        for dim in (0, 1, 2):
            for values in (x, with_nan):
                theirs = torch.quantile(tensor(values), tensor(q), dim, interpolation=interpolation)
                ours = reduce.quantiles(values, q, dim, interpolation, False)
                check(np.moveaxis(ours, -1, 0) if q.ndim else ours, theirs, dtype)
