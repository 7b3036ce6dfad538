"""Every optimiser against numbers that PyTorch 2.13 computed, and what it refuses."""

import numpy as np
import pytest

import penlight as torch

PINNED = [
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}, [-1.0441205288571123, -0.2689365211863378, -1.8135741485990062, -0.23329772366412074]),
    ("SGD", {"lr": 0.1, "momentum": 0.5, "dampening": 0.5, "maximize": True}, [3.5660679999999996, -10.352834000000001, 8.987492000000001, 4.079786]),
    ("Adam", {"lr": 0.1, "weight_decay": 0.1, "amsgrad": True}, [0.4078143769137761, -1.406118469844683, 2.4025648991105797, -0.07615101115895663]),
    ("AdamW", {"lr": 0.1}, [0.40323579381558117, -1.3958276191739052, 2.386171141993837, -0.0778673358395941]),
    ("Adamax", {"lr": 0.1}, [0.45186070677466017, -1.4444599993925467, 2.421815206650218, 0.0016476699589342558]),
    ("NAdam", {"lr": 0.1}, [0.545112580271462, -1.540982950609979, 2.5292454103487643, 0.07711124027779802]),
    ("RAdam", {"lr": 0.1, "betas": (0.9, 0.9)}, [-0.2202253353081767, 0.2032460398773597, 0.18307059074545842, -0.4500930031790772]),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1, "initial_accumulator_value": 0.5}, [0.7065290120580094, -1.7011050931359057, 2.695821477239374, 0.22013700412287576]),
    ("Adadelta", {"lr": 10.0}, [0.8084002265980558, -1.80740924642591, 2.804460093647072, 0.3154380979679817]),
    ("RMSprop", {"lr": 0.01, "centered": True, "momentum": 0.9}, [-0.12843813228838757, -0.853883132583941, 1.8053982069430254, -0.4851954855870281]),
    ("Rprop", {"lr": 0.1}, [0.007008000000000125, -1.007008, 2.007008, -0.4929919999999999]),
    ("ASGD", {"lr": 0.1, "lambd": 0.1, "t0": 2}, [-0.10683303263604746, -0.3237505249956918, 0.3935867295989852, -0.21007790260599168]),
    ("Adafactor", {"lr": 0.1, "d": 2.0}, [0.512662435979233, -0.9583468127397767, 1.9251797856783068, 0.07412922038770817]),
]  # fmt: skip

STATE = {
    "SGD": [],
    "Adam": ["step", "exp_avg", "exp_avg_sq"],
    "AdamW": ["step", "exp_avg", "exp_avg_sq"],
    "Adamax": ["step", "exp_avg", "exp_inf"],
    "NAdam": ["step", "mu_product", "exp_avg", "exp_avg_sq"],
    "RAdam": ["step", "exp_avg", "exp_avg_sq"],
    "Adagrad": ["step", "sum"],
    "Adadelta": ["step", "square_avg", "acc_delta"],
    "RMSprop": ["step", "square_avg"],
    "Rprop": ["step", "prev", "step_size"],
    "ASGD": ["step", "eta", "mu", "ax"],
    "Adafactor": ["step", "row_var", "col_var"],
    "Muon": ["momentum_buffer"],
}


def weight(dtype=None):
    return torch.tensor([[1.0, -2.0], [3.0, 0.5]], dtype=dtype or torch.float64, requires_grad=True)


def train(w, opt, steps=6):
    scale = torch.tensor([1.0, 2.0], dtype=w.dtype)
    for _ in range(steps):
        opt.zero_grad()
        ((w * w * scale).sum() + w.sum()).backward()
        opt.step()


