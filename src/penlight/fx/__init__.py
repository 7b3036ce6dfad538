"""torch.fx traces modules and functions into graphs of operations, which can be inspected, edited and run.

>>> import penlight as torch
>>> traced = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU()))
>>> traced.graph.print_tabular()
opcode       name     target  args        kwargs
-----------  -------  ------  ----------  ------
placeholder  input_1  input   ()          {}
call_module  _0       0       (input_1,)  {}
call_module  _1       1       (_0,)       {}
output       output   output  (_1,)       {}
"""

from __future__ import annotations

from penlight._refused import refuse

from .._common.arguments import explain as _explain
from . import node as node
from ._symbolic_trace import Tracer as Tracer, symbolic_trace as symbolic_trace, wrap as wrap
from .graph import CodeGen as CodeGen, Graph as Graph
from .graph_module import GraphModule as GraphModule
from .interpreter import Interpreter as Interpreter, Transformer as Transformer
from .node import Node as Node, map_arg as map_arg
from .proxy import Proxy as Proxy, TraceError as TraceError

__all__ = [
    "CodeGen", "Graph", "GraphModule", "Interpreter", "Node", "Proxy", "TraceError", "Tracer", "Transformer", "symbolic_trace", "wrap",
]  # fmt: skip

__getattr__ = refuse(
    __name__,
    "Penlight traces modules and functions, and has none of PyTorch's passes over graphs.",
    "Change the nodes of torch.fx.symbolic_trace(module).graph.",
    files=("_symbolic_trace", "graph", "graph_module", "interpreter", "node", "proxy"),
)


_explain(globals())
