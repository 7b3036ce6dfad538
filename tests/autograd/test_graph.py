"""torch.autograd.graph: gradient edges, hooks on several tensors and on saved tensors, versions."""

# The lambdas run where they are made.
# ruff: noqa: B023
from __future__ import annotations

import gc
import threading
import weakref

import pytest

import penlight


def leaf(torch):
    return torch.tensor([1.0, 2.0], requires_grad=True)


# ----- Edges -----------------------------------------------------------------------------------------------------------------------


def test_gradient_edges(same):
    @same
    def program(torch, say):
        edge = torch.autograd.graph.get_gradient_edge
        x = leaf(torch)
        y = x * 2
        z = y.exp().sum()
        e, ex = edge(y), edge(x)
        say(e, ex, ex == edge(x), e.node is y.grad_fn, type(e), type(e)._fields)
        say.attempt(lambda: edge(torch.ones(1)))
        grad = torch.autograd.grad
        for call in (
            lambda: grad(z, [e, ex, y, x], retain_graph=True),
            lambda: grad(e, x, torch.ones(2), retain_graph=True),
            lambda: grad(e, x, retain_graph=True),
            lambda: grad(e, x, torch.ones(3), retain_graph=True),
            lambda: grad(e, x, torch.ones(2).float(), retain_graph=True),
            lambda: grad(edge(z), x, retain_graph=True),
            lambda: grad((edge(z),), (ex,), retain_graph=True),
            lambda: grad(z, edge(leaf(torch)), retain_graph=True),
            lambda: grad(z, [edge(leaf(torch))], allow_unused=True, retain_graph=True),
            lambda: grad(z, [ex], materialize_grads=True, retain_graph=True),
            lambda: grad(z, [edge(leaf(torch))], materialize_grads=True, retain_graph=True),
        ):
            say.attempt(call)
        for inputs in (ex, [ex], e, [e, x]):
            x.grad = None
            z.backward(inputs=inputs, retain_graph=True)
            say(x.grad)
        torch.autograd.backward(e, torch.ones(2), retain_graph=True)
        say(x.grad, grad(z, e))


def test_a_leaf_that_its_graph_outlives(same):
    @same
    def program(torch, say):
        x = torch.nn.Parameter(torch.ones(2))
        x.tag = 1
        y = (x * 2).sum()
        del x
        node = y.grad_fn.next_functions[0][0].next_functions[0][0]
        found = node.variable
        say(found, found.tag, found is node.variable, torch.autograd.graph.get_gradient_edge(found).node is node)
        say(torch.autograd.grad(y, found, retain_graph=True))
        found.register_hook(lambda grad: grad * 10)
        found.other = 2
        del found
        y.backward()
        say(node.variable.grad, node.variable.tag, node.variable.other)


def test_a_leaf_that_was_made_again():
    """It is what the leaf was, and makes no cycle. Pinned from PyTorch."""

    class Named(penlight.Tensor):
        pass

    for device, kind in (("cpu", penlight.Tensor), ("cpu", Named), ("meta", penlight.nn.Parameter)):
        x = (
            penlight.Tensor._make_subclass(kind, penlight.ones(2), True)
            if device == "cpu"
            else kind(penlight.ones(2, device=device))
        )
        x.tag, kind = "mine", type(x)
        node = penlight.autograd.graph.get_gradient_edge(x).node
        y = (x * 2).sum()
        del x
        found = node.variable
        assert type(found) is kind and found.tag == "mine" and found.is_leaf and found.requires_grad
        assert penlight.autograd.grad(y, found)[0].tolist() == [2.0, 2.0] if not found.is_meta else True
        alive = [weakref.ref(found), weakref.ref(node)]
        gc.disable()
        try:
            del found, node, y
            assert [ref() for ref in alive] == [None, None]
        finally:
            gc.enable()


