"""The machinery of Module against PyTorch's: attributes, state, hooks, conversion, containers, errors, warnings."""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict

from nn_data import array


def attempt(*functions):
    """The results, or the errors, of several functions, and a copy of the state after each."""
    seen = []
    for function in functions:
        try:
            seen.append(function())
        except Exception as error:
            seen.append((type(error).__name__, str(error)))
    return seen


def model(lib):
    nn = lib.nn

    class Inner(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(3, 2)
            self.register_buffer("seen", lib.zeros(2))
            self.register_buffer("hidden", lib.ones(1), persistent=False)
            self.register_parameter("absent", None)

        def forward(self, x):
            return self.lin(x) + self.seen

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Sequential(nn.Linear(4, 3), nn.ReLU())
            self.inner = Inner()
            self.scale = nn.Parameter(lib.ones(2))
            self.shared = self.first[0]
            self.nothing = None

        def forward(self, x):
            return self.inner(self.first(x)) * self.scale

    return Outer()


# Attributes and registration


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


# State


def test_state_dict(works):
    def run(lib):
        m = model(lib)
        state = m.state_dict()
        kept = m.state_dict(prefix="p.", keep_vars=True)
        into = OrderedDict()
        return (
            dict(state),
            dict(state._metadata),
            [value.requires_grad for value in state.values()],
            [value.requires_grad for value in kept.values()],
            list(kept),
            kept["p.scale"] is m.scale,
            m.state_dict(destination=into) is into,
            hasattr(into, "_metadata"),
            list(m.state_dict(OrderedDict(), "q.", True)),
        )

    works(run)


def test_load_state_dict(works):
    def run(lib):
        source, m = model(lib), model(lib)
        good = source.state_dict()
        seen = [repr(m.load_state_dict(good)), dict(m.state_dict())]
        short = OrderedDict(good)
        del short["scale"], short["inner.lin.weight"]
        extra = OrderedDict(good)
        extra["what"] = lib.zeros(1)
        extra["inner.deep.er"] = lib.zeros(1)
        extra["gone.deeper"] = lib.zeros(1)
        wrong = OrderedDict(good)
        wrong["scale"] = lib.zeros(3)
        wrong["inner.lin.bias"] = [1, 2]
        wrong["first.0.bias"] = lib.zeros(3, 1)
        mixed = OrderedDict(extra)
        mixed["scale"] = lib.zeros(3)
        del mixed["inner.seen"]
        for state in (short, extra, wrong, mixed, 3, {}):
            seen += attempt(lambda state=state: m.load_state_dict(state))
            seen += attempt(lambda state=state: m.load_state_dict(state, strict=False))
        return seen

    works(run)


def test_load_state_dict_assign(works):
    def run(lib):
        source, m = model(lib).double(), model(lib)
        state = source.state_dict()
        m.scale.requires_grad_(False)
        keys = m.load_state_dict(state, assign=True)
        again = m.load_state_dict(model(lib).state_dict())
        return (
            repr(keys),
            repr(again),
            [str(p.dtype) for p in m.parameters()],
            [p.requires_grad for p in m.parameters()],
            m.inner.seen is state["inner.seen"],
            m.inner.seen.dtype,
        )

    works(run)


def test_scalar_loaded_from_one_element(works):
    def run(lib):
        m = lib.nn.BatchNorm1d(2)
        state = m.state_dict()
        state["num_batches_tracked"] = lib.tensor([5])
        m.load_state_dict(state)
        return m.num_batches_tracked

    works(run)


def test_old_versions(works):
    def run(lib):
        bn, inst = lib.nn.BatchNorm1d(2), lib.nn.InstanceNorm1d(2)
        old = {"weight": lib.ones(2), "bias": lib.ones(2), "running_mean": lib.ones(2), "running_var": lib.ones(2)}
        newer = OrderedDict(old)
        newer._metadata = {"": {"version": 2}}
        stats = {"running_mean": lib.ones(2), "running_var": lib.ones(2)}
        return attempt(
            lambda: repr(bn.load_state_dict(old)),
            lambda: bn.load_state_dict(newer),
            lambda: inst.load_state_dict(stats),
        )

    works(run)


def test_extra_state(works):
    def run(lib):
        class Extra(lib.nn.Module):
            def __init__(self):
                super().__init__()
                self.count = 1

            def get_extra_state(self):
                return {"count": self.count}

            def set_extra_state(self, state):
                self.count = state["count"]

        outer = lib.nn.Sequential(Extra(), lib.nn.Linear(1, 1))
        outer[0].count = 9
        state = outer.state_dict()
        other = lib.nn.Sequential(Extra(), lib.nn.Linear(1, 1))
        other.load_state_dict(state)
        plain = lib.nn.Sequential(lib.nn.ReLU(), lib.nn.Linear(1, 1))
        return (
            list(state),
            other[0].count,
            attempt(
                lambda: plain.load_state_dict(state),
                lambda: other.load_state_dict(plain.state_dict()),
                lambda: lib.nn.Module().get_extra_state(),
                lambda: lib.nn.Module().set_extra_state(1),
            ),
        )

    works(run)


def test_state_dict_hooks(works):
    def run(lib):
        m, log = lib.nn.Sequential(lib.nn.Linear(2, 2)), []

        def pre(module, prefix, keep_vars):
            log.append(("pre", prefix, keep_vars))

        def private(module, state, prefix, metadata):
            log.append(("private", list(state), prefix, metadata))
            return OrderedDict(state, added=lib.zeros(1))

        def public(module, state, prefix, metadata):
            log.append(("public", list(state)))

        def loading(module, state, prefix, metadata, strict, missing, unexpected, errors):
            log.append(("loading", type(module).__name__, prefix, strict))
            state.pop("added", None)

        def loaded(module, keys):
            log.append(("loaded", type(module).__name__, list(keys.missing_keys), list(keys.unexpected_keys)))

        m[0].register_state_dict_pre_hook(pre)
        m._register_state_dict_hook(private)
        m.register_state_dict_post_hook(public)
        m.register_load_state_dict_pre_hook(loading)
        m[0].register_load_state_dict_post_hook(loaded)
        m.register_load_state_dict_post_hook(loaded)
        state = m.state_dict()
        m.load_state_dict(state)
        m.load_state_dict({}, strict=False)
        m.register_state_dict_post_hook(lambda *args: 3)
        m[0].register_load_state_dict_post_hook(lambda *args: 3)
        return (
            log,
            list(state),
            attempt(
                lambda: m.state_dict(),
                lambda: m._register_state_dict_hook(public),
                lambda: m.load_state_dict({}, strict=False),
            ),
        )

    works(run)


def test_pickle_and_deepcopy(works):
    def run(lib):
        net = lib.nn.Sequential(lib.nn.Linear(2, 3), lib.nn.LSTM(3, 2), lib.nn.BatchNorm1d(2))
        net[0].weight.requires_grad_(False)
        seen = []
        for other in (pickle.loads(pickle.dumps(net)), copy.deepcopy(net)):
            seen.append((repr(other), dict(other.state_dict()), [p.requires_grad for p in other.parameters()]))
            seen.append(other[1](lib.ones(1, 1, 3))[0])
            seen.append([name for name in ("_flat_weights_names", "_all_weights") if name in other[1].__dict__])
        return seen

    works(run)


# Conversion


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


# Hooks


def test_forward_hooks(works):
    def run(lib):
        m, log = lib.nn.Linear(2, 2), []

        def pre(module, args):
            log.append(("pre", len(args)))
            return args[0] + 1

        def pre_kwargs(module, args, kwargs):
            log.append(("pre kwargs", len(args), sorted(kwargs)))
            return args, {}

        def post(module, args, output):
            log.append(("post", len(args)))
            return output * 2

        def post_kwargs(module, args, kwargs, output):
            log.append(("post kwargs", sorted(kwargs)))

        handles = [
            m.register_forward_pre_hook(pre),
            m.register_forward_pre_hook(pre_kwargs, with_kwargs=True, prepend=True),
            m.register_forward_hook(post),
            m.register_forward_hook(post_kwargs, with_kwargs=True, prepend=True),
        ]
        x = array(lib, 1, 2)
        first = m(x)
        for handle in handles:
            handle.remove()
        empty = [m._forward_hooks, m._forward_hooks_with_kwargs, m._forward_pre_hooks_with_kwargs]
        second = m(input=x)
        with m.register_forward_hook(lambda module, args, output: output * 0):
            third = m(x)
        m.register_forward_pre_hook(lambda module, args, kwargs: 3, with_kwargs=True)
        return log, first, second, third, [len(d) for d in empty], attempt(lambda: m(x))

    works(run)


def test_always_called_hooks(works):
    def run(lib):
        log = []

        class Failing(lib.nn.Module):
            def forward(self, x):
                raise ValueError("no")

        m = Failing()

        def broken(module, args, output):
            log.append("broken")
            raise KeyError("hook")

        m.register_forward_hook(lambda module, args, output: log.append("normal"))
        m.register_forward_hook(lambda module, args, output: log.append(("always", output)), always_call=True)
        m.register_forward_hook(
            lambda module, args, kwargs, output: log.append(sorted(kwargs)), always_call=True, with_kwargs=True
        )
        m.register_forward_hook(broken, always_call=True)
        seen = attempt(lambda: m(x=lib.zeros(1)))
        fine = lib.nn.ReLU()
        fine.register_forward_hook(broken, always_call=True)
        return seen, attempt(lambda: fine(lib.zeros(1))), log

    works(run)


def test_backward_hooks(works):
    def run(lib):
        log = []

        class Two(lib.nn.Module):
            def forward(self, a, b, flag):
                return a * b, b + 1, "text"

        m = Two()
        m.register_full_backward_hook(
            lambda module, grad_input, grad_output: log.append(("hook", grad_input, grad_output))
        )
        m.register_full_backward_hook(lambda module, grad_input, grad_output: log.append("first"), prepend=True)
        m.register_full_backward_pre_hook(lambda module, grad_output: log.append(("pre", grad_output)))
        m.register_full_backward_pre_hook(
            lambda module, grad_output: tuple(g if g is None else g * 2 for g in grad_output)
        )
        a, b = array(lib, 2, grad=True), array(lib, 2, seed=1)
        one, two, _ = m(a, b, True)
        (one.sum() + two.sum()).backward()
        changed = lib.nn.Linear(2, 2)
        changed.register_full_backward_hook(lambda module, grad_input, grad_output: (grad_input[0] * 0,))
        c = array(lib, 1, 2, grad=True)
        changed(c).sum().backward()
        return log, a.grad, c.grad, changed.weight.grad, type(one.grad_fn).__name__

    works(run)


def test_backward_hook_without_input_grad(works):
    def run(lib):
        log = []
        m = lib.nn.Linear(2, 2)
        handle = m.register_full_backward_hook(lambda module, *grads: log.append(grads))
        m(array(lib, 1, 2)).sum().backward()
        handle.remove()
        m.register_full_backward_hook(lambda module, grad_input, grad_output: (grad_output[0],))
        seen = attempt(lambda: m(array(lib, 1, 2)).sum().backward())
        with lib.no_grad():
            m(array(lib, 1, 2))
        return log, seen

    works(run)


def test_backward_hook_errors(works):
    def run(lib):
        x = array(lib, 1, 2, grad=True)

        def with_hook(register, hook):
            m = lib.nn.ReLU()
            getattr(m, register)(hook)
            m(x).sum().backward()

        def mixed(first, second):
            m = lib.nn.ReLU()
            getattr(m, first)(print)
            getattr(m, second)(print)

        def of_dict():
            class Dict(lib.nn.Module):
                def forward(self, x):
                    return {"a": x}

            m = Dict()
            m.register_full_backward_hook(lambda *args: None)
            m(x)

        return attempt(
            lambda: with_hook("register_full_backward_hook", lambda module, gi, go: (gi[0], gi[0])),
            lambda: with_hook("register_full_backward_pre_hook", lambda module, go: (go[0], go[0])),
            lambda: mixed("register_full_backward_hook", "register_backward_hook"),
            lambda: mixed("register_backward_hook", "register_full_backward_hook"),
            of_dict,
        )

    works(run)


def test_legacy_backward_hooks(works):
    def run(lib):
        log = []

        class Several(lib.nn.Module):
            def forward(self, x, *rest):
                return x * 2 + 1

        class AsDict(lib.nn.Module):
            def forward(self, x):
                return {"a": x * 2}

        class Split(lib.nn.Module):
            def forward(self, x):
                return x * 2, x + 1

        x = array(lib, 2, grad=True)

        def run_one(m, *args):
            m.register_backward_hook(lambda module, gi, go: log.append((type(module).__name__, gi, go)))
            out = m(*args)
            out = out["a"] if isinstance(out, dict) else out[0] if isinstance(out, tuple) else out
            out.sum().backward()

        run_one(lib.nn.Tanh(), x * 1)
        run_one(Several(), x * 1)
        run_one(Several(), x * 1, "text")
        run_one(AsDict(), x * 1)
        run_one(Split(), x * 1)
        return log

    works(run)


def test_global_hooks(works):
    def run(lib):
        of = lib.nn.modules.module
        log = []
        handles = [
            of.register_module_forward_pre_hook(lambda module, args: log.append(("pre", type(module).__name__))),
            of.register_module_forward_hook(lambda module, args, out: log.append(("post", type(module).__name__))),
            of.register_module_forward_hook(
                lambda module, args, kwargs, out: log.append(sorted(kwargs)), with_kwargs=True
            ),
            of.register_module_full_backward_pre_hook(lambda module, go: log.append(("bw pre", type(module).__name__))),
            of.register_module_full_backward_hook(lambda module, gi, go: log.append(("bw", type(module).__name__))),
            of.register_module_buffer_registration_hook(lambda module, name, value: log.append(name)),
            of.register_module_parameter_registration_hook(lambda module, name, value: log.append(name)),
            of.register_module_module_registration_hook(lambda module, name, value: log.append((name, repr(value)))),
        ]
        try:
            net = lib.nn.Sequential(lib.nn.Linear(2, 2), lib.nn.BatchNorm1d(2))
            net(array(lib, 3, 2, grad=True)).sum().backward()
            seen = attempt(lambda: of.register_module_backward_hook(print))
        finally:
            for handle in handles:
                handle.remove()
        count = len(log)
        net(array(lib, 3, 2))
        return log, seen, len(log) == count

    works(run)


# Containers


def test_sequential(works):
    def run(lib):
        nn = lib.nn
        s = nn.Sequential(nn.ReLU(), nn.Tanh(), nn.Sigmoid())
        named = nn.Sequential(OrderedDict([("a", nn.ReLU()), ("b", nn.Tanh())]))
        seen = attempt(
            lambda: (len(s), s[0], s[-1], s[1:], named["a":] if False else named[0], named[:1]),
            lambda: s[3],
            lambda: s["a"],
            lambda: s + named,
            lambda: s + [nn.ReLU()],
            lambda: named * 2,
            lambda: 2 * named,
            lambda: named * 0,
            lambda: named * 1.5,
            lambda: s.append(nn.ELU()),
            lambda: s.insert(0, nn.CELU()),
            lambda: s.insert(-1, nn.GLU()),
            lambda: s.insert(9, nn.GLU()),
            lambda: s.insert(0, 3),
            lambda: s.extend([nn.SELU()]),
            lambda: (s.pop(0), s),
            lambda: (s.pop(slice(0, 2)), s),
            lambda: s.__delitem__(slice(0, 1)) or s,
            lambda: s.__setitem__(0, nn.Identity()) or s,
            lambda: s.__delitem__(9),
            lambda: [name for name in dir(s) if name.isdigit()],
        )
        s += named
        seen.append(s)
        s *= 2
        return seen, s, [type(part).__name__ for part in s]

    works(run)


def test_module_list(works):
    def run(lib):
        nn = lib.nn
        m = nn.ModuleList([nn.ReLU(), nn.Tanh()])
        seen = attempt(
            lambda: (len(m), m[0], m[-1], m[:1]),
            lambda: m[2],
            lambda: m.append(nn.ELU()),
            lambda: m.insert(1, nn.CELU()) or m,
            lambda: m.extend(nn.Sequential(nn.GLU())),
            lambda: m.extend(3),
            lambda: m + [nn.SELU()],
            lambda: (m.pop(1), m),
            lambda: m.__delitem__(slice(0, 2)) or m,
            lambda: m.__delitem__(-1) or m,
            lambda: m.__setitem__(0, nn.Identity()) or m,
            lambda: nn.ModuleList(3),
            lambda: nn.ModuleList([3]),
            lambda: m(1),
            lambda: nn.ModuleList(),
        )
        m += [nn.ReLU(), nn.ReLU()]
        return seen, m

    works(run)


def test_module_dict(works):
    def run(lib):
        nn = lib.nn
        m = nn.ModuleDict([["a", nn.ReLU()], ["b", nn.Tanh()]])
        return attempt(
            lambda: (len(m), m["a"], "b" in m, list(m), list(m.keys()), list(m.values())),
            lambda: [name for name, _ in m.items()],
            lambda: m.update({"c": nn.ELU()}) or m,
            lambda: m.update(nn.ModuleDict({"d": nn.GLU()})) or m,
            lambda: (m.pop("a"), m),
            lambda: m["zz"],
            lambda: m.__setitem__("x.y", nn.ReLU()),
            lambda: m.__setitem__("train", nn.ReLU()),
            lambda: m.update(3),
            lambda: m.update([3]),
            lambda: m.update([["a"]]),
            lambda: m.clear() or m,
        )

    works(run)


def test_parameter_containers(works):
    def run(lib):
        nn = lib.nn
        p = nn.ParameterList([lib.zeros(2), nn.Parameter(lib.ones(1)), 3])
        d = nn.ParameterDict({"b": lib.zeros(2), "a": lib.ones(1), "t": "text"})
        return attempt(
            lambda: (len(p), p[0].requires_grad, p[-1], len(p[1:]), [type(x).__name__ for x in p]),
            lambda: p.append(lib.ones(3)),
            lambda: p.extend([lib.ones(1)]),
            lambda: p.extend(lib.ones(1)),
            lambda: p.extend(3),
            lambda: p[9],
            lambda: p(),
            lambda: p.__setitem__(0, lib.ones(4)) or p,
            lambda: [name for name, _ in p.named_parameters()],
            lambda: (len(d), list(d), "a" in d, d["a"], d.get("zz", 3), list(reversed(d))),
            lambda: [name for name, _ in d.named_parameters()],
            lambda: d.setdefault("n", lib.zeros(1)),
            lambda: (d.pop("a"), d.popitem()[0], list(d)),
            lambda: list(d | nn.ParameterDict({"z": lib.zeros(1)})),
            lambda: list(d.copy()),
            lambda: list(d.fromkeys(["k"], 1).items()),
            lambda: d.update(3),
            lambda: d.update([["a"]]),
            lambda: d.update([3]),
            lambda: nn.ParameterDict().__setitem__(3, 1),
            lambda: d["nope"],
            lambda: d(1),
            lambda: d.clear() or d,
        )

    works(run)


def test_lazy_modules(works):
    def run(lib):
        nn = lib.nn
        net = nn.Sequential(nn.LazyConv2d(3, 2), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(2))
        before = repr(net), net[0].has_uninitialized_params()
        state = net.state_dict()
        kinds = [type(value).__name__ for value in state.values()]
        out = net(array(lib, 2, 4, 3, 3))
        other = nn.Sequential(nn.LazyConv2d(3, 2), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(2))
        other.load_state_dict(net.state_dict())
        again = other(array(lib, 2, 4, 3, 3))
        return (
            before,
            kinds,
            out,
            again,
            repr(net),
            repr(other),
            attempt(
                lambda: nn.LazyConv2d(3, 2)(array(lib, 2, 3)),
                lambda: nn.LazyConv2d(4, 2, groups=2)(array(lib, 1, 3, 5, 5)),
                lambda: nn.LazyLinear(3).weight.shape,
                lambda: nn.LazyLinear(3).share_memory(),
                lambda: repr(nn.LazyLinear(3).weight),
                lambda: nn.Linear(2, 3).load_state_dict(nn.LazyLinear(3).state_dict()),
            ),
        )

    works(run)
