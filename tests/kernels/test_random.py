"""The random kernels alone: values pinned from PyTorch 2.13, and the tricks against the plain way."""

from __future__ import annotations

import math
import os
import signal
import sys
import threading
import zlib
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from penlight.kernels.fma import fma64
from penlight.kernels.random import at_once, integers, normal, rejection, samplers, uniform
from penlight.kernels.random.engine import DEFAULT_SEED, PIECE, Engine

F16, F32, F64, I64 = (np.dtype(name) for name in ("float16", "float32", "float64", "int64"))

# After each step of the sequence below: a checksum of the values (or the last value, where the C library's last digit
# may matter), one of the state without the kept normal sample, and whether there is such a sample.
MIXED: dict[int, list[tuple[float, int, int]]] = {
    0: [
        (1835582022, 685532304, 0),
        (0.20998, 3417452208, 1),
        (1087557735, 1653418404, 1),
        (2393470912, 3389289598, 1),
        (655860131, 3573712777, 1),
        (2856077924, 56334364, 1),
        (0.90563, 56334364, 0),
        (188734388, 386308876, 0),
        (911236688, 3726412481, 0),
        (1894112917, 2969309974, 0),
        (3836217131, 1294831908, 0),
        (1215703380, 507890154, 0),
        (3053763928, 4033906418, 0),
        (0.2193, 1599121023, 0),
    ],
    1: [
        (3003791527, 4101042447, 0),
        (0.35057, 387889967, 1),
        (1576223120, 3189881915, 1),
        (818786016, 380166625, 1),
        (2969725316, 162402838, 1),
        (155622812, 3757510019, 1),
        (1.0203, 3757510019, 0),
        (2966472332, 3416919699, 0),
        (1135046161, 45096798, 0),
        (3441898264, 1817216649, 0),
        (3929090975, 383757799, 0),
        (2286178685, 1169683753, 0),
        (381910309, 2877471281, 0),
        (0.19786, 77765308, 0),
    ],
    6: [
        (1153483438, 3421661475, 0),
        (-0.11542, 681321219, 1),
        (1651388629, 2174952471, 1),
        (3670233258, 690649549, 1),
        (23762250, 908888634, 1),
        (587898897, 3765802415, 1),
        (-0.56663, 3765802415, 0),
        (3353121785, 4096300735, 0),
        (3352157035, 1026721650, 0),
        (2113614815, 1406279333, 0),
        (1361337075, 1518057056, 0),
        (1509540711, 152301230, 0),
        (840889875, 3878068662, 0),
        (-0.13825, 1208385851, 0),
    ],
    42: [
        (3745322541, 1270672059, 0),
        (-0.0107, 2832375963, 1),
        (2953932825, 32352143, 1),
        (2079187537, 2841967189, 1),
        (2387330623, 3059878306, 1),
        (1650832819, 1614485047, 1),
        (-1.24918, 1614485047, 0),
        (876061718, 1952847143, 0),
        (356601837, 3179021546, 0),
        (580374486, 3550256445, 0),
        (2031874971, 2520455042, 0),
        (2845909172, 3310571340, 0),
        (3960088494, 728105044, 0),
        (0.24927, 2219188441, 0),
    ],
    2147483648: [
        (56878409, 3874924031, 0),
        (-1.39213, 93908959, 1),
        (2084973501, 2896685259, 1),
        (1532261740, 70169873, 1),
        (3024889354, 455624422, 1),
        (227918495, 3446757747, 1),
        (0.39118, 3446757747, 0),
        (3143673412, 3643562595, 0),
        (3499012985, 271993774, 0),
        (3272748049, 2128007801, 0),
        (1370431638, 3658043627, 0),
        (3368877113, 2304837669, 0),
        (105822790, 1733576509, 0),
        (1.53223, 3363071920, 0),
    ],
}


