"""Public functions: a failed call is explained in PyTorch's words, at almost no cost for successful calls.

# Note [Failed calls]
PyTorch checks the arguments of every call against the signatures of the function before it runs. Here nothing is checked until an
exception is raised; `after_failure` then examines the arguments. To this end a public function has a `try` around its body, which
costs nothing until something is raised. The generated functions of the ops have it in their source. A public function that is
written by hand gets a generated wrapper with exactly its parameters:

    def cumsum(input, dim, *, dtype=None):
        try:
            return torch_cumsum(input, dim) if dtype is None else torch_cumsum(input, dim, dtype=dtype)
        except Exception as failure:
            answer = after_failure(public_torch_cumsum, 'cumsum', (input, dim, dtype), failure)
            if answer is None: raise
            return answer[0]

A few short, frequently called methods have the `try` in their own source (`explains_failures`).

`after_failure` raises a better error if it finds one. It returns a result if an argument is of a class with `__torch_function__` and
is the first such argument in this process (Note [Overridden functions] in `_torch_function.py`), or if a 0-d tensor was passed for a
scalar: `torch.add(x, y, alpha=torch.tensor(2))`.

# Note [NumPy's names]
PyTorch's C++ functions accept `axis` for `dim` and `keepdims` for `keepdim`. So does the generated wrapper of a function written by hand,
which itself knows only PyTorch's names. PyTorch's Python functions do not: torch.nn.functional, and those with `@pytorch_names_only`.

# Note [Functions are not methods]
PyTorch's functions are builtins: in `class Net: act = torch.tanh`, `self.act(x)` calls `torch.tanh(x)`. A Python function would receive
`self` as its first argument. So a module's public function is already a bound method, which no class binds again, like the functions
of Python's `random`. It is bound to an object for the module, which its first parameter receives and ignores. The interpreter
calls a bound method as fast as a function. `*excess` exists because Python would count that first parameter in its error. A method of
Tensor is a separate function: `__torch_function__` distinguishes them, as in PyTorch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from types import FrameType, FunctionType, MethodType
from typing import Any, NamedTuple

import numpy as np

from ..._common.arguments import explained
from ..._common.function_code import Compiled, code_without_handler, compile_function, compiled_when_called
from ...autograd.modes import NAMESPACE
from ...kernels.lazy import lazy_import
from ...tensor import Tensor

_argument_errors = lazy_import(globals(), "_argument_errors", ".argument_errors")
_generate = lazy_import(globals(), "_generate", ".generate")
_torch_function = lazy_import(globals(), "_torch_function", "..._torch_function")


CO_VARARGS, _VARKEYWORDS, _GENERATOR = 0x04, 0x08, 0x20


# ----- The generated function around a function --------------------------------------------------------------------------

_GLOBALS: dict[str, Any] = {"__name__": "penlight"}  # globals of the generated functions
_public: dict[tuple[FunctionType, str, str], Any] = {}  # keyed by inner function, public namespace, public name
_inside: dict[Any, FunctionType] = {}  # the package's function behind each public function


class Functions:
    """The object that a module's public functions are bound to. See Note [Functions are not methods]."""

    def __init__(self, module: str) -> None:
        self.module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self.module), name)

    def __reduce__(self) -> tuple[Any, ...]:
        return Functions, (self.module,)

    def __deepcopy__(self, memo: Any) -> Functions:
        return self

    def __repr__(self) -> str:
        return self.module.replace("penlight", "torch")


def public_functions(
    namespace: Mapping[str, Any], prefix: str, module: str, space: str = "", bound: Iterable[str] | None = None
) -> dict[str, Any]:
    """The public functions of a namespace, wrapped so that failed calls are explained.

    Messages show the name without the prefix. Pickle finds the function in `module` as `space` plus its name. `bound` lists the functions
    that a class does not bind, if not all: Note [Functions are not methods].
    """
    found = {}
    owner = Functions(module)
    for name, value in namespace.items():
        if (
            type(value) is FunctionType
            and name[0] != "_"
            and value.__globals__ is not _GLOBALS
            and _ours(value.__module__)
        ):
            binds = bound is not None and name not in bound
            if not binds or _is_written_by_hand(value):
                found[name] = _public_function(value, name, prefix, module, space, None if binds else owner)
    return found


