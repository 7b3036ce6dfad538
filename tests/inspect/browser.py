"""A headless Chromium, spoken to in its DevTools protocol over a pipe: no package is needed."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
    "--window-size=1200,900",
]


class Browser:
    """One page. `ask` evaluates JavaScript in it; `click`, `drag`, `wheel` and `press` are what a person does."""

    def __init__(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="penlight-chromium-")
        there, self.commands = os.pipe()  # the browser reads commands from its descriptor 3 and answers on 4
        self.answers, back = os.pipe()

        # The shell puts them there: descriptors of a child keep their numbers otherwise.
        command = f'exec "$@" 3<&{there} 4>&{back}'
        self.process = subprocess.Popen(
            ["bash", "-c", command, "chromium", str(PROGRAM), *FLAGS, f"--user-data-dir={self.folder}", "about:blank"],
            pass_fds=(there, back), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(there)
        os.close(back)
        self.number, self.buffer, self.session = 0, b"", ""
        self.errors: list[str] = []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for part in ("Page", "Runtime", "Network"):
            self.send(part + ".enable")
        self.addresses: list[str] = []

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and wait for its answer; errors and requests of the page are noted meanwhile."""
        self.number += 1
        message: dict[str, Any] = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def receive(self, limit: float = 60.0) -> dict[str, Any]:
        end = time.monotonic() + limit
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.answers], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                raise TimeoutError("the browser does not answer")
            self.buffer += os.read(self.answers, 1 << 20)
        text, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(text)
        if message.get("method") == "Runtime.exceptionThrown":
            self.errors.append(str(message["params"]["exceptionDetails"]))
        if message.get("method") == "Network.requestWillBeSent":
            self.addresses.append(message["params"]["request"]["url"])
        return message

    def open(self, path: Path, dark: bool = False) -> None:
        self.send(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}],
        )
        self.send("Page.navigate", url=path.resolve().as_uri())
        while self.receive().get("method") != "Page.loadEventFired":
            pass

    def ask(self, expression: str) -> Any:
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def middle(self, selector: str) -> tuple[float, float]:
        box = self.ask(f"(() => {{ const r = document.querySelector({json.dumps(selector)}).getBoundingClientRect();"
                       "return [r.x + r.width / 2, r.y + r.height / 2]; })()")  # fmt: skip
        return box[0], box[1]

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, selector: str, count: int = 1) -> None:
        x, y = self.middle(selector)
        for nth in range(1, count + 1):
            self.mouse("mousePressed", x, y, button="left", clickCount=nth)
            self.mouse("mouseReleased", x, y, button="left", clickCount=nth)

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        self.mouse("mousePressed", *start, button="left", clickCount=1)
        self.mouse("mouseMoved", *end, button="left")
        self.mouse("mouseReleased", *end, button="left", clickCount=1)

    def press(self, key: str) -> None:
        text = {"text": "\r"} if key == "Enter" else {}
        code = {"Enter": 13, "Escape": 27}[key]
        for kind in ("keyDown", "keyUp"):
            self.send(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                windowsVirtualKeyCode=code,
                **(text if kind == "keyDown" else {}),
            )

    def type(self, text: str) -> None:
        self.send("Input.insertText", text=text)

    def picture(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.send("Page.captureScreenshot")["data"]))

    def close(self) -> None:
        try:
            self.session = ""
            self.send("Browser.close")
        except (OSError, TimeoutError):
            self.process.kill()
        self.process.wait(20)
        for number in (self.commands, self.answers):
            os.close(number)
        shutil.rmtree(self.folder, ignore_errors=True)
