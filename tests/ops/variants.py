"""Variants of a record's samples: other dtypes, memory layouts, no elements, no dimensions. A record stays a line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from recording import Record, Sample, X

DTYPES = (
    "float32",
    "float16",
    "bfloat16",
    "complex64",
    "complex128",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint8",
    "bool",
)
LAYOUTS = ("transposed", "sliced", "expanded")


def is_float(value: X) -> bool:
    return value.dtype in ("float64", "float32")


def mapped(value: object, change: Callable[[X], X]) -> object:
    """An argument with its tensors changed."""
    if isinstance(value, X):
        return change(value)
    if isinstance(value, (tuple, list)):
        return type(value)(mapped(v, change) for v in value)
    return value


def changed(sample: Sample, change: Callable[[X], X]) -> Sample:
    return Sample(
        tuple(mapped(a, change) for a in sample.args), {k: mapped(v, change) for k, v in sample.kwargs.items()}
    )


def tensors(sample: Sample) -> list[X]:
    found: list[X] = []

    def note(value: X) -> X:
        found.append(value)
        return value

    changed(sample, note)
    return found


def cast(dtype: str) -> Callable[[X], X]:
    """The floats among the tensors in another dtype; given data that it can't hold stays."""

    def change(value: X) -> X:
        if not is_float(value):
            return value
        if value.data is not None and dtype not in ("float32", "float16", "bfloat16", "complex64", "complex128"):
            with np.errstate(all="ignore"):
                data = np.nan_to_num(np.asarray(value.data), nan=1, posinf=2, neginf=0)
            return replace(value, data=np.abs(data).astype(dtype), dtype=dtype)
        return replace(value, dtype=dtype)

    return change


def laid_out(layout: str) -> Callable[[X], X]:
    def change(value: X) -> X:
        shape = (value.shape,) if isinstance(value.shape, int) else tuple(value.shape)
        plain = type(value) is X and value.data is None and value.layout == "plain" and shape and 0 not in shape
        return replace(value, layout=layout) if plain else value

    return change


def emptied(size: int) -> Callable[[X], X]:
    """Every dimension of one size without elements."""

    def change(value: X) -> X:
        if type(value) is not X or value.data is not None:
            return value
        shape = (value.shape,) if isinstance(value.shape, int) else tuple(value.shape)
        return replace(value, shape=tuple(0 if n == size else n for n in shape))

    return change


def pointed(value: X) -> X:
    """Without dimensions."""
    return replace(value, shape=()) if type(value) is X and value.data is None else value


def mixed(record: Record, dtype: str, places: int = 2) -> Iterator[tuple[str, Sample]]:
    """The first samples, with one of their floats in another dtype."""
    for place, sample in enumerate(record.samples[:places]):
        given = tensors(sample)
        for which, each in enumerate(given):
            if type(each) is X and each.data is None and is_float(each):
                others = iter([*given[:which], replace(each, dtype=dtype), *given[which + 1 :]])
                yield f"{place} float32 {which}", changed(sample, lambda _, others=others: next(others))


def variants(record: Record, places: int = 2) -> Iterator[tuple[str, Sample]]:
    """The variants of a record's first samples that have floats, and what they are called."""
    plain = [s for s in record.samples if any(is_float(t) for t in tensors(s))]
    for place, sample in enumerate(plain[:places]):
        for dtype in DTYPES:
            yield f"{place} {dtype}", changed(sample, cast(dtype))
        for layout in LAYOUTS:
            made = changed(sample, laid_out(layout))
            if made != sample:
                yield f"{place} {layout}", made
        sizes = {
            n for t in tensors(sample) if t.data is None for n in ((t.shape,) if isinstance(t.shape, int) else t.shape)
        }
        for n in sorted(sizes - {0, 1}):
            made = changed(sample, emptied(n))
            if made != sample:
                yield f"{place} empty {n}", made
        yield f"{place} 0-d", changed(sample, pointed)
