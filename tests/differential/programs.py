"""Random programs on tensors, run statement by statement on two libraries, compared after each.

A program is a list of Python statements over `t` (the library) and variables v0, v1, ... It is made while the oracle runs it,
so that most statements fit the shapes at hand; the other library then runs the same text.
"""

from __future__ import annotations

import contextlib
import random
import re
import warnings
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any

import numpy as np

SHAPES = [(), (3,), (2, 3), (2, 2), (1, 3), (4,), (2, 1, 2)]
UNARY = ["exp()", "sin()", "neg()", "tanh()", "sigmoid()", "abs()", "relu()", "square()", "clone()", "cos()", "sqrt()", "log()",
         "reciprocal()", "expm1()", "sign()", "floor()", "clamp(-0.5, 0.5)", "contiguous()", "double()", "float()", "rsqrt()",
         "softmax(-1)", "log_softmax(-1)", "cumsum(0)", "flip(0)", "tril()", "logsumexp(-1)"]  # fmt: skip
REDUCE = ["sum()", "mean()", "sum(0)", "sum(-1, keepdim=True)", "mean(0)", "prod()", "amax(0)", "max()", "max(0)[0]", "min(-1)[0]",
          "var()", "std()", "norm()", "var(0)", "argmax()", "sum((0,))"]  # fmt: skip
VIEWS = ["view(-1)", "t()", "unsqueeze(0)", "squeeze()", "squeeze(0)", "flatten()", "diagonal()", "detach()", "data", "reshape(-1)",
         "transpose(0, -1)", "[0]", "[1:]", "[:, 0]", "[..., :1]", "[None]", "expand(2, *{s}.shape)", "narrow(0, 0, 1)",
         "permute(*reversed(range({s}.dim())))", "unfold(0, 2, 2)", "as_strided((2,), (1,))", "view_as({s})", "[...]", "T",
         "select(0, -1)", "movedim(0, -1)", "expand_as({s})"]  # fmt: skip
MULTI = ["unbind()", "split(1)", "chunk(2)", "unbind(-1)"]
BINARY = ["{a} + {b}", "{a} - {b}", "{a} * {b}", "{a} / {b}", "t.maximum({a}, {b})", "t.minimum({a}, {b})", "{a} @ {b}", "t.where({a} > 0, {a}, {b})",
          "t.atan2({a}, {b})", "{a} ** {b}", "t.cat([{a}, {b}])", "t.stack([{a}, {b}])", "t.mul({a}, {b})", "t.add({a}, {b}, alpha=2)",
          "{a} > {b}", "{a}.masked_fill({b} > 0, 2.0)"]  # fmt: skip
SCALAR = ["{a} + 2.0", "{a} * 3", "2.0 - {a}", "1.5 / {a}", "{a} ** 2", "{a} ** 3.0", "2 ** {a}", "{a} - 1", "{a} / 2", "{a} * 0.5", "-{a}",
          "{a} % 2", "{a} ** 0.5", "{a} ** -1"]  # fmt: skip
INPLACE = ["{a}.add_({b})", "{a}.mul_({b})", "{a}.sub_(1)", "{a}.copy_({b})", "{a}.zero_()", "{a}.exp_()", "{a}.sigmoid_()", "{a}.fill_(0.5)",
           "{a}.clamp_(-1, 1)", "{a}[0] = 1.5", "{a}[...] = {b}", "{a}[1:] = {b}", "{a} += {b}", "{a} *= 2", "{a}.masked_fill_({a} > 0, 0.25)",
           "{a}.sin_()", "{a}.div_({b})", "{a}.relu_()", "{a}.neg_()", "{a}.tanh_()", "{a}.pow_(2)", "{a}.add_(1.0)", "{a}[0].mul_(2)",
           "{a}.data.mul_(2)", "{a}.detach().add_(1)", "{a}.sqrt_()", "{a}.add_({b}, alpha=2)", "{a}[:1].copy_({b})",
           "{a}.view(-1)[0] = {b}.sum()", "{a}.unsqueeze_(0)", "{a}.t_()", "{a}.squeeze_()", "{a}[[0]] = 2.0", "{a}.mul_({a})"]  # fmt: skip
