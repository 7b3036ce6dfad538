"""In-place forms of views: `squeeze_`, `transpose_` and kin."""

from __future__ import annotations

from typing import Any

from ..._common.docstrings import documented
from ...autograd import views
from ...autograd.modes import is_grad_enabled
from ...tensor import Tensor
from .arguments import with_pytorch_names
from .in_place import refuse_inference


def in_place_view(function: Any, node_names: dict[str, str]) -> Any:
    """`unsqueeze_` and the like: the tensor itself takes the view's shape. Its base, if it is a view, keeps its history."""
    name = function.__name__

    def apply(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        views.check_inplace(input, input.requires_grad)
        refuse_inference(input)
        if name == "t" and input.dim() > 2:
            raise RuntimeError(f"t_() expects a tensor with <= 2 dimensions, but self is {input.dim()}D")
        changed = function(input, *args, **with_pytorch_names(kwargs))
        edge, array = changed._edge, changed._array
        tangents = None if changed._rare_state is None else changed._rare_state.tangents
        node = edge[0]
        del changed
        if node is not None and is_grad_enabled():
            views.move_retain(input, node)
        input._array = array
        views.bump(input)
        if node is not None and is_grad_enabled():
            node.__class__ = in_place_class(node, node_names[type(node).__name__])
            input._edge = edge
        for level, tangent in (tangents or {}).items():
            level.attach(input, tangent)
        return input

    apply.__name__ = apply.__qualname__ = name + "_"
    given, sizes = {
        "squeeze": ("", "[2]"), "unsqueeze": ("0", "[1, 1, 2]"), "t": ("", "[2, 1]"),
    }.get(name, ("0, 1", "[2, 1]"))  # fmt: skip
    apply.__doc__ = documented(
        f"In-place version of `{name}`: this tensor itself takes the new shape.",
        f">>> torch.zeros(1, 2).{name}_({given}).shape", f"torch.Size({sizes})",
    )  # fmt: skip
    return apply


_in_place_classes: dict[str, Any] = {}


def in_place_class(node: Any, name: str) -> Any:
    """The node's class under the name that PyTorch has for the in-place form."""
    if name not in _in_place_classes:
        _in_place_classes[name] = type(name, (type(node),), {"__slots__": (), "__module__": "torch.autograd.graph"})
    return _in_place_classes[name]
