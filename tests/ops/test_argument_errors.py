"""Arguments of a wrong kind: PyTorch's complaint, whatever went wrong inside, and nothing has changed."""

from __future__ import annotations

import contextlib
import copy
import inspect
import linecache
import pickle
import sys
import traceback
import weakref

import numpy as np
import pytest

import penlight as torch
from penlight import _torch_function
from penlight.ops.machinery.argument_errors import complaint
from penlight.ops.machinery.public_functions import public_functions
from penlight.ops.reduce.sums import cumsum as written_by_hand

X = torch.arange(4.0).reshape(2, 2)
F = torch.nn.functional

# Pinned from PyTorch 2.13.0.
WORDS = [
    (lambda: torch.sum([1.0]), "sum(): argument 'input' (position 1) must be Tensor, not list"),
    (lambda: torch.sum(X, "a"), "sum() received an invalid combination of arguments - got (Tensor, str), but expected one of:"),
    (lambda: X.sum("a"), "sum() received an invalid combination of arguments - got (str), but expected one of:"),
    (lambda: torch.sum(X, dim="a"), "sum() received an invalid combination of arguments - got (Tensor, dim=str), but expected one of:"),
    (lambda: torch.sum(X, 1, 2), "sum(): argument 'keepdim' (position 3) must be bool, not int"),
    (lambda: torch.sum(X, keepdim=1, dim=0), "sum(): argument 'keepdim' must be bool, not int"),
    (lambda: torch.sum(np.ones(2)), "sum(): argument 'input' (position 1) must be Tensor, not numpy.ndarray"),
    (lambda: torch.cumsum(None, 1), "cumsum(): argument 'input' (position 1) must be Tensor, not NoneType"),
    (lambda: torch.cumsum(X, dim=1.5), "cumsum(): argument 'dim' must be int, not float"),
    (lambda: X.cumsum("a"), "cumsum(): argument 'dim' (position 1) must be int, not str"),
    (lambda: torch.cumsum(X, torch.float32), "cumsum(): argument 'dim' (position 2) must be int, not torch.dtype"),
    (lambda: torch.cumsum(X, torch.Size([1])), "cumsum(): argument 'dim' (position 2) must be int, not torch.Size"),
    (lambda: torch.cumsum(X, 0, out=(X,)), "cumsum(): argument 'out' must be Tensor, not tuple"),
    (lambda: torch.flip(X, ["a"]), "flip(): argument 'dims' (position 2) must be tuple of ints, but found element of type str at pos 0"),
    (lambda: torch.flip(X), 'flip() missing 1 required positional arguments: "dims"'),
    (lambda: X.flip(dims=0), "flip(): argument 'dims' must be tuple of ints, not int"),
    (lambda: X.permute(0, 1.0), "permute(): argument 'dims' failed to unpack the object at pos 2 with error \"type must be tuple of ints,but got float\""),
    (lambda: torch.stack([X, 1]), "expected Tensor as element 1 in argument 0, but got int"),
    (lambda: torch.stack(1), "stack(): argument 'tensors' (position 1) must be tuple of Tensors, not int"),
    (lambda: torch.where(X > 0, 1, "a"), "where() received an invalid combination of arguments - got (Tensor, int, str), but expected one of:"),
    (lambda: torch.mm(X, [1.0]), "mm(): argument 'mat2' (position 2) must be Tensor, not list"),
    (lambda: X.mul_("a"), "mul_(): argument 'other' (position 1) must be Tensor, not str"),
    (lambda: X.lt("a"), "lt() received an invalid combination of arguments - got (str), but expected one of:"),
    (lambda: torch.topk(X, 1.5), "topk(): argument 'k' (position 2) must be int, not float"),
    (lambda: torch.zeros(2, "a"), "zeros(): argument 'size' failed to unpack the object at pos 2 with error \"type must be tuple of ints,but got str\""),
    (lambda: torch.full_like(X, "a"), "full_like(): argument 'fill_value' (position 2) must be Number, not str"),
    (lambda: torch.linalg.inv([1.0]), "linalg_inv(): argument 'A' (position 1) must be Tensor, not list"),
    (lambda: torch.linalg.matrix_power(X, 1.5), "linalg_matrix_power(): argument 'n' (position 2) must be int, not float"),
    (lambda: torch.fft.fft(X, "a"), "fft_fft(): argument 'n' (position 2) must be int, not str"),
    (lambda: F.linear([1.0], X), "linear(): argument 'input' (position 1) must be Tensor, not list"),
    (lambda: F.layer_norm([1], (2,)), "layer_norm(): argument 'input' (position 1) must be Tensor, not list"),
    (lambda: F.avg_pool2d(X, "a"), "avg_pool2d(): argument 'kernel_size' (position 2) must be tuple of ints, not str"),
    (lambda: torch.einsum("ij->i", [1]), "expected Tensor as element 0 in argument 1, but got int"),
    (lambda: torch.meshgrid(1, indexing="ij"), "expected Tensor as element 0 in argument 0, but got int"),
    (lambda: torch.can_cast(1, 2), "can_cast(): argument 'from_' (position 1) must be torch.dtype, not int"),
    (lambda: torch.Tensor.view("a", 1), "descriptor 'view' for 'torch._C.TensorBase' objects doesn't apply to a 'str' object"),
    (lambda: torch.nn.Linear(2, 2)([1.0, 2.0]), "linear(): argument 'input' (position 1) must be Tensor, not list"),
]  # fmt: skip


