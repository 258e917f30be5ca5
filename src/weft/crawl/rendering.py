"""A crawl that renders: its browser, and how the requests of pages are asked, bounded and recorded like any other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from weft.fetch.browser.choice import Always, Auto, Choice, TemplateRow
from weft.fetch.browser.fetcher import RenderingFetcher
from weft.fetch.browser.pool import Pool
from weft.fetch.browser.program import check_sandbox, command_of, find_browser
from weft.fetch.browser.resources import Allows, Names, Resources
from weft.fetch.browser.values import Settings
from weft.fetch.cookies import Cookies
from weft.fetch.http import Fetcher, user_agent_of
from weft.ports import Ask, Gate, Hold, Pass, Refuse
from weft.records import Lease
from weft.spec import CrawlSpec, RenderMode, YesNo

ROBOTS_LOOK_S = 0.05
MOBILE = (390, 844)
_LEAST_PROCESS_B = 256_000_000


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


def settings_of(spec: CrawlSpec) -> Settings:
    """How pages are rendered, as the browser takes it."""
    browser = spec.browser
    mobile = browser.viewport == "mobile"
    width, height = MOBILE if mobile else map(int, browser.viewport.split("x"))
    return Settings(
        wait_s=browser.render_wait_s,
        wait_for=browser.wait_for or "",
        script=Path(browser.page_script).read_text(encoding="utf-8") if browser.page_script else "",
        scroll=browser.scroll,
        click=browser.click,
        width=width,
        height=height,
        mobile=mobile,
        blocked=frozenset(browser.block),
        max_size_b=spec.limits.max_size_b,
    )


def check_browser(spec: CrawlSpec) -> None:
    """Raises ``SpecError`` where no browser can be started as the user wants it."""
    find_browser(spec.browser.program)
    check_sandbox(spec.browser.sandbox is YesNo.YES)


def pool_of(spec: CrawlSpec, settings: Settings) -> Pool:
    """The browser of a crawl, not started yet."""
    program, agent = find_browser(spec.browser.program), user_agent_of(spec.identity)
    sandbox = spec.browser.sandbox is YesNo.YES

    def command(profile: str) -> list[str]:
        images = "image" not in settings.blocked
        return command_of(program, profile, sandbox=sandbox, images=images, user_agent=agent)

    most_b = max(_LEAST_PROCESS_B, spec.limits.max_memory_b // 2)
    return Pool(command, settings, min(spec.browser.tabs, spec.politeness.workers), most_b)


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
