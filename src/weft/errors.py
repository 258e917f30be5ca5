"""What goes wrong, in three kinds that are never mixed.

``Cause``: the web did not answer; it is recorded with the page and never raised.
``Reason``: we chose not to ask; it is recorded with the URL and shown by ``weft why``.
``WeftError``: we, or the user's files, are at fault; raised::

    WeftError
      SpecError      the specification is wrong: names file, line, key; exit 2
      FolderError    the folder cannot be used: not a crawl, damaged, in use, newer; exit 2
      StoreError     the store cannot write: the crawl stops at once; exit 1
      BugError       more bugs on hostile pages than ``max_bugs``; exit 1
      PartError      a part of the user's own failed (R4); exit 1
"""

from __future__ import annotations

import errno
from enum import StrEnum
from typing import NamedTuple


class WeftError(Exception):
    """The base of all that weft raises on purpose. ``exit_code`` is what the command line ends with."""

    exit_code = 1


class SpecError(WeftError):
    exit_code = 2


class FolderError(WeftError):
    exit_code = 2


NO_URL = "is no URL: give it whole, with https:// or http://"
HOW_TO_BEGIN = "name the folder of a crawl, or start one with `weft crawl URL -o FOLDER`"


class StoreError(WeftError):
    exit_code = 1


_FULL = (errno.ENOSPC, errno.EDQUOT)


def means_full_disk(error: BaseException | None) -> bool:
    """Whether an error, or what led to it, says that the disk takes no more."""
    while error is not None:
        if (isinstance(error, OSError) and error.errno in _FULL) or getattr(
            error, "sqlite_errorname", ""
        ) == "SQLITE_FULL":
            return True
        error = error.__cause__
    return False


class BugError(WeftError):
    exit_code = 1


class PartError(WeftError):
    exit_code = 1


class Cause(StrEnum):
    """Why there is no answer."""

    DNS_NOT_FOUND = "DNS_NOT_FOUND"
    DNS_FAILED = "DNS_FAILED"
    ADDRESS_REFUSED = "ADDRESS_REFUSED"
    CONNECT_REFUSED = "CONNECT_REFUSED"
    CONNECT_TIMEOUT = "CONNECT_TIMEOUT"
    CONNECT_FAILED = "CONNECT_FAILED"
    PROXY_FAILED = "PROXY_FAILED"
    TLS_FAILED = "TLS_FAILED"
    TLS_CERTIFICATE = "TLS_CERTIFICATE"
    TLS_CLIENT_CERTIFICATE = "TLS_CLIENT_CERTIFICATE"
    CONNECTION_LOST = "CONNECTION_LOST"
    EMPTY_ANSWER = "EMPTY_ANSWER"
    BAD_ANSWER = "BAD_ANSWER"
    HEADERS_TOO_LARGE = "HEADERS_TOO_LARGE"
    FIRST_BYTE_TIMEOUT = "FIRST_BYTE_TIMEOUT"
    READ_TIMEOUT = "READ_TIMEOUT"
    INCOMPLETE_BODY = "INCOMPLETE_BODY"
    TOO_MANY_REDIRECTS = "TOO_MANY_REDIRECTS"
    FILE_TOO_LARGE = "FILE_TOO_LARGE"
    ROBOTS_DISALLOWED = "ROBOTS_DISALLOWED"
    ROBOTS_UNAVAILABLE = "ROBOTS_UNAVAILABLE"
    BUG = "BUG"


class Policy(NamedTuple):
    """What follows a cause: how often it is tried again, how long the site rests, whether the origin is given up."""

    retried: bool
    passing: bool  # a later `weft resume` tries it once more (E4)
    first_delay_s: float = 1.0
    growth: float = 3.0
    condemns_origin: bool = False  # the same would meet every other page of the origin
    stalls: bool = False  # a whole time-out is lost: the origin is given up after ``STALLS_MAX`` of them in a row


