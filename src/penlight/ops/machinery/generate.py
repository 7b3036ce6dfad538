"""Generates an op's forward function and backward function at their first use.

# Note [Generated ops]
A generic `apply(*args, **kwargs)` costs more than a small op. So each declaration is compiled to two straight-line
functions with exactly its arguments, which save exactly what its rules need. `op.source` shows them; they are in linecache,
so pdb can step through them. Each op has its own code objects, so that the interpreter's inline caches specialise.
Unusual calls go to the readable path in `dispatch.py`: a slow mode, mixed dtypes, complex numbers, `out=`.
The functions are generated at their first call: Note [Compiled at first use] in _common/function_code.py.
"""

from __future__ import annotations

from types import CodeType, FunctionType
from typing import Any

import numpy as np

from ..._common.arguments import explained
from ..._common.docstrings import in_place
from ..._common.function_code import Compiled, compile_function, compiled_when_called
from ...autograd.modes import NAMESPACE
from ...kernels.elementwise.strategies import HALVES, LARGE, least_size
from ...kernels.lazy import lazy_import
from .guards import refusal
from .op import LIST, NUMBER, OPTIONAL, PLAIN, TENSOR, Op, slot_kind
from .public_functions import Shown, explaining

_compile_backward = lazy_import(globals(), "_compile_backward", ".generate_backward")


def stub(op: Op, operator: str | None = None) -> Any:
    """A placeholder that turns into the op's generated function at its first call.

    `operator` selects another form: a dunder method, or the in-place form, whose name ends in an underscore.
    """
    function = _stub(op, operator, lambda: _compiled(op, operator, function))
    return function


def bound_form(function: Any, prefix: str, public: Any) -> Any:
    """The object that a public function made by `stub` is bound to; `public()` returns the public function.

    See Note [Functions are not methods] in public_functions.py.
    """
    op, operator = function.op, function.operator
    return _stub(op, operator, lambda: _compiled(op, operator, public(), prefix), bound=True)


def _stub(op: Op, operator: str | None, generate: Any, bound: bool = False) -> Any:
    name = operator or op.name
    function = compiled_when_called(name, NAMESPACE, generate)
    function.__annotations__ = op.face.__annotations__
    function.__module__, function.__qualname__ = "penlight", name
    out = op.traits.out and ((operator is None and name[0] != "_") or name[:9] == "_special_")
    own = in_place(op) if name.endswith("_") and not name.startswith("_") else None
    function.__doc__ = explained(op.face, op.name, out, own, op.kind == "pointwise")
    function.__wrapped__ = Shown(op.face, bound, out) if out or bound else op.face
    function.op, function.operator = op, operator
    return function


def _compiled(op: Op, operator: str | None, function: Any, prefix: str | None = None) -> Compiled:
    """The generated function of an op or of another form of it; with a prefix, that of its public function."""
    name, kwdefaults = operator or op.name, op.face.__kwdefaults__
    if operator is not None and operator.endswith("_") and (operator[2:3] == "i" or operator[:2] != "__"):
        lines = _in_place(op, operator)
    else:
        lines = _forward(op, operator)
    given = op.parameters
    if operator is None and op.traits.out:
        kwdefaults, given = {**(kwdefaults or {}), "out": None}, (*given, "out")
    if prefix is not None:
        key = f"torch_{prefix}{name}"
        NAMESPACE[f"public_{key}"] = function
        head = lines[0].replace("(", "(_, ", 1)
        head = head.replace("*,", "*excess,") if "*," in head else head.replace("):", ", *excess):")
        count, defaults = op.face.__code__.co_argcount, len(op.face.__defaults__ or ())
        lines[:1] = [head, f"    if excess: raise too_many({prefix + name!r}, {count}, {defaults}, excess)"]
        lines, name = explaining(lines, prefix + name, (*given, "excess"), key), f"torch.{prefix}{name}"
    elif not name.startswith("_"):
        NAMESPACE[f"public_{name}"] = function
        lines = explaining(lines, name, given)
    return Compiled(_make(op, lines, name), op.face.__defaults__, kwdefaults)


