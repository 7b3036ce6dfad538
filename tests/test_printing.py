"""Printing with pinned outputs; every expected text was printed by torch 2.13."""

from __future__ import annotations

import math

import numpy as np
import pytest

from penlight.tensor import printing

nan, inf = np.nan, np.inf
f4, f8, c8, c16 = np.float32, np.float64, np.complex64, np.complex128

CASES = [
    ("int-like floats", np.array([1, 2, 10], f4), {}, "tensor([ 1.,  2., 10.])"),
    ("one fraction", np.array([1, 2.5, 10], f4), {}, "tensor([ 1.0000,  2.5000, 10.0000])"),
    ("rounding", np.array([0.00015, 0.12345, 0.99995], f4), {}, "tensor([1.5000e-04, 1.2345e-01, 9.9995e-01])"),
    (
        "negative",
        np.array([[-1.5, 2], [3, -40]], f4),
        {},
        ("tensor([[ -1.5000,   2.0000],\n        [  3.0000, -40.0000]])"),
    ),
    ("nan and inf in integers", np.array([1, nan, inf, -inf], f4), {}, "tensor([1., nan, inf, -inf])"),
    ("nan and inf in fractions", np.array([1.5, nan, inf, -inf], f4), {}, "tensor([1.5000,    nan,    inf,   -inf])"),
    ("only specials", np.array([nan, inf, -inf, 0], f4), {}, "tensor([nan, inf, -inf, 0.])"),
    ("negative zero", np.array([-0.0, 0, 1], f4), {}, "tensor([-0., 0., 1.])"),
    ("negative zero among fractions", np.array([-0.0, 0, 1.5], f4), {}, "tensor([-0.0000, 0.0000, 1.5000])"),
    ("ratio of exactly 1000", np.array([0.5, 500], f4), {}, "tensor([  0.5000, 500.0000])"),
    ("ratio above 1000", np.array([0.5, 500.5], f4), {}, "tensor([5.0000e-01, 5.0050e+02])"),
    ("exactly 1e8", np.array([1e8], f4), {}, "tensor([100000000.])"),
    ("above 1e8", np.array([100000008], f4), {}, "tensor([1.0000e+08])"),
    ("just above 1e-4", np.array([0.000101], f4), {}, "tensor([0.0001])"),
    ("exactly 1e-4", np.array([1e-4], f8), {}, "tensor([0.0001], dtype=torch.float64)"),
    ("below 1e-4", np.array([0.00009], f4), {}, "tensor([9.0000e-05])"),
    ("float32 extremes", np.array([1e-45, 3.4028235e38], f4), {}, "tensor([1.4013e-45, 3.4028e+38])"),
    (
        "float64 extremes",
        np.array([5e-324, 1.7976931348623157e308], f8),
        {},
        "tensor([4.9407e-324, 1.7977e+308], dtype=torch.float64)",
    ),
    (
        "sci with specials",
        np.array([1e10, nan, -inf, 0, -0.0], f4),
        {},
        "tensor([1.0000e+10,        nan,       -inf, 0.0000e+00, -0.0000e+00])",
    ),
    (
        "three-digit exponent",
        np.array([1e-100, 1e5], f8),
        {},
        "tensor([1.0000e-100,  1.0000e+05], dtype=torch.float64)",
    ),
    (
        "zeros overrun the line",
        np.zeros(30, f4),
        {},
        (
            "tensor([0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0.,\n"
            "        0., 0., 0., 0., 0., 0.])"
        ),
    ),
    (
        "nans overrun the line",
        np.full(26, nan, f4),
        {},
        (
            "tensor([nan, nan, nan, nan, nan, nan, nan, nan, nan, nan, nan, nan, nan, nan, nan, nan, nan, nan, nan, nan, nan, nan, nan, nan,\n"
            "        nan, nan])"
        ),
    ),
    ("scalar float", np.array(3, f4), {}, "tensor(3.)"),
    ("scalar fraction", np.array(-0.25, f4), {}, "tensor(-0.2500)"),
    ("scalar small", np.array(1e-7, f4), {}, "tensor(1.0000e-07)"),
    ("scalar nan", np.array(nan, f4), {}, "tensor(nan)"),
    ("scalar int", np.array(-7), {}, "tensor(-7)"),
    ("scalar bool", np.array(True), {}, "tensor(True)"),
    ("scalar complex", np.array(1 - 2j, c8), {}, "tensor(1.-2.j)"),
    ("bool", np.array([[True, False], [False, False]]), {}, ("tensor([[ True, False],\n        [False, False]])")),
    ("int64", np.array([[1, -20], [300, 4]]), {}, ("tensor([[  1, -20],\n        [300,   4]])")),
    ("int64 bounds", np.array([-(2**63), 2**63 - 1]), {}, "tensor([-9223372036854775808,  9223372036854775807])"),
    ("uint8", np.array([0, 7, 255], np.uint8), {}, "tensor([  0,   7, 255], dtype=torch.uint8)"),
    ("int32", np.arange(4, dtype=np.int32), {}, "tensor([0, 1, 2, 3], dtype=torch.int32)"),
    ("uint64", np.array([2**64 - 1], np.uint64), {}, "tensor([18446744073709551615], dtype=torch.uint64)"),
    ("float64", np.array([0.1, 0.2], f8), {}, "tensor([0.1000, 0.2000], dtype=torch.float64)"),
    ("float16", np.array([65504, 0.5], np.float16), {}, "tensor([6.5504e+04, 5.0000e-01], dtype=torch.float16)"),
    ("float16 tiny", np.array([6e-8], np.float16), {}, "tensor([5.9605e-08], dtype=torch.float16)"),
    ("complex64", np.array([1 + 2j, -3 - 0.5j], c8), {}, "tensor([ 1.+2.0000j, -3.-0.5000j])"),
    (
        "complex128",
        np.array([[1e-5 + 1j], [2 + 2j]], c16),
        {},
        ("tensor([[1.0000e-05+1.j],\n        [2.0000e+00+2.j]], dtype=torch.complex128)"),
    ),
    (
        "complex specials",
        np.array([complex(nan, inf), complex(-inf, -0.0), complex(1.5, nan)], c8),
        {},
        "tensor([   nan+infj,   -inf-0.j, 1.5000+nanj])",
    ),
    ("complex padding", np.array([1 + 100j, -10 + 1j], c8), {}, "tensor([  1.+100.j, -10.+1.j])"),
    (
        "complex wraps",
        np.arange(12).astype(c8) * (0.5 + 0.25j),
        {},
        (
            "tensor([0.0000+0.0000j, 0.5000+0.2500j, 1.0000+0.5000j, 1.5000+0.7500j,\n"
            "        2.0000+1.0000j, 2.5000+1.2500j, 3.0000+1.5000j, 3.5000+1.7500j,\n"
            "        4.0000+2.0000j, 4.5000+2.2500j, 5.0000+2.5000j, 5.5000+2.7500j])"
        ),
    ),
    ("empty", np.zeros(0, f4), {}, "tensor([])"),
    ("empty matrix", np.zeros((0, 3), f4), {}, "tensor([], size=(0, 3))"),
    ("empty int", np.zeros(0, np.int64), {}, "tensor([], dtype=torch.int64)"),
    ("empty bool cube", np.zeros((2, 0, 3), bool), {}, "tensor([], size=(2, 0, 3), dtype=torch.bool)"),
    ("empty complex", np.zeros((3, 0), c8), {}, "tensor([], size=(3, 0), dtype=torch.complex64)"),
    (
        "three dims",
        np.arange(8, dtype=f4).reshape(2, 2, 2),
        {},
        ("tensor([[[0., 1.],\n         [2., 3.]],\n\n        [[4., 5.],\n         [6., 7.]]])"),
    ),
    (
        "four dims",
        np.arange(8).reshape(2, 2, 1, 2),
        {},
        ("tensor([[[[0, 1]],\n\n         [[2, 3]]],\n\n\n        [[[4, 5]],\n\n         [[6, 7]]]])"),
    ),
    ("ones all the way", np.ones((1, 1, 1, 1, 1), f4), {}, "tensor([[[[[1.]]]]])"),
    (
        "line wrap",
        np.arange(20, dtype=f4) / f4(4),
        {},
        (
            "tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000, 1.2500, 1.5000, 1.7500, 2.0000,\n"
            "        2.2500, 2.5000, 2.7500, 3.0000, 3.2500, 3.5000, 3.7500, 4.0000, 4.2500,\n"
            "        4.5000, 4.7500])"
        ),
    ),
    (
        "line wrap in a matrix",
        np.arange(36, dtype=f4).reshape(2, 18) * f4(1.5),
        {},
        (
            "tensor([[ 0.0000,  1.5000,  3.0000,  4.5000,  6.0000,  7.5000,  9.0000, 10.5000,\n"
            "         12.0000, 13.5000, 15.0000, 16.5000, 18.0000, 19.5000, 21.0000, 22.5000,\n"
            "         24.0000, 25.5000],\n"
            "        [27.0000, 28.5000, 30.0000, 31.5000, 33.0000, 34.5000, 36.0000, 37.5000,\n"
            "         39.0000, 40.5000, 42.0000, 43.5000, 45.0000, 46.5000, 48.0000, 49.5000,\n"
            "         51.0000, 52.5000]])"
        ),
    ),
    ("summary", np.arange(1001), {}, "tensor([   0,    1,    2,  ...,  998,  999, 1000])"),
    ("both edges meet", np.arange(6), {"threshold": 5}, "tensor([0, 1, 2, 3, 4, 5])"),
    ("no summary at the threshold", np.arange(8), {"threshold": 8}, "tensor([0, 1, 2, 3, 4, 5, 6, 7])"),
    (
        "summary of a matrix",
        np.arange(2000, dtype=f4).reshape(20, 100),
        {},
        (
            "tensor([[0.0000e+00, 1.0000e+00, 2.0000e+00,  ..., 9.7000e+01, 9.8000e+01,\n"
            "         9.9000e+01],\n"
            "        [1.0000e+02, 1.0100e+02, 1.0200e+02,  ..., 1.9700e+02, 1.9800e+02,\n"
            "         1.9900e+02],\n"
            "        [2.0000e+02, 2.0100e+02, 2.0200e+02,  ..., 2.9700e+02, 2.9800e+02,\n"
            "         2.9900e+02],\n"
            "        ...,\n"
            "        [1.7000e+03, 1.7010e+03, 1.7020e+03,  ..., 1.7970e+03, 1.7980e+03,\n"
            "         1.7990e+03],\n"
            "        [1.8000e+03, 1.8010e+03, 1.8020e+03,  ..., 1.8970e+03, 1.8980e+03,\n"
            "         1.8990e+03],\n"
            "        [1.9000e+03, 1.9010e+03, 1.9020e+03,  ..., 1.9970e+03, 1.9980e+03,\n"
            "         1.9990e+03]])"
        ),
    ),
    (
        "summary where one dim is short",
        np.arange(1200, dtype=f4).reshape(2, 600),
        {},
        (
            "tensor([[0.0000e+00, 1.0000e+00, 2.0000e+00,  ..., 5.9700e+02, 5.9800e+02,\n"
            "         5.9900e+02],\n"
            "        [6.0000e+02, 6.0100e+02, 6.0200e+02,  ..., 1.1970e+03, 1.1980e+03,\n"
            "         1.1990e+03]])"
        ),
    ),
    (
        "summary of three dims",
        np.arange(8000).reshape(20, 20, 20),
        {"edgeitems": 1},
        (
            "tensor([[[   0,  ...,   19],\n"
            "         ...,\n"
            "         [ 380,  ...,  399]],\n"
            "\n"
            "        ...,\n"
            "\n"
            "        [[7600,  ..., 7619],\n"
            "         ...,\n"
            "         [7980,  ..., 7999]]])"
        ),
    ),
    (
        "summary ignores the hidden",
        np.where(np.arange(2000) == 1000, 1e20, np.arange(2000)).astype(f4),
        {},
        ("tensor([0.0000e+00, 1.0000e+00, 2.0000e+00,  ..., 1.9970e+03, 1.9980e+03,\n        1.9990e+03])"),
    ),
    (
        "summary wraps",
        np.linspace(-1, 1, 50, dtype=f4),
        {"threshold": 10, "edgeitems": 6},
        (
            "tensor([-1.0000, -0.9592, -0.9184, -0.8776, -0.8367, -0.7959,  ...,  0.7959,\n"
            "         0.8367,  0.8776,  0.9184,  0.9592,  1.0000])"
        ),
    ),
    ("no edge items", np.arange(20.0, dtype=f4), {"threshold": 10, "edgeitems": 0}, "tensor([...], size=(20,))"),
    ("no edge items, below threshold", np.arange(2), {"edgeitems": 0}, "tensor([0, 1], size=(2,))"),
    ("no edge items, scalar", np.array(2), {"edgeitems": 0, "threshold": 0}, "tensor(2, size=())"),
    ("precision 0", np.array([0.4, 1.6], f4), {"precision": 0}, "tensor([0, 2])"),
    ("precision 8", np.array([0.1], f4), {"precision": 8}, "tensor([0.10000000])"),
    (
        "short profile",
        np.linspace(0, 1, 1001, dtype=f4),
        {"profile": "short"},
        "tensor([0.00, 0.00,  ..., 1.00, 1.00])",
    ),
    ("full profile", np.arange(7), {"profile": "full", "linewidth": 20}, ("tensor([0, 1, 2, 3,\n        4, 5, 6])")),
    ("sci forced", np.array([0, 1, 2.5], f4), {"sci_mode": True}, "tensor([0.0000e+00, 1.0000e+00, 2.5000e+00])"),
    ("sci forbidden", np.array([1e-6, 123456789], f4), {"sci_mode": False}, "tensor([        0.0000, 123456792.0000])"),
    ("sci forced on zeros", np.array([0, 0], f4), {"sci_mode": True}, "tensor([0., 0.])"),
    ("narrow", np.array([[1, 2], [3, 4]]), {"linewidth": 5}, ("tensor([[1,\n         2],\n        [3,\n         4]])")),
    ("dtype wraps", np.arange(3, dtype=np.int16), {"linewidth": 36}, ("tensor([0, 1, 2],\n       dtype=torch.int16)")),
]