POLICIES: dict[Cause, Policy] = {
    Cause.DNS_NOT_FOUND: Policy(retried=False, passing=True, condemns_origin=True),
    Cause.DNS_FAILED: Policy(retried=True, passing=True, condemns_origin=True),
    Cause.ADDRESS_REFUSED: Policy(retried=False, passing=False, condemns_origin=True),
    Cause.CONNECT_REFUSED: Policy(retried=True, passing=True, condemns_origin=True),
    Cause.CONNECT_TIMEOUT: Policy(retried=True, passing=True, condemns_origin=True),
    Cause.CONNECT_FAILED: Policy(retried=True, passing=True, condemns_origin=True),
    Cause.PROXY_FAILED: Policy(retried=True, passing=True),
    Cause.TLS_FAILED: Policy(retried=False, passing=True, condemns_origin=True),
    Cause.TLS_CERTIFICATE: Policy(retried=False, passing=True, condemns_origin=True),
    Cause.TLS_CLIENT_CERTIFICATE: Policy(retried=False, passing=True, condemns_origin=True),
    Cause.CONNECTION_LOST: Policy(retried=True, passing=True),
    Cause.EMPTY_ANSWER: Policy(retried=True, passing=True),
    Cause.BAD_ANSWER: Policy(retried=True, passing=True),
    Cause.HEADERS_TOO_LARGE: Policy(retried=False, passing=False),
    Cause.FIRST_BYTE_TIMEOUT: Policy(retried=True, passing=True, stalls=True),
    Cause.READ_TIMEOUT: Policy(retried=True, passing=True, stalls=True),
    Cause.INCOMPLETE_BODY: Policy(retried=True, passing=True),
    Cause.TOO_MANY_REDIRECTS: Policy(retried=False, passing=False),
    Cause.FILE_TOO_LARGE: Policy(retried=False, passing=False),
    Cause.ROBOTS_DISALLOWED: Policy(retried=False, passing=False),
    Cause.ROBOTS_UNAVAILABLE: Policy(retried=True, passing=True, condemns_origin=True),
    Cause.BUG: Policy(retried=False, passing=False),
}
"""One table decides retry, give up, or leave the origin. There is no retry loop elsewhere."""

STALLS_MAX = 60
"""Time-outs of a site without an answer between them: more than a few slow pages, and half an hour at the default."""


class Reason(StrEnum):
    """Why a URL that was found is not asked."""

    NOT_HTTP = "NOT_HTTP"
    NOT_A_URL = "NOT_A_URL"
    URL_TOO_LONG = "URL_TOO_LONG"
    HAS_CREDENTIALS = "HAS_CREDENTIALS"
    BAD_PORT = "BAD_PORT"
    OUT_OF_SCOPE = "OUT_OF_SCOPE"
    OTHER_SCHEME = "OTHER_SCHEME"
    NOT_ACCEPTED = "NOT_ACCEPTED"
    REJECTED = "REJECTED"
    NOT_A_PAGE = "NOT_A_PAGE"
    KIND_NOT_FOLLOWED = "KIND_NOT_FOLLOWED"
    NOFOLLOW = "NOFOLLOW"
    OTHER_SITE = "OTHER_SITE"
    ON_DUPLICATE = "ON_DUPLICATE"
    TOO_DEEP = "TOO_DEEP"
    SITE_PAGES = "SITE_PAGES"
    SITE_TIME = "SITE_TIME"
    MAX_FILES = "MAX_FILES"
    TOO_MANY_REDIRECTS = "TOO_MANY_REDIRECTS"
    PATH_REPEATS = "PATH_REPEATS"
    PATH_TOO_DEEP = "PATH_TOO_DEEP"
    QUERY_REPEATS = "QUERY_REPEATS"
    QUERY_TOO_LONG = "QUERY_TOO_LONG"
    QUERY_VARIANTS = "QUERY_VARIANTS"
    SLASH_ALIASES = "SLASH_ALIASES"
    SPELLINGS = "SPELLINGS"
    SESSION_IDS = "SESSION_IDS"
    CALENDAR = "CALENDAR"
    CHAIN_TOO_LONG = "CHAIN_TOO_LONG"
    ENDLESS_SITE = "ENDLESS_SITE"
    HOSTS_PER_DOMAIN = "HOSTS_PER_DOMAIN"
    DUPLICATES_ONLY = "DUPLICATES_ONLY"


LINK_REASONS = frozenset(
    {
        Reason.KIND_NOT_FOLLOWED,
        Reason.NOFOLLOW,
        Reason.OTHER_SITE,
        Reason.ON_DUPLICATE,
        Reason.TOO_DEEP,
        Reason.TOO_MANY_REDIRECTS,
        Reason.CHAIN_TOO_LONG,
        Reason.CALENDAR,
    }
)
"""Reasons that belong to one link and not to the URL: a later link may still bring it in."""
