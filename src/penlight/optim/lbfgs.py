"""L-BFGS, and its line search for the strong Wolfe conditions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import penlight
from penlight import Tensor
from penlight.optim._declared import Declared, usual
from penlight.optim.optimizer import ParamsT, _to_scalar

__all__ = ["LBFGS"]


class LBFGS(Declared):
    """A quasi-Newton method: its directions use an inverse Hessian estimated from the last ``history_size`` steps.

    One ``step`` is up to ``max_iter`` iterations and ``max_eval`` (by default 1.25 times as many) calls of the closure,
    which clears the gradients, computes the loss, calls ``backward`` and returns the loss. ``line_search_fn`` is None, for
    steps of length ``lr``, or ``"strong_wolfe"``. All parameters form one group.

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

    _options = "lr max_iter max_eval tolerance_grad tolerance_change history_size line_search_fn"
    _checks = usual("lr")

    def __init__(self, params: ParamsT, lr: float | Tensor = 1, max_iter: int = 20, max_eval: int | None = None,
                 tolerance_grad: float = 1e-7, tolerance_change: float = 1e-9, history_size: int = 100,
                 line_search_fn: str | None = None) -> None: ...  # fmt: skip

    def _declared(self, given: dict[str, Any]) -> dict[str, Any]:
        if given["max_eval"] is None:
            given["max_eval"] = given["max_iter"] * 5 // 4
        return super()._declared(given)

    def _check_groups(self) -> None:
        if len(self.param_groups) > 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]
        self._numel_cache: int | None = None

    # ----- all parameters as one flat vector of real numbers -----

    def _numel(self) -> int:
        if self._numel_cache is None:
            self._numel_cache = sum(p.numel() << p.is_complex() for p in self._params)
        return self._numel_cache

    def _gather_flat_grad(self) -> Tensor:
        return penlight.cat([_flat_grad(p) for p in self._params], 0)

    def _add_grad(self, step_size: Any, direction: Tensor) -> None:
        reals = [penlight.view_as_real(p) if p.is_complex() else p for p in self._params]
        for real, part in zip(reals, direction.split([real.numel() for real in reals]), strict=True):
            real.add_(part.view_as(real), alpha=step_size)

    def _set_param(self, values: list[Tensor]) -> None:
        for p, value in zip(self._params, values, strict=True):
            p.copy_(value)

    def _clone_param(self) -> list[Tensor]:
        return [p.clone(memory_format=penlight.contiguous_format) for p in self._params]

    def _evaluate(self, closure: Callable[[], Any]) -> tuple[float, Tensor]:
        return float(closure()), self._gather_flat_grad()

    def _directional_evaluate(
        self, closure: Callable[[], Any], x: list[Tensor], t: Any, d: Tensor
    ) -> tuple[float, Tensor]:
        """The loss and its gradient at ``x + t * d``; the parameters are restored to ``x``."""
        self._add_grad(t, d)
        found = self._evaluate(closure)
        self._set_param(x)
        return found

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
        lr, max_iter, tolerance = _to_scalar(group["lr"]), group["max_iter"], group["tolerance_change"]
        # The state belongs to all parameters; it is stored with the first, so that loading casts it.
        state = self.state[self._params[0]]
        calls_before = state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)

        def optimal() -> bool:
            return bool(grad.abs().max() <= group["tolerance_grad"])

        first_loss = closure()
        loss, grad = float(first_loss), self._gather_flat_grad()
        state["func_evals"] += 1
        if optimal():
            return first_loss

        memory = _Memory(state, group["history_size"])
        t, previous_loss = state.get("t"), state.get("prev_loss")
        for iteration in range(1, max_iter + 1):
            state["n_iter"] += 1
            d = memory.direction(grad, t, first=state["n_iter"] == 1)
            previous_loss = loss
            t = min(1.0, 1.0 / grad.abs().sum()) * lr if state["n_iter"] == 1 else lr
            slope = grad.dot(d)
            if slope > -tolerance:
                break
            if group["line_search_fn"] is not None:
                budget = group["max_eval"] - (state["func_evals"] - calls_before)
                loss, grad, t, calls = self._search(closure, t, d, loss, grad, slope, budget)
                state["func_evals"] += calls
            self._add_grad(t, d)
            if group["line_search_fn"] is None and iteration < max_iter:  # not needed after the last step
                loss, grad = self._evaluate(closure)
                state["func_evals"] += 1
            if iteration == max_iter or state["func_evals"] - calls_before >= group["max_eval"] or optimal():
                break
            if d.mul(t).abs().max() <= tolerance or abs(loss - previous_loss) < tolerance:
                break

        memory.save()
        state.update(t=t, prev_loss=previous_loss)
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


