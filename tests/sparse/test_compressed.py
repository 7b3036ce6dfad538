"""Sparse matrices by compressed rows and columns, as PyTorch has them."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest

import penlight
from penlight import _torch_function
from penlight.sparse import coo


@pytest.fixture(autouse=True)
def _asleep():
    """Leave other tests the functions as they are without subclasses."""
    yield
    _torch_function.deactivate()


def quiet(program):
    """Without the warnings about beta, which each library gives once in a process."""

    def run(torch, say):
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program(torch, say)

    return run


def matrices(torch):
    dense = torch.tensor([[0, 1.0, 0], [2, 0, 3]])
    return dense, dense.to_sparse_csr(), dense.to_sparse_csc()


def test_they_describe_themselves(same):
    @quiet
    def program(torch, say):
        for s in matrices(torch)[1:]:
            say(
                s,
                s.layout,
                s.is_sparse,
                s.is_sparse_csr,
                s.shape,
                s.dim(),
                s.numel(),
                s._nnz(),
                len(s),
                s.sparse_dim(),
                s.dense_dim(),
            )
            say(s.float(), s.to(torch.int32), torch.zeros_like(s), s.detach(), s.values())
            for name in (
                "crow_indices",
                "col_indices",
                "ccol_indices",
                "row_indices",
                "indices",
                "is_coalesced",
                "coalesce",
                "stride",
                "numpy",
            ):
                say.attempt(getattr(s, name))
        say.attempt(torch.ones(2).crow_indices)
        say.attempt(torch.ones(2, 2).to_sparse().crow_indices)
        say(torch.sparse_csr_tensor([0, 1, 2], [0, 1], [1.0, 2.0], requires_grad=True))

    same(program)


def test_each_layout_becomes_each(same):
    @quiet
    def program(torch, say):
        dense, rows, columns = matrices(torch)
        for s in (dense, rows, columns, dense.to_sparse()):
            for layout in (torch.sparse_coo, torch.sparse_csr, torch.sparse_csc):
                say(s.to_sparse(layout=layout))
            say(s.to_sparse_csr(), s.to_sparse_csc(), s.to_sparse(), s.to_dense())
        say(rows.t(), columns.t(), rows.transpose(0, 1).to_dense(), rows.to_sparse_csr() is rows)
        say(torch.sparse_compressed_tensor([0, 1, 2], [1, 0], [2.0, 3.0], layout=torch.sparse_csc))
        say.attempt(lambda: torch.sparse_compressed_tensor([0, 1, 2], [1, 0], [2.0, 3.0]))

    same(program)


def test_they_compute(same):
    @quiet
    def program(torch, say):
        dense, rows, columns = matrices(torch)
        other = torch.arange(6.0).view(3, 2)
        for s in (rows, columns):
            say(s @ other, s.mm(other), s.mv(torch.ones(3)), other.t() @ s.t(), torch.sparse.mm(s, other))
        say(
            rows @ rows.t(),
            torch.addmm(torch.ones(2, 2), rows, other),
            torch.nn.functional.linear(rows, torch.ones(4, 3)),
        )
        say(
            rows + rows,
            torch.add(rows, rows * 2, alpha=-1),
            dense + rows,
            rows + dense,
            rows * rows,
            -rows,
            rows.sin(),
            rows.sum(),
        )
        say(rows.sum(0, keepdim=True), rows[0], rows[1, 2], dense.sparse_mask(rows), rows.sparse_mask(rows))
        say(torch.sparse.sampled_addmm(rows, torch.ones(2, 2), torch.ones(2, 3), beta=2.0))
        say.attempt(lambda: rows.sum(0))
        say.attempt(lambda: rows[0:1])
        say(rows.mul_(2), rows.zero_())

    same(program)


def test_indices_that_are_no_matrix(same):
    @quiet
    def program(torch, say):
        for make in (torch.sparse_csr_tensor, torch.sparse_csc_tensor):
            for starts, lines, size in (
                ([0, 1, 9], [0, 1], (2, 2)),
                ([1, 1, 2], [0, 1], (2, 2)),
                ([0, 1, 2], [0, 7], (2, 2)),
                ([0, 1, 2], [0, -1], (2, 2)),
                ([0, 1], [0, 1], (2, 2)),
                ([0, 1, 2], [0], (2, 2)),
                ([0, 2, 2], [1, 0], (2, 2)),
                ([0, 2, 2], [1, 1], (2, 2)),
                ([0, 1, 2], [0, 1], (2,)),
                ([[0, 1, 2]], [0, 1], (2, 2)),
                ([0.0, 1, 2], [0, 1], (2, 2)),
            ):
                say.attempt(lambda: make(starts, lines, [1.0, 2.0], size, check_invariants=True))  # noqa: B023

    same(program)


def test_gradients(same):
    @quiet
    def program(torch, say):
        values = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        other = torch.arange(6.0).view(3, 2).requires_grad_()
        made = torch.sparse_csr_tensor([0, 1, 3], [1, 0, 2], values, (2, 3))
        (made @ other).pow(2).sum().backward()
        say(values.grad, other.grad)
        dense = torch.tensor([[0, 1.0, 0], [2, 0, 3]], requires_grad=True)
        (dense.to_sparse_csr().to_dense() * 2).sum().backward()
        say(dense.grad)

    same(program)


def test_large_products_are_those_of_scipy(monkeypatch):
    pytest.importorskip("scipy")
    penlight.manual_seed(0)
    dense = penlight.rand(64, 64, dtype=penlight.float64).round()
    other = penlight.rand(64, 256, dtype=penlight.float64, requires_grad=True)
    found = []
    for loaded in (coo._scipy_sparse, lambda: None):
        monkeypatch.setattr(coo, "_scipy_sparse", loaded)
        s = dense.to_sparse_csr().requires_grad_()
        product = s @ other
        assert (product.grad_fn.name() == "_ProductBackward") is (loaded() is not None)
        first = penlight.autograd.grad(product.pow(3).sum(), (s._inner, other), create_graph=True)
        second = penlight.autograd.grad(first[0].sum() + first[1].sum(), (s._inner, other))
        found.append([product.detach(), *(g.detach() for g in (*first, *second))])
    for ours, theirs in zip(*found, strict=True):
        penlight.testing.assert_close(ours, theirs)


def test_small_words(recwarn):
    s = penlight.eye(2).to_sparse_csr()
    assert type(pickle.loads(pickle.dumps(s))) is type(s) and f"{s}" == repr(s)
    assert (s.to_sparse() + s).layout is (s + s.to_sparse()).layout is penlight.sparse_csr
    assert np.array_equal(penlight.cat([s, s]).to_dense(), penlight.eye(2).repeat(2, 1))
    for use in (
        lambda: penlight.ones(2, 2, 2).to_sparse_csr(),
        lambda: penlight.sparse_csr_tensor([[0, 1]], [[0]], [[1.0]], (1, 1, 1)),
    ):
        with pytest.raises(NotImplementedError, match="no batches of compressed"):
            use()


DENSE = {
    **dict.fromkeys(["ones", "zeros", "empty", "rand", "randn"], (2, 2)),
    **dict.fromkeys(["ones_like", "zeros_like", "empty_like", "rand_like", "randn_like"], (penlight.ones(2, 2),)),
    "randint": (3, (2, 2)), "randperm": (3,), "normal": (0.0, 1.0, (2, 2)), "full_like": (penlight.ones(2, 2), 1.0), "randint_like": (penlight.ones(2, 2), 3),
}  # fmt: skip


@pytest.mark.parametrize("name", DENSE)
def test_functions_that_make_dense_tensors_make_no_others(name):
    with pytest.raises(RuntimeError, match="not implemented for sparse layout"):
        getattr(penlight, name)(*DENSE[name], layout=penlight.sparse_csr)
    assert getattr(penlight, name)(*DENSE[name], layout=penlight.strided).layout is penlight.strided


def test_the_first_one_says_that_it_is_beta():
    program = "import penlight; penlight.eye(2).to_sparse_csr(); penlight.eye(2).to_sparse_csc()"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stderr.count("Sparse CSR tensor support is in beta state") == 1 and "CSC" not in run.stderr


def test_sums_of_several_layouts_are_compressed():
    """PyTorch refuses them with internal errors."""
    eye = penlight.eye(2)
    for first, second in ((eye.to_sparse(), eye.to_sparse_csr()), (eye.to_sparse_csr(), eye.to_sparse_csc())):
        for found in (first + second, second + first):
            assert (
                found.layout in (penlight.sparse_csr, penlight.sparse_csc)
                and found.to_dense().tolist() == (2 * eye).tolist()
            )
