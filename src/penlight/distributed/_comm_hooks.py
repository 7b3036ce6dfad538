"""Built-in communication hooks of DistributedDataParallel, and local SGD, which synchronises less often.

Pass them to `model.register_comm_hook(state, hook)`. The state of the simple hooks is a group, or None for all ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import penlight
from penlight.futures import Future
from penlight.tensor import Tensor

from .._common.arguments import explain as _explain
from ._collectives import all_reduce
from ._group import Group, groups
from ._reducer import GradBucket

Hook = Callable[[Any, GradBucket], Future[Tensor]]


def _averaged(group: Group, tensor: Tensor) -> Future[Tensor]:
    """Average a tensor over the ranks in place. Returns a future."""
    ranks = groups.find(group)
    tensor.div_(ranks.size())
    work = all_reduce(tensor, group=ranks, async_op=True)
    assert work is not None
    return work.get_future().then(lambda future: future.value()[0])


def allreduce_hook(process_group: Group, bucket: GradBucket) -> Future[Tensor]:
    """Average the gradients, as without a hook.

    >>> import penlight.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> from penlight.distributed.algorithms.ddp_comm_hooks import default_hooks
    >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
    >>> model.register_comm_hook(None, default_hooks.allreduce_hook)
    >>> model(torch.ones(1, 2)).sum().backward(); model.module.weight.grad
    tensor([[1., 1.]])
    >>> dist.destroy_process_group()
    """
    return _averaged(process_group, bucket.buffer())


def _compressing(dtype: Any, hook: Hook) -> Hook:
    """A hook that runs another one on gradients of a shorter dtype."""

    def compressed(state: Any, bucket: GradBucket) -> Future[Tensor]:
        whole = bucket.buffer()
        bucket.set_buffer(whole.to(dtype))
        return hook(state, bucket).then(lambda future: whole.copy_(future.value()))

    return compressed


def fp16_compress_hook(process_group: Group, bucket: GradBucket) -> Future[Tensor]:
    """Average the gradients in float16: half as many bytes.

    >>> import penlight.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> from penlight.distributed.algorithms.ddp_comm_hooks import default_hooks
    >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
    >>> model.register_comm_hook(None, default_hooks.fp16_compress_hook)
    >>> model(torch.ones(1, 2)).sum().backward(); model.module.weight.grad
    tensor([[1., 1.]])
    >>> dist.destroy_process_group()
    """
    return _compressing(penlight.float16, allreduce_hook)(process_group, bucket)


def bf16_compress_hook(process_group: Group, bucket: GradBucket) -> Future[Tensor]:
    """Average the gradients in bfloat16: half as many bytes.

    >>> import penlight.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> from penlight.distributed.algorithms.ddp_comm_hooks import default_hooks
    >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
    >>> model.register_comm_hook(None, default_hooks.bf16_compress_hook)
    >>> model(torch.ones(1, 2)).sum().backward(); model.module.weight.grad
    tensor([[1., 1.]])
    >>> dist.destroy_process_group()
    """
    return _compressing(penlight.bfloat16, allreduce_hook)(process_group, bucket)


def fp16_compress_wrapper(hook: Hook) -> Hook:
    """A hook that runs another one on gradients in float16.

    >>> import penlight.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> from penlight.distributed.algorithms.ddp_comm_hooks import default_hooks
    >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
    >>> model.register_comm_hook(None, default_hooks.fp16_compress_wrapper(default_hooks.allreduce_hook))
    >>> model(torch.ones(1, 2)).sum().backward(); model.module.weight.grad
    tensor([[1., 1.]])
    >>> dist.destroy_process_group()
    """
    return _compressing(penlight.float16, hook)


def bf16_compress_wrapper(hook: Hook) -> Hook:
    """A hook that runs another one on gradients in bfloat16.

    >>> import penlight.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> from penlight.distributed.algorithms.ddp_comm_hooks import default_hooks
    >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
    >>> model.register_comm_hook(None, default_hooks.bf16_compress_wrapper(default_hooks.allreduce_hook))
    >>> model(torch.ones(1, 2)).sum().backward(); model.module.weight.grad
    tensor([[1., 1.]])
    >>> dist.destroy_process_group()
    """
    return _compressing(penlight.bfloat16, hook)


# ----- Local SGD ------------------------------------------------------------------------------------------------------


class PostLocalSGDState:
    """The state of `post_localSGD_hook`.

    Args:
        process_group: the ranks that average gradients at first; all, if it is None.
        subgroup: the ranks that average gradients later, such as those of one machine; none, if it is None.
        start_localSGD_iter: the iteration from which only the subgroup averages gradients.
        post_local_gradient_allreduce: whether the subgroup averages gradients from then on.

    >>> from penlight.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook import PostLocalSGDState
    >>> PostLocalSGDState(process_group=None, subgroup=None, start_localSGD_iter=100).iter
    0
    """

    def __init__(
        self, process_group: Group, subgroup: Group, start_localSGD_iter: int,
        post_local_gradient_allreduce: bool = True,
    ) -> None:  # fmt: skip
        self.process_group, self.subgroup = process_group, subgroup
        self.start_localSGD_iter, self.iter = start_localSGD_iter, 0
        self.post_local_gradient_allreduce = post_local_gradient_allreduce

    def maybe_increase_iter(self, bucket: GradBucket) -> None:
        """Count an iteration at its last bucket."""
        if bucket.is_last():
            self.iter += 1


def post_localSGD_hook(state: PostLocalSGDState, bucket: GradBucket) -> Future[Tensor]:
    """Average gradients over all ranks at first, later over a subgroup only.

    From then on a `PeriodicModelAverager` averages the parameters of all ranks.

    >>> import penlight.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> from penlight.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook import PostLocalSGDState, post_localSGD_hook
    >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
    >>> model.register_comm_hook(PostLocalSGDState(None, None, start_localSGD_iter=100), post_localSGD_hook)
    >>> model(torch.ones(1, 2)).sum().backward()
    >>> dist.destroy_process_group()
    """
    local = state.iter >= state.start_localSGD_iter
    state.maybe_increase_iter(bucket)
    if not local:
        return _averaged(state.process_group, bucket.buffer())
    if not state.post_local_gradient_allreduce or state.subgroup is None:
        future: Future[Tensor] = Future()
        future.set_result(bucket.buffer())
        return future
    return _averaged(state.subgroup, bucket.buffer())


class ModelAverager:
    """Averages parameters over ranks at intervals; the base class of `PeriodicModelAverager`.

    >>> from penlight.distributed.algorithms.model_averaging.averagers import ModelAverager, PeriodicModelAverager
    >>> issubclass(PeriodicModelAverager, ModelAverager)
    True
    """

    def __init__(self, process_group: Group = None) -> None:
        self.process_group = groups.find(process_group)
        self.step = 0

    def average_parameters(self, params: Iterable[Any]) -> None:
        """Count a step, and average if it is due."""
        raise NotImplementedError


class PeriodicModelAverager(ModelAverager):
    """Averages parameters every `period` steps.

    Args:
        period: the number of steps between averages.
        warmup_steps: the number of steps before the first average.
        process_group: the ranks; all, if it is not given.

    >>> import penlight.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> from penlight.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
    >>> averager = PeriodicModelAverager(period=4, warmup_steps=100)
    >>> averager.average_parameters(torch.nn.Linear(2, 1).parameters()); averager.step
    1
    >>> dist.destroy_process_group()
    """

    def __init__(self, period: int, warmup_steps: int = 0, process_group: Group = None) -> None:
        super().__init__(process_group)
        if warmup_steps < 0:
            raise ValueError("Arg ``warmup_steps`` must be a non-negative number.")
        if period < 1:
            raise ValueError("Arg ``period`` must be a positive value.")
        self.period, self.warmup_steps = period, warmup_steps

    def average_parameters(self, params: Iterable[Any]) -> None:
        """Count a step, and if it is due, average these parameters, or those of parameter groups."""
        if self.step >= self.warmup_steps and (self.step - self.warmup_steps) % self.period == 0:
            average_parameters(params, self.process_group)
        self.step += 1


def average_parameters(params: Iterable[Any], process_group: Group) -> None:
    """Average parameters, or those of parameter groups, over the ranks. Parameters without a gradient are skipped."""
    given = [one for item in params for one in (item["params"] if isinstance(item, dict) else [item])]
    futures = [_averaged(process_group, parameter.data) for parameter in given if parameter.grad is not None]
    for future in futures:
        future.wait()


class PostLocalSGDOptimizer(penlight.optim.Optimizer):
    """Wraps an optimiser; after each step a `PeriodicModelAverager` may average the parameters.

    Args:
        optim: the optimiser.
        averager: averages the parameters after a step.

    >>> import penlight.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> from penlight.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
    >>> from penlight.distributed.optim import PostLocalSGDOptimizer
    >>> inner = torch.optim.SGD(torch.nn.Linear(2, 1).parameters(), lr=0.1)
    >>> PostLocalSGDOptimizer(inner, PeriodicModelAverager(4)).step()
    >>> dist.destroy_process_group()
    """

    def __init__(self, optim: penlight.optim.Optimizer, averager: ModelAverager) -> None:
        self.optim, self.averager = optim, averager
        self.param_groups = optim.param_groups

    @property
    def state(self) -> Any:  # type: ignore[override]
        """The optimiser's state."""
        return self.optim.state

    def __repr__(self) -> str:
        return repr(self.optim)

    def state_dict(self) -> dict[str, Any]:
        """The optimiser's state dict, with the averager's step count."""
        return {**self.optim.state_dict(), "step": self.averager.step}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a state that `state_dict` returned."""
        own = dict(state_dict)
        self.averager.step = own.pop("step", 0)
        self.optim.load_state_dict(own)

    def step(self) -> None:  # type: ignore[override]
        """Run a step of the optimiser, and average if it is due."""
        self.optim.step()
        self.averager.average_parameters(self.param_groups)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """That of the optimiser."""
        self.optim.zero_grad(set_to_none=set_to_none)

    def add_param_group(self, param_group: Any) -> None:
        """That of the optimiser."""
        self.optim.add_param_group(param_group)


_explain(globals())
