"""Answers whose records are lost with a part of the archive: their pages are asked again, as if they never had been."""

from __future__ import annotations

import sqlite3

from weft.records import Purpose

LOST_RECORD = "its record in the archive is lost"
"""The detail of such a visit. It stays as a fact, and counts neither as a page nor for its links."""

_LOST = """
SELECT v.id FROM visit v JOIN warc w ON w.id = v.warc WHERE w.file = :file AND v.warc_offset + v.warc_length > :size_b
"""
_PAGES = f"""
SELECT p.site, count(*) FROM visit v JOIN page p ON p.id = v.page
WHERE v.purpose = {Purpose.PAGE.value} AND v.status BETWEEN 200 AND 299 AND v.id IN ({_LOST}) GROUP BY p.site
"""


def note_losses(connection: sqlite3.Connection, totals: dict[str, int], file: str, size_b: int) -> None:
    """Puts back the pages whose records lay in the file past this size, inside the caller's transaction.

    What they counted for is taken back too, or a limit would end the crawl before they are asked again. The file ends
    with the last record that is whole; without any it is forgotten.
    """
    lost = {"file": file, "size_b": size_b}
    pages = connection.execute(_PAGES, lost).fetchall()
    links = connection.execute(f"SELECT coalesce(sum(out_links), 0) FROM visit WHERE id IN ({_LOST})", lost).fetchone()
    totals["pages"] -= sum(number for _, number in pages)
    totals["links"] -= links[0]
    counters = [(totals[name], name) for name in ("pages", "links")]
    connection.executemany("UPDATE counter SET value = ? WHERE name = ?", counters)
    connection.executemany("UPDATE site SET pages = max(0, pages - ?) WHERE id = ?", [(n, site) for site, n in pages])
    connection.execute(
        f"UPDATE page SET state = 'W', attempts = 0, visit = NULL WHERE state IN ('C', 'E') AND visit IN ({_LOST})",
        lost,
    )
    connection.execute(
        f"UPDATE visit SET warc = NULL, digest = NULL, hash = NULL, detail = :detail WHERE id IN ({_LOST})",
        lost | {"detail": LOST_RECORD},
    )
    whole = "SELECT max(v.warc_offset + v.warc_length) FROM visit v WHERE v.warc = warc.id"
    connection.execute(f"UPDATE warc SET committed_b = coalesce(({whole}), 0), closed = 1 WHERE file = :file", lost)
    connection.execute("DELETE FROM warc WHERE file = :file AND committed_b = 0", lost)