STATE = ["{a}.requires_grad_()", "{a}.requires_grad_(False)", "{a}.detach_()", "{a}.retain_grad()", "{a}.grad = None",
         "{a}.register_hook(lambda g: log.append(('{a}', g.detach().tolist())))", "{a}.register_hook(lambda g: g * 2)",
         "{a}.requires_grad = True", "h = {a}.register_hook(lambda g: g + 1); h.remove()",
         "{a}.register_post_accumulate_grad_hook(lambda p: log.append(('post', p.grad.detach().tolist())))",
         "{a}.grad_fn.register_hook(lambda i, o: log.append(('node', len(i), len(o))))",
         "{a}.grad_fn.register_prehook(lambda o: log.append(('pre', [x.detach().tolist() for x in o if x is not None])))"]  # fmt: skip
BACKWARD = ["{a}.sum().backward()", "{a}.sum().backward(retain_graph=True)", "{a}.backward()", "{a}.backward(t.ones_like({a}))",
            "{a}.sum().backward(create_graph=True)", "({a} * {a}).sum().backward()", "{a}.backward(t.ones_like({a}), retain_graph=True)",
            "{a}.sum().backward(inputs=[{b}])", "t.autograd.backward([{a}, {b}], [t.ones_like({a}), t.ones_like({b})])",
            "{a}.sum().backward(inputs=[{b}], create_graph=True)"]  # fmt: skip
GRAD = ["t.autograd.grad({a}.sum(), {b}, retain_graph=True)[0]", "t.autograd.grad({a}.sum(), {b}, create_graph=True, allow_unused=True)[0]",
        "t.autograd.grad({a}.sum(), {b}, create_graph=True)[0]", "t.autograd.grad({a}, {b}, t.ones_like({a}), retain_graph=True, allow_unused=True)[0]",
        "t.autograd.grad({a}.sum(), {b}, allow_unused=True, materialize_grads=True, retain_graph=True)[0]",
        "t.autograd.grad({a}.sum(), [{b}, {a}], allow_unused=True, create_graph=True)[1]"]  # fmt: skip

GRADIENTS = [*GRAD, *GRAD, "{a}.grad", "{b}.grad", "{a}.grad.detach_()", "{a}.grad.view(-1)", "{a}.grad[0]", "{a}.grad.mul_(2)", "{a}.grad.zero_()",
             "{a}.grad * {a}", "{a}.grad.t()", "t.autograd.grad({a}.grad.sum(), {b}, allow_unused=True, retain_graph=True)[0]",
             "{a}.grad.requires_grad_()"]  # fmt: skip


class Side:
    """One library's variables and its log of hook calls."""

    def __init__(self, library: Any) -> None:
        self.library = library
        self.names: dict[str, Any] = {"t": library, "log": []}
        self.gradients: set[int] = set()  # memory of tensors that the engine has made
        self.detours: set[tuple[str | None, str | None]] = (
            set()
        )  # nodes of gradients without dimensions, each with the other library's
        self.permuted = False  # whether a tensor's memory has been in another order than the other library's

    def run(self, statement: str) -> str:
        """Run a statement; how it ended."""
        try:
            exec(statement, self.names)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return "ok"

    def tensors(self) -> dict[str, Any]:
        return {k: v for k, v in self.names.items() if k[0] == "v" and isinstance(v, self.library.Tensor)}


def describe(tensor: Any) -> dict[str, Any]:
    """What two libraries must agree on about a tensor."""
    facts = {
        "shape": tuple(tensor.shape),
        "dtype": str(tensor.dtype),
        "stride": [s for s, n in zip(tensor.stride(), tensor.shape) if n > 1] if tensor.numel() else None,
        "requires_grad": tensor.requires_grad,
        "version": tensor._version,
        "is_view": tensor._is_view(),
    }
    try:
        node = tensor.grad_fn
    except Exception as error:  # of a view whose base was written to in a way that it does not allow
        return {**facts, "grad_fn": f"{type(error).__name__}: {error}"}
    facts["grad_fn"] = node and node.name()
    facts["next"] = [(f and f.name(), i) for f, i in node.next_functions] if node else None
    facts["is_leaf"], facts["output_nr"] = tensor.is_leaf, tensor.output_nr
    facts["retains_grad"] = tensor.retains_grad
    return facts


def memory(tensor: Any) -> int:
    return int(tensor.untyped_storage().data_ptr())


