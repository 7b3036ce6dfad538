"""Declares ops: the decorators, and what they build from a declaration.

A declaration is a decorated `def`. The def is the public function (name, signature, types, docstring); the decorator gives
the kernel on ndarrays and one rule for each differentiable input, named after it. A rule's parameters name the values it needs, and only
these are saved: `grad`, an input, `result`, `input_shape`, a plain argument, and `xp`, the namespace it runs in.

- pointwise: elementwise. Each rule is also the forward-mode rule; inputs broadcast; the machinery reduces gradients to the inputs' shapes.
- linear: jointly linear in its inputs, so forward mode applies the op to the tangents.
- bilinear: linear in each input, so forward mode is the product rule.
- differentiable: anything else; `jvp` is given explicitly.
- plain: no derivative.
- view=True: the result shares the input's memory.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import Any, TypeAlias, TypeVar

import numpy as np

from ... import dtypes
from ..._common.docstrings import documented
from ..._common.function_code import (
    Compiled,
    code_without_handler,
    compile_function,
    compiled_when_called,
    handler_code,
    run_instead,
)
from ...autograd import modes, saved, views
from ...autograd.modes import NAMESPACE
from ...autograd.node import DEAD_END, FREED, NO_EDGE, READY, Freed, Node
from ...kernels.copies.convert import cast, is_half
from ...kernels.elementwise import apply, apply_into, apply_summed
from ...kernels.elementwise.strategies import COSTLY, HALVES, LARGE, OUTER
from ...kernels.lazy import copied, lazy_import
from ...kernels.numpy_warnings import silent
from ...tensor import Tensor, meta_of, wrap
from . import dispatch, generate, recovery, rules as _rules, scalars  # noqa: F401
from .array_namespace import graph, raw, sum_to
from .channels_last import follow
from .generate import in_place_function
from .guards import refusing_dtypes
from .op import Op, freed_wants, slot_kind
from .public_functions import CO_VARARGS, Form, Shown

_packing = lazy_import(globals(), "_packing", "...autograd.packing")


F = TypeVar("F", bound=Callable[..., Any])

OPS: dict[str, Op] = {}

NAMESPACE.update(
    FLOATS=frozenset(d.np for d in (dtypes.float16, dtypes.float32, dtypes.float64)),
    REALS=frozenset(d.np for d in dtypes.ALL if d.category != dtypes.COMPLEX),
    REAL_NUMBERS=frozenset(d.np for d in dtypes.ALL if d.category != dtypes.COMPLEX and d is not dtypes.bool_),
    float16=dtypes.float16.np, float32=dtypes.float32.np, ndarray=np.ndarray, asarray=np.asarray, new=object.__new__, Tensor=Tensor, NO_EDGE=NO_EDGE, DEAD_END=DEAD_END,
    unrecorded_edge=views.unrecorded_edge,
    FREED=FREED, is_grad_enabled=modes.is_grad_enabled, sequence=modes.sequence, raw=raw, ops=graph, sum_to=sum_to, link=views.link, link_parts=views.link_parts,
    in_place_function=in_place_function, rewrite=dispatch.rewrite, readable_rewrite=dispatch.readable_rewrite, rewrite_recorded=dispatch.rewrite_recorded, inplace_operator=recovery.inplace_operator, may_write=dispatch.may_write, store=dispatch.store, bump=views.bump, dispatch=dispatch.dispatch, arranged=dispatch.arranged, enter=dispatch.enter, meta_of=meta_of, dispatch_operator=recovery.dispatch_operator, leave_operator=recovery.leave_operator, recover_operator=recovery.recover_operator,
    explain_value_error=dispatch.explain_value_error, dispatch_backward=_rules.dispatch_backward, record=dispatch.record,
    recover=recovery.recover, explain=saved.explain, input_modified=saved.input_modified,
    result_modified=saved.result_modified, COSTLY=COSTLY, HALVES=HALVES, LARGE=LARGE, OUTER=OUTER, broadcast=np.broadcast, apply_elementwise=apply,
    apply_into=apply_into, apply_summed=apply_summed,
)  # fmt: skip


def pointwise(
    kernel: Callable[..., Any], operator: str | None = None, /, *, node: str | None = None, floating: bool = False,
    complex_rule: bool = False, inplace: bool = True, exempt: tuple[str, ...] = (), check: Any = None, **rules: Callable[..., Any],
) -> Callable[[F], F]:  # fmt: skip
    """Declare an elementwise op. `floating`: integers are promoted to floats. `complex_rule`: the rules are exact for complex numbers as
    written; otherwise they are treated as formulas of a holomorphic function. See Note [Complex rules]."""
    return _declarator(
        kernel, "pointwise", rules, operator, inplace, node=node, floating=floating, complex_rule=complex_rule,
        exempt=exempt, check=check, jvp="pointwise",
    )  # fmt: skip


def linear(kernel: Callable[..., Any], /, *, node: str | None = None, view: bool | str = False, multi: bool = False,
           inplace: bool = False, method: bool = True, **rules: Callable[..., Any]) -> Callable[[F], F]:  # fmt: skip
    """Declare an op that is jointly linear in its inputs. `multi`: it returns a tuple of variable length."""
    return _declarator(
        kernel, "multi" if multi else "linear", rules, None, inplace, node=node, view=view, jvp="linear", method=method
    )


def bilinear(
    kernel: Callable[..., Any], /, *, node: str | None = None, **rules: Callable[..., Any]
) -> Callable[[F], F]:
    """Declare an op that is linear in each input separately."""
    return _declarator(kernel, "bilinear", rules, None, False, node=node, jvp="bilinear")


def differentiable(kernel: Callable[..., Any], /, *, node: str | None = None, jvp: Any = None, inplace: bool = False,
                   results: tuple[str, ...] | None = None, method: bool = True, **rules: Callable[..., Any]) -> Callable[[F], F]:  # fmt: skip
    """Declare an op with an explicit forward derivative, `jvp(tangents, env, xp)`, in addition to the rules."""
    return _declarator(
        kernel, "differentiable", rules, None, inplace, node=node, jvp=jvp, results=results, method=method
    )


def plain(kernel: Callable[..., Any], operator: str | None = None, /, *, broadcast: bool = False,
          inplace: bool = False) -> Callable[[F], F]:  # fmt: skip
    """Declare an op without a derivative (a comparison, an argmax); `broadcast` promotes its operands first."""
    return _declarator(kernel, "pointwise" if broadcast else "plain", {}, operator, inplace)


def _declarator(
    kernel: Any, kind: str, rules: Any, operator: str | None, inplace: bool, method: bool = True, **more: Any
) -> Callable[[F], F]:
    given = warning_free(kernel)

    def decorate(face: F) -> F:
        op = Op(face, given, kind, rules, **more)
        follow(op)
        op.kernel = kernel = refusing_dtypes(op, op.kernel)
        op.has_in_place = inplace
        op._make_backward = node_class
        op.function = generate.stub(op)
        OPS[op.name] = op
        setattr(raw, op.name, kernel)
        setattr(graph, op.name, op.function)
        if method and op.parameters[0] == "input" and not op.name.startswith("_"):
            install_method(op.name, op.function)
            if inplace:
                install_method(op.name + "_", public_in_place(op))
        if operator is not None:
            _install_operator(op, operator)
        function: F = op.function
        return function

    return decorate


# Globals of warning-free kernels, keyed by the id of the module's globals: a copy of those without a module name.
_nameless_globals: dict[int, dict[str, Any]] = {}


class _FirstCall:
    """The placeholder that a warning-free kernel runs first. The globals are copied at that time, because the module is still being imported now."""

    __slots__ = ("made", "original")

    def __init__(self, kernel: FunctionType) -> None:
        self.original = kernel
        self.made: Any = None

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if "__name__" not in self.made.__globals__:
            self.made.__globals__.update(self.original.__globals__, __name__=None)
            copied(self.original.__globals__, self.made.__globals__)
        run_instead(self.made, code_without_handler(self.original))
        return self.made(*args, **kwargs)


def warning_free(kernel: Any) -> Any:
    """A Python kernel in a form in which NumPy does not warn from its frame (functions it calls may still warn).

    It runs in a copy of its module's globals without a module name: see Note [Silent arithmetic] in autograd/modes.py. The copy is a plain
    dict, because the interpreter caches global lookups in plain dicts only.
    """
    if type(kernel) is not FunctionType or not kernel.__module__.startswith(("penlight.ops.", "penlight.kernels.")):
        return kernel
    if kernel.__globals__.get("__name__") is None:  # already warning-free
        return kernel
    space = _nameless_globals.setdefault(id(kernel.__globals__), {})
    first = _FirstCall(kernel)
    code, _, kwdefaults = handler_code(kernel, first, "<penlight kernel>")
    # The kernel compiler identifies functions by code and defaults (`signature` in kernels/elementwise/plans.py); before the first call all
    # placeholders share one code object.
    first.made = made = FunctionType(code, space, kernel.__name__, (first,), kernel.__closure__)
    made.__kwdefaults__ = kwdefaults
    made.__module__, made.__qualname__, made.__doc__ = kernel.__module__, kernel.__qualname__, kernel.__doc__
    made.__dict__.update(kernel.__dict__)
    return made


def install_method(name: str, function: Any) -> None:
    if name not in Tensor.__dict__:
        setattr(Tensor, name, function)


def method(function: F) -> F:
    """Add a composite function to Tensor as a method."""
    install_method(function.__name__, function)
    return function


# ----- Node classes -------------------------------------------------------------------------------------------------


class OpNode(Node):
    """A graph node of a declared op."""

    __slots__ = ()
    op: Op
    saved_slots: tuple[str, ...] = ()

    def prepare(self) -> None:
        if type(self).run_raw is OpNode.run_raw:
            generate.compile_backward(self.op)
            if self.op.outputs == 1 and self.op.kind != "multi":
                READY.add(type(self))

    def run_raw(self, grad: Any, keep: bool) -> tuple[Any, ...]:
        self.prepare()
        return self.run_raw(grad, keep)

    def run_graph(self, grad: Any, keep: bool) -> tuple[Any, ...]:
        return _rules.run_graph(self, grad, keep)


def node_class(op: Op) -> type[OpNode]:
    """The node class of an op (`MulBackward0` for `mul`): slots for the values its rules need, and PyTorch's `_saved_*` attributes to read them."""
    wants = list(generate.saves_for(op))
    slots = ["s_" + w for w in wants]
    slots += ["v_" + w for w in wants if slot_kind(op, w) in ("input", "result")]
    slots += ["c_" + w for w in wants if slot_kind(op, w) == "result"]
    if op.outputs > 1 or op.kind == "multi":
        slots.append("outputs")
    body: dict[str, Any] = {"__slots__": tuple(slots), "op": op, "__module__": "torch.autograd.graph"}
    body["saved_slots"] = tuple("s_" + w for w in freed_wants(op))
    body.update({"_saved_" + name: value for name, value in op.traits.shows.items()})
    for want in wants:
        name = _torch_name(op, want)
        if name is None or name in op.traits.hides:
            continue
        body["_saved_" + name] = property(_reader(op, want))
        if slot_kind(op, want) in ("input", "result"):
            body["_raw_saved_" + name] = property(_raw_reader(want))
    return type(op.node_name, (OpNode,), body)


