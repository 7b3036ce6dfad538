"""torch.autograd.functional: values, strict mode, and what is refused."""

# The lambdas run where they are made.
# ruff: noqa: B023
from __future__ import annotations

import pytest

import penlight


def functions(torch):
    return {
        "square": lambda x: x**2,
        "cube": lambda x: (x**3).sum(),
        "two": lambda a, b: (a * b, a + 2 * b),
        "mixed": lambda a, b: (a * a * b).sum(),
        "first": lambda a, b: (a**2).sum(),
        "linear": lambda a: (a * 2).sum(),
        "constant": lambda a: torch.ones(2),
        "half": lambda a: (a * 0 + 1, torch.ones(2)),
        "one": lambda a: torch.ones(()),
    }


def calls(torch, name):
    """What to call a function of the module with: the function's name and its arguments."""
    x, m = torch.tensor([1.0, 2.0]), torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    xx = (x, x)
    return {
        "vjp": [("cube", x), ("square", x), ("square", x, x), ("two", xx, xx), ("square", x, torch.ones(3)),
                ("square", x, xx), ("square", 3), ("square", [x]), ("two", xx, (x,)), ("two", xx, (x, m)), ("two", xx, x),
                ("first", xx), ("constant", x, x), ("half", x, xx)],
        "jvp": [("cube", x), ("square", x, x), ("two", xx, xx), ("square", torch.tensor(2.0)), ("square", x, torch.ones(3)),
                ("square", x, xx), ("two", xx, (x,)), ("first", xx, xx), ("constant", x, x), ("half", x, x)],
        "jacobian": [("square", x), ("two", xx), ("cube", x), ("first", xx), ("constant", x), ("half", x)],
        "hessian": [("cube", x), ("mixed", xx), ("square", x), ("two", xx), ("linear", x), ("first", xx), ("one", x)],
        "vhp": [("cube", x, x), ("cube", x), ("mixed", xx, xx), ("square", x, x), ("cube", torch.tensor(2.0)), ("linear", x, x),
                ("first", xx, xx)],
        "hvp": [("cube", x, x), ("cube", x), ("mixed", xx, xx), ("square", x, x), ("linear", x, x), ("first", xx, xx),
                ("one", x, x)],
    }[name]  # fmt: skip


@pytest.mark.parametrize("name", ["vjp", "jvp", "jacobian", "hessian", "vhp", "hvp"])
@pytest.mark.parametrize("how", ["plain", "strict", "create_graph", "strict create_graph", "no_grad"])
def test_functions(same, name, how):
    @same
    def program(torch, say):
        known = functions(torch)
        run = getattr(torch.autograd.functional, name)
        flags = {flag: True for flag in ("strict", "create_graph") if flag in how.split()}
        with torch.set_grad_enabled(how != "no_grad"):
            for function, *args in calls(torch, name):
                say.attempt(lambda: run(known[function], *args, **flags))


@pytest.mark.parametrize("name", ["vjp", "jvp", "jacobian", "hessian", "vhp", "hvp"])
def test_graph_of_the_result(same, name):
    @same
    def program(torch, say):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        v = torch.tensor([0.5, 3.0])
        functional = torch.autograd.functional
        cube = lambda x: (x**3).sum() if name != "jvp" else x**3
        args = () if name in ("jacobian", "hessian", "vjp") else (v,)
        for create_graph in (False, True):
            found = getattr(functional, name)(cube, x, *args, create_graph=create_graph)
            last = found if name in ("jacobian", "hessian") else found[1]
            say(last.detach(), last.requires_grad)
        say(torch.autograd.grad(last.sum(), x))


def test_vectorize_and_strategies(same):
    @same
    def program(torch, say):
        known, functional = functions(torch), torch.autograd.functional
        x = torch.tensor([1.0, 2.0])
        for kwargs in (
            dict(vectorize=True),
            dict(vectorize=True, strict=True),
            dict(strategy="forward-mode"),
            dict(strategy="forward-mode", strict=True),
            dict(strategy="x"),
            dict(vectorize=True, strategy="forward-mode", create_graph=True),
            dict(vectorize=True, strategy="forward-mode"),
        ):
            say.attempt(lambda: functional.jacobian(known["square"], x, **kwargs))
        say(functional.jacobian(known["two"], (x, x), vectorize=True))
        say(
            functional.jacobian(known["constant"], x, vectorize=True),
            functional.jacobian(known["first"], (x, x), vectorize=True),
        )
        say(functional.hessian(known["cube"], x, vectorize=True))
        say(functional.hessian(known["cube"], x, vectorize=True, outer_jacobian_strategy="forward-mode").detach())
        say.attempt(lambda: functional.hessian(known["cube"], x, outer_jacobian_strategy="x"))
        say.attempt(lambda: functional.hessian(known["cube"], x, vectorize=True, strict=True))


def test_wrong_functions(same):
    @same
    def program(torch, say):
        functional = torch.autograd.functional
        x = torch.tensor([1.0, 2.0])
        for call in (
            lambda: functional.vjp(lambda a: 3, x),
            lambda: functional.vjp(lambda a: (a, 3), x),
            lambda: functional.hessian(lambda a: 3, x),
            lambda: functional.hessian(lambda a: (a.sum(), a.sum()), x),
            lambda: functional.jacobian(lambda a: a.long(), x),
            lambda: functional.jacobian(lambda a: a * a, torch.arange(2)),
            lambda: functional.jacobian(lambda a: a * a, torch.tensor([1 + 2j])),
        ):
            say.attempt(call)


def test_empty():
    functional = penlight.autograd.functional
    assert functional.jacobian(lambda a: a * a, penlight.zeros(0)).shape == (0, 0)
    assert functional.jacobian(lambda a: penlight.zeros(0) * a.sum(), penlight.ones(2)).shape == (0, 2)


def test_inputs_stay_as_they_were():
    x = penlight.ones(2)
    penlight.autograd.functional.hessian(lambda a: (a**3).sum(), x)
    assert not x.requires_grad and x.grad is None
