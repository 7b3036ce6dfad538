"""L-BFGS."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import penlight
from penlight.optim._wolfe import _cubic_interpolate as _cubic_interpolate
from penlight.optim._wolfe import _strong_wolfe as _strong_wolfe
from penlight.optim._wolfe import strong_wolfe
from penlight.optim.optimizer import Optimizer, ParamsT, _to_scalar

if TYPE_CHECKING:
    from penlight import Tensor

__all__ = ["LBFGS"]


class LBFGS(Optimizer):
    """A quasi-Newton method: directions from an inverse Hessian that is built from the last ``history_size`` steps.

    One ``step`` is up to ``max_iter`` iterations and ``max_eval`` (by default 1.25 times as many) calls of the closure,
    which clears the gradients, computes the loss, calls ``backward`` and returns the loss. ``line_search_fn`` is None, for
    steps of length ``lr``, or ``"strong_wolfe"``. All parameters form one group.

    >>> import penlight as torch
    >>> w = torch.tensor([1.0, -2.0], requires_grad=True)
    >>> opt = torch.optim.LBFGS([w], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     opt.zero_grad()
    ...     loss = ((w - 3) ** 2).sum()
    ...     loss.backward()
    ...     return loss
    >>> opt.step(closure)
    tensor(29., grad_fn=<SumBackward0>)
    >>> [round(x, 4) for x in w.tolist()]
    [3.0, 3.0]
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        if isinstance(lr, penlight.Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not lr >= 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]
        self._numel_cache: int | None = None

    # ----- all parameters as one flat vector -----

    def _numel(self) -> int:
        if self._numel_cache is None:
            self._numel_cache = sum(2 * p.numel() if p.is_complex() else p.numel() for p in self._params)
        return self._numel_cache

    def _gather_flat_grad(self) -> Tensor:
        pieces = []
        for p in self._params:
            if p.grad is None:
                piece = p.new_zeros(p.numel())
            else:
                piece = (p.grad.to_dense() if p.grad.is_sparse else p.grad).reshape(-1)
            pieces.append(penlight.view_as_real(piece).reshape(-1) if piece.is_complex() else piece)
        return penlight.cat(pieces, 0)

    def _add_grad(self, step_size: Any, direction: Tensor) -> None:
        offset = 0
        for p in self._params:
            view = penlight.view_as_real(p) if p.is_complex() else p
            count = view.numel()
            view.add_(direction[offset : offset + count].view_as(view), alpha=step_size)
            offset += count

    def _clone_param(self) -> list[Tensor]:
        return [p.clone(memory_format=penlight.contiguous_format) for p in self._params]

    def _set_param(self, values: list[Tensor]) -> None:
        for p, value in zip(self._params, values, strict=True):
            p.copy_(value)

    def _directional_evaluate(
        self, closure: Callable[[], Any], x: list[Tensor], t: Any, d: Tensor
    ) -> tuple[float, Tensor]:
        """The loss and its gradient at ``x + t * d``; the parameters end up at ``x`` again."""
        self._add_grad(t, d)
        loss = float(closure())
        flat_grad = self._gather_flat_grad()
        self._set_param(x)
        return loss, flat_grad

    # ----- the algorithm -----

    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]
        """Minimise for up to ``max_iter`` iterations and return the loss before the first.

        ``closure`` clears the gradients, computes the loss, calls ``backward`` and returns the loss.
        """
        if len(self.param_groups) != 1:
            raise AssertionError(f"Expected exactly one param_group, but got {len(self.param_groups)}")
        with penlight.no_grad():
            return self._minimise(penlight.enable_grad()(closure))

    def _minimise(self, closure: Callable[[], Any]) -> Any:
        group = self.param_groups[0]
        lr, max_iter = _to_scalar(group["lr"]), group["max_iter"]
        tolerance_grad, tolerance_change = group["tolerance_grad"], group["tolerance_change"]
        # The state is that of all parameters; it stands with the first so that loading casts it.
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)

        first_loss = closure()
        loss = float(first_loss)
        evaluations = 1
        state["func_evals"] += 1
        flat_grad = self._gather_flat_grad()
        if flat_grad.abs().max() <= tolerance_grad:
            return first_loss

        memory = _Memory(state, group["history_size"])
        t = state.get("t")
        previous_loss = state.get("prev_loss")
        iteration = 0
        while iteration < max_iter:
            iteration += 1
            state["n_iter"] += 1
            d = memory.direction(flat_grad, t, first=state["n_iter"] == 1)
            previous_loss = loss
            t = min(1.0, 1.0 / flat_grad.abs().sum()) * lr if state["n_iter"] == 1 else lr
            slope = flat_grad.dot(d)
            if slope > -tolerance_change:
                break
            optimal = False
            calls = 0
            if group["line_search_fn"] is not None:
                budget = group["max_eval"] - evaluations
                loss, flat_grad, t, calls = self._search(closure, t, d, loss, flat_grad, slope, budget)
                self._add_grad(t, d)
                optimal = bool(flat_grad.abs().max() <= tolerance_grad)
            else:
                self._add_grad(t, d)
                if iteration != max_iter:  # after the last step nobody asks
                    loss = float(closure())
                    flat_grad = self._gather_flat_grad()
                    optimal = bool(flat_grad.abs().max() <= tolerance_grad)
                    calls = 1
            evaluations += calls
            state["func_evals"] += calls
            if iteration == max_iter or evaluations >= group["max_eval"] or optimal:
                break
            if d.mul(t).abs().max() <= tolerance_change or abs(loss - previous_loss) < tolerance_change:
                break

        memory.save()
        state["t"] = t
        state["prev_loss"] = previous_loss
        return first_loss

    def _search(
        self, closure: Callable[[], Any], t: Any, d: Tensor, loss: float, grad: Tensor, slope: Tensor, budget: int
    ) -> tuple[float, Tensor, Any, int]:
        if self.param_groups[0]["line_search_fn"] != "strong_wolfe":
            raise RuntimeError("only 'strong_wolfe' is supported")
        start = self._clone_param()
        return strong_wolfe(
            lambda t: self._directional_evaluate(closure, start, t, d), t, d, loss, grad, slope, max_calls=budget
        )


