"""torch.jit.annotations: names for the types of TorchScript, which functions carry as annotations."""

from __future__ import annotations

from typing import Any
from typing import Dict as Dict  # noqa: UP035  # as PyTorch has them
from typing import List as List  # noqa: UP035
from typing import Optional as Optional
from typing import Tuple as Tuple  # noqa: UP035
from typing import Union as Union


class BroadcastingListCls:
    """`BroadcastingList2[int]`: a number or that many of them."""

    def __getitem__(self, types: Any) -> None:
        return None


BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = BroadcastingListCls()
