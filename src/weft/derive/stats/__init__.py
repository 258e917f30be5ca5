"""Statistics of a stored crawl (G9, R19): two passes, over pages and over links, a few bytes a URL in memory."""

from __future__ import annotations

from weft.derive.stats.gather import Statistics, gather

__all__ = ["Statistics", "gather"]
