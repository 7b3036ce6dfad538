"""Pictures of the backward graph.

>>> import penlight as torch
>>> a = torch.tensor(2.0, requires_grad=True)
>>> c = a * torch.tensor(3.0)
>>> torch.inspect.draw(c, params={"a": a})
<Drawing of 4 boxes and 3 edges>
"""

from __future__ import annotations

from .draw import Box, Drawing, Link, draw

__all__ = ["Box", "Drawing", "Link", "draw"]
