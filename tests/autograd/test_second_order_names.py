"""The nodes of a gradient's own graph have PyTorch's names: numbers have nodes of their own there (`MulBackward1`), and some derivatives are one node."""

from __future__ import annotations

import pytest

import penlight

# The names along the first way from the gradient by x back to x, of (f(x)).sum() for an x of shape (3, 4).
CASES = {
    "exp2": (lambda x, F: x.exp2(), "MulBackward1 MulBackward0 Exp2Backward0"),
    "expm1": (lambda x, F: x.expm1(), "MulBackward0 AddBackward1 Expm1Backward0"),
    "log1p": (lambda x, F: x.log1p(), "DivBackward0 AddBackward1"),
    "log2": (lambda x, F: x.log2(), "DivBackward0 MulBackward1"),
    "sqrt": (lambda x, F: x.sqrt(), "DivBackward0 MulBackward1 SqrtBackward0"),
    "tan": (lambda x, F: x.tan(), "MulBackward0 AddBackward1 PowBackward0 TanBackward0"),
    "atanh": (lambda x, F: x.atanh(), "DivBackward0 SubBackward0 PowBackward0"),
    "acosh": (lambda x, F: (x + 2).acosh(), "MulBackward0 RsqrtBackward0 SubBackward1 MulBackward0 AddBackward0"),
    "tanh": (lambda x, F: x.tanh(), "TanhBackwardBackward0 TanhBackward0"),
    "sigmoid": (lambda x, F: x.sigmoid(), "SigmoidBackwardBackward0 SigmoidBackward0"),
    "erf": (lambda x, F: x.erf(), "MulBackward0 MulBackward1 ExpBackward0 NegBackward0 PowBackward0"),
    "square": (lambda x, F: x.square(), "MulBackward0 MulBackward1 PowBackward0"),
    "cube": (lambda x, F: x**3, "MulBackward0 MulBackward1 PowBackward0"),
    "power of two": (lambda x, F: 2**x, "MulBackward0 MulBackward1 PowBackward2"),
    "atan2": (lambda x, F: x.atan2(x.detach()), "MulBackward0 MaskedFillBackward0 ReciprocalBackward0 AddBackward0 MulBackward0"),
    "logaddexp": (lambda x, F: x.logaddexp(x.detach()), "DivBackward0 AddBackward1 ExpBackward0 SubBackward0"),
    "add": (lambda x, F: x.detach().add(x.exp(), alpha=2), "MulBackward0 ExpBackward0"),
    "lerp": (lambda x, F: x.detach().lerp(x**2, 0.3), "MulBackward0 MulBackward1 PowBackward0"),
    "softmax": (lambda x, F: F.softmax(x, 1), "SoftmaxBackwardDataBackward0 SoftmaxBackward0"),
    "log_softmax": (lambda x, F: F.log_softmax(x, 1), "LogSoftmaxBackwardDataBackward0 LogSoftmaxBackward0"),
    "mse_loss": (lambda x, F: F.mse_loss(x, x.detach() + 1), "MseLossBackwardBackward0"),
    "embedding": (lambda x, F: F.embedding(x.detach().long(), x) ** 2,
                  "EmbeddingDenseBackwardBackward0 MulBackward0 MulBackward1 PowBackward0 EmbeddingBackward0"),
    "sum": (lambda x, F: x.sum(1) ** 2, "ExpandBackward0 UnsqueezeBackward0 MulBackward0 MulBackward1 PowBackward0 SumBackward1"),
    "rsqrt": (lambda x, F: x.rsqrt(), "MulBackward0 PowBackward0 RsqrtBackward0"),
    "asin": (lambda x, F: x.asin(), "MulBackward0 RsqrtBackward0 AddBackward1 MulBackward0 NegBackward0"),
    "maximum": (lambda x, F: x.maximum(x.detach().flip(0)) ** 2,
        "MaskedFillBackward0 WhereBackward0 DivBackward1 MulBackward0 MulBackward1 PowBackward0 MaximumBackward0"),
    "deg2rad": (lambda x, F: x.deg2rad() ** 2, "MulBackward1 MulBackward0 MulBackward1 PowBackward0 Deg2RadBackward0"),
    "cumprod": (lambda x, F: x.cumprod(1), "DivBackward0 FlipBackward0 CumsumBackward0 FlipBackward0 MulBackward0 CumprodBackward0"),
    "logsumexp": (lambda x, F: x.logsumexp(1), "MulBackward0 ExpBackward0 SubBackward0"),
    "prod": (lambda x, F: x.prod(1), "MulBackward0 DivBackward0 UnsqueezeBackward0 ProdBackward1"),
    "var": (lambda x, F: x.var(), "MulBackward0 SubBackward0"),
    "gather": (lambda x, F: x.gather(1, x.detach().long()) ** 2, "ScatterAddBackward0 MulBackward0 MulBackward1 PowBackward0 GatherBackward0"),
    "index_select": (lambda x, F: x.index_select(1, x.detach().long()[0]) ** 2,
        "IndexAddBackward0 MulBackward0 MulBackward1 PowBackward0 IndexSelectBackward0"),
    "addmv": (lambda x, F: x[:, 0].detach().addmv(x, x[0].detach(), alpha=2) ** 2,
        "MulBackward1 MulBackward0 ViewBackward0 MulBackward0 MulBackward1 PowBackward0 AddmvBackward0"),
    "mm": (lambda x, F: (x.detach() @ x.t()) ** 2,
        "TBackward0 TBackward0 MmBackward0 TBackward0 MulBackward0 MulBackward1 PowBackward0 MmBackward0 TBackward0"),
    "linear": (lambda x, F: F.linear(x.detach(), x) ** 2,
        "TBackward0 TBackward0 MmBackward0 TBackward0 MulBackward0 MulBackward1 PowBackward0 MmBackward0 TBackward0"),
    "inverse": (lambda x, F: (x[:, :3] + 1).cos().inverse(),
        "SliceBackwardBackward0 MulBackward0 NegBackward0 MmBackward0 TransposeBackward0 LinalgInvExBackward0 CosBackward0 AddBackward0 SliceBackward0"),
    "elu": (lambda x, F: F.elu(-x), "NegBackward0 EluBackwardBackward0 NegBackward0"),
    "softplus": (lambda x, F: F.softplus(x), "SoftplusBackwardBackward0"),
    "logsigmoid": (lambda x, F: F.logsigmoid(x), "LogSigmoidBackwardBackward0"),
    "hardshrink": (lambda x, F: F.hardshrink(x) ** 2, "HardshrinkBackwardBackward0 MulBackward0 MulBackward1 PowBackward0 HardshrinkBackward0"),
    "softshrink": (lambda x, F: F.softshrink(x) ** 2, "SoftshrinkBackwardBackward0 MulBackward0 MulBackward1 PowBackward0 SoftshrinkBackward0"),
    "glu": (lambda x, F: F.glu(x), "GluBackwardBackward0"),
    "prelu": (lambda x, F: F.prelu(x, x.detach()[0, :1]) ** 2,
        "PreluKernelBackwardBackward0 MulBackward0 MulBackward1 PowBackward0 PreluKernelBackward0"),
    "smooth_l1_loss": (lambda x, F: F.smooth_l1_loss(x, x.detach() + 1), "SmoothL1LossBackwardBackward0"),
    "huber_loss": (lambda x, F: F.huber_loss(x, x.detach() + 1), "HuberLossBackwardBackward0"),
    "binary_cross_entropy": (lambda x, F: F.binary_cross_entropy(x, x.detach()), "BinaryCrossEntropyBackwardBackward0"),
    "soft_margin_loss": (lambda x, F: F.soft_margin_loss(x, x.detach().sign()), "SoftMarginLossBackwardBackward0"),
    "nll_loss": (lambda x, F: F.nll_loss(x, x.detach().long()[:, 0]) ** 2,
        "NllLossBackwardBackward0 MulBackward0 MulBackward1 PowBackward0 NllLossBackward0"),
    "cross_entropy": (lambda x, F: F.cross_entropy(x, x.detach().long()[:, 0]),
        "LogSoftmaxBackwardDataBackward0 NllLossBackwardBackward0 LogSoftmaxBackward0"),
    "max_pool1d": (lambda x, F: F.max_pool1d(x, 2) ** 2,
        "SqueezeBackward1 MaxPool2DWithIndicesBackwardBackward0 UnsqueezeBackward0 MulBackward0 MulBackward1 PowBackward0 SqueezeBackward1 MaxPool2DWithIndicesBackward0 UnsqueezeBackward0"),
    "avg_pool1d": (lambda x, F: F.avg_pool1d(x, 2) ** 2,
        "SqueezeBackward1 AvgPool2DBackwardBackward0 UnsqueezeBackward0 MulBackward0 MulBackward1 PowBackward0 SqueezeBackward1 AvgPool2DBackward0 UnsqueezeBackward0"),
    "interpolate": (lambda x, F: F.interpolate(x[None], scale_factor=2) ** 2,
        "SqueezeBackward1 UpsampleNearest1DBackwardBackward0 MulBackward0 MulBackward1 PowBackward0 UpsampleNearest1DBackward0 UnsqueezeBackward0"),
    "pad": (lambda x, F: F.pad(x, (1, 1), mode="reflect") ** 2,
        "ReflectionPad1DBackwardBackward0 MulBackward0 MulBackward1 PowBackward0 ReflectionPad1DBackward0"),
    "conv1d": (lambda x, F: F.conv1d(x, x.detach()[None, :, :2]) ** 2,
        "SqueezeBackward1 ConvolutionBackwardBackward0 UnsqueezeBackward0 MulBackward0 MulBackward1 PowBackward0 SqueezeBackward1 ConvolutionBackward0 UnsqueezeBackward0"),
    "layer_norm": (lambda x, F: F.layer_norm(x, (4,)) ** 2,
        "NativeLayerNormBackwardBackward0 MulBackward0 MulBackward1 PowBackward0 NativeLayerNormBackward0"),
    "batch_norm": (lambda x, F: F.batch_norm(x, None, None, training=True) ** 2,
        "NativeBatchNormBackwardBackward0 MulBackward0 MulBackward1 PowBackward0 NativeBatchNormBackward0"),
}  # fmt: skip


