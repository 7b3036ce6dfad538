"""Anomaly mode: NaNs and errors in backward name the line of the forward that they belong to."""

from __future__ import annotations

import threading
import warnings

import pytest

import penlight


def leaf(torch):
    return torch.tensor([1.0, 2.0], requires_grad=True)


def part(x):
    y = x - 1
    return y.sqrt()


def test_nan(same):
    @same
    def program(torch, say):
        x = leaf(torch)
        with warnings.catch_warnings(), torch.autograd.detect_anomaly():
            warnings.simplefilter("ignore")
            say(torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled())
            out = part(x) * 0
            say(list(out.grad_fn.metadata), type(out.grad_fn.metadata["traceback_"]))
            say(out.grad_fn.metadata["traceback_"][-1])
            say(part(x).grad_fn.metadata["traceback_"][-1])
            try:
                out.sum().backward()
            except RuntimeError as error:
                say(error.args[0])
        with torch.autograd.detect_anomaly(check_nan=False):
            (part(x) * 0).sum().backward()
            say(x.grad, torch.is_anomaly_check_nan_enabled())
        say(torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled())


def messages(program):
    """The warnings that a program causes, without the lines of the tests' own machinery."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        program()
    return [str(w.message).split("\n")[0] for w in caught]


def test_warnings(same):
    @same
    def program(torch, say):
        x = leaf(torch)
        out = part(x) * 0

        def late():
            with torch.autograd.set_detect_anomaly(True):
                say.attempt(lambda: out.sum().backward())

        def early():
            with torch.autograd.set_detect_anomaly(True):
                say.attempt(lambda: (part(x) * 0).sum().backward())

        for run in (late, early):
            say([m.split(" (Trig")[0] for m in messages(run)])


def test_written_to(same):
    @same
    def program(torch, say):
        def run():
            with torch.autograd.set_detect_anomaly(True, check_nan=False):
                z = (leaf(torch) * 1).exp()
                with torch.no_grad():
                    z.mul_(2)
                say.attempt(lambda: z.sum().backward())

        say([m.split(" (Trig")[0] for m in messages(run)])


def test_custom_functions(same):
    @same
    def program(torch, say):
        class Fails(torch.autograd.Function):
            @staticmethod
            def forward(ctx, a):
                return a * 2

            @staticmethod
            def backward(ctx, g):
                raise ValueError("mine")

        class Nan(torch.autograd.Function):
            @staticmethod
            def forward(ctx, a, b):
                return a * b

            @staticmethod
            def backward(ctx, g):
                return g, g * float("nan")

        def run():
            x = leaf(torch)
            with torch.autograd.set_detect_anomaly(True):
                say.attempt(lambda: Fails.apply(x).sum().backward())
                say.attempt(lambda: Nan.apply(x, x.clone()).sum().backward())

        say([m.split(" (Trig")[0] for m in messages(run)])


def test_parents(same):
    @same
    def program(torch, say):
        def run():
            with torch.autograd.set_detect_anomaly(True):
                x = leaf(torch)
                (g,) = torch.autograd.grad(x.sqrt().sum(), x, create_graph=True)
                say(list(g.grad_fn.metadata), g.grad_fn.metadata["parent_"].name())
                x = torch.zeros(1, requires_grad=True)
                (g,) = torch.autograd.grad((x**1.5).sum(), x, create_graph=True)
                say.attempt(lambda: (g * 0).sum().backward())

        say([m.split(" (Trig")[0] for m in messages(run)])


def test_as_a_function(same):
    @same
    def program(torch, say):
        torch.autograd.set_detect_anomaly(True, check_nan=False)
        say(torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled())
        torch.autograd.set_detect_anomaly(False)
        say(torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled())


def test_the_error_itself_tells_the_line():
    x = leaf(penlight)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with penlight.autograd.detect_anomaly(), pytest.raises(RuntimeError) as caught:
            (part(x) * 0).sum().backward()
    note = "".join(caught.value.__notes__)
    assert "SqrtBackward0" in note and "return y.sqrt()" in note and __file__ in note


def test_all_threads():
    names = []

    def other():
        y = leaf(penlight).exp()
        names.append("traceback_" in y.grad_fn.metadata)

    with penlight.autograd.set_detect_anomaly(True):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert names == [True]
    assert not leaf(penlight).exp().grad_fn.metadata
