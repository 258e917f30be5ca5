"""A fetcher that renders: each page is asked as ever, and then, where it is HTML, opened in a browser."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Self

import msgspec

from weft.fetch.browser.choice import Choice
from weft.fetch.browser.pool import Pool
from weft.fetch.browser.resources import Outcome, Resources
from weft.fetch.browser.tab import PageLost
from weft.fetch.browser.values import PageRequest
from weft.fetch.http import Fetcher
from weft.records import PAGE, Fetched, Lease, Rendered, Rendering
from weft.url import site_of

_HTML = ("text/html", "application/xhtml+xml")
"""The media types of pages that a browser can do something for."""

GIVEN_UP = "the browser could not render the page"


class RenderingFetcher:
    """Asks as its ``Fetcher`` does. An answer comes to ``finished`` with its rendered page, where it is to have one.

    What pages load comes to ``finished``, too, before its page.
    """

    def __init__(self, fetcher: Fetcher, pool: Pool, resources: Resources, choice: Choice) -> None:
        self.finished: deque[tuple[Lease, Outcome]] = deque()
        self.on_finished: Callable[[], None] | None = None
        self.max_parallel = fetcher.max_parallel
        self.request_head = fetcher.request_head
        self._fetcher = fetcher
        self._pool = pool
        self._resources = resources
        self._choice = choice
        self._rendering: dict[asyncio.Task[None], Lease] = {}
        fetcher.on_finished = self._take

    async def __aenter__(self) -> Self:
        self._group = asyncio.TaskGroup()
        await self._group.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        for task in self._rendering:
            task.cancel()
        await self._group.__aexit__(None, None, None)

    @property
    def running(self) -> int:
        return self._fetcher.running + len(self._rendering)

    @property
    def throttled(self) -> bool:
        return self._fetcher.throttled

    def start(self, lease: Lease, addresses: Sequence[str]) -> None:
        self._fetcher.start(lease, addresses)

    def cancel_all(self) -> list[Lease]:
        leases = [*self._fetcher.cancel_all(), *self._rendering.values()]
        for task in self._rendering:
            task.cancel()
        self._rendering.clear()
        return leases

    def pids(self) -> list[int]:
        """The processes of the browser."""
        return self._pool.pids()

    def learn(self, url: str, answer: Fetched, rendering: Rendering | None) -> None:
        """What rendering a page has brought helps to choose the next ones."""
        if answer.rendered is not None:
            self._choice.learn(url, answer, rendering)

    def _take(self) -> None:
        """Hands pages that are to be rendered to the browser, and everything else on."""
        while self._fetcher.finished:
            lease, outcome = self._fetcher.finished.popleft()
            if lease.purpose is PAGE and isinstance(outcome, Fetched) and _can_be_rendered(outcome):
                task = self._group.create_task(self._render(lease, outcome))
                self._rendering[task] = lease
            else:
                self.finished.append((lease, outcome))
        if self.finished and self.on_finished is not None:
            self.on_finished()

    async def _render(self, lease: Lease, answer: Fetched) -> None:
        """The page, rendered; or as it was received, where it needs no rendering or the browser cannot do it."""
        rendered = None
        if await self._choice.wants(lease.url, answer):
            rendered = await self._rendered(lease, answer)
        task = asyncio.current_task()
        assert task is not None
        if self._rendering.pop(task, None) is None:
            return  # it was cancelled meanwhile
        self.finished.extend(self._resources.take())
        self.finished.append((lease, msgspec.structs.replace(answer, rendered=rendered) if rendered else answer))
        if self.on_finished is not None:
            self.on_finished()

    async def _rendered(self, lease: Lease, answer: Fetched) -> Rendered:

        async def serve(request: PageRequest) -> Fetched | None:
            if request.load == 1:  # it is known, and not asked again
                return answer
            return await self._resources.answer(request, lease.url)

        try:
            cookies = self._resources.cookies_of(lease.url)
            return await self._pool.render(site_of(lease.url), lease.url, serve, cookies)
        except PageLost as lost:
            return Rendered("", note=f"{GIVEN_UP}: {lost}")


def _can_be_rendered(answer: Fetched) -> bool:
    """Whether a browser can do something for it: a page of HTML that was answered well."""
    if not 200 <= answer.status < 300 or not answer.body:
        return False
    declared = (answer.header("content-type") or "").partition(";")[0].strip().lower()
    return declared in _HTML or (not declared and answer.body.lstrip().startswith(b"<"))
