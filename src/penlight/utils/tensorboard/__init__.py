"""torch.utils.tensorboard: logs for TensorBoard. It needs the `tensorboard` package."""

from __future__ import annotations

try:
    import tensorboard as _tensorboard  # noqa: F401
except ModuleNotFoundError:
    raise ModuleNotFoundError(
        "No module named 'tensorboard'. torch.utils.tensorboard writes its logs with that package: pip install tensorboard",
        name="tensorboard",
    ) from None

from .writer import FileWriter as FileWriter, SummaryWriter as SummaryWriter

__all__ = ["FileWriter", "SummaryWriter"]
