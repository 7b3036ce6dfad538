"""Strides of elementwise results and copies, over random permutations, slices, expansions and broadcasts, beside PyTorch's."""

from __future__ import annotations

import random

import numpy as np
import pytest

import penlight

pytestmark = pytest.mark.parity
torch = pytest.importorskip("torch")

FUNCTIONS = {
    "add": lambda lib, a, b, c: a + b,
    "scaled": lambda lib, a, b, c: lib.sub(a, b, alpha=2),
    "atan2": lambda lib, a, b, c: lib.atan2(a, b),
    "power": lambda lib, a, b, c: a**b,
    "floor": lambda lib, a, b, c: a // b,
    "less": lambda lib, a, b, c: a < b,
    "where": lambda lib, a, b, c: lib.where(a > 0, b, c),
    "addcmul": lambda lib, a, b, c: lib.addcmul(a, b, c),
    "lerp": lambda lib, a, b, c: lib.lerp(a, b, c),
    "clamp": lambda lib, a, b, c: a.clamp(b, c),
    "masked_fill": lambda lib, a, b, c: a.masked_fill(b > 0, 1.0),
    "complex": lambda lib, a, b, c: lib.complex(a, b) * c,
    "integers": lambda lib, a, b, c: a.long() + b.long(),
    "made before": lambda lib, a, b, c: a.exp() + b.double(),
    "number": lambda lib, a, b, c: 1 - a * 2,
    "lgamma": lambda lib, a, b, c: a.lgamma(),
    "gelu": lambda lib, a, b, c: lib.nn.functional.gelu(a),
    "clone": lambda lib, a, b, c: a.clone() + b,
    "like": lambda lib, a, b, c: lib.zeros_like(a) + b,
    "full": lambda lib, a, b, c: lib.full_like(a, 2.0),
    "random": lambda lib, a, b, c: lib.rand_like(a),
    "flip": lambda lib, a, b, c: a.flip(0, -1),
    "rot90": lambda lib, a, b, c: lib.rot90(a, 1) + lib.rot90(a, 2).sum() + lib.rot90(a, 3),
    "sort": lambda lib, a, b, c: a.sort(0).values + a.sort(stable=True).indices,
    "argsort": lambda lib, a, b, c: a.argsort(-1),
    "cumsum": lambda lib, a, b, c: a.cumsum(0) + a.long().cumsum(-1),
    "cumprod": lambda lib, a, b, c: a.cumprod(0),
    "integer cumprod": lambda lib, a, b, c: a.long().cumprod(0),
    "logcumsumexp": lambda lib, a, b, c: a.logcumsumexp(0),
    "roll": lambda lib, a, b, c: a.roll(1, 0),
    "softmax": lambda lib, a, b, c: a.softmax(0),
    "renorm": lambda lib, a, b, c: a.renorm(2, 0, 0.5),
    "logsigmoid": lambda lib, a, b, c: lib.nn.functional.logsigmoid(a),
    "mvlgamma": lambda lib, a, b, c: (a + 2).mvlgamma(2),
    "gather": lambda lib, a, b, c: a.gather(0, a.long() - 1),
    "index_copy": lambda lib, a, b, c: a.index_copy(0, lib.tensor([0]), lib.ones(1, *a.shape[1:])),
    "channels": lambda lib, a, b, c: lib.empty_like(a, memory_format=lib.channels_last) if a.dim() == 4 else a,
}  # fmt: skip


def operand(lib, shape, recipe):
    kind, order, steps, repeated = recipe
    back = [order.index(d) for d in range(len(shape))]
    made = [
        1 if kind == "expanded" and repeated[d] else shape[d] * (steps[d] if kind == "sliced" else 1) for d in order
    ]
    result = lib.ones(made).permute(back)
    if kind == "sliced":
        result = result[tuple(slice(None, None, step) for step in steps)]
    if kind == "channels last" and len(shape) == 4:
        return lib.ones(shape).to(memory_format=lib.channels_last)
    return result.expand(shape) if kind == "expanded" else result


def recipes(rng):
    """Shapes of three operands that broadcast, and how each lies in memory."""
    shape = [rng.choice([1, 2, 3, 4]) for _ in range(rng.choice([2, 3, 4, 5]))]
    for place in range(3):
        own = shape[rng.choice([0, 0, 1, 2]) if place else 0 :]
        kind = rng.choice(["permuted", "permuted", "sliced", "expanded", "channels last"])
        order = rng.sample(range(len(own)), len(own))
        yield own, (kind, order, [rng.choice([1, 1, 2]) for _ in own], [rng.random() < 0.3 for _ in own])


def strides(tensor):
    """Of the dimensions of more than one element: NumPy forgets the others, where an array is contiguous without them."""
    return [step for step, size in zip(tensor.stride(), tensor.shape) if size > 1]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_strides(name):
    rng = random.Random(name)
    for _ in range(60):
        given = list(recipes(rng))
        theirs, ours = (FUNCTIONS[name](lib, *(operand(lib, *g) for g in given)) for lib in (torch, penlight))
        if any(1 in shape and operand(torch, shape, recipe).is_contiguous() for shape, recipe in given):
            continue  # strides of dimensions of one element decide there
        assert strides(ours) == strides(theirs), given


