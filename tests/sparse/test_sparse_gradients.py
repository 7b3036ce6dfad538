"""Lookups whose gradients are sparse: `gather(sparse_grad=True)`, alone and beside others."""

from __future__ import annotations

import pytest

import penlight

from .test_compressed import quiet


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


DENSE = """s @ w; s @ w[:, 0]; w @ s; w[:2, 0] @ s; s.__rmatmul__(w); torch.mm(s, w); torch.addmm(b, s, w, alpha=2);
    torch.nn.functional.linear(s, w.t(), b[0]); s.t() @ b; (s * 2) @ w; (s * x.detach()) @ w; (s * s) @ w; s.abs() @ w; s.mul_(2) @ w; s.clone() @ w;
    (s + s) @ w; (s @ s.t()) @ b; s.to_sparse_csr() @ w; s.to_sparse_coo() @ w; s.sum(); (-s).sum(); x.detach() + s; x.detach().clone().add_(s);
    s.to_dense(masked_grad=False);"""
BY_COORDINATES = """torch.bmm(s.unsqueeze(0), w.unsqueeze(0)); torch.cat([s, s]) @ w; s.index_select(0, torch.tensor([1, 1])) @ w; s.coalesce() @ w;
    (s / 2) @ w; s.pow(2) @ w; torch.bmm(torch.stack([s, s]), torch.stack([w, w]))"""
MASKED = "torch.sparse.mm(s, w); torch.sparse.addmm(b, s, w); s.to_dense(); (s * 2).to_dense(); s.values();"


@pytest.mark.parametrize("layout", ["to_sparse", "to_sparse_csr"])
def test_gradients_of_a_tensor_made_sparse(same, layout):
    expressions = DENSE + MASKED + (BY_COORDINATES if layout == "to_sparse" else "")

    def program(torch, say):
        w = torch.arange(1.0, 7.0).reshape(3, 2)
        b = torch.tensor([[1.0, 1.0], [1.0, 2.0]])
        for expression in expressions.strip(";").split(";"):
            x = torch.tensor([[0.0, 2.0, 0.0], [3.0, 0.0, 4.0]], requires_grad=True)
            s = getattr(x, layout)()
            y = eval(expression.strip(), {"torch": torch, "s": s, "x": x, "w": w, "b": b})
            weighted = (y * torch.arange(1.0, 1.0 + y.numel()).reshape(y.shape)).sum()
            say(expression.strip(), y.detach(), torch.autograd.grad(weighted, x))

    same(quiet(program))


def test_a_product_skips_zeros_though_they_get_a_gradient(same):
    def program(torch, say):
        x = torch.tensor([[0.0, 2.0], [3.0, 0.0]], requires_grad=True)
        w = torch.tensor([[float("inf"), 1.0], [2.0, float("nan")]])
        y = x.to_sparse() @ w
        x.data.zero_()
        say(y, torch.autograd.grad(y.sum(), x))

    same(program)


def test_second_gradients_of_a_product_with_a_tensor_made_sparse(same):
    def program(torch, say):
        x = torch.tensor([[0.0, 2.0], [3.0, 0.0]], requires_grad=True)
        w = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        gradients = torch.autograd.grad((x.to_sparse() @ w).square().sum(), (x, w), create_graph=True)
        say([g.detach() for g in gradients], [g.detach() for g in torch.autograd.grad(gradients[0].sum(), w)])

    same(program)


def test_what_is_computed_of_a_tensor_made_sparse_is_no_other_for_its_gradient(same):
    def program(torch, say):
        dense = torch.tensor([[0.0, 2.0, 0.0], [3.0, 0.0, 4.0]])
        for x in (dense, dense.clone().requires_grad_()):
            s = x.to_sparse()
            say(s[0, 1].detach(), s[1].detach().to_dense(), s.select(1, 2).detach().to_dense())
            say.attempt(lambda s=s: torch.ones(2, 3).copy_(s))

    same(program)
