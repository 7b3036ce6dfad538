"""What fuzzing has found besides, each as PyTorch has it: one small case each, so that it stays mended."""

from __future__ import annotations

import copy
import math
import pickle
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import penlight as torch
from penlight.kernels.random.engine import Engine
from tests.machine_code import without_machine_code

F = torch.nn.functional
inf, nan = float("inf"), float("nan")


def refused(message: str, call: Callable[[], Any], kind: type[Exception] = RuntimeError) -> None:
    with pytest.raises(kind, match=message):
        call()


def test_copies_keep_strides_and_shared_storage() -> None:
    base = torch.arange(6.0)
    for copied in (copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))):
        assert copied(torch.ones(3).expand(2, 3)).stride() == (0, 1)
        assert copied(base[::2]).stride() == (2,) and copied(base[::2]).tolist() == [0, 2, 4]
        assert copied(base.view(2, 3).t()).tolist() == [[0, 3], [1, 4], [2, 5]]
        assert copied(base[1::2].to(torch.bfloat16)).tolist() == [1, 3, 5]
    whole, part = copy.deepcopy([base, base[2:]])
    part.zero_()
    assert whole.tolist() == [0, 1, 0, 0, 0, 0] and base.sum() == 15 and part.storage_offset() == 2


def test_deepcopy_of_a_part_copies_its_storage() -> None:
    part = copy.deepcopy(torch.arange(6.0)[2:4])
    assert part.tolist() == [2, 3] and part.untyped_storage().nbytes() == 24


def test_writing_over_an_operand() -> None:
    x = torch.arange(10.0)
    for call in (
        lambda: torch.add(x[:5], x[1:6], out=x[2:7]),
        lambda: torch.exp(x[:5], out=x[1:6]),
        lambda: torch.cat([x[:4], x[3:9]], out=x),
        lambda: torch.index_select(x, 0, torch.tensor([8, 0, 1]), out=x[:3]),
        lambda: torch.add(x[:9].view(3, 3).t(), 1, out=x[:9].view(3, 3)),
    ):
        refused("some elements of the input tensor and the written-to tensor", call)
    assert x.tolist() == list(range(10))
    torch.exp(x[:5], out=x[:5])
    assert x[0] == 1


def test_views_as_complex_need_strides() -> None:
    refused("last dimension with stride 1", lambda: torch.view_as_complex(torch.ones(2, 3).t()))
    refused("stride divisible by 2", lambda: torch.view_as_complex(torch.ones(3, 3)[:, :2]))
    assert torch.view_as_complex(torch.ones(1, 3)[:, :2]).tolist() == [1 + 1j]  # no step is made along that dimension
    x = torch.ones(3, dtype=torch.complex64, requires_grad=True)
    (torch.view_as_real(x).t() * torch.arange(6.0).view(2, 3)).sum().backward()
    assert x.grad.tolist() == [3j, 1 + 4j, 2 + 5j]


def test_arrays_between_elements_are_refused() -> None:
    records = np.zeros(3, [("a", "f4"), ("b", "u1")])
    refused("not a multiple of the element byte size", lambda: torch.from_numpy(records["a"]), ValueError)


@pytest.mark.parametrize("name", ["relu", "isinf", "isnan", "isfinite", "trace"])
def test_functions_without_out(name: str) -> None:
    refused(
        "unexpected keyword argument 'out'",
        lambda: getattr(torch, name)(torch.ones(2, 2), out=torch.ones(2, 2)),
        TypeError,
    )


def test_indices_of_triangles_have_no_out() -> None:
    refused("unexpected keyword argument 'out'", lambda: torch.tril_indices(2, 2, out=torch.ones(2, 3)), TypeError)
    assert torch.triu_indices(2, 2, requires_grad=False, layout=torch.strided).tolist() == [[0, 0, 1], [0, 1, 1]]


@pytest.mark.parametrize("make", [torch.ones, torch.rand, torch.randn])
def test_out_that_requires_a_gradient(make: Any) -> None:
    assert make(3, out=torch.zeros(3), requires_grad=True).requires_grad
    assert torch.full((2,), 1.0, out=torch.zeros(2), requires_grad=True).requires_grad
    assert torch.eye(2, out=torch.zeros(2, 2), requires_grad=True).requires_grad


def test_divisors_are_rounded_to_bfloat16() -> None:
    x = torch.tensor([7.0, 14.0], dtype=torch.bfloat16)
    assert torch.fmod(x, 0.7).tolist() == torch.remainder(x, 0.7).tolist() == [0.0078125, 0.015625]


def test_casts_that_are_refused_in_place() -> None:
    x = torch.tensor([1, 2])
    for call in (x.remainder_, x.fmod_, x.floor_divide_):
        refused("result type Float can't be cast to the desired output type Long", lambda call=call: call(0.5))
    for call in (x.clamp_, x.clamp_min_, x.clamp_max_):
        refused("result type Float can't be cast to the desired output type long int", lambda call=call: call(0.5))


def test_probabilities_are_drawn_in_the_order_of_memory() -> None:
    p = torch.linspace(0, 1, 12).view(3, 4)
    torch.manual_seed(0)
    wanted = torch.zeros(3, 4).bernoulli_(p)
    torch.manual_seed(0)
    assert torch.zeros(3, 4).t().bernoulli_(p.t()).t().tolist() == wanted.tolist()


def test_normal_samples_of_transposed_tensors() -> None:
    """They are drawn one by one, not sixteen at a time: as PyTorch draws them into memory with gaps or in another order."""
    for dtype in (torch.float32, torch.complex64):
        x = torch.zeros(5, 4, dtype=dtype)
        torch.manual_seed(0)
        wanted = torch.stack([x[0, 0].clone().normal_() for _ in range(20)]).view(5, 4)
        for draw in (torch.randn_like, lambda t: t.clone().normal_()):
            torch.manual_seed(0)
            assert draw(x.t()).t().tolist() == wanted.tolist()


def test_samples_like_an_expanded_tensor_keep_the_order_of_its_memory() -> None:
    x = torch.zeros(4, 3).t()[:, None].expand(3, 2, 4)
    for like in (torch.rand_like, torch.randn_like, lambda t: torch.randint_like(t, 5)):
        assert like(x).stride() == torch.empty_like(x).stride() == (1, 3, 6)


def test_bytes_of_bools_in_bfloat16() -> None:
    x = torch.tensor([0, 1, 2, 255], dtype=torch.uint8).view(torch.bool)
    assert x.bfloat16().tolist() == x.half().tolist() == [0, 1, 1, 1]


def test_many_combinations_take_memory_for_themselves_only() -> None:
    assert torch.combinations(torch.arange(40), 38).shape == (780, 38)


def test_a_convolution_of_time_with_nothing_in_it() -> None:
    x, w = torch.ones(4, 2, 3, requires_grad=True), torch.ones(7, 3, 5)
    y = torch.conv_tbc(x, w, torch.ones(5), 1)
    y.sum().backward()
    assert y.shape == (0, 2, 5) and x.grad.eq(0).all()
    refused("negative dimension -2", lambda: torch.conv_tbc(x[:2], w, torch.ones(5), 1))


def test_no_powers_of_integers() -> None:
    assert torch.vander(torch.ones(3, dtype=torch.int32), 0).dtype == torch.int64


def test_versions() -> None:
    x = torch.tensor([1, 2])
    x.conj_physical_()
    assert x._version == 1
    assert (torch.ones(2) @ torch.ones(2, 3))._version == 1 and (torch.ones(2, 2) @ torch.ones(2))._version == 0


def test_equal_largest_differences_get_the_whole_gradient() -> None:
    x = torch.tensor([[1.0, 1.0], [3.0, 3.0]], requires_grad=True)
    (by_pairs,) = torch.autograd.grad(torch.pdist(x, inf).sum(), x)
    (by_table,) = torch.autograd.grad(torch.cdist(x, torch.ones(1, 2), inf).sum(), x)
    assert by_pairs.tolist() == [[-1, -1], [1, 1]] and by_table.tolist() == [[0, 0], [1, 1]]


def test_empty_images_are_refused() -> None:
    refused("Only zero batch", lambda: F.conv_transpose3d(torch.ones(1, 1, 0, 3, 3), torch.ones(1, 1, 2, 2, 2)))


def test_nan_counts_as_negative_for_prelu() -> None:
    x, w = torch.tensor([nan, 1.0], requires_grad=True), torch.tensor([0.5], requires_grad=True)
    slopes = torch.autograd.grad(F.prelu(x, w).sum(), (x, w), create_graph=True)
    assert slopes[0].tolist() == [0.5, 1.0] and slopes[1].isnan().all()
    assert torch.autograd.grad(slopes[1].sum(), x)[0].tolist() == [1.0, 0.0]


def test_a_variance_without_freedom_has_no_second_derivative() -> None:
    x = torch.tensor([1.0], requires_grad=True)
    (slope,) = torch.autograd.grad(x.var(), x, create_graph=True)
    assert slope.isnan().all() and not slope.requires_grad
    (slope,) = torch.autograd.grad(x.mul(2).var().exp(), x, create_graph=True)
    assert slope.grad_fn.next_functions[0][0].name() == "MulBackward0"


