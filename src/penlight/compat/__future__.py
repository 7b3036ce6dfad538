"""torch.__future__: choices between old and new behaviour of module conversions. They are remembered; Penlight has one way."""

from __future__ import annotations

_choices = {"overwrite": False, "swap": False}


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Accepted and without effect."""
    _choices["overwrite"] = value


def get_overwrite_module_params_on_conversion() -> bool:
    """What was set."""
    return _choices["overwrite"]


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Accepted and without effect."""
    _choices["swap"] = value


def get_swap_module_params_on_conversion() -> bool:
    """What was set."""
    return _choices["swap"]
