"""SciPy's optimisers for Penlight's functions and models, with gradients and Hessian-vector products from autograd.

>>> import penlight as torch
>>> x = torch.zeros(2, dtype=torch.float64)
>>> found = torch.optimize.minimize(lambda x: ((x - torch.tensor([1.0, 2.0])) ** 2).sum(), x)
>>> found.x.round(decimals=3)
tensor([1., 2.], dtype=torch.float64)
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import penlight

from .tensor import Tensor, wrap

__all__ = ["minimize"]

_WITH_HESSIAN_PRODUCTS = {"newton-cg", "trust-ncg", "trust-krylov", "trust-constr"}
_WITH_HESSIAN = {"dogleg", "trust-exact"}
_WITHOUT_GRADIENT = {"nelder-mead", "powell", "cobyla", "cobyqa"}


def minimize(
    fun: Callable[..., Tensor], x: Any, method: str = "L-BFGS-B", *, bounds: tuple[Any, Any] | None = None,
    callback: Callable[[Any], object] | None = None, progress: bool = False, **options: Any,
) -> Any:  # fmt: skip
    """Minimise a function with `scipy.optimize.minimize` (the extra `penlight[scipy]`).

    Args:
        fun: a function that returns the value to minimise, a scalar. It is called with `x` if that is a tensor, with the tensors of `x` if that
            is a sequence, and without arguments if `x` is a module.
        x: the starting point: a tensor, a sequence of tensors, or a module, whose trainable parameters are changed in place.
        method: one of SciPy's. Newton-CG, trust-ncg, trust-krylov and trust-constr use products with the Hessian, dogleg and trust-exact the Hessian.
        bounds: the lower and the upper bound: numbers, or tensors that broadcast to `x`; None for no bound.
        callback: a function that is called after each step with the current `x`; if it returns True, the search ends.
        progress: whether to print the number of the step and the value, on one line of stderr.
        options: SciPy's `tol`, and the options of the method (`maxiter`, ...).

    Returns:
        SciPy's result, with `x` as a tensor or a list of tensors, and `fun` as a float. If the search is interrupted, a module keeps its best values so far.

    >>> model = torch.nn.Linear(1, 1).double()
    >>> x = torch.linspace(0, 1, 5, dtype=torch.float64).unsqueeze(1)
    >>> found = torch.optimize.minimize(lambda: ((model(x) - (3 * x + 1)) ** 2).mean(), model)
    >>> round(model.weight.item(), 3), round(model.bias.item(), 3), found.success
    (3.0, 1.0, True)
    """
    try:
        from scipy.optimize import minimize as scipy_minimize
    except ImportError:
        raise ImportError("penlight.optimize needs SciPy: pip install 'penlight[scipy]'") from None
    for name in ("args", "constraints", "hess", "hessp", "jac"):
        if name in options:
            raise TypeError(f"minimize() takes no {name}: write it into `fun`; derivatives come from autograd")
    problem = _Problem(fun, x)
    kind = method.lower()
    given: dict[str, Any] = {"tol": options.pop("tol", None), "options": options or None}
    if kind not in _WITHOUT_GRADIENT:
        given["jac"] = True
    if kind in _WITH_HESSIAN_PRODUCTS:
        given["hessp"] = problem.hessian_product
    if kind in _WITH_HESSIAN:
        given["hess"] = problem.hessian
    if bounds is not None:
        given["bounds"] = problem.bounds(bounds)
    steps = 0

    def after_step(*_: Any) -> bool:
        nonlocal steps
        steps += 1
        if progress:
            print(f"\rstep {steps}  value {problem.best:.6g}", end="", file=sys.stderr, flush=True)
        return bool(callback is not None and callback(problem.current()) is True)

    value = problem.value if kind in _WITHOUT_GRADIENT else problem.value_and_gradient
    try:
        result = scipy_minimize(value, problem.start, method=method, callback=after_step, **given)
        problem.set(result.x)
        problem.best_x = result.x
    finally:
        problem.set(problem.best_x)
        if progress and steps:
            print(file=sys.stderr)
    result.x, result.fun = problem.current(), float(result.fun)
    return result


class _Problem:
    """A function of tensors as a function of one vector of float64."""

    def __init__(self, fun: Callable[..., Tensor], x: Any) -> None:
        self.fun, self.single = fun, isinstance(x, Tensor)
        self.model = x if hasattr(x, "parameters") and not isinstance(x, Tensor) else None
        if self.model is not None:
            tensors = [p for p in x.parameters() if p.requires_grad]
        else:
            tensors = [x] if isinstance(x, Tensor) else list(x)
        if not tensors or not all(isinstance(t, Tensor) and t.is_floating_point() for t in tensors):
            raise TypeError(
                f"minimize() takes a tensor of floats, a sequence of them or a module, not {type(x).__name__}"
            )
        self.tensors = tensors if self.model is not None else [t.detach().clone().requires_grad_() for t in tensors]
        self.start = np.concatenate([t._array.reshape(-1).astype(np.float64) for t in self.tensors])
        self.best, self.best_x = np.inf, self.start

    def set(self, vector: np.ndarray[Any, Any]) -> None:
        """Copy the elements of the vector into the tensors."""
        first = 0
        with penlight.no_grad():
            for tensor in self.tensors:
                part = vector[first : first + tensor.numel()].reshape(tensor.shape)
                tensor.copy_(wrap(part.copy()))
                first += tensor.numel()

    def current(self) -> Any:
        """Copies of the tensors, in the form in which the caller passed them."""
        found = [t.detach().clone() for t in self.tensors]
        return found[0] if self.single else found

    def _evaluate(self) -> Tensor:
        loss = self.fun() if self.model is not None else self.fun(*self.tensors)
        if not isinstance(loss, Tensor) or loss.numel() != 1:
            raise TypeError(f"minimize(): the function must return a tensor with one element, not {loss!r}")
        return loss

    def _keep_best(self, value: float, vector: np.ndarray[Any, Any]) -> float:
        if value < self.best:
            self.best, self.best_x = value, vector.copy()
        return value

    def value(self, vector: np.ndarray[Any, Any]) -> float:
        """The function's value."""
        self.set(vector)
        with penlight.no_grad():
            return self._keep_best(float(self._evaluate().item()), vector)

    def value_and_gradient(self, vector: np.ndarray[Any, Any]) -> tuple[float, np.ndarray[Any, Any]]:
        """The function's value and its gradient."""
        self.set(vector)
        with penlight.enable_grad():
            loss = self._evaluate()
            grads = penlight.autograd.grad(loss, self.tensors, allow_unused=True)
        return self._keep_best(float(loss.item()), vector), self._flat(grads)

    def hessian_product(self, vector: np.ndarray[Any, Any], direction: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The product of the Hessian at a point and a direction."""
        self.set(vector)
        with penlight.enable_grad():
            grads = penlight.autograd.grad(self._evaluate(), self.tensors, create_graph=True, allow_unused=True)
            along, first = None, 0
            for tensor, grad in zip(self.tensors, grads):
                part = direction[first : first + tensor.numel()].reshape(tensor.shape)
                first += tensor.numel()
                if grad is not None and grad.requires_grad:
                    term = (grad * wrap(part.astype(tensor._array.dtype))).sum()
                    along = term if along is None else along + term
            if along is None:
                return np.zeros_like(vector)
            return self._flat(penlight.autograd.grad(along, self.tensors, allow_unused=True))

    def hessian(self, vector: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The Hessian at a point."""
        return np.stack([self.hessian_product(vector, direction) for direction in np.eye(len(vector))])

    def _flat(self, grads: Sequence[Tensor | None]) -> np.ndarray[Any, Any]:
        parts = [np.zeros(t.numel()) if g is None else g._array.reshape(-1) for t, g in zip(self.tensors, grads)]
        return np.concatenate(parts).astype(np.float64)

    def bounds(self, given: Any) -> list[tuple[float | None, float | None]]:
        """The lower and the upper bound of each element of the vector."""
        if not isinstance(given, (tuple, list)) or len(given) != 2 or any(isinstance(s, (tuple, list)) for s in given):
            raise TypeError(
                "minimize(): bounds are (low, high), each a number, a tensor, an array or None, not one pair for each element, as for "
                "SciPy. From such pairs: bounds=tuple(map(torch.tensor, zip(*pairs)))"
            )
        sides = []
        for side in given:
            each = [
                np.broadcast_to(np.asarray(np.nan if side is None else side, np.float64), t.shape) for t in self.tensors
            ]
            sides.append(np.concatenate([a.reshape(-1) for a in each]).tolist())
        return [tuple(None if v != v else v for v in pair) for pair in zip(*sides)]  # type: ignore[misc]