def test_edges_without_a_tensor():
    x = leaf(penlight)
    y = x * 2
    made = penlight.autograd.graph.GradientEdge(y.grad_fn, 0)
    assert penlight.autograd.grad(made, x, penlight.ones(2))[0].tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match="only for scalar outputs"):
        penlight.autograd.grad(made, x)


def test_increment_version(same):
    @same
    def program(torch, say):
        increment = torch.autograd.graph.increment_version
        a, b = torch.ones(2), torch.ones(2)
        increment(a)
        increment([a, b])
        increment(t for t in (a, b))
        say(a._version, b._version)
        say.attempt(lambda: increment(3))
        say.attempt(lambda: increment([3]))


# ----- Hooks on several tensors ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["all", "any"])
def test_multi_grad_hook(same, mode):
    @same
    def program(torch, say):
        log = []
        a = leaf(torch) * 1
        b, c, d = leaf(torch), leaf(torch), leaf(torch)
        handle = torch.autograd.graph.register_multi_grad_hook((a, b, c, d), log.append, mode=mode)

        def run(backward):
            backward()
            say(log)
            log.clear()

        run(lambda: (a * b + b * c * 3).sum().backward(retain_graph=True))
        run(lambda: c.sum().backward())
        run(lambda: (a * b).sum().backward(inputs=[b], retain_graph=True))
        run(lambda: torch.autograd.grad((a * 1).sum(), [a]))
        run(lambda: (d * 2).sum().backward())
        handle.remove()
        run(lambda: (b * d).sum().backward())


def test_multi_grad_hook_refuses(same):
    @same
    def program(torch, say):
        register = torch.autograd.graph.register_multi_grad_hook
        say.attempt(lambda: register((leaf(torch),), print, mode="x"))
        say.attempt(lambda: register((torch.ones(1),), print))
        handle = register((), print)
        handle.remove()


def test_multi_grad_hook_when_a_pass_fails():
    log = []
    x, y = leaf(penlight), leaf(penlight)
    penlight.autograd.graph.register_multi_grad_hook((x, y), log.append)
    e = x.exp()
    out = (e * y).sum()
    handle = e.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        out.backward(retain_graph=True)
    handle.remove()
    out.backward()
    assert len(log) == 1 and all(g is not None for g in log[0])


def test_node_creation_hook():
    names = []
    x = leaf(penlight)
    with penlight.autograd.graph.node_creation_hook(lambda node: names.append(node.name())):
        y = (x * 2).exp()
        penlight.autograd.grad(y.sum(), x, create_graph=True)
        z = x * 1
        z[:1].mul_(3)
    x * 3
    assert names[:3] == ["MulBackward0", "ExpBackward0", "SumBackward0"]
    assert "torch::autograd::CopySlices" in names and names.count("ExpBackward0") == 1


# ----- Saved tensors -----------------------------------------------------------------------------------------------------------------


def hooks(torch, log, name="", pack=lambda t: t, unpack=lambda v: v):
    def packed(tensor):
        log.append((name + "pack", tensor, torch.is_grad_enabled()))
        return pack(tensor)

    def unpacked(value):
        log.append((name + "unpack", torch.is_grad_enabled()))
        return unpack(value)

    return torch.autograd.graph.saved_tensors_hooks(packed, unpacked)


def test_what_is_packed(same):
    @same
    def program(torch, say):
        log = []
        x, n = leaf(torch), torch.tensor([3.0, 4.0])
        with hooks(torch, log):
            b = (x * n).exp()
            c = b * x
            d = c * 2
            d.sum()
            torch.cat([x, x])
            x**2
            x**x
            torch.stack([x, x]).mm(torch.stack([x, x]))
        for entry in log:
            say(entry)
        log.clear()
        saved = c.grad_fn._saved_self
        say(saved, saved.grad_fn is b.grad_fn, saved is b, b.grad_fn._saved_result.grad_fn is b.grad_fn, log)
        log.clear()
        b.sum().backward()
        say(x.grad, log)
        say.attempt(lambda: b.sum().backward())


