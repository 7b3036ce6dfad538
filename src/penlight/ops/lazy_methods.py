"""Tensor methods whose modules are imported at their first use."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .._common.docstrings import documented
from .machinery.declare import install_method


def _lazy_method(name: str, table: str, summary: str, *example: str) -> None:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(import_module("penlight.ops." + table), name)(self, *args, **kwargs)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = documented(f"{summary} The arguments are those of `torch.{name}` after the first.", *example)
    install_method(name, method)


_lazy_method("hardshrink", "nn.piecewise_activation", "Zero where the absolute value is at most `lambd`.",
       ">>> torch.tensor([0.3, 2.0]).hardshrink()", "tensor([0., 2.])")  # fmt: skip
_lazy_method("prelu", "nn.gated_activation", "Leaky ReLU whose slope is a tensor.",
       ">>> torch.tensor([-2.0, 2.0]).prelu(torch.tensor(0.25))", "tensor([-0.5000,  2.0000])")  # fmt: skip
_lazy_method("istft", "fourier.spectrogram", "The inverse of `stft`.",
       ">>> x = torch.arange(8.0)", ">>> spectrum = x.stft(4, window=torch.ones(4), return_complex=True)",
       ">>> torch.allclose(spectrum.istft(4, window=torch.ones(4)), x, atol=1e-5)", "True")  # fmt: skip
_lazy_method("stft", "fourier.spectrogram", "Fourier transforms of overlapping windows.",
       ">>> torch.arange(8.0).stft(4, window=torch.ones(4), return_complex=True).shape", "torch.Size([3, 9])")  # fmt: skip

_A = ">>> a = torch.tensor([[4.0, 2.0], [2.0, 3.0]])"
_NEW = "Traceback (most recent call last):", "  ..."
for _name, (_summary, *_example) in {
    "cholesky": ("The Cholesky factor of a matrix.", _A, ">>> a.cholesky()[0]", "tensor([2., 0.])"),
    "cholesky_inverse": ("The inverse from a Cholesky factor.", ">>> torch.tensor([[2.0]]).cholesky_inverse()", "tensor([[0.2500]])"),
    "cholesky_solve": (
        "Solves a system from a Cholesky factor.", ">>> torch.tensor([[8.0]]).cholesky_solve(torch.tensor([[2.0]]))", "tensor([[2.]])"),
    "det": ("The determinant.", _A, ">>> a.det()", "tensor(8.)"),
    "eig": ("Removed from PyTorch: `torch.linalg.eig`.", ">>> torch.eye(2).eig()", *_NEW, "RuntimeError: ..."),
    "geqrf": ("The QR decomposition in LAPACK's compact form.", ">>> [part.shape for part in torch.eye(2).geqrf()]",
              "[torch.Size([2, 2]), torch.Size([2])]"),
    "inverse": ("The inverse of a matrix.", ">>> torch.tensor([[2.0]]).inverse()", "tensor([[0.5000]])"),
    "logdet": ("The logarithm of the determinant.", _A, ">>> a.logdet()", "tensor(2.0794)"),
    "lstsq": ("Removed from PyTorch: `torch.linalg.lstsq`.", ">>> torch.eye(2).lstsq(torch.eye(2))", *_NEW, "RuntimeError: ..."),
    "lu": ("The LU decomposition with pivots, in one matrix.", _A, ">>> a.lu()[1]", "tensor([1, 2], dtype=torch.int32)"),
    "lu_solve": ("Solves a system from an LU decomposition.", _A, ">>> torch.tensor([[6.0], [5.0]]).lu_solve(*a.lu())",
                 "tensor([[1.],", "        [1.]])"),
    "matrix_exp": ("The exponential of a matrix.", ">>> torch.zeros(1, 1).matrix_exp()", "tensor([[1.]])"),
    "matrix_power": ("The power of a matrix by an integer.", ">>> torch.tensor([[2.0]]).matrix_power(3)", "tensor([[8.]])"),
    "orgqr": ("The orthogonal matrix of `geqrf`.", ">>> compact, tau = torch.eye(2).geqrf()", ">>> compact.orgqr(tau).shape",
              "torch.Size([2, 2])"),
    "ormqr": ("The product of the orthogonal matrix of `geqrf` with another.", ">>> compact, tau = torch.eye(2).geqrf()",
              ">>> compact.ormqr(tau, torch.ones(2, 1)).shape", "torch.Size([2, 1])"),
    "pinverse": ("The pseudo-inverse.", ">>> torch.tensor([[2.0], [0.0]]).pinverse()", "tensor([[0.5000, 0.0000]])"),
    "qr": ("The QR decomposition.", ">>> q, r = torch.tensor([[3.0], [4.0]]).qr()", ">>> r.abs()", "tensor([[5.]])"),
    "slogdet": ("The sign and the logarithm of the determinant.", _A, ">>> a.slogdet().sign", "tensor(1.)"),
    "solve": ("Removed from PyTorch: `torch.linalg.solve`.", ">>> torch.eye(2).solve(torch.eye(2))", *_NEW, "RuntimeError: ..."),
    "svd": ("The singular value decomposition.", ">>> torch.tensor([[3.0], [4.0]]).svd().S", "tensor([5.])"),
    "symeig": ("Removed from PyTorch: `torch.linalg.eigh`.", ">>> torch.eye(2).symeig()", *_NEW, "RuntimeError: ..."),
    "triangular_solve": ("Solves a triangular system.", ">>> torch.tensor([[6.0]]).triangular_solve(torch.tensor([[2.0]])).solution",
                         "tensor([[3.]])"),
}.items():  # fmt: skip
    _lazy_method(_name, "linalg.legacy", _summary, *_example)
