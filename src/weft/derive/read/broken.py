"""Which pages are broken: they were asked for, and answered 4xx or 5xx, or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.errors import Cause

if TYPE_CHECKING:
    from weft.derive.read.crawl import StoredCrawl

ROBOTS_CAUSES = frozenset({Cause.ROBOTS_DISALLOWED.value, Cause.ROBOTS_UNAVAILABLE.value})
NOT_BROKEN = ROBOTS_CAUSES | {Cause.BUG.value}
"""Why a page has no answer, and is not broken for all we know."""

_IDS_AT_ONCE = 20_000


def broken_urls(crawl: StoredCrawl, newest: int) -> bytearray:
    """For each id of a URL 1 if it is a spelling of a broken page, else 0; as of the visit ``newest``."""
    last = crawl.newest_url()
    broken = bytearray(last + 1)
    for after in range(0, last, _IDS_AT_ONCE):
        values = {"newest": newest, "after": after, "last": min(after + _IDS_AT_ONCE, last)}
        for (page,) in crawl.connection.execute(_BROKEN, values).fetchall():
            broken[page] = 1
    if 1 in broken:
        for spelling, page in crawl.aliases():
            if spelling <= last and page <= last:
                broken[spelling] = broken[page]
    return broken


_BROKEN = f"""
SELECT p.id FROM page p LEFT JOIN visit v ON v.id = p.visit
WHERE p.id > :after AND p.id <= :last AND (p.visit IS NULL OR p.visit <= :newest)
      AND ((p.state = 'C' AND v.status >= 400) OR (p.state = 'E'
           AND coalesce(p.cause, v.cause, '') NOT IN ({", ".join(f"'{cause}'" for cause in sorted(NOT_BROKEN))})))
"""
