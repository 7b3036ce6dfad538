"""Helpers shared by layers: one int for several dimensions, and prefixes in state dicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from penlight._common.arguments import explain as _explain
from penlight._common.docstrings import example

__all__ = ["consume_prefix_in_state_dict_if_present"]


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    def parse(x: Any) -> tuple[Any, ...]:
        return tuple(x) if isinstance(x, Iterable) else (x,) * n

    parse.__name__ = name
    return parse


_single, _pair, _triple, _quadruple = map(_ntuple, (1, 2, 3, 4), ("_single", "_pair", "_triple", "_quadruple"))


@example("_reverse_repeat_tuple((1, 2), 2)", "(2, 2, 1, 1)")
def _reverse_repeat_tuple(t: Iterable[Any], n: int) -> tuple[Any, ...]:
    """(a, b) with n=2 gives (b, b, a, a): padding in the form of `F.pad`, last dimension first."""
    return tuple(item for item in reversed(tuple(t)) for _ in range(n))


@example("_list_with_default([None, 7], [3, 8, 9])", "[8, 7]")
def _list_with_default(out_size: Any, defaults: list[int]) -> Any:
    """The requested sizes, with each None replaced by the input's size."""
    if isinstance(out_size, int):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    tail = defaults[-len(out_size) :]
    return [default if size is None else size for size, default in zip(out_size, tail, strict=True)]


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Removes `prefix` from the keys that have it, in place, in the dict and in its `_metadata`.

    >>> from penlight.nn.modules.utils import consume_prefix_in_state_dict_if_present
    >>> state = {"module.weight": 1, "step": 2}
    >>> consume_prefix_in_state_dict_if_present(state, "module.")
    >>> sorted(state)
    ['step', 'weight']
    """
    for key in [key for key in state_dict if key.startswith(prefix)]:
        state_dict[key[len(prefix) :]] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", None)
    if metadata is None:
        return
    bare = prefix.replace(".", "")
    for key in [key for key in metadata if key and (key == bare or key.startswith(prefix))]:
        metadata[key[len(prefix) :]] = metadata.pop(key)


_explain(globals())
