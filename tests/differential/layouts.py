"""One op on operands of random dtypes, sizes and layouts, in both libraries.

Machine code takes over from NumPy at certain sizes, and looks at strides. So the operands here have from one to 70,000 elements and lie
in memory in every way: transposed, with gaps, at an offset, repeated.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

SIZES = [1, 2, 7, 32, 100, 1000, 5000, 20000, 70000]
FLOATS = ["float32", "float32", "float32", "float64", "float16", "bfloat16", "complex64", "complex128"]
DTYPES = [*FLOATS, *FLOATS, "int64", "int32", "uint8", "bool", "int16", "int8"]
TOLERANCE = {"float64": 1e-10, "complex128": 1e-10, "float16": 6e-3, "bfloat16": 3e-2}


def words(text: str) -> list[str]:
    return text.split()


ONE = words(
    "abs neg exp log log1p expm1 sin cos tan tanh sigmoid relu sqrt rsqrt reciprocal square sign floor ceil round trunc "
    "frac erf erfc asin acos atan sinh cosh asinh acosh atanh log2 log10 exp2 isnan isinf isfinite signbit logical_not "
    "positive deg2rad nan_to_num clone angle i0 nn.functional.gelu nn.functional.silu nn.functional.elu "
    "nn.functional.softplus nn.functional.hardtanh nn.functional.leaky_relu"
)
TWO = words(
    "add sub mul div pow maximum minimum fmax fmin atan2 eq ne lt ge remainder fmod logical_and logical_xor hypot copysign "
    "floor_divide bitwise_and bitwise_or heaviside logaddexp"
)
# Not `std`: whether that of equal numbers is 0 or next to it is a matter of rounding, and its slope is not.
OVER = words(
    "sum mean amax amin argmax var logsumexp cumsum cummax logcumsumexp nansum nanmean softmax log_softmax all any "
    "var_mean aminmax"
)
SEVERAL = frozenset(words("sum mean amax amin var logsumexp nansum nanmean var_mean all any"))
MORE: dict[str, Callable[..., Any]] = {
    "where": lambda t, a, b, m, i, d: t.where(m, a, b),
    "gather": lambda t, a, b, m, i, d: a.gather(d, i % a.shape[d]),
    "scatter_add": lambda t, a, b, m, i, d: a.scatter_add(d, i % a.shape[d], b),
    "index_add": lambda t, a, b, m, i, d: a.index_add(d, t.arange(a.shape[d]).flip(0), b),
    "index": lambda t, a, b, m, i, d: a.transpose(0, d)[t.arange(a.shape[d]).flip(0)],
    "masked_fill": lambda t, a, b, m, i, d: a.masked_fill(m, 2),
    "masked_select": lambda t, a, b, m, i, d: a.masked_select(m),
    "in place": lambda t, a, b, m, i, d: (a * 1).add_(b).mul_(2),
    "copy_": lambda t, a, b, m, i, d: (a * 1).copy_(b),
    "cat": lambda t, a, b, m, i, d: t.cat([a, b, a], d),
    "roll": lambda t, a, b, m, i, d: a.roll(2, d),
    "flip": lambda t, a, b, m, i, d: a.flip(d),
    "sort": lambda t, a, b, m, i, d: a.sort(d, stable=True),
    "clamp": lambda t, a, b, m, i, d: a.clamp(-1, 2),
    "addcmul": lambda t, a, b, m, i, d: t.addcmul(a, b, b, value=3),
    "lerp": lambda t, a, b, m, i, d: t.lerp(a, b, 0.7),
    "layer_norm": lambda t, a, b, m, i, d: t.nn.functional.layer_norm(a, a.shape[-1:]),
    "mse_loss": lambda t, a, b, m, i, d: t.nn.functional.mse_loss(a, b),
    "number": lambda t, a, b, m, i, d: (a * 0.1 + 1) / 3,
    "to": lambda t, a, b, m, i, d: (a.to(t.float32), a.to(t.float64), a.to(t.float16)),
}


class Case(NamedTuple):
    name: str
    call: Callable[[Any, list[Any]], Any]  # of a library and the operands
    arrays: list[np.ndarray]
    dtypes: list[str]
    views: list[list[tuple[str, tuple[Any, ...]]]]
    grad: bool


def shape_of(random: random.Random) -> tuple[int, ...]:
    left, sizes = random.choice(SIZES), []
    for _ in range(random.choice([1, 2, 2, 3, 4]) - 1):
        sizes.append(min(random.choice([1, 2, 3, 4, 5, 8, 16, 17, 33, 64]), left))
        left = max(1, left // sizes[-1])
    sizes.append(left)
    random.shuffle(sizes)
    return tuple(sizes)


def layout_of(
    random: random.Random, shape: tuple[int, ...]
) -> tuple[tuple[int, ...], list[tuple[str, tuple[Any, ...]]]]:
    """The shape of a contiguous array, and the methods that make a view of the wanted shape of it."""
    kind, d = (
        random.choice(["as it is", "as it is", "transposed", "gaps", "offset", "repeated"]),
        random.randrange(len(shape)),
    )
    base = list(shape)
    if kind == "transposed":
        base[0], base[d] = base[d], base[0]
        return tuple(base), [("transpose", (0, d))]
    if kind == "gaps":
        base[d] *= 2
        index = (slice(None),) * d + (slice(None, None, 2),)
        return tuple(base), [("__getitem__", (index,))]
    if kind == "offset":
        base[d] += 3
        return tuple(base), [("narrow", (d, 3, shape[d]))]
    if kind == "repeated":
        base[d] = 1
        return tuple(base), [("expand", shape)]
    return shape, []


def values_of(random: random.Random, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    rng = np.random.default_rng(random.randrange(1 << 30))
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if "int" in dtype:
        return rng.integers(1, 20, shape).astype(dtype)
    values = rng.standard_normal(shape)
    if "complex" in dtype:
        return np.asarray(values + 1j * rng.standard_normal(shape)).astype(dtype)
    return values.astype(dtype if dtype in ("float32", "float64", "float16") else "float32")


def case_of(seed: int) -> Case:
    choice = random.Random(seed)
    shape, dtype = shape_of(choice), choice.choice(DTYPES)
    dim = choice.randrange(len(shape))
    kind = choice.choice(["one", "two", "two", "over", "over", "more", "more"])
    dtypes, shapes = [dtype, dtype, "bool", "int64"], [shape] * 4
    if kind == "one":
        name = choice.choice(ONE)
        call = lambda t, given: find(t, name)(given[0])  # noqa: E731
    elif kind == "two":
        name = choice.choice(TWO)
        dtypes[1] = choice.choice([dtype, dtype, dtype, choice.choice(DTYPES)])
        shapes[1] = tuple([choice.choice([n, n, 1]) for n in shape])
        call = lambda t, given: find(t, name)(*given[:2])  # noqa: E731
    elif kind == "over":
        name = choice.choice(OVER)
        several = name in SEVERAL and choice.random() < 0.5
        dims = (
            tuple(choice.sample(range(len(shape)), choice.randint(1, len(shape))))
            if several
            else dim - choice.choice([0, len(shape)])
        )
        call = lambda t, given: find(t, name)(given[0], dim=dims)  # noqa: E731
    else:
        name = choice.choice(list(MORE))
        call = lambda t, given: MORE[name](t, *given, dim)  # noqa: E731
    laid = [layout_of(choice, s) for s in shapes]
    arrays = [values_of(choice, s, d) for (s, _), d in zip(laid, dtypes)]
    grad = dtype in FLOATS and choice.random() < 0.6
    return Case(
        f"{name} {dtypes[:2]} {shapes[:2]} {[v for _, v in laid[:2]]}", call, arrays, dtypes, [v for _, v in laid], grad
    )


def find(library: Any, name: str) -> Any:
    for part in name.split("."):
        library = getattr(library, part)
    return library


def run(library: Any, case: Case) -> tuple[str, list[Any], list[Any]]:
    """How a call ends: an error's class, or "" with its results and the gradients of its operands."""
    leaves, given = [], []
    for array, dtype, views in zip(case.arrays, case.dtypes, case.views):
        tensor = library.from_numpy(array.copy()).to(getattr(library, dtype))
        if case.grad and dtype in FLOATS:
            leaves.append(tensor.requires_grad_())
        for method, arguments in views:
            tensor = getattr(tensor, method)(*arguments)
        given.append(tensor)
    try:
        made = case.call(library, given)
        results = [r for r in (made if isinstance(made, (tuple, list)) else [made]) if library.is_tensor(r)]
        sums = [(r * weights(library, r)).sum() for r in results if r.requires_grad]
        total = sum(s.real if s.is_complex() else s for s in sums)
        grads = library.autograd.grad(total, leaves, allow_unused=True) if library.is_tensor(total) else []
    except Exception as error:
        return type(error).__name__, [], []
    return "", results, [g for g in grads if g is not None]


