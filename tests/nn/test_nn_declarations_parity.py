"""What declarations of modules promise, against PyTorch: unusual options, refusals, copies, and subclasses of them."""

from __future__ import annotations

import copy
import inspect
import pickle

import pytest

torch = pytest.importorskip("torch")

from nn_cases import CASES  # noqa: E402
from nn_parity import compare, observe  # noqa: E402

import penlight  # noqa: E402

pytestmark = pytest.mark.parity

CLASSES = [
    name
    for name in dir(torch.nn)
    if inspect.isclass(getattr(torch.nn, name)) and issubclass(getattr(torch.nn, name), torch.nn.Module)
]
OWN_SIGNATURE = {"RNN", "LSTM", "GRU"}  # PyTorch hides theirs behind *args, **kwargs


def same(function):
    compare(observe(function, penlight), observe(function, torch), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", [name for name in CLASSES if name not in OWN_SIGNATURE])
def test_wrong_arguments(name):
    for args, kwargs in (((), {"bogus": 1}), (range(1, 30), {})):
        ours, theirs = (
            observe(lambda found, a=args, k=kwargs: getattr(found.nn, name)(*a, **k), lib) for lib in (penlight, torch)
        )
        assert ours.get("error") == theirs.get("error")
    assert getattr(penlight.nn, name)._version == getattr(torch.nn, name)._version


CONSTRUCTED = """
Conv2d(1, 1, 2, padding="sam")
Conv2d(1, 1, 2, 2, padding="same")
Conv2d(1, 1, 2, padding="same")
Conv2d(3, 4, 2, groups=2)
Conv2d(4, 3, 2, groups=2)
Conv2d(4, 3, 2, groups=0)
Conv2d(4, 4, (2, 3), (1, 2), (1, 0), (2, 2), 2, False, "reflect")
Conv2d(1, 1, [2, 3])
Conv2d(1, 1)
Conv2d(0, 0, 2)
Conv2d(2, 0, 2)
ConvTranspose2d(1, 1, 2, padding="same")
ConvTranspose2d(4, 3, 2, padding_mode="reflect")
ConvTranspose2d(4, 4, 3, 2, 1, (1, 1), 2, False, 2)
LazyConv2d(4, 3, padding=1)
LazyConv2d(4)
LazyConvTranspose3d(4, 3, bias=False)
modules.conv._ConvNd(2, 4, (3,), (1,), (0,), (1,), False, (0,), 1, True, "zeros")
Linear(0, 3)
Linear(3, 0)
Linear(2)
Bilinear(0, 3, 1)
Bilinear(2, 3, 1, bias=False)
Embedding(3, 2, padding_idx=5)
Embedding(3, 2, padding_idx=-1, max_norm=1, norm_type=2, scale_grad_by_freq=True, sparse=True)
Embedding(3, 2, norm_type=3.0)
EmbeddingBag(3, 2, padding_idx=-1, max_norm=1, norm_type=3, scale_grad_by_freq=True, sparse=True)
GroupNorm(3, 4)
GroupNorm(2, 4, affine=False)
LayerNorm((2, 3), bias=False)
LayerNorm(2, elementwise_affine=False)
RMSNorm(3, elementwise_affine=False)
BatchNorm1d(3, bias=False)
BatchNorm1d(3, affine=False, track_running_stats=False).state_dict()
modules.batchnorm._NormBase(3).state_dict()
SyncBatchNorm(3, momentum=None)
LazyInstanceNorm1d(affine=True)
FractionalMaxPool2d(2)
FractionalMaxPool2d(2, 3, 0.5)
FractionalMaxPool2d(2, output_ratio=2)
FractionalMaxPool3d(0, output_ratio=0.2)
MaxPool2d((2, 3), ceil_mode=True, dilation=2)
LPPool2d(2, 3)
AvgPool1d(2)
AvgPool2d(2, divisor_override=3)
MaxUnpool2d(2)
AdaptiveAvgPool2d((None, 3))
ZeroPad2d(3)
ConstantPad2d(3)
ConstantPad2d((1, 2, 3, 4), 0.5)
ReflectionPad3d(2)
Dropout(2)
Dropout(float("nan"))
Dropout(0.1, True)
Upsample((2, 3))
Upsample(scale_factor=(2, 3))
UpsamplingBilinear2d(scale_factor=2)
Unflatten(1, 3)
Unflatten(1, (3, "a"))
Unflatten(1, (3, 1))
Hardtanh(2, 1)
Hardtanh(-2, 1, True)
Hardtanh(min_value=-3.0)
ReLU(True)
ReLU6(True)
RReLU(inplace=True)
Threshold(1, 2, True)
Hardswish(True)
Softmax()
GELU("tanh")
Softshrink(0.1)
PReLU(3)
HuberLoss(delta="a")
LinearCrossEntropyLoss(3, 4, label_smoothing=2)
LinearCrossEntropyLoss(3, 4, bias=True, out_features=(2,))
TripletMarginLoss(margin=0)
TripletMarginWithDistanceLoss(margin=-1)
MultiMarginLoss(p=3)
MSELoss(size_average=False)
MSELoss(reduce=False).reduction
LSTM(2, 3, 2, dropout=0.5, bidirectional=True, proj_size=1, batch_first=True, bias=False)
LSTM(2, 3, proj_size=3)
LSTM(2, 3, proj_size=-1)
LSTM(2, 3, num_layers=0)
LSTM(2, 3, bias=1)
GRU(2, 0)
GRU(2, 3, dropout=2)
RNN(2, 3, nonlinearity="sin")
RNNBase("no", 2, 3)
RNNCell(2, 3, bias=False, nonlinearity="relu")
MultiheadAttention(5, 2)
MultiheadAttention(0, 2)
MultiheadAttention(4, 2, kdim=3, add_bias_kv=True).state_dict()
MultiheadAttention(4, 2, bias=False, add_zero_attn=True).state_dict()
TransformerEncoderLayer(4, 2, 3, activation="sin")
TransformerDecoderLayer(4, 2, 3, activation="gelu", bias=False).state_dict()
Fold(2, 3)
Unfold(2, stride=3)
PairwiseDistance(1.0).norm
LocalResponseNorm(3)
utils.weight_norm(utils.weight_norm(Linear(2, 2)))
utils.weight_norm(LazyLinear(2))
utils.weight_norm(Linear(2, 2), "no")
utils.remove_weight_norm(Linear(2, 2))
utils.weight_norm(Linear(2, 2), dim=None).state_dict()
utils.remove_weight_norm(utils.weight_norm(Linear(2, 2))).state_dict()
utils.spectral_norm(utils.spectral_norm(Linear(2, 2)))
utils.spectral_norm(LazyLinear(2))
utils.spectral_norm(Linear(2, 2), "no")
utils.spectral_norm(Linear(2, 2), n_power_iterations=0)
utils.spectral_norm(Linear(2, 2, bias=False), "bias")
utils.remove_spectral_norm(Linear(2, 2))
utils.spectral_norm(Linear(2, 3)).state_dict()
utils.remove_spectral_norm(utils.spectral_norm(Linear(2, 2))).state_dict()
"""


@pytest.mark.parametrize("source", CONSTRUCTED.strip().splitlines())
def test_constructed(source):
    same(lambda lib: eval(source, {**vars(lib.nn.modules), **{name: getattr(lib.nn, name) for name in dir(lib.nn)}}))


@pytest.mark.parametrize("name", [name for name in CASES if not name.startswith("Lazy")])
def test_copies_are_the_same_module(name):
    """Pickled and deep copies print the same, hold the same state and have the same attributes."""
    module = CASES[name].make(penlight.nn)
    copies = [copy.deepcopy(module)]
    if "lambda" not in repr(module.__dict__):
        copies.append(pickle.loads(pickle.dumps(module)))
    for other in copies:
        assert repr(other) == repr(module) and other.__dict__.keys() == module.__dict__.keys()
        assert all(value.equal(module.state_dict()[key]) for key, value in other.state_dict().items())


def mine(lib):
    """Classes as people derive them: their own __init__, forward, extra_repr, and a private base."""
    nn = lib.nn

    class Leaky(nn.LeakyReLU):
        def __init__(self, slope, label):
            super().__init__(negative_slope=slope)
            self.label = label

        def forward(self, input):
            return super().forward(input) + 1

        def extra_repr(self):
            return f"{self.label}, {super().extra_repr()}"

    class Focal(nn.CrossEntropyLoss):
        def __init__(self, gamma, **kwargs):
            super().__init__(**kwargs)
            self.gamma = gamma

        def forward(self, input, target):
            return super().forward(input, target) * self.gamma

    class Weighted(nn.modules.loss._WeightedLoss):
        def __init__(self, weight, reduction="sum"):
            super().__init__(weight, reduction=reduction)

        def forward(self, input):
            return (input * self.weight).sum()

    class Standardised(nn.Conv1d):
        def forward(self, input):
            return self._conv_forward(input, self.weight - self.weight.mean(), self.bias)

    class Plain(nn.modules.conv._ConvNd):
        def __init__(self):
            super().__init__(2, 2, (1,), (1,), (0,), (1,), False, (0,), 1, True, "zeros")

        def forward(self, input):
            return lib.nn.functional.conv1d(input, self.weight, self.bias, self.stride)

    class Averaged(nn.modules.pooling._MaxPoolNd):
        def forward(self, input):
            return lib.nn.functional.avg_pool1d(input, self.kernel_size, self.stride)

    class Cold(nn.Softplus):
        def __init__(self):
            super().__init__()
            self.beta = nn.Parameter(lib.tensor(2.0))

        def forward(self, input):
            return input * self.beta

    return [Leaky(0.5, "mine"), Focal(2.0, weight=lib.ones(3)), Weighted(lib.ones(3)), Standardised(2, 2, 1), Plain(), Averaged(2), Cold()]  # fmt: skip


@pytest.mark.parametrize("index", range(7))
def test_derived_classes(index):
    def run(lib):
        module = mine(lib)[index]
        x = lib.linspace(-1, 1, 6).view(2, 3)
        arguments = (x, lib.tensor([0, 2])) if index == 1 else (x,) if index != 3 and index != 4 else (x.view(1, 2, 3),)
        names = [name for name, _ in module.named_parameters()], [name for name, _ in module.named_buffers()]
        return repr(module), names, module(*arguments), dict(module.state_dict())

    same(run)