@pytest.mark.parametrize("seed", MIXED)
def test_mixed_sequence(seed: int) -> None:
    engine = Engine(seed)
    steps = [
        lambda: uniform.uniform(engine, (3,), F32),
        lambda: normal.normal(engine, (5,), F32),
        lambda: normal.normal(engine, (20,), F32),
        lambda: integers.randperm(engine, 10, I64),
        lambda: integers.randint(engine, (4, 3), -2, 9, I64),
        lambda: uniform.bernoulli(engine, 0.3, (7,), F32),
        lambda: normal.normal(engine, (1,), F32),
        lambda: uniform.uniform(engine, (2, 4), F64),
        lambda: normal.normal(engine, (100,), F32),
        lambda: uniform.uniform(engine, (33,), F32, -0.5, 0.25),
        lambda: integers.randperm(engine, 700, I64),
        lambda: integers.randint(engine, (5,), 0, 2**40, I64),
        lambda: normal.normal(engine, (40,), F16, 1, 3),
        lambda: normal.normal(engine, (2,), F32),
    ]
    for step, (value, place, kept) in zip(steps, MIXED[seed], strict=True):
        result = step()
        state = engine.get_state().tobytes()
        if isinstance(value, float):
            assert round(float(result[-1]), 5) == value
        else:
            assert zlib.crc32(result.tobytes()) == value
        assert (zlib.crc32(state[:5016]), state[5040]) == (place, kept)
        assert result.base is None


@pytest.mark.parametrize(
    "draw, expected",
    [
        (
            lambda e: uniform.uniform(e, (4,), F32),
            [0.8822692632675171, 0.9150039553642273, 0.38286375999450684, 0.9593056440353394],
        ),
        (lambda e: uniform.uniform(e, (3,), F16), [0.88232421875, 0.9150390625, 0.3828125]),
        (lambda e: normal.normal(e, (3,), F64), [0.33669035438385886, 0.1288094051365897, 0.23446236336153173]),
        (
            lambda e: normal.normal(e, (20,), F32)[:5],
            [1.9269152879714966, 1.4872840642929077, 0.9007171988487244, -2.1055209636688232, -0.7581311464309692],
        ),
        (
            lambda e: normal.normal(e, (20,), F32, contiguous=False)[[0, 9, 19]],
            [0.33669036626815796, 0.2673508822917938, -0.7506223320960999],
        ),
        (lambda e: integers.randint(e, (8,), 0, 10, I64), [2, 7, 6, 4, 6, 5, 0, 4]),
        (lambda e: integers.random(e, (4,), np.dtype("uint8")), [102, 179, 92, 14]),
        (lambda e: integers.randperm(e, 10, I64), [2, 6, 1, 8, 4, 5, 0, 9, 3, 7]),
        (lambda e: uniform.bernoulli_each(e, np.array([0.1, 0.5, 0.9, 0.5], F32), F32), [0, 0, 1, 0]),
        (lambda e: samplers.multinomial(e, np.array([0.1, 0.2, 0.3, 0.4], F32), 3), [3, 1, 2]),
        (lambda e: samplers.multinomial(e, np.array([0.1, 0.2, 0.3, 0.4], F32), 6, True), [0, 0, 1, 0, 2, 2]),
        (
            lambda e: samplers.exponential(e, (3,), F64, 2),
            [0.029957007845401073, 0.03248806439669265, 0.06595838999204529],
        ),
        (lambda e: samplers.geometric(e, (6,), F32, 0.2), [13, 13, 10, 14, 3, 4]),
        (lambda e: samplers.cauchy(e, (3,), F64, 1, 2), [-9.824974593994627, -8.987402160112728, -3.8897486534543475]),
        (lambda e: samplers.log_normal(e, (3,), F64), [5.330157080559128, 3.517036776692234, 4.34456103815977]),
        (
            lambda e: rejection.standard_gamma(e, np.array([0.1, 1.0, 5.0])),
            [0.6927260634293273, 0.841549601940394, 1.1093966000580933],
        ),
        (lambda e: rejection.poisson(e, np.array([0.5, 4.0, 30.0], F32)), [0, 1, 18]),
        (lambda e: rejection.binomial(e, np.array([5.0, 40, 1000], F32), np.array([0.5, 0.9, 0.3], F32)), [1, 39, 301]),
        (
            lambda e: rejection.dirichlet(e, np.array([0.5, 2.0, 3.0], F32)),
            [0.4079904556274414, 0.506523609161377, 0.08548595756292343],
        ),
    ],
)
def test_pinned_values(draw: object, expected: list[float]) -> None:
    result = draw(Engine(42))
    np.testing.assert_allclose(result.astype(np.float64), expected, rtol=1e-14)


