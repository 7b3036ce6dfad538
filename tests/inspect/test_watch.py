"""`inspect.watch` and `inspect.memory`: the line that is to blame, and what the graph keeps."""

from __future__ import annotations

import gc
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penlight as torch
from penlight.autograd import modes
from penlight.inspect.values import not_finite
from penlight.ops import OPS
from penlight.ops.fourier import spectrogram  # noqa: F401  # declares its ops when it is first used
from penlight.ops.nn import embedding, recurrent  # noqa: F401
from penlight.utils.checkpoint import checkpoint


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


def test_both_lines_of_a_custom_function() -> None:
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            (x,) = ctx.saved_tensors
            return 2 * x * grad

    def program() -> None:
        x = torch.ones(3, requires_grad=True) * 1
        y = Square.apply(x)  # saves its input
        x.add_(1)  # the culprit
        y.sum().backward()

    text = notes(program)
    assert "It was saved here, for SquareBackward:" in text and "y = Square.apply(x)  # saves its input" in text
    assert "It was written to here, by add_():" in text and "x.add_(1)  # the culprit" in text


@pytest.mark.parametrize("create_graph", [False, True])
def test_both_lines_of_an_index(create_graph: bool) -> None:
    def program() -> None:
        index, x = torch.tensor([0, 1]), torch.ones(3, requires_grad=True)
        y = x[index]  # saves its index
        index += 1  # the culprit
        torch.autograd.grad(y.sum(), x, create_graph=create_graph)

    text = notes(program)
    assert text.count("It was saved here") == 1 and "It was saved here, for IndexBackward0:" in text
    assert "y = x[index]  # saves its index" in text and "index += 1  # the culprit" in text


def test_a_second_backward_pass_names_the_line_of_the_graph_that_is_used_again() -> None:
    cell, state = torch.nn.RNNCell(2, 2), torch.zeros(1, 2)

    def program() -> None:
        nonlocal state
        for _ in range(2):
            state = cell(torch.ones(1, 2), state)  # never detached
            state.sum().backward()

    text = notes(program)
    assert text.startswith("Trying to backward through the graph a second time")
    assert "TanhBackward0 was made here, and an earlier backward pass has freed what it saved:\n" in text
    assert "state = cell(torch.ones(1, 2), state)  # never detached" in text


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


@pytest.mark.parametrize("size", [1, 5, 8, 2**15 - 1, 2**15, 2**15 + 1])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_value_that_is_not_finite_is_found_wherever_it_is(size: int, dtype: type) -> None:
    for layout in (lambda a: a, lambda a: a[::-1], lambda a: a.reshape(-1, 1).T, lambda a: np.repeat(a, 2)[::2]):
        array = layout(np.zeros(size, dtype))
        assert not not_finite(array)
        for index in {0, size // 2 - 1, size // 2, (size + 1) // 2, size - 1} & set(range(size)):
            for value, kind in ((np.nan, "NaN"), (np.inf, "Inf"), (-np.inf, "Inf")):
                array.flat[index] = value
                assert not_finite(array) == {kind}
            array.flat[index] = 0
    array = np.zeros(size, dtype)
    array[0], array[-1] = np.inf, np.nan
    assert not_finite(array) == ({"NaN"} if size == 1 else {"NaN", "Inf"})
    assert not not_finite(np.full(size, np.finfo(dtype).max, dtype))


class Reciprocal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):  # type: ignore[no-untyped-def]
        ctx.save_for_backward(x)
        return x + 1

    @staticmethod
    def backward(ctx, grad):  # type: ignore[no-untyped-def]
        return grad / ctx.saved_tensors[0]


