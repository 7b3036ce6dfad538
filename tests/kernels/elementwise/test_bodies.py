"""Bodies in NumPy as machine code: the same results, and what is left to NumPy."""

import warnings

import numpy as np
import pytest

from penlight.kernels import elementwise, loss, native
from penlight.kernels.compiler import ufuncs
from penlight.kernels.elementwise import activation, as_kernel, attempt, plans
from penlight.kernels.elementwise.strategies import COMPILED

here = pytest.mark.skipif(not native.available(), reason="this machine cannot run AVX2 code")
ODD = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-42, -1e-42, 200.0, -200.0, 3.0, -3.0, 0.5, -0.5, 22.0, 6.0, -6.0]


def noise(size, seed=0, scale=1.0):
    return (np.random.default_rng(seed).standard_normal(size) * scale).astype(np.float32)


def _noted(done, result):
    if result is not None:
        done.append(result)
    return result


def both_ways(monkeypatch, function, *arguments, runs=1):
    """What a kernel gives in machine code, if it has any, and in NumPy."""
    done = []
    with monkeypatch.context() as patch:
        patch.setattr(elementwise, "attempt", lambda *args: _noted(done, attempt(*args)))
        machine = function(*arguments)
    assert len(done) == runs
    with monkeypatch.context() as patch:
        patch.setattr(native, "available", lambda: False)
        return machine, function(*arguments)


# Name, the arguments behind the arrays, whether the result is the same to the last bit.
ONE = [
    ("sigmoid", (), False), ("silu", (), False), ("gelu", ("none",), True), ("gelu", ("tanh",), False),
    ("elu", (1.5, 1.25, 0.5), False), ("softplus", (2.0, 15.0), False), ("logsigmoid", (), False), ("mish", (), False),
    ("hardsigmoid", (), True), ("hardswish", (), True), ("leaky_relu", (0.1,), True), ("leaky_relu", (-2.0,), True),
    ("softshrink", (), True), ("hardshrink", (), True), ("threshold", (0.25, 7.0), True),
]  # fmt: skip
TWO = [
    ("threshold_backward", (0.0,), True), ("silu_backward", (), False),
    ("gelu_backward", ("none",), False), ("gelu_backward", ("tanh",), False), ("elu_backward", (1.5, 1.25, 0.5), False),
    ("elu_backward", (1.5, 1.25, 0.5, True), True), ("softplus_backward", (2.0, 15.0), False), ("logsigmoid_backward", (), False),
    ("mish_backward", (), False), ("hardtanh_backward", (-2.0, 1.0), True), ("hardsigmoid_backward", (), True),
    ("hardswish_backward", (), True), ("leaky_relu_backward", (0.1,), True), ("shrink_backward", (), True),
]  # fmt: skip


def check(machine, plain, same):
    assert machine.dtype == plain.dtype and machine.shape == plain.shape
    if same:
        np.testing.assert_array_equal(machine, plain)
    else:
        np.testing.assert_allclose(machine, plain, rtol=2e-6, atol=3e-7)


@here
@pytest.mark.parametrize("extra", [0, 1, 7])
@pytest.mark.parametrize("name, options, same", ONE, ids=lambda v: str(v))
def test_functions(monkeypatch, name, options, same, extra):
    x = noise(COMPILED + extra, scale=3.0)
    x[: len(ODD)] = ODD
    check(*both_ways(monkeypatch, getattr(activation, name), x, *options), same)


@here
@pytest.mark.parametrize("extra", [0, 1, 7])
@pytest.mark.parametrize("name, options, same", TWO, ids=lambda v: str(v))
def test_gradients(monkeypatch, name, options, same, extra):
    x, grad = noise(COMPILED + extra, scale=3.0), noise(COMPILED + extra, seed=1).clip(-1, 1)
    x[: len(ODD)] = ODD
    check(*both_ways(monkeypatch, getattr(activation, name), grad, x, *options), same)
    # the gradient of a sum is one number everywhere
    grad = np.broadcast_to(np.float32(0.75), x.shape)
    check(*both_ways(monkeypatch, getattr(activation, name), grad, x, *options), same)


@here
def test_gradient_of_gelu_far_out():
    from math import erf, exp, pi, sqrt

    x = np.linspace(-12, 12, COMPILED + 5).astype(np.float32)
    exact = [0.5 * (1 + erf(v / sqrt(2))) + v * exp(-v * v / 2) / sqrt(2 * pi) for v in x.tolist()]
    result = activation.gelu_backward(np.ones_like(x), x)
    np.testing.assert_allclose(result, exact, rtol=0, atol=3e-7)
    assert (result[x < -6.01] == 0).all() and (result[x > 6.01] == 1).all()
    assert np.isnan(activation.gelu_backward(np.ones_like(x), np.full_like(x, np.inf))).all()


