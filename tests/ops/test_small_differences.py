"""Small things that programs see: errors before memory is asked for, factors that are no plain numbers, what nodes and hooks show."""

from __future__ import annotations

import math
from collections import OrderedDict

import pytest

import penlight

OVERFLOW, STORAGE = "numel: integer multiplication overflow", "Storage size calculation overflowed with sizes="
INT = "value cannot be converted to type int without overflow"

# What is called with torch, and the words of the RuntimeError that it raises.
REFUSED = {
    "expand": (lambda torch: torch.ones(1).expand(2**40, 2**40), OVERFLOW),
    "broadcast_to": (lambda torch: torch.broadcast_to(torch.ones(1, 1), (2**62, 2**62)), OVERFLOW),
    "repeat": (lambda torch: torch.ones(2).repeat(2**40, 2**40), STORAGE + "[1099511627776, 2199023255552]"),
    "eye": (lambda torch: torch.eye(2**40), OVERFLOW),
    "arange": (lambda torch: torch.arange(2**62), STORAGE + "[4611686018427387904]"),
    "linspace": (lambda torch: torch.linspace(0, 1, 2**62), STORAGE + "[4611686018427387904]"),
    "logspace": (lambda torch: torch.logspace(0, 1, 2**62), STORAGE + "[4611686018427387904]"),
    "randperm": (lambda torch: torch.randperm(2**62), STORAGE + "[4611686018427387904]"),
    "empty_strided": (lambda torch: torch.empty_strided((2,), (2**62,)), STORAGE + "[2] and strides=[4611686018427387904]"),
    "adaptive_avg_pool2d": (lambda torch: torch.nn.functional.adaptive_avg_pool2d(torch.ones(1, 1, 4, 4), 2**40), OVERFLOW),
    "adaptive_avg_pool3d": (lambda torch: torch.nn.functional.adaptive_avg_pool3d(torch.ones(1, 1, 4, 4, 4), 2**30), OVERFLOW),
    "adaptive_max_pool1d": (lambda torch: torch.nn.functional.adaptive_max_pool1d(torch.ones(1, 1, 4), 2**62), STORAGE + "[1, 1, 1, 4611686018427387904]"),
    "adaptive_max_pool2d": (lambda torch: torch.nn.functional.adaptive_max_pool2d(torch.ones(1, 1, 4, 4), 2**62), STORAGE),
    "interpolate": (lambda torch: torch.nn.functional.interpolate(torch.ones(1, 1, 4, 4), size=(2**40, 2**40)), STORAGE),
    "interpolate by a factor": (lambda torch: torch.nn.functional.interpolate(torch.ones(1, 1, 4), scale_factor=1e30), "type int64_t without overflow"),
    "avg_pool1d": (lambda torch: torch.nn.functional.avg_pool1d(torch.ones(1, 1, 4), 2, padding=2**62), INT),
    "avg_pool2d": (lambda torch: torch.nn.functional.avg_pool2d(torch.ones(1, 1, 4, 4), 2**31), INT),
    "max_pool2d": (lambda torch: torch.nn.functional.max_pool2d(torch.ones(1, 1, 4, 4), 2, dilation=2**62), INT),
    "max_pool3d": (lambda torch: torch.nn.functional.max_pool3d(torch.ones(1, 1, 4, 4, 4), 2**40), INT),
    "embedding_bag": (lambda torch: torch.nn.functional.embedding_bag(torch.tensor([[1, 9]]), torch.ones(4, 3), mode="max"),
                      "embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be 9"),
    "view as wider elements of a number": (lambda torch: torch.ones(()).view(torch.int64), "self.dim() cannot be 0 to view Float as Long (different element sizes)"),
    "view as narrower elements of a number": (lambda torch: torch.ones(()).view(torch.uint8), "self.dim() cannot be 0 to view Float as Byte"),
    "view of a transpose": (lambda torch: torch.ones(4, 8).t().view(torch.int64), "self.stride(-1) must be 1 to view Float as Long (different element sizes), but got 8"),
    "view of an expansion": (lambda torch: torch.ones(4, 1).expand(4, 4).view(torch.int16), "self.stride(-1) must be 1 to view Float as Short (different element sizes), but got 0"),
    "view from an odd offset": (lambda torch: torch.ones(9)[1:].view(torch.int64), "self.storage_offset() must be divisible by 2 to view Float as Long (different element sizes), but got 1"),
    "view of odd strides": (lambda torch: torch.ones(12).as_strided((2, 4), (3, 1)).view(torch.int64), "self.stride(0) must be divisible by 2 to view Float as Long (different element sizes), but got 3"),
    "view of a negative": (lambda torch: torch.ones(2, dtype=torch.complex64).conj().imag.view(torch.int32), "not supported for tensors with negative bit set when converting"),
    "complex view of a number": (lambda torch: torch.view_as_complex(torch.ones(())), "Input tensor must have one or more dimensions"),
    "shapes that are none": (lambda torch: torch.broadcast_shapes(1.0, (2,)), "Input shapes should be of type ints, a tuple of ints, or a list of ints, got 1.0"),
    "bool alpha": (lambda torch: torch.add(torch.ones(2), torch.ones(2), alpha=True), "Boolean alpha only supported for Boolean results."),
    "bool tensor as alpha": (lambda torch: torch.ones(2).sub_(torch.ones(2), alpha=torch.tensor(True)), "Boolean alpha only supported for Boolean results."),
    "bool alpha of rsub": (lambda torch: torch.rsub(torch.ones(2), torch.ones(2), alpha=True), "Boolean alpha only supported for Boolean results."),
    "complex alpha": (lambda torch: torch.add(torch.ones(2), torch.ones(2), alpha=1j), "For non-complex input tensors, argument alpha must not be a complex number."),
    "complex tensor as alpha": (lambda torch: torch.ones(2).add(torch.ones(2), alpha=torch.tensor(1j)), "For non-complex input tensors, argument alpha must not be"),
    "complex alpha of integers": (lambda torch: torch.ones(2, dtype=torch.long).add(1, alpha=1j), "For integral input tensors, argument alpha must not be a floating point number."),
    "complex alpha of addmm": (lambda torch: torch.addmm(torch.ones(2, 2), torch.ones(2, 2), torch.ones(2, 2), alpha=torch.tensor(1j)), "type float without overflow"),
    "complex alpha of index_add": (lambda torch: torch.ones(2).index_add(0, torch.tensor([0]), torch.ones(1), alpha=torch.tensor(1j)), "type float without overflow"),
    "index_select of nothing": (lambda torch: torch.ones(3, 0).index_select(0, torch.tensor([5])), "INDICES element is out of DATA bounds, id=5 axis_dim=3"),
    "embedding of nothing": (lambda torch: torch.nn.functional.embedding(torch.tensor([0]), torch.ones(0, 3)), "self indexing axis dim should be positive"),
    "embedding without columns": (lambda torch: torch.nn.functional.embedding(torch.tensor([3]), torch.ones(2, 0)), "INDICES element is out of DATA bounds, id=3 axis_dim=2"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case):
    function, words = REFUSED[case]
    with pytest.raises(RuntimeError) as error:
        function(penlight)
    assert words in str(error.value)


@pytest.mark.parity
@pytest.mark.parametrize("case", REFUSED)
def test_refused_in_pytorchs_words(case):
    torch = pytest.importorskip("torch")
    function, words = REFUSED[case]
    with pytest.raises(RuntimeError) as error:
        function(torch)
    assert words in str(error.value)


def functional_error(torch, leaf):
    """The name of the node that refuses a second derivative."""
    zeros, at = torch.zeros(2, requires_grad=True), torch.tensor([0, 0])
    out = torch.scatter_reduce(torch.ones(1), 0, at, zeros, "prod")
    return torch.autograd.grad(out.sum() * leaf, zeros, create_graph=True)[0].grad_fn.name()


def seen(torch):
    """What a program sees of factors, nodes and hooks."""
    F, x = torch.nn.functional, torch.ones(2, 3, requires_grad=True)
    yield [round(f(torch.tensor(-1.0), torch.tensor(2)).item(), 4) for f in (F.elu, F.celu)]
    yield torch.ones(2, dtype=torch.bool).add(torch.ones(2, dtype=torch.bool), alpha=True).tolist()
    for out in (
        x.std(),
        x.std(1),
        x.var(unbiased=False),
        x.var((0, 1), correction=2),
        *torch.std_mean(x),
        torch.var_mean(x, 0)[0],
    ):
        yield type(out.grad_fn).__name__, out.grad_fn._saved_dim, out.grad_fn._saved_correction
    yield (
        torch.std_mean(x)[0].grad_fn._saved_result0.item(),
        hasattr(torch.std_mean(x)[0].grad_fn, "_raw_saved_result0"),
    )
    called = []
    y = x * 2
    y._backward_hooks = OrderedDict(a=called.append)
    y.sum().backward()
    yield called, list(y._backward_hooks), x.grad.tolist()
    z = x * 2
    z.register_hook(lambda grad: grad * 10)
    z._backward_hooks = None
    z.sum().backward()
    yield z._backward_hooks, x.grad.tolist()
    x._backward_hooks = OrderedDict(a=lambda grad: grad * 0)
    (x * 2).sum().backward()
    yield x.grad.tolist()
    a = torch.ones(2)
    yield a.storage()._cdata == a.untyped_storage()._cdata, a.storage()._cdata == torch.ones(2).storage()._cdata
    far, none = torch.tensor([5]), torch.ones(3, 0, requires_grad=True)
    yield (
        tuple(none[far].shape),
        tuple(none[far, :].shape),
        tuple(torch.ones(0, 3)[:, far].shape),
        none[far].grad_fn.name(),
    )
    none.detach()[far] = 1.0
    yield [
        tuple(torch.ones(2, 3, 4)[index].stride())
        for index in (slice(2, None, 2), (slice(None), slice(3, None, 2)), (..., slice(4, None, 3)))
    ]
    inf, rows = math.inf, torch.tensor([[math.nan, 1.0], [0.0, 1.0]])
    for found in (torch.pdist(rows, 0), torch.cdist(rows, rows, 0)[0], torch.pdist(torch.tensor([[inf, inf]] * 2), 0)):
        yield found.isnan().tolist()
    yield torch.pdist(torch.tensor([[inf, 1.0, 5e-324], [1.0, 1.0, 0.0]], dtype=torch.float64), 0).tolist()
    empty, grid = torch.ones(0, 2, 3, 4, 5), torch.ones(0, 2, 2, 2, 3)
    yield [tuple(F.grid_sample(empty, grid[:, at], align_corners=True).shape) for at in (slice(None), slice(0))]
    yield tuple(F.grid_sample(empty[..., 0], grid[:, 0, ..., :2], align_corners=True).shape)
    attention = torch.nn.TransformerEncoderLayer(8, 2, 16).eval()
    with torch.no_grad():
        yield [tuple(attention(torch.ones(shape)).shape) for shape in ((0, 3, 8), (3, 0, 8), (0, 0, 8))]
    w0, other = torch.ones((), requires_grad=True), torch.ones((), requires_grad=True)
    for create_graph in (True, False):
        (zero,) = torch.autograd.grad(w0 * 2, other, create_graph=create_graph, materialize_grads=True)
        yield zero.tolist(), zero.requires_grad, zero.is_leaf
    made = torch.testing.make_tensor((50,), dtype=torch.uint8, device="cpu", low=-9, high=9)
    yield made.dtype == torch.uint8, int(made.max()) < 9
    for base in (torch.tensor([-2.0], dtype=torch.float64), -2.0):
        power = torch.tensor([0.3 + 0.4j], dtype=torch.complex128, requires_grad=True)
        (grad,) = torch.autograd.grad((base**power).sum().real, power, create_graph=True)
        (second,) = torch.autograd.grad(grad.sum().real, power)
        yield [complex(round(g.item().real, 6), round(g.item().imag, 6)) for g in (grad, second)]
    yield functional_error(torch, w0)
    functions, w = torch._C._functions, torch.ones(2, requires_grad=True)
    yield isinstance((w * 2).grad_fn.next_functions[0][0], functions.AccumulateGrad)
    yield isinstance(w.abs().grad_fn, functions.AbsBackward0)
    undefined = functions.UndefinedGrad()
    yield undefined(w * 2).requires_grad, torch.autograd.grad((undefined(w) + w).sum(), w)[0].tolist()
    try:
        functions.DelayedError("no way back", 1)(w).sum().backward()
    except RuntimeError as error:
        yield str(error)


EXPECTED = [
    [-1.2642, -0.7869],
    [True, True],
    ("StdBackward0", None, None),
    ("StdBackward0", (1,), 1),
    ("VarBackward0", None, 0),
    ("VarBackward0", (0, 1), 2),
    ("StdMeanBackward0", None, None),
    ("StdMeanBackward0", None, None),
    ("VarMeanBackward0", (0,), 1),
    (0.0, True),
    ([], ["a"], [[2.0] * 3] * 2),
    (None, [[22.0] * 3] * 2),
    [[22.0] * 3] * 2,
    (True, False),
    ((1, 0), (1, 0), (0, 1), "IndexBackward0"),
    [(24, 4, 1), (12, 8, 1), (12, 4, 3)],
    [True],
    [True, True],
    [True],
    [2.0],
    [(0, 2, 2, 2, 2), (0, 2, 0, 2, 2)],
    (0, 2, 2, 2),
    [(0, 3, 8), (3, 0, 8), (0, 0, 8)],
    (0.0, True, True),
    (0.0, False, True),
    (True, True),
    *[[-0.950137 - 0.60662j, -2.564337 + 2.564468j]] * 2,
    "torch::autograd::Error",
    True,
    True,
    (True, [1.0, 1.0]),
    "no way back",
]


@pytest.mark.filterwarnings("ignore:TypedStorage")
def test_seen():
    found = list(seen(penlight))
    assert found == EXPECTED


@pytest.mark.parity
@pytest.mark.filterwarnings("ignore:TypedStorage")
def test_seen_as_in_pytorch():
    found = list(seen(pytest.importorskip("torch")))
    assert found == EXPECTED


def test_modules_refuse_when_they_are_used():
    from penlight import _refs, _utils_internal
    from penlight.utils.collect_env import get_pretty_env_info
    from penlight.utils.data.datapipes.iter import RoutedDecoder

    assert _utils_internal.justknobs_check("any") and _utils_internal.TEST_MASTER_ADDR == "127.0.0.1"
    with pytest.raises(NotImplementedError, match="Call the function of torch with that name"):
        _refs.add(1, 2)
    with pytest.raises(NotImplementedError, match="Use `penlight doctor`"):
        get_pretty_env_info()
    with pytest.raises(NotImplementedError, match=r"Use map\(\) with a function of your own"):
        RoutedDecoder([1, 2])
    assert not isinstance([1, 2], penlight.utils.data.IterDataPipe)
    assert penlight.utils.data.datapipes.iter.RoutedDecoder is RoutedDecoder
