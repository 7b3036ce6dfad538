"""The recurrences as one op against the same as loops: values, all gradients, second derivatives, and what falls back."""

import numpy as np
import pytest

import penlight as torch
from penlight.ops.nn import recurrent_loop

GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}
CASES = [(mode, False) for mode in GATES] + [("LSTM", True)]
SIZES = {None: (5, 3), (3, 3, 2, 1, 1): (10,), (3, 3): (6,), (2, 1): (3,), (1, 1): (2,)}


def arguments(mode, projected, sizes, bias=True, dtype=torch.float64, seed=0):
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape):
        return (torch.randn(*shape, generator=generator, dtype=torch.float64) * 0.5).to(dtype).requires_grad_()

    size, width = 4, 6
    state = 5 if projected else width
    x = draw(*SIZES[sizes], size)
    batch = 3 if sizes is None else sizes[0]
    start = (draw(batch, state), draw(batch, width)) if mode == "LSTM" else (draw(batch, state),)
    rows = GATES[mode] * width
    weights = {
        "w_ih": draw(rows, size),
        "w_hh": draw(rows, state),
        "b_ih": draw(rows) if bias else None,
        "b_hh": draw(rows) if bias else None,
        "w_hr": draw(state, width) if projected else None,
    }
    leaves = [x, *start, *(w for w in weights.values() if w is not None)]
    return (mode, x, start, weights, sizes and list(sizes)), leaves


def results(run, args, reverse):
    output, last = run(*args, reverse)
    return [output, *last]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize(("mode", "projected"), CASES)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32"])
def test_like_the_loop(mode, projected, sizes, bias, reverse, dtype):
    args, leaves = arguments(mode, projected, sizes, bias, dtype)
    value, slope = ((1e-12, 1e-13), (1e-10, 1e-12)) if dtype is torch.float64 else ((1e-5, 1e-6), (1e-4, 1e-5))
    fused = results(recurrent_loop.run_direction, args, reverse)
    loop = results(recurrent_loop.loop_direction, args, reverse)
    assert len(fused[0].grad_fn.next_functions) >= 6
    weights = [torch.randn(t.shape, dtype=t.dtype) for t in fused]
    for a, b in zip(fused, loop, strict=True):
        assert a.shape == b.shape
        assert a.is_contiguous()
        torch.testing.assert_close(a, b, rtol=value[0], atol=value[1])
    for used in ([0], [1], [len(fused) - 1], list(range(len(fused)))):
        found, wanted = (
            torch.autograd.grad(
                [r[k] for k in used], leaves, [weights[k] for k in used], retain_graph=True, allow_unused=True
            )
            for r in (fused, loop)
        )
        for a, b in zip(found, wanted, strict=True):
            b = torch.zeros_like(a) if b is None else b
            torch.testing.assert_close(a, b, rtol=slope[0], atol=slope[1])


@pytest.mark.parametrize("batch", [1, 5, 16])
@pytest.mark.parametrize("width", [5, 16, 20])
@pytest.mark.parametrize("mode", ["LSTM", "GRU", "RNN"])
def test_sizes_with_arranged_weights(mode, width, batch):
    """In float32 the products of steps take weights that were arranged before, if their columns can be."""
    torch.manual_seed(width + batch)
    layer = getattr(torch.nn, mode)(3, width)
    x = torch.randn(4, batch, 3)
    wide = getattr(torch.nn, mode)(3, width).double()
    wide.load_state_dict(layer.state_dict())
    for module, input in ((layer, x), (wide, x.double())):
        module(input)[0].square().sum().backward()
    for a, b in zip(layer.parameters(), wide.parameters(), strict=True):
        torch.testing.assert_close(a.grad.double(), b.grad, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("sizes", [None, (3, 3, 2, 1, 1)])
@pytest.mark.parametrize(("mode", "projected"), CASES)
def test_second_derivatives(mode, projected, sizes, reverse):
    args, leaves = arguments(mode, projected, sizes)
    found = []
    for run in (recurrent_loop.run_direction, recurrent_loop.loop_direction):
        outs = results(run, args, reverse)
        loss = sum((t * t).sum() for t in outs)
        first = torch.autograd.grad(loss, leaves, create_graph=True)
        found.append(torch.autograd.grad(sum((g * g).sum() for g in first), leaves))
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-11)


