"""The versions of pages: every attempt at each of them, and what had changed (T5)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from weft.records import NOT_MODIFIED, Purpose
from weft.text.dates import iso_of_ms

if TYPE_CHECKING:
    from weft.derive.read.crawl import StoredCrawl

_AT_ONCE = 1_000
_GONE = (404, 410)


class Version(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt at a page, as `weft pages --versions` shows it.

    ``changed``: new (the first body), same (304, or the same body), real (another body), gone (404, 410 where there was
    a body); None for all other answers, and for none.
    """

    url: str
    fetched_at: str | None
    status: int | None
    error: str | None
    hash: str | None
    changed: str | None


def versions_of(crawl: StoredCrawl) -> Iterator[Version]:
    """Every attempt at every page, page by page, from the oldest to the newest."""
    newest = crawl.newest_visit()
    page = visit = 0
    body: int | None = None  # of the page, as it was stored last
    while rows := crawl.connection.execute(_VISITS, (page, page, visit, newest, _AT_ONCE)).fetchall():
        visit = rows[-1][1]
        for number, _, url, started_ms, status, cause, found in rows:
            if number != page:
                page, body = number, None
            yield Version(
                url=url, fetched_at=iso_of_ms(started_ms), status=status, error=cause,
                hash=None if found is None else f"{found & (1 << 64) - 1:016x}", changed=_change(status, body, found),
            )  # fmt: skip
            body = found if found is not None else None if status in _GONE else body


def _change(status: int | None, before: int | None, now: int | None) -> str | None:
    if status == NOT_MODIFIED and before is not None:
        return "same"
    if now is not None:
        return "new" if before is None else "same" if now == before else "real"
    return "gone" if status in _GONE and before is not None else None


_VISITS = f"""
SELECT v.page, v.id, u.text, v.started_ms, v.status, v.cause, v.hash FROM visit v JOIN url u ON u.id = v.url
WHERE (v.page > ? OR (v.page = ? AND v.id > ?)) AND v.page IS NOT NULL AND v.id <= ?
      AND v.purpose = {Purpose.PAGE.value}
ORDER BY v.page, v.id LIMIT ?
"""
