"""The tables of ``crawl.db`` and their migrations. docs/database.md explains them to users."""

from __future__ import annotations

import sqlite3

from weft.records import LinkKind

TABLES = """
CREATE TABLE meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE counter(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE run(
    id INTEGER PRIMARY KEY, started_ms INTEGER NOT NULL, ended_ms INTEGER, stop_reason TEXT,
    version TEXT NOT NULL, active_ms INTEGER NOT NULL DEFAULT 0, pages INTEGER NOT NULL DEFAULT 0);
CREATE TABLE site(
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, first_access_ms INTEGER,
    next_access_ms INTEGER NOT NULL DEFAULT 0, slow_answers INTEGER NOT NULL DEFAULT 0,
    failures INTEGER NOT NULL DEFAULT 0, pages INTEGER NOT NULL DEFAULT 0);
CREATE TABLE origin(
    name TEXT PRIMARY KEY, site INTEGER NOT NULL REFERENCES site, robots_status INTEGER, robots_cause TEXT,
    robots_content BLOB, robots_url TEXT, crawl_delay_s REAL, fetched_ms INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE url(id INTEGER PRIMARY KEY, text TEXT NOT NULL, page INTEGER);
CREATE TABLE seen(hash INTEGER PRIMARY KEY, url INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE seen_key(hash INTEGER PRIMARY KEY, page INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE page(
    id INTEGER PRIMARY KEY REFERENCES url, site INTEGER NOT NULL REFERENCES site, state TEXT, reason TEXT,
    depth INTEGER NOT NULL, hops INTEGER NOT NULL DEFAULT 0, chain INTEGER NOT NULL DEFAULT 0,
    priority INTEGER NOT NULL, found_in INTEGER, url INTEGER, key TEXT, attempts INTEGER NOT NULL DEFAULT 0,
    retry_ms INTEGER, cause TEXT, visit INTEGER);
CREATE INDEX page_queue ON page(site, priority, id) WHERE state = 'W' AND retry_ms IS NULL;
CREATE INDEX page_retry ON page(retry_ms) WHERE state = 'W' AND retry_ms IS NOT NULL;
CREATE INDEX page_running ON page(id) WHERE state = 'R';
CREATE TABLE seed(
    id INTEGER PRIMARY KEY, page INTEGER NOT NULL REFERENCES page, added_ms INTEGER NOT NULL, source TEXT NOT NULL,
    fallback TEXT);
CREATE TABLE visit(
    id INTEGER PRIMARY KEY, page INTEGER REFERENCES page, url INTEGER NOT NULL REFERENCES url, purpose INTEGER NOT NULL,
    attempt INTEGER NOT NULL, started_ms INTEGER NOT NULL, response_ms INTEGER, status INTEGER, cause TEXT, detail TEXT,
    truncated INTEGER NOT NULL DEFAULT 0, type TEXT, encoding TEXT, language TEXT, title TEXT, description TEXT,
    canonical TEXT, redirect_to TEXT, noindex INTEGER NOT NULL DEFAULT 0, nofollow INTEGER NOT NULL DEFAULT 0,
    size INTEGER, size_wire INTEGER, hash INTEGER, last_modified TEXT, server_date TEXT, etag TEXT, ip TEXT,
    http_version TEXT, out_links INTEGER NOT NULL DEFAULT 0, external_links INTEGER NOT NULL DEFAULT 0,
    warc INTEGER REFERENCES warc, warc_offset INTEGER, warc_length INTEGER, digest TEXT,
    revisit INTEGER NOT NULL DEFAULT 0, headers TEXT);
CREATE INDEX visit_page ON visit(page, id) WHERE page IS NOT NULL;
CREATE INDEX visit_hash ON visit(hash) WHERE hash IS NOT NULL;
CREATE TABLE link_pack(visit INTEGER PRIMARY KEY REFERENCES visit, links TEXT NOT NULL);
CREATE TABLE link_kind(id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE warc(
    id INTEGER PRIMARY KEY, file TEXT NOT NULL UNIQUE, committed_b INTEGER NOT NULL, closed INTEGER NOT NULL);
CREATE TABLE sitemap(
    id INTEGER PRIMARY KEY, site INTEGER NOT NULL REFERENCES site, url INTEGER NOT NULL UNIQUE REFERENCES url,
    state TEXT NOT NULL, level INTEGER NOT NULL, cause TEXT, entries INTEGER NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL DEFAULT 0);
CREATE INDEX sitemap_site ON sitemap(site, state);
CREATE TABLE cookie(
    origin TEXT NOT NULL, path TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, expires_s REAL,
    PRIMARY KEY(origin, path, name)) WITHOUT ROWID;
CREATE TABLE trap(key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE scope_site(name TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE bug(id INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, url TEXT NOT NULL, traceback TEXT NOT NULL);
"""

