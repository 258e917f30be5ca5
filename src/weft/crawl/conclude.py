"""What an answer means for its page: the Visit that is stored, how the lease ends, and when it is tried again.

Pure. What is concluded of an answer alone is told apart from what the crawl knows of the site (``back_off``), because
the first may be done by another process than the one that keeps the crawl.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import msgspec
import xxhash

from weft.errors import POLICIES, Cause
from weft.records import PAGE, Failure, Fetched, Lease, LinkKind, Links, Parsed, Rendering, Visit
from weft.spec import Limits
from weft.text.dates import iso_of_http_date, moment_of_http_date
from weft.text.patterns import regex
from weft.url.location import REDIRECTS, location_of

SLOW_DOWN = frozenset({429, 503})
PASSING_STATUSES = frozenset({408, 429, 502, 503, 504})
SLOW_FIRST_S = 1.0
SLOW_MAX_S = 300.0
REST_ASKED_MAX_S = 86_400.0
SAME_URL_REDIRECTS = 3

_SECONDS = regex(r"[0-9]+(?:\.[0-9]+)?")

Fields = Mapping[str, str]  # the first value of every header, by its name in lower case
ParsePage = Callable[[Fetched, str, Fields], Parsed]


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
    answer: Fetched | Failure | None = (
        None  # of site requests only: robots.txt and sitemaps are read where the crawl is kept
    )
    cookies: list[str] = []  # values of Set-Cookie
    warc: str = ""  # the file that holds its record
    sketch: bytes = b""  # of the text, where near-duplicates are looked for
    successor: Lease | None = None  # the lease that was taken ahead and is asked in its place
    rendering: Rendering | None = None
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
    fields = answer.first_values()
    header = fields.get
    target = location_of(answer, lease.url) if status in REDIRECTS else None
    # Browsers show what leads nowhere by itself, and its links are meant to be chosen from (RFC 9110, 15.4).
    is_shown = target is None and (body or success)
    said = parse(answer, lease.url, fields) if is_shown else Parsed("")
    media = said.type or None
    if not body and "content-type" not in fields:
        media = None  # no type was named, and there is nothing to tell it from
    detail = answer.note or None
    if target is None and status in REDIRECTS:
        detail = "redirect without a usable Location"
    if said.problem:
        detail = "; ".join(filter(None, (detail, said.problem)))[:1000]
    links = said.links if status < 400 else Links()  # those of an error page are no links of the site
    # All fields are given by their places, those too that nothing is known of yet: a record that looks for each by its
    # name takes three times as long.
    visit = Visit(
        0, lease.page if is_page else None, 0, int(lease.purpose), lease.attempt, answer.started_ms, answer.response_ms,
        status, None, detail, answer.truncated,
        media, said.encoding, said.language, said.title, said.description, said.canonical,
        None,  # where it redirects to
        said.noindex, said.nofollow,
        len(body), len(answer.wire), signed(xxhash.xxh3_64_intdigest(body)) if success and body else None,
        iso_of_http_date(header("last-modified")), iso_of_http_date(header("date")), header("etag"),
        answer.ip or None, answer.http_version,
        len(links.targets), 0,
        None, None, None, None, False,  # its place in the archive
        answer.head.decode("latin-1"),
    )  # fmt: skip
    done = Concluded(lease, visit, "C", links)
    if "set-cookie" in fields:
        done.cookies = answer.header_values("set-cookie")
    if not is_page:
        done.answer = answer
    if target is not None:
        _redirect(done, target)
    done.stored_2xx = success
    if status in PASSING_STATUSES:
        done.slow = status in SLOW_DOWN
        asked = [retry_after_s(text, answer.started_ms, header("date")) for text in answer.header_values("retry-after")]
        done.asked_s = max(filter(None, asked), default=None)  # a site that says it twice means the longest
    return done


def signed(value: int) -> int:
    """An unsigned 64-bit number as SQLite keeps it."""
    return value - (1 << 64) if value >> 63 else value


def _redirect(done: Concluded, target: str) -> None:
    lease = done.lease
    url, _, fragment = target.partition("#")
    done.visit.redirect_to = url[:8192]
    if lease.purpose is not PAGE:
        return  # a step of a site request, and no link of a page
    done.links.add(url, LinkKind.REDIRECT.value, fragment=fragment)
    done.visit.out_links = 1
    if url == lease.url and done.cookies and lease.hops < SAME_URL_REDIRECTS:
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
