"""Looking inside: pictures of the backward graph, what it keeps in memory, and which line of a program is to blame.

>>> import penlight as torch
>>> a = torch.tensor(2.0, requires_grad=True)
>>> c = a * torch.tensor(3.0)
>>> torch.inspect.draw(c, params={"a": a})
<Drawing of 5 boxes and 4 edges>
"""

from __future__ import annotations

from .draw import Box, Drawing, Link, draw
from .explain import Explanation, explain
from .flow import gradient_flow
from .memory import SavedMemory, Saving, saved_memory
from .modules import record
from .steps import Step, replay, steps
from .summary import Summary, summary
from .timeline import timeline
from .watch import Event, Log, watch

__all__ = [
    "Box", "Drawing", "Event", "Explanation", "Link", "Log", "SavedMemory", "Saving", "Step", "Summary", "draw", "explain",
    "gradient_flow", "record", "replay", "saved_memory", "steps", "summary", "timeline", "watch",
]  # fmt: skip
