"""The elementwise optimisers: an update rule each, with its options and its state.

See `_declared.py` for the parts of a rule.
"""

from __future__ import annotations

from typing import Any, ClassVar

import penlight
from penlight import Tensor
from penlight._common.module_table import make_modules
from penlight.optim import _raw
from penlight.optim._declared import Check, Elementwise, Group, State, added, before_formula, decay_of, need, usual
from penlight.optim._vectors import Weight, number_of
from penlight.optim.optimizer import ParamsT, _get_value, _to_scalar


class SGD(Elementwise):
    """Stochastic gradient descent: ``p -= lr * buf`` with ``buf = momentum * buf + (1 - dampening) * grad``.

    The buffer starts as the first gradient, undampened. With ``nesterov`` the step is ``grad + momentum * buf``.

    >>> w = torch.tensor([1.0, -2.0], requires_grad=True)
    >>> opt = torch.optim.SGD([w], lr=0.1, momentum=0.9)
    >>> for _ in range(2):
    ...     opt.zero_grad()
    ...     (w * w).sum().backward()
    ...     opt.step()
    >>> w
    tensor([ 0.4600, -0.9200], requires_grad=True)
    """

    _options = "lr momentum dampening weight_decay nesterov maximize foreach differentiable fused"
    _checks: ClassVar[dict[str, Check]] = {
        "lr": need(lambda lr: not lr < 0.0, "Invalid learning rate: {}"),
        "momentum": need(lambda momentum: not momentum < 0.0, "Invalid momentum value: {}"),
        "weight_decay": need(lambda decay: not decay < 0.0, "Invalid weight_decay value: {}"),
    }
    _added = added("nesterov maximize foreach differentiable") | {"fused": False}
    _complex_as_real = False  # it is linear, so complex numbers need no special treatment
    _differentiates_lr = True

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-3, momentum: float = 0, dampening: float = 0,
                 weight_decay: float | Tensor = 0, nesterov: bool = False, *, maximize: bool = False,
                 foreach: bool | None = None, differentiable: bool = False,
                 fused: bool | None = None) -> None: ...  # fmt: skip

    def _declared(self, given: dict[str, Any]) -> Group:
        options = super()._declared(given)
        if given["nesterov"] and (given["momentum"] <= 0 or given["dampening"] != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        return options

    @staticmethod
    def _scalars(group: Group) -> dict[str, float]:
        return {}

    @staticmethod
    def _buffers(group: Group) -> dict[str, float]:
        return {"momentum_buffer": 0.0} if group["momentum"] != 0 else {}

    @staticmethod
    def _numbers(group: Group, step: Any, scalars: State) -> tuple[Any, ...]:
        return -group["lr"], group["momentum"], 1 - group["dampening"], group["nesterov"]

    @staticmethod
    def _formula(p: Any, grad: Any, numbers: Any, buffer: Any = None) -> None:
        _, momentum, take, _ = numbers
        if buffer is not None:
            buffer.mul_(momentum).add_(grad, alpha=take)
        _move(p, grad, numbers, buffer)

    def _update(self, index: int, group: Group, params: list[Tensor], grads: list[Tensor]) -> None:
        if not self._unscale(group, grads):
            return
        if group["momentum"] == 0:
            # Without momentum there is no state, and `self.state` stays empty.
            self._run(index, group, params, grads, [{}] * len(params))
            return
        states = [self.state[p] for p in params]
        new = [i for i, state in enumerate(states) if state.get("momentum_buffer") is None]
        if new:
            old = sorted({*range(len(params))}.difference(new))
            self._first(group, [params[i] for i in new], [grads[i] for i in new], [states[i] for i in new])
            params, grads, states = ([row[i] for i in old] for row in (params, grads, states))
        if params:
            self._run(index, group, params, grads, states)

    def _first(self, group: Group, params: list[Tensor], grads: list[Tensor], states: list[State]) -> None:
        """The first step of parameters: the momentum buffer is the undampened gradient."""
        numbers = self._numbers({**group, "lr": _to_scalar(group["lr"])}, None, {})
        for p, grad, state in zip(params, grads, states, strict=True):
            grad = before_formula(p, grad, *decay_of(group))
            state["momentum_buffer"] = grad.detach().clone()
            _move(p, grad, numbers, state["momentum_buffer"])
        if group["differentiable"] or any(grad.is_sparse for grad in grads):
            return
        for state, buffer in zip(states, _raw.allocate(params, 0.0), strict=True):
            state["momentum_buffer"] = buffer.copy_(state["momentum_buffer"])

    def _check(self, group: Group, params: list[Tensor], grads: list[Tensor]) -> None:
        if group["fused"]:
            super()._check({**group, "differentiable": False}, params, grads)

    def _check_sparse(self, group: Group) -> None:
        raise RuntimeError("`_fused_sgd` does not support sparse gradients")


def _move(p: Any, grad: Any, numbers: Any, buffer: Any) -> None:
    rate, momentum, _, nesterov = numbers
    if buffer is not None:
        grad = grad.add(buffer, alpha=momentum) if nesterov else buffer
    if isinstance(rate, penlight.Tensor) and rate.requires_grad:
        p.addcmul_(grad, rate)
    else:
        p.add_(grad, alpha=rate)


class Adam(Elementwise, example=("lr=0.1", "[ 0.9000, -1.9000]")):
    """Adam: steps along the running mean of the gradient, divided by the root of the running mean of its square.

    Both means are corrected for their start at zero. ``amsgrad`` divides by the largest second moment so far;
    ``decoupled_weight_decay`` shrinks the parameter itself instead of adding to the gradient (AdamW).
    """

    _options = (
        "lr betas eps weight_decay amsgrad maximize foreach capturable differentiable fused decoupled_weight_decay"
    )
    _checks = usual("lr", "eps", "betas", "weight_decay")
    _added = added("amsgrad maximize foreach capturable differentiable decoupled_weight_decay fused")
    _needs_dense = "Adam does not support sparse gradients, please consider SparseAdam instead"

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-3,
                 betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0, amsgrad: bool = False, *, foreach: bool | None = None, maximize: bool = False,
                 capturable: bool = False, differentiable: bool = False, fused: bool | None = None,
                 decoupled_weight_decay: bool = False) -> None: ...  # fmt: skip

    def _declared(self, given: dict[str, Any]) -> Group:
        # PyTorch's foreach form does not accept tensors as options.
        numbers_only = given["foreach"] and not given["capturable"]
        if numbers_only and isinstance(given["lr"], penlight.Tensor):
            raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
        options = super()._declared(given)
        betas = given["betas"][:2]
        if not any(all(isinstance(beta, kind) for beta in betas) for kind in (float, penlight.Tensor)):
            raise ValueError("betas must be either both floats or both Tensors")
        for i, beta in enumerate(betas):
            if isinstance(beta, penlight.Tensor) and numbers_only:
                raise ValueError(f"betas[{i}] as a Tensor is not supported for capturable=False and foreach=True")
            if isinstance(beta, penlight.Tensor) and beta.numel() != 1:
                raise ValueError(f"Tensor betas[{i}] must be 1-element")
        return {**options, "betas": tuple(map(_to_scalar, given["betas"]))}

    def _check(self, group: Group, params: list[Tensor], grads: list[Tensor]) -> None:
        super()._check(group, params, grads)
        if group["foreach"] and isinstance(group["lr"], penlight.Tensor):
            raise RuntimeError("lr as a Tensor is not supported for capturable=False and foreach=True")
        if group["differentiable"]:
            states = (self.state[p] for p in params if self.state[p])
            if any(state["step"].requires_grad for state in states):
                raise RuntimeError("`requires_grad` is not supported for `step` in differentiable mode")

    @staticmethod
    def _buffers(group: Group) -> dict[str, float]:
        names = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq") if group["amsgrad"] else ("exp_avg", "exp_avg_sq")
        return dict.fromkeys(names, 0.0)

    @staticmethod
    def _numbers(group: Group, step: Any, scalars: State) -> tuple[Any, ...]:
        beta1, beta2 = group["betas"]
        step_size, correction = -group["lr"] / (1 - beta1**step), (1 - beta2**step) ** 0.5
        return Weight(1 - beta1), beta2, 1 - beta2, step_size, correction, group["eps"]

    @staticmethod
    def _formula(p: Any, grad: Any, numbers: Any, mean: Any, square: Any, largest: Any = None) -> None:
        pace, keep, take, step_size, correction, eps = numbers
        mean.lerp_(grad, pace)
        square.mul_(keep).addcmul_(grad, grad, value=take)
        if largest is not None:
            square = largest.clamp_(square)
        p.addcdiv_(mean, square.sqrt().div(correction).add_(eps), value=step_size)

    @classmethod
    def _on_tensors(cls, p: Tensor, grad: Tensor, state: State, group: Group) -> None:
        beta1, beta2 = betas = tuple(map(_to_scalar, group["betas"]))
        if group["differentiable"]:
            _differentiable_step(p, grad, state, group, beta1, beta2)
        elif isinstance(beta1, penlight.Tensor):
            numbers = (float(n) for n in cls._numbers({**group, "betas": betas}, state["step"].item(), state))
            pace = _get_value(1 - beta1.to(p.dtype))
            cls._formula(p, grad, (pace, *[*numbers][1:]), *[state[name] for name in cls._buffers(group)])
        else:
            super()._on_tensors(p, grad, state, group)


