"""The values that a story is made of: the fields of ``weft why --json``."""

from __future__ import annotations

import msgspec

from weft.derive.rendering import PageRendering


class Rewriting(msgspec.Struct, frozen=True, kw_only=True):
    """One rule of --normalize that changed something on the way from the URL to its key."""

    rule: str
    before: str
    after: str


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """Where the URL came from. ``kind`` is that of the link, or ``seed``; depth is the least distance known."""

    kind: str | None
    on: str | None
    at: str | None
    depth: int
    anchor: str | None = None
    rel: str | None = None
    source: str | None = None  # of a seed: the command line, file:line, weft add, fallback


class RobotsSays(msgspec.Struct, frozen=True, kw_only=True):
    """What the stored robots.txt of the origin says; ``line`` and ``text`` are those of the line that decides."""

    origin: str
    url: str
    status: int | None
    error: str | None
    fetched_at: str | None
    allowed: bool
    line: int | None
    text: str | None
    ignored: bool  # --ignore-robots


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """One visit, whatever happened."""

    at: str | None
    url: str
    attempt: int
    status: int | None
    error: str | None
    detail: str | None
    response_ms: int | None
    ip: str | None
    redirect_to: str | None


class Body(msgspec.Struct, frozen=True, kw_only=True):
    """Where the newest answer lies in the archive; ``stored_with`` is the URL whose record holds an equal payload."""

    warc_file: str
    warc_offset: int
    warc_length: int
    digest: str | None
    stored_with: str | None


class Story(msgspec.Struct, frozen=True, kw_only=True):
    """Everything there is to tell of one URL.

    ``outcome`` is one word: fetched, failed, refused (other schemes, too), waiting, running, recorded (known, never a
    page of its own: robots.txt, sitemaps), or unknown. ``because`` says it in sentences, the most telling first. Of
    a URL that is no page of the crawl, the rest has its default.
    """

    url: str
    outcome: str
    because: list[str]
    seen: bool
    key: str | None
    rewritten: list[Rewriting]
    page_url: str | None = None  # the URL that is asked for this page, where it is another spelling
    state: str | None = None
    reason: str | None = None
    error: str | None = None
    option: str | None = None  # the option that would change it, with its present value
    found: Found | None = None
    robots: RobotsSays | None = None
    attempts: list[Attempt] = []
    attempts_in_all: int = 0
    status: int | None = None
    redirect_to: str | None = None
    canonical: str | None = None
    duplicate_of: str | None = None
    same_body: int = 0  # how many other pages have the same body; counting ends at 1,000
    noindex: bool = False
    nofollow: bool = False
    body: Body | None = None
    rendering: PageRendering | None = None
    nearest: list[str] = []
