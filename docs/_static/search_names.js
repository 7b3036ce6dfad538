// "Coming from PyTorch": finds names in the list that tools/reference.py wrote (names.js), while one types.
"use strict";
(function () {
  const query = document.getElementById("names-query");
  const count = document.getElementById("names-count");
  const found = document.getElementById("names-found");
  const words = { present: "available", refused: "refused", missing: "missing" };

  function rank(name, asked) { // how well a name fits: its last part first
    const own = name.slice(name.lastIndexOf(".") + 1).toLowerCase();
    return own === asked ? 0 : own.startsWith(asked) ? 1 : own.includes(asked) ? 2 : 3;
  }

  function item([name, state, note]) {
    const line = document.createElement("li");
    const label = document.createElement(state === "present" && note ? "a" : "code");
    label.textContent = name;
    if (label.tagName === "A") label.href = note;
    const mark = document.createElement("span");
    mark.className = state;
    mark.textContent = words[state];
    line.append(label, " ", mark);
    if (state !== "present" && note) line.append(" " + note);
    return line;
  }

  function show() {
    const asked = query.value.trim().toLowerCase().replace(/^(penlight|torch)\./, "").replace(/\(.*$/, "");
    found.replaceChildren();
    count.textContent = "";
    if (asked.length < 2) return;
    const hits = PENLIGHT_NAMES.filter(([name]) => name.toLowerCase().includes(asked));
    hits.sort((a, b) => rank(a[0], asked) - rank(b[0], asked) || a[0].length - b[0].length);
    count.textContent = hits.length ? `${hits.length} of the ${PENLIGHT_NAMES.length} names match${hits.length > 30 ? "; the first 30:" : ""}` : "No name matches. Only the namespaces named below were compared; torch.cuda, torch.jit, torch.onnx and others were not.";
    found.append(...hits.slice(0, 30).map(item));
  }

  query.addEventListener("input", show);
  if (location.hash.startsWith("#name=")) {
    query.value = decodeURIComponent(location.hash.slice(6));
    show();
  }
})();
