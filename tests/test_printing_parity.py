"""Printing against real PyTorch: the same values, options and history must give the same characters."""

from __future__ import annotations

import contextlib
import math

import numpy as np
import pytest

from penlight.tensor import printing

torch = pytest.importorskip("torch")
ml_dtypes = pytest.importorskip("ml_dtypes")

pytestmark = pytest.mark.parity

INTEGERS = [torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.uint16, torch.uint32, torch.uint64]
FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
COMPLEX = [torch.complex64, torch.complex128]
FLOAT8 = [torch.float8_e5m2, torch.float8_e4m3fn, torch.float8_e5m2fnuz, torch.float8_e4m3fnuz]
DTYPES = FLOATS * 4 + COMPLEX * 4 + INTEGERS + [torch.bool] * 2 + FLOAT8


class Stub:
    """A tensor as far as printing looks at it, with the values and the history of a torch tensor."""

    def __init__(self, original):
        self.original = original
        self._array = to_numpy(original.detach())
        self.dtype = original.dtype

    requires_grad = property(lambda self: self.original.requires_grad)
    grad_fn = property(lambda self: self.original.grad_fn)


def to_numpy(tensor):
    """The values as an ndarray, with the dtypes that NumPy has not from ml_dtypes, strides kept."""
    name = str(tensor.dtype).removeprefix("torch.")
    if name == "bfloat16":
        return tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    if name.startswith("float8"):
        return tensor.view(torch.uint8).numpy().view(getattr(ml_dtypes, name))
    return tensor.numpy()


@pytest.fixture(autouse=True)
def clean_state(monkeypatch):
    """Both libraries with default options before and after, and stubs that print as plain tensors."""
    monkeypatch.setattr(printing, "is_plain", lambda kind: kind is Stub)
    monkeypatch.setattr(printing, "default_dtype", torch.get_default_dtype)
    both(profile="default")
    yield
    both(profile="default")
    torch.set_default_dtype(torch.float32)


def both(**options):
    torch.set_printoptions(**options)
    printing.set_printoptions(**options)
    assert printing.get_printoptions() == torch._tensor_str.get_printoptions()


def assert_same(tensor, note=""):
    assert printing.tensor_repr(Stub(tensor)) == repr(tensor), note


# -- random cases -----------------------------------------------------------------------------------------------------


def random_reals(rng, shape):
    """Float64 values of one of many characters: integers, narrow, wide, at the thresholds, with special values."""
    sign = rng.choice([-1.0, 1.0], shape) if rng.random() < 0.6 else 1.0
    match rng.integers(7):
        case 0:
            values = rng.standard_normal(shape)
        case 1:
            values = rng.integers(0, 10 ** int(rng.integers(1, 12)), shape).astype(np.float64)
        case 2:
            values = 10.0 ** rng.uniform(*sorted(rng.uniform(-9, 12, 2)), shape)
        case 3:
            values = rng.choice([1e-4, 9.9999e-5, 1e8, 1.0001e8, 1e5, 100.0, 0.1, 999.95, 0.99995, 1.0], shape)
        case 4:
            values = 10.0 ** rng.uniform(-320, 308, shape)
        case 5:
            values = np.full(shape, rng.choice([0.0, 1.0, 0.5, 1e-6, 1e9, 1e38, 1e300, 5e-324, 2.0**24]))
        case _:
            values = rng.integers(0, 100, shape) / rng.choice([1.0, 2.0, 4.0, 8.0, 3.0])
    values = np.asarray(values * sign)
    if rng.random() < 0.4:
        special = rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0], shape)
        values = np.where(rng.random(shape) < rng.choice([0.1, 0.5, 1.0]), special, values)
    return values


def random_values(rng, dtype, shape):
    if dtype is torch.bool:
        return torch.from_numpy(np.asarray(rng.random(shape) < rng.choice([0.0, 0.5, 1.0])))
    if dtype in INTEGERS:
        info = torch.iinfo(dtype)
        reach = int(min(info.max, 10 ** int(rng.integers(1, 20))))
        values = rng.integers(max(info.min, -reach), reach, shape, dtype=np.uint64 if info.min == 0 else np.int64)
        return torch.from_numpy(np.asarray(values)).to(dtype)
    values = torch.from_numpy(random_reals(rng, shape))
    if dtype in COMPLEX:
        values = torch.complex(values, torch.from_numpy(random_reals(rng, shape)))
    return values.to(dtype)


