"""Lookups whose gradients are sparse: `gather(sparse_grad=True)`, alone and beside others."""

from __future__ import annotations

import pytest

import penlight


def test_gather(same):
    def program(torch, say):
        for index, dim in (([[0, 0, 1]], 0), ([[2], [2], [1]], 1), ([[1, 1], [0, 1]], 1)):
            x = torch.arange(9.0).reshape(3, 3).requires_grad_()
            index = torch.tensor(index)
            picked = torch.gather(x, dim, index, sparse_grad=True)
            (picked * torch.arange(1.0, 1 + picked.numel()).reshape(picked.shape)).sum().backward()
            say(x.grad.layout, x.grad.coalesce())
            x.gather(dim, index, sparse_grad=True).sum().backward()
            say(x.grad.is_sparse, x.grad.to_dense())
        x = torch.ones(3, 3, requires_grad=True)
        (x.gather(0, index, sparse_grad=True).sum() + x.sum()).backward()
        say(x.grad)
        x = torch.arange(4.0, requires_grad=True)
        x.gather(0, torch.tensor([3, 1, 3]), sparse_grad=True).sum().backward()
        say(x.grad.coalesce())

    same(program)


@pytest.mark.parametrize("rows", [[0, 2], [[0, 2], [2, 2]]])
def test_rows_and_elements_of_one_table_give_a_dense_gradient(rows):
    x = penlight.ones(3, 2, requires_grad=True)
    looked_up = penlight.nn.functional.embedding(penlight.tensor(rows), x, sparse=True).sum()
    (looked_up + x.gather(0, penlight.tensor([[1, 1]]), sparse_grad=True).sum()).backward()
    assert x.grad.layout is penlight.strided and x.grad[1].tolist() == [1.0, 1.0]


def test_a_sparse_gradient_is_given_to_a_dense_leaf(same):
    def program(torch, say):
        w = torch.zeros(3, 2, requires_grad=True)
        w.grad = torch.sparse_coo_tensor([[0, 2]], [[1.0, 2.0], [3.0, 4.0]], (3, 2), check_invariants=False)
        torch.optim.SGD([w], lr=1.0).step()
        say(w, w.grad)
        w.grad = None
        say(w.grad)

    same(program)


def test_a_sparse_leaf(same):
    def program(torch, say):
        x = torch.sparse_coo_tensor([[0, 2]], [1.0, 2.0], (3,), requires_grad=True, check_invariants=False)
        torch.sparse.sum(x * 2).backward()
        say(x, x.is_leaf, x.grad)

    same(program)