@pytest.mark.parametrize("size", [2, 2**15 + 1])
@pytest.mark.parametrize(
    ("who", "program"),
    [
        ("log_()", lambda x: x.detach().clone().log_()),
        ("div_()", lambda x: (x + 0).div_(x)),
        ("var_mean()", lambda x: torch.var_mean(x * 3e38)),
        ("log()", lambda x: checkpoint(lambda y: y.log() * 0, x, use_reentrant=False)),
        ("log()", lambda x: checkpoint(lambda y: y.log() * 0, x, use_reentrant=True)),
        ("LogBackward0", lambda x: checkpoint(lambda y: (y + 1e-45).log(), x, use_reentrant=False).sum().backward()),
        ("LogBackward0", lambda x: checkpoint(lambda y: (y + 1e-45).log(), x, use_reentrant=True).sum().backward()),
        ("log()", lambda x: torch.no_grad()(torch.log)(x)),
        ("log()", lambda x: torch.inference_mode()(torch.log)(x.detach())),
        ("Reciprocal", lambda x: Reciprocal.apply(x + 1e-45).sum().backward()),
        ("SqrtBackward0", lambda x: torch.autograd.grad(x.sqrt().sum(), x)),
        ("SqrtBackward0", lambda x: torch.autograd.grad(x.sqrt().sum(), x, create_graph=True)),
    ],
)  # fmt: skip
def test_births_of_every_kind_are_named(who: str, program: Callable[[torch.Tensor], object], size: int) -> None:
    x = torch.ones(size)
    x[-1] = 0.0
    x.requires_grad_()
    with (
        pytest.raises(FloatingPointError, match=r"made (NaN|Inf) from") as caught,
        torch.inspect.watch("raise", "raise"),
    ):
        program(x)
    assert str(caught.value).startswith(who), caught.value


def test_what_a_hook_unpacks_is_unpacked_once() -> None:
    calls = []
    x = torch.tensor([0.0, 2.0], requires_grad=True)

    def unpack(packed: torch.Tensor) -> torch.Tensor:
        calls.append(packed)
        return packed

    with torch.inspect.watch(inf="note", nan="note") as seen:
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t, unpack):
            y = x.sqrt()
        for count in (1, 2):
            y.sum().backward(retain_graph=True)
            assert len(calls) == count
    assert [event.count for event in seen.infs] == [2]


def test_a_nan_in_a_checkpoint_that_is_handed_on_is_not_told() -> None:
    x = torch.tensor([float("nan"), 2.0], requires_grad=True)
    with torch.inspect.watch(nan="raise", inf="raise"):
        checkpoint(lambda y: y * x, x, use_reentrant=False).sum().backward()


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


def test_each_result_that_a_program_gets_is_looked_at() -> None:
    """The sign of a determinant comes first, and is finite."""
    with torch.inspect.watch(inf="note") as seen:
        torch.linalg.slogdet(torch.zeros(2, 2))
    assert [event.what.split()[0] for event in seen.infs] == ["linalg_slogdet()"]


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
    loss = torch.ones(2, requires_grad=True).exp().sum()
    loss.backward()
    with pytest.raises(RuntimeError, match="a second time") as caught:
        loss.backward()
    assert caught.value.__notes__ == [how + "made it."]


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


WRITES = {
    "of a leaf's copy": lambda x, y: x.clone().mul_(y),
    "recorded, into the base of a view": lambda x, y: (base := x.clone(), base[0].mul_(y[0]).exp_(), base)[2],
    "of what is broadcast": lambda x, y: x.clone().add_(y[0]),
    "of another dtype": lambda x, y: x.detach().clone().add_(y.double()),
    "of a part of itself": lambda x, y: x.detach().clone().flatten()[1:].sub_(y.flatten()[:-1]),
    "without grad": lambda x, y: x.detach().clone().t().mul_(2),
    "of integers": lambda x, y: torch.arange(6).bitwise_and_(3),
    "of a leaf": lambda x, y: x.add_(1),
    "of an expanded tensor": lambda x, y: torch.zeros(1).expand(3).add_(1),
    "that overlaps": lambda x, y: (z := torch.arange(4.0))[1:].add_(z[:-1]),
    "that does not fit": lambda x, y: torch.ones(2).add_(y),
    "of floats into integers": lambda x, y: torch.ones(2, dtype=torch.int64).add_(0.5),
    "of an object": lambda x, y: torch.Tensor.uniform_(object()),
    "of a saved result": lambda x, y: (z := x.exp(), z.add_(1), z.sum().backward()),
    "of a saved part": lambda x, y: (z := x * 1, w := z[0].exp_(), z.add_(1), w.sum().backward()),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())
