"""torch.amp on the CPU: what is cast, when it stops, and the scaling of losses. Expected values are PyTorch's."""

from __future__ import annotations

import pickle
import threading

import pytest

import penlight as torch
from penlight.amp import _casting
from penlight.ops.linalg import addmm

F = torch.nn.functional


def test_products_and_convolutions_are_cast():
    x, w = torch.rand(4, 4), torch.rand(4, 4, requires_grad=True)
    image, kernel = torch.rand(1, 2, 5, 5), torch.rand(3, 2, 2, 2)
    with torch.autocast("cpu"):
        results = [
            x @ w,
            torch.mm(x, x),
            x.matmul(x),
            F.linear(x, w),
            F.linear(x[None], w, x[0]),
            torch.nn.Linear(4, 2)(x),
        ]
        results += [
            torch.einsum("ij,jk->ik", x, w),
            torch.addmm(x, x, x),
            F.conv2d(image, kernel),
            torch.nn.Conv2d(2, 1, 3)(image),
        ]
        results += [F.conv_transpose2d(image, torch.rand(2, 1, 2, 2)), torch.bmm(x[None], x[None])]
        results += [F.scaled_dot_product_attention(image, image, image)]
        assert {r.dtype for r in results} == {torch.bfloat16}
        assert (x + w).dtype is torch.float32 and x.exp().dtype is torch.float32
        assert (x.double() @ w.double()).dtype is torch.float64
        assert torch.mm(x, x, out=torch.empty(4, 4)).dtype is torch.float32
    assert (x @ w).dtype is torch.float32 and F.linear(x, w).dtype is torch.float32


def test_losses_run_in_float32_and_joins_in_the_widest():
    scores, target = torch.rand(3, 4).bfloat16(), torch.tensor([0, 1, 2])
    with torch.autocast("cpu"):
        assert F.cross_entropy(scores, target).dtype is torch.float32
        assert F.mse_loss(scores, scores).dtype is torch.float32
        assert torch.prod(scores).dtype is torch.float32
        assert torch.cat([scores, scores.float()]).dtype is torch.float32
        assert torch.stack([scores, scores]).dtype is torch.bfloat16
        assert F.pad(scores[None], (1, 1), mode="reflect").dtype is torch.float32
        assert F.pad(scores, (1, 1)).dtype is torch.bfloat16
    assert F.mse_loss(scores, scores).dtype is torch.bfloat16


def test_nesting_and_settings():
    x = torch.rand(2, 2)
    assert not torch.is_autocast_enabled("cpu") and torch.get_autocast_dtype("cpu") is torch.bfloat16
    with torch.autocast("cpu", dtype=torch.float16):
        assert torch.is_autocast_enabled("cpu") and not torch.is_autocast_enabled()
        assert (x @ x).dtype is torch.float16
        with torch.autocast("cpu", enabled=False):
            assert (x @ x).dtype is torch.float32
            with torch.autocast("cpu", dtype=torch.bfloat16):
                assert (x @ x).dtype is torch.bfloat16
        assert (x @ x).dtype is torch.float16

    @torch.autocast("cpu")
    def product(a, b):
        """Doc."""
        return a @ b

    assert product(x, x).dtype is torch.bfloat16 and product.__doc__ == "Doc."
    with pytest.raises(ZeroDivisionError), torch.autocast("cpu"):
        1 / 0  # noqa: B018
    assert (x @ x).dtype is torch.float32 and not torch.is_autocast_enabled("cpu")
    torch.set_autocast_enabled("cpu", True)
    try:
        assert (x @ x).dtype is torch.bfloat16
    finally:
        torch.set_autocast_enabled("cpu", False)
    assert (x @ x).dtype is torch.float32


def test_every_listed_function_is_found():
    tables = (_casting.SHORT, _casting.FLOAT32, _casting.WIDEST, _casting.PADDING)
    listed = {f"{where}.{name}" for table in tables for where, names in table.items() for name in names.split()}
    assert listed == {where for where, _ in _casting.targets().values()}


def test_functions_are_given_back():
    before = {f: f.__code__ for f in _casting.targets()}
    with torch.autocast("cpu"):
        assert addmm.linear.__code__ is not before[addmm.linear]
        torch.rand(2, 2) @ torch.rand(2, 2)
    changed = [f for f, code in before.items() if f.__code__ is not code and "autocast" in f.__code__.co_filename]
    assert changed == [] and addmm.linear.__code__ is before[addmm.linear]


def test_methods_and_functions_are_cast_alike():
    x = torch.ones(2, 2)
    with torch.autocast("cpu"):
        assert torch.mm(x, x).dtype is x.mm(x).dtype is torch.matmul(x, x).dtype is (x @ x).dtype is torch.bfloat16
        assert torch.prod(x.bfloat16()).dtype is x.bfloat16().prod().dtype is torch.float32


def test_another_thread_is_not_cast():
    seen = []
    x = torch.rand(2, 2)
    with torch.autocast("cpu"):
        thread = threading.Thread(target=lambda: seen.append((x @ x).dtype))
        thread.start()
        thread.join()
    assert seen == [torch.float32]


