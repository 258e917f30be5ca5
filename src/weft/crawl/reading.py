"""How a page is read: by weft's parser, with the mark of its process set, then by the plugins of the user."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import msgspec

from weft.crawl.marks import ParseMark
from weft.crawl.rendered import as_rendered
from weft.fetch.robots import agents_of
from weft.parse.content import declared_type, field_that_counts, media_type
from weft.parse.html import Headers, Reading, parse_page, reads_quickly
from weft.records import RENDERED_TYPE, Fetched, Links, Parsed
from weft.spec import CrawlSpec

ERROR_PAGE_B = 1 << 16  # up to which one is kept to know it again
_READ_HEADERS = frozenset({"content-type", "x-robots-tag", "link", "refresh", "content-language"})

_Said = tuple[bytes, list[tuple[str, str]]]

ParserPlugin = Callable[[bytes, str, str | None, Parsed], Parsed]
"""(body, url, content type, what weft read) -> what is read."""


class PageReader:
    """Reads answers for pages. The page is marked while it is read, so that one that ends the process is known."""

    def __init__(self, spec: CrawlSpec, mark: ParseMark, plugins: Sequence[ParserPlugin]) -> None:
        self._plugins = plugins  # R4
        self._max_links = spec.limits.max_links_per_page
        self._agents = agents_of(spec.identity.user_agent)
        self._html_only = spec.scope.html_only
        self._wants_text = spec.duplicates.near is not None
        files = spec.files
        self._wants_shown, self._wants_assets = files.asks_beside_pages, files.assets or files.check_links
        self._mark = mark
        self.builds_trees = True  # else ``NeedsTree`` is raised for a page that only a tree tells
        self._error_page: tuple[_Said, Parsed] | None = None  # the last one, and what it says

    def read(self, answer: Fetched, url: str, fields: Mapping[str, str]) -> Parsed:
        """What an answer says. ``fields`` are the first values of its headers."""
        if answer.status < 400 or self._plugins or len(answer.body) > ERROR_PAGE_B:
            return self._read(answer, url, fields)
        # A server's error pages are mostly one and the same: it is read once, not for every broken link.
        said = answer.body, [pair for pair in answer.headers if pair[0] in _READ_HEADERS]
        if self._error_page is None or said != self._error_page[0]:
            parsed = self._read(answer, url, fields)
            if parsed.canonical is not None:  # it may be another one for another page
                return parsed
            self._error_page = said, parsed
        return self._error_page[1]

    def _read(self, answer: Fetched, url: str, fields: Mapping[str, str]) -> Parsed:
        content_type = fields.get("content-type")
        if len(fields) < len(answer.headers):  # one of them, maybe this, is there more than once
            content_type = field_that_counts(answer.header_values("content-type"))
        if self._html_only and declared_type(content_type) != "text/html":  # R8: no page at all
            return Parsed(type=media_type(content_type, answer.body))
        with self._mark.of(url):
            headers = Headers(
                answer.header_values("x-robots-tag") if "x-robots-tag" in fields else (),
                answer.header_values("link") if "link" in fields else (),
                fields.get("refresh"),
                fields.get("content-language"),
            )
            with_text = self._wants_text or answer.rendered is not None
            reading = Reading(
                self._agents, self._max_links, with_text, self.builds_trees, self._wants_shown, self._wants_assets
            )
            parsed = parse_page(answer.body, url, content_type, headers, reading)
            if answer.rendered is not None:
                read = partial(_read_rendered, url, headers, reading)
                parsed = as_rendered(parsed, answer.rendered, url, read, self._max_links)
            text = parsed.text
            for parse in self._plugins:
                parsed = parse(answer.body, url, content_type, parsed)
                if not isinstance(parsed.links, Links):  # any links will do
                    parsed = msgspec.structs.replace(parsed, links=Links.of(parsed.links))
            if self._plugins:
                parsed = msgspec.structs.replace(parsed, text=text)
            return parsed


def _read_rendered(page_url: str, headers: Headers, reading: Reading, html: str, url: str) -> Parsed:
    """What a part of a rendered page says. The headers of its answer count for the page itself."""
    said = headers if url == page_url else Headers()
    return parse_page(html.encode("utf-8", "replace"), url, RENDERED_TYPE, said, reading)


def needs_trees(spec: CrawlSpec) -> bool:
    """Whether every page is read by its tree: the compiled reader is not there, or it does not give all."""
    wants_more = spec.duplicates.near is not None or spec.extract.wants_text or spec.harvest.reads_trees
    return wants_more or spec.files.asks_beside_pages or not reads_quickly()