def _flat_grad(p: Tensor) -> Tensor:
    grad = p.grad
    if grad is None:
        flat = p.new_zeros(p.numel())
    else:
        flat = (grad.to_dense() if grad.is_sparse else grad).reshape(-1)
    return penlight.view_as_real(flat).reshape(-1) if flat.is_complex() else flat


class _Memory:
    """The last steps and gradient differences, and the product of their inverse Hessian estimate with a gradient."""

    d: Any  # the last direction
    old_dirs: list[Tensor]  # gradient differences,
    old_stps: list[Tensor]  # the corresponding steps,
    ro: list[Tensor]  # and one over the product of both
    H_diag: Any  # the scale of the initial inverse Hessian
    prev_flat_grad: Any

    _names = ("d", "old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad")

    def __init__(self, state: dict[str, Any], size: int) -> None:
        vars(self).update({name: state.get(name) for name in self._names}, state=state, size=size)

    state: dict[str, Any]
    size: int

    def save(self) -> None:
        self.state.update({name: getattr(self, name) for name in self._names})

    def direction(self, grad: Tensor, t: Any, first: bool) -> Tensor:
        """The direction at a point with this gradient, reached by a step of ``t`` times the last direction."""
        if first:
            self.d = grad.neg()
            self.old_dirs, self.old_stps, self.ro, self.H_diag = [], [], [], 1
        else:
            self._remember(grad.sub(self.prev_flat_grad), self.d.mul(t))
            self.d = self._two_loops(grad.neg())
        if self.prev_flat_grad is None:
            self.prev_flat_grad = grad.clone(memory_format=penlight.contiguous_format)
        else:
            self.prev_flat_grad.copy_(grad)
        return self.d

    def _remember(self, y: Tensor, s: Tensor) -> None:
        """Store a gradient difference and its step, if they show positive curvature."""
        ys = y.dot(s)
        if ys > 1e-10:
            full = len(self.old_dirs) == self.size
            for history, newest in ((self.old_dirs, y), (self.old_stps, s), (self.ro, 1.0 / ys)):
                del history[: int(full)]
                history.append(newest)
            self.H_diag = ys / y.dot(y)

    def _two_loops(self, q: Tensor) -> Tensor:
        pairs = [*zip(self.old_dirs, self.old_stps, self.ro, strict=True)]
        weights = self.state.setdefault("al", [None] * self.size)
        for i in reversed(range(len(pairs))):
            y, s, ro = pairs[i]
            weights[i] = s.dot(q) * ro
            q.add_(y, alpha=-weights[i].item())
        r = penlight.mul(q, self.H_diag)
        for (y, s, ro), weight in zip(pairs, weights, strict=False):
            r.add_(s, alpha=(weight - y.dot(r) * ro).item())
        return r


# ----- The line search ----------------------------------------------------------------------------------------------


class Point:
    """A point on the line: step length, value, gradient and slope."""

    __slots__ = ("f", "g", "slope", "t")

    def __init__(self, t: Any, f: Any, g: Tensor, slope: Any) -> None:
        self.t, self.f, self.g, self.slope = t, f, g, slope


def cubic_minimum(a: Point, b: Point, bounds: tuple[Any, Any] | None = None) -> Any:
    """The minimum of the cubic through two points with the given slopes, within the bounds (or between the two)."""
    low, high = bounds if bounds is not None else ((a.t, b.t) if a.t <= b.t else (b.t, a.t))
    d1 = a.slope + b.slope - 3 * (a.f - b.f) / (a.t - b.t)
    d2_square = d1**2 - a.slope * b.slope
    if not d2_square >= 0:
        return (low + high) / 2.0
    d2 = d2_square.sqrt()
    if a.t > b.t:
        a, b = b, a
    t = b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
    return min(max(t, low), high)


