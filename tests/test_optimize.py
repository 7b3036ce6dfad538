"""`penlight.optimize.minimize`: SciPy's optimisers on tensors and models."""

from __future__ import annotations

import sys

import pytest

import penlight as torch
from penlight import nn, optimize

F64 = torch.float64


def rosenbrock(x: torch.Tensor) -> torch.Tensor:
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def test_without_scipy_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    with pytest.raises(ImportError, match=r"pip install 'penlight\[scipy\]'"):
        optimize.minimize(rosenbrock, torch.zeros(2))


@pytest.mark.parametrize(
    "method",
    ["L-BFGS-B", "BFGS", "CG", "Newton-CG", "trust-ncg", "trust-krylov", "trust-constr", "trust-exact", "SLSQP"],
)
def test_methods_with_gradients_and_hessians(method: str) -> None:
    pytest.importorskip("scipy")
    start = torch.tensor([-1.2, 1.0, 0.5], dtype=F64)
    found = optimize.minimize(rosenbrock, start, method, maxiter=2000)
    assert torch.allclose(found.x, torch.ones(3, dtype=F64), atol=1e-3) and found.x.dtype is F64
    assert start.tolist() == [-1.2, 1.0, 0.5] and not start.requires_grad and isinstance(found.fun, float)


def test_a_method_without_gradients_and_several_tensors() -> None:
    pytest.importorskip("scipy")
    a, b = torch.zeros(2), torch.zeros((), dtype=F64)
    found = optimize.minimize(lambda a, b: ((a - 1) ** 2).sum() + (b - a.sum()) ** 2, [a, b], "Nelder-Mead")
    assert [t.dtype for t in found.x] == [torch.float32, F64] and abs(found.x[1].item() - 2) < 1e-2
    with torch.no_grad():
        found = optimize.minimize(lambda a, b: ((a - 1) ** 2).sum() + (b - 3) ** 2, (a, b))
    assert abs(found.x[1].item() - 3) < 1e-4


def test_bounds() -> None:
    pytest.importorskip("scipy")
    square = lambda x: ((x - 5) ** 2).sum()
    found = optimize.minimize(square, torch.zeros(2, dtype=F64), bounds=(None, torch.tensor([1.0, 9.0])))
    assert torch.allclose(found.x, torch.tensor([1.0, 5.0], dtype=F64))
    pairs = [(-2.0, 0.5), (-2.0, 2.0)]  # of SciPy, which for two elements look like low and high
    for unfit in (pairs, tuple(pairs), [*pairs, (0.0, 1.0)], (), 3.0):
        with pytest.raises(
            TypeError, match=r"bounds are \(low, high\), .*tuple\(map\(torch.tensor, zip\(\*pairs\)\)\)"
        ):
            optimize.minimize(square, torch.zeros(2), bounds=unfit)
    found = optimize.minimize(square, torch.zeros(2), bounds=tuple(map(torch.tensor, zip(*pairs))))
    assert torch.allclose(found.x, torch.tensor([0.5, 2.0]))


def test_a_model_is_changed_in_place_and_keeps_its_best_when_it_is_interrupted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("scipy")
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1)).double()
    model[2].bias.requires_grad_(False)
    x = torch.linspace(-2, 2, 30, dtype=F64).unsqueeze(1)
    loss = lambda: ((model(x) - x.sin()) ** 2).mean()
    before, kept = loss().item(), model[2].bias.clone()
    seen: list[list[torch.Tensor]] = []
    found = optimize.minimize(loss, model, callback=seen.append, progress=True, maxiter=50)
    assert loss().item() == pytest.approx(found.fun) and found.fun < before / 100
    assert torch.equal(model[2].bias, kept) and len(found.x) == 3 and len(seen) == found.nit
    assert f"step {found.nit}  value" in capsys.readouterr().err

    calls = 0

    def interrupted() -> torch.Tensor:
        nonlocal calls
        calls += 1
        if calls == 8:
            raise KeyboardInterrupt
        return loss()

    nn.init.zeros_(model[0].weight)
    start = loss().item()
    with pytest.raises(KeyboardInterrupt):
        optimize.minimize(interrupted, model)
    assert loss().item() < start and all(p.isfinite().all() for p in model.parameters())


def test_a_callback_ends_the_search_and_mistakes_are_refused() -> None:
    pytest.importorskip("scipy")
    found = optimize.minimize(rosenbrock, torch.zeros(4, dtype=F64), "trust-constr", callback=lambda x: True)
    assert found.nit <= 2
    with pytest.raises(TypeError, match="must return a tensor with one element"):
        optimize.minimize(lambda x: x, torch.zeros(2))
    with pytest.raises(TypeError, match="takes no constraints"):
        optimize.minimize(rosenbrock, torch.zeros(2), "SLSQP", constraints=[])
    with pytest.raises(TypeError, match="takes a tensor of floats, a sequence of them or a module, not Tensor"):
        optimize.minimize(rosenbrock, torch.zeros(2, dtype=torch.int64))
