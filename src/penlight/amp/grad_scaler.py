"""`torch.amp.GradScaler`: scales the loss up so that float16 gradients do not underflow, and skips steps with infinite gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import penlight
from penlight import Tensor, dtypes
from penlight._common.user_warnings import warn_user

if TYPE_CHECKING:
    from penlight.optim import Optimizer

__all__ = ["GradScaler", "OptState"]


class OptState:
    """The stages of an optimizer in an iteration.

    >>> torch.amp.grad_scaler.OptState.READY
    0
    """

    READY, UNSCALED, STEPPED = 0, 1, 2


class GradScaler:
    """Scales losses up before their backward, and gradients down before a step; on the CPU if `device` is "cpu".

    >>> weight = torch.ones(1, requires_grad=True)
    >>> optimizer, scaler = torch.optim.SGD([weight], lr=0.5), torch.amp.GradScaler("cpu")
    >>> scaler.scale(weight.sum()).backward()
    >>> weight.grad
    tensor([65536.])
    >>> scaler.step(optimizer); scaler.update(); weight
    tensor([0.5000], requires_grad=True)
    """

    def __init__(
        self, device: str = "cuda", init_scale: float = 65536.0, growth_factor: float = 2.0,
        backoff_factor: float = 0.5, growth_interval: int = 2000, enabled: bool = True,
    ) -> None:  # fmt: skip
        if device == "cuda" and enabled:
            warn_user("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.")
            enabled = False
        self._device, self._enabled = device, enabled
        if not enabled:
            return
        if growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale = init_scale
        self._init_growth_tracker = 0
        self._scale: Tensor | None = None  # made at the first call of `scale`
        self._growth_tracker: Tensor | None = None
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval = growth_interval
        # By optimizer: its stage, and whether an infinite gradient was found.
        self._per_optimizer_states: dict[int, dict[str, Any]] = {}

    # ----- One iteration ----------------------------------------------------------------------------------------------

    def scale(self, outputs: Any) -> Any:
        """A loss, or the losses in a container, times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            if self._scale is None:
                self._scale = penlight.full((), self._init_scale, dtype=penlight.float32)
                self._growth_tracker = penlight.full((), self._init_growth_tracker, dtype=penlight.int32)
            return outputs * self._scale
        if isinstance(outputs, (list, tuple)):
            return type(outputs)(map(self.scale, outputs))
        if hasattr(outputs, "__iter__"):
            return map(self.scale, outputs)
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def unscale_(self, optimizer: Optimizer) -> None:
        """Divide an optimizer's gradients by the scale, for instance to clip them before the step."""
        if not self._enabled:
            return
        scale = self._check("unscale_")[0]
        state = self._state_of(optimizer)
        if state["stage"] == OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if state["stage"] == OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        inverse = np.float32(1.0 / scale.item())
        state["found_inf"] = _unscale(optimizer, inverse)
        state["stage"] = OptState.UNSCALED

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        """Unscale the gradients if they are not unscaled yet, and step unless one of them is infinite or NaN."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._check("step")
        state = self._state_of(optimizer)
        if state["stage"] == OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if state["stage"] == OptState.READY:
            self.unscale_(optimizer)
        if state["found_inf"] is None:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        result = None if state["found_inf"] else optimizer.step(*args, **kwargs)
        state["stage"] = OptState.STEPPED
        return result

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Make the scale smaller if a step was skipped, larger after `growth_interval` good ones, or set it."""
        if not self._enabled:
            return
        scale, tracker = self._check("update")
        if new_scale is None:
            found = [s["found_inf"] for s in self._per_optimizer_states.values() if s["found_inf"] is not None]
            if not found:
                raise AssertionError("No inf checks were recorded prior to update.")
            self._adapt(scale, tracker, any(found))
        elif isinstance(new_scale, float):
            scale.fill_(new_scale)
        else:
            fits = isinstance(new_scale, Tensor) and new_scale.numel() == 1 and not new_scale.requires_grad
            if not fits or self._device != "cpu":
                raise AssertionError(
                    "new_scale should be a float or a 1-element torch.cuda.FloatTensor or torch.FloatTensor with "
                    "requires_grad=False."
                )
            scale.copy_(new_scale)
        self._per_optimizer_states = {}

    def _adapt(self, scale: Tensor, tracker: Tensor, found_inf: bool) -> None:
        if found_inf:
            scale.mul_(self._backoff_factor)
            tracker.fill_(0)
            return
        good = int(tracker.item()) + 1
        if good < self._growth_interval:
            tracker.fill_(good)
            return
        larger = scale * self._growth_factor
        if np.isfinite(larger.item()):
            scale.copy_(larger)
        tracker.fill_(0)

    def _check(self, what: str) -> tuple[Tensor, Tensor]:
        if self._scale is None or self._growth_tracker is None:
            raise AssertionError(
                f"Attempted {what} but _scale is None.  This may indicate your script did not use scaler.scale(loss or "
                "outputs) earlier in the iteration."
            )
        return self._scale, self._growth_tracker

    def _state_of(self, optimizer: Any) -> dict[str, Any]:
        return self._per_optimizer_states.setdefault(id(optimizer), {"stage": OptState.READY, "found_inf": None})

    # ----- Settings ---------------------------------------------------------------------------------------------------

    def get_scale(self) -> float:
        """The scale; 1.0 if scaling is disabled."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale.item()

    def get_growth_factor(self) -> float:
        """The factor by which the scale grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set the factor by which the scale grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """The factor of the scale after an infinite gradient."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set the factor of the scale after an infinite gradient."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """The number of good steps in a row after which the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set the number of good steps in a row after which the scale grows."""
        self._growth_interval = new_interval

    def _get_growth_tracker(self) -> int:
        if not self._enabled:
            return 0
        return self._init_growth_tracker if self._growth_tracker is None else int(self._growth_tracker.item())

    def is_enabled(self) -> bool:
        """Whether scaling is enabled."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """The scale and its settings, for saving; empty if scaling is disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the result of `state_dict`."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        self._init_scale = state_dict["scale"]
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._init_growth_tracker = state_dict["_growth_tracker"]
        if self._scale is not None and self._growth_tracker is not None:
            self._scale.fill_(self._init_scale)
            self._growth_tracker.fill_(self._init_growth_tracker)

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if self._enabled:
            if self._per_optimizer_states:
                raise AssertionError(
                    "A GradScaler instance may only be pickled at the beginning of an iteration, or at the end after "
                    "scaler.update()."
                )
            state.update(_init_scale=self.get_scale(), _init_growth_tracker=self._get_growth_tracker())
            state.update(_scale=None, _growth_tracker=None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


def _unscale(optimizer: Any, inverse: np.float32) -> bool | None:
    """Multiply an optimizer's gradients in place; returns whether one has an infinity or NaN, or None if there are no gradients."""
    grads = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
    if any(g.dtype is penlight.float16 for g in grads):
        raise ValueError("Attempting to unscale FP16 gradients.")
    return _scale_all(grads, float(inverse)) if grads else None


def _scale_all(grads: Any, factor: float) -> bool:
    """Multiply gradients in place; returns whether one has an infinity or NaN."""
    found = False
    with penlight.no_grad():
        for grad in grads:
            found = found or not np.isfinite(grad._array).all()
            grad.mul_(factor)
    return found


def _amp_foreach_non_finite_check_and_unscale_(self: Any, found_inf: Tensor, inv_scale: Tensor) -> None:
    """Multiply tensors in place by a number, and write 1 to `found_inf` if one has an infinity or NaN.

    >>> grads, found = [torch.tensor([2.0, 4.0])], torch.zeros(1)
    >>> torch._amp_foreach_non_finite_check_and_unscale_(grads, found, torch.tensor([0.5])); grads, found
    ([tensor([1., 2.])], tensor([0.]))
    """
    for name, value in (("found_inf", found_inf), ("inv_scale", inv_scale)):
        if value.numel() != 1:
            raise RuntimeError(f"{name} must be a 1-element tensor.")
        if value.dtype is not penlight.float32:
            raise RuntimeError(f"{name} must be a float tensor.")
    for tensor in self:
        if not tensor.is_floating_point():
            kind = dtypes.LEGACY[tensor.dtype]
            raise NotImplementedError(f"\"_amp_foreach_non_finite_check_and_unscale_cpu\" not implemented for '{kind}'")
    if _scale_all(self, inv_scale.item()):
        found_inf.fill_(1.0)
