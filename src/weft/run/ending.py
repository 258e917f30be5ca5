"""What a run does when its crawl has ended: it finds near-duplicates, where that is wanted."""

from __future__ import annotations

import asyncio

from weft.crawl.opening import OpenCrawl
from weft.records import StopReason


async def run_crawl(crawl: OpenCrawl) -> StopReason:
    """Runs a crawl to its end, with all that belongs to the end; why it ended."""
    reason = await crawl.run()
    if crawl.spec.duplicates.near is not None and reason is not StopReason.STOPPED:
        await _keep_near_duplicates(crawl)
    return reason


async def _keep_near_duplicates(crawl: OpenCrawl) -> None:
    """Stores which pages are near-duplicates of which; readers find it out themselves where a stop came in between."""
    from weft.derive.duplicates.verdicts import STORED_AS, find_near, stamp_of
    from weft.derive.read import StoredCrawl

    def found() -> tuple[list[tuple[int, int, float]], str]:
        with StoredCrawl(crawl.folder.path) as stored:
            rows = list(find_near(stored, crawl.spec.duplicates, crawl.watch_stop))
            return rows, stamp_of(stored, crawl.spec.duplicates)

    try:
        rows, stamp = await asyncio.to_thread(found)
    except InterruptedError:
        return
    with crawl.transaction() as state:
        state.keep_near_duplicates(rows, STORED_AS, stamp)
