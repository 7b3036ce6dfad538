"""`penlight demo`: train a small network on handwritten digits, and draw the loss and the graph."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

import penlight as torch
from penlight import Tensor, nn

from . import digits
from .svg import line_chart

TRAINING = 1500  # images to learn from; the rest tests


class Progress:
    """Shows the progress of training: one line that is overwritten on a terminal, otherwise one line per epoch."""

    def __init__(self, epochs: int, steps: int, out: TextIO) -> None:
        self.epochs, self.steps, self.out = epochs, steps, out
        self.live = out.isatty()
        self.mark = "█" if _can_write("█", out) else "#"
        self.start = time.perf_counter()

    def step(self, epoch: int, step: int, loss: float) -> None:
        """Report the end of a step."""
        if self.live:
            done = (epoch * self.steps + step) / (self.epochs * self.steps)
            bar = self.mark * round(24 * done)
            self._write(f"\repoch {epoch + 1:2d}/{self.epochs} [{bar:<24}] {done:4.0%}  loss {loss:.3f}")

    def epoch(self, epoch: int, loss: float, accuracy: float) -> None:
        """Report the end of an epoch."""
        took = time.perf_counter() - self.start
        text = f"epoch {epoch + 1:2d}/{self.epochs}  loss {loss:.4f}  accuracy on unseen digits {accuracy:6.1%}  {took:5.1f} s"
        self._write(f"\r{text:<76}\n" if self.live else text + "\n")

    def _write(self, text: str) -> None:
        self.out.write(text)
        self.out.flush()


def make_network() -> Any:
    """A convolution and two linear layers: 9 thousand parameters."""
    layers = OrderedDict(
        conv=nn.Conv2d(1, 8, 3, padding=1), relu=nn.ReLU(), pool=nn.MaxPool2d(2),
        flat=nn.Flatten(), hidden=nn.Linear(128, 64), again=nn.ReLU(), scores=nn.Linear(64, 10),
    )  # fmt: skip
    return nn.Sequential(layers)


def train(
    network: Any, images: Tensor, labels: Tensor, epochs: int, out: TextIO
) -> dict[str, list[tuple[float, float]]]:
    """Train the network; returns the loss of each step, and the loss on unseen digits after each epoch."""
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(images[:TRAINING], labels[:TRAINING]), batch_size=50, shuffle=True
    )
    optimizer = torch.optim.Adam(network.parameters(), lr=3e-3)
    progress = Progress(epochs, len(loader), out)
    curves: dict[str, list[tuple[float, float]]] = {"while learning": [], "on unseen digits": []}
    for epoch in range(epochs):
        total = 0.0
        for step, (batch, wanted) in enumerate(loader):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(network(batch), wanted)
            loss.backward()
            optimizer.step()
            total += loss.item()
            curves["while learning"].append((epoch + (step + 1) / len(loader), loss.item()))
            progress.step(epoch, step + 1, loss.item())
        unseen, accuracy = test(network, images[TRAINING:], labels[TRAINING:])
        curves["on unseen digits"].append((epoch + 1.0, unseen))
        progress.epoch(epoch, total / len(loader), accuracy)
    return curves


def test(network: Any, images: Tensor, labels: Tensor) -> tuple[float, float]:
    """The loss and the accuracy."""
    with torch.no_grad():
        scores = network(images)
        right = (scores.argmax(1) == labels).float().mean().item()
        return nn.functional.cross_entropy(scores, labels).item(), right


def show_digits(network: Any, images: Tensor, labels: Tensor, out: TextIO) -> None:
    """Print as many digits as fit side by side, with the network's predictions."""
    count = max(1, min(6, (shutil.get_terminal_size((80, 24)).columns - 2) // 18))
    with torch.no_grad():
        read = network(images[:count]).argmax(1).tolist()
    shades = " ░▒▓█" if _can_write("█", out) else " .:*#"
    levels = (images[:count, 0] * (len(shades) - 1)).round().long().tolist()
    for row in range(8):
        out.write("  " + "  ".join("".join(shades[v] * 2 for v in image[row]) for image in levels) + "\n")
    names = [
        f"read as {guess}" + ("" if guess == label else f", is {label}") for guess, label in zip(read, labels.tolist())
    ]
    out.write("  " + "  ".join(name.center(16) for name in names) + "\n")


def _can_write(text: str, out: TextIO) -> bool:
    try:
        text.encode(out.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def draw_graph(network: Any, images: Tensor, labels: Tensor, folder: Path) -> Path:
    """Draw the graph of one backward pass, as a picture and as an interactive page; returns the path without extension."""
    from penlight.inspect import draw, record

    network.zero_grad()
    with record(network) as calls:
        loss = nn.functional.cross_entropy(network(images[:2]), labels[:2])
    loss.backward(retain_graph=True)
    drawing = draw(loss, params=network, calls=calls)
    drawing.save(folder / "graph.svg")
    drawing.save(folder / "graph.html")
    return folder / "graph"


def _folder(wanted: str | None) -> Path:
    """The directory for pictures; a temporary one if the default is not writable."""
    folder = Path(wanted or "penlight-demo")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".writable").touch()
        (folder / ".writable").unlink()
    except OSError:
        if wanted is not None:
            raise
        folder = Path(tempfile.mkdtemp(prefix="penlight-demo-"))
    return folder


def main(arguments: Sequence[str]) -> int:
    """Run the demonstration and return the exit code."""
    parser = argparse.ArgumentParser(
        "penlight demo", description="Train a small network on handwritten digits, and draw what happened."
    )
    parser.add_argument("--epochs", type=int, default=20, help="how many times to go through the digits (default: 20)")
    parser.add_argument("--seed", type=int, default=0, help="the seed of all random numbers (default: 0)")
    parser.add_argument("--out", metavar="DIR", help="where to write the pictures (default: ./penlight-demo)")
    options = parser.parse_args(arguments)
    if options.epochs < 1:
        parser.error("argument --epochs: must be at least 1")
    try:
        folder = _folder(options.out)
    except OSError as error:
        print(f"penlight demo: cannot write to {options.out}: {error.strerror}", file=sys.stderr)
        return 1
    return _demo(options.epochs, options.seed, folder)


def _demo(epochs: int, seed: int, folder: Path) -> int:
    out = sys.stdout
    torch.manual_seed(seed)
    images, labels = digits.load()
    order = torch.randperm(len(images))
    images, labels = images[order], labels[order]
    network = make_network()
    count = sum(p.numel() for p in network.parameters())
    print(
        f"{len(images)} handwritten digits, {TRAINING} to learn from. A network of {count} parameters:\n\n{network}\n",
        flush=True,
    )
    curves = train(network, images, labels, epochs, out)
    out.write("\nSome of the digits that it had not seen:\n\n")
    show_digits(network, images[TRAINING:], labels[TRAINING:], out)
    chart = folder / "loss.svg"
    chart.write_text(line_chart("Learning to read digits", "epoch", "loss", curves), encoding="utf-8")
    graph = draw_graph(network, images, labels, folder).resolve()
    print(f"\nThe loss curve:               {chart.resolve()}")
    print(f"The graph of a backward pass: {graph}.svg")
    print(f"The same, for a browser:      {graph}.html")
    return 0
