"""What the tests of kernels share."""

from contextlib import nullcontext

import pytest

from penlight.kernels import conv, strategy
from penlight.kernels.conv import fold, implicit, winograd
from tests.machine_code import without_machine_code


@pytest.fixture(params=["native", "numpy"])
def either_way(request):
    """Runs a test twice: with native kernels, where this machine has them, and with those in NumPy only."""
    with without_machine_code() if request.param == "numpy" else nullcontext():
        yield request.param


@pytest.fixture(params=["by positions", "general"])
def any_way(request):
    """Runs a test twice: with the way that small convolutions take, and without."""
    return request.param


@pytest.fixture(autouse=True)
def _small_as_large(request, monkeypatch):
    """Tests use small arrays for what large ones go through, unless they ask for `any_way`."""
    if "any_way" not in request.fixturenames or request.getfixturevalue("any_way") == "general":
        monkeypatch.setattr(conv, "MOST_SMALL", -1)
        monkeypatch.setattr(fold, "MOST_FOLDED", -1)


def forget_plans():
    for kept in (implicit._forward, implicit._several, implicit._weigh, winograd._forward, winograd._weigh):
        kept.cache_clear()
    strategy.forget()


@pytest.fixture(autouse=True)
def _new_plans():
    """Plans that are kept depend on constants which tests change."""
    forget_plans()
    yield
    forget_plans()
