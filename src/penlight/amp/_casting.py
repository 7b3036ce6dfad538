"""The functions whose arguments autocast casts on the CPU, and the interception of their calls.

# Note [Intercepted functions]
Autocast acts on whole functions: `linear` casts its input, weight and bias, and nothing inside it is cast. A check in `linear`, `matmul`,
... would cost every program that never uses autocast. Instead, while autocast is enabled in some thread, the code of these functions is
replaced by a call of a handler, so that all references to a function (the method, `from torch.nn.functional import linear`) call the
handler. The code is restored when the last region ends. In a thread without autocast the handler calls a copy of the function.
"""

from __future__ import annotations

import threading
from importlib import import_module
from typing import Any
from weakref import ref

from penlight import dtypes
from penlight._common.function_code import Compiled, copy_of, handler_code, run_instead
from penlight.autograd import modes
from penlight.autograd.modes import is_grad_enabled
from penlight.ops.machinery.public_functions import bound_forms, layers_of
from penlight.tensor import Tensor

from . import _state

_FFT = "fft ifft fft2 ifft2 fftn ifftn rfft irfft rfft2 irfft2 rfftn irfftn hfft ihfft"
_LINALG = "cond matrix_rank solve cholesky cholesky_ex inv inv_ex svd svdvals eig eigvals eigh eigvalsh lstsq qr tensorinv tensorsolve"

# Functions by module: those that run in the short dtype, in float32, or in the widest dtype of their tensors.
SHORT = {
    "ops.linalg.matmul": "mm _matmul bmm",
    "ops.linalg.addmm": "linear",
    "ops.nn.conv": "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d conv_tbc",
    "nn.functional": "scaled_dot_product_attention prelu affine_grid",
    "linalg": "vecdot",
    "": "addbmm addmm baddbmm",
}
FLOAT32 = {
    "nn.functional": "avg_pool3d max_pool3d adaptive_avg_pool3d adaptive_max_pool3d lp_pool3d fractional_max_pool2d "
    "fractional_max_pool3d grid_sample binary_cross_entropy binary_cross_entropy_with_logits mse_loss l1_loss smooth_l1_loss "
    "huber_loss poisson_nll_loss kl_div soft_margin_loss nll_loss cross_entropy multi_margin_loss multilabel_margin_loss "
    "hinge_embedding_loss cosine_embedding_loss triplet_margin_loss ctc_loss",
    "": "cdist prod trace quantile nanquantile polar view_as_complex stft inverse cholesky cholesky_inverse triangular_solve "
    "orgqr geqrf svd qr lu pinverse",
    "fft": _FFT,
    "linalg": _LINALG,
}
WIDEST = {"ops.shape.joining": "cat stack", "": "index_copy"}
PADDING = {"nn.functional": "pad"}  # in float32, in modes that copy elements


class Interception:
    """The handler of a function; `original` is a copy with the function's code."""

    def __init__(self, function: Any, policy: str) -> None:
        self.function, self.policy = function, policy
        self.original = copy_of(function)
        self.stub = handler_code(function, self, "<penlight autocast>")

    def active(self) -> bool:
        return (self.function.__kwdefaults__ or {}).get("_handler") is self

    def activate(self) -> None:
        """Save the function's code and replace it; again when the function has changed its code: see Note [Compiled at first use]."""
        function = self.function
        if self.active():
            return  # not restored, because of Ctrl-C
        run_instead(self.original, Compiled(function.__code__, function.__defaults__, function.__kwdefaults__))
        run_instead(function, self.stub)

    def restore(self) -> None:
        if self.active():
            original = self.original
            run_instead(self.function, Compiled(original.__code__, original.__defaults__, original.__kwdefaults__))

    def run(self, args: Any, kwargs: Any) -> Any:
        try:
            return self.original(*args, **kwargs)
        finally:
            if not self.active():
                with _lock:
                    if _users:
                        self.activate()

    def __call__(self, args: Any, kwargs: Any) -> Any:
        """Call the function with cast arguments, if this thread uses autocast."""
        enabled, dtype = _state._of("cpu")
        if not enabled or _state.inside.get() or kwargs.get("out") is not None:
            return self.run(args, kwargs)
        if self.policy == "padding" and kwargs.get("mode", (*args, "constant", "constant")[2]) not in (
            "reflect",
            "replicate",
        ):
            return self.run(args, kwargs)
        if self.policy in ("float32", "padding"):
            dtype = dtypes.float32
        elif self.policy == "widest":
            dtype = _widest((*args, *kwargs.values()))
        args = _cast(tuple(args), dtype)
        kwargs = {name: _cast(value, dtype) for name, value in kwargs.items()}
        _state.inside.set(True)
        try:
            return self.run(args, kwargs)
        finally:
            _state.inside.set(False)


