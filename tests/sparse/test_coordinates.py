"""Sparse tensors by coordinates: every function of theirs, as PyTorch has them."""

from __future__ import annotations

import io

import pytest

import penlight
from penlight import _torch_function

from .test_compressed import quiet


@pytest.fixture(autouse=True)
def _asleep():
    """Leave other tests the functions as they are without subclasses."""
    yield
    _torch_function.deactivate()


VIEWS = """s.t(); s.T; s.H; s.transpose(0, 1); s.permute(1, 0); s.swapaxes(0, 1); s.movedim(0, 1); s.unsqueeze(0); s.unsqueeze(-1);
    s.select(0, 1); s.select(1, 2); s.select(0, 7); s[0]; s[-1]; s[:, 1]; s[0, 2]; s[None]; s[0, ...]; s[7]; s.unbind(); list(s);
    s.narrow_copy(0, 0, 1); s.narrow_copy(1, 1, 2); s.narrow_copy(0, 1, 5); s.index_select(0, torch.tensor([1, 0, 1]));
    s.index_select(1, torch.tensor([2])); s.index_select(0, torch.tensor([7])); s.transpose(0, 5); s.unsqueeze(5); s.permute(0);
    s.permute(0, 0); torch.cat([s, s]); torch.cat([s, s], -1); torch.cat([s, d]); torch.cat([s, s[:, None][0]]); torch.stack([s, s]);
    torch.stack([s, s], 1); torch.hstack([s, s]); torch.vstack([s, s])"""
HYBRID = """h.t(); h[0]; h[1]; h[0, 1]; h.select(1, 1); h.unsqueeze(0); h.unsqueeze(-1); h.transpose(0, 1); h.unbind(); torch.cat([h, h]);
    torch.cat([h, h], 1); torch.stack([h, h]); h.index_select(0, torch.tensor([1])); h.index_select(1, torch.tensor([1]));
    h.narrow_copy(1, 1, 1); torch.sparse.softmax(h, 0); torch.sparse.softmax(h, 1); torch.sparse.log_softmax(h, 0); torch.zeros_like(h)"""
BATCHES = """b.transpose(0, 1); b.permute(2, 0, 1); b.t(); b[0]; b[0, 1]; b.select(1, 1); b.unbind(); torch.bmm(b, torch.ones(2, 2, 1));
    torch.sparse.softmax(b, 0); torch.sparse.softmax(b, 2); torch.sparse.sum(b, (0, 2)); torch.cat([b, b], 1)"""
SIZES = """torch.zeros_like(s); torch.empty_like(s); s.new_zeros(2); s.new_empty(0, 3); s.new_tensor([1.0]); s.stride();
    s.storage_offset(); s.is_same_size(d); s.is_pinned(); s._dimI(); s._dimV(); s.resize_as_(s); s.sparse_resize_((3, 4), 2, 0);
    s.sparse_resize_and_clear_((3, 4), 2, 0); s.to_sparse(2); s.to_sparse(1); s.float() is s.float();
    s.to(s.dtype) is s; torch.tensor(3.0).to_sparse(); d.to_sparse(layout=torch.strided); torch.sparse_coo_tensor([[0]], [1.0]);
    torch.sparse_coo_tensor([[0, 1]], 3.0); torch.sparse_coo_tensor((2, 3)).is_coalesced(); s.any(); s.is_coalesced();
    torch.sparse_coo_tensor([[0, 0]], [1.0, 2.0], is_coalesced=True, check_invariants=True)"""
VALUES = """abs absolute neg negative positive sign sgn sqrt sin tan tanh sinh asin arcsin asinh atan arctan atanh expm1 log1p relu floor
    ceil round trunc fix erf erfinv square deg2rad rad2deg frac nan_to_num isnan isinf isposinf isneginf signbit conj conj_physical
    resolve_conj resolve_neg"""