VIEWS = """
CREATE VIEW link AS
SELECT p.id AS from_page, CASE WHEN t.page = 0 THEN NULL ELSE coalesce(t.page, t.id) END AS to_page,
       l.key AS position, t.text AS target, k.name AS kind, json_extract(l.value, '$[3]') AS anchor,
       json_extract(l.value, '$[4]') AS rel, json_extract(l.value, '$[5]') AS fragment,
       json_extract(l.value, '$[2]') AS offered, v.id AS visit
FROM page p JOIN visit v ON v.id = p.visit JOIN link_pack k0 ON k0.visit = v.id, json_each(k0.links) l
     JOIN url t ON t.id = json_extract(l.value, '$[0]') JOIN link_kind k ON k.id = json_extract(l.value, '$[1]');
"""

PAGE_URL = """VIEW page_url AS
SELECT p.id AS page, u.id AS url, u.text FROM page p JOIN url u ON u.id = coalesce(p.url, p.id)"""

DOCUMENT = """VIEW document AS
SELECT p.id, s.name AS site, u.text AS url, coalesce(p.key, o.text) AS key, p.state, p.reason, p.depth, p.attempts,
       v.status, coalesce(v.cause, p.cause) AS cause, v.type, v.encoding, v.language, v.title, v.size, v.hash,
       strftime('%Y-%m-%dT%H:%M:%SZ', v.started_ms / 1000, 'unixepoch') AS fetched_at, v.redirect_to, v.canonical,
       v.out_links, v.external_links, v.response_ms, w.file AS warc_file, v.warc_offset, v.warc_length
FROM page p JOIN site s ON s.id = p.site JOIN url o ON o.id = p.id JOIN page_url u ON u.page = p.id
     LEFT JOIN visit v ON v.id = p.visit LEFT JOIN warc w ON w.id = v.warc"""

SORTED_RUNS = """
DROP TABLE seen;
DROP TABLE seen_key;
CREATE TABLE seen(id INTEGER PRIMARY KEY, fingerprints BLOB NOT NULL, ids BLOB NOT NULL);
CREATE TABLE seen_run(
    id INTEGER PRIMARY KEY, level INTEGER NOT NULL, entries INTEGER NOT NULL, keys INTEGER NOT NULL,
    upto INTEGER NOT NULL, filter BLOB NOT NULL);
"""

RENDERINGS = """
CREATE TABLE rendering(
    visit INTEGER PRIMARY KEY REFERENCES visit, requests INTEGER NOT NULL, took_ms INTEGER NOT NULL,
    links INTEGER NOT NULL, new_links INTEGER NOT NULL, new_text INTEGER NOT NULL, note TEXT, refused TEXT,
    warc INTEGER REFERENCES warc, warc_offset INTEGER, warc_length INTEGER);
CREATE TABLE template(
    key TEXT PRIMARY KEY, example TEXT NOT NULL, samples INTEGER NOT NULL, gained INTEGER NOT NULL,
    skipped INTEGER NOT NULL, late INTEGER NOT NULL) WITHOUT ROWID;
"""


