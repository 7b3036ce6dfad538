"""torch.utils.cpp_extension, which is refused when it is used: Penlight is pure Python and loads no C++."""

from __future__ import annotations

from penlight._refused import refuse

CUDA_HOME = ROCM_HOME = SYCL_HOME = CUDNN_HOME = None
IS_HIP_EXTENSION = False

__getattr__ = refuse(
    __name__,
    "Penlight is pure Python and loads no C++.",
    "Write the function with NumPy in a torch.autograd.Function, or call a compiled one through ctypes there.",
)


def include_paths(device_type: str = "cpu", torch_include_dirs: bool = True) -> list[str]:
    """The directories of headers: none."""
    return []