ARITHMETIC = """s + o; s - o; d + s; d - s; s + d; s * 2; 2 * s; s * o; s * d; s / 2; s // 2; s ** 2; s ** -1; s * torch.eye(2).to_sparse();
    s.add_(o); s.sub_(o); s.mul_(2); s.mul_(o); s.mul_(d); s.div_(2); s.copy_(o); s.t_(); s.transpose_(0, 1);
    d.add_(s); d.sub_(s); d.mul_(s); d.copy_(s); torch.dist(s, o); s.sum(0); s.sum(1, keepdim=True); s.sum((0, 1)); s.sum(dtype=torch.float32);
    torch.sparse.sum(s, 0, dtype=torch.float32); s.sparse_mask(o); d.sparse_mask(o); torch.mm(s, d.t()); torch.mv(s, d[0])"""
DIAGONALS = """torch.sparse.spdiags(d, torch.tensor([0, 1]), (3, 3)); torch.sparse.spdiags(d, torch.tensor([-1, 2]), (3, 4));
    torch.sparse.spdiags(d[0], torch.tensor(0), (3, 2)); torch.sparse.spdiags(d, torch.tensor([0, 0]), (3, 3));
    torch.sparse.spdiags(d, torch.tensor([0, 1, 2]), (3, 3)); torch.sparse.spdiags(d, torch.tensor([0.0, 1.0]), (3, 3));
    torch.sparse.spdiags(d, torch.tensor([0, 1]), (3, 3, 3)); torch.sparse.spdiags(b.to_dense(), torch.tensor([0, 1]), (3, 3));
    torch.sparse.spdiags(d, torch.tensor([0, 1]), (3, 3), torch.strided)"""


def told(torch, say, expressions):
    """Says what each expression gives, as a dense tensor where its order of elements is nobody's business."""
    for expression in expressions.split(";"):
        indices = torch.tensor([[0, 1, 1], [2, 0, 2]])
        names = {
            "torch": torch,
            "s": torch.sparse_coo_tensor(indices, [3.0, -4.0, 0.5], (2, 3), check_invariants=False),
            "o": torch.sparse_coo_tensor(indices[:, 1:].clone(), [1.0, 2.0], (2, 3), check_invariants=False),
            "h": torch.sparse_coo_tensor(
                [[0, 1, 1]], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], (3, 2), check_invariants=False
            ),
            "b": torch.sparse_coo_tensor([[0, 1], [1, 0], [0, 1]], [1.0, 2.0], (2, 2, 2), check_invariants=False),
            "d": torch.arange(6.0).reshape(2, 3),
        }
        try:
            result = eval(expression.strip(), names)
        except Exception as error:
            result = str(error).partition("\n")[0]
        parts = result if isinstance(result, (tuple, list)) else [result]
        for part in parts:
            sparse = getattr(part, "is_sparse", False)
            say(expression.strip(), part.to_dense() if sparse else part, sparse and (part.dtype, part.dense_dim()))


@pytest.mark.parametrize("expressions", [VIEWS, HYBRID, BATCHES, SIZES, ARITHMETIC, DIAGONALS],
                         ids=["views", "hybrid", "batches", "sizes", "arithmetic", "diagonals"])  # fmt: skip
def test_functions(same, expressions):
    same(quiet(lambda torch, say: told(torch, say, expressions)))


def test_functions_of_the_values(same):
    def program(torch, say):
        for name in VALUES.split():
            s = torch.sparse_coo_tensor([[0, 1, 1]], [0.5, -0.25, 0.5], (3,), check_invariants=False)
            result = getattr(s, name)()
            say(name, result, getattr(torch, name)(s).to_dense())
            if hasattr(torch.Tensor, name + "_") and name != "square":
                say(getattr(s.coalesce(), name + "_")())
                say.attempt(getattr(s, name + "_"))

    same(program)


