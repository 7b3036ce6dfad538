"""Elements moved by indices and masks, by machine code and by NumPy."""

import numpy as np
import pytest

import penlight as torch
from penlight.kernels import executable
from penlight.kernels.index import gather_scatter

needs_native = pytest.mark.skipif(executable.backend() is None, reason="no machine code on this machine")
DTYPES = ["f4", "f8", "i8", "i4", "i2", "i1", "c8", "c16", "?"]
ALONG = [
    ((30, 40), (30, 7), 1), ((30, 40), (20, 7), 1), ((30, 40), (9, 40), 0), ((30, 40), (9, 33), 0), ((5, 6, 7), (5, 9, 7), 1),
    ((5, 6, 7), (3, 9, 7), 1), ((5, 6, 7), (5, 6, 2), 2), ((5, 6, 7), (4, 6, 1), 2), ((50,), (80,), 0), ((5, 6, 7, 8), (5, 6, 3, 8), 2),
    ((5, 6, 7, 8), (5, 6, 3, 5), 2), ((1, 1), (1, 1), 1), ((5, 6, 7), (9, 6, 7), 0),
]  # fmt: skip


@pytest.fixture
def everything(monkeypatch):
    """Small arrays are moved by machine code, too."""
    monkeypatch.setattr(gather_scatter, "LEAST_MOVED", 1)
    monkeypatch.setattr(gather_scatter, "LEAST_FILLED", 1)


@needs_native
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape, index_shape, dim", ALONG)
def test_along_a_dimension(shape, index_shape, dim, dtype, everything):
    numbers = np.random.default_rng(0)
    x, index = (numbers.standard_normal(shape) * 50).astype(dtype), numbers.integers(0, shape[dim], index_shape)
    grid = np.ogrid[tuple(slice(n) for n in index_shape)]
    places = tuple(index if d == dim else g for d, g in enumerate(grid))
    taken = gather_scatter.take_along(x, index, dim)
    assert dtype == "c16" if taken is None else taken.dtype == x.dtype and np.array_equal(taken, x[places])
    values = (numbers.standard_normal(index_shape) * 50).astype(dtype)
    out, wanted = x.copy(), x.copy()
    if gather_scatter.reduce_along(out, index, values, dim):
        np.add.at(wanted, places, values)
    else:
        assert dtype not in ("f4", "f8", "i8")
    assert np.array_equal(out, wanted)
    wanted[places] = values
    if gather_scatter.put_along(out, index, values, dim):
        assert np.array_equal(out, wanted)
    else:
        assert dtype == "c16"


@needs_native
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape, index_shape, dim", ALONG)
def test_reduced_along_a_dimension(shape, index_shape, dim, dtype, everything):
    numbers = np.random.default_rng(0)
    out, index = numbers.standard_normal(shape).astype(dtype), numbers.integers(0, shape[dim], index_shape)
    values = numbers.standard_normal(index_shape).astype(dtype)
    out.flat[::5] = values.flat[::7] = np.nan
    wanted = out.copy()
    grid = np.ogrid[tuple(slice(n) for n in index_shape)]
    with np.errstate(invalid="ignore"):
        np.multiply.at(wanted, tuple(index if d == dim else g for d, g in enumerate(grid)), values)
    assert gather_scatter.reduce_along(out, index, values, dim, "mul")
    assert np.array_equal(out, wanted, equal_nan=True)
    assert not gather_scatter.reduce_along(np.zeros(shape, "i8"), index, np.zeros(index_shape, "i8"), dim, "mul")
    assert not gather_scatter.reduce_along(out, index, values, dim, "max")


