"""What the tests of kernels share."""

import pytest

from penlight.kernels import native


@pytest.fixture(params=["native", "numpy"])
def either_way(request, monkeypatch):
    """Runs a test twice: with native kernels, where this machine has them, and with those in NumPy only."""
    if request.param == "numpy":
        monkeypatch.setattr(native, "available", lambda: False)
    return request.param
