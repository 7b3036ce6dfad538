"""Classes with `__torch_dispatch__`: they run the ops on their instances themselves, below autograd."""

from __future__ import annotations

import copy
import io
import pickle
from importlib import import_module

import pytest

import penlight
from penlight.ops.machinery import subclasses


@pytest.fixture(autouse=True)
def asleep_afterwards():
    yield
    subclasses.deactivate()


def logging_class(torch, log):
    """A wrapper that runs each op on what it wraps, and takes down its name."""
    tree_map = import_module(torch.__name__ + ".utils._pytree").tree_map

    class Logging(torch.Tensor):
        __slots__ = ("elem",)

        @staticmethod
        def __new__(cls, elem, requires_grad=False):
            out = torch.Tensor._make_wrapper_subclass(
                cls, elem.size(), strides=elem.stride(), dtype=elem.dtype, requires_grad=requires_grad
            )
            out.elem = elem
            return out

        def __repr__(self):
            return f"Logging({self.elem!r})"

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            name = func.__name__.partition(".")[0]
            if name not in ("detach", "ones_like"):  # Note [Subclasses that dispatch] says how these differ
                log.append(name)
            plain = lambda value: value.elem if isinstance(value, cls) else value
            result = func(*tree_map(plain, args), **tree_map(plain, kwargs or {}))
            return tree_map(lambda value: cls(value) if isinstance(value, torch.Tensor) else value, result)

    return Logging


def quantised_class(torch):
    """A weight of small integers and a scale, which knows matrix products alone."""
    aten = torch.ops.aten

    class Quantised(torch.Tensor):
        @staticmethod
        def __new__(cls, values, scale):
            return torch.Tensor._make_wrapper_subclass(cls, values.shape, dtype=scale.dtype)

        def __init__(self, values, scale):
            self.values_, self.scale = values, scale

        def __repr__(self):
            return f"Quantised({self.values_!r})"

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            if func in (aten.detach.default, aten.t.default):
                return cls(func(args[0].values_), args[0].scale)
            if func in (aten.mm.default, aten.addmm.default):
                return func(*[a.values_.to(a.scale.dtype) * a.scale if isinstance(a, cls) else a for a in args])
            return NotImplemented

    return Quantised


