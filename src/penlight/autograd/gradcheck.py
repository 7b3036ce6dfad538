"""gradcheck and gradgradcheck: compare a function's gradients with finite differences.

The Jacobians and their comparison are in `_gradcheck_jacobians.py`, the other checks in `_gradcheck_checks.py`. They are imported at
the first call: this module is imported with the package, because `torch.autograd.gradcheck` is both a function and a module in PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .._common.arguments import explain as _explain
from .._common.user_warnings import warn_user
from ..kernels.lazy import lazy_import

if TYPE_CHECKING:
    from ..tensor import Tensor

_gradcheck_jacobians = lazy_import(globals(), "_gradcheck_jacobians", "._gradcheck_jacobians")
_gradcheck_checks = lazy_import(globals(), "_gradcheck_checks", "._gradcheck_checks")


__all__ = [
    "GradcheckError", "get_analytical_jacobian", "get_numerical_jacobian", "get_numerical_jacobian_wrt_specific_input",
    "gradcheck", "gradgradcheck",
]  # fmt: skip


FAILED_NONDET_MSG = """

NOTE: if an op here is non-deterministic by nature, this can be expected. Pass `nondet_tol=<tol>` to gradcheck or
gradgradcheck to allow for differences of that size.
"""
FAILED_BATCHED_GRAD_MSG = """
gradcheck or gradgradcheck failed while testing batched gradient computation.
Gradients of a batch are computed by vmap over the backward pass; an op in it that vmap can't do makes this fail.
Pass `check_batched_grad=False` to leave this test out.
""".strip()
FAILED_BATCHED_GRAD_MSG_FWD_AD = """
gradcheck failed while testing batched gradient computation with forward-mode AD.
Pass `check_batched_forward_grad=False` to leave this test out.
""".strip()
FAST_FAIL_SLOW_OK_MSG = """
Fast gradcheck failed but element-wise differences are small. This means that the
test might've passed in slow_mode!

