"""The whole specification of a crawl, as small frozen values with every default visible here."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

RESULT_IN_FOLDER = "auto"
"""Stands for the folder ``result`` in the crawl's own folder."""

ON_SCREEN = "screen"
"""Stands for the screen in the place of a log's file."""

NO_BOUND = -1
"""Stands in a site's own settings for: no bound, whatever holds for the others."""

MAX_SITEMAP_B = 52_428_800
"""The bound of a sitemap by its protocol, unpacked: it holds whatever the bound of pages is."""

FOLLOWED_KINDS = ("a", "area", "frame", "iframe", "refresh", "onclick", "redirect", "sitemap")


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """Which URLs belong to the crawl."""

    scope: str = "host"  # host, domain, seed-domain, path, free, suffix:NAME
    accept: tuple[str, ...] = ()
    reject: tuple[str, ...] = ()
    match: str = "url"  # where accept and reject look: url, or name: the file's name in it (T1)
    exact: bool = False  # T2: the seeds' hosts and no others, not even those that seeds redirect to
    max_depth: int | None = None
    min_depth: int = 0
    follow: tuple[str, ...] = FOLLOWED_KINDS
    follow_nofollow: bool = False
    same_scheme: bool = False  # R12: links of another protocol than the site's are ignored (mode graph)
    same_site: bool = False  # R2: pages and levels of a seed's site come from its own links alone (mode graph)
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
    stop_file: str | None = None  # R5


class SitePace(msgspec.Struct, frozen=True, kw_only=True):
    """What one site (host and port) has of its own (R1); None: as for all the others."""

    site: str
    per_host: int | None = None
    delay_s: float | None = None
    max_depth: int | None = None  # NO_BOUND: as deep as it goes


class Politeness(msgspec.Struct, frozen=True, kw_only=True):
    """How gently sites are asked."""

    workers: int = 64
    processes: int | None = None  # None: as many as pay
    delay_s: float = 0.5
    per_host: int = 1
    per_ip: int | None = None  # None: 16 for public addresses, unbounded for private ones
    ip_delay_s: float = 0.0
    max_crawl_delay_s: float = 30.0
    max_wait_s: float = 60.0
    ignore_robots: bool = False
    pace: str = "fixed"  # fixed, auto
    order: str = "bfs"
    sites: tuple[SitePace, ...] = ()


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
    spellings: Annotated[
        int, Meta(description="at most N further spellings (and 4 for each page) of a site's pages, else SPELLINGS")
    ] = 300
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
        int,
        Meta(
            description="at most N bodies already seen in a row below one path, 8 of each and one for each page, else "
            "DUPLICATES_ONLY"
        ),
    ] = 200


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


class Duplicates(msgspec.Struct, frozen=True, kw_only=True):
    """Which pages are the same (E18, R13, G7)."""

    near: float | None = None  # how alike the texts of near-duplicates are, 0 to 1; None: not looked for
    minhash: str = "fast"  # fast, classic
    similarity: str = "jaccard"  # jaccard: of all shingles; signature: G7's, of the 250 numbers of classic
    skip: str = "no"  # whose links are not followed: no, exact, near

    @property
    def sketch(self) -> str:
        """The kind of sketches that are kept: signatures are those of the classic functions."""
        return "classic" if self.similarity == "signature" else self.minhash


class Keep(msgspec.Struct, frozen=True, kw_only=True):
    """What is stored."""

    archive: bool = True
    warc_file_b: int = 1_000_000_000
    block_digest: bool = False  # of each WARC record; a response always has the digest of its payload
    graphs: str | None = None  # a folder, or OWN_RESULT: a graph of each site at the end of every run (R3, R6)
    graph_duplicates: bool = False  # R13: duplicates are nodes of those graphs too, without edges
    graph_summary: bool = False
    common_log: str | None = None  # None: logs/ of the crawl's folder (R16)
    error_log: str | None = None
    repository: str | None = None  # a folder: a copy of each page, and their index, at the end of every run (T6, T7)
    log_file: str | None = None  # T1: what the crawl does, in words; ON_SCREEN: on the screen
    log_level: int = 1  # 0 quiet, 1 verbose, 2 debug


class Recrawl(msgspec.Struct, frozen=True, kw_only=True):
    """When the pages are asked again."""

    period_s: float | None = None  # T9: from the start of a pass to the start of the next one; None: there is one pass


class Plugins(msgspec.Struct, frozen=True, kw_only=True):
    """Parts of the user's own (R4)."""

    parts: tuple[str, ...] = ()  # ROLE=MODULE:NAME, ROLE=/path/to/file.py:NAME


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
    duplicates: Duplicates = Duplicates()
    keep: Keep = Keep()
    recrawl: Recrawl = Recrawl()
    plugins: Plugins = Plugins()


class Paces:
    """What holds for each site: its own word where it has one, else everybody's.

    A site that a seed redirects to (``example.org`` to ``www.example.org``) takes over the seed's.
    """

    def __init__(self, spec: CrawlSpec) -> None:
        self._rules = {rule.site: rule for rule in spec.politeness.sites}
        self._per_host = spec.politeness.per_host
        self._delay_s = spec.politeness.delay_s
        self._max_depth = spec.scope.max_depth
        self.has_depths = any(rule.max_depth is not None for rule in spec.politeness.sites)

    def has(self, site: str) -> bool:
        """Whether the site has something of its own."""
        return site in self._rules

    def take_over(self, site: str, source: str) -> None:
        """From now on ``site`` is treated as ``source`` is."""
        self._rules[site] = self._rules[source]

    def per_host(self, site: str) -> int:
        """Requests at once."""
        rule = self._rules.get(site)
        return self._per_host if rule is None or rule.per_host is None else rule.per_host

    def delay_s(self, site: str) -> float:
        """Seconds between two requests, start to start."""
        rule = self._rules.get(site)
        return self._delay_s if rule is None or rule.delay_s is None else rule.delay_s

    def max_depth(self, site: str) -> int | None:
        """How many links away from a seed; None: no bound."""
        rule = self._rules.get(site)
        if rule is None or rule.max_depth is None:
            return self._max_depth
        return None if rule.max_depth == NO_BOUND else rule.max_depth

    def depths(self) -> dict[str, int | None]:
        """The sites that have a bound of their own, and that bound."""
        return {site: self.max_depth(site) for site, rule in self._rules.items() if rule.max_depth is not None}