def random_tensor(rng):
    low = 0 if rng.random() < 0.15 else 1
    high = int(rng.choice([3, 5, 9]))
    ndim = int(rng.choice([0, 1, 1, 1, 2, 2, 3, 4]))
    shape = tuple(rng.integers(low, high if ndim > 1 else 2 * high * high, ndim).tolist())
    if math.prod(shape) > 300:
        shape = tuple(min(n, 4) for n in shape)
    dtype = DTYPES[rng.integers(len(DTYPES))]
    tensor = random_values(rng, dtype, shape)
    if rng.random() < 0.2:
        tensor = tensor.permute(rng.permutation(tensor.ndim).tolist())
    if tensor.ndim and rng.random() < 0.2:
        tensor = tensor[::2]
    if rng.random() < 0.3 and (dtype in FLOATS or dtype in COMPLEX):
        tensor = tensor.detach().requires_grad_()
        if rng.random() < 0.5:
            tensor = tensor.clone() if rng.random() < 0.5 else tensor.view(tensor.shape)
    return tensor


def random_options(rng):
    if rng.random() < 0.3:
        return {"profile": str(rng.choice(["default", "short", "full"]))}
    options = {"profile": "default"}
    if rng.random() < 0.5:
        options["precision"] = int(rng.integers(0, 9))
    if rng.random() < 0.6:
        options["threshold"] = float(rng.choice([0, 1, 5, 20, 100, math.inf]))
    if rng.random() < 0.5:
        options["edgeitems"] = int(rng.integers(0, 5))
    if rng.random() < 0.5:
        options["linewidth"] = rng.choice([-3, 1, 10, 20, 30, 40.5, 60, 79, 100, 200]).item()
    if rng.random() < 0.4:
        options["sci_mode"] = bool(rng.random() < 0.5)
    return options


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
@pytest.mark.parametrize("seed", range(20))
def test_random_tensors_under_random_options(seed):
    rng = np.random.default_rng(seed)
    for case in range(200):
        if case % 5 == 0:
            options = random_options(rng)
            both(**options)
            torch.set_default_dtype(FLOATS[rng.integers(4)] if rng.random() < 0.3 else torch.float32)
        tensor = random_tensor(rng)
        assert_same(tensor, f"case {case}: {tensor.dtype} {tuple(tensor.shape)} {options}")


# -- chosen cases -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bool, torch.complex64, torch.bfloat16])
@pytest.mark.parametrize(
    "shape",
    [(1000,), (1001,), (7, 150), (150, 7), (6, 6, 6, 6), (7, 7, 7, 7), (2, 2, 2, 2, 2, 40), (1, 1, 1001), (2000, 1)],
)
def test_summaries_of_large_tensors(dtype, shape):
    values = random_values(np.random.default_rng(0), dtype, shape)
    assert_same(values)
    assert_same(values.transpose(0, -1))


def test_summary_takes_its_format_from_the_shown_elements_only():
    values = torch.arange(2000.0)
    values[1000] = 1e20
    assert_same(values)
    values[1] = 0.5
    assert_same(values)


@pytest.mark.parametrize("length", range(40, 84))
def test_where_suffixes_wrap(length):
    both(profile="default", sci_mode=False)
    for value in (10.0 ** (length - 10), 0.0):
        leaf = torch.tensor([value], dtype=torch.float64, requires_grad=True)
        assert_same(leaf)
        assert_same(leaf * 1)
        assert_same(torch.stack([leaf, leaf]) * 1)


