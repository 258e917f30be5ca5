"""The facts for the last line of a run, read once at its end: seeds without a page, sites that were cut."""

from __future__ import annotations

import sqlite3

from weft.errors import POLICIES, Cause, Reason
from weft.records import FailedSeeds, SiteLimit

_SITE_LIMITS = {Reason.SITE_PAGES.value: "max-pages-per-site", Reason.SITE_TIME.value: "max-time-per-site"}


def failed_seeds(connection: sqlite3.Connection) -> FailedSeeds | None:
    """The seeds that gave no page, robots.txt and refusals included; None where each gave one.

    A seed whose fallback was asked instead is left to that. A seed that redirects gave what its redirects lead to:
    that lies at depth 0, too.
    """
    rows = connection.execute(_FAILED).fetchall()
    none_gave_a_page = connection.execute(_PAGE_OF_A_SEED).fetchone() is None
    if not rows and none_gave_a_page:
        rows = connection.execute(_SEEDS).fetchall()
    if not rows:
        return None
    forbidden = ((url, why) for url, why in rows if why == Cause.ROBOTS_DISALLOWED.value)
    url, why = next(forbidden, rows[0])
    (total,) = connection.execute("SELECT count(*) FROM seed WHERE source <> 'fallback'").fetchone()
    return FailedSeeds(len(rows), total, url, str(why), none_gave_a_page)


def site_limits(connection: sqlite3.Connection) -> tuple[SiteLimit, ...]:
    """The limits of single sites that were reached. It reads every page: for runs that have such a limit."""
    return tuple(SiteLimit(_SITE_LIMITS[reason], sites, urls) for reason, sites, urls in connection.execute(_CUT))


def last_answer_ms(connection: sqlite3.Connection) -> int | None:
    """When the newest visit began; None before the first."""
    row = connection.execute("SELECT started_ms FROM visit ORDER BY id DESC LIMIT 1").fetchone()
    return None if row is None else int(row[0])


_FALLBACK_CAUSES = ", ".join(f"'{cause.value}'" for cause, policy in POLICIES.items() if policy.condemns_origin)
_SEEDS = f"""
SELECT u.text, coalesce(p.cause, p.reason, v.status, '')
FROM seed s JOIN page p ON p.id = s.page JOIN url u ON u.id = s.page LEFT JOIN visit v ON v.id = p.visit
WHERE NOT (p.state IS 'E' AND s.fallback IS NOT NULL AND p.cause IN ({_FALLBACK_CAUSES}))
"""
_FAILED = f"{_SEEDS} AND (p.state IS NULL OR p.state = 'E' OR p.state = 'C' AND v.status >= 400) ORDER BY s.id"
_PAGE_OF_A_SEED = """
SELECT 1 FROM page p JOIN visit v ON v.id = p.visit
WHERE p.depth = 0 AND p.state = 'C' AND v.status BETWEEN 200 AND 299 LIMIT 1
"""
_CUT = f"""
SELECT reason, count(DISTINCT site), count(*) FROM page
WHERE state IS NULL AND reason IN ({", ".join(f"'{reason}'" for reason in _SITE_LIMITS)})
GROUP BY reason ORDER BY reason
"""
