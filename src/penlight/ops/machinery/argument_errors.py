"""Explains, in PyTorch's words, why the arguments of a call were wrong. Imported only after a call has failed.

The arguments are compared with PyTorch's signatures of the function (`_common/torch_signatures.py`, here called its forms). If none of them
accepts the arguments, PyTorch's error replaces the original one. See Note [Failed calls] in public_functions.py.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import math
import re
from functools import cache
from inspect import CO_VARARGS
from types import FrameType, MethodType
from typing import Any, NamedTuple

import numpy as np

from ... import dtypes
from ..._common.function_code import code_without_handler
from ...kernels.lazy import lazy_import
from ...tensor import Tensor
from .guards import number_of
from .op import LIST, NUMBER, OPTIONAL, TENSOR
from .public_functions import function_inside, layers_of

_declare = lazy_import(globals(), "_declare", ".declare")
_torch_signatures = lazy_import(globals(), "_torch_signatures", "..._common.torch_signatures")


_SHOWN = {
    "ints": "tuple of ints", "ints1": "tuple of ints", "tensors": "tuple of Tensors", "floats": "tuple of floats", "numbers": "tuple of Scalars",
    "dtype": "torch.dtype", "layout": "torch.layout", "device": "torch.device", "memory_format": "torch.memory_format",
    "generator": "torch.Generator",
}  # fmt: skip


class Parameter(NamedTuple):
    name: str
    kind: str
    optional: bool  # may be None
    default: str | None
    number: bool  # a Python scalar is accepted for the tensor

    def __str__(self) -> str:
        return f"{self.shown} {self.name}" + ("" if self.default is None else f" = {self.default}")

    @property
    def shown(self) -> str:
        return _SHOWN.get(self.kind, self.kind)


class Form(NamedTuple):
    """One signature of a function: its positional and its keyword-only parameters."""

    positional: tuple[Parameter, ...]
    keyword: tuple[Parameter, ...]

    def __str__(self) -> str:
        star = ["*"] if self.keyword else []
        return "(" + ", ".join([*map(str, self.positional), *star, *map(str, self.keyword)]) + ")"


@cache
def signatures() -> dict[str, str]:
    """The signatures in torch_signatures.py, keyed by function and method name."""
    lines = (line.split(": ") for line in _torch_signatures.FORMS.strip().splitlines())
    return {name: forms for names, forms in lines for name in names.split()}


@cache
def forms(name: str) -> tuple[list[Form], bool]:
    """The forms of a function, or of a method given as `Tensor.name`; and whether it also has deprecated forms."""
    found = [part.strip() for part in (signatures().get(name) or _own_form(name)).split("|")]
    return [_form(part) for part in found if part != "~"], "~" in found


def required(name: str) -> set[str]:
    """The required arguments of each form of a function."""
    found = [{p.name for p in form.positional if p.default is None} for form in forms(name)[0]]
    return set.intersection(*found) if found else set()


def _own_form(name: str) -> str:
    """The form of an op that PyTorch does not have, built from its declaration in the syntax of torch_signatures.py."""
    op = _declare.OPS.get(name.removeprefix("Tensor."))
    if op is None:
        return "~"
    said = []
    for parameter in op.parameters:
        kind = _OWN_KINDS.get(op.kinds[parameter], op.face.__annotations__.get(parameter))
        if kind.rstrip("?#") not in _TAKES:
            return "~"
        default = f"={op.defaults[parameter]}" if parameter in op.defaults else ""
        said.append(f"{kind} {parameter}{default}")
    return ", ".join([*said, *(["*", "Tensor? out=None"] if op.traits.out else [])])


_OWN_KINDS = {TENSOR: "Tensor", NUMBER: "Tensor#", OPTIONAL: "Tensor?", LIST: "tensors"}


def _form(text: str) -> Form:
    head, star, tail = ("" if text == "-" else text).partition("*,")
    return Form(_parameters(head), _parameters(tail) if star else ())


def _parameters(text: str) -> tuple[Parameter, ...]:
    texts = re.split(r",\s(?![^(]*\))", text.strip().strip(",")) if text.strip() else []
    return tuple(map(_parameter, texts))


def _parameter(text: str) -> Parameter:
    declared, equals, default = text.strip().partition("=")
    kind, name = declared.split()
    return Parameter(name, kind.rstrip("?#"), "?" in kind, default if equals else None, "#" in kind)


# ----- Kinds of values ------------------------------------------------------------------------------------------------


_TYPES_OF_TORCH = ("dtype", "device", "Size", "layout", "memory_format")


def type_name(value: Any) -> str:
    """The name of a value's type in PyTorch's messages."""
    kind = type(value)
    module = kind.__module__
    if module == "numpy":
        return f"numpy.{kind.__name__}"
    if module.startswith(("penlight", "torch")) and kind.__name__ in _TYPES_OF_TORCH:
        return f"torch.{kind.__name__}"
    return "torch._C.Generator" if kind.__name__ == "Generator" else kind.__name__


def _is_int(value: Any) -> bool:
    if isinstance(value, Tensor):
        return value.dim() == 0 and value.dtype.category == dtypes.INTEGRAL and not value.requires_grad
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    if isinstance(value, Tensor):
        return value.dim() == 0 and not value.requires_grad
    return isinstance(value, (int, float, complex, np.number, np.bool_))


def _is_list_of(value: Any, fits: Any) -> bool:
    return isinstance(value, (list, tuple)) and (not value or fits(value[0]))


_TAKES: dict[str, Any] = {
    "Tensor": lambda v: isinstance(v, Tensor),
    "int": _is_int,
    "float": lambda v: _is_number(v) and not isinstance(v, (complex, np.complexfloating)),
    "bool": lambda v: isinstance(v, (bool, np.bool_)),
    "Number": _is_number,
    "str": lambda v: isinstance(v, str),
    "ints": lambda v: _is_list_of(v, _is_int),
    "ints1": lambda v: _is_int(v) or _is_list_of(v, _is_int),
    "tensors": lambda v: isinstance(v, (list, tuple)),
    "floats": lambda v: _is_list_of(v, _is_number),
    "numbers": lambda v: _is_list_of(v, _is_number),
    "dtype": lambda v: isinstance(v, dtypes.dtype) or v in (bool, int, float, complex),
    "device": lambda v: isinstance(v, (str, int)) or type(v).__name__ == "device",
    "layout": lambda v: type(v).__name__ == "layout",
    "memory_format": lambda v: type(v).__name__ == "memory_format",
    "generator": lambda v: type(v).__name__ == "Generator",
}


def _fits(parameter: Parameter, value: Any) -> bool:
    if value is None:
        return parameter.optional
    if hasattr(value, "__torch_function__") and not isinstance(value, Tensor):
        return True
    if parameter.number and _is_number(value):
        return True
    takes = _TAKES.get(parameter.kind)
    return takes is None or bool(takes(value))


# ----- Matching -------------------------------------------------------------------------------------------------------


def _misfit(name: str, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
    """Why a form does not accept these arguments; None if it does."""
    positional = form.positional
    if positional and positional[-1].kind in ("ints", "ints1") and len(args) >= len(positional):
        rest = args[len(positional) - 1 :]
        single = positional[-1].kind == "ints1" and len(rest) == 1
        if (
            _is_int(rest[0])
            and not single
            and len(positional) == 1 + (args[:1] != () and positional[0].kind == "Tensor")
        ):
            args = (*args[: len(positional) - 1], rest)  # `view(2, 3)`
    if len(args) > len(positional):
        return _too_many(name, positional, len(args))
    left = dict(kwargs)
    for position, parameter in enumerate((*positional, *form.keyword)):
        given = position < len(args)
        if given and parameter.name in left:
            return f"{name}() got multiple values for argument '{parameter.name}'"
        if not given and parameter.name not in left:
            if parameter.default is None:
                return _missing(name, form, len(args), kwargs)
            continue
        value = args[position] if given else left.pop(parameter.name)
        if not _fits(parameter, value):
            where = f"'{parameter.name}' (position {position + 1})" if given else f"'{parameter.name}'"
            return f"{name}(): argument {where} must be {parameter.shown}, {_found(parameter, value)}"
        inside = _inside(name, parameter, value, position)
        if inside is not None:
            return inside
    for key in left:
        return f"{name}() got an unexpected keyword argument '{key}'"
    return None


def _found(parameter: Parameter, value: Any) -> str:
    if parameter.kind in ("ints", "ints1", "floats") and isinstance(value, (list, tuple)):
        return f"but found element of type {type_name(value[0])} at pos 0"
    return f"not {type_name(value)}"


def _inside(name: str, parameter: Parameter, value: Any, position: int) -> str | None:
    """The error for a wrong element of a list argument, or for an integer that is too large."""
    if not isinstance(value, (list, tuple)):
        return _TOO_LARGE if parameter.kind in ("int", "ints1") and _too_large(value) else None
    if parameter.kind == "tensors":
        for at, element in enumerate(value):
            if not isinstance(element, Tensor) and element is not None and not hasattr(element, "__torch_function__"):
                return f"expected Tensor as element {at} in argument {position}, but got {type_name(element)}"
    if parameter.kind in ("ints", "ints1"):
        for at, element in enumerate(value):
            if isinstance(element, bool) or (_is_int(element) and not _too_large(element)):
                continue
            why = _TOO_LARGE if _is_int(element) else f"type must be tuple of ints,but got {type_name(element)}"
            return f"{name}(): argument '{parameter.name}' failed to unpack the object at pos {at + 1} with error \"{why}\""
    return None


_TOO_LARGE = "Overflow when unpacking long long"


def _too_large(value: Any) -> bool:
    return isinstance(value, int) and not -(2**63) <= value < 2**63


def _too_many(name: str, positional: tuple[Parameter, ...], given: int) -> str:
    most = len(positional)
    least = sum(p.default is None for p in positional)
    many = f"from {least} to {most}" if least != most else str(most)
    plural = "s" if many != "1" else ""
    return f"{name}() takes {many} positional argument{plural} but {given} {'was' if given == 1 else 'were'} given"


def _missing(name: str, form: Form, given: int, kwargs: dict[str, Any]) -> str:
    needed = [p.name for p in (*form.positional[given:], *form.keyword) if p.default is None and p.name not in kwargs]
    quoted = ", ".join(f'"{n}"' for n in needed)
    plural = "s" if len(needed) == 1 else ""  # PyTorch has it this way round
    return f"{name}() missing {len(needed)} required positional argument{plural}: {quoted}"


_NUMPY_NAMES = {"axis": "dim", "keepdims": "keepdim", "x": "input", "x1": "input", "x2": "other"}


def complaint(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
    """PyTorch's error message for these arguments of `name` (`Tensor.name` for a method); None if they are accepted.

    >>> from penlight.ops.machinery.argument_errors import complaint
    >>> complaint("cumsum", ([1.0], 0), {})
    "cumsum(): argument 'input' (position 1) must be Tensor, not list"
    """
    known, outdated = forms(name)
    if not known or (outdated and len(args) > len(known[0].positional)):
        return None
    bare = name.removeprefix("Tensor.").removeprefix("F.")
    names = {p.name for form in known for p in (*form.positional, *form.keyword)}
    kwargs = {_NUMPY_NAMES.get(k, k) if k not in names else k: v for k, v in kwargs.items()}
    complaints = [_misfit(bare, form, args, kwargs) for form in known]
    if None in complaints:
        return None
    inside = [c for c in complaints if c and ("failed to unpack" in c or c == _TOO_LARGE)]
    if len(complaints) == 1 or inside:
        return (inside or complaints)[0]
    count = len(args) + len(kwargs)
    plausible = [c for c, form in zip(complaints, known) if _least(form) <= count <= _most(form)]
    if len(plausible) == 1:
        return plausible[0]
    got = ", ".join([*map(type_name, args), *(f"{k}={type_name(v)}" for k, v in kwargs.items())])
    listed = "".join(f"\n * {form}" for form in known)
    return f"{bare}() received an invalid combination of arguments - got ({got}), but expected one of:{listed}\n"


def _least(form: Form) -> int:
    return sum(p.default is None for p in (*form.positional, *form.keyword))


def _most(form: Form) -> int:
    return len(form.positional) + len(form.keyword)


# ----- The arguments of a call ------------------------------------------------------------------------------------------


class Call(NamedTuple):
    """The arguments of a call as the caller passed them."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    method: bool | None  # whether a method was called; None if unknown

    @classmethod
    def of(cls, public: Any, values: tuple[Any, ...], caller: FrameType | None) -> Call:
        """Reconstructs the call from the values of the function's parameters and, if available, the caller's source."""
        bound = type(public) is MethodType
        if bound:  # the first parameter is `self`: a method call
            args, kwargs, method = cls._of(public.__func__, (None, *values), caller, bound)
            return cls(args[1:], kwargs, None if method is None else False)
        return cls._of(public, values, caller, bound)

    @classmethod
    def _of(cls, function: Any, values: tuple[Any, ...], caller: FrameType | None, bound: bool) -> Call:
        own = code_without_handler(function)
        code = own.code
        count = code.co_argcount
        names = code.co_varnames
        only = names[count : count + code.co_kwonlyargcount]
        positional, others = values[:count], dict(zip(only, values[count:]))
        more = list(values[count + len(only) :])
        rest = more.pop(0) if code.co_flags & 4 else ()
        words = dict(more.pop(0)) if code.co_flags & 8 else {}
        defaults = own.defaults or ()
        defaulted = dict(zip(range(count - len(defaults), count), defaults))
        seen = None if caller is None else _written_call(caller)
        implied = own.kwdefaults or {}
        words.update(
            {n: v for n, v in others.items() if (v is not implied.get(n) if seen is None else n in seen.keywords)}
        )
        if rest:
            return cls((*positional, *rest), words, None if seen is None else seen.positional < count + len(rest))
        if seen is None:  # parameters at their default were not passed; later ones were passed by name
            taken = next((i for i, value in enumerate(positional) if i in defaulted and value is defaulted[i]), count)
            words.update(
                {names[i]: positional[i] for i in range(taken, count) if positional[i] is not defaulted.get(i)}
            )
            return cls(positional[:taken], words, None)
        given, keywords = seen
        keywords = (*keywords, *(_NUMPY_NAMES[k] for k in keywords if k in _NUMPY_NAMES and k in only))
        needed = [n for i, n in enumerate(names[:count]) if i not in defaulted and n not in keywords]
        passed = (
            names[given] not in keywords and positional[given] is not defaulted.get(given) if given < count else False
        )
        method = bound or given < len(needed) or passed
        taken = given + method
        words.update({n: positional[i] for i, n in enumerate(names[:count]) if n in seen.keywords and i >= taken})
        return cls(positional[:taken], words, method)


