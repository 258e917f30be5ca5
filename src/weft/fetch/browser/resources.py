"""What pages load beside themselves: asked by weft's own fetcher, a few at once of each site."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from typing import Protocol
from weakref import WeakValueDictionary

import msgspec

from weft.fetch.browser.values import PageRequest
from weft.fetch.cookies import Cookies
from weft.fetch.http import Fetcher
from weft.records import Asked, Failure, Fetched, Lease, Purpose
from weft.url import domain_of, host_of, site_of

PER_SITE = 6  # as many as browsers ask for at once
SHARED_KINDS = frozenset(("script", "stylesheet"))  # what the pages of a site have in common
SHARED_S = 600.0  # how long it is used again where the server does not say
SHARED_LONGEST_S = 3_600.0
SHARED_B = 64_000_000
METHODS = frozenset(("GET", "POST", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"))
_OURS = frozenset(
    ("user-agent", "cookie", "host", "connection", "content-length", "accept-encoding", "upgrade-insecure-requests")
)

Outcome = Fetched | Failure
Allows = Callable[[str], Awaitable[bool]]
"""Whether robots.txt lets a document be asked; waits until that is known."""


class Names(Protocol):
    """Addresses of hosts that may be connected to."""

    def request(self, host: str, callback: Callable[[str, tuple[str, ...] | Failure], None]) -> None: ...


class Resources:
    """Answers the requests of pages. ``take`` gives all that were asked, to be recorded like any other request."""

    def __init__(
        self, fetcher: Fetcher, names: Names, jar: Cookies | None, allows: Allows, *,
        third_party: bool = True, per_address: Callable[[str], int] = lambda _ip: 0,
    ) -> None:  # fmt: skip
        self._fetcher = fetcher
        self._names = names
        self._jar = jar
        self._allows = allows
        self._third_party = third_party
        self._per_address = per_address
        self._number = 0
        self._waiting: dict[int, asyncio.Future[Outcome]] = {}
        self._slots: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()  # by site, and by address
        self._all_slots = asyncio.Semaphore(fetcher.max_parallel)
        self._shared = Shared()
        self._finished: list[tuple[Lease, Outcome]] = []
        fetcher.on_finished = self._take

    async def answer(self, request: PageRequest, page_url: str) -> Fetched | None:
        """The answer of a request; None where it is not asked, or was not answered."""
        if not self._is_asked(request, page_url):
            return None
        if request.kind == "document" and not request.load and not await self._allows(request.url):
            return None
        self._keep_cookies(request)
        if request.kind not in SHARED_KINDS or request.method != "GET":
            outcome = await self._fetch(request)
        else:
            outcome = await self._shared.get(request.url, lambda: self._fetch(request))
        return outcome if isinstance(outcome, Fetched) else None

    def cookies_of(self, url: str) -> str:
        """The cookies that a URL is asked with, as its Cookie header has them."""
        return (self._jar.header_for(url, time.time()) or "") if self._jar is not None else ""

    def _is_asked(self, request: PageRequest, page_url: str) -> bool:
        if request.method not in METHODS:
            return False
        if self._third_party:
            return True
        return domain_of(host_of(request.url)) == domain_of(host_of(page_url))

    def _keep_cookies(self, request: PageRequest) -> None:
        """Cookies that a script of the page has set go into the crawl's jar, and from there to the server."""
        said = next((value for name, value in request.headers if name.lower() == "cookie"), "")
        if self._jar is None or not said:
            return
        known = frozenset(self.cookies_of(request.url).split("; "))
        new = [f"{pair}; Path=/" for pair in said.split("; ") if pair not in known]
        self._jar.store(request.url, new, time.time())

    async def _fetch(self, request: PageRequest) -> Outcome:
        """Asks, when it is the turn of the site and of its address."""
        self._number += 1
        asked = Asked(request.method, _lines_of(request), request.body)
        plain = asked.method == "GET" and not asked.lines and not asked.body
        lease = Lease(self._number, request.url, 0, Purpose.RESOURCE, asked=None if plain else asked)
        addresses = await self._addresses(host_of(request.url))
        if isinstance(addresses, Failure):
            self._finished.append((lease, addresses))
            return addresses
        answer: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        async with AsyncExitStack() as slots:
            await slots.enter_async_context(self._slot(site_of(request.url), PER_SITE))
            if addresses and (most := self._per_address(addresses[0])):
                await slots.enter_async_context(self._slot(addresses[0], most))
            await slots.enter_async_context(self._all_slots)
            self._waiting[lease.page] = answer
            self._fetcher.start(lease, addresses)
            return await answer

    def take(self) -> list[tuple[Lease, Outcome]]:
        """What was asked since the last call."""
        finished, self._finished = self._finished, []
        return finished

    def _slot(self, name: str, most: int) -> asyncio.Semaphore:
        slot = self._slots.get(name)
        if slot is None:
            slot = self._slots[name] = asyncio.Semaphore(most)
        return slot

    async def _addresses(self, host: str) -> Sequence[str] | Failure:
        found: asyncio.Future[tuple[str, ...] | Failure] = asyncio.get_running_loop().create_future()

        def tell(_host: str, outcome: tuple[str, ...] | Failure) -> None:
            if not found.done():
                found.set_result(outcome)

        self._names.request(host, tell)
        return await found

    def _take(self) -> None:
        """Gives what the fetcher has brought to those who wait for it."""
        while self._fetcher.finished:
            lease, outcome = self._fetcher.finished.popleft()
            self._finished.append((lease, outcome))
            answer = self._waiting.pop(lease.page, None)
            if answer is not None and not answer.done():
                answer.set_result(outcome)