class Node:
    def __init__(self, name):
        self._name = name

    def name(self):
        return self._name


class Stub:
    """A tensor as far as printing looks at it."""

    def __init__(self, array, *, requires_grad=False, grad_fn=None):
        self._array = array
        self.dtype = f"torch.{array.dtype}"
        self.requires_grad = requires_grad or grad_fn is not None
        self._grad_fn = grad_fn

    @property
    def grad_fn(self):
        if isinstance(self._grad_fn, Exception):
            raise self._grad_fn
        return self._grad_fn and Node(self._grad_fn)


class StubParameter(Stub):
    pass


@pytest.fixture(autouse=True)
def clean_state(monkeypatch):
    monkeypatch.setattr(printing, "is_plain", lambda kind: kind in (Stub, StubParameter))
    monkeypatch.setattr(printing, "PARAMETER_TYPES", {StubParameter})
    monkeypatch.setattr(printing, "default_dtype", lambda: "torch.float32")
    printing.set_printoptions(profile="default")
    yield
    printing.set_printoptions(profile="default")


@pytest.mark.parametrize(("array", "options", "expected"), [pytest.param(*c[1:], id=c[0]) for c in CASES])
def test_pinned(array, options, expected):
    printing.set_printoptions(**options)
    assert printing.tensor_repr(Stub(array)) == expected


