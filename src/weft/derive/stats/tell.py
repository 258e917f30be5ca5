"""Statistics for a terminal: the numbers that matter, in lines that fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from weft.derive.rendering import CrawlRendering
from weft.derive.stats.gather import Statistics
from weft.derive.stats.model import Across, Against, AgainstSite, Numbers, Totals
from weft.text.human import command, counted, human_bytes, human_seconds
from weft.text.safe import shown

_WORD = 12
_SITES = 20
_LISTED = 10
_NAMED = 8


def lines_of(statistics: Statistics) -> Iterator[str]:
    """The whole summary, safe for a terminal."""
    return map(shown, _lines(statistics))


def _lines(statistics: Statistics) -> Iterator[str]:
    totals = statistics.totals
    yield from _head(totals)
    yield from _pages(totals)
    yield from _links(totals)
    yield from _sites(statistics)
    yield from _across(totals.across)
    yield from _lists(totals)
    if totals.against is not None:
        yield from _against(totals.against)


def _head(totals: Totals) -> Iterator[str]:
    reason = totals.stop_reason
    why = f" ({reason})" if reason and reason != totals.state else ""
    runs = f" in {totals.runs} runs" if totals.runs > 1 else ""
    spent = f"{human_seconds(totals.elapsed_s)}{runs}, {totals.pages_per_s:,.1f} pages a second"
    each = f" ({totals.seconds_per_page:,.3f} s a page)" if totals.seconds_per_page is not None else ""
    yield f"{totals.folder}: {totals.state}{why}, {spent}{each}"


def _pages(totals: Totals) -> Iterator[str]:
    whole = totals.all
    near = "" if whole.near_duplicates is None else f", {whole.near_duplicates:,} of them near"
    yield _told(
        "pages",
        f"{whole.pages:,} stored; HTML of any status {whole.html:,}, duplicates {whole.duplicate:,}{near};"
        f" {counted(whole.known, 'URL')} known",
    )
    states = {"waiting": "W", "running": "R", "answered": "C", "errors": "E", "refused": "refused"}
    numbers = whole.states | {"E": whole.states.get("E", 0) - whole.robots_refused}
    yield _told("states", _counted({word: numbers.get(key, 0) for word, key in states.items()}))
    yield _told("status", _counted(whole.status))
    yield _told("types", _counted(whole.types))
    yield _told("depth", _counted(whole.depths))
    yield _told("languages", _counted(whole.languages))
    if totals.sizes is not None:
        spread = totals.sizes
        middle = f"median {human_bytes(spread.median)}, mean {human_bytes(round(spread.mean))}"
        received = f"{human_bytes(whole.size)} in all, {human_bytes(whole.size_wire)} received"
        yield _told("sizes", f"{middle}, largest {human_bytes(spread.most)}; {received}")
    if totals.response_ms is not None:
        times = totals.response_ms
        yield _told("times", f"median {times.median:,} ms, 90 % below {times.p90:,} ms, slowest {times.most:,} ms")
    yield _told("images", f"{whole.image:,}: {_counted(whole.images)}; {_mean(whole.mean_images)} a page")
    if whole.images_without_alt or whole.large_images:
        yield _told("", f"stored: {whole.images_without_alt:,} without alt, {whole.large_images:,} over 100 KB")
    yield _told("documents", f"{whole.binary:,}: {_counted(whole.documents)}; {_mean(whole.mean_documents)} a page")
    if totals.rendering is not None:
        yield from _rendering(totals.rendering)
    if whole.errors:
        yield _told("errors", _counted(whole.errors))
    yield _told("robots.txt", f"{counted(whole.robots_refused, 'URL')} refused")
    if whole.refused:
        yield _told("refused", _counted(whole.refused))


def _rendering(found: CrawlRendering) -> Iterator[str]:
    failed = f"; {found.failed:,} could not be rendered" if found.failed else ""
    brought = f"it brought links or text to {found.gained:,}"
    yield _told("rendered", f"{counted(found.pages, 'page')}, {brought}; {counted(found.requests, 'request')}{failed}")
    for one in found.templates[:_LISTED]:
        left_out = f"; {counted(one.skipped, 'page')} left out" if one.skipped else ""
        lost = f", {one.late:,} found later to need it" if one.late else ""
        yield _told("", f"{one.example}: of {one.samples:,} like it {one.gained:,} gained something{left_out}{lost}")
    yield from _more(len(found.templates), _LISTED, "--json has them")


def _links(totals: Totals) -> Iterator[str]:
    whole, chains, domains = totals.all, totals.redirects, totals.domains
    kinds = (
        f"internal {whole.internal_links:,}, external {whole.external_links:,}, mailto and such {whole.other_links:,}"
    )
    broken = f"{whole.broken_links:,} to {counted(totals.broken_pages, 'broken page')}"
    yield _told("links", f"{whole.links:,}: {kinds}; {broken}; {_mean(whole.mean_links)} a page")
    if chains.number:
        hops = ", ".join(f"{counted(int(hops), 'hop')} {n:,}" for hops, n in islice(chains.by_hops.items(), 8))
        yield _told(
            "redirects",
            f"{counted(chains.number, 'chain')}: {hops}; endless {chains.loops:,}, broken {chains.end_in_error:,}",
        )
    registered = counted(domains.registrable, "registered domain")
    found = f"{domains.visited:,} visited, {domains.known:,} known, of {registered}"
    yield _told("domains", f"{found}; {counted(domains.pairs, 'pair')} linked")


def _sites(statistics: Statistics) -> Iterator[str]:
    """G9's table: the sites, those with a start address marked."""
    sites = list(islice(statistics.sites(), _SITES))
    if not sites:
        return
    heading = ("site (* start)", "pages", "HTML", "DUPLICATE", "IMAGE", "BINARY", "depth", "links", "broken", "errors")
    rows = [_site_row(site) for site in sites]
    if len(statistics.site_ids) > 1:
        rows.append(("ALL", *_site_row(statistics.totals.all)[1:]))
    yield ""
    yield from _table(heading, rows)
    yield from _more(len(statistics.site_ids), len(sites), "--json, --csv and --html have them")


