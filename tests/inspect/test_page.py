"""The page of a Drawing in a real browser: where Chromium is installed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import penlight as torch
from penlight import nn
from penlight.inspect import Drawing, draw, replay

from .browser import PROGRAM, Browser

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="Chromium is not installed")

OVERLAPS = """(() => {
  const boxes = picture.boxes, bad = [];
  for (let i = 0; i < boxes.length; i++) for (let j = 0; j < i; j++) {
    const a = boxes[i], b = boxes[j];
    if (Math.abs(a.x - b.x) < (a.width + b.width) / 2 && Math.abs(a.y - b.y) < (a.height + b.height) / 2) bad.push([a.title, b.title]);
  }
  return bad;
})()"""
CUT = """[...document.querySelectorAll(".box")].filter(g => {
  const r = g.querySelector("rect").getBoundingClientRect();
  return [...g.querySelectorAll("text:not(.none)")].some(t => {
    const s = t.getBoundingClientRect(); return s.left < r.left || s.right > r.right || s.top < r.top || s.bottom > r.bottom; });
}).map(g => g.textContent)"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    browser = Browser()
    yield browser
    browser.close()


def encoder(layers: int) -> Drawing:
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 8, batch_first=True, dropout=0.0), layers)
    return draw(model(torch.ones(1, 3, 8)).sum(), params=model)


def network() -> Drawing:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    loss = model(torch.ones(2, 3)).sum()
    loss.backward(retain_graph=True)
    return draw(loss, params=model)


def show(browser: Browser, drawing: Drawing, folder: Path, dark: bool = False) -> None:
    browser.errors.clear()
    browser.addresses.clear()
    drawing.save(folder / "graph.html")
    browser.open(folder / "graph.html", dark)


def boxes(browser: Browser) -> int:
    return browser.ask("document.querySelectorAll('.box').length")


def test_all_is_drawn_and_nothing_is_fetched(browser: Browser, tmp_path: Path) -> None:
    drawing = network()
    show(browser, drawing, tmp_path)
    assert boxes(browser) == len(drawing.boxes)
    assert browser.ask("document.querySelectorAll('.edge').length") == len(drawing.links)
    assert browser.ask(OVERLAPS) == [] and browser.ask(CUT) == []
    assert [a for a in browser.addresses if not a.startswith("file:")] == []
    assert browser.errors == []
    assert "grad norm" in browser.ask("document.querySelector('svg').textContent")


def test_zoom_pan_and_fit(browser: Browser, tmp_path: Path) -> None:
    show(browser, network(), tmp_path)
    before = browser.ask("scale")
    browser.mouse("mouseWheel", 600, 400, deltaX=0, deltaY=-200)
    assert browser.ask("scale") > before
    x, y = browser.ask("[x, y]")
    browser.drag((100, 500), (160, 470))
    assert browser.ask("[x, y]") == pytest.approx([x + 60, y - 30])
    browser.click("#in")
    browser.click("#fit")
    assert browser.ask("scale") <= 1.5
    assert browser.ask("picture.height * scale") <= browser.ask("stage.clientHeight")
    assert browser.errors == []


def test_a_click_shows_details(browser: Browser, tmp_path: Path) -> None:
    with torch.autograd.set_detect_anomaly(True):
        w = torch.ones(2, 2, requires_grad=True)
        loss = w.exp().sum()
    show(browser, draw(loss, params={"w": w}), tmp_path)
    browser.click("#box2 rect")
    text = browser.ask("panel.innerText")
    assert "ExpBackward0" in text and "saved result\n(2, 2) float32" in text
    assert "test_page.py" in text and "w.exp().sum()" in text
    assert browser.ask("document.querySelectorAll('.edge.chosen').length") > 1
    browser.press("Escape")
    assert browser.ask("panel.hidden")


def test_search(browser: Browser, tmp_path: Path) -> None:
    show(browser, encoder(2), tmp_path)
    browser.click("#search")
    browser.type("linear1.weight")
    assert browser.ask("document.getElementById('count').textContent").startswith("2 of")
    assert browser.ask("document.querySelectorAll('.box.found').length") == 2
    browser.press("Enter")
    assert browser.ask("panel.querySelector('h2').textContent").endswith("linear1.weight")
    first = browser.ask("chosen")
    browser.press("Enter")
    assert browser.ask("chosen") != first
    x, y = browser.middle(".box.chosen")
    assert (x, y) == pytest.approx(browser.middle("#stage"), abs=2)


