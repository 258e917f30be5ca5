"""The items of the pages of a crawl: addresses, numbers, and all else that is looked for (E24, E25, P6)."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from typing import NamedTuple

from weft.crawl.marks import ParseMark
from weft.parse.source import READING
from weft.records import PAGE, Facts, Fetched, Item, Lease
from weft.spec import Harvest


class FoundItems(NamedTuple):
    """The items of a page."""

    items: list[Item]
    problem: str = ""  # what was left out
    bug: str = ""  # the traceback, where a bug took the items


class ItemReader:
    """Looks for items. The page is marked while it is read."""

    def __init__(self, wanted: Harvest, mark: ParseMark) -> None:
        from weft.extract.extractor import Extractor  # only for crawls that look for items

        self._extractor = Extractor(wanted, READING)
        self._mark = mark

    def read(self, lease: Lease, answer: Fetched, facts: Facts, links: Sequence[str]) -> FoundItems:
        """The items of an answer, of the rendered page where there is one; none of robots.txt and sitemaps."""
        if lease.purpose is not PAGE:
            return FoundItems([])
        try:
            with self._mark.of(lease.url):
                if answer.rendered is not None and answer.rendered.html:
                    body = answer.rendered.html.encode("utf-8", "replace")
                    found = self._extractor.extract(body, lease.url, "text/html", "utf-8", links)
                else:
                    found = self._extractor.extract(answer.body, lease.url, facts.type or "", facts.encoding, links)
        except Exception:  # the border to the parser and to patterns of the user: the page is stored all the same
            return FoundItems([], bug=traceback.format_exc())
        return FoundItems(found.items, found.problem)
