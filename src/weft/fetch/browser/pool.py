"""The pool: one browser, a context for each site, tabs that are used again; all of it is renewed now and then."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from weft.errors import SpecError
from weft.fetch.browser.pipe import BrowserGone, Chromium, CommandFailed, pids_of
from weft.fetch.browser.tab import PageLost, Tab
from weft.fetch.browser.values import Answer, Settings
from weft.records import Rendered

START_S = 30.0
PAGES_OF_A_TAB = 50
PAGES_OF_A_BROWSER = 2_000
TRIES = 2
WATCH_EVERY_S = 0.5
_PAGE_B = os.sysconf("SC_PAGE_SIZE")


class Context(msgspec.Struct):
    """The tabs of one site. They share what the site stores, and nothing with other sites."""

    id: str
    free: list[Tab] = []
    busy: int = 0


class Pool:
    """Renders pages, so many at once as there are tabs. Use as an async context manager."""

    def __init__(
        self, make_command: Callable[[str], Sequence[str]], settings: Settings, tabs: int, max_process_b: int
    ) -> None:
        self._make_command = make_command
        self._settings = settings
        self._max_tabs = tabs
        self._max_process_b = max_process_b
        self._room = asyncio.Semaphore(tabs)
        self._renewing = asyncio.Lock()
        self._idle = asyncio.Event()
        self._forget()

    def _forget(self) -> None:
        self._contexts: OrderedDict[str, Context] = OrderedDict()  # by site, least recently used first
        self._tabs: dict[str, Tab] = {}  # by session
        self._attached: dict[str, asyncio.Future[str]] = {}  # targets that wait for their session
        self._count = 0  # tabs, free and busy
        self._pages = 0

    async def __aenter__(self) -> Self:
        self._group = asyncio.TaskGroup()
        await self._group.__aenter__()
        self._stack = AsyncExitStack()
        self._busy = 0
        try:
            await self._start()
        except BaseException:
            await self._stack.aclose()
            await self._group.__aexit__(None, None, None)
            raise
        self._watching = self._group.create_task(self._watch())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._watching.cancel()
        for tab in {id(tab): tab for tab in self._tabs.values()}.values():
            tab.drop_requests()
        await self._stack.aclose()
        await self._group.__aexit__(kind, error, trace)

    async def _start(self) -> None:
        """A browser that answers; raises ``SpecError`` with its own words where it does not start."""
        chromium = self._chromium = await self._stack.enter_async_context(Chromium(self._make_command, self._heed))
        try:
            async with asyncio.timeout(START_S):
                await chromium.call("Target.setDiscoverTargets", discover=False)
                await chromium.call("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=True, flatten=True)
                await chromium.call("Browser.setDownloadBehavior", behavior="deny")
        except (BrowserGone, CommandFailed, TimeoutError):
            said = [line for line in chromium.last_words().splitlines() if line.strip()]
            raise SpecError(f"Chromium does not start: {said[-1] if said else 'it says nothing'}") from None

    # ---- pages -----------------------------------------------------------------------------------------------

    async def render(self, site: str, url: str, answer: Answer, cookies: str = "") -> Rendered:
        """The rendered page, tried again where it takes its tab or the browser down; then ``PageLost``."""
        async with self._room:
            lost = PageLost("the browser is gone")
            for _ in range(TRIES):
                try:
                    return await self._render(site, url, answer, cookies)
                except PageLost as error:
                    lost = error
                except (BrowserGone, CommandFailed, TimeoutError):
                    lost = PageLost("the browser is gone, or does not answer any more")
                except SpecError as error:  # another one did not start in its place
                    raise PageLost(str(error)) from None
            raise lost

    async def _render(self, site: str, url: str, answer: Answer, cookies: str) -> Rendered:
        async with self._renewing:
            if self._chromium.gone or self._pages >= PAGES_OF_A_BROWSER:
                await self._renew()
            tab = await self._take(site)
        chromium = self._chromium
        self._pages += 1
        self._busy += 1
        try:
            rendered = await tab.render(url, answer, cookies)
            await tab.clean()
        except BaseException:
            self._busy -= 1
            if chromium is self._chromium:
                await self._drop(site, tab)
            self._idle.set()
            raise
        self._busy -= 1
        self._idle.set()
        if chromium is self._chromium:
            await self._give_back(site, tab)
        return rendered

    async def _renew(self) -> None:
        """Another browser in the place of this one, once nothing is rendered in it."""
        while self._busy and not self._chromium.gone:
            self._idle.clear()
            await self._idle.wait()
        await self._stack.aclose()
        self._forget()
        await self._start()

    async def _take(self, site: str) -> Tab:
        context = self._contexts.get(site)
        if context is not None and context.free:
            tab = context.free.pop()
        else:
            tab = await self._new_tab(site)
            context = self._contexts[site]
        context.busy += 1
        self._contexts.move_to_end(site)
        return tab

    async def _new_tab(self, site: str) -> Tab:
        chromium = self._chromium
        if self._count >= self._max_tabs:
            await self._make_room()
        context = self._contexts.get(site)
        if context is None:
            made = await chromium.call("Target.createBrowserContext", disposeOnDetach=True)
            context = self._contexts[site] = Context(made["browserContextId"])
            await chromium.call(
                "Browser.setDownloadBehavior", behavior="deny", browserContextId=context.id, eventsEnabled=False
            )
        self._count += 1
        target = (await chromium.call("Target.createTarget", url="about:blank", browserContextId=context.id))[
            "targetId"
        ]
        async with asyncio.timeout(START_S):
            session = await self._session_of(target)
        tab = Tab(chromium, target, session, self._settings, self._group)
        self._tabs[session] = tab
        await tab.set_up()
        return tab

    def _session_of(self, target: str) -> asyncio.Future[str]:
        return self._attached.setdefault(target, asyncio.get_running_loop().create_future())

    async def _make_room(self) -> None:
        """Closes the free tab of the site that was not met for longest, and with its last tab its context."""
        for site, context in self._contexts.items():
            if context.free:
                await self._close(context.free.pop())
                if not context.free and not context.busy:
                    del self._contexts[site]
                    await self._chromium.call("Target.disposeBrowserContext", browserContextId=context.id)
                return

    async def _give_back(self, site: str, tab: Tab) -> None:
        context = self._contexts[site]
        context.busy -= 1
        if tab.pages >= PAGES_OF_A_TAB:
            await self._close(tab)
        else:
            context.free.append(tab)

    async def _drop(self, site: str, tab: Tab) -> None:
        self._contexts[site].busy -= 1
        await self._close(tab)

    async def _close(self, tab: Tab) -> None:
        """Closes a tab. A page that hinders it costs the browser, and so nothing but the pages under way."""
        self._count -= 1
        tab.drop_requests()
        for session in tab.sessions:
            self._tabs.pop(session, None)
        try:
            async with asyncio.timeout(START_S):
                await self._chromium.call("Target.closeTarget", targetId=tab.target)
        except (TimeoutError, CommandFailed):
            if not tab.crashed:
                self._kill(self._chromium.pid)
        except BrowserGone:
            return

    # ---- what the browser tells ------------------------------------------------------------------------------

    def _heed(self, session: str, name: str, values: dict[str, Any]) -> None:
        if name == "gone":
            for lost in self._tabs.values():
                lost.lose()
            for waiting in self._attached.values():
                if not waiting.done():
                    waiting.set_exception(BrowserGone("the browser is gone"))
            return
        if name == "Target.attachedToTarget":
            self._attach(session, values)
            return
        tab = self._tabs.get(session)
        if tab is not None:
            tab.heed(session, name, values)

    def _attach(self, parent: str, values: dict[str, Any]) -> None:
        """A new target: one of our tabs, or what a page has opened."""
        target, session = values["targetInfo"], values["sessionId"]
        tab = self._tabs.get(parent)
        if tab is None and (opener := target.get("openerId")):
            tab = next((one for one in self._tabs.values() if one.target == opener), None)
        if tab is not None:
            self._tabs[session] = tab
            tab.adopt(session, target)
        elif target["type"] == "page":
            waiting = self._session_of(target["targetId"])
            if not waiting.done():
                waiting.set_result(session)
        else:
            self._chromium.send("Target.closeTarget", targetId=target["targetId"])

    # ---- memory ----------------------------------------------------------------------------------------------

    def pids(self) -> list[int]:
        """The processes of the browser."""
        return [] if self._chromium.gone else pids_of(self._chromium.pid)

    async def _watch(self) -> None:
        """Ends the process of a page that takes more memory than one may."""
        while True:
            await asyncio.sleep(WATCH_EVERY_S)
            for pid in self.pids():
                if pid != self._chromium.pid and _resident_b(pid) > self._max_process_b:
                    self._kill(pid)

    def _kill(self, pid: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _resident_b(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE_B
    except (OSError, IndexError):
        return 0
