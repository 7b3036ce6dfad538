"""Methods of tensors whose tables are imported when they are first used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ._declare import install_method


def _later(name: str, table: str) -> Any:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(import_module("penlight.ops." + table), name)(self, *args, **kwargs)

    method.__name__ = method.__qualname__ = name
    return method


install_method("hardshrink", _later("hardshrink", "piecewise"))
install_method("prelu", _later("prelu", "gated"))
for _name in [
    "cholesky",
    "cholesky_inverse",
    "cholesky_solve",
    "det",
    "eig",
    "geqrf",
    "inverse",
    "logdet",
    "lstsq",
    "lu",
    "lu_solve",
    "matrix_exp",
    "matrix_power",
    "orgqr",
    "ormqr",
    "pinverse",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "symeig",
    "triangular_solve",
]:
    install_method(_name, _later(_name, "linalg_legacy"))
install_method("istft", _later("istft", "spectrogram"))
install_method("stft", _later("stft", "spectrogram"))
