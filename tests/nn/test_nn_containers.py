"""Containers and lazy modules against PyTorch's."""

from __future__ import annotations

from collections import OrderedDict

from nn_data import array
from nn_models import attempt


def test_sequential(works):
    def run(lib):
        nn = lib.nn
        s = nn.Sequential(nn.ReLU(), nn.Tanh(), nn.Sigmoid())
        named = nn.Sequential(OrderedDict([("a", nn.ReLU()), ("b", nn.Tanh())]))
        seen = attempt(
            lambda: (len(s), s[0], s[-1], s[1:], named["a":] if False else named[0], named[:1]),
            lambda: s[3],
            lambda: s["a"],
            lambda: s + named,
            lambda: s + [nn.ReLU()],
            lambda: named * 2,
            lambda: 2 * named,
            lambda: named * 0,
            lambda: named * 1.5,
            lambda: s.append(nn.ELU()),
            lambda: s.insert(0, nn.CELU()),
            lambda: s.insert(-1, nn.GLU()),
            lambda: s.insert(9, nn.GLU()),
            lambda: s.insert(0, 3),
            lambda: s.extend([nn.SELU()]),
            lambda: (s.pop(0), s),
            lambda: (s.pop(slice(0, 2)), s),
            lambda: s.__delitem__(slice(0, 1)) or s,
            lambda: s.__setitem__(0, nn.Identity()) or s,
            lambda: s.__delitem__(9),
            lambda: [name for name in dir(s) if name.isdigit()],
        )
        s += named
        seen.append(s)
        s *= 2
        return seen, s, [type(part).__name__ for part in s]

    works(run)


def test_module_list(works):
    def run(lib):
        nn = lib.nn
        m = nn.ModuleList([nn.ReLU(), nn.Tanh()])
        seen = attempt(
            lambda: (len(m), m[0], m[-1], m[:1]),
            lambda: m[2],
            lambda: m.append(nn.ELU()),
            lambda: m.insert(1, nn.CELU()) or m,
            lambda: m.extend(nn.Sequential(nn.GLU())),
            lambda: m.extend(3),
            lambda: m + [nn.SELU()],
            lambda: (m.pop(1), m),
            lambda: m.__delitem__(slice(0, 2)) or m,
            lambda: m.__delitem__(-1) or m,
            lambda: m.__setitem__(0, nn.Identity()) or m,
            lambda: nn.ModuleList(3),
            lambda: nn.ModuleList([3]),
            lambda: m(1),
            lambda: nn.ModuleList(),
        )
        m += [nn.ReLU(), nn.ReLU()]
        return seen, m

    works(run)


def test_module_dict(works):
    def run(lib):
        nn = lib.nn
        m = nn.ModuleDict([["a", nn.ReLU()], ["b", nn.Tanh()]])
        return attempt(
            lambda: (len(m), m["a"], "b" in m, list(m), list(m.keys()), list(m.values())),
            lambda: [name for name, _ in m.items()],
            lambda: m.update({"c": nn.ELU()}) or m,
            lambda: m.update(nn.ModuleDict({"d": nn.GLU()})) or m,
            lambda: (m.pop("a"), m),
            lambda: m["zz"],
            lambda: m.__setitem__("x.y", nn.ReLU()),
            lambda: m.__setitem__("train", nn.ReLU()),
            lambda: m.update(3),
            lambda: m.update([3]),
            lambda: m.update([["a"]]),
            lambda: m.clear() or m,
        )

    works(run)


def test_parameter_containers(works):
    def run(lib):
        nn = lib.nn
        p = nn.ParameterList([lib.zeros(2), nn.Parameter(lib.ones(1)), 3])
        d = nn.ParameterDict({"b": lib.zeros(2), "a": lib.ones(1), "t": "text"})
        return attempt(
            lambda: (len(p), p[0].requires_grad, p[-1], len(p[1:]), [type(x).__name__ for x in p]),
            lambda: p.append(lib.ones(3)),
            lambda: p.extend([lib.ones(1)]),
            lambda: p.extend(lib.ones(1)),
            lambda: p.extend(3),
            lambda: p[9],
            lambda: p(),
            lambda: p.__setitem__(0, lib.ones(4)) or p,
            lambda: [name for name, _ in p.named_parameters()],
            lambda: (len(d), list(d), "a" in d, d["a"], d.get("zz", 3), list(reversed(d))),
            lambda: [name for name, _ in d.named_parameters()],
            lambda: d.setdefault("n", lib.zeros(1)),
            lambda: (d.pop("a"), d.popitem()[0], list(d)),
            lambda: list(d | nn.ParameterDict({"z": lib.zeros(1)})),
            lambda: list(d.copy()),
            lambda: list(d.fromkeys(["k"], 1).items()),
            lambda: d.update(3),
            lambda: d.update([["a"]]),
            lambda: d.update([3]),
            lambda: nn.ParameterDict().__setitem__(3, 1),
            lambda: d["nope"],
            lambda: d(1),
            lambda: d.clear() or d,
        )

    works(run)


def test_lazy_modules(works):
    def run(lib):
        nn = lib.nn
        net = nn.Sequential(nn.LazyConv2d(3, 2), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(2))
        before = repr(net), net[0].has_uninitialized_params()
        state = net.state_dict()
        kinds = [type(value).__name__ for value in state.values()]
        out = net(array(lib, 2, 4, 3, 3))
        other = nn.Sequential(nn.LazyConv2d(3, 2), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(2))
        other.load_state_dict(net.state_dict())
        again = other(array(lib, 2, 4, 3, 3))
        return (
            before,
            kinds,
            out,
            again,
            repr(net),
            repr(other),
            attempt(
                lambda: nn.LazyConv2d(3, 2)(array(lib, 2, 3)),
                lambda: nn.LazyConv2d(4, 2, groups=2)(array(lib, 1, 3, 5, 5)),
                lambda: nn.LazyLinear(3).weight.shape,
                lambda: nn.LazyLinear(3).share_memory(),
                lambda: repr(nn.LazyLinear(3).weight),
                lambda: nn.Linear(2, 3).load_state_dict(nn.LazyLinear(3).state_dict()),
            ),
        )

    works(run)
