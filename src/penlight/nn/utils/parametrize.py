"""Parameters computed from other parameters each time they are read.

A parametrised tensor is a property of a class made for the one module that has it. Reading it runs the
parametrisations on the original tensors; assigning to it runs their right inverses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

import penlight
from penlight import Tensor
from penlight._common.arguments import explain as _explain
from penlight._common.docstrings import example
from penlight.nn.modules.container import ModuleDict, ModuleList
from penlight.nn.modules.module import Module
from penlight.nn.parameter import Parameter

__all__ = [
    "ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations",
    "transfer_parametrizations_and_params", "type_before_parametrizations",
]  # fmt: skip

_cache_enabled = 0
_cache: dict[tuple[int, str], Tensor] = {}


@contextmanager
def cached() -> Iterator[None]:
    """Inside the block each parametrised tensor is computed once and cached.

    >>> from penlight.nn.utils.parametrize import cached
    >>> m = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 2))
    >>> with cached():
    ...     m.weight is m.weight
    True
    """
    global _cache_enabled
    _cache_enabled += 1
    try:
        yield
    finally:
        _cache_enabled -= 1
        if not _cache_enabled:
            _cache.clear()


def _register_parameter_or_buffer(module: Any, name: str, value: Tensor) -> None:
    if isinstance(value, Parameter):
        module.register_parameter(name, value)
    else:
        module.register_buffer(name, value)


def _overwrite(dest: Any, source: Tensor) -> None:
    """Gives an existing tensor, which others may refer to, the values and shape of another."""
    with penlight.no_grad():
        dest.set_(source)


def _pass_over(error: NotImplementedError) -> None:
    """Ignore the NotImplementedError of a right inverse that does not exist; re-raise a missing name."""
    if isinstance(error, AttributeError):
        raise error


class ParametrizationList(ModuleList):
    """The parametrisations of one tensor, in the order they are applied, and the original tensor or tensors.

    `original` is the stored tensor; if the right inverse returns several, they are `original0`, `original1`, ...

    >>> class Positive(torch.nn.Module):
    ...     def forward(self, x):
    ...         return x.exp()
    >>> layer = torch.nn.utils.parametrize.register_parametrization(torch.nn.Linear(1, 1), "weight", Positive())
    >>> len(layer.parametrizations.weight), bool(layer.weight > 0)
    (1, True)
    """

    is_tensor: bool
    ntensors: int
    unsafe: bool

    def __init__(self, modules: Sequence[Any], original: Tensor, unsafe: bool = False) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        stored: Any = self._inverse_if_any(original)
        if not isinstance(stored, (Tensor, Sequence)):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got {type(stored).__name__}"
            )
        self.is_tensor = isinstance(stored, Tensor)
        self.ntensors = 1 if self.is_tensor else len(stored)
        if self.is_tensor:
            self._store_one(original, stored)
        else:
            self._store_several(original, stored)
        if not unsafe:
            self._check_result(shape, dtype)

    def _inverse_if_any(self, value: Any) -> Any:
        with penlight.no_grad():
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    try:
                        value = module.right_inverse(value)
                    except NotImplementedError as error:
                        _pass_over(error)  # it has no inverse; the tensor is stored unchanged
        return value

    def _store_one(self, original: Tensor, stored: Any) -> None:
        for name in ("dtype", "device"):
            before, after = getattr(original, name), getattr(stored, name)
            if before != after:
                raise ValueError(
                    f"When `right_inverse` outputs one tensor, it may not change the {name}.\n"
                    f"original.{name}: {before}\nright_inverse(original).{name}: {after}"
                )
        # The parameter remains the same object, so that an optimizer that has it continues to train it.
        _overwrite(original, stored)
        _register_parameter_or_buffer(self, "original", original)

    def _store_several(self, original: Tensor, stored: Any) -> None:
        for i, value in enumerate(stored):
            if not isinstance(value, Tensor):
                raise ValueError(
                    "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                    f"Got element {i} of the sequence with type {type(value).__name__}."
                )
            if isinstance(original, Parameter):
                value = Parameter(value, original.requires_grad)
            value.requires_grad_(original.requires_grad)
            _register_parameter_or_buffer(self, f"original{i}", value)

    def _check_result(self, shape: Any, dtype: Any) -> None:
        result = self()
        if not isinstance(result, Tensor):
            raise ValueError(f"A parametrization must return a tensor. Got {type(result).__name__}.")
        for name, before, after in (("dtype", dtype, result.dtype), ("shape", shape, result.shape)):
            if before != after:
                raise ValueError(
                    f"Registering a parametrization may not change the {name} of the tensor, unless `unsafe` flag is "
                    f"enabled.\nunparametrized {name}: {before}\nparametrized {name}: {after}"
                )

    def right_inverse(self, value: Tensor) -> None:
        """Assigns to the parametrised tensor: stores the tensors that yield this value."""
        with penlight.no_grad():
            inverse: Any = value
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                inverse = module.right_inverse(inverse)
            if self.is_tensor:
                self._restore_one(inverse)
            else:
                self._restore_several(inverse)

    def _restore_one(self, value: Any) -> None:
        if not isinstance(value, Tensor):
            raise ValueError(f"`right_inverse` should return a tensor. Got {type(value).__name__}")
        if value.dtype != self.original.dtype:
            raise ValueError(
                f"The tensor returned by `right_inverse` has dtype {value.dtype} while `original` has dtype "
                f"{self.original.dtype}"
            )
        _overwrite(self.original, value)

    def _restore_several(self, values: Any) -> None:
        if not isinstance(values, Sequence):
            raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {type(values).__name__}.")
        if len(values) != self.ntensors:
            raise ValueError(
                f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. "
                f"Got a sequence of length {len(values)}."
            )
        originals = [getattr(self, f"original{i}") for i in range(self.ntensors)]
        for i, (old, new) in enumerate(zip(originals, values, strict=True)):
            if not isinstance(new, Tensor):
                raise ValueError(
                    "'right_inverse' must return a sequence of tensors or reference-type opaques. "
                    f"Got element {i} of type {type(new).__name__}."
                )
            if old.dtype != new.dtype:
                raise ValueError(
                    f"Tensor {i} returned by `right_inverse` has dtype {new.dtype} while `original{i}` has dtype "
                    f"{old.dtype}"
                )
        for old, new in zip(originals, values, strict=True):
            _overwrite(old, new)

    def forward(self) -> Any:
        """The parametrised tensor."""
        first, *others = self
        if self.is_tensor:
            value = first(self.original)
        else:
            value = first(*(getattr(self, f"original{i}") for i in range(self.ntensors)))
        for module in others:
            value = module(value)
        return value


def _inject_new_class(module: Any) -> None:
    """Gives a module its own class, to which properties can be added, and the dict of their parametrisations."""
    cls = type(module)

    def default_deepcopy(self: Any, memo: dict[int, Any]) -> Any:
        replica = self.__new__(type(self))
        memo[id(self)] = replica
        replica.__dict__ = deepcopy(self.__dict__, memo)
        return replica

    def getstate(self: Any) -> Any:
        raise RuntimeError(
            "Serialization of parametrized modules is only supported through state_dict(). See:\n"
            "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
            "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training"
        )

    members: dict[str, Any] = {"__getstate__": getstate}
    if not hasattr(cls, "__deepcopy__"):
        members["__deepcopy__"] = default_deepcopy
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), members)
    module.parametrizations = ModuleDict()


def _inject_property(module: Any, tensor_name: str) -> None:
    if hasattr(module, tensor_name):
        raise AssertionError(f"Module already has an attribute named '{tensor_name}'")

    def read(self: Any) -> Any:
        parametrization = self.parametrizations[tensor_name]
        if not _cache_enabled:
            return parametrization()
        key = (id(self), tensor_name)
        if key not in _cache:
            _cache[key] = parametrization()
        return _cache[key]

    def assign(self: Any, value: Tensor) -> None:
        self.parametrizations[tensor_name].right_inverse(value)

    setattr(type(module), tensor_name, property(read, assign))


def register_parametrization(module: Any, tensor_name: str, parametrization: Any, *, unsafe: bool = False) -> Any:
    """Makes a parameter or buffer the output of a module applied to it; further ones are applied in the order of registration.

    If the parametrisation has a method `right_inverse`, it computes the stored tensor from the present value, and the parametrised tensor
    can be assigned to. With `unsafe`, dtype and shape may change and nothing is checked.

    >>> from penlight.nn.utils.parametrize import register_parametrization
    >>> class Symmetric(torch.nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).transpose(-1, -2)
    >>> m = register_parametrization(torch.nn.Linear(3, 3), "weight", Symmetric())
    >>> torch.equal(m.weight, m.weight.T)
    True
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        _add_further(module, tensor_name, parametrization, unsafe)
        return module
    if tensor_name not in {*module._buffers, *module._parameters}:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
            f"'{tensor_name}'"
        )
    only = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe=unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        _inject_new_class(module)
    _inject_property(module, tensor_name)
    module.parametrizations[tensor_name] = only
    return module


