"""Tables that a person can sort, and that read well without a script too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from weft.derive.report.markup import Html, link, tag
from weft.derive.stats.model import AgainstSite, Broken, Chain, Counts, Noted, Numbers
from weft.text.human import counted, human_bytes

_HOLDERS = 20
_BROKEN = 1_000
_SITES = 500


def table(
    headings: Sequence[str], rows: Iterable[Html], *, name: str, foot: Html | None = None, words: int = 1
) -> Html:
    """A table in a box that scrolls sideways where it has to. The first columns hold ``words``, the others numbers."""
    head = [
        tag("th", heading, scope="col", class_="n" if place >= words else None)
        for place, heading in enumerate(headings)
    ]
    inner = tag(
        "table",
        tag("caption", name, class_="unseen"),
        tag("thead", tag("tr", head)),
        tag("tbody", rows),
        tag("tfoot", foot) if foot is not None else None,
        class_="sortable",
    )
    return tag("div", inner, class_="scroll", tabindex="0", role="region", aria_label=name)


def number(value: int | float | None, written: str | None = None) -> Html:
    """A cell with a number, which is what it is sorted by."""
    if value is None:
        return tag("td", "\u2013", class_="n none", data_v="-1")
    if written is None:
        written = f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"
    return tag("td", written, class_="n zero" if not value else "n", data_v=f"{value:.6g}" if value else "0")


# ---- sites (G9) ------------------------------------------------------------------------------------------------


def site_table(sites: Sequence[Numbers], whole: Numbers) -> Html:
    """G9's first table, with what else is worth knowing of a site."""
    headings = (
        "site", "pages", "HTML", "DUPLICATE", "IMAGE", "BINARY", "depth", "links", "external", "broken", "errors",
        "robots.txt", "size", "ms",
    )  # fmt: skip
    rows = [tag("tr", _name(site), _site_cells(site)) for site in sites[:_SITES]]
    return table(headings, rows, name="sites", foot=tag("tr", tag("th", "all", scope="row"), _site_cells(whole)))


def _site_cells(one: Numbers) -> list[Html]:
    counts = (
        one.pages, one.html, one.duplicate, one.image, one.binary, one.depth, one.links, one.external_links,
        one.broken_links, sum(one.errors.values()), one.robots_refused,
    )  # fmt: skip
    mean_ms = None if one.mean_response_ms is None else round(one.mean_response_ms)
    return [*map(number, counts), number(one.size, human_bytes(one.size)), number(mean_ms)]


def _name(site: Numbers) -> Html:
    mark = tag("span", "start", class_="badge") if site.start else None
    return tag("th", tag("bdi", site.site or ""), mark, scope="row")


def file_table(sites: Sequence[Numbers], whole: Numbers, field: str, name: str) -> Html:
    """G9's tables of images and of documents, by kind."""
    kinds = list(_counts(whole, field))[:12]
    rows = [
        tag("tr", _name(one), _kind_cells(one, field, kinds))
        for one in sites[:_SITES]
        if any(_counts(one, field).values())
    ]
    foot = tag("tr", tag("th", "all", scope="row"), _kind_cells(whole, field, kinds))
    return table(("site", *kinds, "all", "a page"), rows, name=name, foot=foot)


def _kind_cells(one: Numbers, field: str, kinds: Sequence[str]) -> list[Html]:
    counts = _counts(one, field)
    mean = one.mean_documents if field == "documents" else one.mean_images
    return [*(number(counts.get(kind, 0)) for kind in kinds), number(sum(counts.values())), number(mean)]


def _counts(one: Numbers, field: str) -> Counts:
    found = getattr(one, field)
    assert isinstance(found, dict)
    return found


def across_table(sites: Sequence[Numbers], groups: dict[str, str]) -> Html:
    """R19: pages, links, links a page, and the group of every site."""
    rows = [
        tag("tr", _name(one), tag("td", groups.get(one.site or "", "")), number(one.nodes), number(one.node_links),
            number(one.mean_node_links), number(one.edges))
        for one in sites[:_SITES]
        if one.nodes
    ]  # fmt: skip
    headings = ("site", "group", "pages", "internal links", "links a page", "edges")
    return table(headings, rows, name="sites by pages and links", words=2)


# ---- pages -----------------------------------------------------------------------------------------------------


def broken_table(pages: Sequence[Broken]) -> Html:
    """Broken pages, and the pages that hold the links to them."""
    rows = [
        tag(
            "tr",
            tag("td", link(page.url), class_="u"),
            tag("td", tag("span", str(page.status or page.error or "?"), class_=f"chip {_class_of(page.status)}")),
            tag("td", _holders(page), class_="u"),
            number(page.links),
        )
        for page in pages[:_BROKEN]
    ]
    return table(("broken page", "answer", "held by", "links"), rows, name="broken links", words=3)


def _holders(page: Broken) -> Html | None:
    if not page.pages:
        return tag("span", "a sitemap, or pages not listed here", class_="none")
    held = [tag("li", link(one.url), _anchor(one.anchor, one.kind)) for one in page.pages[:_HOLDERS]]
    if len(held) == 1:
        return tag("ul", held, class_="holders")
    more = page.links - len(held)
    rest = tag("li", f"and {counted(more, 'link')} more", class_="none") if more > 0 else None
    return tag("details", tag("summary", counted(page.links, "link")), tag("ul", held, rest, class_="holders"))


def _anchor(anchor: str, kind: str) -> Html | None:
    words = anchor.strip()
    if not words:
        return tag("small", kind) if kind not in ("", "a") else None
    return tag("small", tag("bdi", f"\u201c{words[:80]}\u201d"))


def noted_table(pages: Sequence[Noted], what: str, *, size: bool = False) -> Html:
    """The slowest, largest or most linked pages."""
    rows = [
        tag("tr", tag("td", link(page.url), _title(page.title), class_="u"),
            number(page.value, human_bytes(page.value) if size else None))
        for page in pages
    ]  # fmt: skip
    return table(("page", what), rows, name=f"pages by {what}") if rows else tag("p", "none", class_="none")


def against_table(sites: Sequence[AgainstSite]) -> Html:
    """R19: how far the two lists differ, site by site."""
    rows = [
        tag("tr", tag("th", tag("bdi", one.site), scope="row"),
            *map(number, (one.here, one.there, one.both, one.only_here, one.only_there)),
            number(one.difference, None if one.difference is None else f"{one.difference:.1%}"))
        for one in sites[:_SITES]
    ]  # fmt: skip
    headings = ("site", "here", "there", "both", "only here", "only there", "differ")
    return table(headings, rows, name="the two lists by site")


def _title(title: str | None) -> Html | None:
    return tag("small", tag("bdi", title[:120], dir="auto")) if title else None


def chain_table(chains: Sequence[Chain]) -> Html:
    rows = [
        tag("tr", tag("td", tag("ol", [tag("li", link(url)) for url in chain.urls], class_="chain"), class_="u"),
            tag("td", _end(chain)), number(chain.hops))
        for chain in chains
    ]  # fmt: skip
    return table(("redirects", "ends in", "hops"), rows, name="redirect chains", words=2)


def _end(chain: Chain) -> Html:
    if chain.loop:
        return tag("span", "never ends", class_="chip s5")
    return tag("span", str(chain.status or chain.error or "not asked"), class_=f"chip {_class_of(chain.status)}")


def _class_of(status: int | None) -> str:
    return f"s{status // 100}" if status is not None and 100 <= status < 600 else "s0"
