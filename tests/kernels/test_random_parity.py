"""The random kernels against PyTorch itself: the same bits, and the same place in the stream afterwards."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable

import numpy as np
import pytest

from penlight.kernels.random import integers, normal, rejection, samplers, uniform
from penlight.kernels.random.engine import Engine

torch = pytest.importorskip("torch")
ml_dtypes = pytest.importorskip("ml_dtypes")
pytestmark = pytest.mark.parity

SEEDS = [0, 1, 6, 42, 2**31, 2**63 + 5]
FLOATS = {
    torch.float32: np.dtype("float32"),
    torch.float64: np.dtype("float64"),
    torch.float16: np.dtype("float16"),
    torch.bfloat16: np.dtype(ml_dtypes.bfloat16),
}
INTS = {
    torch.uint8: np.dtype("uint8"),
    torch.int8: np.dtype("int8"),
    torch.int16: np.dtype("int16"),
    torch.int32: np.dtype("int32"),
    torch.int64: np.dtype("int64"),
}
UNSIGNED = {torch.uint16: np.dtype("uint16"), torch.uint32: np.dtype("uint32"), torch.uint64: np.dtype("uint64")}
DTYPES = FLOATS | INTS | {torch.bool: np.dtype("bool")}
F32, F64, I64 = np.dtype("float32"), np.dtype("float64"), np.dtype("int64")


def start(seed: int) -> Engine:
    """Put both libraries at the start of the same stream."""
    torch.manual_seed(seed)
    return Engine(seed)


def bits(tensor: torch.Tensor) -> bytes:
    return tensor.detach().contiguous().view(-1).view(torch.uint8).numpy().tobytes() if tensor.numel() else b""


def assert_same(engine: Engine, ours: np.ndarray, theirs: torch.Tensor) -> None:
    assert ours.shape == tuple(theirs.shape)
    assert ours.flags.c_contiguous
    if ours.tobytes() != bits(theirs):
        expected = theirs.detach().double().numpy() if theirs.is_floating_point() else theirs.numpy()
        np.testing.assert_array_equal(ours.astype(expected.dtype), expected)
        raise AssertionError("equal but for the sign of a zero")
    assert engine.get_state().tobytes() == torch.get_rng_state().numpy().tobytes()


@pytest.mark.parametrize("seed", SEEDS)
def test_mixed_sequence(seed: int) -> None:
    engine = start(seed)
    for _ in range(12):  # enough to pass the end of a block of 624 draws several times
        assert_same(engine, uniform.uniform(engine, (3,), F32), torch.rand(3))
        assert_same(engine, normal.normal(engine, (5,), F32), torch.randn(5))
        assert_same(engine, normal.normal(engine, (20,), F32), torch.randn(20))
        assert_same(engine, integers.randperm(engine, 10, I64), torch.randperm(10))
        assert_same(engine, integers.randint(engine, (4, 3), -2, 9, I64), torch.randint(-2, 9, (4, 3)))
        assert_same(engine, uniform.bernoulli(engine, 0.3, (7,), F32), torch.empty(7).bernoulli_(0.3))
        assert_same(engine, normal.normal(engine, (1,), F32), torch.randn(1))
        assert_same(engine, uniform.uniform(engine, (2, 4), F64), torch.rand(2, 4, dtype=torch.float64))
        assert_same(engine, normal.normal(engine, (64,), F32), torch.randn(64))
        assert_same(engine, normal.normal(engine, (2, 16), F32, 1.5, 0.1), torch.empty(2, 16).normal_(1.5, 0.1))
        assert_same(engine, normal.normal(engine, (3,), F64), torch.randn(3, dtype=torch.float64))
        assert_same(engine, samplers.exponential(engine, (3,), F32), torch.empty(3).exponential_())
        alpha = np.linspace(0.2, 3, 5)
        assert_same(engine, rejection.standard_gamma(engine, alpha), torch._standard_gamma(torch.from_numpy(alpha)))
        assert_same(engine, integers.randperm(engine, 600, I64), torch.randperm(600))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("n", [300, 1000, 1009, 2400])
def test_mixed_sequence_of_some_hundreds(n: int, seed: int) -> None:
    engine = start(seed)
    p = torch.linspace(-0.0, 1, n)
    for _ in range(5):
        assert_same(engine, uniform.uniform(engine, (n,), F32), torch.rand(n))
        assert_same(engine, normal.normal(engine, (n,), F32), torch.randn(n))
        assert_same(engine, normal.normal(engine, (5,), F32), torch.randn(5))
        assert_same(engine, integers.randint(engine, (n,), -2, 9, I64), torch.randint(-2, 9, (n,)))
        assert_same(
            engine, uniform.uniform(engine, (n,), F64, -1, 3), torch.empty(n, dtype=torch.float64).uniform_(-1, 3)
        )
        assert_same(engine, uniform.bernoulli(engine, 0.3, (n,), F32), torch.empty(n).bernoulli_(0.3))
        assert_same(engine, uniform.bernoulli_each(engine, p.numpy(), F32), torch.bernoulli(p))
        assert_same(engine, uniform.uniform(engine, (3,), F32), torch.rand(3))
        assert_same(engine, normal.normal(engine, (n,), F64), torch.randn(n, dtype=torch.float64))
        assert_same(engine, samplers.exponential(engine, (n,), F32), torch.empty(n).exponential_())
        assert_same(engine, uniform.bernoulli_each(engine, p.double().numpy(), F64), torch.bernoulli(p.double()))


@pytest.mark.parametrize("draws", [0, 1, 3, 623, 624, 625, 5000])
def test_state_travels_both_ways(draws: int) -> None:
    engine = start(9)
    torch.rand(draws), uniform.uniform(engine, (draws,), F32)
    torch.randn(3), normal.normal(engine, (3,), F32)
    state = torch.get_rng_state()
    other = Engine(1).set_state(state.numpy())
    assert other.get_state().tobytes() == state.numpy().tobytes()
    assert other.initial_seed() == torch.initial_seed() == 9
    torch.manual_seed(3)
    torch.set_rng_state(torch.from_numpy(engine.get_state()))
    assert_same(other, normal.normal(other, (1,), F64), torch.randn(1, dtype=torch.float64))
    assert_same(other, uniform.uniform(other, (700,), F32), torch.rand(700))
    fresh = torch.Generator().manual_seed(-5)
    assert Engine(4).set_state(fresh.get_state().numpy()).get_state().tobytes() == fresh.get_state().numpy().tobytes()


@pytest.mark.parametrize("seed", [-1, -(2**63), 2**63, 2**64 - 1, 2**32 + 7])
def test_seeds(seed: int) -> None:
    engine = start(seed)
    assert engine.initial_seed() == torch.initial_seed()
    assert_same(engine, uniform.uniform(engine, (5,), F32), torch.rand(5))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    "bounds",
    [(0, 1), (-1, 1), (0, 3.3), (0.1, 0.7), (-3.3, 1000.7), (1e-3, 2e-3), (1000, 1000.5), (2, 2), (-0.0442, 0.0442)],
)
def test_uniform(dtype: torch.dtype, bounds: tuple[float, float]) -> None:
    engine = start(3)
    for n in (0, 1, 7, 700, 40001):
        ours = uniform.uniform(engine, (n,), FLOATS[dtype], *bounds)
        assert_same(engine, ours, torch.empty(n, dtype=dtype).uniform_(*bounds))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("mean, std", [(0, 1), (0.3, 1), (0, 1.7), (0.3, 1.7), (2, 0)])
def test_normal(dtype: torch.dtype, mean: float, std: float) -> None:
    engine = start(3)
    for n in (0, 1, 2, 15, 16, 17, 31, 32, 33, 100, 629, 20000, 70001):
        ours = normal.normal(engine, (n,), FLOATS[dtype], mean, std)
        assert_same(engine, ours, torch.empty(n, dtype=dtype).normal_(mean, std))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("value", [-0.0, 1.0, -1e-30, 1.0000002, math.nan, math.inf, -math.inf, -math.nan])
def test_what_is_a_probability(value: float, dtype: torch.dtype) -> None:
    engine = start(0)
    p = torch.tensor([0.5, value, 0.25], dtype=dtype)
    try:
        expected = torch.bernoulli(p)
    except RuntimeError:
        with pytest.raises(RuntimeError, match="p_in >= 0"):
            uniform.bernoulli_each(engine, p.numpy(), p.numpy().dtype)
    else:
        assert_same(engine, uniform.bernoulli_each(engine, p.numpy(), p.numpy().dtype), expected)


def test_bounds_at_the_ends_of_the_range() -> None:
    engine = start(3)
    for bounds in ((-1e308, 5e307), (1e-300, 3e-299), (1e-200, 1e-199), (-1e-300, 1e300), (1e307, 1.7e308)):
        ours = uniform.uniform(engine, (5000,), F64, *bounds)
        assert_same(engine, ours, torch.empty(5000, dtype=torch.float64).uniform_(*bounds))
    for bounds in ((-1e38, 5e37), (1e-44, 3e-39), (1e-30, 1e-29)):
        ours = uniform.uniform(engine, (5000,), F32, *bounds)
        assert_same(engine, ours, torch.empty(5000).uniform_(*bounds))


def test_many_normal_samples() -> None:
    engine = start(123)
    assert_same(engine, normal.normal(engine, (1500, 1000), F32), torch.randn(1500, 1000))
    engine = start(124)
    half = normal.normal(engine, (2_000_000,), np.dtype("float16"))
    assert_same(engine, half, torch.randn(2_000_000, dtype=torch.float16))


@pytest.mark.parametrize("sizes", [(16, 32, 64, 16, 500, 48), (64,) * 30, (16, 3, 16, 100, 16, 16, 624, 608)])
def test_small_normals_made_ahead(sizes: tuple[int, ...]) -> None:
    engine = start(8)
    for n in sizes:
        assert_same(engine, normal.normal(engine, (n,), F32), torch.randn(n))
    again = engine.clone()
    assert again.get_state().tobytes() == engine.get_state().tobytes()
    engine.manual_seed(8)
    torch.manual_seed(8)
    assert_same(engine, normal.normal(engine, (16,), F32), torch.randn(16))


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_complex(dtype: torch.dtype) -> None:
    engine = start(3)
    for n in (3, 8, 21):
        np_dtype = np.dtype(str(dtype).removeprefix("torch."))
        assert_same(engine, normal.normal(engine, (n,), np_dtype), torch.randn(n, dtype=dtype))
        assert_same(engine, uniform.uniform(engine, (n,), np_dtype), torch.rand(n, dtype=dtype))
        ours = normal.normal(engine, (n,), np_dtype, 1, 2)
        assert_same(engine, ours, torch.empty(n, dtype=dtype).normal_(1, 2))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
@pytest.mark.parametrize("n", [5, 300])
def test_normal_of_tensors(dtype: torch.dtype, n: int) -> None:
    engine = start(3)
    mean, std = torch.linspace(-2, 2, n, dtype=dtype), torch.linspace(0, 3, n, dtype=dtype)
    for one, two in ((mean, std), (mean, 1.7), (0.3, std), (mean.view(1, -1), std.view(-1, 1))):
        arrays = [x.numpy() if isinstance(x, torch.Tensor) else x for x in (one, two)]
        shape = np.broadcast_shapes(*(np.shape(x) for x in arrays))
        ours = normal.normal_tensors(engine, shape, FLOATS[dtype], *arrays)
        assert_same(engine, ours, torch.normal(one, two))


@pytest.mark.parametrize("dtype", DTYPES | UNSIGNED)
def test_randint(dtype: torch.dtype) -> None:
    np_dtype = (DTYPES | UNSIGNED)[dtype]
    ranges = [(0, 2), (0, 1), (3, 100), (0, 128), (0, 256), (-5, 7), (-128, 128), (0, 300), (-3001, 299), (0, 2049)]
    ranges += [(0, 2**16), (-3000, 3000), (0, 2**24 + 1), (5, 2**24 + 10), (0, 2**28 - 1), (0, 2**28), (0, 2**31 + 1)]
    ranges += [(0, 2**32), (-(2**53), 2**54 + 1), (-(2**63), 2**63 - 1), (0, 2**63 - 1), (2**25 + 1, 2**25 + 3), (5, 5)]
    for low, high in [*ranges, (0, None), (-7, None), (3, None), (-(2**31), None), (-(2**63), None), (2**26, None)]:
        engine = start(3)
        compare(
            engine,
            lambda e, low=low, high=high: integers.randint(e, (70,), low, high, np_dtype),
            lambda low=low, high=high: torch.empty(70, dtype=dtype).random_(low, high),
        )


def compare(engine: Engine, ours: Callable[[Engine], np.ndarray], theirs: Callable[[], torch.Tensor]) -> None:
    """The same result and warnings from both, or the same error."""
    with warnings.catch_warnings(record=True) as expected_warnings:
        warnings.simplefilter("always")
        try:
            expected = theirs()
        except Exception as error:
            with pytest.raises(type(error)) as raised:
                ours(engine)
            assert str(raised.value) == str(error)
            return
    with warnings.catch_warnings(record=True) as our_warnings:
        warnings.simplefilter("always")
        result = ours(engine)
    assert [str(w.message) for w in our_warnings] == [
        str(w.message).partition(" (Triggered internally")[0] for w in expected_warnings
    ]
    assert_same(engine, result, expected)


@pytest.mark.parametrize("dtype", DTYPES | UNSIGNED | {torch.complex64: np.dtype("complex64")})
def test_random(dtype: torch.dtype) -> None:
    np_dtype = np.dtype("complex64") if dtype is torch.complex64 else (DTYPES | UNSIGNED)[dtype]
    compare(start(3), lambda e: integers.random(e, (500,), np_dtype), lambda: torch.empty(500, dtype=dtype).random_())


@pytest.mark.parametrize("n", [0, 1, 2, 3, 10, 99, 500, 501, 1000, 65536, 65537, 100_000])
def test_randperm(n: int) -> None:
    engine = start(4)
    for _ in range(2):
        assert_same(engine, integers.randperm(engine, n, I64), torch.randperm(n))


@pytest.mark.parametrize("dtype", DTYPES | UNSIGNED)
def test_randperm_dtypes(dtype: torch.dtype) -> None:
    np_dtype = (DTYPES | UNSIGNED)[dtype]
    for n in (-1, 1, 100, 128, 129, 255, 256, 257, 300, 2049, 2050):
        compare(start(2), lambda e, n=n: integers.randperm(e, n, np_dtype), lambda n=n: torch.randperm(n, dtype=dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_bernoulli(dtype: torch.dtype) -> None:
    engine = start(3)
    for p in (0, 1e-3, 0.3, 0.5, 0.75, 1):
        assert_same(
            engine,
            uniform.bernoulli(engine, p, (30, 31), DTYPES[dtype]),
            torch.empty(30, 31, dtype=dtype).bernoulli_(p),
        )
    p = torch.linspace(0, 1, 1000)
    for kind in (torch.float32, torch.float64, torch.float16, torch.int64):
        array = p.to(kind).numpy()
        compare(
            engine,
            lambda e, array=array: uniform.bernoulli_each(e, array, DTYPES[dtype]),
            lambda kind=kind: torch.empty(1000, dtype=dtype).bernoulli_(p.to(kind)),
        )


def test_dropout_is_bernoulli_of_what_stays() -> None:
    engine = start(11)
    x = torch.linspace(-1, 1, 300)
    kept = uniform.bernoulli(engine, 1 - 0.3, (300,), F32)
    assert_same(engine, x.numpy() * (kept / np.float32(1 - 0.3)), torch.nn.functional.dropout(x, 0.3))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("replacement, count", [(False, 1), (True, 1), (False, 5), (False, 50), (True, 5), (True, 200)])
def test_multinomial(dtype: torch.dtype, replacement: bool, count: int) -> None:
    torch.manual_seed(1)
    weights = torch.rand(7, 50).to(dtype)
    weights[3, 40:] = 0 if count < 50 else weights[3, 40:]
    for w in (weights, weights[0], weights[1:2], weights.t().contiguous().t()):
        array = w.float().numpy().astype(FLOATS[dtype])
        if count == 50 and array.dtype.itemsize == 2:
            count = 5  # sorting all the 16-bit scores meets equal ones, whose order torch leaves open
        engine = start(2)
        ours = samplers.multinomial(engine, array, count, replacement)
        assert_same(engine, ours, torch.multinomial(w, count, replacement))


@pytest.mark.parametrize("dtype", FLOATS)
def test_transformed_uniforms(dtype: torch.dtype) -> None:
    engine = start(6)
    np_dtype = FLOATS[dtype]
    for n in (1, 9, 30000):
        for a in (1.0, 0.3, 2.5):
            ours = samplers.exponential(engine, (n,), np_dtype, a)
            assert_same(engine, ours, torch.empty(n, dtype=dtype).exponential_(a))
        for p in (0.01, 0.3, 0.9):
            ours = samplers.geometric(engine, (n,), np_dtype, p)
            assert_same(engine, ours, torch.empty(n, dtype=dtype).geometric_(p))
        for a, b in ((0.0, 1.0), (1.3, 2.7), (0.0, 0.5)):
            ours = samplers.cauchy(engine, (n,), np_dtype, a, b)
            assert_same(engine, ours, torch.empty(n, dtype=dtype).cauchy_(a, b))
            ours = samplers.log_normal(engine, (n,), np_dtype, a, b)
            assert_same(engine, ours, torch.empty(n, dtype=dtype).log_normal_(a, b))


@pytest.mark.parametrize("dtype", INTS)
def test_geometric_of_integers(dtype: torch.dtype) -> None:
    engine = start(6)
    for p in (0.02, 0.5):
        ours = samplers.geometric(engine, (2000,), INTS[dtype], p)
        assert_same(engine, ours, torch.empty(2000, dtype=dtype).geometric_(p))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_rejection_samplers(dtype: torch.dtype) -> None:
    engine = start(7)
    alpha = torch.linspace(0.01, 6, 1500, dtype=dtype)
    assert_same(engine, rejection.standard_gamma(engine, alpha.numpy()), torch._standard_gamma(alpha))
    for bad in (torch.tensor([0.0, -1.0, -0.01, 2.0], dtype=dtype), torch.tensor([float("nan"), 1.0], dtype=dtype)):
        assert_same(engine, rejection.standard_gamma(engine, bad.numpy()), torch._standard_gamma(bad))
    rate = torch.linspace(0, 40, 1501, dtype=dtype)
    assert_same(engine, rejection.poisson(engine, rate.numpy()), torch.poisson(rate))
    prob = torch.linspace(-0.1, 1.1, 700, dtype=dtype)
    prob[13] = float("nan")
    for count in (-1, 2.5, 5, 30, 1000, 10**6):
        n = torch.full_like(prob, count)
        assert_same(engine, rejection.binomial(engine, n.numpy(), prob.numpy()), torch.binomial(n, prob))
    alpha = torch.linspace(0.001, 5, 1200, dtype=dtype).view(-1, 4)
    assert_same(engine, rejection.dirichlet(engine, alpha.numpy()), torch._sample_dirichlet(alpha))
    for size in (1, 6, 30):
        alpha = torch.linspace(0.05, 5, 40 * size, dtype=dtype).view(-1, size)
        ours, theirs = rejection.dirichlet(engine, alpha.numpy()), torch._sample_dirichlet(alpha)
        np.testing.assert_array_almost_equal_nulp(ours, theirs.numpy(), 4)
        assert engine.get_state().tobytes() == torch.get_rng_state().numpy().tobytes()


@pytest.mark.parametrize("fill", ["uniform", "normal", "exponential", "randint"])
@pytest.mark.parametrize("axes", [(0, 1, 2), (1, 0, 2), (2, 1, 0), (1, 2, 0)])
@pytest.mark.parametrize("step", [1, 2])
def test_order_of_filling(fill: str, axes: tuple[int, ...], step: int) -> None:
    torch_fill = {
        "uniform": lambda t: t.uniform_(),
        "normal": lambda t: t.normal_(),
        "exponential": lambda t: t.exponential_(),
        "randint": lambda t: t.random_(3, 9),
    }[fill]
    draw = {
        "uniform": lambda e, v: uniform.uniform(e, v.shape, F32),
        "normal": lambda e, v: normal.normal(e, v.shape, F32, contiguous=array.flags.c_contiguous),
        "exponential": lambda e, v: samplers.exponential(e, v.shape, F32),
        "randint": lambda e, v: integers.randint(e, v.shape, 3, 9, F32),
    }[fill]
    engine = start(5)
    tensor = torch.zeros(4, 6, 10)[:, :, ::step].permute(axes)
    array = np.zeros((4, 6, 10), F32)[:, :, ::step].transpose(axes)
    torch_fill(tensor)
    view = uniform.in_memory_order(array)
    view[...] = draw(engine, view)
    assert_same(engine, np.ascontiguousarray(array), tensor)


@pytest.mark.parametrize(
    "ours, theirs",
    [
        (lambda e: uniform.uniform(e, (2,), F32, 2, 1), lambda: torch.empty(2).uniform_(2, 1)),
        (lambda e: uniform.uniform(e, (2,), F32, 0, np.inf), lambda: torch.empty(2).uniform_(0, np.inf)),
        (lambda e: uniform.uniform(e, (2,), F32, -3e38, 3e38), lambda: torch.empty(2).uniform_(-3e38, 3e38)),
        (lambda e: uniform.uniform(e, (2,), F32, np.nan, 1), lambda: torch.empty(2).uniform_(np.nan, 1)),
        (lambda e: uniform.uniform(e, (2,), I64), lambda: torch.rand(2, dtype=torch.int64)),
        (lambda e: uniform.uniform(e, (2,), np.dtype("f2"), 0, 1e5), lambda: torch.empty(2).half().uniform_(0, 1e5)),
        (
            lambda e: uniform.uniform(e, (2,), np.dtype("f2"), -6e4, 6e4),
            lambda: torch.empty(2).half().uniform_(-6e4, 6e4),
        ),
        (lambda e: normal.normal(e, (2,), F32, 0, -1), lambda: torch.empty(2).normal_(0, -1)),
        (lambda e: normal.normal(e, (2,), F32, 0, np.nan), lambda: torch.empty(2).normal_(0, np.nan)),
        (lambda e: normal.normal(e, (2,), I64), lambda: torch.randn(2, dtype=torch.int64)),
        (lambda e: uniform.bernoulli(e, 1.5, (2,), F32), lambda: torch.empty(2).bernoulli_(1.5)),
        (lambda e: uniform.bernoulli(e, np.nan, (2,), F32), lambda: torch.empty(2).bernoulli_(np.nan)),
        (lambda e: uniform.bernoulli_each(e, np.array([1.5], "f"), F32), lambda: torch.bernoulli(torch.tensor([1.5]))),
        (lambda e: samplers.exponential(e, (2,), F32, -1), lambda: torch.empty(2).exponential_(-1)),
        (lambda e: samplers.exponential(e, (2,), I64), lambda: torch.empty(2).long().exponential_()),
        (lambda e: samplers.geometric(e, (2,), F32, 1.0), lambda: torch.empty(2).geometric_(1.0)),
        (lambda e: samplers.cauchy(e, (2,), F32, 0, -1), lambda: torch.empty(2).cauchy_(0, -1)),
        (lambda e: samplers.cauchy(e, (2,), I64), lambda: torch.empty(2).long().cauchy_()),
        (lambda e: samplers.log_normal(e, (2,), F32, 0, 0), lambda: torch.empty(2).log_normal_(0, 0)),
        (lambda e: samplers.log_normal(e, (2,), I64), lambda: torch.empty(2).long().log_normal_()),
        (lambda e: rejection.poisson(e, np.array([-1.0])), lambda: torch.poisson(torch.tensor([-1.0]))),
        (lambda e: rejection.poisson(e, np.array([1])), lambda: torch.poisson(torch.tensor([1]))),
        (lambda e: rejection.standard_gamma(e, np.array([1])), lambda: torch._standard_gamma(torch.tensor([1]))),
        (lambda e: rejection.dirichlet(e, np.ones(2, "f2")), lambda: torch._sample_dirichlet(torch.ones(2).half())),
        (
            lambda e: rejection.binomial(e, np.ones(2, int), np.ones(2)),
            lambda: torch.binomial(torch.ones(2).long(), torch.ones(2)),
        ),
        (
            lambda e: rejection.binomial(e, np.ones(2), np.ones(2, "f")),
            lambda: torch.binomial(torch.ones(2).double(), torch.ones(2)),
        ),
        (
            lambda e: normal.normal_tensors(e, (2,), F32, 0.0, np.array([-1, 1], "f")),
            lambda: torch.normal(0.0, torch.tensor([-1.0, 1.0])),
        ),
    ],
)
def test_errors(ours: Callable[[Engine], np.ndarray], theirs: Callable[[], torch.Tensor]) -> None:
    engine = start(1)
    before = engine.get_state()
    with pytest.raises(Exception) as expected:
        theirs()
    with pytest.raises(type(expected.value)) as raised:
        ours(engine)
    assert str(raised.value) == str(expected.value)
    assert np.array_equal(engine.get_state(), before)


@pytest.mark.parametrize("replacement", [False, True])
@pytest.mark.parametrize("count", [0, 1, 2, 3])
@pytest.mark.parametrize(
    "weights",
    [
        [0.5, -1.0],
        [0.5, np.inf],
        [0.5, np.nan],
        [0.0, 0.0],
        [[1.0, 1.0], [0.0, 0.0]],
        [[[1.0]]],
        1.0,
        [1, 2],
        [],
        [[], []],
    ],
)
def test_multinomial_errors(weights: object, count: int, replacement: bool) -> None:
    tensor = torch.tensor(weights)
    engine = start(1)
    compare(
        engine,
        lambda e: samplers.multinomial(e, tensor.numpy(), count, replacement),
        lambda: torch.multinomial(tensor, count, replacement),
    )


@pytest.mark.parametrize("seed", [2**64, -(2**63) - 1, 1.5, "a", None, True, np.int64(5)])
def test_seed_errors(seed: object) -> None:
    with pytest.raises(Exception) as expected:
        torch.Generator().manual_seed(seed)
    with pytest.raises(type(expected.value)) as raised:
        Engine().manual_seed(seed)
    assert str(raised.value) == str(expected.value)


def broken_states() -> list[np.ndarray]:
    good = Engine(1).get_state()
    rest = []
    for place, value in ((8, 0), (9, 3), (12, 0), (17, 4)):
        bad = good.copy()
        bad[place] = value
        rest.append(bad)
    return [
        good[:-1],
        good[:5048],
        good[:0],
        good.astype(np.int8),
        np.zeros(5056, np.uint8),
        np.repeat(good, 2)[::2],
        *rest,
    ]


@pytest.mark.parametrize("state", broken_states())
def test_state_errors(state: np.ndarray) -> None:
    with pytest.raises(Exception) as expected:
        torch.Generator().set_state(torch.from_numpy(state))
    engine = Engine(5)
    before = engine.get_state()
    with pytest.raises(type(expected.value)) as raised:
        engine.set_state(state)
    assert str(raised.value) == str(expected.value)
    assert np.array_equal(engine.get_state(), before)