Pass `fast_mode=False` to gradcheck or gradgradcheck.
""".strip()


class GradcheckError(RuntimeError):
    """A check of `gradcheck` or `gradgradcheck` failed.

    >>> from penlight.autograd.gradcheck import GradcheckError
    >>> issubclass(GradcheckError, RuntimeError)
    True
    """


class Settings:
    """The settings of the checks."""

    __slots__ = ("atol", "check_grad_dtypes", "eps", "fast", "nondet_tol", "rtol")

    def __init__(
        self, eps: float, atol: float, rtol: float, nondet_tol: float, check_grad_dtypes: bool, fast: bool
    ) -> None:
        self.eps, self.atol, self.rtol, self.nondet_tol = eps, atol, rtol, nondet_tol
        self.check_grad_dtypes, self.fast = check_grad_dtypes, fast


def as_tuple(value: Any) -> tuple[Any, ...]:
    if isinstance(value, tuple):
        return value
    return tuple(value) if isinstance(value, list) else (value,)


def differentiable(outputs: Any) -> tuple[Tensor, ...]:
    return tuple(o for o in as_tuple(outputs) if o.requires_grad)


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Compare a function's gradients with finite differences, at double-precision inputs.

    >>> x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradcheck(lambda x: x.exp() * x, (x,))
    True
    """
    _check_flags(
        locals(),
        ("check_forward_ad", "check_backward_ad"),
        check_batched_grad="check_backward_ad",
        check_batched_forward_grad="check_forward_ad",
    )
    settings = Settings(eps, atol, rtol, nondet_tol, check_grad_dtypes, fast_mode)
    try:
        args = as_tuple(inputs)
        _gradcheck_checks.check_inputs(args)
        func_out = func(*args)
        outputs = differentiable(func_out)
        if check_backward_ad:
            _gradcheck_jacobians.backward_mode(func, func_out, args, outputs, settings)
        if check_forward_ad:
            _gradcheck_jacobians.forward_mode(func, func_out, args, outputs, settings, check_undefined_grad)
        if check_batched_forward_grad:
            _gradcheck_checks.batched_forward_grad(func, args)
        if check_backward_ad:
            if check_batched_grad:
                for index, out in enumerate(outputs):
                    _gradcheck_checks.batched_grad(args, out, index)
            _gradcheck_checks.multiplied_by_grad_output(outputs, args, bool(masked))
            if check_undefined_grad:
                _gradcheck_checks.undefined_backward(func, outputs, args)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _check_flags(given: dict[str, Any], modes: tuple[str, str], **needs: str) -> None:
    """Refuse arguments that select no mode at all, or a check whose mode is off: ``needs`` names the mode of each check."""
    if not any(given[mode] for mode in modes):
        raise AssertionError(f"Expected at least one of {' or '.join(modes)} to be True")
    for check, mode in needs.items():
        if given[check] and not given[mode]:
            raise AssertionError(f"Setting {check}=True requires {mode} to be True")


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Compare a function's second derivatives with finite differences of its first ones.

    >>> x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradgradcheck(lambda x: x.exp() * x, (x,))
    True
    """
    _check_flags(
        locals(),
        ("check_fwd_over_rev", "check_rev_over_rev"),
        check_undefined_grad="check_rev_over_rev",
        check_batched_grad="check_rev_over_rev",
    )
    args = as_tuple(inputs)
    if grad_outputs is None:
        grads = _gradcheck_checks.random_grad_outputs(differentiable(func(*args)), gen_non_contig_grad_outputs)
    else:
        grads = as_tuple(grad_outputs)
    return gradcheck(
        _gradcheck_checks.gradient_function(func, args, grads),
        args + grads,
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
        masked=masked,
    )


# ----- Names that PyTorch deprecates -----------------------------------------------------------------------------------------------


def _deprecated(name: str) -> None:
    warn_user(
        f"`{name}` was part of PyTorch's private API and not meant to be exposed. We are deprecating it and it will be removed "
        "in a future version of PyTorch. If you have a specific use for this or feature request for this to be a stable API, "
        "please file us an issue at https://github.com/pytorch/pytorch/issues/new",
        FutureWarning,
    )


def get_numerical_jacobian(fn: Any, inputs: Any, target: Any = None, eps: float = 1e-3, grad_out: float = 1.0) -> Any:
    """The Jacobian of `fn(inputs)` by finite differences, for each input.

    Args:
        fn: a function of the tuple of inputs
        inputs: the inputs, a tensor or a tuple
        target: the inputs to differentiate by; all, if it is None
        eps: the step of the differences
        grad_out: must be 1.0

    >>> x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    >>> from penlight.autograd.gradcheck import get_numerical_jacobian
    >>> get_numerical_jacobian(lambda given: 3 * given[0], x)[0].round()
    tensor([[3., 0.],
            [0., 3.]], dtype=torch.float64)
    """
    _deprecated("get_numerical_jacobian")
    if grad_out != 1.0:
        raise ValueError(
            "Expected grad_out to be 1.0. get_numerical_jacobian no longer supports values of grad_out != 1.0."
        )
    args, wanted = as_tuple(inputs), as_tuple(inputs if target is None else target)
    outputs = as_tuple(fn(args))
    return tuple(
        _gradcheck_jacobians.numerical_jacobian(lambda *given: fn(given), args, outputs, t, eps)[0]
        for t in wanted
        if t.requires_grad
    )


def get_analytical_jacobian(inputs: Any, output: Tensor, nondet_tol: float = 0.0, grad_out: float = 1.0) -> Any:
    """The Jacobian of `output` by backward passes, whether two runs agree, and whether sizes and dtypes are right.

    Args:
        inputs: the inputs, a tensor or a tuple
        output: what was computed from them
        nondet_tol: how far two runs may differ
        grad_out: must be 1.0

    >>> x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    >>> from penlight.autograd.gradcheck import get_analytical_jacobian
    >>> get_analytical_jacobian(x, 3 * x)[0][0]
    tensor([[3., 0.],
            [0., 3.]], dtype=torch.float64)
    """
    _deprecated("get_analytical_jacobian")
    if grad_out != 1.0:
        raise ValueError(
            "Expected grad_out to be 1.0. get_analytical_jacobian no longer supports values of grad_out != 1.0."
        )
    if output.is_complex():
        raise ValueError(
            "Expected output to be non-complex. get_analytical_jacobian no longer supports functions that return complex outputs."
        )
    found = _gradcheck_jacobians.analytical_rows(as_tuple(inputs), output, nondet_tol)
    return found.jacobians, found.reentrant, found.sizes_ok, found.types_ok


def get_numerical_jacobian_wrt_specific_input(
    fn: Any, input_idx: int, inputs: Any, outputs: Any, eps: float, input: Any = None, is_forward_ad: bool = False
) -> Any:
    """The Jacobian by finite differences of each output with respect to one input.

    Args:
        fn: the function
        input_idx: which input
        inputs, outputs: those of the function
        input: the input to change; None is that of the index
        eps: the step of the differences
        is_forward_ad: whether the Jacobian is compared with forward mode's

    Returns:
        a matrix for each output

    >>> x = torch.ones(1, dtype=torch.float64, requires_grad=True)
    >>> from penlight.autograd.gradcheck import get_numerical_jacobian_wrt_specific_input as check
    >>> check(torch.square, 0, (x,), x.square(), 1e-6)[0].round()
    tensor([[2.]], dtype=torch.float64)
    """
    target = inputs[input_idx] if input is None else input
    if not target.requires_grad:
        raise AssertionError("Expected input to have requires_grad=True")
    return _gradcheck_jacobians.numerical_jacobian(fn, as_tuple(inputs), as_tuple(outputs), target, eps, is_forward_ad)


_explain(globals())
