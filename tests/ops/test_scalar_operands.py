"""Numbers beside tensors: what is kept of them changes no result. See Note [Numbers as arrays] in ops/machinery/scalars.py."""

import warnings

import pytest

import penlight as torch
from penlight.ops.machinery.scalars import NUMBERS


def test_zeros_keep_their_sign():
    one = torch.ones(1)
    for _ in range(2):
        assert str((one * 0.0).item()) == "0.0"
        assert str((one * -0.0).item()) == "-0.0"
        assert (one / (one * -0.0)).item() == float("-inf")


def test_dtypes_follow_the_kind_of_number():
    i, f = torch.tensor([3]), torch.tensor([3.0])
    assert (i + 1).dtype is torch.int64 and (i + 1.0).dtype is torch.float32 and (i / 2).dtype is torch.float32
    assert (i + True).tolist() == [4] and (f + True).tolist() == [4.0]
    assert (f + 1).dtype is torch.float32 and (f.double() + 1).dtype is torch.float64
    assert (
        (i * 2).tolist() == [6]
        and (i * 2.0).tolist() == [6.0]
        and (2 - i).tolist() == [-1]
        and (2 - f).tolist() == [-1.0]
    )


def test_a_number_too_large_is_inf_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (torch.ones(1) * 1e300).item() == float("inf")
        assert (torch.ones(1, dtype=torch.float16) * 1e6).item() == float("inf")


def test_tables_stay_small():
    x = torch.ones(1)
    for k in range(1, 2500):
        assert (x * k).item() == k
    assert all(len(table) <= 1000 for table in NUMBERS.values())


def test_a_kept_number_can_not_be_written_to():
    x = torch.tensor(2.0)
    y = x * 3.0
    y.add_(1)
    x.mul_(3.0)
    assert (torch.tensor(2.0) * 3.0).item() == 6.0
    w = torch.tensor(1.0, requires_grad=True)
    (w * 3.0).backward()
    w.grad.add_(1)
    v = torch.tensor(1.0, requires_grad=True)
    (v * 3.0).backward()
    assert v.grad.item() == 3.0


def test_ints_in_place():
    count = torch.tensor(0)
    for _ in range(3):
        count.add_(1)
    count += 2
    count *= 3
    assert count.item() == 15 and count.dtype is torch.int64
    with pytest.raises(RuntimeError, match="can't be cast"):
        count += 0.5


@pytest.mark.parametrize("shape", [(), (2,)])
def test_gradients_of_scalars_are_those_of_arrays(shape):
    x = torch.full(shape, 0.7, requires_grad=True)
    y = torch.full(shape, 1.3, requires_grad=True)
    ((x * y + 2 * x - x / y) ** 2 / (1 + (-x).exp()) + (3 - y) ** 3 * x.sin()).sum().backward()
    assert x.grad.flatten()[0].item() == pytest.approx(10.444928, rel=1e-5)
    assert y.grad.flatten()[0].item() == pytest.approx(-2.947562, rel=1e-5)
    assert x.grad.shape == shape and type(x.grad._array).__name__ == "ndarray"


@pytest.mark.parametrize("name, plain", [("rsub", "sub"), ("rtruediv", "div"), ("rpow", "pow"), ("rmod", "remainder"), ("rfloordiv", "floor_divide")])  # fmt: skip
def test_reflected_operators_of_two_tensors(name: str, plain: str) -> None:
    """A subclass that defines one of them may call it with a tensor: both get their gradients."""
    a = torch.tensor([2.0, 3.0], requires_grad=True)
    b = torch.tensor([5.0, 7.0], requires_grad=True)
    mine, theirs = getattr(a, f"__{name}__")(b), getattr(torch, plain)(b, a)
    assert torch.allclose(mine, theirs)
    if name != "rfloordiv":
        got, wanted = (torch.autograd.grad(y.sum(), (a, b), allow_unused=True) for y in (mine, theirs))
        for g, w in zip(got, wanted):
            assert (g is None) == (w is None) and (g is None or torch.allclose(g, w))
    if name == "rsub":
        assert mine.grad_fn.name() == "RsubBackward0" and (1 - a).grad_fn.name() == "RsubBackward1"
