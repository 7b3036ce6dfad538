"""What each mechanism of Penlight buys: the same work with it and without it, in one process, taking turns.

    python -m benchmarks.mechanisms [name ...]

Prints a table for docs/performance.md. Without: the switch that turns it off, or the composition that it replaces.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from .libraries import load
from .report import in_words, markdown_table
from .work import ALL
from .worker import measure

Step = Callable[[], Any]


class Mechanism(NamedTuple):
    name: str
    work: str
    make: Callable[[Any], tuple[Step, Step]]


TABLE: list[Mechanism] = []


def mechanism(name: str, work: str) -> Callable[[Any], Any]:
    """Enter a mechanism: the function prepares the step with it and the step without it."""

    def enter(make: Any) -> Any:
        TABLE.append(Mechanism(name, work, make))
        return make

    return enter


@contextmanager
def replaced(holder: Any, name: str, value: Any) -> Iterator[None]:
    """An attribute, or a key of a dict, has another value for a while."""
    read, write = (dict.get, dict.__setitem__) if isinstance(holder, dict) else (getattr, setattr)
    before = read(holder, name)
    write(holder, name, value)
    try:
        yield
    finally:
        write(holder, name, before)


def within(step: Step, context: Callable[[], Any]) -> Step:
    def run() -> Any:
        with context():
            return step()

    return run


def gradient(function: Callable[[Any], Any], x: Any, g: Any) -> Step:
    """Forward and backward of a function of one tensor."""

    def step() -> Any:
        x.grad = None
        function(x).backward(g)
        return x.grad

    return step


# ----- The graph ------------------------------------------------------------------------------------------------------


@mechanism(
    "generated ops",
    "20 products of 4 floats; without: the readable path of `ops/machinery/dispatch.py`, as in a slow mode",
)
def _generated(t: Any) -> tuple[Step, Step]:
    from penlight.autograd import modes
    from penlight.ops.machinery import dispatch

    a, b = t.ones(4, requires_grad=True), t.ones(4, requires_grad=True)

    def step() -> None:
        for _ in range(20):
            a * b

    @contextmanager
    def readable() -> Iterator[None]:
        token = dispatch.node_watchers.set((lambda node: None,))
        modes.open_slow_mode()
        try:
            yield
        finally:
            modes.close_slow_mode()
            dispatch.node_watchers.reset(token)

    return step, within(step, readable)


@mechanism("gradients as arrays", "a chain of 100 products, backward; without: tensors, as for create_graph=True")
def _raw_world(t: Any) -> tuple[Step, Step]:
    a, b, g = t.ones(4, requires_grad=True), t.ones(4, requires_grad=True), t.ones(4)
    x = a
    for _ in range(100):
        x = x * b
    run = lambda graph: t.autograd.grad(x, [a, b], g, retain_graph=True, create_graph=graph)
    return lambda: run(False), lambda: run(True)


@mechanism("results in `out`", "20 products of 4 floats with `out=`; without: written by the readable path")
def _out(t: Any) -> tuple[Step, Step]:
    from penlight.ops.machinery import dispatch

    a, b, out = t.ones(4), t.ones(4), t.empty(4)

    def step() -> None:
        for _ in range(20):
            t.mul(a, b, out=out)

    return step, within(step, lambda: replaced(dispatch, "stored", lambda out, result: False))


@mechanism("nothing recorded", "1000 products of 4 floats under no_grad; without: with their graph")
def _no_grad(t: Any) -> tuple[Step, Step]:
    step = ALL["op"].make(t)
    return within(step, t.no_grad), step


@mechanism("numbers as arrays", "1000 times x * 2.0; without: the number made an array each time")
def _numbers(t: Any) -> tuple[Step, Step]:
    from penlight.ops.machinery import scalars as numbers

    x = t.ones(4, requires_grad=True)
    table = next(table for dtype, table in numbers.NUMBERS.items() if dtype == x.numpy(force=True).dtype)

    def kept() -> None:
        for _ in range(1000):
            x * 2.0

    def made() -> None:
        for _ in range(1000):
            table.pop(2.0, None)
            x * 2.0

    return kept, made


@mechanism(
    "edges that are not stale", "20 writes, each before a sine of a view of other memory; without: of that memory"
)
def _stale(t: Any) -> tuple[Step, Step]:
    base, other = t.ones(8, requires_grad=True) * 1, t.ones(8, requires_grad=True) * 1
    view = base[:4]

    def write(tensor: Any) -> None:
        for _ in range(20):
            with t.no_grad():
                tensor.mul_(1)
            view.sin()

    return lambda: write(other), lambda: write(base)


# ----- Fused kernels --------------------------------------------------------------------------------------------------


@mechanism("softmax", "1024 x 512, forward and backward; without: amax, exp, sum, division")
def _softmax(t: Any) -> tuple[Step, Step]:
    def composed(x: Any) -> Any:
        e = (x - x.amax(1, keepdim=True)).exp()
        return e / e.sum(1, keepdim=True)

    x, g = t.randn(1024, 512, requires_grad=True), t.randn(1024, 512)
    return gradient(lambda x: x.softmax(1), x, g), gradient(composed, x, g)


@mechanism("cross entropy", "1024 x 512 logits, forward and backward; without: log_softmax, gather, mean")
def _cross_entropy(t: Any) -> tuple[Step, Step]:
    x, y, g = t.randn(1024, 512, requires_grad=True), t.randint(512, (1024,)), t.tensor(1.0)
    fused = lambda x: t.nn.functional.cross_entropy(x, y)
    composed = lambda x: -x.log_softmax(1).gather(1, y[:, None]).mean()
    return gradient(fused, x, g), gradient(composed, x, g)


@mechanism("layer norm", "768 x 128, forward and backward; without: mean, var, product, sum")
def _layer_norm(t: Any) -> tuple[Step, Step]:
    w, b = t.ones(128, requires_grad=True), t.zeros(128, requires_grad=True)

    def composed(x: Any) -> Any:
        centered = x - x.mean(1, keepdim=True)
        return centered * ((centered * centered).mean(1, keepdim=True) + 1e-5).rsqrt() * w + b

    x, g = t.randn(768, 128, requires_grad=True), t.randn(768, 128)
    return gradient(lambda x: t.nn.functional.layer_norm(x, (128,), w, b), x, g), gradient(composed, x, g)


@mechanism("attention", "12 x 4 heads, 64 x 32, causal, forward and backward; without: matmul, masked softmax, matmul")
def _attention(t: Any) -> tuple[Step, Step]:
    mask = t.ones(64, 64).tril().log()
    attend = t.nn.functional.scaled_dot_product_attention
    x, g = t.randn(12, 4, 64, 32, requires_grad=True), t.randn(12, 4, 64, 32)
    composed = lambda x: (x @ x.transpose(-1, -2) * 32**-0.5 + mask).softmax(-1) @ x
    return gradient(lambda x: attend(x, x, x, is_causal=True), x, g), gradient(composed, x, g)


@mechanism("linear with its bias", "32 x 64 by 64 x 64, forward and backward; without: matmul, then the sum")
def _linear(t: Any) -> tuple[Step, Step]:
    w, b = t.randn(64, 64, requires_grad=True), t.randn(64, requires_grad=True)
    x, g = t.randn(32, 64, requires_grad=True), t.randn(32, 64)
    return gradient(lambda x: t.nn.functional.linear(x, w, b), x, g), gradient(lambda x: x @ w.T + b, x, g)


@mechanism("whole-sequence LSTM", "50 steps, width 64, batch 16, forward and backward; without: a loop over the steps")
def _lstm(t: Any) -> tuple[Step, Step]:
    from penlight.ops.nn import recurrent_loop

    step = ALL["lstm"].make(t)
    step()
    return step, within(step, lambda: replaced(recurrent_loop, "fused", lambda *args: NotImplemented))


@mechanism(
    "convolution in machine code",
    "3 x 3 convolution of 16 x 32 x 26 x 26 to 64 channels, forward and backward; without: im2col",
)
def _winograd(t: Any) -> tuple[Step, Step]:
    from penlight.kernels import conv
    from penlight.kernels.conv import strategies

    layer, x = t.nn.Conv2d(32, 64, 3), t.randn(16, 32, 26, 26, requires_grad=True)
    step = gradient(layer, x, t.randn(16, 64, 24, 24))
    plain = within(step, lambda: replaced(conv, "WEIGHT_GRADIENTS", strategies.WEIGHT_GRADIENTS[-1:]))
    for module in (conv, strategies):
        general = module.CORRELATIONS[-1:]
        plain = within(plain, lambda m=module, g=general: replaced(m, "CORRELATIONS", g))  # type: ignore[misc]
    return step, plain


# ----- Memory and threads ---------------------------------------------------------------------------------------------


@mechanism("blocks and traced rules", "a million elements, forward and backward; without: whole arrays, one at a time")
def _blocks(t: Any) -> tuple[Step, Step]:
    from penlight.autograd.modes import NAMESPACE

    step = ALL["elementwise"].make(t)
    return step, within(step, lambda: replaced(NAMESPACE, "LARGE", sys.maxsize))


@mechanism("two threads", "a million elements, forward and backward; without: one thread")
def _threads(t: Any) -> tuple[Step, Step]:
    step = ALL["elementwise"].make(t)

    @contextmanager
    def alone() -> Iterator[None]:
        t.set_num_threads(1)
        try:
            yield
        finally:
            t.set_num_threads(2)

    return step, within(step, alone)


@mechanism("updating in buckets", "an Adam step of 40 parameters of 64; without: one after the other")
def _buckets(t: Any) -> tuple[Step, Step]:
    from penlight.optim import _raw

    def optimizer() -> Any:
        parameters = [t.randn(64, requires_grad=True) for _ in range(40)]
        for p in parameters:
            p.grad = t.randn(64)
        return t.optim.Adam(parameters)

    together = optimizer().step
    with replaced(_raw, "SMALL", 0):
        apart = optimizer().step
        apart()
    return together, within(apart, lambda: replaced(_raw, "SMALL", 0))


# ----- Running them ---------------------------------------------------------------------------------------------------


def compare(t: Any, entry: Mechanism, rounds: int, seconds: float) -> list[str]:
    """A row: name, times with and without, how many times as fast, what was measured."""
    steps = entry.make(t)
    best = [math.inf, math.inf]
    for _ in range(rounds):
        for place, step in enumerate(steps):
            best[place] = min(best[place], measure(step, seconds))
    return [entry.name, in_words(best[0]), in_words(best[1]), f"{best[1] / best[0]:.2f}", entry.work]


def main(names: list[str]) -> None:
    t = load("penlight")
    rows = [compare(t, entry, 6, 0.15) for entry in TABLE if not names or entry.name in names]
    print(markdown_table(["mechanism", "with", "without", "buys", "work"], rows))


if __name__ == "__main__":
    main(sys.argv[1:])
