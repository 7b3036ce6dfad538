"""Line by line, small programs print what PyTorch 2.13.0 printed."""

from __future__ import annotations

import pytest

import penlight

from . import snippets


def same(expected: str, found: str) -> bool:
    """Equal, or an error in PyTorch's words that goes on to say more."""
    return expected == found or ("Error: " in expected.splitlines()[-1] and found.startswith(expected))


@pytest.mark.parametrize("topic", snippets.TOPICS)
def test_prints_what_pytorch_printed(topic: str) -> None:
    lines = [line.strip() for line in snippets.TOPICS[topic].strip().splitlines()]
    expected, found = snippets.pinned()[topic], snippets.run(penlight, snippets.TOPICS[topic])
    wrong = [
        f"{line}\n  expected {e!r}\n  got      {f!r}"
        for line, e, f in zip(lines, expected, found)
        if not (e == f or same(e or " ", f))
    ]
    assert not wrong, "\n".join(wrong)
    assert len(expected) == len(lines)


@pytest.mark.parity
@pytest.mark.parametrize("topic", snippets.TOPICS)
def test_pytorch_still_prints_that(topic: str) -> None:
    torch = pytest.importorskip("torch")
    assert snippets.run(torch, snippets.TOPICS[topic]) == snippets.pinned()[topic]