class _Written(NamedTuple):
    """The number of positional arguments of a call in the source, and the names of its keyword arguments."""

    positional: int
    keywords: tuple[str, ...]


def _written_call(caller: FrameType) -> _Written | None:
    """The call that a frame is executing, parsed from its source; None if the source is not available."""
    position = inspect.getframeinfo(caller, context=0).positions
    lines = linecache.getlines(caller.f_code.co_filename, caller.f_globals)
    first, last, start, end = position or (None,) * 4
    if first is None or last is None or last > len(lines):
        return None
    text = [line.encode() for line in lines[first - 1 : last]]
    text[-1] = text[-1][:end]
    text[0] = text[0][start:]
    try:
        call = ast.parse(b"(" + b"".join(text) + b")", mode="eval").body
    except (SyntaxError, ValueError):
        return None
    if not isinstance(call, ast.Call) or any(isinstance(a, ast.Starred) for a in call.args):
        return None
    if any(k.arg is None for k in call.keywords):
        return None
    return _Written(len(call.args), tuple(k.arg or "" for k in call.keywords))


# ----- What is wrong with them --------------------------------------------------------------------------------------------


def argument_error(function: Any, name: str, call: Call, error: Exception) -> TypeError | ValueError | None:
    """The argument error behind a failed call of a public function; None if PyTorch would accept the arguments."""
    code = code_without_handler(layers_of(function)[0]).code
    names = code.co_varnames[type(function) is MethodType : code.co_argcount]
    if not forms(name)[0] and vars(Tensor).get(name) is function and call.args and not isinstance(call.args[0], Tensor):
        if _of_kinds(error, call) or isinstance(error, TypeError):
            kind = type_name(call.args[0])
            return TypeError(
                f"descriptor '{name}' for 'torch._C.TensorBase' objects doesn't apply to a '{kind}' object"
            )
    method = call.method
    if method is None:
        method = bool(call.args) and isinstance(call.args[0], Tensor) and not forms(name)[0]
    known = "Tensor." + name if method else name
    found = complaint(known, call.args[method:], call.kwargs)
    if found is None and not forms(name)[0] and not forms("Tensor." + name)[0]:
        if isinstance(error, (AttributeError, TypeError, ValueError)):
            found = _by_what_it_calls(names, name, call)
        if found is None and _of_kinds(error, call):
            # A bound method has `*excess`.
            if code_without_handler(function_inside(function)).code.co_flags & CO_VARARGS:
                found = _of_several(name.removeprefix("F."), call.args)
            else:
                found = _by_annotations(names, function.__annotations__, name, call)
    if found is None or found == str(error) or "unexpected keyword argument" in found:  # Python's error will do
        return None
    if call.method is None and (_guessed(found, str(error)) or _fits_by_name(known, names, call, method)):
        return None
    if call.method is None and not method and call.args and isinstance(call.args[0], Tensor):
        if forms("Tensor." + name)[0] and complaint("Tensor." + name, call.args[1:], call.kwargs) is None:
            return None  # a method call, perhaps in a deprecated form
    return ValueError(found) if found == _TOO_LARGE else TypeError(found)