def test_writes_are_the_same_inside(write: Callable[..., Any]) -> None:
    def outcome() -> list[object]:
        x, y = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True), torch.full((2, 3), 0.5)
        try:
            z = write(x, y)
            nodes = [] if z.grad_fn is None else [z.grad_fn, *(node for node, _ in z.grad_fn.next_functions if node)]
            if nodes:
                z.sum().backward()
        except Exception as error:
            return [type(error), str(error)]
        return [z.tolist(), z.dtype, z.stride(), z._version, [node.name() for node in nodes], x.grad]

    plain = outcome()
    with torch.inspect.watch(nan="raise", inf="raise"):
        assert str(outcome()) == str(plain)


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


def test_infinities_that_a_program_gives_are_no_births() -> None:
    scores, mask = torch.zeros(2, 2, requires_grad=True), torch.tensor([[False, True], [False, False]])
    with torch.inspect.watch(nan="raise", inf="raise"):
        scores.masked_fill(mask, -math.inf).softmax(-1).sum().backward()
        torch.where(mask, scores, -math.inf)
        torch.nn.functional.pad(torch.zeros(2), (1, 1), value=math.inf)
        torch.zeros(2).fill_(math.inf)
        torch.ones(2, requires_grad=True).mul(math.inf).sum().backward()
    with torch.inspect.watch(nan="raise") as seen:
        torch.zeros(1).log()
    assert seen.infs == []  # they were not looked for


def test_a_birth_in_place_says_what_was_written() -> None:
    x = torch.ones(2)
    with (
        pytest.raises(
            FloatingPointError, match=r"^div_\(\) made Inf(.|\n)*input after the write: .* 2 infinite\n  other: 0"
        ),
        torch.inspect.watch(inf="raise"),
    ):
        x.div_(0)


def test_the_op_that_wrote_is_named() -> None:
    """In a Sequential the line of the program is the same for all layers."""
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Tanh(), torch.nn.ReLU(inplace=True))
    text = notes(lambda: model(torch.ones(1, 2)).sum().backward())
    assert "It was saved here, for TanhBackward0:" in text and "It was written to here, by relu_():" in text


# ----- What need not be looked at ---------------------------------------------------------------------------------------


def _calls() -> dict[str, Callable[[torch.Tensor], object]]:
    """Each op that says that it, or its rules, keep values finite, on a tensor of shape (2, 4)."""
    arguments: dict[str, tuple[object, ...]] = {
        "relu": (), "_clone": (True,), "_stack_one": (), "_unsafe_view": ((8,),), "_sum_all": (), "_sum_dims": ((0,), False), "_mean_all": (),
        "_mean_dims": ((1,), True), "_embedding": (torch.tensor([1, 0, 1]), -1, False, False), "_expand": ((3, 2, 4),), "_unfold": (1, 2, 1),
        "_sliding": (2, 1), "_select": (0, 1), "_slice": (1, 0, 3, 1), "_split": (1, 0), "_split_with_sizes": ((1, 3), 1), "_unbind": (0,), "_diagonal": (0, 0, 1),
        "_view": ((4, 2),), "_reshape_alias": ((4, 2),), "_alias": (), "_squeeze_all": (), "_squeeze_dim": (0,), "_squeeze_dims": ((0,),),
        "_unsqueeze": (0,), "_transpose": (0, 1), "_t": (), "_permute": ((1, 0),), "_nested_view_from_jagged": (), "_sparse_from_values": (), "_nested_get_values": (),
    }  # fmt: skip
    public: dict[str, Callable[[torch.Tensor], object]] = {
        "_as_strided": lambda x: x.as_strided((3, 2), (1, 1)),
        "view_as_complex": lambda x: torch.view_as_complex(x.unflatten(1, (2, 2))),
        "view_as_real": lambda x: torch.view_as_real(torch.view_as_complex(x.unflatten(1, (2, 2)))),
    }
    return {name: (lambda x, name=name: OPS[name].function(x, *arguments[name])) for name in arguments} | public