def _differentiable_step(p: Tensor, grad: Tensor, state: State, group: Group, beta1: Any, beta2: Any) -> None:
    """The formula in ops that autograd can differentiate by the learning rate and the betas."""
    mean, square, step = state["exp_avg"], state["exp_avg_sq"], state["step"]
    mean.lerp_(grad, 1 - (beta1.to(p.dtype) if isinstance(beta1, penlight.Tensor) else beta1))
    if isinstance(beta2, penlight.Tensor) and beta2.requires_grad:
        square.lerp_(grad.square(), 1 - beta2)
    else:
        square.mul_(beta2).addcmul_(grad, grad, value=_get_value(1 - beta2))
    # The next step changes `step` in place, so autograd saves a copy.
    step_size = -(group["lr"] / (1 - beta1 ** step.clone()))
    correction = (1 - beta2 ** step.clone()).sqrt()
    if group["amsgrad"]:
        largest = state["max_exp_avg_sq"]
        square = largest.copy_(penlight.maximum(largest.clone(), square))
    denominator = (square.sqrt() / (correction * step_size)).add_(group["eps"] / step_size)
    p.addcdiv_(mean.clone(), denominator)


class AdamW(Adam, example=("lr=0.1, weight_decay=0.5", "[ 0.8500, -1.8000]")):
    """Adam whose weight decay shrinks the parameter, ``p *= 1 - lr * weight_decay``, without affecting the moments."""

    _options = Adam._options

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-3,
                 betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 1e-2, amsgrad: bool = False, *, maximize: bool = False,
                 foreach: bool | None = None, capturable: bool = False, differentiable: bool = False,
                 fused: bool | None = None) -> None: ...  # fmt: skip

    def _declared(self, given: dict[str, Any]) -> Group:
        return super()._declared({"decoupled_weight_decay": True, **given})

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:  # also for files from before the option existed
            group["decoupled_weight_decay"] = True


