"""Pages as the frontier sees them: rows not yet written, pages under way, how they were reached."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

import msgspec

from weft.errors import LINK_REASONS, Reason
from weft.frontier.seen import ADMITTED, CHECKED, FINAL, HOPPED, JUDGED_FILE
from weft.ports import Parent

LIMIT_REASONS = (Reason.SITE_PAGES.value, Reason.SITE_TIME.value)
OPEN_REASONS = frozenset((*(reason.value for reason in LINK_REASONS), *LIMIT_REASONS))  # another link may mend


class Role(IntEnum):
    """Whether an entry of the queue is a page or a file; the number is what the database keeps.

    A page stays a page, however many images show it. A file that is linked like a page is asked once more, as a page.
    """

    PAGE = 0
    NO_FILE = 1  # refused as a page and as a file
    FILE = 2  # asked as a file
    ANSWERED_FILE = 3  # asked as a page, and answered with a file
    CHECK = 4  # refused as a page, and asked whether it answers: its reason stays beside its state

    @property
    def is_file(self) -> bool:
        return self in (Role.FILE, Role.ANSWERED_FILE)


NO_PAGES = frozenset({Role.FILE.value, Role.CHECK.value})
"""Roles of what is asked beside pages, before them, and counts for none of their limits."""

FILE_PRIORITY = -(1 << 50)
"""Files come before all pages of their site: those of a page are there soon after it."""


class FoundBy(NamedTuple):
    """How a URL was reached: by which page and visit (None: a seed), how far from the start, by how many redirects."""

    parent: Parent | None
    visit: int | None
    depth: int
    hops: int
    nofollow: bool = False  # the page's word for all its links
    duplicate: bool = False  # the page is a duplicate, and their links are not followed
    by_file: bool = False  # it is a file, which redirects
    by_check: bool = False  # it was only checked, and redirects: that brings nothing in


class Found(NamedTuple):
    """What the links of one page led to."""

    external: int  # links to other sites
    new: list[str]  # pages of the site that these links admitted
    known: Sequence[str]  # pages of the site that were known before


class PageInFlight(msgspec.Struct, gc=False):
    """A page taken and not yet settled: what may still change while it is under way."""

    page: int
    url: str
    url_id: int
    depth: int
    hops: int
    chain: int
    attempts: int  # this one counted
    site: int
    ip: str
    is_file: bool = False  # asked as a file, or checked
    is_check: bool = False
    becomes_page: bool = False  # it was linked like a page while it was asked as a file
    offered: bool = False  # its links were offered in this tick
    stored: bool = False  # R is in the database
    is_ahead: bool = False  # taken ahead, and not asked yet


class PageRow(msgspec.Struct, gc=False):
    """A row of ``page`` as the frontier needs it, not yet written or just read."""

    id: int
    site: int
    state: str | None
    reason: str | None
    depth: int
    hops: int
    chain: int
    priority: int
    found_in: int | None
    key: str | None
    visit: int | None = None
    role: int = Role.PAGE


def flags_of(state: object, reason: object, hops: int, role: int) -> int:
    """What is remembered of a page beside its depth: whether it was admitted, or never will be, or by redirects.

    A file is not admitted as a page: a link may still make it one.
    """
    flags = HOPPED if hops else 0
    if role in (Role.FILE, Role.NO_FILE):
        flags |= JUDGED_FILE
    if role == Role.FILE:
        return flags
    if role == Role.CHECK:
        return flags | CHECKED if reason in OPEN_REASONS else flags | CHECKED | FINAL
    if state is not None:
        return flags | ADMITTED
    return flags if reason in OPEN_REASONS else flags | FINAL
