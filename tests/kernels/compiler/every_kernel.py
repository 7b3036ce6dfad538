"""All kernels of the package, with arguments for each, and ways to run them."""

from __future__ import annotations

import ctypes
import inspect
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import penlight.kernels.recurrent.kernels as recurrent_rows  # in its package it is a placeholder until its first use
from penlight.kernels import distance, executable, fma, scalars, scan, special
from penlight.kernels.attention import rows as attention_rows
from penlight.kernels.compiler import bounds, interpret, ir, llvm_engine, python, trace, ufuncs, x86
from penlight.kernels.compiler.allocate import Target
from penlight.kernels.compiler.ir import Kernel
from penlight.kernels.compiler.rows import Rows
from penlight.kernels.conv import depthwise_compiled as depthwise, implicit_plans
from penlight.kernels.elementwise import plans
from penlight.kernels.grid_sample import kernels as grid_sample
from penlight.kernels.index import kernels as index
from penlight.kernels.loss import compiled as loss, ctc
from penlight.kernels.norm import kernels as norm
from penlight.kernels.pool import kernels as pool
from penlight.kernels.random import gradients, normal, normal_kernels, rejection, twister  # noqa: F401  (they declare kernels)
from penlight.kernels.reduce import kernels as reduce
from penlight.kernels.softmax import kernels as softmax_rows

for _name in special.__all__:  # those of these files, which are imported when a function is asked for
    getattr(special, _name)

# What machine code can be made for here.
TARGETS: dict[str, Target | None] = {"x86": x86.TARGET} if executable.available() else {}
if executable.llvm_obstacle() is None:
    TARGETS["llvm"] = None
LENGTHS = (0, 1, 2, 7, 8, 9, 33)
EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 7.0, 25.0, -2.5, 1e-30, 1e30, np.inf, -np.inf, np.nan, 5e-324, 1.7e308]
# Functions whose series need many terms outside of their domain: their arguments lie in these intervals.
DOMAINS = {
    "gamma_grad": ((0.01, 50.0), (0.01, 50.0), (1e-10, 1e-9)),
    "dirichlet_grad": ((0.01, 0.8), (0.1, 20.0), (21.0, 50.0)),
    "incomplete": (None, None, (1e-16, 1e-15)),
}

