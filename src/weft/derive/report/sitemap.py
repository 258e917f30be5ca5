"""The site map: which pages are drawn, where they lie, and which links join them. At most 5,000 pages."""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from weft.derive.stats import Statistics
from weft.derive.stats.links import HYPERLINKS
from weft.text.safe import shown

MOST_PAGES = 5_000
_MOST_SITES = 150
_MOST_LINKS = 60_000
_LINKS_OF_ONE = 60
_TITLE = 120
_URL = 400
_SPACE = 10.0
_GAP = 14.0
_CHUNK = 5_000


class Spot(NamedTuple):
    """A page that is drawn; ``parent`` is the page it was found on, 0 where that is none of its site."""

    page: int
    site: int
    depth: int
    parent: int


class MapData(msgspec.Struct, frozen=True):
    """What the script draws: columns, not rows, because they are smaller."""

    sites: list[str]
    circles: list[tuple[float, float, float]]  # of every site: x, y, radius
    site: list[int]
    path: list[str]
    title: list[str]
    depth: list[int]
    status: list[int]  # 0: no answer
    x: list[float]
    y: list[float]
    parent: list[int]  # -1: none
    size: list[int]  # links that lead to it
    out: list[list[int]]  # which of the pages drawn it links to
    pages: int  # how many there are in all
    cut: bool  # not all links are in ``out``


def map_of(statistics: Statistics) -> MapData:
    """The pages nearest to the start, and of those at the same depth the most linked."""
    spots = _chosen(statistics)
    index = {spot.page: number for number, spot in enumerate(spots)}
    by_site: defaultdict[int, list[Spot]] = defaultdict(list)
    for spot in spots:
        by_site[spot.site].append(spot)
    order = sorted(by_site, key=lambda site: (-len(by_site[site]), site))
    discs = {site: disc_of(by_site[site]) for site in order}
    circles = packed([discs[site][1] for site in order])
    place: dict[int, tuple[float, float]] = {}
    for site, (at_x, at_y, _) in zip(order, circles, strict=True):
        for page, (x, y) in discs[site][0].items():
            place[page] = round(at_x + x, 1), round(at_y + y, 1)
    out, cut = _links(statistics, spots, index)
    texts = [_texts(statistics, spot.page) for spot in spots]
    numbers = {site: number for number, site in enumerate(order)}
    return MapData(
        sites=[shown(statistics.site_name(site)) for site in order], circles=circles,
        site=[numbers[spot.site] for spot in spots], path=[text[0] for text in texts],
        title=[text[1] for text in texts],
        depth=[spot.depth for spot in spots], status=[text[2] for text in texts],
        x=[place[spot.page][0] for spot in spots], y=[place[spot.page][1] for spot in spots],
        parent=[index.get(spot.parent, -1) for spot in spots],
        size=[statistics.known.in_links[spot.page] for spot in spots], out=out,
        pages=statistics.totals.all.states.get("C", 0) + statistics.totals.all.states.get("E", 0), cut=cut,
    )  # fmt: skip


def _chosen(statistics: Statistics) -> list[Spot]:
    """The pages to draw, those found first in front, of the sites with the most: a picture holds only so many discs."""
    in_links, sites = statistics.known.in_links, frozenset(statistics.site_ids[:_MOST_SITES])
    drawn = (row for row in _tried(statistics) if row[1] in sites)
    best = heapq.nsmallest(MOST_PAGES, drawn, key=lambda row: (row[2], -in_links[row[0]], row[0]))
    return [Spot(*row) for row in best]


def _tried(statistics: Statistics) -> Iterator[tuple[Any, ...]]:
    after, upto = 0, statistics.upto
    query = statistics.crawl.connection.execute
    while rows := query(_TRIED, (after, upto.last, upto.newest, _CHUNK)).fetchall():
        after = rows[-1][0]
        yield from rows


def _texts(statistics: Statistics, page: int) -> tuple[str, str, int]:
    """URL, title and status of a page."""
    url, status, _ = statistics.outcome(page)
    title = statistics.title(page) or ""
    return shown(url[:_URL]), shown(title[:_TITLE]), status or 0