@pytest.mark.parametrize(
    "name, node", [("mean", "DivBackward1"), ("max", "MaskedFillBackward1"), ("median", "MaskedFillBackward1")]
)
def test_nodes_of_gradients(name: str, node: str) -> None:
    x = torch.tensor([1.0, 2.0, 2.0], requires_grad=True)
    (slope,) = torch.autograd.grad(getattr(x, name)().sin(), x, create_graph=True)
    assert slope.grad_fn.name() == node
    assert torch.autograd.grad(slope.sum(), x)[0].isfinite().all()


def test_hooks_of_a_leaf_that_is_the_only_root() -> None:
    seen: list[Any] = []
    x, other = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    x.register_hook(lambda g: seen.append(g.tolist()))
    assert torch.autograd.grad(x, other, torch.ones(2), allow_unused=True) == (None,)
    x.backward(torch.ones(2), inputs=[other])
    assert seen == [[1, 1], [1, 1]] and x.grad is None


def test_retained_gradients_are_copies() -> None:
    y = torch.ones(2, 3, requires_grad=True) * 1
    y.retain_grad()
    (y * y).sum().backward(create_graph=True)
    assert y.grad.grad_fn.name() == "CloneBackward0" and y.grad.stride() == (3, 1)
    x = torch.ones(3).expand(2, 3).requires_grad_()
    (x * x).sum().backward(create_graph=True)
    assert x.grad.tolist() == [[2, 2, 2]] * 2


def test_slices_of_everything() -> None:
    x = torch.ones(2, 3, requires_grad=True) * 1
    names = [x[:, part].grad_fn.name() for part in (slice(0, None), slice(-3, None), slice(0, 7))]
    assert names == ["AliasBackward0", "SliceBackward0", "AliasBackward0"]
    for value, name in ((2.0, "FillBackward3"), (torch.ones(2, 3), "torch::autograd::CopyBackwards")):
        y = torch.ones(2, 3, requires_grad=True) * 1
        y[0:] = value
        assert y.grad_fn.name() == name


def test_a_power_needs_its_result() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x ** torch.tensor(2.0)
    y.mul_(2)
    refused("modified by an inplace operation", lambda: y.sum().backward())


def test_requires_grad_of_a_view_without_history() -> None:
    x = torch.ones(4, requires_grad=True)
    with torch.no_grad():
        view = x.squeeze()
    x.detach().add_(1)
    assert view.requires_grad_() is view
    view.requires_grad = True
    refused("A view was created in no_grad mode", lambda: view.grad_fn)
    part = (torch.ones(4, requires_grad=True) * 1).chunk(2)[0]
    part._base.add_(1)
    refused("only change requires_grad flags of leaf", lambda: part.requires_grad_(False))


def test_a_view_of_a_leaf_requires_grad_as_long_as_its_base_does() -> None:
    x = torch.ones(4, requires_grad=True)
    with torch.no_grad():
        view = x[1:]
    view.requires_grad_()
    view.requires_grad_(False)
    assert view.requires_grad and view.is_leaf
    x.requires_grad_(False)
    assert not view.requires_grad


def test_products_by_einsum_are_views() -> None:
    a, b = torch.ones(2, 3), torch.ones(4, 3)
    assert [torch.einsum(e, a, o)._is_view() for e, o in (("ij,kj->ik", b), ("ij,ij->ij", a))] == [True, False]


def test_complex_embeddings_have_no_gradient() -> None:
    weight = torch.ones(3, 2, dtype=torch.complex64)
    assert F.embedding(torch.tensor([1]), weight).shape == (1, 2)
    refused(
        "embedding does not support automatic diff", lambda: F.embedding(torch.tensor([1]), weight.requires_grad_())
    )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("size", [1, 5, 5000])
def test_signs_of_zeros(dtype: str, size: int) -> None:
    x = torch.full((size,), -0.0, dtype=getattr(torch, dtype))
    assert not x.cumsum(0).signbit().any() and x.relu().signbit().all()


def test_layouts_of_pooled_sequences() -> None:
    x = torch.ones(2, 8, 12).transpose(1, 2)
    assert F.adaptive_avg_pool1d(x, 3).stride() == (36, 1, 12)


@pytest.mark.parametrize("seed", [9, 43, 70, 83, 90, 98, 105])
def test_singular_values_of_matrices_that_are_not_finite(seed: int) -> None:
    """LAPACK never ends on these."""
    draw = np.random.default_rng(seed)
    a = draw.standard_normal(size := draw.integers(1, 9, 2))
    odd = [np.inf, -np.inf, np.nan, np.nan, np.inf]
    if seed % 2:
        a = a + 1j * draw.standard_normal(size)
        odd = [np.inf, -np.inf, np.nan, complex(np.inf, np.nan), complex(0, np.inf)]
    for _ in range(draw.integers(1, 3)):
        a[draw.integers(size[0]), draw.integers(size[1])] = odd[draw.integers(5)]
    x = torch.from_numpy(a)
    if np.isnan(a).any():
        refused("contained non-finite values", lambda: torch.linalg.svdvals(x))
        refused("contained non-finite values", lambda: torch.linalg.svd(x))
    else:
        assert torch.linalg.svdvals(x).isnan().all() and torch.linalg.svd(x).S.isnan().all()
    batch = torch.linalg.svdvals(torch.stack([torch.eye(3), torch.full((3, 3), torch.inf)]))
    assert batch[0].tolist() == [1.0, 1.0, 1.0] and batch[1].isnan().all()


@pytest.mark.parametrize("dtype", ["int64", "float32", "float64", "bfloat16"])
@pytest.mark.parametrize("rows", [5, 33])
def test_triangles_are_contiguous(dtype: str, rows: int) -> None:
    x = torch.ones(3, rows, 59, dtype=getattr(torch, dtype)).transpose(0, 1)
    assert x.triu().stride() == x.tril(1).stride() == (177, 59, 1)


def test_the_same_bytes_as_another_dtype_are_no_view() -> None:
    for dtype in (torch.float32, torch.int32, torch.complex64):
        x = torch.zeros(4, requires_grad=True) * 1
        y = x.view(dtype)
        assert not y.requires_grad and not y._is_view() and y.detach_() is y
        y.add_(1)
        assert x._version == y._version == 1 and x.grad_fn.name() == "MulBackward0" and x[0] != 0


def test_an_infinite_log_probability_spoils_its_own_gradient_only() -> None:
    logs = torch.tensor([[[-2.0, -1.0, -0.5]], [[-1.0, -inf, -0.5]], [[-2.0, -1.0, -0.5]]], requires_grad=True)
    F.ctc_loss(logs, torch.tensor([[1, 2]]), (3,), (2,)).backward()
    assert logs.grad.isnan().nonzero().tolist() == [[1, 0, 1]]


def test_the_gradient_of_xlogy_with_zero_has_the_dtype_of_its_operand() -> None:
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    (slope,) = torch.autograd.grad(x.clone().xlogy_(0).sum(), x)
    assert slope.dtype == torch.float32 and slope.tolist() == [0.0, -inf]


@pytest.mark.parametrize("size", [3, 3000])
def test_lgamma_near_its_roots(size: int) -> None:
    x = torch.full((size,), -2.457)
    assert torch.lgamma(x)[0].item() == pytest.approx(3.74702847755759e-05, rel=1e-7)


@pytest.mark.parametrize("graph", [False, True])
def test_a_leaf_that_has_become_a_result(graph: bool) -> None:
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    x.detach_()
    x.add_(y)
    refused("leaf variable has been moved into the graph", lambda: x.sum().backward(create_graph=graph))


def test_a_saved_result_that_was_detached_in_place() -> None:
    x = torch.ones(2, requires_grad=True)
    y, z = x * 1, x * 1
    product, square = y * y, z * z
    y.detach_().requires_grad_()
    z.detach_().add_(1)
    refused("has been detached in-place", lambda: torch.autograd.grad(product.sum(), x, create_graph=True))
    refused("has been detached in-place", lambda: torch.autograd.grad(square.sum(), x))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_affine_grids_keep_their_dtype(dtype: str) -> None:
    theta = torch.tensor([[[1.0, 0.0, 0.5], [0.0, 1.0, 0.0]]], dtype=getattr(torch, dtype), requires_grad=True)
    grid = F.affine_grid(theta, (1, 1, 1, 2), align_corners=False)
    assert grid.dtype == theta.dtype and grid.tolist() == [[[[0.0, 0.0], [1.0, 0.0]]]]
    grid.sum().backward()
    assert theta.grad.tolist() == [[[0.0, 0.0, 2.0]] * 2]


def test_histograms_name_the_dimension_without_limits() -> None:
    x = torch.tensor([[1.0, nan]])
    refused("torch.histogramdd: dimension 0's range", lambda: torch.histogram(x, 4))
    refused("torch.histogramdd: dimension 1's range", lambda: torch.histogramdd(x, [4, 4]))
    refused("min 3 max 2 for dimension 1", lambda: torch.histogramdd(x, [4, 4], range=[0.0, 1.0, 3.0, 2.0]))