def _first(values: object) -> torch.Tensor:
    return values if isinstance(values, torch.Tensor) else values[0]  # type: ignore[index]


def _kinds(tensor: torch.Tensor) -> set[str]:
    return {name for name, test in (("NaN", np.isnan), ("Inf", np.isinf)) if test(tensor.detach().numpy()).any()}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
@pytest.mark.parametrize("name", _calls())
def test_what_is_not_looked_at_makes_no_nan_and_no_infinity(name: str, dtype: torch.dtype) -> None:
    if name.startswith("view_as") and dtype is torch.float16:
        pytest.skip("no complex numbers of halves")
    large, inf = torch.finfo(dtype).max, float("inf")
    for row in ([large, -large, 0.0, 1.0], [large, large, large, large], [inf, -inf, 0.0, large]):
        values = torch.tensor([row, row[::-1]], dtype=dtype)
        if "op" in OPS[name].keeps_finite:
            assert _kinds(_first(_calls()[name](values))) <= _kinds(values)
        if "rules" in OPS[name].keeps_finite:
            x = torch.ones(2, 4, dtype=dtype, requires_grad=True)
            out = _first(_calls()[name](x))
            shape = (*out.shape, 2) if out.is_complex() else out.shape
            grad = values.view(-1)[: math.prod(shape)].reshape(shape)
            out.backward(torch.view_as_complex(grad) if out.is_complex() else grad)
            assert x.grad is not None and _kinds(x.grad) <= _kinds(grad)


def test_every_op_that_is_not_looked_at_is_tried() -> None:
    source = """
import importlib, pkgutil, penlight.ops
for module in pkgutil.walk_packages(penlight.ops.__path__, "penlight.ops."):
    importlib.import_module(module.name)  # some declare their ops when they are first used
ops = penlight.ops.OPS
print(*[name for name in ops if ops[name].keeps_finite])
"""
    kept = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True).stdout.split()
    assert set(kept) == set(_calls())


_LARGE = 3e38


@pytest.mark.parametrize(
    ("who", "program"),
    [
        ("sum()", lambda x: x.sum()),
        ("sum()", lambda x: x.sum(0)),
        ("mean()", lambda x: x.mean(0)),
        ("gelu()", lambda x: torch.nn.functional.gelu(torch.full((2,), -math.inf))),
        ("softmax()", lambda x: torch.full((2,), -math.inf).softmax(0)),
        ("view_dtype()", lambda x: torch.tensor([0x7F800000], dtype=torch.int32).view(torch.float32)),
        ("to_copy()", lambda x: x.half()),
        ("mul()", lambda x: torch.nn.functional.embedding(torch.tensor([0, 1]), x) * 2),
        ("mul()", lambda x: x.clone().relu().view(-1).expand(2, 4).t()[1:] * 2),
        ("ExpandBackward0", lambda x: x[:1].expand(3, 2).backward(torch.full((3, 2), _LARGE))),
        ("UnfoldBackward0", lambda x: x.view(-1).unfold(0, 2, 1).backward(torch.full((3, 2), _LARGE))),
        ("AsStridedBackward0", lambda x: OPS["_sliding"].function(x.view(-1), 2, 1).backward(torch.full((3, 2), _LARGE))),
        ("AsStridedBackward0", lambda x: x.as_strided((3, 2), (0, 1)).backward(torch.full((3, 2), _LARGE))),
        ("EmbeddingBackward0", lambda x: torch.nn.functional.embedding(torch.tensor([0, 0]), x).backward(torch.full((2, 2), _LARGE))),
        ("MulBackward0", lambda x: (torch.zeros(2, 2, requires_grad=True) * x.detach()).backward(torch.full((2, 2), 2.0))),
    ],
)  # fmt: skip
def test_births_beside_what_is_not_looked_at(who: str, program: Callable[[torch.Tensor], object]) -> None:
    x = torch.full((2, 2), _LARGE, requires_grad=True)
    with torch.inspect.watch(nan="note", inf="note") as seen:
        program(x)
    assert [event.what.split()[0] for event in seen.infs + seen.nans] == [who]


