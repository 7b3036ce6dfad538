"""`inspect.watch` and `inspect.memory`: the line that is to blame, and what the graph keeps."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path

import pytest

import penlight as torch
from penlight.autograd import modes


def notes(program: Callable[[], None], kind: type[Exception] = RuntimeError) -> str:
    with pytest.raises(kind) as caught, torch.inspect.watch(nan="raise"):
        program()
    return "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])


def test_the_write_that_spoilt_a_gradient() -> None:
    x = torch.ones(3, requires_grad=True)

    def program() -> None:
        y = x.exp()  # saves its result
        y.add_(1)  # the culprit
        y.sum().backward()

    text = notes(program)
    assert "modified by an inplace operation" in text
    assert "It was saved here, for ExpBackward0:" in text and "y = x.exp()  # saves its result" in text
    assert "It was written to here" in text and "y.add_(1)  # the culprit" in text


def test_a_write_through_a_view_and_by_an_optimiser() -> None:
    x = torch.ones(3, requires_grad=True)

    def view() -> None:
        y = x * 2
        q = y.sin()
        y.view(3)[0] = 3.0  # through a view
        q.sum().backward()

    assert "# through a view" in notes(view)
    a, b = torch.nn.Linear(3, 3), torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD([*a.parameters(), *b.parameters()], lr=0.1)

    def step() -> None:
        loss = b(a(torch.ones(2, 3))).sum()
        loss.backward(retain_graph=True)
        optimizer.step()  # between two passes
        loss.backward()

    assert "# between two passes" in notes(step)


@pytest.mark.parametrize(
    ("cut", "what"),
    [
        (lambda x: (x * 2).detach() * 3, "detach()"),
        (lambda x: x.data + 1, ".data"),
        (lambda x: (x > 0).float(), "gt() has no derivative"),
        (lambda x: torch.no_grad()(lambda: x * 2)() + 1, "mul() ran under no_grad"),
    ],
)
def test_the_line_that_cut_the_graph(cut: Callable[[torch.Tensor], torch.Tensor], what: str) -> None:
    x = torch.ones(3, requires_grad=True)

    def program() -> None:
        cut(x).sum().backward()

    text = notes(program)
    assert text.startswith("element 0 of tensors does not require grad and does not have a grad_fn")
    assert f"It was cut off the graph here:\n{what}:\n" in text and "test_watch.py" in text


def test_nothing_was_cut() -> None:
    assert "Nothing that it was made from requires grad" in notes(lambda: torch.ones(2).sum().backward())


def test_where_a_nan_was_born() -> None:
    z = torch.zeros(2, requires_grad=True)

    def program() -> None:
        bad = z / z  # here
        (bad + 1).sum()

    assert "div() made NaN from values without NaN" in notes(program, FloatingPointError)
    assert "bad = z / z  # here" in notes(program, FloatingPointError)
    assert "  input: (2,) float32, 0, 2 zero" in notes(program, FloatingPointError)
    with torch.inspect.watch() as seen:
        program()
        program()
    assert [(event.what, event.count) for event in seen.nans] == [("div() made NaN from values without NaN", 2)]
    assert str(seen).startswith("NaN:\ndiv() made NaN from values without NaN (2 times):\n")
    with torch.inspect.watch(nan="ignore") as seen:
        program()
    assert seen.nans == []


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.complex64])
def test_large_values_are_finite(dtype: torch.dtype) -> None:
    """Also where the sum of their squares is not: NaN and infinities are looked for by it first."""
    large = torch.full((3, 4), torch.finfo(dtype).max, dtype=dtype)
    for x in (large, large.T, large[:, ::2], large[0].expand(5, 4)):
        with torch.inspect.watch(nan="raise", inf="raise"):
            assert not x.clone().isnan().any()
        with torch.inspect.watch(inf="note") as seen:
            x + x
        assert len(seen.infs) == 1


def test_an_infinity_born_in_the_backward_pass_names_the_line_of_the_forward_pass() -> None:
    x = torch.tensor([4.0, 0.0], requires_grad=True)

    def program() -> float:
        y = x.sqrt()  # has no derivative at 0
        y.sum().backward()
        return 0.0

    with pytest.raises(FloatingPointError) as caught, torch.inspect.watch(inf="raise"):
        program()
    text = str(caught.value)
    assert text.startswith(
        "SqrtBackward0 (the gradient of its input 0) made Inf from a gradient and saved values without Inf:"
    )
    assert "y = x.sqrt()  # has no derivative at 0" in text and "result: (2,) float32, from 0 to 2, 1 zero" in text
    with torch.inspect.watch(inf="note") as seen:
        (x.sqrt() * 2).sum().backward()
    assert [event.what.split()[0] for event in seen.infs] == ["SqrtBackward0"]


def test_the_traceback_of_a_nan_has_only_frames_of_the_program() -> None:
    x = torch.zeros(2, requires_grad=True)
    for program in (lambda: x / x, lambda: (x * x).sqrt().sum().backward()):
        with pytest.raises(FloatingPointError) as caught, torch.inspect.watch(nan="raise"):
            program()
        assert {Path(str(entry.path)).name for entry in caught.traceback} == {"test_watch.py"}


def test_what_an_op_keeps_for_itself_may_be_infinite() -> None:
    frames = torch.zeros(10, 1, 3, requires_grad=True).log_softmax(-1)
    labels, sizes = torch.ones(1, 2, dtype=torch.long), (torch.tensor([10]), torch.tensor([2]))
    with torch.inspect.watch(nan="raise", inf="raise"):
        torch.nn.functional.ctc_loss(frames, labels, *sizes).backward()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64, torch.complex64])
def test_every_floating_dtype_is_looked_at(dtype: torch.dtype) -> None:
    ones, zeros = torch.ones(3, 2, dtype=dtype), torch.zeros(2, dtype=dtype)
    with torch.inspect.watch(nan="note", inf="note") as seen:
        ones.t() * 2  # finite, and not contiguous
        if dtype is torch.float64:
            ones * 1e200  # finite, though not its square
        ones[:, ::2] / zeros[0]
    assert len(seen.infs) + len(seen.nans) >= 1 and all("div()" in event.what for event in seen.infs + seen.nans)


def test_nan_that_is_handed_on_is_not_told_again() -> None:
    bad = torch.tensor([float("nan"), 1.0], requires_grad=True)
    with torch.inspect.watch(nan="raise", inf="raise"):
        y = (bad * 2).exp()
        y.add_(1)
        y.detach().mul_(3)
        (bad * bad).sum().backward()


def test_a_custom_function_is_told_by_its_line() -> None:
    class Root(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):  # type: ignore[no-untyped-def]
            ctx.save_for_backward(x)
            return x.sqrt()

        @staticmethod
        def backward(ctx, grad):  # type: ignore[no-untyped-def]
            return grad / (2 * ctx.saved_tensors[0].sqrt())

    x = torch.zeros(1, requires_grad=True)
    with (
        pytest.raises(FloatingPointError, match=r"RootBackward .* made Inf(.|\n)*Root\.apply"),
        torch.inspect.watch(inf="raise"),
    ):
        Root.apply(x).sum().backward()


def test_without_it_errors_point_to_it() -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.ones(2).sum().backward()
    how = "`with penlight.inspect.watch():` or `penlight run --watch` tells which line "
    assert caught.value.__notes__ == [how + "cut it off."]
    y = torch.ones(2, requires_grad=True).exp()
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation") as caught:
        y.sum().backward()
    assert caught.value.__notes__ == [how + "saved it, and which wrote to it."]


def test_it_leaves_nothing_behind() -> None:
    before = modes.NAMESPACE["SLOW"]
    x = torch.ones(3, requires_grad=True)
    with torch.inspect.watch() as outer:
        with torch.inspect.watch() as inner:
            y = x.detach() * 2
            y += 1
        assert modes.log.get() is outer
        assert len(inner._made) == 1 and len(inner._written) == 1  # of the dead there is no trace
        del y
        gc.collect()
        assert not inner._made and not inner._written
    assert modes.NAMESPACE["SLOW"] == before and modes.log.get() is None
    with pytest.raises(ValueError, match="nan must be"):
        torch.inspect.watch(nan="no")


def test_gradients_are_the_same_inside() -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    x = torch.randn(5, 4)
    outside = torch.autograd.grad(model(x).pow(2).mean(), list(model.parameters()))
    with torch.inspect.watch():
        inside = torch.autograd.grad(model(x).pow(2).mean(), list(model.parameters()))
    assert all(torch.equal(a, b) for a, b in zip(outside, inside))


def test_memory_counts_shared_memory_once() -> None:
    w = torch.ones(10, 20, requires_grad=True)
    x = torch.ones(5, 10)
    with torch.inspect.watch():
        h = (x @ w).tanh()  # the line
        loss = (h * h).sum()
    report = torch.inspect.memory(loss)
    assert report.total == 5 * 20 * 4
    assert report.parameters == x.nbytes
    tanh = next(row for row in report.rows if row.node == "TanhBackward0")
    assert tanh.line.endswith("# the line")
    loss.backward()
    assert torch.inspect.memory(loss).total == 0


def test_memory_refuses_what_is_no_tensor() -> None:
    with pytest.raises(TypeError, match=r"memory\(\) takes tensors, not int"):
        torch.inspect.memory(3)  # type: ignore[arg-type]


def test_infinite_gradients_of_scalars_are_seen() -> None:
    x = torch.tensor(0.0, requires_grad=True)
    with pytest.raises(FloatingPointError, match=r"SqrtBackward0 .* made Inf"), torch.inspect.watch(inf="raise"):
        (x * 1).sqrt().backward()


def test_ops_that_keep_values_finite_are_not_looked_at_twice() -> None:
    x = torch.tensor([1.0, float("inf")], requires_grad=True)
    with torch.inspect.watch(nan="note", inf="note") as seen:
        (x.relu().clone() * 0).sum().backward()
    assert [event.what for event in seen.nans] == ["mul() made NaN from values without NaN"]
    assert not seen.infs