def test_second_derivatives_of_few_samples_in_16_bits() -> None:
    image = torch.arange(8.0).half().view(1, 1, 2, 2, 2).requires_grad_()
    grid = torch.zeros(1, 2, 1, 1, 3, dtype=torch.float16, requires_grad=True)
    result = F.grid_sample(image, grid, align_corners=False)
    (slope,) = torch.autograd.grad(result.sum(), grid, create_graph=True)
    (mixed,) = torch.autograd.grad(slope.sum(), image)
    assert slope.dtype == mixed.dtype == torch.float16 and slope.view(2, 3).tolist() == [[1.0, 2.0, 4.0]] * 2
    assert mixed.view(-1).tolist() == [-1.5, -0.5, -0.5, 0.5, -0.5, 0.5, 0.5, 1.5]


def test_the_second_gradient_of_xlogy_with_a_number_is_zero_at_zero() -> None:
    """Where the first one is chosen to be zero: the slope there is infinite, and infinity times zero is NaN."""
    for function, number in ((torch.xlogy, 0), (torch.special.xlog1py, -1)):
        x = torch.tensor([0.0, 1.0], dtype=torch.float64, requires_grad=True)
        grad = torch.ones(2, dtype=torch.float64, requires_grad=True)
        (slope,) = torch.autograd.grad(function(x, number), x, grad, create_graph=True)
        (second,) = torch.autograd.grad(slope.sum(), grad)
        assert second.tolist() == [0.0, float("-inf")]


def test_numbers_beside_expanded_tensors() -> None:
    assert torch.copysign(torch.ones(1).expand(2), -1).tolist() == [-1, -1]


def test_samples_from_misaligned_memory() -> None:
    rates = np.frombuffer(bytearray(17), np.float64, 2, 1)
    with without_machine_code():
        assert torch.poisson(torch.from_numpy(rates)).tolist() == [0, 0]


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "logcumsumexp"])
@pytest.mark.parametrize("rows", [5, 683])
def test_scans_are_contiguous(name: str, rows: int) -> None:
    x = torch.ones(3, rows).t()
    assert getattr(x, name)(0).stride() == (3, 1)
    with without_machine_code():
        assert getattr(x, name)(0).stride() == (3, 1)


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_the_gradient_of_a_scan_of_one_element_is_what_came_in(name: str) -> None:
    x = torch.ones(1, 3, requires_grad=True)
    (slope,) = torch.autograd.grad(getattr(x, name)(0).sum(), x, create_graph=True)
    assert slope.stride() == (0, 0) and not slope.requires_grad


def test_empty_tensors_in_a_list_have_gradients() -> None:
    empty, full = torch.zeros(0, requires_grad=True), torch.ones(2, 3)
    for joined in (torch.cat([empty, torch.ones(2)]), torch.cat([full, empty]), torch.cat([empty.double(), full])):
        assert torch.autograd.grad(joined.sum(), empty)[0].shape == (0,)


def test_sorting_indices_into_out() -> None:
    out = torch.zeros(3, dtype=torch.int64)
    torch.argsort(torch.tensor([3, 1, 2]), stable=True, out=out)
    assert out.tolist() == [1, 2, 0]
    refused("invalid combination", lambda: torch.argsort(torch.ones(3), out=out), TypeError)
    refused("to have dtype long int", lambda: torch.argsort(torch.ones(3), stable=True, out=torch.ones(3)))


def test_medians_of_nothing() -> None:
    for dtype, median in ((torch.int8, 0), (torch.int16, 0), (torch.int32, -(2**31)), (torch.int64, -(2**63))):
        nothing = torch.zeros(0, dtype=dtype)
        assert nothing.median() == nothing.nanmedian() == median


def test_indices_beyond_what_a_number_is_scattered_into() -> None:
    x, index = torch.zeros(1, 1), torch.tensor([[0], [0]])
    for call in (
        lambda: x.scatter(1, index, 5.0),
        lambda: x.scatter_(1, index, 5.0),
        lambda: x.scatter(1, index, 5.0, reduce="add"),
    ):
        refused(r"Expected index \[2, 1\] to be no larger than self \[1, 1\] apart from dimension 1$", call)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_nan_times_a_single_zero(dtype: str) -> None:
    column = torch.full((3, 1), nan, dtype=getattr(torch, dtype))
    zero = torch.zeros(1, 1, dtype=column.dtype)
    for product in (column @ zero, zero @ column.t(), column @ zero[0], torch.addmm(column, column, zero)):
        assert product.isnan().all()


def test_gradients_through_dimensions_that_are_not_squeezed() -> None:
    x = torch.ones(2, 1, requires_grad=True) * 2
    for squeezed, node in (
        (x.squeeze(0), "MulBackward0"),
        (x.squeeze(1), "UnsqueezeBackward0"),
        (x.squeeze(), "UnsqueezeBackward0"),
    ):
        (slope,) = torch.autograd.grad(squeezed.exp().sum(), x, create_graph=True)
        assert slope.grad_fn.name() == node and slope.shape == (2, 1)


def test_the_gradient_of_a_window_is_laid_out_like_its_tensor() -> None:
    column = torch.arange(6.0).view(2, 3).requires_grad_()[:, 0]
    (slope,) = torch.autograd.grad(column.as_strided((2,), (1,)).sum(), column)
    assert slope.tolist() == [1, 0] and slope.stride() == (3,)


def test_layouts_of_flipped_and_rolled_tensors() -> None:
    x = torch.ones(2, 3).t()
    assert x.flip(0).stride() == x.rot90(2).stride() == (1, 3) and x.roll(1, 0).stride() == (2, 1)
    images = torch.ones(2, 3, 4, 5).to(memory_format=torch.channels_last)
    assert images.flip(0).stride() == images.roll(1, 0).stride() == images.stride()
    assert torch.arange(3).roll(1, None).tolist() == [2, 0, 1]


def test_powers_of_a_number_are_contiguous() -> None:
    assert (2 ** torch.ones(2, 3).t()).stride() == (2, 1)


def test_expanded_memory_copied_onto_itself() -> None:
    x = torch.ones(1).expand(1, 2)
    x[:1].copy_(x)
    assert x._version == 1
    refused("more than one element of the written-to", lambda: x.copy_(torch.ones(1, 2)))


def test_a_leaf_of_its_own_whose_base_requires_grad_later() -> None:
    base = torch.ones(2, 3)
    view = base[0]
    base.add_(1)
    view.requires_grad_()
    base.requires_grad_()
    assert view.grad_fn.name() == "AsStridedBackward0"


def test_a_view_without_history_may_require_grad_by_itself() -> None:
    base = torch.ones(4, requires_grad=True)
    with torch.no_grad():
        view = base[:2]
        view.mul_(2)
    view.requires_grad_()
    base.requires_grad_(False)
    assert view.requires_grad and view.is_leaf


def test_the_node_of_a_masked_gradient() -> None:
    x = torch.ones(3, requires_grad=True)
    (slope,) = torch.autograd.grad(x.masked_fill(x > 2, 2.0).cos().sum(), x, create_graph=True)
    assert slope.grad_fn.name() == "MaskedFillBackward0"


def test_which_mistake_is_told_first() -> None:
    refused(
        "interpolation must be one of",
        lambda: torch.quantile(torch.ones(3, dtype=torch.bool), 0.5, interpolation="foo"),
    )
    refused("Unknown Complex ScalarType for Byte", lambda: torch.linalg.eigvals(torch.tensor(1, dtype=torch.uint8)))
    refused("must be batches of square matrices", lambda: torch.linalg.matrix_exp(torch.ones(2, 3, dtype=torch.int16)))


def test_softmax_of_nothing_has_any_dtype() -> None:
    for function in (torch.softmax, torch.log_softmax):
        assert function(torch.zeros(0, 3, dtype=torch.bool), -1).dtype == torch.bool


def test_masked_sums_of_complex_exponentials_become_real_in_the_end() -> None:
    x, mask = torch.tensor([1 + 2j, 0.5 - 1j, 2j]), torch.tensor([True, False, True])
    assert torch.masked.logsumexp(x, mask=mask, dtype=torch.float64) == x[mask].logsumexp(0).real.double()


@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
def test_nan_weights_of_a_single_cell(name: str) -> None:
    layer = getattr(torch.nn, name)(1, 1, dtype=torch.float64)
    torch.nn.init.constant_(layer.weight_hh_l0, nan)
    assert layer(torch.zeros(2, 1, 1, dtype=torch.float64))[0].isnan().all()


@pytest.mark.parametrize("name", ["maximum", "minimum", "fmax", "fmin"])
def test_nodes_of_gradients_of_extremes(name: str) -> None:
    x, y = torch.tensor([1.0, 2.0, 3.0], requires_grad=True), torch.tensor([3.0, 2.0, 1.0], requires_grad=True)
    for slope in torch.autograd.grad(getattr(torch, name)(x, y).sin().sum(), (x, y), create_graph=True):
        assert slope.grad_fn.name() == "MaskedFillBackward0"


def test_the_node_of_the_gradient_of_an_angle() -> None:
    x = torch.ones(3, requires_grad=True)
    (slope,) = torch.autograd.grad(torch.atan2(torch.ones(3), x).sum(), x, create_graph=True)
    assert slope.grad_fn.name() == "MulBackward0" and slope.tolist() == [-0.5] * 3


def test_bounds_of_logit_are_rounded_to_the_dtype() -> None:
    x = torch.tensor([0.8], dtype=torch.bfloat16, requires_grad=True)
    y = torch.logit(x, 0.2)
    y.backward()
    assert y.item() == 1.390625 and x.grad.item() == 6.28125


