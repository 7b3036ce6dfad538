"""`draw` turns tensors into a Drawing, which contains only text and positions and no references to the graph."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..autograd.node import Edge
from ..kernels.lazy import lazy_import
from ..tensor import Tensor

_collect = lazy_import(globals(), "_collect", ".collect")
_modules = lazy_import(globals(), "_modules", ".modules")


LARGE = 80  # number of boxes from which a notebook shows the HTML page instead of the picture


class Box:
    """One box of the picture: a tensor or a node of the backward graph.

    `kind` is "leaf" (requires grad), "constant" (a leaf that does not), "tensor" (a result or an intermediate), "node",
    "gone" (a saved tensor that was freed or that a hook packed), or "module" (everything a module created, folded into one box).

    >>> box = torch.inspect.draw(torch.ones(2, requires_grad=True).exp()).boxes[0]
    >>> box.kind, box.title, box.lines
    ('tensor', 'result', ['(2,) float32'])
    """

    __slots__ = (
        "details", "exits", "height", "kind", "layer", "lines", "module", "ports", "row", "title", "width", "x", "y",
    )  # fmt: skip

    def __init__(self, kind: str, title: str, lines: list[str], details: dict[str, str] | None = None) -> None:
        self.kind, self.title, self.lines = kind, title, lines
        self.details: dict[str, str] = details or {}
        self.ports: list[str] = []  # for a node, the entries of `next_functions`: an output index, or "None"
        self.layer = self.exits = 0  # its row, and the number of points where arrows leave it
        self.x = self.y = self.width = self.height = 0.0  # the centre and the size
        self.row = (0.0, 0.0)  # the upper and lower edge of its row
        self.module = ""  # the path of the module that created it, if known

    def copy(self) -> Box:
        """A copy of the box without a position."""
        other = Box(self.kind, self.title, list(self.lines), dict(self.details))
        other.ports, other.exits, other.module = list(self.ports), self.exits, self.module
        return other

    def __repr__(self) -> str:
        return f"<Box {self.kind} {self.title!r}>"


class Link:
    """One arrow: `source` and `target` are box indices. `port` is the index of its exit on a node: entries of
    `next_functions` come first, saved tensors after them.

    `kind` is "next" (an entry of `next_functions`), "grad_fn" (from a tensor to its node), "variable" (from an
    AccumulateGrad to its leaf) or "saved" (from a node to a tensor that it saved).

    >>> torch.inspect.draw(torch.ones(2, requires_grad=True).exp().sum()).links[1]
    <Link 2 -> 3 next '0'>
    """

    __slots__ = ("join", "kind", "label", "port", "source", "target")

    def __init__(self, source: int, target: int, kind: str, label: str = "", port: int = -1) -> None:
        self.source, self.target, self.kind, self.label, self.port = source, target, kind, label, port
        self.join: tuple[float, float] | None = None  # the point where it joins the trunk to its target

    def __repr__(self) -> str:
        return f"<Link {self.source} -> {self.target} {self.kind} {self.label!r}>"


class Drawing:
    """A picture of a backward graph. A notebook displays it; `save` writes SVG, HTML, DOT, PNG or PDF.

    >>> drawing = torch.inspect.draw(torch.ones(2, requires_grad=True).exp().sum(), saved=False)
    >>> [box.title for box in drawing.boxes]
    ['result', 'SumBackward0', 'ExpBackward0', 'AccumulateGrad', 'leaf']
    """

    def __init__(
        self, boxes: list[Box], links: list[Link], unreached: list[str], types: dict[str, str], interrupted: set[str]
    ) -> None:
        self.boxes, self.links, self.unreached = boxes, links, unreached
        self.frames: list[dict[str, Any]] = []  # the frames of an animation: see `replay`
        self.types = types  # the class names of modules, by path
        self.interrupted = interrupted  # modules that are not folded: see Note [Whose node is it] in modules.py
        self._laid_out: Any = None

    def layout(self) -> Any:
        """The positions of the boxes and arrows, computed on first use.

        >>> torch.inspect.draw(torch.ones(2)).layout().height
        44.0
        """
        if self._laid_out is None:
            from .layout import lay_out

            self._laid_out = lay_out(self.boxes, self.links)
        return self._laid_out

    def fold(self, depth: int = 1) -> Drawing:
        """Return a picture in which each module at this depth of the module tree is one box.

        Shallower modules without submodules become one box too.

        >>> model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
        >>> drawing = torch.inspect.draw(model(torch.ones(2, 4)).sum(), params=model, saved=False)
        >>> [box.title for box in drawing.fold().boxes]
        ['result', 'SumBackward0', '2', 'TanhBackward0', '0']
        """
        if not isinstance(depth, int) or depth < 1:
            raise ValueError(f"fold() takes a depth of at least 1, not {depth!r}")
        return _modules.fold(self, depth)

    def svg(self) -> str:
        """The picture as an SVG document.

        >>> torch.inspect.draw(torch.ones(2)).svg()[:4]
        '<svg'
        """
        from .svg import to_svg

        return to_svg(self)

    def html(self) -> str:
        """One self-contained page: zoom with the wheel, pan by dragging, search, fold modules, click a box for its details.

        >>> len(torch.inspect.draw(torch.ones(2)).html()) > 1000
        True
        """
        from .html import to_html

        return to_html(self)

    def dot(self) -> str:
        """The graph in Graphviz's language.

        >>> torch.inspect.draw(torch.ones(2)).dot().splitlines()[0]
        'digraph backward {'
        """
        from .dot import to_dot

        return to_dot(self)

    def _repr_svg_(self) -> str:
        return self.svg()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """What a notebook displays: the picture, or for a large graph the HTML page in a frame."""
        bundle = {"text/plain": repr(self), "image/svg+xml": self.svg()}
        if len(self.boxes) > LARGE or self.frames:
            page = self.html().replace("&", "&amp;").replace('"', "&quot;")
            style = "width:100%;height:600px;border:1px solid #ccc"
            bundle["text/html"] = f'<iframe srcdoc="{page}" style="{style}"></iframe>'
        return bundle

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a file. The suffix selects the format: .svg, .html, .dot, .png or .pdf.

        >>> import penlight as torch, tempfile, os
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     torch.inspect.draw(torch.ones(1)).save(os.path.join(folder, "graph.svg"))
        ...     os.listdir(folder)
        ['graph.svg']
        """
        ending = os.path.splitext(os.fspath(path))[1].lower()
        writers: dict[str, Any] = {
            ".svg": self.svg,
            ".html": self.html,
            ".htm": self.html,
            ".dot": self.dot,
            ".gv": self.dot,
            ".png": self.png,
            ".pdf": self.pdf,
        }
        if ending not in writers:
            raise ValueError(
                f"can't tell the format of {os.fspath(path)!r}: the name must end in .svg, .html, .dot, .png or .pdf"
            )
        content = writers[ending]()
        with open(path, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)

    def png(self) -> bytes:
        """The picture as a PNG file.

        >>> torch.inspect.draw(torch.ones(2)).png()[1:4]
        b'PNG'
        """
        from .png import to_png

        return to_png(self)

    def pdf(self) -> bytes:
        """The picture as a PDF file with vector graphics: one page of the picture's size.

        >>> torch.inspect.draw(torch.ones(2)).pdf()[:4]
        b'%PDF'
        """
        from .pdf import to_pdf

        return to_pdf(self)

    def __repr__(self) -> str:
        return f"<Drawing of {_count(len(self.boxes), 'box', 'boxes')} and {_count(len(self.links), 'edge', 'edges')}>"


