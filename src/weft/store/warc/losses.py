"""Answers whose records are lost with a part of the archive: their pages are asked again, as if they never had been."""

from __future__ import annotations

import sqlite3

from weft.records import Purpose

LOST_RECORD = "its record in the archive is lost"
"""The detail of such a visit. It stays as a fact, and counts neither as a page nor for its links."""

_LOST = """
INSERT INTO temp.lost
SELECT v.id FROM visit v JOIN warc w ON w.id = v.warc WHERE w.file = :file AND v.warc_offset + v.warc_length > :size_b
"""
_WITHOUT_PAYLOAD = """
INSERT OR IGNORE INTO temp.lost
SELECT r.id FROM temp.lost l JOIN visit v ON v.id = l.id JOIN visit r ON r.hash = v.hash AND r.digest = v.digest
WHERE v.revisit = 0 AND r.revisit = 1 AND r.warc IS NOT NULL AND NOT EXISTS(
    SELECT 1 FROM visit o WHERE o.hash = v.hash AND o.digest = v.digest AND o.revisit = 0 AND o.warc IS NOT NULL
                            AND o.id NOT IN temp.lost)
"""
_PAGES = f"""
SELECT p.site, count(*) FROM visit v JOIN page p ON p.id = v.page
WHERE v.purpose = {Purpose.PAGE.value} AND v.status BETWEEN 200 AND 299 AND v.id IN temp.lost GROUP BY p.site
"""
_WHOLE = "SELECT max(v.warc_offset + v.warc_length) FROM visit v WHERE v.warc = warc.id"


def note_losses(connection: sqlite3.Connection, totals: dict[str, int], file: str, size_b: int) -> None:
    """Puts back the pages whose records lay in the file past this size, inside the caller's transaction.

    So are those, in whatever file, that only refer to a payload in one of them. What they counted for is taken back
    too, or a limit would end the crawl before they are asked again. The file ends with the last record that is whole;
    without any it is forgotten.
    """
    connection.execute("CREATE TEMP TABLE lost(id INTEGER PRIMARY KEY)")
    connection.execute(_LOST, {"file": file, "size_b": size_b})
    connection.execute(_WITHOUT_PAYLOAD)
    pages = connection.execute(_PAGES).fetchall()
    links = connection.execute("SELECT coalesce(sum(out_links), 0) FROM visit WHERE id IN temp.lost").fetchone()
    totals["pages"] -= sum(number for _, number in pages)
    totals["links"] -= links[0]
    counters = [(totals[name], name) for name in ("pages", "links")]
    connection.executemany("UPDATE counter SET value = ? WHERE name = ?", counters)
    connection.executemany("UPDATE site SET pages = max(0, pages - ?) WHERE id = ?", [(n, site) for site, n in pages])
    connection.execute(
        "UPDATE page SET state = 'W', attempts = 0, visit = NULL WHERE state IN ('C', 'E') AND visit IN temp.lost"
    )
    connection.execute(
        "UPDATE visit SET warc = NULL, digest = NULL, hash = NULL, detail = ? WHERE id IN temp.lost", (LOST_RECORD,)
    )
    connection.execute("DROP TABLE temp.lost")
    connection.execute(f"UPDATE warc SET committed_b = coalesce(({_WHOLE}), 0), closed = 1 WHERE file = ?", (file,))
    connection.execute("DELETE FROM warc WHERE file = ? AND committed_b = 0", (file,))
