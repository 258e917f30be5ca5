"""Reading a stored crawl: its pages, links and numbers, as streams that never grow with the crawl.

Readers work in short statements, up to the largest visit at their start, so that a running crawl can go on
writing and what is read is one consistent state.
"""

from __future__ import annotations

from weft.derive.read.crawl import StoredCrawl
from weft.derive.read.model import COUNTED_VISIT, Hop, LinkRow, PackedLink, Page, Place, Status

__all__ = ["COUNTED_VISIT", "Hop", "LinkRow", "PackedLink", "Page", "Place", "Status", "StoredCrawl"]