def function_inside(public: Any) -> Any:
    """The package's function behind a public function."""
    return _inside.get(public, public)


def layers_of(public: Any) -> tuple[Any, ...]:
    """The Python function behind a public function, and the hand-written one that it wraps, if any."""
    function = public.__func__ if type(public) is MethodType else public
    inside = function_inside(public)
    return (function, inside) if inside is not public and _is_written_by_hand(inside) else (function,)


def bound_forms(function: FunctionType) -> list[Any]:
    """The Python functions behind the public functions of an op."""
    return [public.__func__ for (own, *_), public in _public.items() if own is function and type(public) is MethodType]


def _is_written_by_hand(function: FunctionType) -> bool:
    return function.__globals__ is not NAMESPACE and function.__globals__ is not _GLOBALS


def _public_function(function: Any, name: str, prefix: str, module: str, space: str, owner: Functions | None) -> Any:
    """The public function for a function of the package: a generated wrapper, or for an op a generated form of its own."""
    found = _public.get((function, module, space + name))
    if found is not None:
        return found
    if owner is None and (function.__code__.co_flags & _GENERATOR or hasattr(function, "explains_failures")):
        return function
    public: Any
    if _is_written_by_hand(function):
        key = f"{module.rpartition('.')[2]}_{space}{name}".replace(".", "_").replace("penlight_", "torch_")
        made = compiled_when_called(
            function.__name__, _GLOBALS, lambda: _compiled(function, public, key, prefix + name, owner is not None)
        )
        out = getattr(getattr(function, "__wrapped__", None), "out", False)
        made.__doc__, made.__annotations__ = explained(function, name, out), function.__annotations__
        made.__wrapped__ = Shown(function, owner is not None, name=space + name if space else prefix + name)
    else:
        made = _generate.bound_form(function, prefix, lambda: public)
    made.__module__, made.__name__, made.__qualname__ = module, name, space + name
    public = made if owner is None else MethodType(made, owner)
    _public[function, module, space + name] = public
    _inside[public] = function
    return public


class Shown:
    """The signature and docstring that `help` and `inspect.signature` show for a generated function: those of the wrapped function, with
    `out=` or the first parameter of a bound method, and without defaults for arguments that PyTorch requires."""

    __slots__ = ("__wrapped__", "bound", "name", "out")

    def __init__(self, function: Any, bound: bool = False, out: bool = False, name: str = "") -> None:
        self.__wrapped__, self.bound, self.out, self.name = function, bound, out, name

    @property
    def __signature__(self) -> Any:
        from inspect import Parameter, signature

        shown = signature(self.__wrapped__)
        parameters = [p for name, p in shown.parameters.items() if name != "in_place"]  # see op_forms
        required = _argument_errors.required(self.name) if self.name else ()
        parameters = [
            p.replace(default=p.empty) if p.name in required and p.kind is p.POSITIONAL_OR_KEYWORD else p
            for p in parameters
        ]
        if self.bound:
            parameters.insert(0, Parameter("_", Parameter.POSITIONAL_ONLY))
        if self.out:
            parameters.append(Parameter("out", Parameter.KEYWORD_ONLY, default=None, annotation="Tensor | None"))
        return shown.replace(parameters=parameters)


class Form(NamedTuple):
    """A function made by `op_forms` (declare.py): it calls `prepare`, and runs the op that `prepare` returns."""

    prepare: Any
    first: tuple[str, ...]
    run: str  # an expression in `op` and `arguments`


