"""A real headless Chromium, driven over a pipe by its DevTools protocol: no port, no driver, no other package."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-extensions", "--disable-default-apps", "--mute-audio",
    "--hide-scrollbars", "--disable-dev-shm-usage", "--remote-debugging-pipe",
)  # fmt: skip
HAND_OVER = """
import os, sys
pipes = [os.dup(int(number)) for number in sys.argv[1:3]]
while min(pipes) < 5:
    pipes = [os.dup(number) for number in pipes]
os.dup2(pipes[0], 3)
os.dup2(pipes[1], 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""The browser reads from 3 and writes to 4: what the test has as other numbers."""

ANSWER_S = 60.0


def program() -> str | None:
    """The path of a Chromium, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Chromium:
    """A browser with one page. What the page asks of the network is kept, and so is what it says on its console."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.said: list[str] = []
        self._events: list[dict[str, Any]] = []
        self._number = 0
        self._rest = b""
        self._session = ""

    def __enter__(self) -> Self:
        name = program()
        assert name is not None
        self._place = tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True)
        down, self._write = os.pipe()
        self._read, up = os.pipe()

        home = {**os.environ, **dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"), self._place.name)}
        self._process = subprocess.Popen(
            [sys.executable, "-c", HAND_OVER, str(down), str(up), name, *FLAGS,
             f"--user-data-dir={self._place.name}/profile", "about:blank"],
            pass_fds=(down, up), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True, env=home,
        )  # fmt: skip
        os.close(down)
        os.close(up)
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, 9)
        self._process.wait(10)
        os.close(self._read)
        os.close(self._write)
        self._place.cleanup()

    # --- the protocol

    def call(self, method: str, **values: Any) -> dict[str, Any]:
        """The result of a command of the protocol."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": values}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                result = answer["result"]
                assert isinstance(result, dict)
                return result

    def _next(self) -> dict[str, Any]:
        deadline = time.monotonic() + ANSWER_S
        while b"\0" not in self._rest:
            left = deadline - time.monotonic()
            assert left > 0 and select.select([self._read], [], [], left)[0], "the browser does not answer"
            piece = os.read(self._read, 1 << 20)
            assert piece, "the browser is gone"
            self._rest += piece
        raw, _, self._rest = self._rest.partition(b"\0")
        message = json.loads(raw)
        assert isinstance(message, dict)
        self._note(message)
        return message

    def _note(self, message: dict[str, Any]) -> None:
        values = message.get("params", {})
        match message.get("method"):
            case "Network.requestWillBeSent":
                self.asked.append(values["request"]["url"])
            case "Log.entryAdded":
                self.said.append(f"{values['entry']['level']}: {values['entry']['text']}")
            case "Runtime.consoleAPICalled":
                self.said.append(f"console: {values['args']}")
            case "Runtime.exceptionThrown":
                self.said.append(f"exception: {values['exceptionDetails']}")
            case None:
                return
        self._events.append(message)

    def _wait_for(self, method: str) -> None:
        while not any(event["method"] == method for event in self._events):
            self._next()

    # --- the page

    def open(
        self, path: Path, *, width: int = 1280, height: int = 900, dark: bool = False, script: bool = True
    ) -> None:
        """Opens a file as a window of that size would."""
        self.call("Emulation.setScriptExecutionDisabled", value=not script)
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media="", features=[scheme])
        self._events.clear()
        self.asked.clear()
        self.said.clear()
        self.call("Page.navigate", url=path.absolute().as_uri())
        self._wait_for("Page.loadEventFired")

    def run(self, expression: str) -> Any:
        """The value of an expression in the page; a promise is waited for."""
        settings = {"returnByValue": True, "awaitPromise": True}
        settings["allowUnsafeEvalBlockedByCSP"] = False  # the page's own policy holds for us too
        found = self.call("Runtime.evaluate", expression=expression, **settings)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def frames(self, number: int = 2) -> None:
        """Waits until the page was painted so many times."""
        for _ in range(number):
            self.run("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)))")

    def key(self, name: str, text: str = "") -> None:
        """Presses a key, and lets it go."""
        self.call("Input.dispatchKeyEvent", type="keyDown", key=name, text=text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=name)

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x: float, y: float) -> None:
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, button="left", clickCount=1)
        self.mouse("mouseReleased", x, y, button="left", clickCount=1)

    def screenshot(self, *, whole: bool = False) -> bytes:
        """A PNG of the window, or of the whole page."""
        return base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=whole)["data"])

    def pdf(self) -> bytes:
        """The page as it would be printed."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])
