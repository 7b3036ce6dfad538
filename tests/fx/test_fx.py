"""torch.fx: tracing, changing a graph, running it node by node."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import types

import pytest

import penlight as torch
from penlight import _torch_function, fx, nn
from tests.fx.programs import functions, modules


@fx.wrap
def doubled_if(x, flag):
    return x * 2 if flag else x


def same(a, b):
    if isinstance(a, torch.Tensor):
        return torch.equal(a, b)
    if isinstance(a, dict):
        return all(same(a[key], b[key]) for key in a)
    return all(map(same, a, b)) if isinstance(a, (tuple, list)) else a == b


@pytest.mark.parametrize("name", sorted(modules(torch)))
def test_a_traced_module_computes_the_same(name):
    module, inputs = modules(torch)[name]
    traced = fx.symbolic_trace(module)
    assert isinstance(traced, nn.Module) and isinstance(traced, fx.GraphModule)
    expected = module(*inputs)
    copied = copy.deepcopy(traced)
    assert same(traced(*inputs), expected) and same(fx.Interpreter(traced).run(*inputs), expected)
    assert same(copied(*inputs), expected) and same(fx.Transformer(traced).transform()(*inputs), expected)
    loaded = pickle.loads(pickle.dumps(fx.symbolic_trace(nn.Sequential(nn.Linear(2, 2), nn.Tanh()))))
    assert loaded(torch.ones(1, 2)).shape == (1, 2) and loaded.code.count("getattr(self") == 2


@pytest.mark.parametrize("name", sorted(vars(functions(torch))))
def test_a_traced_function_computes_the_same(name):
    function, inputs = getattr(functions(torch), name)
    traced = fx.symbolic_trace(function)
    traced.graph.lint()
    assert same(traced(*inputs), function(*inputs))


def test_gradients_reach_the_parameters():
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.tensor([2.0]))

        def forward(self, x):
            return (self.w + 1) * x

    module = Scaled()
    traced = fx.symbolic_trace(module)
    traced(torch.tensor([3.0])).backward()
    assert module.w.grad.item() == 3 and traced.w is module.w


def test_functions_check_their_arguments_only_while_tracing():
    before = dict(_torch_function._overriding)
    _torch_function._overriding.clear()
    _torch_function.deactivate()
    try:
        fx.symbolic_trace(lambda x: torch.relu(x))
        assert (
            not _torch_function._originals
            and "__call__" not in vars(nn.Linear)
            and "__getattribute__" not in vars(nn.Module)
        )
        with pytest.raises(fx.TraceError):
            fx.symbolic_trace(lambda x: 1 if x else 2)
        assert not _torch_function._originals and "__getattribute__" not in vars(nn.Module)
    finally:
        _torch_function._overriding.update(before)


def test_a_graph_can_be_changed():
    traced = fx.symbolic_trace(lambda x, y: torch.relu(x + y) * 2)
    for node in traced.graph.nodes:
        if node.target is torch.relu:
            with traced.graph.inserting_after(node):
                new = traced.graph.call_function(torch.tanh, node.args)
            node.replace_all_uses_with(new)
            traced.graph.erase_node(node)
    with traced.graph.inserting_before(traced.graph.output_node()):
        traced.graph.call_method("sin", (new,))
    assert traced.graph.eliminate_dead_code() and not traced.graph.eliminate_dead_code()
    traced.graph.lint()
    traced.recompile()
    x = torch.ones(2)
    assert torch.equal(traced(x, x), torch.tanh(x + x) * 2) and "relu" not in traced.code and "sin" not in traced.code


def test_graphs_of_ones_own():
    graph = fx.Graph()
    x = fx.Proxy(graph.placeholder("x"))
    graph.output((torch.tanh(x).relu() + x[0]).node)
    made = fx.GraphModule({}, graph, "Mine")
    assert made._get_name() == "Mine" and torch.equal(made(torch.ones(1)), torch.ones(1).tanh() + 1)
    assert [n.name for n in graph.find_nodes(op="call_function", target=torch.tanh)] == ["tanh"]


def test_wrapped_functions_and_concrete_arguments():
    traced = fx.symbolic_trace(lambda x, flag: doubled_if(x, flag))
    assert [n.target for n in traced.graph.nodes if n.op == "call_function"] == [doubled_if]
    assert isinstance(doubled_if, types.FunctionType) and traced(torch.ones(1), True).item() == 2
    traced = fx.symbolic_trace(lambda x, k: x + 1 if k else x, concrete_args={"k": True})
    assert traced(torch.ones(1), True).item() == 2
    with pytest.raises(AssertionError, match="k has been specialized to have value True"):
        traced(torch.ones(1), False)


def test_tracers_decide_what_is_looked_into():
    class Paths(fx.Tracer):
        def __init__(self):
            super().__init__()
            self.calls = []

        def is_leaf_module(self, m, module_qualified_name):
            return isinstance(m, nn.ReLU)

        def call_module(self, m, forward, args, kwargs):
            self.calls.append(self.path_of_module(m))
            return super().call_module(m, forward, args, kwargs)

    tracer = Paths()
    graph = tracer.trace(nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.ReLU())))
    assert tracer.calls == ["0", "1", "1.0"]
    assert [n.op for n in graph.nodes] == [
        "placeholder",
        "get_attr",
        "get_attr",
        "call_function",
        "call_module",
        "output",
    ]


def test_what_cannot_be_traced_says_so():
    with pytest.raises(NotImplementedError, match=r"a function that takes \*parts"):
        fx.symbolic_trace(lambda *parts: parts)
    with pytest.raises(fx.TraceError, match="cannot be iterated"):
        fx.symbolic_trace(lambda x: [part for part in x])


def test_it_can_be_the_first_import():
    subprocess.run([sys.executable, "-c", "import penlight.fx"], check=True)


def test_the_mark_of_what_stays_stable_leaves_functions_alone():
    from penlight.fx._symbolic_trace import compatibility

    assert compatibility(is_backward_compatible=True)(print) is print