def _torch_name(op: Op, want: str) -> str | None:
    """PyTorch's name for a saved value; None if only our rules need it."""
    head, _, tail = want.rpartition("_")
    if tail in ("dtype", "dtypes", "shapes", "strides") or want == "geometry":
        return None
    if tail == "shape":
        return ("self" if head == "input" else head) + "_sym_sizes"
    return "self" if want in ("input", "base") else want


def _reader(op: Op, want: str) -> Callable[[Any], Any]:
    def read(node: Any) -> Any:
        value = getattr(node, "s_" + want)
        if isinstance(value, Freed):
            saved.freed(node)
        value = _rules.unpack_graph(op, node, want)
        if slot_kind(op, want) == "input" and isinstance(value, (int, float, complex)):
            return Tensor._make_subclass(Tensor, wrap(np.asarray(value)))
        return value

    return read


def _raw_reader(want: str) -> Callable[[Any], Any]:
    def read(node: Any) -> Any:
        return _packing.SlotSaved(node, want)

    return read


# ----- In-place forms and operators ---------------------------------------------------------------------------------


def public_in_place(op: Op) -> Any:
    """The in-place function of an op: `mul_` for `mul`."""
    return generate.stub(op, op.name + "_")


OpCall: TypeAlias = tuple[Op, tuple[Any, ...]]


