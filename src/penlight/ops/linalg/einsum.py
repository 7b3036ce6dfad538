"""einsum: sums of products given by an equation, computed by permutations, sums and batched matrix products."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np

from ...kernels.copies import contiguous
from ...kernels.copies.order import in_layout
from ...kernels.numpy_calls import broadcast_to, expand_dims
from ...kernels.numpy_warnings import silent
from ...tensor import Tensor, wrap
from ..machinery.array_namespace import raw
from ..machinery.guards import plain_floats
from ..shape.slicing import diagonal
from ..shape.transpose import _permute
from ..shape.views import _expand, _unsqueeze, _view, reshape
from .matmul import bmm

__all__ = ["einsum"]

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def einsum(*args: Any) -> Tensor:
    """The sum of products that an equation describes: `"bij,bjk->bik"` is a batched matrix product.

    >>> torch.einsum("i,j->ij", torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))
    tensor([[3., 4.],
            [6., 8.]])
    """
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its subscripts list"
        )
    if isinstance(args[0], Tensor):
        equation, operands = _from_sublists(args)
    else:
        equation = args[0]
        operands = list(args[1]) if len(args) == 2 and isinstance(args[1], (list, tuple)) else list(args[1:])
    steps, new_memory = _plan(equation, tuple([tuple(t.shape) for t in operands]))
    if new_memory and plain_floats(operands):
        values = [t._array for t in operands]
        end, last, rest = steps[-1]
        viewed = end in _VIEWS  # the result is a view of an earlier step
        with silent():
            for name, a, others in steps[:-1] if viewed else steps:
                values.append(_ON_ARRAYS[name](values[a], *(others if name not in _TWO else (values[others],))))
        return _ON_TENSORS[end](wrap(values[last]), *rest) if viewed else wrap(values[-1])
    for name, a, rest in steps:
        operands.append(
            _ON_TENSORS[name](operands[a], *rest)
            if name not in _TWO
            else _ON_TENSORS[name](operands[a], operands[rest])
        )
    return operands[-1]


# ----- Planning -----------------------------------------------------------------------------------------------------
# The plan of an equation for given operand shapes is made once, by stand-ins that record each step.

_TWO = ("mul", "bmm")
_VIEWS = ("permute", "unsqueeze", "expand", "view", "diagonal")
_ON_TENSORS: dict[str, Any] = {
    "sum": lambda t, dims: t.sum(dims), "permute": _permute, "unsqueeze": _unsqueeze, "expand": _expand, "reshape": reshape, "view": _view,
    "diagonal": diagonal, "mul": lambda a, b: a * b, "bmm": bmm,
}  # fmt: skip


def _multiply(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.multiply(a, b) if a.flags.c_contiguous and b.flags.c_contiguous else in_layout(np.multiply, a, b)


_ON_ARRAYS: dict[str, Any] = {
    "sum": lambda a, dims: contiguous(raw._sum_dims(a, dims, False)), "permute": lambda a, order: a.transpose(order), "unsqueeze": expand_dims,
    "expand": lambda a, size: broadcast_to(a, size), "reshape": lambda a, size: a.reshape(size), "view": lambda a, size: a.reshape(size),
    "diagonal": lambda a, offset, first, second: a.diagonal(offset, first, second), "mul": _multiply,
    "bmm": lambda a, b: np.matmul(a, b),
}  # fmt: skip


class _Planned:
    """Represents a tensor while an equation is planned: its shape, and its index among the operands and results."""

    def __init__(self, shape: tuple[int, ...], position: int, steps: list[Any]) -> None:
        self.shape, self.position, self.steps = shape, position, steps

    def dim(self) -> int:
        return len(self.shape)

    def step(self, name: str, shape: Any, rest: Any) -> _Planned:
        self.steps.append((name, self.position, rest))
        return _Planned(tuple(shape), self.steps[0] + len(self.steps) - 2, self.steps)

    def sum(self, dims: tuple[int, ...]) -> _Planned:
        return self.step("sum", [n for d, n in enumerate(self.shape) if d not in dims], (dims,))

    def permute(self, order: list[int]) -> _Planned:
        return self.step("permute", [self.shape[d] for d in order], (tuple(order),))

    def unsqueeze(self, position: int) -> _Planned:
        return self.step("unsqueeze", (*self.shape[:position], 1, *self.shape[position:]), (position,))

    def expand(self, size: list[int]) -> _Planned:
        return self.step("expand", size, (tuple(size),))

    def reshape(self, size: list[int]) -> _Planned:
        return self.step("reshape", size, (tuple(size),))

    def view(self, size: list[int]) -> _Planned:
        return self.step("view", size, (tuple(size),))

    def diagonal(self, offset: int, first: int, second: int) -> _Planned:
        rest = [n for d, n in enumerate(self.shape) if d not in (first, second)]
        return self.step("diagonal", [*rest, self.shape[first]], (offset, first, second))

    def __mul__(self, other: _Planned) -> _Planned:
        return self.step("mul", np.broadcast_shapes(self.shape, other.shape), other.position)

    def bmm(self, other: _Planned) -> _Planned:
        return self.step("bmm", (*self.shape[:2], other.shape[2]), other.position)


@lru_cache(512)
def _plan(equation: str, shapes: tuple[tuple[int, ...], ...]) -> tuple[list[Any], bool]:
    """The steps (name, index of the operand, other arguments), and whether the result has its own memory."""
    steps: list[Any] = [len(shapes)]
    operands = [_Planned(shape, position, steps) for position, shape in enumerate(shapes)]
    terms, output = _parse(equation, operands)
    prepared = [_one_per_letter(t, labels) for t, labels in zip(operands, terms)]
    tensor, labels = prepared[0]
    rest = prepared[1:]
    for position, (other, other_labels) in enumerate(rest):
        needed = list(dict.fromkeys([*output, *(x for _, later in rest[position + 1 :] for x in later)]))
        tensor, labels = _pair(tensor, labels, other, other_labels, needed)
    moves = not rest and len(labels) == len(output)
    tensor, labels = _sum_others(tensor, labels, output)
    if moves or labels != output:
        tensor = tensor.permute([labels.index(label) for label in output])
    if rest and steps[-1][0] != "view" and {*output} != {*chain(*terms)}:
        tensor.view(list(tensor.shape))  # PyTorch's result of a contraction is always a view
    return steps[1:], any(name in ("sum", *_TWO) for name, _, _ in steps[1:])


def _from_sublists(args: tuple[Any, ...]) -> tuple[str, list[Tensor]]:
    """`einsum(x, [0, 1], y, [1], [0])` as an equation."""
    operands, terms, position = [], [], 0
    while position + 1 < len(args):
        operands.append(args[position])
        terms.append(_subscripts(args[position + 1]))
        position += 2
    equation = ",".join(terms)
    return (equation + "->" + _subscripts(args[position]) if position < len(args) else equation), operands


def _subscripts(numbers: Any) -> str:
    text = ""
    for n in numbers:
        if n is not Ellipsis and not 0 <= n < 52:
            raise ValueError(f"einsum(): expected subscripts to be within the range [0, 52), but got {n}")
        text += "..." if n is Ellipsis else _LETTERS[n]
    return text


def _parse(equation: str, operands: list[_Planned]) -> tuple[list[list[Any]], list[Any]]:
    """The labels of each operand and of the output. Ellipsis dimensions have negative labels, from the right."""
    equation = equation.replace(" ", "")
    left, arrow, right = equation.partition("->")
    texts = left.split(",")
    if len(texts) != len(operands):
        fewer = len(texts) > len(operands)
        raise RuntimeError(
            f"einsum(): {'fewer' if fewer else 'more'} operands were provided than specified in the equation"
        )
    terms: list[list[Any]] = []
    widest = 0
    for position, (text, tensor) in enumerate(zip(texts, operands)):
        labels = _term(text, tensor, position)
        terms.append(labels)
        widest = max(widest, -min((x for x in labels if isinstance(x, int)), default=0))
    dots = list(range(-widest, 0))
    if arrow:
        output: list[Any] = _output(right, terms, dots)
    else:
        every = [x for labels in terms for x in labels if isinstance(x, str)]
        output = dots + sorted(x for x in set(every) if every.count(x) == 1)
    return terms, output


def _term(text: str, tensor: _Planned, position: int) -> list[Any]:
    _check_letters(text, position)
    head, dots, tail = text.partition("...")
    letters = len(head) + len(tail)
    ndim = tensor.dim()
    if dots:
        if letters > ndim:
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({letters}) is more than the number of dimensions "
                f"({ndim}) for operand {position}"
            )
        return [*head, *range(letters - ndim, 0), *tail]
    if letters != ndim:
        raise RuntimeError(
            f"einsum(): the number of subscripts in the equation ({letters}) does not match the number of dimensions ({ndim}) "
            f"for operand {position} and no ellipsis was given"
        )
    return list(head)


def _check_letters(text: str, position: int) -> None:
    for c in text.replace("...", "", 1):
        if not ("a" <= c <= "z" or "A" <= c <= "Z"):
            if c == ".":
                raise RuntimeError(
                    f"einsum(): found '.' for operand {position} that is not part of any ellipsis"
                    if text.count("...") < 2 else f"einsum(): found '.' for operand {position} for which an ellipsis was already found"
                )  # fmt: skip
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {position} in the equation string, subscripts must be in [a-zA-Z]"
            )


def _output(text: str, terms: list[list[Any]], dots: list[int]) -> list[Any]:
    head, ellipsis, tail = text.partition("...")
    letters = [*head, *tail]
    known = {x for labels in terms for x in labels}
    for c in letters:
        if letters.count(c) > 1:
            raise RuntimeError(f"einsum(): output subscript {c} appears more than once in the output")
        if c not in known:
            raise RuntimeError(f"einsum(): output subscript {c} does not appear in the equation for any input operand")
    return [*head, *(dots if ellipsis else []), *tail]


def _one_per_letter(tensor: _Planned, labels: list[Any]) -> tuple[_Planned, list[Any]]:
    """A repeated letter takes the diagonal."""
    labels = list(labels)
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            if tensor.shape[first] != tensor.shape[second]:
                raise RuntimeError(
                    f"einsum(): subscript {label} is repeated for operand 0 but the sizes don't match, "
                    f"{tensor.shape[second]} != {tensor.shape[first]}"
                )
            tensor = tensor.diagonal(0, first, second)
            del labels[second], labels[first]
            labels.append(label)
    return tensor, labels


def _pair(a: _Planned, la: list[Any], b: _Planned, lb: list[Any], needed: list[Any]) -> tuple[_Planned, list[Any]]:
    """The product of two operands, summed over letters that are no longer needed."""
    a, la = _sum_others(a, la, [*needed, *lb])
    b, lb = _sum_others(b, lb, [*needed, *la])
    for label in set(la) & set(lb):
        n, m = a.shape[la.index(label)], b.shape[lb.index(label)]
        if n != m and 1 not in (n, m):
            raise RuntimeError(
                f"einsum(): subscript {label} has size {m} for operand 1 which does not broadcast with previously seen size {n}"
            )
    for label in [x for x in la if x in lb and x not in needed]:
        if 1 in (a.shape[la.index(label)], b.shape[lb.index(label)]):  # it broadcasts: sums come before the product
            (a, la), (b, lb) = _without(a, la, label), _without(b, lb, label)
    shared = [x for x in la if x in lb]
    batch = [x for x in shared if x in needed]
    summed = [x for x in shared if x not in needed]
    left, right = [x for x in la if x not in lb], [x for x in lb if x not in la]
    size = {x: max(a.shape[la.index(x)], b.shape[lb.index(x)]) for x in shared}
    size.update({x: 0 for x in shared if not (a.shape[la.index(x)] and b.shape[lb.index(x)])})
    size.update({x: a.shape[la.index(x)] for x in left})
    size.update({x: b.shape[lb.index(x)] for x in right})
    if not summed:
        order = [x for x in needed if x in size]
        return _aligned(a, la, order) * _aligned(b, lb, order), order
    if right and needed and needed[-1] in left:
        a, la, left, b, lb, right = b, lb, right, a, la, left
    first = _matrix(a, la, (batch, left, summed), size)
    second = _matrix(b, lb, (batch, summed, right), size)
    order = batch + left + right
    return first.bmm(second).view([size[x] for x in order]), order


def _without(tensor: _Planned, labels: list[Any], label: Any) -> tuple[_Planned, list[Any]]:
    """The tensor summed over one of its letters."""
    at = labels.index(label)
    rest = labels[:at] + labels[at + 1 :]
    if tensor.shape[at] != 1:
        return tensor.sum((at,)), rest
    return tensor.reshape([*tensor.shape[:at], *tensor.shape[at + 1 :]]), rest


def _sum_others(tensor: _Planned, labels: list[Any], kept: list[Any]) -> tuple[_Planned, list[Any]]:
    """The tensor summed over the letters that are not kept; if there are any, the others come in the order of `kept`."""
    gone = [x for x in labels if x not in kept]
    if not gone:
        return tensor, labels
    order = [x for x in dict.fromkeys(kept) if x in labels]
    tensor = tensor.permute([labels.index(x) for x in order + gone])
    return tensor.sum(tuple(range(len(order), len(labels)))), order


def _aligned(tensor: _Planned, labels: list[Any], order: list[Any]) -> _Planned:
    """Dimensions in this order, with size one for those the tensor lacks."""
    tensor = tensor.permute([labels.index(x) for x in order if x in labels])
    for position, x in enumerate(order):
        if x not in labels:
            tensor = tensor.unsqueeze(position)
    return tensor


def _matrix(tensor: _Planned, labels: list[Any], groups: tuple[list[Any], ...], size: dict[Any, int]) -> _Planned:
    """The tensor as a batch of matrices: each group of letters becomes one dimension."""
    order = [x for group in groups for x in group]
    tensor = tensor.permute([labels.index(x) for x in order]).expand([size[x] for x in order])
    return tensor.reshape([math.prod(size[x] for x in group) for group in groups])