@pytest.mark.parametrize("call, words", WORDS, ids=[words[:40] for _, words in WORDS])
def test_words(call, words):
    with pytest.raises(TypeError) as caught:
        call()
    assert str(caught.value).splitlines()[0] == words


@pytest.mark.parametrize("call", [
    lambda x: x.add_("a"), lambda x: x.clamp_(min="a"), lambda x: x.fill_diagonal_(1.0, X), lambda x: x.copy_("a"), lambda x: x.cumsum_("a"),
    lambda x: x.index_fill_(0, [1], 1), lambda x: x.masked_fill_(x > 0, "a"), lambda x: torch.exp("a", out=x), lambda x: torch.sum(X, "a", out=x),
    lambda x: torch.cat([X, 1], out=x), lambda x: x.transpose_("a", 0), lambda x: x.squeeze_(1.5), lambda x: x.resize_("a"),
    lambda x: torch.matmul(X, "a", out=x), lambda x: torch.sort(X, "a", out=(x, x.long())), lambda x: x.scatter_(0, [1], 1.0),
    lambda x: x.uniform_("a"), lambda x: x.normal_(0, "a"), lambda x: x.index_add_(0, torch.tensor([0]), "a"), lambda x: x.pow_("a"),
])  # fmt: skip
def test_nothing_has_changed(call):
    x = torch.arange(4.0).reshape(2, 2)
    with pytest.raises(TypeError):
        call(x)
    assert torch.equal(x, X) and x._version == 0 and x.stride() == (2, 1)


@pytest.fixture
def at_rest():
    """Other tests may have activated overrides."""
    _torch_function.deactivate()


def test_other_errors_stay_as_they_are(at_rest):
    torch.sum(X)  # compiles it
    with pytest.raises(IndexError) as caught:
        torch.sum(X, 5)
    names = [f.name for f in traceback.extract_tb(caught.value.__traceback__)]
    assert names[1:] == ["sum", "sum", "wrap_dims", "wrap_dim"]  # the generated function, and the one written by hand
    with pytest.raises(KeyError):
        made_public(raiser)(KeyError())
    assert sys.exception() is None


def raiser(error):
    raise error


def every_kind(a, b=1, /, c=2, *args, d=(), e=None, f, **kwargs):
    return a, b, c, args, d, e, f, kwargs


def only_by_keyword(a, *, b=False, c=5):
    return a, b, c


def made_public(function):
    function.__module__ = "penlight.made_up"
    return public_functions({function.__name__: function}, "", "penlight.made_up")[function.__name__]


