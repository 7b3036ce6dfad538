"""torch.fx beside PyTorch: the nodes, the source, the values, and the errors."""

from __future__ import annotations

import pytest

import penlight
from tests.fx.programs import functions, modules

pytestmark = pytest.mark.parity
torch = pytest.importorskip("torch")


def nodes(traced):
    def shown(a):
        return str(a).replace("penlight", "torch")

    return [
        (
            n.op,
            n.name,
            shown(n.target) if isinstance(n.target, str) else n.target.__name__,
            shown(n.args),
            shown(n.kwargs),
            list(map(str, n.users)),
        )
        for n in traced.graph.nodes
    ]


def plain(value):
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    return str(value)


@pytest.mark.parametrize("name", sorted(modules(penlight)))
def test_modules(name):
    found = []
    for lib in (torch, penlight):
        module, inputs = modules(lib)[name]
        with lib.no_grad():
            for i, parameter in enumerate(module.parameters()):
                parameter.copy_(lib.arange(1.0, 1.0 + parameter.numel()).view(parameter.shape) / (i + 2))
        traced = lib.fx.symbolic_trace(module)
        code = [
            line.partition(" :")[0] if line.startswith("def") else line
            for line in traced.code.replace("torch._C._nn.", "torch.nn.functional.").splitlines()
        ]
        if name == "leaf":
            code = code[4:]  # PyTorch's writes down the types of parameters
        found.append(
            (nodes(traced), code if name != "shared" else None, plain(traced(*inputs)), list(traced.state_dict()))
        )
    assert found[0][1:] == found[1][1:]
    if name != "shared":  # PyTorch's softmax, which is written in Python, names all of its arguments
        assert found[0][0] == found[1][0]


@pytest.mark.parametrize("name", sorted(vars(functions(penlight))))
def test_functions(name):
    found = []
    for lib in (torch, penlight):
        function, inputs = getattr(functions(lib), name)
        traced = lib.fx.symbolic_trace(function)
        found.append(
            (
                nodes(traced),
                traced.code,
                str(traced.graph),
                plain(traced(*inputs)),
                plain(lib.fx.Interpreter(traced).run(*inputs)),
            )
        )
    assert found[0] == found[1]


ERRORS = """
fx.symbolic_trace(lambda x: 1 if x.sum() > 0 else 2)
fx.symbolic_trace(lambda x: len(x))
fx.symbolic_trace(lambda x: [i for i in x])
fx.Graph().call_function("x")
erased()
unordered()
"""


@pytest.mark.parametrize("line", ERRORS.strip().splitlines())
def test_errors(line):
    def run(lib):
        def erased():
            graph = lib.fx.Graph()
            x = graph.placeholder("x")
            graph.output(graph.call_function(lib.relu, (x,)))
            graph.erase_node(x)

        def unordered():
            graph = lib.fx.Graph()
            x = graph.placeholder("x")
            relu = graph.call_method("relu", (x,))
            tanh = graph.call_method("tanh", (relu,))
            graph.output(tanh)
            relu.prepend(tanh)
            graph.lint()

        with pytest.raises(Exception) as found:
            eval(line, {"fx": lib.fx, "erased": erased, "unordered": unordered})
        return type(found.value).__name__, str(found.value).splitlines()[0]

    assert run(penlight) == run(torch)


def test_names_of_nodes():
    def names(lib):
        graph = lib.fx.Graph()
        made = [graph.placeholder(name) for name in ("x", "input", "x_1", "list", "class", "0", "x")]
        made += [graph.call_module(name) for name in ("a.b", "LayerNorm", "a_b", "layer.0.Conv")]
        made += [graph.call_function(f) for f in (lib.relu, lib.nn.functional.relu, getattr, sum)]
        return [str(n) for n in made]

    assert names(penlight) == names(torch)
