"""Types that the ops' signatures share."""

from __future__ import annotations

from typing import Union

Number = Union[bool, int, float, complex]  # noqa: UP007
