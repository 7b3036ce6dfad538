"""torch.linalg: linear algebra on matrices and batches of them, with derivatives. Functions are imported at first use.

>>> import penlight as torch
>>> A = torch.tensor([[4.0, 2.0], [2.0, 3.0]], requires_grad=True)
>>> torch.linalg.slogdet(A).logabsdet.backward()
>>> A.grad
tensor([[ 0.3750, -0.2500],
        [-0.2500,  0.5000]])
"""

from __future__ import annotations

import importlib as _importlib
from typing import TYPE_CHECKING, Any

from .ops.linalg.matmul import matmul as matmul
from .ops.machinery.guards import late as _late
from .ops.machinery.public_functions import public_functions as _public_functions
from .ops.reduce.norms import vector_norm as vector_norm

if TYPE_CHECKING:
    from .ops.linalg.common import LinAlgError as LinAlgError
    from .ops.linalg.factor import (
        cholesky as cholesky,
        cholesky_ex as cholesky_ex,
        ldl_factor as ldl_factor,
        ldl_factor_ex as ldl_factor_ex,
        ldl_solve as ldl_solve,
        lu as lu,
        lu_factor as lu_factor,
        lu_factor_ex as lu_factor_ex,
        lu_solve as lu_solve,
    )
    from .ops.linalg.functions import (
        matrix_exp as matrix_exp,
        matrix_power as matrix_power,
        multi_dot as multi_dot,
        vander as vander,
        vecdot as vecdot,
    )
    from .ops.linalg.least_squares import lstsq as lstsq, matrix_rank as matrix_rank, pinv as pinv
    from .ops.linalg.norms import cond as cond, matrix_norm as matrix_norm, norm as norm
    from .ops.linalg.orthogonal import householder_product as householder_product, qr as qr
    from .ops.linalg.solve import (
        det as det,
        inv as inv,
        inv_ex as inv_ex,
        slogdet as slogdet,
        solve as solve,
        solve_ex as solve_ex,
        solve_triangular as solve_triangular,
        tensorinv as tensorinv,
        tensorsolve as tensorsolve,
    )
    from .ops.linalg.spectral import (
        eig as eig,
        eigh as eigh,
        eigvals as eigvals,
        eigvalsh as eigvalsh,
        svd as svd,
        svdvals as svdvals,
    )
    from .tensor import Tensor

_TABLES = {
    "common": "LinAlgError",
    "factor": "cholesky cholesky_ex ldl_factor ldl_factor_ex ldl_solve lu lu_factor lu_factor_ex lu_solve",
    "functions": "matrix_exp matrix_power multi_dot vander vecdot",
    "least_squares": "lstsq matrix_rank pinv",
    "norms": "cond matrix_norm norm",
    "orthogonal": "householder_product qr",
    "solve": "det inv inv_ex slogdet solve solve_ex solve_triangular tensorinv tensorsolve",
    "spectral": "eig eigh eigvals eigvalsh svd svdvals",
}
_WHERE = {name: table for table, names in _TABLES.items() for name in names.split()}

__all__ = sorted([*_WHERE, "cross", "diagonal", "matmul", "vector_norm"])


_linalg_cross = _late("ops.linalg.products", "linalg_cross")


def cross(input: Tensor, other: Tensor, *, dim: int = -1, out: Tensor | None = None) -> Tensor:
    """The cross product of vectors of length 3 along a dimension, broadcasting.

    >>> torch.linalg.cross(torch.tensor([1.0, 0.0, 0.0]), torch.tensor([0.0, 1.0, 0.0]))
    tensor([0., 0., 1.])
    """
    return _linalg_cross(input, other, dim, out)


def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonal of the last two dimensions (or of others), as the last dimension; a view.

    >>> torch.linalg.diagonal(torch.eye(2))
    tensor([1., 1.])
    """
    return A.diagonal(offset, dim1, dim2)


globals().update(_public_functions(globals(), "linalg_", __name__))


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'torch.linalg' has no attribute '{name}'")
    globals()[name] = getattr(_importlib.import_module(f".ops.linalg.{_WHERE[name]}", __package__), name)
    globals().update(_public_functions({name: globals()[name]}, "linalg_", __name__))
    return globals()[name]


def __dir__() -> list[str]:
    return __all__
