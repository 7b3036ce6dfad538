"""Random programs on arrays that are large enough for threads, blocks and machine code; see programs.py.

Float32 programs of several statements amplify rounding, and where two values are nearly equal a comparison may come out either way. So a few
elements may differ; what is wrong is wrong in many places.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from . import programs
from .programs import Maker, Side, entangled, expanded

SHAPES = [(130, 517), (130, 517), (517,), (130, 1), (1, 517), (33001,), (8, 130, 97), (130, 97), (97,), (260, 260), (3, 8, 61, 67), (8, 1, 1),
          (300, 1100), (2, 3, 200, 64), ()]  # fmt: skip
MOST = 400_000  # elements of what is computed with
UNARY = [*programs.UNARY, "softmax(0)", "log_softmax(0)", "cumsum(-1)", "logsumexp(0)", "log1p()", "erf()", "atan()", "sinh()", "cumprod(-1)",
         "roll(3)", "cummax(-1)[0]", "sort(-1)[0]", "nan_to_num()", "exp2()", "pow(3)", "pow(2.5)", "square().add(0.5).log()",
         "half().float()", "clamp(min=0.1)"]  # fmt: skip
FUNCTIONAL = ["gelu({a})", "gelu({a}, approximate='tanh')", "silu({a})", "elu({a})", "leaky_relu({a}, 0.2)", "softplus({a})", "mish({a})",
              "hardswish({a})", "hardtanh({a})", "selu({a})", "celu({a}, 0.7)", "logsigmoid({a})", "relu6({a})", "softsign({a})", "hardsigmoid({a})",
              "tanhshrink({a})", "softshrink({a})", "hardshrink({a})", "threshold({a}, 0.1, 20)", "glu({a}, 0)", "layer_norm({a}, {a}.shape[-1:])",
              "normalize({a}, dim=-1)", "normalize({a}, dim=0)", "mse_loss({a}, {b})", "l1_loss({a}, {b})", "smooth_l1_loss({a}, {b})",
              "mse_loss({a}, {b}, reduction='none')", "binary_cross_entropy_with_logits({a}, {b}.sigmoid())",
              "cross_entropy({a}, classes({a}))", "cross_entropy({a}, classes({a}), label_smoothing=0.1)", "nll_loss({a}.log_softmax(1), classes({a}))",
              "batch_norm({a}, None, None, training=True)", "instance_norm({a})", "group_norm({a}, 1)", "scaled_dot_product_attention({a}, {a}, {b})",
              "scaled_dot_product_attention({a}, {b}, {b}, is_causal=True)", "max_pool2d({a}, 2)", "avg_pool2d({a}, 3, 2, 1)",
              "adaptive_avg_pool2d({a}, 5)", "interpolate({a}, scale_factor=2)", "pad({a}, (1, 2))", "cosine_similarity({a}, {b})", "linear({a}, {b})",
              "conv2d({a}, {a}[:2, :, :3, :3])", "conv2d({a}, {a}[0][:, None, :3, :3], groups={a}.shape[1])"]  # fmt: skip
REDUCE = [*programs.REDUCE, "mean(-1, keepdim=True)", "var(-1)", "std(-1, keepdim=True)", "norm(dim=-1)", "norm(dim=0, p=1)", "amin(-1)", "median()",
          "sum((0, -1))", "norm(p=3)", "any()", "count_nonzero()", "mean((0, 1))", "argmin(0)", "prod(-1)"]  # fmt: skip
VIEWS = [*[v for v in programs.VIEWS if "as_strided" not in v], "[::2]", "[:, ::3]", "[..., 1::2]", "[..., 5:-4]", "[3:130]", "swapaxes(0, 1)", "flatten(0, 1)", "[:, None]",
         "narrow(-1, 3, 31)", "reshape(-1, 13)"]  # fmt: skip
MULTI = ["unbind()", "split(65)", "chunk(2)", "unbind(-1)", "split(40, -1)"]
BINARY = [*programs.BINARY, "{a} @ {b}.transpose(-2, -1)", "{a}.abs() ** {b}", "t.addcmul({a}, {a}, {b}, value=0.5)",
          "t.addcdiv({a}, {b}, {b}.abs() + 1)", "t.lerp({a}, {b}, 0.3)", "t.lerp({a}, {b}, {b}.sigmoid())", "t.hypot({a}, {b})", "{a}.clamp(min={b})",
          "t.where({a} > {b}, {a}, 0.5)", "t.cat([{a}, {b}], -1)", "t.einsum('ij,kj->ik', {a}, {b})", "t.logaddexp({a}, {b})", "{a}[{b} > 0.5]",
          "{a}.gather(0, places({a}))", "{a}.index_select(0, rows({a}))", "{a}.scatter_add(0, places({a}), {b})",
          "{a}.index_add(0, rows({a}), {b})", "{a}.scatter(0, places({a}), 0.7)"]  # fmt: skip
SCALAR = [*programs.SCALAR, "{a} * t.tensor(1.5)", "t.tensor(2.5) / ({a}.abs() + 1)", "{a} + t.tensor([0.5])"]
IN_PLACE = [*programs.INPLACE, "{a}[:, 3:9].mul_(2)", "{a}[::2].add_(1)", "{a}[..., ::2].exp_()", "{a}.transpose(0, -1).mul_({b}.transpose(0, -1))",
            "{a}.addcmul_({b}, {b}, value=0.1)", "{a}.lerp_({b}, 0.25)", "F.relu_({a})", "F.elu_({a})", "F.leaky_relu_({a}, 0.1)",
            "F.silu({a}, inplace=True)", "F.hardtanh_({a})", "{a}[{a} > 0.3] = 0.1", "{a}.cumsum_(0)", "{a}.expm1_()", "{a}.reciprocal_()", "{a}.log1p_()",
            "{a}.erf_()", "{a}[:, 1] = {b}[:, 0]", "{a}.tril_()", "{a}.index_fill_(0, rows({a}), 1.0)", "{a}.scatter_(0, places({a}), 0.3)",
            "{a}.square_()"]  # fmt: skip
STATE = [
    "{a}.requires_grad_()",
    "{a}.detach_()",
    "{a}.retain_grad()",
    "{a}.grad = None",
    "{a}.register_hook(lambda g: g * 2)",
]
BACKWARD = [*programs.BACKWARD, "({a} * slope({a})).sum().backward(retain_graph=True)", "{a}.sin().sum().backward(retain_graph=True)",
            "{a}.mean().backward()"]  # fmt: skip
GRAD = [*programs.GRAD, "t.autograd.grad({a}.sin().sum(), {b}, create_graph=True)[0]", "t.autograd.grad(({a} * {a}).mean(), {b}, create_graph=True)[0]",
        "t.autograd.grad(t.autograd.grad({a}.sin().sum(), {b}, create_graph=True)[0].square().sum(), {b}, retain_graph=True)[0]"]  # fmt: skip
_PRODUCTS = re.compile("einsum|@|linear|attention|conv2d|unfold")


class LargeSide(Side):
    """A side that has large leaves, and integers that fit a tensor, by name."""

    def __init__(self, library: Any) -> None:
        super().__init__(library)
        of = library.from_numpy

        def leaf(seed: int, shape: tuple[int, ...], dtype: str) -> Any:
            return of(np.array(np.random.default_rng(seed).uniform(-2, 2, shape), dtype))

        def whole(shape: tuple[int, ...], below: int) -> Any:
            return of((np.arange(int(np.prod(shape))) * 7919 % below).reshape(shape))

        self.names.update(
            leaf=leaf,
            copy=lambda g: g if g is None else g.clone(),
            classes=lambda a: whole((a.shape[0], *a.shape[2:]), a.shape[1]),
            places=lambda a: whole(tuple(a.shape), a.shape[0]),
            rows=lambda a: whole((a.shape[0],), a.shape[0]),
            slope=lambda a: library.linspace(-1, 1, a.numel()).to(a.dtype).view(a.shape),
            F=library.nn.functional,
        )


class LargeMaker(Maker):
    """Chooses statements, of which the other operand most often fits."""

    def leaf(self) -> str:
        choose = self.random.choice
        dtype = choose(["float32"] * 5 + ["float64"])
        grad = self.random.random() < 0.65
        return (
            f"{self.fresh()} = leaf({self.random.randrange(10**6)}, {choose(SHAPES)}, '{dtype}').requires_grad_({grad})"
        )

    def statement(self, side: Side) -> str:
        names = [k for k, v in side.tensors().items() if v.numel() <= MOST]
        if len(names) < 2 or self.random.random() < 0.06:
            return self.leaf()
        choose = self.random.choice
        a = self._pick(names)
        b = self._partner(side, a, names)
        kind = self.random.random()
        if kind < 0.11:
            return f"{self.fresh()} = {a}.{choose(UNARY)}"
        if kind < 0.22:
            return self._sparing(side, f"{self.fresh()} = F.{choose(FUNCTIONAL)}".format(a=a, b=b))
        if kind < 0.29:
            return f"{self.fresh()} = {a}.{choose(REDUCE)}"
        if kind < 0.41:
            view = choose(VIEWS).format(s=a)
            return f"{self.fresh()} = {a}{'' if view[0] == '[' else '.'}{view}"
        if kind < 0.44:
            return f"{self.fresh()}, {self.fresh()} = {a}.{choose(MULTI)}[:2]"
        if kind < 0.57:
            return self._sparing(side, f"{self.fresh()} = " + choose(BINARY).format(a=a, b=b))
        if kind < 0.62:
            return f"{self.fresh()} = " + choose(SCALAR).format(a=a)
        if kind < 0.80:
            return self._in_place(side, names)
        if kind < 0.84:
            return choose(STATE).format(a=a)
        if kind < 0.93:
            return choose(BACKWARD).format(a=a, b=b)
        return f"{self.fresh()} = copy({choose(GRAD).format(a=a, b=b)})"

    def _partner(self, side: Side, a: str, names: list[str]) -> str:
        fits = [n for n in names if _fits(side.names[a], side.names[n])]
        return self.random.choice(fits) if self.random.random() < 0.8 else self._pick(names)

    def _in_place(self, side: Side, names: list[str]) -> str:
        targets = [n for n in names if side.names[n].is_floating_point()]
        if not targets:
            return self.leaf()
        a = self._pick(targets)
        b = self._partner(side, a, names)
        b = a if entangled(side.names[a], side.names[b]) else b
        return f"{a}.add_(1)" if expanded(side.names[a]) else self.random.choice(IN_PLACE).format(a=a, b=b)

    def _sparing(self, side: Side, text: str) -> str:
        """The statement, or a harmless one if its result might be larger than memory: outer products are."""
        given = [side.names[n] for n in set(re.findall(r"v\d+", text)) & side.tensors().keys()]
        if _PRODUCTS.search(text) and any(max(v.shape, default=1) > 1200 for v in given):
            return f"v{self.count - 1} = t.ones(3)"
        return text


def _fits(a: Any, b: Any) -> bool:
    """Whether `b` broadcasts to the shape of `a`."""
    try:
        return np.broadcast_shapes(tuple(a.shape), tuple(b.shape)) == tuple(a.shape)
    except ValueError:
        return False


def close(want: Any, have: Any) -> bool:
    """Whether all but a few elements agree within rounding."""
    x, y = want.detach().numpy(), have.detach().numpy()
    if x.shape != y.shape or x.dtype != y.dtype:
        return False
    agree = x == y
    if agree.all():
        return True
    x, y = x.astype(float), y.astype(float)
    with np.errstate(all="ignore"):
        agree |= np.isnan(x) & np.isnan(y)
        sizes = np.abs(x)
        typical = np.median(sizes[np.isfinite(x)]) if np.isfinite(x).any() else 1.0
        agree |= np.abs(x - y) <= 2e-3 * sizes + 1e-3 * typical + 1e-5
    return bool((~agree).sum() <= 2e-3 * x.size)


@programs.without_warnings
def compare(oracle: Side, other: Side, seed: int, length: int = 12) -> str | None:
    """Run one random program on both sides. The first disagreement, with the program so far, or None."""
    maker = LargeMaker(seed)
    program: list[str] = []
    for _ in range(length):
        program.append(maker.statement(oracle))
        expected, found = oracle.run(program[-1]), other.run(program[-1])
        if "not implemented" in (found if expected == "ok" else expected):
            return None  # one of the two has a dtype or a derivative that the other has not, and says so
        wrong = programs.disagreement(oracle, other, close, next_nodes=False)
        if (expected == "ok") != (found == "ok"):
            wrong = f"ended with\n  {expected}\nbut\n  {found}"
        if wrong:
            return f"seed {seed}: " + "\n".join(program) + f"\n--> {wrong}"
    return None
