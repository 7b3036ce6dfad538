"""torch.autograd.Function: what forward and backward may do, and what is refused."""

# The lambdas run where they are made.
# ruff: noqa: B023
from __future__ import annotations

import gc
import weakref

import pytest

import penlight
from penlight.autograd import Function


def make(torch, forward, backward, **more):
    body = dict(forward=staticmethod(forward), backward=staticmethod(backward), **more)
    return type("MyFn", (torch.autograd.Function,), body)


def leaf(torch):
    return torch.tensor([1.0, 2.0], requires_grad=True)


def test_node_is_the_context(same):
    @same
    def program(torch, say):
        seen = []
        fn = make(torch, lambda ctx, a: (seen.append(ctx), a * 2)[1], lambda ctx, g: g * 2)
        y = fn.apply(leaf(torch))
        node = y.grad_fn
        say(y, node, node.name(), seen[0] is node, isinstance(node, fn._backward_cls), type(node))
        say(isinstance(node, torch.autograd.graph.Node), node.metadata, len(node.next_functions), y.output_nr)


def test_results_of_forward(same):
    @same
    def program(torch, say):
        x, n = leaf(torch), torch.tensor([1.0, 2.0])
        for made in (3, None, "a", (None,), (1, 2), (None, 5), ()):
            for given in (x, n):
                say.attempt(lambda: make(torch, lambda ctx, a: made, lambda ctx, *g: g[0]).apply(given))
        mixed = make(torch, lambda ctx, a: (a * 1, None, 5, a * 2, a.long()), lambda ctx, *g: (say(g), g[3])[1])
        out = mixed.apply(x)
        say(out, out[3].output_nr, [getattr(o, "requires_grad", None) for o in out])
        out[3].sum().backward()
        twice = make(torch, lambda ctx, a: (a * 2,) * 2, lambda ctx, g, h: (say(g, h), g)[1])
        out = twice.apply(x)
        say(out[0] is out[1], out[0].output_nr)
        (out[0] * 3 + out[1]).sum().backward()


@pytest.mark.parametrize("what", ["count", "shape", "kind"])
def test_results_of_backward(same, what):
    @same
    def program(torch, say):
        cases = {
            "count": [
                lambda ctx, g: (g, g),
                lambda ctx, g: (),
                lambda ctx, g: (g, None),
                lambda ctx, g: (g, None, None, None),
                lambda ctx, g: None,
            ],
            "shape": [
                lambda ctx, g: g[:1],
                lambda ctx, g: torch.ones(3),
                lambda ctx, g: torch.ones(5, 2),
                lambda ctx, g: torch.ones(()),
                lambda ctx, g: torch.ones(2, 1),
                lambda ctx, g: torch.ones(2, 2),
            ],
            "kind": [
                lambda ctx, g: g.float(),
                lambda ctx, g: g.long(),
                lambda ctx, g: 3,
                lambda ctx, g: (3,),
                lambda ctx, g: [g],
            ],
        }[what]
        for backward in cases:
            x = leaf(torch)
            say.attempt(lambda: (make(torch, lambda ctx, a: a * 2, backward).apply(x).sum().backward(), x.grad)[1])


def test_arguments_that_are_no_tensors(same):
    @same
    def program(torch, say):
        for backward in (
            lambda ctx, g: (g, None, None),
            lambda ctx, g: (g, g, None),
            lambda ctx, g: g,
            lambda ctx, g: (g, None, None, None),
            lambda ctx, g: (g, None, None, g),
        ):
            x = leaf(torch)
            fn = make(torch, lambda ctx, a, k, s: a * k, backward)
            say.attempt(lambda: (fn.apply(x, 3, "s").sum().backward(), x.grad)[1])
        say(make(torch, lambda ctx, a, k=3: a * k, lambda ctx, g: (g, None)).apply(leaf(torch), k=4))
        nested = make(torch, lambda ctx, a: a[0] * 2, lambda ctx, g: None).apply([leaf(torch)])
        say(nested.requires_grad)


def test_context(same):
    @same
    def program(torch, say):
        x, n = leaf(torch), torch.tensor([1.0, 2.0])

        def forward(ctx, a, b, c):
            say(ctx.needs_input_grad, torch.is_grad_enabled(), len(ctx.next_functions), ctx.saved_tensors)
            ctx.save_for_backward(a, None, b)
            ctx.k = 5
            return a * 2

        def backward(ctx, g):
            say(ctx.needs_input_grad, torch.is_grad_enabled(), ctx.k, ctx.saved_tensors, ctx.saved_tensors[0] is x)
            return g, None, None

        fn = make(torch, forward, backward)
        y = fn.apply(x, n, 3)
        y.sum().backward()
        say.attempt(lambda: y.sum().backward())
        say.attempt(lambda: y.grad_fn.saved_tensors)
        with torch.no_grad():
            say(fn.apply(x, n, 3).requires_grad)
        say(fn.apply(n, n, 3).requires_grad)
        g = torch.autograd.grad(fn.apply(x, n, 3).sum(), x, create_graph=True)
        say(g)


