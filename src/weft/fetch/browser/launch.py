"""A browser as the specification of a crawl wants it."""

from __future__ import annotations

from pathlib import Path

from weft.fetch.browser.pool import Pool
from weft.fetch.browser.program import check_sandbox, command_of, find_browser
from weft.fetch.browser.values import Settings
from weft.fetch.http import user_agent_of
from weft.spec import CrawlSpec, YesNo

__all__ = ["check_browser", "pool_of", "settings_of"]

MOBILE = (390, 844)
_LEAST_PROCESS_B = 256_000_000


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
