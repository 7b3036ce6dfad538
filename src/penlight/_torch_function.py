"""`__torch_function__`: how subclasses of Tensor, other types and modes override the library's functions.

# Note [Overridden functions]
PyTorch checks the types of the arguments in every function. Here that would cost more than a small op does, so nothing is checked until
the first overriding object appears: an instance of a subclass of Tensor with `__torch_function__`, a foreign operand with it, or a
`TorchFunctionMode`. Then `activate` copies every public function and replaces the function's code with a check of its arguments, which
calls the copy. The function object stays the same, so references to it remain valid, and programs can use it as a key.
A process without such types never pays.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from types import FunctionType, MethodType
from typing import Any

from ._common.function_code import code_without_handler, copy_of, handler_code, pending_of, run_instead
from .autograd.node import NO_EDGE
from .kernels.lazy import lazy_import
from .ops.machinery.public_functions import layers_of
from .tensor import DISABLED, Tensor, new

_subclasses = lazy_import(globals(), "_subclasses", ".ops.machinery.subclasses")

# Whether overrides by subclasses are disabled in this thread, and whether modes are too.
subclasses_off: ContextVar[bool] = ContextVar("penlight_subclasses_off", default=False)
all_off: ContextVar[bool] = ContextVar("penlight_torch_function_off", default=False)
# The function that `default` is running.
_running: ContextVar[Any] = ContextVar("penlight_torch_function_running", default=None)
modes: ContextVar[tuple[Any, ...]] = ContextVar("penlight_torch_function_modes", default=())

# Operators that `__torch_function__` receives under the name of another method.
_OPERATORS = dict(
    __add__="add", __radd__="add", __sub__="sub", __mul__="mul", __rmul__="mul", __truediv__="div", __mod__="remainder",
    __pow__="pow", __matmul__="matmul", __lt__="lt", __le__="le", __gt__="gt", __ge__="ge", __ne__="ne", __neg__="neg",
    __pos__="positive", __abs__="abs", __iadd__="add_", __isub__="sub_", __imul__="mul_", __itruediv__="div_",
    __ifloordiv__="floor_divide_", __imod__="remainder_", __ipow__="pow_", __rand__="bitwise_and", __ror__="bitwise_or",
    __rxor__="bitwise_xor",
)  # fmt: skip

# The operators with two operands.
_BINARY = {f"__{name}__" for name in ("eq", "ne", "lt", "le", "gt", "ge")} | {
    f"__{form}{name}__" for form in ("", "r", "i") for name in (
        "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift"
    )
}  # fmt: skip

# Functions that take no tensors, or that cannot be overridden.
IGNORED = {
    "can_cast", "promote_types", "manual_seed", "seed", "initial_seed", "save", "load", "compile", "cond", "vmap",
    "typename", "finfo", "iinfo", "broadcast_shapes", "compiled_with_cxx11_abi", "init_num_threads",
    "use_deterministic_algorithms", "clear_autocast_cache", "autocast_decrement_nesting",
    "autocast_increment_nesting", "is_tensor", "is_storage", "is_grad_enabled", "is_inference_mode_enabled",
    "is_anomaly_enabled", "is_distributed", "is_anomaly_check_nan_enabled", "is_vulkan_available",
    "is_warn_always_enabled", "is_deterministic_algorithms_warn_only_enabled",
    "are_deterministic_algorithms_enabled", "boolean_dispatch", "assert_int_or_pair", "handle_torch_function",
    "has_torch_function", "has_torch_function_unary", "has_torch_function_variadic", "__new__", "__init_subclass__",
    "__class__", "__hash__", "__dir__", "__iter__", "__deepcopy__", "__copy__", "__reduce_ex__", "__setstate__",
    "as_subclass", "_make_subclass", "_one", "_is_view", "__array_wrap__",
}  # fmt: skip

# Functions that make a plain tensor from any object: modes override them, the classes of their arguments do not.
_FACTORIES = {"tensor", "as_tensor", "asarray", "from_numpy", "scalar_tensor"}

_lock = threading.Lock()
_originals: dict[Any, Any] = {}  # from a function that checks its arguments to a copy with its earlier code
OVERRIDABLE: dict[str, list[Any]] = {}  # public functions by namespace
NAMES: dict[Any, str] = {}  # the full names of public functions

_overriding: dict[type, bool] = {}  # the results of `overrides_functions`


def overrides_functions(kind: type) -> bool:
    """Whether a class has a `__torch_function__` of its own."""
    try:
        return _overriding[kind]
    except KeyError:
        own = getattr(kind, "__torch_function__", None)
        # A tensor of the real PyTorch, in a process that has both, is just a foreign object.
        real = hasattr(kind, "_cdata") and not issubclass(kind, Tensor)
        found = kind is not Tensor and own is not None and own is not DISABLED and not real
        _overriding[kind] = found
        return found


def prepare_class(kind: type) -> None:
    """Activate the overrides of a class, just before an instance of it is made."""
    if getattr(kind, "__torch_dispatch__", DISABLED) is not DISABLED:
        _subclasses.activate(kind)
    if overrides_functions(kind):
        activate()


def activate_for(arguments: Iterable[Any]) -> bool:
    """Whether one of these arguments, which an op cannot use, overrides functions; if so, activate the checks."""
    if subclasses_off.get() or not _relevant(arguments):
        return False
    activate()
    return True


def overriding(values: Iterable[Any]) -> list[Any]:
    """One argument of each class that overrides functions; subclasses come before their bases."""
    found: list[Any] = []
    for value in values:
        kind = type(value)
        if overrides_functions(kind) and not any(type(o) is kind for o in found):
            index = next((i for i, o in enumerate(found) if issubclass(kind, type(o))), len(found))
            found.insert(index, value)
    return found


def _relevant(arguments: Iterable[Any]) -> list[Any]:
    """As `overriding`, also for the items of lists and tuples."""
    return overriding([v for a in arguments for v in (a if type(a) in (list, tuple) else (a,))])


def handle(function: Any, found: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Let the innermost mode handle a call, or the classes of `found` in turn, until one does not return NotImplemented."""
    types = tuple(type(value) for value in found)
    kwargs = kwargs or None  # type: ignore[assignment]  # PyTorch's C++ passes None for no keywords
    open_modes = modes.get()
    if open_modes and not all_off.get():
        modes.set(open_modes[:-1])
        try:
            result = open_modes[-1].__torch_function__(function, types, args, kwargs)
        finally:
            modes.set(open_modes)
        if result is not NotImplemented:
            return result
    for value in found:
        result = type(value).__torch_function__(function, types, args, kwargs)
        if result is not NotImplemented:
            return result
    name = NAMES.get(function, f"{getattr(function, '__module__', None)}.{getattr(function, '__name__', function)}")
    raise TypeError(
        f"Multiple dispatch failed for '{name}'; all __torch_function__ handlers returned NotImplemented:\n\n"
        + "\n".join(f"  - tensor subclass {kind}" for kind in types)
        + "\n\nFor more information, try re-running with TORCH_LOGS=not_implemented"
    )


