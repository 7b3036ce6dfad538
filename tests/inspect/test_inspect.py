"""Pictures of the backward graph: what is in them, that they are well-formed, and that drawing changes nothing."""

from __future__ import annotations

import gc
import json
import math
import re
import struct
import sys
import weakref
import xml.etree.ElementTree as ET
import zlib
from collections import Counter
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import penlight as torch
from penlight.inspect import draw, record
from penlight.inspect.font import advance, strokes
from penlight.inspect.layout import _rising, text_width
from penlight.inspect.png import dashed, flatten, to_png
from penlight.inspect.svg import COLOURS

SVG = "{http://www.w3.org/2000/svg}"


def groups(drawing: object, name: str) -> list[ET.Element]:
    root = ET.fromstring(drawing.svg())
    return [g for g in root.iter(SVG + "g") if g.get("class", "").split()[:1] == [name]]


def kinds(drawing: object) -> Counter[str]:
    return Counter(box.kind for box in drawing.boxes)


def titles(drawing: object) -> list[str]:
    return sorted(box.title for box in drawing.boxes)


def network(depth: int = 3) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    params, x = {}, torch.ones(2, 4)
    for i in range(depth):
        params[f"layers.{i}.weight"] = w = torch.full((4, 4), 0.1, requires_grad=True)
        params[f"layers.{i}.bias"] = b = torch.zeros(4, requires_grad=True)
        x = x + (x @ w + b).tanh()
    return x.sum(), params


def page_data(page: str) -> dict:
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S).group(1))


def assert_no_overlaps(drawing: object) -> None:
    drawing.layout()
    rows: dict[int, list[object]] = {}
    for box in drawing.boxes:
        rows.setdefault(box.layer, []).append(box)
    bottom = -1.0
    for _, row in sorted(rows.items()):
        row.sort(key=lambda box: box.x)
        for left, right in pairwise(row):
            assert left.x + left.width / 2 < right.x - right.width / 2
        assert min(box.y - box.height / 2 for box in row) > bottom
        bottom = max(box.y + box.height / 2 for box in row)


# ----- What is drawn --------------------------------------------------------------------------------------------------


def test_the_example_of_the_seed():
    a = torch.tensor(2.0, requires_grad=True)
    b = torch.tensor(3.0)
    c = a * b
    drawing = draw(c, params={"a": a, "b": b, "c": c}, saved=True)
    assert titles(drawing) == ["AccumulateGrad", "MulBackward0", "a", "b", "c"]
    assert kinds(drawing) == {"node": 2, "leaf": 1, "constant": 1, "tensor": 1}
    mul = next(box for box in drawing.boxes if box.title == "MulBackward0")
    assert mul.ports == ["0", "None"]
    assert mul.details["next_functions"] == "(AccumulateGrad, 0), (None, 0)"
    assert Counter(link.kind for link in drawing.links) == {"grad_fn": 1, "next": 1, "variable": 1, "saved": 1}


def test_output_numbers_label_the_edges():
    a = torch.tensor([2.0, 3.0, 4.0], requires_grad=True)
    b, c, d = a.unbind()
    drawing = draw(b * c * d, saved=False)
    unbind = next(i for i, box in enumerate(drawing.boxes) if box.title == "UnbindBackward0")
    assert sorted(link.label for link in drawing.links if link.target == unbind) == ["0", "1", "2"]
    labels = [t.text for g in groups(drawing, "edge") for t in g.iter(SVG + "text")]
    assert sorted(labels) == ["0", "0", "0", "1", "2"]


def test_gradients_show_after_backward():
    loss, params = network(1)
    hidden = (params["layers.0.weight"] * 2).sum()
    hidden.retain_grad()
    total = loss + hidden
    assert not any("grad norm" in line for box in draw(total, params).boxes for line in box.lines)
    total.backward()
    drawing = draw(total, {**params, "hidden": hidden})
    boxes = {box.title: box for box in drawing.boxes}
    norm = float(np.linalg.norm(params["layers.0.weight"].grad.numpy().astype("float64")))
    assert boxes["layers.0.weight"].lines == ["(4, 4) float32", f"grad norm {norm:.4g}"]
    assert boxes["hidden"].lines == ["() float32", "value 3.2", "grad 1"]


