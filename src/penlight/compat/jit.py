"""torch.jit: there is no TorchScript. Scripting and tracing return their argument.

>>> import penlight as torch
>>> torch.jit.is_scripting()
False
"""

import builtins
from importlib import import_module
from types import UnionType
from typing import Any, Final as Final, Union, get_args, get_origin

from penlight._common.arguments import explain as _explain
from penlight._common.docstrings import constant
from penlight._common.user_warnings import warn_once
from penlight._refused import missing, refused_class, refused_function
from penlight.futures import Future as Future
from penlight.nn import Module

__path__: list[str] = []  # `jit.annotations` is a row of the table
_AS_IT_IS = "Penlight has no TorchScript, and runs the {} as it is written"


def script(obj: Any, optimize: Any = None, _frames_up: int = 0, _rcb: Any = None, example_inputs: Any = None) -> Any:
    """The function, module or class itself, with one warning. Also a decorator.

    Args:
        obj: the function, module or class
        optimize, example_inputs: accepted and ignored

    Returns:
        `obj`

    >>> torch.jit.script(torch.relu) is torch.relu
    True
    """
    warn_once("torch.jit.script: " + _AS_IT_IS.format("function"))
    return obj


def trace(func: Any, example_inputs: Any = None, *args: Any, example_kwarg_inputs: Any = None, **options: Any) -> Any:
    """The function or module itself, with one warning.

    Args:
        func: the function or module
        example_inputs, example_kwarg_inputs: accepted and ignored

    Returns:
        `func`

    >>> torch.jit.trace(torch.relu, torch.ones(1)) is torch.relu
    True
    """
    warn_once("torch.jit.trace: " + _AS_IT_IS.format("function"))
    return func


def trace_module(mod: Any, inputs: Any, *args: Any, **options: Any) -> Any:
    """The module itself, with one warning.

    Args:
        mod: the module
        inputs: accepted and ignored

    Returns:
        `mod`

    >>> module = torch.nn.ReLU()
    >>> torch.jit.trace_module(module, {"forward": torch.ones(1)}) is module
    True
    """
    warn_once("torch.jit.trace: " + _AS_IT_IS.format("module"))
    return mod


_SAVING = "Penlight has no TorchScript. Use torch.save(module.state_dict(), path) and module.load_state_dict(torch.load(path))."
save = refused_function("jit.save", _SAVING)
load = refused_function("jit.load", _SAVING)


class ScriptModule(Module):
    """A module whose methods run as plain Python.

    >>> isinstance(torch.jit.ScriptModule(), torch.nn.Module)
    True
    """

    save = save
    graph = code = property(refused_function("jit.ScriptModule.graph", _SAVING), doc=f"Refused: {_SAVING}")


RecursiveScriptModule = TracedModule = TopLevelTracedModule = ScriptModule


class Error(RuntimeError):
    """An error of TorchScript's.

    >>> issubclass(torch.jit.Error, RuntimeError)
    True
    """


class TracerWarning(Warning):
    """The category of tracing warnings; never emitted.

    >>> issubclass(torch.jit.TracerWarning, Warning)
    True
    """

    @staticmethod
    def ignore_lib_warnings() -> None:
        """Without effect."""


class ScriptWarning(Warning):
    """The category of scripting warnings; never emitted.

    >>> issubclass(torch.jit.ScriptWarning, Warning)
    True
    """


class Attribute:
    """A value with its TorchScript type.

    Args:
        value: the value
        type: its type

    >>> torch.jit.Attribute([1.0], list[float]).value
    [1.0]
    """

    def __init__(self, value: Any, type: Any) -> None:
        self.value, self.type = value, type


def is_scripting() -> bool:
    """Whether a program is being compiled: never."""
    return False


def is_tracing() -> bool:
    """Whether a program is being compiled: never."""
    return False


def _same(fn: Any) -> Any:
    """Return the argument.

    Args:
        fn: a function, method or module

    >>> torch.jit.export(abs) is torch.jit.unused(abs) is abs
    True
    """
    return fn


export = unused = interface = script_method = script_if_tracing = _script_if_tracing = _same
_overload = _overload_method = _copy_to_script_wrapper = _same


class BroadcastingListCls:
    """`BroadcastingList2[int]`: a scalar or a list of that many.

    >>> torch.jit.BroadcastingListCls()[int]
    """

    def __getitem__(self, types: Any) -> None:
        return None


BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = BroadcastingListCls()


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """The function itself. Also a decorator, with and without arguments.

    Args:
        drop: the function, or an option that is ignored

    Returns:
        the function, or a decorator that returns it

    >>> torch.jit.ignore(abs) is torch.jit.ignore(drop=True)(abs) is abs
    True
    """
    return drop if callable(drop) else _same


def annotate(the_type: Any, the_value: Any) -> Any:
    """The value.

    Args:
        the_type: accepted and ignored
        the_value: the value

    Returns:
        the value

    >>> torch.jit.annotate(list[int], [])
    []
    """
    return the_value


def isinstance(obj: Any, target_type: Any) -> bool:
    """Whether an object is of a type; for a type like `list[int]`, all items are checked.

    Args:
        obj: the object
        target_type: a class, a union of some, or one with the types of its items

    Returns:
        True or False

    >>> torch.jit.isinstance([1, 2], list[int]), torch.jit.isinstance([1, "2"], list[int])
    (True, False)
    """
    origin, inner = get_origin(target_type), get_args(target_type)
    if origin is None:
        return builtins.isinstance(obj, target_type)
    if origin in (Union, UnionType):
        return any(isinstance(obj, each) for each in inner)
    if not builtins.isinstance(obj, origin):
        return False
    if origin is dict:
        return all(isinstance(k, inner[0]) and isinstance(v, inner[1]) for k, v in obj.items())
    if origin is tuple:
        return len(obj) == len(inner) and all(isinstance(item, each) for item, each in zip(obj, inner))
    return all(isinstance(item, inner[0]) for item in obj)


def freeze(mod: Any, preserved_attrs: Any = None, optimize_numerics: bool = True) -> Any:
    """The module itself, which must be in evaluation mode.

    Args:
        mod: the module
        preserved_attrs, optimize_numerics: accepted and ignored

    Returns:
        the module

    >>> torch.jit.freeze(torch.nn.ReLU().eval())
    ReLU()
    """
    if mod.training:
        raise RuntimeError(
            "Freezing is currently only implemented for modules in eval mode. Please call .eval() on your module before freezing."
        )
    return mod


def optimize_for_inference(mod: Any, other_methods: Any = None) -> Any:
    """The module itself.

    Args:
        mod: the module
        other_methods: accepted and ignored

    Returns:
        the module

    >>> torch.jit.optimize_for_inference(torch.nn.ReLU())
    ReLU()
    """
    return mod


def fork(func: Any, *args: Any, **kwargs: Any) -> Any:
    """Run the function, and return a future with its result.

    Args:
        func: the function; the other arguments are passed to it

    Returns:
        a `Future`

    >>> torch.jit.wait(torch.jit.fork(torch.add, torch.ones(1), 2))
    tensor([3.])
    """
    future: Future[Any] = Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future: Any) -> Any:
    """The result of `fork`.

    Args:
        future: the future that `fork` returned

    Returns:
        the result of the function

    >>> torch.jit.wait(torch.jit.fork(abs, -1))
    1
    """
    return future.wait()


class optimized_execution:
    """A context without effect.

    `should_optimize` is accepted.

    >>> with torch.jit.optimized_execution(False): pass
    """

    def __init__(self, should_optimize: bool) -> None:
        pass

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        pass


fuser = optimized_execution


def set_fusion_strategy(strategy: Any) -> list[Any]:
    """Accepted and without effect."""
    return []


def enable_onednn_fusion(enabled: bool) -> None:
    """Accepted and without effect."""


def onednn_fusion_enabled() -> bool:
    """Whether there is such a setting: no."""
    return False


for _answer in (is_scripting, is_tracing, onednn_fusion_enabled):
    constant("jit", _answer, False)
constant("jit", enable_onednn_fusion)
constant("jit", set_fusion_strategy, [])
_get_trace_graph = refused_function("jit._get_trace_graph", "Penlight has no TorchScript. Use torch.fx.symbolic_trace.")
ScriptFunction = refused_class("jit.ScriptFunction", "Penlight has no TorchScript. Use the function itself.")
CompilationUnit = refused_class(
    "jit.CompilationUnit", "Penlight has no TorchScript. Write the code as Python functions."
)


def __getattr__(name: str) -> Any:
    if name == "annotations":
        return import_module(f"{__name__}.annotations")
    raise missing(__name__, name)


_explain(globals())
