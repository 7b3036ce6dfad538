"""Elementwise work on arrays that are dense in another order than that of their dimensions."""

import numpy as np
import pytest

import penlight as torch
from penlight.kernels.copies.order import in_memory_order, order_of
from penlight.kernels.elementwise import attempt

rng = np.random.default_rng(0)


def compiled(ufunc):
    """A ufunc as a function, which `attempt` compiles for arrays of any size."""
    return lambda *operands: ufunc(*operands)


def test_orders():
    x = np.zeros((4, 5, 6), np.float32)
    assert order_of(x) == ((0, 1, 2), (0, 1, 2))
    assert order_of(x.transpose(1, 2, 0)) == ((2, 0, 1), (1, 2, 0))
    assert order_of(x[:, ::2]) is None and order_of(x[::-1]) is None
    assert order_of(np.broadcast_to(np.float32(1), (3, 3))) is None


def test_kernels_see_the_order_of_memory():
    seen = []
    x = rng.standard_normal((3, 4, 5)).transpose(2, 0, 1)
    result = in_memory_order(lambda a: (seen.append(a.flags.c_contiguous), a + 1)[1], x)
    assert seen == [True] and result.strides == x.strides
    np.testing.assert_array_equal(result, x + 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_operands_that_are_transposed_alike(dtype):
    x, y = (rng.standard_normal((90, 70)).astype(dtype).T for _ in range(2))
    for ufunc in (np.add, np.multiply, np.greater):
        result, plain = attempt(compiled(ufunc), (x, y)), ufunc(x, y)
        if result is not None:
            assert result.dtype == plain.dtype and result.strides == plain.strides
            np.testing.assert_array_equal(result, plain)
    row = y[:1]
    broadcast = attempt(compiled(np.add), (x, row))
    if broadcast is not None:
        np.testing.assert_array_equal(broadcast, x + row)


def test_again_with_other_sizes_numbers_and_dtypes():
    for shape in ((70, 64), (30, 1000), (5, 7, 200)):
        for dtype in (np.float32, np.float64):
            x = rng.standard_normal(shape).astype(dtype)
            tensor = torch.from_numpy(x)
            for low, high in ((-1, 1), (-1.0, 0.5), (0, 1), (-0.0, 1.0), (None, 1)):
                np.testing.assert_array_equal(tensor.clamp(low, high).numpy(), np.clip(x, low, high))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_floats_in_place(dtype):
    x, y = (torch.tensor(rng.standard_normal(3001), dtype=getattr(torch, dtype)) for _ in range(2))
    wanted = x * y + 2
    kept = x.clone()
    assert kept.mul_(y).add_(2) is kept
    assert torch.equal(kept, wanted)


def test_float64_becomes_float32_on_its_way_to_sixteen_bits():
    x = torch.tensor([1 + 2**-11 + 2**-40] * 3000, dtype=torch.float64)
    assert x[:3].half().tolist() == [1.0] * 3  # and not 1 + 2**-10, as if rounded once
    assert torch.equal(x.half(), torch.ones(3000, dtype=torch.float16))
    assert x.view(60, 50).t().half().stride() == (1, 50)


@pytest.mark.parametrize("dims", [(0, 2), (2, 0), (0, 1), (0, 1, 2), (1,), (2,)])
@pytest.mark.parametrize("layout", ["whole", "part", "rows repeated", "numbers repeated", "turned"])
def test_folds_over_several_dimensions_of_any_layout(layout, dims):
    x = torch.tensor(rng.standard_normal((60, 40, 30)).astype(np.float32))
    made = {
        "whole": x, "part": x[:, :, :20], "rows repeated": x[:1].expand(60, 40, 30), "numbers repeated": x[:, :, :1].expand(60, 40, 30),
        "turned": x.permute(2, 0, 1),
    }[layout]  # fmt: skip
    plain = made.numpy()
    for keepdim in (False, True):
        for ours, theirs in ((torch.sum, np.sum), (torch.amax, np.max), (torch.mean, np.mean)):
            result, wanted = ours(made, dims, keepdim).numpy(), theirs(plain.astype(float), dims, keepdims=keepdim)
            assert result.shape == wanted.shape
            np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-3)
    np.testing.assert_allclose(made.norm().item(), np.sqrt(np.square(plain.astype(float)).sum()), rtol=1e-5)
    np.testing.assert_allclose(
        made.norm(dim=dims).numpy(), np.sqrt(np.square(plain.astype(float)).sum(dims)), rtol=1e-5
    )


def test_integers_are_clamped_as_in_c():
    x = torch.tensor([0, 3, 100, 120] * 2000, dtype=torch.uint8)
    assert x.clamp(-1, 5)[:4].tolist() == [5, 5, 5, 5]  # -1 is 255, and the upper limit prevails
    assert x.clamp(None, -5)[:4].tolist() == [0, 3, 100, 120]
    assert x.int().clamp_min(7)[:4].tolist() == [7, 7, 100, 120]
    with pytest.raises(RuntimeError, match="value cannot be converted to type uint8_t without overflow"):
        x.clamp(0, 300)
    with pytest.raises(RuntimeError, match="value cannot be converted to type int without overflow"):
        x.int().clamp(0, 2**40)


def test_divisors_wrap_around_as_in_c():
    x = torch.tensor([1, 3, 100, 120], dtype=torch.uint8)
    assert (x % -3).tolist() == [1, 3, 100, 120] and (x // 70000).tolist() == [0, 0, 0, 1]
    assert torch.tensor([1, 3, 100, -120], dtype=torch.int8).remainder(200).tolist() == [-55, -53, -12, -8]
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        x // 2**40
    assert (2 ** torch.tensor([-2, -1, 3])).tolist() == [0, 0, 8]
    assert torch.pow(-1, torch.tensor([-2, -1, 3])).tolist() == [1, -1, -1]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("size", [3, 70])
def test_transposed_halves_are_converted_also_where_no_kernel_serves_them(dtype, size):
    assert in_memory_order(lambda array: None, np.zeros((2, 3)).T) is None
    x = torch.arange(2.0 * size).reshape(2, size).t().to(getattr(torch, dtype))
    assert x.stride() == (1, size) and x.float().stride() == (1, size) and torch.equal(x.float().to(x.dtype), x)
