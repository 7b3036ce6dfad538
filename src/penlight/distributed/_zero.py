"""ZeroRedundancyOptimizer: each rank keeps the optimiser state of only a part of the parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import penlight
from penlight.optim import Optimizer
from penlight.tensor import Tensor

from ._group import Group, groups
from ._objects import broadcast_object_list
from ._reducer import broadcast_coalesced


class ZeroRedundancyOptimizer(Optimizer):
    """An optimiser whose state is partitioned over the ranks: each updates its own parameters and sends them to the others.

    Args:
        params: the parameters, or parameter groups.
        optimizer_class: the class of the optimiser that updates each rank's part.
        process_group: the ranks; all, if it is not given.
        parameters_as_bucket_view: accepted; parameters are sent in one message for each rank and dtype in any case.
        overlap_with_ddp: refused if it is True.
        defaults: the options of the optimiser.

    >>> import penlight as torch, penlight.distributed as dist
    >>> from penlight.distributed.optim import ZeroRedundancyOptimizer
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> model = torch.nn.Linear(2, 1)
    >>> optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=0.1)
    >>> model(torch.ones(1, 2)).sum().backward(); optimizer.step()
    >>> dist.destroy_process_group()
    """

    def __init__(
        self, params: Any, optimizer_class: type[Optimizer], process_group: Group = None,
        parameters_as_bucket_view: bool = False, overlap_with_ddp: bool = False, **defaults: Any,
    ) -> None:  # fmt: skip
        if overlap_with_ddp:
            raise NotImplementedError("ZeroRedundancyOptimizer has no overlap_with_ddp in Penlight: leave it out")
        self.process_group = groups.find(process_group)
        self.world_size, self.rank = self.process_group.size(), self.process_group.rank()
        self._class, self._options = optimizer_class, defaults
        self._whole: dict[str, Any] | None = None
        super().__init__(params, defaults)
        self._share_out()

    def _share_out(self) -> None:
        """Assign each parameter, largest first, to the rank with the fewest elements so far."""
        everything = [parameter for group in self.param_groups for parameter in group["params"]]
        sizes = [0] * self.world_size
        self._owner: dict[int, int] = {}
        for parameter in sorted(everything, key=lambda p: -p.numel()):
            owner = sizes.index(min(sizes))
            sizes[owner] += parameter.numel()
            self._owner[id(parameter)] = owner
        self._parts = [
            [parameter for parameter in everything if self._owner[id(parameter)] == rank]
            for rank in range(self.world_size)
        ]
        mine = [
            {**group, "params": [p for p in group["params"] if self._owner[id(p)] == self.rank]}
            for group in self.param_groups
        ]
        self.optim = self._class(mine, **self._options)
        for own, local in zip(self.param_groups, self.optim.param_groups):
            own.update({name: value for name, value in local.items() if name not in own})

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters and repartition all of them, which raises after the first step."""
        super().add_param_group(param_group)
        if "optim" in self.__dict__:
            if self.optim.state:
                raise RuntimeError("add_param_group must come before the first step of a ZeroRedundancyOptimizer")
            self._share_out()

    def step(self, closure: Callable[[], Any] | None = None, **kwargs: Any) -> Any:
        """Update this rank's parameters, receive the others' updates, and return the closure's result."""
        for own, local in zip(self.param_groups, self.optim.param_groups):  # a scheduler may have changed the options
            local.update({name: value for name, value in own.items() if name != "params"})
        result = self.optim.step(closure) if closure is not None else self.optim.step(**kwargs)
        with penlight.no_grad():
            for rank, part in enumerate(self._parts):
                if part:
                    broadcast_coalesced(self.process_group, part, rank)
        return result

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Collect the full state on rank `to`, whose `state_dict` then returns it. All ranks call it."""
        states: list[Any] = []
        for rank in range(self.world_size):
            one = [self._local_state() if rank == self.rank else None]
            broadcast_object_list(one, group=self.process_group, group_src=rank)
            states.append(one[0] if self.rank == to else None)
        if self.rank == to:
            state = {position: value for part in states for position, value in part.items()}
            self._whole = {"state": state, "param_groups": self._numbered_groups()}

    def _numbered(self) -> Iterable[tuple[int, Tensor]]:
        return enumerate(parameter for group in self.param_groups for parameter in group["params"])

    def _local_state(self) -> dict[int, Any]:
        """The state of this rank's parameters, by their indices among all."""
        return {number: dict(self.optim.state[p]) for number, p in self._numbered() if p in self.optim.state}

    def _numbered_groups(self) -> list[dict[str, Any]]:
        numbers = {id(parameter): number for number, parameter in self._numbered()}
        return [{**group, "params": [numbers[id(p)] for p in group["params"]]} for group in self.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """The full state, on the rank to which `consolidate_state_dict` sent it."""
        if self._whole is None:
            raise RuntimeError(
                "Optimizer state has not been consolidated on this rank. Please call "
                f"`consolidate_state_dict(to={self.rank})` on all ranks beforehand if you meant to save the global "
                "state."
            )
        return self._whole

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load this rank's part of a full state, which may come from a different number of ranks."""
        for group, saved in zip(self.param_groups, state_dict["param_groups"]):
            group.update({name: value for name, value in saved.items() if name != "params"})
        for number, parameter in self._numbered():
            if self._owner[id(parameter)] == self.rank and number in state_dict["state"]:
                saved = state_dict["state"][number]
                self.optim.state[parameter] = {
                    name: value.clone() if isinstance(value, Tensor) else value for name, value in saved.items()
                }
