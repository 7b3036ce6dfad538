"""How many threads BLAS has, whatever happens meanwhile."""

import pytest

from penlight.kernels import parallel


class Blas:
    """Stands for OpenBLAS's switch; once it is interrupted, after it was set."""

    def __init__(self, threads):
        self.threads, self.interrupted = threads, False

    def set(self, threads):
        self.threads = threads
        if self.interrupted:
            self.interrupted = False
            raise KeyboardInterrupt


@pytest.fixture
def blas(monkeypatch):
    switch = Blas(4)
    for name, value in {"_alone": 0, "_before": 4, "_lowered": False}.items():
        monkeypatch.setattr(parallel, name, value)
    monkeypatch.setattr(parallel, "_blas", (lambda: switch.threads, switch.set))
    return switch


def test_contexts_nest(blas):
    with parallel.blas_alone():
        assert blas.threads == 1
        with parallel.blas_alone():
            assert blas.threads == 1
        assert blas.threads == 1
    assert blas.threads == 4


def test_an_interrupt_leaves_no_trace(blas):
    blas.interrupted = True
    with pytest.raises(KeyboardInterrupt), parallel.blas_alone():
        pass
    with parallel.blas_alone():
        assert blas.threads == 1
    assert blas.threads == 4


def test_what_others_set_is_kept(blas):
    blas.threads = 2
    with parallel.blas_alone():
        assert blas.threads == 1
    assert blas.threads == 2