def _compiled(function: FunctionType, public: Any, key: str, name: str, bound: bool) -> Compiled:
    form: Form | None = getattr(function, "form", None)
    _GLOBALS[key], _GLOBALS[f"public_{key}"] = function if form is None else form.prepare, public
    own = code_without_handler(function)
    if pending := (own.kwdefaults or {}).get("_pending"):
        own = pending.generate()
    code = own.code
    names = code.co_varnames
    positional, after = names[: code.co_argcount], code.co_argcount + code.co_kwonlyargcount
    only, rest = names[code.co_argcount : after], list(names[after:])
    aliases = {} if name.startswith("F.") or hasattr(function, "pytorch_names_only") else _aliases(names[:after])
    parameters, call = list(positional), list(positional)
    if code.co_posonlyargcount:
        parameters.insert(code.co_posonlyargcount, "/")
    if code.co_flags & CO_VARARGS:
        parameters.append("*" + rest[0])
        call.append("*" + rest.pop(0))
    elif bound:
        parameters.append("*excess")
    elif only or aliases:
        parameters.append("*")
    if form is not None:
        call = [*form.first, *call]
        _GLOBALS["in_place_function"] = NAMESPACE["in_place_function"]
    defaults, kwdefaults = own.defaults or (), own.kwdefaults or {}
    optional = {*positional[len(positional) - len(defaults) :], *kwdefaults, *aliases.values()}
    parameters = [f"{p}=None" if p in optional else p for p in [*parameters, *only, *aliases.values()]]
    either = {p: f"{p} if {alias} is None else {alias}" for p, alias in aliases.items()}
    passed = only if form is None else [p for p in only if p != "out"]
    by_keyword = [f"{p}={either.get(p, p)}" for p in passed]
    by_default = [f"{p} is {_default(key, p, kwdefaults)}" for p in passed if p in kwdefaults]
    told_apart = [f"{alias} is None" for alias in aliases.values()]
    if code.co_flags & _VARKEYWORDS:
        parameters.append("**" + rest[0])
        by_keyword.append("**" + rest[0])
        by_default.append("not " + rest[0])
    given = f"{key}({', '.join([*(either.get(p, p) for p in call), *by_keyword])})"
    if (by_keyword or aliases) and len(by_keyword) == len(by_default):  # passing keyword arguments costs 50 ns
        given = f"{key}({', '.join(call)}) if {' and '.join(by_default + told_apart)} else {given}"
    body = [f"    return {given}"] if form is None else [f"    op, arguments = {given}", f"    return {form.run}"]
    taken = [
        *names[:after],
        *aliases.values(),
        *names[after : after + bool(code.co_flags & CO_VARARGS) + bool(code.co_flags & _VARKEYWORDS)],
    ]
    if bound:
        parameters.insert(0, "_")
        if not code.co_flags & CO_VARARGS:
            body.insert(
                0,
                f"    if excess: raise too_many({name.removeprefix('F.')!r}, {len(positional)}, {len(defaults)}, excess)",
            )
            taken.insert(after + len(aliases), "excess")
    lines = [f"def {function.__name__}({', '.join(parameters)}):", *body]
    source = "\n".join(explaining(lines, name, taken, key))
    kwdefaults = {**kwdefaults, **dict.fromkeys(aliases.values())}
    return Compiled(compile_function(source + "\n", f"<penlight {key}>"), own.defaults, kwdefaults or None)


def _aliases(names: tuple[str, ...]) -> dict[str, str]:
    """NumPy's names for parameters. See Note [NumPy's names]."""
    return {own: alias for own, alias in (("dim", "axis"), ("keepdim", "keepdims")) if own in names}


def _default(key: str, parameter: str, kwdefaults: dict[str, Any]) -> str:
    """The default value of a parameter in generated source."""
    value = kwdefaults[parameter]
    if value is None or value is True or value is False:
        return str(value)
    _GLOBALS[f"{key}_{parameter}"] = value
    return f"{key}_{parameter}"


