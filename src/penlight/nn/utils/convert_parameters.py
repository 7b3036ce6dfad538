"""Parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

import penlight
from penlight import Tensor
from penlight._common.docstrings import example


@example("torch.nn.utils.parameters_to_vector(torch.nn.Linear(2, 3).parameters()).shape", "torch.Size([9])")
def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All parameters flattened into one vector."""
    given = list(parameters)
    _check_param_devices(given)
    return penlight.cat([param.view(-1) for param in given])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Makes the parameters slices of a vector, in order.

    >>> m = torch.nn.Linear(2, 1)
    >>> torch.nn.utils.vector_to_parameters(torch.tensor([1.0, 2.0, 3.0]), m.parameters())
    >>> m.bias
    Parameter containing:
    tensor([3.], requires_grad=True)
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {penlight.typename(vec)}")
    given = list(parameters)
    _check_param_devices(given)
    start = 0
    for param in given:
        stop = start + param.numel()
        param.data = vec[start:stop].view_as(param).data
        start = stop


def _check_param_devices(parameters: list[Tensor]) -> None:
    if len({param.device for param in parameters}) > 1:
        raise TypeError("Found two parameters on different devices, this is currently not supported.")
