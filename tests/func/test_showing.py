"""How tensors print inside transforms; the texts are what PyTorch 2.13.0 prints."""

import pytest

import penlight as torch
from penlight.func import grad, jacfwd, jvp, vjp, vmap


def seen(call, *arguments):
    """What a tensor prints as inside of what `call` makes of a function."""
    texts = []

    def function(x):
        texts.append(repr(x * 2))
        return x.sum()

    call(function)(*arguments)
    return texts[0]


ROW = torch.arange(3.0)
ROWS = torch.arange(6.0).reshape(2, 3)
TRACKED = "GradTrackingTensor(lvl=1, value=\n    tensor([0., 2., 4.])\n)"
TRANSFORMS = {
    "grad": (grad, (ROW,), TRACKED),
    "vjp": (lambda f: lambda x: vjp(f, x), (ROW,), TRACKED),
    "jvp": (lambda f: lambda x: jvp(f, (x,), (x,)), (ROW,), TRACKED),
    "jacfwd": (jacfwd, (ROW,), TRACKED.replace("lvl=1", "lvl=2")),
    "grad of grad": (
        lambda f: grad(lambda x: grad(f)(x).sum()),
        (ROW,),
        "GradTrackingTensor(lvl=2, value=\n    GradTrackingTensor(lvl=1, value=\n        tensor([0., 2., 4.])\n    )\n)",
    ),
    "vmap of grad": (
        lambda f: vmap(grad(f)),
        (ROWS,),
        "GradTrackingTensor(lvl=2, value=\n    BatchedTensor(lvl=1, bdim=0, value=\n        tensor([[ 0.,  2.,  4.],\n"
        "                [ 6.,  8., 10.]])\n    )\n)",
    ),
    "grad of vmap": (
        lambda f: grad(lambda x: vmap(f)(x).sum()),
        (ROWS,),
        "BatchedTensor(lvl=2, bdim=0, value=\n    GradTrackingTensor(lvl=1, value=\n        tensor([[ 0.,  2.,  4.],\n"
        "                [ 6.,  8., 10.]])\n    )\n)",
    ),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_levels(name):
    transform, arguments, expected = TRANSFORMS[name]
    assert seen(transform, *arguments) == expected


def test_what_is_at_no_level_prints_as_usual():
    texts = []
    outside = torch.ones(2)
    leaf = torch.ones(2, requires_grad=True)
    grad(lambda x: (texts.extend([repr(outside), f"{x.sum():.1f}", repr(x * leaf)]), x.sum())[1])(torch.ones(2))
    assert texts == [
        "tensor([1., 1.])",
        "2.0",
        "GradTrackingTensor(lvl=1, value=\n    tensor([1., 1.], grad_fn=<MulBackward0>)\n)",
    ]
    assert repr(leaf * 2) == "tensor([2., 2.], grad_fn=<MulBackward0>)"