def memory_error(error: Exception) -> RuntimeError | None:
    """PyTorch's error in place of NumPy's for an array that memory cannot hold, or whose size overflows; None for other errors."""
    if isinstance(error, MemoryError) and hasattr(error, "shape"):
        size = math.prod(error.shape) * error.dtype.itemsize  # type: ignore[attr-defined]
        return RuntimeError(
            f"DefaultCPUAllocator: can't allocate memory: you tried to allocate {size} bytes. Error code 12 (Cannot allocate memory)"
        )
    if isinstance(error, ValueError) and str(error).startswith(_OVERFLOWS):
        return RuntimeError("Storage size calculation overflowed")
    return None


_OVERFLOWS = (
    "array is too big",
    "Maximum allowed dimension exceeded",
    "broadcast dimensions too large",
    "negative dimensions are not allowed",  # sizes have been checked: this one has wrapped around
)


def with_numbers(name: str, call: Call, error: Exception) -> Call | None:
    """The call with Python scalars for NumPy's, and for 0-d tensors where PyTorch wants a scalar; None if there are none."""
    for known, args in ((name, call.args), ("Tensor." + name, call.args[1:])):
        for form in forms(known)[0] if call.method is None or call.method == known.startswith("Tensor.") else ():
            if _misfit(name, form, args, call.kwargs) is None:
                wanted = {
                    p.name
                    for p in (*form.positional, *form.keyword)
                    if p.kind in ("Number", "float", "int", "ints1") and not p.number
                }
                names = [p.name for p in form.positional]
                return _with_scalars(call, len(call.args) - len(args), names, wanted)
    if forms(name)[0] or forms("Tensor." + name)[0] or isinstance(error, RuntimeError):
        return None
    # PyTorch's version is written in Python, and does not refuse NumPy scalars.
    return _with_scalars(call, 0, [], set())