class Adamax(Elementwise, example=("lr=0.1", "[ 0.9000, -1.9000]")):
    """Adam that divides by a decaying maximum of the gradient's magnitude."""

    _options = "lr betas eps weight_decay foreach maximize differentiable capturable"
    _state = "exp_avg exp_inf"
    _checks = usual("lr", "eps", "betas", "weight_decay")

    def __init__(self, params: ParamsT, lr: float | Tensor = 2e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0, foreach: bool | None = None, *, maximize: bool = False,
                 differentiable: bool = False, capturable: bool = False) -> None: ...  # fmt: skip

    @staticmethod
    def _numbers(group: Group, step: Any, scalars: State) -> tuple[Any, ...]:
        beta1, beta2 = group["betas"]
        return Weight(1 - beta1), beta2, group["eps"], -group["lr"] / (1 - beta1**step)

    @staticmethod
    def _formula(p: Any, grad: Any, numbers: Any, mean: Any, largest: Any) -> None:
        pace, beta2, eps, step_size = numbers
        mean.lerp_(grad, pace)
        largest.copy_(largest.mul(beta2).maximum(grad.abs().add_(eps)))
        p.addcdiv_(mean, largest, value=step_size)


class NAdam(Elementwise, example=("lr=0.1", "[ 0.8944, -1.8944]")):
    """Adam with Nesterov momentum, whose coefficient grows from half of ``betas[0]`` to all of it."""

    _options = (
        "lr betas eps weight_decay momentum_decay decoupled_weight_decay maximize foreach capturable differentiable"
    )
    _state = "exp_avg exp_avg_sq"
    _checks = usual("lr", "eps", "betas", "weight_decay", "momentum_decay")
    _added = added("maximize foreach capturable differentiable decoupled_weight_decay")
    _captured = ("params, mu_products and state_steps", "params, mu_products, and state_steps")
    _differentiates_lr = True

    def __init__(self, params: ParamsT, lr: float | Tensor = 2e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0, momentum_decay: float = 4e-3,
                 decoupled_weight_decay: bool = False, *, foreach: bool | None = None, maximize: bool = False,
                 capturable: bool = False, differentiable: bool = False) -> None: ...  # fmt: skip

    @staticmethod
    def _scalars(group: Group) -> dict[str, float]:
        return {"step": 0.0, "mu_product": 1.0}

    @staticmethod
    def _numbers(group: Group, step: Any, scalars: State) -> tuple[Any, ...]:
        (beta1, beta2), lr, decay = group["betas"], group["lr"], group["momentum_decay"]
        mu, mu_next = (beta1 * (1.0 - 0.5 * 0.96 ** (count * decay)) for count in (step, step + 1))
        product = scalars["mu_product"]
        product *= mu
        done = product if group["differentiable"] else number_of(product)
        of_grad, of_mean = -lr * (1.0 - mu) / (1.0 - done), -lr * mu_next / (1.0 - done * mu_next)
        return Weight(1 - beta1), beta2, 1 - beta2, 1 - beta2**step, group["eps"], of_grad, of_mean

    @staticmethod
    def _formula(p: Any, grad: Any, numbers: Any, mean: Any, square: Any) -> None:
        pace, keep, take, correction, eps, of_grad, of_mean = numbers
        mean.lerp_(grad, pace)
        square.mul_(keep).addcmul_(grad, grad, value=take)
        denominator = square.div(correction).sqrt().add(eps)
        for source, weight in ((grad, of_grad), (mean, of_mean)):
            if isinstance(weight, penlight.Tensor):
                p.addcdiv_(source * weight, denominator)
            else:
                p.addcdiv_(source, denominator, value=weight)


