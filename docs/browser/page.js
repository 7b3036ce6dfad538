const get = (id) => document.getElementById(id);
const [choice, editor, run, stop, status, output, tensor, picture] = ["choice", "editor", "run", "stop", "status", "output", "tensor", "picture"].map(get);
let worker;

function say(text, state) {
  status.textContent = text;
  document.body.dataset.state = state; // loading, ready, running or failed
  run.disabled = state !== "ready";
  stop.disabled = state !== "running";
}

function start() {
  say("Loading Python …", "loading");
  worker = new Worker("worker.js");
  let version = "";
  worker.onmessage = ({ data }) => {
    if (data.ready) {
      version = data.ready;
      say(version, "ready");
    } else if (data.failed) {
      say(data.failed, "failed");
    } else if (data.names) {
      output.textContent = data.output;
      tensor.replaceChildren(...data.names.map((name) => new Option(name)));
      picture.replaceChildren();
      if (data.names.length) draw();
      else say(version, "ready");
    } else {
      picture.innerHTML = data.svg;
      say(version, "ready");
    }
  };
  worker.onerror = (event) => say(event.message, "failed");
}

function draw() {
  say("Drawing …", "running");
  worker.postMessage({ draw: tensor.value });
}

function execute() {
  if (run.disabled) return;
  say("Running …", "running");
  output.textContent = "";
  worker.postMessage({ run: editor.value });
}

async function load() {
  editor.value = await (await fetch(`programs/${choice.value}.py`)).text();
}

run.onclick = execute;
stop.onclick = () => {
  worker.terminate();
  start();
};
choice.onchange = load;
tensor.onchange = draw;
editor.onkeydown = (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    execute();
  }
};
await load();
start();