def test_gradcheck():
    args, leaves = arguments("LSTM", True, (2, 1))
    mode, _, _, _, sizes = args

    def run(x, h, c, *weights):
        named = dict(zip(("w_ih", "w_hh", "b_ih", "b_hh", "w_hr"), weights, strict=True))
        output, last = recurrent_loop.run_direction(mode, x, (h, c), named, sizes, True)
        return (output, *last)

    assert torch.autograd.gradcheck(run, leaves)
    assert torch.autograd.gradgradcheck(run, leaves)


@pytest.mark.parametrize(("mode", "projected"), CASES)
def test_float32(mode, projected):
    args, leaves = arguments(mode, projected, None, dtype=torch.float32)
    wide, wide_leaves = arguments(mode, projected, None)
    for a, b in zip(
        results(recurrent_loop.run_direction, args, False),
        results(recurrent_loop.run_direction, wide, False),
        strict=True,
    ):
        assert a.dtype is torch.float32
        torch.testing.assert_close(a, b.float(), rtol=1e-5, atol=1e-6)
    torch.autograd.backward([t.sum() for t in results(recurrent_loop.run_direction, args, False)])
    torch.autograd.backward([t.sum() for t in results(recurrent_loop.run_direction, wide, False)])
    for a, b in zip(leaves, wide_leaves, strict=True):
        torch.testing.assert_close(a.grad, b.grad.float(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_far_out_values_saturate(kind):
    layer = getattr(torch.nn, kind)(1, 2)
    x = torch.tensor([[[1e30]], [[-1e30]], [[1e30]]], requires_grad=True)
    with np.errstate(all="raise"):
        output = layer(x)[0]
        output.sum().backward()
    assert output.isfinite().all()
    assert not x.grad.isnan().any()


def test_only_what_needs_a_gradient_gets_one():
    args, leaves = arguments("GRU", False, None)
    for leaf in leaves:
        leaf.requires_grad_(False)
    args[3]["b_hh"].requires_grad_()
    output, _ = recurrent_loop.run_direction(*args, False)
    output.sum().backward()
    assert [leaf.grad is not None for leaf in leaves] == [leaf is args[3]["b_hh"] for leaf in leaves]


def test_both_biases_have_gradients_of_their_own():
    layer = torch.nn.LSTM(2, 3)
    layer(torch.ones(4, 1, 2))[0].sum().backward()
    layer.bias_ih_l0.grad.zero_()
    assert layer.bias_hh_l0.grad.abs().sum() > 0


def test_output_may_be_written_to():
    for kind in ("LSTM", "GRU", "RNN"):
        layer = getattr(torch.nn, kind)(2, 3).double()
        x = torch.randn(4, 2, 2, dtype=torch.float64)
        layer(x)[0].sum().backward()
        wanted = layer.weight_hh_l0.grad
        layer.weight_hh_l0.grad = None
        layer(x)[0].mul_(2).sum().backward()
        torch.testing.assert_close(layer.weight_hh_l0.grad, 2 * wanted)


def test_a_changed_weight_is_noticed():
    layer = torch.nn.LSTM(2, 3)
    output = layer(torch.ones(4, 1, 2))[0]
    with torch.no_grad():
        layer.weight_hh_l0.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        output.sum().backward()


def test_backward_twice():
    layer = torch.nn.LSTM(2, 3)
    loss = layer(torch.ones(4, 1, 2))[0].sum()
    loss.backward(retain_graph=True)
    once = layer.weight_ih_l0.grad.clone()
    loss.backward()
    torch.testing.assert_close(layer.weight_ih_l0.grad, 2 * once)
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        loss.backward()


def test_inputs_in_any_layout():
    torch.manual_seed(0)
    for kind in ("LSTM", "GRU", "RNN"):
        layer = getattr(torch.nn, kind)(2, 3, batch_first=True, bidirectional=True, num_layers=2).double()
        x = torch.randn(2, 5, 4, dtype=torch.float64).transpose(1, 2)[..., 1:3].requires_grad_()
        a = layer(x)[0]
        b = layer(x.detach().contiguous())[0]
        torch.testing.assert_close(a, b)
        a.backward(torch.ones(1, dtype=torch.float64).expand(a.shape))


def test_modes_that_take_the_loop():
    torch.manual_seed(0)
    layer = torch.nn.GRU(2, 3).double()
    x, v = torch.randn(4, 2, 2, dtype=torch.float64), torch.randn(4, 2, 2, dtype=torch.float64)
    value, slope = torch.func.jvp(lambda t: layer(t)[0], (x,), (v,))
    torch.testing.assert_close(value, layer(x)[0])
    step = 1e-6
    torch.testing.assert_close(
        slope, (layer(x + step * v)[0] - layer(x - step * v)[0]) / (2 * step), rtol=1e-6, atol=1e-8
    )
    many = torch.stack([x, v])
    torch.testing.assert_close(torch.vmap(lambda t: layer(t)[0])(many), torch.stack([layer(x)[0], layer(v)[0]]))
    with torch.no_grad():
        assert not layer(x)[0].requires_grad
    with torch.inference_mode():
        torch.testing.assert_close(layer(x)[0], value)
    assert layer(torch.zeros(4, 0, 2, dtype=torch.float64))[0].shape == (4, 0, 3)


def test_names_of_the_nodes():
    x = torch.randn(4, 2, 2)
    packed = torch.nn.utils.rnn.pack_padded_sequence(x, [4, 2])
    for kind, name in (("LSTM", "MkldnnRnnLayerBackward0"), ("GRU", "StackBackward0"), ("RNN", "StackBackward0")):
        layer = getattr(torch.nn, kind)(2, 3)
        assert layer(x)[0].grad_fn.name() == name
        assert layer.double()(x.double())[0].grad_fn.name() == "StackBackward0"
        assert layer.float()(packed)[0].data.grad_fn.name() == "CatBackward0"


@pytest.mark.parametrize("kind", [torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN])
def test_threads_share_the_batch(kind):
    layer, x = kind(64, 128), torch.randn(6, 33, 64)
    before, seen = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            layer.zero_grad()
            out = layer(x)[0]
            out.sum().backward()
            seen.append((out.detach(), layer.weight_hh_l0.grad))
    finally:
        torch.set_num_threads(before)
    for out, grad in seen[1:]:
        torch.testing.assert_close(out, seen[0][0])
        torch.testing.assert_close(grad, seen[0][1])


@pytest.mark.parametrize("options", [{}, {"proj_size": 5}])
@pytest.mark.parametrize("kind", [torch.nn.LSTM, torch.nn.GRU])
def test_wide_layers_of_both_precisions(kind, options):
    """Layers that are wide enough for whole sequences at once; states that are projected go step by step."""
    if options and kind is torch.nn.GRU:
        pytest.skip("GRUs have no projections")
    torch.manual_seed(1)
    layer, x = kind(8, 32, **options), torch.randn(7, 5, 8)
    found = []
    for dtype in (torch.float32, torch.float64):
        layer.to(dtype).zero_grad()
        out = layer(x.to(dtype))[0]
        (out * torch.arange(out.shape[-1])).sum().backward()
        found.append([out.detach(), *[p.grad.clone() for p in layer.parameters()]])
    for single, double in zip(*found, strict=True):
        torch.testing.assert_close(single.double(), double, rtol=1e-4, atol=1e-4)
