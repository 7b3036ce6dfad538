"""torch.utils.dlpack: tensors that share the memory of other libraries' arrays.

>>> import penlight as torch
>>> torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(torch.ones(2)))
tensor([1., 1.])
"""

from __future__ import annotations

from enum import IntEnum

from penlight._common.arguments import explain as _explain
from penlight.ops.storage_methods import from_dlpack as from_dlpack, to_dlpack as to_dlpack

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]


class DLDeviceType(IntEnum):
    """The kinds of devices in DLPack.

    >>> torch.utils.dlpack.DLDeviceType.kDLCPU
    <DLDeviceType.kDLCPU: 1>
    """

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17


_explain({name: globals()[name] for name in __all__})
