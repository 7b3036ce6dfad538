"""Operands of fuzzed calls: arrays of random values that lie in memory in every way and come from everywhere.

The scripts that the fuzzers print import these functions, so each is a plain function of its arguments.
"""

from __future__ import annotations

import copy
import io
import math
import multiprocessing
import os
import pickle
import tempfile
from functools import cache
from typing import Any

import numpy as np

from . import guard

ALIASES = {
    "int64": np.longlong,
    "int32": np.intc,
    "int16": np.short,
    "int8": np.byte,
    "uint8": np.ubyte,
    "float64": np.double,
}


def uniform(seed: int, shape: tuple[int, ...], dtype: str, low: float = -2.0, high: float = 2.0) -> np.ndarray:
    """Random numbers between two bounds. Those of bfloat16 come as their bits, in int16: `tensor` knows."""
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return np.asarray(rng.random(shape) < 0.5)
    kind = "f" if dtype == "bfloat16" else np.dtype(dtype).kind
    if kind in "iu":
        low = max(math.ceil(low), 0) if kind == "u" else math.ceil(low)
        return rng.integers(low, max(int(high), low) + 1, shape).astype(dtype)
    values = np.asarray(rng.uniform(low, high, shape))
    if kind == "c":
        values = values + 1j * rng.uniform(low, high, shape)
    return bits(values) if dtype == "bfloat16" else np.asarray(values).astype(dtype)


def bits(values: np.ndarray) -> np.ndarray:
    """The bits of values in bfloat16, by cutting off."""
    return np.asarray((np.asarray(values, np.float32).view(np.uint32) >> 16).astype(np.uint16).view(np.int16))


def special(values: np.ndarray, seed: int) -> np.ndarray:
    """Some elements replaced by NaN, infinities and zeros."""
    rng = np.random.default_rng(seed)
    values = values.copy()
    if values.dtype.kind in "fc" and values.size:
        at = rng.integers(0, values.size, 1 + values.size // 8)
        values.reshape(-1)[at] = rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0], at.shape)
    return values


def arrange(values: np.ndarray, layout: str = "plain", origin: str = "fresh") -> np.ndarray:
    """The values in another layout, in an array of another origin, such as "pickled, fenced at the end".

    Repeated elements are those of the first.
    """
    kind, *numbers = layout.split()
    d = int(numbers[0]) if numbers else 0
    shape, view = values.shape, None
    if kind == "transposed":
        base = np.ascontiguousarray(values.swapaxes(0, d))
        view = lambda b: b.swapaxes(0, d)
    elif kind == "channels":
        base = np.ascontiguousarray(np.moveaxis(values, 1, -1))
        view = lambda b: np.moveaxis(b, -1, 1)
    elif kind == "gaps":
        base = np.repeat(values, 2, d)
        view = lambda b: b[(slice(None),) * d + (slice(None, None, 2),)]
    elif kind == "offset":
        base = np.concatenate([values.take([0] * 3, d), values], d) if values.shape[d] else values
        view = lambda b: b[(slice(None),) * d + (slice(3, None),)] if shape[d] else b
    elif kind == "expanded":
        base = values.take([0], d) if shape[d] else values
        view = lambda b: np.broadcast_to(b, shape) if shape[d] else b
    elif kind == "overlapping":
        base = values.reshape(-1)[: sum(n - 1 for n in shape) + 1].copy()
        view = lambda b: (
            np.lib.stride_tricks.as_strided(b, shape, b.strides * len(shape)) if values.size else b.reshape(shape)
        )
    elif kind == "misaligned":
        base = values
        view = _misaligned
    else:
        base, view = values, lambda b: b
    origin, _, fence = origin.partition("fenced ")
    made = view(_brought(np.ascontiguousarray(base).reshape(base.shape), origin.rstrip(", ")))
    return guard.fenced(made, fence == "at the end") if fence else made


def _misaligned(values: np.ndarray) -> np.ndarray:
    memory = bytearray(values.nbytes + 1)
    made = np.frombuffer(memory, values.dtype, values.size, 1).reshape(values.shape)
    made[...] = values
    return made


class Sub(np.ndarray):
    """A subclass of NumPy's array."""