def test_which_tensors_have_each_index_once(same):
    def program(torch, say):
        for name in ("s[0]", "s.t()", "s.unsqueeze(0)", "s * 2", "-s", "s.abs()", "s * s", "s + s", "s.clone()", "s.narrow_copy(0, 0, 2)",
                     "s.index_select(0, torch.tensor([1, 2]))", "torch.cat([s, s])", "s.sum(0)", "torch.zeros_like(s)", "s.permute(0, 1)"):  # fmt: skip
            result = eval(name, {"s": torch.eye(3).to_sparse(), "torch": torch})
            say(name, result.is_coalesced(), result._nnz())

    same(program)


def test_graphs(same):
    def program(torch, say):
        values = torch.tensor([1.0, 2.0], requires_grad=True)
        s = torch.sparse_coo_tensor([[0, 1], [1, 0]], values, (2, 2), check_invariants=False)
        say(s, s.is_leaf, s.grad_fn.name(), s._values().requires_grad, (s * 2).grad_fn.name(), -s, s.sin())
        (s * s).to_dense().sum().backward()
        say(values.grad)
        leaf = torch.eye(2).to_sparse().requires_grad_()
        say(leaf, leaf.is_leaf, leaf.grad_fn)
        for write in (lambda: leaf.add_(leaf), lambda: leaf.mul_(2), lambda: leaf.zero_(), lambda: leaf.neg_()):
            say.attempt(write)
        parameter = torch.nn.Parameter(torch.eye(2).to_sparse())
        say(parameter.requires_grad, parameter.is_leaf)

    same(program)


def test_reductions_of_products(same):
    def program(torch, say):
        dense = torch.tensor([[1.0, 0, 2], [0, 0, 0], [-1, 3, 0]])
        other = torch.arange(6.0).reshape(3, 2).requires_grad_()
        for reduce in ("sum", "mean", "amax", "amin"):
            other.grad = None
            product = torch.sparse.mm(dense.to_sparse_csr(), other, reduce)
            product.pow(2).sum().backward()
            say(reduce, product.detach(), other.grad)
        say.attempt(lambda: torch.sparse.mm(dense.to_sparse_csr(), other, "median"))

    same(quiet(program))


def _saved(lib):
    file = io.BytesIO()
    s = lib.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], (2, 3))
    lib.save({"coo": s, "once": s.coalesce(), "csr": s.to_sparse_csr(), "csc": s.to_sparse_csc()}, file)
    file.seek(0)
    return file


@pytest.mark.filterwarnings("ignore")
def test_files():
    read = penlight.load(_saved(penlight))
    assert {k: v.layout for k, v in read.items()} == {
        "coo": penlight.sparse_coo, "once": penlight.sparse_coo, "csr": penlight.sparse_csr, "csc": penlight.sparse_csc,
    }  # fmt: skip
    assert all(v.to_dense().tolist() == [[0, 1, 0], [2, 0, 0]] for v in read.values())
    assert not read["coo"].is_coalesced() and read["once"].is_coalesced()


@pytest.mark.parity
@pytest.mark.filterwarnings("ignore")
def test_files_of_the_other_library():
    import torch

    for writer, reader in ((penlight, torch), (torch, penlight)):
        for name, s in reader.load(_saved(writer)).items():
            assert s.to_dense().tolist() == [[0, 1, 0], [2, 0, 0]] and (name != "once" or s.is_coalesced())


def test_a_file_whose_indices_leave_the_tensor_is_refused():
    rebuild = penlight._utils._rebuild_sparse_tensor
    with pytest.raises(RuntimeError, match="size is inconsistent with indices"):
        rebuild(penlight.sparse_coo, (penlight.tensor([[5]]), penlight.ones(1), (2,), True))


def test_a_written_matrix_by_rows_knows_where_its_rows_begin():
    s = penlight.eye(2).to_sparse_csr()
    s.add_(penlight.tensor([[0.0, 1.0], [0.0, 0.0]]).to_sparse_csr())
    assert s.crow_indices().tolist() == [0, 2, 3] and s.to_dense().tolist() == [[1, 1], [0, 1]]
