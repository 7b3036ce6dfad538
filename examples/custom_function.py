"""Functions of one's own: how to write one, check it, differentiate it twice, and use it where there is no derivative.

python examples/custom_function.py
"""

import argparse

import numpy as np

import penlight as torch
from penlight.autograd import Function, gradcheck, gradgradcheck
from penlight.autograd.gradcheck import GradcheckError


class Convolve(Function):
    """A circular convolution computed by NumPy's Fourier transform, which autograd can't look into. Its gradients are correlations."""

    @staticmethod
    def forward(ctx, signal, kernel):
        ctx.save_for_backward(signal, kernel)
        product = np.fft.fft(signal.detach().numpy()) * np.fft.fft(kernel.detach().numpy())
        return torch.from_numpy(np.fft.ifft(product).real)

    @staticmethod
    def backward(ctx, grad):
        signal, kernel = ctx.saved_tensors
        # Written with differentiable functions, so that there is a second derivative too.
        mirror = lambda x: torch.roll(x.flip(0), 1)
        return Convolve.apply(grad, mirror(kernel)), Convolve.apply(grad, mirror(signal))


class Wrong(Function):
    """A square whose derivative was written down wrongly."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.saved_tensors[0]


class Sign(Function):
    """-1 or 1, with the gradient of the identity near 0: how networks of bits are trained."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x >= 0, 1.0, -1.0)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * (x.abs() <= 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=300)
    args = parser.parse_args()
    torch.manual_seed(0)
    signal, kernel = (torch.randn(8, dtype=torch.float64, requires_grad=True) for _ in range(2))
    result = Convolve.apply(signal, kernel)
    print(f"its node in the graph: {result.grad_fn}")
    print(f"first derivatives as by finite differences: {gradcheck(Convolve.apply, (signal, kernel))}")
    print(f"second derivatives too: {gradgradcheck(Convolve.apply, (signal, kernel))}")
    try:
        gradcheck(Wrong.apply, signal)
    except GradcheckError as error:
        print(f"a wrong one is found out: {str(error).splitlines()[0].rstrip(',')}")

    print("\nParity of 4 bits, by a network whose hidden units are signs:")
    bits = torch.tensor([[(i >> b & 1) * 2.0 - 1 for b in range(4)] for i in range(16)])
    parity = bits.prod(1, keepdim=True)
    w1, w2 = torch.randn(24, 4, requires_grad=True), (torch.randn(1, 24) * 0.1).requires_grad_()
    b1 = torch.randn(24, requires_grad=True)
    optimizer = torch.optim.Adam([w1, b1, w2], lr=0.03)
    for step in range(args.steps):
        out = Sign.apply(bits @ w1.t() + b1) @ w2.t()
        loss = (1 - out * parity).clamp(min=0).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % max(1, args.steps // 6) == 0 or step == args.steps - 1:
            print(f"step {step:3}  loss {loss.item():.4f}  right {int((out * parity > 0).sum())} of 16")


if __name__ == "__main__":
    main()
