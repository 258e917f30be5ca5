"""What an answer means for its page: the Visit that is stored, how the lease ends, and when it is tried again.

Pure. What is concluded of an answer alone is told apart from what the crawl knows of the site (``back_off``), because
the first may be done by another process than the one that keeps the crawl.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec
import xxhash

from weft.dates import iso_of_http_date, moment_of_http_date
from weft.errors import POLICIES, Cause
from weft.lazy import regex
from weft.location import REDIRECTS, location_of
from weft.records import PAGE, Failure, Fetched, Lease, LinkKind, Links, Parsed, Visit
from weft.spec import Limits

SLOW_DOWN = frozenset({429, 503})
PASSING_STATUSES = frozenset({408, 429, 502, 503, 504})
SLOW_FIRST_S = 1.0
SLOW_MAX_S = 300.0
REST_ASKED_MAX_S = 86_400.0
SAME_URL_REDIRECTS = 3

_SECONDS = regex(r"[0-9]+(?:\.[0-9]+)?")

Header = Callable[[str], str | None]  # the first value of a header, by its name in lower case
ParsePage = Callable[[Fetched, str, Header], Parsed]


class Concluded(msgspec.Struct, array_like=True):
    """One lease, ended: everything the next tick has to store. It travels between processes as it is."""

    lease: Lease
    visit: Visit  # its id, and the ids of its URL and its WARC file, are given by the process that keeps the crawl
    state: str  # C or E, were it not tried again
    links: Links = msgspec.field(default_factory=Links)
    retry_s: float | None = None
    again_at: str | None = None
    rest_s: float = 0.0  # how long the whole site rests
    asked_s: float | None = None  # what Retry-After asks for
    slow: bool = False  # 429 or 503
    condemns: Cause | None = None  # for which the origin is given up, where it was met too often
    stored_2xx: bool = False
    answer: Fetched | Failure | None = None  # of errands only: robots.txt and sitemaps are read where the crawl is kept
    cookies: list[str] = []  # values of Set-Cookie
    warc: str = ""  # the file that holds its record
    sketch: bytes = b""  # of the text, where near-duplicates are looked for
    heir: Lease | None = None  # the lease that was taken ahead and is asked in its place
    bug: str = ""  # the traceback, where we and not the web were at fault


def conclude_failure(lease: Lease, failure: Failure, limits: Limits) -> Concluded:
    """A lease that got no answer. The one table of policies decides what follows."""
    policy = POLICIES[failure.cause]
    visit = Visit(
        id=0,
        page=lease.page if lease.purpose is PAGE else None,  # robots.txt and sitemaps are no pages
        url=0,
        purpose=int(lease.purpose),
        attempt=lease.attempt,
        started_ms=failure.started_ms or int(time.time() * 1000),
        response_ms=failure.response_ms,
        cause=failure.cause.value,
        detail=failure.detail[:1000] or None,
        ip=failure.ip or None,
    )
    done = Concluded(lease=lease, visit=visit, state="E")
    if lease.purpose is not PAGE:
        done.answer = failure
    if policy.stalls:
        done.condemns = failure.cause
    if policy.retried and lease.attempt <= limits.retries:
        delay_s = policy.first_delay_s * policy.growth ** (lease.attempt - 1)
        done.retry_s = max(delay_s, failure.retry_after_s or 0.0)
        done.rest_s = done.retry_s if policy.condemns_origin else 0.0
    elif policy.condemns_origin:
        done.condemns = failure.cause
    return done


def conclude_answer(lease: Lease, answer: Fetched, parse: ParsePage) -> Concluded:
    """A lease that was answered, with any status."""
    status, body = answer.status, answer.body
    success = 200 <= status < 300
    is_page = lease.purpose is PAGE
    header = answer.first_values().get
    # The first fields are given by their place, the others in their order: a record that looks for each by its name
    # takes three times as long.
    visit = Visit(
        0, lease.page if is_page else None, 0, int(lease.purpose), lease.attempt, answer.started_ms, answer.response_ms,
        status, None, answer.note or None, answer.truncated,
        size=len(body),
        size_wire=len(answer.wire),
        hash=signed(xxhash.xxh3_64_intdigest(body)) if success and body else None,
        last_modified=iso_of_http_date(header("last-modified")),
        server_date=iso_of_http_date(header("date")),
        etag=header("etag"),
        ip=answer.ip or None,
        http_version=answer.http_version,
        headers=answer.head.decode("latin-1"),
    )  # fmt: skip
    done = Concluded(lease, visit, "C")
    if header("set-cookie") is not None:
        done.cookies = answer.header_values("set-cookie")
    if not is_page:
        done.answer = answer
    if status in REDIRECTS:
        _redirect(done, lease, answer)
    if visit.redirect_to is None and (body or success):
        # Browsers show what leads nowhere by itself, and its links are meant to be chosen from (RFC 9110, 15.4).
        _parsed(done, parse(answer, lease.url, header), with_links=status < 400)
        if not body and header("content-type") is None:
            visit.type = None  # no type was named, and there is nothing to tell it from
    done.stored_2xx = success
    if status in PASSING_STATUSES:
        done.slow = status in SLOW_DOWN
        asked = [retry_after_s(text, answer.started_ms, header("date")) for text in answer.header_values("retry-after")]
        done.asked_s = max(filter(None, asked), default=None)  # a site that says it twice means the longest
    return done


def signed(value: int) -> int:
    """An unsigned 64-bit number as SQLite keeps it."""
    return value - (1 << 64) if value >> 63 else value


def _parsed(done: Concluded, parsed: Parsed, *, with_links: bool) -> None:
    visit = done.visit
    visit.type, visit.encoding, visit.language = parsed.type or None, parsed.encoding, parsed.language
    visit.title, visit.description, visit.canonical = parsed.title, parsed.description, parsed.canonical
    visit.noindex, visit.nofollow = parsed.noindex, parsed.nofollow
    if parsed.problem:
        visit.detail = "; ".join(filter(None, (visit.detail, parsed.problem)))[:1000]
    if with_links:  # the links of an error page are no links of the site
        done.links = parsed.links
        visit.out_links = len(parsed.links.targets)


def _redirect(done: Concluded, lease: Lease, answer: Fetched) -> None:
    target = location_of(answer, lease.url)
    if target is None:
        done.visit.detail = "redirect without a usable Location"
        return
    url, _, fragment = target.partition("#")
    done.visit.redirect_to = url[:8192]
    if lease.purpose is not PAGE:
        return  # a step of an errand, and no link of a page
    done.links.add(url, LinkKind.REDIRECT.value, fragment=fragment)
    done.visit.out_links = 1
    if url == lease.url and answer.header("set-cookie") is not None and lease.hops < SAME_URL_REDIRECTS:
        done.again_at = url  # a site that sets a cookie and sends everybody back to the same address


def back_off(done: Concluded, limits: Limits, slow_answers: int) -> None:
    """When an answer that may pass (``PASSING_STATUSES``) is asked for again, and how long its site, slow so many times
    already, rests.
    """
    if done.slow:
        done.rest_s = done.asked_s if done.asked_s is not None else min(SLOW_FIRST_S * 2**slow_answers, SLOW_MAX_S)
    if done.lease.attempt <= limits.retries:
        policy = POLICIES[Cause.READ_TIMEOUT]
        first_s = policy.first_delay_s * policy.growth ** (done.lease.attempt - 1)
        done.retry_s = max(done.asked_s or 0.0, done.rest_s, first_s)


def retry_after_s(value: str | None, now_ms: int, date: str | None = None) -> float | None:
    """Seconds asked for by a Retry-After header; None where it is missing, nonsense, or asks for no time at all.

    A moment that is over by our clock may still be to come by that of the server (``date``: its Date header).
    """
    text = (value or "").strip()
    if _SECONDS.fullmatch(text):
        seconds = float(text)
    else:
        moment, theirs = moment_of_http_date(text), moment_of_http_date(date)
        if moment is None:
            return None
        seconds = moment.timestamp() - now_ms / 1000
        if seconds <= 0 and theirs is not None:
            seconds = (moment - theirs).total_seconds()
    return min(seconds, REST_ASKED_MAX_S) if seconds > 0 else None