def test_pinned_large() -> None:
    assert zlib.crc32(normal.normal(Engine(42), (100_000,), F32).tobytes()) == 285774096
    engine = Engine(42)
    assert zlib.crc32(uniform.uniform(engine, (1000,), F32, 0.1, 0.7).tobytes()) == 266520172
    assert zlib.crc32(uniform.uniform(engine, (1000,), F64, 0.1, 0.7).tobytes()) == 3412112686


def test_first_draws() -> None:
    assert Engine(0).random32(4).tolist() == [2357136044, 2546248239, 3071714933, 3626093760]
    assert Engine(0).random64(2).tolist() == [(2357136044 << 32) + 2546248239, (3071714933 << 32) + 3626093760]
    assert Engine().initial_seed() == DEFAULT_SEED == 67280421310721


@pytest.mark.parametrize("sizes", [(1, 2, 3), (623, 1, 1), (624, 624), (625, 1247, 1), (PIECE, 7, 3 * PIECE + 5, 624)])
def test_draws_do_not_depend_on_how_they_are_asked_for(sizes: tuple[int, ...]) -> None:
    engine, other, whole = Engine(5), Engine(5), Engine(5)
    expected = whole.random32(sum(sizes))
    np.testing.assert_array_equal(np.concatenate([engine.random32(n) for n in sizes]), expected)
    np.testing.assert_array_equal(np.concatenate([np.concatenate(list(other.pieces(n))) for n in sizes]), expected)
    assert engine.get_state().tobytes() == other.get_state().tobytes() == whole.get_state().tobytes()


@pytest.mark.parametrize("n", [10, 624, PIECE, 40_000])
@pytest.mark.parametrize("skip", [0, 1, 2, 623])
def test_pairs_of_draws(n: int, skip: int) -> None:
    engine, other = Engine(5), Engine(5)
    engine.raw(skip)
    words = other.random32(skip + 2 * n)[skip:].astype(np.uint64)
    np.testing.assert_array_equal(engine.random64(n), (words[0::2] << 32) | words[1::2])


def test_state_layout() -> None:
    engine = Engine(7)
    fresh = engine.get_state()
    assert fresh.dtype == np.uint8 and fresh.shape == (5056,) and fresh.flags.writeable
    assert fresh[:24].tolist() == [7, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0] + [0] * 8
    uniform.uniform(engine, (5,), F32)
    normal.normal(engine, (3,), F32)
    state = engine.get_state()
    assert state[:28].tolist() == [7] + [0] * 7 + [100, 2, 0, 0, 1, 0, 0, 0, 13] + [0] * 7 + [249, 163, 137, 120]
    assert state[5040:].tolist() == [1] + [0] * 15
    assert not state[5016:5024].any() and state[5024:5032].any()


def test_state_restores_the_kept_samples() -> None:
    engine = Engine(7)
    normal.normal(engine, (3,), F32)
    state = engine.get_state()
    expected = [
        normal.normal(engine, (3,), F64),
        normal.normal(engine, (64,), F32),
        uniform.uniform(engine, (700,), F32),
    ]
    other = Engine(1).set_state(state)
    for want, draw in zip(expected, (3, 64, 700), strict=True):
        got = (
            uniform.uniform(other, (700,), F32)
            if draw == 700
            else normal.normal(other, (draw,), F64 if draw == 3 else F32)
        )
        np.testing.assert_array_equal(got, want)
    state[5048:5056] = np.frombuffer(np.float32(1.5).tobytes() + b"\x01\0\0\0", np.uint8)  # the kept float sample
    assert Engine(1).set_state(state).get_state().tobytes() == state.tobytes()


def test_clone_is_independent() -> None:
    engine = Engine(3)
    normal.normal(engine, (17,), F32)
    other = engine.clone()
    np.testing.assert_array_equal(normal.normal(engine, (33,), F32), normal.normal(other, (33,), F32))
    uniform.uniform(other, (1,), F32)
    assert engine.get_state().tobytes() != other.get_state().tobytes()


