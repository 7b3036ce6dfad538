"""The record of a declared op, as the generator, the slow path and the tests read it."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, Union

import numpy as np

Number = Union[bool, int, float, complex]  # noqa: UP007  in the signatures of ops

# The kinds of parameters of an op's signature, derived from their annotations.
TENSOR, NUMBER, OPTIONAL, LIST, PLAIN = "tensor", "number", "optional", "list", "plain"

_KINDS = {
    "Tensor": TENSOR,
    "Tensor | Number": NUMBER,
    "Tensor | None": OPTIONAL,
    "Sequence[Tensor]": LIST,
    "tuple[Tensor, ...]": LIST,
}


# Suffixes of op names that mark one of several forms of a public function. `hash_tensor` is a function.
_VARIANT = re.compile(r"(?<!^hash)_(scaled|tensor|all|dims?|list|one|stable|decimals|value|(of_)?number|of|shared)$")


class Traits(NamedTuple):
    """Further properties of an op, given by `@traits(...)` below its declaration."""

    out: bool = True  # whether it takes `out=`
    scalar_first: bool = False  # whether its first tensor may be a scalar too: torch.mul(2.0, x)
    with_tensor: str = ""  # for an op of a tensor and a scalar: the function to call if the scalar is a tensor
    full_scalars: bool = False  # see Note [Numbers beside 16-bit floats] in scalars.py
    channels_last: tuple[int, ...] = ()  # numbers of dimensions to which Note [Channels last] applies
    channels_last_of: int = 1  # how many of the first inputs decide the format
    gradient_format: str = (
        "input"  # what decides that of the gradients: "input", "grad" (the incoming gradient), "" (nothing)
    )
    contiguous: bool = False  # whether its result is always contiguous, although it is elementwise
    any_layout: bool = False  # whether its result may be non-contiguous, although it is not elementwise
    refuses: dict[str, Any] = {}  # dtypes that PyTorch has no kernel for, see `refuse` in guards.py
    compares_bytes: bool = False  # whether NumPy compares bools by bytes, which may differ between two True values
    frees: tuple[str, ...] = ()  # plain arguments that hold tensors, which a backward pass frees too
    shows: dict[str, Any] = {}  # `_saved_*` attributes of PyTorch's nodes beyond what our rules save
    hides: tuple[str, ...] = ()  # saved values of our rules that PyTorch does not expose
    # Which of "op" and "rules" never turn non-NaN values into NaN nor finite values into infinity, for any operands: watch(nan=...,
    # inf=...) skips these. None means both for a view, otherwise neither.
    keeps_finite: tuple[str, ...] | None = None
    expanded: str = ""  # for an op that may write to an expanded tensor, with a warning: the equivalent assignment
    returned: int = 0  # how many results the caller gets, if not all; the rules need the others
    backward: str = ""  # edges of its backward pass, if that is one node: Note [Backward passes as nodes] in rules.py
    aten: str = ""  # its ATen name, if the node's name does not tell


_F = TypeVar("_F", bound=Callable[..., Any])
_NO_TRAITS = Traits()


def traits(**given: Any) -> Callable[[_F], _F]:
    """Give an op further properties: see `Traits`."""

    def mark(face: _F) -> _F:
        face.__dict__["traits"] = Traits(**given)
        return face

    return mark


def freed_wants(op: Op) -> list[str]:
    """The saved values of an op's node that a backward pass frees."""
    wants = dict.fromkeys(want for wants in op.wants.values() for want in wants)
    return [want for want in wants if want in op.traits.frees or slot_kind(op, want) in ("input", "result")]


def saved_anyhow(op: Op, parameter: str) -> bool:
    """Whether PyTorch saves a value for this input's rule regardless of which inputs require grad: every rule needs it."""
    tensors = [want for want in op.wants[parameter] if slot_kind(op, want) in ("input", "result")]
    return any(all(want in wants for wants in op.wants.values()) for want in tensors)


_backward_of: dict[Op, Any] = {}  # the node class of each op


