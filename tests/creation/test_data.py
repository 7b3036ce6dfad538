"""Data that tensors are made of: integers that are too large, what is no number, sizes that are missing."""

from __future__ import annotations

import array
import subprocess
import sys
import types
import warnings

import numpy as np
import pytest

import penlight

OVERFLOW = "Overflow when unpacking long long"
REFUSED = {
    "torch.tensor([None])": (RuntimeError, "Could not infer dtype of NoneType"),
    "torch.tensor([1, None])": (RuntimeError, "Could not infer dtype of NoneType"),
    "torch.tensor([object()])": (RuntimeError, "Could not infer dtype of object"),
    "torch.tensor([None], dtype=torch.float32)": (TypeError, "must be real number, not NoneType"),
    "torch.tensor([1, None], dtype=torch.int64)": (TypeError, "'NoneType' object cannot be interpreted as an integer"),
    "torch.tensor(2**70)": (ValueError, OVERFLOW),
    "torch.tensor([2**63])": (ValueError, OVERFLOW),
    "torch.tensor([1, 2**63])": (ValueError, OVERFLOW),
    "torch.tensor([[-2**64]], dtype=torch.uint8)": (ValueError, OVERFLOW),
    "torch.tensor([2**64], dtype=torch.uint64)": (OverflowError, "int too big to convert"),
    "torch.tensor(-1, dtype=torch.uint64)": (OverflowError, "can't convert negative int to unsigned"),
    "torch.tensor([1.0, 2**70], dtype=torch.uint64)": (TypeError, "an integer is required"),
    "torch.rand()": (TypeError, "rand() received an invalid combination of arguments - got ()"),
    "torch.randn(dtype=torch.float64)": (TypeError, 'randn() missing 1 required positional arguments: "size"'),
    "torch.ones(1, 1).squeeze(0, 0)": (RuntimeError, "dim 0 appears multiple times in the list of dims"),
}
TAKEN = {
    "torch.tensor([2**70], dtype=torch.float32)": "tensor([1.1806e+21])",
    "torch.tensor([1.0, 2**70])": "tensor([1.0000e+00, 1.1806e+21])",
    "torch.tensor([True, 2**70], dtype=torch.bool)": "tensor([True, True])",
    "torch.tensor([2**63], dtype=torch.uint64)": "tensor([9223372036854775808], dtype=torch.uint64)",
    "torch.tensor([-2**63])": "tensor([-9223372036854775808])",
    "torch.rand(size=()).shape": "torch.Size([])",
    "torch.ones(1, 2, 1).squeeze(0, -1)": "tensor([1., 1.])",
    "torch.ones(2, dtype=torch.float64).type(torch.Tensor)": "tensor([1., 1.])",
    "torch.ones(2).type('torch.Tensor').dtype": "torch.float32",
}


@pytest.mark.parametrize("text", REFUSED)
def test_refused(text: str) -> None:
    kind, words = REFUSED[text]
    with pytest.raises(kind) as caught:
        eval(text, {"torch": penlight})
    assert type(caught.value) is kind and str(caught.value).startswith(words)


@pytest.mark.parametrize("text", TAKEN)
def test_taken(text: str) -> None:
    assert str(eval(text, {"torch": penlight})) == TAKEN[text]


@pytest.mark.parity
@pytest.mark.parametrize("text", [*REFUSED, *TAKEN])
def test_parity(text: str) -> None:
    space = {"torch": pytest.importorskip("torch")}
    if text in TAKEN:
        assert str(eval(text, space)) == TAKEN[text]
        return
    kind, words = REFUSED[text]
    with pytest.raises(kind) as caught:
        eval(text, space)
    assert str(caught.value).startswith(words)


def test_asarray_shares_memory_or_refuses(same):
    def program(torch, say):
        for obj in (1.5, [0], [[True]], np.float32(1)):
            say.attempt(lambda obj=obj: torch.asarray(obj, copy=False))
        for obj in (torch.ones(2), np.ones(2, np.float32)):
            say(torch.asarray(obj, copy=False))
            say.attempt(lambda obj=obj: torch.asarray(obj, dtype=torch.int64, copy=False))
        for copy in (None, False, True):
            memory = array.array("d", [1.0, 2.0])
            seen = torch.asarray(memory, copy=copy)
            memory[0] = 5.0
            say(seen, torch.asarray(array.array("i", [1, 2]), dtype=torch.int32, copy=copy))

    same(program)


def test_asarray_requires_grad_as_before_or_as_told(same):
    def program(torch, say):
        with warnings.catch_warnings(action="ignore"):  # of the first time only
            torch.asarray(torch.ones(1, requires_grad=True))
        leaf = lambda: torch.tensor([1.0, 2.0], requires_grad=True)
        for make in (leaf, lambda: leaf() * 2, lambda: torch.ones(2)):
            for wanted in (None, True, False):
                for copy, dtype in ((None, None), (True, None), (None, torch.float32), (False, torch.float64)):
                    x = make()
                    y = torch.asarray(x, requires_grad=wanted, copy=copy, dtype=dtype)
                    say(y, y is x, x.requires_grad, y.is_leaf, y._is_view(), y.data_ptr() == x.data_ptr())
        say(torch.asarray([1.0], requires_grad=True))
        for obj in ([1], torch.tensor([1])):
            say.attempt(lambda obj=obj: torch.asarray(obj, requires_grad=True))

    same(program)


def test_dir_and_star_name_no_modules_of_the_packages_own():
    names = {}
    exec("from penlight import *", names)
    modules = {name for name in dir(penlight) if isinstance(getattr(penlight, name, None), types.ModuleType)}
    assert (
        not {"creation", "dtypes", "kernels", "size"} & {*modules, *names}
        and {"autograd", "nn", "ops", "random"} <= modules
    )
    assert {"add", "float32", "Tensor"} <= names.keys() and not any(
        isinstance(v, types.ModuleType) for v in names.values()
    )


def test_importing_more_of_it_shows_no_more_names():
    program = "import penlight; before = dir(penlight); import penlight.typeinfo, penlight.settings, penlight.numpy_dispatch, penlight.storage; penlight.mine = 1; "
    program += "print(set(dir(penlight)) - set(before), 'storage' in before)"
    seen = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert seen == "{'mine'} True\n"
