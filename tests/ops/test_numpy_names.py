"""NumPy's names of arguments, where PyTorch takes them: `axis` for `dim`, `keepdims` for `keepdim`."""

from __future__ import annotations

import pytest

import penlight as torch

X = torch.arange(6.0).reshape(2, 3)
PLACES = torch.tensor([[1, 0, 1]])
FIRST = torch.tensor([0])

SAME = [
    (lambda: torch.gather(X, axis=0, index=PLACES), lambda: torch.gather(X, 0, PLACES)),
    (lambda: X.gather(axis=0, index=PLACES), lambda: X.gather(0, PLACES)),
    (lambda: X.scatter(axis=0, index=PLACES, value=9.0), lambda: X.scatter(0, PLACES, 9.0)),
    (lambda: X.clone().scatter_add_(axis=0, index=PLACES, src=X), lambda: X.scatter_add(0, PLACES, X)),
    (lambda: X.clone().index_add_(axis=1, index=FIRST, source=X[:, :1]), lambda: X.index_add(1, FIRST, X[:, :1])),
    (lambda: X.index_select(axis=1, index=FIRST), lambda: X[:, :1]),
    (lambda: X.index_fill(axis=1, index=FIRST, value=7), lambda: X.index_fill(1, FIRST, 7)),
    (lambda: X.narrow(axis=1, start=1, length=2), lambda: X[:, 1:]),
    (lambda: X.select(axis=1, index=2), lambda: X[:, 2]),
    (lambda: X.repeat_interleave(2, axis=0), lambda: X.repeat_interleave(2, 0)),
    (lambda: X.renorm(p=2, axis=0, maxnorm=1.0), lambda: X.renorm(2, 0, 1.0)),
    (lambda: torch.logsumexp(X, axis=1, keepdims=True), lambda: torch.logsumexp(X, 1, True)),
    (lambda: torch.quantile(X, 0.5, axis=1, keepdims=True), lambda: torch.quantile(X, 0.5, 1, True)),
    (lambda: torch.linalg.norm(X, axis=1, keepdims=True), lambda: torch.linalg.norm(X, dim=1, keepdim=True)),
    (lambda: torch.linalg.vector_norm(X, axis=1, keepdims=True), lambda: torch.linalg.norm(X, dim=1, keepdim=True)),
    (lambda: torch.fft.fft(X, axis=0), lambda: torch.fft.fft(X, dim=0)),
    (lambda: torch.fft.fftshift(X, axis=0), lambda: torch.fft.fftshift(X, dim=0)),
    (lambda: torch.split_copy(X, 1, axis=1)[2], lambda: X[:, 2:]),
    (lambda: X.clone().cumsum_(axis=0), lambda: X.cumsum(0)),
]


@pytest.mark.parametrize("ours, other", SAME)
def test_means_the_same(ours, other):
    assert torch.equal(ours(), other())


@pytest.mark.parametrize("call, words", [
    (lambda: X.gather(0), 'gather() missing 1 required positional arguments: "index"'),
    (lambda: X.index_select(), 'index_select() missing 2 required positional argument: "dim", "index"'),
    (lambda: torch.gather(X, axis=0, index="a"), "gather(): argument 'index' must be Tensor, not str"),
    (lambda: torch.gather(X, axis="a", index=PLACES), "gather(): argument 'dim' must be int, not str"),
    (lambda: X.select(axis=0), 'select() missing 1 required positional arguments: "index"'),
    (lambda: X.scatter_add_(0, PLACES), 'scatter_add_() missing 1 required positional arguments: "src"'),
])  # fmt: skip
def test_what_is_missing_is_named(call, words):
    """Those that may be given by another name are not required in Python's eyes; PyTorch's words say what is missing."""
    with pytest.raises(TypeError) as caught:
        call()
    assert str(caught.value).splitlines()[0] == words