@pytest.mark.parametrize("off", [lambda x: x.requires_grad_(False), lambda x: x.detach_()])
def test_a_leaf_that_required_no_gradient_for_a_while(off: Any) -> None:
    """Its hooks are still there, and graphs from before still lead to it."""
    x = torch.ones(2, requires_grad=True)
    seen: list[Any] = []
    x.register_hook(seen.append)
    before = x * 2
    off(x)
    x.requires_grad_()
    after = x * 3
    assert before.grad_fn.next_functions == after.grad_fn.next_functions
    (before + after).sum().backward()
    assert len(seen) == 1 and x.grad.tolist() == [5, 5]
    assert torch.autograd.grad((x * 2).sum(), x)[0].tolist() == [2, 2]


def test_the_gradient_of_a_variance_without_freedom_has_its_dtype() -> None:
    x = torch.ones(1, requires_grad=True)
    assert {torch.autograd.grad(spread(x), x)[0].dtype for spread in (torch.var, torch.std)} == {torch.float32}


def test_the_node_of_the_gradient_of_a_stack() -> None:
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, dtype=torch.float64, requires_grad=True)
    slopes = torch.autograd.grad(torch.stack([x, y]).exp().sum(), (x, y), create_graph=True)
    assert [slope.grad_fn.name() for slope in slopes] == ["ToCopyBackward0", "SelectBackward0"]


def test_which_of_two_modified_operands_is_told_of() -> None:
    x, y = torch.ones(2, 3), torch.ones(3)
    result = torch.minimum(x, y.requires_grad_())
    with torch.no_grad():
        x.add_(1), y.add_(1)
    refused(r"\[torch.FloatTensor \[3\]\] is at version 1", lambda: result.sum().backward())


def test_bools_are_compared_by_whether_they_hold() -> None:
    """The bytes of two that hold need not be equal."""
    for n in (1, 3, 63, 300, 5000):
        bytes_ = torch.arange(n) % 5 * 51
        odd, plain = bytes_.to(torch.uint8).view(torch.bool), bytes_ > 0
        other = (torch.arange(n) % 2 * 7).to(torch.uint8).view(torch.bool)
        for name in ("eq", "ne", "lt", "le", "gt", "ge", "bitwise_xor", "logical_xor"):
            compare, second = getattr(torch, name), torch.arange(n) % 2 > 0
            wanted = compare(plain, second).tolist()
            assert compare(odd, other).tolist() == compare(odd, second).tolist() == wanted, name
            assert getattr(odd.clone(), name + "_")(other).tolist() == wanted, name
            assert compare(odd, other, out=torch.zeros(n, dtype=torch.bool)).tolist() == wanted, name
            assert compare(odd[::2], other[::2]).tolist() == wanted[::2], name
        assert torch.equal(odd, plain)
        for sorts in (torch.sort, torch.mode, torch.unique, torch.unique_consecutive):
            assert torch.equal(sorts(odd)[0], sorts(plain)[0]), sorts.__name__
        assert torch.equal(torch.argsort(odd, stable=True), torch.argsort(plain, stable=True))
        assert torch.unique(torch.zeros(0, dtype=torch.bool)).shape == (0,)
        assert torch.unique(odd.view(n, 1), dim=0).shape == torch.unique(plain.view(n, 1), dim=0).shape


def test_histc_rounds_as_its_dtype_does() -> None:
    x = torch.tensor([3.3])
    assert torch.histc(x, 4).tolist() == [0, 1, 0, 0] and torch.histc(x.double(), 4).tolist() == [0, 0, 1, 0]
    assert torch.vmap(lambda row: torch.histc(row, 4))(x[None]).tolist() == [[0, 1, 0, 0]]


def test_the_gradient_of_prod_depends_on_its_result() -> None:
    x = torch.tensor([1.0, 2.0, 4.0], requires_grad=True)
    for product in (x.prod(), x.prod(0), x.prod(0, True)):
        (slope,) = torch.autograd.grad(product.sum(), x, create_graph=True)
        assert torch.autograd.grad(slope.sum(), product, retain_graph=True)[0].item() == 1.75
        assert torch.autograd.grad(slope.sum(), x)[0].tolist() == [6, 5, 3]


def test_second_derivatives_of_long_products_take_no_table_of_pairs() -> None:
    x = torch.ones(20_000, requires_grad=True)
    (slope,) = torch.autograd.grad(x.prod(), x, create_graph=True)
    assert torch.autograd.grad(slope.sum(), x)[0][0].item() == 19_999


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("op", ["exp", "tanh", "sqrt"])
def test_what_was_saved_for_a_view_that_leads_nowhere_is_looked_at(op: str, create_graph: bool) -> None:
    x = torch.ones(3, requires_grad=True)
    with torch.no_grad():
        view = x[:]
    result = getattr(view, op)()
    result[[0]] = 2.0
    refused("modified by an inplace operation", lambda: result.sum().backward(create_graph=create_graph))
    quotient, product = view / torch.ones(3, requires_grad=True), view * torch.ones(3)
    quotient.sum().backward(), product.sum().backward()
    refused("a second time", lambda: quotient.sum().backward())
    product.sum().backward()


@pytest.mark.parametrize(
    "name", ["sum", "mean", "prod", "amax", "amin", "var", "std", "norm", "logsumexp", "all", "any"]
)
def test_reductions_of_permuted_tensors_are_contiguous(name: str) -> None:
    for x in (torch.rand(3, 2, 4).transpose(1, 2), torch.rand(2, 3, 4, 5).permute(3, 1, 0, 2)):
        x = x > 0.5 if name in ("all", "any") else x
        for dim in range(x.dim()):
            for keepdim in (False, True):
                assert getattr(x, name)(dim=dim, keepdim=keepdim).is_contiguous()
    both = torch.var_mean(torch.rand(3, 2, 4).transpose(1, 2), 0)
    assert both[0].is_contiguous() and both[1].is_contiguous()


def test_infinite_rates_of_poisson_without_machine_code() -> None:
    with without_machine_code():
        assert torch.poisson(torch.tensor([inf, 0.0])).isfinite().tolist() == [False, True]


def test_a_deepcopy_lays_results_out_as_the_original_does() -> None:
    x = torch.rand(65, 2).t()
    for y in (copy.deepcopy(x), pickle.loads(pickle.dumps(x)), x.clone()):
        assert y._vc is not None and torch.special.entr(y).stride() == (1, 2)


@pytest.mark.parametrize("reduce", ["sum", "mean", "max", "min", "prod"])
def test_gradients_of_segments_that_are_all_empty(reduce: str) -> None:
    x = torch.ones(4, 3, requires_grad=True)
    result = torch.segment_reduce(x, reduce, offsets=torch.zeros(4, dtype=torch.int64), initial=1.0)
    for create_graph in (False, True):
        (grad,) = torch.autograd.grad(result.sum(), x, create_graph=create_graph, retain_graph=True)
        assert result.shape == (3, 3) and not grad.any() and grad.shape == (4, 3)


def test_a_pickle_that_claims_a_long_text_takes_no_memory(tmp_path: Any) -> None:
    path = tmp_path / "claims.pt"
    path.write_bytes(pickle.dumps(0x1950A86A20F9469CFC6C, 2) + b"\x80\x02X\xff\xff\xff\x7fabc")
    tracemalloc.start()
    refused("truncated", lambda: torch.load(path), EOFError)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 24


def test_trapezoids_of_no_samples() -> None:
    assert torch.trapezoid(torch.zeros(0, 3, dtype=torch.bool), dim=0).tolist() == [False] * 3


def test_refusals_in_the_order_of_pytorch() -> None:
    refused("#4: Padding .* at dimension 3", lambda: F.pad(torch.ones(1, 1, 1, 1), (1, 1, 1, 1), mode="reflect"))
    outside = lambda include_self: torch.ones(1).index_reduce(
        0, torch.tensor([5]), torch.ones(1), "prod", include_self=include_self
    )
    refused("index 5 is out of bounds for dimension 0 with size 1", lambda: outside(False), IndexError)
    refused("index out of range in self", lambda: outside(True), IndexError)
    refused("may not be a boolean", lambda: torch.mvlgamma(torch.ones(3, dtype=torch.bool), 2))
    refused("may not be a boolean", lambda: torch.ones(3, dtype=torch.bool).mvlgamma_(-1))
    refused("infs or NaNs", lambda: torch.linalg.eig(torch.full((2, 3), nan)))
    refused("size\\(-2\\)$", lambda: torch.linalg.lstsq(torch.ones(2, 4, 3), torch.ones(1, 4)))
    refused("size of tensor a", lambda: torch.ones(4, dtype=torch.bool) ** torch.ones(3, dtype=torch.bool))
    assert F.pdist(torch.ones(1, 3, dtype=torch.bfloat16)).shape == (0,)
    refused("pdist", lambda: F.pdist(torch.ones(2, 3, dtype=torch.bfloat16)), NotImplementedError)


