"""What all optimisers share: parameter groups, state dicts, hooks, copying, and optimisers written by users."""

import copy
import io
import pickle
import warnings

import pytest

import penlight as torch
from penlight.optim.optimizer import (
    Optimizer,
    _use_grad_for_differentiable,
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
    required,
)


def leaf(*size):
    p = torch.ones(*size, requires_grad=True)
    p.grad = torch.ones(*size)
    return p


class Descent(Optimizer):
    """An optimiser as users write them."""

    def __init__(self, params, lr=required, momentum=0.0):
        super().__init__(params, {"lr": lr, "momentum": momentum})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if len(state) == 0:
                    state["step"] = 0
                    state["buffer"] = torch.zeros_like(p)
                state["step"] += 1
                state["buffer"].mul_(group["momentum"]).add_(p.grad)
                p.add_(state["buffer"], alpha=-group["lr"])
        return loss


BAD_PARAMS = [
    (lambda: [1], TypeError, "optimizer can only optimize Tensors, but one of the params is int"),
    (
        lambda: leaf(2),
        TypeError,
        "params argument given to the optimizer should be an iterable of Tensors or dicts, but got torch.FloatTensor",
    ),
    (list, ValueError, "optimizer got an empty parameter list"),
    (lambda: [leaf(2) * 2], ValueError, "can't optimize a non-leaf Tensor"),
    (
        lambda: [("a", leaf(1)), leaf(1)],
        ValueError,
        "all optimizer params should be with/without names. Some param names are missing",
    ),
    (lambda: [{"params": leaf(1)}, 3], TypeError, "param_group must be a dict, but got <class 'int'>"),
    (lambda: [{"x": 1}], KeyError, "'params'"),
    (
        lambda: [{"params": {leaf(1)}}],
        TypeError,
        (
            "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets will "
            "change between runs. Please use a list instead."
        ),
    ),
]


@pytest.mark.parametrize(("params", "kind", "message"), BAD_PARAMS)
def test_bad_parameters(params, kind, message):
    with pytest.raises(kind) as error:
        torch.optim.SGD(params())
    assert str(error.value) == message


def test_param_groups_take_defaults():
    a, b = leaf(2), leaf(3)
    groups = [{"params": a, "lr": 0.5}, {"params": [b]}]
    opt = torch.optim.SGD(groups, lr=0.1, momentum=0.9)
    assert [g["lr"] for g in opt.param_groups] == [0.5, 0.1]
    assert opt.param_groups[0]["params"] == [a]
    assert opt.param_groups[0] is groups[0]
    assert opt.defaults["lr"] == 0.1
    opt.add_param_group({"params": (p for p in [leaf(1)]), "momentum": 0.1})
    assert [g["momentum"] for g in opt.param_groups] == [0.9, 0.9, 0.1]


def test_a_refused_group_leaves_everything_as_it_was():
    a = leaf(2)
    opt = torch.optim.SGD([a], lr=0.1)
    group = {"params": a}
    with pytest.raises(ValueError, match="some parameters appear in more than one parameter group"):
        opt.add_param_group(group)
    assert group == {"params": a}
    assert len(opt.param_groups) == 1


def test_duplicates_warn_and_are_updated_twice():
    a = leaf(2)
    with pytest.warns(UserWarning, match="optimizer contains a parameter group with duplicate parameters"):
        opt = torch.optim.SGD([a, a], lr=0.25)
    opt.step()
    assert a.tolist() == [0.5, 0.5]


def test_required_option():
    with pytest.raises(
        ValueError, match="parameter group didn't specify a value of required optimization parameter lr"
    ):
        Descent([leaf(1)])
    assert Descent([{"params": [leaf(1)], "lr": 0.1}]).param_groups[0]["lr"] == 0.1
    assert repr(required) == "<required parameter>"


