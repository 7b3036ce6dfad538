"""The base class of optimisers: parameter groups, state, hooks, saving and loading."""

from __future__ import annotations

import functools
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import chain
from typing import Any, TypeAlias, TypeVar

import penlight
from penlight import Tensor
from penlight._common.docstrings import documented
from penlight._common.user_warnings import warn_user
from penlight.autograd.modes import grad_mode
from penlight.autograd.node import RemovableHandle

from .._common.arguments import explain as _explain
from ..kernels.lazy import lazy_import

_utils = lazy_import(globals(), "_utils", "penlight._utils")


__all__ = ["Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]

ParamsT: TypeAlias = "Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]"
StateDict: TypeAlias = dict[str, Any]
Hook: TypeAlias = Callable[..., Any]
_F = TypeVar("_F", bound=Callable[..., Any])

_global_optimizer_pre_hooks: OrderedDict[int, Hook] = OrderedDict()
_global_optimizer_post_hooks: OrderedDict[int, Hook] = OrderedDict()


class _RequiredParameter:
    """The default of an option that every group must specify."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _RequiredParameter()


def _register(hooks: OrderedDict[int, Hook], hook: Hook, prepend: bool = False) -> RemovableHandle:
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def register_optimizer_step_pre_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` before the step of every optimiser; it may return new ``(args, kwargs)``.

    >>> from penlight.optim.optimizer import register_optimizer_step_pre_hook
    >>> handle = register_optimizer_step_pre_hook(lambda opt, args, kwargs: print(type(opt).__name__))
    >>> torch.optim.SGD([torch.zeros(2, requires_grad=True)]).step()
    SGD
    >>> handle.remove()
    """
    return _register(_global_optimizer_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` after the step of every optimiser.

    >>> from penlight.optim.optimizer import register_optimizer_step_post_hook
    >>> handle = register_optimizer_step_post_hook(lambda optimizer, args, kwargs: print("stepped"))
    >>> torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1).step()
    stepped
    >>> handle.remove()
    """
    return _register(_global_optimizer_post_hooks, hook)


def _registers(event: str, words: str, hook: str, then: str, shown: str) -> Callable[..., RemovableHandle]:
    """A method that registers a hook of one optimiser. Its example registers one and shows the effect."""
    table = f"_optimizer_{event}_hooks"

    def with_order(self: Any, hook: Hook, prepend: bool = False) -> RemovableHandle:
        return _register(getattr(self, table), hook, prepend)

    def last(self: Any, hook: Hook) -> RemovableHandle:
        return _register(getattr(self, table), hook)

    register: Any = last if event.startswith("step") else with_order
    register.__name__ = f"register_{event}_hook"
    register.__qualname__ = f"Optimizer.{register.__name__}"
    register.__doc__ = documented(
        words, ">>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)",
        f">>> handle = optimizer.{register.__name__}({hook})", f">>> {then}", shown,
    )  # fmt: skip
    return register


def _use_grad_for_differentiable(func: _F) -> _F:
    """Run a ``step`` with gradients recorded if and only if the optimiser has ``differentiable=True``."""

    @functools.wraps(func)
    def step(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        before = grad_mode.get()
        try:
            grad_mode.set(self.defaults["differentiable"])
            return func(self, *args, **kwargs)
        finally:
            grad_mode.set(before)

    return step  # type: ignore[return-value]


def _get_value(x: Any) -> Any:
    return x.item() if isinstance(x, penlight.Tensor) else x


def _to_scalar(x: Any) -> Any:
    """A one-element tensor as a 0-d tensor; anything else unchanged."""
    return x.squeeze() if isinstance(x, penlight.Tensor) and x.dim() != 0 else x


def _stack_if_compiling(x: Any) -> Any:
    return x


def _view_as_real(params: list[Tensor], *state_and_grads: list[Tensor]) -> None:
    """Replace complex parameters, and the corresponding entries of the other lists, by their real views."""
    for i, p in enumerate(params):
        if p.is_complex():
            for tensors in (params, *state_and_grads):
                tensors[i] = penlight.view_as_real(tensors[i])


def _get_scalar_dtype(is_fused: bool | None = None) -> penlight.dtype:
    """The dtype of 0-d state such as ``step``."""
    double = penlight.get_default_dtype() == penlight.float64 and not is_fused
    return penlight.float64 if double else penlight.float32


def _default_to_fused_or_foreach(
    params: list[Tensor], differentiable: bool, use_fused: bool = False
) -> tuple[bool, bool]:
    """The default of ``(fused, foreach)``: on a CPU neither."""
    return False, False


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    """The devices on which PyTorch can capture optimisers in a graph. The CPU is not one of them."""
    return ["cuda", "xpu", "hpu", "privateuseone"] + (["xla"] if supports_xla else [])


# Docstring fragments that third-party optimisers import from here.
_params_doc = "params (iterable): parameters, ``(name, parameter)`` pairs, or dicts that describe parameter groups"
_foreach_doc = "foreach (bool, optional): accepted; the result does not depend on it (default: None)"
_fused_doc = "fused (bool, optional): accepted; the result does not depend on it (default: None)"
_capturable_doc = "capturable (bool, optional): for accelerator graphs; refused on a CPU (default: False)"
_differentiable_doc = "differentiable (bool, optional): let gradients flow through the step (default: False)"
_maximize_doc = "maximize (bool, optional): go up the gradient instead of down (default: False)"


def _run_pre_hooks(func: Hook, self: Optimizer, args: Any, kwargs: Any) -> tuple[Any, Any]:
    for hook in chain(_global_optimizer_pre_hooks.values(), self._optimizer_step_pre_hooks.values()):
        result = hook(self, args, kwargs)
        if result is None:
            continue
        if not (isinstance(result, tuple) and len(result) == 2):
            raise RuntimeError(f"{func} must return None or a tuple of (new_args, new_kwargs), but got {result}.")
        args, kwargs = result
    return args, kwargs


def _adapted(value: Any, param: Tensor, group: dict[str, Any], key: Any = None) -> Any:
    """A loaded part of the state with its tensors in the dtype and on the device of its parameter."""
    if isinstance(value, penlight.Tensor):
        if key == "step":
            # A step count keeps its precision, whatever the parameter's dtype.
            special = group.get("capturable", False) or group.get("fused", False)
            return value.to(dtype=penlight.float32, device=param.device) if special else value
        if param.is_floating_point():
            return value.to(dtype=param.dtype, device=param.device)
        return value.to(device=param.device)
    if isinstance(value, dict):
        return {k: _adapted(v, param, group, k) for k, v in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return type(value)(_adapted(v, param, group) for v in value)  # type: ignore[call-arg]
    return value


def _split_names(params: Iterable[Any]) -> tuple[list[Any], list[str]]:
    """Parameters and their names, from a mix of parameters and ``(name, parameter)`` pairs."""
    tensors: list[Any] = []
    names: list[str] = []
    for param in params:
        if isinstance(param, tuple):
            names.append(param[0])
            tensors.append(param[1])
        else:
            tensors.append(param)
    if names and len(names) != len(tensors):
        raise ValueError("all optimizer params should be with/without names. Some param names are missing")
    return tensors, names


class Optimizer:
    """Holds the parameters, their options and their state; a subclass adds ``step``.

    ``params`` is an iterable of tensors, of ``(name, tensor)`` pairs, or of dicts, one for each group of parameters with its own options;
    ``defaults`` are the options that a group does not specify.

    >>> class Descent(torch.optim.Optimizer):
    ...     @torch.no_grad()
    ...     def step(self, closure=None):
    ...         for group in self.param_groups:
    ...             for p in group["params"]:
    ...                 p.sub_(p.grad, alpha=group["lr"])
    >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> opt = Descent([w], dict(lr=0.5))
    >>> (w * w).sum().backward()
    >>> opt.step()
    >>> w
    tensor([0., 0.], requires_grad=True)
    """

    def __init__(self, params: ParamsT, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._make_hooks()
        self._patch_step_function()
        if isinstance(params, penlight.Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                + penlight.typename(params)
            )
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups: list[Any] = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def _make_hooks(self) -> None:
        for event in ("step", "state_dict", "load_state_dict"):
            for when in ("pre", "post"):
                self.__dict__.setdefault(f"_optimizer_{event}_{when}_hooks", OrderedDict())

    _optimizer_step_pre_hooks: OrderedDict[int, Hook]
    _optimizer_step_post_hooks: OrderedDict[int, Hook]
    _optimizer_state_dict_pre_hooks: OrderedDict[int, Hook]
    _optimizer_state_dict_post_hooks: OrderedDict[int, Hook]
    _optimizer_load_state_dict_pre_hooks: OrderedDict[int, Hook]
    _optimizer_load_state_dict_post_hooks: OrderedDict[int, Hook]

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._make_hooks()
        self._patch_step_function()
        self.defaults.setdefault("differentiable", False)

    def __repr__(self) -> str:
        lines = [type(self).__name__ + " ("]
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return "\n".join(lines) + "\n)"

    # ----- the step and its hooks -----

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters from their gradients. ``closure``, if given, recomputes the loss, which is returned.

        >>> w = torch.tensor([1.0], requires_grad=True)
        >>> w.grad = torch.tensor([2.0])
        >>> torch.optim.SGD([w], lr=0.25).step()
        >>> w
        tensor([0.5000], requires_grad=True)
        """
        raise NotImplementedError

    @staticmethod
    def profile_hook_step(func: _F) -> _F:
        """Wrap a ``step`` so that its registered hooks run around it.

        The ``step`` of each optimizer class is wrapped when its first instance is created.

        >>> opt = torch.optim.SGD([torch.ones(1, requires_grad=True)])
        >>> step = torch.optim.Optimizer.profile_hook_step(lambda self: "stepped")
        >>> handle = opt.register_step_pre_hook(lambda *_: print("before"))
        >>> step(opt)
        before
        'stepped'
        """

        @functools.wraps(func)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            self = args[0]
            if _global_optimizer_pre_hooks or self._optimizer_step_pre_hooks:
                args, kwargs = _run_pre_hooks(func, self, args, kwargs)
            out = func(*args, **kwargs)
            if _global_optimizer_post_hooks or self._optimizer_step_post_hooks:
                for hook in chain(self._optimizer_step_post_hooks.values(), _global_optimizer_post_hooks.values()):
                    hook(self, args, kwargs)
            return out

        return wrapper  # type: ignore[return-value]

    def _patch_step_function(self) -> None:
        # The class is patched, not the instance, so that hooks also run for `Class.step(optimizer)`, and pickling is unaffected.
        cls = type(self)
        if not getattr(cls.step, "hooked", None):
            cls.step = self.profile_hook_step(cls.step)  # type: ignore[method-assign]
            cls.step.hooked = True  # type: ignore[attr-defined]

    def _accelerator_graph_capture_health_check(self) -> None:
        """Does nothing without an accelerator; optimisers written for PyTorch call it."""

    _cuda_graph_capture_health_check = _accelerator_graph_capture_health_check

    def _optimizer_step_code(self) -> None:
        """Does nothing; optimisers written for PyTorch may call it."""

    register_step_pre_hook = _registers(
        "step_pre", "Call ``hook(optimizer, args, kwargs)`` before each step; it may return new ``(args, kwargs)``.",
        'lambda optimizer, args, kwargs: print("before")', "optimizer.step()", "before",
    )  # fmt: skip
    register_step_post_hook = _registers(
        "step_post", "Call ``hook(optimizer, args, kwargs)`` after each step.",
        'lambda optimizer, args, kwargs: print("after")', "optimizer.step()", "after",
    )  # fmt: skip
    register_state_dict_pre_hook = _registers(
        "state_dict_pre", "Call ``hook(optimizer)`` before :meth:`state_dict` collects.",
        'lambda optimizer: print("collecting")', "state = optimizer.state_dict()", "collecting",
    )  # fmt: skip
    register_state_dict_post_hook = _registers(
        "state_dict_post",
        "Call ``hook(optimizer, state_dict)`` on what :meth:`state_dict` collected; it may return a replacement.",
        'lambda optimizer, state: {**state, "note": "mine"}', 'optimizer.state_dict()["note"]', "'mine'",
    )  # fmt: skip
    register_load_state_dict_pre_hook = _registers(
        "load_state_dict_pre",
        "Call ``hook(optimizer, state_dict)`` before :meth:`load_state_dict` loads; it may return a replacement.",
        "lambda optimizer, state: print(sorted(state))", "optimizer.load_state_dict(optimizer.state_dict())",
        "['param_groups', 'state']",
    )  # fmt: skip
    register_load_state_dict_post_hook = _registers(
        "load_state_dict_post", "Call ``hook(optimizer)`` after :meth:`load_state_dict` has loaded.",
        'lambda optimizer: print("loaded")', "optimizer.load_state_dict(optimizer.state_dict())", "loaded",
    )  # fmt: skip

    @staticmethod
    def _group_tensors_by_device_and_dtype(tensorlistlist: Any, with_indices: bool = False) -> dict[Any, Any]:
        """Rows of tensors grouped by dtype, for third-party optimisers."""
        return _utils._group_tensors_by_device_and_dtype(tensorlistlist, with_indices)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clear the gradients of all parameters: set them to None, or with ``set_to_none=False`` fill them with zeros.

        >>> w = torch.ones(2, requires_grad=True)
        >>> w.sum().backward()
        >>> torch.optim.SGD([w]).zero_grad()
        >>> print(w.grad)
        None
        """
        for group in self.param_groups:
            for p in group["params"]:
                if set_to_none:
                    p.grad = None
                elif p.grad is not None:
                    if p.grad.grad_fn is not None:
                        p.grad.detach_()
                    else:
                        p.grad.requires_grad_(False)
                    p.grad.zero_()

    # ----- parameter groups -----

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters, such as layers that are unfrozen later.

        >>> opt = torch.optim.SGD([torch.zeros(2, requires_grad=True)], lr=0.1)
        >>> opt.add_param_group({"params": [torch.zeros(3, requires_grad=True)], "lr": 0.01})
        >>> [group["lr"] for group in opt.param_groups]
        [0.1, 0.01]
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        given = param_group["params"]
        if isinstance(given, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets "
                "will change between runs. Please use a list instead."
            )
        params, names = _split_names([given] if isinstance(given, penlight.Tensor) else given)
        self._check_params(params)
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
        if len(params) != len(set(params)):
            warn_user(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; "
                "see github.com/pytorch/pytorch/issues/40967 for more information",
            )
        named = bool(names) or "param_names" in param_group
        for group in self.param_groups:
            if named != ("param_names" in group):
                raise ValueError(
                    "all optimizer param groups should be with/without names. cannot add param group "
                    f"{'with names' if named else 'without names'} to the optimizer"
                )
        if not set(params).isdisjoint(chain.from_iterable(group["params"] for group in self.param_groups)):
            raise ValueError("some parameters appear in more than one parameter group")

        param_group["params"] = params
        if names:
            param_group["param_names"] = names
        for name, default in self.defaults.items():
            param_group.setdefault(name, default)
        self.param_groups.append(param_group)

    def _check_params(self, params: list[Any]) -> None:
        for param in params:
            if not isinstance(param, penlight.Tensor):
                raise TypeError(
                    "optimizer can only optimize Tensors, but one of the params is " + penlight.typename(param)
                )
            if not self.defaults.get("differentiable") and not (param.is_leaf or param.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")

    # ----- saving and loading -----

    def state_dict(self) -> StateDict:
        """The state in PyTorch's layout: ``state`` by the index of each parameter, and ``param_groups`` with the options and those
        indices. Tensors are not copied.

        >>> opt = torch.optim.SGD([torch.zeros(2, requires_grad=True)], lr=0.1)
        >>> opt.state_dict()["param_groups"][0]["params"]
        [0]
        """
        for pre_hook in self._optimizer_state_dict_pre_hooks.values():
            pre_hook(self)
        numbers: dict[int, int] = {}
        groups = []
        start = 0
        for group in self.param_groups:
            # A parameter that is listed twice takes two indices and keeps the first.
            for i, p in enumerate(group["params"], start):
                numbers.setdefault(id(p), i)
            start += len(group["params"])
            packed = {key: value for key, value in group.items() if key != "params"}
            packed["params"] = [numbers[id(p)] for p in group["params"]]
            groups.append(packed)
        state = {numbers[id(k)] if isinstance(k, penlight.Tensor) else k: v for k, v in self.state.items()}
        state_dict: StateDict = {"state": state, "param_groups": groups}
        for post_hook in self._optimizer_state_dict_post_hooks.values():
            result = post_hook(self, state_dict)
            if result is not None:
                state_dict = result
        return state_dict

    def load_state_dict(self, state_dict: StateDict) -> None:
        """Load a state that :meth:`state_dict` returned, here or in PyTorch.

        Parameters are matched by their order. Tensors take the dtype of their parameter, except for ``step``.

        >>> optimizer = torch.optim.Adam([torch.zeros(1, requires_grad=True)])
        >>> optimizer.load_state_dict(optimizer.state_dict())
        """
        state_dict = state_dict.copy()
        for pre_hook in self._optimizer_load_state_dict_pre_hooks.values():
            result = pre_hook(self, state_dict)
            if result is not None:
                state_dict = result
        groups = self.param_groups
        saved_groups = deepcopy(state_dict["param_groups"])
        if len(groups) != len(saved_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(g["params"]) != len(s["params"]) for g, s in zip(groups, saved_groups, strict=True)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
            )
        owners = {
            number: (param, saved)
            for group, saved in zip(groups, saved_groups, strict=True)
            for number, param in zip(saved["params"], group["params"], strict=True)
        }
        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in owners:
                param, saved = owners[key]
                state[param] = _adapted(value, param, saved)
            else:
                state[key] = value
        for group, saved in zip(groups, saved_groups, strict=True):
            saved["params"] = group["params"]
            if "param_names" in group:
                saved.setdefault("param_names", group["param_names"])
        self.__setstate__({"state": state, "param_groups": saved_groups})
        for post_hook in self._optimizer_load_state_dict_post_hooks.values():
            post_hook(self)


_explain(globals())
