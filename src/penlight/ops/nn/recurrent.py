"""One direction of one layer of a recurrent network, over a full sequence.

It computes the same as the loop in `recurrent_loop.py`, as one graph node. It covers only the cases that benefit: `fused` refuses the
others. Second derivatives run the loop, see `_through_the_loop`.

PyTorch has such a node only for an LSTM in float32; its other recurrences are loops, whose outputs are stacked or, if packed, concatenated.
Their nodes have these names here too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...autograd import modes
from ...autograd.grad_mode import enable_grad
from ...kernels import recurrent as kernels
from ...kernels.lazy import lazy_import
from ...tensor import Tensor
from ..machinery import dispatch
from ..machinery.array_namespace import graph
from ..machinery.declare import differentiable, linear
from ..machinery.op import traits
from ..machinery.rules import joint_rules
from ..shape.joining import stack

_recurrent_loop = lazy_import(globals(), "_recurrent_loop", ".recurrent_loop")
_autograd = lazy_import(globals(), "_autograd", "...autograd")


Ints = tuple[int, ...]

# ----- Backward ------------------------------------------------------------------------------------------------------


def _through_the_loop(mode: str, grads: Any, inputs: Any, sizes: Any, reverse: bool, needs: Any) -> list[Any]:
    """The gradients as differentiable tensors: those of the loop over the same inputs."""
    recorded = modes.is_grad_enabled()  # False in a pass that runs on tensors only for an observer
    with enable_grad():
        # New tensors for the inputs, so that only the path through this layer counts.
        inputs = [t.view_as(t) if need else t for t, need in zip(inputs, (*needs, False))]
        x, w_ih, w_hh, b_ih, b_hh, *start = inputs
        w_hr = start.pop() if mode == "LSTM" else None
        weights = {"w_ih": w_ih, "w_hh": w_hh, "b_ih": b_ih, "b_hh": b_hh, "w_hr": w_hr}
        output, last = _recurrent_loop.loop_direction(mode, x, tuple(start), weights, sizes, reverse)
        pairs = [(out, g) for out, g in zip((output, *last), grads) if g is not None]
        wanted = [t for t, need in zip(inputs, needs) if need]
        results, given = [p[0] for p in pairs], [p[1] for p in pairs]
        found = iter(_autograd.grad(results, wanted, given, create_graph=recorded, allow_unused=True))
    return [next(found) if need else None for need in needs]


def _projected_gradients(
    grads: Any, input: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any, hx: Any, cx: Any, w_hr: Any, sizes: Any, reverse: bool, gates: Any,
    past: Any, needs: Any, xp: Any,
) -> Any:  # fmt: skip
    """The gradients of an LSTM with a projection, or without one if `w_hr` is None."""
    if xp is graph:
        inputs = (input, w_ih, w_hh, b_ih, b_hh, hx, cx, w_hr)
        return _through_the_loop("LSTM", grads, inputs, sizes, reverse, needs)
    of_each = (*needs, False)[:8]
    return kernels.lstm_backward(*grads[:3], input, w_ih, w_hh, hx, cx, w_hr, sizes, reverse, gates, past, of_each)


def _lstm_gradients(
    grads: Any, input: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any, hx: Any, cx: Any, sizes: Any, reverse: bool, gates: Any, past: Any,
    needs: Any, xp: Any,
) -> Any:  # fmt: skip
    inputs = (input, w_ih, w_hh, b_ih, b_hh, hx, cx, None)
    return _projected_gradients(grads, *inputs, sizes, reverse, gates, past, needs, xp)


def _gru_gradients(
    grads: Any, input: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any, hx: Any, sizes: Any, reverse: bool, gates: Any, past: Any,
    needs: Any, xp: Any,
) -> Any:  # fmt: skip
    if xp is graph:
        return _through_the_loop("GRU", grads, (input, w_ih, w_hh, b_ih, b_hh, hx), sizes, reverse, needs)
    return kernels.gru_backward(*grads[:2], input, w_ih, w_hh, hx, sizes, reverse, gates, past, needs)


def _rnn_gradients(
    grads: Any, input: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any, hx: Any, relu: bool, sizes: Any, reverse: bool, states: Any,
    needs: Any, xp: Any,
) -> Any:  # fmt: skip
    if xp is graph:
        mode = "RNN_RELU" if relu else "RNN_TANH"
        return _through_the_loop(mode, grads, (input, w_ih, w_hh, b_ih, b_hh, hx), sizes, reverse, needs)
    return kernels.rnn_backward(*grads[:2], input, w_ih, w_hh, hx, relu, sizes, reverse, states, needs)


# ----- The ops -------------------------------------------------------------------------------------------------------

_INPUTS = ("input", "w_ih", "w_hh", "b_ih", "b_hh", "hx")


def _declared(
    face: Any, name: str, node: str, kernel: Any, gradients: Any, inputs: tuple[str, ...], results: Any
) -> Any:
    """Declare an op with this signature; PyTorch's node name depends on the case. The caller gets the output and the last states."""
    face.__name__ = name
    traits(returned=sum(result in ("output", "hy", "cy") for result in results))(face)
    rules = joint_rules(gradients, *inputs)
    return differentiable(kernel, node=node, results=results, method=False, **rules)(face)


