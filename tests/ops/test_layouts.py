"""Layouts of results in memory: channels last where the input has them (Note [Channels last] in ops/nn/channels_last.py), and of einsum."""

from __future__ import annotations

import pytest

import penlight as torch

F = torch.nn.functional
IMAGES = {
    "conv2d": lambda x: F.conv2d(x, torch.ones(5, 4, 3, 3)),
    "conv2d by a weight": lambda x: F.conv2d(x.contiguous(), torch.ones(5, 4, 3, 3).to(memory_format=torch.channels_last)),
    "conv_transpose2d": lambda x: F.conv_transpose2d(x, torch.ones(4, 5, 2, 2)),
    "max_pool2d": lambda x: F.max_pool2d(x, 2),
    "indices": lambda x: F.max_pool2d(x, 2, return_indices=True)[1],
    "max_unpool2d": lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2),
    "avg_pool2d": lambda x: F.avg_pool2d(x, 2),
    "adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(x, 2),
    "adaptive_max_pool2d": lambda x: F.adaptive_max_pool2d(x, 2),
    "batch_norm": lambda x: F.batch_norm(x, None, None, training=True),
    "group_norm": lambda x: F.group_norm(x, 2),
    "pad": lambda x: F.pad(x, (1, 1)),
    "reflect": lambda x: F.pad(x, (1, 1, 1, 1), mode="reflect"),
    "nearest": lambda x: F.interpolate(x, scale_factor=2),
    "bilinear": lambda x: F.interpolate(x, size=5, mode="bilinear"),
    "bytes": lambda x: F.interpolate(x.byte(), size=5, mode="bicubic"),
    "pixel_unshuffle": lambda x: F.pixel_unshuffle(x, 2),
    "channel_shuffle": lambda x: F.channel_shuffle(x, 2),
    "prelu": lambda x: F.prelu(x, torch.ones(4)),
    "flip": lambda x: x.flip(2),
}  # fmt: skip
NAMES = [
    "gelu",
    "silu",
    "mish",
    "softplus",
    "hardswish",
    "hardsigmoid",
    "elu",
    "selu",
    "celu",
    "leaky_relu",
    "softshrink",
    "hardshrink",
    "relu",
    "tanh",
]


@pytest.mark.parametrize("name", IMAGES)
@pytest.mark.parametrize("grad", [False, True])
def test_channels_stay_last(name, grad):
    torch.manual_seed(0)
    plain = torch.randn(2, 4, 6, 6).abs()
    x = plain.to(memory_format=torch.channels_last).requires_grad_(grad)
    found, expected = IMAGES[name](x), IMAGES[name](plain)
    assert found.is_contiguous(memory_format=torch.channels_last) and not found.is_contiguous()
    assert torch.allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("grad", [False, True])
def test_elementwise_functions_keep_any_dense_order(name, grad):
    torch.manual_seed(0)
    x = torch.randn(2, 3, 4, 5).permute(2, 0, 3, 1).detach().requires_grad_(grad)
    found = getattr(F, name)(x)
    assert found.stride() == x.stride()
    assert torch.allclose(found, getattr(F, name)(x.contiguous()), atol=1e-6)


@pytest.mark.parametrize("name", ["flip", "sort", "argsort"])
def test_rearranging_keeps_any_dense_order(name):
    x = torch.randn(2, 3, 4, 5).permute(2, 0, 3, 1)
    found, expected = getattr(x, name)(1), getattr(x.contiguous(), name)(1)
    if name == "sort":
        found, expected = found.values, expected.values
    assert found.stride() == x.stride() and torch.equal(found, expected)


VIEWABLE = {
    "cumsum": lambda x: x.cumsum(0), "cumprod": lambda x: x.cumprod(1), "integer cumprod": lambda x: x.long().cumprod(0),
    "logcumsumexp": lambda x: x.logcumsumexp(0), "roll": lambda x: x.roll(1, 0), "renorm": lambda x: x.renorm(2, 0, 1.0),
    "logsigmoid": F.logsigmoid, "mvlgamma": lambda x: (x + 9).mvlgamma(2), "gather": lambda x: x.gather(0, x.long() % 4),
    "index_copy": lambda x: x.index_copy(0, torch.tensor([1]), x[:1]), "rot90": lambda x: x.rot90(),
}  # fmt: skip


@pytest.mark.parametrize("name", VIEWABLE)
def test_what_is_contiguous_in_pytorch_can_be_viewed(name):
    x = torch.arange(12.0).reshape(3, 4).t()
    assert torch.allclose(VIEWABLE[name](x).view(-1), VIEWABLE[name](x.contiguous()).reshape(-1))


def test_volumes():
    x = torch.randn(1, 2, 4, 4, 4).to(memory_format=torch.channels_last_3d)
    for found in (F.conv3d(x, torch.ones(3, 2, 2, 2, 2)), F.max_pool3d(x, 2), F.interpolate(x, scale_factor=2)):
        assert found.is_contiguous(memory_format=torch.channels_last_3d)


def test_the_first_operand_decides():
    a, b = torch.ones(3, 2).t(), torch.ones(2, 3)
    assert (a + b).stride() == (a * 2 + b).stride() == (a.clone() + b).stride() == (1, 2)
    assert (b + a).stride() == (3, 1) and torch.where(a > 0, b, b).stride() == (1, 2)
    assert (a.double() + b).stride() == (a.long() + b.long()).stride() == (1, 2)
    last = torch.ones(2, 3, 4, 5).to(memory_format=torch.channels_last)
    assert (last + torch.ones(2, 3, 4, 5)).stride() == (last + torch.ones(5)).stride() == last.stride()
    assert (torch.ones(3, 1) + torch.ones(4, 3).t()).stride() == (1, 3)  # where that is expanded, the next