def test_folding_by_module(browser: Browser, tmp_path: Path) -> None:
    drawing = encoder(2)
    show(browser, drawing, tmp_path)
    assert boxes(browser) == len(drawing.boxes)
    browser.ask("document.getElementById('depth').value = 2; document.getElementById('depth').onchange()")
    assert boxes(browser) == len(drawing.fold(2).boxes)
    titles = browser.ask("[...document.querySelectorAll('.box.module .title')].map(t => t.textContent)")
    assert sorted(titles) == ["layers.0", "layers.1"]
    assert browser.ask(OVERLAPS) == [] and browser.ask(CUT) == []
    few = boxes(browser)
    browser.ask("goTop()")
    assert browser.ask("document.getElementById('depth').value") == "2"
    browser.click(".box.module rect", count=2)  # unfolds it, one level
    assert browser.ask("document.getElementById('depth').value") == "-1"
    assert "layers.1.self_attn" in browser.ask("document.querySelector('svg').textContent")
    assert few < boxes(browser) < len(drawing.boxes)
    browser.click(".box.module rect")
    assert browser.ask("[...panel.querySelectorAll('button')].map(b => b.textContent)")[1:] == [
        "Fold layers.1",
        "Fold layers",
    ]
    browser.click("#panel button:nth-of-type(2)")
    assert boxes(browser) == few
    # what is inside of a folded module is found, and shown
    browser.click("#search")
    browser.type("layers.0.linear2.bias")
    assert browser.ask("document.querySelectorAll('.box.module.found').length") == 1
    browser.press("Enter")
    assert browser.ask("panel.querySelector('h2').textContent") == "layers.0.linear2.bias"
    assert browser.errors == []


def test_saved_tensors_can_be_hidden(browser: Browser, tmp_path: Path) -> None:
    drawing = network()
    show(browser, drawing, tmp_path)
    browser.click("#saved")
    assert boxes(browser) < len(drawing.boxes)
    assert browser.ask("document.querySelectorAll('.edge.saved').length") == 0
    browser.click("#saved")
    assert boxes(browser) == len(drawing.boxes)


def test_two_thousand_boxes(browser: Browser, tmp_path: Path) -> None:
    drawing = encoder(24)
    assert len(drawing.boxes) > 2000
    show(browser, drawing, tmp_path)
    assert boxes(browser) < 200  # it opens folded
    browser.ask("foldTo(0)")
    assert boxes(browser) == len(drawing.boxes)
    assert browser.ask(OVERLAPS) == []
    browser.mouse("mouseWheel", 600, 400, deltaX=0, deltaY=-200)
    browser.click("#fit")
    assert browser.errors == []


def test_a_long_chain_draws_only_the_lines_in_sight(browser: Browser, tmp_path: Path) -> None:
    x, w = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    for _ in range(300):
        x = x * w
    show(browser, draw(x), tmp_path)
    in_sight = "[...document.querySelectorAll('.trunk')].filter(line => line.getClientRects().length).length"
    lines = browser.ask("document.querySelectorAll('.trunk').length")
    assert lines > 250 and browser.ask(in_sight) < 30
    lengths = "[...document.querySelectorAll('[stroke-dasharray]')].map(line => line.getTotalLength())"
    assert browser.ask(f"Math.max(...{lengths}) < 10 * BAND && picture.height > 20 * BAND")
    browser.click("#fit")
    assert browser.ask(in_sight) == lines and browser.errors == []


def test_dark(browser: Browser, tmp_path: Path) -> None:
    show(browser, network(), tmp_path, dark=True)
    assert browser.ask("getComputedStyle(document.body).backgroundColor") == "rgb(28, 30, 34)"
    assert browser.ask("getComputedStyle(document.querySelector('.box text')).fill") == "rgb(34, 34, 34)"


def test_names_are_shown_as_they_are(browser: Browser, tmp_path: Path) -> None:
    w = torch.ones(1, requires_grad=True)
    name = '</script><b a="1">&\'\\N'
    show(browser, draw(w * 2, {name: w}), tmp_path)
    assert name in browser.ask("[...document.querySelectorAll('.title')].map(t => t.textContent)")
    assert browser.errors == []