def _add_further(module: Any, tensor_name: str, parametrization: Any, unsafe: bool) -> None:
    if not unsafe:
        _check_further(module, tensor_name, parametrization)
    earlier = module.parametrizations[tensor_name]
    earlier.append(parametrization)
    earlier.unsafe = earlier.unsafe or unsafe


def _check_further(module: Any, tensor_name: str, parametrization: Any) -> None:
    """Check that an additional parametrisation keeps dtype and shape, in both directions."""
    before = getattr(module, tensor_name)
    after = parametrization(before)
    if not isinstance(after, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(after).__name__}.")
    for name in ("dtype", "shape"):
        if getattr(after, name) != getattr(before, name):
            raise ValueError(
                f"Registering a parametrization may not change the {name} of the tensor, unless the `unsafe` flag is "
                f"enabled.\nmodule.{tensor_name}.{name}: {getattr(before, name)}\n"
                f"parametrization(module.{tensor_name}).{name}: {getattr(after, name)}"
            )
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        back = parametrization.right_inverse(after)
    except NotImplementedError as error:
        _pass_over(error)
        return
    if not isinstance(back, Tensor):
        raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {type(back).__name__}")
    for name in ("dtype", "shape"):
        if getattr(back, name) != getattr(before, name):
            raise ValueError(
                f"The tensor returned by parametrization.right_inverse must have the same {name} as "
                f"module.{tensor_name}, unless the `unsafe` flag is enabled.\n"
                f"module.{tensor_name}.{name}: {getattr(before, name)}\nreturned {name}: {getattr(back, name)}"
            )