EITHER = (False, True)
# Functions with loops, whether float32 is computed with as float64, and what is known when they are compiled.
LOOPS: list[tuple[Any, bool, dict[str, Any]]] = [
    (distance._all_pairs, False, {"squared": EITHER}),
    (depthwise._correlate, False, {"stride": (1, 2), "narrow": ((), (0, 1, 2)), "across": (2,), "apart": (3,), "out_apart": (3,), "tall": (4,), "broad": (11,)}),
    (depthwise._correlate, False, {"stride": (1,), "narrow": ((),), "across": (8,), "apart": (24,), "out_apart": (8,), "tall": (8,), "broad": (8,)}),
    (implicit_plans._copy, False, {"step": (1, 2, 3), "out_step": (1, 2), "vectors": (False,), "narrow": ((), (0, 1, 2))}),
    (implicit_plans._copy, False, {"step": (1, 2), "out_step": (1,), "vectors": (True,), "narrow": ((),)}),
    (implicit_plans._pack, False, {"rows": ((0,), (0, 1, 2, 3), (0, 1, 2, 3, 4, 5))}),
    (depthwise._weigh, False, {"stride": (1, 2), "narrow": ((), (0, 1, 2)), "narrow_grad": ((), (0, 1))}),
    (distance._euclid_back, False, {}),
    (distance._cosines, True, {}),
    (pool._largest, False, {}),
    (pool._mean, False, {}),
    (pool._mean_back, False, {"tiled": EITHER}),
    *[
        (pool._largest_sliding, False, {"taps": ((0, 1), (0, 2, 4)), "reach": (4,), "stride": (stride,), "d_step": (1,), "h_step": (2,), "bordered": EITHER, "pad": (1,)})
        for stride in (1, 2, 3)
    ],
    (pool._mean_sliding, False, {"taps": ((0, 1, 2),), "stride": (1, 2), "bordered": EITHER, "overridden": (False,)}),
    (pool._mean_back_sliding, False, {"taps": ((1, 0),), "stride": (1, 2), "bordered": EITHER, "overridden": (True,), "tiled": (False,)}),
    (pool._mean_back_sliding, False, {"taps": ((1, 0),), "stride": (2,), "bordered": (False,), "overridden": (False,), "tiled": (True,)}),
    (pool._at_indices, False, {"does": ("add", "write", "read")}),
    (norm._layer, False, {"centred": EITHER, "scaled": (True,), "shifted": EITHER}),
    (norm._layer_back, False, {"centred": EITHER, "scaled": EITHER, "of_x": (True,), "of_weight": EITHER, "of_bias": (True,)}),
    (norm._group, False, {"scaled": (True,), "shifted": EITHER}),
    (norm._group_back, False, {"scaled": EITHER}),
    (norm._batch, False, {"scaled": EITHER, "shifted": (True,)}),
    (norm._batch_eval, False, {"scaled": EITHER, "shifted": EITHER}),
    (norm._batch_back, False, {"scaled": (True,), "training": EITHER}),
    (norm._features, False, {"scaled": EITHER, "shifted": (True,)}),
    (norm._features_back, False, {"scaled": (True,), "training": EITHER}),
    (norm._moments, False, {}),
    (loss._cross_entropy, False, {"each": EITHER}),
    (loss._cross_entropy_back, False, {"each": EITHER}),
    (loss._nll, True, {"weighted": EITHER, "each": EITHER}),
    (loss._nll_back, True, {"weighted": EITHER, "reduction": (0, 1)}),
    (loss._multilabel, False, {"back": EITHER}),
    (ctc._forward, True, {}),
    (ctc._backward, True, {"forgiving": EITHER}),
    (grid_sample._taps, False, {"taps": ((0, 1),), "mode": (0,), "padding": (0, 2), "align": (0,), "dims": (2,), "slopes": EITHER}),
    (grid_sample._taps, False, {"taps": ((0,),), "mode": (1,), "padding": (1,), "align": (1,), "dims": (2,), "slopes": (False,)}),
    (grid_sample._taps, False, {"taps": ((0, 1, 2, 3),), "mode": (2,), "padding": (2,), "align": (1,), "dims": (2,), "slopes": (True,)}),
    (grid_sample._sample, False, {"taps": ((0, 1),), "dims": (2, 3), "members": ((0, 1, 2, 3),)}),
    (grid_sample._image_grad, False, {"taps": ((0, 1),), "dims": (2, 3), "members": ((0, 1, 2, 3),)}),
    (fma._shifted, False, {}),
    (fma._added, False, {}),
    (scan._extrema_rows, False, {"largest": EITHER}),
    (scan._extrema_columns, False, {"largest": (True,)}),
    (scan._rows, True, {"product": EITHER}),
    (scan._columns, True, {"product": (True,)}),
    (index.along, False, {"act": ("take", "put", "mul"), "shared": EITHER}),
    (index.along_inner, False, {"act": ("take", "add")}),
    (index.reduce_rows, False, {"act": ("add", "min")}),
    (index.bag_sums, False, {}),
    (index.masked, False, {"act": ("take", "put", "fill")}),
    (index.coordinates, False, {}),
    (index.swap, False, {}),
    (grid_sample._grid_grad, False, {"taps": ((0, 1),), "dims": (2, 3), "members": ((0, 1, 2, 3),)}),
]  # fmt: skip


def _loops() -> Iterator[tuple[str, Kernel]]:
    for function, wide, choices in LOOPS:
        for values, floats in itertools.product(itertools.product(*choices.values()), (ir.F32, ir.F64)):
            known = dict(zip(choices, values, strict=True))
            said = " ".join(map(str, [function.__module__.split(".")[2], function.__name__, *values, floats]))
            yield said, python.loops(function, floats, ir.F64 if wide else floats, **known)


def _reductions() -> Iterator[tuple[str, Kernel]]:
    """Of every element type, and of every operation and term for one of them."""
    floats = [("f32", how, of) for how in reduce._WAYS for of in reduce._TERMS]
    floats += [(element, how, "") for element in ("f64", "f16", "bf16") for how in ("sum", "max")]
    whole = [(element, "sum", "") for element in ("i64", "i32", "i16", "i8", "u8")]
    for (element, how, of), along, split in itertools.product([*floats, *whole], EITHER, EITHER):
        function, known = reduce.definition(how, of, along, (element, how, of) in whole)
        type_ = ir.Type.of(element)
        compute = type_ if type_.is_float else ir.F32 if type_.is_short else ir.F64
        said = f"reduce {function.__name__} {element} {how} {of} {split}"
        yield said, python.loops(function, type_, compute, split=split, **known)


