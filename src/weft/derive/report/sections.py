"""The parts of the report, each a function of the statistics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from weft.derive.report import charts, domains, tables
from weft.derive.report.charts import Value, bars, card, histogram, values_of
from weft.derive.report.markup import Html, join, link, tag
from weft.derive.report.sitemap import MapData
from weft.derive.stats import Statistics
from weft.derive.stats.model import Across, DomainLink, Numbers, SiteGroup, Totals
from weft.text.human import counted, human_bytes, human_seconds

_URLS = 500
_NAMED = 5


class Section(NamedTuple):
    """A part of the report: the name of its anchor, its title, how it is written, whether there is anything to say."""

    name: str
    title: str
    write: Callable[[Statistics, Sequence[Numbers], MapData], Html]
    wanted: Callable[[Statistics], bool]


def title_of(statistics: Statistics) -> str:
    """What the crawl is called: its start sites, else its folder."""
    names = [statistics.site_name(site) for site in statistics.start_sites()]
    if not names:
        return statistics.crawl.folder.path.resolve().name
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def header(statistics: Statistics) -> Html:
    totals = statistics.totals
    reason = totals.stop_reason
    state = f"{totals.state} ({reason})" if reason and reason != totals.state else totals.state
    when = f"{_day(totals.started_at)} to {_day(totals.ended_at) or 'now'}"
    facts = [state, when, f"{human_seconds(totals.elapsed_s)} at {totals.pages_per_s:,.1f} pages a second"]
    if totals.runs > 1:
        facts.append(f"{totals.runs} runs")
    mark = Html(
        '<svg viewBox="0 0 32 32" class="mark" aria-hidden="true"><path d="M4 7h24M4 16h24M4 25h24"/>'
        '<path d="M8 4v6M8 13v15M16 4v15M16 22v6M24 4v6M24 13v15"/></svg>'
    )
    return tag(
        "header",
        tag("div", tag("p", mark, "weft", class_="brand"),
            tag("button", "theme: auto", type="button", id="theme", class_="quiet", hidden="hidden"), class_="row"),
        tag("h1", tag("bdi", title_of(statistics))),
        tag("p", " \u00b7 ".join(facts), class_="facts"),
    )  # fmt: skip


def _day(moment: str | None) -> str:
    return "" if moment is None else moment[:16].replace("T", " ")


def footer(statistics: Statistics) -> Html:
    totals = statistics.totals
    made = f"Made by weft {totals.version} at {totals.made_at} from {totals.folder}."
    words = f"{made} This file holds all it shows: it asks nobody."
    return tag("footer", tag("p", words))


# ---- numbers ---------------------------------------------------------------------------------------------------


def _overview(statistics: Statistics, sites: Sequence[Numbers], drawn: MapData) -> Html:
    totals, whole = statistics.totals, statistics.totals.all
    near = "" if whole.near_duplicates is None else f", {whole.near_duplicates:,} near"
    seconds = "" if totals.seconds_per_page is None else f"{totals.seconds_per_page:,.3g} s a page"
    tiles = [
        _tile("pages", f"{whole.pages:,}", f"{counted(whole.known, 'URL')} known"),
        _tile("links", f"{whole.links:,}", f"{_one(whole.mean_links)} a page"),
        _tile("sites", f"{totals.sites_visited:,}", f"{totals.domains.known:,} known"),
        _tile("pages a second", f"{totals.pages_per_s:,.1f}", seconds),
        _tile("received", human_bytes(whole.size_wire), f"{human_bytes(whole.size)} unpacked"),
        _tile("deepest page", "\u2013" if whole.depth is None else str(whole.depth), "links from a start"),
        _tile("duplicates", f"{whole.duplicate:,}", f"{whole.exact_duplicates:,} exact{near}"),
        _tile("images", f"{whole.image:,}", f"{_one(whole.mean_images)} a page"),
        _tile("documents", f"{whole.binary:,}", f"{_one(whole.mean_documents)} a page"),
        _tile("broken links", f"{whole.broken_links:,}", f"to {counted(totals.broken_pages, 'page')}", "#broken"),
        _tile("errors", f"{sum(whole.errors.values()):,}", "no answer", "#errors"),
        _tile("kept out", f"{whole.robots_refused:,}", "by robots.txt", "#errors"),
    ]
    return tag("dl", tiles, class_="tiles")


def _tile(name: str, number: str, more: str, href: str | None = None) -> Html:
    label = tag("a", name, href=href) if href else name
    return tag("div", tag("dt", label), tag("dd", tag("b", number), tag("span", more)), class_="tile")


def _one(value: float | None) -> str:
    return "\u2013" if value is None else f"{value:,.1f}" if value >= 1 else f"{value:,.2g}"


def _time(statistics: Statistics, sites: Sequence[Numbers], drawn: MapData) -> Html:
    step = human_seconds(statistics.totals.timeline.step_s) if statistics.totals.timeline.step_s >= 1 else (
        f"{statistics.totals.timeline.step_s * 1000:.0f} ms"
    )  # fmt: skip
    note = f"Running time only: pauses between runs are left out. A step is {step}."
    return join([charts.time_chart(statistics.totals.timeline), tag("p", note, class_="note")])


def _pages(statistics: Statistics, sites: Sequence[Numbers], drawn: MapData) -> Html:
    totals, whole = statistics.totals, statistics.totals.all
    status = [Value(_status_name(name), number, f"s{name[0]}") for name, number in whole.status.items()]
    states = {"answered": "C", "waiting": "W", "running": "R", "no answer": "E", "robots.txt": "robots",
              "refused": "refused"}  # fmt: skip
    numbers = whole.states | {"E": whole.states.get("E", 0) - whole.robots_refused, "robots": whole.robots_refused}
    state = [Value(word, numbers.get(key, 0), _STATE_KINDS[key]) for word, key in states.items()]
    return tag(
        "div",
        card("Depth", charts.depth_columns(whole.depths), note="Answers by their least number of links from a start."),
        card("Size", histogram(totals.size_bars, "bytes"), note=_spread(totals)),
        card("Time to answer", histogram(totals.response_bars, "milliseconds"), note=_times(totals)),
        card("Status", bars(status[:14], "status")),
        card("Type", bars(values_of(whole.types), "type")),
        card("Language", bars(values_of(whole.languages), "language"), note="As HTML pages name it."),
        card("State", bars([row for row in state if row.number], "state"), note="Of all URLs known."),
        card("Where links lead", bars(_where(whole), "target")),
        card("Kinds of links", bars(values_of(whole.link_kinds), "kind")),
        class_="cards",
    )


_STATE_KINDS = {"C": "s2", "W": "s3", "R": "s3", "E": "s0", "robots": "rest", "refused": "rest"}


def _status_name(status: str) -> str:
    words = {
        "200": "200 OK", "301": "301 moved", "302": "302 found", "303": "303 see other", "304": "304 not modified",
        "307": "307 moved", "308": "308 moved", "400": "400 bad request", "401": "401 unauthorized",
        "403": "403 forbidden", "404": "404 not found", "410": "410 gone", "429": "429 too many requests",
        "500": "500 server error", "502": "502 bad gateway", "503": "503 unavailable", "504": "504 gateway timeout",
    }  # fmt: skip
    return words.get(status, status)


def _where(whole: Numbers) -> list[Value]:
    rows = (
        Value("same site", whole.internal_links, "s2"),
        Value("other sites", whole.external_links, "plain"),
        Value("mailto and such", whole.other_links, "rest"),
        Value("broken pages", whole.broken_links, "s4"),
    )
    return [row for row in rows if row.number]


def _spread(totals: Totals) -> str:
    if totals.sizes is None:
        return ""
    spread = totals.sizes
    middle = f"median {human_bytes(spread.median)}, mean {human_bytes(round(spread.mean))}"
    return f"Pages 2xx: {middle}, largest {human_bytes(spread.most)}."


def _times(totals: Totals) -> str:
    if totals.response_ms is None:
        return ""
    spread = totals.response_ms
    return f"Median {spread.median:,} ms, 90 % below {spread.p90:,} ms, 99 % below {spread.p99:,} ms."


# ---- the map ---------------------------------------------------------------------------------------------------


def _map(statistics: Statistics, sites: Sequence[Numbers], drawn: MapData) -> Html:
    count, sites_drawn = len(drawn.x), counted(len(drawn.sites), "site")
    cut = f" {count:,} of {drawn.pages:,} pages are drawn, of {sites_drawn}, the nearest to a start first."
    cut = cut if count < drawn.pages else ""
    words = (
        "Every disc is a site, every ring a depth, every point a page; the larger, the more links lead to it. Lines"
        f" join a page with the page it was found on.{cut}"
    )
    tools = tag(
        "div",
        tag("label", "Find ", Html('<input type="search" id="map-find" placeholder="title or URL">')),
        tag("label", "Colour ", tag("select", [tag("option", words, value=value) for value, words in
            (("depth", "depth"), ("status", "status"), ("site", "site"), ("in", "links to it"))], id="map-colour")),
        tag("label", Html('<input type="checkbox" id="map-links"> '), "all links"),
        tag("span", tag("button", "+", type="button", id="map-in", aria_label="zoom in"),
            tag("button", "\u2212", type="button", id="map-out", aria_label="zoom out"),
            tag("button", "whole", type="button", id="map-all"), class_="buttons"),
        class_="tools",
    )  # fmt: skip
    canvas = Html(
        '<canvas id="map" tabindex="0" role="application" aria-label="site map: arrow keys move, plus and minus zoom,'
        ' 0 shows the whole, n and p step through the pages found, Enter opens the page"></canvas>'
        '<div id="map-tip" hidden></div>'
    )
    return join(
        [
            tag("p", words, class_="lead"),
            tag("noscript", tag("p", "The map needs JavaScript; the tables below do not.", class_="note")),
            tag("div", tools, tag("div", canvas, class_="canvas"),
                tag("p", id="map-key", class_="legend"), tag("div", id="map-page", aria_live="polite"), class_="map"),
        ]
    )  # fmt: skip


# ---- domains and sites -----------------------------------------------------------------------------------------


def _domains(statistics: Statistics, sites: Sequence[Numbers], drawn: MapData) -> Html:
    found = statistics.totals.domains
    visited = frozenset(one.site or "" for one in sites if one.status)
    starts = frozenset(one.site or "" for one in sites if one.start)
    first = [one.site or "" for one in sites]
    views = [("seen", True, "what was visited"), ("all", False, "all that is known")]
    if not _links_domains(found.links, visited=True):
        views = views[1:]
    figures = []
    for name, only_visited, words in views:
        weights = domains.weights_of(found.links, visited=only_visited)
        # of all that is known, half the room is for what was never visited, or has the most links
        names = domains.shown_domains(weights, first if only_visited else first[: domains.SHOWN // 2])
        figures.append(
            tag("div", tag("h3", f"Links to {words}"),
                tag("div", domains.picture(weights, names, visited, starts), class_="scroll"),
                domains.matrix(weights, names, f"links from domain to domain, to {words}"),
                class_=f"choice {name}" if len(views) > 1 else None)
        )  # fmt: skip
    words = (
        f"Domains: {found.visited:,} visited, {found.known:,} known,"
        f" of {counted(found.registrable, 'registered domain')}; {counted(found.pairs, 'pair')} linked."
        " Lines have the colour of the domain that they come from; \u2605 marks a"
        " start, a ring a domain that was not visited. The largest are shown."
    )
    switch = tag(
        "fieldset", tag("legend", "links to", class_="unseen"),
        tag("label", Html('<input type="radio" name="domains" value="seen" checked> '), "what was visited"),
        tag("label", Html('<input type="radio" name="domains" value="all"> '), "all that is known"), class_="switch",
    )  # fmt: skip
    several = tag("div", switch, figures, class_="choices") if len(views) > 1 else join(figures)
    return join([tag("p", words, class_="lead"), several])


def _links_domains(links: Sequence[DomainLink], *, visited: bool) -> bool:
    """Whether any link leads from one domain to another one."""
    return any(link.source != link.target and (link.visited if visited else link.known) for link in links)


def _sites(statistics: Statistics, sites: Sequence[Numbers], drawn: MapData) -> Html:
    whole, hidden = statistics.totals.all, len(statistics.site_ids) - len(sites)
    more = (
        tag("p", f"{hidden:,} smaller sites are not shown; weft stats --json has them.", class_="note")
        if hidden
        else None
    )
    parts: list[Html | None] = [tables.site_table(sites, whole), more]
    if whole.image:
        parts += [tag("h3", "Images"), tables.file_table(sites, whole, "images", "images by site")]
    if whole.binary:
        parts += [tag("h3", "Documents"), tables.file_table(sites, whole, "documents", "documents by site")]
    return join(parts)


def _across(statistics: Statistics, sites: Sequence[Numbers], drawn: MapData) -> Html:
    across = statistics.totals.across
    groups = {site: group.group for group in across.groups for site in group.sites}
    points = [(one.site or "", one.nodes, one.node_links) for one in sites]
    chart = charts.scatter(points, across.pages_median or 0, across.links_median or 0)
    return join(
        [
            tag("div", card("Pages and links", chart, note=_correlation(across)),
                card("Four groups", _groups(across), note="Many is more than the median."), class_="cards"),
            tables.across_table(sites, groups),
        ]
    )  # fmt: skip


def _correlation(across: Across) -> str:
    if across.rank_correlation is None:
        return "Too few sites, or all alike: no rank correlation."
    return f"Rank correlation of pages and internal links (Spearman): {across.rank_correlation:+.2f}."


def _groups(across: Across) -> Html:
    rows = [
        tag("tr", tag("th", group.group, scope="row"),
            tag("td", f"{group.pages} pages, {group.links} links", tag("small", tag("bdi", _named(group)))),
            tables.number(group.number))
        for group in across.groups
    ]  # fmt: skip
    return tag("table", tag("tbody", rows), class_="plain")


def _named(group: SiteGroup) -> str:
    more = group.number - _NAMED
    return ", ".join(group.sites[:_NAMED]) + (f" and {more:,} more" if more > 0 else "")


# ---- what is wrong ---------------------------------------------------------------------------------------------


def _broken(statistics: Statistics, sites: Sequence[Numbers], drawn: MapData) -> Html:
    totals = statistics.totals
    number = f"{counted(totals.all.broken_links, 'link')} to {counted(totals.broken_pages, 'page')}"
    words = f"{number} that answered 400 or more, or not at all."
    tools = tag(
        "p",
        tag("label", "Show only ", Html('<input type="search" class="filter" placeholder="words" hidden>')),
        class_="tools filters",
    )
    return join([tag("p", words, class_="lead"), tools, tables.broken_table(totals.broken)])


def _errors(statistics: Statistics, sites: Sequence[Numbers], drawn: MapData) -> Html:
    totals, whole, chains = statistics.totals, statistics.totals.all, statistics.totals.redirects
    hops = [Value(counted(int(hops), "hop"), number, "s3") for hops, number in chains.by_hops.items()]
    note = f"{chains.loops:,} never end, {chains.end_in_error:,} end in an error."
    refused = [
        row
        for row in (Value("robots.txt", whole.robots_refused, "s4"), *values_of(whole.refused, "rest"))
        if row.number
    ]
    parts = tag(
        "div",
        card("No answer", bars(values_of(whole.errors, "s0"), "cause")),
        card("Not asked", bars(refused, "reason"), note="Why URLs that were found were not asked."),
        card("Redirect chains", bars(hops[:10], "hops"), note=note if hops else ""),
        class_="cards",
    )
    return join([parts, tables.chain_table(totals.redirects.longest) if totals.redirects.longest else None])


def _noted(statistics: Statistics, sites: Sequence[Numbers], drawn: MapData) -> Html:
    totals = statistics.totals
    return tag(
        "div",
        card("Slowest", tables.noted_table(totals.slowest, "milliseconds")),
        card("Largest", tables.noted_table(totals.largest, "size", size=True)),
        card("Most linked", tables.noted_table(totals.most_linked, "links")),
        class_="cards two",
    )


def _against(statistics: Statistics, sites: Sequence[Numbers], drawn: MapData) -> Html:
    found = statistics.totals.against
    assert found is not None
    rows = [
        Value("both", found.both, "s2"),
        Value("only here", found.only_here, "s3"),
        Value("only there", found.only_there, "s4"),
    ]
    share = (
        ""
        if found.difference is None
        else f" {charts.share(found.difference)} of all pages are in one of the two only."
    )
    words = f"{counted(found.here, 'page')} here, {found.there:,} in {found.file}.{share}"
    return join(
        [
            tag("p", words, class_="lead"),
            tag("div", card("Pages", bars(rows, "where")),
                card("Only there", bars(values_of(found.why_only_there, "rest"), "why"), note="What we know of them."),
                class_="cards"),
            tables.against_table(found.sites) if len(found.sites) > 1 else None,
            _url_list("Only here", found.urls_only_here), _url_list("Only there", found.urls_only_there),
        ]
    )  # fmt: skip


def _url_list(title: str, urls: Sequence[str]) -> Html | None:
    if not urls:
        return None
    more = tag("li", f"and {len(urls) - _URLS:,} more", class_="none") if len(urls) > _URLS else None
    return tag(
        "details",
        tag("summary", f"{title}: {len(urls):,}"),
        tag("ul", [tag("li", link(url)) for url in urls[:_URLS]], more, class_="urls"),
    )


def _always(_: Statistics) -> bool:
    return True


SECTIONS = (
    Section("numbers", "Numbers", _overview, _always),
    Section("broken", "Broken links", _broken, lambda one: bool(one.totals.broken)),
    Section("pages", "Pages and links", _pages, _always),
    Section("sitemap", "Site map", _map, lambda one: bool(one.totals.all.states.get("C"))),
    Section("domains", "Domains", _domains, lambda one: _links_domains(one.totals.domains.links, visited=False)),
    Section("sites", "Sites", _sites, lambda one: bool(one.site_ids)),
    Section("across", "Across sites", _across, lambda one: one.totals.across.sites > 1),
    Section("errors", "Errors, refusals, redirects", _errors, _always),
    Section("time", "Pages a second", _time, _always),
    Section("noted", "Pages to look at", _noted, lambda one: bool(one.totals.largest)),
    Section("against", "Beside another crawler", _against, lambda one: one.totals.against is not None),
)
