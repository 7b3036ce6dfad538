"""Devices: the CPU, and the meta device of tensors without data. Others are refused."""

from __future__ import annotations

from typing import Any

from .kernels.lazy import lazy_import

_meta = lazy_import(globals(), "_meta", "._meta")
_torch_function = lazy_import(globals(), "_torch_function", "._torch_function")


_KNOWN = ("cpu", "cuda", "mps", "xpu", "meta", "ipu", "xla", "mkldnn", "hpu", "mtia", "opengl", "opencl", "ideep", "hip", "ve",
          "fpga", "maia", "lazy", "vulkan", "privateuseone")  # fmt: skip


class device:
    """A device by its name, such as `torch.device("cpu")`. Others can be named, but tensors are only on the CPU and the meta device.

    >>> torch.device("cuda", 1)
    device(type='cuda', index=1)
    """

    __slots__ = ("_before", "index", "type")

    def __init__(self, type: Any, index: int | None = None) -> None:
        if isinstance(type, device):
            type, index = type.type, type.index if index is None else index
        if isinstance(type, int):
            raise RuntimeError(
                "Cannot access accelerator device when none is available. Penlight runs on the CPU: use device='cpu'"
            )
        if not isinstance(type, str):
            raise TypeError(f"device(): argument 'type' (position 1) must be str, not {type.__class__.__name__}")
        kind, colon, number = type.partition(":")
        if not type:
            raise RuntimeError("Device string must not be empty")
        if kind not in _KNOWN:
            raise RuntimeError(
                f"Expected one of cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, vulkan, "
                f"mps, meta, hpu, mtia, privateuseone device type at start of device string: {kind}"
            )
        if colon:
            if not number.isdigit():
                raise RuntimeError(f"Invalid device string: '{type}'")
            index = int(number)
        self.type: str = kind
        self.index: int | None = index

    def __repr__(self) -> str:
        return f"device(type='{self.type}'" + (f", index={self.index})" if self.index is not None else ")")

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __reduce__(self) -> Any:
        return (device, (self.type, self.index))

    def __enter__(self) -> device:
        """Inside the region, new tensors are on this device unless another is given."""
        if self.type == "meta" or _torch_function.modes.get():
            self._before = (*getattr(self, "_before", ()), _meta.enter(self))
        else:
            require_cpu(self)
            self._before = (*getattr(self, "_before", ()), None)
        return self

    def __exit__(self, *exc: object) -> None:
        before, self._before = self._before[-1], self._before[:-1]
        if before is not None:
            _torch_function.modes.set(before)


CPU = device("cpu")
META = device("meta")


def on_meta(where: Any) -> bool:
    """Whether a `device` argument is the meta device, whose tensors have no data."""
    return (where.type if type(where) is device else str(where).partition(":")[0]) == "meta"


def require_cpu(where: Any) -> None:
    """Accept the CPU in any spelling; raise PyTorch's error for other devices, with advice."""
    if where is None or where is CPU or where == "cpu":
        return
    found = where if isinstance(where, device) else device(where)
    if found.type == "cpu":
        return
    if found.type == "meta":
        raise NotImplementedError(
            "this function makes no tensors on the meta device. Make them on the CPU, then .to('meta')"
        )
    if found.type == "cuda":
        raise AssertionError(
            "Torch not compiled with CUDA enabled. Penlight runs on the CPU: use device='cpu', or "
            "'cuda' only if torch.cuda.is_available() (it is False here)"
        )
    raise RuntimeError(
        f"PyTorch is not linked with support for {found.type} devices. Penlight runs on the CPU: use device='cpu'"
    )
