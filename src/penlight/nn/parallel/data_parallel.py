"""DataParallel, which only runs its module without GPUs, and its component functions, for devices that do not exist here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penlight import Tensor
from penlight._common.arguments import explain as _explain
from penlight._common.docstrings import example
from penlight._common.module_table import make_modules
from penlight.nn.modules.module import Module

__all__ = ["DataParallel", "data_parallel"]


def _contains_tensor(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_contains_tensor(item) for pair in value.items() for item in pair)
    if isinstance(value, (list, tuple)):
        return any(_contains_tensor(item) for item in value)
    return isinstance(value, Tensor)


@example("torch.nn.parallel.scatter([1, 2], target_gpus=[])", "[]")
def scatter(inputs: Any, target_gpus: Sequence[Any], dim: int = 0) -> list[Any]:
    """The inputs split over the devices; raises for tensors, because there are no devices.

    Args:
        inputs: what to split: tensors, or lists and dicts of them.
        target_gpus: the devices.
        dim: the dimension to split.

    Returns:
        a list with the part for each device.
    """
    if _contains_tensor(inputs):
        raise RuntimeError(
            "Cannot scatter tensors to devices that are not available. There is no GPU here: "
            "use tensor.chunk(n) to cut a batch up."
        )
    return [inputs for _ in target_gpus]


def scatter_kwargs(
    inputs: tuple[Any, ...], kwargs: dict[str, Any] | None, target_gpus: Sequence[Any], dim: int = 0
) -> tuple[tuple[Any, ...], tuple[dict[str, Any], ...]]:
    """`scatter` for positional and keyword arguments.

    Args:
        inputs: the arguments
        kwargs: the named arguments
        target_gpus: the devices
        dim: the dimension to cut

    Returns:
        the arguments and the named arguments of each device

    >>> torch.nn.parallel.scatter_gather.scatter_kwargs((1,), {"k": 2}, [0])
    (((1,),), ({'k': 2},))
    """
    positional = scatter(inputs, target_gpus, dim) if inputs else []
    named = scatter(kwargs, target_gpus, dim) if kwargs else []
    count = max(len(positional), len(named))
    positional += [()] * (count - len(positional))
    named += [{}] * (count - len(named))
    return tuple(positional), tuple(named)


@example('torch.nn.parallel.gather([None], "cpu")')
def gather(outputs: Any, target_device: Any, dim: int = 0) -> Any:
    """Raises for tensors, as PyTorch does without GPUs; None stays None.

    Args:
        outputs: the output of each device.
        target_device: where the result would be.
        dim: the dimension to join.

    Returns:
        None
    """
    if _contains_tensor(outputs):
        raise AssertionError(
            "Gather function not implemented for CPU tensors. There is no GPU here: use torch.cat(outputs, dim)."
        )
    first = outputs[0]
    if first is None:
        return None
    raise TypeError(f"gather: expected tensors or containers of tensors, but got {type(first).__name__}")


@example("torch.nn.parallel.replicate(torch.nn.Linear(2, 1), devices=[])", "[]")
def replicate(network: Any, devices: Sequence[Any], detach: bool = False) -> list[Any]:
    """Raises, as PyTorch does without GPUs; for an empty list of devices there are no copies.

    Args:
        network: the module.
        devices: the devices.
        detach: whether the copies would be without gradients.

    Returns:
        a list of copies: without devices an empty one.
    """
    if not devices:
        return []
    raise AssertionError(
        "Broadcast function not implemented for CPU tensors. There is no GPU here: use copy.deepcopy(module)."
    )


def parallel_apply(modules: Sequence[Any], inputs: Sequence[Any], kwargs_tup: Sequence[dict[str, Any]] | None = None,
                   devices: Sequence[Any] | None = None) -> list[Any]:  # fmt: skip
    """Raises, as PyTorch does without GPUs.

    Args:
        modules: the modules.
        inputs: the inputs of each.
        kwargs_tup: keyword arguments of each.
        devices: the device of each.

    Returns:
        nothing: it raises.

    >>> torch.nn.parallel.parallel_apply([torch.nn.ReLU()], [torch.ones(1)])
    Traceback (most recent call last):
    RuntimeError: Cannot access accelerator device when none is available. There is no GPU here: call each module itself.
    """
    for name, given in (("inputs", inputs), ("kwargs_tup", kwargs_tup), ("devices", devices)):
        if given is not None and len(modules) != len(given):
            raise AssertionError(
                f"The number of modules {len(modules)} is not equal to the number of {name} {len(given)}"
            )
    raise RuntimeError(
        "Cannot access accelerator device when none is available. There is no GPU here: call each module itself."
    )


@example("torch.nn.DataParallel(torch.nn.ReLU())(torch.tensor([-1.0, 1.0]))", "tensor([0., 1.])")
class DataParallel(Module):
    """Runs its module, as PyTorch does without GPUs; `device_ids` and the rest are accepted."""

    def __init__(self, module: Module, device_ids: Sequence[Any] | None = None, output_device: Any = None,
                 dim: int = 0) -> None:  # fmt: skip
        super().__init__()
        self.module = module
        self.device_ids: list[Any] = []

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The module's output."""
        return self.module(*inputs, **kwargs)

    def replicate(self, module: Any, device_ids: Sequence[Any]) -> list[Any]:
        """See `parallel.replicate`."""
        return replicate(module, device_ids)

    def scatter(self, inputs: tuple[Any, ...], kwargs: dict[str, Any] | None, device_ids: Sequence[Any]) -> Any:
        """See `parallel.scatter`."""
        return scatter_kwargs(inputs, kwargs, device_ids)

    def parallel_apply(self, replicas: Sequence[Any], inputs: Sequence[Any], kwargs: Any) -> list[Any]:
        """See `parallel.parallel_apply`."""
        return parallel_apply(replicas, inputs, kwargs)

    def gather(self, outputs: Any, output_device: Any) -> Any:
        """See `parallel.gather`."""
        return gather(outputs, output_device)


def data_parallel(module: Module, inputs: Any, device_ids: Sequence[Any] | None = None, output_device: Any = None,
                  dim: int = 0, module_kwargs: Any = None) -> Any:  # fmt: skip
    """Raises, as PyTorch does without GPUs.

    Args:
        module: the module.
        inputs: its inputs.
        device_ids, output_device: the devices.
        dim: the dimension to split.
        module_kwargs: its keyword arguments.

    Returns:
        nothing: it raises.

    >>> torch.nn.parallel.data_parallel(torch.nn.ReLU(), torch.ones(1))
    Traceback (most recent call last):
    RuntimeError: device type could not be determined. There is no GPU here: call the module itself.
    """
    raise RuntimeError("device type could not be determined. There is no GPU here: call the module itself.")


make_modules(__name__)


_explain(globals())
