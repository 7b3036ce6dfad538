"""Sizes that no memory holds, that 64 bits do not count, or that are no 64-bit integers: PyTorch's refusals, not NumPy's."""

from __future__ import annotations

import pytest

import penlight

NO_MEMORY = """torch.zeros(2**44); torch.empty(2**22, 2**22); x.repeat(2**43); torch.nn.functional.pad(x, (2**44, 0)); torch.bincount(i, minlength=2**44);
    torch.repeat_interleave(x, 2**43); torch.vander(x, 2**43); torch.fft.fft(x, 2**44); torch.nn.ConstantPad1d(2**44, 0.0)(x)"""
UNCOUNTABLE = "torch.zeros(2**62); torch.bincount(i, minlength=2**62); torch.vander(x, 2**62); torch.nn.functional.pad(x, (2**61, 0))"
NO_INTEGER = """torch.zeros(2**63); torch.zeros(2, 2**63); torch.cumsum(x, 2**63); x.sum(2**63); x.sum((0, -(2**63) - 1)); x.view(2**63);
    torch.flip(x, (0, 2**64)); x.narrow(0, 0, 2**63); torch.fft.fft2(x[None], s=(2**63, 1)); torch.adaptive_avg_pool1d(x[None], 2**63)"""


def first_words(error):
    """The class of an error, and what it says before sizes and places in C++ are named."""
    words = str(error).removeprefix("[enforce fail at alloc_cpu.cpp:127] err == 0. ")
    for end in (" with sizes", "\nException raised", " Error code"):
        words = words.partition(end)[0]
    return type(error).__name__, words.rstrip('"')


@pytest.mark.parametrize(
    "expressions", [NO_MEMORY, UNCOUNTABLE, NO_INTEGER], ids=["no memory", "uncountable", "no integer"]
)
def test_sizes_that_can_not_be(same, expressions):
    def program(torch, say):
        x, i = torch.zeros(2), torch.tensor([1])
        for expression in expressions.split(";"):
            with pytest.raises((RuntimeError, TypeError, ValueError)) as caught:
                eval(expression.strip(), {"__name__": __name__, "torch": torch, "x": x, "i": i})
            say(expression.strip(), *first_words(caught.value))

    same(program)


def test_combinations_that_memory_cannot_hold():
    with pytest.raises(RuntimeError, match="can't allocate memory: you tried to allocate 3999880000800000 bytes"):
        penlight.combinations(penlight.arange(100_000), 3)
    with pytest.raises(RuntimeError, match="Storage size calculation overflowed"):
        penlight.combinations(penlight.arange(1000), 30)


def test_more_dimensions_than_numpy_has():
    with pytest.raises(ValueError, match="maximum supported dimension for an ndarray is currently 64, found 65"):
        penlight.zeros([1] * 65)
