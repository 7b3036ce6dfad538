"""torch.utils.checkpoint: both ways give the gradients of the plain call, and complain as PyTorch does."""

# The lambdas run where they are made.
# ruff: noqa: B023
from __future__ import annotations

import functools
import gc
import importlib
import weakref

import pytest

import penlight


def library(torch):
    return importlib.import_module(torch.__name__ + ".utils.checkpoint")


def leaf(torch):
    return torch.tensor([0.1, 0.2, 0.3], requires_grad=True)


def tip_less(say, function):
    """What a call raises, without the advice at the end."""
    try:
        function()
    except Exception as error:
        say(type(error), str(error).split("\nTip")[0].rstrip())
    else:
        say("fine")


@pytest.mark.parametrize("reentrant", [True, False])
def test_gradients(same, reentrant):
    @same
    def program(torch, say):
        checkpoint = functools.partial(library(torch).checkpoint, use_reentrant=reentrant)
        calls = []

        def f(x, k=2):
            calls.append(torch.is_grad_enabled())
            return (x.exp() * k).sin()

        x = leaf(torch)
        y = checkpoint(f, x)
        say(y.detach(), calls)
        y.sum().backward()
        say(x.grad, calls)
        x = leaf(torch)
        y = checkpoint(f, x, 3)
        y.sum().backward(retain_graph=True)
        y.sum().backward()
        say(x.grad, calls)
        say.attempt(lambda: y.sum().backward())
        say.attempt(lambda: checkpoint(f, x, k=3).detach())
        say.attempt(lambda: torch.autograd.grad(checkpoint(f, x).sum(), x))
        say.attempt(lambda: checkpoint(f, x).sum().backward(inputs=[x]))
        with torch.no_grad():
            say(checkpoint(f, x))
        say(checkpoint(f, torch.ones(1)))
        x = leaf(torch)
        checkpoint(lambda x: checkpoint(f, x.sin()).exp(), x).sum().backward()
        say(x.grad)
        x = leaf(torch)
        a, b = checkpoint(lambda x: (x.exp(), x.sin()), x)
        (a * b).sum().backward()
        say(x.grad)


@pytest.mark.parametrize("reentrant", [True, False])
def test_parameters_and_random_numbers(same, reentrant):
    @same
    def program(torch, say):
        checkpoint = functools.partial(library(torch).checkpoint, use_reentrant=reentrant)
        w = torch.tensor([1.0, 0.5, 2.0], requires_grad=True)
        y = checkpoint(lambda x: (x * w).exp(), torch.ones(3))
        say(y.requires_grad)
        x = leaf(torch)
        checkpoint(lambda x: (x * w).exp(), x).sum().backward()
        say(w.grad, x.grad)
        for preserve in (True, False):
            torch.manual_seed(0)
            x = leaf(torch)
            y = checkpoint(lambda x: (x * torch.rand(3)).exp(), x, preserve_rng_state=preserve).sum()
            torch.rand(5)
            y.backward()
            say(x.grad, torch.rand(1))


@pytest.mark.parametrize("reentrant", [True, False])
def test_sequential(same, reentrant):
    @same
    def program(torch, say):
        sequential = functools.partial(library(torch).checkpoint_sequential, use_reentrant=reentrant)
        x = leaf(torch)
        say(sequential([torch.exp, torch.sin, torch.exp, torch.cos], 2, x).detach())
        sequential([torch.exp, torch.sin, torch.exp, torch.cos, torch.tanh], 3, x).sum().backward()
        say(x.grad)


def test_arguments(same):
    @same
    def program(torch, say):
        module = library(torch)
        x = leaf(torch)
        say(module.checkpoint(torch.exp, x).detach(), module.checkpoint_sequential([torch.exp], 1, x).detach())
        for call in (
            lambda: module.checkpoint(torch.exp, x, use_reentrant=True, debug=True),
            lambda: module.checkpoint_sequential([torch.exp], 1, x, use_reentrant=False, foo=3),
            lambda: module.checkpoint(torch.exp, x, use_reentrant=False, determinism_check="x"),
            lambda: module.checkpoint(torch.exp, x, use_reentrant=False, debug=True, context_fn=lambda: None),
            lambda: module.checkpoint(lambda x: 1 / 0, x, use_reentrant=False),
            lambda: module.checkpoint(lambda x: 1 / 0, x, use_reentrant=True),
            lambda: module.detach_variable([x]),
            lambda: module.detach_variable((x, 3)),
            lambda: module.get_device_states(x),
            lambda: module.check_backward_validity([torch.ones(1)]),
        ):
            say.attempt(call)


