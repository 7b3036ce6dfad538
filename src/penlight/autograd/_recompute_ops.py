"""Checkpoints that observe each op: selective ones keep the results of some, debugging ones log all.

During the forward pass, a policy decides about each op; during recomputation, ops that were kept skip their kernels and reuse the stored
results. The graph is recorded in both cases, so the saved tensors match.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from penlight._common.docstrings import example

from ..ops.machinery.aten import OpOverload, overload_of
from ..tensor import Tensor
from ._recompute import CheckpointError, Watching
from .anomaly_mode import _stack


@example("torch.utils.checkpoint.CheckpointPolicy.MUST_SAVE.name", "'MUST_SAVE'")
class CheckpointPolicy(enum.Enum):
    """A policy's decision about an op: keep its result, or recompute it. (There is no device to offload to.)"""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


_KEEP = (
    CheckpointPolicy.MUST_SAVE,
    CheckpointPolicy.PREFER_SAVE,
    CheckpointPolicy.MUST_CPU_OFFLOAD,
    CheckpointPolicy.PREFER_CPU_OFFLOAD,
)


class SelectiveCheckpointContext:
    """The context passed to a policy along with the op: the op's result, and whether this is the recomputation (it never is).

    >>> from penlight.utils import checkpoint as c
    >>> def policy(ctx, op, *args, **kwargs):
    ...     return c.CheckpointPolicy.MUST_SAVE if ctx.op_output.numel() > 2 else c.CheckpointPolicy.MUST_RECOMPUTE
    >>> x = torch.ones(3, requires_grad=True)
    >>> context = lambda: c.create_selective_checkpoint_contexts(policy)
    >>> c.checkpoint(lambda x: x.exp().sum(), x, use_reentrant=False, context_fn=context).backward()
    """

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute, self.op_output = is_recompute, op_output


# Ops that bypass the policy. `detach` is not an op here, so there are none.
SAC_IGNORED_OPS: set[Any] = set()

_MISMATCH = (
    "This can happen if the operations in the checkpointed region are nondeterministic or depend on global state that changed "
    "between forward and backward."
)
_AGAIN, _USED = object(), object()


class _Kept:
    """The results of an op, and their versions."""

    def __init__(self, results: Any) -> None:
        tensors = results if isinstance(results, tuple) else (results,)
        self.several = isinstance(results, tuple)
        self.tensors = [t.detach() for t in tensors]
        self.versions = [t._version for t in self.tensors]

    def raw(self, allow_mutation: bool) -> Any:
        if not allow_mutation and any(t._version != v for t, v in zip(self.tensors, self.versions)):
            raise RuntimeError("Tensor cached during selective activation checkpoint has been mutated")
        arrays = [t._array for t in self.tensors]
        return arrays if self.several else arrays[0]


class _Counting(Watching):
    """A context in which this object observes each op and counts how often it ran."""

    def __enter__(self) -> Any:
        self.counts: dict[OpOverload, int] = {}
        return super().__enter__()

    def key_of(self, op: Any, arguments: Any) -> tuple[OpOverload, int]:
        """The op, and how often it ran before."""
        key = overload_of(op, arguments)
        index = self.counts.get(key, 0)
        self.counts[key] = index + 1
        return key, index


class _Caching(_Counting):
    """The forward pass: asks the policy about each op and stores the results to keep."""

    def __init__(self, policy: Callable[..., Any], storage: dict[Any, dict[int, Any]]) -> None:
        self.policy, self.storage = policy, storage

    def watch(self, op: Any, arguments: Any, go: Any, inplace: bool) -> Any:
        out = go()
        key, index = self.key_of(op, arguments)
        said = self.policy(SelectiveCheckpointContext(is_recompute=False, op_output=out), key, *arguments)
        if isinstance(said, bool):
            said = CheckpointPolicy.MUST_SAVE if said else CheckpointPolicy.PREFER_RECOMPUTE
        # A view is free to recompute, and a write must be repeated.
        keep = said in _KEEP and not inplace and not op.view
        self.storage.setdefault(key, {})[index] = _Kept(out) if keep else _AGAIN
        return out