def test_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    array = np.array([1.0, 0.1, 3.0e38, nan]).astype(ml_dtypes.bfloat16)
    expected = "tensor([1.0000e+00, 1.0010e-01, 3.0041e+38,        nan], dtype=torch.bfloat16)"
    assert printing.tensor_repr(Stub(array)) == expected


def test_format_array_takes_prefix_suffixes_and_indent():
    # The values of a sparse tensor, as they stand inside `tensor(indices=..., values=tensor(...), ...)`.
    expected = (
        "values=tensor([ 1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14,\n"
        "                      15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28,\n"
        "                      29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39])"
    )
    assert printing.format_array(np.arange(1, 40), prefix="values=tensor(", indent=21) == expected
    expected = "tensor([1, 2], requires_grad=True)"
    assert printing.format_array(np.array([1, 2]), suffixes=["requires_grad=True"]) == expected


# -- what follows the numbers -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("default", "dtype", "shown"),
    [
        ("float32", "float32", False),
        ("float32", "float64", True),
        ("float32", "complex64", False),
        ("float32", "complex128", True),
        ("float64", "float32", True),
        ("float64", "float64", False),
        ("float64", "complex64", True),
        ("float64", "complex128", False),
        ("float16", "float16", False),
        ("float16", "float32", True),
        ("float16", "complex64", False),
        ("float64", "int64", False),
        ("float64", "bool", False),
        ("float64", "int32", True),
    ],
)
def test_dtype_is_shown_unless_implied(monkeypatch, default, dtype, shown):
    monkeypatch.setattr(printing, "default_dtype", lambda: f"torch.{default}")
    assert (f"dtype=torch.{dtype}" in printing.tensor_repr(Stub(np.ones(1, dtype)))) is shown
    assert (f"dtype=torch.{dtype}" in printing.tensor_repr(Stub(np.ones(0, dtype)))) is (dtype != default)


