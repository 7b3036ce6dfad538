"""Calls with a mistake in them: dtypes that differ, shapes that don't fit, indices out of range, NaN where it is refused. Both libraries
say the same, or give the same."""

from __future__ import annotations

import itertools
import linecache

import pytest
from running import quiet

import penlight

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity

X, M, NAN = "L.ones(3)", "L.ones(3).bool()", "float('nan')"

CALLS = f"""
F.linear(L.ones(3), L.ones(4, 3), L.ones(4, 1))
F.linear(L.ones(3), L.ones(4, 3), L.ones(1, 4))
F.linear(L.ones(3), L.ones(3), L.ones(4))
F.linear(L.ones(2, 3), L.ones(3), L.ones(2))
F.linear(L.ones(()), L.ones(4, 2), L.ones(4))
F.linear(L.ones(2, 3, 4).transpose(0, 1), L.ones(5, 4), L.ones(5).double())
F.linear(L.ones(4), L.ones(5, 4), L.ones(5).long())
L.ones(2, 2, 3).addr_(L.ones(2), L.ones(3))
L.ones(2, 3).long().addr_(L.ones(2), L.ones(3))
L.addr(L.ones(2, 3).long(), L.ones(2).long(), L.ones(3).long(), alpha=2.5)
L.addr(L.ones(2, 3), L.ones(2), L.ones(3), beta=True)
L.addr(L.ones(2, 3), L.ones(2), L.ones(3), beta=1j)
L.addr(L.ones(3, 3), L.ones(2), L.ones(3))
L.ones(3, 3).addr_(L.ones(2), L.ones(3))
L.addbmm(L.ones(1, 2, 3), L.ones(4, 2, 3), L.ones(4, 3, 3))
L.addmm(L.ones(2, 3), L.ones(2, 3), L.ones(3, 3), alpha=1j)
L.addmm(L.ones(2, 2), L.ones(2, 2), L.ones(2, 2), beta=None)
L.linalg.cholesky(L.full((2, 2), {NAN}))
L.linalg.cholesky_ex(L.tensor([[1.0, {NAN}], [{NAN}, 1.0]]))
L.linalg.cholesky(L.stack([L.eye(2), L.full((2, 2), {NAN})]))
L.linalg.pinv(L.full((2, 2), {NAN}))
L.linalg.slogdet(L.full((2, 2), {NAN}))
L.linalg.svdvals(L.tensor([[float('inf'), 0.0], [0.0, 1.0]]))
L.linalg.solve_triangular(L.eye(2), L.ones(2, 1).double(), upper=True)
L.linalg.solve_triangular(L.eye(2).long(), L.ones(2, 1), upper=True)
L.linalg.cross({X}, {X}.double())
L.cross({M}, {M}, dim=0)
L.all(L.ones(2, 3), dim=())
L.any(L.zeros(2, 3), dim=(), keepdim=True)
L.all(L.ones(2).to(L.uint8), dim=())
{X}.masked_fill({M}, None)
L.clamp_max({X}, [1.0])
L.copysign({X}, [1.0])
L.xlogy({X}, None)
L.special.chebyshev_polynomial_t({X}, [1])
L.triu(L.ones(2, 2), 1.5)
L.round({X}, decimals=1.5)
L.polygamma(1.5, {X})
L.mvlgamma({X}, 1.5)
L.linspace(None, 1, 3)
L.linspace([1], 1, 3)
L.randint(0, 2.5, (3,))
L.multinomial({X}, 1.5)
L.logsumexp({X}, None)
L.where({M}, None, {X})
L.where({M}, [1.0], {X})
L.addcmul({X}, {X}, {X}, value=(1.0,))
L.index_add({X}, 0, L.tensor([0]), L.ones(1), alpha=None)
L.isin({M}, {M})
L.isin({X}.cfloat(), {X})
{X}.unfold(0, -1, 1)
L.ones(4).resize_(2, -1)
L.normal(float('inf'), 1.0, (2,))
L.ones(()).scatter_add(0, L.tensor(100), L.ones(()))
L.ones(()).scatter(0, L.tensor(-1), 2.0)
L.ones(()).gather(0, L.tensor(1))
L.ones(()).index_select(0, L.tensor([0, 0]))
L.ones(3, 3).renorm(2, 0, {NAN})
{X}.index_reduce(0, L.tensor([0.0]), L.ones(1), 'amax')
{X}.index_reduce(0, L.tensor([[0]]), L.ones(1), 'amax')
{X}.index_reduce(0, L.tensor([0, 1]), L.ones(1), 'amax')
L.ones(2, 2).index_reduce(0, L.tensor([0]), L.ones(1), 'amax')
{X}.index_copy(0, L.tensor([[0]]), L.ones(1))
{X}.index_fill(0, L.tensor([0]), L.tensor(1j))
L.ones(5, 5).index_put((L.tensor([0]),), L.ones(1, 1, 5))
L.histogram({X}.double(), L.ones(2))
L.histogram({X}, L.ones(0))
L.log_softmax({X}, 0, dtype=L.int64)
L.softmax({X}, 0, dtype=L.bool)
L.allclose({X}, {X}, rtol={NAN})
L.lu_unpack(L.ones(3), L.ones(3).int())
F.bilinear(L.ones(1, 2), L.ones(1, 3).double(), L.ones(1, 2, 3))
F.binary_cross_entropy_with_logits({X}.long(), {X})
F.cosine_similarity({X}, {X}, dim=0, eps=-1.0)
F.huber_loss({X}.half(), {X}, reduction='none')
F.huber_loss({X}.long(), {X})
F.huber_loss({X}, {X}, delta={NAN})
F.multilabel_margin_loss({X}, L.ones(1, 3).long())
F.embedding_bag(L.tensor([0, 1]), L.ones(2, 2), L.tensor([0.0]))
F.embedding_bag(L.tensor([0, 1]), L.ones(2, 2).double(), L.tensor([0]), mode='sum', per_sample_weights=L.ones(2))
F.batch_norm(L.ones(2, 3, 4), L.zeros(1, 3), L.ones(3))
F.batch_norm(L.arange(24.0).view(2, 3, 4), L.zeros(3), L.ones(3), L.arange(3.0).view(1, 3), L.arange(3.0).view(3, 1))
F.interpolate(L.ones(1, 1, 2), scale_factor=float('inf'))
F.conv2d(L.ones(2, 3, 8, 8), L.ones(3, 3, 3, 3).to(L.bfloat16))
F.conv2d(L.ones(1, 4, 8, 8), L.ones(4, 2, 3, 3).double(), groups=2)
F.conv2d(L.ones(1, 4, 8, 8).cfloat(), L.ones(4, 4, 3, 3))
F.conv1d(L.ones(4, 8).bool(), L.ones(4, 4, 3))
F.soft_margin_loss(L.ones(2, 2), L.ones(1, 2, 2))
F.soft_margin_loss(L.ones(2, 2), L.ones(2, 2).double())
F.soft_margin_loss(L.ones(2, 2).long(), L.ones(2, 2))
F.soft_margin_loss(L.ones(2, 2), L.ones(2, 2).cfloat())
F.ctc_loss(L.zeros(5, 1, 3), L.ones(1, 2).long(), L.tensor([5.0]), L.tensor([2]))
F.ctc_loss(L.zeros(5, 1, 3), L.tensor(1), L.tensor([5]), L.tensor([1]))
F.fractional_max_pool2d(L.ones(1, 1, 5, 5), 2, output_size=2, _random_samples=L.ones(1, 1, 2).double())
L.nn.BatchNorm1d(3)(L.ones(2, 3).double())
L.nn.LayerNorm(3)(L.ones(2, 3).double())
L.nn.GroupNorm(3, 3)(L.ones(2, 3).double())
F.layer_norm(L.ones(2, 3), (3,), L.ones(3), L.ones(3).double())
F.batch_norm(L.ones(2, 3), L.zeros(3).double(), L.ones(3), L.ones(3), L.ones(3))
F.layer_norm(L.ones(2, 3).long(), (3,), L.ones(3))
F.group_norm(L.ones(2, 3).long(), 3, L.ones(3).long(), L.ones(3))
L.zeros(2, device='')
F.pad(L.ones(3), (-2, -2))
{X}.index_reduce(0, L.tensor([0]), L.ones(1).double(), 'amax')
L.trapezoid(L.ones(3, 3), L.ones(2, 3))
~L.ones(2)
L.ones(5, 1, 1).expand(5, 5, -100)
L.ones(3).repeat(-1, 2)
L.ones(0).repeat(-1)
L.tile(L.ones(3), (-1,))
L.ones(3).as_strided((-2,), (1,))
L.ones(3).as_strided((2,), (1,), -1)
L.normal(L.ones(2), L.ones(3))
L.ones(3).index_put((L.tensor([1j]),), L.ones(1))
L.ones(3, 2).index_select(1, L.tensor([0, 9]))
F.fractional_max_pool2d(L.ones(1, 3, 9, 9), (1,), output_size=2)
F.fractional_max_pool2d(L.ones(1, 3, 9, 9), 3, output_size=-1)
F.bilinear(L.ones(3), L.ones(4), L.ones(5, 3, 4, 1))
L.histogramdd(L.ones(5, 2), [2, 2], weight=L.ones(2))
F.interpolate(L.ones(1, 1, 2), scale_factor=float('nan'))
""".strip().splitlines()