FILE_VIEWS = """
CREATE VIEW shown_file AS
WITH RECURSIVE hop(start, page, hops) AS (
    SELECT id, id, 0 FROM page WHERE role IN (2, 3)
    UNION
    SELECT h.start, coalesce(t.page, t.id), h.hops + 1
    FROM hop h JOIN page p ON p.id = h.page JOIN visit v ON v.id = p.visit JOIN link_pack k ON k.visit = v.id
         JOIN url t ON t.id = json_extract(k.links, '$[0][0]')
    WHERE v.redirect_to IS NOT NULL AND h.hops < 20)
SELECT u.text AS url, s.text AS page, l.key AS position, k.name AS kind, json_extract(l.value, '$[3]') AS anchor,
       json_extract(l.value, '$[4]') AS rel, p.site, f.id AS file, v.id AS visit, v.type, v.size, v.cause,
       CASE WHEN v.hash IS NOT NULL THEN printf('%016x', v.hash) END AS hash
FROM page p JOIN visit w ON w.id = p.visit JOIN link_pack c ON c.visit = w.id JOIN page_url s ON s.page = p.id,
     json_each(c.links) l
     JOIN url u ON u.id = json_extract(l.value, '$[0]') JOIN hop h ON h.start = coalesce(u.page, u.id)
     JOIN page f ON f.id = h.page JOIN visit v ON v.id = f.visit
     JOIN link_kind k ON k.id = json_extract(l.value, '$[1]')
WHERE (p.role < 2 OR w.type = 'text/css') AND v.status BETWEEN 200 AND 299 AND f.role IN (2, 3)
      AND w.redirect_to IS NULL;
CREATE VIEW image AS
SELECT url, page, max(CASE WHEN kind = 'image' AND rel IS NOT 'background' THEN anchor END) AS alt, type, size, hash,
       width, height, cause AS error
FROM shown_file LEFT JOIN file_fact USING(visit) WHERE type LIKE 'image/%' GROUP BY url, page;
CREATE VIEW file AS
SELECT url, page, type, size, hash, title, author, pages, nullif(text, '') AS text, links,
       coalesce(cause, problem) AS error
FROM shown_file LEFT JOIN file_fact USING(visit)
WHERE type NOT LIKE 'image/%' AND NOT (type = 'text/html' AND kind IN ('image', 'link')) GROUP BY url, page;
"""


def create(connection: sqlite3.Connection) -> None:
    """The first schema."""
    _run(connection, TABLES + VIEWS)
    connection.executemany("INSERT INTO link_kind VALUES(?, ?)", [(kind.value, kind.label) for kind in LinkKind])


def keep_duplicates(connection: sqlite3.Connection) -> None:
    """Sketches of texts, and what was made of them at the end of the crawl (E18, G7)."""
    connection.execute("CREATE TABLE sketch(visit INTEGER PRIMARY KEY REFERENCES visit, data BLOB NOT NULL)")
    connection.execute(
        "CREATE TABLE near_duplicate(page INTEGER PRIMARY KEY REFERENCES page,"
        " duplicate_of INTEGER NOT NULL REFERENCES page, similarity REAL NOT NULL)"
    )


def sort_the_seen_set(connection: sqlite3.Connection) -> None:
    """The third schema: the seen-set in sorted runs. What no run holds is made again from the URLs at the start."""
    _run(connection, SORTED_RUNS)


def _run(connection: sqlite3.Connection, statements: str) -> None:
    for statement in statements.split(";\n"):
        if statement.strip():
            connection.execute(statement)


def find_sketches(connection: sqlite3.Connection) -> None:
    """Sketches by their bands, for crawls that do not follow the links of near-duplicates (G7)."""
    connection.execute(
        "CREATE TABLE sketch_band(hash INTEGER NOT NULL, visit INTEGER NOT NULL, PRIMARY KEY(hash, visit))"
        " WITHOUT ROWID"
    )


def narrow_the_queue(connection: sqlite3.Connection) -> None:
    """The index of the queue without the id of the page, which ends every entry of an index anyway: a fifth less."""
    connection.execute("DROP INDEX page_queue")
    connection.execute("CREATE INDEX page_queue ON page(site, priority) WHERE state = 'W' AND retry_ms IS NULL")


def name_the_urls_of_pages(connection: sqlite3.Connection) -> None:
    """A view of the URL of each page, and the view of documents upon it."""
    _run(connection, f"CREATE {PAGE_URL};\nDROP VIEW IF EXISTS document;\nCREATE {DOCUMENT}")