@needs_native
@pytest.mark.parametrize("bad", [-1, 77, 78, 2**62, -(2**63), 2**63 - 1])
@pytest.mark.parametrize("size", [1, 5, 8, 16, 33, 1000])
def test_indices_outside_are_seen(size, bad, everything):
    index = np.random.default_rng(1).integers(0, 77, size)
    assert gather_scatter.all_inside(index, 77)
    for place in (0, size // 2, size - 1):
        wrong = index.copy()
        wrong[place] = bad
        assert not gather_scatter.all_inside(wrong, 77)


@pytest.mark.parametrize("share", [0, 0.01, 0.5, 0.99, 1])
@pytest.mark.parametrize("size", [1, 7, 8, 9, 100, 1000, 4096])
def test_masks(size, share, everything, either_way):
    numbers = np.random.default_rng(2)
    mask = numbers.random(size) < share
    for dtype in ("f4", "f8", "i2", "i1"):
        x = (numbers.standard_normal(size) * 50).astype(dtype)
        few = (numbers.standard_normal(mask.sum()) * 50).astype(dtype)
        if executable.backend() is not None:
            assert np.array_equal(gather_scatter.take_masked(x, mask), x[mask])
            out, wanted = x.copy(), x.copy()
            wanted[mask] = few
            assert gather_scatter.put_masked(out, mask, few) and np.array_equal(out, wanted)
            assert not gather_scatter.put_masked(out, mask, np.zeros(mask.sum() + 1, dtype))
        out, wanted = x.copy(), x.copy()
        wanted[mask] = 3
        gather_scatter.fill_masked(out, mask, 3)
        assert np.array_equal(out, wanted)
    for shape in ((-1,), (-1, 4), (-1, 2, 2), (2, 5, 2, 5)):
        if size % 4 == 0 and (size == 100 or len(shape) < 4):
            shaped = mask.reshape(shape)
            found = gather_scatter.nonzero(shaped)
            assert found.flags.c_contiguous and np.array_equal(found, np.array(shaped.nonzero()))
    assert np.array_equal(
        gather_scatter.nonzero(np.where(mask, np.float32(-2.5), np.float32(-0.0)))[0], mask.nonzero()[0]
    )


@needs_native
def test_columns_and_swaps(everything):
    x, index = np.arange(12.0).reshape(3, 4), np.array([3, 1, 1])
    assert np.array_equal(gather_scatter.take_columns(x, index), x[:, index])
    out, wanted = x.copy(), x.copy()
    assert gather_scatter.add_columns(out, index, np.ones((3, 3)))
    np.add.at(wanted, (slice(None), index), 1)
    assert np.array_equal(out, wanted)
    assert gather_scatter.take_slices(np.zeros((3, 0)), np.zeros(0, np.int64), 1).shape == (3, 0)
    order, turns = np.arange(5), np.array([4, 1, 3, 4, 4])
    assert gather_scatter.swap_in_turn(order, turns) and order.tolist() == [4, 1, 3, 0, 2]


def test_ops_on_many_elements(either_way):
    torch.manual_seed(0)
    x = torch.randn(120, 100, requires_grad=True)
    wide = x.detach().double().requires_grad_()
    index, columns, mask = torch.randint(0, 100, (120, 60)), torch.randint(0, 100, (70,)), torch.rand(120, 100) > 0.4
    rows, column = torch.randint(-120, 120, (5000,)), torch.randint(0, 100, (5000,))
    for f in (
        lambda v: v.gather(1, index), lambda v: v.t().gather(0, index.t()), lambda v: v.index_select(1, columns), lambda v: v[:, columns],
        lambda v: v[mask], lambda v: v.masked_select(mask), lambda v: v[rows, column], lambda v: v.take(rows), lambda v: v.sort(1)[0],
        lambda v: v.sort(0)[0], lambda v: torch.zeros(120, 100, dtype=v.dtype).scatter_add(1, index, v), lambda v: v.scatter(1, index.sort(1)[0], 0.0),
        lambda v: torch.zeros_like(v).masked_scatter(mask, v), lambda v: v.topk(50, 1)[0],
    ):  # fmt: skip
        out, wanted = f(x), f(wide)
        torch.testing.assert_close(out.double(), wanted, rtol=1e-5, atol=1e-5)
        weight = torch.arange(out.numel()).view(out.shape) % 7
        (grad,) = torch.autograd.grad((out * weight).sum(), x)
        (wanted_grad,) = torch.autograd.grad((wanted * weight).sum(), wide)
        torch.testing.assert_close(grad.double(), wanted_grad, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("bad", [-1, 100])
def test_indices_outside_are_refused_by_ops(bad, either_way):
    x, index, columns = torch.zeros(80, 100), torch.zeros(80, 100, dtype=torch.long), torch.zeros(70, dtype=torch.long)
    index[70, 3], columns[5] = bad, bad
    message = f"index {bad} is out of bounds for dimension 1 with size 100"
    with pytest.raises(RuntimeError, match=message):
        x.gather(1, index)
    with pytest.raises(RuntimeError, match=message):
        x.scatter_add_(1, index, torch.ones(80, 100))
    with pytest.raises(RuntimeError, match=message):
        x.scatter_(1, index, torch.ones(80, 100))
    with pytest.raises(RuntimeError, match=f"INDICES element is out of DATA bounds, id={bad} axis_dim=100"):
        x.index_select(1, columns)
    assert not x.any()


def test_what_is_written_where_a_mask_holds(either_way):
    x, mask = torch.zeros(100, 90), torch.arange(9000).view(100, 90) % 3 == 0
    version = x._version
    x[mask] = 2.5
    assert x._version == version + 1 and x.sum() == 7500 and x[0, :4].tolist() == [2.5, 0, 0, 2.5]
    x[mask] = torch.arange(3000.0)
    assert x[0, :7].tolist() == [0, 0, 0, 1, 0, 0, 2] and x[mask].equal(torch.arange(3000.0))
    x.t()[mask.t()] = 1.0
    assert x.equal(mask.float())
    with pytest.raises(RuntimeError):
        x[mask] = torch.zeros(5)
    y = torch.zeros(100, 90, requires_grad=True)
    z = y * 2
    z[mask] = 1.0
    z.sum().backward()
    assert y.grad.equal(2 * (~mask).float())
