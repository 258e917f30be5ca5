"""The reference frontier: what ``weft.frontier.sql`` must do, said as plainly as possible.

Everything is in RAM, every choice is a scan. It is the model that the durable frontier is tested against, and it is
never used for a crawl.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from weft.records import Link, LinkKind


@dataclass
class Known:
    """One page of the model."""

    number: int  # in the order of discovery
    url: str
    site: str
    depth: int
    admitted: bool
    state: str | None = None
    links: tuple[Link, ...] = ()


@dataclass
class Clocked:
    """One site's clock."""

    next_at: float = 0.0
    running: int = 0


@dataclass
class MemoryFrontier:
    """The three verbs over dictionaries. ``belongs`` decides on a URL, ``kinds`` are the link kinds followed."""

    site_of: Callable[[str], str]
    key_of: Callable[[str], str]
    belongs: Callable[[str], bool]
    kinds: frozenset[int]
    delay_s: float
    per_host: int
    max_depth: int
    pages: dict[str, Known] = field(default_factory=dict)
    clocks: dict[str, Clocked] = field(default_factory=dict)

    def seed(self, url: str) -> None:
        self._reach(url, 0)

    def _reach(self, url: str, depth: int) -> None:
        """The page is at most this far away; what lies behind it follows."""
        key = self.key_of(url)
        page = self.pages.get(key)
        if page is None:
            page = self.pages[key] = Known(len(self.pages), url, self.site_of(url), depth, admitted=False)
        if depth > self.max_depth or not self.belongs(page.url):
            return
        nearer = depth < page.depth or not page.admitted
        if not page.admitted:
            page.admitted, page.state = True, "W"
        if nearer:
            page.depth = depth
            self._offer(page)

    def _offer(self, page: Known) -> None:
        for link in page.links:
            if link.kind in self.kinds and "nofollow" not in link.rel:
                self._reach(link.target, page.depth + (link.kind != LinkKind.REDIRECT))
            elif self.key_of(link.target) not in self.pages:
                self.pages[self.key_of(link.target)] = Known(
                    len(self.pages), link.target, self.site_of(link.target), page.depth + 1, admitted=False
                )

    def may_take(self, now: float) -> set[str]:
        """The keys of all pages whose turn could be now."""
        return {
            key
            for key, page in self.pages.items()
            if page.state == "W"
            and self._clock(page.site).next_at <= now
            and self._clock(page.site).running < self.per_host
        }

    def take(self, key: str, now: float) -> None:
        page = self.pages[key]
        clock = self._clock(page.site)
        assert page.state == "W" and clock.next_at <= now and clock.running < self.per_host
        page.state = "R"
        clock.next_at = now + self.delay_s
        clock.running += 1

    def settle(self, key: str, state: str, links: Iterable[Link] = ()) -> None:
        page = self.pages[key]
        self._clock(page.site).running -= 1
        page.state, page.links = state, tuple(links)
        self._offer(page)

    def killed(self, now: float) -> None:
        """Every R becomes W at once, and each site rests once more."""
        for page in self.pages.values():
            if page.state == "R":
                page.state = "W"
        for clock in self.clocks.values():
            clock.running, clock.next_at = 0, now + self.delay_s

    def _clock(self, site: str) -> Clocked:
        return self.clocks.setdefault(site, Clocked())