def unchecked(op: Op) -> Any:
    """The op's generated function without the check for slow modes; made on first request."""
    if op.unchecked is None:
        head, _, *body = _forward(op)
        op.unchecked = _unshown(op, [head, *body], "unchecked", {"out": None})
    return op.unchecked


def in_place_function(op: Op) -> Any:
    """The op's generated in-place form, for functions composed of it; made on first request."""
    op.in_place = _unshown(op, _in_place(op, op.name + "_"), op.name + "_", op.face.__kwdefaults__)
    return op.in_place


def unchecked_in_place(op: Op) -> Any:
    """As `unchecked`, the op's in-place form: unusual calls go to `readable_rewrite`, which does not check for logs either."""
    if op.unchecked_in_place is None:
        lines = [line.replace("return rewrite(", "return readable_rewrite(") for line in _in_place(op, op.name + "_")]
        lines = [line for line in lines if not line.startswith("    if SLOW")]
        op.unchecked_in_place = _unshown(op, lines, f"unchecked {op.name}_", op.face.__kwdefaults__)
    return op.unchecked_in_place


def _unshown(op: Op, lines: list[str], name: str, kwdefaults: Any) -> Any:
    """The function in these lines, which `op.source` does not show: it shows the public forms."""
    source = op.source
    made = FunctionType(_make(op, lines, name), NAMESPACE, op.name, op.face.__defaults__)
    op.source, made.__kwdefaults__ = source, kwdefaults
    return made


def compile_backward(op: Op) -> None:
    """Give an op's node class its generated `run_raw` method."""
    code = _make(op, _compile_backward.backward(op), "run_raw")
    op.Backward.run_raw = FunctionType(code, NAMESPACE, "run_raw")
    op.Backward.run_raw.__qualname__ = f"{op.node_name}.run_raw"


def _make(op: Op, lines: list[str], name: str) -> CodeType:
    """Compile the single function in these lines; its globals include the op's kernel, rules and node class under their names."""
    own = {
        f"op_{op.name}": op,
        f"kernel_{op.name}": op.kernel,
        f"into_{op.name}": op.into,
        f"Backward_{op.name}": op.Backward,
    }
    own.update({f"rule_{op.name}_{i}": rule for i, rule in op.rules.items()})
    NAMESPACE.update(own)
    source = "\n".join(lines) + "\n"
    op.source += source
    return compile_function(source, f"<penlight {op.name}{'' if name == op.name else ' ' + name}>")


def _signature(op: Op) -> str:
    code = op.face.__code__
    parameters = []
    for index, p in enumerate(op.parameters):
        if index == code.co_argcount:
            parameters.append("*")
        parameters.append(f"{p}=None" if p in op.defaults else p)
    if op.traits.out:
        parameters += ["out=None"] if "*" in parameters else ["*", "out=None"]
    return ", ".join(parameters)


def saves_for(op: Op) -> dict[str, list[str]]:
    """For each value that rules save: the inputs whose gradient needs it."""
    needs: dict[str, list[str]] = {}
    for name, wants in op.wants.items():
        for want in wants:
            if slot_kind(op, want) != "call":
                needs.setdefault(want, []).append(name)
    return needs


def _forward(op: Op, operator: str | None = None) -> list[str]:
    arguments = ", ".join(op.parameters)
    if operator is None:
        out = [f"def {op.name}({_signature(op)}):"]
        slow, given = ("SLOW or out is not None", "out") if op.traits.out else ("SLOW", "None")
        out.append(f"    if {slow}: return enter(op_{op.name}, ({arguments},), {given})")
    else:
        out = [f"def {operator}({arguments}):", f"    if SLOW: return dispatch_operator(op_{op.name}, ({arguments},))"]
    out.append("    try:")
    body = _unwrap(op)
    number = _number(op)
    if number is not None:
        body += [f"kind = type({number})", "if kind is not Tensor and (kind is float or kind is int):"]
        body += ["    " + line for line in _array_of_number(op, number) + _rest(op, number)]
        body += _array_of_tensor(op, number)
    body += _rest(op)
    if operator is not None:  # foreign operands give NotImplemented
        body = [line.replace("return dispatch(", "return leave_operator(") for line in body]
    return out + ["        " + line for line in body] + _recover(op, arguments, operator)