PROGRAMS = {
    "product": lambda torch, w: torch.nn.functional.linear(torch.ones(2, 3), w, torch.ones(2)),
    "elementwise": lambda torch, w: (w * 2 + 1).relu().pow(2),
    "broadcast": lambda torch, w: w * torch.arange(3.0) + torch.ones(4, 1, 3),
    "saved result": lambda torch, w: (w.exp() / 10).tanh(),
    "softmax": lambda torch, w: torch.nn.functional.softmax(w, -1),
    "several results": lambda torch, w: w.max(1),
    "views": lambda torch, w: w[1:, 2].unsqueeze(0).expand(3, 1),
    "pieces": lambda torch, w: w.split(1),
    "lists": lambda torch, w: torch.cat([w, w]),
    "norm": lambda torch, w: torch.nn.functional.layer_norm(w, (3,)),
    "in place": lambda torch, w: (w * 1).add_(3).mul_(w),
    "dtype": lambda torch, w: w.to(torch.float32),
    "choice": lambda torch, w: torch.where(w > 0, w, -w),
    "like": lambda torch, w: torch.zeros_like(w) + w,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_wrapper_sees_the_ops_and_has_gradients(same, name):
    def program(torch, say):
        log = []
        Logging = logging_class(torch, log)
        w = Logging(torch.arange(-2.5, 3.0).view(2, 3), requires_grad=True)
        made = PROGRAMS[name](torch, w)
        for y in made if isinstance(made, (tuple, list)) else [made]:
            say(y, type(y), y.shape, y.is_contiguous(), y.dtype, y.requires_grad, type(y.grad_fn).__name__, y.is_leaf)
        say(log)
        floats = [y for y in (made if isinstance(made, (tuple, list)) else [made]) if y.requires_grad]
        sum((y * y).sum() for y in floats).backward()
        say(w.grad, type(w.grad))

    same(program)


def test_writes_to_views_of_a_wrapper(same):
    def program(torch, say):
        w = logging_class(torch, [])(torch.arange(6.0).view(2, 3), requires_grad=True)
        y = w * 1
        row = y[0]
        row.mul_(3)
        y[1] = torch.tensor([1.0, 2.0, 3.0])
        say(y, row._base is y, y._version)
        (y * y).sum().backward()
        say(w.grad)

    same(program)


def test_second_derivatives_and_numbers(same):
    def program(torch, say):
        w = logging_class(torch, [])(torch.arange(3.0), requires_grad=True)
        (first,) = torch.autograd.grad((w**3).sum(), w, create_graph=True)
        (second,) = torch.autograd.grad(first.sum(), w)
        say(first, second)
        total = w.detach().sum()
        say(total.item(), float(total), int(total), bool(total), len(w))
        say.attempt(w.detach().numpy)

    same(program)


def test_a_module_with_such_a_parameter(same):
    def program(torch, say):
        Logging = logging_class(torch, [])
        layer = torch.nn.Linear(3, 2)
        layer.weight = torch.nn.Parameter(Logging(torch.arange(6.0).view(2, 3)))
        say(type(layer.weight), isinstance(layer.weight, torch.nn.Parameter), layer.weight.requires_grad)
        layer(torch.ones(1, 3)).sum().backward()
        say(layer.weight.grad, type(layer.state_dict()["weight"]))
        torch.optim.SGD([layer.weight], lr=0.5).step()
        say(layer.weight.elem)

    same(program)


def test_a_quantised_weight(same):
    def program(torch, say):
        weight = quantised_class(torch)(torch.tensor([[1, 2], [3, 4]], dtype=torch.int8), torch.tensor(0.5))
        x = torch.ones(3, 2, requires_grad=True)
        y = torch.nn.functional.linear(x, weight, torch.zeros(2))
        y.sum().backward()
        say(y, x.grad, weight.shape, weight.dtype)
        say.attempt(lambda: torch.relu_(weight))

    same(program)


def test_copies_of_wrappers(same):
    def program(torch, say):
        class Wrapper(torch.Tensor):
            plain = False

            @staticmethod
            def __new__(cls, inner):
                return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

            def __init__(self, inner):
                self.inner = inner

            @classmethod
            def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
                result = func(args[0].inner)
                return result if cls.plain else cls(result)

        wrapper = Wrapper(torch.ones(2))
        layer = torch.nn.Linear(1, 1)
        layer.extra = torch.nn.Parameter(wrapper)
        copied = copy.deepcopy(layer).extra
        say(type(copied), copied.inner, copied.requires_grad, copied.inner is layer.extra.inner)
        Wrapper.plain = True
        say.attempt(lambda: copy.deepcopy(wrapper))
        say.attempt(lambda: torch.nn.Parameter(wrapper))

    same(program)


def test_a_class_that_dispatches_and_has_memory(same):
    def program(torch, say):
        class Plain(torch.Tensor):
            @classmethod
            def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
                say(func.__name__.partition(".")[0], [t.__name__ for t in types])
                args = [a.as_subclass(torch.Tensor) if isinstance(a, cls) else a for a in args]
                return 10 * args[0] if func is torch.ops.aten.neg.default else NotImplemented

        x = torch.Tensor._make_subclass(Plain, torch.ones(2))
        say(Plain.__torch_function__ is torch._C._disabled_torch_function_impl)
        say.attempt(lambda: x.numel())

    same(program)


def test_what_a_class_is_asked(same):
    """Masks and shapes that do not fit are the class's business; a handler may give an op more arguments than it had."""

    def program(torch, say):
        aten, tree_map = torch.ops.aten, import_module(torch.__name__ + ".utils._pytree").tree_map

        class Asked(torch.Tensor):
            @staticmethod
            def __new__(cls, inner):
                made = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
                made.inner = inner
                return made

            @classmethod
            def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
                say(
                    str(func),
                    [type(a) for a in args],
                    [a if a is None else a.dtype for a in args[1]] if func is aten.index.Tensor else 0,
                )
                if func is aten.mm.default:
                    return torch.zeros(1)
                plain = tree_map(lambda a: a.inner if isinstance(a, cls) else a, args)
                if func is aten.clone.default:
                    return func(*plain, memory_format=torch.contiguous_format)
                return func(*plain, alpha=3) if func is aten.add.Tensor else func(*plain, **(kwargs or {}))

        x = Asked(torch.arange(6.0).view(2, 3))
        say(x.data_ptr(), x[torch.tensor([True, False])], x[:, torch.tensor([0, 2])], x[x.inner > 2])
        say(x + 1, x.clone(), x @ torch.ones(7, 7, dtype=torch.int64), x.sum(), x.sum(0), x > 1, x > x.inner)
        say(torch.ones(7)[Asked(torch.tensor([1, 2]))])

    same(program)


class Pickled(penlight.Tensor):
    """A wrapper that can be found by its name."""

    __slots__ = ("label",)

    @staticmethod
    def __new__(cls, inner, label):
        made = penlight.Tensor._make_wrapper_subclass(cls, inner.shape, strides=inner.stride(), dtype=inner.dtype)
        made.inner, made.label = inner, label
        return made

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return func(*[a.inner if isinstance(a, cls) else a for a in args], **(kwargs or {}))


@pytest.mark.parametrize("way", ["pickle", "file"])
def test_a_wrapper_comes_back(way):
    x = Pickled(penlight.arange(6.0).view(2, 3).t(), "left")
    if way == "pickle":
        made = pickle.loads(pickle.dumps(x))
    else:
        penlight.save(x, file := io.BytesIO())
        made = penlight.load(io.BytesIO(file.getvalue()), weights_only=False)
        with pytest.raises(pickle.UnpicklingError):
            penlight.load(io.BytesIO(file.getvalue()))
        with penlight.serialization.safe_globals([Pickled]):
            assert type(penlight.load(io.BytesIO(file.getvalue()))) is Pickled
    assert type(made) is Pickled and made.label == "left" and made.stride() == (1, 3) and made.dtype is x.dtype
    assert made.inner.tolist() == x.inner.tolist() and (made + 1).tolist() == (x + 1).tolist()


def test_what_needs_values_is_refused():
    weight = quantised_class(penlight)(penlight.ones(2, 2, dtype=penlight.int8), penlight.tensor(0.5))
    for ask in (weight.tolist, lambda: penlight.tensor(weight)):
        with pytest.raises((RuntimeError, TypeError), match=r"wrapper without memory|NotImplemented"):
            ask()
    with pytest.raises(RuntimeError, match="must define __torch_dispatch__"):
        penlight.Tensor._make_wrapper_subclass(type("Bare", (penlight.Tensor,), {}), (2,))
