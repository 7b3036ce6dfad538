"""`summary` lists the modules of a model in a table, with the results, cost and saved memory of one pass through each."""

from __future__ import annotations

import gc
from math import prod
from time import perf_counter
from typing import Any

from ..kernels.lazy import lazy_import
from .log import Listener
from .memory import savings
from .modules import record
from .values import tensors_in
from .watch import watch

_penlight = lazy_import(globals(), "_penlight", "penlight")

_TITLES = ("module", "output", "parameters", "mult-adds", "saved bytes", "forward ms", "backward ms")


class Row:
    """One call of a module: its name and class, the shapes of its results, and its cost, including the calls inside it.

    Attributes:
        name: the path of the module, numbered from its second call on; `type` is its class, `depth` the number of enclosing calls.
        shapes: the shapes of the tensors that it returns.
        parameters: the number of elements of its parameters.
        mult_adds: the multiply-adds of its matrix products, convolutions, recurrent layers and attention.
        saved: the bytes that the graph keeps for the backward pass.
        forward, backward: milliseconds.
    """

    __slots__ = ("backward", "depth", "forward", "mult_adds", "name", "parameters", "saved", "shapes", "type")

    def __init__(self, name: str, type: str, depth: int, parameters: int) -> None:
        self.name, self.type, self.depth, self.parameters = name, type, depth, parameters
        self.shapes: list[list[int]] = []
        self.mult_adds = self.saved = 0
        self.forward = self.backward = 0.0

    def cells(self) -> tuple[str, ...]:
        """The row of the table."""
        name = "  " * self.depth + (f"{self.name.rpartition('.')[2]} ({self.type})" if self.name else self.type)
        shapes = ", ".join(map(str, self.shapes))
        return (name, shapes, f"{self.parameters:,}", f"{self.mult_adds:,}", f"{self.saved:,}",
                f"{self.forward:.3f}", f"{self.backward:.3f}")  # fmt: skip


class Summary:
    """The result of `summary`: `rows`, one for each module call, outermost first. It prints as a table, and displays in a notebook.

    >>> torch.inspect.summary(torch.nn.Linear(4, 3), torch.ones(2, 4)).rows[0].mult_adds
    24
    """

    def __init__(self, rows: list[Row], trainable: int, total: int) -> None:
        self.rows, self.trainable, self.total = rows, trainable, total

    def _footer(self) -> str:
        return f"{self.total:,} parameters, {self.trainable:,} of them trainable"

    def __str__(self) -> str:
        table = [_TITLES, *[row.cells() for row in self.rows]]
        widths = [max(len(line[k]) for line in table) for k in range(len(_TITLES))]
        lines = [
            "  ".join(cell.ljust(w) if k < 2 else cell.rjust(w) for k, (cell, w) in enumerate(zip(line, widths)))
            for line in table
        ]
        return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:], self._footer()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        def cells(tag: str, line: tuple[str, ...]) -> str:
            return "".join(f"<{tag} style='text-align:{'left' if k < 2 else 'right'};white-space:pre'>{cell}</{tag}>"
                           for k, cell in enumerate(line))  # fmt: skip

        body = "".join(f"<tr>{cells('td', row.cells())}</tr>" for row in self.rows)
        return f"<table><tr>{cells('th', _TITLES)}</tr>{body}</table><p>{self._footer()}</p>"


# The position of the operand whose last dimension a product sums over.
_SUMMED = {"mm": 0, "bmm": 0, "mv": 0, "dot": 0, "vdot": 0, "addmm": 1, "baddbmm": 1, "addmv": 1, "addbmm": 1}


def mult_adds(op: Any, arguments: tuple[Any, ...], result: Any) -> int:
    """The multiply-adds of one call of an op, if it is a matrix product, a convolution, a recurrent layer or attention; else 0.

    >>> from penlight.inspect.summary import mult_adds
    >>> from penlight.ops import OPS
    >>> mult_adds(OPS["_mm"], (torch.ones(2, 3), torch.ones(3, 4)), torch.ones(2, 4))
    24
    """
    name, given = op.public, dict(zip(op.parameters, arguments))
    if name in _SUMMED:
        operand = arguments[_SUMMED[name]]
        number = result.numel() * operand.shape[-1]
        return number * operand.shape[0] if name == "addbmm" else number
    if name == "convolution":
        positions = given["input"] if given["transposed"] else result
        return positions.numel() * prod(given["weight"].shape[1:])
    if name == "conv_tbc":
        return result.numel() * prod(given["weight"].shape[:2])
    if name == "bilinear_form":
        return result.numel() * prod(given["weight"].shape[1:])
    if name == "attention":
        query, key, value = arguments[:3]
        return prod(query.shape[:-1]) * key.shape[-2] * (query.shape[-1] + value.shape[-1])
    if "w_ih" in given:
        weights = [given[weight] for weight in ("w_ih", "w_hh", "w_hr") if weight in given]
        return prod(given["input"].shape[:-1]) * sum(weight.numel() for weight in weights)
    return 0


