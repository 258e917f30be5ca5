"""The one pass over the links of a crawl: internal, external, broken; images, documents; how domains link."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import compress

import msgspec

from weft.derive.read import Hop, StoredCrawl
from weft.derive.read.links import damaged_links, decode_hops
from weft.derive.stats.known import ANSWERED, BROKEN, Known, document_name, image_name, is_document
from weft.derive.stats.pages import Snapshot
from weft.derive.stats.tally import Pairs, Tally
from weft.ports import Progress
from weft.records import LinkKind

HYPERLINKS = frozenset(
    {
        LinkKind.A, LinkKind.AREA, LinkKind.FRAME, LinkKind.IFRAME, LinkKind.REFRESH, LinkKind.ONCLICK,
        LinkKind.REDIRECT,
    }
)  # fmt: skip
"""Kinds that lead from page to page. (A sitemap's entries are no links of a page.)"""

_HOLDS_DOCUMENTS = HYPERLINKS | {LinkKind.EMBED}
_IS_HYPERLINK = bytes(kind in HYPERLINKS for kind in range(256))
_IS_IMAGE = bytes(kind == LinkKind.IMAGE for kind in range(256))
_IS_ANSWERED = bytes(bool(flags & ANSWERED) for flags in range(256))
_IS_BROKEN = bytes(bool(flags & BROKEN) for flags in range(256))
_IS_DOCUMENT = bytes(is_document(file) for file in range(256))
_KIND_NAMES = {kind.value: kind.label for kind in LinkKind}
_HOLDERS = 50_000
_HOLDERS_OF_ONE = 50


class Holders:
    """For each broken page the first pages that link to it: (page, visit, position of the link); bounded."""

    def __init__(self) -> None:
        self.of: defaultdict[int, list[tuple[int, int, int]]] = defaultdict(list)
        self.spellings: defaultdict[int, list[int]] = defaultdict(list)
        self._room = _HOLDERS

    def note(self, target: int, page: int, visit: int, position: int) -> None:
        if self._room and len(self.of[target]) < _HOLDERS_OF_ONE:
            self.of[target].append((page, visit, position))
            self._room -= 1


def count_links(
    crawl: StoredCrawl, upto: Snapshot, known: Known, tally: Tally, pairs: Pairs, progress: Progress
) -> Holders:
    """Counts every link of the newest visit of every page, by the site that holds it."""
    holders = Holders()
    for number, (_, visit, page, pack) in enumerate(crawl.packs(upto.newest)):
        if number % 1_000 == 0:
            progress("links", visit, upto.newest)
            tally.settle()
            pairs.settle()
        try:
            links = decode_hops(pack)
            if page is None:
                for link in links:
                    known.in_links[link.target] += 1
            elif page <= known.last:
                _count(links, page, visit, known, tally, pairs, holders)
        except (msgspec.DecodeError, LookupError, OverflowError, ValueError) as error:
            raise damaged_links(crawl, visit) from error
    for spelling, page in crawl.aliases():
        if spelling <= known.last and page <= known.last:
            known.in_links[page] += known.in_links[spelling]
            known.in_links[spelling] = 0
            if spelling in holders.of:
                holders.spellings[page].append(spelling)
    return holders


def _count(links: list[Hop], page: int, visit: int, known: Known, tally: Tally, pairs: Pairs, holders: Holders) -> None:
    """Counts the links of a page. Everything here runs over whole columns at once: there are many links."""
    targets = [link.target for link in links]
    kinds = bytes([link.kind for link in links])
    sites = list(map(known.site.__getitem__, targets))
    flags = bytes(map(known.flags.__getitem__, targets))
    own_site, in_links = known.site[page], known.in_links
    for target in targets:
        in_links[target] += 1
    hyper = kinds.translate(_IS_HYPERLINK)
    inside = bytes([site == own_site for site in sites])
    internal, other = inside.count(1), sites.count(0)
    broken = flags.translate(_IS_BROKEN)
    numbers = {
        "links": len(links), "internal": internal, "other": other, "external": len(links) - internal - other,
        "broken": broken.count(1),
    }  # fmt: skip
    if numbers["broken"]:
        for position in compress(range(len(links)), broken):
            holders.note(targets[position], page, visit, position)
    if known.node[page] == page:
        inner = list(compress(compress(targets, hyper), compress(inside, hyper)))
        goals = set(map(known.node.__getitem__, inner)) - {0, page}
        numbers["node_links"] = len(inner)
        numbers["edges"] = sum(known.site[goal] == own_site for goal in goals)
    for name, number in numbers.items():
        if number:
            tally.add(own_site, "sum", name, number)
    for kind, number in Counter(kinds).items():
        tally.add(own_site, "kind", _KIND_NAMES[kind], number)
    _count_pairs(own_site, list(compress(sites, hyper)), bytes(compress(flags, hyper)), pairs)
    _count_files(own_site, targets, kinds, known, tally)


def _count_pairs(own_site: int, sites: list[int], flags: bytes, pairs: Pairs) -> None:
    """Which sites the hyperlinks of a page lead to: all of them, and those to pages that were visited."""
    visited = Counter(compress(sites, flags.translate(_IS_ANSWERED)))
    for site, number in Counter(sites).items():
        if site:
            pairs.add(own_site, site, number, visited[site])


def _count_files(own_site: int, targets: list[int], kinds: bytes, known: Known, tally: Tally) -> None:
    """Images that a page shows and documents that it links, each once."""
    if LinkKind.IMAGE in kinds:
        for target in set(compress(targets, kinds.translate(_IS_IMAGE))):
            if known.site[target]:  # data: images are no files
                tally.add(own_site, "image", image_name(known.file[target]))
    files = bytes(map(known.file.__getitem__, targets)).translate(_IS_DOCUMENT)
    if 1 in files:
        found = zip(compress(targets, files), compress(kinds, files), strict=True)
        for target in {target for target, kind in found if kind in _HOLDS_DOCUMENTS}:
            tally.add(own_site, "document", document_name(known.file[target]))