def test_named_parameters():
    opt = torch.optim.SGD([("w", leaf(2)), ("b", leaf(1))], lr=0.1)
    assert opt.param_groups[0]["param_names"] == ["w", "b"]
    assert opt.state_dict()["param_groups"][0]["param_names"] == ["w", "b"]
    with pytest.raises(ValueError, match="cannot add param group without names to the optimizer"):
        opt.add_param_group({"params": [leaf(1)]})
    opt.add_param_group({"params": [("c", leaf(1))]})
    unnamed = torch.optim.SGD([{"params": [leaf(2), leaf(1)]}, {"params": [leaf(1)]}], lr=0.2)
    opt.load_state_dict(unnamed.state_dict())
    assert [g["param_names"] for g in opt.param_groups] == [["w", "b"], ["c"]]
    assert opt.param_groups[0]["lr"] == 0.2


def test_repr():
    assert repr(torch.optim.SGD([leaf(1)], lr=0.1)) == (
        "SGD (\nParameter Group 0\n    dampening: 0\n    differentiable: False\n    foreach: None\n    fused: None\n"
        "    lr: 0.1\n    maximize: False\n    momentum: 0\n    nesterov: False\n    weight_decay: 0\n)"
    )


def test_zero_grad():
    a = leaf(2)
    opt = torch.optim.SGD([a])
    grad = a.grad
    opt.zero_grad(set_to_none=False)
    assert a.grad is grad
    assert grad.tolist() == [0.0, 0.0]
    opt.zero_grad()
    assert a.grad is None
    opt.step()
    assert a.tolist() == [1.0, 1.0]


def test_closure():
    a = leaf(2)
    for opt in (torch.optim.SGD([a], lr=0.5), Descent([a], lr=0.5)):

        def closure(opt=opt):
            assert torch.is_grad_enabled()
            opt.zero_grad()
            loss = (a * a).sum()
            loss.backward()
            return loss

        with torch.no_grad():
            loss = opt.step(closure)
        assert loss.requires_grad
    assert a.tolist() == [0.0, 0.0]


def test_state_dict_layout_and_loading():
    a, b, c = leaf(2), leaf(3), leaf(1)
    opt = torch.optim.Adam([{"params": [a, b]}, {"params": [c], "lr": 0.5}], lr=0.1)
    b.grad = None
    opt.step()
    saved = opt.state_dict()
    assert list(saved["state"]) == [0, 2]
    assert [g["params"] for g in saved["param_groups"]] == [[0, 1], [2]]
    assert saved["state"][0]["exp_avg"] is opt.state[a]["exp_avg"]

    other = torch.optim.Adam([{"params": [leaf(2), leaf(3)]}, {"params": [leaf(1)]}])
    other.load_state_dict(copy.deepcopy(saved))
    assert [g["lr"] for g in other.param_groups] == [0.1, 0.5]
    first = other.param_groups[0]["params"][0]
    assert torch.equal(other.state[first]["exp_avg"], opt.state[a]["exp_avg"])
    with pytest.raises(ValueError, match="loaded state dict has a different number of parameter groups"):
        torch.optim.Adam([leaf(2)]).load_state_dict(saved)
    with pytest.raises(ValueError, match="contains a parameter group that doesn't match the size of optimizer's group"):
        torch.optim.Adam([{"params": [a]}, {"params": [c]}]).load_state_dict(saved)


def test_loading_casts_to_the_parameter_but_not_the_step():
    opt = torch.optim.Adam([leaf(2)])
    opt.step()
    p = torch.ones(2, dtype=torch.float64, requires_grad=True)
    other = torch.optim.Adam([p])
    other.load_state_dict(opt.state_dict())
    assert other.state[p]["exp_avg"].dtype == torch.float64
    assert other.state[p]["step"].dtype == torch.float32
    p.grad = torch.ones_like(p)
    other.step()
    assert other.state[p]["step"].item() == 2


def test_old_files_have_numbers_for_steps():
    p = leaf(2)
    opt = torch.optim.Adam([p])
    opt.step()
    saved = opt.state_dict()
    saved["state"][0]["step"] = 7
    for key in ("maximize", "foreach", "fused", "decoupled_weight_decay"):
        del saved["param_groups"][0][key]
    other = torch.optim.Adam([p])
    other.load_state_dict(saved)
    other.step()
    assert other.state[p]["step"].item() == 8
    assert other.state[p]["step"].dtype == torch.float32


