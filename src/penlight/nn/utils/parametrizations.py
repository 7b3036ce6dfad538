"""Ready-made parametrisations: orthogonal, weight_norm, spectral_norm."""

from __future__ import annotations

from enum import Enum, auto
from typing import Any

import penlight
from penlight import Tensor
from penlight._common.arguments import explain as _explain
from penlight.nn import functional as F
from penlight.nn.modules.module import Module

from . import parametrize
from ._norm_hooks import default_dim, norm_except_dim, weight_from

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


class _OrthMaps(Enum):
    matrix_exp = auto()
    cayley = auto()
    householder = auto()


def _is_orthogonal(q: Tensor) -> bool:
    rows, columns = q.size(-2), q.size(-1)
    tolerance = 10.0 * rows * penlight.finfo(q.dtype).eps
    return penlight.allclose(q.mH @ q, penlight.eye(columns, dtype=q.dtype), atol=tolerance)


def _make_orthogonal(a: Tensor) -> Tensor:
    """The orthogonal factor of a tall matrix, with signs chosen to stay near the matrix if that is orthogonal."""
    q, r = penlight.linalg.qr(a)
    return q * r.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


class _Orthogonal(Module):
    """A map onto orthogonal matrices; with a base, onto the base times matrices near the identity."""

    base: Tensor

    def __init__(self, weight: Tensor, orthogonal_map: _OrthMaps, *, use_trivialization: bool = True) -> None:
        super().__init__()
        self.shape, self.orthogonal_map = weight.shape, orthogonal_map
        if orthogonal_map == _OrthMaps.householder and weight.is_complex():
            raise ValueError("The householder parametrization does not support complex tensors.")
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        """The orthogonal matrix for an unconstrained one."""
        wide = X.size(-2) < X.size(-1)
        x = X.mT if wide else X
        q = self._householder(x) if self.orthogonal_map == _OrthMaps.householder else self._from_skew(x)
        if hasattr(self, "base"):
            q = self.base @ q
        return q.mT if wide else q

    def _from_skew(self, x: Tensor) -> Tensor:
        rows, columns = x.size(-2), x.size(-1)
        x = x.tril()
        if rows != columns:
            fill = x.new_zeros(rows, rows - columns).expand(*x.shape[:-2], -1, -1)
            x = penlight.cat([x, fill], dim=-1)
        skew = x - x.mH
        if self.orthogonal_map == _OrthMaps.matrix_exp:
            q = penlight.linalg.matrix_exp(skew)
        else:
            eye = penlight.eye(rows, dtype=skew.dtype)
            q = penlight.linalg.solve(penlight.add(eye, skew, alpha=-0.5), penlight.add(eye, skew, alpha=0.5))
        return q if rows == columns else q[..., :columns]

    def _householder(self, x: Tensor) -> Tensor:
        below = x.tril(diagonal=-1)
        tau = 2.0 / (1.0 + (below * below).sum(dim=-2))
        q = penlight.linalg.householder_product(below, tau)
        # The diagonal of x is all ±1 and holds signs.
        return q * x.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)

    def right_inverse(self, Q: Tensor) -> Tensor:
        """The unconstrained tensor whose image is Q; if Q is not orthogonal, it is orthogonalised first."""
        if Q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {Q.shape}."
            )
        with penlight.no_grad():
            wide = Q.size(-2) < Q.size(-1)
            q = Q.mT if wide else Q
            if not hasattr(self, "base"):
                stored = self._inverse_without_base(q)
                return stored.mT if wide else stored
            self.base = self._new_base(q)
            # Minus the identity in the unconstrained space represents the identity, so that the result is the base.
            stored = penlight.zeros_like(Q)
            stored.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
            return stored

    def _inverse_without_base(self, q: Tensor) -> Tensor:
        if self.orthogonal_map != _OrthMaps.householder:
            raise NotImplementedError(
                "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                "use_trivialization=False."
            )
        a, tau = penlight.geqrf(q)
        diagonal = a.diagonal(dim1=-2, dim2=-1)
        diagonal.sign_()
        # An omitted reflection has no sign.
        diagonal[tau == 0.0] *= -1
        return a

    def _new_base(self, q: Tensor) -> Tensor:
        rows, columns = q.size(-2), q.size(-1)
        if rows == columns:
            return q.clone() if _is_orthogonal(q) else _make_orthogonal(q)
        fill = penlight.randn(*q.shape[:-2], rows, rows - columns, dtype=q.dtype)
        return _make_orthogonal(penlight.cat([q, fill], dim=-1))


