"""Saving the state of a module as a flat dict, and loading it."""

from __future__ import annotations

import sys
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import penlight
from penlight import Tensor
from penlight._common.docstrings import example
from penlight._common.user_warnings import warn_user
from penlight.autograd.node import RemovableHandle
from penlight.nn.parameter import Parameter, is_lazy

from ._calling import _WrappedHook
from ._hooks import add_hook
from ._registry import Tables

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


def swaps_tensors() -> bool:
    """Whether `torch.__future__` was set to swap tensors instead of writing into them."""
    future = sys.modules.get("penlight.__future__")
    return future is not None and future.get_swap_module_params_on_conversion()


class StateDict(Tables):
    """The part of `Module` that implements `state_dict` and `load_state_dict`."""

    _version: int = 1
    T_destination = TypeVar("T_destination", bound=dict[str, Any])

    # Out

    @example("list(torch.nn.Sequential(torch.nn.Linear(2, 1)).state_dict())", "['0.weight', '0.bias']")
    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """All parameters and persistent buffers by dotted name, sharing memory with the module.

        The tensors are detached unless `keep_vars`. The dict's attribute `_metadata` has a version for each module, from which
        `load_state_dict` recognises old layouts.
        """
        if args:
            warn_user(
                "Positional args are being deprecated, use kwargs instead. Refer to "
                "https://pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module.state_dict for details.",
                FutureWarning,
            )
            destination = args[0] if destination is None else destination
            prefix = args[1] if len(args) > 1 and prefix == "" else prefix
            keep_vars = args[2] if len(args) > 2 and keep_vars is False else keep_vars
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        own_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = own_metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, child in self._modules.items():
            if child is not None:
                child.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        return self._run_state_dict_hooks(destination, prefix, own_metadata)

    def _run_state_dict_hooks(self, destination: Any, prefix: str, own_metadata: dict[str, Any]) -> Any:
        for hook in self._state_dict_hooks.values():
            replaced = hook(self, destination, prefix, own_metadata)
            if replaced is None:
                continue
            if getattr(hook, "_from_public_api", False):
                raise RuntimeError("state_dict post-hook must return None")
            destination = replaced
        return destination

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Writes the module's own entries, without its children's; subclasses may override this."""
        for name, value in self._own_state().items():
            destination[prefix + name] = value if keep_vars else value.detach()
        if _overrides(self, "get_extra_state"):
            destination[prefix + _EXTRA_STATE_KEY_SUFFIX] = self.get_extra_state()

    def _own_state(self) -> dict[str, Tensor]:
        """The parameters and persistent buffers of this module alone, without those that are None."""
        state: dict[str, Tensor] = {name: value for name, value in self._parameters.items() if value is not None}
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers_set:
                state[name] = buffer
        return state

    def get_extra_state(self) -> Any:
        """Override this together with `set_extra_state` to add your own data to the state dict.

        >>> class Counter(torch.nn.Module):
        ...     count = 0
        ...     def get_extra_state(self):
        ...         return self.count
        ...     def set_extra_state(self, state):
        ...         self.count = state
        >>> dict(Counter().state_dict())
        {'_extra_state': 0}
        """
        raise RuntimeError(_UNREACHABLE.format("get_extra_state"))

    def set_extra_state(self, state: Any) -> None:
        """Override this to receive the data that `get_extra_state` returned.

        >>> class Counter(torch.nn.Module):
        ...     count = 0
        ...     def get_extra_state(self):
        ...         return self.count
        ...     def set_extra_state(self, state):
        ...         self.count = state
        >>> counter = Counter()
        >>> result = counter.load_state_dict({"_extra_state": 3})
        >>> counter.count
        3
        """
        raise RuntimeError(_UNREACHABLE.format("set_extra_state"))

    # In

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copies a state dict into the parameters and buffers.

        With `strict` (the default) the keys must match exactly. With `assign` the tensors of the dict replace the module's own instead of
        being copied into them. Returns the missing and unexpected keys.

        >>> a, b = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
        >>> b.load_state_dict(a.state_dict())
        <All keys matched successfully>
        >>> bool((a.weight == b.weight).all())
        True
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        metadata = getattr(state_dict, "_metadata", None)
        state: Any = OrderedDict(state_dict)  # a copy, because modules may change it while loading
        if metadata is not None:
            state._metadata = metadata
        report = _LoadReport(metadata, assign)
        report.load(self, state, "")
        errors = report.errors
        if strict:
            for kind, keys in (("Unexpected", report.unexpected), ("Missing", report.missing)):
                if keys:
                    quoted = ", ".join(f'"{key}"' for key in keys)
                    errors.insert(0, f"{kind} key(s) in state_dict: {quoted}. ")
        if errors:
            raise RuntimeError(
                "Error(s) in loading state_dict for {}:\n\t{}".format(type(self).__name__, "\n\t".join(errors))
            )
        return _IncompatibleKeys(report.missing, report.unexpected)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: dict[str, Any], strict: bool,
                              missing_keys: list[str], unexpected_keys: list[str],
                              error_msgs: list[str]) -> None:  # fmt: skip
        """Loads the module's own entries, without its children's; subclasses may override this."""
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        own = self._own_state()
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, current in own.items():
            key = prefix + name
            if key in state_dict:
                problem = self._load_tensor(key, name, current, state_dict[key], assign)
                if problem is not None:
                    error_msgs.append(problem)
            elif strict:
                missing_keys.append(key)
        extra_key = prefix + _EXTRA_STATE_KEY_SUFFIX
        takes_extra = _overrides(self, "set_extra_state")
        if takes_extra and extra_key in state_dict:
            self.set_extra_state(state_dict[extra_key])
        elif takes_extra and strict:
            missing_keys.append(extra_key)
        elif strict and extra_key in state_dict:
            unexpected_keys.append(extra_key)
        if strict:
            self._note_unexpected(state_dict, prefix, own, extra_key, unexpected_keys)

    def _note_unexpected(
        self, state_dict: Any, prefix: str, own: dict[str, Tensor], extra_key: str, unexpected_keys: list[str]
    ) -> None:
        for key in state_dict:
            if key.startswith(prefix) and key != extra_key:
                head, dot, _ = key[len(prefix) :].partition(".")
                if head not in (self._modules if dot else own):
                    unexpected_keys.append(key)

    def _load_tensor(self, key: str, name: str, current: Tensor, loaded: Any, assign: bool) -> str | None:
        """Loads one tensor, or records the error."""
        if not (isinstance(loaded, Tensor) or hasattr(type(loaded), "__torch_function__")):
            return (
                f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from '
                f"checkpoint but received {type(loaded)}"
            )
        if not is_lazy(current):
            if current.dim() == 0 and tuple(loaded.shape) == (1,):
                loaded = loaded[0]  # scalars were once saved as one-element vectors
            if loaded.shape != current.shape:
                return (
                    f"size mismatch for {key}: copying a param with shape {loaded.shape} from checkpoint, "
                    f"the shape in current model is {current.shape}."
                )
        if current.is_meta and not loaded.is_meta and not assign:
            warn_user(
                f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the current "
                "model, which is a no-op. (Did you mean to pass `assign=True` to assign items in the state "
                "dictionary to their corresponding key in the module instead of copying them in place?)",
            )
        try:
            with penlight.no_grad():
                if swaps_tensors():
                    _swap_in(current, loaded, assign)
                elif assign:
                    setattr(self, name, _as_same_kind(loaded, current))
                else:
                    current.copy_(loaded)
        except Exception as error:
            action = "swapping" if swaps_tensors() else "copying"
            return (
                f'While {action} the parameter named "{key}", whose dimensions in the model are {current.size()} and '
                f"whose dimensions in the checkpoint are {loaded.size()}, an exception occurred : {error.args}."
            )
        return None

    # Hooks

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls `hook(module, prefix, keep_vars)` before the state is collected.

        >>> layer = torch.nn.Linear(1, 1)
        >>> handle = layer.register_state_dict_pre_hook(lambda module, prefix, keep_vars: print("collecting"))
        >>> state = layer.state_dict()
        collecting
        """
        return add_hook(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Any) -> RemovableHandle:
        """Calls `hook(module, state_dict, prefix, local_metadata)` after the state was collected; it may change the dict in place.

        >>> m = torch.nn.Linear(1, 1)
        >>> def drop_bias(module, state_dict, prefix, local_metadata):
        ...     del state_dict[prefix + "bias"]
        >>> handle = m.register_state_dict_post_hook(drop_bias)
        >>> list(m.state_dict())
        ['weight']
        """
        hook._from_public_api = True
        return add_hook(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously registered "
                "via register_state_dict_post_hook"
            )
        return add_hook(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls `hook(module, state_dict, prefix, local_metadata, strict, missing, unexpected, errors)` before loading.

        >>> m = torch.nn.Linear(1, 1)
        >>> def rename(module, state_dict, prefix, *rest):
        ...     state_dict[prefix + "weight"] = state_dict.pop(prefix + "w")
        >>> handle = m.register_load_state_dict_pre_hook(rename)
        >>> m.load_state_dict({"w": torch.zeros(1, 1), "bias": torch.zeros(1)})
        <All keys matched successfully>
        """
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], with_module: bool = False
    ) -> RemovableHandle:
        return add_hook(self._load_state_dict_pre_hooks, _WrappedHook(hook, self if with_module else None))

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls `hook(module, incompatible_keys)` after loading; it may change the lists of keys in place.

        >>> m = torch.nn.Linear(1, 1)
        >>> handle = m.register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.clear())
        >>> m.load_state_dict({})
        <All keys matched successfully>
        """
        return add_hook(self._load_state_dict_post_hooks, hook)


_UNREACHABLE = (
    "Reached a code path in Module.{}() that should never be called. Please file an issue at "
    "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml to report this bug."
)


def _overrides(module: StateDict, method: str) -> bool:
    return getattr(type(module), method) is not getattr(StateDict, method)


class _LoadReport:
    """One `load_state_dict`: the traversal of the modules and the errors found."""

    def __init__(self, metadata: Any, assign: bool) -> None:
        self.metadata = metadata
        self.assign = assign
        self.missing: list[str] = []
        self.unexpected: list[str] = []
        self.errors: list[str] = []

    def load(self, module: Any, state: Any, prefix: str) -> None:
        own_metadata = {} if self.metadata is None else dict(self.metadata.get(prefix[:-1], {}))
        if self.assign:
            own_metadata["assign_to_params_buffers"] = True
        module._load_from_state_dict(state, prefix, own_metadata, True, self.missing, self.unexpected, self.errors)
        for name, child in module._modules.items():
            if child is not None:
                below = f"{prefix}{name}."
                self.load(child, {key: value for key, value in state.items() if key.startswith(below)}, below)
        keys = _IncompatibleKeys(self.missing, self.unexpected)
        for hook in module._load_state_dict_post_hooks.values():
            if hook(module, keys) is not None:
                raise AssertionError(
                    "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new "
                    "values, if incompatible_keys need to be modified, it should be done inplace."
                )


def _as_same_kind(loaded: Any, current: Tensor) -> Any:
    """The loaded tensor as a parameter that requires grad like the current one, if that is a parameter."""
    if not isinstance(current, Parameter):
        return loaded
    if isinstance(loaded, Parameter):
        return loaded.requires_grad_(current.requires_grad)
    return Parameter(loaded, requires_grad=current.requires_grad)


def _swap_in(current: Any, loaded: Any, assign: bool) -> None:
    new = current.module_load(loaded, assign=assign)
    if new is loaded or new is current:
        raise RuntimeError(
            "module_load returned one of self or other, please .detach() the result if returning one of the inputs "
            "in module_load"
        )
    penlight.utils.swap_tensors(current, _as_same_kind(new, current))