def outcome(lib, code):
    try:
        with quiet():
            # With its source at hand, as in a file: which arguments were given by name is told from that.
            linecache.cache[code] = (len(code), None, [code], code)
            result = eval(compile(code, code, "eval"), {"L": lib, "F": lib.nn.functional})
    except Exception as error:
        lines = str(error).splitlines() or [""]
        return f"{type(error).__name__}: {lines[0]}"
    return f"{getattr(result, 'dtype', '')} {result!r}"


@pytest.mark.parametrize("code", CALLS)
def test_the_same_is_refused(code):
    assert outcome(penlight, code).replace("penlight", "torch") == outcome(torch, code)


def test_forward_then_reverse_through_cosine_similarity():
    """A write without gradient inside of it cut the history of tangents."""
    x, y = torch.arange(6.0).view(2, 3) - 2, torch.arange(6.0).view(2, 3).cos()

    def second(lib):
        b = lib.tensor(y.tolist())
        turned = lib.func.jacfwd(lambda a: lib.nn.functional.cosine_similarity(a, b).pow(2).sum())
        return torch.tensor(lib.func.jacrev(turned)(lib.tensor(x.tolist())).tolist())

    torch.testing.assert_close(second(penlight), second(torch))


SUMS = {
    "addmm": ("2, 3", "2, 4", "4, 3"),
    "baddbmm": ("2, 2, 3", "2, 2, 4", "2, 4, 3"),
    "addbmm": ("2, 3", "2, 2, 4", "2, 4, 3"),
    "addmv": ("2", "2, 4", "4"),
    "addr": ("2, 4", "2", "4"),
}


