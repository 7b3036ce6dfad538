"""Values pinned from PyTorch 2.13.0 for what the samples of its `op_db` found: masks, segments, scans, `out=`."""

from __future__ import annotations

import inspect

import pytest

import penlight as torch
from penlight.autograd import gradcheck, gradgradcheck

X = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
MASK = torch.tensor([[True, False, True], [False, False, False]])


@pytest.mark.parametrize(
    "name, wanted",
    [
        ("sum", [4.0, 0.0]), ("prod", [3.0, 1.0]), ("amax", [3.0, -torch.inf]), ("amin", [1.0, torch.inf]), ("mean", [2.0, torch.nan]),
        ("var", [2.0, torch.nan]), ("argmax", [2.0, 0.0]), ("median", [1.0, torch.nan]), ("logsumexp", [3.1269280110429727, -torch.inf]),
    ],
)  # fmt: skip
def test_masked_reductions(name: str, wanted: list[float]) -> None:
    got = getattr(torch.masked, name)(X, 1, mask=MASK)
    assert torch.allclose(got, torch.tensor(wanted), equal_nan=True)


def test_masked_refuses_a_mask_with_more_dimensions() -> None:
    with pytest.raises(IndexError, match="mask dimensionality higher than of the input"):
        torch.masked.sum(X[0], 0, mask=MASK)


def test_segments_along_a_later_dimension() -> None:
    lengths = torch.tensor([[1, 2], [3, 0]])
    assert torch.segment_reduce(X, "sum", lengths=lengths, axis=1).tolist() == [[1.0, 5.0], [15.0, 0.0]]
    assert torch.segment_reduce(X, "max", lengths=lengths, axis=1, initial=2.5).tolist() == [[2.5, 3.0], [6.0, 2.5]]


def test_segments_by_indices_are_refused() -> None:
    with pytest.raises(RuntimeError, match="indices based reduction is not supported yet"):
        torch.segment_reduce(X[0], "sum", lengths=torch.tensor([3]), indices=torch.tensor([0]))


@pytest.mark.parametrize("name", ["rrelu", "rrelu_"])
def test_slopes_are_drawn_by_the_generator(name: str) -> None:
    got = getattr(torch, name)(-torch.ones(3), training=True, generator=torch.Generator().manual_seed(1))
    assert got.tolist() == pytest.approx([-0.13770, -0.17178, -0.17382], abs=1e-4)


def test_running_logarithms_of_complex_sums_do_not_underflow() -> None:
    got = torch.logcumsumexp(torch.tensor([-800 + 1j, 2j, 3.0 - 7j], dtype=torch.complex128), 0)
    wanted = torch.tensor([-800 + 1j, 2j, 2.953807327937927 - 6.9785101541891725j], dtype=torch.complex128)
    assert torch.allclose(got, wanted, atol=1e-6)


def test_logsumexp_of_a_single_complex_number() -> None:
    assert torch.logsumexp(torch.tensor(1 + 2j), 0).item() == 1 + 2j


def test_the_numbers_that_a_group_norm_used_have_gradients() -> None:
    x = torch.arange(36.0, dtype=torch.float64).sin().reshape(2, 6, 3).requires_grad_()
    weight = torch.linspace(0.5, 1.5, 6, dtype=torch.float64, requires_grad=True)

    def norm(a: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return torch.native_group_norm(a, w, None, 2, 6, 3, 2, 1e-5)

    assert gradcheck(norm, (x, weight), check_forward_ad=True) and gradgradcheck(norm, (x, weight))


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: torch.mm(X, X.t(), out=torch.empty(2, 2, dtype=torch.float64)), "Expected out tensor to have dtype float, but got double instead"),
        (lambda: torch.exp(X, out=torch.empty(2, 3, dtype=torch.int64)), "result type Float can't be cast to the desired output type Long"),
        (lambda: torch.floor(X, out=torch.empty(2, 3, dtype=torch.float64)), "Found dtype Double but expected Float"),
        (lambda: torch.cat([X, X], out=torch.empty(4, 3, dtype=torch.int64)), "input types can't be cast to the desired output type Long"),
        (lambda: torch.linalg.svd(X, out=(torch.empty(0), torch.empty(0), torch.empty(0).double())), "Expected out tensor to have dtype float, but got double"),
        (lambda: torch.kthvalue(X, 1, out=(torch.empty(0), torch.empty(0))), "output indices must be of scalar type Long"),
        (lambda: torch.eq(2, X), r"eq\(\) received an invalid combination of arguments - got \(int, Tensor\)"),
        (lambda: torch.mul(X, None), r"mul\(\): argument 'other' \(position 2\) must be Tensor, not NoneType"),
    ],
)  # fmt: skip
def test_refused(call, words: str) -> None:
    with pytest.raises((RuntimeError, TypeError), match=words):
        call()


def test_nothing_is_written_if_one_of_several_outputs_is_refused() -> None:
    values, indices = torch.zeros(2), torch.zeros(2)
    with pytest.raises(RuntimeError):
        torch.max(X, 1, out=(values, indices))
    assert values.tolist() == [0.0, 0.0]


def test_sums_and_draws_are_made_in_the_dtype_of_out() -> None:
    assert torch.sum(X, 1, out=torch.empty(0, dtype=torch.int32)).tolist() == [6, 15]
    torch.manual_seed(0)
    drawn = torch.rand(3, out=torch.empty(3, dtype=torch.float64))
    torch.manual_seed(0)
    assert torch.equal(drawn, torch.rand(3, dtype=torch.float64))


def test_signatures_tell_of_out() -> None:
    assert str(inspect.signature(torch.exp)) == "(input: 'Tensor', *, out: 'Tensor | None' = None) -> 'Tensor'"
    assert "out" not in inspect.signature(torch.Tensor.exp_).parameters
    assert "out" not in inspect.signature(torch.relu).parameters