def weights(library: Any, result: Any) -> Any:
    """Different ones for all elements, so that the gradient of none is 0 by itself."""
    return library.linspace(0.5, 1.5, result.numel()).to(result.dtype).view(result.shape)


def difference(ours: Any, theirs: Any) -> str | None:
    """What is wrong with our tensor, if anything."""
    if ours.dtype.__repr__() != theirs.dtype.__repr__() or tuple(ours.shape) != tuple(theirs.shape):
        return f"{ours.dtype} {tuple(ours.shape)} for {theirs.dtype} {tuple(theirs.shape)}"
    dtype = repr(theirs.dtype).removeprefix("torch.")
    a, b = (x.detach().resolve_conj() for x in (ours, theirs))
    if dtype in ("float16", "bfloat16"):
        a, b = a.float(), b.float()
    x, y = a.numpy(), b.numpy()
    if x.dtype.kind not in "fc":
        return None if (x == y).all() else f"{np.sum(x != y)} of {x.size} differ"
    tolerance = TOLERANCE.get(dtype, 5e-5)
    with np.errstate(all="ignore"):
        scale = np.abs(np.where(np.isfinite(y), y, 0)).max(initial=0.1)
        agree = np.isclose(x, y, rtol=10 * tolerance, atol=tolerance * scale, equal_nan=True)
    if agree.all():
        return None
    place = tuple(np.argwhere(~agree)[0])
    return f"{np.sum(~agree)} of {x.size} differ: {x[place]} for {y[place]}"


def disagreement(ours: Any, theirs: Any, seed: int) -> str | None:
    """What both libraries don't agree on for the case of this seed; where only one refuses it, that is not looked at."""
    case = case_of(seed)
    (error, results, grads), (other_error, others, other_grads) = run(ours, case), run(theirs, case)
    if error and not other_error:
        return f"{seed}: {case.name}: {error}"
    if other_error:
        return None
    if len(results) != len(others) or len(grads) != len(other_grads):
        return f"{seed}: {case.name}: {len(results)} results and {len(grads)} gradients for {len(others)} and {len(other_grads)}"
    for kind, pairs in ("result", zip(results, others)), ("gradient", zip(grads, other_grads)):
        for mine, wanted in pairs:
            what = difference(mine, wanted)
            if what is not None:
                return f"{seed}: {case.name}: {kind}: {what}"
    return None