def names(torch, function) -> str:
    x = (torch.arange(1, 13, dtype=torch.float64).reshape(3, 4) / 20).requires_grad_()
    (grad,) = torch.autograd.grad(function(x, torch.nn.functional).sum(), x, create_graph=True)
    found, node = [], grad.grad_fn
    while node.name().rpartition("::")[2] != "AccumulateGrad" and type(node).__name__ != "AccumulateGrad":
        found.append(type(node).__name__)
        node = next(child for child, _ in node.next_functions if child is not None)
    return " ".join(found)


@pytest.mark.parametrize("case", CASES)
def test_names(case):
    function, expected = CASES[case]
    assert names(penlight, function) == expected


@pytest.mark.parity
@pytest.mark.parametrize("case", CASES)
def test_names_are_pytorchs(case):
    torch = pytest.importorskip("torch")
    function, expected = CASES[case]
    assert names(torch, function) == expected


@pytest.mark.parametrize("name", ["tanh", "sigmoid", "softmax", "log_softmax", "mse_loss", "std"])
def test_higher_derivatives(name):
    functions = {
        "softmax": lambda x: x.softmax(1),
        "log_softmax": lambda x: x.log_softmax(1),
        "mse_loss": lambda x: penlight.nn.functional.mse_loss(x, x[:, :1].expand(2, 3) ** 2),
        "std": lambda x: x.std(1),
    }
    function = functions.get(name, lambda x: getattr(x, name)())
    x = penlight.tensor([[0.1, -0.7, 0.4], [1.2, 0.3, -0.2]], dtype=penlight.float64, requires_grad=True)

    def gradient(x):
        return penlight.autograd.grad((function(x) * 3).cos().sum(), x, create_graph=True)[0]

    assert penlight.autograd.gradgradcheck(function, (x,), check_fwd_over_rev=True)
    assert penlight.autograd.gradgradcheck(gradient, (x,))
