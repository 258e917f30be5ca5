"""A made-up web in which every answer is a pure function of the seed and the URL.

No disk, and no memory that grows with the number of pages: a million pages cost nothing until they are asked for. The
same functions that write a page also tell what is on it, so the answer key (pages, depths, links, duplicates, refused
areas, planted addresses) is exact without a crawl.

How a host is made. Its ``n`` pages are numbered; page 0 is ``/``, page k has the children 12k+1 .. 12k+12, so every
page is reachable and few clicks deep. All other links of a page lead at most one level deeper than the page itself,
hence the least distance from ``/`` is the level in that tree, with or without sitemaps, for one host or for all of them
as seeds. Beside a page with a certain number stand special addresses that carry the number in their name: ``/go/13`` is
the redirect that page 13 links to, ``/print/17`` the exact copy of page 17, and so on (`FAMILIES`).
"""

from __future__ import annotations

from weft.demo.invented.nouns import FAMILIES, FOLLOWED, TRAP_PREFIX, Answer, Entry, Link, Planted
from weft.demo.invented.planted import MAIL_FORMS, PHONE_FORMS
from weft.demo.invented.web import InventedWeb

__all__ = [
    "FAMILIES", "FOLLOWED", "MAIL_FORMS", "PHONE_FORMS", "TRAP_PREFIX", "Answer", "Entry", "InventedWeb", "Link",
    "Planted",
]  # fmt: skip