def taking_turns() -> Drawing:
    """`layers` and `norms` are not folded: see Note [Whose node is it] in inspect/modules.py."""
    layers, norms = (
        nn.ModuleList(make() for _ in range(2)) for make in (lambda: nn.Linear(4, 4), lambda: nn.LayerNorm(4))
    )
    x = torch.ones(2, 4)
    for layer, norm in zip(layers, norms):
        x = norm(layer(x))
    return draw(x, params=nn.ModuleDict({"layers": layers, "norms": norms}))


@pytest.mark.parametrize("drawn", [lambda: encoder(3), taking_turns], ids=["encoder", "taking_turns"])
@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_the_page_lays_out_as_the_picture_does(
    browser: Browser, tmp_path: Path, depth: int, drawn: Callable[[], Drawing]
) -> None:
    """See Note [Laid out twice] in inspect/layout.py."""
    drawing = drawn()
    show(browser, drawing, tmp_path)
    browser.ask(f"foldTo({depth})")
    expected = drawing.fold(depth) if depth else drawing
    layout = expected.layout()
    places = browser.ask("picture.boxes.map(box => [box.title, box.x, box.y, box.width, box.height])")
    assert [place[0] for place in places] == [box.title for box in expected.boxes]
    for place, box in zip(places, expected.boxes):
        assert place[1:] == pytest.approx([box.x, box.y, box.width, box.height], abs=0.1), box.title
    assert browser.ask("[picture.width, picture.height]") == pytest.approx([layout.width, layout.height], abs=0.1)
    assert browser.ask("[...picture.trunks.keys()]") == list(layout.trunks)
    drawn = browser.ask(
        "picture.links.map((link, i) => document.querySelector(`.edge[data-link='${i}'] path`).getAttribute('d'))"
    )
    for here, there in zip(drawn, re.findall('<g class="edge .*?<path d="(.*?)"', expected.svg()), strict=True):
        assert re.findall("[A-Za-z]", here) == re.findall("[A-Za-z]", there)
        assert numbers(here) == pytest.approx(numbers(there), abs=0.11)


def numbers(path: str) -> list[float]:
    return [float(word) for word in re.findall(r"[-.\d]+", path)]


def test_the_film_of_a_backward_pass(browser: Browser, tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    film = replay(model(torch.ones(2, 3)).sum(), params=model)
    show(browser, film, tmp_path)
    steps = len(film.frames)
    assert browser.ask('document.getElementById("film").hidden') is False
    assert browser.ask('document.getElementById("frame").textContent') == f"the backward pass: {steps} steps"
    browser.click("#on")
    browser.click("#on")
    assert browser.ask('document.getElementById("frame").textContent') == f"2 of {steps}: AddmmBackward0"
    assert browser.ask('document.querySelector(".running .title").textContent') == "AddmmBackward0"
    assert browser.ask('document.querySelectorAll(".ran:not(.running)").length') == 1
    assert "leaves to ReluBackward0" in browser.ask('document.getElementById("panel").textContent')
    assert browser.ask('document.querySelectorAll(".bars i").length') > 0
    browser.ask("setStep(frames.length); setStep(2); 1")
    assert browser.ask('document.querySelectorAll(".ran:not(.running)").length') == 1
    browser.click("#back")
    assert browser.ask('document.querySelector(".running .title").textContent') == "SumBackward0"
    browser.ask(
        'document.getElementById("depth").value = 1; document.getElementById("depth").onchange(); setStep(3); 1'
    )
    assert browser.ask('document.querySelectorAll(".running.module").length') == 1
    assert browser.errors == []


def test_a_picture_without_film_has_no_bar(browser: Browser, tmp_path: Path) -> None:
    show(browser, network(), tmp_path)
    assert browser.ask('document.getElementById("film").hidden') is True


def test_the_minimap_of_a_large_picture(browser: Browser, tmp_path: Path) -> None:
    show(browser, network(), tmp_path)
    browser.click("#fit")
    assert browser.ask("map.hidden") is True
    show(browser, encoder(3), tmp_path)
    browser.ask("foldTo(0); goTop(); 1")
    assert browser.ask("map.hidden") is False
    before = browser.ask("y")
    wide, high = browser.ask("[map.width, map.height]")
    browser.click("#map")
    assert browser.ask("y") < before - 500 and 20 <= wide <= 180 >= high
    middle = browser.ask("(stage.clientHeight / 2 - y) / scale / picture.height")
    assert 0.4 < middle < 0.6
    assert browser.errors == []