def test_copies_keep_a_dense_layout_and_close_gaps():
    x = torch.zeros(4, 3, 2).permute(2, 0, 1)
    assert x.clone().stride() == torch.empty_like(x).stride() == x.exp().stride() == x.stride() == (1, 6, 2)
    assert torch.zeros_like(x[:, ::2]).stride() == x[:, ::2].neg().stride() == (1, 6, 2)
    assert torch.zeros(3).expand(2, 3).clone().stride() == (3, 1)
    assert x.masked_fill(x > 0, 1.0).stride() == (12, 3, 1)  # contiguous in PyTorch too


def test_memory_formats_of_new_memory():
    assert torch.empty(2, 3, 4, 5, memory_format=torch.channels_last).stride() == (60, 1, 15, 3)
    assert torch.zeros(120).resize_((2, 3, 4, 5), memory_format=torch.channels_last).stride() == (60, 1, 15, 3)
    with pytest.raises(RuntimeError, match="required rank 4 tensor to use channels_last format"):
        torch.empty(2, 3, memory_format=torch.channels_last)
    with pytest.raises(RuntimeError, match="Storage size calculation overflowed"):
        torch.zeros(2).resize_(2**31, 2**31)
    assert torch.zeros(3, 4)[3:].stride() == (4, 1)


def test_large_operands_are_laid_out_too():
    a, b = torch.randn(300, 200).t(), torch.randn(200, 300)
    for found, expected in ((a + b, a.contiguous() + b), (a.exp(), a.contiguous().exp())):
        assert found.stride() == (1, 200) and torch.equal(found, expected)


def test_a_new_dimension_leaves_the_other_strides():
    assert torch.ones(3, 2).t().unsqueeze(-1).stride() == (1, 2, 1)
    column = torch.ones(1, 3).t()
    assert column.unsqueeze(0).stride() == (3, 1, 3) and column.unsqueeze(1).stride() == (1, 3, 3)
    assert torch.equal(
        column.unsqueeze(0)[0].mul_(column), torch.ones(3, 1)
    )  # the same elements: PyTorch compares all strides


def test_gradients_of_layers_are_channels_last_where_their_inputs_are():
    F, last = torch.nn.functional, torch.channels_last
    x = torch.rand(2, 4, 4, 6).contiguous(memory_format=last).requires_grad_()
    weight = torch.ones(3, 4, 2, 2, requires_grad=True)
    for layer in (
        lambda: F.conv2d(x, weight),
        lambda: F.batch_norm(x, None, None, training=True),
        lambda: F.group_norm(x, 2),
        lambda: F.max_pool2d(x, 2),
        lambda: F.avg_pool2d(x, 2),
        lambda: F.pad(x, (1, 1, 1, 1), mode="reflect"),
        lambda: F.prelu(x, torch.ones(4)),
        lambda: F.glu(x, 1),
        lambda: F.rms_norm(x, (6,)),
        lambda: F.interpolate(x, scale_factor=2),
    ):
        y = layer()
        assert y.is_contiguous(memory_format=last)
        grad = torch.autograd.grad(y, x, torch.ones_like(y))[0]
        assert grad.is_contiguous(memory_format=torch.contiguous_format if "Glu" in y.grad_fn.name() else last)
    assert torch.autograd.grad(F.conv2d(x, weight).sum(), weight)[0].stride() == (16, 1, 8, 4)


def test_random_numbers_fall_on_the_same_elements_after_a_layer():
    x = torch.rand(2, 4, 3, 3).contiguous(memory_format=torch.channels_last)
    torch.manual_seed(0)
    wanted = torch.nn.functional.dropout(torch.ones_like(x))
    for layer in (lambda t: torch.prelu(t, torch.ones(1)), lambda t: torch.nn.functional.rms_norm(t, (3,))):
        torch.manual_seed(0)
        assert torch.equal(torch.nn.functional.dropout(layer(x)) != 0, wanted != 0)


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize(
    ("equation", "shapes", "strides", "name"),
    [
        ("ij,jk->ki", [(5, 2), (2, 4)], (5, 1), "ViewBackward0"),
        ("id,cbd->cib", [(5, 3), (4, 2, 3)], (2, 8, 1), "ViewBackward0"),
        ("aid,acd->cai", [(6, 5, 3), (6, 4, 3)], (5, 20, 1), "ViewBackward0"),
        ("ij,kj->ki", [(5, 1), (4, 1)], (5, 1), "ViewBackward0"),
        ("ij,kj->ik", [(5, 1), (4, 1)], (4, 1), "ViewBackward0"),
        ("cab->bc", [(4, 3, 5)], (4, 1), "SumBackward1"),
        ("a,bcd->cd", [(2,), (3, 4, 5)], (5, 1), "ViewBackward0"),
        ("i,j->ji", [(3,), (4,)], (3, 1), "MulBackward0"),
        ("ab->ba", [(2, 3)], (1, 3), "PermuteBackward0"),
    ],
)
def test_einsum(equation, shapes, strides, name, grad):
    result = torch.einsum(equation, *[torch.ones(shape, requires_grad=grad) for shape in shapes])
    assert result.stride() == strides
    assert result._is_view() == (name in ("ViewBackward0", "PermuteBackward0"))
    assert not grad or result.grad_fn.name() == name