class Shared:
    """Scripts and styles that the pages of a site have in common: asked once, and then as long as they may be used."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[float, Fetched]] = OrderedDict()
        self._kept_b = 0
        self._asking: dict[str, asyncio.Future[None]] = {}

    async def get(self, url: str, fetch: Callable[[], Awaitable[Outcome]]) -> Outcome:
        """The kept answer, else a new one; whoever wants one that is being asked waits for it."""
        while (asking := self._asking.get(url)) is not None:
            await asyncio.wait((asking,))
        kept = self._kept.get(url)
        if kept is not None and kept[0] > time.monotonic():
            self._kept.move_to_end(url)
            return kept[1]
        self._asking[url] = asyncio.get_running_loop().create_future()
        try:
            outcome = await fetch()
            if isinstance(outcome, Fetched):
                self._keep(url, outcome)
            return outcome
        finally:
            self._asking.pop(url).set_result(None)

    def _keep(self, url: str, fetched: Fetched) -> None:
        before = self._kept.pop(url, None)
        self._kept_b -= len(before[1].body) if before is not None else 0
        fresh_s = fresh_for_s(fetched)
        if fresh_s <= 0:
            return
        self._kept[url] = time.monotonic() + fresh_s, msgspec.structs.replace(fetched, wire=b"")
        self._kept_b += len(fetched.body)
        while self._kept_b > SHARED_B:
            _, (_, oldest) = self._kept.popitem(last=False)
            self._kept_b -= len(oldest.body)


def fresh_for_s(fetched: Fetched) -> float:
    """How long an answer may be used again (RFC 9111): what the server says, within bounds; 0 for not at all."""
    said = ", ".join(fetched.header_values("cache-control")).lower()
    varies = ", ".join(fetched.header_values("vary")).lower()
    if fetched.status != 200 or fetched.truncated or "no-store" in said or "no-cache" in said:
        return 0.0
    if "*" in varies or "origin" in varies or "cookie" in varies:
        return 0.0
    for part in said.split(","):
        name, _, value = part.strip().partition("=")
        if name == "max-age" and value.strip('"').isdecimal():
            return min(float(value.strip('"')), SHARED_LONGEST_S)
    return SHARED_S


def _lines_of(request: PageRequest) -> tuple[tuple[str, str], ...]:
    """The header lines that are the page's own."""
    return tuple(
        (name, value)
        for name, value in request.headers
        if name.lower() not in _OURS and not name.lower().startswith(("sec-", "proxy-"))
    )
