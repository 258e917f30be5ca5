"""Broken links: links to pages that were asked, and gave no answer or one with a status of 400 and more."""

from __future__ import annotations

from pathlib import Path

from weft.derive.read import StoredCrawl
from weft.derive.read.links import targets_of
from weft.errors import Cause


def broken_counts(folder: Path) -> tuple[int, int]:
    """How many pages of a crawl are the targets of broken links, and how many pages have such links.

    What robots.txt forbids was not asked, and is not broken.
    """
    with StoredCrawl(folder) as crawl:
        broken = {row[0] for row in crawl.connection.execute(_BROKEN, (Cause.ROBOTS_DISALLOWED.value,))}
        page_of = {alias: page for alias, page in crawl.aliases() if page in broken} if broken else {}
        targets: set[int] = set()
        holders = 0
        for _, visit, _, pack in crawl.packs(crawl.newest_visit()) if broken else ():
            found = {page_of.get(target, target) for target in targets_of(crawl, pack, visit)} & broken
            targets |= found
            holders += bool(found)
    return len(targets), holders


_BROKEN = """
SELECT p.id FROM page p LEFT JOIN visit v ON v.id = p.visit
WHERE p.state = 'E' AND p.cause <> ? OR p.state = 'C' AND v.status >= 400
"""
