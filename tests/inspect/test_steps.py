"""`inspect.steps` and `inspect.replay`: the backward pass node by node."""

from __future__ import annotations

from typing import Any

import pytest

import penlight as torch
from penlight import nn
from penlight.inspect import draw, record, replay, steps
from penlight.inspect.draw import draw_with_nodes


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))


def test_steps_do_what_backward_does() -> None:
    model, x = network(), torch.ones(2, 3)
    expected = torch.autograd.grad(model(x).pow(2).sum(), list(model.parameters()))
    names = [step.name for step in steps(model(x).pow(2).sum())]
    assert (
        names[:4] == ["SumBackward0", "PowBackward0", "AddmmBackward0", "AccumulateGrad"]
        and names.count("AccumulateGrad") == 4
    )
    assert all(torch.equal(p.grad, e) for p, e in zip(model.parameters(), expected))


def test_what_a_step_says() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.inspect.watch():
        y = x.exp().sum()  # the line
    first, second, last = steps(y)
    assert first.arrived[0].item() == 1 and first.leaf is None and first.freed == []
    assert second.freed == ["result"] and "# the line" in str(second.line)
    assert last.leaf is x and torch.equal(last.leaving[0], x.grad)
    assert repr(last) == "<AccumulateGrad: (2,) float32 norm 7.873 -> into .grad>"


def test_gradients_can_be_changed_on_the_way() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    for step in steps((x * 3).sum()):
        if step.name == "SumBackward0":
            step.leaving[0] = torch.tensor([1.0, 0.0])
        elif step.leaf is x:
            step.leaving[0] = step.leaving[0] + 100
    assert x.grad.tolist() == [103.0, 100.0]


def test_hooks_run_and_an_early_end_leaves_the_rest_undone() -> None:
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    seen: list[torch.Tensor] = []
    y.register_hook(seen.append)
    for step in steps(y.sum(), retain_graph=True):
        if step.name == "MulBackward0":
            break
    assert len(seen) == 1 and x.grad is None and torch.is_grad_enabled()
    assert [step.freed for step in steps(torch.ones(1, requires_grad=True).exp())] == [["result"], []]


def test_a_leaf_alone_and_what_is_refused() -> None:
    x = torch.tensor(1.0, requires_grad=True)
    assert [step.name for step in steps(x)] == ["AccumulateGrad"] and x.grad.item() == 1
    for function in (steps, replay):  # at the call, not at the first step
        with pytest.raises(TypeError, match=rf"{function.__name__}\(\) takes a tensor, not int"):
            function(3)
    with pytest.raises(RuntimeError, match="does not require grad"):
        list(steps(torch.ones(())))


def test_a_film_changes_nothing() -> None:
    model = network()
    loss = model(torch.ones(2, 3)).pow(2).sum()
    film = replay(loss, params=model)
    assert all(p.grad is None for p in model.parameters())
    assert [frame["name"] for frame in film.frames][:2] == ["SumBackward0", "PowBackward0"]
    assert all(film.boxes[frame["box"]].title == frame["name"] for frame in film.frames)
    assert film.frames[-1]["leaving"][0]["where"] in {f"into {name}.grad" for name, _ in model.named_parameters()}
    assert film.boxes[film.frames[2]["box"]].lines == ["(2, 1)"]
    relu = next(frame for frame in film.frames if frame["name"] == "ReluBackward0")
    assert sum(relu["arrived"][0]["counts"]) == 8 and relu["frees"] == ["result"]
    loss.backward()
    assert all(p.grad is not None for p in model.parameters())


@pytest.mark.parametrize("recorded", [True, False])
def test_a_module_that_is_called_twice_has_two_boxes(recorded: bool) -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.block = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
            self.other = nn.Linear(2, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.block(self.other(self.block(x)))

    model = Twice()
    with record(model) as calls:
        loss = model(torch.ones(1, 2)).sum()
    drawing = draw(loss, params=model, calls=calls if recorded else None, saved=False)
    assert {box.module for box in drawing.boxes if box.kind == "node"} >= {"block.0", "block:2.0", "other"}
    folded = drawing.fold()
    titles = [box.title for box in folded.boxes]
    assert {"block", "block:2", "other"} <= set(titles)
    assert folded.types["block:2"] == "Sequential"
    place = {title: number for number, title in enumerate(titles)}
    ways = {(link.source, link.target) for link in folded.links}
    assert (place["block:2"], place["other"]) in ways and (place["other"], place["block:2"]) not in ways


def _programs() -> dict[str, Any]:
    """Functions that give a loss through ops of many kinds: elementwise, reducing, views, several results, written in place, custom."""
    a, b, image = (
        torch.randn(5, 5, requires_grad=True),
        torch.randn(5, 1, requires_grad=True),
        torch.randn(2, 3, 12, 12),
    )
    cnn = nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(100, 3)
    )
    encoder, lstm = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), nn.LSTM(4, 8)

    class Halves(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> Any:
            return x[:2] * 2, x[2:].sum()

        @staticmethod
        def backward(ctx: Any, one: torch.Tensor, two: torch.Tensor) -> torch.Tensor:
            return torch.cat([one * 2, two.expand(3, 5)])

    def written() -> torch.Tensor:
        x = a * 2
        x[1:3] = b[:2]
        x[0].mul_(3)
        x[torch.tensor([4])] = 1.0
        return x.sum()

    return {
        "cnn": lambda: nn.functional.cross_entropy(cnn(image), torch.tensor([1, 2])),
        "encoder": lambda: encoder(torch.randn(2, 5, 8)).pow(2).mean(),
        "lstm": lambda: lstm(torch.randn(5, 2, 4))[0][-1].softmax(-1).log().mean(),
        "broadcast": lambda: (torch.where(a[:1] > 0, a, b) + b.T * a.double() + (1j * b).abs()).sum(),
        "reduced": lambda: (a @ b).sum(0, keepdim=True).prod() + a.std(0).sum() + a.max(dim=1).values.norm() + a.logsumexp(0)[1],
        "views": lambda: sum((part**2).sum() for part in a.t().unsqueeze(1).expand(5, 2, 5).permute(2, 0, 1).split([2, 3])),
        "joined": lambda: torch.stack([a[0], torch.cat([a, b], 1)[1:, :5].mean(0)]).cumsum(1).sum(),
        "written": written,
        "custom": lambda: sum(part.sum() for part in Halves.apply(a * 1)),
        "packed": lambda: _packed(a, b),
    }  # fmt: skip


def _packed(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    with torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x):
        return (a * b).exp().sum()


@pytest.mark.parametrize("name", _programs())
def test_boxes_say_the_shapes_of_results(name: str) -> None:
    loss = _programs()[name]()
    drawing, indices = draw_with_nodes(loss, None, None, None)
    for step in steps(loss):
        box = drawing.boxes[indices[id(step.node)]]
        if step.leaf is None:
            assert len(box.lines) == min(len(step.arrived), 3)
            for shape, grad in zip(box.lines, step.arrived):
                assert grad is None or shape == str(tuple(grad.shape)), step.name
    after = [box.lines for box in draw(loss, saved=False).boxes if box.kind == "node"]
    assert after == [box.lines for box in drawing.boxes if box.kind == "node"]  # also when all is freed