_lock = threading.RLock()
_users = 0
interceptions: list[Interception] = []


def targets() -> dict[Any, tuple[str, str]]:
    """The functions that autocast casts, with their names and policies."""
    found: dict[Any, tuple[str, str]] = {}
    for policy, table in (("short", SHORT), ("float32", FLOAT32), ("widest", WIDEST), ("padding", PADDING)):
        for where, names in table.items():
            module = import_module(f"penlight.{where}".removesuffix("."))
            for name in names.split():
                public = [getattr(module, name, None), None if where else getattr(Tensor, name, None)]
                for each in public:
                    found |= {form: (f"{where}.{name}", policy) for form in _forms(each) if form not in found}
    return found


def _forms(function: Any) -> list[Any]:
    """The Python function behind this one; for an op, also those behind its public functions."""
    if function is None:
        return []
    return [layers_of(function)[0], *(bound_forms(function) if hasattr(function, "op") else ())]


def open_mode() -> None:
    """Called when autocast is enabled in a thread; the first call intercepts the functions. See Note [Intercepted functions]."""
    global _users
    with _lock:
        _users += 1
        if _users > 1:
            return
        modes.casting = True
        try:
            if not interceptions:  # made once, since a training loop opens a region in each step
                interceptions.extend(Interception(function, policy) for function, (_, policy) in targets().items())
            for entry in interceptions:
                entry.activate()
        except BaseException:  # Ctrl-C
            close_mode()
            raise


def close_mode() -> None:
    global _users
    with _lock:
        _users -= 1
        if _users == 0:
            modes.casting = False
            for entry in interceptions:
                entry.restore()


# ----- Casting --------------------------------------------------------------------------------------------------------

# Casts of weights until the outermost region ends: a weak reference to the weight and its cast, by the weight's id and the dtype.
cached: dict[tuple[int, Any], tuple[Any, Tensor]] = {}


def _eligible(value: Any) -> bool:
    return value.is_floating_point() and value.dtype is not dtypes.float64


def _cast(value: Any, dtype: Any) -> Any:
    """Cast a tensor, or the tensors in a list or tuple, to a dtype. float64 tensors and other values are returned unchanged."""
    if isinstance(value, Tensor):
        return _cast_tensor(value, dtype) if _eligible(value) and value.dtype is not dtype else value
    if type(value) in (list, tuple):
        return type(value)(_cast(item, dtype) for item in value)
    return value


def _cast_tensor(tensor: Tensor, dtype: Any) -> Tensor:
    keep = (
        _state.keeping.get() and tensor.dtype is dtypes.float32 and dtype is not dtypes.float32
        and tensor.requires_grad and tensor.is_leaf and not tensor._is_view()
    )  # fmt: skip
    if not keep:
        return tensor.to(dtype)
    key = (id(tensor), dtype)
    found = cached.get(key)
    if found is not None and found[0]() is tensor and (found[1].requires_grad or not is_grad_enabled()):
        return found[1]
    made = tensor.to(dtype)
    cached[key] = (ref(tensor), made)
    return made


def _widest(values: Any) -> Any:
    """The widest dtype among the tensors that can be cast: the short dtype if all have it, otherwise float32."""
    tensors = [t for v in values for t in (v if isinstance(v, (list, tuple)) else (v,)) if isinstance(t, Tensor)]
    floating = {t.dtype for t in tensors if _eligible(t)}
    short = _state._of("cpu")[1]
    return short if floating <= {short} else dtypes.float32
