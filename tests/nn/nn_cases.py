"""One or more examples of every class in nn: how to make it and what to call it with.

Inputs are given as shapes of floating point tensors, or as functions of the library for anything else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from nn_data import array, integers


@dataclass
class Case:
    make: Callable[[Any], Any]
    inputs: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    train: bool = True
    seeded: bool = False  # the forward draws random numbers

    def arguments(self, lib: Any) -> list[Any]:
        made = []
        for i, spec in enumerate(self.inputs):
            made.append(spec(lib) if callable(spec) else array(lib, *spec, seed=i + 1, grad=True))
        return made


CASES: dict[str, Case] = {}


def case(name: str, make: Callable[[Any], Any], *inputs: Any, **options: Any) -> None:
    assert name not in CASES
    CASES[name] = Case(make, inputs, **options)


def ints(high: int, *shape: int) -> Callable[[Any], Any]:
    return lambda lib: integers(lib, high, *shape)


def probs(*shape: int) -> Callable[[Any], Any]:
    return lambda lib: array(lib, *shape, seed=3).sigmoid().requires_grad_()


def fixed(*shape: int) -> Callable[[Any], Any]:
    return lambda lib: array(lib, *shape, seed=5)


def signs(*shape: int) -> Callable[[Any], Any]:
    return lambda lib: array(lib, *shape, seed=5).sign()


def pooled(lib: Any, n: int, shape: tuple[int, ...]) -> Any:
    return getattr(lib.nn.functional, f"max_pool{n}d")(array(lib, *shape), 2, return_indices=True)


x2, x3, x4, x5 = (3, 4), (2, 4, 6), (2, 4, 6, 5), (2, 4, 5, 4, 6)

# Linear and friends
case("Identity", lambda nn: nn.Identity(3, unused=True), x2)
case("Linear", lambda nn: nn.Linear(4, 3), x2)
case("Linear-nobias", lambda nn: nn.Linear(4, 3, bias=False), (2, 3, 4))
case("Linear-double", lambda nn: nn.Linear(4, 3).double(), lambda lib: array(lib, 2, 4).double())
case("Bilinear", lambda nn: nn.Bilinear(4, 5, 3), (2, 4), (2, 5))
case("Bilinear-nobias", lambda nn: nn.Bilinear(4, 5, 3, bias=False), (2, 4), (2, 5))
case("LazyLinear", lambda nn: nn.LazyLinear(3), x2)
case("Flatten", lambda nn: nn.Flatten(), x4)
case("Unflatten", lambda nn: nn.Unflatten(1, (2, 2)), x2)
case("PairwiseDistance", lambda nn: nn.PairwiseDistance(keepdim=True), x2, x2)
case("CosineSimilarity", lambda nn: nn.CosineSimilarity(), x2, x2)
case("Embedding", lambda nn: nn.Embedding(7, 3, padding_idx=2), ints(7, 4, 2))
case("Embedding-options", lambda nn: nn.Embedding(7, 3, -1, 1.0, 3.0, True), ints(7, 4, 2))
case("EmbeddingBag", lambda nn: nn.EmbeddingBag(7, 3), ints(7, 4, 2))
case("EmbeddingBag-sum", lambda nn: nn.EmbeddingBag(7, 3, 1.0, 3.0, mode="sum", padding_idx=1), ints(7, 4, 2))
case("ChannelShuffle", lambda nn: nn.ChannelShuffle(2), x4)
case("PixelShuffle", lambda nn: nn.PixelShuffle(2), x4)
case("PixelUnshuffle", lambda nn: nn.PixelUnshuffle(2), (1, 2, 4, 6))
case("Fold", lambda nn: nn.Fold((4, 5), (2, 2)), (1, 8, 12))
case("Unfold", lambda nn: nn.Unfold((2, 3), padding=1), x4)
case("Upsample", lambda nn: nn.Upsample(scale_factor=2), x4)
case("Upsample-size", lambda nn: nn.Upsample(size=(7, 9), mode="bilinear", align_corners=True), x4)
case("UpsamplingNearest2d", lambda nn: nn.UpsamplingNearest2d(scale_factor=(2, 3)), x4)
case("UpsamplingBilinear2d", lambda nn: nn.UpsamplingBilinear2d(size=9), x4)

# Containers
case("Sequential", lambda nn: nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2)), x2)
case("ModuleList", lambda nn: nn.ModuleList([nn.Linear(4, 3), nn.Linear(4, 3), nn.ReLU()]), None)
case("ModuleDict", lambda nn: nn.ModuleDict({"a": nn.Linear(4, 3), "b": nn.ReLU()}), None)
case("ParameterList", lambda nn: nn.ParameterList([nn.Linear(4, 3).weight, "text"]), None)
case("ParameterDict", lambda nn: nn.ParameterDict({"a": nn.Linear(4, 3).weight, "b": 3}), None)

# Convolutions
for n, x in ((1, x3), (2, x4), (3, x5)):
    conv, transposed = f"Conv{n}d", f"ConvTranspose{n}d"
    case(conv, lambda nn, c=conv: getattr(nn, c)(4, 6, 3), x)
    case(f"{conv}-unbatched", lambda nn, c=conv: getattr(nn, c)(4, 6, 3), x[1:])
    case(f"{conv}-options", lambda nn, c=conv: getattr(nn, c)(4, 6, 3, 2, 1, 1, 2, False), x)
    case(f"{conv}-same", lambda nn, c=conv: getattr(nn, c)(4, 2, 2, padding="same", dilation=2), x)
    case(f"{conv}-circular", lambda nn, c=conv: getattr(nn, c)(4, 2, 3, padding=1, padding_mode="circular"), x)
    case(f"{conv}-replicate", lambda nn, c=conv: getattr(nn, c)(4, 2, 2, padding="same", padding_mode="replicate"), x)
    case(transposed, lambda nn, c=transposed: getattr(nn, c)(4, 6, 3), x)
    case(f"{transposed}-options", lambda nn, c=transposed: getattr(nn, c)(4, 6, 3, 2, 1, 1, 2, False, 2), x)
    case(f"Lazy{conv}", lambda nn, c=conv: getattr(nn, f"Lazy{c}")(6, 3), x)
    case(f"Lazy{transposed}", lambda nn, c=transposed: getattr(nn, f"Lazy{c}")(6, 3), x)
case("Conv2d-reflect", lambda nn: nn.Conv2d(4, 2, (3, 2), padding=(2, 1), padding_mode="reflect"), x4)
case(
    "ConvTranspose2d-size",
    lambda nn: nn.ConvTranspose2d(4, 2, 3, stride=2, padding=1),
    x4,
    kwargs={"output_size": (12, 9)},
)

# Normalisation
for n, x in ((1, x3), (2, x4), (3, x5)):
    batch, instance = f"BatchNorm{n}d", f"InstanceNorm{n}d"
    case(batch, lambda nn, c=batch: getattr(nn, c)(4), x)
    case(f"{batch}-eval", lambda nn, c=batch: getattr(nn, c)(4, momentum=None), x, train=False)
    case(f"Lazy{batch}", lambda nn, c=batch: getattr(nn, f"Lazy{c}")(), x)
    case(instance, lambda nn, c=instance: getattr(nn, c)(4), x)
    case(f"{instance}-options", lambda nn, c=instance: getattr(nn, c)(4, 1e-3, 0.2, True, True), x)
    case(f"{instance}-unbatched", lambda nn, c=instance: getattr(nn, c)(4), x[1:])
    case(f"Lazy{instance}", lambda nn, c=instance: getattr(nn, f"Lazy{c}")(), x)
case("BatchNorm1d-2d", lambda nn: nn.BatchNorm1d(4, momentum=None), x2)
case("BatchNorm2d-plain", lambda nn: nn.BatchNorm2d(4, affine=False, track_running_stats=False), x4)
case("BatchNorm2d-nobias", lambda nn: nn.BatchNorm2d(4, bias=False), x4)
case("SyncBatchNorm", lambda nn: nn.SyncBatchNorm(4), x4)
case("LayerNorm", lambda nn: nn.LayerNorm(5), x4)
case("LayerNorm-options", lambda nn: nn.LayerNorm([6, 5], 1e-3, bias=False), x4)
case("LayerNorm-plain", lambda nn: nn.LayerNorm((5,), elementwise_affine=False), x4)
case("GroupNorm", lambda nn: nn.GroupNorm(2, 4), x4)
case("GroupNorm-plain", lambda nn: nn.GroupNorm(2, 4, affine=False), x4)
case("RMSNorm", lambda nn: nn.RMSNorm([6, 5]), x4)
case("RMSNorm-plain", lambda nn: nn.RMSNorm(5, eps=1e-3, elementwise_affine=False), x4)
case("LocalResponseNorm", lambda nn: nn.LocalResponseNorm(3), x4)
case("CrossMapLRN2d", lambda nn: nn.CrossMapLRN2d(3, alpha=0.5), lambda lib: array(lib, 2, 8, 3, 3))
case("CrossMapLRN2d-even", lambda nn: nn.CrossMapLRN2d(4, alpha=0.5), lambda lib: array(lib, 2, 9, 2, 3))

# Dropout
case("Dropout", lambda nn: nn.Dropout(0.3), x4, seeded=True)
case("Dropout-eval", lambda nn: nn.Dropout(0.3, inplace=True), fixed(3, 4), train=False)
case("Dropout1d", lambda nn: nn.Dropout1d(0.3), x3, seeded=True)
case("Dropout2d", lambda nn: nn.Dropout2d(0.3), x4, seeded=True)
case("Dropout3d", lambda nn: nn.Dropout3d(0.3), x5, seeded=True)
case("AlphaDropout", lambda nn: nn.AlphaDropout(0.3), x4, seeded=True)
case("FeatureAlphaDropout", lambda nn: nn.FeatureAlphaDropout(0.3), x4, seeded=True)

# Activations
for name in [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "Mish",
    "PReLU",
    "ReLU",
    "ReLU6",
    "SELU",
    "SiLU",
    "Sigmoid",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
]:
    case(name, lambda nn, c=name: getattr(nn, c)(), x4 if name != "GLU" else x2)
for name in ["Softmax", "LogSoftmax", "Softmin"]:
    case(name, lambda nn, c=name: getattr(nn, c)(dim=1), x4)
    case(f"{name}-guess", lambda nn, c=name: getattr(nn, c)(), x4)
case("Softmax2d", lambda nn: nn.Softmax2d(), x4)
case("RReLU", lambda nn: nn.RReLU(), x4, seeded=True)
case("RReLU-eval", lambda nn: nn.RReLU(0.1, 0.2), x4, train=False)
case("Threshold", lambda nn: nn.Threshold(0.1, 20), x4)
case("GELU-tanh", lambda nn: nn.GELU("tanh"), x4)
case("PReLU-channels", lambda nn: nn.PReLU(4, 0.1), x4)
case("ReLU-inplace", lambda nn: nn.ReLU(True), fixed(3, 4))
case("ELU-inplace", lambda nn: nn.ELU(2.0, True), fixed(3, 4))
case("LeakyReLU-inplace", lambda nn: nn.LeakyReLU(0.2, True), fixed(3, 4))
case("Hardtanh-options", lambda nn: nn.Hardtanh(-2, 2, True), fixed(3, 4))
case("MultiheadAttention", lambda nn: nn.MultiheadAttention(8, 2), (3, 2, 8), (5, 2, 8), (5, 2, 8))
case("MultiheadAttention-unbatched", lambda nn: nn.MultiheadAttention(8, 2), (3, 8), (5, 8), (5, 8))
case(
    "MultiheadAttention-options",
    lambda nn: nn.MultiheadAttention(8, 2, 0.0, False, True, True, 3, 5, True),
    (2, 3, 8),
    (2, 5, 3),
    (2, 5, 5),
    kwargs={"average_attn_weights": False},
)
case(
    "MultiheadAttention-noweights",
    lambda nn: nn.MultiheadAttention(8, 2, batch_first=True),
    (2, 3, 8),
    (2, 5, 8),
    (2, 5, 8),
    kwargs={"need_weights": False},
)

# Pooling
for n, x in ((1, x3), (2, x4), (3, x5)):
    for name, args in (
        ("MaxPool", (2,)),
        ("MaxPool", (2, 1, 1, 1, True, True)),
        ("AvgPool", (2,)),
        ("AvgPool", (2, 1, 1, True, False)),
        ("LPPool", (2, 2)),
        ("LPPool", (3, 2, 1, True)),
        ("AdaptiveMaxPool", (2,)),
        ("AdaptiveMaxPool", (3, True)),
        ("AdaptiveAvgPool", (3,)),
    ):
        full = f"{name}{n}d"
        positive = (lambda lib, x=x: array(lib, *x, seed=2).abs().requires_grad_()) if name == "LPPool" else x
        case(
            full if full not in CASES else f"{full}-options",
            lambda nn, c=full, a=args: getattr(nn, c)(*a),
            positive,
        )
    even = (2, 3, *(4,) * n)
    case(
        f"MaxUnpool{n}d",
        lambda nn, n=n: getattr(nn, f"MaxUnpool{n}d")(2),
        lambda lib, n=n, x=even: pooled(lib, n, x)[0].requires_grad_(),
        lambda lib, n=n, x=even: pooled(lib, n, x)[1],
    )
case("AvgPool2d-divisor", lambda nn: nn.AvgPool2d((2, 3), divisor_override=2), x4)
case("AdaptiveAvgPool2d-none", lambda nn: nn.AdaptiveAvgPool2d((None, 2)), x4)
case("FractionalMaxPool2d", lambda nn: nn.FractionalMaxPool2d(2, output_size=(3, 2)), x4, seeded=True)
case("FractionalMaxPool3d", lambda nn: nn.FractionalMaxPool3d(2, output_ratio=0.5), x5, seeded=True)

# Padding
for n, x in ((1, x3), (2, x4), (3, x5)):
    for name in ["CircularPad", "ReflectionPad", "ReplicationPad", "ZeroPad"]:
        case(f"{name}{n}d", lambda nn, c=f"{name}{n}d": getattr(nn, c)(1), x)
        case(f"{name}{n}d-sides", lambda nn, c=f"{name}{n}d", n=n: getattr(nn, c)((1, 2) * n), x)
    case(f"ConstantPad{n}d", lambda nn, n=n: getattr(nn, f"ConstantPad{n}d")(1, 2.5), x)

# Losses
for name in ["L1Loss", "MSELoss", "SmoothL1Loss", "HuberLoss", "KLDivLoss", "PoissonNLLLoss"]:
    case(name, lambda nn, c=name: getattr(nn, c)(), x2, fixed(*x2))
    case(f"{name}-sum", lambda nn, c=name: getattr(nn, c)(reduction="sum"), x2, fixed(*x2))
    case(f"{name}-none", lambda nn, c=name: getattr(nn, c)(reduction="none"), x2, fixed(*x2))
case("L1Loss-legacy", lambda nn: nn.L1Loss(size_average=False), x2, fixed(*x2))
case("MSELoss-legacy", lambda nn: nn.MSELoss(reduce=False), x2, fixed(*x2))
case("SmoothL1Loss-beta", lambda nn: nn.SmoothL1Loss(beta=0.3), x2, fixed(*x2))
case("HuberLoss-delta", lambda nn: nn.HuberLoss(delta=0.3), x2, fixed(*x2))
case("KLDivLoss-log", lambda nn: nn.KLDivLoss(reduction="batchmean", log_target=True), x2, fixed(*x2))
case("PoissonNLLLoss-full", lambda nn: nn.PoissonNLLLoss(full=True), x2, lambda lib: array(lib, *x2).abs())
case("GaussianNLLLoss", lambda nn: nn.GaussianNLLLoss(), x2, fixed(*x2), probs(*x2))
case("NLLLoss", lambda nn: nn.NLLLoss(), x2, ints(4, 3))
case("NLLLoss-ignore", lambda nn: nn.NLLLoss(ignore_index=1, reduction="sum"), x2, ints(4, 3))
case("NLLLoss2d", lambda nn: nn.NLLLoss2d(), (2, 4, 3, 3), ints(4, 2, 3, 3))
case("CrossEntropyLoss", lambda nn: nn.CrossEntropyLoss(), x2, ints(4, 3))
case("CrossEntropyLoss-smooth", lambda nn: nn.CrossEntropyLoss(label_smoothing=0.1), x3, ints(4, 2, 6))
case("LinearCrossEntropyLoss", lambda nn: nn.LinearCrossEntropyLoss(4, 3, bias=True), x2, ints(3, 3))
case("BCELoss", lambda nn: nn.BCELoss(), probs(3, 4), lambda lib: array(lib, 3, 4).sigmoid())
case("BCEWithLogitsLoss", lambda nn: nn.BCEWithLogitsLoss(), x2, lambda lib: array(lib, 3, 4).sigmoid())
case("HingeEmbeddingLoss", lambda nn: nn.HingeEmbeddingLoss(0.5), x2, signs(*x2))
case("MultiLabelMarginLoss", lambda nn: nn.MultiLabelMarginLoss(), x2, ints(4, 3, 4))
case("SoftMarginLoss", lambda nn: nn.SoftMarginLoss(), x2, signs(*x2))
case("MultiLabelSoftMarginLoss", lambda nn: nn.MultiLabelSoftMarginLoss(), x2, lambda lib: signs(*x2)(lib).relu())
case("CosineEmbeddingLoss", lambda nn: nn.CosineEmbeddingLoss(0.1), x2, x2, signs(3))
case("MarginRankingLoss", lambda nn: nn.MarginRankingLoss(0.1), (5,), (5,), signs(5))
case("MultiMarginLoss", lambda nn: nn.MultiMarginLoss(), x2, ints(4, 3))
case("MultiMarginLoss-p2", lambda nn: nn.MultiMarginLoss(p=2, margin=0.5), x2, ints(4, 3))
case("TripletMarginLoss", lambda nn: nn.TripletMarginLoss(swap=True), x2, x2, x2)
case("TripletMarginWithDistanceLoss", lambda nn: nn.TripletMarginWithDistanceLoss(), x2, x2, x2)
case(
    "CTCLoss",
    lambda nn: nn.CTCLoss(),
    lambda lib: array(lib, 6, 2, 4).log_softmax(2).requires_grad_(),
    lambda lib: integers(lib, 3, 2, 3) + 1,
    lambda lib: lib.tensor([6, 5]),
    lambda lib: lib.tensor([3, 2]),
)
case(
    "AdaptiveLogSoftmaxWithLoss",
    lambda nn: nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10], div_value=2.0),
    (6, 8),
    ints(20, 6),
)

# Recurrent
for mode in ["RNN", "LSTM", "GRU"]:
    case(mode, lambda nn, c=mode: getattr(nn, c)(4, 3), (5, 2, 4))
    case(f"{mode}-unbatched", lambda nn, c=mode: getattr(nn, c)(4, 3, batch_first=True), (5, 4))
    case(
        f"{mode}-deep",
        lambda nn, c=mode: getattr(nn, c)(4, 3, 2, bias=False, batch_first=True, bidirectional=True),
        (2, 5, 4),
    )
    case(
        f"{mode}-dropout",
        lambda nn, c=mode: getattr(nn, c)(4, 3, 3, dropout=0.4, bidirectional=True),
        (5, 2, 4),
        seeded=True,
    )
    case(f"{mode}Cell", lambda nn, c=mode: getattr(nn, f"{c}Cell")(4, 3), x2)
    case(f"{mode}Cell-unbatched", lambda nn, c=mode: getattr(nn, f"{c}Cell")(4, 3, bias=False), (4,))
case("RNN-relu", lambda nn: nn.RNN(4, 3, 2, "relu"), (5, 2, 4), (2, 2, 3))
case("RNNCell-relu", lambda nn: nn.RNNCell(4, 3, nonlinearity="relu"), x2, (3, 3))
case("LSTM-proj", lambda nn: nn.LSTM(4, 5, 2, proj_size=3, bidirectional=True), (5, 2, 4))
case("LSTM-dropout1", lambda nn: nn.LSTM(4, 5, dropout=0.5), (5, 2, 4))
case("GRU-hidden", lambda nn: nn.GRU(4, 3), (5, 2, 4), (1, 2, 3))

# Transformers
small = {"dim_feedforward": 16, "dropout": 0.0}
case("TransformerEncoderLayer", lambda nn: nn.TransformerEncoderLayer(8, 2, **small), (5, 2, 8))
case(
    "TransformerEncoderLayer-options",
    lambda nn: nn.TransformerEncoderLayer(
        8, 2, activation="gelu", batch_first=True, norm_first=True, bias=False, **small
    ),
    (2, 5, 8),
)
case("TransformerEncoderLayer-dropout", lambda nn: nn.TransformerEncoderLayer(8, 2, 16, 0.3), (5, 2, 8), seeded=True)
case("TransformerDecoderLayer", lambda nn: nn.TransformerDecoderLayer(8, 2, **small), (3, 2, 8), (5, 2, 8))
case(
    "TransformerDecoderLayer-options",
    lambda nn: nn.TransformerDecoderLayer(8, 2, batch_first=True, norm_first=True, bias=False, **small),
    (2, 3, 8),
    (2, 5, 8),
)
case(
    "TransformerEncoder",
    lambda nn: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, **small), 2, nn.LayerNorm(8)),
    (5, 2, 8),
)
case(
    "TransformerDecoder",
    lambda nn: nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, **small), 2),
    (3, 2, 8),
    (5, 2, 8),
)
case("Transformer", lambda nn: nn.Transformer(8, 2, 1, 1, **small), (5, 2, 8), (3, 2, 8))
case("DataParallel", lambda nn: nn.DataParallel(nn.Linear(4, 3)), x2)