# Definitions of rows that are not for both dtypes: whether they are for float64.
OF_ONE_DTYPE = {
    normal_kernels.box_muller: (False,),
    twister.twist: (False,),
    twister.uniform24: (False,),
    twister.uniform53: (True,),
}
FLAT = (twister.twist, twister.uniform24, twister.uniform53)
FLOATS = ("float32", "float64")


def of_rows(define: Callable[..., None], flat: bool = False, double: bool = False, **options: Any) -> Kernel:
    rows = Rows(define.__name__.strip("_"), flat, (), double)
    define(rows, **options)
    return rows.kernel()


def _definitions() -> Iterator[Callable[..., None]]:
    modules = (attention_rows, normal_kernels, recurrent_rows, softmax_rows)
    for module in modules:
        own = [f for f in vars(module).values() if inspect.isfunction(f) and f.__module__ == module.__name__]
        assert own, f"{module} has no definitions: is it a placeholder?"
        yield from [define for define in own if not define.__name__.startswith("_")]
    yield from FLAT


def _rows() -> Iterator[tuple[str, Kernel]]:
    for define in _definitions():
        options = list(inspect.signature(define).parameters)[1:]
        for double, *values in itertools.product(OF_ONE_DTYPE.get(define, EITHER), *[EITHER] * len(options)):
            said = " ".join(map(str, [define.__module__.split(".")[2], define.__name__, double, *values]))
            yield said, of_rows(define, define in FLAT, double, **dict(zip(options, values, strict=True)))


def _body(ufunc: np.ufunc) -> Callable[..., Any]:
    return (lambda x, out: ufunc(x, out)) if ufunc.nin == 1 else lambda x, y, out: ufunc(x, y, out=out)


def _mixed(x: Any, y: Any, chosen: Any, out: Any) -> None:
    """Of everything a little: masks, numbers on either side, functions that are no ufuncs."""
    out[...] = np.where(chosen & (x > 0.25), 2.0 - x / 3.0, np.abs(y) * x.special("erf"))


def _traced() -> Iterator[tuple[str, Kernel]]:
    """Bodies in NumPy."""
    for ufunc in (*ufuncs.UFUNCS, *ufuncs.COMPARISONS, *ufuncs.INQUIRIES):
        gives_mask = ufunc not in ufuncs.UFUNCS
        for kind in FLOATS[: 2 if ufunc in ufuncs.UFUNCS_OF_DOUBLES and ufunc is not np.power else 1]:
            kinds = (*[kind] * ufunc.nin, "bool" if gives_mask else kind)
            yield (
                f"{ufunc.__name__} {kind}",
                of_rows(trace.define_flat, True, body=_body(ufunc), arrays=kinds, numbers=0),
            )
    for kind in ("float32", "float16", "bfloat16"):
        kinds = (kind, kind, "bool", kind)
        yield f"mixed {kind}", of_rows(trace.define_flat, True, body=_mixed, arrays=kinds, numbers=0, precision=kind)
        kinds = (f"vector {kind}", f"column {kind}", "vector bool", f"vector {kind}")
        yield f"mixed rows {kind}", of_rows(trace.define_rows, body=_mixed, arrays=kinds, numbers=0, precision=kind)
    scaled: dict[str, Any] = {"body": lambda x, y, out, a: np.multiply(x * y, a, out), "numbers": 1}
    for kind in FLOATS:
        kinds = (f"vector {kind}", f"column {kind}", f"vector {kind}")
        yield f"scaled rows {kind}", of_rows(trace.define_rows, arrays=kinds, **scaled)
    yield "total", of_rows(trace.define_total, arrays=2, **scaled)
    kinds = ("vector float32", "column float32", "result float32")
    for down in EITHER:
        yield f"sums {down}", of_rows(plans.define_sums, arrays=kinds, down=down, **scaled)


def kernels() -> Iterator[tuple[str, Kernel]]:
    yield from _rows()
    yield from _traced()
    for function in scalars.FUNCTIONS:
        if function.__module__.startswith("penlight."):
            for char in "fd":
                yield f"{function.__name__} {char}", python.elementwise(function, *scalars.types_of(function, char))
    for sample, width in rejection.SAMPLERS.items():
        kernel = python.loops(rejection.samples, ir.F64, ir.F64, sample=sample, width=width)
        yield f"samples of {sample.__name__}", kernel._replace(name=f"samples{sample.__name__}")
    yield from _loops()
    yield from _reductions()