def _links(statistics: Statistics, spots: Sequence[Spot], index: dict[int, int]) -> tuple[list[list[int]], bool]:
    """For every page drawn, the pages drawn that it links to; bounded, and whether any were left out."""
    room, cut = _MOST_LINKS, False
    found: list[list[int]] = []
    connection = statistics.crawl.connection
    for spot in spots:
        row = connection.execute("SELECT visit FROM page WHERE id = ?", (spot.page,)).fetchone()
        goals: dict[int, None] = {}
        for link in statistics.crawl.packed_links(row[0]) if row and row[0] is not None and room else ():
            if link.kind in HYPERLINKS:
                goal = index.get(_page_of(connection, link.target, index))
                if goal is not None and index[spot.page] != goal:
                    goals[goal] = None
        kept = list(goals)[: min(_LINKS_OF_ONE, room)]
        cut = cut or len(kept) < len(goals) or not room
        room -= len(kept)
        found.append(kept)
    return found, cut


def _page_of(connection: Any, url: int, index: dict[int, int]) -> int:
    if url in index:
        return url
    row = connection.execute("SELECT page FROM url WHERE id = ?", (url,)).fetchone()
    return int(row[0] or 0) if row else 0


# ---- where they lie --------------------------------------------------------------------------------------------


def disc_of(spots: Sequence[Spot]) -> tuple[dict[int, tuple[float, float]], float]:
    """A site as a disc: rings by depth, the start in the middle, pages near the page they were found on.

    Every ring is as wide as its pages need, so that the density is the same everywhere. Returns places and radius.
    """
    rings: defaultdict[int, list[Spot]] = defaultdict(list)
    for spot in spots:
        rings[spot.depth].append(spot)
    angle: dict[int, float] = {}
    place: dict[int, tuple[float, float]] = {}
    inner = 0.0
    for depth in sorted(rings):
        ring = sorted(rings[depth], key=lambda spot: (angle.get(spot.parent, 7.0), spot.parent, spot.page))
        if len(ring) == 1 and not place:
            place[ring[0].page], angle[ring[0].page], inner = (0.0, 0.0), 0.0, _GAP
            continue
        outer = math.sqrt(inner * inner + len(ring) * _SPACE * _SPACE / math.pi)
        rows = max(1, round((outer - inner) / _SPACE))
        for number, spot in enumerate(ring):
            turn = 2 * math.pi * (number + 0.5) / len(ring)
            radius = inner + (outer - inner) * (number % rows + 0.5) / rows
            angle[spot.page] = turn
            place[spot.page] = radius * math.cos(turn), radius * math.sin(turn)
        inner = outer + _GAP
    return place, inner + _GAP


def packed(radii: Sequence[float]) -> list[tuple[float, float, float]]:
    """Discs beside each other: each, from the largest, at the nearest place to the middle where it touches none."""
    placed: list[tuple[float, float, float]] = []
    reached = 0.0
    for radius in radii:
        if not placed:
            placed.append((0.0, 0.0, round(radius, 1)))
            continue
        x, y, reached = _free_place(radius, placed, max(placed[0][2] + radius, 0.8 * reached))
        placed.append((round(x, 1), round(y, 1), round(radius, 1)))
    return placed


def _free_place(
    radius: float, placed: Sequence[tuple[float, float, float]], distance: float
) -> tuple[float, float, float]:
    """Where a disc fits, looking from a distance outwards, and the distance at which it was found."""
    step = max(radius * 0.35, 4.0)
    in_the_way = placed[0]
    while True:
        turns = max(12, int(2 * math.pi * distance / step))
        for number in range(turns):
            turn = 2 * math.pi * number / turns
            x, y = distance * math.cos(turn), distance * math.sin(turn) * 0.72  # wider than high, as screens are
            px, py, pr = in_the_way
            if (x - px) ** 2 + (y - py) ** 2 < (radius + pr) ** 2:  # most often still the one of the last look
                continue
            for px, py, pr in placed:
                if (x - px) ** 2 + (y - py) ** 2 < (radius + pr) ** 2:
                    in_the_way = px, py, pr
                    break
            else:
                return x, y, distance
        distance += step


_TRIED = """SELECT p.id, p.site, p.depth, coalesce(f.page, 0) FROM page p LEFT JOIN visit f ON f.id = p.found_in
WHERE p.id > ? AND p.id <= ? AND p.state IN ('C', 'E') AND p.visit <= ?
    AND (SELECT v.purpose FROM visit v WHERE v.id = p.visit) = 0 ORDER BY p.id LIMIT ?"""
