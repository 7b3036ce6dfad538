"""The words of torch.testing.assert_close beside PyTorch's."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import penlight

pytestmark = pytest.mark.parity
torch = pytest.importorskip("torch")

CASES = """
T([1., 2.]), T([1., 2.5])
T(1.), T(1.1)
T(1), T(2)
T([True, False]), T([True, True])
T([1., nan]), T([1., nan])
T([1., inf]), T([1., 2.])
T([1., nan]), T([1., 2.])
T([0., 2.]), T([0., 0.])
T([1 + 1j]), T([1 + 2j])
T([1., 2.], dtype=torch.float16), T([1., 2.01], dtype=torch.float16)
T([1, 2], dtype=torch.uint8), T([1, 4], dtype=torch.uint8)
T([1.]), T([1.], dtype=torch.float64)
T([[1., 2.], [3., 4.]]).t(), T([[1., 3.], [2., 4.]]), dict(check_stride=True)
T([1., 2.]), T([1., 2.1]), dict(rtol=0.01, atol=0.)
T([1.]), T([2.], dtype=torch.float64), dict(check_dtype=False)
T([1., 2.]), T([1., 3.]), dict(rtol=0, atol=0)
T([1., 2.]), np.array([1., 2.])
T([1.]), None
1., 1
1 + 1j, 1 + 2j
nan, nan
10**20, 10**20 + 1
np.float32(1), np.float32(2)
[[1, [2]]], [[1, [3]]]
{'a': T(1.), 'b': 2}, {'a': T(1.), 'b': 3}
{'a': 1}, {'b': 1}
T([]), T([])
""".strip().splitlines()


@pytest.mark.parametrize("case", CASES)
def test_words(case):
    answers = []
    for module in (penlight, torch):
        arguments = eval(
            f"({case},)", {"T": module.tensor, "torch": module, "np": np, "nan": float("nan"), "inf": float("inf")}
        )
        options = arguments[2] if len(arguments) == 3 else {}
        try:
            module.testing.assert_close(*arguments[:2], **options)
            answers.append("close")
        except Exception as error:
            answers.append(f"{type(error).__name__}: {error}")
    assert answers[0] == answers[1]


def test_pairs_of_a_package_fail_as_in_pytorch():
    def report(lib):
        pairs = importlib.import_module(f"{lib.__name__}.testing._comparison")

        class Near(pairs.TensorLikePair):
            def __init__(self, actual, expected, *, within=0.0, **others):
                super().__init__(actual, expected, **others)
                self.within = within

            def _compare_values(self, actual, expected):
                self._compare_regular_values_close(
                    actual, expected, rtol=0, atol=self.within, equal_nan=False, identifier=lambda name: f"Near {name}"
                )

        kinds = (pairs.NonePair, pairs.BooleanPair, pairs.NumberPair, Near, pairs.ObjectPair)
        actual, expected = [lib.ones(2), 1, True, None, "a"], [lib.ones(2) * 2, 2, False, 3, "b"]
        found = pairs.not_close_error_metas(actual, expected, pair_types=kinds, within=0.5)
        return [(e.type, e.msg, e.id, str(e.to_error())) for e in found], str(pairs.NumberPair(1, 2.0, id=("x",)))

    assert report(penlight) == report(torch)
