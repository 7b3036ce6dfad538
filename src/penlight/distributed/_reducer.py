"""Averages gradients over ranks while a backward pass computes them: the engine of DistributedDataParallel.

# Note [Buckets]
Many small reductions cost more than a few large ones, but a single large one could not start before the last gradient is
ready. So parameters are put into buckets in reverse order, which is about the order in which their
gradients become ready: a small bucket first, so that communication starts early, then larger ones. A complete
bucket is reduced while the backward pass continues. All ranks start the buckets in the same order, in
a separate communicator, so they need no agreement (see Note [Agreement before data]): the models were
compared at construction.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from penlight.autograd.engine import queue_callback
from penlight.autograd.node import AccumulateGrad, set_grad
from penlight.autograd.views import bump
from penlight.futures import Future
from penlight.tensor import Tensor, wrap

from ._group import ProcessGroup, Work, example_in_group

FIRST_BUCKET = 1 << 20  # bytes


class GradBucket:
    """The argument of a communication hook: the gradients of some parameters, concatenated in one tensor.

    >>> import penlight.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
    >>> def keep(state, bucket):  # a communication hook that reduces nothing
    ...     print(bucket.index(), bucket.buffer().shape, bucket.is_last())
    ...     future = torch.futures.Future()
    ...     future.set_result(bucket.buffer())
    ...     return future
    >>> model.register_comm_hook(None, keep)
    >>> model(torch.ones(1, 2)).sum().backward()
    0 torch.Size([3]) True
    >>> dist.destroy_process_group()
    """

    def __init__(self, bucket: Bucket, is_last: bool) -> None:
        self._bucket, self._is_last = bucket, is_last
        self._buffer = wrap(bucket.flat)

    def index(self) -> int:
        """The index of the bucket."""
        return self._bucket.index

    def buffer(self) -> Tensor:
        """The gradients as one 1-D tensor."""
        return self._buffer

    def set_buffer(self, buffer: Tensor) -> None:
        """Replace the tensor of the gradients."""
        self._buffer = buffer

    def gradients(self) -> list[Tensor]:
        """The gradient of each parameter, as views of the buffer."""
        sizes = [parameter.numel() for parameter in self._bucket.parameters]
        pieces = self._buffer.split(sizes)
        return [piece.view(parameter.shape) for piece, parameter in zip(pieces, self._bucket.parameters)]

    def parameters(self) -> list[Tensor]:
        """The parameters."""
        return list(self._bucket.parameters)

    def is_last(self) -> bool:
        """Whether it is the last bucket of a backward pass."""
        return self._is_last


class Bucket:
    """Some parameters, and one buffer for their gradients, reduced in one operation. See Note [Buckets]."""

    def __init__(self, index: int, parameters: Sequence[Tensor]) -> None:
        self.index, self.parameters = index, list(parameters)
        self.flat = np.zeros(sum(p.numel() for p in parameters), parameters[0]._array.dtype)
        self.views: list[np.ndarray[Any, Any]] = []
        start = 0
        for parameter in parameters:
            self.views.append(self.flat[start : start + parameter.numel()].reshape(parameter.shape))
            start += parameter.numel()
        self.waiting_for: set[int] = set()
        self.running: Work | Future[Any] | None = None


def cut(parameters: Sequence[Tensor], limit: int, first: int = FIRST_BUCKET) -> list[list[Tensor]]:
    """Split parameters, in reverse order, into buckets of one dtype and at most about `limit` bytes."""
    buckets: list[list[Tensor]] = []
    open_buckets: dict[Any, list[Tensor]] = {}
    for parameter in reversed(parameters):
        bucket = open_buckets.setdefault(parameter.dtype, [])
        bucket.append(parameter)
        if sum(p.numel() * p.element_size() for p in bucket) >= (limit if buckets else min(first, limit)):
            buckets.append(open_buckets.pop(parameter.dtype))
    buckets.extend(open_buckets.values())
    return buckets


@example_in_group(
    "isinstance(torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1)).reducer, dist.Reducer)", "True"
)
class Reducer:
    """Averages the gradients of parameters over the ranks of a group, in each backward pass that follows `expect`."""

    def __init__(
        self, parameters: Sequence[Tensor], group: ProcessGroup, limit: int, as_views: bool, find_unused: bool,
        static: bool,
    ) -> None:  # fmt: skip
        self.parameters, self.group = list(parameters), group._apart()
        self.as_views, self.find_unused, self.static = as_views, find_unused, static
        self.divisor = group.size()
        self.hook: tuple[Any, Callable[[Any, GradBucket], Future[Any]]] | None = None
        self.buckets = [Bucket(index, part) for index, part in enumerate(cut(parameters, limit))]
        self.number = {id(p): position for position, p in enumerate(self.parameters)}
        self.home = {
            self.number[id(p)]: (bucket, position)
            for bucket in self.buckets
            for position, p in enumerate(bucket.parameters)
        }
        self.expecting = False  # whether to average the gradients of the next pass
        self.begun = False  # whether one of them has arrived
        self.used = np.zeros(len(self.parameters), np.int32)
        self.arrivals = [0] * len(self.parameters)  # in a static graph: how often each gradient arrives in one pass
        self.learned = False  # whether a first pass has counted the arrivals
        self.left = [0] * len(self.parameters)
        self.next = 0
        self.finished: Callable[[], None] | None = None
        self.handles = [p.register_post_accumulate_grad_hook(self._arrived) for p in self.parameters]

    def remove(self) -> None:
        """Remove the hooks from the parameters."""
        for handle in self.handles:
            handle.remove()

    def expect(self, outputs: Any) -> None:
        """Average the gradients of the next backward pass, which begins at these outputs."""
        self.expecting, self.begun, self.next = True, False, 0
        self.used[...] = 0
        static = self.static and self.learned
        self.left = list(self.arrivals) if static else [1] * len(self.parameters)
        for bucket in self.buckets:
            bucket.waiting_for = {self.number[id(p)] for p in bucket.parameters}
            bucket.running = None
        unused: Sequence[int] = ()
        if static:
            unused = [position for position, times in enumerate(self.arrivals) if times == 0]
        elif self.find_unused:
            reached = _leaves(outputs)
            unused = [position for position, p in enumerate(self.parameters) if id(p) not in reached]
        for position in unused:
            self._absent(position)
        if unused:
            self._launch()

    def check_finished(self) -> None:
        """Raise if gradients of the last backward pass are missing when a new forward pass starts."""
        if not (self.expecting and self.begun):
            return
        self.expecting = False
        missing = " ".join(str(position) for bucket in self.buckets for position in sorted(bucket.waiting_for))
        raise RuntimeError(
            "Expected to have finished reduction in the prior iteration before starting a new one. This error "
            "indicates that your module has parameters that were not used in producing loss. You can enable unused "
            "parameter detection by passing the keyword argument `find_unused_parameters=True` to "
            "`torch.nn.parallel.DistributedDataParallel`, and by \nmaking sure all `forward` function outputs "
            f"participate in calculating loss. \nParameter indices which did not receive grad for rank "
            f"{self.group._global_rank}: {missing}"
        )

    def _absent(self, position: int) -> None:
        bucket, index = self.home[position]
        bucket.views[index][...] = 0
        bucket.waiting_for.discard(position)

    def _arrived(self, parameter: Tensor) -> None:
        """The hook of a parameter: its gradient has arrived."""
        if not self.expecting:
            return
        position = self.number[id(parameter)]
        if not self.begun:
            self.begun = True
            queue_callback(self._end)
        self.used[position] = 1
        if self.static and not self.learned:
            self.arrivals[position] += 1  # averaged at the end of the pass
            return
        self.left[position] -= 1
        if self.left[position] > 0:
            return
        if self.left[position] < 0:
            raise RuntimeError(
                "Expected to mark a variable ready only once. This error is caused by one of the following reasons: 1) "
                "Use of a module parameter outside the `forward` function. 2) Reused parameters in multiple reentrant "
                f"backward passes. Parameter at index {position} has been marked as ready twice. Pass static_graph=True "
                "if the graph does not change between iterations."
            )
        self._take(position, parameter)
        self._launch()

    def _take(self, position: int, parameter: Tensor) -> None:
        """Copy a gradient into its bucket, divided by the number of ranks if no hook does that."""
        bucket, index = self.home[position]
        view = bucket.views[index]
        grad = parameter._grad
        if grad is None:
            view[...] = 0
        elif not isinstance(grad._array, np.ndarray):
            raise NotImplementedError("DistributedDataParallel averages dense gradients. Use Embedding(sparse=False).")
        elif self.hook is None:
            np.multiply(grad._array, 1 / self.divisor, out=view, casting="unsafe")
        elif grad._array is not view:
            view[...] = grad._array
        bucket.waiting_for.discard(position)

    def _launch(self) -> None:
        """Start the reduction of complete buckets, in order, and make progress on the running ones."""
        while self.next < len(self.buckets) and not self.buckets[self.next].waiting_for:
            bucket = self.buckets[self.next]
            self.next += 1
            bucket.running = self.reduce(bucket)
        self.group._progress()

    def reduce(self, bucket: Bucket) -> Work | Future[Any]:
        """Start the reduction of a bucket."""
        if self.hook is not None:
            state, hook = self.hook
            future = hook(state, GradBucket(bucket, bucket is self.buckets[-1]))
            if not isinstance(future, Future):
                raise RuntimeError(f"Communication hook must return a torch.futures.Future, but got {type(future)}")
            return future
        engine, flat = self.group._data, bucket.flat
        return self.group._begin("gradients", lambda: engine.all_reduce(flat, "SUM"), same=None, size=flat.nbytes)

    def _end(self) -> None:
        """At the end of the backward pass, wait for the averages and copy them to the parameters."""
        if self.static and not self.learned:
            self.learned = True
            for position, parameter in enumerate(self.parameters):
                if self.arrivals[position]:
                    self._take(position, parameter)
                else:
                    self._absent(position)
            self._launch()
        if self.next < len(self.buckets):
            return  # gradients are missing: the next forward pass raises
        anywhere = self._used_anywhere()
        for bucket in self.buckets:
            self.complete(bucket)
            for parameter, view in zip(bucket.parameters, bucket.views):
                if anywhere is None or anywhere[self.number[id(parameter)]]:
                    self._give(parameter, view)
        self.expecting = self.begun = False
        if self.finished is not None:
            self.finished()

    def _used_anywhere(self) -> np.ndarray[Any, Any] | None:
        """The parameters that at least one rank has used; the gradients of the others stay unchanged."""
        if not (self.find_unused or self.static):
            return None
        engine, used = self.group._data, self.used
        self.group._begin("used parameters", lambda: engine.all_reduce(used, "MAX"), same=None).wait()
        return used

    def complete(self, bucket: Bucket) -> None:
        """Wait for the reduction of a bucket."""
        running = bucket.running
        bucket.running = None
        if isinstance(running, Work):
            running.wait()
        elif running is not None:
            result = running.wait()
            result = result[0] if isinstance(result, (list, tuple)) else result
            if result._array is not bucket.flat:
                bucket.flat[...] = result._array

    def _give(self, parameter: Tensor, view: np.ndarray[Any, Any]) -> None:
        grad = parameter._grad
        if self.as_views:
            if grad is None or grad._array is not view:
                set_grad(parameter, wrap(view))
        elif grad is None:
            set_grad(parameter, wrap(view.copy()))
        else:
            grad._array[...] = view
            bump(grad)

    # ----- Ranks that have no inputs any more -------------------------------------------------------------------------

    def shadow(self) -> None:
        """Take part in the reductions of the other ranks' backward pass, with zero gradients."""
        for bucket in self.buckets:
            bucket.flat[...] = 0
            bucket.running = self.reduce(bucket)
        self.used[...] = 0
        if self._used_anywhere() is not None and self.static:
            self.learned = True
        for bucket in self.buckets:
            self.complete(bucket)