def _brought(array: np.ndarray, origin: str) -> np.ndarray:
    """The array (contiguous) as if it came from somewhere else."""
    if origin == "pickled":
        return pickle.loads(pickle.dumps(array))
    if origin == "metadata":
        return array.astype(np.dtype(array.dtype, metadata={"of": "the test"}))
    if origin == "alias":
        return array.astype(ALIASES.get(array.dtype.name, array.dtype))
    if origin == "subclass":
        return array.view(Sub)
    if origin == "read-only":
        array.flags.writeable = False
    if origin == "big-endian":
        return array.astype(array.dtype.newbyteorder(">"))
    if origin == "worker":
        pipe = _worker()
        pipe.send(array)
        return pipe.recv()
    if origin == "npy":
        file = io.BytesIO()
        np.save(file, array)
        file.seek(0)
        return np.load(file)
    if origin.startswith("memory-mapped") and array.size:
        with tempfile.TemporaryFile() as file:
            file.write(array.tobytes())
            file.flush()
            return np.memmap(file, array.dtype, "r" if "read-only" in origin else "c", 0, array.shape)
    if origin == "bytes" and array.dtype == bool:
        numbers = np.arange(1, array.size + 1).reshape(array.shape)
        return np.asarray(array * numbers % 255 + array).astype(np.uint8).view(bool)
    return array


@cache
def _worker() -> Any:
    """The end of a pipe to another process, which sends back what it gets."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()

    def answer() -> None:
        here.close()
        try:
            while True:
                there.send(there.recv())
        except EOFError:
            os._exit(0)

    context.Process(target=answer, daemon=True).start()
    there.close()
    return here


def tensor(t: Any, array: np.ndarray, dtype: str = "", way: str = "from_numpy") -> Any:
    """An array as a tensor of library `t`; `dtype` only for those that NumPy has not."""
    made = t.from_numpy(array)
    if dtype == "bfloat16":
        made = made.view(t.bfloat16)
    if way == "deepcopy":
        return copy.deepcopy(made)
    if way == "pickle":
        return pickle.loads(pickle.dumps(made))
    if way == "saved":
        file = io.BytesIO()
        t.save(made, file)
        file.seek(0)
        return t.load(file)
    if way == "clone":
        return made.clone()
    return made


def out_of(t: Any, result: Any, kind: str, operand: Any = None) -> Any:
    """A tensor for `out=`: like the result, with another layout, too small, in fenced memory, or in the memory of an operand from some
    element on. None if there is not one result."""
    if not t.is_tensor(result):
        return None
    shape, dtype = tuple(result.shape), result.dtype
    if kind.startswith("over ") and t.is_tensor(operand) and operand.dtype == dtype:
        first = operand.storage_offset() + int(kind.split()[1])
        left = operand.untyped_storage().nbytes() // operand.element_size() - first
        if 0 < result.numel() <= left:
            return operand.detach().as_strided(shape, t.empty(shape).stride(), first)
    if kind == "empty":
        return t.empty(0, dtype=dtype)
    if kind == "gaps" and shape:
        return t.zeros((*shape[:-1], 2 * shape[-1]), dtype=dtype)[..., ::2]
    if kind == "transposed":
        return t.zeros(shape[::-1], dtype=dtype).permute(*reversed(range(len(shape))))
    if kind == "offset" and shape:
        return t.zeros((shape[0] + 1, *shape[1:]), dtype=dtype)[1:]
    if kind.startswith("fenced") and dtype is not t.bfloat16:
        return t.from_numpy(
            guard.fenced(np.zeros(shape, str(dtype).removeprefix("torch.")), kind == "fenced at the end")
        )
    return t.zeros(shape, dtype=dtype)


def flat(result: Any) -> list[Any]:
    """The tensors and numbers of a result, in order."""
    if isinstance(result, (tuple, list)) and type(result).__name__ != "Size":
        return [each for part in result for each in flat(part)]
    return [result]


def total(t: Any, result: Any) -> Any:
    """A sum of all results in which every element has another weight; None without a differentiable one."""
    sums = []
    for r in flat(result):
        if t.is_tensor(r) and r.requires_grad:
            weights = t.linspace(0.5, 1.5, r.numel(), dtype=t.float64).to(r.dtype).view(r.shape)
            sums.append((r * weights).sum())
    sums = [s.real if s.is_complex() else s for s in sums]
    return sum(sums[1:], sums[0]) if sums else None


def slopes(t: Any, result: Any, leaves: list[Any], create_graph: bool = False) -> list[Any]:
    """The gradients of the leaves by `total`."""
    end = total(t, result)
    return [] if end is None else list(t.autograd.grad(end, leaves, allow_unused=True, create_graph=create_graph))