def test_of_several_indices_outside_the_first_element_is_named() -> None:
    x, one = torch.zeros(3, 4), torch.ones(())
    rows, columns = torch.tensor([0, 1, 9]), torch.tensor([0, 7, 1])
    for call in (lambda: x[rows, columns], lambda: x.index_put((rows, columns), one)):
        refused("index 7 is out of bounds for dimension 1 with size 4", call, IndexError)
    refused("value tensor", lambda: x.index_put((rows, columns), torch.ones(5)))
    refused("indexing tensors", lambda: x.index_put((rows, columns[:2]), one), IndexError)


def test_an_index_after_a_mask_of_several_dimensions_is_checked_against_its_own() -> None:
    x, mask = torch.zeros(3, 2, 9), torch.ones(3, 2) > 0
    assert x.index_put((mask, torch.tensor([8])), torch.ones(())).sum() == 6
    refused("dimension 2 with size 9", lambda: x.index_put((mask, torch.tensor([9])), torch.ones(())), IndexError)


def test_upper_gamma_broadcasts_without_machine_code() -> None:
    with without_machine_code():
        a, x = torch.tensor([[0.5], [1.0], [4.0]]), torch.tensor([[0.1, 4.0]])
        wanted = [[0.654721, 0.004678], [0.904837, 0.018316], [0.999996, 0.433470]]
        torch.testing.assert_close(torch.igammac(a, x), torch.tensor(wanted), rtol=0, atol=1e-6)
        torch.testing.assert_close(torch.igammac(a, x[0, 0]), torch.tensor(wanted)[:, :1], rtol=0, atol=1e-6)
        torch.testing.assert_close(torch.igammac(a, x.expand(3, 2)), torch.tensor(wanted), rtol=0, atol=1e-6)


@pytest.mark.parametrize("view", ["transpose(0, 1)", "t()", "permute(1, 0)"])
def test_gradients_of_means_of_transposes_are_laid_out_as_the_transpose(view: str) -> None:
    x = torch.ones(2, 3, requires_grad=True)
    for mean in ("mean()", "mean(0)"):
        y = eval(f"x.{view}.{mean}")
        assert torch.autograd.grad(y, x, torch.ones_like(y))[0].stride() == (1, 2)


@pytest.mark.parametrize("view", ["t_()", "unsqueeze_(0)", "squeeze_()", "as_strided_((4,), (1,))"])
def test_a_retained_gradient_is_that_of_the_tensor_after_a_view_in_place(view: str) -> None:
    y = torch.ones(4, requires_grad=True) * 2
    y.retain_grad()
    before = y * 3
    eval(f"y.{view}")
    assert y.retains_grad
    (before.sum() + y.sum()).backward()
    assert y.grad is not None and y.grad.shape == y.shape and (y.grad == 1).all()


def test_norms_of_16_bit_rows_are_compared_in_float32() -> None:
    x = torch.tensor(
        [[-0.11962890625, -0.8828125, 0.4609375]], dtype=torch.bfloat16, requires_grad=True
    )  # of norm 1.003
    y = torch.renorm(x, 2, 0, 1)
    y.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [[0.93359375, 0.5234375, 1.2421875]]
    assert y.tolist() == [[-0.119140625, -0.87890625, 0.458984375]]


def test_masks_are_applied_before_the_dtype() -> None:
    mask = torch.tensor([True, False])
    refused("identity of amax", lambda: torch.masked.amax(mask, mask=mask, dtype=torch.float32), NotImplementedError)
    assert torch.masked.amax(torch.tensor([1, 2]), mask=mask, dtype=torch.complex64).item() == 1
    wide = torch.masked.logsumexp(torch.tensor([1, 2]), dtype=torch.float64)
    assert wide.dtype == torch.float64 and wide == wide.float()  # of integers it is computed in float32


def test_norms_refuse_dtypes_that_lose_something() -> None:
    for x, dtype, words in (
        (torch.tensor([1j]), torch.float32, "should be complex"),
        (torch.ones(1), torch.float16, "without narrowing"),
        (torch.ones(1), torch.int32, "should be floating point"),
        (torch.ones(1, dtype=torch.int32), torch.float32, "Expected a floating point"),
    ):
        for norm in (torch.linalg.vector_norm, torch.norm, torch.linalg.norm):
            refused(words, lambda norm=norm, x=x, dtype=dtype: norm(x, dtype=dtype))
    assert torch.linalg.vector_norm(torch.tensor([3.0, 4.0]), dtype=torch.float64).dtype == torch.float64


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_a_single_negative_zero_adds_up_to_zero(dtype: torch.dtype) -> None:
    for shape in ((), (1,), (1, 1), (2,)):
        x = torch.full(shape, -0.0, dtype=dtype)
        assert not x.sum().signbit() and not x.mean().signbit()


def test_a_view_that_requires_no_grad_any_more_stays_so() -> None:
    base = torch.ones(2, 3)
    view = base[:, 0].requires_grad_()
    base.tanh_()
    assert view.requires_grad
    view.requires_grad_(False)
    base.mul_(2)
    assert not view.requires_grad and view.is_leaf


def test_the_determinant_of_a_single_element_has_a_constant_derivative() -> None:
    for shape in ((1, 1), (2, 1, 1)):
        x = torch.full(shape, 3.0, requires_grad=True)
        (slope,) = torch.autograd.grad(torch.linalg.det(x).sum(), x, create_graph=True)
        assert not slope.requires_grad and torch.equal(slope, torch.ones(shape))


def test_products_are_folded_by_requires_grad_without_a_graph_too() -> None:
    batch = torch.ones(1, 3, 2)
    with torch.no_grad():
        product = torch.ones(1, 3, requires_grad=True) @ batch
        assert product._is_view() and product.stride() == (2, 1, 1)
        assert not (torch.ones(1, 3) @ batch)._is_view()


def test_a_gradient_that_got_another_shape_is_not_added_to() -> None:
    for shape, squeezed, words in (
        ((1, 3), lambda g: g.squeeze_(), r"output with shape \[3\] doesn't match the broadcast shape \[1, 3\]"),
        (
            (2, 3),
            lambda g: g.t_(),
            r"The size of tensor a \(2\) must match the size of tensor b \(3\) at non-singleton",
        ),
    ):
        x = torch.ones(shape, requires_grad=True)
        x.sum().backward()
        squeezed(x.grad)
        refused(words, lambda x=x: x.sum().backward(), RuntimeError)


def test_indices_into_nothing_are_refused_before_the_values() -> None:
    indices = torch.tensor([0, 1]), torch.tensor([2, 0])
    refused("dimension with size 0", lambda: torch.zeros(0, 3).index_put(indices, torch.ones(0)), IndexError)


def test_hooks_of_a_leaf_that_became_a_result_are_not_called() -> None:
    called: list[Any] = []
    x, w = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    x.register_hook(called.append)
    total = (x * 3).sum()
    x.detach_()
    x.mul_(w)
    refused("leaf variable has been moved into the graph interior", total.backward)
    assert not called


def test_an_infinite_logit_makes_the_gradients_of_its_row_nan_even_if_that_is_ignored() -> None:
    x = torch.tensor([[0.5, math.inf, 1.0], [0.5, 0.0, 1.0]], requires_grad=True)
    F.cross_entropy(x, torch.tensor([1, 0]), ignore_index=1).backward()
    assert torch.isnan(x.grad).tolist() == [[True] * 3, [False] * 3]


def test_second_derivatives_of_a_norm_of_equal_values() -> None:
    """The rounding of a mean is small beside the values, but not beside their deviation."""

    def second(dtype: torch.dtype) -> torch.Tensor:
        x = torch.tensor([[0.37], [-0.81]]).to(dtype).repeat(1, 60).requires_grad_()
        weight = torch.linspace(-1, 1, 60).to(dtype).requires_grad_()
        grad = torch.linspace(-1, 1, 120).to(dtype).view(2, 60)
        first = torch.autograd.grad(F.layer_norm(x, (60,), weight), (x, weight), grad, create_graph=True)
        return torch.autograd.grad(sum(slope.sin().sum() for slope in first), x)[0]

    exact = second(torch.float64)
    assert (second(torch.float32) - exact).abs().max() < 1e-5 * exact.abs().max()


def test_the_gradient_of_a_grid_is_infinite_where_the_image_is() -> None:
    """Planes are taken four at a time: with three, the last one is not taken twice, with a gradient of 0."""
    image, grid = torch.ones(1, 3, 2, 2), torch.zeros(1, 1, 1, 2, requires_grad=True)
    image[0, 2, 0, 0] = -inf
    F.grid_sample(image, grid, align_corners=False).sum().backward()
    assert grid.grad.flatten().tolist() == [inf, inf]


def test_second_derivatives_by_an_input_that_was_not_saved() -> None:
    """A convolution saves its input for the gradient of its weight only."""
    x, bias = torch.ones(2, 1, 4, requires_grad=True), torch.ones(2, requires_grad=True)
    result = F.conv_transpose1d(x, torch.ones(1, 2, 2), bias, stride=2)
    (first,) = torch.autograd.grad(result.square().sum(), x, create_graph=True)
    assert torch.autograd.grad(first.sum(), (x, bias))[0].tolist() == [[[8.0] * 4]] * 2


@pytest.mark.parametrize("count", [100, 3000, 5000])
def test_conversion_to_half_precision_is_silent(count: int) -> None:
    """NumPy warns of numbers that are too large, and a warning is an error here."""
    x = torch.ones(count)
    x[0], x[1] = nan, 1e30
    assert x.half()[1] == inf and x.half()[0].isnan()