def test_saved_tensors_freed_and_kept():
    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    z = (y * torch.tensor([1.0, 2.0, 3.0])).sum()
    assert kinds(draw(z, saved=False)) == {"tensor": 1, "node": 4, "leaf": 1}
    assert kinds(draw(z)) == {"tensor": 2, "node": 4, "leaf": 1, "constant": 1}
    z.backward(retain_graph=True)
    assert kinds(draw(z, saved=True))["gone"] == 0
    z.backward()
    assert kinds(draw(z, saved=True))["gone"] == 2
    assert kinds(draw(z)) == {"tensor": 1, "node": 4, "leaf": 1}
    exp = next(box for box in draw(z).boxes if box.title == "ExpBackward0")
    assert exp.details["saved tensors"] == "freed by a backward"
    assert "freed by a backward" in draw(z, saved=True).svg()


def test_an_inplace_write_to_a_saved_tensor_shows():
    x = torch.ones(2, requires_grad=True)
    w = torch.ones(2)
    y = x * w
    w.add_(1)
    assert "modified in place since" in draw(y, saved=True).svg()


def test_a_cycle_by_an_inplace_write_is_drawn():
    h = torch.ones(2, requires_grad=True) * 2
    y = h * h
    h.add_(y)
    assert_no_overlaps(draw((h, y), saved=True))
    ET.fromstring(draw((h, y), saved=True).svg())


def test_writes_to_views_and_graphs_of_gradients_are_drawn():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x.clone()
    y[1:] *= x[:-1]
    z = (y**2).sum()
    (gradient,) = torch.autograd.grad(z, x, create_graph=True)
    drawing = draw((z, gradient.sum()), params={"x": x})
    assert "CopySlices" in titles(drawing) and "AsStridedBackward0" in titles(drawing)
    assert_no_overlaps(drawing)


def test_packed_tensors_are_not_unpacked():
    def refuse(value):
        raise AssertionError("unpacked")

    x = torch.ones(2, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.tolist(), refuse):
        y = x.exp()
    assert "packed by a hook" in draw(y, saved=True).svg()


def test_custom_functions():
    class Square(torch.autograd.Function):
        clear_saved_tensors_on_access = True

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 2 * x * grad

    x = torch.tensor(3.0, requires_grad=True)
    y = Square.apply(x)
    assert titles(draw(y, {"x": x}, saved=True)) == ["AccumulateGrad", "SquareBackward", "result", "x"]
    y.backward()  # drawing has not used up the one access
    assert x.grad.item() == 6
    assert isinstance(draw(y, {"x": x}, saved=True).svg(), str)


def test_leaves_tuples_and_what_is_not_reached():
    w = torch.ones(2, requires_grad=True)
    assert kinds(draw(w)) == {"leaf": 1}
    assert kinds(draw(torch.ones(2))) == {"constant": 1}
    loss = w.sum()
    both = draw((loss, w, w * 2))
    assert titles(both) == ["AccumulateGrad", "MulBackward0", "SumBackward0", "leaf", "result 0", "result 2"]
    assert kinds(both)["leaf"] == 1
    other = torch.ones(1, requires_grad=True)
    drawing = draw(loss, {"w": w, "other": other})
    assert drawing.unreached == ["other"]
    assert "not in this graph: other" in drawing.svg()


def test_a_leaf_that_is_gone():
    y = torch.ones(2, 3, requires_grad=True).exp()
    node = y.grad_fn.next_functions[0][0]
    assert draw(y).boxes[-1].lines == ["(2, 3) float32"]
    assert node._ref() is None


