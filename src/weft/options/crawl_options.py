"""The options of a crawl as keyword arguments, each with its type. Made by tools/write_options.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Literal, TypedDict


class CrawlOptions(TypedDict, total=False):
    """The options of ``weft crawl`` (docs/options.md) with underscores. Texts are read as on the command line."""

    mode: Literal["graph", "email"] | None
    scope: str
    accept: str | Sequence[str]
    reject: str | Sequence[str]
    match: Literal["url", "name"]
    exact_scope: bool
    max_depth: int | str | None
    min_depth: int | str
    follow: str | Sequence[str]
    follow_nofollow: bool
    same_scheme: bool
    same_site: bool
    html_only: bool
    sitemaps: Literal["yes", "no", "only"] | bool
    order: Literal["bfs", "dfs", "path-cost", "in-links", "opic", "pagerank", "large-sites-first", "random", "weft"]
    ranks: str | PathLike[str] | None
    max_pages: int | str | None
    max_time: float | str | None
    max_pages_per_site: int | str | None
    max_time_per_site: float | str | None
    goal: str | None
    goals: int | str | None
    timeout: float | str
    connect_timeout: float | str
    max_size: int | str
    retries: int | str
    max_redirects: int | str
    max_links_per_page: int | str
    max_url: int | str
    max_bugs: int | str
    max_memory: int | str
    max_rate: int | str | None
    grace: float | str
    wait: bool
    stop_file: str | PathLike[str] | None
    workers: int | str
    processes: int | str | None
    delay: float | str
    per_host: int | str
    site: str | Sequence[str] | Mapping[str, Mapping[str, str | float]]
    per_ip: int | str | None
    ip_delay: float | str
    max_crawl_delay: float | str
    pace: Literal["fixed", "auto"]
    max_wait: float | str
    ignore_robots: bool
    user_agent: str | None
    contact: str | None
    header: str | Sequence[str]
    proxy: str | None
    auth: str | Sequence[str]
    cookies: str | PathLike[str] | None
    no_cookies: bool
    ca: str | PathLike[str] | None
    cert: str | PathLike[str] | None
    insecure: str | Sequence[str]
    allow_net: str | Sequence[str]
    resolve: str | Sequence[str]
    nameserver: str | Sequence[str]
    no_http2: bool
    render: Literal["no", "auto", "always"]
    browser: str | None
    browser_sandbox: Literal["yes", "no"] | bool
    render_wait: float | str
    wait_for: str | None
    page_script: str | PathLike[str] | None
    viewport: str
    scroll: int | str
    click: bool
    third_party: Literal["yes", "no"] | bool
    block: str | Sequence[str]
    tabs: int | str
    normalize: str | Sequence[str]
    drop_query: bool
    near_duplicates: float | str | None
    minhash: Literal["fast", "classic"]
    similarity: Literal["jaccard", "signature"]
    skip_duplicates: Literal["no", "exact", "near"]
    trap_path_repeats: int | str
    trap_path_segments: int | str
    trap_query_repeats: int | str
    trap_query_size: int | str
    trap_query_variants: int | str
    trap_slash_aliases: int | str
    trap_spellings: int | str
    trap_session_ids: int | str
    trap_calendar_pages: int | str
    trap_chain: int | str
    trap_endless_site_pages: int | str
    trap_hosts_per_domain: int | str
    trap_duplicates_only: int | str
    text: bool
    keywords: int | str
    extract: str | Sequence[str]
    region: str | None
    pattern: str | Sequence[str]
    select: str | Sequence[str]
    xpath: str | Sequence[str]
    find: str | Sequence[str]
    record: str | Sequence[str] | Mapping[str, Mapping[str, str | Mapping[str, str | bool]]]
    no_archive: bool
    warc_size: int | str
    block_digest: bool
    graphs: str | PathLike[str] | None
    graph_duplicates: bool
    graph_summary: bool
    common_log: str | PathLike[str] | None
    error_log: str | PathLike[str] | None
    repository: str | PathLike[str] | None
    log_file: str | PathLike[str] | None
    log_level: int | str
    period: float | str | None
    images: bool
    documents: bool
    assets: bool
    files: str | Sequence[str]
    embeds: Literal["any", "scope"]
    max_file_size: int | str
    max_files: int | str | None
    check_links: bool
    part: str | Sequence[str]