def op_forms(*, out: bool = True) -> Callable[[Callable[..., OpCall]], Callable[..., Tensor]]:
    """Make a public function, a method and an in-place method from a function that returns an op and the op's arguments.

    The function takes `out=` unless that is switched off. If the first parameter of the decorated function is `in_place`, it says
    which form is called, and the public forms lack that parameter. The in-place form shares the docstring's example, so the example calls the method.
    """

    def decorate(prepare: Any) -> Any:
        name = prepare.__name__
        margin, _, example = prepare.__doc__.partition(">>> ")  # newer Pythons strip the indentation of docstrings
        lines = f">>> {example.rstrip()}".replace(f".{name}(", f".{name}_(").splitlines()
        lines = [line.removeprefix(margin.rpartition("\n")[2]) for line in lines]
        prepare.__annotations__["return"] = "Tensor"
        in_place = _form(prepare, name + "_", "(op.in_place or in_place_function(op))(*arguments)")
        in_place.__doc__ = documented(f"In-place version of `{name}`.", *lines)
        run = "op.function(*arguments) if out is None else op.function(*arguments, out=out)"
        function = _form(prepare, name, run if out else "op.function(*arguments)", out)
        for form in (in_place, function):
            install_method(form.__name__, form)
        return function

    return decorate


def _form(prepare: Any, name: str, run: str, out: bool = False) -> Any:
    """A function with the parameters of `prepare` that runs the op returned by `prepare`."""
    first = (str(name.endswith("_")),) if prepare.__code__.co_varnames[0] == "in_place" else ()

    def generate() -> Compiled:
        code, count = prepare.__code__, prepare.__code__.co_argcount
        own, only = code.co_varnames[len(first) : count], code.co_varnames[count : count + code.co_kwonlyargcount]
        rest = ["*" + code.co_varnames[count + len(only)]] if code.co_flags & CO_VARARGS else []
        taken = ", ".join([*own, *(rest or ["*"] * (bool(only) or out)), *only, *["out"] * out])
        given = ", ".join([*first, *own, *rest, *(f"{p}={p}" for p in only)])
        source = f"def {name}({taken}):\n    op, arguments = prepare({given})\n    return {run}\n"
        kwdefaults = {**(prepare.__kwdefaults__ or {}), **({"out": None} if out else {})}
        return Compiled(compile_function(source, f"<penlight {name}>"), prepare.__defaults__, kwdefaults)

    space = {"__name__": prepare.__module__, "prepare": prepare, "in_place_function": in_place_function}
    function = compiled_when_called(name, space, generate)
    function.__annotations__, function.__module__ = prepare.__annotations__, prepare.__module__
    function.__doc__, function.__wrapped__ = prepare.__doc__, Shown(prepare, out=out)
    function.form = Form(prepare, first, run)
    return function


