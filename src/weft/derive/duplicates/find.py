"""The duplicates of a stored crawl: each page with the one that stands for it, or every pair."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import msgspec
import numpy as np
from numpy.typing import NDArray

from weft.derive.duplicates.bodies import Bodies, Member
from weft.derive.duplicates.near import Alike, NearTexts
from weft.derive.duplicates.texts import Texts
from weft.derive.read import COUNTED_VISIT, StoredCrawl
from weft.derive.read.model import NO_FILE
from weft.judge.likeness import Likeness
from weft.ports import Progress

_CHUNK = 1_000


class Duplicate(msgspec.Struct, frozen=True):
    """One row of ``weft duplicates``: a page, the one that it duplicates, how alike they are, and in what way."""

    page: str
    duplicate_of: str
    similarity: float
    kind: str  # exact: the same bytes; near: nearly the same text


class Ranked:
    """The pages of a crawl that have a body, by (depth, key): their ids, visits and fingerprints, in this order."""

    def __init__(self, crawl: StoredCrawl) -> None:
        newest = crawl.newest_visit()
        pages, visits, hashes, textual = array("q"), array("q"), array("q"), bytearray()
        for page, visit, body_hash, media in crawl.connection.execute(_RANKED, {"newest": newest}):
            pages.append(page)
            visits.append(visit)
            hashes.append(body_hash)
            textual.append(media is not None and (media.startswith("text/") or media == "application/xhtml+xml"))
        self.pages = np.array(pages, np.int64)
        self.visits = np.array(visits, np.int64)
        self.hashes = np.array(hashes, np.int64)
        self.textual = np.frombuffer(bytes(textual), bool)

    def __len__(self) -> int:
        return len(self.pages)


class Duplicates:
    """What is the same in a crawl, in the order of its pages. Places are numbers in ``ranked``."""

    def __init__(self, crawl: StoredCrawl, like: Likeness | None, progress: Progress) -> None:
        self._crawl = crawl
        self._like = like
        self._progress = progress
        self.ranked = Ranked(crawl)
        self.exact = self._equal_bodies()

    def clusters(self) -> Iterator[tuple[int, int, float, str]]:
        """(place, place of its representative, similarity, kind) of every duplicate.

        A representative is nobody's duplicate: a copy of a page that is near another belongs to that other one.
        """
        near = {found.place: found for found in self._near_clusters()}
        for place in range(len(self.ranked)):
            first = int(self.exact[place])
            found = near.get(first)
            if found is not None:
                yield place, found.earlier, found.similarity, "near"
            elif first != place:
                yield place, first, 1.0, "exact"

    def pairs(self) -> Iterator[tuple[int, int, float, str]]:
        """(place, earlier place, similarity, kind) of every two pages that are the same."""
        copies = self._copies()
        for first, members in copies.items():
            for number, place in enumerate(members):
                yield place, first, 1.0, "exact"
                yield from ((place, other, 1.0, "exact") for other in members[:number])
        texts = self._near_texts()
        if texts is None:
            return
        for one, other, similarity in self._by_place(texts.pairs()):
            for place in (one, *copies.get(one, ())):
                for earlier in (other, *copies.get(other, ())):
                    yield max(place, earlier), min(place, earlier), similarity, "near"

    def rows(self, found: Iterable[tuple[int, int, float, str]]) -> Iterator[Duplicate]:
        """The same with URLs."""
        iterator = iter(found)
        while some := list(islice(iterator, _CHUNK)):
            names = self._urls({place for row in some for place in row[:2]})
            for place, earlier, similarity, kind in some:
                yield Duplicate(names[place], names[earlier], round(similarity, 6), kind)

    def near_pages(self) -> Iterator[tuple[int, int, float]]:
        """(page, page of its representative, similarity), by ids, of the near-duplicates among different bodies."""
        for found in self._near_clusters():
            yield int(self.ranked.pages[found.place]), int(self.ranked.pages[found.earlier]), found.similarity

    def _equal_bodies(self) -> NDArray[np.int64]:
        """For each place the first one with the same body; itself where there is none before."""
        hashes = self.ranked.hashes
        of = np.arange(len(hashes))
        order = np.argsort(hashes, kind="stable")
        ends = np.append(np.flatnonzero(hashes[order][1:] != hashes[order][:-1]) + 1, len(order))
        bodies, begin = Bodies(self._crawl), 0
        for end in ends.tolist():
            if end - begin > 1:
                places = order[begin:end].tolist()
                place_of = {int(self.ranked.visits[place]): place for place in places}
                for visit, first in bodies.classes(self._members(list(place_of))).items():
                    of[place_of[visit]] = place_of[first]
                self._progress("comparing bodies", begin, len(order))
            begin = end
        return of

    def _members(self, visits: Sequence[int]) -> Iterator[Member]:
        """The answers with one fingerprint, in order."""
        for start in range(0, len(visits), _CHUNK):
            some = visits[start : start + _CHUNK]
            rows = self._crawl.connection.execute(_MEMBERS, (msgspec.json.encode(some).decode(),))
            found = {row[0]: Member(*row) for row in rows}
            yield from (found[visit] for visit in some if visit in found)

    def _copies(self) -> dict[int, list[int]]:
        """The places of exact copies by the place of their representative."""
        copies: dict[int, list[int]] = {}
        for place in np.flatnonzero(self.exact != np.arange(len(self.exact))).tolist():
            copies.setdefault(int(self.exact[place]), []).append(place)
        return copies

    def _near_texts(self) -> NearTexts | None:
        if self._like is None:
            return None
        self._compared = np.flatnonzero(self.ranked.textual & (self.exact == np.arange(len(self.exact))))
        visits = self.ranked.visits[self._compared].tolist()
        return NearTexts(visits, Texts(self._crawl, self._like), self._like, self._progress)

    def _near_clusters(self) -> Iterator[Alike]:
        texts = self._near_texts()
        return iter(()) if texts is None else self._by_place(texts.clusters())

    def _by_place(self, found: Iterable[Alike]) -> Iterator[Alike]:
        for one, other, similarity in found:
            yield Alike(int(self._compared[one]), int(self._compared[other]), similarity)

    def _urls(self, places: set[int]) -> dict[int, str]:
        ids = {int(self.ranked.pages[place]): place for place in places}
        rows = self._crawl.connection.execute(_URLS, (msgspec.json.encode(list(ids)).decode(),))
        return {ids[page]: url for page, url in rows}


_RANKED = f"""
SELECT p.id, v.id, v.hash, v.type FROM page p JOIN url o ON o.id = p.id JOIN visit v ON v.id = {COUNTED_VISIT}
WHERE v.status BETWEEN 200 AND 299 AND v.hash IS NOT NULL AND {NO_FILE} ORDER BY p.depth, coalesce(p.key, o.text)
"""
_MEMBERS = "SELECT v.id, v.size, v.digest FROM json_each(?) j JOIN visit v ON v.id = j.value"
_URLS = "SELECT u.page, u.text FROM json_each(?) j JOIN page_url u ON u.page = j.value"
