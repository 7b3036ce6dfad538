"""torch.testing: assertions that tensors are close, and random tensors for tests."""

from __future__ import annotations

from .._common.arguments import explain as _explain
from ._comparison import assert_allclose as assert_allclose, assert_close as assert_close
from ._creation import make_tensor as make_tensor

__all__ = ["assert_allclose", "assert_close", "make_tensor"]

_explain(globals())
