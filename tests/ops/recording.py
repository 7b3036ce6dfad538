"""What a test record of an op is made of: sample arguments that any library can build its own tensors from.

A record names a public function ("lerp", "special.erfcx", "Tensor.sum_to_size") and has samples of arguments. `X` stands for a
tensor; tensors of floats require grad unless told otherwise. `unary()` and `binary()` make the usual samples: shapes, layouts,
broadcasting, dtypes. See records.py.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class X:
    """A tensor in a sample: random numbers of a shape between two bounds, or given data.

    layout: "plain", "transposed" (dense, not contiguous), "sliced" (with gaps), "expanded" (a dimension of stride 0),
    "channels" (the second dimension last in memory).
    """

    shape: Any = (2, 3)
    dtype: str = "float64"
    low: float = -2.0
    high: float = 2.0
    data: Any = None
    grad: bool = True
    layout: str = "plain"

    def array(self, rng: np.random.Generator) -> np.ndarray:
        if self.data is not None:
            return np.asarray(self.data, None if self.dtype == "same" else self.dtype)
        shape = (self.shape,) if isinstance(self.shape, int) else tuple(self.shape)
        inner = {"transposed": shape[::-1], "sliced": (*shape[:-1], shape[-1] * 2) if shape else shape}.get(
            self.layout, shape
        )
        if self.layout == "expanded":
            inner = (1, *shape[1:])
        if self.layout == "channels":
            inner = (shape[0], *shape[2:], shape[1])
        values = self._values(rng, inner)
        if self.layout == "transposed":
            return values.T
        if self.layout == "sliced":
            return values[..., ::2]
        if self.layout == "channels":
            return np.moveaxis(values, -1, 1)
        if self.layout == "expanded":
            return np.lib.stride_tricks.as_strided(values, shape, (0, *values.strides[1:]))
        return values

    def _values(self, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        kind = np.dtype(self.dtype).kind
        if kind == "b":
            return rng.random(shape) < 0.5
        if kind in "iu":
            low = max(int(np.ceil(self.low)), 0) if kind == "u" else int(np.ceil(self.low))
            return rng.integers(low, max(int(self.high), low) + 1, shape).astype(self.dtype)
        values = rng.uniform(self.low, self.high, shape)
        if kind == "c":
            values = values + 1j * rng.uniform(self.low, self.high, shape)
        return np.asarray(values).astype(self.dtype)


def I(*data: Any) -> X:  # noqa: E743
    """An integer tensor of given data."""
    return X(data=list(data) if len(data) != 1 or not isinstance(data[0], (list, int)) else data[0], dtype="int64")


def B(data: Any) -> X:
    """A bool tensor of given data."""
    return X(data=data, dtype="bool")


def F(data: Any, dtype: str = "float64", grad: bool = True) -> X:
    """A float tensor of given data."""
    return X(data=data, dtype=dtype, grad=grad)


@dataclass(frozen=True)
class Sample:
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        parts = [_brief(a) for a in self.args] + [f"{k}={_brief(v)}" for k, v in self.kwargs.items()]
        return f"({', '.join(parts)})"


def _brief(value: Any) -> str:
    if not isinstance(value, X):
        return repr(value)
    if value.data is not None:
        return f"{value.dtype}{np.asarray(value.data).tolist()}"
    return f"{value.dtype}{list(value.shape) if not isinstance(value.shape, int) else [value.shape]}{'' if value.layout == 'plain' else value.layout}"


def S(*args: Any, **kwargs: Any) -> Sample:
    return Sample(args, kwargs)


@dataclass(frozen=True)
class Record:
    """One function's samples, and which checks do not hold for it, each with a reason beside the record.

    name_of_node: compare `grad_fn` names. second: compare second derivatives. smooth: finite differences make sense.
    dual: forward mode gives what the gradients say.
    method: it is a method of Tensor too. inplace: `name_` exists and gives the same. equal: compare values (not for random ones).
    """

    name: str
    samples: tuple[Sample, ...]
    errors: tuple[Sample, ...] = ()
    node: bool = True
    second: bool = True
    smooth: bool = True
    dual: bool = True
    method: bool | None = None
    inplace: bool | None = None
    equal: bool = True
    strides: bool = True
    rtol: float = 1.0


RECORDS: dict[str, Record] = {}


def record(name: str, *samples: Any, errors: Any = (), **options: Any) -> None:
    """Add a record; a sample may be a list of samples, or a tuple of arguments."""
    flat: list[Sample] = []
    for sample in samples:
        if isinstance(sample, Sample):
            flat.append(sample)
        elif isinstance(sample, list):
            flat += sample
        else:
            flat.append(Sample(tuple(sample)))
    wrong = tuple(e if isinstance(e, Sample) else Sample(tuple(e)) for e in errors)
    assert name not in RECORDS, f"{name} has a record already"
    RECORDS[name] = Record(name, tuple(flat), wrong, **options)


DTYPES = ("float32", "float16", "int64", "int32", "uint8", "bool", "complex64", "complex128")


def unary(
    low: float = -2.0, high: float = 2.0, *more: Any, dtypes: tuple[str, ...] = DTYPES, **kwargs: Any
) -> list[Sample]:
    """A function of one tensor, elementwise: shapes, layouts, dtypes; `more` arguments follow the tensor."""
    shapes = [X(s, low=low, high=high) for s in ((), 3, (2, 3), (0, 2))]
    layouts = [X((2, 3), low=low, high=high, layout=layout) for layout in ("transposed", "sliced", "expanded")]
    kinds = [X((2, 3), d, low=low, high=high) for d in dtypes]
    return [Sample((x, *more), kwargs) for x in (*shapes, *layouts, *kinds)]


_PAIRS = (((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((), (3,)), ((3,), ()), ((0, 2), (1, 2)))
_MIXED = (
    ("float32", "float32"), ("float32", "float64"), ("int64", "float32"), ("float32", "int64"), ("int64", "int64"), ("int32", "uint8"), ("bool", "float32"),
    ("bool", "bool"), ("float16", "float16"), ("complex64", "complex64"), ("float32", "complex64"),
)  # fmt: skip


def binary(low: float = -2.0, high: float = 2.0, *, low2: float | None = None, high2: float | None = None, numbers: tuple[Any, ...] = (),
           mixed: tuple[tuple[str, str], ...] = _MIXED, **kwargs: Any) -> list[Sample]:  # fmt: skip
    """A function of two tensors, elementwise: broadcasting pairs, layouts, mixed dtypes, numbers as the second."""
    low2, high2 = low if low2 is None else low2, high if high2 is None else high2
    found = [S(X(a, low=low, high=high), X(b, low=low2, high=high2), **kwargs) for a, b in _PAIRS]
    for layout in ("transposed", "expanded"):
        found.append(S(X((2, 3), low=low, high=high, layout=layout), X((2, 3), low=low2, high=high2), **kwargs))
    for a, b in mixed:
        found.append(S(X((2, 3), a, low=low, high=high), X((2, 3), b, low=low2, high=high2), **kwargs))
    found.append(S(X((2, 3), "float32", low=low, high=high), X((), "float64", low=low2, high=high2), **kwargs))
    for n in numbers:
        found += [S(X((2, 3), d, low=low, high=high), n, **kwargs) for d in ("float64", "float32", "int64", "bool")]
    return found


def seed_of(name: str, place: int) -> np.random.Generator:
    """A stream of random numbers that depends on the record and sample alone."""
    return np.random.default_rng(zlib.crc32(f"{name} {place}".encode()))