@example("torch.nn.utils.parametrize.is_parametrized(torch.nn.Linear(2, 2))", "False")
def is_parametrized(module: Any, tensor_name: str | None = None) -> bool:
    """Whether a module has any parametrised tensor, or one of that name."""
    parametrizations = getattr(module, "parametrizations", None)
    if not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def remove_parametrizations(module: Any, tensor_name: str, leave_parametrized: bool = True) -> Any:
    """Makes a tensor a plain one again: with its present value, or with False the original one.

    >>> from penlight.nn.utils.parametrize import remove_parametrizations
    >>> m = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 2))
    >>> sorted(name for name, _ in remove_parametrizations(m, "weight").named_parameters())
    ['bias', 'weight']
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    parametrizations = module.parametrizations[tensor_name]
    if parametrizations.is_tensor:
        original = parametrizations.original
        if leave_parametrized:
            with penlight.no_grad():
                value = getattr(module, tensor_name)
            _overwrite(original, value)
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        original = Parameter(value) if value.requires_grad else value
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a "
            "sequence of tensors."
        )
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register_parameter_or_buffer(module, tensor_name, original)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Any) -> type[Any]:
    """The class of a module before its tensors were parametrised.

    >>> from penlight.nn.utils.parametrize import type_before_parametrizations
    >>> m = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 2))
    >>> type_before_parametrizations(m) is torch.nn.Linear
    True
    """
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(from_module: Any, to_module: Any, tensor_name: str | None = None) -> Module:
    """Copies the parametrisations of one module, and their tensors, to another.

    >>> from penlight.nn.utils.parametrize import transfer_parametrizations_and_params
    >>> a = torch.nn.utils.parametrizations.spectral_norm(torch.nn.Linear(2, 2))
    >>> b = transfer_parametrizations_and_params(a, torch.nn.Linear(2, 2))
    >>> torch.equal(a.parametrizations.weight.original, b.parametrizations.weight.original)
    True
    """
    if not is_parametrized(from_module):
        return to_module
    for name in list(from_module.parametrizations) if tensor_name is None else [tensor_name]:
        source = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        for parametrization in source:
            register_parametrization(to_module, name, parametrization)
        target = to_module.parametrizations[name]
        if hasattr(source, "original"):
            target.original = source.original
        else:
            for i in range(source.ntensors):
                setattr(target, f"original{i}", getattr(source, f"original{i}"))
    return to_module


_explain(globals())