@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, inf])
def test_second_derivatives_of_distances(p: float) -> None:
    """Where the gradient does not depend on the distances, these get zeros of their own shape."""
    x = torch.tensor([[0.0, 1.0], [3.0, 5.0], [4.0, 9.0]], requires_grad=True)
    (first,) = torch.autograd.grad(torch.pdist(x, p).square().sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.square().sum(), x)
    assert second.shape == (3, 2) and second.isfinite().all()


@pytest.mark.parametrize("left", [(1, 1), (1, 1, 1), (2, 1), (2, 3, 1)])
@pytest.mark.parametrize("right", [(1, 1), (1, 3), (1, 1, 3)])
def test_zero_times_nan_is_nan_in_a_product_of_one_term(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    """NumPy's dot takes a matrix of one number for a scalar, and adds nothing if it is 0."""
    assert (torch.zeros(left) @ torch.full(right, nan)).isnan().all()
    assert (torch.full(left, nan) @ torch.zeros(right)).isnan().all()


def test_the_gradient_of_a_leaf_goes_on_after_its_name_is_gone() -> None:
    x = torch.ones(2, requires_grad=True)
    first, second, third = (x * 2).sum(), (x * 3).sum(), (x * 4).sum()
    first.backward()
    held = x.grad
    del x
    second.backward()
    assert held.tolist() == [5.0, 5.0]
    leaf = third.grad_fn.next_functions[0][0].next_functions[0][0].variable
    leaf.grad = None
    del leaf
    third.backward()
    assert held.tolist() == [5.0, 5.0]


def test_the_weight_of_a_single_observation_does_not_matter() -> None:
    """Rounded, 0.7463181 less its square over itself is not 0."""
    weight = torch.tensor([0.7463181])
    with pytest.warns(UserWarning, match="degrees of freedom"):
        assert torch.cov(torch.tensor([[0.3]]), aweights=weight).isnan()
    assert torch.cov(torch.tensor([[0.3]]), aweights=weight, correction=0) == 0


def test_gradients_of_a_long_complex_log_sum_take_memory_for_its_elements() -> None:
    """And not for all pairs of them."""
    n = 3000
    x = torch.complex(torch.linspace(-1, 1, n), torch.linspace(0, 5, n)).requires_grad_()
    weight = torch.complex(torch.linspace(0, 2, n), torch.linspace(1, -1, n))
    (first,) = torch.autograd.grad(torch.logcumsumexp(x, 0), x, weight, create_graph=True)
    tracemalloc.start()
    (second,) = torch.autograd.grad(first, x, weight)
    assert tracemalloc.get_traced_memory()[1] < 200 * n * 8
    tracemalloc.stop()
    values, sums = x.detach().numpy(), np.cumsum(np.exp(x.detach().numpy().astype(complex)))
    later = np.cumsum((weight.numpy() / np.conj(sums))[::-1])[::-1]
    assert np.allclose(first.detach().numpy(), np.exp(np.conj(values)) * later, rtol=1e-4)
    assert second.isfinite().all()


def test_the_variance_of_equal_numbers_is_zero_in_double_precision_too() -> None:
    """The mean of twelve times 1.22 is not 1.22, and a derivative of the root of what remains is noise."""
    x = torch.full((3, 12), 1.22, dtype=torch.float64, requires_grad=True)
    for found in (x.std(), x.std(1), x.var(0, keepdim=True), torch.std_mean(x, 1)[0], torch.var_mean(x)[0]):
        assert not found.any()
    x.std(1).sum().backward()
    assert not x.grad.any()


def test_the_gradient_of_a_variance_without_degrees_of_freedom_is_part_of_the_graph() -> None:
    x = torch.ones(1, requires_grad=True)
    with pytest.warns(UserWarning, match="degrees of freedom"):
        variances = x.var(0), x.var()
    slopes = [torch.autograd.grad(v, x, create_graph=True)[0] for v in variances]
    assert [(s.requires_grad, bool(s.isnan())) for s in slopes] == [(True, True), (False, True)]


@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "lanczos"])
def test_an_antialiased_image_is_not_resized_along_a_side_that_keeps_its_length(mode: str) -> None:
    """Whatever its scale says; and what is only copied may have any dtype."""
    image = torch.arange(15.0).view(1, 1, 3, 5)
    assert torch.equal(F.interpolate(image, scale_factor=(1.1, 1.1), mode=mode, antialias=True), image)
    wider = F.interpolate(image, scale_factor=(1.1, 2.0), mode=mode, antialias=True)
    assert torch.allclose(wider, F.interpolate(image, size=(3, 10), mode=mode, antialias=True))
    assert torch.equal(F.interpolate(image.long(), size=(3, 5), mode=mode, antialias=True), image.long())
    refused(
        '"compute_index_ranges_weights" not implemented for',
        lambda: F.interpolate(image.long(), size=(3, 6), mode=mode, antialias=True),
        NotImplementedError,
    )


def test_gradients_of_log_sums_in_16_bits() -> None:
    """The logarithm of twice e^1000 is 1000 in bfloat16."""
    weight = torch.tensor([1.0, 2.0, 0.5], dtype=torch.bfloat16)
    x = torch.tensor([1000.0, 1000.0, 990.0], dtype=torch.bfloat16, requires_grad=True)
    (first,) = torch.autograd.grad(x.logcumsumexp(0), x, weight, create_graph=True)
    (second,) = torch.autograd.grad(first, x, weight)
    exact = x.detach().double().requires_grad_()
    (wanted,) = torch.autograd.grad(exact.logcumsumexp(0), exact, weight.double(), create_graph=True)
    (bent,) = torch.autograd.grad(wanted, exact, weight.double())
    assert torch.allclose(first.double(), wanted, rtol=1e-2) and torch.allclose(second.double(), bent, atol=1e-2)


@pytest.mark.parametrize("hooked", [False, True])
def test_a_leaf_that_a_write_to_its_base_made_a_result_gets_no_gradient(hooked: bool) -> None:
    """The view was a leaf when the graph was made. Its history now begins at its base, or may not be asked for at all."""
    takings = {
        "leaf variable has been moved into the graph interior": lambda base: base[:2],
        "A view was created in no_grad mode and its base or another view of its base has been": lambda base: base.split(
            2
        )[0],
    }
    for words, take in takings.items():
        base = torch.arange(4.0)
        leaf = take(base).requires_grad_()
        if hooked:
            leaf.register_hook(lambda g: None)
        base[2:3].copy_(leaf[:1] * 2)
        refused(words, base.sum().backward)
        assert leaf._grad is None


@pytest.mark.parametrize("create_graph", [False, True])
def test_gradients_of_factors_have_the_layout_of_contiguous_matrices(create_graph: bool) -> None:
    """By columns only if the factor is a contiguous matrix transposed: no expanded one, no part of a transposed one."""
    wide = torch.ones(4, 5)
    factors = [torch.ones(4).expand(3, 4), torch.ones(3, 1).expand(3, 4), wide.t()[:3], torch.ones(4, 3).t()]
    for factor, strides in zip(factors, [(4, 1), (4, 1), (4, 1), (1, 3)]):
        right, left = (f.detach().requires_grad_() for f in (factor, factor))
        (slope,) = torch.autograd.grad((torch.ones(2, 3) @ right).sum(), right, create_graph=create_graph)
        (other,) = torch.autograd.grad((left @ torch.ones(4, 2)).sum(), left, create_graph=create_graph)
        assert slope.stride() == other.stride() == strides


def test_the_first_index_in_memory_that_is_outside_is_named() -> None:
    x, rows, columns = torch.zeros(2, 2), torch.tensor([[0, 3], [5, 1]]), torch.tensor([0, 6])
    refused("index 3 is out of bounds for dimension 0", lambda: x[rows], IndexError)
    refused("index 5 is out of bounds for dimension 0", lambda: x[rows.t().contiguous().t()], IndexError)
    refused("index 6 is out of bounds for dimension 0", lambda: x[columns, rows], IndexError)


@pytest.mark.parametrize("shapes", [((2, 4, 3), (1, 4, 2)), ((1, 4, 3), (2, 4, 2)), ((2, 4, 3), (2, 4))])
def test_gradients_of_least_squares_of_broadcast_batches(shapes: Any) -> None:
    torch.manual_seed(0)
    A, B = (torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes)
    for driver in ("gels", "gelss"):
        found = torch.linalg.lstsq(A, B, driver=driver)
        slopes = torch.autograd.grad(found.solution.sum() + found.residuals.sum(), (A, B))
        assert [slope.shape for slope in slopes] == [A.shape, B.shape]
        solve = lambda a, b: torch.linalg.lstsq(a, b, driver=driver)[:2]  # noqa: B023
        assert torch.autograd.gradcheck(solve, (A, B))


def _laid_out_by(rows: bool, x: torch.Tensor) -> bool:
    return (x if rows else x.mT).is_contiguous()