def _rest(op: Op, number: str | None = None) -> list[str]:
    """Lines that run the kernel, wrap and record the result, and return; `number` is the operand that is a scalar here."""
    body = [_call(op, number)]
    if lays_out(op):
        body = _arranged(op, number)
    if op.kind == "multi":
        return body + _views(op)
    if op.outputs > 1 and op.view:
        return [*body, f"return record(op_{op.name}, ({', '.join(op.parameters)},), result)"]
    if op.outputs > 1:
        return body + _several(op)
    body.append("if type(result) is not ndarray: result = asarray(result)")
    if reduces(op):  # NumPy's result takes the input's memory order
        body.append("elif input._vc is not None and not result.flags.c_contiguous: result = result.copy()")
    body.append("wrapped = new(Tensor)")
    body.append("wrapped._array = result")
    body.append(f"wrapped._vc = {_versions(op, 'result')}; wrapped._grad = wrapped._view = wrapped._rare_state = None")
    if op.view:
        body.append(
            "link(wrapped, input)" if op.view is True else f"link(wrapped, input, False, op_{op.name}.function)"
        )
    return body + _record(op, number)


def reduces(op: Op) -> bool:
    """Whether an op is a reduction, whose result is contiguous."""
    return "keepdim" in op.parameters


def lays_out(op: Op) -> bool:
    """Whether an op's result takes the memory layout of its operands; not for `prelu`, which needs its channels in a fixed dimension."""
    return op.kind == "pointwise" and not op.traits.channels_last


def _arranged(op: Op, number: str | None) -> list[str]:
    """Lines that run the kernel of an elementwise op. See Note [Layouts] in kernels/copies/order.py.

    A tensor whose array may be non-contiguous has a version counter, as views have, and its array has a base; so most operands need a single check.
    """
    given = ", ".join(p if op.kinds[p] == PLAIN else p + "_" for p in op.parameters)
    tensors = [i for i in op.inputs if i != number and op.kinds[i] in (TENSOR, NUMBER)]
    strided = " or ".join(
        f"{i}._vc is not None and {i}_.base is not None and not {i}_.flags.c_contiguous" for i in tensors
    )
    return [
        "versions = None",
        f"if {strided}: result = arranged(op_{op.name}, {given}); versions = [0, None]",
        "else: " + _call(op, number),
    ]


def _versions(op: Op, result: str) -> str:
    """The version counter of a new tensor: None, unless its array may be non-contiguous."""
    if lays_out(op):
        return "versions"
    return (
        f"None if {result}.base is None else [0, None]" if op.traits.channels_last or op.traits.any_layout else "None"
    )


def _call(op: Op, number: str | None = None, into_first: bool = False) -> str:
    """The line that runs the kernel; `number` is not a tensor. With `into_first`, the result has the first operand's shape."""
    given = ", ".join(p if op.kinds[p] == PLAIN else p + "_" for p in op.parameters)
    call = f"kernel_{op.name}({given})"
    if op.kind != "pointwise" or not (type(op.kernel) is np.ufunc or getattr(op.kernel, "one_pass", False)):
        return f"result = {call}"  # other kernels are compiled: Note [Elementwise work] in kernels/elementwise
    first, *others = [i for i in op.operands if i != number and op.kinds[i] in (TENSOR, NUMBER)]
    least = least_size(op.kernel)
    limit, outer = ("LARGE", "OUTER") if least >= LARGE else (least, least)
    small = f"{first}_.size < {limit}"
    if least > HALVES:
        small = f"({first}_.size < {HALVES} or {first}_.size < {limit} and {first}_.itemsize != 2)"
    if others and not into_first:
        a, b = f"{first}_", f"{others[0]}_"
        same = f"len({a}) == len({b}) and {a}.ndim == {b}.ndim"
        alike = f"here < {limit} and (here < 362 or {same} and (here < HALVES or {a}.itemsize != 2))"
        grown = f"here < {limit} > there and {a}.itemsize != 2 and broadcast({a}, {b}).size < {limit}"
        small = f"{alike} if (here := {a}.size) == (there := {b}.size) else here * there < {outer} or {grown}"
        small = f"({small})"
    return f"result = {call} if {small} else apply_elementwise(kernel_{op.name}, {given})"