class RAdam(Elementwise, example=("lr=0.1", "[ 0.8000, -1.6000]")):
    """Adam that divides by the second moment only once enough gradients were seen, with a variance rectification."""

    _options = "lr betas eps weight_decay maximize foreach capturable decoupled_weight_decay differentiable"
    _state = "exp_avg exp_avg_sq"
    _checks = usual("lr", "eps", "betas", "weight_decay")
    _added = added("foreach maximize differentiable decoupled_weight_decay capturable")
    _differentiates_lr = True

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0, decoupled_weight_decay: bool = False, *,
                 foreach: bool | None = None, maximize: bool = False, capturable: bool = False,
                 differentiable: bool = False) -> None: ...  # fmt: skip

    @staticmethod
    def _numbers(group: Group, step: Any, scalars: State) -> tuple[Any, ...]:
        beta1, beta2 = group["betas"]
        corrections = 1 - beta1**step, (1 - beta2**step) ** 0.5
        rectification = _rectification(beta2, step)
        return Weight(1 - beta1), beta2, 1 - beta2, *corrections, rectification, -group["lr"], group["eps"]

    @staticmethod
    def _formula(p: Any, grad: Any, numbers: Any, mean: Any, square: Any) -> None:
        pace, keep, take, correction1, correction2, rectification, rate, eps = numbers
        mean.lerp_(grad, pace)
        square.mul_(keep).addcmul_(grad, grad, value=take)
        update = mean.div(correction1).mul(rate)
        if rectification is not None:
            update = update.mul(correction2 / square.sqrt().add(eps)).mul(rectification)
        p.add_(update)


def _rectification(beta2: float, step: float) -> float | None:
    """The factor that corrects the variance of the step, or None while too few gradients were seen."""
    longest = 2 / (1 - beta2) - 1
    length = longest - 2 * step * (beta2**step) / (1 - beta2**step)
    if not length > 5.0:
        return None
    return ((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)) ** 0.5