@pytest.mark.parametrize(
    ("name", "added"),
    [
        ("SGD", {"nesterov": False, "maximize": False, "foreach": None, "differentiable": False, "fused": False}),
        ("ASGD", {"foreach": None, "maximize": False, "differentiable": False, "capturable": False}),
        ("AdamW", {"amsgrad": False, "maximize": False, "foreach": None, "capturable": False, "differentiable": False, "decoupled_weight_decay": True, "fused": None}),
        ("RMSprop", {"momentum": 0, "centered": False, "foreach": None, "maximize": False, "differentiable": False, "capturable": False}),
        ("Adafactor", {"foreach": None}),
        ("SparseAdam", {}),
    ],
)  # fmt: skip
def test_old_files_lack_options(name, added):
    opt = getattr(torch.optim, name)([leaf(2, 2)])
    opt.load_state_dict({"state": {}, "param_groups": [{"params": [0]}]})
    group = {key: value for key, value in opt.param_groups[0].items() if key != "params"}
    assert list(group.items()) == list(added.items())


def test_an_optimizer_may_skip_the_constructor_of_its_base():
    class Own(torch.optim.Adam):
        def __init__(self, params, lr):
            super(torch.optim.Adam, self).__init__(params, {"lr": lr, "mine": 1})

    assert Own([leaf(1)], 0.5).defaults == {"lr": 0.5, "mine": 1}


def test_pickle_and_deepcopy():
    p = leaf(3)
    opt = torch.optim.SGD([p], lr=0.1, momentum=0.9)
    opt.step()
    for twin in (pickle.loads(pickle.dumps(opt)), copy.deepcopy(opt)):
        (q,) = twin.param_groups[0]["params"]
        assert q is not p
        q.grad = torch.ones(3)
        twin.step()
        assert twin.state[q]["momentum_buffer"].tolist() == pytest.approx([1.9] * 3)
    assert opt.state[p]["momentum_buffer"].tolist() == [1.0] * 3
    buffer = io.BytesIO()
    pickle.dump(opt.state_dict(), buffer)


def test_step_hooks():
    calls = []
    p = leaf(1)
    opt = torch.optim.SGD([p], lr=0.5)
    handles = [
        register_optimizer_step_pre_hook(lambda o, args, kwargs: calls.append("global pre")),
        opt.register_step_pre_hook(lambda o, args, kwargs: calls.append("pre")),
        opt.register_step_post_hook(lambda o, args, kwargs: calls.append("post")),
        register_optimizer_step_post_hook(lambda o, args, kwargs: calls.append("global post")),
    ]
    opt.step()
    assert calls == ["global pre", "pre", "post", "global post"]
    for handle in handles:
        handle.remove()
    opt.step()
    assert len(calls) == 4

    opt.register_step_pre_hook(lambda o, args, kwargs: ((o, lambda: "from the hook"), {}))
    assert opt.step() == "from the hook"
    opt.register_step_pre_hook(lambda o, args, kwargs: 3)
    with pytest.raises(RuntimeError, match="must return None or a tuple of"):
        opt.step()


def test_hooks_run_for_user_optimizers():
    calls = []
    opt = Descent([leaf(1)], lr=0.1)
    opt.register_step_post_hook(lambda o, args, kwargs: calls.append(o))
    opt.step()
    assert calls == [opt]