def strong_wolfe(objective: Callable[[Any], tuple[float, Tensor]], t: Any, d: Tensor, f: float, g: Tensor,
                 slope: Tensor, c1: float = 1e-4, c2: float = 0.9, tolerance_change: float = 1e-9,
                 max_calls: int = 25) -> tuple[float, Tensor, Any, int]:  # fmt: skip
    """Search along ``d`` from a point with value ``f``, gradient ``g`` and ``slope``, starting with step length ``t``.

    ``objective(t)`` returns the value and the gradient. Returns the value and gradient found, the step length, and the
    number of calls. A point is accepted if the value decreased enough (``c1``) and the slope is flat enough (``c2``).
    """

    def evaluate(t: Any) -> Point:
        f_new, g_new = objective(t)
        return Point(t, f_new, g_new.clone(memory_format=penlight.contiguous_format), g_new.dot(d))

    start = Point(0, f, g.clone(memory_format=penlight.contiguous_format), slope)
    previous, new = start, evaluate(t)
    tried = 0  # points beyond the first
    bracket: list[Point] = []
    done = False
    while tried < max_calls:
        too_high = new.f > (f + c1 * new.t * slope) or (tried > 1 and new.f >= previous.f)
        if not too_high and abs(new.slope) <= -c2 * slope:
            bracket, done = [new], True
            break
        if too_high or new.slope >= 0:
            bracket = [previous, new]
            break
        bounds = (new.t + 0.01 * (new.t - previous.t), new.t * 10)
        t = cubic_minimum(previous, new, bounds)
        previous, new = new, evaluate(t)
        tried += 1
    if not bracket:
        bracket = [start, new]
    low = _low(bracket)
    if not done:
        low, tried = _zoom(evaluate, bracket, start, d.abs().max(), tried, max_calls, c1, c2, tolerance_change)
    best = bracket[low]
    return best.f, best.g, best.t, tried + 1


def _low(bracket: list[Point]) -> int:
    return 0 if bracket[0].f <= bracket[-1].f else 1


def _zoom(evaluate: Callable[[Any], Point], bracket: list[Point], start: Point, d_norm: Tensor, tried: int,
          max_calls: int, c1: float, c2: float, tolerance_change: float) -> tuple[int, int]:  # fmt: skip
    """Shrink a bracket, in place, until its lower end is acceptable; return that end and the number of points tried."""
    stalled = False
    low = _low(bracket)
    while tried < max_calls:
        if abs(bracket[1].t - bracket[0].t) * d_norm < tolerance_change:
            break
        t = cubic_minimum(bracket[0], bracket[1])
        t, stalled = _away_from_ends(t, bracket, stalled)
        new = evaluate(t)
        tried += 1
        high = 1 - low
        if new.f > (start.f + c1 * t * start.slope) or new.f >= bracket[low].f:
            bracket[high] = new
            low = _low(bracket)
            continue
        done = abs(new.slope) <= -c2 * start.slope
        if not done and new.slope * (bracket[high].t - bracket[low].t) >= 0:
            bracket[high] = bracket[low]
        bracket[low] = new
        if done:
            break
    return low, tried


def _away_from_ends(t: Any, bracket: list[Point], stalled: bool) -> tuple[Any, bool]:
    """Move a trial point to a tenth of the bracket from its ends if it is the second in a row that is closer."""
    left, right = min(bracket[0].t, bracket[1].t), max(bracket[0].t, bracket[1].t)
    margin = 0.1 * (right - left)
    if not min(right - t, t - left) < margin:
        return t, False
    if not (stalled or t >= right or t <= left):
        return t, True
    return (right - margin if abs(t - right) < abs(t - left) else left + margin), False


def _cubic_interpolate(x1: Any, f1: Any, g1: Any, x2: Any, f2: Any, g2: Any, bounds: Any = None) -> Any:
    """`cubic_minimum` with PyTorch's signature: separate points, values and slopes. Libraries import it."""
    return cubic_minimum(Point(x1, f1, g1, g1), Point(x2, f2, g2, g2), bounds)


def _strong_wolfe(obj_func: Callable[..., Any], x: Any, t: Any, d: Tensor, f: Any, g: Tensor, gtd: Any,
                  c1: float = 1e-4, c2: float = 0.9, tolerance_change: float = 1e-9,
                  max_ls: int = 25) -> tuple[Any, Tensor, Any, int]:  # fmt: skip
    """`strong_wolfe` with PyTorch's signature: ``obj_func(x, t, d)`` returns the value and the gradient. Libraries import it."""
    return strong_wolfe(lambda at: obj_func(x, at, d), t, d, f, g, gtd, c1, c2, tolerance_change, max_ls)
