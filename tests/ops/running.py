"""Runs a record's sample in a library (PyTorch or Penlight, the module is given) and says what came out."""

from __future__ import annotations

import contextlib
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from recording import Record, Sample, X, seed_of


def resolve(lib: Any, name: str) -> Any:
    found = lib
    for part in name.split("."):
        found = getattr(found, part)
    return found


def build(
    lib: Any, sample: Sample, rng: np.random.Generator, grad: bool = True, shift: Any = None
) -> tuple[list[Any], dict[str, Any], list[Any]]:
    """The arguments of a sample as the library's tensors, and those of them that require grad."""
    leaves: list[Any] = []

    def make(value: Any) -> Any:
        if isinstance(value, X):
            array = (replace(value, dtype="float32") if value.dtype == "bfloat16" else value).array(rng)
            floating = array.dtype.kind in "fc"
            if shift is not None and floating and value.grad:
                array = array + shift(len(leaves), array)
            tensor = (
                lib.from_numpy(np.asarray(array))
                if array.ndim
                else lib.tensor(array.item(), dtype=getattr(lib, array.dtype.name))
            )
            if value.dtype == "bfloat16":
                tensor = tensor.bfloat16()
            if floating and value.grad:
                if grad:
                    tensor.requires_grad_()
                leaves.append(tensor)
            return tensor
        if isinstance(value, tuple):
            return tuple(make(v) for v in value)
        if isinstance(value, list):
            return [make(v) for v in value]
        if isinstance(value, str) and value.startswith(("dtype:", "format:")):
            return getattr(lib, value.partition(":")[2])
        return value

    args = [make(a) for a in sample.args]
    return args, {k: make(v) for k, v in sample.kwargs.items()}, leaves


def flatten(result: Any) -> list[Any]:
    """The tensors (and numbers) of a result, in order."""
    if isinstance(result, (tuple, list)) and type(result).__name__ != "Size":
        return [part for r in result for part in flatten(r)]
    return [result]


def call(
    lib: Any, record: Record, place: int, function: Any = None, grad: bool = True, shift: Any = None
) -> tuple[Any, list[Any]]:
    sample = record.samples[place]
    args, kwargs, leaves = build(lib, sample, seed_of(record.name, place), grad, shift)
    lib.manual_seed(place)
    with quiet():
        return (function or resolve(lib, record.name))(*args, **kwargs), leaves


@contextlib.contextmanager
def quiet() -> Any:
    """Deprecations are not what is tested here; a warning about arithmetic is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        yield


def array_of(value: Any) -> np.ndarray:
    """A result as an array: a tensor's data, or a number."""
    if hasattr(value, "detach"):
        value = value.detach().clone().resolve_conj()
        return value.float().numpy() if "bfloat16" in str(value.dtype) else value.numpy()
    return np.asarray(value)


def is_tensor(value: Any) -> bool:
    return hasattr(value, "requires_grad") and hasattr(value, "stride")


def cotangents(outs: list[Any], rng: np.random.Generator) -> list[np.ndarray]:
    """A random gradient for each output."""
    found = []
    for out in outs:
        array = array_of(out)
        values = np.asarray(rng.uniform(0.5, 1.5, array.shape))
        if array.dtype.kind == "c":
            values = values + 1j * rng.uniform(0.5, 1.5, array.shape)
        found.append(values.astype(array.dtype))
    return found


def tensors(lib: Any, arrays: list[np.ndarray], like: list[Any] = ()) -> list[Any]:
    """Arrays as tensors; those that stand for bfloat16 in that."""
    made = [lib.tensor(a.tolist(), dtype=getattr(lib, a.dtype.name)).reshape(a.shape) for a in arrays]
    return [m.to(o.dtype) for m, o in zip(made, like)] if like else made


def first_order(
    lib: Any,
    outs: list[Any],
    leaves: list[Any],
    rng: np.random.Generator,
    create_graph: bool = False,
    weights: list[Any] | None = None,
) -> list[Any]:
    """The gradients of the leaves; None where there is none. The gradients of the outputs that it started from, which then require
    grad themselves, are added to `weights`."""
    given = tensors(lib, cotangents(outs, rng), outs)
    if weights is not None:
        weights += [w.requires_grad_() for w in given]
    with quiet():
        return list(lib.autograd.grad(outs, leaves, given, allow_unused=True, create_graph=create_graph))


def second_order(lib: Any, grads: list[Any], leaves: list[Any], rng: np.random.Generator) -> list[Any] | None:
    """The gradients of a random mixture of the gradients; None if they do not depend on the leaves."""
    kept = [g for g in grads if g is not None and g.requires_grad]
    drawn = cotangents([g for g in grads if g is not None], rng)
    weights = [w for w, g in zip(drawn, [g for g in grads if g is not None]) if g.requires_grad]
    if not kept:
        return None
    with quiet():
        return list(lib.autograd.grad(kept, leaves, tensors(lib, weights), allow_unused=True))


def differentiable(outs: list[Any]) -> list[Any]:
    return [o for o in outs if is_tensor(o) and o.requires_grad]


TOLERANCE = {
    "b2": (4e-2, 4e-2),
    "f2": (5e-3, 5e-3),
    "f4": (2e-5, 2e-6),
    "f8": (1e-9, 1e-11),
    "c8": (2e-5, 2e-6),
    "c16": (1e-9, 1e-11),
}


def coarsest(sample: Sample) -> str:
    """The least precise floating dtype among a sample's tensors: results can't be better than it."""
    kinds = [np.dtype(v.dtype) for v in (*sample.args, *sample.kwargs.values()) if isinstance(v, X) and v.data is None]
    floats = sorted((k.itemsize // (2 if k.kind == "c" else 1), k.str[1:]) for k in kinds if k.kind in "fc")
    return floats[0][1] if floats else "f8"


def close(mine: Any, theirs: Any, factor: float = 1.0, coarse: str = "f8") -> str | None:
    """Why two results differ, or None."""
    a, b = array_of(mine), array_of(theirs)
    if a.shape != b.shape:
        return f"shape {a.shape} instead of {b.shape}"
    if a.dtype != b.dtype:
        return f"dtype {a.dtype} instead of {b.dtype}"
    if a.dtype.kind not in "fc":
        return None if np.array_equal(a, b) else f"{a.tolist()} instead of {b.tolist()}"
    rtol, atol = max(TOLERANCE[a.dtype.str[1:]], TOLERANCE[coarse])
    with np.errstate(all="ignore"):
        same = np.isclose(a, b, rtol * factor, atol * factor, equal_nan=True)
    if same.all():
        return None
    bad = np.argwhere(~same)[0]
    return f"{a[tuple(bad)]!r} instead of {b[tuple(bad)]!r} at {bad.tolist()}"


def gradients_close(mine: Any, theirs: Any, factor: float = 1.0, coarse: str = "f8") -> str | None:
    """As `close`, where no gradient is the same as zeros."""
    if mine is None and theirs is None:
        return None
    if mine is None or theirs is None:
        present = array_of(theirs if mine is None else mine)
        return (
            None
            if np.allclose(present, 0, atol=1e-9)
            else f"{'none' if mine is None else present.tolist()} instead of {'none' if theirs is None else present.tolist()}"
        )
    return close(mine, theirs, factor, coarse)
