"""Looking inside: pictures of the backward graph, what it keeps in memory, and which line of a program is to blame.

>>> import penlight as torch
>>> a = torch.tensor(2.0, requires_grad=True)
>>> c = a * torch.tensor(3.0)
>>> torch.inspect.draw(c, params={"a": a})
<Drawing of 5 boxes and 4 edges>
"""

from __future__ import annotations

from .draw import Box, Drawing, Link, draw
from .memory import SavedMemory, Saving, saved_memory
from .modules import record
from .watch import Event, Log, watch

__all__ = ["Box", "Drawing", "Event", "Link", "Log", "SavedMemory", "Saving", "draw", "record", "saved_memory", "watch"]