def test_weights_are_cast_once_in_a_region():
    x, w = torch.rand(2, 3), torch.rand(3, 3, requires_grad=True)
    with torch.autocast("cpu"):
        first, second = x @ w, x @ w
        assert first.grad_fn.next_functions[1][0] is second.grad_fn.next_functions[1][0]
        with torch.no_grad():
            x @ w
        (first.sum() + second.sum()).backward()
    assert w.grad.dtype is torch.float32 and not _casting.cached
    with torch.autocast("cpu", cache_enabled=False):
        first, second = x @ w, x @ w
        assert first.grad_fn.next_functions[1][0] is not second.grad_fn.next_functions[1][0]
    with torch.autocast("cpu"):
        with torch.no_grad():
            x @ w
        assert (x @ w).requires_grad  # a cast without history is not used again


def test_disabled_regions_warn():
    with pytest.warns(UserWarning, match="CUDA is not available or torch_xla is imported. Disabling autocast."):
        region = torch.autocast("cuda")
    with region:
        assert (torch.ones(1, 1) @ torch.ones(1, 1)).dtype is torch.float32
    with pytest.warns(UserWarning, match="target dtype is not supported. Disabling autocast."):
        torch.autocast("cpu", dtype=torch.float64)
    with pytest.raises(ValueError, match="Expected `device_type` of type `str`"):
        torch.autocast(torch.device("cpu"))
    with pytest.raises(TypeError, match="requires a callable"):
        torch.autocast("cpu")(3)


def test_custom_functions():
    class Product(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a @ b

        @staticmethod
        @torch.amp.custom_bwd(device_type="cpu")
        def backward(ctx, grad):
            a, b = ctx.saved_tensors
            return grad @ b.t(), a.t() @ grad

    a = torch.rand(2, 2).bfloat16().requires_grad_()
    with torch.autocast("cpu"):
        out = Product.apply(a, a)
    assert out.dtype is torch.float32
    out.sum().backward()
    assert a.grad.dtype is torch.bfloat16


def test_grad_scaler():
    weight = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.5)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2)
    with pytest.raises(AssertionError, match="Attempted step but _scale is None"):
        scaler.step(optimizer)
    scaler.scale(weight.sum()).backward()
    assert weight.grad.tolist() == [8.0, 8.0]
    scaler.unscale_(optimizer)
    assert weight.grad.tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="already been called on this optimizer"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match=r"step\(\) has already been called"):
        scaler.step(optimizer)
    scaler.update()
    assert weight.tolist() == [0.5, 0.5] and scaler.get_scale() == 8.0

    optimizer.zero_grad()
    scaler.scale((weight * torch.tensor([1.0, float("inf")])).sum()).backward()
    scaler.step(optimizer)  # skipped
    scaler.update()
    assert weight.tolist() == [0.5, 0.5] and scaler.get_scale() == 4.0
    for _ in range(2):
        optimizer.zero_grad()
        losses = scaler.scale([weight.sum(), weight.sum()])
        (losses[0] + losses[1]).backward()
        scaler.step(optimizer)
        scaler.update()
    assert scaler.get_scale() == 8.0 and weight.tolist() == [-1.5, -1.5]
    state = scaler.state_dict()
    assert state == {
        "scale": 8.0,
        "growth_factor": 2.0,
        "backoff_factor": 0.5,
        "growth_interval": 2,
        "_growth_tracker": 0,
    }
    other = torch.amp.GradScaler("cpu")
    other.load_state_dict(state)
    assert pickle.loads(pickle.dumps(other)).get_scale() == 8.0


def test_grad_scaler_without_gpu_does_nothing():
    with pytest.warns(UserWarning, match="GradScaler is enabled, but CUDA is not available"):
        scaler = torch.amp.GradScaler()
    weight = torch.ones(1, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=1.0)
    scaler.scale(weight.sum()).backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    assert weight.item() == 0.0 and scaler.get_scale() == 1.0 and scaler.state_dict() == {} and not scaler.is_enabled()


def test_the_function_behind_unscaling() -> None:
    grads, found = [torch.tensor([2.0, 4.0]), torch.tensor([float("inf")])], torch.zeros(1)
    torch._amp_foreach_non_finite_check_and_unscale_(grads, found, torch.tensor([0.5]))
    assert grads[0].tolist() == [1.0, 2.0] and found.tolist() == [1.0]
    with pytest.raises(RuntimeError, match=r"inv_scale must be a 1-element tensor\."):
        torch._amp_foreach_non_finite_check_and_unscale_(grads, found, torch.ones(2))
    with pytest.raises(RuntimeError, match=r"found_inf must be a float tensor\."):
        torch._amp_foreach_non_finite_check_and_unscale_(grads, torch.zeros(1, dtype=torch.int32), torch.ones(1))
    whole = [torch.ones(2, dtype=torch.int64)]
    with pytest.raises(NotImplementedError, match="not implemented for 'Long'"):
        torch._amp_foreach_non_finite_check_and_unscale_(whole, found, torch.ones(1))
