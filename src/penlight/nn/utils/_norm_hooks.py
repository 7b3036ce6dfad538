"""Weight and spectral normalisation as forward pre-hooks, the older form; `parametrizations` has the newer one.

A hook stores the name of a module's tensor, which it computes from other tensors before each forward. Pruning uses such hooks too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import penlight
from penlight import Tensor
from penlight._common.docstrings import example
from penlight._common.module_table import make_modules
from penlight._common.user_warnings import warn_user
from penlight.nn.parameter import Parameter, is_lazy

from ..._common.arguments import explain as _explain
from ...kernels.lazy import lazy_import

_conv = lazy_import(globals(), "_conv", "penlight.nn.modules.conv")


def hooks_for(
    module: Any, kind: type[Any], name: str, *, named_by: str = "name", table: str = "_forward_pre_hooks"
) -> Iterator[tuple[int, Any]]:
    """The hooks of a kind in one table of a module for the tensor of that name, with their ids."""
    for key, entry in getattr(module, table).items():
        hook = getattr(entry, "hook", entry)
        if isinstance(hook, kind) and getattr(getattr(hook, "fn", hook), named_by) == name:
            yield key, hook


def check_target(module: Any, kind: type[Any], name: str, weight: Any, words: str) -> None:
    """Refuses a tensor that already has such a hook or has no shape yet; `words` describe the hook."""
    function = words.replace("normalization", "norm").replace(" ", "_")
    if any(hooks_for(module, kind, name)):
        raise RuntimeError(f"Cannot register two {function} hooks on the same parameter {name}")
    if is_lazy(weight):
        raise ValueError(
            f"The module passed to `{kind.__name__}` can't have uninitialized parameters. Make sure to run the dummy "
            f"forward before applying {words}"
        )


def remove_computed(module: Any, kind: type[Any], name: str, function: str) -> Any:
    """Makes a computed tensor a plain one again and removes its hook."""
    found = next(hooks_for(module, kind, name), None)
    if found is None:
        raise ValueError(f"{function} of '{name}' not found in {module}")
    key, hook = found
    hook.remove(module)
    del module._forward_pre_hooks[key]
    return module


# ----- Weight normalisation ------------------------------------------------------------------------------------------


def norm_except_dim(v: Tensor, dim: int) -> Tensor:
    """The 2-norms of the slices along a dimension, which is kept; -1 means the norm of all elements."""
    if dim == -1:
        return v.norm(2)
    others = [d for d in range(v.dim()) if d != dim % v.dim()]
    if not others:
        return v.abs()
    return penlight.linalg.vector_norm(v, 2, dim=others, keepdim=True)


def weight_from(v: Tensor, g: Tensor, dim: int) -> Tensor:
    """The weight with direction v and norm g."""
    return v * (g / norm_except_dim(v, dim))


class WeightNorm:
    """The hook that computes a weight from its direction and norm before each forward.

    Args:
        name: which parameter
        dim: which dimension keeps norms of its own

    >>> module = torch.nn.utils.weight_norm(torch.nn.Linear(2, 3))
    >>> type(next(iter(module._forward_pre_hooks.values()))).__name__
    'WeightNorm'
    """

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: Any) -> Tensor:
        """The current weight."""
        return weight_from(getattr(module, self.name + "_v"), getattr(module, self.name + "_g"), self.dim)

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))

    @staticmethod
    def apply(module: Any, name: str, dim: int | None) -> WeightNorm:
        """Adds the hook to a module, and replaces a parameter by two."""
        warn_user(
            "`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`.",
            FutureWarning,
        )
        weight = getattr(module, name)
        check_target(module, WeightNorm, name, weight, "weight normalization")
        hook = WeightNorm(name, dim)
        direction = module._parameters.pop(name).data
        for suffix, value in (("_g", norm_except_dim(direction, hook.dim)), ("_v", direction)):
            module.register_parameter(name + suffix, Parameter(value))
        hook(module, None)
        module.register_forward_pre_hook(hook)
        return hook

    def remove(self, module: Any) -> None:
        """Makes the weight a single parameter again."""
        weight = Parameter(self.compute_weight(module).data)
        for name in (self.name, self.name + "_g", self.name + "_v"):
            delattr(module, name)
        setattr(module, self.name, weight)


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Splits a weight into its norm `weight_g` and direction `weight_v`, along `dim`; None means one norm for all.

    >>> import warnings; warnings.simplefilter("ignore")
    >>> m = torch.nn.utils.weight_norm(torch.nn.Linear(20, 40))
    >>> m.weight_g.shape
    torch.Size([40, 1])
    """
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: Any, name: str = "weight") -> Any:
    """Undoes `weight_norm`.

    >>> import warnings; warnings.simplefilter("ignore")
    >>> m = torch.nn.utils.remove_weight_norm(torch.nn.utils.weight_norm(torch.nn.Linear(2, 2)))
    >>> sorted(name for name, _ in m.named_parameters())
    ['bias', 'weight']
    """
    return remove_computed(module, WeightNorm, name, "weight_norm")