@pytest.mark.parametrize(("name", "options", "expected"), PINNED)
def test_six_steps(name, options, expected):
    w = weight()
    train(w, getattr(torch.optim, name)([w], **options))
    np.testing.assert_allclose(w.detach().numpy().ravel(), expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(("name", "options", "expected"), PINNED)
@pytest.mark.parametrize("flag", ["foreach", "fused"])
def test_flags_do_not_change_the_result(name, options, expected, flag):
    if flag == "fused" and name not in ("SGD", "Adam", "AdamW", "Adagrad"):
        with pytest.raises(TypeError, match="unexpected keyword argument 'fused'"):
            getattr(torch.optim, name)([weight()], fused=True)
        return
    w = weight()
    train(w, getattr(torch.optim, name)([w], **options, **{flag: True}))
    np.testing.assert_allclose(w.detach().numpy().ravel(), expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(("name", "options", "expected"), [case for case in PINNED if case[0] != "Adafactor"])
def test_a_differentiable_step_has_the_same_result(name, options, expected):
    w = weight().clone()  # a leaf that requires grad may not be written to
    w.retain_grad()
    opt = getattr(torch.optim, name)([w], **options, differentiable=True)
    scale = torch.tensor([1.0, 2.0], dtype=w.dtype)
    for _ in range(6):
        w.grad = (2 * w * scale + 1).detach()
        opt.step()
    assert w.grad_fn is not None
    # The bias corrections are float32 here, as in PyTorch.
    np.testing.assert_allclose(w.detach().numpy().ravel(), expected, atol=1e-5 if "Adam" in name else 1e-12)


def test_muon_orthogonalises_and_is_reproducible():
    w = weight(torch.float32)
    train(w, torch.optim.Muon([w], lr=0.1), steps=3)
    # bfloat16 iterations: three digits
    np.testing.assert_allclose(w.detach().numpy().ravel(), [0.8417, -1.6351, 2.6127, 0.3542], rtol=0, atol=6e-3)


@pytest.mark.parametrize("name", STATE)
def test_state_layout(name):
    w = weight(torch.float32)
    opt = getattr(torch.optim, name)([w])
    train(w, opt, steps=2)
    state = opt.state_dict()["state"]
    assert list(state.get(0, {})) == STATE[name]
    for key, value in state.get(0, {}).items():
        assert value.dtype == torch.float32
        if key in ("step", "eta", "mu", "mu_product"):
            assert value.shape == ()
        elif key not in ("row_var", "col_var"):
            assert value.shape == w.shape
    if "step" in STATE[name]:
        assert state[0]["step"].item() == 2.0


def test_step_is_float64_when_that_is_the_default():
    torch.set_default_dtype(torch.float64)
    try:
        w = weight()
        opt = torch.optim.Adam([w])
        train(w, opt, steps=1)
        assert opt.state[w]["step"].dtype == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


BAD = [
    ("SGD", {"lr": -1.0}, "Invalid learning rate: -1.0"),
    ("SGD", {"momentum": -0.5}, "Invalid momentum value: -0.5"),
    ("SGD", {"weight_decay": -0.5}, "Invalid weight_decay value: -0.5"),
    ("SGD", {"nesterov": True}, "Nesterov momentum requires a momentum and zero dampening"),
    ("Adam", {"betas": (1.0, 0.9)}, "Invalid beta parameter at index 0: 1.0"),
    ("Adam", {"betas": (0.9, -0.1)}, "Invalid beta parameter at index 1: -0.1"),
    ("Adam", {"betas": (0, 0.9)}, "betas must be either both floats or both Tensors"),
    ("Adam", {"eps": -1.0}, "Invalid epsilon value: -1.0"),
    ("NAdam", {"momentum_decay": -0.2}, "Invalid momentum_decay value: -0.2"),
    ("Adagrad", {"lr_decay": -0.5}, "Invalid lr_decay value: -0.5"),
    ("Adagrad", {"initial_accumulator_value": -1}, "Invalid initial_accumulator_value value: -1"),
    ("Adadelta", {"rho": 1.1}, "Invalid rho value: 1.1"),
    ("RMSprop", {"alpha": -1.0}, "Invalid alpha value: -1.0"),
    ("Rprop", {"etas": (1.0, 0.5)}, "Invalid eta values: 1.0, 0.5"),
    ("SparseAdam", {"lr": 0.0}, "Invalid learning rate: 0.0"),
    ("Adafactor", {"d": 0.5}, "Clipping threshold d should be >= 1 but is: 0.5"),
    ("Muon", {"adjust_lr_fn": "x"}, "Adjust learning rate function x is not supported"),
    ("LBFGS", {"lr": -0.1}, "Invalid learning rate: -0.1"),
]


@pytest.mark.parametrize(("name", "options", "message"), BAD)
def test_bad_options(name, options, message):
    with pytest.raises(ValueError) as error:
        getattr(torch.optim, name)([weight()], **options)
    assert str(error.value) == message


def test_refusals():
    w = weight()
    w.grad = torch.ones_like(w)
    before = w.detach().clone()
    with pytest.raises(RuntimeError, match="SparseAdam does not support dense gradients, please consider Adam instead"):
        torch.optim.SparseAdam([w]).step()
    with pytest.raises(AssertionError, match="If capturable=True, params and state_steps must be on supported devices"):
        torch.optim.Adam([w], capturable=True).step()
    with pytest.raises(AssertionError, match="_foreach ops don't support autograd"):
        torch.optim.Adam([w], foreach=True, differentiable=True).step()
    with pytest.raises(RuntimeError, match="`fused` and `foreach` cannot be `True` together"):
        torch.optim.SGD([w], foreach=True, fused=True)
    with pytest.raises(ValueError, match="Muon only supports 2D parameters"):
        torch.optim.Muon([torch.zeros(3, requires_grad=True)])
    with pytest.raises(ValueError, match="LBFGS doesn't support per-parameter options"):
        torch.optim.LBFGS([{"params": [w]}, {"params": [weight()]}])
    assert torch.equal(w, before)


def test_learning_rate_as_a_tensor():
    plain, tensor = weight(), weight()
    lr = torch.tensor(0.1, dtype=torch.float64)
    train(plain, torch.optim.Adam([plain], lr=0.1))
    train(tensor, torch.optim.Adam([tensor], lr=lr))
    np.testing.assert_allclose(tensor.detach().numpy(), plain.detach().numpy(), rtol=1e-12)
    with pytest.raises(ValueError, match="Tensor lr must be 1-element"):
        torch.optim.SGD([weight()], lr=torch.tensor([0.1, 0.2]))
    with pytest.raises(ValueError, match="lr as a Tensor is not supported for capturable=False and foreach=True"):
        torch.optim.Adam([weight()], lr=torch.tensor(0.1), foreach=True)


def test_gradient_through_a_step():
    lr = torch.tensor(0.1, dtype=torch.float64, requires_grad=True)
    start = weight()
    w = start.clone()
    w.retain_grad()
    opt = torch.optim.SGD([w], lr=lr, momentum=0.9, differentiable=True)
    w.grad = torch.full_like(w, 2.0).detach()
    opt.step()
    w.sum().backward()
    assert lr.grad.item() == -8.0
    assert torch.equal(start.grad, torch.ones_like(start))


def test_complex_parameters_are_pairs_of_real_ones():
    z = torch.tensor([1 + 2j, 3 - 1j], dtype=torch.complex128, requires_grad=True)
    r = torch.tensor([[1.0, 2.0], [3.0, -1.0]], dtype=torch.float64, requires_grad=True)
    for name in ("SGD", "Adam", "Adagrad", "Rprop", "RMSprop"):
        opt_z, opt_r = (getattr(torch.optim, name)([p], lr=0.1) for p in (z, r))
        for i in range(3):
            g = np.array([[0.5, -1.0], [2.0, 0.25]]) * (-1) ** i
            z.grad = torch.from_numpy(g.copy().view(np.complex128).reshape(2))
            r.grad = torch.from_numpy(g.copy())
            opt_z.step()
            opt_r.step()
        np.testing.assert_allclose(torch.view_as_real(z.detach()).numpy(), r.detach().numpy(), rtol=1e-14)


def rosenbrock_steps(**options):
    x = torch.tensor([-1.5, 2.0], dtype=torch.float64, requires_grad=True)
    opt = torch.optim.LBFGS([x], **options)
    calls = []

    def closure():
        opt.zero_grad()
        loss = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
        loss.backward()
        calls.append(loss.item())
        return loss

    for _ in range(3):
        opt.step(closure)
    return x.detach().numpy(), len(calls), opt.state[x]


def test_lbfgs_with_line_search():
    x, calls, state = rosenbrock_steps(line_search_fn="strong_wolfe")
    np.testing.assert_allclose(x, [0.9999979943, 0.9999973439], rtol=1e-6)
    assert (calls, state["n_iter"], state["func_evals"], len(state["old_dirs"])) == (53, 41, 53, 40)


def test_lbfgs_with_fixed_steps():
    x, calls, state = rosenbrock_steps(lr=0.01, max_iter=4, history_size=2)
    np.testing.assert_allclose(x, [-1.4853767798334265, 2.0048196294267218], rtol=1e-9)
    assert (calls, state["n_iter"], len(state["old_dirs"])) == (12, 12, 2)
    with pytest.raises(RuntimeError, match="only 'strong_wolfe' is supported"):
        rosenbrock_steps(line_search_fn="other")
