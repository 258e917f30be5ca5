"""The pages of a stored crawl, row by row: one statement for a thousand of them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

from weft.derive.body import Content
from weft.derive.read.links import in_links_of
from weft.derive.read.model import COUNTED_VISIT, NO_CHECK, NO_FILE, Page
from weft.errors import Cause
from weft.text.dates import iso_of_ms

if TYPE_CHECKING:
    from weft.derive.duplicates.verdicts import Verdict
    from weft.derive.read.crawl import StoredCrawl

_CHUNK = 1_000
_SIZE, _HASH, _DIGEST = 21, 23, 36  # where facts of the body stand in a row of _PAGES


def pages_of(crawl: StoredCrawl, everything: bool, newest: int | None = None) -> Iterator[Page]:
    """Every URL that was tried as a page, in the order they were found; ``everything``: every URL known.

    They are told as they were after the visit ``newest``; None: after the newest one there is.
    """
    newest = crawl.newest_visit() if newest is None else newest
    in_links = in_links_of(crawl, newest)
    warcs = _warcs(crawl)
    from weft.derive.duplicates.verdicts import Verdicts, near_verdicts

    verdicts = Verdicts(crawl, near_verdicts(crawl))
    last = 0
    while rows := crawl.connection.execute(
        _PAGES, {"newest": newest, "after": last, "most": _CHUNK, "with_files": everything}
    ).fetchall():
        last = rows[-1][0]
        shared = _shared_bodies(crawl, rows)
        for row in rows:
            if everything or row[-1] is not None or (row[2] == "E" and row[4] != Cause.ROBOTS_DISALLOWED.value):
                count = in_links[row[0]] if row[0] < len(in_links) else 0
                verdict = verdicts.of(row[0], row[_HASH], row[_SIZE], row[_DIGEST], alone=row[_HASH] not in shared)
                yield _page(crawl, row, newest, count, warcs, verdict.url if verdict is not None else None)


def page_of(crawl: StoredCrawl, page: int) -> Page | None:
    """One page by its id in the database; None if there is none. In-links are not counted."""
    newest = crawl.newest_visit()
    row = crawl.connection.execute(
        _PAGES, {"newest": newest, "after": page - 1, "most": 1, "with_files": True}
    ).fetchone()
    if row is None or row[0] != page:
        return None
    verdict = verdict_on(crawl, page)
    return _page(crawl, row, newest, None, _warcs(crawl), verdict.url if verdict is not None else None)


def verdict_on(crawl: StoredCrawl, page: int) -> Verdict | None:
    """Which page stands for this one, and how alike they are; None for a page that stands for itself."""
    from weft.derive.duplicates.verdicts import Verdicts, stored_verdicts

    row = crawl.connection.execute(_BODY_OF, (page,)).fetchone()
    return None if row is None else Verdicts(crawl, stored_verdicts(crawl)).of(*row)


def _warcs(crawl: StoredCrawl) -> dict[int, str]:
    return dict(crawl.connection.execute("SELECT id, file FROM warc").fetchall())


def _shared_bodies(crawl: StoredCrawl, rows: list[tuple[Any, ...]]) -> set[int]:
    """Those hashes among the rows that more than one visit has: only they need a representative."""
    hashes = msgspec.json.encode([row[_HASH] for row in rows if row[_HASH] is not None]).decode()
    return {row[0] for row in crawl.connection.execute(_SHARED, (hashes,))}


def _page(
    crawl: StoredCrawl,
    row: tuple[Any, ...],
    newest: int,
    in_links: int | None,
    warcs: dict[int, str],
    duplicate_of: str | None,
) -> Page:
    (
        number, visited, state, reason, page_cause, depth, attempts, key, own, asked, found_on, status, cause,
        truncated, media, encoding, language, title, description, canonical, redirect_to, size, size_wire, body_hash,
        out_links, external_links, started_ms, last_modified, server_date, response_ms, ip, http_version, noindex,
        nofollow, warc, warc_offset, _, visit,
    ) = row  # fmt: skip
    if visited is not None and visited > newest:  # it was visited since we began: then it waited
        state = "W"
    return Page(
        url=asked or own, key=key or own, state=state, reason=reason, status=None if state == "E" else status,
        error=None if state == "C" else page_cause or cause, truncated=bool(truncated), type=media, encoding=encoding,
        language=language, title=title, description=description, canonical=canonical, found_on=found_on,
        redirect_to=redirect_to, duplicate_of=duplicate_of, size=size, size_wire=size_wire,
        hash=None if body_hash is None else f"{body_hash & (1 << 64) - 1:016x}", depth=depth, attempts=attempts,
        out_links=out_links or 0, external_links=external_links or 0, in_links=in_links, fetched_at=_iso(started_ms),
        last_modified=last_modified, server_date=server_date, response_ms=response_ms, ip=ip, http_version=http_version,
        noindex=bool(noindex), nofollow=bool(nofollow), warc_file=warcs.get(warc), warc_offset=warc_offset,
    ).with_content(Content(crawl, visit, number))  # fmt: skip


def _iso(epoch_ms: int | None) -> str | None:
    """The same as ``iso_of_ms``, for many instants of the same days: a million rows feel the difference."""
    if epoch_ms is None:
        return None
    day, rest = divmod(epoch_ms, 86_400_000)
    minutes, ms = divmod(rest, 60_000)
    return f"{_date(day)}T{minutes // 60:02d}:{minutes % 60:02d}:{ms // 1000:02d}.{ms % 1000:03d}Z"


@lru_cache(maxsize=128)
def _date(day: int) -> str:
    return (iso_of_ms(day * 86_400_000) or "")[:10]


_PAGES = f"""
SELECT p.id, p.visit, p.state, p.reason, p.cause, p.depth, p.attempts, p.key, o.text, u.text, f.text, v.status, v.cause,
       v.truncated, v.type, v.encoding, v.language, v.title, v.description, v.canonical, v.redirect_to, v.size,
       v.size_wire,
       CASE WHEN v.status BETWEEN 200 AND 299 THEN v.hash END, v.out_links, v.external_links, v.started_ms,
       v.last_modified, v.server_date, v.response_ms, v.ip, v.http_version, v.noindex, v.nofollow, v.warc,
       v.warc_offset, v.digest, v.id
FROM page p JOIN url o ON o.id = p.id LEFT JOIN url u ON u.id = p.url
     LEFT JOIN visit v ON v.id = {COUNTED_VISIT}
     LEFT JOIN visit fv ON fv.id = p.found_in LEFT JOIN url f ON f.id = fv.url
WHERE p.id > :after AND (:with_files OR ({NO_FILE} AND {NO_CHECK})) ORDER BY p.id LIMIT :most
"""
_SHARED = "SELECT v.hash FROM json_each(?) j JOIN visit v ON v.hash = j.value GROUP BY v.hash HAVING count(*) > 1"
_BODY_OF = """
SELECT p.id, v.hash, v.size, v.digest FROM page p JOIN visit v ON v.id = p.visit
WHERE p.id = ? AND v.status BETWEEN 200 AND 299
"""