def _leaves(outputs: Any) -> set[int]:
    """The ids of the leaves that these outputs depend on."""
    pending = [tensor.grad_fn for tensor in _tensors(outputs) if tensor.grad_fn is not None]
    found = {id(tensor) for tensor in _tensors(outputs) if tensor.grad_fn is None}
    seen = set(pending)
    while pending:
        node = pending.pop()
        if isinstance(node, AccumulateGrad):
            found.add(id(node.variable))
            continue
        for following, _ in node.next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                pending.append(following)
    return found


def _tensors(value: Any) -> Iterator[Tensor]:
    """The tensors in lists, tuples, dicts and dataclasses."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _tensors(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)
    elif hasattr(value, "__dataclass_fields__"):
        for name in value.__dataclass_fields__:
            yield from _tensors(getattr(value, name))


def broadcast_coalesced(group: ProcessGroup, tensors: Sequence[Tensor], root: int) -> None:
    """Overwrite tensors by those of one rank, with one message per dtype."""
    kinds: dict[Any, list[Tensor]] = {}
    for tensor in tensors:
        kinds.setdefault(tensor.dtype, []).append(tensor)
    running = []
    for dtype, some in kinds.items():
        flat = np.concatenate([tensor._array.reshape(-1) for tensor in some])
        work = group._begin(
            "broadcast", lambda flat=flat: group._data.broadcast(flat, root),  # type: ignore[misc]
            same=[dtype, f"{flat.size} elements", f"from rank {root}"], size=flat.nbytes,
        )  # fmt: skip
        running.append((work, flat, some))
    for work, flat, some in running:
        work.wait()
        if group.rank() != root:
            starts = np.cumsum([0, *(math.prod(tensor.shape) for tensor in some)])
            for tensor, start, end in zip(some, starts, starts[1:]):
                tensor._array[...] = flat[start:end].reshape(tensor._array.shape)
