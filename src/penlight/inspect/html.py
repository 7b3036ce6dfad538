"""A Drawing as one HTML page that needs no network: the SVG, the boxes' details as JSON, and a small script."""

from __future__ import annotations

import json

from .draw import Drawing
from .svg import to_svg


def to_html(drawing: Drawing) -> str:
    """The page. The script moves one group of the SVG, so that zooming is one change however large the graph."""
    details = [
        {"title": box.title, "kind": box.kind, "lines": box.lines, "details": box.details} for box in drawing.boxes
    ]
    # Inside a script element only "<" can end the element or open a comment.
    data = json.dumps(details).replace("<", "\\u003c")
    head, count, svg, tail = _PAGE.split("@HERE@")  # not replaced in turn: a tensor's name may be anything
    return "".join([head, str(len(drawing.boxes)), count, to_svg(drawing), svg, data, tail])


_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Backward graph</title>
<style>
html, body { margin: 0; height: 100%; font: 14px Helvetica, Arial, sans-serif; color: #222; background: #fff; }
body { display: flex; flex-direction: column; }
#bar { display: flex; gap: 8px; align-items: center; padding: 6px 10px; background: #f4f4f4; border-bottom: 1px solid #ccc; }
#bar input { width: 240px; padding: 3px 6px; font: inherit; }
#bar button { font: inherit; padding: 2px 10px; }
#stage { position: relative; flex: 1; overflow: hidden; }
#stage svg { position: absolute; width: 100%; height: 100%; cursor: grab; user-select: none; touch-action: none; }
#stage svg .paper { display: none; }
.box { cursor: pointer; }
.box.found > rect { stroke: #d02020; stroke-width: 3; }
.box.chosen > rect { stroke: #000; stroke-width: 3; }
.edge.chosen > path:first-child { stroke: #000; stroke-width: 2.4; }
#panel { position: absolute; right: 10px; top: 10px; max-width: 340px; max-height: 80%; overflow: auto; padding: 10px 12px;
  background: #fff; border: 1px solid #aaa; border-radius: 4px; box-shadow: 0 2px 8px rgba(0, 0, 0, .15); }
#panel[hidden] { display: none; }
#panel h2 { font-size: 15px; margin: 0 0 6px; overflow-wrap: anywhere; }
#panel dl { margin: 0; }
#panel dt { color: #555; font-size: 12px; }
#panel dd { margin: 0 0 6px; overflow-wrap: anywhere; }
</style>
</head>
<body>
<div id="bar">
<input id="search" type="search" placeholder="Search: name, node, shape" aria-label="Search">
<span id="count" aria-live="polite">@HERE@ boxes</span>
<button id="in" title="Zoom in">+</button><button id="out" title="Zoom out">&#8722;</button>
<button id="fit">Fit</button><button id="top">Top</button>
</div>
<div id="stage">
@HERE@
<div id="panel" hidden></div>
</div>
<script type="application/json" id="data">@HERE@</script>
<script>
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const stage = document.getElementById("stage"), svg = stage.querySelector("svg"), view = svg.querySelector(".view");
const panel = document.getElementById("panel"), search = document.getElementById("search"), count = document.getElementById("count");
const size = { w: svg.viewBox.baseVal.width, h: svg.viewBox.baseVal.height };
svg.removeAttribute("viewBox");
let x = 0, y = 0, scale = 1, found = [], at = -1;

function show() { view.setAttribute("transform", `translate(${x},${y}) scale(${scale})`); }
function zoom(factor, px, py) {
  const next = Math.min(8, Math.max(0.002, scale * factor));
  x = px - (px - x) * next / scale;
  y = py - (py - y) * next / scale;
  scale = next;
  show();
}
function middle(factor) { zoom(factor, stage.clientWidth / 2, stage.clientHeight / 2); }
function fit() {
  scale = Math.min(1.5, stage.clientWidth / size.w, stage.clientHeight / size.h);
  x = (stage.clientWidth - size.w * scale) / 2;
  y = (stage.clientHeight - size.h * scale) / 2;
  show();
}
function top_() {
  scale = 1;
  y = 0;
  const root = document.getElementById("box0");
  x = root ? stage.clientWidth / 2 - place(root).x : 0;
  show();
}
function place(box) {
  const rect = box.querySelector("rect"), move = box.parentNode.transform.baseVal.getItem(0).matrix;
  return { x: +rect.getAttribute("x") + rect.getAttribute("width") / 2 + move.e,
           y: +rect.getAttribute("y") + rect.getAttribute("height") / 2 + move.f };
}
function go(number) {
  const p = place(document.getElementById("box" + number));
  scale = Math.max(scale, 0.9);
  x = stage.clientWidth / 2 - p.x * scale;
  y = stage.clientHeight / 2 - p.y * scale;
  show();
  choose(number);
}
function choose(number) {
  svg.querySelectorAll(".chosen").forEach(e => e.classList.remove("chosen"));
  panel.hidden = number < 0;
  if (number < 0) return;
  const box = data[number];
  document.getElementById("box" + number).classList.add("chosen");
  svg.querySelectorAll(`.edge[data-from="${number}"], .edge[data-to="${number}"]`).forEach(e => e.classList.add("chosen"));
  panel.textContent = "";
  const add = (tag, text, parent) => { const e = document.createElement(tag); e.textContent = text; parent.append(e); return e; };
  add("h2", box.title, panel);
  const list = add("dl", "", panel);
  for (const [name, value] of Object.entries(box.details)) { add("dt", name, list); add("dd", value, list); }
}

svg.addEventListener("wheel", event => {
  event.preventDefault();
  const r = stage.getBoundingClientRect();
  zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), event.clientX - r.left, event.clientY - r.top);
}, { passive: false });
let drag = null;
svg.addEventListener("pointerdown", event => { drag = { x: event.clientX, y: event.clientY, moved: false }; });
window.addEventListener("pointermove", event => {
  if (!drag) return;
  const dx = event.clientX - drag.x, dy = event.clientY - drag.y;
  if (!drag.moved && Math.abs(dx) + Math.abs(dy) < 4) return;
  drag = { x: event.clientX, y: event.clientY, moved: true };
  x += dx; y += dy;
  show();
});
window.addEventListener("pointerup", event => {
  const click = drag && !drag.moved;
  drag = null;
  if (!click) return;
  const box = event.target.closest ? event.target.closest(".box") : null;
  choose(box ? +box.id.slice(3) : -1);
});
function look() {
  const words = search.value.toLowerCase().split(/\\s+/).filter(Boolean);
  svg.querySelectorAll(".found").forEach(e => e.classList.remove("found"));
  found = []; at = -1;
  if (words.length) data.forEach((box, i) => {
    const text = [box.title, ...box.lines].join(" ").toLowerCase();
    if (words.every(w => text.includes(w))) { found.push(i); document.getElementById("box" + i).classList.add("found"); }
  });
  count.textContent = words.length ? `${found.length} of ${data.length} found` : `${data.length} boxes`;
}
search.addEventListener("input", look);
search.addEventListener("keydown", event => {
  if (event.key !== "Enter" || !found.length) return;
  at = (at + (event.shiftKey ? found.length - 1 : 1)) % found.length;
  if (at < 0) at = found.length - 1;
  count.textContent = `${at + 1} of ${found.length} found`;
  go(found[at]);
});
document.getElementById("in").onclick = () => middle(1.25);
document.getElementById("out").onclick = () => middle(0.8);
document.getElementById("fit").onclick = fit;
document.getElementById("top").onclick = top_;
if (stage.clientHeight / size.h < 0.5) top_(); else fit();
</script>
</body>
</html>
"""