def test_entropy() -> None:
    engine = Engine(1)
    normal.normal(engine, (1,), F32)
    seed = engine.seed()
    assert engine.initial_seed() == seed != 1 and 0 <= seed < 2**64
    np.testing.assert_array_equal(normal.normal(engine, (4,), F32), normal.normal(Engine(seed), (4,), F32))


@pytest.mark.parametrize(
    "seed, error, message",
    [
        (2**64, ValueError, "Overflow when unpacking long long"),
        (-(2**63) - 1, ValueError, "Overflow when unpacking long long"),
        (1.5, RuntimeError, "manual_seed expected a long, but got float"),
    ],
)
def test_bad_seed_changes_nothing(seed: object, error: type[Exception], message: str) -> None:
    engine = Engine(1)
    with pytest.raises(error, match=message):
        engine.manual_seed(seed)
    assert engine.initial_seed() == 1


def test_bad_state_changes_nothing() -> None:
    engine = Engine(1)
    before = engine.get_state()
    for state, error, message in (
        (
            before[:-1],
            RuntimeError,
            "Expected a CPUGeneratorImplState of size 5056 but found the input RNG state size to be 5055",
        ),
        (before.astype(np.int8), TypeError, "RNG state must be a torch.ByteTensor"),
        ([1], TypeError, "expected a torch.ByteTensor, but got list"),
        (np.zeros(5056, np.uint8), RuntimeError, "Invalid mt19937 state"),
        (np.repeat(before, 2)[::2], RuntimeError, "RNG state must be contiguous"),
    ):
        with pytest.raises(error) as raised:
            engine.set_state(state)
        assert str(raised.value) == message
        assert np.array_equal(engine.get_state(), before)


def test_uniform_never_reaches_its_upper_bound() -> None:
    for dtype in (F16, F32, F64):
        samples = uniform.uniform(Engine(3), (200_000,), dtype, 1, 1 + 4 * float(np.finfo(dtype).eps))
        assert len(np.unique(samples)) == 4 and samples.min() == 1


def test_fused_multiply_add() -> None:
    source = np.random.default_rng(0)
    a = source.random(3000)
    for b, c in ((0.6, 0.1), (1 / 3, -1e-9), (1.7, 0.3), (-2.5, 1e10), (1e-12, 1.0), (1 + 2**-52, -1.0), (3.0, -1.5)):
        result = fma64(a, b, c)
        exact = [float(Fraction(x) * Fraction(b) + Fraction(c)) for x in a.tolist()]
        assert result.tolist() == exact


def plain_shuffle(target: list[int]) -> list[int]:
    order = list(range(len(target)))
    for i, j in enumerate(target):
        order[i], order[j] = order[j], order[i]
    return order


@pytest.mark.parametrize("n", [1, 2, 3, 7, 100, 3000, 70_000])
def test_shuffle_without_a_loop(n: int) -> None:
    source = np.random.default_rng(n)
    targets = [source.integers(np.arange(n), n), np.arange(n), np.full(n, n - 1), np.minimum(np.arange(n) + 1, n - 1)]
    for target in targets:
        assert integers._shuffle(target).tolist() == plain_shuffle(target.tolist())
    draws = source.integers(0, 2**63, n).astype(np.uint64)
    inside_out = [draw % (i + 1) for i, draw in enumerate(draws.tolist())]
    assert integers._inside_out(draws).tolist() == plain_shuffle(inside_out)


def test_huge_permutations_take_pairs_of_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(integers, "_WIDE_PERMUTATION", 50)
    engine, other = Engine(3), Engine(3)
    target = [draw % (i + 1) for i, draw in enumerate(other.random64(60).tolist())]
    assert integers.randperm(engine, 60, I64).tolist() == plain_shuffle(target)
    assert engine.get_state().tobytes() == other.get_state().tobytes()


@pytest.mark.parametrize("n", [0, 1, 499, 500, 501, 5000])
def test_permutation(n: int) -> None:
    assert sorted(integers.randperm(Engine(n), n, I64).tolist()) == list(range(n))


