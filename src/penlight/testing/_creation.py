"""`torch.testing.make_tensor`: makes random tensors of any dtype."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from penlight import dtypes
from penlight._common.user_warnings import warn_user
from penlight.creation import empty
from penlight.device import require_cpu
from penlight.random import rand, randint
from penlight.tensor import Tensor, wrap

__all__ = ["make_tensor"]


def make_tensor(
    *shape: Any, dtype: dtypes.dtype, device: Any, low: float | None = None, high: float | None = None,
    requires_grad: bool = False, noncontiguous: bool = False, exclude_zero: bool = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """A tensor with values drawn uniformly from [low, high); the bounds depend on the dtype if they are not given.

    >>> torch.testing.make_tensor((2, 3), dtype=torch.int64, device="cpu", low=0, high=1)
    tensor([[0, 0, 0],
            [0, 0, 0]])
    """
    require_cpu(device)
    if len(shape) == 1 and not isinstance(shape[0], int):
        shape = tuple(shape[0])
    if noncontiguous and memory_format is not None:
        raise ValueError(
            f"The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got {noncontiguous=} and "
            f"{memory_format=}"
        )
    if requires_grad and dtype.category < dtypes.FLOATING:
        raise ValueError(f"`requires_grad=True` is not supported for boolean and integral dtypes, but got {dtype=}")
    doubled = noncontiguous and math.prod(shape) > 1
    result = _draw((*shape[:-1], shape[-1] * 2) if doubled else shape, dtype, low, high)
    if doubled:
        result = wrap(result._array[..., ::2])
    elif memory_format is not None:
        result = result.clone(memory_format=memory_format)
    if exclude_zero:
        result[result == 0] = _smallest(dtype)
    return result._require_grad_() if requires_grad else result


def _smallest(dtype: dtypes.dtype) -> float:
    if dtype.category < dtypes.FLOATING:
        return 1
    return float(np.finfo(dtypes.float32.np if dtype is dtypes.bfloat16 else dtype.to_real().np).tiny)


def _draw(shape: Any, dtype: dtypes.dtype, low: float | None, high: float | None) -> Tensor:
    if dtype is dtypes.bool_:
        low, high = _bounds(low, high, 0, 2, dtype)
        return randint(int(low), int(high), shape).to(dtype)
    if dtype.category == dtypes.INTEGRAL:
        own = (0, 10) if not dtype.is_signed else (-9, 10)
        low, high = _bounds(low, high, *own, dtype)
        return randint(math.ceil(low), math.ceil(high), shape, dtype=dtype)
    low, high = _bounds(low, high, -9, 9, dtype)
    if dtype.category == dtypes.COMPLEX:
        parts = rand((*shape, 2), dtype=dtype.to_real()) * (high - low) + low
        return wrap(np.ascontiguousarray(parts._array).view(dtype.np)[..., 0])
    drawn = rand(shape, dtype=dtypes.float64 if dtype is dtypes.float64 else dtypes.float32)
    return (drawn * (high - low) + low).to(dtype) if drawn.numel() else empty(shape, dtype=dtype)


def _bounds(low: Any, high: Any, default_low: float, default_high: float, dtype: Any) -> tuple[float, float]:
    low = default_low if low is None else low
    high = default_high if high is None else high
    if any(isinstance(bound, float) and math.isnan(bound) for bound in (low, high)):
        raise ValueError(f"`low` and `high` cannot be NaN, but got {low=} and {high=}")
    if low == high and dtype.category >= dtypes.FLOATING:
        warn_user(
            "Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is deprecated since 2.1 and will "
            "be removed in 2.3. Use `torch.full(...)` instead.",
            FutureWarning,
        )
    elif low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    if dtype.np.kind in "iu":
        limits = np.iinfo(dtype.np)
        return max(low, limits.min), min(high, limits.max)
    return low, high