def test_a_timeline_and_a_watch_are_both_told() -> None:
    x = torch.ones(100, requires_grad=True)

    def program() -> None:
        ((x.detach() * 2 + x) / 0).sum().backward()

    with torch.inspect.watch(inf="note") as outer, torch.inspect.timeline() as memory:
        program()
    with torch.inspect.timeline() as other, torch.inspect.watch(inf="note") as inner:
        program()
    assert memory.peak == other.peak > 400
    for seen in (outer, inner):
        assert [event.what for event in seen.cuts] == ["detach()"]
        assert [event.what.split()[0] for event in seen.infs] == ["div()", "DivBackward0"]
    assert modes.log.get() is None


def test_of_two_watches_the_inner_one_counts() -> None:
    model, x = torch.nn.Linear(2, 2), torch.ones(1, 2)
    with torch.inspect.watch(nan="raise") as outer:
        with torch.inspect.watch(nan="note") as inner:
            torch.zeros(1) / 0
        torch.inspect.summary(model, x)
    assert len(inner.nans) == 1 and not outer.nans and not outer.writes


def test_forward_mode_and_vmapped_passes_are_looked_at() -> None:
    zeros = torch.zeros(3)
    with torch.inspect.watch(inf="note") as seen:
        torch.func.jvp(torch.sqrt, (zeros,), (torch.ones(3),))
        torch.func.jacrev(torch.sqrt)(zeros)
    forward, backward = [event.what for event in seen.infs]
    assert forward == "div() made Inf from values without Inf"
    assert backward.startswith("SqrtBackward0 (the gradient of its input 0) made Inf")


def test_an_optimiser_that_makes_infinity_in_a_parameter() -> None:
    w = torch.nn.Parameter(torch.ones(3))
    w.grad = torch.full((3,), 10.0)
    with pytest.raises(FloatingPointError) as caught, torch.inspect.watch(inf="raise"):
        torch.optim.SGD([w], lr=1e38).step()
    told = str(caught.value)
    assert told.startswith("step() of an optimiser made Inf from gradients without Inf:\n") and "test_watch.py" in told
    assert "  gradient: (3,) float32, 10\n  parameter after the step: (3,) float32, 3 infinite" in told


def test_what_an_optimiser_hands_on_is_silent() -> None:
    w = torch.nn.Parameter(torch.ones(3))
    with torch.inspect.watch(nan="note", inf="note") as seen:
        for _ in range(3):
            w.grad = torch.full((3,), torch.nan)
            torch.optim.SGD([w], lr=1.0).step()
    assert not seen.nans and not seen.infs


_HALVES = """
import penlight as torch
x = torch.ones(2, 3, dtype=torch.float16)
for mode in (torch.inspect.watch, torch.inference_mode, torch.no_grad):
    with mode():
        assert {(x * 2).dtype, (2 * x).dtype, x.mul(torch.tensor(2.0)).dtype, (x / 3).dtype} == {torch.float16}
        assert torch.t_copy(x).stride() == (2, 1) and type(torch.diag(x.clone().requires_grad_()).grad_fn).__name__ != "CloneBackward0"
"""


def test_halves_stay_halves_where_bfloat16_was_not_used() -> None:
    subprocess.run([sys.executable, "-c", _HALVES], check=True)
