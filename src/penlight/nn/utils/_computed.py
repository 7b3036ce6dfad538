"""A tensor of a module that is computed before each forward: what weight norm, spectral norm and pruning share.

The hook of each of them holds the name of the tensor that it computes from others.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penlight.nn.parameter import is_lazy


def hooks_for(
    module: Any, kind: type[Any], name: str, *, named_by: str = "name", table: str = "_forward_pre_hooks"
) -> Iterator[tuple[int, Any]]:
    """The hooks of a kind in one table of a module that are for the tensor of that name, with their ids."""
    for key, entry in getattr(module, table).items():
        hook = getattr(entry, "hook", entry)
        if isinstance(hook, kind) and getattr(getattr(hook, "fn", hook), named_by) == name:
            yield key, hook


def check_target(module: Any, kind: type[Any], name: str, weight: Any, words: str) -> None:
    """Refuses a tensor that has such a hook already or has no shape yet; `words` say what the hook does."""
    function = words.replace("normalization", "norm").replace(" ", "_")
    if any(hooks_for(module, kind, name)):
        raise RuntimeError(f"Cannot register two {function} hooks on the same parameter {name}")
    if is_lazy(weight):
        raise ValueError(
            f"The module passed to `{kind.__name__}` can't have uninitialized parameters. Make sure to run the dummy "
            f"forward before applying {words}"
        )


def remove_computed(module: Any, kind: type[Any], name: str, function: str) -> Any:
    """Makes a computed tensor a plain one again and takes its hook away."""
    found = next(hooks_for(module, kind, name), None)
    if found is None:
        raise ValueError(f"{function} of '{name}' not found in {module}")
    key, hook = found
    hook.remove(module)
    del module._forward_pre_hooks[key]
    return module