def _site_row(numbers: Numbers) -> tuple[str, ...]:
    name = f"{numbers.site}{' *' if numbers.start else ''}"
    counts = (numbers.pages, numbers.html, numbers.duplicate, numbers.image, numbers.binary)
    rest = (numbers.links, numbers.broken_links, sum(numbers.errors.values()))
    depth = "-" if numbers.depth is None else str(numbers.depth)
    return (name[:60], *(f"{number:,}" for number in counts), depth, *(f"{number:,}" for number in rest))


def _across(across: Across) -> Iterator[str]:
    if across.sites < 2:
        return
    yield ""
    correlation = "-" if across.rank_correlation is None else f"{across.rank_correlation:+.2f}"
    links = f"{counted(across.internal_links, 'internal link')}, {_mean(across.mean_links)} a page"
    numbers = f"{counted(across.pages, 'page')}, {links}"
    yield f"across {across.sites:,} sites: {numbers}; rank correlation of pages and links {correlation}"
    for group in across.groups:
        names = ", ".join(group.sites[:3]) + (", ..." if group.number > 3 else "")
        yield _told(f"group {group.group}", f"{group.pages} pages, {group.links} links: {group.number:,}  {names}")


def _lists(totals: Totals) -> Iterator[str]:
    if totals.slowest and totals.slowest[0].value > 0:
        yield ""
        yield "slowest pages"
        yield from (f"  {page.value:>9,} ms  {page.url}" for page in totals.slowest[:_LISTED])
        yield from _more(len(totals.slowest), _LISTED, "--json, --csv and --html have them")
    if totals.largest:
        yield ""
        yield "largest pages"
        yield from (f"  {human_bytes(page.value):>12}  {page.url}" for page in totals.largest[:_LISTED])
        yield from _more(len(totals.largest), _LISTED, "--json, --csv and --html have them")
    if totals.broken:
        yield ""
        yield "broken links"
        for page in totals.broken[:_LISTED]:
            holder = f"  on {page.pages[0].url}" if page.pages else ""
            yield f"  {page.status or page.error or '?':>12}  {page.links:,} x  {page.url}{holder}"
        yield from _more(totals.broken_pages, _LISTED, f"{command('links', totals.folder, '--broken')} has them all")


def _against(against: Against) -> Iterator[str]:
    yield ""
    yield f"against {against.file}: {counted(against.there, 'page')} there, {against.here:,} here"
    share = "" if against.difference is None else f"; {against.difference:.1%} of all are in one list only"
    yield _told("both", f"{against.both:,}{share}")
    if len(against.sites) > 1:
        heading = ("site", "here", "there", "both", "only here", "only there", "differ")
        yield from _table(heading, [_against_row(site) for site in against.sites[:_SITES]])
        yield from _more(len(against.sites), _SITES, "--json and --csv have them")
    yield _told("only here", f"{against.only_here:,}")
    yield from (f"    {url}" for url in against.urls_only_here[:_LISTED])
    yield from _more(against.only_here, _LISTED, "--json and --csv have them")
    yield _told("only there", f"{against.only_there:,}: {_counted(against.why_only_there)}")
    yield from (f"    {url}" for url in against.urls_only_there[:_LISTED])
    yield from _more(against.only_there, _LISTED, "--json and --csv have them")
    if against.not_urls or against.repeated:
        yield _told("left out", f"no URL {against.not_urls:,}, repeated {against.repeated:,}")


def _against_row(site: AgainstSite) -> tuple[str, ...]:
    counts = (site.here, site.there, site.both, site.only_here, site.only_there)
    share = "-" if site.difference is None else f"{site.difference:.1%}"
    return (site.site[:60], *(f"{number:,}" for number in counts), share)


def _table(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(len(row[place]) for row in (heading, *rows)) for place in range(len(heading))]
    for row in (heading, *rows):
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        yield f"  {'  '.join(cells)}".rstrip()


def _more(number: int, told: int, where: str) -> Iterator[str]:
    """Says that a list is cut, if it is, and where the rest is."""
    if number > told:
        yield f"  and {number - told:,} more: {where}"


def _counted(numbers: Mapping[str, int]) -> str:
    shown_ones = ", ".join(f"{name} {number:,}" for name, number in islice(numbers.items(), _NAMED))
    more = len(numbers) - _NAMED
    return f"{shown_ones}, {more:,} more" if more > 0 else shown_ones or "none"


def _mean(value: float | None) -> str:
    return "-" if value is None else f"{value:,.3g}"


def _told(word: str, text: str) -> str:
    return f"  {word:<{_WORD}}{text}"