def walk(region: ir.Region) -> Iterator[ir.Op]:
    """All ops of a region and of the regions inside it, in order."""
    for op in region.ops:
        yield op
        for inner in op.regions:
            yield from walk(inner)


def arguments(kernel: Kernel, length: int, seed: int = 0) -> dict[str, Any]:
    """Arguments with which a kernel can run, by name."""
    pick = np.random.default_rng(seed)
    if kernel.name.startswith("samples"):
        return _for_samples(kernel, length, pick)
    if kernel.arguments[0].attribute == "low":
        return _for_rows(kernel, length, pick)
    if not any([op.attribute == f"{name}_step" for op in kernel.arguments for name in kernel.buffers]):
        return _for_loops(kernel, length, pick)
    columns = [buffer for buffer in kernel.buffers.values() if buffer.name != "out"]
    named: dict[str, Any] = {"begin": 0, "end": length, "out": np.zeros(length, columns[0].type.dtype)}
    domains = DOMAINS.get(kernel.name, (None,) * len(columns))
    for buffer, domain in zip(columns, domains, strict=True):
        if domain is None:
            values = np.where(pick.random(length) < 0.5, pick.choice(EDGES, length), pick.uniform(-5, 40, length))
            if buffer.name == "n":  # a degree: the recurrence takes as many steps
                values = np.where(np.abs(values) < 50, values, 20.0)
        else:
            values = pick.uniform(*domain, length)
        with np.errstate(over="ignore"):
            named[buffer.name] = values.astype(buffer.type.dtype)
        named[f"{buffer.name}_step"] = 1
    return named


def _for_samples(kernel: Kernel, length: int, pick: np.random.Generator) -> dict[str, Any]:
    shape = pick.choice([0.1, 0.7, 3.0, 30.0], length)
    if kernel.name.endswith("gamma"):
        boosted = shape < 1
        rows = [shape, boosted, 1 / shape, np.where(boosted, shape + 1, shape) - 1 / 3]
    elif kernel.name.endswith("binomial"):
        count, prob = pick.choice([1.0, 10.0, 500.0], length), pick.choice([0.0, 0.2, 0.4, 0.5, 1.0], length)
        mean = count * prob
        with np.errstate(all="ignore"):
            rows = [
                count,
                prob,
                prob,
                mean,
                np.sqrt(mean * (1 - prob)),
                prob / (1 - prob),
                np.floor((count + 1) * prob),
            ]
    else:
        rows = [shape * 2]
    draws = pick.random(6 * length + 1)  # perhaps too few
    table = np.stack(rows, 1).astype(np.float64).reshape(-1)
    state = np.array([np.nan, 0, 0])
    return {
        "begin": 0, "end": length, "table": table, "draws": draws, "out": np.zeros(length), "state": state, "size": draws.size,
        "count": draws.size,
    }  # fmt: skip


def _for_rows(kernel: Kernel, length: int, pick: np.random.Generator) -> dict[str, Any]:
    """Arrays that are exactly as large as the kernel requires; those whose rows lie anywhere have them in another order."""
    if any([buffer.type.element in ("f16", "bf16", "bool") for buffer in kernel.buffers.values()]):
        length = 8 * min(length, 5)
    flat = kernel.arguments[1] is kernel.arguments[-1] or kernel.arguments[2].type.is_float
    rows = length if flat else min(length, 5)
    named: dict[str, Any] = {"low": 0, "high": rows, "columns": length}
    named.update({op.attribute: float(pick.integers(1, 9)) for op in kernel.arguments if op.type.is_float})
    found = bounds.requirements(kernel)
    placed = [buffer for buffer in kernel.buffers.values() if buffer.strided]
    for buffer in kernel.buffers.values():
        size = rows * length if buffer.strided else max(eval(found.sizes.get(buffer.name, "0"), {}, named), 0)
        values = pick.normal(0, 2, size)
        if buffer.type.is_float:
            values = np.where(pick.random(size) < 0.9, values, pick.choice([0.0, -0.0, np.nan, np.inf], size))
        elif buffer.type.element == "bf16":
            values = values.astype(np.float32).view(np.int32) >> 16
        elif buffer.type is ir.BOOL:
            values = values > 0
        named[buffer.name] = values.astype(buffer.type.dtype)
    if placed:
        offsets = [pick.permutation(rows) * length * buffer.type.dtype.itemsize for buffer in placed]
        named["table"] = np.stack(offsets, 1).astype(np.int64).reshape(-1)
    return named


