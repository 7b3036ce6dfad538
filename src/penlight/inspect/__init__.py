"""Inspection tools: draw the backward graph, measure the memory it keeps, and find the line of a program behind an error.

>>> import penlight as torch
>>> a = torch.tensor(2.0, requires_grad=True)
>>> c = a * torch.tensor(3.0)
>>> torch.inspect.draw(c, params={"a": a})
<Drawing of 5 boxes and 4 edges>
"""

from __future__ import annotations

from .._common.arguments import explain as _explain
from .draw import Box, Drawing, Link, draw
from .explain import Explanation, explain
from .flow import gradient_flow
from .log import Event, Log
from .memory import Memory, Saving, memory
from .modules import record
from .show import Shown, show
from .steps import Step, replay, steps
from .summary import Summary, summary
from .timeline import timeline
from .watch import watch

__all__ = [
    "Box", "Drawing", "Event", "Explanation", "Link", "Log", "Memory", "Saving", "Shown", "Step", "Summary", "draw", "explain",
    "gradient_flow", "memory", "record", "replay", "show", "steps", "summary", "timeline", "watch",
]  # fmt: skip

_explain(globals())