def test_public_functions_take_exactly_the_same_arguments():
    public = made_public(every_kind)
    for args, kwargs in [
        ((0,), {"f": 1}),
        ((0, 1, 2, 3, 4), {"f": 5, "d": 6, "more": 7}),
        ((0,), {"c": 1, "e": 2, "f": 3}),
    ]:
        assert public(*args, **kwargs) == every_kind(*args, **kwargs)
    public = made_public(only_by_keyword)
    for kwargs in ({}, {"b": True}, {"c": 6}, {"b": True, "c": 6}, {"b": 0}):
        assert public(1, **kwargs) == only_by_keyword(1, **kwargs)
    for call in (lambda: public(), lambda: public(1, 2), lambda: public(1, d=1)):
        with pytest.raises(TypeError):
            call()


def test_public_functions_look_like_those_written_by_hand(at_rest):
    """`help`, `inspect`, pickle and debuggers: the generated function has the signature, the text and the source of the other, and besides says
    what arguments mean."""
    public = torch.cumsum
    public(X, 0)  # compiles it
    assert inspect.unwrap(public) is written_by_hand and public.__doc__.startswith(written_by_hand.__doc__.rstrip())
    assert [*inspect.signature(public).parameters] == [*inspect.signature(written_by_hand).parameters]
    assert inspect.getsource(public) == inspect.getsource(written_by_hand)
    assert pickle.loads(pickle.dumps(public)) is public and pickle.loads(pickle.dumps(F.linear)) is F.linear
    assert pickle.loads(pickle.dumps(torch.Tensor.view)) is torch.Tensor.view
    assert "torch_cumsum(input, dim" in "".join(linecache.getlines("<penlight torch_cumsum>"))


def test_a_caught_error_keeps_no_arguments_alive():
    x = torch.ones(3)
    seen = weakref.ref(x)
    with contextlib.suppress(TypeError):
        torch.cumsum(x, "a")
    del x
    assert seen() is None


def test_taken_over_functions_explain_too():
    class Mine(torch.Tensor):
        pass

    try:
        mine = X.as_subclass(Mine)
        with pytest.raises(TypeError, match=r"cumsum\(\): argument 'dim' \(position 2\) must be int, not str"):
            torch.cumsum(mine, "a")
    finally:
        _torch_function.deactivate()


@pytest.mark.parametrize("name, args, kwargs, words", [
    ("cumsum", (X,), {}, 'cumsum() missing 1 required positional arguments: "dim"'),
    ("cumsum", (X, 0, 1), {}, "cumsum() takes 2 positional arguments but 3 were given"),
    ("sum", (X, 1, True, 3), {}, "sum() takes from 2 to 3 positional arguments but 4 were given"),
    ("cumsum", (X, 1), {"foo": 1}, "cumsum() got an unexpected keyword argument 'foo'"),
    ("cumsum", (X, 1), {"dim": 1}, "cumsum() got multiple values for argument 'dim'"),
    ("sum", (X,), {"axis": 0, "keepdims": True}, None),
    ("add", (X, 2, X), {}, None),  # an outdated form
    ("Tensor.view", (2, 2), {}, None),
    ("no_such_function", (), {}, None),
])  # fmt: skip
def test_forms(name, args, kwargs, words):
    assert complaint(name, args, kwargs) == words


def test_arguments_by_name_in_a_dictionary():
    """Whether an argument came by name can't be seen of `f(*args, **kwargs)`: nothing is claimed that might not be so."""
    given = {"dim": 0, "descending": True, "stable": True}
    with pytest.raises(RuntimeError, match="Sort does not support complex dtypes"):
        torch.argsort(torch.ones(2, dtype=torch.complex64), **given)
    with pytest.raises(RuntimeError, match="must be batches of square matrices"):
        torch.linalg.pinv(*[torch.ones(2, 3)], **{"hermitian": True})
    with pytest.raises(RuntimeError, match="number of dimensions"):
        torch.permute(*(X, (0,)))


@pytest.mark.parametrize("name", ["sigmoid", "tanh", "normalize", "interpolate"])
def test_functions_of_python_explain_mistakes_where_classes_take_over(name):
    _torch_function.activate()
    try:
        with pytest.raises(TypeError, match="must be Tensor, not object"):
            getattr(torch.nn.functional, name)(object())
    finally:
        _torch_function.deactivate()