def test_drawing_only_reads_and_keeps_nothing_alive():
    loss, params = network(2)
    nodes = weakref.ref(loss.grad_fn)
    before = [(t._edge, t._vc, sys.getrefcount(t)) for t in params.values()]
    drawing = draw(loss, params, saved=True)
    drawing.svg()
    gc.collect()
    assert [(t._edge, t._vc, sys.getrefcount(t)) for t in params.values()] == before
    loss.backward()
    assert all(t.grad is not None for t in params.values())
    del loss
    assert nodes() is None
    assert "layers.1.weight" in drawing.svg()


@pytest.mark.parametrize("bad", [3, None, "x", (), [torch.ones(1), 2]])
def test_what_is_not_a_tensor_is_refused(bad):
    with pytest.raises(TypeError, match="takes a tensor or a tuple of tensors"):
        draw(bad)


@pytest.mark.parametrize("bad", [3, {"a": 1}, [torch.ones(1)]])
def test_bad_params_are_refused(bad):
    with pytest.raises(TypeError, match="params must be a dict"):
        draw(torch.ones(1), bad)


def test_a_file_in_place_of_params_is_told_apart() -> None:
    with pytest.raises(TypeError, match=r"To write what is returned to a file: .save\('graph.html'\)"):
        torch.inspect.replay(torch.ones(1, requires_grad=True).sum(), "graph.html")


# ----- Formats --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("saved", [False, True])
def test_svg_has_every_box_and_edge(saved):
    loss, params = network()
    drawing = draw(loss, params, saved=saved)
    assert len(groups(drawing, "box")) == len(drawing.boxes)
    edges = [(int(g.get("data-from")), int(g.get("data-to"))) for g in groups(drawing, "edge")]
    assert edges == [(link.source, link.target) for link in drawing.links]
    assert_no_overlaps(drawing)
    assert "result or intermediate" in drawing._repr_svg_()


def test_names_are_escaped():
    w = torch.ones(1, requires_grad=True)
    name = '@HERE@</script><b a="1">&\'\\N\x00\ud800'
    drawing = draw(w.sum(), {name: w})
    shown = [t.text for g in groups(drawing, "box") for t in g.iter(SVG + "text")]
    assert name[:-2] + "??" in shown
    page = drawing.html()
    page.encode()
    assert page.count("</script>") == 2
    assert name in [box["title"] for box in page_data(page)["boxes"]]
    assert '\\"1\\"' in drawing.dot() and "\\\\N" in drawing.dot()


def test_html_is_one_file_without_network():
    class Parser(HTMLParser):
        def __init__(self):
            super().__init__()
            self.addresses, self.ids = [], set()

        def handle_starttag(self, tag, attrs):
            attrs = dict(attrs)
            self.addresses += [attrs[a] for a in ("src", "href", "action") if a in attrs]
            self.ids.add(attrs.get("id"))

    drawing = draw(*network())
    page, parser = drawing.html(), Parser()
    parser.feed(page)
    assert not parser.addresses
    assert set(re.findall("https?://[^\"' ]+", page)) == {"http://www.w3.org/2000/svg"}
    assert {"search", "panel", "fit", "in", "out", "depth", "saved"} <= parser.ids
    graph = page_data(page)
    assert [box["title"] for box in graph["boxes"]] == [box.title for box in drawing.boxes]
    assert [(k["source"], k["target"]) for k in graph["links"]] == [(k.source, k.target) for k in drawing.links]
    assert list(graph["modules"]) == ["layers", "layers.0", "layers.1", "layers.2"]


def test_notebooks_show_it():
    small, large = draw(*network()), draw(*network(12))
    assert set(small._repr_mimebundle_()) == {"text/plain", "image/svg+xml"}
    frame = large._repr_mimebundle_()["text/html"]
    inner = re.fullmatch('<iframe srcdoc="([^"]*)" style="[^"]*"></iframe>', frame).group(1)
    assert inner.replace("&quot;", '"').replace("&amp;", "&") == large.html()