def _for_loops(kernel: Kernel, length: int, pick: np.random.Generator) -> dict[str, Any]:
    """Sizes by chance, arrays that are exactly as large as the kernel requires, and anything in them."""
    found = bounds.requirements(kernel)
    named: dict[str, Any] = {"begin": 0, "end": min(length, 5)}
    for op in kernel.arguments:
        if op.type.is_float:
            named[op.attribute] = float(pick.uniform(0.1, 2.0))
        else:
            named.setdefault(op.attribute, int(pick.integers(1, 4)))
    sizes = [op.attribute for op in kernel.arguments if not op.type.is_float and op.attribute not in ("begin", "end")]
    for name in sizes[-1:] if length == 9 else pick.choice(sizes, 1).tolist() if length > 9 and sizes else []:
        named[name] += int(pick.integers(4, 18))  # so that loops over vectors run, and leave something
    assert all([eval(condition, {}, named) for condition in found.conditions])
    for buffer in kernel.buffers.values():
        size = max(eval(found.sizes.get(buffer.name, "0"), {}, named), 0)
        if buffer.type.is_float:
            values = np.where(
                pick.random(size) < 0.9, pick.normal(size=size), pick.choice([0.0, -0.0, np.nan, np.inf], size)
            )
        elif buffer.type.element == "bf16":
            values = pick.normal(size=size).astype(np.float32).view(np.int32) >> 16
        else:
            values = pick.integers(0 if buffer.type is ir.U8 else -1, 4, size)
        named[buffer.name] = values.astype(buffer.type.dtype)
    return named


def copied(named: dict[str, Any]) -> dict[str, Any]:
    return {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in named.items()}


def written(kernel: Kernel, named: dict[str, Any]) -> dict[str, np.ndarray]:
    return {buffer.name: named[buffer.name] for buffer in kernel.buffers.values() if buffer.access != "reads"}


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays are equal in every bit; any NaN is any other."""
    nan = np.isnan(a) & np.isnan(b) if a.dtype.kind == "f" else np.zeros(a.shape, bool)
    return bool((nan | (a.view(f"i{a.itemsize}") == b.view(f"i{b.itemsize}"))).all())


def _from_library(name: str, operands: int) -> Callable[..., np.ndarray]:
    library = ctypes.CDLL("libm.so.6")
    double, single = getattr(library, name), getattr(library, name + "f")
    double.restype, double.argtypes = ctypes.c_double, [ctypes.c_double] * operands
    single.restype, single.argtypes = ctypes.c_float, [ctypes.c_float] * operands

    def run(*arrays: np.ndarray) -> np.ndarray:
        function = single if arrays[0].dtype == np.float32 else double
        rows = zip(*[array.tolist() for array in np.broadcast_arrays(*arrays)], strict=True)
        return np.array([function(*row) for row in rows], arrays[0].dtype)

    return run


FUNCTIONS = {name: _from_library(name, operands) for name, operands in ir.FUNCTIONS.items()}


def interpreted(kernel: Kernel, named: dict[str, Any]) -> dict[str, np.ndarray]:
    """What a kernel writes, by the interpreter, with the C library's functions."""
    named = copied(named)
    interpret.interpret(kernel, named, FUNCTIONS)
    return written(kernel, named)


def machine_code(kernel: Kernel, target: Target | None = x86.TARGET) -> Callable[[dict[str, Any]], None]:
    """A kernel's machine code, as a function of its arguments. Nothing checks them. None as the target is LLVM."""
    floats = [op.attribute for op in kernel.arguments if op.type.is_float]
    names = [p.name if isinstance(p, ir.Buffer) else p.attribute for p in kernel.parameters]
    names = [name for name in names if name not in floats]
    if target is None:
        run = llvm_engine.load(kernel)
    else:
        run = executable.load_kernel(x86.Emitter(kernel, target).finish(), len(names), len(floats))

    def call(named: dict[str, Any]) -> None:
        values = [named[name] for name in names]
        run(*[id(v) if isinstance(v, np.ndarray) else v for v in values], *[named[name] for name in floats])

    return call


def few_registers(count: int) -> Target:
    """The target with so many registers of each class."""
    whole, half = x86.TARGET, count // 2
    return Target(
        {"general": whole.preserved["general"][: count - half], "vector": ()},
        {"general": whole.lost["general"][:half], "vector": whole.lost["vector"][:count]},
    )
