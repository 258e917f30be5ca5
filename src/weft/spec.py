"""The whole specification of a crawl, as small frozen values with every default visible here."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

FOLLOWED_KINDS = ("a", "area", "frame", "iframe", "refresh", "onclick", "redirect", "sitemap")


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """Which URLs belong to the crawl."""

    scope: str = "host"  # host, domain, seed-domain, path, free, suffix:NAME
    accept: tuple[str, ...] = ()
    reject: tuple[str, ...] = ()
    max_depth: int | None = None
    min_depth: int = 0
    follow: tuple[str, ...] = FOLLOWED_KINDS
    follow_nofollow: bool = False
    same_scheme: bool = False  # R12: links of another protocol than the site's are ignored (mode graph)
    html_only: bool = False  # R8 (mode graph)
    sitemaps: str = "yes"  # yes, no, only

    @property
    def followed(self) -> tuple[str, ...]:
        """The kinds of links that bring their targets in."""
        return ("redirect", "sitemap") if self.sitemaps == "only" else self.follow


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Where the crawl, and one request, end."""

    max_pages: int | None = None
    max_time_s: float | None = None
    max_pages_per_site: int | None = None
    max_time_per_site_s: float | None = None
    timeout_s: float = 30.0
    connect_timeout_s: float = 10.0
    max_size_b: int = 10_000_000
    retries: int = 2
    max_redirects: int = 10
    max_links_per_page: int = 20_000
    max_url_b: int = 8_192
    max_bugs: int = 20
    max_memory_b: int = 1 << 30
    max_rate_b: int | None = None
    grace_s: float = 5.0
    wait: bool = False


class Politeness(msgspec.Struct, frozen=True, kw_only=True):
    """How gently sites are asked."""

    workers: int = 64
    delay_s: float = 0.5
    per_host: int = 1
    per_ip: int | None = None  # None: 16 for public addresses, unbounded for private ones
    ip_delay_s: float = 0.0
    max_crawl_delay_s: float = 30.0
    max_wait_s: float = 60.0
    ignore_robots: bool = False
    order: str = "bfs"


class Traps(msgspec.Struct, frozen=True, kw_only=True):
    """Budgets against endless sites (E20); 0 switches a rule off."""

    path_repeats: Annotated[
        int, Meta(description="the same segments of a path fewer than N times in a row, else PATH_REPEATS")
    ] = 3
    path_segments: Annotated[int, Meta(description="at most N segments in a path, else PATH_TOO_DEEP")] = 25
    query_repeats: Annotated[
        int, Meta(description="the same parameter of a query fewer than N times, else QUERY_REPEATS")
    ] = 3
    query_b: Annotated[int, Meta(description="at most this many bytes of query, else QUERY_TOO_LONG")] = 1_024
    query_variants: Annotated[
        int, Meta(description="at most N mixtures (and 8 for each value) of one path's filters, else QUERY_VARIANTS")
    ] = 500
    slash_aliases: Annotated[
        int, Meta(description="at most N further spellings of pages by // in the path per site, else SLASH_ALIASES")
    ] = 20
    session_ids: Annotated[int, Meta(description="at most N session ids of one page, else SESSION_IDS")] = 3
    calendar_pages: Annotated[
        int, Meta(description="at most N steps of a calendar, or N dates that lead to dates only, else CALENDAR")
    ] = 1_000
    chain: Annotated[
        int, Meta(description="at most N pages of one shape in a row, each found on the last, else CHAIN_TOO_LONG")
    ] = 500
    endless_site_pages: Annotated[
        int, Meta(description="N pages of a site that makes them up without end are enough, else ENDLESS_SITE")
    ] = 3_000
    hosts_per_domain: Annotated[
        int, Meta(description="at most N hosts of one registrable domain, else HOSTS_PER_DOMAIN")
    ] = 500
    duplicates_only: Annotated[
        int, Meta(description="at most N bodies already seen in a row below one path, else DUPLICATES_ONLY")
    ] = 50


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """Who we say we are."""

    user_agent: str | None = None
    contact: str | None = None
    headers: tuple[str, ...] = ()


class Network(msgspec.Struct, frozen=True, kw_only=True):
    """How the web is reached. ``auth`` and ``proxy`` may be secrets: they are never written to crawl.toml."""

    proxy: str | None = None
    ca: str | None = None
    cert: str | None = None
    insecure: tuple[str, ...] = ()
    allow_net: tuple[str, ...] = ()
    resolve: tuple[str, ...] = ()
    nameserver: tuple[str, ...] = ()
    auth: tuple[str, ...] = ()
    cookies: str | None = None
    keep_cookies: bool = True
    http2: bool = True


class Urls(msgspec.Struct, frozen=True, kw_only=True):
    """How URLs are told apart (R14)."""

    normalize: tuple[str, ...] = ()  # filled from url.DEFAULT_RULES where empty; names of rules that are on
    drop_query: bool = False


class Keep(msgspec.Struct, frozen=True, kw_only=True):
    """What is stored."""

    archive: bool = True
    warc_file_b: int = 1_000_000_000


class CrawlSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One crawl, whole. Every field is an option of ``weft crawl`` and a key of crawl.toml (see ``weft.options``)."""

    seeds: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()  # names of the options whose values are withheld from crawl.toml
    mode: str | None = None
    scope: Scope = Scope()
    limits: Limits = Limits()
    politeness: Politeness = Politeness()
    traps: Traps = Traps()
    identity: Identity = Identity()
    network: Network = Network()
    urls: Urls = Urls()
    keep: Keep = Keep()