def _count(n: int, one: str, many: str) -> str:
    return f"{n} {one if n == 1 else many}"


def draw(tensors: Any, params: Any = None, saved: bool | None = None, calls: Any = None) -> Drawing:
    """Draw the backward graph of one or more tensors. Drawing does not change the graph.

    Leaves that require grad are green, leaves that don't yellow, the result and intermediates brown, nodes blue. A node's
    arrows are its `next_functions`, labelled with the output indices. Dashed arrows lead to the tensors that it saved, unless
    `saved=False` (with `saved=True`, also to a note where a backward pass has freed them). After a backward pass the tensors show
    their gradients: the value of a scalar, the norm of any other tensor. `params` names tensors: a dict, pairs such as
    `model.named_parameters()`, or a module. The dotted names assign the boxes to modules, for folding; pass `calls` from
    `inspect.record(model)` to make the assignment exact.

    >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> loss = (w * torch.tensor([3.0, 4.0])).sum()
    >>> loss.backward()
    >>> drawing = torch.inspect.draw(loss, params={"w": w})
    >>> drawing.boxes[-1].title, drawing.boxes[-1].lines
    ('w', ['(2,) float32', 'grad norm 5'])
    """
    return draw_with_nodes(tensors, params, saved, calls)[0]


def draw_with_nodes(tensors: Any, params: Any, saved: bool | None, calls: Any) -> tuple[Drawing, dict[int, int]]:
    """The result of `draw`, and the box indices of the nodes by the nodes' ids."""
    roots = [tensors] if isinstance(tensors, Tensor) else tensors
    if not isinstance(roots, (tuple, list)) or not roots or not all(isinstance(t, Tensor) for t in roots):
        raise TypeError(f"draw() takes a tensor or a tuple of tensors, not {_describe(tensors)}")
    if calls is not None and not isinstance(calls, _modules.record):
        raise TypeError(
            f"draw(): calls must come from `with penlight.inspect.record(model) as calls`, not {_describe(calls)}"
        )
    collector = _collect.Collector(_names(params), saved, calls)
    collector.collect(list(roots))
    drawing = _drawn(collector, params if calls is None else calls.model)
    return drawing, {key: index for key, index in collector.found.items() if isinstance(key, int)}