@pytest.mark.parametrize("name", SUMS)
def test_sums_of_products_of_mixed_dtypes(name):
    for kinds in itertools.product(("float32", "float64", "int64"), repeat=3):
        terms = [f"L.ones({shape}, dtype=L.{kind})" for shape, kind in zip(SUMS[name], kinds)]
        for code in (f"L.{name}({', '.join(terms)})", f"{terms[0]}.{name}_({', '.join(terms[1:])})"):
            assert outcome(penlight, code).replace("penlight", "torch") == outcome(torch, code), code


CONVOLUTIONS = [f"conv{kind}{dims}d" for kind in ("", "_transpose") for dims in (1, 2, 3)]


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions_of_other_ranks(name):
    options = ["", "stride=-1", "padding=-1", "groups=0", "stride=[1, 1]"]
    if "transpose" not in name:
        options += [f"padding='same'{rest}" for rest in ("", ", stride=2", ", dilation=-1", ", dilation=[1, 1]")]
    for x, w, option in itertools.product(range(6), range(6), options):
        code = f"F.{name}(L.ones({(2,) * x}), L.ones({(2,) * w}), None, {option}).shape"
        assert outcome(penlight, code).replace("penlight", "torch") == outcome(torch, code), code


@pytest.mark.parametrize("transposed", [False, True])
def test_convolution_takes_batches_only(transposed):
    for x, w, dims in itertools.product(range(1, 6), range(1, 6), (1, 2, 3)):
        numbers = f"None, [1] * {dims}, [0] * {dims}, [1] * {dims}, {transposed}, [0] * {dims}, 1"
        code = f"L.convolution(L.ones({(2,) * x}), L.ones({(2,) * w}), {numbers}).shape"
        assert outcome(penlight, code).replace("penlight", "torch") == outcome(torch, code), code


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_convolutions_of_nothing(dims):
    for batch, channels, size, kernel in itertools.product((0, 1, 2), (0, 2), (0, 3), (0, 2)):
        if batch and channels and size and not kernel:
            continue  # oneDNN or the plain kernels refuse, in other words
        x, w = (batch, channels, *(size,) * dims), (2, channels, *(kernel,) * dims)
        code = f"F.conv{dims}d(L.ones({x}), L.ones({w})).shape"
        refused = outcome(torch, code)
        if not refused.startswith("IndexError"):  # from within
            assert outcome(penlight, code) == refused, code