def test_state_dict_hooks():
    opt = torch.optim.SGD([leaf(1)], lr=0.5)
    order = []
    opt.register_state_dict_pre_hook(lambda o: order.append("second"))
    opt.register_state_dict_pre_hook(lambda o: order.append("first"), prepend=True)
    opt.register_state_dict_post_hook(lambda o, sd: {**sd, "extra": 1})
    saved = opt.state_dict()
    assert order == ["first", "second"]
    assert saved["extra"] == 1

    def new_lr(o, sd):
        group = {**sd["param_groups"][0], "lr": 0.25}
        return {**sd, "param_groups": [group]}

    opt.register_load_state_dict_pre_hook(new_lr)
    opt.register_load_state_dict_post_hook(lambda o: order.append("loaded"))
    opt.load_state_dict(saved)
    assert opt.param_groups[0]["lr"] == 0.25
    assert order[-1] == "loaded"
    assert saved["param_groups"][0]["lr"] == 0.5


def test_user_optimizer_trains_saves_and_loads():
    p = leaf(2)
    opt = Descent([p], lr=0.25, momentum=0.5)
    opt.step()
    opt.step()
    assert p.tolist() == [0.375, 0.375]
    q = leaf(2)
    other = Descent([q], lr=1.0)
    other.load_state_dict(copy.deepcopy(opt.state_dict()))
    other.step()
    assert other.state[q]["step"] == 3
    assert other.state[q]["buffer"].tolist() == [1.75, 1.75]


def test_subclass_of_an_optimizer_may_override_step():
    class Clipped(torch.optim.Adam):
        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    p.grad.clamp_(-0.5, 0.5)
            return super().step(closure)

    p = leaf(2)
    p.grad = torch.tensor([3.0, -0.25])
    opt = Clipped([p], lr=0.1)
    opt.step()
    assert opt.state[p]["exp_avg"].tolist() == pytest.approx([0.05, -0.025])


def test_use_grad_for_differentiable():
    class Probe(Optimizer):
        @_use_grad_for_differentiable
        def step(self, closure=None):
            return torch.is_grad_enabled()

    for differentiable in (True, False):
        opt = Probe([leaf(1)], {"differentiable": differentiable})
        assert opt.step() is differentiable
        assert torch.is_grad_enabled()
        with torch.no_grad():
            assert opt.step() is differentiable
            assert not torch.is_grad_enabled()


def test_base_step_is_abstract():
    with pytest.raises(NotImplementedError):
        Optimizer([leaf(1)], {}).step()


def test_fused_takes_the_gradient_scaler_over():
    p = leaf(2)
    opt = torch.optim.Adam([p], lr=0.1, fused=True)
    opt.grad_scale, opt.found_inf = torch.tensor(4.0), torch.tensor(1.0)
    opt.step()
    assert p.tolist() == [1.0, 1.0]
    opt.found_inf = torch.tensor(0.0)
    opt.step()
    assert opt.state[p]["exp_avg"].tolist() == pytest.approx([0.025, 0.025])
    plain = torch.optim.Adam([p])
    plain.grad_scale = torch.tensor(4.0)
    with pytest.raises(AssertionError, match="Expected grad_scale and found_inf to be None"):
        plain.step()


def test_swap_in():
    w, other = leaf(2), leaf(2)
    opt = torch.optim.Adam([w], lr=0.1)
    with (
        pytest.raises(RuntimeError, match="requires initialized optimizer state"),
        torch.optim.swap_in_optimizer_params_and_state(opt, {"w": other}, opt.state_dict()),
    ):
        pass
    opt.step()
    values, state = w.tolist(), copy.deepcopy(opt.state_dict())
    with torch.optim.swap_in_optimizer_params_and_state(opt, {"w": other}, state):
        opt.step()
    assert w.tolist() == values
    assert other.tolist() != [1.0, 1.0]
    assert state["state"][0]["step"].item() == 2
    assert opt.state[w]["step"].item() == 1
    with (
        pytest.raises(RuntimeError, match="got extra keys"),
        torch.optim.swap_in_optimizer_params_and_state(
            opt, {"w": other}, {**state, "state": {0: state["state"][0], 5: {}}}
        ),
    ):
        pass


def test_nothing_warns_in_a_plain_training_loop():
    p = leaf(2)
    opt = torch.optim.SGD([p], lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(opt, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            opt.step()
            scheduler.step()