def _number(op: Op) -> str | None:
    """The operand that may be a scalar; there is at most one."""
    return next((i for i in op.inputs if op.kinds[i] == NUMBER), None)


def _in_place(op: Op, name: str) -> list[str]:
    """The in-place form when nothing is recorded and the memory is not shared in unusual ways; a ufunc writes directly into the tensor."""
    arguments = ", ".join(op.parameters)
    leave = f"return {'inplace_operator' if name.startswith('__') else 'rewrite'}(op_{op.name}, ({arguments},))"
    signature = _signature(op).removesuffix(", *, out=None").removesuffix(", out=None")
    out = [f"def {name}({signature}):", f"    if SLOW: {leave}", "    try:"]
    if any(op.kinds[i] == LIST for i in op.inputs):
        return [*out[:1], f"    {leave}"]
    body = _unwrap(op)
    first, number = op.inputs[0], _number(op)
    body.append(f"if not {first}_.flags.c_contiguous or {first}._rare_state is not None: {leave}")
    body += [f"if {i} is not None: {leave}" for i in op.inputs if op.kinds[i] == OPTIONAL]
    recorded = [
        f"    done = rewrite_recorded(op_{op.name}, ({arguments},))",
        "    if done is not None: return done",
        f"    {leave}",
    ]
    for i in op.rules:
        if op.kinds[i] == TENSOR:
            body += [f"if {i}._edge is not NO_EDGE and is_grad_enabled():", *recorded]
    arrays = [f"{i}_" for i in op.inputs[1:] if op.kinds[i] == TENSOR]
    if number is not None:
        body += [f"kind = type({number})", "if kind is not Tensor and (kind is float or kind is int):"]
        body += ["    " + line for line in _array_of_number(op, number) + _write(op, arrays, leave)]
        body += _array_of_tensor(op, number)
        arrays.append(f"{number}_")
        if number in op.rules:
            body += [f"if {number}._edge is not NO_EDGE and is_grad_enabled():", *recorded]
    body += _write(op, arrays, leave)
    body = [line.replace(f"return dispatch(op_{op.name}, ({arguments},))", leave) for line in body]
    out += ["        " + line for line in body]
    return [*out, "    except (AttributeError, ValueError, TypeError): pass", f"    {leave}"]


def _write(op: Op, arrays: list[str], leave: str) -> list[str]:
    """Lines that compute into the first argument's memory, which must not overlap these other arrays, and return."""
    first = op.inputs[0]
    based = " or ".join(f"{a}.base is not None" for a in (f"{first}_", *arrays))
    body = [f"if ({based}) and not may_write({', '.join((first, *arrays))}): {leave}"]
    if op.into is not None:
        given = [p if op.kinds[p] == PLAIN else p + "_" for p in op.parameters]
        body.append(f"into_{op.name}({', '.join(given)})")
    elif type(op.kernel) is np.ufunc and not op.plain:
        operands = f"{', '.join(p + '_' for p in op.parameters)}, {first}_"
        body.append(f"if {first}_.itemsize != 2 or {first}_.size < HALVES: kernel_{op.name}({operands})")
        body.append(f"else: apply_into(kernel_{op.name}, {operands})")
    else:
        body += [
            _call(op, into_first=True),
            f"if type(result) is ndarray and result.shape == {first}_.shape and result.dtype is {first}_.dtype: {first}_[...] = result",
            f"else: store({first}_, asarray(result))",
        ]
    return [*body, f"bump({first})", f"return {first}"]