@pytest.mark.parametrize(
    "make",
    [
        lambda lib: lib.empty(2, 3, 4, 5, memory_format=lib.channels_last),
        lambda lib: lib.empty(2, 3, memory_format=lib.channels_last),
        lambda lib: lib.empty(2, 3, memory_format=lib.preserve_format),
        lambda lib: lib.zeros(2, 3, memory_format=lib.contiguous_format),
        lambda lib: lib.zeros(120).resize_((2, 3, 4, 5), memory_format=lib.channels_last),
        lambda lib: lib.zeros(120).resize_((2, 60), memory_format=lib.channels_last),
        lambda lib: lib.zeros(120).resize_((2, 60), memory_format=lib.preserve_format),
        lambda lib: lib.zeros(120).resize_as_(lib.empty(2, 3, 4, 5, memory_format=lib.channels_last)),
        lambda lib: lib.zeros(120).resize_as_(
            lib.empty(2, 3, 4, 5, memory_format=lib.channels_last), memory_format=lib.preserve_format
        ),
        lambda lib: lib.zeros(6, 7).t().resize_(7, 6),
        lambda lib: lib.zeros(2).resize_(2**40, 2**40),
        lambda lib: lib.zeros(2).resize_(2**31, 2**31),
        lambda lib: lib.zeros(3, 4)[3:],
        lambda lib: lib.zeros(3, 4)[:, 4:],
        lambda lib: lib.zeros(3, 4)[:0].t(),
        lambda lib: lib.rand_like(lib.zeros(2, 3, 4, 5), memory_format=lib.channels_last),
    ],
)
def test_memory_formats(make):
    found = []
    for lib in (torch, penlight):
        try:
            found.append(make(lib).stride())
        except (RuntimeError, TypeError) as error:
            found.append((type(error), str(error)))
    assert found[0] == found[1]


# Layers of an input `x` (3, 4, 4, 6), parameters `w`, and one number for each channel, `c`.
LAYERS = [
    *[f"F.conv2d(x, w(5, 4, {k}, {k}), padding=1)" for k in (1, 2)],
    "F.conv2d(x, w(8, 2, 2, 3), groups=2)",
    "F.conv_transpose2d(x, w(4, 5, 2, 2), stride=2)",
    "F.batch_norm(x, None, None, c, c, training=True)",
    "F.batch_norm(x, 0 * c, c)",
    "F.group_norm(x, 2, c, c)",
    "F.instance_norm(x)",
    "F.layer_norm(x, (6,))",
    "F.layer_norm(x, (4, 4, 6))",
    "F.rms_norm(x, (6,))",
    "F.rms_norm(x, (4, 6), w(4, 6))",
    *[f"F.{pool}2d(x, 2)" for pool in ("max_pool", "avg_pool", "adaptive_avg_pool", "adaptive_max_pool")],
    "F.lp_pool2d(x, 2, 2)",
    *[f"F.interpolate(x, scale_factor=2, mode={mode!r})" for mode in ("nearest", "nearest-exact", "bilinear", "bicubic", "area")],
    "F.interpolate(x, size=(3, 3), mode='bilinear', antialias=True)",
    *[f"F.pad(x, (1, 1, 1, 1), mode={mode!r})" for mode in ("constant", "reflect", "replicate", "circular")],
    "F.prelu(x, w(1))",
    "F.prelu(x, c)",
    *[f"F.glu(x, {dim})" for dim in (1, 2, 3)],
    "F.channel_shuffle(x, 2)",
    "F.pixel_unshuffle(x, 2)",
    "F.dropout(x)",
    "F.alpha_dropout(x, 0.5, True)",
    "F.softmax(x, 1)",
    "F.normalize(x)",
]  # fmt: skip


def laid_out(lib, text, incoming):
    """The strides of a layer's result and of its gradients, and the result itself."""
    lib.manual_seed(0)
    given = []

    def w(*shape):
        given.append(lib.ones(shape, requires_grad=True))
        return given[-1]

    x = lib.rand(3, 4, 4, 6).contiguous(memory_format=lib.channels_last).requires_grad_()
    y = eval(text, {"F": lib.nn.functional, "x": x, "w": w, "c": lib.arange(1.0, 5.0)})
    grads = lib.autograd.grad(y, [x, *given], incoming(lib, y))
    return [strides(t) for t in (y, *grads)], y.detach().numpy()


@pytest.mark.parametrize("text", LAYERS)
@pytest.mark.parametrize("incoming", ["ones", "ones_like"])
def test_layers_keep_channels_last(text, incoming):
    make = {"ones": lambda lib, y: lib.ones(y.shape), "ones_like": lambda lib, y: lib.ones_like(y)}[incoming]
    (theirs, values), (ours, own) = (laid_out(lib, text, make) for lib in (torch, penlight))
    assert ours == theirs
    assert np.allclose(own, values, atol=1e-5)
