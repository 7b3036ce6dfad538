"""`numpy_functions`: NumPy's functions on tensors, with gradients. They must be enabled, because PyTorch refuses them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import penlight

from .tensor import Tensor
from .utils._pytree import tree_map

__all__ = ["numpy_functions"]


class numpy_functions:
    """Make NumPy's functions accept tensors and differentiate, in this process or inside a `with` block.

    By default, as in PyTorch, `np.sin(x)` computes outside of the graph, and refuses a tensor that requires grad. With this, Penlight's
    equivalent runs instead: for ufuncs, and for common functions of `numpy`, `numpy.linalg` and `numpy.fft`, with NumPy's arguments and
    defaults. Functions without an equivalent run in NumPy as before.

    Args:
        mode: whether to do this; False restores the default.

    >>> import numpy as np
    >>> x = torch.tensor([0.0, 1.0], requires_grad=True)
    >>> with torch.numpy_functions(True):
    ...     y = np.sum(np.exp(x) * np.array([1.0, 2.0], dtype=np.float32))
    >>> y.backward()
    >>> x.grad
    tensor([1.0000, 5.4366])
    """

    def __init__(self, mode: bool = True) -> None:
        self._before, self.mode = "__array_ufunc__" in vars(Tensor), mode
        self._set(mode)

    def __repr__(self) -> str:  # what a notebook shows below `torch.numpy_functions(True)`
        return f"numpy_functions(mode={self.mode})"

    def __enter__(self) -> numpy_functions:
        return self

    def __exit__(self, *error: object) -> None:
        self._set(self._before)

    @staticmethod
    def _set(mode: bool) -> None:
        for name, function in (("__array_ufunc__", _ufunc), ("__array_function__", _function)):
            if mode:
                setattr(Tensor, name, function)
            elif name in vars(Tensor):
                delattr(Tensor, name)


def _ufunc(self: Tensor, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
    ours = getattr(penlight, _OTHER_NAMES.get(ufunc.__name__, ufunc.__name__), None)
    if method != "__call__" or options or ours is None:
        return getattr(ufunc, method)(*tree_map(_array, inputs), **tree_map(_array, options))
    return ours(*(_operand(value, self) for value in inputs))


def _operand(value: Any, beside: Tensor) -> Tensor:
    """An operand as a tensor; a Python float takes the precision of the other operand, as in NumPy."""
    keeps = isinstance(value, float) and beside.dtype.is_floating_point
    return penlight.tensor(value, dtype=beside.dtype) if keeps else penlight.as_tensor(value)


def _function(self: Tensor, function: Any, types: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    ours = _FUNCTIONS.get(f"{function.__module__}.{function.__name__}")
    if ours is None:
        return function(*tree_map(_array, args), **tree_map(_array, options))
    return ours(*args, **options)


def _array(value: Any) -> Any:
    return value.numpy() if isinstance(value, Tensor) else value


# Ufuncs with another name in PyTorch.
_OTHER_NAMES = {
    "conjugate": "conj", "degrees": "rad2deg", "equal": "eq", "fabs": "abs", "invert": "bitwise_not",
    "left_shift": "bitwise_left_shift", "power": "pow", "radians": "deg2rad", "right_shift": "bitwise_right_shift", "rint": "round",
}  # fmt: skip


def _reducing(name: str) -> Callable[..., Any]:
    """`np.sum(a, axis, keepdims=)`; without `axis`, over all dimensions."""
    ours = getattr(penlight, name)

    def reduce(a: Any, axis: Any = None, *, keepdims: bool = False, **options: Any) -> Any:
        a = penlight.as_tensor(a)
        return ours(a, tuple(range(a.ndim)) if axis is None else axis, keepdim=keepdims, **options)

    return reduce


def _cumulative(name: str) -> Callable[..., Any]:
    """`np.cumsum(a, axis)`; without `axis`, of the flattened tensor."""
    ours = getattr(penlight, name)
    return lambda a, axis=None: ours(a.flatten(), 0) if axis is None else ours(a, axis)


def _variance(name: str) -> Callable[..., Any]:
    """`np.var(a, axis, ddof=0)`, which divides by the number of elements minus `ddof`."""
    ours = getattr(penlight, name)
    return lambda a, axis=None, *, ddof=0, keepdims=False: ours(a, axis, correction=ddof, keepdim=keepdims)


def _fourier(name: str) -> Callable[..., Any]:
    ours = getattr(penlight.fft, name)
    return lambda a, n=None, axis=-1, norm=None: ours(a, n, axis, norm)


def _tensors(arrays: Any) -> list[Tensor]:
    return [penlight.as_tensor(array) for array in arrays]


def _dot(a: Tensor, b: Tensor) -> Tensor:
    """The sum over the last dimension of `a` and the last but one of `b`. For more than two dimensions this is not `matmul`."""
    return penlight.tensordot(a, b, ([-1], [max(b.ndim - 2, 0)])) if a.ndim and b.ndim else a * b


_SAME = "diag einsum inner kron outer ravel reshape squeeze swapaxes tile tril triu vdot"
_SAME_LINALG = "cholesky det eigh eigvalsh inv matrix_power pinv qr slogdet solve svd"
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{f"numpy.{name}": getattr(penlight, name) for name in _SAME.split()},
    **{f"numpy.{name}": _reducing(name) for name in ("sum", "mean", "amax", "amin", "nansum", "nanmean")},
    **{f"numpy.{name}": _cumulative(name) for name in ("cumsum", "cumprod")},
    **{f"numpy.{name}": _variance(name) for name in ("var", "std")},
    **{f"numpy.linalg.{name}": getattr(penlight.linalg, name) for name in _SAME_LINALG.split()},
    **{f"numpy.fft.{name}": _fourier(name) for name in ("fft", "ifft", "rfft", "irfft")},
    "numpy.max": _reducing("amax"),
    "numpy.min": _reducing("amin"),
    "numpy.clip": lambda a, a_min=None, a_max=None: penlight.clamp(a, a_min, a_max),
    "numpy.concatenate": lambda arrays, axis=0: penlight.cat(_tensors(arrays), axis),
    "numpy.stack": lambda arrays, axis=0: penlight.stack(_tensors(arrays), axis),
    "numpy.dot": lambda a, b: _dot(*_tensors((a, b))),
    "numpy.expand_dims": lambda a, axis: a.unsqueeze(axis),
    "numpy.linalg.norm": lambda x, ord=None, axis=None, keepdims=False: penlight.linalg.norm(x, ord, axis, keepdims),
    "numpy.repeat": lambda a, repeats, axis=None: penlight.repeat_interleave(a, repeats, axis),
    "numpy.split": lambda ary, indices_or_sections, axis=0: penlight.tensor_split(ary, indices_or_sections, axis),
    "numpy.sort": lambda a, axis=-1: penlight.sort(a, axis).values,
    "numpy.tensordot": lambda a, b, axes=2: penlight.tensordot(a, b, axes),
    "numpy.transpose": lambda a, axes=None: a.permute(axes or tuple(range(a.ndim))[::-1]),
    "numpy.where": lambda condition, *values: penlight.where(penlight.as_tensor(condition), *values),
}
