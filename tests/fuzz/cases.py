"""Single calls at random: which function, on operands of which dtypes, sizes, layouts and origins, and how it is called.

A case is made from a record of tests/ops: one of its samples with other sizes and dtypes. It is data, which `script` turns into the few
lines of Python that are run, and printed when something is wrong with them.
"""

from __future__ import annotations

import ast
import contextlib
import math
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "ops"))
import records
import variants
from recording import Sample, X

from penlight.ops import OPS

SOURCE = Path(__file__).resolve().parents[2] / "src" / "penlight"
FLOATS = ("float32", "float64", "float16", "bfloat16", "complex64", "complex128")
DTYPES = (*("float32",) * 8, *("float64",) * 4, *FLOATS, "int64", "int32", "int16", "int8", "uint8", "bool")
ORIGINS = (
    "pickled",
    "worker",
    "metadata",
    "alias",
    "subclass",
    "read-only",
    "npy",
    "memory-mapped",
    "memory-mapped read-only",
    "bytes",
)
WAYS = ("deepcopy", "pickle", "saved", "clone")
OUTS = (
    "like",
    "empty",
    "gaps",
    "transposed",
    "offset",
    "fenced at the end",
    "fenced at the start",
    "over 0",
    "over 1",
    "over 7",
)
MOST = 70_000  # elements of an operand
# Functions whose work grows faster than their operands: the largest size of a dimension.
COSTLY = {
    "linalg.": 24, "cdist": 80, "pdist": 60, "conv": 40, "matrix_exp": 12, "svd": 24, "qr": 24, "lu": 24, "cholesky": 24, "inverse": 24, "pinverse": 24,
    "det": 24, "lstsq": 24, "geqrf": 24, "orgqr": 24, "ormqr": 24, "eig": 24, "kron": 40, "combinations": 20, "cartesian_prod": 30, "einsum": 60, "outer": 300,
    "ctc_loss": 40, "lu_": 24, "triangular_solve": 24, "slogdet": 24, "logdet": 24, "matrix_power": 24, "vander": 100, "meshgrid": 60, "ger": 300,
    "addr": 300, "tensordot": 60, "chain_matmul": 60, "bilinear": 30, "attention": 60, "cov": 100, "corrcoef": 100, "block_diag": 100, "diag": 200, "diagflat": 40, "triplet": 300,
    "multilabel_margin": 60, "stft": 300, "istft": 300, "matmul": 130, "mm": 130, "bmm": 70, "inner": 200, "grid_sample": 60, "interpolate": 60, "upsample": 60,
    "rnn": 40, "lstm": 40, "gru": 40, "fold": 60, "_one_hot": 1000, "tile": 300, "repeat": 300, "hermite": 3000, "laguerre": 3000, "chebyshev": 3000, "legendre": 3000,
    "pool": 120, "zeta": 5000, "polygamma": 5000, "trunc_normal": 5000, "embedding": 300, "multinomial": 300, "pad": 200, "lobpcg": 24, "lowrank": 24, "addbmm": 70,
    "hash": 500, "mvlgamma": 5000, "multigammaln": 5000, "igamma": 5000, "gammainc": 5000, "tril_indices": 300, "triu_indices": 300,
}  # fmt: skip
# Functions that are not smooth where elements are equal; attention, for which PyTorch reads other memory than that of operands that
# overlap themselves; stft, whose gradient it averages over elements at one place; and strides, which say nothing of a dimension of one element. Neither is writing into memory that overlaps itself defined, nor drawing for it.
ALL_DIFFERENT = (
    "linalg.",
    "svd",
    "qr",
    "std",
    "sort",
    "topk",
    "median",
    "nanmedian",
    "kthvalue",
    "mode",
    "renorm",
    "cholesky",
    "pinverse",
    "inverse",
    "logdet",
    "det",
    "norm",
    "nuclear_norm",
    "lu",
    "quantile",
    "nanquantile",
    "slogdet",
    "geqrf",
    "gradient",
    "nn.functional.batch_norm",
    "nn.functional.instance_norm",
    "nn.functional.scaled_dot_product_attention",
    "stft",
    "corrcoef",
    "Tensor.stride",
)
SKIPPED = {
    "empty": "uninitialised memory", "empty_like": "uninitialised memory", "empty_strided": "uninitialised memory", "empty_permuted": "uninitialised memory",
    "Tensor.new_empty": "uninitialised memory", "Tensor.new_empty_strided": "uninitialised memory", "Tensor.resize_": "uninitialised memory",
    "Tensor.resize_as_": "uninitialised memory", "Tensor.new": "uninitialised memory", "slice_inverse": "reads memory that it does not own in PyTorch",
    "Tensor.data_ptr": "an address", "Tensor.set_": "an address", "as_strided_scatter": "tests/ops/known.py", "Tensor.as_strided_scatter": "tests/ops/known.py",
}  # fmt: skip


