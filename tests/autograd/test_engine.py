"""The engine: callbacks, passes within passes, nodes run by hand, what is freed; what may be set and deleted on a tensor."""

# The lambdas run where they are made.
# ruff: noqa: B023
from __future__ import annotations

import threading

import penlight


def leaf(torch):
    return torch.tensor([1.0, 2.0], requires_grad=True)


def test_callbacks_run_when_their_own_pass_ends(same):
    @same
    def program(torch, say):
        queue = torch.autograd.Variable._execution_engine.queue_callback
        said = []

        def count(n):
            said.append(n)
            if n < 3:
                queue(lambda: count(n + 1))

        class Nested(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.clone()

            @staticmethod
            def backward(ctx, grad):
                queue(lambda: count(0))
                with torch.enable_grad():
                    inner = (leaf(torch) * 2).sum()
                inner.register_hook(lambda g: queue(lambda: said.append("inner pass")))
                inner.backward()
                said.append("after it")
                return grad

        Nested.apply(leaf(torch)).sum().backward()
        say(said)
        say.attempt(lambda: queue(print))


def test_passes_within_passes_more_than_a_thousand_deep(same):
    @same
    def program(torch, say):
        class Down(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                with torch.enable_grad():
                    ctx.x = x.detach().requires_grad_() - 1
                return ctx.x.detach()

            @staticmethod
            def backward(ctx, grad):
                if ctx.x > 0:
                    with torch.enable_grad():
                        Down.apply(ctx.x).sum().backward()
                return grad

        x = torch.tensor(1100.0, requires_grad=True)
        Down.apply(x).sum().backward()
        say(x.grad)


def test_an_error_deep_inside_reaches_the_outermost_pass(same):
    @same
    def program(torch, say):
        class Down(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                with torch.enable_grad():
                    ctx.x = x.detach().requires_grad_() - 1
                return ctx.x.detach()

            @staticmethod
            def backward(ctx, grad):
                if ctx.x <= 0:
                    raise ValueError("deep down")
                with torch.enable_grad():
                    Down.apply(ctx.x).sum().backward()
                return grad

        say.attempt(lambda: Down.apply(torch.tensor(120.0, requires_grad=True)).sum().backward())
        say(torch.is_grad_enabled())


def test_a_graph_in_grad_is_warned_of(same):
    @same
    def program(torch, say):
        torch.set_warn_always(True)
        try:
            x = leaf(torch)
            (x * x).sum().backward(create_graph=True)
            torch.autograd.grad((x * x).sum(), x, create_graph=True)
        finally:
            torch.set_warn_always(False)
        say(torch.is_warn_always_enabled())


def test_nodes_by_hand(same):
    @same
    def program(torch, say):
        x = leaf(torch)
        ones = torch.ones(2)
        say.attempt(lambda: (x * 2).grad_fn(ones, ones))
        say.attempt(lambda: (x * 2).grad_fn())
        say.attempt(lambda: (x * 2).grad_fn("a"))
        say.attempt(lambda: (x * 2).grad_fn(ones))
        say.attempt(lambda: x.unbind()[0].grad_fn(ones[0]))


def test_saved_values_after_a_pass(same):
    @same
    def program(torch, say):
        x = leaf(torch)
        for name, made in (
            ("_saved_result", x.exp()),
            ("_saved_exponent", x**3),
            ("_saved_indices", x[torch.tensor([1])]),
            ("_saved_indices", x.index_put((torch.tensor([1]),), torch.ones(1))),
            ("_saved_dim", x.cumsum(0)),
        ):
            made.sum().backward()
            say.attempt(lambda: getattr(made.grad_fn, name))
        picked = x[torch.tensor([0])]
        picked.sum().backward()
        say.attempt(lambda: picked.sum().backward())


def test_an_input_that_is_written_to_and_returned_twice(same):
    @same
    def program(torch, say):
        class Doubled(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.mark_dirty(x.mul_(2))
                return x, x

            @staticmethod
            def backward(ctx, a, b):
                say(a, b)
                return a + b

        x = leaf(torch)
        y = x * 1
        a, b = Doubled.apply(y)
        say(a is y, b is y, y._version, a.output_nr)
        (a.sum() + 3 * b.sum()).backward()
        say(x.grad)


def test_hooks_as_an_attribute(same):
    @same
    def program(torch, say):
        x, y = leaf(torch), leaf(torch)
        say(x._backward_hooks)
        x.register_hook(lambda grad: grad * 2)
        y._backward_hooks = x._backward_hooks
        y.sum().backward()
        say(y.grad, len(y._backward_hooks))
        y._backward_hooks = None
        say(y._backward_hooks)
        torch.ones(1)._backward_hooks = {}


def test_what_cannot_be_deleted():
    x = leaf(penlight)
    for name, words in (
        ("data", "Deleting tensor data is not allowed. Delete tensor instead!"),
        ("requires_grad", "requires_grad must be a bool"),
        ("_backward_hooks", "Deletion of _backwards_hooks not allowed!"),
    ):
        try:
            delattr(x, name)
        except RuntimeError as error:
            assert str(error) == words
        else:
            raise AssertionError(name)
    del x.grad


def test_parts_of_complex_tensors_are_assigned(same):
    @same
    def program(torch, say):
        x = torch.zeros(3, dtype=torch.complex128)
        x.real = torch.tensor([1, 2, 3])
        x.imag = 2
        say(x, x._version)
        x.imag = torch.ones(1, dtype=torch.float32)
        say(x)
        y = torch.zeros(2)
        y.real = leaf(torch).detach()
        say(y)

        def assign(tensor, name, value):
            setattr(tensor, name, value)

        say.attempt(lambda: assign(y, "imag", torch.ones(2)))
        say.attempt(lambda: assign(torch.zeros(2, dtype=torch.complex64, requires_grad=True), "real", 1.0))
        z, w = torch.zeros(2, dtype=torch.complex128), leaf(torch)
        z.imag = w
        say(z)
        torch.view_as_real(z * 1j).sum().backward()
        say(w.grad)


def test_passes_within_each_other_where_no_thread_can_be_started(monkeypatch):
    def refuse(self):
        raise RuntimeError("can't start new thread")

    class Again(penlight.autograd.Function):
        @staticmethod
        def forward(ctx, x, depth):
            ctx.depth = depth
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            if ctx.depth:
                with penlight.enable_grad():
                    x = penlight.ones(1, requires_grad=True)
                    Again.apply(x, ctx.depth - 1).sum().backward()
            return grad, None

    monkeypatch.setattr(threading.Thread, "start", refuse)
    x = penlight.ones(1, requires_grad=True)
    Again.apply(x, 30).sum().backward()
    assert x.grad.item() == 1
