"""Public functions: a call that fails is explained in PyTorch's words, and a call that succeeds pays next to nothing for it.

# Note [Failed calls]
PyTorch compares the arguments of every call with the signatures of a function before it runs. Here nothing is compared until
something was raised; `after_failure` then looks at the arguments. For that, a public function has a `try` around its body, which
costs nothing until something is raised. The generated functions of the ops have it in their source. A public function that is
written by hand gets a generated one around it, with exactly its parameters:

    def cumsum(input, dim, *, dtype=None):
        try:
            return torch_cumsum(input, dim) if dtype is None else torch_cumsum(input, dim, dtype=dtype)
        except Exception as failure:
            answer = after_failure(public_torch_cumsum, 'cumsum', (input, dim, dtype), failure)
            if answer is None: raise
            return answer[0]

A few short methods that are called very often have the `try` in their own source (`explains_failures`).

`after_failure` raises a better error if it finds one. It has an answer if an argument is of a class with `__torch_function__` and
is the first such argument in this process: Note [Functions taken over] in `_takeover.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import FrameType, FunctionType
from typing import Any

from ..._common.function_code import Compiled, compile_function, compiled_when_called, own_code_of
from ...autograd.modes import NAMESPACE
from ...kernels.lazy import lazy_import
from ...tensor import Tensor

_argument_errors = lazy_import(globals(), "_argument_errors", ".argument_errors")
_takeover = lazy_import(globals(), "_takeover", "..._takeover")


_VARARGS, _VARKEYWORDS, _GENERATOR = 0x04, 0x08, 0x20


# ----- The generated function around a function --------------------------------------------------------------------------

_public: dict[FunctionType, Any] = {}  # the public function for each function written by hand
_GLOBALS: dict[str, Any] = {"__name__": "penlight"}  # of the generated functions


def public_functions(namespace: Mapping[str, Any], prefix: str, module: str, space: str = "") -> dict[str, Any]:
    """The functions to put in the place of the public functions in a namespace, so that failed calls are explained.

    Messages call a function by its name after the prefix. It is found in `module` as `space` and its name, which pickle writes.
    """
    found = {}
    for name, value in namespace.items():
        if type(value) is FunctionType and name[0] != "_" and _is_written_by_hand(value) and _ours(value.__module__):
            own = value.__name__
            found[name] = _public_function(value, own if namespace.get(own) is value else name, prefix, module, space)
    return found


def layers_of(function: FunctionType) -> tuple[FunctionType, ...]:
    """A public function, and the function written by hand that it is around, if it is."""
    made: Any = function
    return (function, made.__wrapped__) if function.__globals__ is _GLOBALS else (function,)


def _is_written_by_hand(function: FunctionType) -> bool:
    return function.__globals__ is not NAMESPACE and function.__globals__ is not _GLOBALS


def _public_function(function: FunctionType, name: str, prefix: str, module: str, space: str = "") -> Any:
    """The generated function around a function that is written by hand. See Note [Failed calls]."""
    found = _public.get(function)
    if found is not None or function.__code__.co_flags & _GENERATOR or hasattr(function, "explains_failures"):
        return found or function
    key = f"{module.rpartition('.')[2]}_{space}{name}".replace(".", "_").replace("penlight_", "torch_")
    made = compiled_when_called(function.__name__, _GLOBALS, lambda: _compiled(function, made, key, prefix + name))
    made.__module__, made.__qualname__, made.__doc__ = module, space + name, function.__doc__
    made.__annotations__, made.__wrapped__ = function.__annotations__, function
    _public[function] = made
    return made


def _compiled(function: FunctionType, public: Any, key: str, name: str) -> Compiled:
    _GLOBALS[key], _GLOBALS[f"public_{key}"] = function, public
    own = own_code_of(function)
    code = own.code
    names = code.co_varnames
    positional, after = names[: code.co_argcount], code.co_argcount + code.co_kwonlyargcount
    only, rest = names[code.co_argcount : after], list(names[after:])
    parameters, call = list(positional), list(positional)
    if code.co_posonlyargcount:
        parameters.insert(code.co_posonlyargcount, "/")
    if code.co_flags & _VARARGS:
        parameters.append("*" + rest[0])
        call.append("*" + rest.pop(0))
    elif only:
        parameters.append("*")
    defaults, kwdefaults = own.defaults or (), own.kwdefaults or {}
    optional = {*positional[len(positional) - len(defaults) :], *kwdefaults}
    parameters = [f"{p}=None" if p in optional else p for p in [*parameters, *only]]
    by_keyword, by_default = (
        [f"{p}={p}" for p in only],
        [f"{p} is {_default(key, p, kwdefaults)}" for p in only if p in kwdefaults],
    )
    if code.co_flags & _VARKEYWORDS:
        parameters.append("**" + rest[0])
        by_keyword.append("**" + rest[0])
        by_default.append("not " + rest[0])
    given = f"{key}({', '.join([*call, *by_keyword])})"
    if by_keyword and len(by_keyword) == len(by_default):  # arguments by keyword cost 50 ns
        given = f"{key}({', '.join(call)}) if {' and '.join(by_default)} else {given}"
    lines = [f"def {function.__name__}({', '.join(parameters)}):", f"    return {given}"]
    source = "\n".join(
        explaining(
            lines, name, names[: after + bool(code.co_flags & _VARARGS) + bool(code.co_flags & _VARKEYWORDS)], key
        )
    )
    return Compiled(compile_function(source + "\n", f"<penlight {key}>"), own.defaults, own.kwdefaults)


def _default(key: str, parameter: str, kwdefaults: dict[str, Any]) -> str:
    """The default value of a parameter in generated source."""
    value = kwdefaults[parameter]
    if value is None or value is True or value is False:
        return str(value)
    _GLOBALS[f"{key}_{parameter}"] = value
    return f"{key}_{parameter}"


def explaining(lines: list[str], name: str, parameters: Iterable[str], key: str | None = None) -> list[str]:
    """The lines of a function with the `try` of Note [Failed calls]; `public_<key>` is the function that is called."""
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
    """Raise a better error than this one if the call of a public function with these values of its parameters had a mistake.

    The answer is the result of the call, if a class of an argument takes over functions and was not noticed before; else None.
    """
    frame = failure.__traceback__.tb_frame  # type: ignore[union-attr]  # of the generated function
    caller = caller_of(frame)
    inside = caller is not None and _ours(caller.f_globals.get("__name__"))
    if inside and not isinstance(failure, (AttributeError, TypeError)):
        return None
    call = _argument_errors.Call.of(own_code_of(public), values, caller)
    if not inside and not _hands_over(frame.f_back):
        if _takeover.foreign((*call.args, *call.kwargs.values())):
            return (public(*call.args, **call.kwargs),)
    better = _argument_errors.argument_error(public, name, call, failure)
    if better is None:
        return None
    try:
        raise better from None
    finally:
        del better, failure, frame, call, values  # an error whose traceback leads to itself keeps the arguments alive


def failed(name: str, values: tuple[Any, ...], failure: Exception) -> Any:
    """What a method that explains its failures itself returns after a failure: it raises, unless `after_failure` has an answer.

    `values` are those of its parameters in the order of `co_varnames`: those by keyword only come before `*args`.
    """
    answer = after_failure(getattr(Tensor, name), name, values, failure)
    if answer is not None:
        return answer[0]
    try:
        raise failure
    finally:
        del failure


NAMESPACE["after_failure"] = _GLOBALS["after_failure"] = after_failure


def caller_of(frame: FrameType) -> FrameType | None:
    """The frame that called a public function, without those between: the first call of a generated function, and
    `__torch_function__`."""
    caller = frame.f_back
    while caller is not None and (
        _hands_over(caller)
        or caller.f_globals.get("__name__") in ("penlight._common.function_code", "penlight._takeover")
        or caller.f_code.co_name in ("_first_call", "__torch_function__")
    ):
        caller = caller.f_back
    return caller


def _hands_over(frame: FrameType | None) -> bool:
    """Whether this is the frame of a function that looks for `__torch_function__`."""
    return frame is not None and frame.f_code.co_filename.startswith("<penlight overrides")


def _ours(module: str | None) -> bool:
    return module is None or module == "penlight" or module.startswith("penlight.")
