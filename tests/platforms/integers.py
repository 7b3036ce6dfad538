"""Results that are indices or counts are int64 everywhere: care is needed where NumPy's own integers have 32 bits.

Run by the tests, and by .ci/pyodide.mjs, which has no pytest.
"""

from __future__ import annotations

import penlight as torch


def check() -> int:
    """Raise AssertionError if one has another dtype; how many were looked at."""
    x, y, bools = torch.tensor([[3, 1], [2, 4]]), torch.tensor([0.5, 0.1, 0.5]), torch.tensor([True, False])
    flat, ordered = x.view(-1), y.sort().values
    results = [
        x, torch.arange(5), x.sum(), x.prod(), x.cumsum(0), bools.sum(), bools % 2, bools // 2, torch.fmod(bools, 2), bools**2, bools.square(),
        x.nonzero(), x.argwhere(), *torch.where(y > 0.2), x.argsort(), x.argmax(), x.argmin(1), x.int().sort().indices, x.max(1).indices,
        x.min(0).indices, y.topk(2).indices, y.kthvalue(2).indices, y.mode(0).indices, y.median(0).indices, y.nanmedian(0).indices,
        *torch.unique(x, return_inverse=True, return_counts=True), *torch.unique_consecutive(x, return_inverse=True, return_counts=True),
        *torch.unique(x, dim=0, return_inverse=True, return_counts=True), torch.bincount(flat), torch.bincount(flat.int()),
        torch.count_nonzero(y), torch.searchsorted(ordered, y), torch.bucketize(y, ordered), y.cummax(0).indices, y.cummin(0).indices,
        torch.randint(5, (3,)), torch.randperm(4), torch.tril_indices(3, 3), torch.multinomial(y, 2), torch.multinomial(y, 2, True),
        torch.repeat_interleave(flat), torch.repeat_interleave(flat, flat), torch.nn.functional.one_hot(torch.arange(2)),
        torch.nn.functional.max_pool1d(y[None], 2, return_indices=True)[1], torch.linalg.matrix_rank(torch.eye(2)),
        torch.linalg.lstsq(torch.eye(2), torch.eye(2), driver="gelsd").rank,
    ]  # fmt: skip
    for number, tensor in enumerate(results):
        assert tensor.dtype is torch.int64 and tensor.numpy().dtype.name == "int64", (number, tensor.dtype)
    data = torch.arange(4.0)
    assert torch.segment_reduce(data, "sum", lengths=torch.tensor([1, 3])).tolist() == [0, 6]
    bags = torch.nn.functional.embedding_bag(torch.tensor([0, 2, 1]), data[:, None], torch.tensor([0, 2]), mode="sum")
    assert bags.tolist() == [[2], [1]]
    return len(results)