@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 3), (2, 3, 4)])
def test_gradients_of_factorisations_are_laid_out_as_in_pytorch(shape: tuple[int, ...]) -> None:
    """By rows, or column by column as LAPACK leaves what it solves."""
    by_rows = {torch.linalg.lu: True, torch.linalg.lu_factor: True, torch.linalg.pinv: False}
    if shape[-2] < shape[-1]:
        by_rows[torch.linalg.qr] = True
    if shape[-2] == shape[-1]:
        by_rows[torch.linalg.slogdet] = False
    for function, rows in by_rows.items():
        torch.manual_seed(0)
        x = torch.randn(shape, requires_grad=True)
        results = function(x)
        results = [results] if isinstance(results, torch.Tensor) else [r for r in results if r.requires_grad]
        (slope,) = torch.autograd.grad([r.sum() for r in results], x)
        assert _laid_out_by(rows, slope), function


@pytest.mark.parametrize("cell, gates", [(torch.lstm_cell, 4), (torch.gru_cell, 3), (torch.rnn_tanh_cell, 1)])
def test_cells_refuse_weights_of_other_sizes(cell: Any, gates: int) -> None:
    """Five rows are no three gates of two: what was left of them was silently passed over."""
    x, h, rows = torch.zeros(2, 3), torch.zeros(2, 4), 4 * gates
    state = (h, h) if gates == 4 else h
    weights = torch.zeros(rows, 3), torch.zeros(rows, 4), torch.zeros(rows), torch.zeros(rows)
    assert torch.is_tensor(cell(x, state, *weights)) or gates == 4
    for position, name in enumerate(("weight_ih", "weight_hh")):
        wrong = list(weights)
        wrong[position] = wrong[position][1:]
        expected = rf"{name} first dim must be {gates} \* hidden_size = {rows}, but got {rows - 1}"
        refused(expected, lambda wrong=wrong: cell(x, state, *wrong))
    refused("The expanded size of the tensor", lambda: cell(x, state, *weights[:3], torch.zeros(rows + 1)))
    words = "self and mat2 must have the same dtype, but got Long and Float"
    refused(words, lambda: cell(x, state, *weights[:3], weights[3].long()))


def test_fractional_pooling_refuses_empty_images() -> None:
    words = r"non-zero size for non-batch dimensions, but got\[1, 0, 6, 6\] with dimension 1 being empty"
    refused(words, lambda: torch.nn.functional.fractional_max_pool2d(torch.zeros(1, 0, 6, 6), 2, 3))
    assert torch.nn.functional.fractional_max_pool2d(torch.zeros(0, 2, 6, 6), 2, 3).shape == (0, 2, 3, 3)


@pytest.mark.parametrize("function, gates", [(torch.lstm, 4), (torch.gru, 3), (torch.rnn_tanh, 1)])
def test_recurrent_functions_refuse_weights_of_other_sizes(function: Any, gates: int) -> None:
    """The kernels take the sizes for granted: rows beyond those of the gates were passed over, or the call was refused in their words."""
    x, h, rows = torch.ones(5, 2, 3), torch.zeros(1, 2, 4), 4 * gates
    weights = [torch.zeros(rows, 3), torch.zeros(rows, 4), torch.zeros(rows), torch.zeros(rows)]
    run = lambda weights, h=h: function(x, (h, h) if gates == 4 else h, weights, True, 1, 0.0, False, False, False)
    assert run(weights)[0].shape == (5, 2, 4)
    for position, weight in enumerate(weights):
        for wrong in (weight[1:], torch.cat([weight, weight])):
            changed = [*weights[:position], wrong, *weights[position + 1 :]]
            if wrong.shape != (1,) and wrong.shape[0] != 0:
                refused("must match|cannot be multiplied", lambda changed=changed: run(changed))
    refused("Expected more hidden states in stacked_rnn", lambda: run(weights, torch.zeros(2, 2, 4)))


def test_gradients_of_conv_tbc_are_contiguous() -> None:
    operands = [torch.ones(size, requires_grad=True) for size in ((5, 2, 3), (2, 3, 4), (4,))]
    for create_graph in (False, True):
        slopes = torch.autograd.grad(torch.conv_tbc(*operands, 1).sum(), operands, create_graph=create_graph)
        assert all(slope.is_contiguous() for slope in slopes)


def test_an_engine_that_was_not_made_whole_is_deleted_quietly(capfd: pytest.CaptureFixture[str]) -> None:
    """Ctrl-C may come between making it and its first attribute."""
    made = Engine.__new__(Engine)
    del made
    assert capfd.readouterr().err == ""


def test_cropped_copies_keep_the_order_of_memory() -> None:
    """Padding by nothing or less is a copy, as is the gradient of padding: of a transform of more points, too."""
    x = torch.zeros(3, 4, 2).permute(2, 0, 1)
    assert x.stride() == (1, 8, 2)
    assert torch.constant_pad_nd(x, (-1, 0)).stride() == (1, 6, 2)
    assert torch.constant_pad_nd(x, ()).stride() == (1, 8, 2)
    x = torch.zeros(2, 3, 2, requires_grad=True)
    (slope,) = torch.autograd.grad(torch.fft.fft(x, n=3, dim=0).abs().sum(), x)
    assert slope.stride() == (1, 4, 2)


def test_a_view_retains_its_gradient_until_its_history_is_another() -> None:
    base = torch.ones(3, requires_grad=True) * 1
    view = base[:2]
    view.retain_grad()
    before = (view * 2).sum()
    base.add_(1)
    before.backward(retain_graph=True)
    assert view.grad is not None and view.grad.tolist() == [2.0, 2.0] and view.retains_grad
    (view * 3).sum().backward(retain_graph=True)  # through the view's new history, which retains it now
    assert view.grad.tolist() == [5.0, 5.0]
    before.backward()
    assert view.grad.tolist() == [5.0, 5.0]


def test_stft_pads_before_it_looks_at_return_complex() -> None:
    refused(
        "Padding size should be less than the corresponding input dimension",
        lambda: torch.stft(torch.ones(3), 8, window=torch.ones(8)),
    )


@pytest.mark.parametrize("name", ["scatter", "scatter_add"])
def test_scatter_takes_a_scalar_for_a_vector_of_one(name: str) -> None:
    for x in (torch.tensor([1.0, 2.0]), torch.tensor(1.0)):
        first = x.reshape(-1)[0].item() * (name == "scatter_add")
        src = torch.tensor([5.0, 6.0, 7.0], requires_grad=True)
        for index in (torch.tensor(0), torch.tensor([0])):
            result = getattr(x, name)(0, index, src)
            assert result.shape == x.shape and result.reshape(-1)[0].item() == first + 5.0
            (slope,) = torch.autograd.grad(result.sum(), src)
            assert slope.tolist() == [1.0, 0.0, 0.0]
        none = torch.zeros(0, dtype=torch.int64)
        assert torch.equal(getattr(x, name)(0, none, src.detach()), x) and torch.equal(x.scatter(0, none, 7.0), x)
        refused("no larger size than src", lambda x=x: getattr(x, name)(0, torch.tensor([0, 0]), torch.tensor(1.0)))


def test_einsum_sums_before_the_product_over_a_letter_that_broadcasts() -> None:
    a, b = torch.arange(12.0, dtype=torch.float64).reshape(3, 4), torch.arange(5.0).reshape(5, 1)
    result = torch.einsum("ij,kj->ik", a, b)
    assert result.dtype == torch.float64 and torch.equal(result, a.sum(1)[:, None] * b[:, 0])
    for x, y in ((a, b.double()), (a[:, :1], torch.ones(5, 4, dtype=torch.float64))):
        assert torch.autograd.gradcheck(
            lambda x, y: torch.einsum("ij,kj->ik", x, y), (x.requires_grad_(), y.requires_grad_())
        )


@pytest.mark.parametrize("dtype", [torch.int64, torch.uint8, torch.float32, torch.float64, torch.float16])
def test_relu_and_one_limit_of_many_elements(dtype: Any) -> None:
    values = [0, 1, 5, 7] if not dtype.is_floating_point else [0.0, -0.0, -2.0, math.nan, math.inf, -math.inf, 3.5]
    few = torch.tensor(values).to(dtype)
    many = few.repeat(20_000)
    for function in (torch.relu, lambda x: x.clamp(min=1), lambda x: x.clamp(max=3), lambda x: x.clamp(min=0)):
        wanted = function(few).repeat(20_000)
        torch.testing.assert_close(function(many), wanted, rtol=0, atol=0, equal_nan=True)
        if dtype.is_floating_point:
            assert torch.equal(torch.signbit(function(many)), torch.signbit(wanted))


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int16, torch.int64, torch.bool])
def test_operands_of_integers_are_floats_in_derivatives(dtype: Any) -> None:
    """Squares of int8 overflow, and NumPy gives the logarithm of int8 16 bits."""
    special, forward = torch.special, torch.autograd.forward_ad
    functions = [torch.atan2, torch.xlogy, special.xlog1py, torch.fmod, torch.remainder]
    functions += [lambda a, b: torch.atan2(b, a), lambda a, b: torch.pow(b, a), lambda a, b: torch.igamma(b, a)]
    functions += [lambda a, b: special.zeta(b, a)]
    x, integers = torch.tensor([1.5, 2.25, 3.0], dtype=torch.float64), torch.tensor([100, 7, 20]).to(dtype)
    for function in functions:
        found = []
        for other in (integers, integers.double()):
            a = x.clone().requires_grad_()
            (slope,) = torch.autograd.grad(function(a, other).sum(), a)
            (again,) = torch.autograd.grad(function(a, other).sum(), a, create_graph=True)
            with forward.dual_level():
                tangent = forward.unpack_dual(function(forward.make_dual(x, torch.ones_like(x)), other)).tangent
            found.append([slope, again.detach(), tangent])
        torch.testing.assert_close(found[0], found[1])