class RMSprop(Elementwise, example=("lr=0.01", "[ 0.9000, -1.9000]")):
    """Gradient descent divided by the root of the running mean of the squared gradient.

    ``centered`` divides by the standard deviation instead. ``eps`` is added after the root.
    """

    _options = "lr momentum alpha eps centered weight_decay capturable foreach maximize differentiable"
    _checks = usual("lr", "eps", "momentum", "weight_decay", "alpha")
    _added = added("momentum centered foreach maximize differentiable capturable")
    _captured_on_xla = (True, True)

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-2, alpha: float = 0.99, eps: float = 1e-8,
                 weight_decay: float = 0, momentum: float = 0, centered: bool = False, capturable: bool = False,
                 foreach: bool | None = None, maximize: bool = False,
                 differentiable: bool = False) -> None: ...  # fmt: skip

    @staticmethod
    def _buffers(group: Group) -> dict[str, float]:
        names = {"square_avg": True, "momentum_buffer": group["momentum"] > 0, "grad_avg": group["centered"]}
        return {name: 0.0 for name, wanted in names.items() if wanted}

    @staticmethod
    def _numbers(group: Group, step: Any, scalars: State) -> tuple[Any, ...]:
        alpha, momentum = group["alpha"], group["momentum"] if group["momentum"] > 0 else None
        pace = Weight(1 - alpha) if group["centered"] else None
        return -group["lr"], alpha, 1 - alpha, pace, group["eps"], momentum

    @staticmethod
    def _formula(p: Any, grad: Any, numbers: Any, square: Any, *others: Any) -> None:
        rate, keep, take, pace, eps, momentum = numbers
        square.mul_(keep).addcmul_(grad, grad, value=take)
        if pace is not None:
            mean = others[-1].lerp_(grad, pace)
            square = square.addcmul(mean, mean, value=-1)
        root = square.sqrt().add(eps)
        if momentum is None:
            p.addcdiv_(grad, root, value=rate)
        else:
            p.add_(others[0].mul_(momentum).addcdiv_(grad, root), alpha=rate)


class Adagrad(Elementwise, example=("lr=0.1", "[ 0.9000, -1.9000]")):
    """Gradient descent whose rate for each element shrinks with the root of the sum of its squared gradients."""

    _options = "lr lr_decay eps weight_decay initial_accumulator_value foreach maximize differentiable fused"
    _checks = usual("lr", "lr_decay", "weight_decay", "initial_accumulator_value", "eps")
    _added = added("foreach maximize differentiable fused")

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-2, lr_decay: float = 0, weight_decay: float = 0,
                 initial_accumulator_value: float = 0, eps: float = 1e-10, foreach: bool | None = None, *,
                 maximize: bool = False, differentiable: bool = False, fused: bool | None = None) -> None: ...  # fmt: skip

    def _check_groups(self) -> None:
        super()._check_groups()
        for group in self.param_groups:
            self._init_states(group["params"], [self.state[p] for p in group["params"]], group)

    def _init_states(self, params: list[Tensor], states: list[State], group: Group) -> None:
        # As in PyTorch, the constructor's value applies to all groups.
        value = self.defaults["initial_accumulator_value"]
        super()._init_states(params, states, {**group, "initial_accumulator_value": value})

    def share_memory(self) -> None:
        """Move the sums to shared memory."""
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["sum"].share_memory_()

    @staticmethod
    def _buffers(group: Group) -> dict[str, float]:
        return {"sum": float(group["initial_accumulator_value"])}

    @staticmethod
    def _numbers(group: Group, step: Any, scalars: State) -> tuple[Any, ...]:
        return -group["lr"] / (1 + (step - 1) * group["lr_decay"]), group["eps"]

    @staticmethod
    def _formula(p: Any, grad: Any, numbers: Any, total: Any) -> None:
        rate, eps = numbers
        if grad.is_sparse:
            grad = grad.coalesce()  # the update is not linear, so every index must be unique
            where, values = tuple(grad._indices()), grad._values()
            total[where] += values.pow(2)
            p[where] += rate * (values / (total[where].sqrt() + eps))
            return
        total.addcmul_(grad, grad)
        p.addcdiv_(grad, total.sqrt().add(eps), value=rate)

    def _check_sparse(self, group: Group) -> None:
        if group["fused"]:
            raise RuntimeError("`fused` does not support sparse grad or complex param")
        if group["weight_decay"] != 0:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")


class Adadelta(Elementwise, example=("lr=10.0", "[ 0.9684, -1.9684]")):
    """Steps scaled by the root of the running mean of past squared steps over that of squared gradients."""

    _options = "lr rho eps weight_decay maximize capturable foreach differentiable"
    _state = "square_avg acc_delta"
    _checks: ClassVar[dict[str, Check]] = {
        **usual("lr"),
        "rho": need(lambda rho: 0.0 <= rho <= 1.0, "Invalid rho value: {}"),
        **usual("eps", "weight_decay"),
    }
    _captured_on_xla = (False, False)

    def __init__(self, params: ParamsT, lr: float | Tensor = 1.0, rho: float = 0.9, eps: float = 1e-6,
                 weight_decay: float = 0, foreach: bool | None = None, *, capturable: bool = False,
                 maximize: bool = False, differentiable: bool = False) -> None: ...  # fmt: skip

    @staticmethod
    def _numbers(group: Group, step: Any, scalars: State) -> tuple[Any, ...]:
        return -group["lr"], group["rho"], 1 - group["rho"], group["eps"]

    @staticmethod
    def _formula(p: Any, grad: Any, numbers: Any, square: Any, steps: Any) -> None:
        rate, keep, take, eps = numbers
        square.mul_(keep).addcmul_(grad, grad, value=take)
        delta = steps.add(eps).sqrt().div(square.add(eps).sqrt()).mul(grad)
        steps.mul_(keep).addcmul_(delta, delta, value=take)
        p.add_(delta, alpha=rate)


