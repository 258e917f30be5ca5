"""Stored documents that are still to be read, and what was read of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from typing import NamedTuple

DOCUMENTS_AT_ONCE = 500


class StoredDocument(NamedTuple):
    """A document in the archive."""

    visit: int
    url: str
    type: str
    file: str
    offset: int
    length: int | None
    size: int
    headers: str


def unread_documents(connection: sqlite3.Connection, is_readable: Callable[[str], bool]) -> Iterator[StoredDocument]:
    """The stored documents that no process has read yet; of those with one body each."""
    last = 0
    while rows := connection.execute(_UNREAD, (last, DOCUMENTS_AT_ONCE)).fetchall():
        last = rows[-1][0]
        yield from (StoredDocument(*row) for row in rows if is_readable(row[2]))


def keep_document(
    connection: sqlite3.Connection, visit: int, title: str | None, author: str | None, pages: int | None,
    text: str | None, problem: str | None,
) -> None:  # fmt: skip
    """Writes what was read of a document, inside a transaction."""
    connection.execute(
        "UPDATE file_fact SET title = ?, author = ?, pages = ?, text = ?, problem = ? WHERE visit = ?",
        (title, author, pages, text if text is not None else "", problem, visit),
    )


def keep_links(connection: sqlite3.Connection, visit: int, packed: str, count: int, external: int) -> None:
    """Writes the links of a document, inside a transaction."""
    connection.execute("UPDATE file_fact SET links = ? WHERE visit = ?", (count, visit))
    if count:
        connection.execute("INSERT INTO link_pack VALUES(?, ?)", (visit, packed))
        connection.execute("UPDATE visit SET out_links = ?, external_links = ? WHERE id = ?", (count, external, visit))
        connection.execute("UPDATE counter SET value = value + ? WHERE name = 'links'", (count,))


# A revisit record has no body: the record that it names has the same digest.
_UNREAD = """
SELECT v.id, u.text, v.type, w.file, o.warc_offset, o.warc_length, v.size, coalesce(v.headers, '')
FROM file_fact f JOIN visit v ON v.id = f.visit JOIN url u ON u.id = v.url
     JOIN visit o ON o.id = CASE WHEN v.revisit = 0 THEN v.id ELSE (
         SELECT min(e.id) FROM visit e
         WHERE e.hash = v.hash AND e.digest = v.digest AND e.revisit = 0 AND e.warc IS NOT NULL) END
     JOIN warc w ON w.id = o.warc
WHERE f.visit > ? AND f.text IS NULL AND f.problem IS NULL AND v.type NOT LIKE 'image/%' AND v.hash IS NOT NULL
ORDER BY f.visit LIMIT ?
"""
