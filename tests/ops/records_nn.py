"""Records of torch.nn.functional, and of functions of linear algebra on matrices that are far from singular."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from recording import RECORDS, I, S, X, record


@dataclass(frozen=True)
class Spd(X):
    """Symmetric, positive definite matrices."""

    def array(self, rng):
        a = rng.standard_normal(self.shape)
        return (a @ np.swapaxes(a, -1, -2) + 3 * np.eye(self.shape[-1])).astype(self.dtype)


@dataclass(frozen=True)
class Solid(X):
    """Matrices far from singular, with distinct singular values."""

    def array(self, rng):
        n, m = self.shape[-2:]
        return (0.3 * rng.standard_normal(self.shape) + np.eye(n, m) * np.arange(1, m + 1)).astype(self.dtype)


@dataclass(frozen=True)
class Lower(X):
    """Triangular matrices."""

    def array(self, rng):
        return (np.tril(0.3 * rng.standard_normal(self.shape)) + 2 * np.eye(self.shape[-1])).astype(self.dtype)


def ints(*shape, high):
    return X(shape, "int64", 0, high - 1)


def kept(*shape, **more):
    """A tensor that needs no gradient."""
    return X(shape, grad=False, **more)


P = {"low": 0.1, "high": 0.9}
F = "nn.functional."
x4 = X((2, 4, 5, 6))
c4, c5 = X((2, 4, 5, 6), layout="channels"), X((1, 2, 3, 2, 2), layout="channels")
SAMPLES = {
    F + "linear": [S(X((2, 3)), X((4, 3)), X(4)), S(X(3), X((4, 3)), X(4)), S(X((2, 2, 3)), X((4, 3))), S(X((2, 3)), X((4, 3)))],
    F + "bilinear": [S(X((2, 3)), X((2, 4)), X((5, 3, 4)), X(5))],
    F + "conv1d": [S(X((2, 4, 7)), X((6, 4, 3)), X(6)), S(X((4, 7)), X((6, 2, 3)), None, stride=2, padding=1, groups=2)],
    F + "conv2d": [
        S(c4, X((6, 4, 3, 2)), X(6)), S(x4, X((6, 4, 3, 2)), X(6)), S(x4, X((6, 2, 3, 2)), X(6), stride=2, padding=1, dilation=(1, 2), groups=2),
        S(x4, X((8, 1, 3, 3)), None, padding=1, groups=4), S(X((4, 5, 6)), X((3, 4, 2, 2))),
    ],
    F + "conv3d": [S(X((1, 2, 4, 4, 3)), X((3, 2, 2, 2, 2)), X(3))],
    F + "conv_transpose1d": [S(X((2, 4, 5)), X((4, 3, 3)), X(3), stride=2, padding=1, output_padding=1)],
    F + "conv_transpose2d": [S(c4, X((4, 3, 2, 2))), S(x4, X((4, 3, 2, 2)), X(3), stride=2), S(x4, X((4, 2, 3, 2)), X(4), groups=2, dilation=2)],
    F + "max_pool1d": [S(X((2, 3, 8)), 2), S(X((3, 8)), 3, 2, 1)],
    F + "max_pool2d": [S(c4, 2), S(x4, 2), S(X((4, 5, 6)), (2, 3), 2, 1), S(x4, 2, ceil_mode=True, dilation=2)],
    F + "max_pool3d": [S(X((1, 2, 4, 4, 4)), 2)],
    F + "avg_pool1d": [S(X((2, 3, 8)), 2)],
    F + "avg_pool2d": [S(x4, 2), S(X((4, 5, 6)), 3, 2, 1, count_include_pad=False)],
    F + "avg_pool3d": [S(X((1, 2, 4, 4, 4)), 2)],
    F + "adaptive_avg_pool2d": [S(x4, (2, 3)), S(X((4, 5, 6)), 2)],
    F + "adaptive_max_pool2d": [S(c4, (2, 3)), S(x4, (2, 3))],
    F + "adaptive_avg_pool3d": [S(X((1, 2, 4, 4, 5)), 2)],
    F + "lp_pool2d": [S(X((2, 3, 4, 4), low=0.5), 2, 2)],
    F + "pad": [S(X((1, 1, 3, 3, 3)), (1, 1, 1, 1, 1, 1), mode="reflect"), S(X((1, 1, 2, 2, 2)), (1, 0, 0, 1, 1, 1), mode="replicate"), S(X((2, 3)), (1, 1), mode="replicate"),
                S(X((1, 1, 3, 3)), (1, 1, 1, 0), mode="circular"), S(X((1, 1, 2, 2, 2)), (1, 1, 1, 1, 0, 1), mode="circular"), S(x4, (1, 2)), S(x4, (1, 0, 2, 1), mode="reflect"), S(x4, (1, 1, 1, 1), mode="replicate"), S(X((2, 3, 5)), (2, 1), mode="circular"),
                S(x4, (0, -1, 1, 0), value=2.0)],
    F + "unfold": [S(x4, 2), S(X((4, 5, 6)), (2, 3), padding=1)],
    F + "fold": [S(X((2, 8, 12)), (4, 5), 2)],
    F + "pixel_shuffle": [S(X((2, 8, 3, 3)), 2)],
    F + "pixel_unshuffle": [S(X((2, 2, 4, 4)), 2)],
    F + "channel_shuffle": [S(c4, 2), S(X((2, 4, 3, 3)), 2)],
    F + "interpolate": [S(X((1, 2, 3)), size=5), S(X((1, 1, 2, 2, 2)), size=3), S(X((1, 2, 3)), size=5, mode="nearest-exact"), S(X((1, 1, 2, 3)), size=4, mode="nearest-exact"),
                        S(X((1, 1, 2, 2, 2)), size=3, mode="nearest-exact"), S(X((1, 1, 5, 5)), size=3, mode="bilinear", antialias=True),
                        S(X((1, 1, 5, 5)), size=3, mode="bicubic", antialias=True), S(X((1, 1, 5, 5)), size=3, mode="lanczos", antialias=True), S(x4, scale_factor=2), S(x4, size=(3, 8), mode="bilinear"), S(x4, size=(3, 8), mode="bicubic", align_corners=True),
                        S(X((2, 3, 5)), size=8, mode="linear"), S(X((1, 2, 3, 3, 3)), size=4, mode="trilinear"), S(x4, size=3, mode="area"),
                        *(S(X((2, 3, 6, 7), "uint8", 0, 255), size=(4, 9), mode=m, antialias=a) for m in ("bilinear", "bicubic") for a in (False, True)),
                        S(X((2, 3, 6, 7), "uint8", 0, 255, layout="channels"), scale_factor=1.7, mode="bilinear"), S(c4, size=3, mode="bilinear"), S(c5, scale_factor=2)],
    F + "grid_sample": [ S(x4, X((2, 3, 3, 2), low=-0.9, high=0.9), align_corners=False), S(X((1, 1, 2, 2, 2)), X((1, 2, 1, 1, 3), low=-0.9, high=0.9), align_corners=False)],
    F + "affine_grid": [S(X((2, 2, 3)), (2, 1, 3, 4), align_corners=False)],
    F + "layer_norm": [S(X((2, 3, 4)), (4,), X(4), X(4)), S(X((2, 3, 4)), (3, 4)), S(X(4), (4,), X(4))],
    F + "rms_norm": [S(X((2, 3, 4)), (4,), X(4)), S(X((2, 4)), (4,))],
    F + "group_norm": [S(x4, 2, X(4), X(4)), S(x4, 4)],
    F + "batch_norm": [S(c4, kept(4), kept(4, low=0.5), X(4), X(4), True), S(x4, None, None, X(4), X(4), True), S(x4, kept(4), kept(4, low=0.5), X(4), X(4), False), S(X((6, 4)), None, None, None, None, True)],
    F + "instance_norm": [S(x4), S(x4, None, None, X(4), X(4))],
    F + "local_response_norm": [S(x4, 3)],
    F + "normalize": [S(X((2, 3)))],
    F + "embedding": [S(ints(2, 3, high=5), X((5, 2))), S(ints(3, high=5), X((5, 2)), padding_idx=1), S(ints(4, high=3), X((3, 2)), scale_grad_by_freq=True)],
    F + "cross_entropy": [
        S(X((3, 4)), ints(3, high=4)), S(X((3, 4)), ints(3, high=4), reduction="sum"), S(X((3, 4)), ints(3, high=4), reduction="none"), S(X(4), ints(high=4)),
        S(X((2, 4, 3)), ints(2, 3, high=4)), S(X((3, 4)), ints(3, high=4), kept(4, low=0.5)), S(X((3, 4)), X((3, 4), low=0.1)),
        S(X((3, 4)), ints(3, high=4), label_smoothing=0.1), S(X((5, 4)), ints(5, high=4), ignore_index=1),
    ],
    F + "nll_loss": [S(X((3, 4)), ints(3, high=4)), S(X((3, 4)), ints(3, high=4), kept(4, low=0.5), reduction="sum"), S(X((2, 4, 2, 2)), ints(2, 2, 2, high=4)),
                     S(X((2, 4, 2, 2)), ints(2, 2, 2, high=4), kept(4, low=0.5), ignore_index=2), S(X(4), ints(high=4), reduction="none")],
    F + "mse_loss": [S(X((2, 3)), X((2, 3)), reduction=r) for r in ("mean", "sum", "none")],
    F + "l1_loss": [S(X((2, 3)), X((2, 3)))],
    F + "smooth_l1_loss": [S(X((2, 3)), X((2, 3)), reduction=r) for r in ("mean", "sum", "none")],
    F + "huber_loss": [S(X((2, 3)), X((2, 3)), reduction=r) for r in ("mean", "sum", "none")],
    F + "binary_cross_entropy": [S(X((2, 3), **P), X((2, 3), **P), reduction=r) for r in ("mean", "none")] + [S(X((2, 3), **P), X((2, 3), **P), kept(3, low=0.5))],
    F + "binary_cross_entropy_with_logits": [S(X((2, 3)), X((2, 3), **P)), S(X((2, 3)), X((2, 3), **P), kept(2, 3, low=0.5), pos_weight=kept(3, low=0.5), reduction="sum")],
    F + "soft_margin_loss": [S(X((2, 3)), kept(2, 3))],
    F + "kl_div": [S(X((2, 3)), X((2, 3), **P), reduction="batchmean")],
    F + "cosine_similarity": [S(X((2, 3)), X((2, 3)))],
    F + "pairwise_distance": [S(X((2, 3)), X((2, 3)))],
    F + "triplet_margin_loss": [S(X((2, 3)), X((2, 3)), X((2, 3)))],
    F + "multi_margin_loss": [S(X((3, 4)), ints(3, high=4))],
    F + "gelu": [S(X((2, 3))), S(X((2, 3)), approximate="tanh")],
    F + "glu": [S(X((2, 4))), S(X((4, 3)), 0)],
    F + "prelu": [S(X((2, 3, 4)), X(3)), S(X((2, 3)), X(1)), S(X(3), X(1))],
    F + "elu": [S(X((2, 3)))], F + "selu": [S(X((2, 3)))], F + "silu": [S(X((2, 3)))], F + "mish": [S(X((2, 3)))], F + "softplus": [S(X((2, 3)))],
    F + "softmin": [S(X((2, 3)), 1)], F + "softmax": [S(X((2, 3)), 1), S(X(3), 0)], F + "log_softmax": [S(X((2, 3)), 0)],
    F + "hardtanh": [S(X((2, 3)))], F + "leaky_relu": [S(X((2, 3)))], F + "logsigmoid": [S(X((2, 3)))], F + "relu6": [S(X((2, 3)))],
    F + "hardswish": [S(X((2, 3)))], F + "hardsigmoid": [S(X((2, 3)))], F + "softshrink": [S(X((2, 3)))], F + "tanhshrink": [S(X((2, 3)))],
    F + "one_hot": [S(ints(3, high=4), 4)],
    F + "scaled_dot_product_attention": [
        S(X((2, 2, 3, 4)), X((2, 2, 5, 4)), X((2, 2, 5, 4))), S(X((2, 2, 3, 4)), X((2, 2, 3, 4)), X((2, 2, 3, 4)), is_causal=True),
        S(X((2, 2, 3, 4)), X((2, 2, 5, 4)), X((2, 2, 5, 4)), kept(3, 5)), S(X((3, 4)), X((5, 4)), X((5, 4))),
        S(X((2, 2, 3, 4)), X((2, 2, 5, 4)), X((2, 2, 5, 4)), X((1, 2, 3, 5))), S(X((2, 3, 4)), X((2, 5, 4)), X((2, 5, 4)), X((3, 5), "bool")),
    ],
    "linalg.cholesky": [S(Spd((3, 3))), S(Spd((2, 3, 3)))],
    # PyTorch gives gradients to the triangle that is not read; test_linalg.py has those of the other.
    "cholesky_solve": [S(X((3, 2)), Lower((3, 3), grad=False))],
    "cholesky_inverse": [S(Lower((3, 3), grad=False))],
    "linalg.solve": [S(Solid((3, 3)), X((3, 2))), S(Solid((3, 3)), X(3)), S(Solid((2, 3, 3)), X((2, 3, 2))), S(Solid((2, 3, 3)), X((2, 3)))],
    "linalg.solve_triangular": [S(Lower((3, 3)), X((3, 2)), upper=False)],
    "linalg.inv": [S(Solid((3, 3)))], "linalg.det": [S(Solid((3, 3))), S(Solid((2, 3, 3)))], "linalg.slogdet": [S(Solid((3, 3)))],
    "linalg.eigh": [S(Spd((3, 3)))], "linalg.eigvalsh": [S(Spd((3, 3)))], "linalg.svdvals": [S(Solid((3, 2)))],
    "linalg.qr": [S(Solid((3, 3))), S(Solid((4, 2)))], "linalg.lu": [S(Solid((3, 3)))], "linalg.lu_factor": [S(Solid((3, 3)))],
    "linalg.matrix_exp": [S(X((3, 3)))], "linalg.matrix_power": [S(Solid((3, 3)), 3), S(Solid((3, 3)), -2)], "linalg.pinv": [S(Solid((4, 3)))],
    "linalg.norm": [S(X((2, 3))), S(X((2, 3)), "fro"), S(X((2, 3)), 1), S(X(3), 3)], "linalg.vector_norm": [S(X((2, 3)), 3), S(X((2, 3)), 2, 1)],
    "linalg.matrix_norm": [S(Solid((3, 3)), "nuc"), S(Solid((3, 3)), 2)], "linalg.cross": [S(X((2, 3)), X((2, 3)))], "linalg.multi_dot": [S([X((2, 3)), X((3, 4)), X((4, 2))])],
    "linalg.lstsq": [S(Solid((4, 3)), X((4, 2)))], "linalg.vander": [S(X(3))], "linalg.householder_product": [S(X((4, 2)), X(2))],
    "fft.fft": [S(X(6, "complex128")), S(X((2, 6)))], "fft.ifft": [S(X(6, "complex128"))], "fft.rfft": [S(X((2, 6)))], "fft.irfft": [S(X((2, 4), "complex128"))],
    "fft.fft2": [S(X((2, 4, 4), "complex128"))], "fft.rfft2": [S(X((2, 4, 4)))], "fft.fftshift": [S(X((2, 5)))], "fft.hfft": [S(X(4, "complex128"))],
}  # fmt: skip


MORE = {
    F + "relu": [S(X((2, 3))), S(X((2, 3), "int64"))], F + "sigmoid": [S(X((2, 3)))], F + "tanh": [S(X((2, 3)))], F + "softsign": [S(X((2, 3)))],
    F + "celu": [S(X((2, 3))), S(X((2, 3)), 2.0)], F + "threshold": [S(X((2, 3)), 0.5, 7.0)], F + "hardshrink": [S(X((2, 3)))], F + "rrelu": [S(X((2, 3)))],
    F + "dropout": [S(X((2, 3)), 0.5, False), S(X((2, 3)), 0.0)], F + "gumbel_softmax": [S(X((2, 3)), tau=0.7)],
    F + "embedding_bag": [S(ints(2, 3, high=5), X((5, 2))), S(ints(2, 3, high=5), X((5, 2)), mode="sum")],
    F + "gaussian_nll_loss": [S(X((2, 3)), X((2, 3)), kept(2, 3, low=0.5)), S(X((2, 3)), X((2, 3)), kept(2, 3, low=0.5), full=True, reduction="sum")],
    F + "poisson_nll_loss": [S(X((2, 3)), kept(2, 3, low=0.5))], F + "hinge_embedding_loss": [S(X(3, "int64", -3, 3), I(1, -1, 1), 2.5, reduction="none"), S(X((2, 3)), X((2, 3), data=[[1.0, -1.0, 1.0], [-1.0, -1.0, 1.0]], grad=False))],
    F + "margin_ranking_loss": [S(X(3), X(3), X(3, data=[1.0, -1.0, 1.0], grad=False))], F + "multilabel_soft_margin_loss": [S(X((2, 3)), kept(2, 3, **P))],
    F + "cosine_embedding_loss": [S(X((3, 4)), X((3, 4)), X(3, data=[1.0, -1.0, 1.0], grad=False))], F + "multilabel_margin_loss": [S(X((1, 4)), X(data=[[3, 0, -1, 1]], dtype="int64"))],
    F + "upsample": [S(x4, scale_factor=2)], F + "upsample_nearest": [S(x4, scale_factor=2)], F + "upsample_bilinear": [S(x4, size=(3, 8))],
    F + "relu_": [S(X((2, 3), grad=False))], F + "pdist": [S(X((3, 4)))], F + "ctc_loss": [S(X((5, 2, 4), low=-3, high=-0.5), ints(2, 3, high=3), (5, 5), (3, 2), 3)],
    F + "conv_transpose3d": [S(X((1, 2, 3, 3, 3)), X((2, 3, 2, 2, 2)), X(3))], F + "lp_pool1d": [S(X((2, 3, 4), low=0.5), 2, 2)], F + "max_unpool1d": [S(X((1, 1, 2)), X(data=[[[1, 2]]], dtype="int64"), 2)],
    F + "adaptive_avg_pool1d": [S(X((2, 3, 8)), 3)], F + "adaptive_max_pool1d": [S(X((2, 3, 8)), 3)], F + "adaptive_max_pool3d": [S(X((1, 2, 4, 4, 4)), 2)],
    F + "max_unpool2d": [S(c4, X(data=np.arange(5 * 6 * 8).reshape(2, 4, 5, 6) % 120, dtype="int64"), 2), S(X((1, 1, 2, 2)), X(data=[[[[0, 3], [9, 14]]]], dtype="int64"), 2)],
    F + "max_unpool3d": [S(X((1, 1, 1, 1, 2)), X(data=[[[[[1, 2]]]]], dtype="int64"), 2)], "conv_tbc": [S(X((4, 2, 3)), X((2, 3, 2)), X(2), 1)],
    "conv1d": [S(X((2, 4, 7)), X((6, 4, 3)), X(6))], "conv2d": [S(x4, X((6, 4, 3, 2)), X(6))], "svd": [S(Solid((3, 3)))],
    "lu": [S(Solid((3, 3)))], "lu_solve": [S(X((3, 2)), Solid((3, 3)), X(data=[1, 2, 3], dtype="int32"))],
}  # fmt: skip

# Where names of nodes, values or second derivatives are not PyTorch's, and why.
OPTIONS = {
    F + "gumbel_softmax": {"equal": False, "smooth": False},  # random
    F + "ctc_loss": {"second": False, "smooth": False, "dual": False},  # of normalised probabilities; once differentiable
    F + "embedding": {"smooth": False, "dual": False, "second": False},  # padding_idx: no gradient, but a tangent; PyTorch forgets to scale twice
    F + "pad": {"node": False}, F + "rms_norm": {"node": False},  # one node here, several there
    F + "hardsigmoid": {"rtol": 100},  # PyTorch multiplies by a sixth in float32
    F + "embedding_bag": {"second": False},
    F + "relu_": {"smooth": False},
    "svd": {"equal": False, "second": False, "smooth": False},
    "linalg.eigh": {"equal": False, "second": False, "smooth": False},
}  # fmt: skip
for _name, _samples in {**SAMPLES, **MORE}.items():
    if _name not in RECORDS:
        record(_name, _samples, **OPTIONS.get(_name, {}))
