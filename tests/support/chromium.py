"""A real headless Chromium that tests look through: weft's own driver, with a network and a page that stays open."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from weft.errors import SpecError
from weft.fetch.browser import pipe
from weft.fetch.browser.program import command_of, find_browser

ANSWER_S = 60.0


def program() -> str | None:
    """The path of a Chromium, or None."""
    try:
        return find_browser()
    except SpecError:
        return None


class Chromium:
    """A browser with one page. What the page asks of the network is kept, and so is what it says on its console."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.said: list[str] = []
        self._events: list[str] = []
        self._session = ""

    def __enter__(self) -> Self:
        name = program()
        assert name is not None
        self._loop = asyncio.new_event_loop()
        self._changed = asyncio.Event()
        self._driver = pipe.Chromium(
            lambda profile: command_of(name, profile, sandbox=False, images=True, network=("--disable-quic",)),
            self._note,
        )
        self._loop.run_until_complete(self._driver.__aenter__())
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.run_until_complete(self._driver.__aexit__(kind, error, trace))
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()

    # --- the protocol

    def call(self, method: str, **values: Any) -> dict[str, Any]:
        """The result of a command of the protocol."""
        answer = self._driver.call(method, self._session, **values)
        return self._loop.run_until_complete(asyncio.wait_for(answer, ANSWER_S))

    def _note(self, _session: str, method: str, values: dict[str, Any]) -> None:
        match method:
            case "Network.requestWillBeSent":
                self.asked.append(values["request"]["url"])
            case "Log.entryAdded":
                self.said.append(f"{values['entry']['level']}: {values['entry']['text']}")
            case "Runtime.consoleAPICalled":
                self.said.append(f"console: {values['args']}")
            case "Runtime.exceptionThrown":
                self.said.append(f"exception: {values['exceptionDetails']}")
        self._events.append(method)
        self._changed.set()

    def _wait_for(self, method: str) -> None:
        async def wait() -> None:
            while method not in self._events:
                self._changed.clear()
                await self._changed.wait()

        self._loop.run_until_complete(asyncio.wait_for(wait(), ANSWER_S))

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