def has_no_memory(tensor: Any) -> bool:
    """Whether a tensor is one of the zeros that PyTorch keeps no memory for: nothing about it can be compared."""
    return tensor is not None and getattr(tensor, "_is_zerotensor", bool)()


def _is_second(name: str | None) -> bool:
    """Whether a node is that of the derivative of a derivative."""
    return name is not None and name.count("Backward") > 1


def same_formula(expected: dict[str, Any], found: dict[str, Any]) -> None:
    """Forget of a second-order graph what is a matter of how a derivative is written down.

    PyTorch has nodes of their own for the derivatives of some derivatives (TanhBackwardBackward0), where the graph here has the products
    that they are made of, or the other way round (AsStridedBackwardBackward0).
    """
    if "next" not in expected:  # nor a node, but an error
        return
    if _is_second(expected["grad_fn"]) or _is_second(found["grad_fn"]):
        expected["grad_fn"] = found["grad_fn"] = expected["next"] = found["next"] = None
    if any(_is_second(name) for facts in (expected, found) for name, _ in facts.get("next") or []):
        expected["next"] = found["next"] = None


def dense(tensor: Any) -> bool:
    """Whether a tensor's memory, or its base's, is in order. Where it is not, the libraries may permute results differently."""
    return (tensor._base if tensor._is_view() else tensor).is_contiguous()


def numbers(tensor: Any) -> np.ndarray:
    return np.asarray(tensor.detach().tolist(), dtype=float)


def close(a: Any, b: Any) -> bool:
    if a.detach().tolist() == b.detach().tolist():
        return True
    x, y = numbers(a), numbers(b)
    return x.shape == y.shape and np.allclose(x, y, rtol=1e-4, atol=1e-6, equal_nan=True)


OF_A_GRADIENT = "a view of a gradient, which is a view of something that only PyTorch's engine knows, has no history"


def disagreement(
    oracle: Side, other: Side, close: Callable[[Any, Any], bool] = close, next_nodes: bool = True
) -> str | None:
    """The first thing that the two sides don't agree on, or None."""
    ours, theirs = other.tensors(), oracle.tensors()
    if ours.keys() != theirs.keys():
        return f"variables: {sorted(theirs)} but {sorted(ours)}"
    oracle.gradients |= {memory(v.grad) for v in theirs.values() if v.grad is not None}
    for name, want in theirs.items():
        have = ours[name]
        expected, found = describe(want), describe(have)
        if expected != found:
            wrong = _unexcused(oracle, want, have, expected, found, next_nodes)
            if wrong:
                return wrong if wrong == OF_A_GRADIENT else f"{name}: {wrong}"
        if not close(want, have):
            return f"{name}: {want} but {have}"
        g, h = want.grad, have.grad
        if (g is None) != (h is None):
            return f"{name}.grad: {g} but {h}"
        if g is not None and (not close(g, h) or tuple(g.shape) != tuple(h.shape)):
            return f"{name}.grad: {g} but {h}"
        if g is not None and next_nodes and g.requires_grad != h.requires_grad and not np.isnan(numbers(g)).any():
            return f"{name}.grad: {g} but {h}"
    a, b = oracle.names["log"], other.names["log"]
    if len(a) != len(b) or (repr(a) != repr(b) and not _same_log(a, b)):
        return f"hook log: {a} but {b}"
    return None


def _unexcused(
    oracle: Side, want: Any, have: Any, expected: dict[str, Any], found: dict[str, Any], next_nodes: bool
) -> str | None:
    """In what two descriptions of a tensor differ that matters."""
    same_formula(expected, found)
    if not next_nodes:
        expected.pop("next", None), found.pop("next", None)
    if memory(want) in oracle.gradients:
        # Whether the engine has written into a gradient before it was handed out, or made it as a view, is nobody's promise.
        # Neither is of which ops its formula is made.
        # An in-place op on a view leaves the view's node, and PyTorch's formulas make detours for tensors without dimensions.
        if expected["is_view"] != found["is_view"] or not want.dim():
            oracle.detours.add((expected.pop("grad_fn", None), found.pop("grad_fn", None)))
        for key in ("version", "is_view", "next"):
            expected.pop(key, None), found.pop(key, None)
        if want._is_view() and expected["requires_grad"] != found["requires_grad"]:
            return OF_A_GRADIENT
    theirs, ours = expected.get("next"), found.get("next")
    if theirs and ours and len(theirs) == len(ours):  # what is computed from such a gradient leads to its node
        found["next"] = [t if (t[0], o[0]) in oracle.detours else o for t, o in zip(theirs, ours)]
    if not (dense(want) and dense(have)):
        oracle.permuted |= expected.pop("stride") != found.pop("stride")
    wrong = {k: (v, found.get(k)) for k, v in expected.items() if v != found.get(k)}
    return str(wrong) if wrong else None