class _Cached(_Counting):
    """The recomputation: reuses the stored results."""

    def __init__(self, storage: dict[Any, dict[int, Any]], allow_mutation: bool) -> None:
        self.storage, self.allow_mutation = storage, allow_mutation

    def watch(self, op: Any, arguments: Any, go: Any, inplace: bool) -> Any:
        key, index = self.key_of(op, arguments)
        if key not in self.storage:
            raise RuntimeError(f"{key} encountered during backward but not found in storage. {_MISMATCH}")
        entry = self.storage[key].get(index)
        if entry is None:
            raise RuntimeError(
                f"{key} invocation index {index} encountered during backward but not found in storage. {_MISMATCH}"
            )
        if entry is _USED:
            raise RuntimeError(
                "Trying to backward an extra time. You are only allowed to backward once on any region computed under "
                "selective activation checkpoint."
            )
        if entry is _AGAIN:
            return go()
        self.storage[key][index] = _USED
        return go(entry.raw(self.allow_mutation))


def create_selective_checkpoint_contexts(policy_fn_or_list: Any, allow_cache_entry_mutation: bool = False) -> Any:
    """Two contexts for `checkpoint(context_fn=...)` that keep the results of the ops selected by a policy (or a list).

    >>> import functools, penlight as torch
    >>> from penlight.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
    >>> context_fn = functools.partial(create_selective_checkpoint_contexts, [torch.ops.aten.mm.default])
    >>> x = torch.ones(2, 2, requires_grad=True)
    >>> checkpoint(lambda x: (x @ x).sin(), x, use_reentrant=False, context_fn=context_fn).sum().backward()
    >>> x.grad
    tensor([[-1.6646, -1.6646],
            [-1.6646, -1.6646]])
    """
    if isinstance(policy_fn_or_list, list):
        for op in policy_fn_or_list:
            if not isinstance(op, OpOverload):
                hint = ""
                if hasattr(op, "default"):
                    hint = (
                        "Please update the OpOverloadPacket to a specific OpOverload.For example, if you have "
                        "`torch.ops.aten.mm`, change it to `torch.ops.aten.mm.default`."
                    )
                raise ValueError(
                    f"Expected op in `op_list` to be an OpOverload but got: {op} of type {type(op)}. {hint}"
                )
        named = frozenset(policy_fn_or_list)

        def policy(ctx: Any, op: Any, *args: Any, **kwargs: Any) -> Any:
            return op in named

    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    storage: dict[Any, dict[int, Any]] = {}
    return _Caching(policy, storage), _Cached(storage, allow_cache_entry_mutation)


# ----- checkpoint(debug=True): which ops ran in the forward and in the recomputation, and from which lines --------------

_REPORT = """ An error happened while unpacking tensors; dumping logs of latest computation
because you passed `debug=True` to `torch.utils.checkpoint.checkpoint()`.

1. Stack traces of the operators that ran in the original forward

{forward_traces}
2. Stack traces of the operators that ran during recomputation

{recompute_traces}
3. Log of operators in the original forward and recomputation

Operations executed during the original forward:

{forward_ops}

Operations executed during recomputation:

{recompute_ops}

 ERROR: Detected non-determinism while running activation checkpointing

 The tensors saved in the original forward differ from those saved during recomputation. Compare the two lists of operators
 above to see where they part, and find in the stack traces which line that was.

{error}
"""


class Recorder:
    """Two logs of ops, and the error that shows them."""

    def __init__(self) -> None:
        self.forward: list[tuple[str, list[str]]] = []
        self.again: list[tuple[str, list[str]]] = []

    def contexts(self) -> Any:
        return _Logging(self.forward), _Logging(self.again)

    def explain(self, error: CheckpointError) -> CheckpointError:
        return CheckpointError(
            _REPORT.format(
                forward_traces=_traces("original", self.forward),
                recompute_traces=_traces("recompute", self.again),
                forward_ops="\n".join(line for line, _ in self.forward),
                recompute_ops="\n".join(line for line, _ in self.again),
                error=error,
            )
        )


def _traces(label: str, log: list[tuple[str, list[str]]]) -> str:
    return "\n".join(
        f"{line}   ({i + 1} of {len(log)} in {label})\n\n{''.join(stack)}" for i, (line, stack) in enumerate(log)
    )


class _Logging(Watching):
    """A context that logs each op. It can be re-entered: a retained graph recomputes twice."""

    def __init__(self, log: list[tuple[str, list[str]]]) -> None:
        self.log = log

    def __enter__(self) -> Any:
        self.log.clear()
        return super().__enter__()

    def watch(self, op: Any, arguments: Any, go: Any, inplace: bool) -> Any:
        shown = ", ".join(_brief(a) for a in arguments)
        self.log.append((f"torch.ops.{overload_of(op, arguments)}({shown})", _stack(all_frames=False)))
        return go()


def _brief(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    return repr(value)
