"""An invented web as a whole: its answers, and its answer key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from weft.demo.invented.key import (
    disallowed_of,
    duplicates_of,
    entries_of,
    entry_of,
    expected_of,
    linked_documents_of,
    links_of,
    near_duplicates_of,
    planted_of,
    shown_of,
)
from weft.demo.invented.maps import robots_of, sitemap_of, sitemaps_of
from weft.demo.invented.nouns import TRAP_PREFIX, Answer, Entry, Link, Planted
from weft.demo.invented.pages import page_of
from weft.demo.invented.shape import Shape
from weft.demo.invented.special import missing, special_of, static_of, trap_of


class InventedWeb(Shape):
    """A web of ``pages`` ordinary pages on ``hosts`` hosts (``h0.weft.test`` ...), with its answer key.

    ``crawl_delays``: seconds for the robots.txt of the hosts in turn (0: none). ``traps``: endless areas below
    `TRAP_PREFIX`. ``edition``: every eighth page differs between editions, for recrawls. ``port`` belongs to the URLs.
    """

    def at_port(self, port: int) -> InventedWeb:
        """The same web with another port in its URLs."""
        return InventedWeb(
            self.seed, self.hosts, self.pages, port=port, traps=self.traps, crawl_delays=self.crawl_delays,
            edition=self.edition,
        )  # fmt: skip

    # --- answers

    def answer(self, url: str) -> Answer:
        """What the web says to a GET of this URL; 404 for what it does not have."""
        place = self.place(url)
        return missing() if place is None else self.answer_at(*place)

    def answer_at(self, host: int, path: str) -> Answer:
        """The same for a host number and a path with its query."""
        number = self.page_number(host, path)
        if number is not None:
            return page_of(self, host, number, path)
        if path == "/robots.txt":
            return Answer(200, "text/plain; charset=utf-8", (), robots_of(self, host).encode())
        if path.startswith("/sitemap"):
            return sitemap_of(self, host, path)
        if path.startswith(("/static/", "/img/")):
            return static_of(path)
        if self.traps and path.startswith(TRAP_PREFIX):
            return trap_of(self, host, path)
        member = self.member(host, path)
        return missing() if member is None else special_of(self, host, path, *member)

    def robots(self, host: int) -> str:
        return robots_of(self, host)

    def sitemaps(self, host: int) -> dict[str, list[str]]:
        """Every sitemap of a host with the URLs in it; the index holds sitemaps, the others pages."""
        return sitemaps_of(self, host)

    # --- the answer key

    def entry(self, url: str) -> Entry | None:
        """What the key knows of a URL; None for what the web does not name itself (unknown paths, traps)."""
        return entry_of(self, url)

    def entries(self, host: int | None = None, roles: Iterable[str] | None = None) -> Iterator[Entry]:
        """Every address the web names itself, of one host or of all: ordinary pages first, then the special ones."""
        return entries_of(self, host, roles)

    def links(self, url: str) -> list[Link]:
        """The exact links of a URL, in document order; a redirect has the one it leads to."""
        return links_of(self, url)

    def shown(self, url: str) -> dict[str, tuple[int, int]]:
        """The images that a URL shows, icons among them, each with its width and height."""
        return shown_of(self, url)

    def linked_documents(self, url: str) -> list[str]:
        """The documents that a URL links to, each once."""
        return linked_documents_of(self, url)

    def duplicates(self, host: int | None = None) -> Iterator[tuple[str, ...]]:
        """Groups of URLs that answer with the very same bytes (HTML pages answered 200)."""
        return duplicates_of(self, host)

    def near_duplicates(self, host: int | None = None) -> Iterator[tuple[str, str]]:
        """Pairs of pages whose texts differ in one word."""
        return near_duplicates_of(self, host)

    def disallowed(self, host: int | None = None) -> Iterator[str]:
        """URLs that are linked and that robots.txt forbids."""
        return disallowed_of(self, host)

    def planted(self, url: str) -> list[Planted]:
        """The addresses that stand on a page."""
        return planted_of(self, url)

    def expected(
        self,
        seeds: Iterable[str] | None = None,
        *,
        scope: str = "host",
        sitemaps: bool = True,
        obey_robots: bool = True,
        follow_nofollow: bool = False,
        max_depth: int | None = None,
    ) -> dict[str, Entry]:
        """What a crawl from ``seeds`` (default: every front page) tries, with the depth it finds it at.

        Walks the links of the key, not the web. ``scope`` is host or free. Traps are left out: how many of their pages
        a crawl takes is its own affair. Files with binary extensions and what robots.txt forbids are not tried.
        """
        return expected_of(
            self,
            seeds,
            scope=scope,
            sitemaps=sitemaps,
            obey_robots=obey_robots,
            follow_nofollow=follow_nofollow,
            max_depth=max_depth,
        )