@dataclass(frozen=True)
class Operand:
    """A tensor of a case. `made` is the expression of its values in a shape of its own (a matrix that has an inverse), if it has one."""

    shape: tuple[int, ...]
    dtype: str
    seed: int = 0
    low: float = -2.0
    high: float = 2.0
    data: str = ""
    layout: str = "plain"
    origin: str = "fresh"
    way: str = "from_numpy"
    special: bool = False
    grad: bool = False
    wide: bool = False  # whether the values are converted to 64 bits

    def expression(self) -> str:
        numpy_dtype = "float32" if self.dtype == "bfloat16" else self.dtype
        if self.data:
            text = (
                f"np.array({self.data}, {numpy_dtype!r})"
                if self.data[0] in "[(-.0123456789" or self.data in ("nan", "inf", "True", "False")
                else self.data
            )
            text = f"bits({text})" if self.dtype == "bfloat16" else text
        else:
            bounds = (
                "" if (self.low, self.high) == (-2.0, 2.0) or self.dtype == "bool" else f", {self.low!r}, {self.high!r}"
            )
            text = f"uniform({self.seed}, {self.shape}, {self.dtype!r}{bounds})"
        if self.special:
            text = f"special({text}, {self.seed})"
        if (self.layout, self.origin) != ("plain", "fresh"):
            text = f"arrange({text}, {self.layout!r}" + (f", {self.origin!r})" if self.origin != "fresh" else ")")
        if self.dtype == "bfloat16" or self.way != "from_numpy":
            text = f"tensor(t, {text}, {self.dtype!r}" + (f", {self.way!r})" if self.way != "from_numpy" else ")")
        else:
            text = f"t.from_numpy({text})"
        if self.wide and self.dtype in FLOATS:
            text += ".to(t.complex128)" if "complex" in self.dtype else ".to(t.float64)"
        return text + (".requires_grad_()" if self.grad else "")


@dataclass(frozen=True)
class Case:
    name: str
    args: tuple[Any, ...]
    kwargs: tuple[tuple[str, Any], ...] = ()
    mode: str = "call"  # or "grad", "backward", "second", "in place", "out KIND"
    misfit: bool = False  # whether one operand does not fit the others, so that a refusal may be in any words

    def operands(self) -> list[Operand]:
        return [o for value in (*self.args, *[v for _, v in self.kwargs]) for o in _operands(value)]

    def changed(self, change: Callable[[Operand], Operand]) -> Case:
        """The case with other operands."""
        kwargs = tuple([(k, _changed(v, change)) for k, v in self.kwargs])
        return replace(self, args=tuple([_changed(a, change) for a in self.args]), kwargs=kwargs)


def _operands(value: Any) -> list[Operand]:
    if isinstance(value, Operand):
        return [value]
    return [o for v in value for o in _operands(v)] if isinstance(value, (tuple, list)) else []


def _changed(value: Any, change: Callable[[Operand], Operand]) -> Any:
    if isinstance(value, Operand):
        return change(value)
    return type(value)([_changed(v, change) for v in value]) if isinstance(value, (tuple, list)) else value


# ----- The text of a case -------------------------------------------------------------------------------------------


