"""What the statistics of a crawl are made of; the fields of ``weft stats --json`` (docs/statistics.md)."""

from __future__ import annotations

import msgspec

from weft.derive.rendering import CrawlRendering

Counts = dict[str, int]


class Numbers(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of one site, or of all together (then ``site`` is null)."""

    site: str | None
    start: bool  # a start address is on it (G9: start domains marked)
    known: int  # URLs found
    pages: int  # answers 2xx
    html: int  # HTML answered, of any status, duplicates apart (G9: HTML)
    duplicate: int  # exact and near (G9: DUPLICATE)
    exact_duplicates: int
    near_duplicates: int | None  # null: not looked for
    image: int  # images shown, once per page (G9: IMAGE)
    binary: int  # documents linked, once per page (G9: BINARY)
    states: Counts
    status: Counts
    types: Counts
    depths: Counts
    depth: int | None  # of the deepest HTML page
    languages: Counts
    errors: Counts  # by cause, robots.txt apart
    robots_refused: int
    refused: Counts  # by reason
    images: Counts  # PNG, JPG, GIF, UNKNOWN (G9)
    image_types: Counts  # by extension
    documents: Counts  # PDF, DOC, DOCX, ... (G9)
    images_without_alt: int  # of those stored, once per page
    large_images: int  # of those stored, over 100 KB, once per page
    size: int
    size_wire: int
    links: int
    internal_links: int
    external_links: int
    other_links: int  # mailto, tel, javascript
    broken_links: int
    link_kinds: Counts
    nodes: int  # HTML answered 200, duplicates merged: nodes of the graph (R19: pages)
    node_links: int  # their links to the same site, each counted (R19: internal links)
    edges: int  # the same between nodes, parallel ones and redirects merged: edges of the graph
    mean_node_links: float | None
    mean_links: float | None
    mean_external_links: float | None
    mean_images: float | None
    mean_documents: float | None
    mean_size: float | None
    mean_response_ms: float | None


class Spread(msgspec.Struct, frozen=True):
    """How numbers are spread; the shares are exact up to two million numbers."""

    least: int
    median: int
    p90: int
    p99: int
    most: int
    mean: float


class Bar(msgspec.Struct, frozen=True):
    """One bar of a histogram: how many are at least ``least`` and below ``below``."""

    least: int
    below: int
    number: int


class Noted(msgspec.Struct, frozen=True):
    """A page worth looking at, with what it is noted for."""

    url: str
    value: int
    title: str | None = None


class Moment(msgspec.Struct, frozen=True):
    """What was done in a stretch of the time that the crawl ran; ``at_s`` counts running time only."""

    at_s: float
    requests: int
    pages: int
    failures: int
    bytes: int


class Timeline(msgspec.Struct, frozen=True):
    """The whole of the crawl's running time in stretches of equal length; ``runs_s``: when each run began."""

    step_s: float
    runs_s: list[float]
    moments: list[Moment]


class Chain(msgspec.Struct, frozen=True):
    """Redirects in a row: the URLs they lead through, and what stands at the end."""

    urls: list[str]
    hops: int
    loop: bool
    status: int | None
    error: str | None


class Chains(msgspec.Struct, frozen=True):
    """Redirect chains: how many have so many hops, how many never end or end badly, and the worst of them."""

    number: int
    loops: int
    end_in_error: int
    by_hops: Counts
    longest: list[Chain]


class Holder(msgspec.Struct, frozen=True):
    """A page that holds a broken link."""

    url: str
    anchor: str
    kind: str


class Broken(msgspec.Struct, frozen=True):
    """A page that cannot be had though links lead to it, and the pages that hold them (the first ones)."""

    url: str
    status: int | None
    error: str | None
    links: int
    pages: list[Holder]


class DomainLink(msgspec.Struct, frozen=True):
    """How many links lead from one domain to another: to pages visited, and to all known (G9)."""

    source: str
    target: str
    visited: int
    known: int


class Domains(msgspec.Struct, frozen=True):
    """How the domains link to each other; a subdomain is a domain of its own (G3)."""

    visited: int
    known: int
    registrable: int
    pairs: int
    links: list[DomainLink]


class SiteGroup(msgspec.Struct, frozen=True):
    """One of R19's four groups."""

    group: str
    pages: str  # few, many
    links: str
    sites: list[str]
    number: int


class Across(msgspec.Struct, frozen=True):
    """R19: statistics across the sites that have pages."""

    sites: int
    pages: int
    internal_links: int
    mean_links: float | None
    rank_correlation: float | None  # Spearman's; null: fewer than three sites, or all alike
    pages_median: float | None
    links_median: float | None
    groups: list[SiteGroup]


class AgainstSite(msgspec.Struct, frozen=True, kw_only=True):
    """The same comparison for one site that the list speaks of."""

    site: str
    here: int
    there: int
    both: int
    only_here: int
    only_there: int
    difference: float | None


class Against(msgspec.Struct, frozen=True, kw_only=True):
    """R19: our pages beside another crawler's list, compared by our keys."""

    file: str
    entries: int  # lines with a URL
    not_urls: int
    repeated: int  # entries that are one page under our keys
    here: int  # our pages
    there: int  # theirs
    both: int
    only_here: int
    only_there: int
    difference: float | None  # share of all that is in one of the two lists only
    missing_share: float | None  # share of theirs that we do not have
    why_only_there: Counts  # what we know of those: a status, a cause, a reason, not known
    sites: list[AgainstSite]
    urls_only_here: list[str]
    urls_only_there: list[str]
    cut: bool  # the lists of URLs are longer than shown


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """``weft stats --json`` without the sites."""

    folder: str
    made_at: str
    version: str
    state: str
    stop_reason: str | None
    started_at: str | None
    ended_at: str | None
    runs: int
    elapsed_s: float
    pages_per_s: float
    seconds_per_page: float | None
    sites_visited: int
    all: Numbers
    sizes: Spread | None
    size_bars: list[Bar]
    response_ms: Spread | None
    response_bars: list[Bar]
    timeline: Timeline
    slowest: list[Noted]
    largest: list[Noted]
    most_linked: list[Noted]
    redirects: Chains
    broken: list[Broken]
    broken_pages: int  # how many pages are broken and linked; ``broken`` may hold fewer
    domains: Domains
    across: Across
    against: Against | None
    rendering: CrawlRendering | None