def _same_log(a: list[Any], b: list[Any]) -> bool:
    for x, y in zip(a, b):
        if x[0] != y[0]:
            return False
        if x[0] == "node":
            if x != y:
                return False
        else:
            p, q = (np.asarray(v[1], dtype=object).ravel() for v in (x, y))
            flat = [np.hstack([np.ravel(e) for e in v]).astype(float) if len(v) else np.zeros(0) for v in (p, q)]
            if flat[0].shape != flat[1].shape or not np.allclose(*flat, rtol=1e-4, atol=1e-6, equal_nan=True):
                return False
    return True


def entangled(a: Any, b: Any) -> bool:
    """Whether an in-place op on these would read memory that it has just written, in an order that PyTorch does not promise."""
    shared = a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()
    return shared and a is not b and not (a.is_contiguous() and b.is_contiguous() and a.stride() == b.stride())


def expanded(a: Any) -> bool:
    return any(s == 0 and n > 1 for s, n in zip(a.stride(), a.shape))


def both_zeros(t: Any, a: Any, b: Any) -> bool:
    """Whether a zero would meet a zero of the other sign: which of them PyTorch's maximum gives depends on its offset in memory."""
    try:
        return bool(((a == 0) & (b == 0) & (t.signbit(a) != t.signbit(b))).any())
    except RuntimeError:  # their shapes do not fit
        return False