def script(case: Case) -> str:
    """The case as Python, over `t`, `np` and what arrays.py has. Its results are in `r` and `g`, its operands in x0, x1, ..."""
    names: list[str] = []
    lines: list[str] = []

    def write(value: Any) -> str:
        if isinstance(value, Operand):
            names.append(f"x{len(names)}")
            lines.append(f"{names[-1]} = {value.expression()}")
            return names[-1]
        if isinstance(value, tuple):
            return f"({', '.join([write(v) for v in value])}{',' if len(value) == 1 else ''})"
        if isinstance(value, list):
            return f"[{', '.join([write(v) for v in value])}]"
        if isinstance(value, str) and value.startswith(("dtype:", "format:")):
            return f"t.{value.partition(':')[2]}"
        if isinstance(value, float) and not math.isfinite(value):
            return f"float('{value}')"
        if not isinstance(value, (int, float, complex, str, bool, type(None))) and "." in repr(type(value)):
            raise ValueError(f"no text for {value!r}")
        return repr(value)

    args = [write(a) for a in case.args] + [f"{k}={write(v)}" for k, v in case.kwargs]
    leaves = ", ".join([n for n, o in zip(names, case.operands()) if o.grad])
    call = f"t.{case.name}({', '.join(args)})"
    lines.append("t.manual_seed(0)")
    if case.mode == "in place":
        lines.append(f"r = {args[0]}.{case.name.split('.')[-1]}_({', '.join(args[1:])})")
    elif case.mode == "in place on a clone":
        lines.append(f"r = {args[0]}.clone()")
        lines.append(f"r.{case.name.split('.')[-1]}_({', '.join(args[1:])})")
        lines.append(f"g = slopes(t, r, [{leaves}])")
    elif case.mode.startswith("out"):
        over = f", {names[0]}" if "over" in case.mode and names else ""
        lines.append(f"o = out_of(t, {call}, {case.mode[4:]!r}{over})")
        lines.append("t.manual_seed(0)")
        lines.append(f"r = {call[:-1]}, out=o)")
    else:
        lines.append(f"r = {call}")
    if case.mode == "grad":
        lines.append(f"g = slopes(t, r, [{leaves}])")
    if case.mode == "second":
        lines.append(f"g = slopes(t, r, [{leaves}], True)")
        lines.append(f"g = slopes(t, g, [{leaves}])")
    if case.mode == "backward":
        lines.append(f"total(t, r).backward(); g = [x.grad for x in ({leaves},)]")
    return "\n".join(lines)


# ----- Making cases -------------------------------------------------------------------------------------------------


@cache
def thresholds() -> tuple[int, ...]:
    """The sizes at which the source chooses another way: its whole constants, by whatever name, and what it compares with."""
    found: set[int] = set()
    for path in SOURCE.rglob("*.py"):
        tree = ast.parse(path.read_text())
        named = [n.value for n in tree.body if isinstance(n, ast.Assign) and getattr(n.targets[0], "id", "").isupper()]
        compared = [side for n in ast.walk(tree) if isinstance(n, ast.Compare) for side in (n.left, *n.comparators)]
        for node in named + compared:
            if not any(isinstance(n, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)) for n in ast.walk(node)):
                with contextlib.suppress(Exception):
                    value = eval(compile(ast.Expression(node), "", "eval"), {})
                    found.update([value] if type(value) is int and 4 <= value < MOST else [])
    return tuple(sorted(found))


def size_of(choice: random.Random, most: int) -> int:
    """A size of a dimension: small, or around a threshold."""
    if choice.random() < 0.45:
        return min(most, choice.choice([1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100]))
    around = [n for n in thresholds() if n <= most]
    # The larger half is chosen as often as the smaller one; the sizes of both matter, the time of the larger ones too.
    return max(1, min(most, choice.choice(around) + choice.choice([-1, 0, 0, 1])))


