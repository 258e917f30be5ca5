"""Statistics for machines: one JSON object, or CSV in long form; written site by site, never all at once."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from weft.derive.stats.gather import Statistics
from weft.derive.stats.model import Numbers, Totals
from weft.text.safe import cell


class Figure(NamedTuple):
    """A row of ``weft stats --csv``; ``site`` is empty for what belongs to no site."""

    table: str
    site: str
    name: str
    value: str | int | float


def json_of(statistics: Statistics) -> Iterator[bytes]:
    """The whole as one JSON object, in pieces."""
    encode = msgspec.json.Encoder().encode
    yield encode(statistics.totals)[:-1] + b',"sites":['
    for number, site in enumerate(statistics.sites()):
        yield (b"," if number else b"") + encode(site)
    yield b"]}\n"


def csv_of(statistics: Statistics) -> Iterator[bytes]:
    """The same as rows of table, site, name, value."""
    yield _csv([Figure._fields])
    yield _csv(_of_crawl(statistics.totals))
    for site in statistics.sites():
        yield _csv(_of_site(site, site.site or ""))


def _csv(rows: Iterator[Figure] | list[tuple[str, ...]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([[cell(value) for value in row] for row in rows])
    return text.getvalue().encode("utf-8")


def _of_crawl(totals: Totals) -> Iterator[Figure]:
    for name in ("folder", "state", "stop_reason", "started_at", "ended_at", "runs", "elapsed_s", "pages_per_s"):
        yield Figure("crawl", "", name, getattr(totals, name) or "")
    for name in ("seconds_per_page", "sites_visited", "broken_pages"):
        yield Figure("crawl", "", name, _number(getattr(totals, name)))
    yield from _of_site(totals.all, "")
    for table, spread in (("size", totals.sizes), ("response_ms", totals.response_ms)):
        if spread is not None:
            yield from (Figure(table, "", name, getattr(spread, name)) for name in spread.__struct_fields__)
    for table, bars in (("size_bar", totals.size_bars), ("response_bar", totals.response_bars)):
        yield from (Figure(table, "", str(bar.least), bar.number) for bar in bars)
    for moment in totals.timeline.moments:
        yield Figure("pages_at_s", "", str(moment.at_s), moment.pages)
        yield Figure("requests_at_s", "", str(moment.at_s), moment.requests)
    for table, pages in (("slowest", totals.slowest), ("largest", totals.largest), ("most_linked", totals.most_linked)):
        yield from (Figure(table, "", page.url, page.value) for page in pages)
    yield from (Figure("redirect_hops", "", hops, number) for hops, number in totals.redirects.by_hops.items())
    yield Figure("redirects", "", "loops", totals.redirects.loops)
    yield Figure("redirects", "", "end_in_error", totals.redirects.end_in_error)
    for page in totals.broken:
        yield Figure("broken", "", page.url, page.links)
        yield from (Figure("broken_link", page.url, holder.url, holder.anchor) for holder in page.pages)
    for link in totals.domains.links:
        yield Figure("domain_links_visited", link.source, link.target, link.visited)
        yield Figure("domain_links_known", link.source, link.target, link.known)
    yield from _of_across(totals)


def _of_across(totals: Totals) -> Iterator[Figure]:
    across, against = totals.across, totals.against
    for name in ("sites", "pages", "internal_links", "mean_links", "rank_correlation", "pages_median", "links_median"):
        yield Figure("across", "", name, _number(getattr(across, name)))
    for group in across.groups:
        yield from (
            Figure("group", site, group.group, f"{group.pages} pages, {group.links} links") for site in group.sites
        )
    if against is None:
        return
    for name in ("entries", "not_urls", "repeated", "here", "there", "both", "only_here", "only_there"):
        yield Figure("against", "", name, getattr(against, name))
    yield Figure("against", "", "difference", _number(against.difference))
    yield Figure("against", "", "missing_share", _number(against.missing_share))
    for site in against.sites:
        for name in ("here", "there", "both", "only_here", "only_there", "difference"):
            yield Figure("against", site.site, name, _number(getattr(site, name)))
    yield from (Figure("why_only_there", "", name, number) for name, number in against.why_only_there.items())
    yield from (Figure("only_here", "", url, 1) for url in against.urls_only_here)
    yield from (Figure("only_there", "", url, 1) for url in against.urls_only_there)


def _of_site(numbers: Numbers, site: str) -> Iterator[Figure]:
    for name in numbers.__struct_fields__:
        value = getattr(numbers, name)
        if isinstance(value, dict):
            yield from (Figure(name, site, key, number) for key, number in value.items())
        elif name != "site" and value is not None:
            yield Figure("site" if site else "all", site, name, int(value) if isinstance(value, bool) else value)


def _number(value: float | None) -> str | float:
    return "" if value is None else value
