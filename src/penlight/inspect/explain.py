"""`explain` describes a tensor's role in autograd, and why it has no gradient."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .._common.user_lines import Line
from ..autograd.node import AccumulateGrad, Node
from ..autograd.views import edge_of
from ..tensor import Tensor
from .log import Event, Log
from .memory import memory
from .values import grad_of, line_of, size_of
from .watch import current_log

_WATCH = "`with penlight.inspect.watch():` around the program, or `penlight run --watch`,"


class Explanation:
    """The result of `explain`: it prints as text, and `lines` lists its sentences.

    >>> torch.inspect.explain(torch.ones(2)).lines[0]
    'A leaf, (2,) float32: it does not require grad, and gets no gradient.'
    """

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines

    def __str__(self) -> str:
        return "\n".join(line.rstrip("\n") for line in self.lines)

    __repr__ = __str__


def explain(x: Any) -> Explanation:
    """Explain a tensor's role in autograd: the line that created it, whether and why it has a gradient, and what it keeps alive. For a module,
    explain why some of its parameters have no gradient.

    Line numbers are known for code that ran inside `inspect.watch()`, or under `penlight run --watch`.

    Args:
        x: a tensor, or a module.

    Returns:
        an `Explanation`, which prints as text.

    >>> w = torch.ones(2, requires_grad=True)
    >>> with torch.inspect.watch():
    ...     loss = (w.detach() * 2).sum()
    >>> print(torch.inspect.explain(w))
    A leaf, (2,) float32, that requires grad: gradients end here, in .grad.
    Its .grad is None. What was made from it was cut off the graph here:
    detach():
      File "...", line 2, in <module>
        loss = (w.detach() * 2).sum()
    """
    log = current_log()
    if isinstance(x, Tensor):
        return Explanation(_tensor(x, log))
    if hasattr(x, "named_parameters"):
        return Explanation(_module(x, log))
    raise TypeError(f"explain() takes a tensor or a module, not {type(x).__name__}")


def _module(module: Any, log: Log | None) -> list[str]:
    without = [(name, p) for name, p in module.named_parameters() if p.grad is None]
    if not without:
        return ["Every parameter has a gradient."]
    lines = []
    for name, parameter in without:
        why = _leaf(parameter, edge_of(parameter)[0], log)
        lines += [f"{name}:", *("  " + line.replace("\n  ", "\n    ") for line in why)]
    return lines


def _tensor(x: Tensor, log: Log | None) -> list[str]:
    try:
        node = edge_of(x)[0]
    except RuntimeError as refused:  # a view that was made under no_grad, and whose base was written to
        return [f"A view, {size_of(x)}: {refused}"]
    lines = _leaf(x, node, log) if node is None or isinstance(node, AccumulateGrad) else _result(x, node, log)
    return lines + _memory(x, log)


def _leaf(x: Tensor, node: Node | None, log: Log | None) -> list[str]:
    what = f"A leaf, {size_of(x)}"
    if node is None:
        return _without_grad(x, what, log)
    what += ", that requires grad: gradients end here, in .grad."
    if x.grad is not None:
        return [what, f"Its .grad has arrived: {grad_of(x.grad)}."]
    return [what, *_no_gradient(node, log)]


def _without_grad(x: Tensor, what: str, log: Log | None) -> list[str]:
    """Describe a tensor that does not require grad. It is a leaf even if an op created it."""
    cuts, line = (log.cuts_of(x), log.line_of(x)) if log is not None else ((), None)
    if cuts:
        return [f"{what}: it was cut off the graph, and gets no gradient.", *_by_line(cuts)]
    if line is not None:
        return [
            f"{what}: nothing that it was made from requires grad, so it gets no gradient. It was made here:\n{line}"
        ]
    return [f"{what}: it does not require grad, and gets no gradient."]


def _no_gradient(leaf: Node, log: Log | None) -> list[str]:
    """Why the gradient of a leaf is None."""
    if log is None:
        return [
            "Its .grad is None: no backward pass has reached it since it was made, or since zero_grad().",
            f"Either it was not used, or the way to it was cut. {_WATCH} finds the line.",
        ]
    reached, cuts, used = log.last_pass(leaf), log.cuts_below(leaf), log.first_use(leaf)
    if reached is not None:
        return [
            "Its .grad is None, though a backward pass reached it. Either zero_grad() came after, or the pass was autograd.grad() or "
            "backward(inputs=...), which did not write to it, or a custom Function's backward returned None, or the pass ended in an error. "
            f"It began here:\n{reached}"
        ]
    if cuts:
        return ["Its .grad is None. What was made from it was cut off the graph here:", *_by_line(cuts)]
    if used is None:
        return ["Its .grad is None: no op that watch() has seen used it. What runs outside of watch() is not seen."]
    return [
        f"Its .grad is None, and nothing cut the way to it: no backward pass came from what uses it. First use:\n{used}"
    ]


def _by_line(events: Iterable[Event]) -> list[str]:
    """What happened at each line."""
    known: dict[str, list[str]] = {}
    for event in events:
        known.setdefault(event.where, []).append(event.told)
    return [f"{', '.join(told)}:\n{where}" for where, told in known.items()]


def _result(x: Tensor, node: Node, log: Log | None) -> list[str]:
    line: Line | str | None = node.extra().get("line") or line_of(node)
    lines = [f"Not a leaf, {size_of(x)}: the result of an op, with grad_fn {node.name()}."]
    if line:
        lines[0] += f" It was made here:\n{line}"
    elif log is None:
        lines[0] += f" {_WATCH} tells which line made it."
    if x.retains_grad:
        kept = "None so far" if x.grad is None else grad_of(x.grad)
        return [*lines, f"Its gradient is kept in .grad, since retain_grad() was called: {kept}."]
    return [*lines, "Its gradient passes through and is not kept: retain_grad() before backward() keeps it in .grad."]


def _memory(x: Tensor, log: Log | None) -> list[str]:
    lines = []
    if x._is_view():
        lines.append(f"It is a view of a tensor of shape {tuple(x._base.shape)}.")  # type: ignore[union-attr]
    version = 0 if x.is_inference() else x._version
    if version:
        writes = [] if log is None else log.writes_to(x._array)
        where = " here:" if writes else "."
        lines += [f"It is at version {version}: its memory was written to{where}", *[event.where for event in writes]]
    report = memory(x)
    if report.total:
        most = report.rows[0]
        lines.append(
            f"The graph behind it keeps {report.total:,} bytes alive, most of them ({most.bytes:,}) for {most.node}."
        )
    return lines