def test_gradients_have_the_dtype_of_what_they_are_for() -> None:
    narrow, wide = torch.ones(3, requires_grad=True), torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    many, mask = torch.ones(2, dtype=torch.float64, requires_grad=True), torch.tensor([True, False, True])
    for result, other in (
        (narrow.masked_fill(mask, wide), wide),
        (narrow.index_fill(0, torch.tensor([0, 2]), wide), wide),
        (torch.fill(narrow, wide), wide),
        (narrow.select_scatter(wide, 0, 1), wide),
        (narrow.slice_scatter(many, 0, 1, 3), many),
        (narrow.as_strided_scatter(many, (2,), (2,)), many),
        (narrow.diag().diagonal_scatter(many.expand(2)[:1].expand(3)), many),
    ):
        assert torch.autograd.grad(result.sum(), other)[0].dtype == torch.float64
    phases = torch.ones(3, dtype=torch.complex64)
    for join in (torch.cat, torch.stack, torch.hstack, torch.column_stack, lambda parts: torch.block_diag(*parts)):
        (slope,) = torch.autograd.grad(join([narrow, phases]).abs().sum(), narrow)
        assert slope.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("factor", ["weight", "pos_weight"])
def test_binary_cross_entropy_with_logits_has_the_dtype_of_its_target(factor: str) -> None:
    logits, target = torch.zeros(2, requires_grad=True), torch.ones(2, dtype=torch.float64)
    loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, target, **{factor: torch.ones(2)})
    assert loss.dtype == torch.float64 and torch.autograd.grad(loss, logits)[0].dtype == torch.float32


def test_running_products_of_complex_numbers_have_double_precision_on_the_way() -> None:
    x = torch.tensor([1e20 + 0j, 1e20j, 1e20j, 1e-30, 1e-10])  # beyond float32 after two factors
    assert torch.cumprod(x, 0).dtype == torch.complex64
    torch.testing.assert_close(torch.cumprod(x, 0)[3:], torch.tensor([-1e30 + 0j, -1e20 + 0j]))
    large = torch.tensor([3e38 + 0j, 3e38, -3e38])
    assert torch.cumsum(large, 0)[2].isfinite()


def test_second_derivatives_of_sampling_at_16_bit_coordinates() -> None:
    image = (torch.arange(1020) * 0.37 % 1).view(1, 2, 10, 51).to(torch.bfloat16)
    grid = torch.tensor([[[[0.62890625, 0.68359375], [-0.3, 0.41]]]]).to(torch.bfloat16)
    found = []
    for dtype in (torch.bfloat16, torch.float32):
        x, at = (t.to(dtype).requires_grad_() for t in (image, grid))
        slopes = torch.autograd.grad(torch.grid_sampler(x, at, 0, 1, False).sum(), (x, at), create_graph=True)
        found.append(torch.autograd.grad(sum((s * s).sum() for s in slopes), (x, at)))
    for half, single in zip(*found, strict=True):
        torch.testing.assert_close(half.float(), single, rtol=0.05, atol=0.05 * float(single.abs().max()))


def test_unreduced_losses_have_the_layout_of_their_operands() -> None:
    a, b = torch.rand(3, 4).t().contiguous().t(), torch.rand(3, 4)
    expanded = torch.rand(1, 4).expand(3, 4)
    for loss, strides in (  # of (a, b), (b, a), (expanded, a)
        (F.mse_loss, [(1, 3), (4, 1), (1, 3)]),
        (F.smooth_l1_loss, [(1, 3), (4, 1), (1, 3)]),
        (F.huber_loss, [(1, 3), (4, 1), (4, 1)]),
        (F.binary_cross_entropy, [(1, 3), (4, 1), (4, 1)]),
        (F.soft_margin_loss, [(1, 3), (4, 1), (4, 1)]),
        (F.binary_cross_entropy_with_logits, [(4, 1), (1, 3), (1, 3)]),
    ):
        found = [loss(x, y, reduction="none") for x, y in ((a, b), (b, a), (expanded, a))]
        assert [f.stride() for f in found] == strides, loss.__name__
        assert torch.allclose(found[0], loss(a.contiguous(), b, reduction="none"))


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("size", [8, 40])
def test_layout_of_what_is_made_of_overlapping_windows(dtype: torch.dtype, size: int) -> None:
    windows = torch.arange(size + 1).to(dtype).as_strided((2, size), (1, 1))
    for result in (
        windows - windows,
        F.mse_loss(windows, windows, reduction="none"),
        F.l1_loss(windows, windows, reduction="none"),
    ):
        assert result.stride() == (1, 2)


def test_operands_that_do_not_fit_the_others() -> None:
    zeros, ones = torch.zeros, torch.ones
    for size, name in (((0, 2), "kernel_height: 0 kernel_width: 2"), ((2, 0), "kernel_height: 2 kernel_width: 0")):
        refused(name, lambda size=size: F.conv2d(zeros(1, 2, 5, 5), zeros(3, 2, *size)))
    refused("kernel_height: 1 kernel_width: 0", lambda: F.conv1d(zeros(1, 2, 5), zeros(3, 2, 0)))
    refused("2 x 0 x 2 .TxHxW.", lambda: F.conv3d(zeros(1, 2, 5, 5, 5), zeros(3, 2, 2, 0, 2)))
    refused("broadcast shape .1, 9.", lambda: F.linear(ones(38)[::2], ones(9, 19), ones(1, 9)))
    refused("LU_pivots of shape .3, 2.", lambda: torch.lu_unpack(ones(3, 4, 2), ones(3, dtype=torch.int32)))
    refused("Tensor dimension is 3, expected 2", lambda: torch.chain_matmul(ones(2, 3), ones(3, 3, 2)))
    refused("Tensor dimension is 1, expected 2", lambda: torch.chain_matmul(ones(3)))
    refused("shape .. doesn't match", lambda: F.cross_entropy(zeros(4), torch.tensor([1]), label_smoothing=0.1))
    for pool in (F.adaptive_max_pool1d, F.adaptive_max_pool2d, F.adaptive_max_pool3d, F.adaptive_avg_pool3d):
        rank = int(pool.__name__[-2])
        refused("dimension 1 being empty", lambda pool=pool, rank=rank: pool(zeros(1, 0, *[4] * rank), 2))


def test_integrals_of_nothing_are_empty() -> None:
    for requires_grad in (False, True):
        y = torch.zeros(3, 0, requires_grad=requires_grad)
        assert torch.cumulative_trapezoid(y).shape == (3, 0)
        assert torch.cumulative_trapezoid(y, torch.zeros(3, 0)).shape == (3, 0)


def test_what_is_computed_in_the_common_dtype_of_operands() -> None:
    assert torch.searchsorted(torch.tensor([False, True]), torch.tensor([0, 9])).tolist() == [0, 2]
    assert torch.stft(torch.ones(30).half(), 8, window=torch.ones(8), return_complex=True).dtype == torch.complex64


def test_sizes_and_dtypes_that_do_not_fit() -> None:
    zeros, ones = torch.zeros, torch.ones
    for dtype in (torch.int8, torch.int16):
        refused(
            "must be long, int, byte or bool", lambda dtype=dtype: zeros(3)[torch.tensor([0], dtype=dtype)], IndexError
        )
    refused("same slice shapes", lambda: zeros(3, 2).index_copy(0, torch.tensor([0, 1]), ones(2, 3)))
    for norm in ("nuc", "fro"):
        refused("linalg.cond.ord", lambda norm=norm: torch.linalg.cond(ones(2, 3), norm))
    refused("no dimensions", lambda: torch.norm_except_dim(torch.tensor(2.0)), IndexError)
    refused("got Bool and Float", lambda: torch.conv_tbc(ones(3, 1, 1, dtype=torch.bool), ones(1, 1, 1), ones(1)))
    assert torch.bincount(torch.zeros(0, dtype=torch.int64), weights=ones(3)).shape == (0,)
    assert torch.cdist(ones(2, 0), ones(3, 0), p=inf).tolist() == [[0, 0, 0], [0, 0, 0]]


def test_a_mask_of_bytes_beside_another_index_is_a_mask() -> None:
    x, mask = torch.zeros(3, 3), torch.tensor([1, 0, 1], dtype=torch.uint8)
    with pytest.warns(UserWarning, match="torch.uint8"):
        x[mask, torch.tensor([0, 1])] = 1.0
    assert x.tolist() == [[1, 0, 0], [0, 0, 0], [0, 1, 0]]
    refused("only supports boolean masks", lambda: x.__setitem__(mask, 2.0))


def test_statistics_of_nothing_have_a_graph() -> None:
    x = torch.ones(1, 0, requires_grad=True)
    with pytest.warns(UserWarning, match="degrees of freedom is <= 0"):
        assert torch.cov(x).isnan() and torch.cov(x).requires_grad
    assert not torch.linalg.cond(torch.ones(0, 3, 3, requires_grad=True)).requires_grad
