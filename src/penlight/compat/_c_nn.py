"""torch._C._nn: the C++ functions behind PyTorch's `nn.functional`, implemented by Penlight's `nn.functional`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from penlight._refused import NotAvailable, message
from penlight.kernels.lazy import lazy_import

_functional = lazy_import(globals(), "_functional", "penlight.nn.functional")
_rnn = lazy_import(globals(), "_rnn", "penlight.nn.utils.rnn")
_utils = lazy_import(globals(), "_utils", "penlight._utils")

_UPSAMPLE = re.compile(r"_?upsample_(nearest_exact|nearest|linear|bilinear|bicubic|trilinear)[123]d(_aa)?")
_OTHER_NAMES = {"log_sigmoid": "logsigmoid", "im2col": "unfold", "col2im": "fold"}
_PAD = re.compile(r"(reflection|replication)_pad[123]d")


def _upsample(mode: str, antialias: bool) -> Callable[..., Any]:
    def upsample(input: Any, output_size: Any, *rest: Any, **options: Any) -> Any:
        """Resize the input to a given size, or by scale factors."""
        aligned = {}
        if "nearest" not in mode:
            aligned["align_corners"] = options.pop("align_corners") if "align_corners" in options else rest[0]
            rest = rest[1:]
        given = [factor for factor in (*rest, *options.values()) if factor is not None]
        if output_size is not None and given:
            raise NotImplementedError("upsampling with both a size and factors: use nn.functional.interpolate")
        size: dict[str, Any] = {"scale_factor": given[0]} if output_size is None else {"size": list(output_size)}
        return _functional.interpolate(input, mode=mode.replace("_", "-"), antialias=antialias, **size, **aligned)

    return upsample


def _pad(mode: str) -> Callable[..., Any]:
    return lambda input, padding: _functional.pad(input, list(padding), mode)


def _function(name: str) -> Any:
    if found := _UPSAMPLE.fullmatch(name):
        return _upsample(found[1], found[2] is not None)
    if found := _PAD.fullmatch(name):
        return _pad({"reflection": "reflect", "replication": "replicate"}[found[1]])
    if name in ("flatten_dense_tensors", "unflatten_dense_tensors"):
        return getattr(_utils, f"_{name}")
    if name == "pad_sequence":
        return _rnn.pad_sequence
    return getattr(_functional, _OTHER_NAMES.get(name, name), None)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module 'torch._C._nn' has no attribute '{name}'")
    made = _function(name)
    if made is None:
        raise NotAvailable(message(f"_C._nn.{name}", "it is part of PyTorch's C++ library. Use torch.nn.functional."))
    return globals().setdefault(name, made)