def _lstm_op(name: str, node: str) -> Any:
    def face(input: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None, b_hh: Tensor | None, hx: Tensor, cx: Tensor,
             sizes: Ints | None, reverse: bool) -> Any: ...  # fmt: skip

    kernel = lambda *inputs: kernels.lstm(*inputs[:7], None, *inputs[7:])
    results = ("output", "hy", "cy", "gates", "past")
    return _declared(face, name, node, kernel, _lstm_gradients, (*_INPUTS, "cx"), results)


def _projected_op(name: str, node: str) -> Any:
    def face(input: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None, b_hh: Tensor | None, hx: Tensor, cx: Tensor,
             w_hr: Tensor, sizes: Ints | None, reverse: bool) -> Any: ...  # fmt: skip

    results = ("output", "hy", "cy", "gates", "past")
    return _declared(face, name, node, kernels.lstm, _projected_gradients, (*_INPUTS, "cx", "w_hr"), results)


def _gru_op(name: str, node: str) -> Any:
    def face(input: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None, b_hh: Tensor | None, hx: Tensor,
             sizes: Ints | None, reverse: bool) -> Any: ...  # fmt: skip

    return _declared(face, name, node, kernels.gru, _gru_gradients, _INPUTS, ("output", "hy", "gates", "past"))


def _rnn_op(name: str, node: str) -> Any:
    def face(input: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None, b_hh: Tensor | None, hx: Tensor, relu: bool,
             sizes: Ints | None, reverse: bool) -> Any: ...  # fmt: skip

    return _declared(face, name, node, kernels.rnn, _rnn_gradients, _INPUTS, ("output", "hy", "states"))


@linear(lambda input: input[None].copy(), node="StackBackward0", method=False, input=lambda grad: grad[0])
@traits(keeps_finite=("op", "rules"))
def _stack_one(input: Tensor) -> Tensor: ...


def stacked(tensors: Any) -> Tensor:
    """The states of all layers and directions in one tensor; fast if there is only one."""
    quick = len(tensors) == 1 and (not modes.slow() or dispatch.unwatched()) and not tensors[0].is_meta
    return _stack_one(tensors[0]) if quick else stack(tensors)


_LAYER = _lstm_op("_mkldnn_rnn_layer", "MkldnnRnnLayerBackward0")


def _pair(make: Callable[[str, str], Any], name: str) -> tuple[Any, Any]:
    """The ops for padded and for packed sequences."""
    return make(name, "StackBackward0"), make(name + "_packed", "CatBackward0")


_LSTM, _PROJECTED = _pair(_lstm_op, "_lstm_sequence"), _pair(_projected_op, "_lstm_projected")
_GRU, _RNN = _pair(_gru_op, "_gru_sequence"), _pair(_rnn_op, "_rnn_sequence")


def _takes_part(weights: dict[str, Tensor | None]) -> bool:
    """Whether the open slow modes support the fused op: vmap does, if its samples share the weights."""
    levels = dispatch.interpreters.get()
    if not dispatch.unwatched() and not (levels and all(level.batching for level in levels) and dispatch.unseen()):
        return False
    return all(w is None or w._level is None for w in weights.values())


def fused(mode: str, input: Tensor, start: tuple[Tensor, ...], weights: dict[str, Tensor | None], batch_sizes: Any,
          reverse: bool) -> Any:  # fmt: skip
    """The outputs and the last state of one direction; NotImplemented if the loop must run."""
    if input.is_meta:
        return NotImplemented
    dtype, w_hr = input._array.dtype, weights["w_hr"]
    tensors = (input, *start, *(w for w in weights.values() if w is not None))
    if (modes.slow() and not _takes_part(weights)) or dtype.char not in "fd" or not input._array.size:
        return NotImplemented
    if any(t._array.dtype is not dtype or not t._array.size for t in tensors):
        return NotImplemented
    packed = batch_sizes is not None
    sizes = tuple(batch_sizes) if packed else None
    inputs = (input, weights["w_ih"], weights["w_hh"], weights["b_ih"], weights["b_hh"], *start)
    if mode == "LSTM" and w_hr is not None:
        output, *last = _PROJECTED[packed](*inputs, w_hr, sizes, reverse)[:3]
    elif mode == "LSTM":
        output, *last = (_LAYER if dtype.char == "f" and not packed else _LSTM[packed])(*inputs, sizes, reverse)[:3]
    elif mode == "GRU":
        output, *last = _GRU[packed](*inputs, sizes, reverse)[:2]
    else:
        output, *last = _RNN[packed](*inputs, mode == "RNN_RELU", sizes, reverse)[:2]
    return output, tuple(last)