def test_box_muller_at_the_ends() -> None:
    last = 1 - 2.0**-24
    u = np.array([0, last, 0, last] + [0.25] * 4 + [0, 0, last, last, 0.125, 0.375, 0.625, 0.875], F32)
    samples = u.copy()
    normal.box_muller32(samples)
    radius, angle = np.sqrt(-2 * np.log(1 - u[:8].astype(np.float64))), 2 * math.pi * u[8:].astype(np.float64)
    np.testing.assert_allclose(samples[:8], radius * np.cos(angle), atol=1e-6)
    np.testing.assert_allclose(samples[8:], radius * np.sin(angle), atol=2e-6)


def test_few_normal_samples_are_those_of_one_fill(monkeypatch: pytest.MonkeyPatch) -> None:
    def drawn() -> tuple[list[np.ndarray], np.ndarray]:
        engine = Engine(7)
        made = [
            normal.normal(engine, (n,), F32, mean)
            for mean in (0.0, 1.5)
            for n in (16, 17, 100, 31, 3, 240, 500, 128) * 5
        ]
        return made, engine.get_state()

    monkeypatch.setattr(normal.native, "available", lambda: False)
    samples, state = drawn()
    monkeypatch.setattr(normal, "_fill_ahead", lambda engine, out: False)
    wanted, wanted_state = drawn()
    for got, want in zip(samples, wanted, strict=True):
        np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(state, wanted_state)


def test_c_library_functions_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = normal.normal(Engine(1), (100,), F64), samplers.exponential(Engine(1), (4, 5), F64)
    monkeypatch.setattr(normal, "_FUNCTIONS", {})
    for name in ("log", "log1p", "sin", "cos"):  # as if NumPy's differed from the C library's
        monkeypatch.setattr(np, name, lambda x, out: out)
    result = normal.normal(Engine(1), (100,), F64), samplers.exponential(Engine(1), (4, 5), F64)
    for got, want in zip(result, expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-13)


def test_moments() -> None:
    engine = Engine(0)
    samples = normal.normal(engine, (200_000,), F32, 3, 2)
    assert abs(samples.mean() - 3) < 0.02 and abs(samples.std() - 2) < 0.02
    gamma = rejection.standard_gamma(engine, np.full(20_000, 2.5))
    assert abs(gamma.mean() - 2.5) < 0.05 and abs(gamma.var() - 2.5) < 0.15
    poisson = rejection.poisson(engine, np.full(20_000, 25.0))
    assert abs(poisson.mean() - 25) < 0.2 and abs(poisson.var() - 25) < 1
    binomial = rejection.binomial(engine, np.full(20_000, 100.0), np.full(20_000, 0.3))
    assert abs(binomial.mean() - 30) < 0.2 and abs(binomial.var() - 21) < 1


def test_multinomial_errors() -> None:
    engine = Engine(0)
    before = engine.get_state()
    for weights, count, replacement, message in (
        ([0.5, -1.0], 1, False, "probability tensor contains either `inf`, `nan` or element < 0"),
        ([0.5, np.nan], 2, True, "invalid multinomial distribution (encountering probability entry < 0)"),
        ([0.5, np.inf], 2, True, "invalid multinomial distribution (encountering probability entry = infinity or NaN)"),
        ([0.0, 0.0], 2, False, "invalid multinomial distribution (sum of probabilities <= 0)"),
        ([[1.0, 1.0], [0.0, 0.0]], 2, True, "invalid multinomial distribution (sum of probabilities <= 0)"),
        ([0.5, 0.5], 3, False, "cannot sample n_sample > prob_dist.size(-1) samples without replacement"),
        ([0.5, 0.5], 0, False, "cannot sample n_sample <= 0 samples"),
        ([[[1.0]]], 1, False, "prob_dist must be 1 or 2 dim"),
    ):
        with pytest.raises(RuntimeError) as raised:
            samplers.multinomial(engine, np.array(weights, F32), count, replacement)
        assert str(raised.value) == message
    assert np.array_equal(engine.get_state(), before)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("drawn", [0, 3, 5000])
