"""Hooks of modules against PyTorch's: forward, backward, global."""

from __future__ import annotations

from nn_data import array
from nn_models import attempt


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
