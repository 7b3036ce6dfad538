"""Kernel wrappers: lazy imports, no NumPy warnings, errors for dtypes that PyTorch has no kernel for."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any
from weakref import ref

import numpy as np

from ... import dtypes
from ...autograd import modes
from ...autograd.modes import is_grad_enabled
from ...autograd.node import NO_EDGE
from ...autograd.views import DEFAULT, NO_GRAD, View, link, prune, unrecorded_edge
from ...kernels.lazy import lazy_import
from ...kernels.numpy_warnings import hush, unhush
from ...tensor import Tensor, new
from .op import Op

Kernel = Callable[..., Any]


def lazy(module: str, name: str) -> Kernel:
    """A function of `penlight.kernels.<module>`, imported at its first call."""
    return late("kernels." + module, name)


def late(module: str, name: str) -> Kernel:
    """A function of `penlight.<module>`, imported at its first call. An import statement inside a function would cost a microsecond per call."""
    found: Any = None

    def kernel(*args: Any) -> Any:
        nonlocal found
        if found is None:
            found = getattr(import_module("penlight." + module), name)
        return found(*args)

    kernel.__name__ = name
    return kernel


def plain_floats(operands: Sequence[Any]) -> bool:
    """Whether nothing is recorded and the arrays, all of one BLAS dtype, can be used as they are."""
    if modes.slow() or modes.casting:
        return False
    dtype, recording = operands[0]._array.dtype, is_grad_enabled()
    for t in operands:
        if t._array.dtype is not dtype or (recording and getattr(t, "_edge", None) is not NO_EDGE):
            return False
    return dtype.char in "fdFD"


def unrecorded(tensors: Sequence[Any]) -> bool:
    """Whether a function of these tensors can compute on their arrays: no graph records it and nothing observes it."""
    if modes.NAMESPACE["SLOW"] or modes.casting:
        return False
    if is_grad_enabled():
        for t in tensors:
            if getattr(t, "_edge", None) is not NO_EDGE:
                return False
    return True


def unrecorded_view(source: Tensor, array: Any) -> Tensor:
    """A view of a tensor outside of any graph, given the view's array: see `unrecorded`."""
    out = new(Tensor)
    out._array = array
    out._grad = out._rare_state = None
    versions = source._vc
    if type(versions) is not list or versions[1] is None or source._view is not None or source._edge is not NO_EDGE:
        link(out, source)
        out._edge = unrecorded_edge(out)
        return out
    # `link` without its checks: datasets fetch rows one by one.
    out._edge = NO_EDGE
    out._vc = versions
    out._view = view = new(View)
    view.base, view.replay = source, None
    view.creation = DEFAULT if is_grad_enabled() else NO_GRAD
    family = versions[1]
    family.append(ref(out))
    if len(family) > family[0]:
        prune(family)
    return out


def without_numpy_warnings(kernel: Kernel) -> Kernel:
    """A kernel that suppresses NumPy's warnings. See Note [Silent arithmetic] in autograd/modes.py."""

    def run(*args: Any) -> Any:
        token = hush()
        try:
            return kernel(*args)
        finally:
            unhush(token)

    return run


def along_dim(kernel: Kernel) -> Kernel:
    """A kernel along a dimension, to which 0-d arrays are vectors of one element."""

    def run(input: Any, dim: int, *rest: Any) -> Any:
        if input.ndim:
            return kernel(input, dim, *rest)
        rest = tuple([x.reshape(-1) if isinstance(x, np.ndarray) else x for x in rest])
        return kernel(input.reshape(1), 0, *rest).reshape(())

    return run


def not_implemented(name: str, np_dtype: Any) -> NotImplementedError:
    return NotImplementedError(f"\"{name}\" not implemented for '{dtypes.LEGACY[dtypes.from_np(np_dtype)]}'")


def cannot_cast(source: dtypes.dtype, target: dtypes.dtype, in_c: bool = False) -> RuntimeError:
    """The error for a result that cannot be cast to the dtype of its destination. PyTorch's `clamp_` uses the C name of an integer dtype."""
    wanted = c_name(target) if in_c and target.category == dtypes.INTEGRAL else dtypes.LEGACY[target]
    return RuntimeError(f"result type {dtypes.LEGACY[source]} can't be cast to the desired output type {wanted}")


