"""Dropout: elements or full channels set to zero at random, with PyTorch's random streams.

A dropout is a product with noise, so its gradient and its node in the graph are those of a product.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import dtypes, random
from ..._common.user_warnings import warn_user
from ...kernels.lazy import lazy_import
from ...kernels.random.uniform import bernoulli
from ...tensor import Tensor, wrap
from ..machinery import dispatch
from ..machinery.declare import OPS
from ..machinery.guards import cannot_cast
from ..pointwise.arithmetic import mul
from ..sampling import in_memory_order

__all__ = ["alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"]

_batched = lazy_import(globals(), "_batched", "...func.batched")
_randomness = lazy_import(globals(), "_randomness", "...func.randomness")


_ALPHA = 1.7580993408473766  # minus the limit of selu for very negative inputs


def _check(input: Any, p: float, name: str) -> None:
    if not isinstance(input, Tensor):
        raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _noise(input: Tensor, p: float, features: bool) -> Tensor:
    """Ones with probability 1 - p, else zeros: one for each element, drawn in the order of the input's memory, or for each channel."""
    array = input._array
    if array.dtype.kind in "biu":
        raise cannot_cast(dtypes.float32, input.dtype)
    engine = random.engine_of(None)
    shape = array.shape
    if features:
        if array.ndim < 2:
            raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
        shape = (*shape[:2], *(1,) * (array.ndim - 2))
    if random.inside_vmap():
        made = _randomness.drawn(shape, lambda s: bernoulli(engine, 1 - p, s, array.dtype))
        if made is not None:
            return made
    if features:
        return wrap(bernoulli(engine, 1 - p, shape, array.dtype))
    return wrap(in_memory_order(array, lambda s: bernoulli(engine, 1 - p, s, array.dtype)))


def _memory(noise: Tensor) -> Any:
    """The array of the noise, which has no other user yet; inside vmap, that of all samples."""
    if noise._level is None:
        return noise._array
    return _batched.physical(noise)._array


def _like(noise: Tensor, array: Any) -> Tensor:
    """An array as a tensor like the noise."""
    if noise._level is None:
        return wrap(array)
    return _batched.wrap_all(_batched.levels_of(noise), wrap(array))


def _times(input: Tensor, factor: Tensor, inplace: bool) -> Tensor:
    return dispatch.run_in_place(OPS["mul"], (input, factor)) if inplace else mul(input, factor)


def drop(input: Tensor, p: float, training: bool, inplace: bool, features: bool = False) -> Tensor:
    """Zero elements at random, and scale up the rest to preserve the mean."""
    if not training or p == 0 or not input._array.size:
        return input
    if p == 1:
        return _times(input, wrap(np.zeros((), input._array.dtype)), inplace)
    noise = _noise(input, p, features)
    array = _memory(noise)
    np.divide(array, array.dtype.type(1 - p), out=array)
    return _times(input, noise, inplace)


def drop_alpha(input: Tensor, p: float, training: bool, inplace: bool, features: bool = False) -> Tensor:
    """Set elements to selu's saturated value at random; then scale and shift to preserve mean and variance."""
    if not training or p == 0 or not input._array.size:
        return input
    if p == 1:
        return _times(input, wrap(np.zeros((), input._array.dtype)), inplace)
    noise = _noise(input, p, features)
    a = 1.0 / math.sqrt((_ALPHA * _ALPHA * p + 1) * (1 - p))
    array = _memory(noise)
    shift = array - 1
    shift *= _ALPHA * a
    shift += _ALPHA * a * p
    array *= a
    result = _times(input, noise, inplace)
    return result.add_(_like(noise, shift)) if inplace else result + _like(noise, shift)


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Each element set to zero with probability p in training, and the others divided by 1 - p.

    >>> _ = torch.manual_seed(0); torch.nn.functional.dropout(torch.ones(4))
    tensor([0., 0., 2., 0.])
    """
    _check(input, p, "dropout")
    return drop(input, p, training, inplace)


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """`dropout` for networks with `selu`, which preserves mean and variance.

    >>> torch.nn.functional.alpha_dropout(torch.ones(2), training=False)
    tensor([1., 1.])
    """
    _check(input, p, "alpha_dropout")
    return drop_alpha(input, p, training, inplace)


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """`alpha_dropout` of full channels.

    >>> torch.nn.functional.feature_alpha_dropout(torch.ones(1, 2, 3), training=False).shape
    torch.Size([1, 2, 3])
    """
    _check(input, p, "feature_alpha_dropout")
    return drop_alpha(input, p, training, inplace, features=True)


def _single(input: Tensor, p: float, training: bool, inplace: bool) -> Tensor:
    """Dropout of channels for a single sample."""
    if inplace:
        return drop(input.unsqueeze_(0), p, training, True, features=True).squeeze_(0)
    return drop(input.unsqueeze(0), p, training, False, features=True).squeeze(0)


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Full channels of sequences (N, C, L) or (C, L) set to zero with probability p.

    >>> torch.nn.functional.dropout1d(torch.ones(1, 2, 3), 1.0).sum()
    tensor(0.)
    """
    _check(input, p, "dropout1d")
    ndim = input.dim()
    if ndim not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {ndim}D input. Note that dropout1d exists to provide channel-wise "
            "dropout on inputs with 1 spatial dimension, a channel dimension, and an optional batch dimension (i.e. 2D or 3D "
            "inputs)."
        )
    return drop(input, p, training, inplace, features=True) if ndim == 3 else _single(input, p, training, inplace)


def _warn(dims: int, ndim: int) -> None:
    warn_user(
        f"dropout{dims}d: Received a {ndim}-D input to dropout{dims}d, which is deprecated and will result in an error in a future "
        "release. To retain the behavior and silence this warning, please use dropout instead. Note that "
        f"dropout{dims}d exists to provide channel-wise dropout on inputs with {dims} spatial dimensions, a channel dimension, "
        f"and an optional batch dimension (i.e. {dims + 1}D or {dims + 2}D inputs)."
    )


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Full channels of images (N, C, H, W) set to zero with probability p.

    >>> torch.nn.functional.dropout2d(torch.ones(1, 2, 3, 3), 1.0).sum()
    tensor(0.)
    """
    _check(input, p, "dropout2d")
    ndim = input.dim()
    if ndim not in (3, 4):
        _warn(2, ndim)
    if ndim == 3:
        warn_user(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired - input is "
            "interpreted as shape (N, C, L), where C is the channel dim. This behavior will change in a future release to "
            "interpret the input as one without a batch dimension, i.e. shape (C, H, W). To maintain the 1D channel-wise "
            "dropout behavior, please switch to using dropout1d instead."
        )
    return drop(input, p, training, inplace, features=True)


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Full channels of volumes (N, C, D, H, W) or (C, D, H, W) set to zero with probability p.

    >>> torch.nn.functional.dropout3d(torch.ones(1, 2, 3, 3, 3), 1.0).sum()
    tensor(0.)
    """
    _check(input, p, "dropout3d")
    ndim = input.dim()
    if ndim not in (4, 5):
        _warn(3, ndim)
    return drop(input, p, training, inplace, features=True) if ndim == 5 else _single(input, p, training, inplace)
