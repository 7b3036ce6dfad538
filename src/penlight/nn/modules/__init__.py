"""All modules, by their names in `penlight.nn`. Each file is imported when one of its names is first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..._common.module_table import declare_modules, lazy_names
from ...kernels.lazy import lazy_import

if TYPE_CHECKING:
    from .._lazy import *  # noqa: F403

_refused = lazy_import(globals(), "_refused", "penlight._refused")

_HOME = declare_modules(
    __name__,
    activation={
        "activation": """
            CELU ELU GELU GLU SELU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU LogSigmoid LogSoftmax Mish
            MultiheadAttention PReLU ReLU ReLU6 RReLU Sigmoid SiLU Softmax Softmax2d Softmin Softplus Softshrink Softsign
            Tanh Tanhshrink Threshold""",
        "dropout": "AlphaDropout Dropout Dropout1d Dropout2d Dropout3d FeatureAlphaDropout _DropoutNd",
    },
    container="Container ModuleDict ModuleList ParameterDict ParameterList Sequential",
    conv="""
        Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d LazyConv1d LazyConv2d LazyConv3d
        LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d""",
    linear={"linear": "Bilinear Identity LazyLinear Linear", "sparse": "Embedding EmbeddingBag"},
    loss={
        "loss": """
            BCELoss BCEWithLogitsLoss CosineEmbeddingLoss CrossEntropyLoss CTCLoss GaussianNLLLoss HingeEmbeddingLoss
            HuberLoss KLDivLoss L1Loss LinearCrossEntropyLoss MarginRankingLoss MSELoss MultiLabelMarginLoss
            MultiLabelSoftMarginLoss MultiMarginLoss NLLLoss NLLLoss2d PoissonNLLLoss SmoothL1Loss SoftMarginLoss
            TripletMarginLoss TripletMarginWithDistanceLoss""",
        "adaptive": "AdaptiveLogSoftmaxWithLoss _ASMoutput",
        "distance": "CosineSimilarity PairwiseDistance",
        "linear_cross_entropy_options": "LinearCrossEntropyOptions",
    },
    module="Module",
    normalization={
        "normalization": "CrossMapLRN2d GroupNorm LayerNorm LocalResponseNorm RMSNorm",
        "batchnorm": """
            BatchNorm1d BatchNorm2d BatchNorm3d LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d SyncBatchNorm _BatchNorm
            _LazyNormBase _NormBase""",
        "instancenorm": """
            InstanceNorm1d InstanceNorm2d InstanceNorm3d LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d
            _InstanceNorm""",
    },
    pooling="""
        AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d AdaptiveMaxPool3d
        AvgPool1d AvgPool2d AvgPool3d FractionalMaxPool2d FractionalMaxPool3d LPPool1d LPPool2d LPPool3d MaxPool1d MaxPool2d
        MaxPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d""",
    rnn="GRU LSTM RNN GRUCell LSTMCell RNNBase RNNCell RNNCellBase",
    transformer="Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder TransformerEncoderLayer",
    _shapes={
        "channelshuffle": "ChannelShuffle",
        "flatten": "Flatten Unflatten",
        "fold": "Fold Unfold",
        "padding": """
            CircularPad1d CircularPad2d CircularPad3d ConstantPad1d ConstantPad2d ConstantPad3d ReflectionPad1d ReflectionPad2d
            ReflectionPad3d ReplicationPad1d ReplicationPad2d ReplicationPad3d ZeroPad1d ZeroPad2d ZeroPad3d _CircularPadNd
            _ConstantPadNd _ReflectionPadNd _ReplicationPadNd""",
        "pixelshuffle": "PixelShuffle PixelUnshuffle",
        "upsampling": "Upsample UpsamplingBilinear2d UpsamplingNearest2d",
    },
)

__all__ = sorted(_HOME)

__getattr__, __dir__ = lazy_names(
    __name__, _HOME, {*_HOME.values(), "lazy", "utils"}, lambda *name: _refused.missing(*name)
)