def test_history():
    x = np.array([1, 2], f4)
    assert printing.tensor_repr(Stub(x, requires_grad=True)) == "tensor([1., 2.], requires_grad=True)"
    assert printing.tensor_repr(Stub(x, grad_fn="MulBackward0")) == "tensor([1., 2.], grad_fn=<MulBackward0>)"
    copied = Stub(x, grad_fn="torch::autograd::CopySlices")
    assert printing.tensor_repr(copied) == "tensor([1., 2.], grad_fn=<CopySlices>)"
    stale = Stub(x, grad_fn=RuntimeError("Output 0 of UnbindBackward0 is a view ..."))
    assert printing.tensor_repr(stale) == "tensor([1., 2.], grad_fn=<Invalid>)"
    scalar = Stub(np.array(0.5), grad_fn="MeanBackward0")
    assert printing.tensor_repr(scalar) == "tensor(0.5000, dtype=torch.float64, grad_fn=<MeanBackward0>)"


def test_suffixes_wrap_one_by_one():
    x = Stub(np.arange(9) / 2, grad_fn="DivBackward0")
    assert printing.tensor_repr(x) == (
        "tensor([0.0000, 0.5000, 1.0000, 1.5000, 2.0000, 2.5000, 3.0000, 3.5000, 4.0000],\n"
        "       dtype=torch.float64, grad_fn=<DivBackward0>)"
    )
    printing.set_printoptions(linewidth=40)
    assert printing.tensor_repr(x) == (
        "tensor([0.0000, 0.5000, 1.0000, 1.5000,\n"
        "        2.0000, 2.5000, 3.0000, 3.5000,\n"
        "        4.0000], dtype=torch.float64,\n"
        "       grad_fn=<DivBackward0>)"
    )


