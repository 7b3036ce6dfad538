"""Records of layers' functions under their names in torch, whose arguments are others than those in torch.nn.functional; and of what is seldom met."""

from __future__ import annotations

from recording import RECORDS, S, X, record
from records_nn import c4, ints, kept, x4

three = X((1, 2, 4, 4, 3))
ones = {"data": [1.0, -1.0, 1.0], "grad": False}
cell = lambda rows: (X((rows, 3)), X((rows, 4)), X(rows), X(rows))
SAMPLES = {
    "conv3d": [S(three, X((3, 2, 2, 2, 2)), X(3), 1, 1)],
    "conv_transpose1d": [S(X((2, 4, 5)), X((4, 3, 3)), X(3), 2, 1, 1)],
    "conv_transpose2d": [S(x4, X((4, 3, 2, 2)), X(3), 2)],
    "conv_transpose3d": [S(three, X((2, 3, 2, 2, 2)), X(3))],
    "convolution": [S(x4, X((6, 2, 3, 2)), X(6), (1, 1), (1, 0), (1, 1), False, (0, 0), 2), S(x4, X((4, 3, 2, 2)), None, (2, 1), (0, 0), (1, 1), True, (1, 0), 1)],
    "avg_pool1d": [S(X((2, 3, 8)), 3, 2, 1, False, False)], "adaptive_avg_pool1d": [S(X((2, 3, 8)), 3)], "adaptive_max_pool1d": [S(X((2, 3, 8)), 3)],
    "max_pool1d": [S(X((2, 3, 8)), 3, 2, 1)], "max_pool1d_with_indices": [S(X((2, 3, 8)), 3, 2, 1)],
    "max_pool2d": [S(c4, 2), S(x4, (2, 3), 2, 1)], "max_pool3d": [S(three, 2)],
    "batch_norm": [S(x4, X(4), X(4), kept(4), kept(4, low=0.5), False, 0.1, 1e-5, False), S(x4, None, X(4), None, None, True, 0.1, 1e-5, False)],
    "instance_norm": [S(x4, X(4), X(4), None, None, True, 0.1, 1e-5, False)],
    "group_norm": [S(x4, 2), S(x4, 4, X(4), X(4), 1e-3)], "layer_norm": [S(x4, (6,)), S(x4, (5, 6), X((5, 6)), X((5, 6)))], "rms_norm": [S(x4, (6,), X(6))],
    "native_layer_norm": [S(X((3, 5)), (5,), X(5), X(5), 1e-5)],
    "celu": [S(x4, 2.0)], "selu": [S(x4)], "prelu": [S(x4, X(4)), S(x4, X(1))], "hardshrink": [S(x4, 0.7)], "threshold": [S(x4, 0.5, 7.0)],
    "dropout": [S(x4, 0.5, False), S(x4, 0.0, True)], "alpha_dropout": [S(x4, 0.5, False)], "feature_dropout": [S(x4, 0.5, False)], "feature_alpha_dropout": [S(x4, 0.5, False)],
    "rrelu": [S(x4, 0.1, 0.3, False)],
    "bilinear": [S(X((2, 3)), X((2, 4)), X((5, 3, 4)), X(5))], "pairwise_distance": [S(X((2, 3)), X((2, 3)), 3.0, 1e-3, True)], "cosine_similarity": [S(X((2, 3)), X((2, 3)), 0)],
    "embedding": [S(X((5, 3)), ints(2, 4, high=5))],
    "binary_cross_entropy_with_logits": [S(X((2, 3)), kept(2, 3, low=0.0, high=1.0), kept(3, low=0.5), kept(3, low=0.5), 2)],
    "kl_div": [S(X((2, 3)), kept(2, 3, low=0.1), 2), S(X((2, 3)), kept(2, 3), 1, log_target=True)], "poisson_nll_loss": [S(X((2, 3)), kept(2, 3, low=0.5), True, True, 1e-8, 1)],
    "hinge_embedding_loss": [S(X(3), X(3, **ones), 0.5, 0)], "margin_ranking_loss": [S(X(3), X(3), X(3, **ones), 0.5, 2)],
    "cosine_embedding_loss": [S(X((3, 4)), X((3, 4)), X(3, **ones), 0.2, 1)], "triplet_margin_loss": [S(X((3, 4)), X((3, 4)), X((3, 4)), 0.5, 2, 1e-6, True, 2)],
    "ctc_loss": [S(X((5, 2, 4), low=-3, high=-0.5), ints(2, 3, high=3), (5, 5), (3, 2), 3, 1)],
    "grid_sampler": [S(X((1, 2, 4, 5)), X((1, 3, 2, 2), low=-0.9, high=0.9), 0, 1, False)],
    "channel_shuffle": [S(x4, 2)], "pixel_shuffle": [S(X((2, 8, 3, 3)), 2)], "pixel_unshuffle": [S(X((2, 2, 4, 4)), 2)], "constant_pad_nd": [S(x4, (1, -1, 0, 2), 1.5)],
    "lstm_cell": [S(X((2, 3)), (X((2, 4)), X((2, 4))), *cell(16))], "gru_cell": [S(X((2, 3)), X((2, 4)), *cell(12))],
    "rnn_tanh_cell": [S(X((2, 3)), X((2, 4)), *cell(4))], "rnn_relu_cell": [S(X((2, 3)), X((2, 4)), *cell(4))],
    "Tensor.hardshrink": [S(x4, 0.7)], "Tensor.prelu": [S(x4, X(4))],
    "nn.functional.lp_pool3d": [S(X((1, 2, 4, 4, 4), low=0.5), 2, 2)],
    "nn.functional.triplet_margin_with_distance_loss": [S(X((3, 4)), X((3, 4)), X((3, 4)), margin=0.5, swap=True)],
    "nn.functional.fractional_max_pool2d": [S(X((1, 2, 6, 6)), 2, 3, _random_samples=X((1, 2, 2), low=0.1, high=0.9, grad=False))],
    "nn.functional.fractional_max_pool3d": [S(X((1, 2, 6, 6, 6)), 2, 3, _random_samples=X((1, 2, 3), low=0.1, high=0.9, grad=False))],
    "nn.functional.multi_head_attention_forward": [
        S(X((3, 2, 4)), X((5, 2, 4)), X((5, 2, 4)), 4, 2, X((12, 4)), X(12), None, None, False, 0.0, X((4, 4)), X(4), need_weights=weights) for weights in (True, False)
    ],
}  # fmt: skip
# Which checks do not hold, and why.
OPTIONS = {
    "ctc_loss": {"second": False, "smooth": False, "dual": False},  # of normalised probabilities; once differentiable
    "rms_norm": {"node": False},  # one node here, several there
    "nn.functional.multi_head_attention_forward": {"rtol": 4},  # the gradient of the keys' bias is 0, up to rounding
}
for _name, _samples in SAMPLES.items():
    if _name not in RECORDS:
        record(_name, _samples, **OPTIONS.get(_name, {}))