# ----- Spectral normalisation ----------------------------------------------------------------------------------------


def _normalized(vector: Tensor, eps: float) -> Tensor:
    return penlight.nn.functional.normalize(vector, dim=0, eps=eps)


class SpectralNorm:
    """The hook that divides a weight by an estimate of its largest singular value before each forward.

    Args:
        name: which parameter
        n_power_iterations: steps of the power method for each forward
        dim: the dimension of the outputs
        eps: keeps divisions from failing

    >>> module = torch.nn.utils.spectral_norm(torch.nn.Linear(2, 3))
    >>> type(next(iter(module._forward_pre_hooks.values()))).__name__
    'SpectralNorm'
    """

    # 1: the vector v is saved too.
    _version: int = 1

    def __init__(self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.name, self.dim, self.n_power_iterations, self.eps = name, dim, n_power_iterations, eps

    def reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        """The weight as a matrix whose rows correspond to `dim`."""
        if self.dim != 0:
            weight = weight.permute(self.dim, *[d for d in range(weight.dim()) if d != self.dim])
        return weight.reshape(weight.size(0), -1)

    def compute_weight(self, module: Any, do_power_iteration: bool) -> Tensor:
        """The normalised weight; a power iteration first updates the vectors u and v, in place."""
        weight = getattr(module, self.name + "_orig")
        u, v = getattr(module, self.name + "_u"), getattr(module, self.name + "_v")
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with penlight.no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(_normalized(penlight.mv(matrix.t(), u), self.eps))
                    u.copy_(_normalized(penlight.mv(matrix, v), self.eps))
                # Copies, so that a second forward can change the buffers before the backward of the first.
                u, v = u.clone(), v.clone()
        return weight / penlight.dot(u, penlight.mv(matrix, v))

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))

    def remove(self, module: Any) -> None:
        """Makes the weight a plain parameter again."""
        weight = self.compute_weight(module, do_power_iteration=False).detach()
        for suffix in ("", "_u", "_v", "_orig"):
            delattr(module, self.name + suffix)
        module.register_parameter(self.name, Parameter(weight))

    def _solve_v_and_rescale(self, weight_mat: Tensor, u: Tensor, target_sigma: Tensor) -> Tensor:
        """The v that corresponds to u, for state saved without v."""
        transposed = weight_mat.t()
        v = (penlight.linalg.pinv(transposed.mm(weight_mat)) @ (transposed @ u.unsqueeze(1))).squeeze(1)
        return v.mul_(target_sigma / penlight.dot(u, penlight.mv(weight_mat, v)))

    @staticmethod
    def apply(module: Any, name: str, n_power_iterations: int, dim: int, eps: float) -> SpectralNorm:
        """Adds the hook to a module, and replaces the weight by a parameter with two buffers."""
        weight = module._parameters.get(name)
        check_target(module, SpectralNorm, name, weight, "spectral normalization")
        hook = SpectralNorm(name, n_power_iterations, dim, eps)
        if module._parameters[name] is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        with penlight.no_grad():
            sizes = hook.reshape_weight_to_matrix(weight).size()
            vectors = [_normalized(weight.new_empty(size).normal_(0, 1), eps) for size in sizes]
        delattr(module, name)
        module.register_parameter(name + "_orig", weight)
        # Before the first forward the weight is the original, not as a parameter, because `_orig` is the parameter.
        setattr(module, name, weight.data)
        for suffix, vector in zip(("_u", "_v"), vectors, strict=True):
            module.register_buffer(name + suffix, vector)
        module.register_forward_pre_hook(hook)
        module._register_state_dict_hook(SpectralNormStateDictHook(hook))
        module._register_load_state_dict_pre_hook(SpectralNormLoadStateDictPreHook(hook))
        return hook


