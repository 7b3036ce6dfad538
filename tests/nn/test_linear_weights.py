"""`linear` transposes its weight without making it a view that anybody else knows of: nothing else may differ."""

from __future__ import annotations

import pytest

import penlight as torch


def test_the_graph_is_as_with_a_view() -> None:
    layer = torch.nn.Linear(3, 2)
    y = layer(torch.ones(2, 3))
    names = [None if node is None else node.name() for node, _ in y.grad_fn.next_functions]
    assert names == ["torch::autograd::AccumulateGrad", None, "TBackward0"]
    assert y.grad_fn.next_functions[2][0].next_functions[0][0].variable is layer.weight


def test_a_write_to_the_weight_is_noticed() -> None:
    layer = torch.nn.Linear(3, 2)
    y = layer(torch.ones(2, 3, requires_grad=True))
    with torch.no_grad():
        layer.weight.add_(1)
    with pytest.raises(
        RuntimeError, match=r"\[torch.FloatTensor \[3, 2\]\], which is output 0 of AsStrided, is at version 2"
    ):
        y.sum().backward()


def test_second_derivatives_reach_the_weight() -> None:
    layer, x = torch.nn.Linear(3, 2, dtype=torch.float64), torch.ones(2, 3, requires_grad=True, dtype=torch.float64)
    assert torch.autograd.gradgradcheck(
        lambda x, w, b: torch.nn.functional.linear(x, w, b).tanh(), (x, *layer.parameters())
    )


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("shape", [(3, 4, 4), (2, 3, 4, 4)])
def test_batches_of_one_shape(shape: tuple[int, ...], transposed: bool) -> None:
    torch.manual_seed(0)
    a, b = torch.randn(shape, dtype=torch.float64), torch.randn(shape, dtype=torch.float64)
    right = b.mT if transposed else b
    plain = torch.stack([x @ y for x, y in zip(a.reshape(-1, 4, 4), right.reshape(-1, 4, 4))]).view(shape)
    assert torch.allclose(a @ right, plain) and (a @ right).is_contiguous()
    a.requires_grad_()
    product = a @ right
    names = []
    node = product.grad_fn
    while node.next_functions:
        names.append(node.name())
        node = node.next_functions[0][0]
    assert names == ["UnsafeViewBackward0", "BmmBackward0", "ViewBackward0", "ExpandBackward0"]
    assert torch.autograd.gradcheck(lambda a, b: a @ (b.mT if transposed else b), (a, b.requires_grad_()))