def test_unpack_happens_once_for_each_use(same):
    @same
    def program(torch, say):
        log = []
        x, y = leaf(torch), leaf(torch)
        with hooks(torch, log, pack=lambda t: t.tolist(), unpack=lambda v: torch.tensor(v)):
            out = ((x / y) * x.sigmoid()).sum()
        log.clear()
        for _ in range(2):
            out.backward(retain_graph=True)
            say([name for name, *_ in log], x.grad, y.grad)
            log.clear()
        (g,) = torch.autograd.grad(out, x, create_graph=True)
        say(g, torch.autograd.grad(g.sum(), [x, y]))


def test_nested_hooks(same):
    @same
    def program(torch, say):
        log = []
        x, n = leaf(torch), torch.tensor([3.0, 4.0])
        with hooks(torch, log, "outer "):
            with hooks(torch, log, "inner "):
                y = x * n
            z = y * n
        z.sum().backward()
        say([name for name, *_ in log])


def test_versions_are_not_checked_through_hooks(same):
    @same
    def program(torch, say):
        x, n = leaf(torch), torch.tensor([3.0, 4.0])
        with hooks(torch, []):
            z = (x * n).exp()
        with torch.no_grad():
            n.mul_(2)
            z.mul_(2)
        z.sum().backward()
        say(x.grad)


def test_hooks_refused(same):
    @same
    def program(torch, say):
        x, n = leaf(torch), torch.tensor([3.0, 4.0])
        graph = torch.autograd.graph

        def under(context):
            with context:
                return torch.mul(x, n)

        say.attempt(lambda: under(graph.saved_tensors_hooks(lambda t: t.mul_(2), lambda t: t)))
        wrong = under(graph.saved_tensors_hooks(lambda t: t, lambda t: 3))
        say.attempt(lambda: wrong.sum().backward())

        def disabled():
            with graph.disable_saved_tensors_hooks("not now"):
                under(graph.saved_tensors_hooks(lambda t: t, lambda t: t))

        def too_late():
            with graph.saved_tensors_hooks(lambda t: t, lambda t: t), graph.disable_saved_tensors_hooks("not now"):
                pass

        say.attempt(disabled)
        say.attempt(too_late)
        say(under(graph.saved_tensors_hooks(lambda t: t, lambda t: t)).requires_grad)


def test_hooks_on_one_saved_tensor(same):
    @same
    def program(torch, say):
        x, n = leaf(torch), torch.tensor([3.0, 4.0])
        y = x * n
        say.attempt(lambda: y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t))
        saved = y.grad_fn._raw_saved_other
        say(saved.data, saved.unpack_hook)
        saved.register_hooks(lambda t: (say(t, t is n, torch.is_grad_enabled()), t * 2)[1], lambda t: t * 10)
        say.attempt(lambda: y.grad_fn._raw_saved_other.register_hooks(lambda t: t, lambda t: t))
        say(y.grad_fn._saved_other, saved.data)
        y.sum().backward()
        say(x.grad, saved.data)
        say.attempt(lambda: saved.register_hooks(lambda t: t, lambda t: t))
        e = leaf(torch).exp()
        e.grad_fn._raw_saved_result.register_hooks(lambda t: t * 2, lambda t: t * 10)
        say(e.grad_fn._saved_result)
        say.attempt(lambda: torch.autograd.SavedTensor())