def shape_of(choice: random.Random, most: int) -> tuple[int, ...]:
    left, sizes = size_of(choice, most), []
    for _ in range(choice.choice([1, 1, 2, 2, 2, 3, 4]) - 1):
        sizes.append(min(choice.choice([1, 2, 3, 4, 5, 8, 16, 17, 33, 64]), left))
        left = max(1, left // sizes[-1])
    sizes.append(left)
    choice.shuffle(sizes)
    return tuple(sizes)


def largest(name: str) -> int:
    """The largest size of a dimension for a function."""
    return min([most for part, most in COSTLY.items() if part in name], default=MOST)


@cache
def pointwise(name: str) -> bool:
    op = OPS.get(name.split(".")[-1])
    return op is not None and op.kind == "pointwise"


@cache
def names() -> tuple[str, ...]:
    return tuple([n for n in records.RECORDS if n not in SKIPPED and records.RECORDS[n].samples])


@cache
def in_place_names() -> frozenset[str]:
    import penlight

    kept = [n for n in names() if records.RECORDS[n].inplace is not False and "." not in n]
    return frozenset([n for n in kept if hasattr(penlight.Tensor, n + "_")])


def misfit_of(seed: int) -> Case:
    """The case of a seed with one operand of another size, rank or dtype, all others left as they are."""
    case = case_of(seed)
    choice = random.Random(seed + 1)
    operands = case.operands()
    if not operands:
        return case
    at, count = choice.randrange(len(operands)), -1

    def change(operand: Operand) -> Operand:
        nonlocal count
        count += 1
        return _altered(choice, operand) if count == at else operand

    return replace(case.changed(change), misfit=True)


def _altered(choice: random.Random, operand: Operand) -> Operand:
    shape, kind = list(operand.shape), choice.choice(["size", "size", "rank", "rank", "dtype"])
    if kind == "dtype":
        dtype = choice.choice([d for d in dict.fromkeys(DTYPES) if d != operand.dtype])
        return replace(operand, dtype=dtype, grad=operand.grad and dtype in FLOATS, special=False)
    if kind == "size" and shape:
        dim = choice.randrange(len(shape))
        shape[dim] = max(0, choice.choice([0, 1, shape[dim] - 1, shape[dim] + 1, shape[dim] + 1, 2 * shape[dim]]))
    elif choice.random() < 0.5 and shape:
        del shape[choice.randrange(len(shape))]
    else:
        shape.insert(choice.randint(0, len(shape)), choice.choice([1, 1, 2, 3]))
    data = operand.data
    if data:
        literal = not data[0].isalpha() or data in ("nan", "inf", "True", "False")
        numpy_dtype = "float32" if operand.dtype == "bfloat16" else operand.dtype
        data = f"np.resize({f'np.array({data}, {numpy_dtype!r})' if literal else data}, {tuple(shape)})"
    return replace(operand, data=data, shape=tuple(shape), layout="plain")


def case_of(seed: int, guarded: bool = False) -> Case:
    """The case of a seed."""
    choice = random.Random(seed)
    name = choice.choice(names())
    record = records.RECORDS[name]
    sample = (
        choice.choice(record.samples) if not record.errors or choice.random() < 0.95 else choice.choice(record.errors)
    )
    dtype = choice.choice(DTYPES)
    if choice.random() < 0.9:
        sample = variants.changed(sample, variants.cast(dtype))
    sample = resized(choice, name, sample)
    mode = mode_of(choice, name, sample)
    graded = mode in ("grad", "second", "backward", "in place on a clone")

    origin = choice.choice(ORIGINS) if choice.random() < 0.3 else ""  # of all operands
    origin = "big-endian" if choice.random() < 0.005 else origin  # which is always refused

    def operand(value: X) -> Operand:
        return operand_of(choice, value, graded, guarded, origin)

    args = tuple([_written(a, operand) for a in sample.args])
    kwargs = tuple([(k, _written(v, operand)) for k, v in sample.kwargs.items()])
    case = Case(name, args, kwargs, mode)
    if "in place" in mode or name.startswith(ALL_DIFFERENT) or name.endswith(("_scatter", "_", "_like")):
        case = case.changed(
            lambda o: replace(o, layout="plain") if o.layout.startswith(("overlapping", "expanded")) else o
        )
    if graded and not any(o.grad for o in case.operands()):
        case = replace(case, mode="in place" if mode == "in place on a clone" else "call")
    if mode.startswith("in place") and not (args and isinstance(args[0], Operand)):
        case = replace(case, mode="call")
    return case


def fenced_case(name: str) -> Case | None:
    """The first sample of a function, in float32, of unpickled arrays against forbidden pages, with gradients; None without a tensor."""
    sample = variants.changed(records.RECORDS[name].samples[0], variants.cast("float32"))
    choice = random.Random(name)

    def operand(value: X) -> Operand:
        made = operand_of(choice, value, True, True)
        return replace(made, layout="plain", origin="pickled, fenced at the end", way="from_numpy", special=False)

    args = tuple([_written(a, operand) for a in sample.args])
    case = Case(name, args, tuple([(k, _written(v, operand)) for k, v in sample.kwargs.items()]))
    graded = any(o.grad for o in case.operands())
    return replace(case, mode="grad" if graded else "call") if case.operands() else None


def _written(value: Any, operand: Callable[[X], Operand]) -> Any:
    if isinstance(value, X):
        return operand(value)
    return type(value)([_written(v, operand) for v in value]) if type(value) in (tuple, list) else value


def mode_of(choice: random.Random, name: str, sample: Sample) -> str:
    if name in in_place_names() and choice.random() < 0.25:
        return choice.choice(["in place", "in place on a clone"])
    if "." not in name and not name.startswith("Tensor.") and "out" not in sample.kwargs and choice.random() < 0.12:
        return f"out {choice.choice(OUTS)}"
    return choice.choice(["call", "call", "grad", "grad", "grad", "backward", "second"])


def resized(choice: random.Random, name: str, sample: Sample) -> Sample:
    """The sample with other sizes: everywhere the same ones for the same, or any shape where only broadcasting rules."""
    most, plain = largest(name), variants.tensors(sample)
    few = choice.random() < 0.8
    most = min(most, 5000) if few else most
    if pointwise(name) and plain and all(type(x) is X and x.data is None for x in plain) and choice.random() < 0.7:
        shape = shape_of(choice, most)

        def reshape(x: X) -> X:
            spread = choice.random() < 0.3 and len(plain) > 1
            own = tuple([choice.choice([n, 1]) for n in shape]) if spread else shape
            return replace(x, shape=own, layout="plain")

        return variants.changed(sample, reshape)
    sizes = {n for x in plain if x.data is None for n in _shape(x) if n > 1}
    if not sizes or choice.random() < 0.15:
        return sample
    limit = min(MOST, most * most)
    table: dict[int, int] = {}
    for n in sorted(sizes, key=lambda _: choice.random())[: choice.choice([1, 1, 2, 4])]:
        trial = {**table, n: size_of(choice, most)}
        products = [int(np.prod([trial.get(k, k) for k in _shape(x)])) for x in plain if x.data is None]
        # Sizes of several operands that broadcast multiply.
        if sum(products) <= (min(limit, 6000) if few else limit) and math.prod(trial.values()) <= 100 * MOST:
            table = trial
    others = choice.random() < 0.5

    def scaled(value: Any) -> Any:
        if isinstance(value, X):
            if value.data is not None:
                return value
            return replace(value, shape=tuple([table.get(n, n) for n in _shape(value)]))
        if type(value) in (tuple, list):
            return type(value)([table.get(v, v) if type(v) is int and others else scaled(v) for v in value])
        return value

    return Sample(tuple([scaled(a) for a in sample.args]), {k: scaled(v) for k, v in sample.kwargs.items()})


def _shape(x: X) -> tuple[int, ...]:
    return (x.shape,) if isinstance(x.shape, int) else tuple(x.shape)


def operand_of(choice: random.Random, value: X, graded: bool, guarded: bool, origin: str = "") -> Operand:
    """A tensor of a sample with a layout and an origin."""
    shape, seed = _shape(value), choice.randrange(1000)
    dtype = value.dtype
    data = ""
    if value.data is not None:
        array = np.asarray(value.data, None if dtype in ("same", "bfloat16") else dtype)
        dtype = array.dtype.name if dtype != "bfloat16" else dtype
        shape, data = array.shape, _literal(array)
    elif type(value) is not X:
        kept = "float32" if dtype == "bfloat16" else dtype
        data = f"{type(value).__name__}({shape}, {kept!r}).array(np.random.default_rng({seed}))"
    floating = dtype in FLOATS
    layout = "plain" if choice.random() < 0.4 else layout_of(choice, shape)
    if value.layout != "plain" and data == "":
        layout = (
            {
                "transposed": f"transposed {len(shape) - 1}",
                "sliced": f"gaps {len(shape) - 1}",
                "expanded": "expanded 0",
                "channels": "channels",
            }[value.layout]
            if shape
            else "plain"
        )
    origin = origin or (choice.choice(ORIGINS) if choice.random() < 0.15 else "fresh")
    way = choice.choice(WAYS) if choice.random() < 0.08 else "from_numpy"
    if guarded:
        origin = "" if origin == "fresh" or origin.startswith("memory-mapped") else f"{origin}, "
        origin += choice.choice(["fenced at the end", "fenced at the end", "fenced at the start"])
    special = floating and not data and choice.random() < 0.03 and dtype != "bfloat16"
    grad = graded and floating and value.grad and choice.random() < 0.9
    return Operand(shape, dtype, seed, value.low, value.high, data, layout, origin, way, special, grad)


def _literal(array: np.ndarray) -> str:
    return repr(array.tolist()).replace("nan", "np.nan").replace("inf", "np.inf")


def layout_of(choice: random.Random, shape: tuple[int, ...]) -> str:
    if not shape or 0 in shape:
        return "plain"
    kinds = ["transposed", "transposed", "gaps", "gaps", "offset", "expanded", "misaligned", "overlapping"]
    kind = choice.choice([*kinds, "channels"] if len(shape) > 2 else kinds)
    return kind if kind in ("misaligned", "overlapping", "channels") else f"{kind} {choice.randrange(len(shape))}"