def test_what_may_be_saved(same):
    @same
    def program(torch, say):
        x = leaf(torch)
        for given in ((3,), ("a",), ([x],)):
            fn = make(torch, lambda ctx, a: (ctx.save_for_backward(*given), a * 2)[1], lambda ctx, g: g)
            say.attempt(lambda: fn.apply(x))
        last = make(
            torch, lambda ctx, a: (ctx.save_for_backward(a), ctx.save_for_backward(), a * 2)[2], lambda ctx, g: g
        )
        say(last.apply(x).grad_fn.saved_tensors)
        once = make(
            torch,
            lambda ctx, a: (ctx.save_for_backward(a), a * 2)[1],
            lambda ctx, g: (say(ctx.saved_tensors), say.attempt(lambda: ctx.saved_tensors), g)[2],
            clear_saved_tensors_on_access=True,
        )
        once.apply(x).sum().backward()
        boxed = make(torch, lambda ctx, a: a * 2, lambda ctx, g: (say(g), g[0])[1], boxed_grads_call=True)
        boxed.apply(x).sum().backward()


def test_saved_values_that_changed(same):
    @same
    def program(torch, say):
        fn = make(
            torch,
            lambda ctx, a: (o := a.exp(), ctx.save_for_backward(a, o))[0],
            lambda ctx, g: g * ctx.saved_tensors[1],
        )
        for which in (0, 1, 2):
            x = leaf(torch)
            z = x * 1 if which == 0 else x
            y = fn.apply(z)
            with torch.no_grad():
                (z, y, x)[which].mul_(2)
            say.attempt(lambda: y.sum().backward())


def test_missing_methods(same):
    @same
    def program(torch, say):
        x = leaf(torch)
        function = torch.autograd.Function
        say.attempt(lambda: type("A", (function,), {}).apply(x))
        only_forward = type("A", (function,), {"forward": staticmethod(lambda ctx, x: x * 2)})
        y = only_forward.apply(x)
        say.attempt(lambda: y.sum().backward())
        say.attempt(lambda: only_forward()(x))
        with_vjp = type("A", (only_forward,), {"vjp": staticmethod(lambda ctx, g: g * 7)})
        with_vjp.apply(x).sum().backward()
        say(x.grad)
        both = type("A", (with_vjp,), {"backward": staticmethod(lambda ctx, g: g * 7)})
        y = both.apply(x)
        say.attempt(lambda: y.sum().backward())
        for call in (
            lambda: function.forward(1),
            lambda: function.backward(1),
            lambda: function.jvp(1),
            lambda: function.setup_context(1, 2, 3),
            lambda: function.vmap(1, 2),
        ):
            say.attempt(call)


def test_input_returned_as_it_is(same):
    @same
    def program(torch, say):
        fn = make(torch, lambda ctx, a: a, lambda ctx, g: g * 2)
        for given in (leaf(torch), torch.ones(2), leaf(torch) * 1):
            y = fn.apply(given)
            say(y is given, y.requires_grad, y._is_view(), y._base is given, y._version)
            say.attempt(lambda: y.mul_(2))
        z = leaf(torch) * 1
        y = fn.apply(z)
        z.mul_(2)
        say.attempt(lambda: y.grad_fn)
        x = leaf(torch)
        fn.apply(x).sum().backward()
        say(x.grad)


def test_views_as_results(same):
    @same
    def program(torch, say):
        z = leaf(torch) * 1
        y = make(torch, lambda ctx, a: a.view(1, 2), lambda ctx, g: g.view(2) * 3).apply(z)
        say(y, y._is_view(), y._base is z)
        say.attempt(lambda: y.mul_(2))
        z.mul_(2)
        say.attempt(lambda: y + 1)
        z = leaf(torch) * 1
        a, b = make(torch, lambda ctx, a: (a[:1], a[1:]), lambda ctx, g, h: torch.cat([g, h])).apply(z)
        say(a, b, a._is_view(), b.output_nr)
        say.attempt(lambda: a.mul_(2))


def test_in_place(same):
    @same
    def program(torch, say):
        def forward(ctx, a):
            a.mul_(2)
            ctx.mark_dirty(a)
            return a

        fn = make(torch, forward, lambda ctx, g: g * 2)
        x = leaf(torch)
        z = x * 1
        y = fn.apply(z)
        say(y is z, y, y._version, z.grad_fn.name())
        y.sum().backward()
        say(x.grad)
        say.attempt(lambda: fn.apply(leaf(torch)))
        plain = torch.ones(2)
        y = fn.apply(plain)
        say(y is plain, y, y._version)
        x = leaf(torch)
        z = x * 1
        v = z[:1]
        y = fn.apply(v)
        say(y is v, v.grad_fn.name(), z.grad_fn.name(), z)
        z.sum().backward()
        say(x.grad)


