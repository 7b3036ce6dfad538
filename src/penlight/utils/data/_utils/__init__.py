"""The parts of data loading: how samples are fetched, merged into batches and carried between processes."""

from __future__ import annotations

from penlight.utils.data._utils import collate, fetch, pin_memory, worker
from penlight.utils.data._utils.exceptions import ExceptionWrapper, KeyErrorMessage

__all__ = [
    "MP_STATUS_CHECK_INTERVAL", "ExceptionWrapper", "KeyErrorMessage", "collate", "fetch", "pin_memory", "worker",
]  # fmt: skip

MP_STATUS_CHECK_INTERVAL = worker.STATUS_CHECK_INTERVAL