def no_derivative(name: str, several: bool = False) -> Kernel:
    """A rule for an op, perhaps with several results, that PyTorch refuses to differentiate: it raises when called."""
    words = f"derivative for aten::{name} is not implemented"
    return _raising(RuntimeError, words, f"aten::{name} that does not support it.", several)


def not_written(name: str, several: bool = False) -> Kernel:
    """A rule for an input for which PyTorch has no derivative."""
    words = f"the derivative for '{name}' is not implemented."
    forward = "{} that does not support it because it has not been implemented yet."
    return _raising(NotImplementedError, words, forward, several)


def _raising(kind: type[Exception], words: str, forward: str, several: bool) -> Kernel:
    """A rule that raises an error; in forward mode the error is `forward`, with {} replaced by the op's name."""

    def rule(grad: Any) -> Any:
        raise kind(words)

    made = (lambda grads: rule(grads)) if several else rule
    made.not_forward = forward  # type: ignore[attr-defined]
    return made


def has_tangent(tensor: Any) -> bool:
    """Whether a tensor has a tangent at an open forward-mode level."""
    return tensor._rare_state is not None and bool(tensor._rare_state.tangents)


def refuse_tangents(name: str, *tensors: Any, because: str = "it has not been implemented yet.") -> None:
    """Refuse tensors with tangents in functions that would drop the tangents."""
    if any(has_tangent(t) for t in tensors):
        raise NotImplementedError(f"Trying to use forward AD with {name} that does not support it because {because}")


C_NAMES = {
    "float32": "float", "float64": "double", "int64": "long int", "int32": "int", "int16": "short int", "int8": "signed char",
    "uint8": "unsigned char", "float16": "c10::Half", "bfloat16": "c10::BFloat16", "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>", "bool": "bool",
}  # fmt: skip


def c_name(dtype: dtypes.dtype) -> str:
    """The C name of a dtype, used in some of PyTorch's messages."""
    name = str(dtype).removeprefix("torch.")
    return C_NAMES.get(name, name)


def type_name(dtype: dtypes.dtype) -> str:
    """The tensor type name in some of PyTorch's messages: torch.FloatTensor, CPUBFloat16Type."""
    legacy = dtypes.LEGACY[dtype]
    old = dtype.category == dtypes.INTEGRAL or dtype in (dtypes.float16, dtypes.float32, dtypes.float64)
    return f"torch.{legacy}Tensor" if old else f"CPU{legacy}Type"


_NUMBERS = frozenset((int, float, bool, complex))


def refuse_complex_gradient(name: str, *tensors: Tensor) -> None:
    """Refuse a complex gradient where PyTorch does not support one."""
    if is_grad_enabled() and any(t.requires_grad for t in tensors) and any(t.is_complex() for t in tensors):
        raise RuntimeError(f"{name} does not support automatic differentiation for outputs with complex dtype.")


def number_of(value: np.generic) -> Any:
    """A NumPy scalar as a Python scalar, which does not widen float32. PyTorch treats NumPy bools as floats."""
    return float(value) if isinstance(value, np.bool_) else value.item()


def need_number(value: Any) -> Any:
    """A Python scalar or a tensor; refuses a non-scalar that NumPy would accept: None as NaN, a list as an array."""
    if type(value) in _NUMBERS:
        return value
    if isinstance(value, np.generic):
        return number_of(value)
    if not isinstance(value, (int, float, complex, Tensor)):
        raise TypeError(f"a Number was expected, not {type(value).__name__}")
    return value


def need_one_dtype(a: Any, b: Any) -> None:
    """Refuse a second tensor whose dtype differs from the first."""
    if a.dtype is not b.dtype:
        raise RuntimeError(f"expected scalar type {dtypes.LEGACY[a.dtype]} but found {dtypes.LEGACY[b.dtype]}")


def need_real_value(value: Any, dtype: dtypes.dtype) -> None:
    """Refuse a complex factor for real tensors."""
    if isinstance(value, complex) and dtype.category != dtypes.COMPLEX:
        raise RuntimeError(f"value cannot be converted to type {c_name(dtype)} without overflow")


