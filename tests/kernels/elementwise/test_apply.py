"""Large elementwise work: the same results as in one piece, bit for bit unless machine code has a function of its own."""

import numpy as np
import pytest

import penlight as torch
from penlight.autograd.modes import NAMESPACE
from penlight.kernels import elementwise, native, parallel
from penlight.kernels.elementwise import apply, attempt, blocks
from penlight.ops.machinery.array_namespace import raw
from penlight.ops.machinery.declare import OPS as OPS_BY_NAME

rng = np.random.default_rng(0)
CHEAP = 1 << 18
SIZE = 3 * CHEAP + 5


@pytest.fixture(autouse=True)
def two_threads(monkeypatch):
    monkeypatch.setattr(blocks, "CHEAP_NUMPY_GRAIN", CHEAP // 2)
    monkeypatch.setattr(parallel, "BACKOFF", 0)  # also where helpers are preempted
    monkeypatch.setattr(parallel, "_alone_until", 0.0)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def array(*shape, dtype=np.float32):
    return (rng.standard_normal(shape) + 0.1).astype(dtype)


def same(a, b):
    np.testing.assert_array_equal(a, b)
    assert a.dtype == b.dtype
    assert a.strides == b.strides


OPERANDS = {
    "flat": lambda d: (array(SIZE, dtype=d), array(SIZE, dtype=d)),
    "number": lambda d: (array(SIZE, dtype=d), 2.5),
    "zero-d": lambda d: (array(SIZE, dtype=d), np.array(2.5, d)),
    "row": lambda d: (array(1031, 800, dtype=d), array(800, dtype=d)),
    "column": lambda d: (array(1031, 800, dtype=d), array(1031, 1, dtype=d)),
    "expanded": lambda d: (np.broadcast_to(np.array(3.0, d), (1031, 800)), array(1031, 800, dtype=d)),
    "transposed": lambda d: (array(800, 1031, dtype=d).T, array(1031, 800, dtype=d)),
    "both transposed": lambda d: (array(800, 1031, dtype=d).T, array(800, 1031, dtype=d).T),
    "strided": lambda d: (array(2 * SIZE, dtype=d)[::2], array(SIZE, dtype=d)),
    "one row": lambda d: (array(1, SIZE, dtype=d), array(SIZE, dtype=d)),
    "columns": lambda d: (array(SIZE, 1, dtype=d), array(SIZE, 1, dtype=d)),
    "outer": lambda d: (array(1031, 1, dtype=d), array(1, 800, dtype=d)),
    "empty": lambda d: (array(0, 5, dtype=d), array(5, dtype=d)),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("case", OPERANDS)
@pytest.mark.parametrize("ufunc", [np.multiply, np.nextafter, np.less], ids=lambda u: u.__name__)
def test_ufunc_by_threads_is_the_ufunc(ufunc, case, dtype):
    operands = OPERANDS[case](dtype)
    same(apply(ufunc, *operands), ufunc(*operands))


RULES = {
    "product": lambda grad, result: grad * result,
    "chain": lambda grad, result: grad * (1 - result * result),
    "several": lambda grad, result: -(grad / result - 0.5 * grad) * (result + grad) ** 2,
    "looks": lambda grad, result: np.where(result > 0, grad, 0.0).astype(grad.dtype),
    "hands on": lambda grad, result: grad,
    "whole": lambda grad, result: grad * (grad.sum() * 0 + 1),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("case", OPERANDS)
@pytest.mark.parametrize("rule", RULES)
def test_rule_by_blocks_is_the_rule(rule, case, dtype):
    operands = OPERANDS[case](dtype)
    made, whole = apply(RULES[rule], *operands), RULES[rule](*operands)
    if rule == "hands on":
        assert made is operands[0]
    else:
        np.testing.assert_array_equal(made, whole)
        assert made.dtype == whole.dtype


@pytest.mark.skipif(not native.available(), reason="nothing is compiled here")
def test_what_is_compiled():
    """Rules that do arithmetic, call ufuncs or other elementwise kernels; not those that look at values, or hand an operand on."""
    x = array(4)
    torch.nn.functional.gelu(torch.ones(1))  # its op is declared when first used
    gelu, relu, sqrt = (OPS_BY_NAME[name].rules["input"] for name in ("_gelu", "relu", "sqrt"))
    for rule, values in [
        (RULES["chain"], (x, x)), (lambda grad, shape: grad * shape[0], (x, (2,))), (sqrt, (x, x, raw)), (relu, (x, x, raw)), (gelu, (x, x, "none", raw)),
    ]:  # fmt: skip
        np.testing.assert_allclose(attempt(rule, values), rule(*values), rtol=1e-6, atol=1e-6)
    for rule, values in [
        (RULES["hands on"], (x, x)), (RULES["whole"], (x, x)), (lambda grad, shape: grad * shape[0], (x, [2])),
        (lambda grad, result: grad if result else -grad, (x, x)),
    ]:  # fmt: skip
        assert attempt(rule, values) is None
    by_word = lambda grad, word: grad * 2 if word == "twice" else -grad
    np.testing.assert_array_equal(attempt(by_word, (x, "twice")), 2 * x)
    np.testing.assert_array_equal(attempt(by_word, (x, "no")), -x)


OPS = {
    "tanh": lambda x, y: x.tanh(),
    "exp": lambda x, y: x.exp(),
    "sigmoid": lambda x, y: x.sigmoid(),
    "relu": lambda x, y: x.relu(),
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "pow": lambda x, y: x**3,
    "sqrt": lambda x, y: (x * x).sqrt(),
    "where": lambda x, y: torch.where(x > 0, x, y),
    "maximum": lambda x, y: torch.maximum(x, y),
    "gelu": lambda x, y: torch.nn.functional.gelu(x),
    "row": lambda x, y: x.view(-1, 1000) * y[:1000],
    "number": lambda x, y: 2 * x + 1,
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", OPS)
def test_ops_large_and_in_one_piece(name, dtype, monkeypatch):
    values = torch.from_numpy(array(300_000, dtype=np.float64))
    values[:4] = torch.tensor([float("nan"), float("inf"), -float("inf"), 0.0])

    def run():
        x, y = (v.clone().to(dtype).requires_grad_() for v in (values, values.flip(0)))
        out = OPS[name](x, y)
        out.backward(torch.ones_like(out))
        return out.detach(), x.grad, y.grad

    made = run()
    monkeypatch.setitem(NAMESPACE, "LARGE", 1 << 60)
    # Native kernels have their own exponential.
    rounding = {torch.float32: 3e-7, torch.float64: 1e-15}.get(dtype, 0) if name in ("tanh", "exp") else 0
    if name == "row" and dtype is torch.float32:
        rounding = 1e-4  # of sums, which are taken in another order
    for a, b in zip(made, run()):
        if b is None:
            assert a is None
        else:
            torch.testing.assert_close(a, b, rtol=rounding, atol=rounding, equal_nan=True)


CODED = {
    "tanh": lambda grad, result: grad * (1 - result * result),
    "quotient": lambda grad, result: -(grad * result) / 3,
    "root": lambda grad, result: grad / (2 * result),
    "square": lambda grad, result: (grad - result) ** 2 + 1.0,
}


@pytest.mark.parametrize("name", CODED)
def test_rules_in_machine_code(name, monkeypatch):
    """The same to the last bit, whether the gradient is an array, one number everywhere, or a number; other dtypes stay with NumPy."""
    rule, result = CODED[name], array(100_003)
    result[:4] = [np.nan, np.inf, -np.inf, 0.0]
    gradients = [
        array(100_003), np.broadcast_to(np.float32(0.7), result.shape), np.array(0.7, np.float32), 0.7
    ]  # fmt: skip
    done = []
    with monkeypatch.context() as patch, np.errstate(all="ignore"):
        patch.setattr(elementwise, "attempt", lambda *args: done.append(attempt(*args)) or done[-1])
        made = [apply(rule, grad, result) for grad in gradients]
    assert [one is not None for one in done] == [native.available()] * len(gradients)
    with np.errstate(all="ignore"):
        for grad, one in zip(gradients, made):
            plain = rule(grad, result)
            assert one.dtype == plain.dtype and one.flags.c_contiguous
            np.testing.assert_array_equal(one, plain)
        for grad, other in [
            (array(100_003)[::-1], result), (array(100_003, dtype=float), array(100_003, dtype=float)),
            (array(1000, 64), array(64)), (array(64, 1000), array(64, 1)),
        ]:  # fmt: skip
            one, plain = apply(rule, grad, other), rule(grad, other)
            assert one.dtype == plain.dtype and one.strides == plain.strides
            np.testing.assert_array_equal(one, plain)


def test_second_derivative_and_forward_mode_of_large_arrays():
    x = torch.from_numpy(array(200_000, dtype=np.float64)).requires_grad_()
    (g,) = torch.autograd.grad(x.tanh().sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    t = x.detach().tanh()
    torch.testing.assert_close(h, -2 * t * (1 - t * t))
    _, tangent = torch.func.jvp(torch.tanh, (x.detach(),), (torch.ones_like(t),))
    torch.testing.assert_close(tangent, 1 - t * t)


def test_number_of_threads():
    assert torch.get_num_threads() == 2
    assert parallel.thread_count() == 2
    seen = []
    parallel.parallel_for(lambda low, high: seen.append((low, high)), 10)
    assert sorted(seen) == [(0, 2), (2, 5), (5, 7), (7, 10)]
    seen.clear()
    parallel.parallel_for(lambda low, high: seen.append((low, high)), 10, 4)
    assert sorted(seen) == [(0, 5), (5, 10)]
    torch.set_num_threads(1)
    seen.clear()
    parallel.parallel_for(lambda low, high: seen.append((low, high)), 10)
    assert seen == [(0, 10)]


def test_work_inside_of_work_stays_in_its_thread():
    seen = []

    def body(low, high):
        parallel.parallel_for(lambda a, b: seen.append((low, a, b)), 6)

    parallel.parallel_for(body, 2)
    assert sorted(seen) == [(0, 0, 6), (1, 0, 6)]
    assert parallel.thread_count() == 2


def test_an_error_in_one_thread_is_raised_and_nothing_stays_locked():
    def body(low, high):
        if low == 3:
            raise KeyError("second half")

    with pytest.raises(KeyError, match="second half"):
        parallel.parallel_for(body, 4)
    assert parallel.thread_count() == 2


def test_blas_gets_its_threads_back():
    switch = parallel._switch()
    if not isinstance(switch, tuple):
        pytest.skip("this BLAS has no function that sets how many threads it uses")
    with parallel.blas_alone():
        assert switch[0]() == 1
        with parallel.blas_alone():
            assert switch[0]() == 1
        assert switch[0]() == 1
        torch.set_num_threads(2)
        assert switch[0]() == 1
    assert switch[0]() == 2


def test_a_forked_child_makes_threads_of_its_own():
    import os

    if not hasattr(os, "fork"):
        pytest.skip("this system cannot fork a process")
    x = torch.ones(1_000_000)
    x.exp()
    child = os.fork()
    if child == 0:
        ok = bool((x.exp() == x.exp()[0]).all()) and parallel._helpers == 1
        os._exit(0 if ok else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


FUNCTIONS = "sinh cosh expm1 log1p exp2 log2 log10 tan atan asinh exp log tanh sin cos sigmoid logical_not"


@pytest.mark.parametrize("size", [600, 5_000, 40_000])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
def test_sizes_between(size, dtype):
    """Each function on arrays of every size, against float64."""
    values = torch.from_numpy(array(size, dtype=np.float64)).clamp(-4, 4).to(dtype)
    positive = values.abs() + 0.25
    digits = {torch.float32: 2e-6, torch.float64: 1e-14, torch.float16: 4e-3}[dtype]
    for name in FUNCTIONS.split():
        x = positive if name.startswith("log") and name != "logical_not" else values
        if name == "tan":
            x = x.clamp(-1.2, 1.2)
        x = x.clone().requires_grad_()
        out, wide = getattr(torch, name)(x), x.detach().double().requires_grad_()
        exact = getattr(torch, name)(wide)
        torch.testing.assert_close(out.double(), exact.double(), rtol=digits, atol=digits)
        if out.requires_grad:
            (grad,), (expected,) = torch.autograd.grad(out.sum(), x), torch.autograd.grad(exact.sum(), wide)
            torch.testing.assert_close(grad.double(), expected, rtol=2 * digits, atol=2 * digits)


@pytest.mark.parametrize("size", [5, 40_000])
def test_in_place_in_one_pass(size):
    x, y = torch.from_numpy(array(size)), torch.from_numpy(array(size)).flip(0)
    total, less = x.clone(), x.clone()
    total.add_(y, alpha=0.5), less.sub_(y, alpha=2)
    torch.testing.assert_close(total, x + 0.5 * y)
    torch.testing.assert_close(less, x - 2 * y)
    assert total.zero_().eq(0).all() and total._version == 2
    assert total.fill_(1.5).eq(1.5).all() and total.fill_(2).eq(2).all()
    assert total.copy_(y).equal(y) and total.copy_(y[:1]).eq(y[0]).all()
    own = x.clone()
    own.add_(own, alpha=2)
    torch.testing.assert_close(own, 3 * x)


def test_remainders_of_whole_numbers():
    x = torch.arange(-20, 20)
    for other in (7, -7, 1, -3):
        assert (x % other).tolist() == [v % other for v in range(-20, 20)]
    assert (x.to(torch.uint8) % 7).tolist() == [v % 256 % 7 for v in range(-20, 20)]
