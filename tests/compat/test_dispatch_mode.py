"""Modes that see each op, and the counter of operations."""

from __future__ import annotations

from importlib import import_module

import pytest

import penlight


def counter_of(torch, **options):
    return import_module(torch.__name__ + ".utils.flop_counter").FlopCounterMode(display=False, **options)


def mode_of(torch):
    return import_module(torch.__name__ + ".utils._python_dispatch").TorchDispatchMode


def counted(counter):
    counts = {
        name: {str(op): n for op, n in sorted(ops.items(), key=lambda item: str(item[0]))}
        for name, ops in counter.get_flop_counts().items()
    }
    return counter.get_total_flops(), sorted((name, ops) for name, ops in counts.items())


def test_products_are_counted_by_module(same):
    def program(torch, say):
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.rest = (
                    torch.nn.Linear(4, 8),
                    torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Linear(8, 2)),
                )

            def forward(self, x):
                return self.rest(self.first(x)) @ torch.ones(2, 2)

        with counter_of(torch) as forward:
            Net()(torch.ones(3, 4))
        with counter_of(torch) as both:
            Net()(torch.ones(3, 4, requires_grad=True)).sum().backward()
        say(counted(forward), counted(both))

    same(program)


def test_functions_are_counted(same):
    def program(torch, say):
        F = torch.nn.functional
        x, w = (torch.ones(size, requires_grad=True) for size in ((1, 2, 5, 5), (2, 3, 3, 3)))
        with counter_of(torch) as convolutions:
            F.conv2d(x, w.transpose(0, 1)).sum().backward()
            F.conv_transpose2d(x, w, stride=2).sum().backward()
        with counter_of(torch) as products:
            torch.bmm(torch.ones(2, 3, 4, requires_grad=True), torch.ones(2, 4, 5)).sum().backward()
            torch.matmul(torch.ones(2, 3, 4), torch.ones(4, 5))
            torch.baddbmm(torch.ones(2, 3, 5), torch.ones(2, 3, 4), torch.ones(2, 4, 5)).exp()
        formulas = {torch.ops.aten.exp: lambda x, out_shape: 10 * x.numel() + out_shape.numel()}
        with counter_of(torch, custom_mapping=formulas) as own:
            torch.ones(3).exp()
        say(counted(convolutions), counted(products), counted(own))

    same(program)


def test_a_mode_may_answer_itself(same):
    def program(torch, say):
        class Mode(mode_of(torch)):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                if func is torch.ops.aten.exp.default:
                    say(func, func.name(), func._overloadpacket is torch.ops.aten.exp)
                    return torch.full((2,), 7.0)
                if func is torch.ops.aten.mm.default:
                    return func(args[0] * 2, args[1])
                return func(*args, **(kwargs or {}))

        with Mode():
            say(torch.zeros(2).exp(), torch.ones(1, 1).mm(torch.ones(1, 1)), torch.ones(2).add_(1))
        say(torch.zeros(2).exp())
        with pytest.raises(NotImplementedError), mode_of(torch)():
            torch.ones(2).exp()

    same(program)


def test_modes_nest_and_close():
    names = []

    class Mode(mode_of(penlight)):
        def __init__(self, name):
            super().__init__()
            self.name = name

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            names.append(f"{self.name} {func.__name__}")
            return func(*args)

    dispatch = import_module("penlight.utils._python_dispatch")
    x = penlight.ones(2, requires_grad=True)
    with Mode("outer"), Mode("inner") as inner:
        assert dispatch._get_current_dispatch_mode() is inner
        (x * 2).sum().backward()
        with dispatch._disable_current_modes():
            x.exp()
    assert dispatch._get_current_dispatch_mode() is None and not penlight.autograd.modes.slow()
    assert names[:4] == ["inner mul.Tensor", "outer mul.Tensor", "inner sum.default", "outer sum.default"]
    assert "inner expand.default" in names and not any("exp.default" in name for name in names)
    assert x.grad.tolist() == [2.0, 2.0]


def test_the_table(capsys):
    with import_module("penlight.utils.flop_counter").FlopCounterMode():
        penlight.nn.Sequential(penlight.nn.Linear(2, 2))(penlight.ones(1, 2))
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:1] for line in lines][:2] == [["Module"], ["Global"]] and "aten.addmm" in lines[2]
    assert any(line.startswith("  Sequential.0") and "100.00%" in line for line in lines)


CALLS = """x + 1; x + x; x.add(x, alpha=2); x - 1; 1 - x; x * 2; x / 2; x % 2; x % x; x**2; x**x; x == 1; x == x; x < 1; i & 1; i & i; x.sum();
m.sum(0); m.mean(); m.mean(0); m.prod(0); x.max(); m.max(0); m.median(0); m.var(0); x.sort(stable=True)[0]; x.clamp(0); x.clamp(min=t);
x.clamp_min(t); x.lerp(x, 0.5); x.lerp(x, x); x.masked_fill(x > 1, 1); x.masked_fill(x > 1, t); x.index_fill(0, i, 1); torch.where(x > 1, x, x);
torch.isin(i, i); m.squeeze(0); m.squeeze((0, 1)); x.round(decimals=1); x.scatter(0, i, x); x.scatter(0, i, 1.0); torch.searchsorted(x, x);
x[0]; x[0:2]; x[i]; x[x > 1]; x.unbind(); m.transpose(0, 1); x.split(1); x.clone().fill_(1); x.clone().fill_(t); torch.xlogy(x, 2); torch.xlogy(x, x);
x.fmod(2); x.clone().add_(1); x.clone().mul_(x); x.clone().masked_fill_(x > 1, 0); torch.cat([x, x]); x.copysign(x); x.ldexp(i)"""


def test_overloads(same):
    def program(torch, say):
        class Mode(mode_of(torch)):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                say(str(func), func.name(), getattr(func._overloadpacket, str(func).rpartition(".")[2]) is func)
                return func(*args, **(kwargs or {}))

        names = {"torch": torch, "x": torch.tensor([1.0, 2.0, 3.0]), "i": torch.tensor([0, 2]), "m": torch.ones(2, 3)}
        names["t"] = torch.tensor(2.0)
        for call in CALLS.replace("\n", " ").split("; "):
            i = torch.tensor([1, 2, 3]) if "ldexp" in call or "isin" in call else torch.tensor([0, 2])
            say(call)
            with Mode():
                eval(call, {**names, "i": i})

    same(program)


def test_what_a_class_returns(same):
    def program(torch, say):
        correct = import_module(torch.__name__ + ".utils._python_dispatch").return_and_correct_aliasing
        x, made = torch.ones(1), torch.zeros(1)
        say(
            correct(torch.ops.aten.mul_.Tensor, (x, 2), {}, x) is x,
            correct(torch.ops.aten.mul.Tensor, (x, 2), {}, made) is made,
        )

    same(program)
