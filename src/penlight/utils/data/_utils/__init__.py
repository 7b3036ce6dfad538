"""Internals of data loading: fetching samples, merging them into batches, sending them between processes."""

from __future__ import annotations

from penlight._common.module_table import declare_modules
from penlight.utils.data._utils import collate, fetch, worker
from penlight.utils.data._utils.exceptions import ExceptionWrapper, KeyErrorMessage

__all__ = [
    "MP_STATUS_CHECK_INTERVAL", "ExceptionWrapper", "KeyErrorMessage", "collate", "fetch", "worker",
]  # fmt: skip

MP_STATUS_CHECK_INTERVAL = worker.STATUS_CHECK_INTERVAL
declare_modules(__name__, collate={"pin_memory": "pin_memory"})
