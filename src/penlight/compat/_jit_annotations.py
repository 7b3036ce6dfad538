"""torch.jit.annotations: names for the types of TorchScript, which functions carry as annotations."""

from __future__ import annotations

from typing import (  # noqa: UP035
    Any,
    Dict as Dict,  # as PyTorch has them
    List as List,
    Optional as Optional,
    Tuple as Tuple,
    Union as Union,
)


class BroadcastingListCls:
    """`BroadcastingList2[int]`: a number or that many of them."""

    def __getitem__(self, types: Any) -> None:
        return None


BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = BroadcastingListCls()