def test_in_place_refused(same):
    @same
    def program(torch, say):
        def dirty(make_output, mark=lambda a: a):
            def forward(ctx, a):
                a.mul_(2)
                ctx.mark_dirty(mark(a))
                return make_output(a)

            return make(torch, forward, lambda ctx, g, *h: g * 2)

        say.attempt(lambda: dirty(lambda a: a * 1).apply(leaf(torch) * 1))
        say.attempt(lambda: dirty(lambda a: (a, a * 1)).apply((leaf(torch) * 1)[:1]))
        say.attempt(lambda: dirty(lambda a: (a, a * 1)).apply(leaf(torch) * 1))
        stranger = make(torch, lambda ctx, a: (b := a * 1, ctx.mark_dirty(b))[0], lambda ctx, g: g)
        say.attempt(lambda: stranger.apply(leaf(torch)))
        view = make(torch, lambda ctx, a: (b := (a * 1).view_as(a), ctx.mark_dirty(b))[0], lambda ctx, g: g)
        say.attempt(lambda: view.apply(leaf(torch)))
        say.attempt(lambda: dirty(lambda a: a).apply(leaf(torch)[:1]))
        unmarked = make(torch, lambda ctx, a: a.mul_(2), lambda ctx, g: g * 2)
        z = leaf(torch) * 1
        y = unmarked.apply(z)
        say(y is z, y, y._version, y._is_view())


def test_outputs_without_gradient(same):
    @same
    def program(torch, say):
        def forward(ctx, a):
            c = a * 2
            ctx.mark_non_differentiable(c)
            return a > 1, c, a * 3

        fn = make(torch, forward, lambda ctx, *g: (say(g), g[2])[1])
        out = fn.apply(leaf(torch))
        say(out, [o.grad_fn is None for o in out])
        out[2].sum().backward()
        as_is = make(torch, lambda ctx, a: (ctx.mark_non_differentiable(a), a)[1], lambda ctx, g: g)
        for given in (leaf(torch), leaf(torch) * 1):
            out = as_is.apply(given)
            say(out is given, out.requires_grad, out._is_view(), given.requires_grad)
        q = leaf(torch)

        def recorded(ctx, a):
            with torch.enable_grad():
                return q * 2

        for given in (q, torch.ones(2)):
            out = make(torch, recorded, lambda ctx, g: g * 100).apply(given)
            say(out.requires_grad)


def test_missing_gradients(same):
    @same
    def program(torch, say):
        for materialize in (True, False):

            def several(ctx, a):
                ctx.set_materialize_grads(materialize)
                return a * 1, a * 2, a.long()

            def one(ctx, a):
                ctx.set_materialize_grads(materialize)
                return a * 1

            out = make(torch, several, lambda ctx, *g: (say(g), g[1])[1]).apply(leaf(torch))
            out[1].sum().backward()
            x = leaf(torch)
            y = make(torch, one, lambda ctx, g: (say(g), g)[1]).apply(x)
            make(torch, lambda ctx, a: a * 1, lambda ctx, g: None).apply(y).sum().backward()
            say(x.grad)


def test_no_gradient_for_an_op_with_several_outputs(same):
    @same
    def program(torch, say):
        x = torch.ones(4, requires_grad=True)
        a, _ = (x * 1).split(2)
        make(torch, lambda ctx, a: a * 1, lambda ctx, g: None).apply(a).sum().backward()
        say(x.grad)


def test_setup_context(same):
    @same
    def program(torch, say):
        class Times(torch.autograd.Function):
            @staticmethod
            def forward(a, b=5):
                return a * b

            @staticmethod
            def setup_context(ctx, inputs, output):
                say(inputs, torch.is_grad_enabled(), output.requires_grad)
                ctx.b = inputs[1]

            @staticmethod
            def backward(ctx, g):
                return g * ctx.b, None

        x = leaf(torch)
        Times.apply(x, 3).sum().backward()
        say(x.grad, Times.apply(x, b=2), Times.apply(x))

        class Same(torch.autograd.Function):
            @staticmethod
            def forward(a):
                return a

            @staticmethod
            def setup_context(ctx, inputs, output):
                ctx.save_for_backward(*inputs)

            @staticmethod
            def backward(ctx, g):
                return g

        say.attempt(lambda: Same.apply(x))