class _Memory:
    """The last steps and gradient differences, and the product of the inverse Hessian they imply with a gradient."""

    _names = ("d", "old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad")

    def __init__(self, state: dict[str, Any], size: int) -> None:
        self.state, self.size = state, size
        self.d, self.old_dirs, self.old_stps, self.ro, self.scale, self.prev_flat_grad = map(state.get, self._names)

    d: Any
    old_dirs: Any
    old_stps: Any
    ro: Any
    scale: Any
    prev_flat_grad: Any

    def save(self) -> None:
        values = (self.d, self.old_dirs, self.old_stps, self.ro, self.scale, self.prev_flat_grad)
        self.state.update(zip(self._names, values, strict=True))

    def direction(self, flat_grad: Tensor, t: Any, first: bool) -> Tensor:
        if first:
            self.d = flat_grad.neg()
            self.old_dirs, self.old_stps, self.ro, self.scale = [], [], [], 1
        else:
            self._remember(flat_grad.sub(self.prev_flat_grad), self.d.mul(t))
            self.d = self._two_loops(flat_grad.neg())
        if self.prev_flat_grad is None:
            self.prev_flat_grad = flat_grad.clone(memory_format=penlight.contiguous_format)
        else:
            self.prev_flat_grad.copy_(flat_grad)
        return self.d

    def _remember(self, y: Tensor, s: Tensor) -> None:
        """Keep a gradient difference and the step it belongs to, if they show positive curvature."""
        ys = y.dot(s)
        if ys > 1e-10:
            if len(self.old_dirs) == self.size:
                for history in (self.old_dirs, self.old_stps, self.ro):
                    history.pop(0)
            self.old_dirs.append(y)
            self.old_stps.append(s)
            self.ro.append(1.0 / ys)
            self.scale = ys / y.dot(y)

    def _two_loops(self, q: Tensor) -> Tensor:
        count = len(self.old_dirs)
        al = self.state.setdefault("al", [None] * self.size)
        for i in range(count - 1, -1, -1):
            al[i] = self.old_stps[i].dot(q) * self.ro[i]
            q.add_(self.old_dirs[i], alpha=-al[i].item())
        r = penlight.mul(q, self.scale)
        for i in range(count):
            be = self.old_dirs[i].dot(r) * self.ro[i]
            r.add_(self.old_stps[i], alpha=(al[i] - be).item())
        return r