class _Measuring(Listener):
    """Adds up the cost of the ops in each open call, and times the nodes of the backward pass."""

    sees_nodes = alone = True

    def __init__(self) -> None:
        self.open: list[Row] = []
        self.times: dict[int, float] = {}  # seconds of each node, by sequence number

    def on_op(self, op: Any, arguments: tuple[Any, ...], go: Any, inplace: bool) -> Any:
        result = go()
        if number := mult_adds(op, arguments, result):
            for row in self.open:
                row.mult_adds += number
        return result

    def on_node(self, node: Any, grad: Any, run: Any) -> Any:
        start = perf_counter()
        results = run(node, grad)
        self.times[node.seq] = perf_counter() - start
        return results


class _Calls(record):
    """The module calls of a model, with one row each, filled in when the call ends."""

    def __init__(self, model: Any, measuring: _Measuring) -> None:
        super().__init__(model)
        self.measuring, self.rows, self._starts = measuring, [], []  # type: ignore[var-annotated]

    def _enter(self, path: str) -> Any:
        note = super()._enter(path)

        def hook(module: Any, arguments: Any) -> None:
            note(module, arguments)
            size = sum(p.numel() for p in module.parameters())
            row = Row("", type(module).__name__, len(self.measuring.open), size)
            self.rows.append(row)
            self.measuring.open.append(row)
            self._starts.append(perf_counter())

        return hook

    def _leave(self, module: Any, arguments: Any, result: Any) -> None:
        row = self.measuring.open.pop()
        row.forward = 1000 * (perf_counter() - self._starts.pop())
        row.shapes = [list(t.shape) for t in tensors_in(result)]
        super()._leave(module, arguments, result)


def summary(model: Any, *inputs: Any, backward: bool = True, **options: Any) -> Summary:
    """Run a model once, forward and backward, and tabulate the results, cost and saved memory of each module call.

    The model, its buffers, gradients and the random state are restored afterwards. Times are measured in a second run, after a warm-up.

    Args:
        model: a module.
        inputs: the arguments of the model.
        backward: whether to run the backward pass too, from the sum of all results.
        options: keyword arguments for the model.

    Returns:
        a `Summary`, which prints as a table.

    >>> table = torch.inspect.summary(torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU()), torch.ones(2, 4))
    >>> [(row.name, row.type, row.shapes, row.parameters, row.saved) for row in table.rows]
    [('', 'Sequential', [[2, 3]], 15, 24), ('0', 'Linear', [[2, 3]], 15, 0), ('1', 'ReLU', [[2, 3]], 0, 24)]
    """
    if not hasattr(model, "named_modules"):
        raise TypeError(f"summary() takes a module, not {type(model).__name__}")
    buffers = [(buffer, buffer.detach().clone()) for buffer in model.buffers()]
    collecting = gc.isenabled()
    try:
        with _penlight.random.fork_rng(), _penlight.enable_grad():
            _measure(model, inputs, options, backward)  # warm-up: compiling and loading on first use are not timed
            gc.disable()  # nor is garbage collection, which would be charged to an arbitrary layer
            rows = _measure(model, inputs, options, backward)
    finally:
        if collecting:
            gc.enable()
        with _penlight.no_grad():
            for buffer, before in buffers:
                buffer.copy_(before)
    sizes = [(p.numel(), p.requires_grad) for p in model.parameters()]
    return Summary(rows, sum(n for n, needs in sizes if needs), sum(n for n, _ in sizes))


def _measure(model: Any, inputs: tuple[Any, ...], options: dict[str, Any], backward: bool) -> list[Row]:
    measuring = _Measuring()
    calls = _Calls(model, measuring)
    with watch(log=measuring):
        with calls:
            results = [t for t in tensors_in(model(*inputs, **options)) if t.requires_grad]
        kept = list(savings(results))
        if backward and results:
            leaves = [t for t in (*model.parameters(), *tensors_in(inputs)) if t.requires_grad and t.is_leaf]
            _penlight.autograd.grad([t.sum() for t in results], leaves, allow_unused=True)
    rows: list[Row] = calls.rows
    names = dict(zip(calls.spans, calls.names()))
    for call, row in zip(calls.spans, rows):
        row.name = names[call]
        row.saved = sum(one.bytes for one in kept if call.first <= one.number < call.last)
        row.backward = 1000 * sum(t for seq, t in measuring.times.items() if call.first <= seq < call.last)
    return rows