def _recover(op: Op, arguments: str, operator: str | None) -> list[str]:
    """The `except` branches: for stale edges, foreign operands and shapes that don't broadcast."""
    name = "recover" if operator is None else "recover_operator"
    return [
        f"    except AttributeError as error: return {name}(op_{op.name}, ({arguments},), error)",
        f"    except (ValueError, TypeError) as error: raise explain_value_error(op_{op.name}, ({arguments},), error)",
    ]


def joins(op: Op) -> bool:
    """Whether an op takes one list of tensors and saves none of them, like `cat` and `stack`."""
    wants = [slot_kind(op, want) for wants in op.wants.values() for want in wants]
    return [op.kinds[i] for i in op.inputs] == [LIST] and {*wants} <= {"call", "plain"} and len(op.rules) == 1


def _unwrap(op: Op) -> list[str]:
    """Lines that extract the arrays from the tensors, or leave for the readable path."""
    leave = f"return dispatch(op_{op.name}, ({', '.join(op.parameters)},))"
    if any(op.kinds[i] == LIST for i in op.inputs):
        return [f"{i}_ = [t._array for t in {i}]" for i in op.inputs] if joins(op) else [leave]
    body = []
    for i in op.inputs:
        if op.kinds[i] == TENSOR:
            body.append(f"{i}_ = {i}._array")
        elif op.kinds[i] == OPTIONAL:
            body.append(f"{i}_ = None if {i} is None else {i}._array")
    if op.kind != "pointwise":
        return body
    first, *others = op.operands
    body.append(f"dtype = {first}_.dtype")
    taken = _taken_dtypes(op)
    float32 = "dtype is not float32 and " if NAMESPACE["float32"] in NAMESPACE[taken] else ""
    body.append(f"if {float32}dtype not in {taken}: {leave}")
    body += [f"if {i}_.dtype is not dtype: {leave}" for i in others if op.kinds[i] == TENSOR]
    return body


def _taken_dtypes(op: Op) -> str:
    """The name of the set of dtypes in which an elementwise op's kernel takes inputs as they are: real ones (floats only, if the op promotes
    integers to floats), and none that PyTorch refuses."""
    usual = "FLOATS" if op.floating else "REAL_NUMBERS" if op.traits.compares_bytes else "REALS"
    chosen = frozenset(d for d in NAMESPACE[usual] if refusal(op, d) is None)
    known = (name for name in (usual, "REAL_NUMBERS", "FLOATS") if NAMESPACE[name] == chosen)
    name = next(known, f"dtypes_{op.name}")
    NAMESPACE[name] = chosen
    return name


def _array_of_number(op: Op, i: str) -> list[str]:
    """Lines that turn a scalar operand into an array if the kernel needs arrays. See Note [Numbers as arrays]."""
    leave = f"return dispatch(op_{op.name}, ({', '.join(op.parameters)},))"
    if type(op.kernel) is not np.ufunc and not hasattr(op.kernel, "takes_arrays"):
        return [f"if dtype not in FLOATS: {leave}", f"{i}_ = {i}"]
    which = "_IN_FULL" if op.traits.full_scalars else ""
    return [
        f"table = NUMBERS32 if dtype is float32 else (NUMBERS{which} if kind is float else BESIDE_INT{which}).get(dtype)",
        f"if table is None: {leave}",
        f"{i}_ = table.get({i})",
        f"if {i}_ is None:",
        f"    {i}_ = make_number({i}, table, dtype)",
        f"    if {i}_ is None: {leave}",
    ]