class _Net:
    act, total, norm, gelu, log, at = (
        torch.tanh,
        torch.sum,
        torch.linalg.norm,
        F.gelu,
        torch.special.log1p,
        torch.fft.fft,
    )


def test_functions_are_not_methods():
    """PyTorch's are builtins: as attributes of a class they are called without the instance."""
    net, x = _Net(), torch.ones(3)
    assert torch.equal(net.act(x), x.tanh()) and torch.equal(net.total(x, 0), x.sum(0))
    assert torch.equal(net.norm(x), torch.linalg.norm(x)) and torch.equal(
        net.gelu(x, approximate="tanh"), F.gelu(x, approximate="tanh")
    )
    assert torch.equal(net.log(x), x.log1p()) and torch.equal(net.at(x), torch.fft.fft(x))
    assert net.act is _Net.act is torch.tanh and {torch.tanh: 1}[net.act] == 1 and torch.tanh != torch.Tensor.tanh
    assert copy.deepcopy(torch.tanh) == torch.tanh and repr(torch.tanh) == "<bound method tanh of torch>"


def test_functions_count_the_arguments_that_were_given():
    for call, words in [
        (lambda: torch.tanh(X, X), "tanh() takes 1 positional argument but 2 were given"),
        (lambda: torch.special.erf(X, 1), "special_erf() takes 1 positional argument but 2 were given"),
        (lambda: torch.linalg.det(X, 1, 2), "linalg_det() takes 1 positional argument but 3 were given"),
        (lambda: F.gelu(X, "none", 1), "gelu() takes 1 positional argument but 3 were given"),
    ]:
        with pytest.raises(TypeError) as found:
            call()
        assert str(found.value) == words


NUMBERS = """
torch.add(x, x, alpha=T(2.0))
torch.sub(x, x, alpha=T(2))
x.clone().add_(x, alpha=T(2))
torch.add(x.bfloat16(), x.bfloat16(), alpha=T(2.0)).float()
torch.addcmul(x, x, x, value=T(2.0))
torch.addcdiv(x, x, x, value=T(3))
torch.addmm(m, m, m, beta=T(2), alpha=T(3.0))
torch.addmv(x, m, x, alpha=T(2.0))
torch.addr(m, x, x, beta=T(2.0), alpha=T(3.0))
torch.baddbmm(m.view(1, 2, 2), m.view(1, 2, 2), m.view(1, 2, 2), alpha=T(2.0))
F.softplus(x, T(2.0))
torch.index_add(x, 0, T([0]), T([1.0]), alpha=T(2))
torch.add(T([1]), T([1]), alpha=T(2.5))
torch.add(x, x, alpha=T(2.0, requires_grad=True))
"""


def tensors_for_numbers(lib):
    """What each call gives, or the kind and the words of its error."""
    x, m = lib.tensor([1.0, 2.0]), lib.tensor([[1.0, 2.0], [3.0, 4.0]])
    space = {"torch": lib, "T": lib.tensor, "x": x, "m": m, "F": lib.nn.functional}
    found = []
    for line in NUMBERS.strip().splitlines():
        try:
            found.append(eval(line, space).tolist())
        except (TypeError, RuntimeError) as error:
            found.append((type(error).__name__, str(error).splitlines()[0]))
    return found


def test_tensors_without_dimensions_stand_for_numbers():
    found = tensors_for_numbers(torch)
    assert found[:6] == [[3.0, 6.0], [-1.0, -2.0], [3.0, 6.0], [3.0, 6.0], [3.0, 10.0], [4.0, 5.0]]
    assert found[-2:] == [
        ("RuntimeError", "For integral input tensors, argument alpha must not be a floating point number."),
        ("TypeError", "add(): argument 'alpha' must be Number, not Tensor"),
    ]
    with pytest.raises(TypeError, match=r"add\(\): argument 'alpha' must be Number, not Tensor"):
        torch.add(X, X, alpha=torch.tensor([2.0, 1.0]))
