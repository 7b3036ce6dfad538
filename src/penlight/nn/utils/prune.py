"""Pruning: setting parts of a parameter to zero by a removable mask."""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any

import penlight
from penlight import Tensor
from penlight._common.arguments import explain as _explain
from penlight._common.declared_classes import declared_init as _declared_init
from penlight._common.docstrings import documented, example

from ._norm_hooks import hooks_for as _hooks_for
from ._parameters import parameters_to_vector


class BasePruningMethod(ABC):
    """A pruning method: subclasses define in `compute_mask` what remains; it is applied as a forward pre-hook.

    `PRUNING_TYPE` is "unstructured", "structured" (with an attribute `dim`) or "global".

    >>> class EveryOther(torch.nn.utils.prune.BasePruningMethod):
    ...     PRUNING_TYPE = "unstructured"
    ...     def compute_mask(self, t, default_mask):
    ...         mask = default_mask.clone()
    ...         mask.view(-1)[::2] = 0
    ...         return mask
    >>> layer = torch.nn.Linear(4, 1)
    >>> method = EveryOther.apply(layer, "weight")
    >>> layer.weight_mask
    tensor([[0., 1., 0., 1.]])
    """

    _tensor_name: str
    PRUNING_TYPE: str

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask for a tensor, combined with its existing mask."""

    def apply_mask(self, module: Any) -> Tensor:
        """The product of the original parameter and its mask."""
        if self._tensor_name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        mask = getattr(module, self._tensor_name + "_mask")
        original = getattr(module, self._tensor_name + "_orig")
        return mask.to(dtype=original.dtype) * original

    @classmethod
    def apply(cls, module: Any, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any) -> Any:
        """Prunes a parameter of a module: adds the hook, the original parameter and the mask as a buffer.

        Earlier pruning is combined with it in a `PruningContainer`.
        """
        earlier = list(_hooks_for(module, BasePruningMethod, name, named_by="_tensor_name"))
        if len(earlier) > 1:
            raise AssertionError(
                f"Avoid adding multiple pruning hooks to the same tensor {name} of module {module}. "
                "Use a PruningContainer."
            )
        method: Any = cls(*args, **kwargs)
        method._tensor_name = name
        original = getattr(module, name)
        if importance_scores is None:
            importance_scores = original
        elif importance_scores.shape != original.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}, "
                f"got {importance_scores.shape} vs {original.shape}"
            )
        if earlier:
            key, hook = earlier[0]
            method = _combined(hook, method)
            default_mask = getattr(module, name + "_mask").detach().clone()
        else:
            default_mask = penlight.ones_like(original)
        # Nothing is changed until the mask is known.
        mask = method.compute_mask(importance_scores, default_mask=default_mask)
        if earlier:
            del module._forward_pre_hooks[key]
        else:
            module.register_parameter(name + "_orig", original)
            del module._parameters[name]
        module.register_buffer(name + "_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor:
        """A pruned copy of a tensor, without a module.

        >>> torch.nn.utils.prune.L1Unstructured(amount=1).prune(torch.tensor([3.0, 1.0, 2.0]))
        tensor([3., 0., 2.])
        """
        if importance_scores is None:
            importance_scores = t
        elif importance_scores.shape != t.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as tensor t, got {importance_scores.shape} vs {t.shape}"
            )
        mask = default_mask if default_mask is not None else penlight.ones_like(t)
        return t * self.compute_mask(importance_scores, default_mask=mask)

    def remove(self, module: Any) -> None:
        """Makes the pruning permanent: the parameter is a plain one again, including the zeros."""
        name = self._tensor_name
        if name is None:
            raise AssertionError(f"Module {module} has to be pruned before pruning can be removed")
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters.pop(name + "_orig")
        original.data = weight.data
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


def _combined(old: BasePruningMethod, new: BasePruningMethod) -> PruningContainer:
    container = PruningContainer(*old) if isinstance(old, PruningContainer) else PruningContainer(old)
    container._tensor_name = old._tensor_name
    container.add_pruning_method(new)
    return container


class PruningContainer(BasePruningMethod):
    """Several successive pruning methods, each applied to what the previous ones left.

    Pruning a parameter a second time creates one.

    >>> from penlight.nn.utils import prune
    >>> layer = torch.nn.Linear(4, 1)
    >>> layer = prune.l1_unstructured(layer, "weight", amount=2)
    >>> layer = prune.l1_unstructured(layer, "weight", amount=1)
    >>> container = next(iter(layer._forward_pre_hooks.values()))
    >>> len(container), int(layer.weight_mask.sum())
    (2, 1)
    """

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: tuple[Any, ...] = ()
        if args:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Adds a pruning method for the same parameter."""
        if method is not None and not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError(
                f"Can only add pruning methods acting on the parameter named '{self._tensor_name}' to "
                f"PruningContainer {self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: Any) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask combined with the latest method's mask for the remaining part."""
        method = self._pruning_methods[-1]
        mask = default_mask.to(dtype=t.dtype).clone()
        remaining = _remaining(method, t, default_mask)
        partial = method.compute_mask(t[remaining], default_mask=default_mask[remaining])
        mask[remaining] = partial.to(dtype=mask.dtype)
        return mask


def _remaining(method: Any, t: Tensor, mask: Tensor) -> Any:
    """The index of the part of a tensor from which a method may still choose."""
    if method.PRUNING_TYPE == "unstructured":
        return mask == 1
    everything: list[Any] = [slice(None)] * t.dim()
    if method.PRUNING_TYPE == "global":
        return tuple(everything)
    if method.PRUNING_TYPE != "structured":
        raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
    if not hasattr(method, "dim"):
        raise AttributeError('Pruning methods of PRUNING_TYPE "structured" need to have the attribute `dim` defined.')
    dim = method.dim + t.dim() if method.dim < 0 else method.dim
    if dim < 0:
        raise IndexError(f"Index is out of bounds for tensor with dimensions {t.dim()}")
    everything[dim] = mask.sum(dim=[d for d in range(t.dim()) if d != dim]) != 0
    return tuple(everything)


def _applies(declared: Any) -> Any:
    """The class method `apply` of a pruning method, with its own signature."""
    apply = _declared_init(declared, lambda cls, given: BasePruningMethod.apply.__func__(cls, **given))  # type: ignore[attr-defined]
    apply.__name__, apply.__doc__ = "apply", "Prunes a parameter of a module."
    return classmethod(apply)


@example('torch.nn.utils.prune.identity(torch.nn.Linear(2, 1), "weight").weight_mask', "tensor([[1., 1.]])")
class Identity(BasePruningMethod):
    """Prunes nothing, but adds the mask and the hook."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask it was given."""
        return default_mask

    apply = _applies(lambda cls, module, name: ...)


class _Amount(BasePruningMethod):
    """Pruning by an amount: a number of units if it is an int, a fraction of them if it is a float."""

    amount: Any

    def __init__(self, amount: float) -> None:
        if not isinstance(amount, numbers.Real):
            raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
        whole = isinstance(amount, numbers.Integral)
        if (whole and amount < 0) or (not whole and not 0.0 <= float(amount) <= 1.0):
            raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")
        self.amount = amount

    def _count(self, available: int) -> int:
        if not isinstance(self.amount, numbers.Integral):
            return round(self.amount * available)
        count = int(self.amount)
        if count > available:
            raise ValueError(f"amount={count} should be smaller than the number of parameters to prune={available}")
        return count


class _Unstructured(_Amount):
    """Pruning of single elements by a score."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask without the pruned elements."""
        count = self._count(t.nelement())
        mask = default_mask.clone()
        if count:
            mask.view(-1)[self._elements_to_prune(t, count)] = 0
        return mask

    def _elements_to_prune(self, t: Tensor, count: int) -> Tensor:
        raise NotImplementedError


class RandomUnstructured(_Unstructured):
    """Prunes single elements at random.

    >>> layer = torch.nn.utils.prune.random_unstructured(torch.nn.Linear(4, 1), "weight", amount=0.5)
    >>> layer.weight_mask.sum()
    tensor(2.)
    """

    def _elements_to_prune(self, t: Tensor, count: int) -> Tensor:
        return penlight.topk(penlight.rand_like(t).view(-1), k=count).indices

    apply = _applies(lambda cls, module, name, amount: ...)


class L1Unstructured(_Unstructured):
    """Prunes the single elements of smallest absolute value.

    >>> layer = torch.nn.utils.prune.l1_unstructured(torch.nn.Linear(4, 1), "weight", amount=3)
    >>> layer.weight_mask.sum()
    tensor(1.)
    """

    def _elements_to_prune(self, t: Tensor, count: int) -> Tensor:
        return penlight.topk(penlight.abs(t).view(-1), k=count, largest=False).indices

    apply = _applies(lambda cls, module, name, amount, importance_scores=None: ...)


class _Structured(_Amount):
    """Pruning of full channels along a dimension."""

    PRUNING_TYPE = "structured"
    dim: int

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask without the pruned channels."""
        if t.dim() <= 1:
            raise ValueError(
                "Structured pruning can only be applied to multidimensional tensors. "
                f"Found tensor of shape {t.shape} with {t.dim()} dims"
            )
        if self.dim >= t.dim():
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        channels = t.shape[self.dim]
        count = self._count(channels)
        if count == 0:
            return default_mask
        mask = penlight.zeros_like(t)
        kept: list[Any] = [slice(None)] * t.dim()
        kept[self.dim] = self._channels_to_keep(t, channels, count)
        mask[tuple(kept)] = 1
        mask *= default_mask.to(dtype=mask.dtype)
        return mask

    def _channels_to_keep(self, t: Tensor, channels: int, count: int) -> Tensor:
        raise NotImplementedError


class RandomStructured(_Structured):
    """Prunes full channels at random.

    >>> layer = torch.nn.utils.prune.random_structured(torch.nn.Linear(4, 2), "weight", amount=1, dim=0)
    >>> layer.weight_mask.sum()
    tensor(4.)
    """

    def __init__(self, amount: float, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def _channels_to_keep(self, t: Tensor, channels: int, count: int) -> Tensor:
        drawn = penlight.rand(channels)
        return drawn > penlight.kthvalue(drawn, k=count).values

    apply = _applies(lambda cls, module, name, amount, dim=-1: ...)


class LnStructured(_Structured):
    """Prunes the channels of smallest n-norm.

    >>> layer = torch.nn.utils.prune.ln_structured(torch.nn.Linear(4, 2), "weight", amount=1, n=2, dim=0)
    >>> layer.weight_mask.sum()
    tensor(4.)
    """

    def __init__(self, amount: float, n: Any, dim: int = -1) -> None:
        super().__init__(amount)
        self.n = n
        self.dim = dim

    def _channels_to_keep(self, t: Tensor, channels: int, count: int) -> Tensor:
        others = [d for d in range(t.dim()) if d != self.dim % t.dim()]
        norms = penlight.norm(t, p=self.n, dim=others)
        return penlight.topk(norms, k=channels - count, largest=True).indices

    apply = _applies(lambda cls, module, name, amount, n, dim, importance_scores=None: ...)


class CustomFromMask(BasePruningMethod):
    """Prunes by a given mask.

    >>> layer = torch.nn.utils.prune.custom_from_mask(torch.nn.Linear(2, 1), "weight", torch.tensor([[1.0, 0.0]]))
    >>> layer.weight_mask
    tensor([[1., 0.]])
    """

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The product of the given mask and the default mask."""
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"default_mask shape {default_mask.shape} must match self.mask shape {self.mask.shape}"
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)

    apply = _applies(lambda cls, module, name, mask: ...)