def test_hooks_on_what_a_function_saved(same):
    @same
    def program(torch, say):
        class Exp(torch.autograd.Function):
            @staticmethod
            def forward(ctx, a):
                o = a.exp()
                ctx.save_for_backward(a, o)
                return o

            @staticmethod
            def backward(ctx, g):
                _, o = ctx.saved_tensors
                return g * o

        log = []
        x = leaf(torch)
        with hooks(torch, log, pack=lambda t: t.detach()):
            y = Exp.apply(x)
        say([name for name, *_ in log], len(y.grad_fn._raw_saved_tensors))
        (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        say(g, torch.autograd.grad(g.sum(), x))
        z = Exp.apply(x)
        z.grad_fn._raw_saved_tensors[1].register_hooks(lambda t: t * 2, lambda t: t * 10)
        z.sum().backward()
        say(x.grad)


def test_save_on_cpu(same):
    @same
    def program(torch, say):
        for pin in (False, True):
            x, n = leaf(torch), torch.ones(2)
            with torch.autograd.graph.save_on_cpu(pin_memory=pin):
                y = (x * n).exp() * n
            n.mul_(2)
            y.sum().backward()
            say(x.grad)


def test_hooks_belong_to_their_thread():
    log, done = [], []

    def other():
        y = leaf(penlight) * penlight.ones(2)
        y.sum().backward()
        done.append(True)

    with hooks(penlight, log):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert done and not log


def test_packed_results_make_no_cycle():
    gc.collect()
    gc.disable()
    try:
        x = leaf(penlight)
        with penlight.autograd.graph.saved_tensors_hooks(lambda t: t.detach(), lambda t: t):
            y = x.exp()
        node = weakref.ref(y.grad_fn)
        del y
        assert node() is None
    finally:
        gc.enable()


def test_a_failing_pack_hook_changes_nothing():
    x = leaf(penlight)
    with pytest.raises(ZeroDivisionError), hooks(penlight, [], pack=lambda t: 1 / 0):
        x * x
    assert penlight.is_grad_enabled()
    (x * x).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]


# ----- Writing to saved tensors ------------------------------------------------------------------------------------------------------


def test_allow_mutation(same):
    @same
    def program(torch, say):
        allow = torch.autograd.graph.allow_mutation_on_saved_tensors
        with allow():
            a = torch.ones(2, 3, requires_grad=True)
            b = a.clone()
            out = (b**2).sum()
            b.sin_()
            out.backward()
            say(a.grad)
        with allow():
            a = torch.ones(4, requires_grad=True)
            b = a.clone()
            c = b[:2]
            d = (b * b).sum() + (c * c).sum()
            c.mul_(3)
            b.add_(1)
            (d + b.sum()).backward()
            say(a.grad)
        with allow():
            a = leaf(torch)
            b = a.exp()
            b.mul_(2)
            b.sum().backward()
            b = a * 1
            out = b.exp()
            b[0] = 5.0
            out.sum().backward()
            n = torch.ones(2)
            c = a * n
            n.zero_()
            c.sum().backward()
            say(a.grad)
            out = (a * a).sum()
        say.attempt(out.backward)

        def nested():
            with allow(), allow():
                pass

        say.attempt(nested)
        say.attempt(nested)


def test_compiler_switches(same):
    @same
    def program(torch, say):
        budget = torch.autograd.graph.region_activation_memory_budget
        for value in (True, 2.0, 0.5):
            say.attempt(lambda: budget(value))
        torch.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch(True)
        with torch.autograd.set_multithreading_enabled(False):
            say(torch.autograd.is_multithreading_enabled())
        say(torch.autograd.is_multithreading_enabled(), torch.autograd.is_view_replay_enabled())
        x = torch.ones(2)
        with torch.autograd._unsafe_preserve_version_counter(x):
            x.mul_(2)
        say(x, x._version)


def test_a_saved_tensor_that_was_detached_in_place():
    """Its number is still right, but a derivative through it would be lost: that is refused."""
    x = penlight.tensor([0.5], requires_grad=True)
    factor = x * 2.0
    y = x * factor
    factor.detach_()
    assert penlight.autograd.grad(y.sum(), x, retain_graph=True)[0].item() == 2.0
    with pytest.raises(RuntimeError, match="saved tensor that has been detached in-place"):
        penlight.autograd.grad(y.sum(), x, create_graph=True)
