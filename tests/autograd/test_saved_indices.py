"""Index tensors that are written to between an op and its backward pass: PyTorch's error, or a gradient of the indices as they were."""

from __future__ import annotations

import pytest

import penlight as torch

MODIFIED = r"modified by an inplace operation: \[torch.LongTensor \[2\]\] is at version 1; expected version 0 instead"


@pytest.mark.parametrize(
    "use",
    [
        lambda x, i: x[i],
        lambda x, i: x[:, i],
        lambda x, i: x[i, i],
        lambda x, i: x.index_put((i,), torch.ones(2, 4)),
        lambda x, i: x.index_put((i,), torch.ones(2, 4), accumulate=True)[i],
    ],
)
@pytest.mark.parametrize("through_a_view", [False, True])
def test_written_indices_are_refused(use, through_a_view):
    x, index = torch.ones(3, 4, requires_grad=True), torch.tensor([0, 1])
    result = use(x, index)
    (index[:] if through_a_view else index).add_(1)
    with pytest.raises(RuntimeError, match=MODIFIED):
        result.sum().backward()


@pytest.mark.parametrize("index", [torch.tensor([0, 1]), torch.tensor([True, True, False])])
def test_writes_keep_their_places(index):
    index = index.clone()
    values, x = torch.ones(2, requires_grad=True), torch.zeros(3)
    x[index] = values
    index.zero_()
    (x * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert values.grad.tolist() == [1.0, 2.0]


def test_masks_keep_their_places():
    x, mask = torch.ones(3, requires_grad=True), torch.tensor([True, False, False])
    picked = x[mask]
    mask.logical_not_()
    picked.sum().backward()
    assert x.grad.tolist() == [1.0, 0.0, 0.0]


def test_lengths_of_segments_keep_their_values():
    x, lengths = torch.ones(3, requires_grad=True), torch.tensor([1, 2])
    sums = torch.segment_reduce(x, "sum", lengths=lengths)
    lengths.copy_(torch.tensor([2, 1]))
    (sums * torch.tensor([1.0, 10.0])).sum().backward()
    assert x.grad.tolist() == [1.0, 10.0, 10.0]
