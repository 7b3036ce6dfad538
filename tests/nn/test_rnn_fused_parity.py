"""Recurrent networks against PyTorch: values, states, all gradients, second derivatives, names of the nodes."""

import numpy as np
import pytest

import penlight

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity

SETTINGS = [
    {}, {"num_layers": 2, "bidirectional": True}, {"batch_first": True}, {"bias": False, "bidirectional": True},
    {"num_layers": 3}, {"proj_size": 3}, {"proj_size": 2, "bidirectional": True, "num_layers": 2}, {"nonlinearity": "relu"},
]  # fmt: skip
CASES = [
    (kind, settings)
    for kind in ("LSTM", "GRU", "RNN")
    for settings in SETTINGS
    if ("proj_size" not in settings or kind == "LSTM") and ("nonlinearity" not in settings or kind == "RNN")
]


def run(library, kind, settings, dtype, lengths, state, twice):
    """Outputs and gradients of one network, from the same numbers in both libraries."""
    numbers = np.random.default_rng(0)
    layer = getattr(library.nn, kind)(4, 5, **settings, dtype=getattr(library, dtype))

    def draw(*shape):
        return library.tensor(numbers.normal(size=shape) * 0.5, dtype=getattr(library, dtype), requires_grad=True)

    with library.no_grad():
        for p in layer.parameters():
            p.copy_(draw(*p.shape))
    leaves = [draw(3, 6, 4) if settings.get("batch_first") else draw(6, 3, 4)]
    rows = settings.get("num_layers", 1) * (2 if settings.get("bidirectional") else 1)
    hx = None
    if state:
        leaves.append(draw(rows, 3, settings.get("proj_size") or 5))
        hx = leaves[1]
        if kind == "LSTM":
            leaves.append(draw(rows, 3, 5))
            hx = (leaves[1], leaves[2])
    x = leaves[0]
    if lengths is not None:
        x = library.nn.utils.rnn.pack_padded_sequence(x, lengths, bool(settings.get("batch_first")), False)
    output, last = layer(x, hx)
    outs = [output if lengths is None else output.data, *(last if kind == "LSTM" else (last,))]
    names = [t.grad_fn.name() for t in outs]
    leaves += layer.parameters()
    loss = sum((t * draw(*t.shape)).sum() for t in outs)
    grads = library.autograd.grad(loss, leaves, create_graph=twice)
    if twice:
        grads = [*grads, *library.autograd.grad(sum((g * g).sum() for g in grads), leaves)]
    arrays = [t.detach().numpy() for t in (*outs, *grads)]
    return names, [(t.stride(), tuple(t.shape)) for t in outs], arrays


def same(kind, settings, dtype, lengths=None, state=False, twice=False):
    found = run(penlight, kind, settings, dtype, lengths, state, twice)
    wanted = run(torch, kind, settings, dtype, lengths, state, twice)
    if not settings.get("batch_first") or kind == "LSTM":
        assert found[0] == wanted[0]
    assert found[1] == wanted[1]
    close = {"rtol": 1e-4, "atol": 1e-5} if dtype == "float32" else {"rtol": 1e-9, "atol": 1e-11}
    for a, b in zip(found[2], wanted[2], strict=True):
        np.testing.assert_allclose(a, b, **close)


@pytest.mark.parametrize(
    ("lengths", "state"), [(None, False), (None, True), ([2, 6, 4], True), ([6, 6, 6], False), ([1, 1, 1], True)]
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("kind", "settings"), CASES)
@pytest.mark.filterwarnings("ignore:LSTM with projections")
def test_values_and_gradients(kind, settings, dtype, lengths, state):
    same(kind, settings, dtype, lengths, state)


@pytest.mark.parametrize("lengths", [None, [2, 6, 4]])
@pytest.mark.parametrize(("kind", "settings"), CASES)
@pytest.mark.filterwarnings("ignore:LSTM with projections")
def test_second_derivatives(kind, settings, lengths):
    same(kind, settings, "float64", lengths, True, twice=True)
