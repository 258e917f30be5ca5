"""Equal bodies: the pages whose answers are the same bytes.

The fingerprint, xxh3 of 64 bits, only proposes. Two answers with the same fingerprint are the same where their length
and the SHA-1 of what was sent are the same too; else (other compression, or two bodies made to collide) the bodies
themselves are read from the archive and compared (E18).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from weft.derive.body import answer_of_visit, body_of
from weft.derive.read import StoredCrawl
from weft.derive.read.model import NO_FILE
from weft.errors import WeftError

_HASHES_KEPT = 100_000
_COMPARED_WITH = 64  # bodies that collide and differ: nobody makes that many, and each costs a comparison


class Member(NamedTuple):
    """An answer among those with one fingerprint."""

    visit: int
    size: int | None
    digest: str | None


class Representative(NamedTuple):
    """The page that stands for all with its body: the least by (depth, key)."""

    page: int
    url: str


class Bodies:
    """Tells equal bodies of one crawl; remembers the newest comparisons."""

    def __init__(self, crawl: StoredCrawl) -> None:
        self._crawl = crawl
        self._known: dict[int, dict[tuple[int | None, str | None], Representative]] = {}
        self._body = lru_cache(maxsize=2)(self._read_body)

    def representative(self, body_hash: int, size: int | None, digest: str | None) -> Representative | None:
        """The page that stands for the body of an answer; None where the crawl has none such."""
        found = self._known.get(body_hash)
        if found is None:
            if len(self._known) >= _HASHES_KEPT:
                self._known.clear()
            found = self._known[body_hash] = self._representatives(body_hash)
        return found.get((size, digest))

    def _representatives(self, body_hash: int) -> dict[tuple[int | None, str | None], Representative]:
        rows = self._crawl.connection.execute(_FIRSTS, (body_hash,)).fetchall()
        members = [Member(visit, size, digest) for size, digest, visit, _, _ in rows]
        least = {visit: Representative(page, url) for _, _, visit, page, url in rows}
        same = self.classes(members)
        return {(member.size, member.digest): least[same[member.visit]] for member in members}

    def classes(self, members: Iterable[Member]) -> dict[int, int]:
        """For each visit the first one, in the order given, that has the same body. All have one fingerprint."""
        of: dict[int, int] = {}
        known: dict[tuple[int | None, str | None], int] = {}
        apart: list[Member] = []
        for member in members:
            first = known.get((member.size, member.digest))
            if first is None:
                first = next((other.visit for other in apart if self._same(member, other)), None)
                if first is None:
                    first = member.visit
                    if len(apart) < _COMPARED_WITH:
                        apart.append(member)
                known[(member.size, member.digest)] = first
            of[member.visit] = first
        return of

    def _same(self, one: Member, other: Member) -> bool:
        """Whether two answers with one fingerprint are the same bytes; where neither can be read, the length tells."""
        if one.size != other.size:
            return False
        body, known = self._body(one.visit), self._body(other.visit)
        return body is None or known is None or body == known

    def _read_body(self, visit: int) -> bytes | None:
        answer = answer_of_visit(self._crawl, visit)
        try:
            return None if answer is None else body_of(self._crawl, answer)
        except WeftError:  # it is gone from the archive, or never was there
            return None


_FIRSTS = f"""
SELECT size, digest, visit, page, url FROM (
    SELECT v.size, v.digest, v.id AS visit, p.id AS page, u.text AS url, p.depth, coalesce(p.key, o.text) AS key,
           row_number() OVER (PARTITION BY v.size, v.digest ORDER BY p.depth, coalesce(p.key, o.text)) AS place
    FROM visit v JOIN page p ON p.id = v.page AND p.visit = v.id JOIN url o ON o.id = p.id
         JOIN page_url u ON u.page = p.id
    WHERE v.hash = ? AND v.status BETWEEN 200 AND 299 AND {NO_FILE})
WHERE place = 1 ORDER BY depth, key
"""
