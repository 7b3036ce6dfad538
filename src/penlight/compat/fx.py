"""torch.fx, which is refused when it is used. Penlight does not turn programs into graphs ahead of time."""

from __future__ import annotations

from penlight._refused import refuse

__getattr__ = refuse(
    __name__,
    "Penlight does not turn programs into graphs ahead of time.",
    "Call the module itself; the graph of its backward is at output.grad_fn.",
)


def wrap(fn_or_name: object) -> object:
    """What it was given: nothing is traced that could be wrapped."""
    return fn_or_name
