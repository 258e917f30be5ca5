"""The links of a stored crawl: packs of them, page by page, taken apart."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from weft.derive.read.broken import broken_urls
from weft.derive.read.model import COUNTED_VISIT, Hop, LinkRow, PackedLink, Place
from weft.errors import FolderError, WeftError
from weft.records import LinkKind, Purpose
from weft.text.human import command
from weft.url import site_of

if TYPE_CHECKING:
    from weft.derive.read.crawl import StoredCrawl

_PACKS_AT_ONCE = 200
_NAMES_KEPT = 100_000
_KINDS = {kind.value: kind.label for kind in LinkKind}


class _Target(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Just the target of a packed link: what stands behind it is skipped, not read."""

    target: int


class _Name(NamedTuple):
    text: str
    key: str
    page: int | None
    state: str | None
    status: int | None
    cause: str | None


def links_of(crawl: StoredCrawl, source: str | None, target: str | None, broken: bool) -> Iterator[LinkRow]:
    """Every link of every page, page by page in the order of their visits; of one URL, to one, or to broken pages.

    ``WeftError`` at once where nothing is known of them.
    """
    return _links(crawl, _named(crawl, source), _named(crawl, target), broken)


def _links(crawl: StoredCrawl, source: Place | None, target: Place | None, broken: bool) -> Iterator[LinkRow]:
    newest = crawl.newest_visit()
    rows = LinkRows(crawl, newest)
    wanted = _wanted(crawl, newest, target, broken)
    for source_url, visit, _, pack in crawl.packs(newest, source):
        links = decoded(crawl, pack, visit) if wanted is None else _chosen(crawl, pack, visit, wanted)
        yield from rows.of(source_url, visit, links, broken)


def links_of_visits(crawl: StoredCrawl, newest: int, chosen: bytearray | None) -> Iterator[LinkRow]:
    """Every link that these visits found, in their order; ``chosen`` has a byte for each id up to ``newest``.

    None: the links of all pages and sitemaps.
    """
    rows = LinkRows(crawl, newest)
    for source_url, visit, _, pack in crawl.packs(newest):
        if chosen is None or chosen[visit]:
            yield from rows.of(source_url, visit, decoded(crawl, pack, visit))


class LinkRows:
    """Makes rows of packed links. The names of targets are remembered, a bounded number of them."""

    def __init__(self, crawl: StoredCrawl, newest: int) -> None:
        self._crawl = crawl
        self._newest = newest
        self._names: dict[int, _Name] = {}

    def of_visit(self, source_url: str, visit: int) -> Iterator[LinkRow]:
        """The links that one visit of a page found."""
        return self.of(source_url, visit, self._crawl.packed_links(visit))

    def of(
        self, source_url: str, visit: int, links: Sequence[PackedLink], once_a_page: bool = False
    ) -> Iterator[LinkRow]:
        """A row for each link; ``once_a_page``: of several links to one page, the first."""
        names = self._names
        if len(names) > _NAMES_KEPT:
            names.clear()
        _learn_names(self._crawl, self._newest, names, {link.target for link in links})
        if any(link.target not in names or link.kind not in _KINDS for link in links):
            raise damaged_links(self._crawl, visit)
        site = site_of(source_url)
        for link in _first_to_each_page(links, names) if once_a_page else links:
            yield _row(source_url, site, link, names[link.target])


def _row(source_url: str, site: str, link: PackedLink, name: _Name) -> LinkRow:
    return LinkRow(
        source=source_url, target=name.text, target_key=name.key, kind=_KINDS[link.kind], anchor=link.anchor,
        rel=link.rel, fragment=link.fragment,
        internal=name.text.startswith(("http://", "https://")) and site_of(name.text) == site,
        followed=bool(link.offered and name.state is not None),
        target_status=None if name.state == "E" else name.status,
        target_error=None if name.state == "C" else name.cause,
    )  # fmt: skip


def _wanted(crawl: StoredCrawl, newest: int, target: Place | None, broken: bool) -> bytearray | None:
    """For each id of a URL whether links to it are asked for; None where all links are."""
    if target is None:
        return broken_urls(crawl, newest) if broken else None
    spellings = _spellings(crawl, target)
    wanted = bytearray(crawl.newest_url() + 1)
    among = broken_urls(crawl, newest) if broken else None
    for spelling in spellings:
        if spelling < len(wanted):
            wanted[spelling] = 1 if among is None else among[spelling]
    return wanted


def _chosen(crawl: StoredCrawl, pack: str, visit: int, wanted: bytearray) -> list[PackedLink]:
    """The links of a pack to wanted URLs; most packs hold none, and are read no further than their targets."""
    try:
        if any(map(wanted.__getitem__, targets_of(crawl, pack, visit))):
            return [link for link in decoded(crawl, pack, visit) if wanted[link.target]]
    except IndexError as error:
        raise damaged_links(crawl, visit) from error
    return []


def _first_to_each_page(links: Sequence[PackedLink], names: dict[int, _Name]) -> list[PackedLink]:
    """Of several links to one page the first."""
    first: dict[int | None, PackedLink] = {}
    for link in links:
        first.setdefault(names[link.target].page, link)
    return list(first.values())