def _with_scalars(call: Call, skipped: int, names: list[str], wanted: set[str]) -> Call | None:
    """The call with Python scalars for NumPy's, and for 0-d tensors passed for the parameters `wanted`. The first `skipped` arguments stay;
    `names` are the parameters of the others. None if nothing changes."""

    def scalar(value: Any, name: str) -> Any:
        if isinstance(value, np.generic):
            return number_of(value)
        return value.item() if isinstance(value, Tensor) and name in wanted and not value.dim() else value

    given = call.args[skipped:]
    items = [scalar(v, key) for v, key in zip(given, [*names, *[""] * (len(given) - len(names))])]
    words = {key: scalar(v, key) for key, v in call.kwargs.items()}
    same = all(new is old for new, old in zip((*items, *words.values()), (*given, *call.kwargs.values())))
    return None if same else Call((*call.args[:skipped], *items), words, call.method)


def _fits_by_name(known: str, names: tuple[str, ...], call: Call, method: bool) -> bool:
    """Whether the arguments are accepted if all but the first are passed by name."""
    if len(call.args) > len(names):
        return False
    named = dict(zip(names[1:], call.args[1:]))
    return bool(forms(known)[0]) and complaint(known, () if method else call.args[:1], {**named, **call.kwargs}) is None


def _guessed(found: str, said: str) -> bool:
    """Whether an error may only be due to guessing which arguments were passed by name."""
    return "got multiple values" in found or _POSITION.sub("", found) == _POSITION.sub("", said)


