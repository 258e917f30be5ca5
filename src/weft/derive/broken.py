"""How many links of a crawl are broken, and the words of it for the last line of a run."""

from __future__ import annotations

from pathlib import Path

from weft.derive.read import StoredCrawl
from weft.derive.read.broken import broken_urls
from weft.derive.read.links import targets_of
from weft.text.human import command, counted

_LINKS_A_SECOND = 5_000_000
_SHARE = 0.01
_ALWAYS_S = 0.05
"""Counting holders reads every link. It may take a hundredth of the time of the crawl, or so many seconds."""


def broken_words(folder: str | Path, links: int, elapsed_s: float) -> str | None:
    """The sentence about broken links that ends a crawl; None where no link is broken."""
    how = command("links", folder, "--broken")
    if links / _LINKS_A_SECOND > max(_ALWAYS_S, elapsed_s * _SHARE):
        with StoredCrawl(folder) as crawl:
            return f"there are broken pages: {how}" if 1 in broken_urls(crawl, crawl.newest_visit()) else None
    targets, pages = broken_counts(folder)
    return f"{counted(targets, 'broken target')} on {counted(pages, 'page')}: {how}" if targets else None


def broken_counts(folder: str | Path) -> tuple[int, int]:
    """How many broken pages are linked, and how many pages and sitemaps hold those links.

    One pass over the pages; one over the links too, where anything is broken.
    """
    with StoredCrawl(folder) as crawl:
        newest = crawl.newest_visit()
        broken = broken_urls(crawl, newest)
        if 1 not in broken:
            return 0, 0
        linked = bytearray(len(broken))
        holders = 0
        for _, visit, _, pack in crawl.packs(newest):
            found = [target for target in targets_of(crawl, pack, visit) if broken[target]]
            holders += bool(found)
            for target in found:
                linked[target] = 1
        for spelling, page in crawl.aliases():
            if spelling < len(linked) and linked[spelling]:
                linked[page], linked[spelling] = 1, 0
    return sum(linked), holders
