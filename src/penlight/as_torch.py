"""Makes `import torch` import Penlight in this process: for notebooks, and for packages like einops.

import penlight.as_torch
import torch                     # Penlight
from einops import rearrange     # works with Penlight's tensors
"""

from __future__ import annotations

from ._run import install

install()