_DUNDERS = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "@": "matmul", "**": "pow",
    "&": "and", "|": "or", "^": "xor", "<<": "lshift", ">>": "rshift", "<": "lt", "<=": "le", ">": "gt", ">=": "ge",
    "==": "eq", "!=": "ne",
}  # fmt: skip


def _install_operator(op: Op, symbol: str) -> None:
    """Install the operators of an op: `x * y`, `2 * x` and `x *= y` for `mul`."""
    if symbol in ("~", "neg"):
        setattr(Tensor, "__invert__" if symbol == "~" else "__neg__", op.function)
        return
    name = _DUNDERS[symbol]
    op.operator = f"__{name}__"
    setattr(Tensor, f"__{name}__", generate.stub(op, f"__{name}__"))
    if symbol in "+*&|^":
        setattr(Tensor, f"__r{name}__", generate.stub(op, f"__r{name}__"))
    if op.has_in_place and symbol not in ("==", "!=", "<", "<=", ">", ">="):
        setattr(Tensor, f"__i{name}__", generate.stub(op, f"__i{name}__"))


# ----- 16-bit floats in kernels that add up ---------------------------------------------------------------------------
# Accumulating in 16 bits would stall: in bfloat16, 256 + 1 is 256.


_FLOAT = np.dtype(np.float32)


def in_float32(kernel: Any) -> Any:
    """A kernel that converts a 16-bit float first argument to float32, computes, and rounds the result once."""
    inner = warning_free(kernel)

    @wraps(kernel)
    def run(x: Any, *args: Any) -> Any:
        if is_half(x.dtype):
            with silent():
                return cast(inner(cast(x, _FLOAT), *args), x.dtype)
        return inner(x, *args)

    return run


def rounded_once(kernel: Any) -> Any:
    """An elementwise kernel that converts 16-bit operands to float32, computes, and rounds the result once; the compiled form does the same."""

    def run(*operands: Any) -> Any:
        half = next((o.dtype for o in operands if type(o) is np.ndarray and is_half(o.dtype)), None)
        if half is None:
            return kernel(*operands)
        with silent():
            return cast(np.asarray(kernel(*[cast(o, _FLOAT) if type(o) is np.ndarray else o for o in operands])), half)

    run.rounds_once = True  # type: ignore[attr-defined]
    return run
