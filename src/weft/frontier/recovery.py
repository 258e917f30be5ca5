"""What an earlier run left in the tables, made ready for this one: states, limits that were lifted, failures that pass.

All of it is written inside the caller's transaction, and ``counts`` follows.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import msgspec

from weft.errors import POLICIES, Cause, Reason
from weft.frontier.pages import LIMIT_REASONS, Role
from weft.frontier.seen import DEPTH_MAX
from weft.spec import Paces
from weft.text.dates import http_date_of_iso


def stored_counts(connection: sqlite3.Connection, names: Sequence[str]) -> dict[str, int]:
    """The counters as the last tick left them; those that an earlier version did not keep are counted now."""
    stored = dict(connection.execute("SELECT name, value FROM counter").fetchall())
    counts = {name: stored.get(name, 0) for name in names}
    if stored and "asked" not in stored:
        counts["forbidden"], counts["broken"] = failed_pages(connection)
        (counts["asked"],) = connection.execute(ASKED_SITES).fetchone()
    return counts


def return_running(connection: sqlite3.Connection, counts: dict[str, int]) -> None:
    """Every R becomes W: nobody holds it any more."""
    counts["waiting"] += connection.execute("UPDATE page SET state = 'W' WHERE state = 'R'").rowcount
    counts["running"] = 0


def lift_limits(connection: sqlite3.Connection, counts: dict[str, int], paces: Paces, max_depth: int | None) -> None:
    """Lets in what only an older, tighter limit kept out."""
    back = connection.execute(
        "UPDATE page SET state = 'W', reason = NULL WHERE state IS NULL AND reason IN (?, ?)", LIMIT_REASONS
    ).rowcount
    back += connection.execute(
        "UPDATE page SET state = 'W', reason = NULL WHERE state IS NULL AND reason = ?", (Reason.MAX_FILES.value,)
    ).rowcount
    own = paces.depths()
    lift = (
        "UPDATE page SET state = 'W', reason = NULL, role = 0, attempts = 0, retry_ms = NULL, cause = NULL,"
        f" priority = iif(role = {Role.CHECK.value}, depth, priority)"
        f" WHERE (state IS NULL OR role = {Role.CHECK.value}) AND reason = ? AND depth <= ? AND site "
    )
    named = "IN (SELECT s.id FROM site s JOIN json_each(?) j ON j.value = s.name)"
    bounds = [(named, [name], depth) for name, depth in own.items()]
    for where, names, deepest in [*bounds, (f"NOT {named}", list(own), max_depth)]:
        bound = DEPTH_MAX if deepest is None else deepest
        back += connection.execute(
            lift + where, (Reason.TOO_DEEP.value, bound, msgspec.json.encode(names).decode())
        ).rowcount
    too_large = connection.execute(
        "UPDATE page SET state = 'W', cause = NULL, attempts = 0 WHERE state = 'C' AND cause = ?",
        (Cause.FILE_TOO_LARGE.value,),
    ).rowcount
    if back or too_large:  # some of them may have been checked, and are pages now
        recount_states(connection, counts)


def retry_failed(connection: sqlite3.Connection, counts: dict[str, int]) -> int:
    """Puts back what failed for a passing reason (E4); how many those were."""
    passing = [cause.value for cause, policy in POLICIES.items() if policy.passing]
    marks = ", ".join("?" * len(passing))
    number = connection.execute(
        f"UPDATE page SET state = 'W', attempts = 0, cause = NULL WHERE state = 'E' AND cause IN ({marks})", passing
    ).rowcount
    counts["waiting"] += number
    counts["errors"] -= number
    counts["broken"] -= number  # a page that robots.txt forbids is none of them
    return number


def ask_all_again(connection: sqlite3.Connection) -> None:
    """Puts every page that was asked, and every sitemap, back into the queue (T9). The caller counts anew."""
    connection.execute(
        "UPDATE page SET state = 'W', attempts = 0, retry_ms = NULL, cause = NULL WHERE state IN ('C', 'E')"
    )
    connection.execute("UPDATE sitemap SET state = 'W', attempts = 0, cause = NULL")


def validators_of(connection: sqlite3.Connection, page: int) -> tuple[str, str]:
    """ETag and Last-Modified, as HTTP has it, of the newest body that is stored of a page; "" where there is none."""
    row = connection.execute(
        "SELECT etag, last_modified, truncated FROM visit WHERE page = ? AND status BETWEEN 200 AND 299"
        " ORDER BY id DESC LIMIT 1",
        (page,),
    ).fetchone()
    return ("", "") if row is None or row[2] else (row[0] or "", http_date_of_iso(row[1]))


ASKED_SITES = "SELECT count(*) FROM site WHERE first_access_ms IS NOT NULL"


def recount_states(connection: sqlite3.Connection, counts: dict[str, int]) -> None:
    """Counts the table once, after something outside the tick changed it."""
    rows = dict(connection.execute("SELECT coalesce(state, '-'), count(*) FROM page GROUP BY state").fetchall())
    names = {"-": "refused", "W": "waiting", "R": "running", "C": "completed", "E": "errors"}
    counts.update((name, rows.get(state, 0)) for state, name in names.items())
    counts["forbidden"], counts["broken"] = failed_pages(connection)


def failed_pages(connection: sqlite3.Connection) -> tuple[int, int]:
    """How many pages robots.txt forbids, and how many are broken: no answer, or one with a status of 400 and more."""
    forbidden, broken = connection.execute(
        "SELECT coalesce(sum(p.state = 'E' AND p.cause = ?1), 0),"
        " coalesce(sum(CASE WHEN p.state = 'E' THEN p.cause <> ?1 ELSE v.status >= 400 END), 0)"
        " FROM page p LEFT JOIN visit v ON v.id = p.visit WHERE p.state IN ('C', 'E')",
        (Cause.ROBOTS_DISALLOWED.value,),
    ).fetchone()
    return int(forbidden), int(broken)
