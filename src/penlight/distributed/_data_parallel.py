"""DistributedDataParallel: replicas of a module on several ranks, each with a part of the batch; gradients are averaged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import penlight
from penlight import distributed as _distributed
from penlight._common.module_table import make_modules
from penlight._common.user_warnings import warn_user
from penlight.nn.modules.module import Module

from . import _group, _join, _reducer


class DistributedDataParallel(Module):
    """Wraps a module so that its gradients are averaged over the ranks of a group during the backward pass.

    Every rank wraps the same module, feeds it its own part of the batch, and then takes the same optimiser step. At
    construction all ranks copy the parameters and buffers of rank 0.

    Args:
        module: the module, available again as `.module`.
        device_ids, output_device: for GPUs; None here.
        broadcast_buffers: whether to copy the buffers of rank 0, such as BatchNorm's running means, before each
            forward pass.
        forward_sync_buffers: another name for `broadcast_buffers`.
        init_sync: whether to compare the modules of the ranks, and copy rank 0's parameters, at construction.
        process_group: the ranks; all, if it is not given.
        bucket_cap_mb: the size of the buckets in which gradients are reduced, in MiB; 25 if it is not given.
        find_unused_parameters: whether to find, in each forward pass, the parameters that its outputs do not depend on.
        gradient_as_bucket_view: whether `.grad` of the parameters is the memory of the buckets, which saves a copy.
        static_graph: whether every iteration uses the same parameters in the same way as the first.
        delay_all_reduce_named_params, mixed_precision, device_mesh: refused.
        dim, check_reduction, param_to_hook_all_reduce, skip_all_reduce_unused_params, bucket_cap_mb_list, batched_grad_copy:
            accepted and ignored.

    >>> import penlight.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
    >>> model(torch.ones(3, 2)).sum().backward()
    >>> model.module.weight.grad
    tensor([[3., 3.]])
    >>> dist.destroy_process_group()
    """

    def __init__(
        self, module: Module, device_ids: Sequence[Any] | None = None, output_device: Any = None, dim: int = 0,
        broadcast_buffers: bool | None = None, init_sync: bool = True, process_group: Any = None,
        bucket_cap_mb: float | None = None, find_unused_parameters: bool = False, check_reduction: bool = False,
        gradient_as_bucket_view: bool = False, static_graph: bool = False, delay_all_reduce_named_params: Any = None,
        param_to_hook_all_reduce: Any = None, mixed_precision: Any = None, device_mesh: Any = None,
        skip_all_reduce_unused_params: bool = False, bucket_cap_mb_list: Any = None, batched_grad_copy: bool = False,
        forward_sync_buffers: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        for name, given in (
            ("mixed_precision", mixed_precision),
            ("device_mesh", device_mesh),
            ("delay_all_reduce_named_params", delay_all_reduce_named_params),
        ):
            if given is not None:
                raise NotImplementedError(f"DistributedDataParallel has no {name} in Penlight")
        self.process_group = _group.groups.find(process_group)
        self.parameters_to_ignore = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        named = [item for item in module.named_parameters() if item[0] not in self.parameters_to_ignore]
        trained = [parameter for _, parameter in named if parameter.requires_grad]
        if not trained:
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameter that requires a "
                "gradient."
            )
        if device_ids or output_device is not None:
            devices = {parameter.device for _, parameter in named}
            raise ValueError(
                "DistributedDataParallel device_ids and output_device arguments only work with single-device/"
                f"multiple-device GPU modules or CPU modules, but got device_ids {device_ids}, output_device "
                f"{output_device}, and module parameters {devices}."
            )
        self.module = module
        self.device_ids = None
        self.output_device = None
        self.dim = dim
        self.device = trained[0].device
        self.device_type = "cpu"
        self.find_unused_parameters = find_unused_parameters
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.static_graph = static_graph
        chosen = broadcast_buffers if forward_sync_buffers is None else forward_sync_buffers
        self.forward_sync_buffers = True if chosen is None else chosen
        self.require_backward_grad_sync = self.require_forward_param_sync = True
        self.bucket_bytes_cap = int((25 if bucket_cap_mb is None else bucket_cap_mb) * 1024 * 1024)
        self.modules_buffers = [
            buffer for name, buffer in module.named_buffers() if name not in self.parameters_to_ignore
        ]
        self._join_context: Any = None
        self._active_ranks = self.process_group.size()
        self._divide_by_initial_size = True
        if init_sync:
            _check_same(self.process_group, trained)
            states = [tensor for _, tensor in named] + self.modules_buffers
            _reducer.broadcast_coalesced(self.process_group, states, 0)
        self.reducer = _reducer.Reducer(
            trained,
            self.process_group,
            self.bucket_bytes_cap,
            gradient_as_bucket_view,
            find_unused_parameters,
            static_graph,
        )

    @property
    def broadcast_buffers(self) -> bool:
        """Whether rank 0's buffers are copied before each forward pass."""
        return self.forward_sync_buffers

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Call the module. The next backward pass averages the gradients, except within `no_sync`."""
        syncing = penlight.is_grad_enabled() and self.require_backward_grad_sync
        if self._join_context is not None:
            self._tell_joined(syncing)
        if syncing:
            self.reducer.check_finished()
        if self.will_sync_module_buffers():
            self._sync_buffers()
        output = self.module(*inputs, **kwargs)
        self.require_forward_param_sync = syncing or not penlight.is_grad_enabled()
        if syncing:
            self.reducer.expect(output)
        else:
            self.reducer.expecting = False
        return output

    def will_sync_module_buffers(self) -> bool:
        """Whether the next forward pass copies the buffers of rank 0."""
        return self.require_forward_param_sync and self.forward_sync_buffers and bool(self.modules_buffers)

    def _sync_buffers(self, joined: bool = False) -> None:
        """Copy the buffers of rank 0, or in `join` those of the last rank that still has inputs."""
        source = 0
        if self._join_context is not None:
            known = penlight.tensor([-1 if joined else self.process_group.rank()])
            _distributed.all_reduce(known, _distributed.ReduceOp.MAX, self.process_group)
            source = int(known)
        _reducer.broadcast_coalesced(self.process_group, self.modules_buffers, source)

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """A context in which gradients accumulate locally; the first backward pass after it averages them.

        The forward pass must be inside it too.
        """
        before = self.require_backward_grad_sync
        self.require_backward_grad_sync = False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def register_comm_hook(self, state: object, hook: Callable[[Any, Any], Any]) -> None:
        """Register a function that replaces the averaging of gradients.

        Args:
            state: passed to the function.
            hook: called as `hook(state, bucket)` for each `GradBucket`, whose gradients are not yet divided; returns a
                `torch.futures.Future` of a tensor with the averages.
        """
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        if self.reducer.hook is not None:
            raise RuntimeError("register_comm_hook or register_builtin_comm_hook can only be called once.")
        self.reducer.hook = (state, hook)

    # ----- Ranks with different numbers of inputs ---------------------------------------------------------------------

    def join(
        self, divide_by_initial_world_size: bool = True, enable: bool = True, throw_on_early_termination: bool = False
    ) -> Any:
        """A context in which ranks may have different numbers of inputs: a rank without inputs contributes zeros.

        Args:
            divide_by_initial_world_size: whether gradients are divided by the number of all ranks, or of active ones.
            enable: False if all ranks have equally many inputs.
            throw_on_early_termination: whether to raise on all ranks when the first one has no inputs left.
        """
        return _join.Join(
            [self], enable, throw_on_early_termination, divide_by_initial_world_size=divide_by_initial_world_size
        )

    def join_hook(self, **kwargs: Any) -> Any:
        """The hook of a rank without inputs in `join`."""
        self._divide_by_initial_size = kwargs.get("divide_by_initial_world_size", True)
        return _JoinHook(self)

    @property
    def join_device(self) -> Any:
        """The CPU."""
        return self.device

    @property
    def join_process_group(self) -> Any:
        """The group."""
        return self.process_group

    def _tell_joined(self, syncing: bool) -> None:
        _join.Join.notify_join_context(self)
        self.reducer.divisor = self.process_group.size() if self._divide_by_initial_size else self._active_ranks
        plan = penlight.tensor([self.will_sync_module_buffers(), syncing], dtype=penlight.int64)
        _distributed.all_reduce(plan, _distributed.ReduceOp.MAX, self.process_group)

    @staticmethod
    def _set_params_and_buffers_to_ignore_for_model(module: Module, params_and_buffers_to_ignore: Any) -> None:
        """Ignore parameters and buffers with these names."""
        module._ddp_params_and_buffers_to_ignore = params_and_buffers_to_ignore

    def _get_ddp_logging_data(self) -> dict[str, Any]:
        return {"world_size": self.process_group.size(), "bucket_cap_bytes": self.bucket_bytes_cap}

    def _set_static_graph(self) -> None:
        self.static_graph = self.reducer.static = True


class _JoinHook:
    """Takes part in the other ranks' collectives for a rank without inputs: see `DistributedDataParallel.join`."""

    def __init__(self, model: DistributedDataParallel) -> None:
        self.model = model

    def main_hook(self) -> None:
        """Take part in one iteration: forward and backward pass."""
        plan = penlight.zeros(2, dtype=penlight.int64)
        _distributed.all_reduce(plan, _distributed.ReduceOp.MAX, self.model.process_group)
        buffers, syncing = plan.tolist()
        if buffers:
            self.model._sync_buffers(joined=True)
        if syncing:
            self.model.reducer.shadow()

    def post_hook(self, is_last_joiner: bool) -> None:
        """Copy the parameters and buffers of a rank that had inputs until the end."""
        model, group = self.model, self.model.process_group
        source = penlight.tensor([group.rank() if is_last_joiner else -1])
        _distributed.all_reduce(source, _distributed.ReduceOp.MAX, group)
        states = [*model.module.parameters(), *model.modules_buffers]
        _reducer.broadcast_coalesced(group, states, int(source))
        model.reducer.divisor = group.size()