def test_second_derivative(same):
    @same
    def program(torch, say):
        class Exp(torch.autograd.Function):
            @staticmethod
            def forward(ctx, a):
                o = a.exp()
                ctx.save_for_backward(o)
                return o

            @staticmethod
            def backward(ctx, g):
                (o,) = ctx.saved_tensors
                say(o.grad_fn is ctx, o.requires_grad)
                return g * o

        x = leaf(torch)
        (g,) = torch.autograd.grad(Exp.apply(x).sum(), x, create_graph=True)
        say(g, torch.autograd.grad(g.sum(), x))
        inner = make(
            torch,
            lambda ctx, a: (o := a.exp(), ctx.save_for_backward(o), o * 2)[2],
            lambda ctx, g: g * ctx.saved_tensors[0] * 2,
        )
        (g,) = torch.autograd.grad(inner.apply(x).sum(), x, create_graph=True)
        say(g, g.requires_grad)


def test_once_differentiable(same):
    @same
    def program(torch, say):
        class Twice(torch.autograd.Function):
            @staticmethod
            def forward(ctx, a):
                return a * 2

            @staticmethod
            @torch.autograd.function.once_differentiable
            def backward(ctx, g):
                say(torch.is_grad_enabled(), g.requires_grad)
                return g * 2

        x = leaf(torch)
        s = torch.ones((), requires_grad=True)
        (g,) = torch.autograd.grad(Twice.apply(x).sum() * s, x, create_graph=True)
        say(g, len(g.grad_fn.next_functions))
        say.attempt(lambda: torch.autograd.grad(g.sum(), x))
        say.attempt(lambda: g.sum().backward())


def test_same_input_twice(same):
    @same
    def program(torch, say):
        x = leaf(torch)
        make(torch, lambda ctx, a, b: a * b, lambda ctx, g: (g, g * 10)).apply(x, x).sum().backward()
        say(x.grad)


def test_errors_leave_the_grad_mode(same):
    @same
    def program(torch, say):
        def boo(ctx, a):
            raise ValueError("boo")

        x = leaf(torch)
        say.attempt(lambda: make(torch, boo, None).apply(x))
        say(torch.is_grad_enabled())
        say.attempt(lambda: make(torch, lambda ctx, a: a * 2, boo).apply(x).sum().backward())
        say(torch.is_grad_enabled())


def test_variable(same):
    @same
    def program(torch, say):
        Variable = torch.autograd.Variable
        x = torch.ones(2)
        v = Variable(x)
        say(v, v is x, isinstance(x, Variable), isinstance(3, Variable))
        x.add_(1)
        say(v, v._version, Variable(x, requires_grad=True), Variable(x, True, False), Variable())
        say(Variable(leaf(torch) * 2).requires_grad, Variable(x, volatile=True))
        say.attempt(lambda: Variable([1, 2]))
        say.attempt(lambda: Variable(torch.arange(2), requires_grad=True))
        say(torch.autograd.function.InplaceFunction(True).inplace)


def test_no_reference_cycle():
    gc.collect()
    gc.disable()
    try:

        class Exp(Function):
            @staticmethod
            def forward(ctx, a):
                o = a.exp()
                ctx.save_for_backward(a, o)
                return o

            @staticmethod
            def backward(ctx, g):
                return g * ctx.saved_tensors[1]

        x = penlight.ones(2, requires_grad=True)
        for retain in (False, True):
            y = Exp.apply(x)
            node = weakref.ref(y.grad_fn)
            y.sum().backward(retain_graph=retain)
            del y
            assert node() is None
    finally:
        gc.enable()


def test_raw_and_tensor_world_agree():
    class Fn(Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a * b, a.sum()

        @staticmethod
        def backward(ctx, g, h):
            a, b = ctx.saved_tensors
            return g * b + h, g * a

    a = penlight.arange(6.0).reshape(2, 3).requires_grad_()
    b = penlight.ones(3, requires_grad=True)
    y, s = Fn.apply(a, b)
    total = (y * y).sum() + s * 2
    raw = penlight.autograd.grad(total, (a, b), retain_graph=True)
    graph = penlight.autograd.grad(total, (a, b), create_graph=True)
    for r, g in zip(raw, graph):
        assert r.tolist() == g.tolist()
    assert graph[0].requires_grad and not raw[0].requires_grad


def test_dirty_view_must_come_first():
    class Second(Function):
        @staticmethod
        def forward(ctx, a, b):
            b.mul_(2)
            ctx.mark_dirty(b)
            return b

        @staticmethod
        def backward(ctx, g):
            return g, g * 2

    z = penlight.ones(2, requires_grad=True) * 1
    with pytest.raises(RuntimeError, match="must be the first"):
        Second.apply(penlight.ones(1), z[:1])


def test_complex_gradient_of_a_real_input_is_refused():
    class Fn(Function):
        @staticmethod
        def forward(ctx, a):
            return a * 1

        @staticmethod
        def backward(ctx, g):
            return g * 1j

    with pytest.raises(RuntimeError, match="complex gradient"):
        Fn.apply(penlight.ones(2, requires_grad=True)).sum().backward()
