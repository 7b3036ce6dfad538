"""Corners that random programs came upon: tensors without dimensions, bools with numbers, nothing at all."""

import pytest

import penlight as torch
from penlight.nn import functional as F


@pytest.mark.parametrize("name", ["T", "mT", "H", "mH"])
def test_a_number_transposed_is_itself(name):
    x = torch.tensor(2.0, requires_grad=True)
    with pytest.warns(UserWarning, match=rf"Tensor.{name} is deprecated on 0-D tensors"):
        assert getattr(x, name).item() == 2
    with pytest.warns(UserWarning, match=r"adjoint\(\) is deprecated on 0-D tensors"):
        assert torch.adjoint(x).item() == 2


def test_only_matrices_are_transposed():
    vector, batch = torch.ones(3), torch.ones(2, 3, 4)
    with pytest.warns(UserWarning, match="dimension other than 2"):
        assert batch.T.shape == (4, 3, 2)
    with pytest.raises(RuntimeError, match=r"tensor.H is only supported on matrices \(2-D tensors\). Got 1-D tensor.$"):
        _ = vector.H
    with pytest.raises(RuntimeError, match=r"Got 3-D tensor. For batches of matrices, consider using tensor.mH"):
        _ = batch.H
    with pytest.raises(RuntimeError, match=r"tensor.mT is only supported on matrices or batches of matrices. Got 1-D"):
        _ = vector.mT
    with pytest.raises(RuntimeError, match=r"tensor.adjoint\(\) is only supported on matrices"):
        torch.adjoint(vector)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda b: b % 2, [1, 0]),
        (lambda b: b // 2, [0, 0]),
        (lambda b: b // -3, [-1, 0]),
        (lambda b: torch.fmod(b, 2), [1, 0]),
        (lambda b: torch.div(b, 2, rounding_mode="trunc"), [0, 0]),
    ],
)
def test_bools_with_an_integer_are_integers(function, expected):
    result = function(torch.tensor([True, False]))
    assert result.dtype is torch.int64 and result.tolist() == expected


def test_bools_among_themselves_are_refused():
    bools = torch.tensor([True, False])
    with pytest.raises(NotImplementedError, match="\"remainder_cpu\" not implemented for 'Bool'"):
        bools % True
    with pytest.raises(NotImplementedError, match="\"div_floor_cpu\" not implemented for 'Bool'"):
        bools // bools
    with pytest.raises(RuntimeError, match="with a bool tensor is not supported"):
        torch.dist(torch.ones(2), bools)


@pytest.mark.parametrize("size", [7, 70_000])
def test_batch_norm_needs_channels(size):
    with pytest.raises(IndexError, match=r"Dimension out of range \(expected to be in range of \[-1, 0\], but got 1\)"):
        F.batch_norm(torch.ones(size), None, None, training=True)
    with pytest.raises(IndexError, match="tuple index out of range"):
        F.batch_norm(torch.ones(()), None, None, training=True)


def test_einsum_over_nothing():
    assert torch.einsum("ij,ij->i", torch.ones(3, 0), torch.ones(3, 1)).tolist() == [0, 0, 0]
    assert torch.einsum("ij,ij->ij", torch.ones(3, 0), torch.ones(3, 1)).shape == (3, 0)


@pytest.mark.parametrize("name", ["median", "nanmedian", "max", "min"])
def test_a_gradient_that_is_nan_reaches_one_element_only(name):
    x = torch.tensor([3.0, 1.0, 2.0, 5.0, 4.0], requires_grad=True)
    (grad,) = torch.autograd.grad(getattr(x, name)(), x, torch.tensor(float("nan")))
    assert grad.isnan().sum() == 1 and (grad.nan_to_num() == 0).all()


def test_logcumsumexp_of_large_numbers_is_as_exact_as_they_are():
    x = torch.linspace(-2, 2, 260) + 267000
    exact = x.double().logcumsumexp(0)
    assert (x.logcumsumexp(0).double() - exact).abs().max() <= 0.01563  # half of what neighbours differ by
    x.requires_grad_()
    (grad,) = torch.autograd.grad(x.logcumsumexp(0).sum(), x)
    wide = x.detach().double().requires_grad_()
    torch.testing.assert_close(
        grad.double(), torch.autograd.grad(wide.logcumsumexp(0).sum(), wide)[0], rtol=0.02, atol=0
    )


@pytest.mark.filterwarnings("ignore:Using a target size")
@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "smooth_l1_loss"])
def test_a_target_that_is_a_number_counts_with_its_dtype(name):
    x = torch.zeros(3, requires_grad=True)
    loss = getattr(F, name)(x, torch.tensor(1.0, dtype=torch.float64))
    loss.backward()
    assert loss.dtype is torch.float64 and x.grad.dtype is torch.float32


@pytest.mark.parametrize(("logits", "target"), [("float32", "float64"), ("float64", "float32")])
def test_cross_entropy_with_logits_has_its_targets_dtype(logits, target):
    x = torch.zeros(3, dtype=getattr(torch, logits), requires_grad=True)
    loss = F.binary_cross_entropy_with_logits(x, torch.ones(3, dtype=getattr(torch, target)))
    loss.backward()
    assert loss.dtype is getattr(torch, target) and x.grad.dtype is x.dtype
    torch.testing.assert_close(loss.double(), torch.tensor(2.0, dtype=torch.float64).log())


@pytest.mark.parametrize("ask", [lambda x: x.size(-1), lambda x: x.stride(-1), lambda x: x.size(dim=-1)])
def test_numbers_have_no_dimension_to_ask_for(ask):
    with pytest.raises(IndexError, match=r"^Dimension specified as -1 but tensor has no dimensions$"):
        ask(torch.tensor(1.0))


@pytest.mark.filterwarnings("ignore:Using a non-tuple sequence")
def test_lists_as_indices():
    x = torch.arange(12.0).view(3, 4)
    assert x[[0, 2]].tolist() == [[0.0, 1.0, 2.0, 3.0], [8.0, 9.0, 10.0, 11.0]]
    assert x[[2.0]].tolist() == [[8.0, 9.0, 10.0, 11.0]]
    assert x[:, [1, -1]].tolist() == [[1.0, 3.0], [5.0, 7.0], [9.0, 11.0]]
    assert x[[True, False, False]].tolist() == [[0.0, 1.0, 2.0, 3.0]]
    with pytest.warns(UserWarning, match="non-tuple sequence for multidimensional indexing"):
        assert x[[[0, 1], [1, 2]]].tolist() == [1.0, 6.0]
    assert x[[slice(0, 2), 1]].tolist() == [1.0, 5.0]
    with pytest.raises(IndexError, match="index 9 is out of bounds for dimension 0 with size 3"):
        x[[9]]


@pytest.mark.parametrize("name, size", [("addmm", (2, 2)), ("baddbmm", (2, 2, 2))])
def test_in_place_sums_of_products_refuse_other_dimensions(name, size):
    x, short = torch.ones(size), torch.ones(size[1:])
    for form in (name, name + "_"):
        with pytest.raises(RuntimeError, match=r"must be a (matrix|3D tensor)"):
            getattr(x.clone(), form)(short, x)
    with pytest.raises(RuntimeError, match="Bad in-place call"):
        getattr(torch.ones(size[1:]), name + "_")(x, x)