def _array_of_tensor(op: Op, i: str) -> list[str]:
    """Lines that extract the array of an operand that may be a scalar in other calls."""
    leave = f"return dispatch(op_{op.name}, ({', '.join(op.parameters)},))"
    if op.traits.with_tensor:
        return [f"return {op.traits.with_tensor}(input, other)"]  # differentiable in both operands
    return [f"{i}_ = {i}._array", f"if {i}_.dtype is not dtype: {leave}"]


def _record(op: Op, number: str | None = None) -> list[str]:
    """Lines that add a node to the graph if an input requires grad, and return."""
    if not op.rules:
        return ["wrapped._edge = NO_EDGE", "return wrapped"]
    body = _edges(op, number)
    none_of = "unrecorded_edge(wrapped)" if op.view else "NO_EDGE"
    if op.view and "input" in op.rules and not joins(op):  # for an input that is its own base
        none_of = f"NO_EDGE if input_edge is NO_EDGE and input._view is None else {none_of}"
    body += [f"    wrapped._edge = {none_of}", "    return wrapped"]
    body += _node(op, number) + _fit(op, number) + _save(op, number)
    if op.kind != "pointwise" or len(op.rules) < len(op.operands):
        body.append("node._shape = result.shape")
    body += ["wrapped._edge = (node, 0)", "return wrapped"]
    return body


def _edges(op: Op, number: str | None = None) -> list[str]:
    """Lines that fetch the inputs' edges, up to and including the `if` for the unrecorded case."""
    if joins(op):
        edges = [f"edges = tuple([t._edge for t in {i}])" for i in op.inputs]
        return [*edges, "if not is_grad_enabled() or not any([e is not NO_EDGE for e in edges]):"]
    body = []
    for i in op.rules:
        if op.kinds[i] == OPTIONAL:
            body.append(f"{i}_edge = NO_EDGE if {i} is None else {i}._edge")
        elif i != number and op.kinds[i] != LIST:
            body.append(f"{i}_edge = {i}._edge")
    none = " and ".join(f"{i}_edge is NO_EDGE" for i in op.rules if i != number)
    return [*body, f"if ({none}) or not is_grad_enabled():"]


def _node(op: Op, number: str | None = None) -> list[str]:
    edges = ", ".join("NO_EDGE" if i == number else f"{i}_edge" for i in op.rules)
    return [
        f"node = Backward_{op.name}()",
        "node.seq = next(sequence)",
        "node.next_functions = edges" if joins(op) else f"node.next_functions = ({edges},)",
        "node._hooks = node._fit = None",
    ]


def _views(op: Op) -> list[str]:
    """Lines that wrap and record any number of views that an op returns."""
    body = [
        "outs = []",
        "for part in result:",
        "    wrapped = new(Tensor)",
        "    wrapped._array = part",
        "    wrapped._grad = wrapped._rare_state = None",
        "    outs.append(wrapped)",
        "link_parts(outs, input)",
        *_edges(op),
        "    edge = unrecorded_edge(outs[0]) if outs else NO_EDGE",
        "    for wrapped in outs: wrapped._edge = edge",
        "    return tuple(outs)",
        *_node(op),
        *_save(op),
        "for nr, wrapped in enumerate(outs): wrapped._edge = (node, nr)",
        "node.outputs = len(outs)",
        "node._shape = [part.shape for part in result]",
        "return tuple(outs)",
    ]
    return body


