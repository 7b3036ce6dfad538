"""Hooks on tensors and nodes: when they run, in which order, and what they may return."""

# The lambdas run where they are made.
# ruff: noqa: B023
from __future__ import annotations

import gc
import pickle
import weakref
from collections import OrderedDict

import pytest

import penlight
from penlight.utils.hooks import RemovableHandle


class Chain:
    """x -> y = 3x -> z = 2y -> w = sum(z), with hooks everywhere that log and scale."""

    def __init__(self, torch, log):
        self.x = torch.tensor([1.0, 2.0], requires_grad=True)
        self.y = self.x * 3
        self.z = self.y * 2
        self.w = self.z.sum()
        self.log = log

        def scaled(name, factor):
            def hook(grad):
                log.append((name, grad.tolist()))
                return grad * factor

            return hook

        def pre(name, factor):
            def hook(grads):
                log.append((name, grads[0].tolist()))
                return (grads[0] * factor,)

            return hook

        self.x.register_hook(scaled("x", 2))
        self.y.register_hook(scaled("y1", 10))
        self.y.retain_grad()
        self.y.register_hook(scaled("y2", 3))
        self.z.register_hook(scaled("z", 5))
        self.w.register_hook(scaled("w", 7))
        self.y.grad_fn.register_prehook(pre("y pre", 100))
        self.z.grad_fn.register_prehook(pre("z pre", 1000))
        self.y.grad_fn.register_hook(lambda inputs, outputs: log.append(("y post", outputs[0].tolist())))
        self.z.grad_fn.register_hook(lambda inputs, outputs: log.append(("z post", outputs[0].tolist())))
        leaf = self.y.grad_fn.next_functions[0][0]
        leaf.register_prehook(lambda grads: log.append(("leaf pre", grads[0].tolist())))
        leaf.register_hook(lambda inputs, outputs: log.append(("leaf post", self.x.grad.tolist())))
        self.x.register_post_accumulate_grad_hook(lambda p: log.append(("accumulated", p.grad.tolist())))


def test_order(same):
    @same
    def program(torch, say):
        log = []
        chain = Chain(torch, log)
        chain.w.backward()
        say(log, chain.x.grad, chain.y.grad)


@pytest.mark.parametrize("wanted", ["x", "y", "z", "xy", "zy", "xyz"])
@pytest.mark.parametrize("how", ["grad", "backward", "create_graph"])
def test_captured_gradients(same, wanted, how):
    @same
    def program(torch, say):
        log = []
        chain = Chain(torch, log)
        inputs = [getattr(chain, name) for name in wanted]
        if how == "backward":
            chain.w.backward(inputs=inputs)
            say([t.grad for t in inputs])
        else:
            found = torch.autograd.grad(chain.w, inputs, create_graph=how == "create_graph")
            say([t.detach() for t in found])
        say(log, None if chain.y.grad is None else chain.y.grad.detach())


def test_roots_that_lead_nowhere(same):
    @same
    def program(torch, say):
        log = []
        x, q = (torch.ones(2, requires_grad=True) for _ in range(2))
        y, z = x * 2, q * 3
        y.register_hook(lambda g: log.append("y"))
        z.register_hook(lambda g: log.append("z"))
        say(torch.autograd.grad(y.sum(), q, allow_unused=True), log)
        say(torch.autograd.grad(y, q, torch.ones(2), allow_unused=True), log)
        say(torch.autograd.grad([y, z], q, [torch.ones(2)] * 2, allow_unused=True), log)


def test_hooks_get_none_where_no_gradient_arrives(same):
    @same
    def program(torch, say):
        class Nothing(torch.autograd.Function):
            @staticmethod
            def forward(ctx, a):
                return a * 2

            @staticmethod
            def backward(ctx, g):
                return None

        log = []

        def note(name):
            return lambda *args: log.append((name, args))

        x = torch.ones(2, requires_grad=True)
        y = x * 3
        y.register_hook(note("y"))
        y.retain_grad()
        y.grad_fn.register_prehook(note("pre"))
        y.grad_fn.register_hook(note("post"))
        x.register_hook(note("x"))
        x.register_post_accumulate_grad_hook(note("accumulated"))
        leaf = y.grad_fn.next_functions[0][0]
        leaf.register_prehook(note("leaf pre"))
        leaf.register_hook(note("leaf post"))
        Nothing.apply(y).sum().backward()
        say(log, x.grad, y.grad)
        log.clear()
        a, b = (torch.ones(4, requires_grad=True) * 1).split(2)
        a.grad_fn.register_prehook(note("pre"))
        a.register_hook(note("a"))
        b.register_hook(note("b"))
        a.sum().backward()
        say(log)


def outcome(torch, register):
    x = torch.ones(2, requires_grad=True)
    y = x * 3
    register(x, y)
    y.sum().backward()
    return x.grad


def test_tensor_hooks_must_return_a_gradient(same):
    @same
    def program(torch, say):
        def number(g):
            return 3

        def single(g):
            return g.float()

        def short(g):
            return g[:1]

        def fails(g):
            raise ValueError("mine")

        for hook in (number, single, short, fails):
            say.attempt(lambda: outcome(torch, lambda x, y: x.register_hook(hook)))
            say.attempt(lambda: outcome(torch, lambda x, y: y.register_hook(hook)))