def test_dot():
    drawing = draw(*network(1))
    text = drawing.dot()
    assert text.startswith("digraph") and text.count(" -> ") == len(drawing.links)
    assert text.count("fillcolor") == len(drawing.boxes)


def test_save(tmp_path: Path):
    drawing = draw(*network(1))
    for ending, start in [("svg", "<svg"), ("HTML", "<!DOCTYPE html>"), ("dot", "digraph")]:
        drawing.save(tmp_path / f"g.{ending}")
        assert (tmp_path / f"g.{ending}").read_text().startswith(start)
    for name in ("g.txt", "g"):
        with pytest.raises(ValueError, match=r"must end in \.svg, \.html, \.dot, \.png or \.pdf"):
            drawing.save(tmp_path / name)
        assert not (tmp_path / name).exists()


# ----- Pixels ---------------------------------------------------------------------------------------------------------


def pixels_of(data: bytes) -> np.ndarray:
    """Reads back what we write: RGB, no filters."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed, size = 8, b"", (0, 0)
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        name, content = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        assert struct.unpack(">I", data[at + 8 + length : at + 12 + length]) == (zlib.crc32(name + content),)
        if name == b"IHDR":
            size = struct.unpack(">II", content[:8])
        packed += content if name == b"IDAT" else b""
        at += 12 + length
    rows = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(size[1], 1 + 3 * size[0])
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape(size[1], size[0], 3)


def test_png_shows_boxes_lines_and_letters(tmp_path: Path):
    drawing = draw(*network(1), saved=True)
    drawing.save(tmp_path / "g.png")
    pixels = pixels_of((tmp_path / "g.png").read_bytes())
    svg = ET.fromstring(drawing.svg())
    assert pixels.shape == (math.ceil(2 * float(svg.get("height"))), math.ceil(2 * float(svg.get("width"))), 3)
    left = (float(svg.get("width")) - drawing.layout().width) / 2
    for box in drawing.boxes:
        x, y = 2 * (box.x + left - box.width / 2 + 8), 2 * (box.y + 54 - box.height / 2 + 5)
        fill = COLOURS[box.kind][0]
        assert pixels[round(y), round(x)].tolist() == [int(fill[i : i + 2], 16) for i in (1, 3, 5)]
        part = pixels[round(2 * (box.y + 54 - box.height / 2)) :][
            : round(2 * box.height), round(2 * (box.x + left - box.width / 2)) :
        ]
        assert (part[:, : round(2 * box.width)].sum(-1) < 200).sum() > 30  # dark: letters


def test_a_pdf_has_the_same_texts_and_its_offsets_are_right(tmp_path: Path):
    drawing = draw(torch.ones(2, requires_grad=True).exp().sum(), params={"a (b)": torch.ones(1, requires_grad=True)})
    drawing.save(tmp_path / "g.pdf")
    file = (tmp_path / "g.pdf").read_bytes()
    table = file[int(file.split(b"startxref\n")[1].split()[0]) :]
    offsets = [int(line.split()[0]) for line in table.splitlines()[3:7]]
    assert [file[at : at + 7] for at in offsets] == [b"%d 0 obj" % number for number in range(1, 5)]
    stream = file.split(b"stream\n")[1].removesuffix(b"\nend")
    page = zlib.decompress(stream).decode("cp1252")
    texts = set(re.findall(r"\(((?:\\.|[^()\\])*)\) Tj", page))
    assert {"ExpBackward0", "SumBackward0", "leaf", r"not in this graph: a \(b\)"} <= texts


def test_a_very_large_png_has_fewer_pixels():
    pixels = pixels_of(to_png(draw(*network(12)), most=100_000))
    assert pixels.shape[0] * pixels.shape[1] < 102_000


def test_the_font_has_every_ascii_character():
    for code in range(33, 127):
        width, lines = strokes(chr(code))
        assert lines and all(-0.7 <= x <= width + 0.7 and -3 <= y <= 8 for line in lines for x, y in line), chr(code)
    assert strokes("é") == strokes("e") and strokes("中")[1] != []
    assert advance("ab", 10) == pytest.approx(advance("a", 10) + advance("b", 10))
    assert all(
        advance(text, 11) <= text_width(text, 11) * 1.05
        for text in ("AccumulateGrad", "(3, 4) float32", "layers.0.weight")
    )


def test_paths_are_flattened():
    ((points, closed),) = flatten("M0 0V10C0 20 10 20 10 30l5 5h-5z")
    assert (
        closed and points[:2] == [(0.0, 0.0), (0.0, 10.0)] and points[-3:] == [(10.0, 30.0), (15.0, 35.0), (10.0, 35.0)]
    )
    assert dashed([(0, 0), (10, 0)], 4, 3) == [[(0, 0), (4, 0)], [(7, 0), (10, 0)]]


# ----- Layout ---------------------------------------------------------------------------------------------------------


def test_edges_lead_down_and_a_chain_is_straight():
    x = torch.ones(1, requires_grad=True)
    drawing = draw(x.exp().sin().cos(), saved=False)
    assert_no_overlaps(drawing)
    assert len({round(box.x, 6) for box in drawing.boxes}) == 1
    for link in drawing.links:
        assert drawing.boxes[link.source].layer < drawing.boxes[link.target].layer


def test_a_weight_of_a_long_recurrence_costs_one_column():
    w = torch.eye(2).requires_grad_()
    h = torch.ones(1, 2)
    for _ in range(150):
        h = (h @ w).tanh()
    drawing = draw(h.sum(), {"w": w}, saved=True)
    assert_no_overlaps(drawing)
    assert drawing.layout().width < 2000
    assert sum(len(points) for points in drawing.layout().trunks.values()) < 2000


def test_a_large_graph_is_drawn():
    loss, params = network(250)
    drawing = draw(loss, params)
    assert len(drawing.boxes) > 2000
    assert_no_overlaps(drawing)
    assert drawing.layout().width < 1500
    ET.fromstring(drawing.svg())


def test_rising_pools_what_is_out_of_order():
    assert _rising([3.0, 1.0, 5.0], [1.0, 1.0, 1.0]) == [2.0, 2.0, 5.0]
    assert _rising([3.0, 1.0], [3.0, 1.0]) == [2.5, 2.5]


def test_ways_bend_between_rows_only():
    """No arrow passes over a box."""
    drawing = draw(*network(4), saved=True)
    layout = drawing.layout()
    for target, points in layout.trunks.items():
        for x, top, bottom in points:
            for box in drawing.boxes:
                if box.row == (top, bottom) and box is not drawing.boxes[target]:
                    assert abs(box.x - x) > box.width / 2


# ----- Modules --------------------------------------------------------------------------------------------------------


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.act, self.second = torch.nn.Linear(4, 4), torch.nn.Tanh(), torch.nn.Linear(4, 4)

    def forward(self, x):
        return x + self.second(self.act(self.first(x)))


def modules_of(drawing):
    return {box.title: box.module for box in drawing.boxes if box.kind == "node"}


def test_modules_by_the_names_of_parameters():
    model = torch.nn.Sequential(Block(), Block())
    loss = model(torch.ones(2, 4)).sum()
    drawing = draw(loss, params=dict(model.named_parameters()))
    tanhs = [box.module for box in drawing.boxes if box.title == "TanhBackward0"]
    assert sorted(tanhs) == ["0", "1"]
    assert modules_of(drawing)["SumBackward0"] == ""
    assert {box.module for box in drawing.boxes if box.title == "TBackward0"} == {
        "0.first",
        "0.second",
        "1.first",
        "1.second",
    }
    assert [box.module for box in drawing.boxes if box.title == "1.first.bias"] == ["1.first"]
    assert draw(loss).types == {} and all(not box.module for box in draw(loss).boxes)


def test_modules_by_recorded_calls():
    model = torch.nn.Sequential(Block(), torch.nn.ReLU())
    with record(model) as calls:
        loss = model(torch.ones(2, 4)).sum()
    assert not model[0]._forward_hooks and not model[0]._forward_pre_hooks
    drawing = draw(loss, params=model, calls=calls)
    found = modules_of(drawing)
    assert (found["ReluBackward0"], found["TanhBackward0"], found["SumBackward0"]) == ("1", "0.act", "")
    assert drawing.types["0.act"] == "Tanh"


def test_record_after_an_error_in_a_forward():
    model = torch.nn.Sequential(Block())
    with record(model) as calls:
        with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
            model(torch.ones(2, 3))
        loss = model(torch.ones(2, 4)).sum()
    assert modules_of(draw(loss, params=model, calls=calls))["TanhBackward0"] == "0.act"


def test_folding():
    model = torch.nn.Sequential(Block(), Block())
    with record(model) as calls:
        loss = model(torch.ones(2, 4)).sum()
    drawing = draw(loss, params=model, calls=calls)
    folded = drawing.fold()
    assert titles(folded) == ["0", "1", "SumBackward0", "result"]
    one = next(box for box in folded.boxes if box.title == "1")
    assert one.kind == "module" and one.lines == [
        "Block",
        "(2, 4)",
        f"{one.details['nodes']} nodes, 40 parameters",
    ]
    assert "module" in folded.svg() and '"1\\nBlock' in folded.dot()
    assert_no_overlaps(folded)
    innermost = [box.title for box in drawing.fold(9).boxes if box.kind == "module"]
    assert sorted(innermost) == ["0.act", "0.first", "0.second", "1.act", "1.first", "1.second"]
    with pytest.raises(ValueError, match="at least 1"):
        drawing.fold(0)


class Interleaved(torch.nn.Module):
    """Two lists that take turns, as convolutions and norms do; the third list runs in one go."""

    def __init__(self) -> None:
        super().__init__()
        self.layers, self.norms, self.last = (
            torch.nn.ModuleList(kind(4) if kind is torch.nn.LayerNorm else kind(4, 4) for _ in range(2))
            for kind in (torch.nn.Linear, torch.nn.LayerNorm, torch.nn.Linear)
        )

    def forward(self, x):
        for layer, norm in zip(self.layers, self.norms):
            x = torch.relu(norm(layer(x)))
        for layer in self.last:
            x = layer(x)
        return x


@pytest.mark.parametrize("recorded", [True, False])
def test_modules_that_take_turns_are_not_folded_to_a_cycle(recorded):
    model = Interleaved()
    with record(model) as calls:
        result = model(torch.ones(2, 4))
    folded = draw(result, params=model, saved=False, calls=calls if recorded else None).fold()
    boxes = [box.title for box in folded.boxes]
    assert sorted(title for title in boxes if "Relu" not in title) == [
        "last", "layers.0", "layers.1", "norms.0", "norms.1", "result",
    ]  # fmt: skip
    after = {(boxes[link.source], boxes[link.target]) for link in folded.links}
    assert after >= {("last", "ReluBackward0"), ("norms.1", "layers.1"), ("norms.0", "layers.0")}
    assert not any((target, source) in after for source, target in after if "Relu" not in source + target)


def test_folding_keeps_shallow_modules_whole():
    model = torch.nn.Sequential(Block(), torch.nn.Linear(4, 1))
    drawing = draw(model(torch.ones(2, 4)).sum(), params=model)
    assert [box.title for box in drawing.fold(2).boxes if box.kind == "module"] == ["1", "0.second", "0.first"]


def test_record_and_calls_refuse_strangers():
    with pytest.raises(TypeError, match="takes a module"):
        record(3)
    with pytest.raises(TypeError, match="calls must come from"):
        draw(torch.ones(1), calls=3)