def _several(op: Op) -> list[str]:
    """Lines that wrap and record several results, of which the floating-point ones are differentiable."""
    numbers = range(op.outputs)
    outs = ", ".join(f"wrapped_{k}" for k in numbers)
    body = [f"{', '.join(f'result_{k}' for k in numbers)} = result"]
    for k in numbers:
        body.append(f"if type(result_{k}) is not ndarray: result_{k} = asarray(result_{k})")
        if reduces(op):
            body.append(f"elif not result_{k}.flags.c_contiguous: result_{k} = result_{k}.copy()")
        body.append(f"wrapped_{k} = new(Tensor)")
        body.append(f"wrapped_{k}._array = result_{k}")
        body.append(f"wrapped_{k}._vc = {_versions(op, f'result_{k}')}")
        body.append(f"wrapped_{k}._grad = wrapped_{k}._view = wrapped_{k}._rare_state = None")
    none = " = ".join(f"wrapped_{k}._edge" for k in numbers)
    if not op.rules:
        return [*body, f"{none} = NO_EDGE", f"return {outs}"]
    body += [*_edges(op), f"    {none} = NO_EDGE", f"    return {outs}"]
    body += [*_node(op), *_save(op), "shapes = []"]
    for k in numbers:
        body.append(
            f"if result_{k}.dtype.kind in 'fcV': wrapped_{k}._edge = (node, len(shapes)); shapes.append(result_{k}.shape)"
        )
        body.append(f"else: wrapped_{k}._edge = NO_EDGE")
    return [*body, "node.outputs = len(shapes)", "node._shape = shapes", f"return {outs}"]


def _fit(op: Op, number: str | None = None) -> list[str]:
    """Lines that record the input shapes if gradients must be reduced after broadcasting."""
    tensors = [i for i in op.inputs if op.kinds[i] in (TENSOR, NUMBER) and i != number]
    if op.kind != "pointwise" or len(tensors) < 2:
        return []
    fit = f"node._fit = ({', '.join(i + '_.shape' for i in op.rules)},)"
    if len(tensors) == 2:
        return [f"if {tensors[0]}_.shape != {tensors[1]}_.shape:", f"    {fit}"]
    return ["shape = result.shape", f"if {' or '.join(f'{i}_.shape != shape' for i in tensors)}: {fit}"]


def _save(op: Op, number: str | None = None) -> list[str]:
    """Lines that save the values that the rules need of those inputs that require grad. A scalar has no version: None."""
    body = []
    rules = [i for i in op.rules if i != number]
    for want, wanting in saves_for(op).items():
        kind = slot_kind(op, want)
        users = [u for u in wanting if u != number]
        if kind == "input":
            keep = _keep(op, want, number)
            if not users:
                body.append(f"node.s_{want} = None")
            elif len(users) == len(rules):
                body += keep
            else:
                body.append(f"if {' or '.join(f'{u}_edge is not NO_EDGE' for u in users)}:")
                body += [*("    " + k for k in keep), f"else: node.s_{want} = None"]
        elif kind == "result":
            suffix = f"_{op.results.index(want)}" if op.outputs > 1 else ""
            body.append(f"node.s_{want} = result{suffix}")
            if op.view:
                body.append(f"if wrapped{suffix}._vc is None: wrapped{suffix}._vc = [0, None]")
                body.append(f"node.c_{want} = wrapped{suffix}._vc; node.v_{want} = wrapped{suffix}._vc[0]")
            else:
                body.append(f"node.c_{want} = wrapped{suffix}._vc = [0, None]; node.v_{want} = 0")
        elif kind == "plain":
            body.append(f"node.s_{want} = {want}")
        else:
            head = want.rpartition("_")[0]
            suffix = f"_{op.results.index(head)}" if op.outputs > 1 and head in op.results else ""
            source = f"result{suffix}" if head in op.results else head + "_"
            optional = op.kinds.get(head) == OPTIONAL or head == number
            body.append(
                f"node.s_{want} = " + (f"getattr({source}, '{kind}', None)" if optional else f"{source}.{kind}")
            )
    return body


def _keep(op: Op, want: str, number: str | None) -> list[str]:
    """Lines that save an input with its version."""
    if want == number:
        return [f"node.s_{want} = {want}", f"node.v_{want} = None"]
    if op.kinds[want] == OPTIONAL:
        version = f"0 if {want} is None or {want}._vc is None else {want}._vc[0]"
        return [f"node.s_{want} = {want}", f"node.v_{want} = {version}"]
    return [f"node.s_{want} = {want}", f"vc = {want}._vc", f"node.v_{want} = 0 if vc is None else vc[0]"]
