"""One step of a recurrent layer for each row of a batch, without its matrix product. The NumPy version is kernels/recurrent/in_numpy.py.

Gates are concatenated in a row, in PyTorch's order. Arrays that change from step to step (the state's product, the cell) are
local to the step's rows; values saved for the backward pass have rows for all steps.
"""

from __future__ import annotations

from ..compiler.math import exp, gate, tanh
from ..compiler.rows import Rows
from ..compiler.values import Value, fma, fnma, maximum

# The saved values of a step. LSTM: the gates i, f, g, o, the cell before the step, and the tanh of the cell after it.
# GRU: the gates r, z, n, and the term that r scales.


def _sigmoid(z: Value) -> Value:
    return 1.0 / (exp(-z) + 1.0) if z.is_double else gate(z)


def _slope(y: Value) -> Value:
    """y * (1 - y), the derivative of a sigmoid from its result."""
    return fnma(y, y, y)


def lstm(b: Rows, biased: bool) -> None:
    """Gates, cell and state from the state's product, the input's, and a bias."""
    product, projected, kept = b.split(4, local=True), b.split(4), b.split(6)
    cell, out = b.array(local=True), b.array()
    bias = b.split(4, shared=True) if biased else None

    def kept_gate(k: int) -> Value:
        z = projected[k].load() if bias is None else projected[k].load() + bias[k].load()
        z = product[k].load() + z
        return kept[k].store(tanh(z) if k == 2 else _sigmoid(z))

    def body() -> None:
        fresh = kept_gate(0) * kept_gate(2)
        before = kept[4].store(cell.load())
        bent = kept[5].store(tanh(cell.store(fma(kept_gate(1), before, fresh))))
        out.store(kept_gate(3) * bent)

    b.each(body)


def lstm_backward(b: Rows, upstream: bool) -> None:
    """The slopes of the gates from the gradients of state and cell; and the gradient of the cell one step earlier."""
    kept, slopes = b.split(6), b.split(4)
    dstate, dcell = b.array(local=True), b.array(local=True)
    given = b.array() if upstream else None

    def body() -> None:
        dh = dstate.load() if given is None else dstate.load() + given.load()
        o, bent = kept[3].load(), kept[5].load()
        slopes[3].store(dh * bent * _slope(o))
        through = dh * o
        dc = fma(through, fnma(bent, bent, 1.0), dcell.load())
        i, g = kept[0].load(), kept[2].load()
        slopes[2].store(dc * i * fnma(g, g, 1.0))
        slopes[0].store(dc * g * _slope(i))
        f = kept[1].load()
        slopes[1].store(dc * kept[4].load() * _slope(f))
        dcell.store(dc * f)

    b.each(body)


def gru(b: Rows, biased: bool) -> None:
    """Gates and state from the state's product, the input's and the previous state; a bias is added to the term that r scales."""
    product, projected, kept = b.split(3, local=True), b.split(3), b.split(4)
    state, out = b.array(local=True), b.array()
    inner = b.array(width=0) if biased else None

    def body() -> None:
        r, z = (kept[k].store(_sigmoid(product[k].load() + projected[k].load())) for k in (0, 1))
        scaled = kept[3].store(product[2].load() if inner is None else product[2].load() + inner.load())
        n = kept[2].store(tanh(fma(r, scaled, projected[2].load())))
        out.store(fma(state.load() - n, z, n))

    b.each(body)


def gru_backward(b: Rows, upstream: bool) -> None:
    """The slopes of r, z and n with respect to the state's product, that of n with respect to the input's, and the direct
    gradient of the previous state.

    The gradient of the state is the direct part, `dstate`, plus the product of the slopes one step later.
    """
    kept, slopes, inner = b.split(4), b.split(3), b.array()
    before, dstate, through = b.array(), b.array(local=True), b.array(local=True)
    given = b.array() if upstream else None

    def body() -> None:
        dh = dstate.load() + through.load()
        if given is not None:
            dh = dh + given.load()
        r, z, n = (kept[k].load() for k in range(3))
        slopes[1].store(dh * (before.load() - n) * _slope(z))
        dstate.store(dh * z)
        dn = inner.store(fnma(dh, z, dh) * fnma(n, n, 1.0))
        slopes[2].store(dn * r)
        slopes[0].store(dn * kept[3].load() * _slope(r))

    b.each(body)


def rnn(b: Rows, relu: bool) -> None:
    """The state from its product and the product of the input, which it overwrites."""
    product, state = b.array(local=True), b.array()

    def body() -> None:
        z = product.load() + state.load()
        state.store(maximum(z, 0.0) if relu else tanh(z))

    b.each(body)


def rnn_backward(b: Rows, upstream: bool) -> None:
    """The slope times the gradient of the state."""
    slope, dstate = b.array(), b.array(local=True)
    given = b.array() if upstream else None
    b.each(lambda: slope.store(slope.load() * (dstate.load() + given.load() if given else dstate.load())))