class Maker:
    """Chooses statements for the oracle's present state."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = 0

    def fresh(self) -> str:
        self.count += 1
        return f"v{self.count - 1}"

    def leaf(self) -> str:
        shape = self.random.choice(SHAPES)
        n = int(np.prod(shape))
        values = [round(self.random.uniform(-2, 2), 2) for _ in range(n)]
        dtype = self.random.choice(["float32", "float64", "float64"])
        grad = self.random.random() < 0.65
        return f"{self.fresh()} = t.tensor({values}, dtype=t.{dtype}).reshape({shape}).detach().requires_grad_({grad})"

    def statement(self, side: Side) -> str:
        names = [k for k, v in side.tensors().items() if v.numel() <= 64]
        if len(names) < 2 or self.random.random() < 0.06:
            return self.leaf()
        choose = self.random.choice
        a, b = self._pick(names), self._pick(names)
        kind = self.random.random()
        if kind < 0.13:
            text = f"{self.fresh()} = {a}.{choose(UNARY)}"
        elif kind < 0.20:
            text = f"{self.fresh()} = {a}.{choose(REDUCE)}"
        elif kind < 0.36:
            view = choose(VIEWS).format(s=a)
            if "as_strided" in view and not side.names[a].numel():
                view = "detach()"  # where an empty tensor begins in its storage, NumPy does not know
            text = f"{self.fresh()} = {a}{'' if view[0] == '[' else '.'}{view}"
        elif kind < 0.39:
            first, second = self.fresh(), self.fresh()
            text = f"{first}, {second} = {a}.{choose(MULTI)}[:2]"
        elif kind < 0.50:
            text = choose(BINARY)
            if "imum" in text and both_zeros(side.library, side.names[a], side.names[b]):
                text = "{a} + {b}"
            text = f"{self.fresh()} = " + text.format(a=a, b=b)
        elif kind < 0.57:
            text = f"{self.fresh()} = " + choose(SCALAR).format(a=a)
        elif kind < 0.78:
            targets = [n for n in names if side.names[n].is_floating_point()]
            text = self.leaf()
            if targets:
                a = self._pick(targets)
                b = a if entangled(side.names[a], side.names[b]) else b
                text = choose(INPLACE).format(a=a, b=b)
                if "[[0]]" in text and expanded(side.names[a]):
                    text = f"{a}.add_(1)"  # which of several writes to one place wins is nobody's promise
        elif kind < 0.86:
            text = choose(STATE).format(a=a)
        elif kind < 0.93:
            text = choose(BACKWARD).format(a=a, b=b)
        elif kind < 0.99:
            text = f"{self.fresh()} = {choose(GRADIENTS).format(a=a, b=b)}"
        else:
            text = f"del {a}"
        target = side.names[a].grad if ".grad.detach_" in text else side.names[a]
        if re.search(r"(squeeze_|\bt_|detach_)\(", text) and target is not None and target.retains_grad:
            text = f"{a}.add_(1)"  # after the others, PyTorch says that it retains a gradient, does not, and asks for a report at the next write
        # Not the in-place view ops: under no_grad they leave a tensor whose shape is not its grad_fn's.
        if "t.cat" in text and not (side.names[a].numel() and side.names[b].numel()):
            text = f"{self.fresh()} = {a}.clone()"  # the node of `cat` leaves out what is empty and one-dimensional
        if self.random.random() < 0.12 and not re.search(r"(squeeze_|\bt_)\(", text):
            mode = choose(["no_grad()", "no_grad()", "enable_grad()"])
            text = f"with t.{mode}:\n    {text}"
        return text

    def _pick(self, names: list[str]) -> str:
        """A variable, the newer the likelier."""
        return names[-1 - min(int(self.random.expovariate(0.35)), len(names) - 1)]


def note_gradient(oracle: Side, maker: Maker, statement: str) -> None:
    """Remember the memory of a gradient that a statement has got from the engine."""
    made = oracle.names.get(f"v{maker.count - 1}")
    if "autograd.grad(" in statement and isinstance(made, oracle.library.Tensor):
        oracle.gradients.add(memory(made))


def without_warnings(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(*args, **kwargs)

    return run


@without_warnings
def compare(oracle_library: Any, library: Any, seed: int, length: int = 14) -> str | None:
    """Run one random program on both libraries. The first disagreement, with the program so far, or None."""
    oracle, other = Side(oracle_library), Side(library)
    maker = Maker(seed)
    program: list[str] = []
    for _ in range(length):
        statement = maker.statement(oracle)
        program.append(statement)
        expected, found = oracle.run(statement), other.run(statement)
        if "INTERNAL ASSERT FAILED" in expected:
            return None
        if "register_hook" in statement and "is forbidden" in expected:
            return None  # PyTorch keeps what it could not register: from now on it accepts hooks there, and calls none
        if "register_hook" in statement and expected == "ok" and "another view of its base has been" in found:
            return None  # PyTorch looks at the history of a tensor only for its first hook
        if any(has_no_memory(v) or has_no_memory(v.grad) for v in oracle.tensors().values()):
            return None
        note_gradient(oracle, maker, statement)
        # A failed assignment leaves its variable unbound on both sides; PyTorch's own line numbers are not compared.
        wrong = None if same_end(expected, found) else f"ended with\n  {expected}\nbut\n  {found}"
        wrong = wrong or disagreement(oracle, other)
        if wrong == OF_A_GRADIENT or (wrong and of_rounding(oracle_library, program, wrong, other)):
            return None
        if wrong and oracle.gradients and any(words in expected + _told_of_node(wrong) for words in OF_ENGINE_VIEWS):
            return None
        if found == "ok" and "a second time" in expected and "[[0]]" in "".join(program):
            return None  # nodes of index_put keep their indices here
        further = (
            found == "ok" or "modified by an inplace operation" in found
        )  # the pass went on, perhaps to the next mistake
        if further and any(words in expected for words in REFUSED_BY_PYTORCH):
            return None
        if "more than one element of the written-to" in expected and "backward(" in statement:
            return None  # PyTorch's gradient of a write to expanded memory writes to such memory itself
        if wrong and oracle.permuted and ("view" in wrong or "View" in wrong):
            return None  # `flatten` and `reshape` copy in one library only
        if wrong:
            return f"seed {seed}: " + "\n".join(program) + f"\n--> {wrong}"
    return None


def of_rounding(library: Any, program: list[str], wrong: str, other: Side, trials: int = 8) -> bool:
    """Whether a library disagrees with itself on the same numbers of a program in float64, or if its leaves and the results of its ops are
    changed in their last digits; or whether what the other library has is about as near to the numbers in float64.

    A sine of a large number, a remainder, or which of two sums is larger can be anything then, and two libraries cannot agree on it.
    """
    if "{" in wrong:  # something else than numbers
        return False
    name = wrong.split(":")[0]
    with contextlib.suppress(Exception):  # where the variable or its gradient is not there, or has another shape
        one, wide = Side(library), Side(library)
        for statement in program:
            one.run(statement), wide.run(statement.replace("float32", "float64"))
        theirs, ours, truth = (eval(name, side.names) for side in (one, other, wide))
        if not close(theirs, truth):
            return True
        theirs, ours, truth = numbers(theirs), numbers(ours), numbers(truth)
        if (abs(ours - truth) <= 4 * abs(theirs - truth) + 1e-6 * abs(truth)).all():
            return True
    for trial in range(trials):
        one, two, rng = Side(library), Side(library), random.Random(trial)
        for statement in program:
            one.run(statement)
            with _rounding(library, rng):
                two.run(_LEAF.sub(lambda leaf, rng=rng: _nearly(leaf, rng), statement))
        found = disagreement(one, two) or ""
        if "{" not in found and found.split(":")[0] == name:
            return True
    return False


def _rounding(library: Any, rng: random.Random) -> Any:
    """A mode in which the new floats of each op are changed in their last digits, before they are saved for a backward pass."""
    modes = import_module(f"{library.__name__}.utils._python_dispatch")

    class Rounding(modes.TorchDispatchMode):  # type: ignore[misc, name-defined]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            out = func(*args, **(kwargs or {}))
            old = {memory(a) for a in args if isinstance(a, library.Tensor)}
            if isinstance(out, library.Tensor) and out.is_floating_point() and out.numel() and memory(out) not in old:
                out.mul_(1 + rng.uniform(-1, 1) * library.finfo(out.dtype).eps)
            return out

    return Rounding()


_LEAF = re.compile(r"(?<=t\.tensor\()\[.*?](?=, dtype=t\.(float\d\d)\))")


def _nearly(leaf: re.Match[str], rng: random.Random) -> str:
    """The numbers of a leaf, changed by as much as adding some of them in another order does."""
    step = 2e-7 if leaf[1] == "float32" else 1e-15
    return str([float(x) * (1 + rng.uniform(-step, step)) for x in leaf[0][1:-1].split(",")])


# What PyTorch says where it can't compute a gradient that there is.
REFUSED_BY_PYTORCH = (
    "Subtraction, the `-` operator, with a bool tensor",  # of a power whose exponent is a tensor of bools
    "Negation, the `-` operator, on a bool tensor",  # of atan2 with a tensor of bools
    "a saved tensor that has been detached in-place",  # though what was saved is as it was
)


# What PyTorch says about gradients because its engine hands out some as views.
OF_ENGINE_VIEWS = (
    "A view was created in no_grad mode",
    "a view of a view which was created in no_grad mode",
    "Can't detach views in-place",
    "modified by an inplace operation",
)


# How a batch times a vector of another size is refused, as one tall matrix and as a batch of columns.
PRODUCT_SIZES = (
    "RuntimeError: size mismatch, got input (",
    "RuntimeError: Expected size for first two dimensions of batch2 tensor to be: [",
)


def _told_of_node(wrong: str) -> str:
    """What PyTorch says when it is asked for the node of a tensor, if that is what the libraries disagree on."""
    told = re.search(r"\{'grad_fn': \(\"(RuntimeError: [^\"]*)\", ", wrong)
    return told[1] if told else ""


_DETAILS = r"Output \d+ of [\w:]+ is a view of a view which|A view|, which is output \d+ of [\w:]+,|(?<=index )\d+ |(?<=dimension )\d+ "


def same_end(expected: str, found: str) -> bool:
    """Whether two statements ended alike: both well, or with the same exception and message (ours may say more)."""
    if "not implemented for 'Bool'" in expected and "expected scalar type Bool" in found:
        return True  # of a product of bools and floats
    if "ok" not in (expected, found) and "its base or another view of its base" in expected + found:
        return True  # several things are wrong, of which another one is found first
    if all(end.startswith(PRODUCT_SIZES) for end in (expected, found)):
        return True  # which words it is depends on the strides of dimensions of size 1, and NumPy does not keep those that are 0
    # Neither is compared how a node or an index is called that an error tells of.
    expected, found = (re.sub(_DETAILS, "", end) for end in (expected, found))
    return expected == found or (expected != "ok" and found.startswith(expected))