def test_second_derivatives(same):
    @same
    def program(torch, say):
        checkpoint = functools.partial(library(torch).checkpoint, use_reentrant=False)
        x = leaf(torch)
        (g,) = torch.autograd.grad(checkpoint(lambda x: (x**3).exp(), x).sum(), x, create_graph=True)
        say(g.detach(), torch.autograd.grad(g.sum(), x))

        def inside(x):
            (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
            return (g * x).sum()

        checkpoint(inside, x).backward()
        say(x.grad)


def test_recomputations_that_differ(same):
    @same
    def program(torch, say):
        runs = [0]

        def alternating(first, second):
            def run(x):
                runs[0] += 1
                return (first if runs[0] % 2 else second)(x).sum()

            return run

        cases = {
            "more": (lambda x: x.exp(), lambda x: x.exp().sin().cos()),
            "fewer": (lambda x: x.exp().sin(), lambda x: x.exp()),
            "smaller": (lambda x: x.exp(), lambda x: x[:2].exp()),
            "other dtype": (lambda x: (x * 2.0).exp(), lambda x: x.float().exp()),
        }
        for name, pair in cases.items():
            for early_stop in (True, False):
                runs[0] = 0
                run = alternating(*pair)
                y = library(torch).checkpoint(run, leaf(torch), use_reentrant=False, early_stop=early_stop)
                say(name, early_stop)
                tip_less(say, y.backward)


def test_early_stop(same):
    @same
    def program(torch, say):
        module, log = library(torch), []

        def steps(x):
            y = x.exp()
            log.append(1)
            z = y.sin()
            log.append(2)
            w = z + 1
            log.append(3)
            return w.sum()

        x = leaf(torch)
        module.checkpoint(steps, x, use_reentrant=False).backward()
        with module.set_checkpoint_early_stop(False):
            y = module.checkpoint(steps, x, use_reentrant=False)
        y.backward()
        module.checkpoint(steps, x, use_reentrant=False, early_stop=False).backward()
        say(log)


def test_saved_tensors_read_twice(same):
    @same
    def program(torch, say):
        class Exp(torch.autograd.Function):
            @staticmethod
            def forward(ctx, a):
                b = a.exp()
                ctx.save_for_backward(b)
                return b

            @staticmethod
            def backward(ctx, g):
                assert ctx.saved_tensors
                return g * ctx.saved_tensors[0]

        checkpoint = functools.partial(library(torch).checkpoint, use_reentrant=False)
        y = checkpoint(Exp.apply, leaf(torch))
        tip_less(say, y.sum().backward)
        y = checkpoint(torch.exp, leaf(torch))
        say(y.grad_fn._saved_result, y.grad_fn._saved_result)
        v = leaf(torch) * 1
        y = checkpoint(torch.exp, v)
        with torch.no_grad():
            v.mul_(2)
        say.attempt(y.sum().backward)


def test_groups(same):
    @same
    def program(torch, say):
        module = library(torch)
        x = leaf(torch)
        y = module.checkpoint(lambda x: (x.exp(), x.sin()), x, use_reentrant=False)
        with module.GraphExecGroup():
            y[0].sum().backward()
            y[1].sum().backward()
            say(x.grad)
            tip_less(say, module.GraphExecGroup().__enter__)
        y = module.checkpoint(torch.exp, x, use_reentrant=False)
        with module.GraphExecGroup():
            y.sum().backward(retain_graph=True)
            tip_less(say, y.sum().backward)


def test_contexts(same):
    @same
    def program(torch, say):
        log = []

        class Context:
            def __init__(self, name, swallow=False):
                self.name, self.swallow = name, swallow

            def __enter__(self):
                log.append("in " + self.name)

            def __exit__(self, *exc):
                log.append("out " + self.name)
                return self.swallow

        checkpoint = functools.partial(library(torch).checkpoint, use_reentrant=False)
        contexts = lambda: (Context("forward"), Context("recompute"))
        checkpoint(torch.exp, leaf(torch), context_fn=contexts).sum().backward()
        say(log)
        swallowing = lambda: (Context("forward", True), Context("recompute"))
        say.attempt(lambda: checkpoint(lambda x: 1 / 0, leaf(torch), context_fn=swallowing))


def test_selective(same):
    @same
    def program(torch, say):
        module = library(torch)
        seen = []
        mm = torch.ops.aten.mm.default

        def policy(ctx, op, *args, **kwargs):
            seen.append((str(op).split(".")[1], ctx.is_recompute))
            return module.CheckpointPolicy.MUST_SAVE if op == mm else module.CheckpointPolicy.PREFER_RECOMPUTE

        def f(x, y):
            return torch.sigmoid(torch.matmul(torch.matmul(x, y), y)) * y

        def matrix():
            return torch.tensor([[1.0, 2.0], [3.0, 0.4]], requires_grad=True)

        for given in (policy, [mm], lambda *args, **kwargs: True):
            x, y = matrix(), matrix()
            contexts = functools.partial(module.create_selective_checkpoint_contexts, given)
            out = module.checkpoint(f, x, y, use_reentrant=False, context_fn=contexts)
            out.sum().backward(retain_graph=True)
            say(x.grad, y.grad, seen)
            say.attempt(lambda: out.sum().backward())

        def writes(x):
            y = x @ x
            z = y.sin()
            with torch.no_grad():
                y.mul_(2)
            return z

        contexts = functools.partial(module.create_selective_checkpoint_contexts, [mm])
        out = module.checkpoint(writes, matrix(), use_reentrant=False, context_fn=contexts)
        say.attempt(out.sum().backward)
        say.attempt(lambda: module.create_selective_checkpoint_contexts(3))
        say.attempt(lambda: module.create_selective_checkpoint_contexts(["mm"]))
        say([policy.name for policy in module.CheckpointPolicy])


def test_selective_skips_the_kernel():
    from penlight.ops.machinery.declare import OPS
    from penlight.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts

    count: list[int] = []
    names = [name for name, op in OPS.items() if op.node_name == "MmBackward0"]
    op = OPS[names[0]]
    kernel = op.kernel
    op.kernel = lambda *args: (count.append(1), kernel(*args))[1]
    try:
        x = penlight.ones(2, 2, requires_grad=True)
        contexts = functools.partial(create_selective_checkpoint_contexts, [penlight.ops.aten.mm.default])
        out = checkpoint(lambda x: (x @ x).sin().exp(), x, use_reentrant=False, context_fn=contexts)
        assert len(count) == 1
        assert out.grad_fn._saved_result is not None
        assert len(count) == 1
    finally:
        op.kernel = kernel


def test_debug_shows_the_ops():
    from penlight.utils.checkpoint import CheckpointError, checkpoint, set_checkpoint_debug_enabled

    runs = [0]

    def alternating(x):
        runs[0] += 1
        return x.exp() if runs[0] % 2 else x[:1].sin()

    for debug in (True, False):
        runs[0] = 0
        with set_checkpoint_debug_enabled(None if debug else True):
            y = checkpoint(alternating, leaf(penlight), use_reentrant=False, debug=debug)
        with pytest.raises(CheckpointError) as caught:
            y.sum().backward()
        text = str(caught.value)
        assert "aten.exp.default(float32[3])" in text and "aten.sin.default(float32[1])" in text
        assert "return x.exp() if runs[0] % 2 else x[:1].sin()" in text


def test_nothing_is_kept():
    from penlight.utils.checkpoint import checkpoint

    gc.collect()
    gc.disable()
    try:
        inner = []

        def f(x):
            y = x.exp()
            inner.append(weakref.ref(y._array))
            return y.sin()

        for reentrant in (True, False):
            x = leaf(penlight)
            y = checkpoint(f, x, use_reentrant=reentrant)
            assert inner[-1]() is None
            node = weakref.ref(y.grad_fn)
            y.sum().backward()
            del y
            assert node() is None and inner[-1]() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("reentrant", [None, True, False])
def test_modes_combine(reentrant):
    """Saved-tensor hooks, anomaly mode, the profiler and checkpoints in all pairs: always the same gradients."""
    from contextlib import ExitStack
    from itertools import combinations

    from penlight.utils.checkpoint import checkpoint

    graph, ag = penlight.autograd.graph, penlight.autograd
    modes = [
        lambda: ag.set_detect_anomaly(True),
        lambda: graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t),
        graph.allow_mutation_on_saved_tensors,
        ag.profiler.profile,
        graph.save_on_cpu,
    ]

    def f(x, w):
        return ((x @ w).tanh() * x.sum(1, keepdim=True)).exp()

    def gradients(contexts):
        x = penlight.tensor([[1.0, 2.0], [3.0, 0.5]], requires_grad=True)
        w = penlight.tensor([[0.1, 0.2], [0.3, 0.4]], requires_grad=True)
        with ExitStack() as stack:
            for context in contexts:
                stack.enter_context(context())
            y = f(x, w) if reentrant is None else checkpoint(f, x, w, use_reentrant=reentrant)
            y.sum().backward()
        return x.grad.tolist() + w.grad.tolist()

    plain = gradients([])
    for pair in combinations(modes, 2):
        assert gradients(pair) == [pytest.approx(row, rel=1e-5) for row in plain]
    assert not penlight.autograd.modes.slow()