def default(cls: type, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Any:
    """Tensor's `__torch_function__`: make the call, and convert tensors in the result to `cls`."""
    if not all(issubclass(cls, kind) for kind in types) or _running.get() is function:
        return NotImplemented  # a function that calls `__torch_function__` again is the real PyTorch's
    off, running = subclasses_off.get(), _running.get()
    subclasses_off.set(True)
    _running.set(function)
    try:
        result = function(*args, **(kwargs or {}))
    finally:
        _running.set(running)
        subclasses_off.set(off)
    return result if function in _not_wrapped() else _convert(result, cls)


def _not_wrapped() -> tuple[Any, ...]:
    return Tensor._base.__get__, Tensor.grad.__get__


def _convert(result: Any, cls: type) -> Any:
    if isinstance(result, Tensor):
        return result if cls is Tensor or isinstance(result, cls) else result.as_subclass(cls)
    if isinstance(result, (tuple, list)):
        return type(result)(_convert(r, cls) for r in result)
    return result


# ----- Functions that check their arguments ---------------------------------------------------------------------------


class _Check:
    """Runs in place of a public function: calls its copy, or `handle` if an argument or a mode overrides it."""

    __slots__ = ("bound", "making", "operator", "original", "public")

    def __init__(self, public: Any, original: Any, operator: bool, bound: bool) -> None:
        self.public, self.original, self.operator, self.bound = public, original, operator, bound
        self.making = original.__name__ in _FACTORIES

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if all_off.get() or (subclasses_off.get() and not modes.get()):
            return self.original(*args, **kwargs)
        found = [] if self.making or subclasses_off.get() else _relevant((*args, *kwargs.values()))
        if not found and not modes.get():
            return self.original(*args, **kwargs)
        public = self.public
        if (
            public is Tensor.__eq__ and found
        ):  # PyTorch dispatches this for the first operand only, otherwise `Tensor.eq`
            found, public = (first, public) if (first := overriding(args[:1])) else (found, Tensor.eq)
        args = args[self.bound :]
        if self.original.__name__ == "einsum" and len(args) == 2 and isinstance(args[1], (list, tuple)):
            args = (args[0], *args[1])  # PyTorch's Python function unpacks the list of operands before it checks them
        try:
            return handle(public, found, args, kwargs)
        except TypeError:
            if self.operator:  # Python tries the other operand, and raises its own TypeError
                return NotImplemented
            raise


def _install_check(function: FunctionType, public: Any, operator: bool, bound: bool) -> None:
    """Make a function check its arguments before it runs; with `bound`, those after the first."""
    if function in _originals:
        return
    copy = _originals[function] = copy_of(function)
    if not hasattr(function, "__wrapped__"):
        function.__wrapped__ = copy  # type: ignore[attr-defined]  # keeps inspect.signature
    pending = pending_of(function)
    if pending is not None:
        pending.function = copy
    run_instead(function, handler_code(function, _Check(public, copy, operator, bound), "<penlight overrides>"))


def activate() -> None:
    """Make every public function check its arguments from now on. See Note [Overridden functions]."""
    with _lock:
        if _originals:
            return
        functions = list(_namespaces())
        for name, function, public in functions:
            own = name.rpartition(".")[2]
            for layer in layers_of(function):  # also the hand-written one, which the package calls directly
                bound = type(function) is MethodType and layer is function.__func__
                _install_check(layer, public, own in _BINARY, bound)
            if public not in NAMES or getattr(public, "__name__", None) == own != NAMES[public].rpartition(".")[2]:
                NAMES[public] = name
            OVERRIDABLE.setdefault(name.rpartition(".")[0], []).append(public)


def deactivate() -> None:
    """Undo `activate`: restore the code of every function."""
    with _lock:
        for function, copy in _originals.items():
            pending = pending_of(copy)
            if pending is not None:
                pending.function = function
            run_instead(function, code_without_handler(copy))
            if function.__wrapped__ is copy:
                del function.__wrapped__
        _originals.clear()
        OVERRIDABLE.clear()


@contextmanager
def active_for(kind: type) -> Iterator[None]:
    """A region in which functions check for instances of a class; afterwards they do so only if another class overrides functions."""
    was_inactive = not _originals
    activate()
    try:
        yield
    finally:
        if was_inactive and not any(found for other, found in _overriding.items() if not issubclass(other, kind)):
            deactivate()


def _namespaces() -> Iterable[tuple[str, Any, Any]]:
    """The public functions: full name, the function, and the function that `__torch_function__` receives."""
    import penlight

    lazy = [n for n, where in penlight._LAZY_NAMES.items() if where.startswith("ops.") or where == "typeinfo"]
    yield from _functions("torch", penlight, [*vars(penlight), *lazy])
    for name in ("nn.functional", "linalg", "fft", "special"):
        module = import_module("penlight." + name)
        yield from _functions("torch." + name, module, getattr(module, "__all__", dir(module)))
    yield from _functions("torch.autograd", penlight.autograd, ["backward", "grad"])
    for name, value in list(vars(Tensor).items()):
        if name in IGNORED or name.startswith("_foreach"):
            continue
        if type(value) is FunctionType:
            public = getattr(Tensor, _OPERATORS.get(name, name))
            if getattr(Tensor, public.__name__, None) is not public:
                public.__name__ = _OPERATORS.get(name, name)  # it had the name of the helper that made it
            yield f"torch.Tensor.{name}", value, public
        elif type(value) is property:
            if type(value.fget) is FunctionType:
                yield f"torch.Tensor.{name}.__get__", value.fget, value.__get__
            if type(value.fset) is FunctionType:
                yield f"torch.Tensor.{name}.__set__", value.fset, value.__set__


def _functions(where: str, module: Any, names: Iterable[str]) -> Iterable[tuple[str, Any, Any]]:
    for name in dict.fromkeys(names):
        if name in IGNORED or name.startswith(("_", "get_", "set_", "is_autocast")):
            continue
        value = getattr(module, name, None)
        home = (getattr(value, "__module__", None) or "").partition(".")[0]  # "torch" if Penlight has that name
        if type(value) in (FunctionType, MethodType) and home in ("penlight", "torch"):
            yield f"{where}.{name}", value, value


# ----- Tensors that wrap others --------------------------------------------------------------------------------------------------------------------


class WrappingTensor(Tensor):
    """A tensor that holds other tensors instead of an array, and overrides every function.

    Its dtype, device and graph are those of `_inner`. A subclass defines `shape`, and a `__torch_function__` that implements functions.
    """

    __slots__ = ("_inner",)

    _inner: Tensor

    def __new__(cls, inner: Tensor, **fields: Any) -> Any:
        activate()
        out: Any = new(cls)
        out._inner = inner
        for name, value in fields.items():
            setattr(out, name, value)
        out._edge = NO_EDGE
        out._vc = out._grad = out._view = out._rare_state = None
        return out

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    ndim = property(lambda self: len(self.shape))
    dtype = property(lambda self: self._inner.dtype)
    device = property(lambda self: self._inner.device)
    itemsize = property(lambda self: self._inner.itemsize)
    is_cpu = property(lambda self: self._inner.is_cpu)
    is_meta = property(lambda self: self._inner.is_meta)
    is_leaf = property(lambda self: self._inner.is_leaf)
    grad_fn = property(lambda self: self._inner.grad_fn)
    output_nr = property(lambda self: self._inner.output_nr)
    _version = property(lambda self: self._inner._version)
    T = property(lambda self: self.t())
    mT = property(lambda self: self.transpose(-2, -1))
    data = property(lambda self: self.detach())

    @property
    def requires_grad(self) -> bool:
        return self._inner.requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    def __len__(self) -> int:
        return self.shape[0]

    def __deepcopy__(self, memo: Any) -> Any:
        return self.clone()
