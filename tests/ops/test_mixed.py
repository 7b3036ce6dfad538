"""Elementwise ops on operands of several dtypes, complex ones and numbers of another kind: as on the readable path."""

import pytest

import penlight as torch
from penlight.ops.machinery import dispatch
from penlight.ops.machinery.declare import OPS as DECLARED

OPERANDS = {
    "int64": lambda: torch.tensor([3, -2, 5]),
    "bool": lambda: torch.tensor([True, False, True]),
    "float32": lambda: torch.tensor([0.5, -1.5, 2.0], requires_grad=True),
    "float64": lambda: torch.tensor([[1.5], [2.5]], dtype=torch.float64, requires_grad=True),
    "complex64": lambda: torch.tensor([1 + 2j, -0.5j, 3.0], requires_grad=True),
    "0-d float64": lambda: torch.tensor(2.5, dtype=torch.float64, requires_grad=True),
    "0-d int64": lambda: torch.tensor(4),
    "float": lambda: 1.5,
    "int": lambda: 3,
    "complex": lambda: 2 - 1j,
}
OPS = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b,
    "scaled": lambda a, b: torch.add(a, b, alpha=2), "atan2": torch.atan2, "eq": lambda a, b: a == b, "exp": lambda a, b: a.exp(),
}  # fmt: skip


def run(name, first, second):
    a, b = OPERANDS[first](), OPERANDS[second]()
    try:
        result = OPS[name](a, b)
    except (RuntimeError, TypeError, NotImplementedError) as error:
        return type(error), str(error)
    found = [result.dtype, result.shape, repr(result.tolist()), type(result.grad_fn).__name__]
    if result.requires_grad:
        (result.abs().sum() if result.is_complex() else result.sum()).backward()
        found += [repr(t.grad.tolist()) for t in (a, b) if torch.is_tensor(t) and t.grad is not None]
        found += [t.grad.dtype for t in (a, b) if torch.is_tensor(t) and t.grad is not None]
    return found


@pytest.mark.parametrize("second", OPERANDS)
@pytest.mark.parametrize("first", [n for n in OPERANDS if n not in ("float", "int", "complex")])
@pytest.mark.parametrize("name", OPS)
def test_as_on_the_readable_path(name, first, second):
    made = run(name, first, second)
    mixed = {op: op.mixed for op in DECLARED.values()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dispatch, "_mixed", lambda op: lambda *arguments: dispatch.execute(op, arguments))
        for op in mixed:
            patch.setattr(op, "mixed", None)
        assert run(name, first, second) == made
