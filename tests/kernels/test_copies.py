"""Copies of arrays that lie otherwise in memory, by machine code and by NumPy; and sums of bags of rows."""

import itertools

import numpy as np
import pytest

import penlight as torch
from penlight.kernels import copies, executable

SHAPES = [(8, 8), (8, 9), (9, 8), (20, 33), (70, 130), (200, 9), (3, 5, 7), (5, 16, 24), (4, 9, 8, 11), (100,), (7,), (2, 3, 4, 5, 6), (1, 30, 1, 40)]  # fmt: skip


@pytest.fixture
def everything(monkeypatch):
    """Small arrays are copied by machine code, too."""
    monkeypatch.setattr(copies, "FROM", 1)
    copies._plans.cache_clear()
    yield
    copies._plans.cache_clear()


@pytest.mark.parametrize("dtype", ["f4", "f8", "i2", "i1", "c16", "?"])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_order_and_direction(shape, dtype, everything, either_way):
    x = (np.random.default_rng(0).standard_normal(shape) * 50).astype(dtype)
    directions = list(itertools.product((1, -1), repeat=x.ndim)) if x.ndim < 4 else [(1,) * x.ndim, (-1,) * x.ndim]
    for order in itertools.islice(itertools.permutations(range(x.ndim)), 24):
        for steps in directions:
            view = x[tuple(slice(None, None, step) for step in steps)].transpose(order)
            for source in (view, view[..., ::2], view[1:] if len(view) > 1 else view):
                result = copies.fresh(source)
                assert result.flags.c_contiguous and np.array_equal(result, source)


def test_what_is_already_contiguous():
    x = np.arange(10_000)
    assert copies.contiguous(x) is x and copies.fresh(x) is not x
    expanded = np.broadcast_to(np.arange(100.0), (90, 100))
    assert np.array_equal(copies.fresh(expanded), expanded)


def test_ops_that_copy(either_way):
    x = torch.arange(24_000.0).view(40, 20, 30)
    a = x.numpy()
    for got, wanted in (
        (x.flip(2), a[..., ::-1]),
        (x.flip(0, 1), a[::-1, ::-1]),
        (x.permute(2, 0, 1).contiguous(), a.transpose(2, 0, 1)),
        (x.transpose(1, 2).clone(memory_format=torch.contiguous_format), a.swapaxes(1, 2)),
        (x.roll(7, 2), np.roll(a, 7, 2)),
        (x.roll((3, 5), (0, 1)), np.roll(a, (3, 5), (0, 1))),
        (x.rot90(1, (0, 2)), np.rot90(a, 1, (0, 2))),
        (x.unfold(2, 10, 5).contiguous(), np.lib.stride_tricks.sliding_window_view(a, 10, 2)[:, :, ::5]),
        (torch.nn.functional.pad(x, (3, 2), mode="reflect"), np.pad(a, ((0, 0), (0, 0), (3, 2)), "reflect")),
        (torch.nn.functional.pad(x, (3, 2), mode="replicate"), np.pad(a, ((0, 0), (0, 0), (3, 2)), "edge")),
        (torch.nn.functional.pad(x, (3, 2), mode="circular"), np.pad(a, ((0, 0), (0, 0), (3, 2)), "wrap")),
        (x[:, :, ::2].contiguous(), a[:, :, ::2]),
    ):
        assert np.array_equal(got.numpy(), wanted)


@pytest.mark.parametrize("columns", [5, 8, 12, 64, 100, 200])
@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_bags(columns, mode, either_way):
    random = np.random.default_rng(0)
    table = torch.tensor(random.standard_normal((50, columns)).astype("f4"), requires_grad=True)
    indices, offsets = torch.tensor(random.integers(0, 50, 1500)), torch.tensor([0, 3, 3, 900, 1400, 1400])
    out = torch.nn.functional.embedding_bag(indices, table, offsets, mode=mode)
    rows = table.detach().numpy().astype("f8")[indices.numpy()]
    ends = [0, 3, 3, 900, 1400, 1400, 1500]
    wanted = np.array(
        [rows[a:b].sum(0) / (max(b - a, 1) if mode == "mean" else 1) for a, b in itertools.pairwise(ends)]
    )
    np.testing.assert_allclose(out.detach().numpy(), wanted, rtol=1e-4, atol=1e-4)
    out.sum().backward()
    share = [1 / max(b - a, 1) if mode == "mean" else 1.0 for a, b in itertools.pairwise(ends)]
    counts = np.bincount(indices.numpy(), np.repeat(share, np.diff(ends)), 50)
    np.testing.assert_allclose(table.grad.numpy(), np.repeat(counts[:, None], columns, 1), rtol=1e-4)
    with pytest.raises(RuntimeError, match="Index 1 of input takes value 50 which is not in the valid range"):
        indices[1] = 50
        torch.nn.functional.embedding_bag(indices, table, offsets, mode=mode)


@pytest.mark.skipif(not executable.available(), reason="native kernels do not run on this machine")
def test_bags_that_are_refused():
    from penlight.kernels.index.gather_scatter import bag_sums as sums

    table, picks = np.ones((5, 8), np.float32), np.arange(5)
    assert sums(table, picks, np.array([0, 2, 5])).tolist() == [[2.0] * 8, [3.0] * 8]
    for bounds in ([0, 6], [-1, 2], [0, 3, 2, 5]):
        assert sums(table, picks, np.array(bounds)) is None
    assert sums(table, picks + 1, np.array([0, 5])) is None and sums(table[:, :7], picks, np.array([0, 5])) is None
    assert sums(table.astype("f8"), picks, np.array([0, 5])).tolist() == [[5.0] * 8]
    assert sums(table.astype("i8"), picks, np.array([0, 5])) is None


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8"])
@pytest.mark.parametrize("shape", [(100, 90), (90, 101), (3, 70, 70), (5000, 3), (3, 5000)])
def test_large_triangles(shape, dtype, either_way):
    x = (np.random.default_rng(0).standard_normal(shape) * 9).astype(dtype)
    if dtype != "i8":
        x[..., -1], x[..., 0] = np.nan, np.inf
    for diagonal in (0, 1, -1, 50, -50, 10**6, -(10**6)):
        below = np.arange(shape[-1]) <= np.arange(shape[-2])[:, None] + diagonal
        np.testing.assert_array_equal(torch.from_numpy(x).tril(diagonal).numpy(), np.where(below, x, 0))
        np.testing.assert_array_equal(torch.from_numpy(x).triu(diagonal + 1).numpy(), np.where(below, 0, x))