def test_a_forked_child_draws_on_though_a_thread_of_its_parent_was_drawing(drawn: int) -> None:
    """The engine and NumPy's generator have locks, which nobody in the child would ever release."""
    engine, taken, done = Engine(7), threading.Event(), threading.Event()
    engine.random32(drawn)
    lock = engine._twister().lock

    def hold() -> None:
        with engine.lock, lock:
            taken.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    taken.wait()
    read, write = os.pipe()
    child = os.fork()
    if not child:
        signal.alarm(30)  # ends a child that waits for the lock
        os.write(write, engine.random32(1500).tobytes())
        os._exit(0)
    done.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert os.read(read, 6000) == engine.random32(1500).tobytes()
    os.close(read)
    os.close(write)


@pytest.mark.parametrize(
    "draw",
    [
        lambda engine: uniform.uniform(engine, (3,), F32),
        lambda engine: uniform.uniform(engine, (3,), F64),
        lambda engine: normal.normal(engine, (3,), F64),
        lambda engine: normal.normal(engine, (100,), F32),
        lambda engine: rejection.standard_gamma(engine, np.ones(3)),
        lambda engine: integers.random(engine, (700,), I64),
    ],
)
def test_threads_never_get_the_same_draws(draw: Callable[[Engine], np.ndarray]) -> None:
    """Note [No draw twice]."""
    engine, drawn = Engine(3), []

    def work() -> None:
        for _ in range(400):
            drawn.append(draw(engine).tobytes())

    threads, interval = [threading.Thread(target=work) for _ in range(4)], sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert len(set(drawn)) == 1600


@pytest.mark.parametrize("p", [0.5, 0.3, 1e-5, 0.99, 1 - 2.0**-20])
def test_geometric_samples_have_the_c_librarys_digits(p: float, monkeypatch: pytest.MonkeyPatch) -> None:
    draws = uniform.uniform53(Engine(3), (20_000,))
    draws[:60] = 0.5 ** np.arange(1, 61)  # logarithms beside integers
    draws[60] = 0.0
    monkeypatch.setattr(samplers, "uniform53", lambda engine, shape: draws.copy())
    made = samplers.geometric(Engine(3), draws.shape, np.dtype(np.float64), p)
    assert made.tolist() == [math.ceil(math.log(u) / math.log1p(-p)) if u else math.inf for u in draws.tolist()]


# On 32 bit x86 Python computes floats with 64 bits, and rounds them again. `float()` keeps the compiler from adding literals: its
# result could come from the cache of another Python.
_LARGE = float("1e16")
DOUBLE_ROUNDING = _LARGE + 2.9999 == _LARGE + 4


@pytest.mark.parametrize(
    ("function", "parameters"),
    [
        *[(rejection.poisson, (rate,)) for rate in (1e-5, 0.3, 4.0, 9.9, 10.0, 30.5, 1e6)],
        *[(rejection.binomial, (n, p)) for n in (1, 10, 100, 1e6) for p in (1e-4, 0.25, 0.5, 0.9, 0.999)],
        *[(rejection.standard_gamma, (alpha,)) for alpha in (1.0, 2.5, 30.0)],
    ],
)
def test_samples_made_at_once_are_those_made_one_by_one(
    function: Callable[..., np.ndarray], parameters: tuple[float, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rejection, "compile_loops", lambda *arguments, **named: None)
    monkeypatch.setattr(rejection, "_kernel", rejection._kernel.__wrapped__)
    ends = []
    for ways in (at_once.WAYS, dict.fromkeys(at_once.WAYS, lambda *arguments: False)):
        monkeypatch.setattr(at_once, "WAYS", ways)
        engine = Engine(5)
        made = [function(engine, *(np.full(n, p, float) for p in parameters)) for n in (1, 3, 400, 3000)]
        ends.append((np.concatenate(made).tolist(), engine._next, engine._normal))
    (made, after, kept), (wanted, wanted_after, wanted_kept) = ends
    assert after == wanted_after
    if DOUBLE_ROUNDING:
        np.testing.assert_allclose(made, wanted, rtol=1e-14)
        np.testing.assert_allclose([kept or 0.0], [wanted_kept or 0.0], rtol=1e-14)
    else:
        assert (made, kept) == (wanted, wanted_kept)


def test_a_geometric_sample_of_no_dimension() -> None:
    assert samplers.geometric(Engine(0), (), np.dtype(np.float64), 0.5).shape == ()
