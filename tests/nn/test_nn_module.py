"""The machinery of Module against PyTorch's: attributes, registration, conversion, modes, printing."""

from __future__ import annotations

from nn_data import array
from nn_models import attempt, model

import penlight as torch


def test_registration_errors(works):
    def run(lib):
        nn, m = lib.nn, lib.nn.Module()
        return attempt(
            lambda: m.add_module("a.b", nn.ReLU()),
            lambda: m.add_module("", nn.ReLU()),
            lambda: m.add_module("forward", nn.ReLU()),
            lambda: m.add_module(3, nn.ReLU()),
            lambda: m.add_module("x", 3),
            lambda: m.register_module("y", lib.zeros(1)),
            lambda: m.register_buffer("a.b", lib.zeros(1)),
            lambda: m.register_buffer("", lib.zeros(1)),
            lambda: m.register_buffer(2, lib.zeros(1)),
            lambda: m.register_buffer("a", 3),
            lambda: m.register_buffer("train", lib.zeros(1)),
            lambda: m.register_parameter("a.b", None),
            lambda: m.register_parameter("", None),
            lambda: m.register_parameter(1.5, None),
            lambda: m.register_parameter("a", 3),
            lambda: m.register_parameter("a", lib.zeros(1)),
            lambda: m.register_parameter("eval", nn.Parameter(lib.zeros(1))),
            lambda: m.register_parameter("p", nn.Parameter(lib.zeros(1)) * 2),
            lambda: setattr(m, "forward", nn.Parameter(lib.zeros(1))),
            lambda: setattr(m, "a.b", nn.Parameter(lib.zeros(1))),
            lambda: setattr(m, "", nn.Parameter(lib.zeros(1))),
            lambda: m.missing,
            lambda: delattr(m, "missing"),
            lambda: nn.Module(1),
            lambda: nn.Module(a=1),
            lambda: m(1),
            lambda: m.train(1),
            lambda: sorted(m.__dict__),
        )

    works(run)


def test_attribute_rules(works):
    def run(lib):
        nn, m = lib.nn, model(lib)
        seen = []

        def note(*calls):
            seen.extend(attempt(*calls))
            tables = (m._parameters, m._buffers, m._modules)
            seen.append([list(table) for table in tables] + [sorted(m._non_persistent_buffers_set)])

        note(lambda: setattr(m, "scale", lib.zeros(2)))
        note(lambda: setattr(m, "scale", 3))
        note(lambda: setattr(m, "first", lib.zeros(2)))
        note(lambda: setattr(m, "first", None), lambda: m.first)
        note(lambda: setattr(m, "scale", None), lambda: m.scale)
        note(lambda: setattr(m, "scale", nn.Parameter(lib.ones(1))))
        note(lambda: setattr(m, "nothing", nn.Parameter(lib.ones(1))), lambda: "nothing" in m.__dict__)
        note(lambda: setattr(m, "nothing", nn.ReLU()))
        note(lambda: setattr(m, "extra", nn.Buffer(lib.ones(3), persistent=False)))
        note(lambda: setattr(m, "extra", lib.zeros(2)), lambda: m.extra)
        note(lambda: setattr(m, "extra", None))
        note(lambda: setattr(m, "extra", "text"))
        note(lambda: setattr(m, "extra", nn.Parameter(lib.ones(1))))
        note(lambda: setattr(m, "extra", nn.ReLU()))
        note(lambda: delattr(m, "extra"), lambda: delattr(m, "scale"), lambda: delattr(m.inner, "hidden"))
        note(lambda: setattr(m, "plain", lib.ones(2)), lambda: "plain" in m.__dict__)
        note(lambda: [name for name in dir(m) if name in ("inner", "0", "scale", "plain", "forward")])
        return seen

    works(run)


def test_before_init(works):
    def run(lib):
        nn = lib.nn

        def without_init(action):
            return type("Late", (nn.Module,), {"__init__": action})

        return attempt(
            without_init(lambda self: setattr(self, "x", nn.Parameter(lib.zeros(1)))),
            without_init(lambda self: setattr(self, "x", nn.ReLU())),
            without_init(lambda self: setattr(self, "x", nn.Buffer(lib.zeros(1)))),
            without_init(lambda self: self.register_buffer("x", None)),
            without_init(lambda self: self.register_parameter("x", None)),
            without_init(lambda self: self.add_module("x", None)),
            without_init(lambda self: self.x),
            without_init(lambda self: setattr(self, "x", 1) or self(2)),
        )

    works(run)


def test_call_super_init(works):
    def run(lib):
        class Other:
            def __init__(self, size):
                self.size = size

        class Both(lib.nn.Module, Other):
            call_super_init = True

        both = Both(3)
        return both.size, both.training, attempt(lambda: lib.nn.Linear(1, 2, bogus=1))

    works(run)


