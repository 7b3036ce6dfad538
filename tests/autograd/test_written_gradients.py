"""Gradients that are handed out can be written to, as in PyTorch. See Note [Read-only gradients] in autograd/accumulate.py."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import penlight as torch
from penlight.autograd.accumulate import writable

sys.path.insert(0, str(Path(__file__).parents[1] / "ops"))

import records
from recording import seed_of
from running import call, differentiable, first_order, flatten

OVERLAPS = "more than one element of the written-to tensor refers to a single memory location"


def gradients(lib, record, number):
    """The gradients of a record's sample and its inputs; none if there are none or they are refused."""
    try:
        result, leaves = call(lib, record, number)
        outs = differentiable(flatten(result))
        grads = first_order(lib, outs, leaves, seed_of(record.name, number)) if outs and leaves else []
    except (RuntimeError, NotImplementedError, TypeError, IndexError):
        return [], []
    return [None if g is None or g.layout is not lib.strided else g for g in grads], leaves


@pytest.mark.parametrize("name", records.RECORDS)
def test_gradients_are_writable_and_no_input(name):
    for number in range(len(records.RECORDS[name].samples)):
        grads, leaves = gradients(torch, records.RECORDS[name], number)
        for grad in grads:
            if grad is not None:
                assert grad._array.flags.writeable
                assert not any(np.may_share_memory(grad._array, leaf._array) for leaf in leaves)


@pytest.mark.parametrize("create_graph", [False, True])
def test_sum_is_expanded_and_mean_is_not(create_graph):
    x = torch.ones(2, 3, requires_grad=True)
    (of_sum,) = torch.autograd.grad(x.sum(), x, create_graph=create_graph)
    (of_mean,) = torch.autograd.grad(x.mean(), x, create_graph=create_graph)
    assert of_sum.stride() == (0, 0)
    assert of_mean.stride() == (3, 1)
    with torch.no_grad():
        assert of_mean.mul_(6).add_(1).tolist() == [[2.0] * 3] * 2
        with pytest.raises(RuntimeError, match=OVERLAPS):
            of_sum.mul_(2)
        assert of_sum.zero_().tolist() == [[0.0] * 3] * 2
        assert of_sum.fill_(3).tolist() == [[3.0] * 3] * 2
    assert of_sum._version == 2


def test_a_mean_of_sums():
    x = torch.ones(2, 3, requires_grad=True)
    assert torch.autograd.grad(x.sum(0).mean(), x)[0].stride() == (0, 1)
    assert torch.autograd.grad(x.mean(0).sum(), x)[0].stride() == (3, 1)


def test_hooks_and_functions_write_to_gradients():
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            return grad.mul_(2)

    x = torch.ones(2, 3, requires_grad=True)
    y = x * 1
    y.register_hook(lambda grad: grad.mul_(2))
    y.retain_grad()
    Doubled.apply(y).mean().backward()
    assert torch.allclose(x.grad, torch.full((2, 3), 4 / 6))
    assert torch.allclose(y.grad, torch.full((2, 3), 4 / 6))
    x.grad.zero_()
    y.grad.zero_()


def test_a_gradient_that_was_given_is_handed_out_itself():
    a, b, weight = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True), torch.ones(3)
    first, second = torch.autograd.grad(a + b, (a, b), weight)
    assert first is second is weight


def test_a_part_of_a_given_gradient_shares_its_version():
    a, weight = torch.ones(3, requires_grad=True), torch.tensor(2.0, requires_grad=True)
    used = weight * torch.ones((), requires_grad=True)
    (grad,) = torch.autograd.grad(a.sum(), a, weight)
    grad.zero_()
    assert weight.item() == 0.0
    assert weight._version == 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        used.backward()


def test_writable_copies_what_is_read_only():
    given = np.ones((2, 3))
    assert writable(given) is given
    made = writable(np.broadcast_to(np.ones(3), (2, 3)))
    assert made.flags.writeable
    assert made.strides == (24, 8)


@pytest.mark.parametrize("write", ["masked_fill_", "index_fill_", "index_put_", "setitem"])
def test_writing_some_elements_of_an_expanded_tensor(write):
    x, index = torch.ones(1).expand(3), torch.tensor([0])
    with pytest.warns(UserWarning, match="on expanded tensors is deprecated. Please clone"):
        if write == "masked_fill_":
            x.masked_fill_(torch.tensor([True, False, False]), 3.0)
        elif write == "index_fill_":
            x.index_fill_(0, index, 3.0)
        elif write == "index_put_":
            x.index_put_((index,), torch.tensor(3.0))
        else:
            x[index] = 3.0
    assert x.tolist() == [3.0] * 3


# Functions whose gradients lie in memory in another order than PyTorch's, and why.
OTHER_STRIDES = {
    **dict.fromkeys(["linalg.lstsq", "linalg.solve_triangular", "linalg.solve", "linalg.solve_ex"],
                    "matrices by rows instead of by columns, or the reverse"),
    **dict.fromkeys(["fft.rfft", "fft.ihfft", "fft.rfftn", "fft.rfft2", "fft.ihfftn", "fft.ihfft2", "fft.fft", "fft.ifft", "istft"],
                    "a transform to real numbers instead of the real part of one to complex numbers"),
    **dict.fromkeys(["nn.functional.conv2d", "nn.functional.conv_transpose2d", "nn.functional.max_pool2d", "max_pool2d",
                     "nn.functional.adaptive_max_pool2d", "nn.functional.batch_norm"], "contiguous instead of channels last"),
    **dict.fromkeys(["relu", "maximum", "minimum", "clamp", "nextafter", "angle", "erf", "erfc", "erfinv", "sinc", "special.erfcx", "special.ndtr", "take"],
                    "contiguous instead of transposed as the input is"),
    "as_strided_scatter": "contiguous instead of a window",
    "index_copy": "the stride of a dimension of size one",
}  # fmt: skip


@pytest.mark.parity
@pytest.mark.parametrize("name", [name for name in records.RECORDS if name not in OTHER_STRIDES])
def test_gradients_are_laid_out_and_written_as_in_pytorch(name):
    import torch as pytorch

    record = records.RECORDS[name]
    for number in range(len(record.samples)):
        theirs, _ = gradients(pytorch, record, number)
        mine, _ = gradients(torch, record, number)
        for a, b in zip(mine, theirs):
            if (
                a is None or b is None or b._is_zerotensor()
            ):  # zeros that PyTorch does not write out, nor let be written
                continue
            if a.numel():
                assert a.stride() == tuple(b.stride()), record.samples[number]
            assert outcome(torch, a) == outcome(pytorch, b), record.samples[number]


def outcome(lib, grad):
    """What becomes of a gradient that is doubled in place and then set to zero, and how often it counts as written."""
    version = grad._version
    with warnings.catch_warnings(), lib.no_grad():
        warnings.simplefilter("ignore")
        try:
            grad.mul_(2)
            said = "doubled"
        except RuntimeError as error:
            said = str(error)
        return said, bool((grad.zero_() == 0).all()), grad._version - version
