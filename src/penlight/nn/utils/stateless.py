"""Calling a module with other parameters: its tensors and modules are read and replaced by their dotted names."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

from penlight import Tensor
from penlight._common.arguments import explain as _explain
from penlight._common.module_table import make_modules
from penlight._common.user_warnings import warn_user
from penlight.nn.modules.module import Module
from penlight.nn.parallel import DataParallel

__all__ = ["functional_call"]


def functional_call(module: Any, parameters_and_buffers: dict[str, Tensor], args: Any = None,
                    kwargs: dict[str, Any] | None = None, *, tie_weights: bool = True,
                    strict: bool = False) -> Any:  # fmt: skip
    """Deprecated: the same as `penlight.func.functional_call`.

    Args:
        module: the module
        parameters_and_buffers: the tensors to use, by name
        args, kwargs: the arguments of the call
        tie_weights: use a tensor under all names that its parameter has
        strict: refuse names that the module lacks

    >>> module = torch.nn.Linear(1, 1, bias=False)
    >>> torch.nn.utils.stateless.functional_call(module, {"weight": torch.tensor([[3.0]])}, torch.tensor([2.0]))
    tensor([6.])
    """
    warn_user(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a future "
        "version of PyTorch. Please use `torch.func.functional_call` instead which is a drop-in replacement.",
        FutureWarning,
    )
    return _functional_call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)


def _functional_call(module: Any, parameters_and_buffers: dict[str, Tensor], args: Any = None,
                     kwargs: dict[str, Any] | None = None, *, tie_weights: bool = True,
                     strict: bool = False) -> Any:  # fmt: skip
    """The module's result for these arguments with the given tensors in place of its own.

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
    """The given tensors, also under the other names of tensors that the module has under several names."""
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
    """The module with other tensors inside the block; tensors assigned in the block are stored in the given dict."""
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


# ----- Members by their names ----------------------------------------------------------------------------------------


_MISSING: Any = object()


def _check(module: Any, name: str, tensor: Any = _MISSING) -> None:
    """Refuse a wrong module, an invalid name or a non-tensor. `_MISSING` represents an absent value."""
    if not isinstance(module, Module):
        raise TypeError(f"{module} is not an instance of torch.nn.Module")
    if not (tensor is _MISSING or tensor is None or isinstance(tensor, Tensor)):
        raise TypeError(f"{tensor} is not an instance of torch.Tensor")
    if not name or "." in name:
        raise KeyError("tensor name can't " + ('contain "."' if name else 'be empty string ""'))


def set_tensor(module: Module, name: str, tensor: Any) -> None:
    """Replace a parameter, a buffer or an attribute of a module by a tensor."""
    _check(module, name, tensor)
    if name in module._parameters:
        module._parameters[name] = tensor
    elif name in module._buffers:
        module._buffers[name] = tensor
    else:
        setattr(module, name, tensor)


def swap_tensor(module: Module, name: str, tensor: Any, allow_missing: bool = False) -> Any:
    """Replace a tensor by another, and return the old one. `_MISSING` instead of a tensor deletes it."""
    _check(module, name, tensor)
    for table in (module._parameters, module._buffers):
        if name in table:
            before = table[name]
            if tensor is _MISSING:
                del table[name]
            else:
                table[name] = tensor
            return before
    before = getattr(module, name, _MISSING)
    if before is _MISSING:
        if not allow_missing:
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    elif not isinstance(before, Tensor):
        raise TypeError(f"attribute `{name}`: {before} is not an instance of torch.Tensor")
    if tensor is not _MISSING:
        setattr(module, name, tensor)
    elif before is not _MISSING:
        delattr(module, name)
    return before


def swap_submodule(module: Module, name: str, submodule: Module) -> Any:
    """Replace a module by another, and return the old one."""
    if not isinstance(submodule, Module):
        raise TypeError(f"{submodule} is not an instance of torch.nn.Module")
    _check(module, name)
    if name not in module._modules:
        raise KeyError(f"submodule {name} does not exist")
    before, module._modules[name] = module._modules[name], submodule
    return before