def _prunes(name: str, method: type[BasePruningMethod], words: str, given: str, shown: str, result: str) -> Any:
    """A function that applies a method to a module and returns it; it takes the arguments of `method.apply`."""

    def prune(module: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        method.apply(module, name, *args, **kwargs)
        return module

    prune.__name__ = prune.__qualname__ = name
    prune.__wrapped__ = method.apply  # type: ignore[attr-defined]
    prune.__doc__ = documented(
        words, f">>> m = torch.nn.utils.prune.{name}(torch.nn.Linear(5, 3), {given})", f">>> {shown}", result
    )
    return prune


identity = _prunes(
    "identity", Identity, "Puts a mask of ones on a parameter.", '"bias"', "m.bias_mask", "tensor([1., 1., 1.])"
)
random_unstructured = _prunes(
    "random_unstructured", RandomUnstructured, "Prunes elements of a parameter at random.",
    '"weight", amount=1', "int((m.weight_mask == 0).sum())", "1",
)  # fmt: skip
l1_unstructured = _prunes(
    "l1_unstructured", L1Unstructured,
    "Prunes the elements of a parameter that are smallest, or least important by the scores.",
    '"weight", amount=0.2', "int((m.weight == 0).sum())", "3",
)  # fmt: skip
ln_structured = _prunes(
    "ln_structured", LnStructured, "Prunes the channels of a parameter that have the smallest n-norm.",
    '"weight", amount=1, n=2, dim=0', "int((m.weight.abs().sum(1) == 0).sum())", "1",
)  # fmt: skip
custom_from_mask = _prunes(
    "custom_from_mask", CustomFromMask, "Prunes a parameter by a given mask.",
    '"bias", torch.tensor([0, 1, 0])', "m.bias_mask", "tensor([0., 1., 0.])",
)  # fmt: skip


def random_structured(module: Any, name: str, amount: float, dim: int) -> Any:
    """Prunes channels of a parameter at random.

    >>> m = torch.nn.utils.prune.random_structured(torch.nn.Linear(5, 3), "weight", amount=3, dim=1)
    >>> int((m.weight.sum(0) == 0).sum())
    3
    """
    RandomStructured.apply(module, name, amount, dim)
    return module


def global_unstructured(
    parameters: Any, pruning_method: Any, importance_scores: dict[Any, Tensor] | None = None, **kwargs: Any
) -> None:
    """Prunes several parameters, given as (module, name) pairs, as one.

    >>> a, b = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
    >>> prune = torch.nn.utils.prune
    >>> prune.global_unstructured([(a, "weight"), (b, "weight")], prune.L1Unstructured, amount=4)
    >>> int((a.weight_mask == 0).sum() + (b.weight_mask == 0).sum())
    4
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    scores = importance_scores if importance_scores is not None else {}
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    pairs = [(module, name, getattr(module, name)) for module, name in parameters]
    relevant = parameters_to_vector([scores.get((module, name), value) for module, name, value in pairs])
    masks = [getattr(module, name + "_mask", None) for module, name, _ in pairs]
    default_mask = parameters_to_vector(
        [penlight.ones_like(value) if mask is None else mask for mask, (_, _, value) in zip(masks, pairs, strict=True)]
    )
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. '
            f"Found method {pruning_method} of type {method.PRUNING_TYPE}"
        )
    method._tensor_name = "temp"
    final = PruningContainer(method).compute_mask(relevant, default_mask)
    start = 0
    for module, name, value in pairs:
        stop = start + value.numel()
        custom_from_mask(module, name, mask=final[start:stop].view_as(value))
        start = stop


def remove(module: Any, name: str) -> Any:
    """Makes the pruning of a parameter permanent.

    >>> m = torch.nn.utils.prune.l1_unstructured(torch.nn.Linear(2, 3), "weight", amount=0.5)
    >>> list(torch.nn.utils.prune.remove(m, "weight").state_dict())
    ['bias', 'weight']
    """
    for key, method in _hooks_for(module, BasePruningMethod, name, named_by="_tensor_name"):
        method.remove(module)
        del module._forward_pre_hooks[key]
        return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


@example("torch.nn.utils.prune.is_pruned(torch.nn.Linear(5, 7))", "False")
def is_pruned(module: Any) -> bool:
    """Whether any parameter in a module is pruned."""
    return any(
        isinstance(hook, BasePruningMethod) for part in module.modules() for hook in part._forward_pre_hooks.values()
    )


_explain(globals())
