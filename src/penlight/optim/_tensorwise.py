"""Optimisers that update tensors as units: Adafactor by rows and columns, Muon by matrices, SparseAdam by the rows in a gradient."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import penlight
from penlight import Tensor
from penlight._common.docstrings import example
from penlight._common.module_table import make_modules
from penlight.optim._declared import Check, Declared, Group, State, added, need, not_negative, usual
from penlight.optim.optimizer import ParamsT, _get_scalar_dtype, _to_scalar


def _negative_eps(eps: tuple[float | None, float]) -> str | None:
    wrong = [i for i, value in enumerate(eps, 1) if value is not None and not value >= 0.0]
    return f"epsilon{wrong[0]} should be >= 0 but is: {eps[wrong[0] - 1]}" if wrong else None


class Adafactor(Declared):
    """Adam's second moment in little memory: for a matrix only the means over its rows and columns are stored.

    The step is relative to the size of the parameter (at least ``eps[1]``), its root mean square is clipped to ``d``, and
    the rate is at most ``1 / sqrt(t)``.

    >>> w = torch.ones(2, 2, requires_grad=True)
    >>> opt = torch.optim.Adafactor([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> opt.step()
    >>> w
    tensor([[0.9000, 0.9000],
            [0.9000, 0.9000]], requires_grad=True)
    """

    _options = "lr beta2_decay eps d weight_decay foreach maximize"
    _checks: ClassVar[dict[str, Check]] = {
        "lr": not_negative("Learning rate should be >= 0 but is: {}"),
        "beta2_decay": need(lambda decay: decay <= 0.0, "beta2_decay should be <= 0 but is: {}"),
        "eps": _negative_eps,
        "d": need(lambda d: d >= 1.0, "Clipping threshold d should be >= 1 but is: {}"),
        "weight_decay": not_negative("weight_decay should be >= 0 but is: {}"),
    }
    _added = added("foreach")

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-2, beta2_decay: float = -0.8,
                 eps: tuple[float | None, float] = (None, 1e-3), d: float = 1.0, weight_decay: float = 0.0, *,
                 foreach: bool | None = None, maximize: bool = False) -> None: ...  # fmt: skip

    def _check(self, group: Group, params: list[Tensor], grads: list[Tensor]) -> None:
        if getattr(self, "grad_scale", None) is not None or getattr(self, "found_inf", None) is not None:
            raise AssertionError("Grad scaling should occur outside of optimizer.step()")
        self._refuse_complex_and_sparse(params, grads)

    def _update(self, index: int, group: Group, params: list[Tensor], grads: list[Tensor]) -> None:
        # As in PyTorch, the first parameter's dtype determines the default for the full group.
        eps1 = penlight.finfo(params[0].dtype).eps if group["eps"][0] is None else group["eps"][0]
        for p, grad in zip(params, grads, strict=True):
            state = self.state[p]
            if not state:
                self._init_state(grad, state)
            self._single(p, -grad if group["maximize"] else grad, state, group, eps1)

    @staticmethod
    def _scalars(group: Group) -> dict[str, float]:
        return {"step": 0.0}

    @staticmethod
    def _init_state(grad: Tensor, state: State) -> None:
        state["step"] = penlight.tensor(0.0, dtype=_get_scalar_dtype())
        if grad.dim() > 1:
            *front, rows, columns = grad.shape
            state["row_var"] = grad.new_zeros([*front, rows, 1])
            state["col_var"] = grad.new_zeros([*front, 1, columns])
        else:
            state["variance"] = penlight.zeros_like(grad, memory_format=penlight.preserve_format)

    @staticmethod
    def _single(p: Tensor, grad: Tensor, state: State, group: Group, eps1: float) -> None:
        lr, (_, eps2) = _to_scalar(group["lr"]), group["eps"]
        step_count = state["step"]
        step_count += 1
        step = step_count.item()
        rate = min(lr, 1 / (step**0.5))
        size = max(eps2, p.norm(2).item() / (p.numel() ** 0.5)) * rate
        if group["weight_decay"] != 0:
            p.mul_(1 - lr * group["weight_decay"])
        variance = _variance(grad, state, step ** group["beta2_decay"], eps1)
        # The bound is squared because the root follows.
        update = variance.clamp_(min=eps1 * eps1).rsqrt_()
        update.mul_(grad)
        clip = max(1.0, update.norm(2).item() / ((update.numel() ** 0.5) * group["d"]))
        p.add_(update, alpha=-size / clip)


def _variance(grad: Tensor, state: State, weight: float, eps1: float) -> Tensor:
    """Update the second moment and return the estimate, which the caller may overwrite."""
    if grad.dim() <= 1:
        return state["variance"].lerp_(grad * grad, weight).clone()
    rows, columns = state["row_var"], state["col_var"]
    rows.lerp_(penlight.norm(grad, dim=-1, keepdim=True).square_().div_(grad.size(-1)), weight)
    columns.lerp_(penlight.norm(grad, dim=-2, keepdim=True).square_().div_(grad.size(-2)), weight)
    return (rows @ columns).div_(rows.mean(dim=-2, keepdim=True).clamp_(min=eps1))


EPS = 1e-7
NS_COEFFICIENTS = (3.4445, -4.7750, 2.0315)
NS_STEPS = 5


class Muon(Declared):
    """Momentum whose step is replaced by (nearly) the closest orthogonal matrix; for the 2-D weights of hidden layers.

    The orthogonal matrix comes from ``ns_steps`` Newton-Schulz iterations in bfloat16. Other parameters need another
    optimiser, such as :class:`AdamW`.

    >>> w = torch.eye(2, requires_grad=True)
    >>> opt = torch.optim.Muon([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> opt.step()
    >>> w.shape
    torch.Size([2, 2])
    """

    _options = "lr weight_decay momentum nesterov ns_coefficients eps ns_steps adjust_lr_fn"
    _checks: ClassVar[dict[str, Check]] = {
        "lr": not_negative("Learning rate should be >= 0 but is: {}"),
        "momentum": not_negative("momentum should be >= 0 but is: {}"),
        "weight_decay": not_negative("weight decay should be >= 0 but is: {}"),
        "adjust_lr_fn": need(
            (None, "original", "match_rms_adamw").__contains__, "Adjust learning rate function {} is not supported"
        ),
    }

    def __init__(self, params: ParamsT, lr: float = 1e-3, weight_decay: float = 0.1, momentum: float = 0.95,
                 nesterov: bool = True, ns_coefficients: tuple[float, float, float] = NS_COEFFICIENTS, eps: float = EPS,
                 ns_steps: int = NS_STEPS, adjust_lr_fn: str | None = None) -> None: ...  # fmt: skip

    def _check_groups(self) -> None:
        for p in (p for group in self.param_groups for p in group["params"]):
            if p.ndim != 2:
                raise ValueError(f"Muon only supports 2D parameters whereas we found a parameter with size: {p.size()}")

    def _check(self, group: Group, params: list[Tensor], grads: list[Tensor]) -> None:
        self._refuse_complex_and_sparse(params, grads)

    def _update(self, index: int, group: Group, params: list[Tensor], grads: list[Tensor]) -> None:
        for p, grad in zip(params, grads, strict=True):
            state = self.state[p]
            if "momentum_buffer" not in state:
                state["momentum_buffer"] = penlight.zeros_like(grad, memory_format=penlight.preserve_format)
            self._single(p, grad, state, group)

    @staticmethod
    def _single(p: Tensor, grad: Tensor, state: State, group: Group) -> None:
        if grad.ndim != 2:
            raise ValueError("Param gradient must be a 2D matrix")
        lr, momentum, buffer = _to_scalar(group["lr"]), group["momentum"], state["momentum_buffer"]
        buffer.lerp_(grad, 1 - momentum)
        update = grad.lerp(buffer, momentum) if group["nesterov"] else buffer
        update = _orthogonal(update, group["ns_coefficients"], group["ns_steps"], group["eps"])
        p.mul_(1 - lr * group["weight_decay"])
        p.add_(update, alpha=-_adjusted(lr, group["adjust_lr_fn"], p.shape))


def _orthogonal(grad: Tensor, coefficients: Sequence[float], steps: int, eps: float) -> Tensor:
    """Approximately U V' for the singular value decomposition U S V' of the input, by a quintic Newton-Schulz iteration.

    The coefficients favour a steep slope at zero over convergence: the singular values end between about 0.5 and 1.5, which works as well
    as exactly 1 and takes few steps.
    """
    if steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients
    x = grad.bfloat16()
    tall = grad.size(0) > grad.size(1)
    if tall:
        x = x.t()
    # The spectral norm is at most 1 after this. In place as in PyTorch, where it also changes a bfloat16 buffer.
    x.div_(x.norm().clamp(min=eps))
    for _ in range(steps):
        gram = penlight.mm(x, x.t())
        x = penlight.addmm(x, penlight.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.t() if tall else x


def _adjusted(lr: Any, how: str | None, shape: Sequence[int]) -> Any:
    """The learning rate for a matrix of this shape, scaled so that updates of all shapes have comparable size."""
    rows, columns = shape[:2]
    if how == "match_rms_adamw":
        return lr * (0.2 * math.sqrt(max(rows, columns)))
    return lr * math.sqrt(max(1, rows / columns))


@example('torch.optim.SparseAdam([torch.zeros(3, requires_grad=True)], lr=0.1).defaults["lr"]', "0.1")
class SparseAdam(Declared):
    """Adam that updates only the rows present in a sparse gradient, such as that of ``nn.Embedding(sparse=True)``.

    Parameters and moments are dense. A dense gradient is refused: use :class:`Adam`.
    """

    _options = "lr betas eps maximize"
    _checks: ClassVar[dict[str, Check]] = {
        "lr": need(lambda lr: lr > 0.0, "Invalid learning rate: {}"),
        "eps": need(lambda eps: eps > 0.0, "Invalid epsilon value: {}"),
        **usual("betas"),
    }

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, maximize: bool = False) -> None: ...  # fmt: skip

    def _check_groups(self) -> None:
        where = [([i, j], p) for i, group in enumerate(self.param_groups) for j, p in enumerate(group["params"])]
        if sparse := [indices for indices, p in where if p.is_sparse]:
            raise ValueError(f"Sparse params at indices {sparse}: SparseAdam requires dense parameter tensors")
        if complex_ := [indices for indices, p in where if p.is_complex()]:
            raise ValueError(f"Complex params at indices {complex_}: SparseAdam does not support complex parameters")

    def _check(self, group: Group, params: list[Tensor], grads: list[Tensor]) -> None:
        if not all(grad.is_sparse for grad in grads):
            raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")

    def _update(self, index: int, group: Group, params: list[Tensor], grads: list[Tensor]) -> None:
        for p, grad in zip(params, grads, strict=True):
            state = self.state[p]
            if not state:
                state["step"] = 0
                for name in ("exp_avg", "exp_avg_sq"):
                    state[name] = penlight.zeros_like(p, memory_format=penlight.preserve_format)
            state["step"] += 1
            self._single(p, -grad if group.get("maximize", False) else grad, state, group)

    @staticmethod
    def _single(p: Tensor, grad: Any, state: State, group: Group) -> None:
        grad = grad.coalesce()  # the update is not linear, so every index must be unique
        where, values = tuple(grad._indices()), grad._values()
        if values.numel() == 0:
            return
        (beta1, beta2), step = group["betas"], state["step"]
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        old_mean, old_square = mean[where], square[where]
        mean[where] = new_mean = values.sub(old_mean).mul_(1 - beta1).add_(old_mean)
        square[where] = new_square = values.pow(2).sub_(old_square).mul_(1 - beta2).add_(old_square)
        step_size = _to_scalar(group["lr"]) * math.sqrt(1 - beta2**step) / (1 - beta1**step)
        p[where] += -step_size * new_mean.div(new_square.sqrt().add_(group["eps"]))


make_modules(__name__)
