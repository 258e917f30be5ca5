"""A crawl that renders: its browser, and how the requests of pages are asked, bounded and recorded like any other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import NamedTuple

from weft.fetch.browser.choice import Always, Auto, Choice, TemplateRow
from weft.fetch.browser.fetcher import RenderingFetcher
from weft.fetch.browser.launch import pool_of, settings_of
from weft.fetch.browser.resources import Allows, Names, Resources
from weft.fetch.cookies import Cookies
from weft.fetch.http import Fetcher
from weft.ports import Ask, Gate, Hold, Pass, Refuse
from weft.records import Lease
from weft.spec import CrawlSpec, RenderMode, YesNo

ROBOTS_LOOK_S = 0.05


class Rules(NamedTuple):
    """What the crawl says of the requests of pages."""

    names: Names  # addresses that may be connected to
    allows: Allows  # robots.txt, for documents in frames
    per_address: Callable[[str], int]  # requests at once to an address; 0: no bound
    jar: Cookies | None
    choice: Choice  # which pages are rendered


class FrameGate:
    """robots.txt for the documents in frames: asked by the crawl like that of any other site."""

    def __init__(
        self, gate: Gate, site_id_of: Callable[[str], int], ask: Callable[[Lease], None],
        is_askable: Callable[[str], bool],
    ) -> None:  # fmt: skip
        self._gate = gate
        self._site_id_of = site_id_of
        self._ask = ask
        self._is_askable = is_askable

    async def allows(self, url: str) -> bool:
        """Whether a document may be asked; waits until that is known, at most as long as its page."""
        while self._is_askable(url):
            match self._gate.check(url, self._site_id_of(url)):
                case Pass():
                    return True
                case Refuse():
                    return False
                case Ask(lease=lease):
                    self._ask(lease)
                case Hold():
                    pass
            await asyncio.sleep(ROBOTS_LOOK_S)
        return False


@asynccontextmanager
async def rendering(spec: CrawlSpec, rules: Rules, fetcher: Fetcher, loads: Fetcher) -> AsyncIterator[RenderingFetcher]:
    """A fetcher that renders: ``fetcher`` asks pages, ``loads`` what they load."""
    resources = Resources(
        loads, rules.names, rules.jar, rules.allows,
        third_party=spec.browser.third_party is YesNo.YES, per_address=rules.per_address,
    )  # fmt: skip
    async with AsyncExitStack() as stack:
        pool = await stack.enter_async_context(pool_of(spec, settings_of(spec)))
        yield await stack.enter_async_context(RenderingFetcher(fetcher, pool, resources, rules.choice))


def make_choice(spec: CrawlSpec, known: Sequence[TemplateRow]) -> Choice:
    """Which pages are rendered, as the user wants it, by what earlier runs have learnt."""
    return Always() if spec.browser.render is RenderMode.ALWAYS else Auto(known)