def in_links_of(crawl: StoredCrawl, newest: int) -> array[int]:
    """For each page id, how many links lead to it: four bytes a URL, whatever the number of links."""
    counts = array("I", bytes(4 * (crawl.newest_url() + 1)))
    size = len(counts)
    for _, visit, _, links in crawl.packs(newest):
        for target in targets_of(crawl, links, visit):
            if target < size:
                counts[target] += 1
    for alias, page in crawl.aliases():
        if alias < size and 0 < page < size:
            counts[page] += counts[alias]
    return counts


def packs_of(crawl: StoredCrawl, newest: int, source: Place | None) -> Iterator[tuple[str, int, int | None, str]]:
    """(url, visit, page, packed links) of the newest visit of every page, and of sitemaps; or of one URL."""
    queries = [_PACKS]
    values = {"newest": newest, "most": _PACKS_AT_ONCE, "page": None, "url": None}
    if source is not None:
        values |= {"page": source.page, "url": source.url}
        known = crawl.connection.execute("SELECT 1 FROM sitemap WHERE url = ?", (source.url,)).fetchone()
        queries = [_PACK_OF_PAGE, _PACKS_OF_SITEMAP] if known else [_PACK_OF_PAGE]
    for query in queries:
        last = 0
        while rows := crawl.connection.execute(query, {**values, "after": last}).fetchall():
            last = rows[-1][1]
            yield from rows


def targets_of(crawl: StoredCrawl, links: str, visit: int) -> list[int]:
    """The ids of the URLs that packed links lead to; ``FolderError`` where they cannot be read."""
    try:
        return [link.target for link in _decode_targets(links)]
    except msgspec.DecodeError as error:
        raise damaged_links(crawl, visit) from error


def decoded(crawl: StoredCrawl, links: str, visit: int) -> list[PackedLink]:
    """Packed links, each for itself; ``FolderError`` where they cannot be read."""
    try:
        return _decode_links(links)
    except msgspec.DecodeError as error:
        raise damaged_links(crawl, visit) from error


def hops_of(crawl: StoredCrawl, links: str, visit: int) -> list[Hop]:
    """Targets and kinds of packed links; ``FolderError`` where they cannot be read."""
    try:
        return decode_hops(links)
    except msgspec.DecodeError as error:
        raise damaged_links(crawl, visit) from error


def damaged_links(crawl: StoredCrawl, visit: int) -> FolderError:
    """Says that the links of a visit are not what they must be."""
    more = f"{command('check', crawl.folder.path)} tells more"
    return FolderError(f"{crawl.folder.db} is damaged: the links of visit {visit} cannot be read ({more})")


def _named(crawl: StoredCrawl, url: str | None) -> Place | None:
    """Where a URL is known: as a page, a sitemap, or the target of a link that can be no page (mailto)."""
    if url is None:
        return None
    place = crawl.find(url) or crawl.find(url := crawl.whole_url(url))
    if place is None:
        more = f"{command('why', crawl.folder.path, url)} tells more"
        raise WeftError(f"{url} is not known in {crawl.folder.path} ({more})")
    return place


def _spellings(crawl: StoredCrawl, place: Place) -> set[int]:
    """The ids of all URLs that are this page."""
    if place.page is None:
        return {place.url}
    return {
        place.page,
        *(row[0] for row in crawl.connection.execute("SELECT id FROM url WHERE page = ?", (place.page,))),
    }


def _learn_names(crawl: StoredCrawl, newest: int, names: dict[int, _Name], ids: set[int]) -> None:
    """Adds for each URL id that is new: its text, its key, its page, and what became of that page."""
    unknown = [number for number in ids if number not in names]
    if unknown:
        values = {"ids": msgspec.json.encode(sorted(unknown)).decode(), "newest": newest}
        names.update((row[0], _Name(*row[1:])) for row in crawl.connection.execute(_NAMES, values))


_decode_links = msgspec.json.Decoder(list[PackedLink]).decode
decode_hops = msgspec.json.Decoder(list[Hop]).decode
_decode_targets = msgspec.json.Decoder(list[_Target]).decode
_PACKS = f"""
SELECT u.text, l.visit, v.page, l.links FROM link_pack l JOIN visit v ON v.id = l.visit JOIN url u ON u.id = v.url
WHERE l.visit > :after AND l.visit <= :newest
      AND (v.purpose = {Purpose.SITEMAP.value} OR (SELECT {COUNTED_VISIT} FROM page p WHERE p.id = v.page) = v.id)
ORDER BY l.visit LIMIT :most
"""
_PACK_OF_PAGE = """
SELECT u.text, l.visit, v.page, l.links FROM page p JOIN link_pack l ON l.visit = p.visit JOIN visit v ON v.id = l.visit
     JOIN url u ON u.id = v.url WHERE p.id = :page AND l.visit > :after
"""
_PACKS_OF_SITEMAP = f"""
SELECT u.text, l.visit, v.page, l.links FROM link_pack l JOIN visit v ON v.id = l.visit JOIN url u ON u.id = v.url
WHERE v.url = :url AND v.purpose = {Purpose.SITEMAP.value} AND l.visit > :after AND l.visit <= :newest
ORDER BY l.visit LIMIT :most
"""
_NAMES = f"""
SELECT t.id, t.text, coalesce(p.key, o.text, t.text), nullif(coalesce(t.page, t.id), 0), p.state, v.status,
       coalesce(p.cause, v.cause)
FROM json_each(:ids) j JOIN url t ON t.id = j.value LEFT JOIN page p ON p.id = coalesce(t.page, t.id)
     LEFT JOIN url o ON o.id = p.id LEFT JOIN visit v ON v.id = {COUNTED_VISIT}
"""