@pytest.mark.parametrize(
    ("linewidth", "after_values", "after_dtype"),
    [(41, "\n       ", "\n       "), (42, " ", "\n       "), (65, " ", "\n       "), (66, " ", " ")],
)
def test_the_column_at_which_suffixes_wrap(linewidth, after_values, after_dtype):
    printing.set_printoptions(linewidth=linewidth)
    expected = f"tensor([0., 1., 2.],{after_values}dtype=torch.float64,{after_dtype}grad_fn=<MulBackward0>)"
    assert printing.tensor_repr(Stub(np.arange(3.0), grad_fn="MulBackward0")) == expected


@pytest.mark.parametrize(("linewidth", "after_dtype"), [(49, "\n       "), (50, " ")])
def test_a_wrapped_suffix_counts_its_indent(linewidth, after_dtype):
    printing.set_printoptions(linewidth=linewidth, sci_mode=False)
    values = f"tensor([{2**150}.],\n       dtype=torch.float64"
    expected = f"{values},{after_dtype}grad_fn=<MulBackward0>)"
    assert printing.tensor_repr(Stub(np.array([2.0**150]), grad_fn="MulBackward0")) == expected


@pytest.mark.parametrize(("linewidth", "per_line"), [(15, 1), (16, 2), (18, 2), (19, 3), (21, 3), (22, 4)])
def test_depth_counts_towards_the_line(linewidth, per_line):
    printing.set_printoptions(linewidth=linewidth)
    first_line = printing.tensor_repr(Stub(np.arange(4).reshape(1, 1, 1, 4))).split("\n")[0]
    assert first_line.count(",") == (3 if per_line == 4 else per_line)