class Rprop(Elementwise, example=("lr=0.1", "[ 0.9000, -1.9000]")):
    """Steps by the sign of the gradient alone, with a step size for each element.

    The step size grows by ``etas[1]`` while the sign is unchanged and shrinks by ``etas[0]`` when it flips; the element then skips one
    step. ``lr`` is the first step size and ``step_sizes`` are its bounds.
    """

    _options = "lr etas step_sizes foreach maximize differentiable capturable"
    _checks: ClassVar[dict[str, Check]] = {
        **usual("lr"),
        "etas": need(lambda etas: 0.0 < etas[0] < 1.0 < etas[1], "Invalid eta values: {0[0]}, {0[1]}"),
    }
    _captured_on_xla = (True, True)

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-2, etas: tuple[float, float] = (0.5, 1.2),
                 step_sizes: tuple[float, float] = (1e-6, 50), *, capturable: bool = False, foreach: bool | None = None,
                 maximize: bool = False, differentiable: bool = False) -> None: ...  # fmt: skip

    @staticmethod
    def _buffers(group: Group) -> dict[str, float]:
        return {"prev": 0.0, "step_size": float(group["lr"])}

    @staticmethod
    def _numbers(group: Group, step: Any, scalars: State) -> tuple[Any, ...]:
        return *group["etas"], *group["step_sizes"]

    @staticmethod
    def _formula(p: Any, grad: Any, numbers: Any, previous: Any, size: Any) -> None:
        shrink, grow, smallest, largest = numbers
        factor = grad.mul(previous.clone()).sign()
        reversed_, kept, none = factor.lt(0), factor.gt(0), factor.eq(0)
        factor = factor.masked_fill(kept, grow).masked_fill(reversed_, shrink).masked_fill(none, 1)
        size.mul_(factor).clamp_(smallest, largest)
        grad = grad.masked_fill(reversed_, 0)
        previous.copy_(grad)
        p.addcmul_(grad.sign(), size, value=-1)


class ASGD(Elementwise, example=("lr=0.1", "[ 0.8000, -1.6000]")):
    """Gradient descent with a decaying rate that also averages its iterates, in ``state[p]["ax"]``.

    The rate decays as ``lr / (1 + lambd * lr * t) ** alpha``; averaging starts at step ``t0``.
    """

    _options = "lr lambd alpha t0 weight_decay foreach maximize differentiable capturable"
    _state = "ax"
    _checks = usual("lr", "weight_decay")
    _captured = ("params, mus, etas, and state_steps", "params, mus, etas, and state_steps")

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-2, lambd: float = 1e-4, alpha: float = 0.75,
                 t0: float = 1e6, weight_decay: float = 0, foreach: bool | None = None, maximize: bool = False,
                 differentiable: bool = False, capturable: bool = False) -> None: ...  # fmt: skip

    @staticmethod
    def _scalars(group: Group) -> dict[str, float]:
        return {"step": 0.0, "eta": float(group["lr"]), "mu": 1.0}

    @staticmethod
    def _numbers(group: Group, step: Any, scalars: State) -> tuple[Any, ...]:
        eta, mu, lr = number_of(scalars["eta"]), number_of(scalars["mu"]), group["lr"]
        scalars["eta"][...] = _rounded(lr / ((1 + group["lambd"] * lr * step) ** group["alpha"]))
        scalars["mu"][...] = _rounded(1 / max(1, step - group["t0"]))
        return 1 - group["lambd"] * eta, -eta, None if mu == 1 else mu

    @staticmethod
    def _formula(p: Any, grad: Any, numbers: Any, average: Any) -> None:
        shrink, rate, weight = numbers
        p.mul_(shrink).add_(grad, alpha=rate)
        if weight is None:
            average.copy_(p)
        else:
            average.add_(p.sub(average).mul_(weight))


def _rounded(number: Any) -> float:
    """A scalar for the next step, rounded to the default dtype, as in PyTorch."""
    if isinstance(number, penlight.Tensor):
        return number.item()
    return float(penlight.get_default_dtype().np.type(number))


make_modules(__name__)
