"""`steps` runs the backward pass node by node; `replay` shows it as an animation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._common.user_lines import Line
from ..autograd import engine
from ..autograd._calls import root_edges, root_grads
from ..autograd.node import AccumulateGrad, Freed, Node
from ..tensor import Tensor
from .draw import Drawing, draw_with_nodes
from .values import line_of, norm_of, saved_by, size_of, value_of

_BINS = 24  # bins of a histogram


class Step:
    """One step of a backward pass: a node has run, or the gradient of a leaf is complete.

    Attributes:
        node: the node; `name` is its name, and `line` the line of the forward pass that it belongs to, if that was watched.
        arrived: the gradients of the outputs of its op.
        leaving: the gradients of the inputs, a list. Until the next step begins, its entries can be replaced, and the pass continues with them.
        leaf: the leaf, for a step that ends at one; its `leaving` has one gradient, which is added to the leaf's `.grad`.
        freed: the names of the saved tensors that the step has freed.

    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> [step.name for step in torch.inspect.steps((x * x).sum())]
    ['SumBackward0', 'MulBackward0', 'AccumulateGrad']
    """

    __slots__ = ("arrived", "freed", "leaving", "node")

    def __init__(self, node: Node, arrived: Any, leaving: list[Any], freed: list[str]) -> None:
        self.node, self.leaving, self.freed = node, leaving, freed
        self.arrived: tuple[Tensor | None, ...] = tuple(arrived) if isinstance(arrived, list) else (arrived,)

    @property
    def name(self) -> str:
        """The name of the node."""
        return self.node.name().removeprefix("torch::autograd::")

    @property
    def line(self) -> Line | str | None:
        """The line of the program that made the node, if it was watched."""
        return self.node.extra().get("line") or line_of(self.node) or None

    @property
    def leaf(self) -> Tensor | None:
        """The leaf whose `.grad` is written, or None."""
        return self.node.variable if isinstance(self.node, AccumulateGrad) else None

    def __repr__(self) -> str:
        ways = [(child, grad) for (child, _), grad in zip(self.node.next_functions, self.leaving)]
        going = [f"{_told(grad)} to {_short(child)}" for child, grad in ways if child is not None and grad is not None]
        if isinstance(self.node, AccumulateGrad):
            going = ["into .grad"]
        freed = f", frees {', '.join(self.freed)}" if self.freed else ""
        return f"<{self.name}: {', '.join(map(_told, self.arrived))} -> {', '.join(going) or 'nothing'}{freed}>"


def _short(node: Node) -> str:
    return node.name().removeprefix("torch::autograd::")


def _told(grad: Any) -> str:
    if grad is None:
        return "no gradient"
    value = value_of(grad)
    return f"{size_of(grad)} {value}" if value is not None else f"{size_of(grad)} norm {norm_of(grad)}"


def steps(tensor: Tensor, gradient: Tensor | None = None, retain_graph: bool = False) -> Iterator[Step]:
    """Run the backward pass of a tensor node by node: a `for` loop receives each step, and may change the gradients that leave it.

    After the last step the state is the same as after `tensor.backward()`. If the loop ends early, the rest of the pass does not run.

    Args:
        tensor: the result to start from.
        gradient: its gradient; 1 for a scalar.
        retain_graph: whether saved tensors are kept for another pass.

    Returns:
        an iterator of `Step`.

    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> for step in torch.inspect.steps((x * x).sum()):
    ...     if step.name == "MulBackward0":
    ...         step.leaving[0] = step.leaving[0] * 10
    ...     print(step)
    <SumBackward0: () float32 1 -> (2,) float32 norm 1.414 to MulBackward0>
    <MulBackward0: (2,) float32 norm 1.414 -> (2,) float32 norm 22.36 to AccumulateGrad, (2,) float32 norm 2.236 to AccumulateGrad, frees other, self>
    <AccumulateGrad: (2,) float32 norm 24.6 -> into .grad>
    >>> x.grad
    tensor([11., 22.])
    """
    _require_tensor("steps", tensor)
    return _stepping(tensor, gradient, retain_graph, True)


def _require_tensor(function: str, tensor: Any) -> None:
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{function}() takes a tensor, not {type(tensor).__name__}")


def _stepping(tensor: Tensor, gradient: Tensor | None, keep: bool, into_grad: bool) -> Iterator[Step]:
    grads = root_grads((tensor,), (gradient,))
    for node, arrived, leaving in engine.stepwise(root_edges((tensor,)), grads, keep, into_grad):
        freed = [] if keep else [name for name, value, _ in saved_by(node) if isinstance(value, Freed)]
        yield Step(node, arrived, leaving, freed)


def replay(tensor: Tensor, params: Any = None, gradient: Tensor | None = None, calls: Any = None) -> Drawing:
    """Show the backward pass of a tensor as an animation: a picture of its graph, with a bar on its page that plays the pass node by node.

    The pass runs once and is recorded. It changes nothing: no `.grad` is written, and the graph is kept.

    Args:
        tensor: the result to start from.
        params: names of tensors, as for `draw`.
        gradient: the gradient of the result; 1 for a scalar.
        calls: from `inspect.record(model)`, as for `draw`.

    Returns:
        a `Drawing` with `frames`; save it as `.html`, or look at it in a notebook.

    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> film = torch.inspect.replay((x * x).sum(), params={"x": x})
    >>> [frame["name"] for frame in film.frames], x.grad
    (['SumBackward0', 'MulBackward0', 'AccumulateGrad'], None)
    """
    _require_tensor("replay", tensor)
    drawing, indices = draw_with_nodes(tensor, params, None, calls)
    for step in _stepping(tensor, gradient, True, False):
        drawing.frames.append(_frame(step, indices))
    name_leaves(drawing)
    return drawing


def name_leaves(drawing: Drawing) -> None:
    """Add the leaves' names to the frames that write their gradients."""
    leaves = {link.source: drawing.boxes[link.target].title for link in drawing.links if link.kind == "variable"}
    for frame in drawing.frames:
        if frame["box"] in leaves:
            frame["leaving"][0]["where"] = f"into {leaves[frame['box']]}.grad"


def _frame(step: Step, indices: dict[int, int]) -> dict[str, Any]:
    """The data of a step that the page shows."""
    names = [_short(child) if child is not None else "None" for child, _ in step.node.next_functions]
    leaf = isinstance(step.node, AccumulateGrad)
    targets = ["into .grad"] if leaf else [f"to {name}" for name in names]
    frees = [name for name, value, _ in saved_by(step.node) if not isinstance(value, Freed)]
    return {
        "name": step.name,
        "box": indices.get(id(step.node), -1),
        "line": str(step.line or "").strip(),
        "arrived": [_described(grad) for grad in step.arrived],
        "leaving": [{**_described(grad), "where": where} for grad, where in zip(step.leaving, targets)],
        "frees": frees,
    }


def _described(grad: Any) -> dict[str, Any]:
    """The size, norm and histogram of a gradient."""
    if grad is None:
        return {"text": "no gradient"}
    array = np.abs(grad._array) if grad._array.dtype.kind == "c" else grad._array
    finite = array[np.isfinite(array)].astype(np.float64)
    if array.size < 2 or not finite.size:
        return {"text": _told(grad)}
    low, high = finite.min(), finite.max()
    bins = ((finite - low) * (_BINS / (high - low or 1.0))).astype(np.intp).clip(max=_BINS - 1)
    counts = np.bincount(bins.ravel(), minlength=_BINS)
    return {"text": _told(grad), "counts": counts.tolist(), "low": f"{low:.3g}", "high": f"{high:.3g}"}
