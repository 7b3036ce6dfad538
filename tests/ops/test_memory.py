"""Other sizes and memory, functions of Python on elements, DLPack, and answers about sparse and quantized tensors."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import penlight as torch
import penlight.nn.functional as F


def test_resize_keeps_the_memory():
    x = torch.arange(6)
    assert x.resize_(2, 2).tolist() == [[0, 1], [2, 3]]
    assert x.resize_(6).tolist() == [0, 1, 2, 3, 4, 5]
    assert x.resize_((8,))[:6].tolist() == [0, 1, 2, 3, 4, 5]
    assert torch.zeros(2).resize_as_(torch.zeros(2, 3)).shape == (2, 3)


def test_resize_refuses_the_graph_and_other_counts():
    with pytest.raises(RuntimeError, match="cannot resize variables that require grad"):
        torch.zeros(2, requires_grad=True).resize_(3)
    with (
        pytest.warns(UserWarning, match="non-inplace resize is deprecated"),
        pytest.raises(RuntimeError, match="requested resize to 1"),
    ):
        torch.zeros(2).resize(1)


def test_set_takes_other_memory():
    source = torch.ones(4)
    x = torch.zeros(2).set_(source)
    x[0] = 5
    assert source.tolist() == [5.0, 1.0, 1.0, 1.0]
    y = torch.zeros(2).set_(source.untyped_storage(), 1, (3,), (1,))
    assert y.tolist() == [1.0, 1.0, 1.0]
    assert torch.zeros(2).set_().shape == (0,)
    with pytest.raises(RuntimeError, match="Could not set tensor of type double to a tensor of type float"):
        torch.zeros(2).set_(source.double())


def test_python_functions_on_elements():
    x = torch.tensor([[1.0, 2.0]])
    assert x.apply_(lambda v: v + 1).tolist() == [[2.0, 3.0]]
    assert x.map_(torch.tensor([10.0, 20.0]), lambda a, b: a * b).tolist() == [[20.0, 60.0]]
    assert x.map2_(x, x, lambda a, b, c: a + b + c).tolist() == [[60.0, 180.0]]
    with pytest.raises(RuntimeError, match=r"Can't call apply_\(\) on Variable that requires grad"):
        torch.zeros(1, requires_grad=True).apply_(abs)


def test_dlpack_shares_memory():
    x = torch.zeros(3)
    array = np.from_dlpack(x)
    x[0] = 7  # not the array: NumPy 2.0 makes it read-only
    assert array[0] == 7
    y = torch.from_dlpack(np.ones(2, np.float32))
    assert y.dtype is torch.float32
    with pytest.raises(BufferError, match="Can't export tensors that require gradient"):
        torch.zeros(1, requires_grad=True).__dlpack__()


def test_a_dlpack_capsule_shares_memory_once():
    x = torch.arange(6).view(2, 3).t()
    capsule = torch.utils.dlpack.to_dlpack(x)
    y = torch.from_dlpack(capsule)
    y[0, 1] = 9
    assert x.tolist() == y.tolist() == [[0, 9], [1, 4], [2, 5]] and y.stride() == (1, 3)
    with pytest.raises(RuntimeError, match="from_dlpack received an invalid capsule"):
        torch.from_dlpack(capsule)


MANY = "The tensor does not have unique dim order, or cannot map to exact one of the given memory formats."


def orders(torch):
    """Calls of dim_order, and what they give or say."""
    empty, plain, last = torch.empty, torch.contiguous_format, torch.channels_last
    return [
        (lambda: empty(2, 3, 4).transpose(0, 1).dim_order(ambiguity_check=True), (1, 0, 2)),
        (lambda: empty(2, 3, 3, 4, memory_format=last).dim_order(ambiguity_check=[plain]), (0, 2, 3, 1)),
        (lambda: empty(1, 2, 3, 4).dim_order(ambiguity_check=[plain, last]), (0, 1, 2, 3)),
        (lambda: torch.tensor(1.0).dim_order(ambiguity_check=True), ()),
        (lambda: empty(1, 2, 3, 4).dim_order(ambiguity_check=True), MANY),
        (lambda: empty(2, 1, 3, 4).dim_order(ambiguity_check=[plain, last]), MANY),
        (lambda: empty(3, 0, 2).dim_order(ambiguity_check=True), MANY),
        (lambda: torch.ones(3).expand(2, 3).dim_order(ambiguity_check=True), "The tensor does not have unique dim order."),
        (lambda: empty(2, 3).dim_order(ambiguity_check="no"), "The ambiguity_check argument must be a bool or a list of memory formats."),
        (lambda: empty(2, 3).dim_order(ambiguity_check=[3]), "The ambiguity_check argument must be a bool or a list of memory formats."),
    ]  # fmt: skip


def check_orders(torch):
    for call, expected in orders(torch):
        try:
            found = call()
        except (RuntimeError, TypeError) as error:
            found = str(error)
        assert found == expected


def test_dim_order():
    check_orders(torch)


@pytest.mark.parity
def test_dim_order_parity():
    check_orders(pytest.importorskip("torch"))


def test_protocols_of_python():
    x = torch.tensor([1, 2, 3])
    assert [int(v) for v in reversed(x)] == [3, 2, 1]
    assert (1 << x).tolist() == [2, 4, 8] and (16 >> x).tolist() == [8, 4, 2]
    assert abs(torch.tensor(-2.0)) == 2 and (+x) is x
    with pytest.raises(TypeError, match="Tensor does not support deleting items"):
        del x[0]
    assert torch.zeros(2, 3).t().dim_order() == (1, 0)


def test_as_strided_in_place():
    x = torch.arange(6.0, requires_grad=True)
    y = x * 2
    assert y.as_strided_((2, 2), (1, 2)).shape == (2, 2)
    assert y.grad_fn.name() == "AsStridedBackward1"
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0, 2.0, 2.0, 0.0, 0.0]


def test_dense_tensors_say_so():
    x = torch.ones(2)
    assert x.to_dense() is x and x.sparse_dim() == 0 and x.dense_dim() == 1 and not x.is_sparse
    with pytest.raises(RuntimeError, match="coalesce expected sparse coordinate tensor layout but got Strided"):
        x.coalesce()
    with pytest.raises(NotImplementedError, match="no quantized tensors"):
        x.q_scale()


def test_comparisons_in_place():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    assert y.eq_(2).tolist() == [1.0, 0.0] and y.grad_fn.name() == "EqBackward0"
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0]
    assert torch.tensor([1, 2]).greater_(torch.tensor([0, 5])).tolist() == [1, 0]


def test_fill_diagonal_in_the_graph():
    x = torch.ones(2, 2, requires_grad=True)
    y = (x * 3).fill_diagonal_(0)
    y.sum().backward()
    assert x.grad.tolist() == [[0.0, 3.0], [3.0, 0.0]]


def test_channels_last():
    x = torch.arange(120.0).reshape(2, 3, 4, 5)
    last = x.contiguous(memory_format=torch.channels_last)
    assert last.stride() == (60, 1, 15, 3) and torch.equal(last, x)
    assert last.is_contiguous(memory_format=torch.channels_last) and not last.is_contiguous()
    assert last.contiguous(memory_format=torch.channels_last) is last
    assert (
        x.to(memory_format=torch.channels_last).stride()
        == x.clone(memory_format=torch.channels_last).stride()
        == (60, 1, 15, 3)
    )
    assert last.contiguous().stride() == (60, 20, 5, 1) and last.clone().stride() == (60, 1, 15, 3)
    assert x.requires_grad_().to(memory_format=torch.channels_last).grad_fn.name() == "ToCopyBackward0"
    assert torch.autograd.gradcheck(
        lambda t: t.to(memory_format=torch.channels_last).sin(), x.detach().double().requires_grad_()
    )
    volume = torch.zeros(1, 2, 3, 4, 5).contiguous(memory_format=torch.channels_last_3d)
    assert volume.stride() == (120, 1, 40, 10, 2)
    with pytest.raises(RuntimeError, match="required rank 4 tensor to use channels_last format"):
        torch.ones(2, 3).contiguous(memory_format=torch.channels_last)


def test_a_few_elements_of_a_transposed_or_expanded_tensor_are_read_alone():
    """NumPy's `take` copies all of an array that is not contiguous: 4 GB of the table here."""
    table, index = torch.arange(1000.0).expand(1000, 1000, 1000), torch.arange(600).view(20, 10, 3)
    tracemalloc.start()
    try:
        assert torch.equal(torch.take_along_dim(torch.arange(1000.0).view(1, 1, -1), index, 2), index.float())
        assert torch.equal(table.gather(2, index.repeat(10, 20, 5)), index.repeat(10, 20, 5).float())
        assert torch.equal(
            table.index_select(2, torch.tensor([999, 0])), torch.tensor([999.0, 0]).expand(1000, 1000, 2)
        )
        assert table.take(torch.tensor([-1, 1001])).tolist() == [999, 1]
        for wide in (torch.arange(1e6).view(1000, 1000).t(), torch.arange(1e6).view(1000, 1000).flip(0).t()):
            rows = torch.stack([wide[3], wide[998]])
            found = (wide.index_select(0, torch.tensor([3, 998])), F.embedding(torch.tensor([3, 998]), wide))
            assert all(torch.equal(f, rows) and f.stride() == (1000, 1) for f in found)
            assert torch.equal(wide.index_select(1, torch.tensor([7])), wide[:, 7:8].contiguous())
        assert tracemalloc.get_traced_memory()[1] < 30_000_000
    finally:
        tracemalloc.stop()