def test_walking(works):
    def run(lib):
        m = model(lib)
        return (
            [name for name, _ in m.named_parameters()],
            [name for name, _ in m.named_parameters("pre", recurse=False)],
            [name for name, _ in m.named_parameters(remove_duplicate=False)],
            [name for name, _ in m.named_buffers(prefix="b")],
            [name for name, _ in m.named_modules()],
            [name for name, _ in m.named_modules(remove_duplicate=False)],
            [name for name, _ in m.named_children()],
            [len(list(each())) for each in (m.parameters, m.buffers, m.children, m.modules)],
        )

    works(run)


def test_paths(works):
    def run(lib):
        m = model(lib)
        return attempt(
            lambda: m.get_submodule("inner.lin"),
            lambda: m.get_submodule("") is m,
            lambda: m.get_submodule("inner.none"),
            lambda: m.get_submodule("scale"),
            lambda: m.get_parameter("inner.lin.bias").shape,
            lambda: m.get_parameter("inner.seen"),
            lambda: m.get_parameter("inner.nope"),
            lambda: m.get_buffer("inner.seen"),
            lambda: m.get_buffer("inner.lin.bias"),
            lambda: m.get_buffer("inner.nope"),
            lambda: m.set_submodule("inner.lin", lib.nn.Tanh()),
            lambda: m,
            lambda: m.set_submodule("inner.new", lib.nn.Tanh(), strict=True),
            lambda: m.set_submodule("inner.new", lib.nn.Tanh()),
            lambda: m.set_submodule("inner.seen", lib.nn.Tanh()),
            lambda: m.set_submodule("", lib.nn.Tanh()),
            lambda: m.set_submodule("inner", 3),
            lambda: m,
        )

    works(run)


def test_conversion(works):
    def run(lib):
        m = model(lib)
        param, ids = m.scale, [id(p) for p in m.parameters()]
        m(array(lib, 2, 4)).sum().backward()
        seen = []

        def note(what):
            seen.append(what)
            seen.append([str(p.dtype) for p in m.parameters()] + [str(b.dtype) for b in m.buffers()])
            seen.append([str(p.grad.dtype) for p in m.parameters()])

        note(m.double() is m)
        note(m.to(lib.float32) is m)
        note(m.to("cpu", lib.float64) is m)
        note(m.to(lib.zeros(1)) is m)
        note(m.to(dtype=lib.bfloat16) is m)
        note(m.half() is m)
        note(m.float() is m)
        note(m.type(lib.float64) is m)
        note(m.to(device="cpu", non_blocking=True) is m)
        bn = lib.nn.BatchNorm1d(2).double()
        seen.append([str(b.dtype) for b in bn.buffers()])
        seen.append((param is m.scale, ids == [id(p) for p in m.parameters()]))
        seen.append([tuple(p.shape) for p in m.to_empty(device="cpu").parameters()])
        return seen

    works(run)


def test_conversion_errors(works):
    def run(lib):
        m = lib.nn.Linear(1, 1)
        return attempt(
            lambda: m.to(lib.int8),
            lambda: m.to("cuda"),
            lambda: m.cuda(),
            lambda: m.to("nowhere"),
            lambda: m.to(lib.float32, lib.float32),
            lambda: m.to(foo=1),
            lambda: m.to(copy=True),
            lambda: m.to(other=lib.zeros(1)),
            lambda: m.to(m),
            lambda: m.to(lib.complex64).weight.dtype,
            lambda: m.to_empty(),
        )

    works(run)


def test_modes(works):
    def run(lib):
        m = model(lib)
        m.eval()
        first = [part.training for part in m.modules()]
        m.first.train()
        second = [part.training for part in m.modules()]
        m.requires_grad_(False)
        frozen = [p.requires_grad for p in m.parameters()]
        m.requires_grad_()
        m(array(lib, 2, 4)).sum().backward()
        m.zero_grad(set_to_none=False)
        zeros = [p.grad for p in m.parameters()]
        m.zero_grad()
        return first, second, frozen, zeros, [p.grad for p in m.parameters()]

    works(run)


def test_apply_and_repr(works):
    def run(lib):
        m, names = model(lib), []
        m.apply(lambda part: names.append(type(part).__name__))

        class Described(lib.nn.Module):
            def extra_repr(self):
                return "one\ntwo"

        class Short(lib.nn.Module):
            def extra_repr(self):
                return "a=1"

        class ShortWithChild(Short):
            def __init__(self):
                super().__init__()
                self.child = Described()
                self.other = None

        nested = lib.nn.ModuleList([lib.nn.Sequential(lib.nn.ReLU(), Described()) for _ in range(3)] + [Short()])
        return names, repr(m), repr(Described()), repr(Short()), repr(ShortWithChild()), repr(nested), str(nested[0])

    works(run)


def test_module_is_one_class():
    assert torch.nn.Module.__mro__ == (torch.nn.Module, object)
    assert torch.nn.Linear.__mro__ == (torch.nn.Linear, torch.nn.Module, object)

    class Notes:
        def __init__(self, *args, **kwargs):
            self.given = args, kwargs

        def __setattr__(self, name, value):
            object.__setattr__(self, name, ("noted", value))

    class Model(torch.nn.Module, Notes):
        call_super_init = True

    model = Model(1, key=2)  # what stands after Module in the order of classes still takes part
    assert model.given == ("noted", ((1,), {"key": 2}))
