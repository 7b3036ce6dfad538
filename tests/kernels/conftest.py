"""What the tests of kernels share."""

import pytest

from penlight.kernels import conv_flat, conv_tiles, native


@pytest.fixture(params=["native", "numpy"])
def either_way(request, monkeypatch):
    """Runs a test twice: with native kernels, where this machine has them, and with those in NumPy only."""
    if request.param == "numpy":
        monkeypatch.setattr(native, "available", lambda: False)
    return request.param


def forget_plans():
    for kept in (conv_flat._forward, conv_flat._several, conv_flat._weigh, conv_tiles._forward, conv_tiles._weigh):
        kept.cache_clear()


@pytest.fixture(autouse=True)
def _new_plans():
    """Plans that are kept depend on constants which tests change."""
    forget_plans()
    yield
    forget_plans()