class SpectralNormLoadStateDictPreHook:
    """Converts state saved by older versions to the current form.

    `fn` is the `SpectralNorm`.

    >>> module = torch.nn.utils.spectral_norm(torch.nn.Linear(2, 3))
    >>> module.load_state_dict(module.state_dict())
    <All keys matched successfully>
    """

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(self, state_dict: Any, prefix: str, local_metadata: dict[str, Any], strict: bool,
                 missing_keys: list[str], unexpected_keys: list[str], error_msgs: list[str]) -> None:  # fmt: skip
        fn = self.fn
        version = local_metadata.get("spectral_norm", {}).get(fn.name + ".version", None)
        if version is not None and version >= 1:
            return
        key = prefix + fn.name
        present = {suffix: key + suffix in state_dict for suffix in ("", "_orig", "_u", "_v")}
        if version is None and present["_orig"] and present["_u"] and present["_v"] and not present[""]:
            return  # the current form, without metadata
        missing = [key + suffix for suffix in ("_orig", "", "_u") if not present[suffix]]
        if missing:
            if strict:
                missing_keys.extend(missing)
            return
        with penlight.no_grad():
            original, weight = state_dict[key + "_orig"], state_dict.pop(key)
            sigma = (original / weight).mean()
            matrix = fn.reshape_weight_to_matrix(original)
            state_dict[key + "_v"] = fn._solve_v_and_rescale(matrix, state_dict[key + "_u"], sigma)


class SpectralNormStateDictHook:
    """Stores the version of the hook with the state.

    `fn` is the `SpectralNorm`.

    >>> module = torch.nn.utils.spectral_norm(torch.nn.Linear(2, 3))
    >>> module.state_dict()._metadata[""]["spectral_norm"]
    {'weight.version': 1}
    """

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(self, module: Any, state_dict: Any, prefix: str, local_metadata: dict[str, Any]) -> None:
        versions = local_metadata.setdefault("spectral_norm", {})
        key = self.fn.name + ".version"
        if key in versions:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        versions[key] = self.fn._version


@example("torch.nn.utils.spectral_norm(torch.nn.Linear(20, 40)).weight_u.size()", "torch.Size([40])")
def spectral_norm(
    module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Any:
    """Divides a weight by its largest singular value, which power iteration estimates in training."""
    if dim is None:
        dim = default_dim(module)
    SpectralNorm.apply(module, name, n_power_iterations, dim, eps)
    return module


def default_dim(module: Any) -> int:
    """The output dimension: the second for transposed convolutions, else the first."""
    return 1 if isinstance(module, (_conv.ConvTranspose1d, _conv.ConvTranspose2d, _conv.ConvTranspose3d)) else 0


def remove_spectral_norm(module: Any, name: str = "weight") -> Any:
    """Undoes `spectral_norm`.

    >>> m = torch.nn.utils.remove_spectral_norm(torch.nn.utils.spectral_norm(torch.nn.Linear(2, 2)))
    >>> sorted(name for name, _ in m.named_parameters())
    ['bias', 'weight']
    """
    remove_computed(module, SpectralNorm, name, "spectral_norm")
    kinds = {
        "_state_dict_hooks": SpectralNormStateDictHook,
        "_load_state_dict_pre_hooks": SpectralNormLoadStateDictPreHook,
    }
    for table, kind in kinds.items():
        for key, _ in list(hooks_for(module, kind, name, table=table))[:1]:
            del getattr(module, table)[key]
    return module


make_modules(__name__)


_explain(globals())
