"""The seed documents' programs print what PyTorch prints and end as it ends."""

from __future__ import annotations

from typing import Any

import pytest

import penlight

from . import blocks


@pytest.mark.parametrize("document", blocks.load(), ids=lambda d: d["name"][:3])
def test_prints_what_pytorch_printed(document: dict[str, Any]) -> None:
    outcomes = blocks.run(penlight, document["blocks"])
    for block, expected, found in zip(document["blocks"], document["outcomes"], outcomes):
        assert list(found) == expected, block


@pytest.mark.parity
@pytest.mark.parametrize("document", blocks.load(), ids=lambda d: d["name"][:3])
def test_pytorch_still_prints_that(document: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    assert [list(o) for o in blocks.run(torch, document["blocks"])] == document["outcomes"]
