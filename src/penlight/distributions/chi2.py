"""The chi-squared distribution."""

from __future__ import annotations

from ..tensor import Tensor
from . import constraints
from .gamma import Gamma
from .utils import formula

__all__ = ["Chi2"]


class Chi2(Gamma):
    """Sums of `df` squared standard normal variables.

    >>> import penlight as torch
    >>> torch.distributions.Chi2(3.0).mean
    tensor(3.)
    """

    arg_constraints = {"df": constraints.positive}
    _batched = Gamma._batched

    def __init__(self, df: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    df = formula(lambda d: d.concentration * 2)