def too_many(name: str, count: int, defaults: int, excess: tuple[Any, ...]) -> TypeError:
    """Python's error for too many positional arguments of a bound method, without counting the bound object."""
    takes = f"from {count - defaults} to {count}" if defaults else str(count)
    plural = "" if takes == "1" else "s"
    return TypeError(f"{name}() takes {takes} positional argument{plural} but {count + len(excess)} were given")


def explaining(lines: list[str], name: str, parameters: Iterable[str], key: str | None = None) -> list[str]:
    """The lines of a function with the `try` of Note [Failed calls]; `public_<key>` is the called function."""
    head, *body = lines
    values = "".join(p + ", " for p in parameters).removesuffix(" ")
    return [
        head,
        "    try:",
        *("    " + line for line in body),
        "    except Exception as failure:",
        f"        answer = after_failure(public_{key or name}, {name!r}, ({values}), failure)",
        "        if answer is None: raise",
        "        return answer[0]",
    ]


# ----- After a failure -----------------------------------------------------------------------------------------------------


def after_failure(public: Any, name: str, values: tuple[Any, ...], failure: Exception) -> tuple[Any] | None:
    """Raise a better error if a failed call of a public function with these parameter values had an argument error.

    Returns the result of the call, in a tuple, if an argument's class has a `__torch_function__` that was not noticed before or if a 0-d
    tensor or a NumPy scalar was passed for a scalar; else None.
    """
    frame = failure.__traceback__.tb_frame  # type: ignore[union-attr]  # of the generated function
    caller = caller_of(frame)
    inside = caller is not None and _ours(caller.f_globals.get("__name__"))
    better = _argument_errors.memory_error(failure)
    if not inside or isinstance(failure, (AttributeError, TypeError)) or any(isinstance(v, np.generic) for v in values):
        call = _argument_errors.Call.of(public, values, caller)
        if not inside and not _hands_over(frame.f_back):
            if _torch_function.activate_for((*call.args, *call.kwargs.values())):
                return (public(*call.args, **call.kwargs),)
        numbers = _argument_errors.with_numbers(name, call, failure)
        if numbers is not None:
            try:
                return (public(*numbers.args, **numbers.kwargs),)
            except Exception as raised:
                raised.__suppress_context__ = True  # the failed attempt does not help the caller
                raise
        better = _argument_errors.argument_error(public, name, call, failure) or better
        del call
    if better is None:
        return None
    try:
        raise better from None
    finally:
        del better, failure, frame, values  # break the cycle through the traceback, which keeps arguments alive


def failed(name: str, values: tuple[Any, ...], failure: Exception) -> Any:
    """Called after a failure by a method that explains its own failures: raises, or returns the answer of `after_failure`.

    `values` are the parameters' values in the order of `co_varnames`: keyword-only ones come before `*args`.
    """
    answer = after_failure(getattr(Tensor, name), name, values, failure)
    if answer is not None:
        return answer[0]
    try:
        raise failure
    finally:
        del failure


for _space in (NAMESPACE, _GLOBALS):
    _space.update(after_failure=after_failure, too_many=too_many)


def caller_of(frame: FrameType) -> FrameType | None:
    """The frame that called a public function, skipping intermediate frames: the first call of a generated function, and
    `__torch_function__`."""
    caller = frame.f_back
    while caller is not None and (
        _hands_over(caller)
        or caller.f_globals.get("__name__") in ("penlight._common.function_code", "penlight._torch_function")
        or caller.f_code.co_name in ("_first_call", "__torch_function__")
    ):
        caller = caller.f_back
    return caller


def _hands_over(frame: FrameType | None) -> bool:
    """Whether this is the frame of a function that checks for `__torch_function__`."""
    return frame is not None and frame.f_code.co_filename.startswith("<penlight overrides")


def _ours(module: str | None) -> bool:
    return module is None or module == "penlight" or module.startswith("penlight.")