@here
def test_views_and_other_dtypes(monkeypatch):
    x = noise((90, 70), scale=2.0)
    check(*both_ways(monkeypatch, activation.silu, x.T), False)
    half = x.astype(np.float16)
    machine, plain = both_ways(monkeypatch, activation.silu, half)
    assert machine.dtype == np.float16
    np.testing.assert_allclose(machine, plain, rtol=1e-3)
    machine, plain = both_ways(monkeypatch, activation.silu, x.astype(float))
    assert machine.dtype == np.float64
    np.testing.assert_allclose(machine, plain, rtol=1e-15)
    whole = np.arange(6300).reshape(90, 70)
    machine, plain = both_ways(monkeypatch, activation.relu, whole, runs=0)
    np.testing.assert_array_equal(machine, plain)


@here
def test_every_ufunc_that_is_known(monkeypatch):
    x, y = noise(COMPILED + 3), noise(COMPILED + 3, seed=1)
    x[: len(ODD)] = ODD
    y[: len(ODD)] = ODD[::-1]
    partial = {np.sin, np.cos, np.tan, np.fmod, np.remainder, np.floor_divide}  # see Note [Partial functions]
    for ufunc in ufuncs.UFUNCS.keys() - {np.power} - partial:
        arrays = (x, y)[: ufunc.nin]

        def body(*blocks):
            ufunc(*blocks[:-1], out=blocks[-1])  # noqa: B023

        machine, plain = both_ways(monkeypatch, lambda: as_kernel(body, len(arrays))(*arrays))  # noqa: B023
        np.testing.assert_allclose(
            machine, plain, rtol=5e-7, atol=1e-7 * (ufunc is np.logaddexp), err_msg=ufunc.__name__
        )
    for ufunc in ufuncs.COMPARISONS:

        def choose(a, b, out):
            out[...] = a
            chosen = ufunc(a, 0.5)  # noqa: B023
            chosen &= ~ufunc(b, 0.0)  # noqa: B023
            chosen |= ufunc(0.25, a)  # noqa: B023
            activation.blend(np.full(1, 9, np.float32), chosen, out)

        check(*both_ways(monkeypatch, lambda: as_kernel(choose, 2)(x, y)), True)


def untraceable_bodies():
    def looks_at_values(x, out):
        np.add(x, x.max(), out)

    def decides(x, out):
        out[...] = x
        if (x > 0).all():
            out += 1.0

    def asks_whether(x, out):
        out[...] = x
        if x:
            out += 1.0

    def unknown(x, out):
        np.cbrt(x, out)

    def wide(x, out):
        np.add(x, np.float64(1e-9), out, casting="same_kind")

    def idle(x, out):
        x + 1.0

    def indexed(x, out):
        out[0] = x[0]

    return [looks_at_values, decides, asks_whether, unknown, wide, idle, indexed]


@here
@pytest.mark.parametrize("body", untraceable_bodies(), ids=lambda body: body.__name__)
def test_what_is_left_to_numpy(body):
    x = noise(COMPILED)
    assert not plans.update(body, [x, np.empty_like(x)], [])
    assert attempt(as_kernel(body, 1), (x,)) is None


@here
def test_numbers_that_are_passed():
    x, out = noise(100), np.empty(100, np.float32)
    kernels = len(plans._kernels)
    for number in (2.0, 3.0, np.inf):
        body = lambda x, out, a, b: (np.multiply(x, a, out), np.subtract(b, out, out))
        assert plans.update(body, [x, out], [number, 1.0])
        np.testing.assert_array_equal(out, 1 - x * np.float32(number))
    assert len(plans._kernels) == kernels + 1
    # what Python would compute in float64 is not computed in float32
    assert not plans.update(lambda x, out, a: np.multiply(x, 1 - a, out), [x, out], [0.999])
    assert not plans.update(lambda x, out, a: np.multiply(x, 2.0 if a < 0.5 else 3.0, out), [x, out], [0.999])


@here
def test_numbers_that_are_held_are_part_of_a_body():
    x, out = noise(100), np.empty(100, np.float32)

    def scaled(factor):
        return lambda x, out: np.multiply(x, factor, out)

    done = 0
    for factor in [2.0, 3.0, -0.0, 0.0, np.nan, np.nan, 3.0]:
        assert plans.update(scaled(factor), [x, out], [])
        np.testing.assert_array_equal(out, x * np.float32(factor))
        np.testing.assert_array_equal(np.signbit(out), np.signbit(x * np.float32(factor)))
    for factor in range(100, 300):  # not a kernel for each
        done += plans.update(scaled(float(factor)), [x, out], [])
    assert done < 70
    assert plans.update(scaled(3.0), [x, out], [])