def _check_same(group: Any, parameters: Sequence[Any]) -> None:
    """Raise, on all ranks, if a rank's parameters differ from rank 0's in number, shape or dtype."""
    mine = [(list(parameter.shape), str(parameter.dtype)) for parameter in parameters]
    models: list[Any] = [None] * group.size()
    _distributed.all_gather_object(models, mine, group)
    me = group.rank()
    for rank, other in enumerate(models):
        if len(other) != len(mine):
            raise RuntimeError(
                f"DDP expects same model across all ranks, but Rank {me} has {len(mine)} params, while rank {rank} has "
                f"inconsistent {len(other)} params."
            )
    for rank, other in enumerate(models):
        for index, (theirs, first) in enumerate(zip(other, models[0])):
            if theirs != first:
                raise RuntimeError(
                    f"[{rank}]: params[{index}] in this process with sizes {theirs[0]} appears not to match sizes of "
                    "the same param in process 0."
                )


class DistributedDataParallelCPU(DistributedDataParallel):
    """Deprecated alias of `DistributedDataParallel`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warn_user(
            "`torch.nn.parallel.DistributedDataParallelCPU` is deprecated, please use "
            "`torch.nn.parallel.DistributedDataParallel` instead.",
            FutureWarning,
        )
        super().__init__(*args, **kwargs)


make_modules(__name__)
