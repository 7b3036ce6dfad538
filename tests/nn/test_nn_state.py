"""The state of modules against PyTorch's: state_dict and its hooks, loading, pickles, copies."""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict

from nn_models import attempt, model


def test_state_dict(works):
    def run(lib):
        m = model(lib)
        state = m.state_dict()
        kept = m.state_dict(prefix="p.", keep_vars=True)
        into = OrderedDict()
        return (
            dict(state),
            dict(state._metadata),
            [value.requires_grad for value in state.values()],
            [value.requires_grad for value in kept.values()],
            list(kept),
            kept["p.scale"] is m.scale,
            m.state_dict(destination=into) is into,
            hasattr(into, "_metadata"),
            list(m.state_dict(OrderedDict(), "q.", True)),
        )

    works(run)


def test_load_state_dict(works):
    def run(lib):
        source, m = model(lib), model(lib)
        good = source.state_dict()
        seen = [repr(m.load_state_dict(good)), dict(m.state_dict())]
        short = OrderedDict(good)
        del short["scale"], short["inner.lin.weight"]
        extra = OrderedDict(good)
        extra["what"] = lib.zeros(1)
        extra["inner.deep.er"] = lib.zeros(1)
        extra["gone.deeper"] = lib.zeros(1)
        wrong = OrderedDict(good)
        wrong["scale"] = lib.zeros(3)
        wrong["inner.lin.bias"] = [1, 2]
        wrong["first.0.bias"] = lib.zeros(3, 1)
        mixed = OrderedDict(extra)
        mixed["scale"] = lib.zeros(3)
        del mixed["inner.seen"]
        for state in (short, extra, wrong, mixed, 3, {}):
            seen += attempt(lambda state=state: m.load_state_dict(state))
            seen += attempt(lambda state=state: m.load_state_dict(state, strict=False))
        return seen

    works(run)


def test_load_state_dict_assign(works):
    def run(lib):
        source, m = model(lib).double(), model(lib)
        state = source.state_dict()
        m.scale.requires_grad_(False)
        keys = m.load_state_dict(state, assign=True)
        again = m.load_state_dict(model(lib).state_dict())
        return (
            repr(keys),
            repr(again),
            [str(p.dtype) for p in m.parameters()],
            [p.requires_grad for p in m.parameters()],
            m.inner.seen is state["inner.seen"],
            m.inner.seen.dtype,
        )

    works(run)


def test_scalar_loaded_from_one_element(works):
    def run(lib):
        m = lib.nn.BatchNorm1d(2)
        state = m.state_dict()
        state["num_batches_tracked"] = lib.tensor([5])
        m.load_state_dict(state)
        return m.num_batches_tracked

    works(run)


def test_old_versions(works):
    def run(lib):
        bn, inst = lib.nn.BatchNorm1d(2), lib.nn.InstanceNorm1d(2)
        old = {"weight": lib.ones(2), "bias": lib.ones(2), "running_mean": lib.ones(2), "running_var": lib.ones(2)}
        newer = OrderedDict(old)
        newer._metadata = {"": {"version": 2}}
        stats = {"running_mean": lib.ones(2), "running_var": lib.ones(2)}
        return attempt(
            lambda: repr(bn.load_state_dict(old)),
            lambda: bn.load_state_dict(newer),
            lambda: inst.load_state_dict(stats),
        )

    works(run)


def test_extra_state(works):
    def run(lib):
        class Extra(lib.nn.Module):
            def __init__(self):
                super().__init__()
                self.count = 1

            def get_extra_state(self):
                return {"count": self.count}

            def set_extra_state(self, state):
                self.count = state["count"]

        outer = lib.nn.Sequential(Extra(), lib.nn.Linear(1, 1))
        outer[0].count = 9
        state = outer.state_dict()
        other = lib.nn.Sequential(Extra(), lib.nn.Linear(1, 1))
        other.load_state_dict(state)
        plain = lib.nn.Sequential(lib.nn.ReLU(), lib.nn.Linear(1, 1))
        return (
            list(state),
            other[0].count,
            attempt(
                lambda: plain.load_state_dict(state),
                lambda: other.load_state_dict(plain.state_dict()),
                lambda: lib.nn.Module().get_extra_state(),
                lambda: lib.nn.Module().set_extra_state(1),
            ),
        )

    works(run)


def test_state_dict_hooks(works):
    def run(lib):
        m, log = lib.nn.Sequential(lib.nn.Linear(2, 2)), []

        def pre(module, prefix, keep_vars):
            log.append(("pre", prefix, keep_vars))

        def private(module, state, prefix, metadata):
            log.append(("private", list(state), prefix, metadata))
            return OrderedDict(state, added=lib.zeros(1))

        def public(module, state, prefix, metadata):
            log.append(("public", list(state)))

        def loading(module, state, prefix, metadata, strict, missing, unexpected, errors):
            log.append(("loading", type(module).__name__, prefix, strict))
            state.pop("added", None)

        def loaded(module, keys):
            log.append(("loaded", type(module).__name__, list(keys.missing_keys), list(keys.unexpected_keys)))

        m[0].register_state_dict_pre_hook(pre)
        m._register_state_dict_hook(private)
        m.register_state_dict_post_hook(public)
        m.register_load_state_dict_pre_hook(loading)
        m[0].register_load_state_dict_post_hook(loaded)
        m.register_load_state_dict_post_hook(loaded)
        state = m.state_dict()
        m.load_state_dict(state)
        m.load_state_dict({}, strict=False)
        m.register_state_dict_post_hook(lambda *args: 3)
        m[0].register_load_state_dict_post_hook(lambda *args: 3)
        return (
            log,
            list(state),
            attempt(
                lambda: m.state_dict(),
                lambda: m._register_state_dict_hook(public),
                lambda: m.load_state_dict({}, strict=False),
            ),
        )

    works(run)


def test_pickle_and_deepcopy(works):
    def run(lib):
        net = lib.nn.Sequential(lib.nn.Linear(2, 3), lib.nn.LSTM(3, 2), lib.nn.BatchNorm1d(2))
        net[0].weight.requires_grad_(False)
        seen = []
        for other in (pickle.loads(pickle.dumps(net)), copy.deepcopy(net)):
            seen.append((repr(other), dict(other.state_dict()), [p.requires_grad for p in other.parameters()]))
            seen.append(other[1](lib.ones(1, 1, 3))[0])
            seen.append([name for name in ("_flat_weights_names", "_all_weights") if name in other[1].__dict__])
        return seen

    works(run)
