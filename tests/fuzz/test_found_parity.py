"""What fuzzing has found besides, on both libraries: each line is the body of a function of `t`, whose result is the same in PyTorch."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import penlight

CASES = [
    "t.copysign(t.ones(1).expand(2), -1)",
    *[f"t.ones(3, {n}).t().{scan}(0).stride()" for n in (5, 683) for scan in ("cumsum", "cumprod", "logcumsumexp")],
    *[f"slope(t, t.ones(1, 3), lambda x: x.{scan}(0)).stride()" for scan in ("cumsum", "cumprod")],
    *[f"slope(t, t.ones(0), lambda x: t.cat([x, t.ones({shape})]))" for shape in ("2", "2, 3", "0, 3")],
    "t.argsort(t.tensor([3, 1, 2]), stable=True, out=t.zeros(3, dtype=t.int64))",
    "t.argsort(t.ones(3), stable=True, out=t.ones(3))",
    *[f"t.zeros(0, dtype=t.{d}).{name}()" for d in ("int8", "int16", "int32", "uint8") for name in ("median", "nanmedian")],
    *[f"t.zeros(1, 1).scatter(1, t.tensor([[0], [{i}]]), 5.0)" for i in (0, 2)],
    "t.zeros(1, 1).scatter(1, t.tensor([[0], [0]]), 5.0, reduce='add')",
    *[f"t.full((3, 1), float('nan'), dtype=t.{d}) @ t.zeros(1, 1, dtype=t.{d})" for d in ("float32", "float64", "complex64")],
    *[f"node(t, t.ones({s}), lambda x: (x * 2).squeeze({d}))" for s in ("2, 3", "1, 3", "2, 1, 3", "1, 1") for d in ("", 0, -1)],
    "slope(t, t.ones(2, 3)[:, 0], lambda x: x.as_strided((2,), (1,))).stride()",
    *[f"{x}.{f}.stride()" for x in ("t.ones(2, 3).t()", "t.ones(2, 4, 5, 3).permute(0, 3, 1, 2)", "t.ones(3).expand(2, 3)")
      for f in ("flip(0)", "roll(1, 0)", "rot90()", "rot90(2)", "roll(1, None)")],
    "(2 ** t.ones(2, 3).t()).stride()",
    *[f"t.ones({s}dtype=t.{d}).topk({k})" for s in ("2, 3, ", "(), ") for d in ("complex64", "float32") for k in (0, 1, 4, -1)],
    "t.ones(1).expand(1, 2)[:1].copy_(t.ones(1, 2))",
    "(lambda x: x[:1].copy_(x))(t.ones(1).expand(1, 2))",
    "node(t, t.ones(3), lambda x: x.masked_fill(x > 2, 2.0))",
    *[f"node(t, t.tensor([1.0, 2.0, 3.0]), lambda x: t.{f}(x, t.ones(3) * 2))" for f in ("maximum", "minimum", "fmax", "fmin")],
    *[f"slope(t, t.ones(1), lambda x: x.{spread}()).dtype" for spread in ("var", "std")],
    "node(t, t.ones(3), lambda x: t.stack([x, x.double()]))",
    "modified(t, t.minimum)",
    "modified(t, t.pow)",
    "modified(t, t.mul)",
    *[f"modified(t, t.{f}, create_graph=True)" for f in ("pow", "mul", "atan2")],
    "node(t, t.ones(3), lambda x: t.atan2(t.ones(3), x))",
    *[f"t.logit(t.tensor([0.2, 0.8, {e}], dtype=t.bfloat16), {e})" for e in (0.2, 0.3)],
    *[f"toggled(t, lambda x: x.{off})" for off in ("requires_grad_(False)", "detach_()")],
    "t.cross(t.ones(1, 1), t.ones(1))",
    "t.quantile(t.ones(3, dtype=t.bool), 0.5, interpolation='foo')",
    "t.linalg.matrix_exp(t.ones(2, 3, dtype=t.int16))",
    "t.linalg.eigvals(t.tensor(1, dtype=t.uint8))",
    *[f"t.linalg.{f}(t.full({s}, float('nan')).requires_grad_({g}))" for f in ("eig", "eigvals") for s in ((3,), (2, 3)) for g in (True, False)],
    *[f"t.linalg.lstsq(t.ones({a}), t.ones({b})).solution.shape" for a, b in (("2, 4, 3", "1, 4"), ("2, 4, 3", "2, 4"), ("2, 4, 3", "2, 3"), ("1, 4, 3", "2, 4"))],
    *[f"{f}(t.tensor([[-0.11962890625, -0.8828125, 0.4609375]], dtype=t.bfloat16))"
      for f in ("(lambda x: t.renorm(x, 2, 0, 1))", "(lambda x: slope(t, x, lambda y: t.renorm(y, 2, 0, 1)))")],
    *[f"t.full({s}, -0.0).{f}().signbit()" for s in ("()", "(1,)", "(2,)") for f in ("sum", "mean")],
    "t.zeros(0, 3, dtype=t.bool).softmax(-1)",
    "t.ones(4, dtype=t.bool) ** t.ones(2, 2, dtype=t.bool)",
    "t.addcmul(*(t.ones(n, dtype=t.bool) for n in (2, 2, 3)))",
    *[f"slope(t, t.ones(2, 3, 4), lambda x: x.{v}.mean({d})).stride()" for v in ("permute(2, 0, 1)", "transpose(0, 2)", "[0].t()") for d in ("", 0, -1)],
    *[f"t.zeros(3, 4).index_put((t.tensor({i}), t.tensor({j})), t.ones({n}))" for i, j in (([0, 9], [7, 0]), ([0, 1, 9], [0, 7, 1]), ([0, 9], [0, 1, 2])) for n in (1, 4)],
    *[f"t.zeros(3, 4, 5)[{index}]" for index in ("[0, 9], :, [7, 0]", "[0, 9], [0, 1, 2]", "[[0], [9]], [0, 7]")],
    *[f"t.zeros(3, 2, 9).index_put((t.ones(3, 2) > 0, t.tensor([{i}])), t.ones(())).sum()" for i in (8, 9)],
    *[f"t.masked.{f}(t.tensor([1, 0, 2]).to(t.{a}), mask=t.tensor([True, False, True]), dtype=t.{b})"
      for f in ("logsumexp", "amax", "amin") for a in ("bool", "int16", "uint8", "float32") for b in ("float64", "complex64", "int32")],
    *[f"t.masked.{f}(t.tensor([1, 0, 2]).to(t.{a}), 0, mask=t.tensor([True, False, True]), dtype=t.float64)"
      for f in ("softmax", "log_softmax", "softmin") for a in ("bool", "int16", "uint8", "float32")],
    *[f"t.masked.norm(t.tensor([1, 0, 2]).to(t.{a}), {p}, mask=t.tensor([True, False, True]), dtype=t.float64)"
      for a in ("bool", "float32", "complex64") for p in (2, "-float('inf')")],
    *[f"t.linalg.vector_norm(t.tensor([1, 2]).to(t.{a}), dtype=t.{b})" for a in ("int64", "float32", "complex64") for b in ("float16", "float64", "int32", "complex128")],
    "t.masked.logsumexp(t.tensor([1 + 2j, 2j]), mask=t.tensor([True, True]), dtype=t.float64)",
    *[f"t.{x}.{f}(0, t.{i}, t.{s})" for x in ("arange(5.0)", "tensor(1.0)") for f in ("scatter", "scatter_add") for s in ("tensor(2.0)", "arange(1.0, 6.0)")
      for i in ("tensor(0)", "tensor([0])", "tensor([0, 0])", "zeros(5, dtype=t.int64)", "zeros(0, dtype=t.int64)")],
    *[f"t.einsum('{e}', t.arange(1.0, {n} + 1).reshape({a}).double(), t.arange(5.0).reshape({b}))"
      for e, n, a, b in (("ij,kj->ik", 12, (3, 4), (5, 1)), ("ij,kj->ik", 3, (3, 1), (5, 1)), ("ij,kj->ik", 12, (3, 4), (5,)), ("ij,j->", 15, (3, 5), (5,)))],
    "t.einsum('ij,kj->ik', t.ones(3, 1), t.ones(5, 4))",
    "t.tensor(1.0).scatter(0, t.zeros(0, dtype=t.int64), 7.0)",
    *[f"t.nn.functional.l1_loss(t.ones(2), t.ones({s}, dtype=t.bool))" for s in ("()", "2")],
    *[f"t.nn.functional.binary_cross_entropy_with_logits(t.zeros(2, dtype=t.{a}), t.ones(2, dtype=t.{b}), {w}=t.ones(2))"
      for a, b in (("float32", "float64"), ("float64", "float32"), ("float32", "float16")) for w in ("weight", "pos_weight")],
    "t.gradient(t.ones(2, 1, dtype=t.bool))",
    "t.nn.functional.conv_transpose1d(t.ones(1, 1, 1), t.ones(1, 1, 2), padding=1)",
    "t.bincount(t.zeros(0, dtype=t.int64), weights=t.ones(3))",
    *[f"t.zeros(3)[t.tensor([0, 1], dtype=t.{d})]" for d in ("int8", "int16", "int32", "int64", "uint8")],
    *[f"t.zeros(2, 3).index_copy({dim}, t.tensor([0, 1]), t.ones({s}))" for dim in (0, 1) for s in ("2, 2", "2, 3", "2, 4", "2, 2, 1")],
    *[f"t.linalg.cond(t.ones({s}), {p})" for s in ("2, 3", "0, 3") for p in ("'nuc'", "'fro'", 1)],
    *[f"t.nn.functional.scaled_dot_product_attention(*[t.ones({s})] * 3, attn_mask=t.ones({m}))" for s in ("2, 3", "1, 2, 3", "1, 1, 2, 3") for m in ("()", "2", "2, 2")],
    *[f"t.norm_except_dim(t.arange(24.0).reshape(2, 3, 4){v}, 2, {dim})" for v in ("", ".transpose(0, 2)") for dim in (-2, -1, 0, 1, 2, 7)],
    *[f"t.norm_except_dim({x}, 2, 0)" for x in ("t.tensor(2.0)", "t.arange(4.0)", "t.ones(0, 3)", "t.ones(3, 0)")],
    *[f"t.conv_tbc(t.ones({n}, 1, 1), t.ones(1, 1, 1, dtype=t.{d}), t.ones(1))" for n in (0, 3) for d in ("float32", "float64")],
    *[f"t.{f}(t.ones({s}, dtype=t.{d}))" for f in ("cov", "corrcoef") for s in ("0", "1, 0", "2, 0", "0, 2") for d in ("float32", "complex64", "int64")],
    *[f"t.linalg.cond(t.ones({s}).requires_grad_(), {p})" for s in ("0, 3, 3", "3, 0, 0") for p in (None, -2, 1, "'fro'", "'nuc'")],
    *[f"t.cdist(t.ones(2, 0), t.ones(3, 0), p={p})" for p in (0.0, 1.0, 2.0, 3.0, "float('inf')")],
]  # fmt: skip


def slope(t: Any, x: Any, function: Any) -> Any:
    """The gradient of a sum over a function."""
    x = x.detach().requires_grad_()
    return t.autograd.grad(function(x).sum(), x)[0]


def node(t: Any, x: Any, function: Any) -> str:
    """What the gradient of a function comes from."""
    x = x.requires_grad_()
    return str(t.autograd.grad(function(x).exp().sum(), x, create_graph=True)[0].grad_fn.next_functions[0][0].name())


def modified(t: Any, function: Any, **options: Any) -> Any:
    """What is said of two operands that were modified before the backward pass."""
    x, y = t.ones(2, 3).requires_grad_(), t.ones(3).requires_grad_()
    result = function(x, y)
    with t.no_grad():
        x.add_(1), y.add_(1)
    result.sum().backward(**options)


def toggled(t: Any, off: Any) -> Any:
    """What comes of a leaf with a hook that does not require a gradient for a while."""
    x, seen = t.ones(2, requires_grad=True), []
    x.register_hook(seen.append)
    before = x * 2
    off(x)
    x.requires_grad_()
    (before + x * 3).sum().backward()
    return seen, x.grad, t.autograd.grad((x * 2 + before).sum(), x)


def outcome(t: Any, text: str) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return str(eval(text, {"t": t, "slope": slope, "node": node, "toggled": toggled, "modified": modified}))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parity
@pytest.mark.parametrize("text", CASES)
def test_found(text: str) -> None:
    torch = pytest.importorskip("torch")
    found, wanted = (outcome(t, text).partition(" Hint:")[0] for t in (penlight, torch))
    assert found == wanted