_POSITION = re.compile(r" \(position \d+\)")


def _of_kinds(error: Exception, call: Call) -> bool:
    """Whether the type of an argument may have caused an error; for functions without known forms."""
    return isinstance(error, AttributeError) or any(isinstance(a, np.ndarray) for a in call.args)


def _by_what_it_calls(names: tuple[str, ...], name: str, call: Call) -> str | None:
    """The argument error of a function of `nn.functional` that is written in Python in PyTorch and passes its arguments by position to
    the top-level function of the same name: `layer_norm(input, shape, eps="a")`."""
    known, _ = forms(name.removeprefix("F."))
    if not name.startswith("F.") or len(known) != 1:
        return None
    given = {**dict(zip(names, call.args)), **call.kwargs}
    for position, parameter in enumerate(known[0].positional):
        if parameter.name in given and not _fits(parameter, given[parameter.name]):
            found = _found(parameter, given[parameter.name])
            return f"{name[2:]}(): argument '{parameter.name}' (position {position + 1}) must be {parameter.shown}, {found}"
    return None


def _by_annotations(names: tuple[str, ...], annotations: dict[str, Any], name: str, call: Call) -> str | None:
    """The argument error of a function that is written in Python in PyTorch: parameters annotated as Tensor need a tensor."""
    bare = name.removeprefix("F.")
    given = dict(zip(names, call.args))
    for position, (key, value) in enumerate({**given, **call.kwargs}.items()):
        wanted = annotations.get(key)
        if wanted == "Tensor" or (wanted == "Tensor | None" and value is not None):
            if not isinstance(value, Tensor) and not hasattr(value, "__torch_function__"):
                where = f"'{key}' (position {position + 1})" if key in given else f"'{key}'"
                return f"{bare}(): argument {where} must be Tensor, not {type_name(value)}"
    return None


def _of_several(name: str, args: tuple[Any, ...]) -> str | None:
    """The argument error of a function that takes any number of tensors, separately or in a list."""
    position = 0
    if name == "einsum" and args and not isinstance(args[0], Tensor):
        if not isinstance(args[0], str):
            return f"einsum(): argument 'equation' (position 1) must be str, not {type_name(args[0])}"
        position, args = 1, args[1:]
    elements = args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
    for at, element in enumerate(elements):
        if not isinstance(element, Tensor) and not hasattr(element, "__torch_function__"):
            return f"expected Tensor as element {at} in argument {position}, but got {type_name(element)}"
    return None