def need_countable(shape: Any, itemsize: int | None = None) -> None:
    """Refuse a shape whose number of elements (or of bytes, if the element size is given) overflows 64 bits."""
    count = math.prod(shape)
    if itemsize is None and count >= 2**63:
        raise RuntimeError("numel: integer multiplication overflow")
    if itemsize is not None and count * itemsize >= 2**63:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)}")


def plain_numbers(value: Any) -> Any:
    """An int or a tuple of ints, unchanged, as a cache key; raises TypeError for objects that merely compare equal to one."""
    if type(value) is int or (type(value) is tuple and type(sum(value)) is int):
        return value
    raise TypeError


# ----- What is said of an argument of a wrong type --------------------------------------------------------------------
# PyTorch names the argument, or lists all overloads if there are several.


_argument_errors = lazy_import(globals(), "_argument_errors", ".argument_errors")


def _is_overloaded(name: str) -> bool:
    """Whether PyTorch has several signatures for a function."""
    return " | " in _argument_errors.signatures().get(name, "")


def wrong_type(
    name: str, arguments: Sequence[Any], position: int, parameter: str, wanted: str, forms: str = ""
) -> TypeError:
    """The error for the argument at `position`, which is not a `wanted`. `forms`: the function's signatures."""
    if _is_overloaded(name):
        got = ", ".join(type(a).__name__ for a in arguments)
        return TypeError(
            f"{name}() received an invalid combination of arguments - got ({got}), but expected one of:\n{forms}"
        )
    return TypeError(
        f"{name}(): argument '{parameter}' (position {position + 1}) must be {wanted}, not {type(arguments[position]).__name__}"
    )


def no_tensor(name: str, *arguments: Any, parameters: tuple[str, str] = ("input", "other")) -> TypeError:
    """The error of a binary function that takes a scalar for one operand but was given no tensor at all."""
    got = ", ".join(type(a).__name__ for a in arguments)
    first, second = parameters
    number = "self" if first == "input" else first
    return TypeError(
        f"{name}() received an invalid combination of arguments - got ({got}), but expected one of:\n"
        f" * (Tensor {first}, Tensor {second}, *, Tensor out = None)\n * (Number {number}, Tensor {second}, *, Tensor out = None)\n"
        f" * (Tensor {first}, Number {second}, *, Tensor out = None)\n"
    )


# ----- Dtypes that PyTorch has no kernel for --------------------------------------------------------------------------
# `@traits(refuses=...)` says which dtypes an op refuses, and with which message.
# The keys are kinds of NumPy dtypes: c complex, b bool, i and u integers, h 16-bit floats. A single word is the name of PyTorch's kernel,
# as in `"lt_cpu" not implemented for 'ComplexFloat'`; an exception has the full message.
# Elementwise ops refuse on the path that promotes their operands, where the generated function sends these dtypes; other ops wrap the kernel.


def refusal(op: Op, np_dtype: Any) -> str | Exception | None:
    """What PyTorch says of an op on a dtype that it has no kernel for; None if it has one."""
    kind = "h" if np_dtype.itemsize == 2 and np_dtype.kind in "fV" else np_dtype.kind
    return next((said for kinds, said in op.traits.refuses.items() if kind in kinds), None)


def refuse(op: Op, np_dtype: Any, inner: bool = False) -> None:
    """Raise PyTorch's error if it has no kernel of this op for the dtype. `inner`: along a dimension other than the last."""
    said = refusal(op, np_dtype)
    if isinstance(said, str):
        raise not_implemented(said.replace("lastdim_", "") if inner else said, np_dtype)
    if said is not None:
        raise type(said)(said.args[0].replace("{}", dtypes.LEGACY[dtypes.from_np(np_dtype)]))


def refusing_dtypes(op: Op, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel of an op that is not elementwise, refusing the dtypes that PyTorch refuses."""
    refuses = op.traits.refuses
    if not refuses or op.kind == "pointwise":
        return kernel

    kinds = "".join(refuses).replace("h", "fV")
    along_dim = any("lastdim_" in str(said) for said in refuses.values())

    def run(*args: Any) -> Any:
        if args[0].dtype.kind in kinds:
            inner = along_dim and args[0].ndim > 1 and args[1] not in (-1, args[0].ndim - 1)
            refuse(op, args[0].dtype, inner)
        return kernel(*args)

    return run
