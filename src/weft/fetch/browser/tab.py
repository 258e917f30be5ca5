"""A tab: renders one page after the other, each request of theirs answered from outside."""

from __future__ import annotations

import asyncio
import base64
import time
from contextlib import suppress
from typing import Any

import msgspec

from weft.fetch.browser import scripts
from weft.fetch.browser.pipe import Chromium, CommandFailed
from weft.fetch.browser.values import Answer, PageRequest, Settings
from weft.records import Fetched, Rendered

MAIN_LOADS_MOST = 4  # a page may load itself anew: cookie gates do
ROUTES_MOST = 1_000
CLICKS_MOST = 50
SHOT_HEIGHT_MOST = 16_000
COMMAND_S = 5.0  # what a page that is not stuck answers within
CLEAN_S = 3.0
_ENCODED = frozenset(("content-encoding", "content-length", "transfer-encoding"))
_NEVER_ASKED = frozenset(("ping", "cspviolationreport", "prefetch", "manifest", "signedexchange"))
_NOTHING = "about:blank"


class PageLost(Exception):
    """The page took its tab down, or does not answer any more; the tab is of no more use."""


class Tab:
    """A page of the browser, with the frames, workers and pop-ups that belong to it."""

    def __init__(
        self, chromium: Chromium, target: str, session: str, settings: Settings, group: asyncio.TaskGroup
    ) -> None:
        self.target = target
        self.session = session
        self.sessions = {session}  # its own, and those of frames, workers and pop-ups
        self._popups: dict[str, str] = {}  # session and target of each
        self._chromium = chromium
        self._settings = settings
        self._group = group
        self._tasks: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()
        self._origins: set[str] = set()
        self.pages = 0
        self.crashed = False
        self._begin("", _nobody)

    def _begin(self, url: str, answer: Answer) -> None:
        self._url = url
        self._answer = answer
        self._loaded = False
        self._main_loads = 0
        self._frames = 0
        self._requests = 0
        self._busy = 0
        self._active_at = 0.0  # when a request began or ended last
        self._routes: dict[str, None] = {}
        self._sockets: dict[str, None] = {}
        self._notes: dict[str, None] = {}

    async def set_up(self) -> None:
        """Makes a new tab ready for its first page."""
        settings, session = self._settings, self.session
        call = self._chromium.send
        await asyncio.gather(
            call("Page.enable", session),
            call("Network.enable", session, maxTotalBufferSize=0, maxResourceBufferSize=0),
            call("Network.setBypassServiceWorker", session, bypass=True),
            call("Network.setCacheDisabled", session, cacheDisabled=True),
            call("Fetch.enable", session, patterns=[{"urlPattern": "*"}]),
            call("Inspector.enable", session),
            self._attach_to_children(session),
            call("Emulation.setDeviceMetricsOverride", session, width=settings.width, height=settings.height,
                 deviceScaleFactor=1, mobile=settings.mobile),
            call("Emulation.setFocusEmulationEnabled", session, enabled=True),
            call("Runtime.runIfWaitingForDebugger", session),
        )  # fmt: skip

    def _attach_to_children(self, session: str) -> asyncio.Future[dict[str, Any]]:
        return self._chromium.send(
            "Target.setAutoAttach", session, autoAttach=True, waitForDebuggerOnStart=True, flatten=True
        )

    # ---- one page --------------------------------------------------------------------------------------------

    async def render(self, url: str, answer: Answer, cookies: str = "") -> Rendered:
        """The page at a URL as it stands when it is quiet; raises ``PageLost`` or ``BrowserGone``.

        ``cookies`` is the value of the Cookie header that the page is asked with: its scripts may look at them.
        """
        self._begin(url, answer)
        self.pages += 1
        started = time.monotonic()
        deadline = started + self._settings.wait_s
        if cookies:
            pairs = (pair.partition("=") for pair in cookies.split("; "))
            known = [{"name": name, "value": value, "url": url, "path": "/"} for name, _, value in pairs]
            self._chromium.send("Network.setCookies", self.session, cookies=known)
        self._chromium.send("Page.navigate", self.session, url=url)
        await self._let_settle(deadline)
        if not self._main_loads:
            raise PageLost("the page was never opened")
        await self._do_more(deadline)
        shot = await self._picture() if self._settings.shot else b""
        html, parts = await self._read()
        return Rendered(
            html,
            tuple(parts),
            tuple(self._routes),
            self._requests,
            tuple(self._sockets),
            int((time.monotonic() - started) * 1000),
            "; ".join(self._notes),
            shot,
        )

    async def _let_settle(self, deadline: float) -> None:
        """Waits until load, requests and tree have been quiet, or the time is over."""
        settings, looked = self._settings, False
        while (left_s := deadline - time.monotonic()) > 0 and not self.crashed:
            if not self._loaded or self._busy:
                self._changed.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(left_s):
                        await self._changed.wait()
                continue
            quiet_s = settings.quiet_s - (time.monotonic() - self._active_at) if looked else settings.quiet_s
            if quiet_s <= 0:
                return
            looked = True
            if not await self._run(scripts.QUIET, quiet_s * 1000, within_s=left_s):
                break
        if not self.crashed:
            self._notes[f"not quiet within {settings.wait_s:g} s"] = None

    async def _do_more(self, deadline: float) -> None:
        """What the user wants done before the page is read."""
        settings = self._settings
        if settings.wait_for:
            await self._wait_for(settings.wait_for, deadline)
        if settings.script:
            await self._run(f"async () => {{\n{settings.script}\n}}", within_s=deadline - time.monotonic(), own=False)
            await self._let_settle(deadline)
        for _ in range(settings.scroll):
            if not await self._run(scripts.SCROLL, within_s=deadline - time.monotonic()):
                break
            await self._let_settle(deadline)
        if settings.click:
            await self._run(scripts.CLICK, CLICKS_MOST, within_s=deadline - time.monotonic())
            await self._let_settle(deadline)

    async def _wait_for(self, wanted: str, deadline: float) -> None:
        try:
            seconds = float(wanted)
        except ValueError:
            if not await self._run(scripts.PRESENT, wanted, within_s=deadline - time.monotonic()):
                self._notes[f"no {wanted} within {self._settings.wait_s:g} s"] = None
            await self._let_settle(deadline)
            return
        await asyncio.sleep(max(0.0, min(seconds, deadline - time.monotonic())))

    async def _read(self) -> tuple[str, list[tuple[str, str]]]:
        """The HTML of the page, and its further parts. A script that never ends is ended."""
        most = self._settings.max_size_b
        found = await self._run(scripts.READ, most, within_s=COMMAND_S)
        if found is None:
            with suppress(CommandFailed, TimeoutError):
                async with asyncio.timeout(COMMAND_S):
                    await self._chromium.call("Runtime.terminateExecution", self.session)
            self._notes["a script did not end and was stopped"] = None
            found = await self._run(scripts.READ, most, within_s=COMMAND_S)
        if found is None:
            raise PageLost("the page crashed" if self.crashed else "the page does not answer any more")
        parts = [(found["base"], part) for part in found["parts"]]
        left = most - len(found["html"]) - sum(len(part) for _, part in parts)
        for session, frame in await self._other_frames():
            if left <= 0:
                break
            inside = await self._run(scripts.READ, left, within_s=COMMAND_S, session=session, frame=frame)
            if inside is not None:
                frame_parts = [(inside["base"], part) for part in (inside["html"], *inside["parts"])]
                left -= sum(len(part) for _, part in frame_parts)
                parts += frame_parts
        return found["html"], parts

    async def _other_frames(self) -> list[tuple[str, str]]:
        """All frames but the main one: the session of each, and its id."""
        found: list[tuple[str, str]] = []
        for session in sorted(self.sessions):
            try:
                async with asyncio.timeout(COMMAND_S):
                    tree = await self._chromium.call("Page.getFrameTree", session)
            except (CommandFailed, TimeoutError):  # a worker has no frames, and some frames end
                continue
            waiting = [tree["frameTree"]]
            while waiting and len(found) < self._settings.max_frames:
                node = waiting.pop(0)
                waiting += node.get("childFrames", ())
                if node["frame"]["id"] != self.target:
                    found.append((session, node["frame"]["id"]))
        return found

    async def _run(
        self, function: str, *values: object, within_s: float, own: bool = True, session: str = "", frame: str = ""
    ) -> Any:
        """What a function in the page gives, in our world or in the page's; None where it does not end in time."""
        session = session or self.session
        if within_s <= 0 or self.crashed:
            return None
        try:
            async with asyncio.timeout(within_s):
                settings: dict[str, Any] = {}
                if own:
                    world = await self._chromium.call(
                        "Page.createIsolatedWorld", session, frameId=frame or self.target, worldName=scripts.WORLD
                    )
                    settings["contextId"] = world["executionContextId"]
                given = msgspec.json.encode(values).decode()[1:-1]
                answer = await self._chromium.call(
                    "Runtime.evaluate", session, expression=f"({function})({given})", awaitPromise=True,
                    returnByValue=True, **settings,
                )  # fmt: skip
        except (TimeoutError, CommandFailed):  # the page went elsewhere in the meantime, or is busy with itself
            return None
        if "exceptionDetails" in answer:
            self._notes[f"a script failed: {answer['exceptionDetails'].get('text', '')}"[:200]] = None
            return None
        return answer["result"].get("value")

    async def _picture(self) -> bytes:
        """The whole page, as far as it goes down within the bound."""
        settings = self._settings
        try:
            async with asyncio.timeout(2 * COMMAND_S):
                size = (await self._chromium.call("Page.getLayoutMetrics", self.session))["cssContentSize"]
                clip = {
                    "x": 0, "y": 0, "scale": 1, "width": settings.width,
                    "height": max(1, min(size["height"], SHOT_HEIGHT_MOST)),
                }  # fmt: skip
                taken = await self._chromium.call(
                    "Page.captureScreenshot", self.session, format=settings.shot, clip=clip, captureBeyondViewport=True
                )
        except (TimeoutError, CommandFailed):
            self._notes["no picture could be taken"] = None
            return b""
        return base64.b64decode(taken["data"])

    async def clean(self) -> None:
        """Forgets the page and all that it stored; raises ``PageLost`` where that does not succeed."""
        self._begin("", _nobody)
        origins, self._origins = self._origins, set()
        send, session = self._chromium.send, self.session
        try:
            async with asyncio.timeout(CLEAN_S):
                await asyncio.gather(
                    send("Page.navigate", session, url=_NOTHING),
                    *(send("Storage.clearDataForOrigin", session, origin=one, storageTypes="all") for one in origins),
                )
        except (TimeoutError, CommandFailed):
            raise PageLost("the page could not be left") from None
        finally:
            self.drop_requests()

    def drop_requests(self) -> None:
        """Waits for no answer any more."""
        for task in tuple(self._tasks):
            task.cancel()

    def lose(self) -> None:
        """The browser has gone, and the page with it."""
        self.crashed = True
        self._changed.set()

    # ---- what the browser tells ------------------------------------------------------------------------------

    def heed(self, session: str, name: str, values: dict[str, Any]) -> None:
        """One event of one of the tab's sessions."""
        match name:
            case "Fetch.requestPaused":
                self._paused(session, values)
            case "Page.loadEventFired" if session == self.session:
                self._loaded = self._main_loads > 0  # else it is that of the empty page before
                self._changed.set()
            case "Page.navigatedWithinDocument" if values.get("frameId") == self.target:
                self._route(values["url"])
            case "Page.javascriptDialogOpening":
                self._notes["a dialog was closed"] = None
                self._chromium.send("Page.handleJavaScriptDialog", session, accept=True)
            case "Network.webSocketCreated":
                self._note_socket(values["url"])
            case "Target.detachedFromTarget":
                self.sessions.discard(values["sessionId"])
                self._popups.pop(values["sessionId"], None)
            case "Inspector.targetCrashed" if session == self.session:
                self.lose()
            case _:
                return

    def adopt(self, session: str, target: dict[str, Any]) -> None:
        """A frame, a worker or a pop-up of this tab: it waits until its requests come to us, too."""
        self.sessions.add(session)
        send, kind = self._chromium.send, target["type"]
        if kind in ("service_worker", "shared_worker", "worklet"):
            send("Target.closeTarget", targetId=target["targetId"])
            return
        if kind == "page":
            self._popups[session] = target["targetId"]
        if kind in ("iframe", "page"):
            send("Page.enable", session)
            send("Network.enable", session, maxTotalBufferSize=0, maxResourceBufferSize=0)
        send("Fetch.enable", session, patterns=[{"urlPattern": "*"}])
        self._attach_to_children(session)
        send("Runtime.runIfWaitingForDebugger", session)

    def _route(self, url: str) -> None:
        """An address that a script of the page went to, or wanted to."""
        url = url.partition("#")[0]
        if url.startswith(("http:", "https:")) and len(self._routes) < ROUTES_MOST and url != self._url:
            self._routes[url] = None

    def _note_socket(self, url: str) -> None:
        if len(self._sockets) < ROUTES_MOST:
            self._sockets[url] = None

    def _paused(self, session: str, values: dict[str, Any]) -> None:
        request = values["request"]
        kind = values.get("resourceType", "other").lower()
        url, frame = request["url"].partition("#")[0], values.get("frameId", "")
        document = kind == "document"
        main = document and frame == self.target and session == self.session
        if not self._is_wanted(session, url, kind, request, main) or not self._has_room(document, main):
            self._refuse(session, values)
        else:
            asked = PageRequest(
                url,
                kind,
                request["method"],
                tuple(request["headers"].items()),
                _body_of(request),
                self._main_loads if main else 0,
            )
            task = self._group.create_task(self._serve(session, values["requestId"], asked))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _is_wanted(self, session: str, url: str, kind: str, request: dict[str, Any], main: bool) -> bool:
        """Whether a request is asked at all. Where a page wants to go is noted and not gone to."""
        headers = request["headers"]
        if not self._url or not url.startswith(("http:", "https:")):
            return False
        if session in self._popups:
            self._route(url)
            self._chromium.send("Target.closeTarget", targetId=self._popups[session])
            return False
        if main and (url != self._url or request["method"] != "GET"):
            if request["method"] == "GET":
                self._route(url)
            return False
        if headers.get("Accept") == "text/event-stream":  # an answer without an end
            self._note_socket(url)
            return False
        return not (kind in self._settings.blocked or kind in _NEVER_ASKED or _is_idle(kind, headers))

    def _has_room(self, document: bool, main: bool) -> bool:
        """Whether the page may make one more request of this kind."""
        self._requests += 1
        self._main_loads += main
        self._frames += document and not main
        fits = (
            self._requests <= self._settings.max_requests
            and self._frames <= self._settings.max_frames
            and self._main_loads <= MAIN_LOADS_MOST
        )
        if not fits:
            self._notes["more requests than a page may make"] = None
        return fits

    def _refuse(self, session: str, values: dict[str, Any]) -> None:
        self._chromium.send("Fetch.failRequest", session, requestId=values["requestId"], errorReason="Aborted")

    async def _serve(self, session: str, number: str, asked: PageRequest) -> None:
        """Has a request answered, and gives the answer to the page."""
        self._busy += 1
        self._active_at = time.monotonic()
        try:
            fetched = await self._answer(asked)
            if fetched is None:
                self._chromium.send("Fetch.failRequest", session, requestId=number, errorReason="Failed")
                return
            if asked.kind == "document":
                self._origins.add("/".join(asked.url.split("/", 3)[:3]))
            self._chromium.send(
                "Fetch.fulfillRequest", session, requestId=number, responseCode=fetched.status,
                responseHeaders=_headers_of(fetched), body=base64.b64encode(fetched.body).decode(),
            )  # fmt: skip
        finally:
            self._busy -= 1
            self._active_at = time.monotonic()
            self._changed.set()


async def _nobody(_request: PageRequest) -> Fetched | None:
    return None


def _is_idle(kind: str, headers: dict[str, str]) -> bool:
    """Whether the page does not need it: the icon of the site, and what is fetched in advance."""
    icon = kind == "other" and headers.get("Accept", "").startswith("image/")
    return icon or "Sec-Purpose" in headers or "Purpose" in headers


def _headers_of(fetched: Fetched) -> list[dict[str, str]]:
    """The header lines for the browser, which gets the body decoded."""
    return [{"name": name, "value": value} for name, value in fetched.headers if name not in _ENCODED]


def _body_of(request: dict[str, Any]) -> bytes:
    entries = request.get("postDataEntries")
    if entries:
        return b"".join(base64.b64decode(entry.get("bytes", "")) for entry in entries)
    return str(request.get("postData", "")).encode()