def test_node_hooks_must_return_gradients(same):
    @same
    def program(torch, say):
        pre = [
            lambda g: 3,
            lambda g: (g[0], g[0]),
            lambda g: (3,),
            lambda g: g[0] * 2,
            lambda g: [g[0] * 2],
            lambda g: (None,),
            lambda g: (g[0].float(),),
            lambda g: (g[0][:1],),
            lambda g: (),
            lambda g: (g[0] * 2,),
        ]
        for hook in pre:
            say.attempt(lambda: outcome(torch, lambda x, y: y.grad_fn.register_prehook(hook)))
        post = [
            lambda i, o: 3,
            lambda i, o: (i[0],),
            lambda i, o: (3, None),
            lambda i, o: (i[0] * 2, None),
            lambda i, o: [i[0] * 2, None],
            lambda i, o: (None, None),
            lambda i, o: (i[0].float(), None),
            lambda i, o: (i[0][:1], None),
        ]
        for hook in post:
            say.attempt(lambda: outcome(torch, lambda x, y: y.grad_fn.register_hook(hook)))


def test_where_hooks_can_be_registered(same):
    @same
    def program(torch, say):
        for register in (
            lambda x, y: x.register_post_accumulate_grad_hook(lambda p: 3),
            lambda x, y: y.register_post_accumulate_grad_hook(lambda p: None),
            lambda x, y: x.detach().register_post_accumulate_grad_hook(lambda p: None),
            lambda x, y: x.detach().register_hook(lambda p: None),
            lambda x, y: x.register_hook(3),
        ):
            say.attempt(lambda: outcome(torch, register))


def test_what_hooks_after_accumulation_may_return(same):
    @same
    def program(torch, say):
        for hook in (
            lambda p: p.add_(p.grad, alpha=-0.1),
            lambda p: p,
            lambda p: p.grad,
            lambda p: p.data,
            lambda p: p[:1],
            lambda p: p.float(),
            lambda p: (p,),
        ):
            x = torch.ones(2, requires_grad=True)
            x.register_post_accumulate_grad_hook(hook)
            say.attempt(lambda: (x * 2).sum().backward())
            say(x, x.grad)


def test_arguments_of_backward_and_grad(same):
    @same
    def program(torch, say):
        ag = torch.autograd
        x = torch.ones(2, requires_grad=True)
        y, one = x * 2, torch.ones(2)
        for call in (
            lambda: ag.grad((x * 2).sum(), [x, x]),
            lambda: ag.grad(y, y, one),
            lambda: ag.grad(x, x, one),
            lambda: ag.grad([y, torch.ones(2)], x, [one, one]),
            lambda: ag.grad(y, x),
            lambda: ag.grad(y.sum(), torch.ones(1)),
            lambda: ag.grad(y.sum(), []),
            lambda: ag.grad([], x),
            lambda: ag.backward([]),
            lambda: ag.backward(y.sum(), inputs=[]),
            lambda: ag.backward(y.sum(), inputs=[torch.ones(2)]),
            lambda: ag.backward(x * 2, [one, one]),
            lambda: ag.backward(y, [torch.ones(3)]),
            lambda: ag.backward([y, y], one),
            lambda: ag.backward(y.sum(), 3),
            lambda: ag.backward(y.sum(), [3.0]),
            lambda: ag.backward(3),
            lambda: ag.backward([3]),
            lambda: ag.grad(y.sum(), 3),
            lambda: ag.grad(3, x),
            lambda: ag.grad(y.sum(), x, materialize_grads=True, allow_unused=False),
            lambda: ag.grad(y.sum(), x, only_inputs=False),
        ):
            say.attempt(call)


def test_handles():
    x = penlight.ones(1, requires_grad=True)
    first, second = x.register_hook(lambda g: g * 2), x.register_hook(lambda g: g * 3)
    first.remove()
    first.remove()
    x.sum().backward()
    assert x.grad.tolist() == [3.0]
    with x.register_hook(lambda g: g * 100):
        pass
    second.remove()
    x.grad = None
    x.sum().backward()
    assert x.grad.tolist() == [1.0]


def test_handle_keeps_no_hook_alive():
    class Big:
        def __call__(self, grad):
            return None

    gc.disable()
    try:
        y = penlight.ones(1, requires_grad=True) * 2
        big = Big()
        seen = weakref.ref(big)
        handle = y.register_hook(big)
        del big, y
        assert seen() is None
        handle.remove()
    finally:
        gc.enable()


def test_handle_of_several_dicts_and_pickle():
    hooks, extra = OrderedDict(), OrderedDict()
    handle = RemovableHandle(hooks, extra_dict=extra)
    hooks[handle.id] = extra[handle.id] = 1
    copy = pickle.loads(pickle.dumps(handle))
    assert copy.id == handle.id and RemovableHandle(hooks).id > copy.id
    handle.remove()
    assert not hooks and not extra


def test_a_hook_may_register_another():
    x = penlight.ones(1, requires_grad=True)
    x.register_hook(lambda g: x.register_hook(lambda g: g * 5) and None)
    x.sum().backward()
    assert x.grad.tolist() == [1.0]


def test_warn_if_has_hooks():
    x = penlight.ones(1, requires_grad=True)
    penlight.utils.hooks.warn_if_has_hooks(x)
    x.register_hook(penlight.utils.hooks.unserializable_hook(lambda g: None))
    penlight.utils.hooks.warn_if_has_hooks(x)
    x.register_hook(lambda g: None)
    with pytest.warns(UserWarning, match="will not be serialized"):
        penlight.utils.hooks.warn_if_has_hooks(x)
