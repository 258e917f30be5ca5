"""The state of a run beside its pages: what the next run has to know. Small tables, written at every tick."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Mapping

import msgspec

from weft.errors import Cause
from weft.records import FilePosition

CookieValues = tuple[str, str, str, str | None, float | None]
"""Origin, path, name, value (None: it is gone), and the time until which it holds."""


class StoredState:
    """Reads and writes the tables ``meta``, ``run``, ``cookie``, ``trap``, ``template`` and ``scope_site``.

    Writing happens inside the caller's transaction.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection

    # ---- meta ------------------------------------------------------------------------------------------------

    def _meta(self, name: str) -> str | None:
        row = self._db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return str(row[0]) if row is not None else None

    def _set_meta(self, name: str, value: object) -> None:
        self._db.execute("INSERT OR REPLACE INTO meta VALUES(?, ?)", (name, value))

    def make_hash_seed(self) -> None:
        """Draws the seed of the hashes of this crawl, unless it was drawn before."""
        self._db.execute("INSERT OR IGNORE INTO meta VALUES('hash_seed', ?)", (int.from_bytes(os.urandom(8)) >> 2,))

    @property
    def hash_seed(self) -> int:
        found = self._meta("hash_seed")
        assert found is not None  # it is the first thing that a crawl writes
        return int(found)

    @property
    def is_seeded(self) -> bool:
        """Whether the start addresses are in the database."""
        return self._meta("seeded") is not None

    def note_seeded(self) -> None:
        self._db.execute("INSERT OR IGNORE INTO meta VALUES('seeded', 1)")

    @property
    def ip_hosts(self) -> dict[str, str]:
        """Addresses that belong to one host of the seeds alone, as known at the start (R14)."""
        return msgspec.json.decode(self._meta("ip_hosts") or "{}", type=dict[str, str])

    def keep_ip_hosts(self, hosts: Mapping[str, str]) -> None:
        """Keeps them for all runs, or keys would change with the answers of DNS."""
        if hosts:
            known = msgspec.json.encode(dict(hosts)).decode()
            self._db.execute("INSERT OR IGNORE INTO meta VALUES('ip_hosts', ?)", (known,))

    @property
    def last_tick_ms(self) -> int:
        return int(self._meta("last_tick_ms") or 0)

    @property
    def obeyed_stop_file(self) -> int | None:
        """When the stop file was last changed that a run stopped for, in nanoseconds."""
        found = self._meta("stop_file")
        return int(found) if found is not None else None

    def deaths_on(self, fatal: str | None) -> int:
        """How many runs in a row ended while this page was read, the last one counted; remembered for the next."""
        before, _, url = (self._meta("suspect_page") or "0 ").partition(" ")
        self._db.execute("DELETE FROM meta WHERE name = 'suspect_page'")
        return 0 if fatal is None else int(before) + 1 if fatal == url else 1

    def suspect(self, fatal: str, deaths: int) -> None:
        """The page may be what ended so many runs in a row."""
        self._set_meta("suspect_page", f"{deaths} {fatal}")

    # ---- pages and origins -----------------------------------------------------------------------------------

    def leave_alone(self, url: str) -> None:
        """The page of a URL is a bug of weft's, and is not asked any more."""
        self._db.execute(
            "UPDATE page SET state = 'E', cause = ? WHERE state IN ('R', 'W')"
            " AND id = (SELECT coalesce(page, id) FROM url WHERE text = ?)",
            (Cause.BUG.value, url),
        )

    def forget_failed_robots(self) -> None:
        """robots.txt that could not be had is asked for again by each run."""
        self._db.execute("DELETE FROM origin WHERE robots_cause IS NOT NULL")

    def seed_urls(self) -> list[str]:
        rows = self._db.execute("SELECT u.text FROM seed s JOIN url u ON u.id = s.page ORDER BY s.id")
        return [url for (url,) in rows]

    # ---- runs ------------------------------------------------------------------------------------------------

    def last_run(self) -> tuple[int | None, str | None] | None:
        """When the last run ended (None: it was killed) and its stop reason. None: there was none."""
        row = self._db.execute("SELECT ended_ms, stop_reason FROM run ORDER BY id DESC LIMIT 1").fetchone()
        return (row[0], row[1]) if row is not None else None

    def begin_run(self, started_ms: int, version: str) -> int:
        """The id of the new run."""
        run = self._db.execute("INSERT INTO run(started_ms, version) VALUES(?, ?)", (started_ms, version)).lastrowid
        assert run is not None
        return run

    def end_run(self, ended_ms: int, stop_reason: str) -> None:
        self._db.execute(
            "UPDATE run SET ended_ms = ?, stop_reason = ? WHERE id = (SELECT max(id) FROM run)", (ended_ms, stop_reason)
        )

    def note_stop_reason(self, stop_reason: str) -> None:
        """Why a run ended that did not come to its end."""
        self._db.execute("UPDATE run SET stop_reason = ? WHERE id = (SELECT max(id) FROM run)", (stop_reason,))

    # ---- passes (T9) -----------------------------------------------------------------------------------------

    @property
    def last_pass(self) -> tuple[int, int]:
        """The number of the newest pass, and when it began."""
        number = int(self._meta("pass") or 1)
        if number > 1:
            return number, int(self._meta("pass_started_ms") or 0)
        (started_ms,) = self._db.execute("SELECT coalesce(min(started_ms), 0) FROM run").fetchone()
        return number, int(started_ms)

    @property
    def pages_before_pass(self) -> int:
        """How many pages were stored before the newest pass began."""
        return int(self._meta("pass_pages") or 0)

    @property
    def was_given_more(self) -> bool:
        """Whether URLs wait that a crawl which was done has been given since."""
        row = self._db.execute("SELECT stop_reason FROM run ORDER BY id DESC LIMIT 1").fetchone()
        waiting = self._db.execute("SELECT value FROM counter WHERE name = 'waiting'").fetchone()
        return row is not None and row[0] in ("done", "failed") and waiting is not None and waiting[0] > 0

    @property
    def pages_stored(self) -> int:
        """How many pages were stored by all runs."""
        row = self._db.execute("SELECT value FROM counter WHERE name = 'pages'").fetchone()
        return int(row[0]) if row is not None else 0

    def begin_pass(self, started_ms: int, pages: int) -> None:
        """A further pass begins, with so many pages stored before it."""
        number, _ = self.last_pass
        self._set_meta("pass", number + 1)
        self._set_meta("pass_started_ms", started_ms)
        self._set_meta("pass_pages", pages)

    # ---- the archive -----------------------------------------------------------------------------------------

    def committed(self) -> dict[str, int]:
        """The WARC files, and how many bytes of each are committed."""
        return dict(self._db.execute("SELECT file, committed_b FROM warc").fetchall())

    def close_files(self, positions: Mapping[str, FilePosition]) -> None:
        """Notes how the WARC files stand at the end of a run."""
        self._db.executemany(
            "UPDATE warc SET committed_b = ?, closed = ? WHERE file = ?",
            [(*place, file) for file, place in positions.items()],
        )

    # ---- what every tick keeps -------------------------------------------------------------------------------

    def cookies(self) -> list[tuple[str, str, str, str, float | None]]:
        return self._db.execute("SELECT origin, path, name, value, expires_s FROM cookie").fetchall()

    def keep_cookies(self, rows: Iterable[CookieValues]) -> None:
        """Cookies that were set or went since the last tick."""
        rows = list(rows)
        gone = [row[:3] for row in rows if row[3] is None]
        self._db.executemany("DELETE FROM cookie WHERE origin = ? AND path = ? AND name = ?", gone)
        kept = [row for row in rows if row[3] is not None]
        self._db.executemany("INSERT OR REPLACE INTO cookie VALUES(?, ?, ?, ?, ?)", kept)

    def traps(self) -> list[tuple[str, int | bytes]]:
        return self._db.execute("SELECT key, value FROM trap").fetchall()

    def keep_traps(self, rows: Iterable[tuple[str, int | bytes]]) -> None:
        """Budgets of traps that changed since the last tick."""
        self._db.executemany("INSERT OR REPLACE INTO trap VALUES(?, ?)", rows)

    def templates(self) -> list[tuple[str, str, int, int, int, int]]:
        """What is known of the templates of pages: key, example, samples, gained, skipped, late."""
        return self._db.execute("SELECT key, example, samples, gained, skipped, late FROM template").fetchall()

    def keep_templates(self, rows: Iterable[tuple[str, str, int, int, int, int]]) -> None:
        """Templates of which something was learnt since the last tick."""
        self._db.executemany("INSERT OR REPLACE INTO template VALUES(?, ?, ?, ?, ?, ?)", rows)

    def scope_sites(self) -> list[str]:
        """Sites that belong to the crawl because a seed redirects there."""
        return [name for (name,) in self._db.execute("SELECT name FROM scope_site")]

    def keep_scope_sites(self, names: Iterable[str]) -> None:
        self._db.executemany("INSERT OR IGNORE INTO scope_site VALUES(?)", [(name,) for name in names])

    def keep_run(self, now_ms: int, active_s: float, pages: int, obeyed_stop_file: int | None) -> None:
        """How far the run is."""
        self._set_meta("last_tick_ms", now_ms)
        if obeyed_stop_file is not None:
            self._set_meta("stop_file", obeyed_stop_file)
        self._db.execute(
            "UPDATE run SET active_ms = ?, pages = ? WHERE id = (SELECT max(id) FROM run)",
            (int(active_s * 1000), pages),
        )

    def keep_near_duplicates(self, rows: Iterable[tuple[int, int, float]], name: str, stamp: str) -> None:
        """Which pages are near-duplicates of which, and under ``name`` the settings that told it."""
        self._db.execute("DELETE FROM near_duplicate")
        self._db.executemany("INSERT INTO near_duplicate VALUES(?, ?, ?)", rows)
        self._set_meta(name, stamp)


def is_seeded(reader: sqlite3.Connection) -> bool:
    """Whether a database, which may be empty, has the start addresses of its crawl."""
    if reader.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone() is None:
        return False
    return StoredState(reader).is_seeded