class Op:
    """A declared op. `ops.OPS` holds them all by name."""

    __slots__ = (
        "Backward", "_make_backward", "batch", "check", "complex_rule", "defaults", "exempt", "face", "floating", "function", "has_in_place", "in_place", "inputs", "into", "jvp", "keeps_finite", "kernel",
        "kind", "kinds", "mixed", "name", "node_name", "operator", "parameters", "plain", "results", "rules", "source", "traits", "unchecked", "unchecked_in_place", "view", "wants",
    )  # fmt: skip

    Backward: Any  # the class of its nodes; None if it has no rules
    function: Any  # the public function
    has_in_place: bool  # whether it has an in-place form
    operator: str  # the method of Tensor for its operator, if it has one with two operands

    def __init__(
        self,
        face: Callable[..., Any],
        kernel: Callable[..., Any],
        kind: str,
        rules: dict[str, Callable[..., Any]],
        *,
        jvp: Any = None,
        node: str | None = None,
        results: tuple[str, ...] | None = None,
        floating: bool = False,
        view: bool | str = False,
        complex_rule: bool = False,
        exempt: tuple[str, ...] = (),
        check: Callable[[dict[str, Any]], None] | None = None,
    ) -> None:
        code = face.__code__
        self.name = face.__name__
        self.traits: Traits = face.__dict__.get("traits", _NO_TRAITS)
        self.face, self.kernel, self.kind, self.rules, self.jvp = face, kernel, kind, rules, jvp
        self.parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        defaults = face.__defaults__ or ()
        self.defaults = dict(zip(self.parameters[code.co_argcount - len(defaults) : code.co_argcount], defaults))
        self.defaults.update(face.__kwdefaults__ or {})
        notes = face.__annotations__
        self.kinds = {p: _KINDS.get(notes.get(p, ""), PLAIN) for p in self.parameters}
        self.inputs = tuple(p for p in self.parameters if self.kinds[p] != PLAIN)
        self.plain = tuple(p for p in self.parameters if self.kinds[p] == PLAIN)
        self.results = results or ("result",)
        self.floating, self.view, self.complex_rule = floating, view, complex_rule
        kept = self.traits.keeps_finite
        self.keeps_finite = kept if kept is not None else ("op", "rules") if view else ()
        self.node_name = node or _camel(self.name) + "Backward0"
        self.wants = {i: getattr(rule, "wants", None) or parameters_of(rule) for i, rule in rules.items()}
        self.exempt = exempt  # inputs excluded from promotion: the condition of `where`
        self.check = check  # refuses arguments that the kernel would not recognise after promotion
        self.batch: Any = None
        self._make_backward: Any = None
        self.source = ""
        self.unchecked: Any = None  # see `generate.unchecked`
        self.unchecked_in_place: Any = None  # see `generate.unchecked_in_place`
        self.mixed: Any = None  # see `mixed_dtypes.mixed`
        self.in_place: Any = None  # see `generate.in_place_function`
        self.into: Any = None  # a variant of its kernel that writes to the first operand

    def __getattr__(self, name: str) -> Any:
        """Creates `Backward` on first access. Concurrent threads get the same class: only that one has a `run_raw`."""
        if name != "Backward":
            raise AttributeError(f"'Op' object has no attribute '{name}'")
        self.Backward = _backward_of.setdefault(self, self._make_backward(self) if self.rules else None)
        return self.Backward

    @property
    def public(self) -> str:
        """The op's public name."""
        return _VARIANT.sub("", self.name.lstrip("_"))

    @property
    def operands(self) -> tuple[str, ...]:
        """The inputs that are promoted to a common dtype."""
        return tuple(i for i in self.inputs if self.kinds[i] in (TENSOR, NUMBER) and i not in self.exempt)

    @property
    def outputs(self) -> int:
        return len(self.results)

    def __repr__(self) -> str:
        return f"<op {self.name}>"


def _camel(name: str) -> str:
    return "".join(part.title() for part in name.split("_"))  # also capitalises a letter after a digit: Log1PBackward0


def parameters_of(rule: Callable[..., Any]) -> tuple[str, ...]:
    """The names of a rule's parameters: the values it needs."""
    code = rule.__code__
    return code.co_varnames[: code.co_argcount]


@functools.cache
def unpack_order(op: Op, parameter: str) -> list[str]:
    """The values that an input's rule needs, in PyTorch's unpacking order: if several were modified, the error names the same one."""
    return sorted(op.wants[parameter], key=lambda want: (want in op.results, "self" if want == "input" else want))


def slot_kind(op: Op, want: str) -> str:
    """What a rule's parameter refers to: "call" (passed anew each time), "input", "result", "plain" (saved unchanged), or
    "shape"/"dtype"/"strides" of the input named by the prefix."""
    if want in ("grad", "grads", "xp", "needs"):
        return "call"
    if want in op.results:
        return "result"
    if want in op.parameters:
        return "plain" if op.kinds[want] == PLAIN else "input"
    head, _, tail = want.rpartition("_")
    if tail in ("shape", "dtype", "strides") and head in op.inputs:
        return tail
    if tail in ("shape", "dtype") and head in op.results:
        return tail
    raise TypeError(f"{op.name}: its rule wants {want!r}, which is no input, parameter or result of it")


def as_array(result: Any) -> np.ndarray[Any, Any]:
    return result if type(result) is np.ndarray else np.asarray(result)
