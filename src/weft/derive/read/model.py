"""What is read of a crawl: pages, links, how far it is, where a URL is known; and which visit of a page counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self

import msgspec

from weft.derive.body import Content
from weft.errors import WeftError
from weft.records import Purpose, RunState

if TYPE_CHECKING:
    from turbohtml import Element

    from weft.derive.items.rows import ItemRow
    from weft.extract.keywords import Keyword
    from weft.extract.main_text import MainText

QUEUED = ", ".join(str(purpose.value) for purpose in Purpose if purpose.is_queued)
"""The purposes of visits of pages, files and checked targets."""

# The visit that counts is the page's newest, or, where that came after we began, its newest before.
COUNTED_VISIT = f"""CASE WHEN p.visit <= :newest THEN p.visit WHEN p.visit IS NOT NULL THEN
    (SELECT max(w.id) FROM visit w WHERE w.page = p.id AND w.id <= :newest AND w.purpose IN ({QUEUED})) END"""

NO_FILE = f"coalesce(v.purpose, 0) NOT IN ({Purpose.FILE.value}, {Purpose.CHECK.value})"
"""That a visit ``v``, if there is one, did not bring a file, and was not a check."""

NO_CHECK = "(p.state IS NULL OR p.reason IS NULL)"
"""That a page ``p`` is not a target that is only checked, asked or not: these alone have a state and a reason."""


class Page(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """One URL of a crawl, as `weft pages` shows it. URLs, texts and numbers are None where there are none.

    ``body``, ``html``, ``text`` and what else the page holds are no fields: they are read at each use.
    """

    url: str
    key: str
    state: str | None
    reason: str | None
    status: int | None
    error: str | None
    truncated: bool
    type: str | None
    encoding: str | None
    language: str | None
    title: str | None
    description: str | None
    canonical: str | None
    found_on: str | None
    redirect_to: str | None
    duplicate_of: str | None
    size: int | None
    size_wire: int | None
    hash: str | None
    depth: int
    attempts: int
    out_links: int
    external_links: int
    in_links: int | None  # None where they were not counted
    fetched_at: str | None
    last_modified: str | None
    server_date: str | None
    response_ms: int | None
    ip: str | None
    http_version: str | None
    noindex: bool
    nofollow: bool
    warc_file: str | None
    warc_offset: int | None

    @property
    def body(self) -> bytes:
        """The body, content encodings taken off; empty where nothing was answered.

        ``WeftError`` where it cannot be had: the crawl keeps no archive, or its folder is gone.
        """
        return self.content.body()

    @property
    def html(self) -> str:
        """The body as text, in its own encoding; empty where it is no text. Errors as of ``body``."""
        return self.content.html()

    @property
    def text(self) -> str:
        """What a reader sees, a line for each block; empty where it is no text. Errors as of ``body``."""
        return self.content.text()

    @property
    def main_text(self) -> MainText:
        """The main text, with what the page says of itself; empty where it is no text. Errors as of ``body``."""
        return self.content.main_text()

    @property
    def markdown(self) -> str:
        """The main text as Markdown. Errors as of ``body``."""
        return self.main_text.markdown

    def keywords(self, number: int = 10) -> list[Keyword]:
        """The weightiest words of the main text. Errors as of ``body``."""
        return list(self.content.main_text(number).keywords or ())

    @property
    def links(self) -> list[LinkRow]:
        """The links of the page, in their order."""
        return self.content.links(self.url)

    @property
    def items(self) -> list[ItemRow]:
        """The items of the page, as `weft items` gives them; of each, ``pages`` is None.

        Of a crawl that looked for no items: the e-mail addresses, phone numbers and profiles of the page, looked for
        now. Then errors as of ``body``.
        """
        return self.content.items()

    def select(self, selector: str) -> list[Element]:
        """The elements that a CSS selector finds, their addresses absolute; none where the body is no HTML.

        ``SpecError`` where it is no selector. Errors as of ``body``.
        """
        return self.content.select(self.url, selector)

    @property
    def ids(self) -> tuple[int, int | None]:
        """The ids, in the database, of the page and of the visit that counts (None: there was none)."""
        content = self.content
        return content.page, content.visit

    def with_content(self, content: Content) -> Self:
        """The same page, which now knows where its body is."""
        self.__dict__["content"] = content
        return self

    @property
    def content(self) -> Content:
        """Where the body is; ``WeftError`` of a row by itself."""
        content: Content | None = self.__dict__.get("content")
        if content is None:
            raise WeftError(f"{self.url} is a row by itself: take it from weft.crawl or weft.open to read its body")
        return content


class LinkRow(msgspec.Struct, frozen=True, kw_only=True):
    """One link, as `weft links` shows it. The anchor of a link of a sitemap is the date of change given there."""

    source: str
    target: str
    target_key: str
    kind: str
    anchor: str
    rel: str
    fragment: str
    internal: bool
    followed: bool
    target_status: int | None  # as `weft pages` shows the target; None where it was never asked
    target_error: str | None


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """How far a crawl is, as `weft status --json` shows it."""

    state: RunState
    stop_reason: str | None  # a StopReason
    known: int
    refused: int
    waiting: int
    running: int
    completed: int
    errors: int  # what robots.txt forbids is none
    robots_refused: int
    pages: int
    links: int
    items: int
    hosts: int
    bytes: int
    elapsed_s: float
    pages_per_s: float
    bugs: int
    started_at: str | None
    ended_at: str | None
    version: str | None
    folder: str


class PackedLink(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A link as the table ``link_pack`` keeps it; ``target`` is the id of a URL."""

    target: int
    kind: int
    offered: int
    anchor: str = ""
    rel: str = ""
    fragment: str = ""


class Hop(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Just target and kind of a packed link: what stands behind them is skipped, not read."""

    target: int
    kind: int


class Place(NamedTuple):
    """Where a URL is known: the id of its text, and of its page (None: it was never a page of the crawl)."""

    url: int
    page: int | None
    by_key: bool  # known by another spelling only