@here
def test_arrays_are_updated_in_place():
    def body(p, m, g):
        m *= 0.5
        m += g
        p -= m

    p, m, g = noise(77), noise(77, seed=1), noise(77, seed=2)
    expected_m = m * np.float32(0.5) + g
    expected_p = p - expected_m
    held = g.copy()
    assert plans.update(body, [p, m, g], [])
    np.testing.assert_array_equal(m, expected_m)
    np.testing.assert_array_equal(p, expected_p)
    np.testing.assert_array_equal(g, held)


@here
def test_refuses_arrays_of_other_sizes():
    with pytest.raises(ValueError, match=r"got arrays of \[6, 5\]"):
        plans.update(lambda x, out: np.add(x, 1.0, out), [noise(6), noise(5)], [])


@here
def test_nothing_is_done_to_nothing():
    out = np.empty((0, 3), np.float32)
    assert plans.update(lambda x, out: np.add(x, 1.0, out), [noise((0, 3)), out], [])


LOSSES = [
    ("mse_loss", ()), ("huber_loss", (0.5,)), ("smooth_l1_loss", (0.3,)), ("smooth_l1_loss", (0.0,)),
]  # fmt: skip


@here
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("name, options", LOSSES, ids=lambda v: str(v))
def test_losses(monkeypatch, name, options, reduction):
    x, target = noise(COMPILED + 1234, scale=2.0), noise(COMPILED + 1234, seed=1)
    totals = []
    monkeypatch.setattr(plans, "total", lambda *args, run=plans.total: totals.append(run(*args)) or totals[-1])
    runs = int(reduction == "none")
    machine, plain = both_ways(monkeypatch, getattr(loss, name), x, target, reduction, *options, runs=runs)
    np.testing.assert_allclose(machine, plain, rtol=1e-6)
    assert [total is not None for total in totals] == ([] if runs else [True, False])
    for factor in (1.5, -2.0, np.inf) if name != "mse_loss" else ():  # whose gradient is a rule of the op
        grad = np.full(x.shape if reduction == "none" else (), factor, np.float32)
        check(
            *both_ways(monkeypatch, getattr(loss, f"{name}_backward"), grad, x, target, reduction, *options), same=True
        )


@here
@pytest.mark.parametrize("reduction", ["none", "mean"])
@pytest.mark.parametrize("weighted", [False, True])
def test_binary_cross_entropies(monkeypatch, weighted, reduction):
    size = COMPILED + 1
    x, target, p = noise(size, scale=5.0), abs(noise(size, 1)).clip(0, 1), abs(noise(size, 2)).clip(0, 1)
    x[:9] = ODD[3:12]
    weights = (abs(noise(size, 3)), np.array([2.0], np.float32)) if weighted else (None, None)
    grad = noise(size, 4) if reduction == "none" else np.array(0.5, np.float32)
    whole = int(reduction == "none")
    for function, arguments, runs in [
        (loss.bce_with_logits, (x, target, *weights), whole), (loss.bce_with_logits_backward, (grad, x, target, *weights), 1),
        (loss.bce, (p, target, weights[0]), whole), (loss.bce_backward, (grad, p, target, weights[0]), 1),
    ]:  # fmt: skip
        machine, plain = both_ways(monkeypatch, function, *arguments, reduction, runs=runs)
        np.testing.assert_allclose(machine, plain, rtol=3e-6, atol=3e-7)


@here
@pytest.mark.parametrize("size", [1, 7, 4095, 4096, 4097, 3 * 4096, 300_001])
def test_sums(size):
    x, y = noise(size), noise(size, seed=1)
    exact = (x.astype(float) * y).sum()
    result = plans.total(as_kernel(lambda x, y, out: np.multiply(x, y, out), 2), [x, y], ())
    assert result == pytest.approx(exact, rel=1e-5, abs=1e-4)
    result = plans.total(as_kernel(lambda x, y, out, a: np.multiply(y, a, out), 2), [x, np.full_like(x, 0.5)], (3.0,))
    assert result == pytest.approx(1.5 * size)
    x[size // 2] = np.nan
    assert np.isnan(plans.total(as_kernel(lambda x, out: np.square(x, out), 1), [x], ()))


@here
def test_sum_of_nothing():
    assert plans.total(as_kernel(lambda x, out: np.square(x, out), 1), [noise(0)], ()) == 0


def test_parameters_that_must_not_be_written_to():
    """As in NumPy: an error, and nothing is changed. A file that is mapped for reading would end the process."""
    import penlight as torch

    data = np.ones(50_000, np.float32)
    data.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        weight = torch.from_numpy(data).requires_grad_()
    weight.grad = torch.ones(50_000)
    for kind in (torch.optim.SGD, torch.optim.Adam):
        with pytest.raises(ValueError, match="read-only"):
            kind([weight], lr=0.1).step()
    assert (data == 1).all()