@pytest.mark.parametrize("edgeitems", [0, 1, 3])
@pytest.mark.parametrize("threshold", [0, 1, 4, 1000])
def test_small_tensors_around_the_threshold(edgeitems, threshold):
    both(edgeitems=edgeitems, threshold=threshold)
    for shape in [(), (1,), (2,), (3,), (8,), (1, 1), (2, 3), (3, 2), (7, 1), (1, 7), (2, 1, 7), (0,), (0, 3)]:
        for dtype in (torch.float32, torch.int32, torch.complex64):
            assert_same(torch.ones(shape, dtype=dtype))


def test_every_float16_and_bfloat16_that_is_a_power_of_two():
    for dtype in (torch.float16, torch.bfloat16):
        for exponent in range(-140, 128):
            assert_same(torch.tensor([2.0**exponent, 1.0], dtype=torch.float64).to(dtype))


def test_many_dimensions():
    assert_same(torch.arange(4.0).reshape((1,) * 20 + (2, 2)))
    assert_same(torch.arange(4096.0).reshape((2,) * 12))


# -- history, subclasses ----------------------------------------------------------------------------------------------


def test_history_of_views_and_custom_functions():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    x = torch.arange(4.0, requires_grad=True)
    written = x * 1
    written[:2].mul_(3)
    assert "CopySlices" in repr(written)
    first, _ = torch.unbind((x * 1).view(2, 2))
    with torch.no_grad():
        first.mul_(2)
    assert "Invalid" in repr(first)
    for tensor in (x, x * 2, x.sum(), Double.apply(x), written, first, x.detach(), x[:0], x.view(2, 2).t()):
        assert_same(tensor)


def test_subclasses_print_their_name(monkeypatch):
    celsius = type("Celsius", (torch.Tensor,), {})
    stub, stub_parameter = (type("Celsius", (Stub,), {}) for _ in range(2))
    monkeypatch.setattr(printing, "PARAMETER_TYPES", {stub_parameter})
    for plain in (torch.randn(30), torch.ones(0, 2), torch.ones(2, requires_grad=True), torch.randn(50, 50)):
        tensor = plain.as_subclass(celsius)
        assert printing.tensor_repr(stub(tensor)) == repr(tensor)
        parameter = torch.nn.Parameter(tensor.detach())
        assert printing.tensor_repr(stub_parameter(parameter)) == repr(parameter)


def test_tangents_and_given_contents():
    forward_ad = torch.autograd.forward_ad
    with forward_ad.dual_level():
        for primal in (torch.tensor(1.0), torch.ones(2, 3), torch.ones(2, 3, requires_grad=True)):
            tangent = torch.full_like(primal, 2.0)
            dual = forward_ad.make_dual(primal, tangent)
            assert printing.tensor_repr(Stub(dual), tangent=forward_ad.unpack_dual(dual).tangent) == repr(dual)
    x = torch.ones(3, dtype=torch.int8)
    assert printing.tensor_repr(Stub(x), tensor_contents="<hidden>") == x.__repr__(tensor_contents="<hidden>")


# -- options ----------------------------------------------------------------------------------------------------------


def test_options_in_sequence():
    sequence = [
        {"precision": 2, "sci_mode": True},
        {"threshold": 7},  # leaves the precision, takes sci_mode back to automatic
        {"profile": "full", "linewidth": 40},
        {"edgeitems": 1, "sci_mode": False},
        {"profile": "short"},
        {},
    ]
    for options in sequence:
        both(**options)
        assert_same(torch.linspace(0, 1, 9))
    torch.set_printoptions(5, 6, 7, 90, "full", True)
    printing.set_printoptions(5, 6, 7, 90, "full", True)
    assert printing.get_printoptions() == torch._tensor_str.get_printoptions()


def test_context_manager_restores():
    both(precision=3, sci_mode=True)
    x = torch.tensor([0.5])
    with contextlib.ExitStack() as stack:
        stack.enter_context(torch._tensor_str.printoptions(precision=1))
        stack.enter_context(printing.printoptions(precision=1))
        assert_same(x)
    assert_same(x)
    assert printing.get_printoptions() == torch._tensor_str.get_printoptions()


@pytest.mark.parametrize("precision", ["3", np.int64(2), np.uint8(0)])
def test_odd_but_working_options(precision):
    both(precision=precision)
    assert_same(torch.tensor([0.123456]))