def orthogonal(
    module: Any, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Any:
    """Keeps a matrix, or each of a batch of matrices, orthogonal (or semi-orthogonal, if it is not square).

    `orthogonal_map` is "matrix_exp", "cayley" or "householder"; the default is the first for square matrices, the last for others.

    >>> m = torch.nn.utils.parametrizations.orthogonal(torch.nn.Linear(4, 4))
    >>> torch.allclose(m.weight @ m.weight.T, torch.eye(4), atol=1e-5)
    True
    """
    weight = _tensor_of(module, name)
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        square = weight.size(-2) == weight.size(-1)
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in _OrthMaps.__members__:
        names = ", ".join(f'"{known}"' for known in _OrthMaps.__members__)
        raise ValueError(f"orthogonal_map has to be one of {names}. Got: {orthogonal_map}")
    onto = _Orthogonal(weight, _OrthMaps[orthogonal_map], use_trivialization=use_trivialization)
    return parametrize.register_parametrization(module, name, onto, unsafe=True)


def _tensor_of(module: Any, name: str) -> Tensor:
    value = getattr(module, name, None)
    if not isinstance(value, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return value


class _WeightNorm(Module):
    """A weight as a norm and a direction."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        """The weight."""
        return weight_from(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """The norm and the direction of a weight."""
        return norm_except_dim(weight, self.dim), weight


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Splits a weight into its norm (`original0`) and direction (`original1`) along `dim`; None: one norm for all.

    >>> m = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(20, 40))
    >>> m.parametrizations.weight.original0.size()
    torch.Size([40, 1])
    """
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def rename_old_keys(state_dict: Any, prefix: str, *rest: Any) -> None:
        old = [f"{prefix}{name}_g", f"{prefix}{name}_v"]
        if all(key in state_dict for key in old):
            for i, key in enumerate(old):
                state_dict[f"{prefix}parametrizations.{name}.original{i}"] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(rename_old_keys)
    return module


class _SpectralNorm(Module):
    """A weight divided by an estimate of its largest singular value."""

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        ndim = weight.ndim
        if not -ndim <= dim < ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim = dim % ndim
        self.eps = eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            with penlight.no_grad():
                matrix = self._reshape_weight_to_matrix(weight)
                height, width = matrix.size()
                u = matrix.new_empty(height).normal_(0, 1)
                v = matrix.new_empty(width).normal_(0, 1)
                self.register_buffer("_u", F.normalize(u, dim=0, eps=eps))
                self.register_buffer("_v", F.normalize(v, dim=0, eps=eps))
                self._power_method(matrix, 15)

    def _reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        if self.dim != 0:
            weight = weight.permute(self.dim, *(d for d in range(weight.dim()) if d != self.dim))
        return weight.flatten(1)

    def _power_method(self, weight_mat: Tensor, n_power_iterations: int) -> None:
        with penlight.no_grad():
            for _ in range(n_power_iterations):
                self._u.copy_(F.normalize(penlight.mv(weight_mat, self._v), dim=0, eps=self.eps))
                self._v.copy_(F.normalize(penlight.mv(weight_mat.mH, self._u), dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        """The normalised weight; training first improves the estimate."""
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._reshape_weight_to_matrix(weight)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        # Copies, so that a second forward can change the buffers before the backward of the first.
        u, v = self._u.clone(), self._v.clone()
        return weight / penlight.vdot(u, penlight.mv(matrix, v))

    def right_inverse(self, value: Tensor) -> Tensor:
        """The value itself: it will be normalised again."""
        return value


def spectral_norm(
    module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Any:
    """Divides a weight by its largest singular value, which power iteration estimates in training.

    >>> m = torch.nn.utils.parametrizations.spectral_norm(torch.nn.Linear(20, 40))
    >>> bool(torch.linalg.matrix_norm(m.weight, 2) < 1.5)
    True
    """
    along = default_dim(module) if dim is None else dim
    parametrization = _SpectralNorm(_tensor_of(module, name), n_power_iterations, along, eps)
    return parametrize.register_parametrization(module, name, parametrization)


_explain(globals())
