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
