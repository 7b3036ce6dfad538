"""Autocast beside PyTorch's: dtypes of many functions, and the numbers of a small network."""

from __future__ import annotations

import numpy as np
import pytest

import penlight

pytestmark = pytest.mark.parity
torch = pytest.importorskip("torch")

# Functions of one or two tensors; each is called with float32, with bfloat16, and (two tensors) with one of each.
ONE = """
lambda t, a: t.nn.functional.softmax(a, -1)
lambda t, a: t.nn.functional.layer_norm(a, (4,))
lambda t, a: t.nn.functional.gelu(a)
lambda t, a: t.prod(a)
lambda t, a: t.trace(a)
lambda t, a: a.sum()
lambda t, a: t.exp(a)
lambda t, a: t.linalg.inv(a + 4 * t.eye(4, dtype=a.dtype))
lambda t, a: t.linalg.qr(a)[0]
lambda t, a: t.fft.fft(a)
lambda t, a: t.quantile(a, 0.5)
lambda t, a: t.nn.functional.cross_entropy(a, t.tensor([0, 1, 2, 3]))
lambda t, a: t.nn.functional.nll_loss(a, t.tensor([0, 1, 2, 3]))
lambda t, a: t.nn.functional.pad(a[None], (1, 1), mode="replicate")
lambda t, a: t.nn.functional.pad(a[None], (1, 1))
lambda t, a: t.nn.functional.adaptive_avg_pool3d(a[None, None, None], 1)
lambda t, a: t.nn.functional.avg_pool2d(a[None, None], 2)
lambda t, a: t.nn.functional.interpolate(a[None, None], scale_factor=2)
lambda t, a: t.nn.functional.dropout(a, 0.5, training=False)
""".strip().splitlines()
TWO = """
lambda t, a, b: a @ b
lambda t, a, b: t.mm(a, b)
lambda t, a, b: t.nn.functional.linear(a, b)
lambda t, a, b: t.nn.functional.linear(a, b, b[0])
lambda t, a, b: t.einsum("ij,kj->ik", a, b)
lambda t, a, b: t.baddbmm(a[None], a[None], b[None])
lambda t, a, b: t.linalg.vecdot(a, b)
lambda t, a, b: t.cdist(a, b)
lambda t, a, b: t.nn.functional.conv1d(a[None], b[:, :, None])
lambda t, a, b: t.nn.functional.conv_transpose1d(a[None], b[:, :, None])
lambda t, a, b: t.nn.functional.scaled_dot_product_attention(a[None, None], b[None, None], b[None, None])
lambda t, a, b: t.nn.functional.prelu(a, b[0, :1])
lambda t, a, b: t.nn.functional.mse_loss(a, b)
lambda t, a, b: t.nn.functional.smooth_l1_loss(a, b)
lambda t, a, b: t.nn.functional.binary_cross_entropy_with_logits(a, b)
lambda t, a, b: t.nn.functional.kl_div(a, b, reduction="batchmean")
lambda t, a, b: t.nn.functional.cosine_similarity(a, b)
lambda t, a, b: t.cat([a, b])
lambda t, a, b: t.stack([a, b])
lambda t, a, b: a + b
lambda t, a, b: t.where(a > 0.5, a, b)
""".strip().splitlines()


def dtype_of(module, source, values, kinds):
    function = eval(source)
    arguments = [module.tensor(v).to(getattr(module, kind)) for v, kind in zip(values, kinds)]
    with module.autocast("cpu"):
        return str(function(module, *arguments).dtype)


@pytest.mark.parametrize("source", ONE + TWO)
def test_dtypes(source):
    rng = np.random.default_rng(0)
    count = 1 if source in ONE else 2
    values = [rng.random((4, 4), dtype=np.float32) for _ in range(count)]
    for kinds in (
        [("float32",), ("bfloat16",)] if count == 1 else [("float32",) * 2, ("bfloat16",) * 2, ("float32", "bfloat16")]
    ):
        assert dtype_of(penlight, source, values, kinds) == dtype_of(torch, source, values, kinds), kinds


@pytest.mark.parametrize("short", ["bfloat16", "float16"])
def test_a_network(short):
    def run(module):
        module.manual_seed(0)
        net = module.nn.Sequential(
            module.nn.Conv2d(1, 4, 3), module.nn.ReLU(), module.nn.Flatten(), module.nn.Linear(64, 8), module.nn.Tanh(),
            module.nn.Linear(8, 3),
        )  # fmt: skip
        x = module.randn(5, 1, 6, 6)
        with module.autocast("cpu", dtype=getattr(module, short)):
            out = net(x)
            loss = module.nn.functional.cross_entropy(out, module.tensor([0, 1, 2, 0, 1]))
        loss.backward()
        return out, loss, [p.grad for p in net.parameters()]

    ours, theirs = run(penlight), run(torch)
    assert str(ours[0].dtype) == str(theirs[0].dtype) and str(ours[1].dtype) == str(theirs[1].dtype)
    step = 2.0**-7 if short == "bfloat16" else 2.0**-10
    np.testing.assert_allclose(ours[1].item(), theirs[1].item(), rtol=2 * step)
    for a, b in zip(ours[2], theirs[2]):
        assert str(a.dtype) == str(b.dtype)
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=0.05, atol=4 * step * float(b.abs().max()))


def test_grad_scaler_trains_alike():
    def run(module):
        module.manual_seed(1)
        net = module.nn.Linear(3, 1)
        optimizer = module.optim.Adam(net.parameters(), lr=0.1)
        scaler = module.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=3)
        history = []
        for step in range(8):
            optimizer.zero_grad()
            x = module.randn(4, 3)
            if step == 5:
                x[0, 0] = float("inf")
            scaler.scale(net(x).pow(2).mean()).backward()
            scaler.step(optimizer)
            scaler.update()
            history.append((scaler.get_scale(), scaler._get_growth_tracker()))
        return history, [p.detach().numpy() for p in net.parameters()]

    (ours, a), (theirs, b) = run(penlight), run(torch)
    assert ours == theirs
    for p, q in zip(a, b):
        np.testing.assert_allclose(p, q, rtol=1e-5)