class NamedMemberAccessor:
    """Access to the members of a module, at any depth, by dotted name.

    >>> from penlight.nn.utils._named_member_accessor import NamedMemberAccessor
    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 1))
    >>> old = NamedMemberAccessor(model).swap_tensor("0.bias", torch.zeros(1))
    >>> model[0].bias
    tensor([0.])
    """

    def __init__(self, module: Module) -> None:
        self.module = module

    def get_submodule(self, name: str) -> Any:
        """The module of that name; the module itself for the empty name."""
        found: Any = self.module
        for part in name.split(".") if name else ():
            if part not in found._modules:
                raise AttributeError(f"{found._get_name()} has no attribute `{part}`")
            found = found._modules[part]
            if not isinstance(found, Module):
                raise TypeError(f"submodule `{name}`: {found} is not an instance of torch.nn.Module")
        return found

    def _split(self, name: str) -> tuple[Any, str]:
        """The module that owns a tensor, and the tensor's name in it."""
        above, _, own = name.rpartition(".")
        return self.get_submodule(above), own

    def swap_submodule(self, path: str, value: Module) -> Any:
        """Replace a module by another, and return the old one."""
        module, own = self._split(path)
        return swap_submodule(module, own, value)

    def get_tensor(self, name: str) -> Any:
        """The tensor of that name."""
        module, own = self._split(name)
        tensor = getattr(module, own, _MISSING)
        if tensor is _MISSING:
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        if not isinstance(tensor, Tensor) and tensor is not None:
            raise TypeError(f"{tensor} is not an instance of torch.Tensor")
        return tensor

    def set_tensor(self, name: str, value: Any) -> None:
        """Set the tensor of that name."""
        module, own = self._split(name)
        set_tensor(module, own, value)

    def del_tensor(self, name: str) -> None:
        """Delete the tensor of that name."""
        module, own = self._split(name)
        swap_tensor(module, own, _MISSING)

    def swap_tensor(self, name: str, value: Any, allow_missing: bool = False) -> Any:
        """Replace a tensor by another, and return the old one."""
        module, own = self._split(name)
        return swap_tensor(module, own, value, allow_missing)

    def get_tensors(self, names: Iterable[str]) -> list[Any]:
        """The tensors of these names."""
        return [self.get_tensor(name) for name in names]

    def set_tensors(self, names: Iterable[str], values: Iterable[Any]) -> None:
        """Set the tensor of each name."""
        self.set_tensors_dict(_paired(names, values))

    def set_tensors_dict(self, named_tensors: dict[str, Any]) -> None:
        """Set the tensor of each name."""
        for name, value in named_tensors.items():
            self.set_tensor(name, value)

    def del_tensors(self, names: Iterable[str]) -> None:
        """Delete the tensors of these names."""
        for name in names:
            self.del_tensor(name)

    def swap_tensors(self, names: Iterable[str], values: Iterable[Any], allow_missing: bool = False) -> list[Any]:
        """Set the tensor of each name; returns the old tensors."""
        return [self.swap_tensor(name, v, allow_missing) for name, v in _paired(names, values).items()]

    def swap_tensors_dict(
        self, named_tensors: dict[str, Any], allow_missing: bool = False
    ) -> tuple[dict[str, Any], list[str]]:
        """Set the tensor of each name; returns the old tensors, and the names that had none. An error undoes the earlier swaps."""
        before: dict[str, Any] = {}
        absent = []
        try:
            for name, tensor in named_tensors.items():
                before[name] = self.swap_tensor(name, tensor, allow_missing=True)
                if before[name] is _MISSING:
                    absent.append(name)
            if absent and not allow_missing:
                raise RuntimeError(f"Missing key(s): {', '.join(map(repr, absent))}.")
        except Exception as error:
            for name, tensor in before.items():
                self.swap_tensor(name, tensor, allow_missing=True)
            if absent and not allow_missing:
                raise RuntimeError(f"Missing key(s): {', '.join(map(repr, absent))}.") from error
            raise
        return before, absent

    def check_keys(self, keys: Iterable[str]) -> tuple[list[str], list[str]]:
        """The names of tensors missing from these, and those of these that name no tensor."""
        given, own = set(keys), {name for name, _ in self.named_tensors(remove_duplicate=False)}
        return sorted(own - given), sorted(given - own)

    def named_parameters(self, remove_duplicate: bool = True) -> Iterable[tuple[str, Any]]:
        """The parameters with their names."""
        yield from self.module.named_parameters(remove_duplicate=remove_duplicate)

    def named_buffers(self, remove_duplicate: bool = True) -> Iterable[tuple[str, Any]]:
        """The buffers with their names."""
        yield from self.module.named_buffers(remove_duplicate=remove_duplicate)

    def named_tensors(self, remove_duplicate: bool = True) -> Iterable[tuple[str, Any]]:
        """The parameters and buffers with their names."""
        yield from self.named_parameters(remove_duplicate)
        yield from self.named_buffers(remove_duplicate)

    def named_modules(self, remove_duplicate: bool = True) -> Iterable[tuple[str, Module]]:
        """The modules with their names."""
        yield from self.module.named_modules(remove_duplicate=remove_duplicate)


def _paired(names: Iterable[str], values: Iterable[Any]) -> dict[str, Any]:
    """Values by name."""
    names, values = list(names), list(values)
    if len(names) != len(values):
        raise ValueError("names and values must have the same length")
    return dict(zip(names, values))


make_modules(__name__)


_explain(globals())
