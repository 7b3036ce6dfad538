"""Calling a module with other parameters than its own."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

from penlight import Tensor
from penlight.nn.parallel import DataParallel

from ._named_member_accessor import NamedMemberAccessor

__all__ = ["functional_call"]


def functional_call(module: Any, parameters_and_buffers: dict[str, Tensor], args: Any = None,
                    kwargs: dict[str, Any] | None = None, *, tie_weights: bool = True,
                    strict: bool = False) -> Any:  # fmt: skip
    """Deprecated: `penlight.func.functional_call` is the same."""
    warnings.warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a future "
        "version of PyTorch. Please use `torch.func.functional_call` instead which is a drop-in replacement.",
        FutureWarning,
        stacklevel=2,
    )
    return _functional_call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)


def _functional_call(module: Any, parameters_and_buffers: dict[str, Tensor], args: Any = None,
                     kwargs: dict[str, Any] | None = None, *, tie_weights: bool = True,
                     strict: bool = False) -> Any:  # fmt: skip
    """The module's result for these arguments with the given tensors in the places of its own.

    >>> m = torch.nn.Linear(1, 1, bias=False)
    >>> _functional_call(m, {"weight": torch.tensor([[3.0]])}, torch.tensor([2.0]))
    tensor([6.])
    """
    if isinstance(module, DataParallel):
        raise RuntimeError("The stateless API can't be used with nn.DataParallel module")
    arguments = () if args is None else args if isinstance(args, tuple) else (args,)
    with _reparametrize_module(module, parameters_and_buffers, tie_weights=tie_weights, strict=strict):
        return module(*arguments, **(kwargs or {}))


def _untie_named_tensors_map(module: Any, given: dict[str, Tensor]) -> dict[str, Tensor]:
    """The given tensors, also under the other names of those that the module has under several."""
    names_of: dict[int, list[str]] = {}
    for name, tensor in NamedMemberAccessor(module).named_tensors(remove_duplicate=False):
        names_of.setdefault(id(tensor), []).append(name)
    result = dict(given)
    for names in names_of.values():
        here = [name for name in names if name in given]
        if not here or len(names) == 1:
            continue
        if len({id(given[name]) for name in here}) > 1:
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(names)}, which are tied. "
                "Consider using tie_weights=False"
            )
        for name in names:
            result[name] = given[here[0]]
    return result


@contextlib.contextmanager
def _reparametrize_module(module: Any, parameters_and_buffers: dict[str, Tensor], tie_weights: bool = False,
                          strict: bool = False, stack_weights: bool = False) -> Iterator[None]:  # fmt: skip
    """The module with other tensors while the block runs; what the block assigned goes back into the given dict."""
    tensors = _untie_named_tensors_map(module, parameters_and_buffers) if tie_weights else parameters_and_buffers
    members = NamedMemberAccessor(module)
    if strict:
        kinds = zip(("Unexpected", "Missing"), reversed(members.check_keys(tensors)), strict=True)
        problems = [f"{kind} key(s): {', '.join(map(repr, names))}." for kind, names in kinds if names]
        if problems:
            shown = "\n\t".join(problems)
            raise RuntimeError(f"Error(s) in reparametrizing for {module._get_name()}:\n\t{shown}")
    originals: dict[str, Any] = {}
    try:
        for name, tensor in tensors.items():
            originals[name] = members.swap_tensor(name, tensor, allow_missing=True)
        yield
    finally:
        restored = [(name, originals[name]) for name in reversed(originals)]
        assigned = {name: members.swap_tensor(name, tensor, allow_missing=True) for name, tensor in restored}
        for name in parameters_and_buffers:
            if name in assigned:
                parameters_and_buffers[name] = assigned[name]