def keep_files(connection: sqlite3.Connection) -> None:
    """Files beside pages (G5): which entries of the queue are files, what files show of themselves, and two views."""
    connection.execute("ALTER TABLE page ADD COLUMN role INTEGER NOT NULL DEFAULT 0")
    connection.execute("CREATE INDEX page_files ON page(id) WHERE role = 2 AND state IN ('W', 'R')")
    connection.execute(
        "CREATE TABLE file_fact(visit INTEGER PRIMARY KEY REFERENCES visit, width INTEGER, height INTEGER,"
        " title TEXT, author TEXT, pages INTEGER, text TEXT, links INTEGER, problem TEXT)"
    )
    _run(connection, FILE_VIEWS)


def tell_the_places_of_documents(connection: sqlite3.Connection) -> None:
    """The view of documents with their links and their places in the archive (E14)."""
    _run(connection, f"DROP VIEW document;\nCREATE {DOCUMENT}")


def keep_texts(connection: sqlite3.Connection) -> None:
    """Main texts and keywords of visits (E14, E23)."""
    connection.execute(
        "CREATE TABLE text(visit INTEGER PRIMARY KEY REFERENCES visit, text TEXT NOT NULL, markdown TEXT NOT NULL,"
        " language TEXT, title TEXT, author TEXT, published TEXT, description TEXT,"
        " is_article INTEGER NOT NULL, records TEXT NOT NULL, keywords TEXT)"
    )


def keep_what_orders_were_told(connection: sqlite3.Connection) -> None:
    """For orders by what was read: each page with those found on it and those linked to, as numbers of four bytes."""
    connection.execute(
        "CREATE TABLE ordering(step INTEGER PRIMARY KEY, page INTEGER NOT NULL, found BLOB NOT NULL,"
        " links BLOB NOT NULL)"
    )


def keep_renderings(connection: sqlite3.Connection) -> None:
    """What a browser made of pages, and what is known of the templates of pages (G1)."""
    _run(connection, RENDERINGS)


def keep_items(connection: sqlite3.Connection) -> None:
    """What people crawl for (E24): it belongs to the visit that found it. And what must not be kept."""
    connection.execute(
        "CREATE TABLE item(id INTEGER PRIMARY KEY, visit INTEGER NOT NULL REFERENCES visit,"
        " page INTEGER NOT NULL REFERENCES page, kind TEXT NOT NULL, value TEXT NOT NULL, context TEXT NOT NULL,"
        " obscured TEXT NOT NULL, position INTEGER NOT NULL, confidence REAL NOT NULL, fields TEXT)"
    )
    connection.execute("CREATE INDEX item_page ON item(page)")
    connection.execute("CREATE TABLE forgotten(pattern TEXT PRIMARY KEY, at_ms INTEGER NOT NULL) WITHOUT ROWID")


def check_links(connection: sqlite3.Connection) -> None:
    """Targets of links that are only checked (E21) are entries of the queue, and no files."""
    connection.execute("CREATE INDEX page_checks ON page(id) WHERE role = 4 AND state IN ('W', 'R')")
    _run(connection, f"DROP VIEW image;\nDROP VIEW file;\nDROP VIEW shown_file;\n{FILE_VIEWS}")


def name_the_links_of_documents(connection: sqlite3.Connection) -> None:
    """The kind of the links inside of documents (G5)."""
    kind = LinkKind.DOCUMENT
    connection.execute("INSERT OR IGNORE INTO link_kind VALUES(?, ?)", (kind.value, kind.label))


MIGRATIONS = (
    create, keep_duplicates, sort_the_seen_set, find_sketches, narrow_the_queue, name_the_urls_of_pages, keep_texts,
    keep_what_orders_were_told, tell_the_places_of_documents, keep_renderings, keep_items, keep_files,
    check_links, name_the_links_of_documents,
)  # fmt: skip
VERSION = len(MIGRATIONS)
_VERSION_WITH_PAGE_URL = 6
_VERSION_WITH_RENDERINGS = 10


def lend_views(connection: sqlite3.Connection) -> None:
    """Gives a reader of a folder of an earlier schema what is not in it; in the folder nothing changes."""
    if connection.execute("PRAGMA user_version").fetchone()[0] < _VERSION_WITH_PAGE_URL:
        connection.execute(f"CREATE TEMP {PAGE_URL}")
    if connection.execute("PRAGMA user_version").fetchone()[0] < _VERSION_WITH_RENDERINGS:
        _run(connection, RENDERINGS.replace("CREATE TABLE", "CREATE TEMP TABLE"))