def test_subclasses_print_their_name():
    class Celsius(Stub):
        pass

    warm = Celsius(np.arange(16, dtype=f4) / f4(4))
    assert printing.tensor_repr(warm) == (
        "Celsius([0.0000, 0.2500, 0.5000, 0.7500, 1.0000, 1.2500, 1.5000, 1.7500, 2.0000,\n"
        "         2.2500, 2.5000, 2.7500, 3.0000, 3.2500, 3.5000, 3.7500])"
    )


def test_parameters_of_other_classes_say_so():
    class Celsius(StubParameter):
        pass

    one = np.array([1], f4)
    assert printing.tensor_repr(StubParameter(one, requires_grad=True)) == "tensor([1.], requires_grad=True)"
    assert printing.tensor_repr(Celsius(one, requires_grad=True)) == "Parameter(Celsius([1.], requires_grad=True))"


def test_tangent_and_given_contents():
    assert printing.tensor_repr(Stub(np.array(1, f4)), tangent=2.0) == "tensor(1., tangent=2.0)"
    hidden = Stub(np.ones(3, np.int8))
    assert printing.tensor_repr(hidden, tensor_contents="<hidden>") == "tensor(<hidden>, dtype=torch.int8)"


def test_only_the_shown_elements_are_read():
    array = np.broadcast_to(np.array(1.5, f4), (10**9, 10**9))
    text = printing.format_array(array)
    assert text.count("1.5000") == 36
    assert text.count("...") == 7


def test_printing_leaves_the_array_alone():
    array = np.array([[nan, -0.0], [1e-50, 1e300]])
    before = array.tobytes()
    printing.format_array(array)
    assert array.tobytes() == before


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("bits", "dtype"), [(np.uint32(0x7F800001), f4), (np.uint16(0x7C01), np.float16)])
def test_signalling_nan_prints_without_a_warning(bits, dtype):
    assert printing.format_array(np.array([bits] * 20).view(dtype)[:2]) == "tensor([nan, nan])"


# -- options ----------------------------------------------------------------------------------------------------------


def test_options_persist_except_sci_mode():
    printing.set_printoptions(precision=2, sci_mode=True)
    printing.set_printoptions(threshold=5)
    assert printing.get_printoptions() == {
        "precision": 2,
        "threshold": 5,
        "edgeitems": 3,
        "linewidth": 80,
        "sci_mode": None,
    }


def test_profiles_come_first_and_can_be_overridden():
    printing.set_printoptions(profile="full", precision=7)
    options = printing.get_printoptions()
    assert (options["threshold"], options["precision"]) == (math.inf, 7)
    printing.set_printoptions(profile="short")
    options = printing.get_printoptions()
    assert (options["threshold"], options["precision"], options["edgeitems"]) == (1000, 2, 2)


def test_context_manager_restores_even_after_an_error():
    printing.set_printoptions(precision=3, sci_mode=True)
    before = printing.get_printoptions()
    with pytest.raises(KeyError), printing.printoptions(precision=1, profile="full"):
        assert printing.format_array(np.array([0.25])) == "tensor([0.2])"
        raise KeyError
    assert printing.get_printoptions() == before


def test_unknown_profile_changes_nothing_and_says_so():
    with pytest.warns(UserWarning, match="no profile 'ful'"):
        printing.set_printoptions(profile="ful", precision=6)
    assert printing.get_printoptions()["precision"] == 6


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"precision": -1}, ValueError),
        ({"precision": 2.0}, ValueError),
        ({"precision": True}, ValueError),
        ({"edgeitems": -1}, ValueError),
        ({"edgeitems": 2.0}, TypeError),
        ({"threshold": "many"}, TypeError),
        ({"threshold": nan}, ValueError),
        ({"linewidth": inf}, ValueError),
        ({"linewidth": "wide"}, TypeError),
        ({"decimals": 2}, TypeError),
    ],
)
def test_bad_options_raise_and_change_nothing(options, error):
    before = printing.get_printoptions()
    with pytest.raises(error, match=rf"set_printoptions\(\).*{next(iter(options))}"):
        printing.set_printoptions(**{"sci_mode": True, "profile": "short", **options})
    assert printing.get_printoptions() == before