def draw_edges(edges: Sequence[Edge], params: Any) -> Drawing:
    """Draw the graph that starts at these edges."""
    collector = _collect.Collector(_names(params), None, None)
    collector.collect([], [node for node, _ in edges if node is not None])
    return _drawn(collector, params)


def _drawn(collector: Any, model: Any) -> Drawing:
    """The Drawing of a collector's boxes and arrows, with the modules' class names if `model` is a module."""
    classes = (
        {path: type(one).__name__ for path, one in model.named_modules()} if hasattr(model, "named_modules") else {}
    )
    called = {path: re.sub(r":\d+", "", path) for path in _modules.paths_of(collector.boxes, set())}
    types = {path: classes[module] for path, module in called.items() if module in classes}
    return Drawing(collector.boxes, collector.links, collector.unreached(), types, collector.interrupted)


def _describe(value: Any) -> str:
    if isinstance(value, (tuple, list)):
        strangers = {type(v).__name__ for v in value if not isinstance(v, Tensor)}
        return (
            f"a {type(value).__name__} with {', '.join(sorted(strangers))}"
            if strangers
            else f"an empty {type(value).__name__}"
        )
    return type(value).__name__


def _names(params: Any) -> list[tuple[str, Tensor]]:
    if params is None:
        return []
    if hasattr(params, "named_parameters"):
        params = params.named_parameters()
    if isinstance(params, Mapping):
        params = params.items()
    message = "params must be a dict of tensors by name, pairs (name, tensor), or a module"
    if isinstance(params, str):
        raise TypeError(f"{message}, not str. To write what is returned to a file: .save({params!r})")
    if not isinstance(params, Iterable):
        raise TypeError(f"{message}, not {type(params).__name__}")
    pairs = []
    for pair in params:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not isinstance(pair[1], (Tensor, type(None))):
            raise TypeError(
                f"{message}; got {_describe(pair[1]) if isinstance(pair, tuple) and len(pair) == 2 else _describe(pair)}"
            )
        if pair[1] is not None:
            pairs.append((str(pair[0]), pair[1]))
    return pairs
