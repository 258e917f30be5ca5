"""The meaning of an answer: which facts are stored, how its lease ends, and when its page is asked again.

Pure functions. ``conclude`` and ``conclude_failure`` know the answer alone, so any process may call them. ``decide``
adds the facts that only the crawl knows of the site.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import msgspec
import xxhash

from weft.errors import POLICIES, Cause
from weft.records import (
    NOTHING_FOLLOWS,
    PAGE,
    Concluded,
    Decision,
    Facts,
    Failure,
    Fetched,
    FileFacts,
    Lease,
    Link,
    LinkKind,
    Links,
    Parsed,
    Purpose,
    signed,
)
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
DETAIL_MAX = 1_000
REDIRECT_MAX = 8_192
_LENGTH_DIGITS = 18

_SECONDS = regex(r"[0-9]+(?:\.[0-9]+)?")

Fields = Mapping[str, str]
"""The first value of each header, by its name in lower case."""


def conclude_failure(lease: Lease, failure: Failure, limits: Limits) -> Concluded:
    """A lease that got no answer. The table of policies decides what follows."""
    policy = POLICIES[failure.cause]
    is_retried = policy.retried and lease.attempt <= limits.retries
    follows = NOTHING_FOLLOWS
    if is_retried:
        retry_s = max(policy.first_delay_s * policy.growth ** (lease.attempt - 1), failure.retry_after_s or 0.0)
        follows = Decision(retry_s=retry_s, rest_s=retry_s if policy.condemns_origin else 0.0)
    is_condemned = policy.stalls or (policy.condemns_origin and not is_retried)
    facts = Facts(
        started_ms=failure.started_ms or int(time.time() * 1000), response_ms=failure.response_ms,
        cause=failure.cause.value, detail=failure.detail[:DETAIL_MAX] or None, ip=failure.ip or None,
    )  # fmt: skip
    return Concluded(
        lease=lease, facts=facts, state="E", follows=follows, condemns=failure.cause if is_condemned else None
    )


def target_of(lease: Lease, answer: Fetched) -> str | None:
    """The URL, with its fragment, that an answer redirects to; None for all other answers."""
    return location_of(answer, lease.url) if answer.status in REDIRECTS else None


def is_shown(answer: Fetched, target: str | None) -> bool:
    """Whether a browser would show the body of this answer, so that its links count.

    A redirect that leads nowhere is shown: its links are meant to be chosen from (RFC 9110, 15.4).
    """
    return target is None and bool(answer.body or 200 <= answer.status < 300)


def with_detail(done: Concluded, detail: str) -> Concluded:
    """A copy of a conclusion, with one more detail among its facts."""
    if not detail:
        return done
    told = "; ".join(filter(None, (done.facts.detail, detail)))[:DETAIL_MAX]
    return msgspec.structs.replace(done, facts=msgspec.structs.replace(done.facts, detail=told))


def conclude(lease: Lease, answer: Fetched, fields: Fields, target: str | None, parsed: Parsed) -> Concluded:
    """A lease that was answered, with any status. ``fields`` and ``target`` belong to the answer."""
    status = answer.status
    is_success = 200 <= status < 300
    cookies = answer.header_values("set-cookie") if "set-cookie" in fields else []
    links = parsed.links if status < 400 else Links()  # those of an error page are no links of the site
    redirect_to, follows = None, NOTHING_FOLLOWS
    if target is not None:
        redirect_to, _, fragment = target.partition("#")
        if lease.purpose.is_queued:
            links = Links.of([Link(redirect_to, LinkKind.REDIRECT.value, fragment=fragment)])
            if redirect_to == lease.url and cookies and lease.hops < SAME_URL_REDIRECTS:
                follows = Decision(again_at=redirect_to)  # a site that sets a cookie and sends all back to the same URL
    return Concluded(
        lease=lease, facts=_facts_of(answer, fields, redirect_to, parsed), state="C", links=links, follows=follows,
        asked_s=_asked_s(answer, fields) if status in PASSING_STATUSES else None, is_slow=status in SLOW_DOWN,
        is_stored_2xx=is_success, cookies=cookies,
    )  # fmt: skip


def _facts_of(answer: Fetched, fields: Fields, redirect_to: str | None, parsed: Parsed) -> Facts:
    body, header = answer.body, fields.get
    has_type = bool(body) or "content-type" in fields  # else there is nothing to tell the type from
    is_hashed = bool(body) and 200 <= answer.status < 300
    return Facts(
        started_ms=answer.started_ms, response_ms=answer.response_ms, status=answer.status,
        detail=_detail_of(answer, redirect_to, parsed), truncated=answer.truncated,
        type=(parsed.type or None) if has_type else None, encoding=parsed.encoding, language=parsed.language,
        title=parsed.title, description=parsed.description, canonical=parsed.canonical,
        redirect_to=redirect_to[:REDIRECT_MAX] if redirect_to is not None else None,
        noindex=parsed.noindex, nofollow=parsed.nofollow, size=len(body), size_wire=len(answer.wire),
        hash=signed(xxhash.xxh3_64_intdigest(body)) if is_hashed else None,
        last_modified=iso_of_http_date(header("last-modified")), server_date=iso_of_http_date(header("date")),
        etag=header("etag"), ip=answer.ip or None, http_version=answer.http_version,
        headers=answer.head.decode("latin-1"),
    )  # fmt: skip


def _detail_of(answer: Fetched, redirect_to: str | None, parsed: Parsed) -> str | None:
    detail = answer.note or None
    if redirect_to is None and answer.status in REDIRECTS:
        detail = "redirect without a usable Location"
    if parsed.problem:
        detail = "; ".join(filter(None, (detail, parsed.problem)))[:DETAIL_MAX]
    return detail


def conclude_file(
    done: Concluded, answer: Fetched, media: str, file: FileFacts | None, links: Links | None = None
) -> Concluded:
    """The conclusion of an answer that is a file: a file does not count as a page, and is never kept in part.

    ``links`` are those of a style sheet.
    """
    facts, lease = done.facts, done.lease
    if lease.purpose is PAGE:
        lease = msgspec.structs.replace(lease, purpose=Purpose.FILE)
    if done.is_stored_2xx and answer.truncated:
        told = answer.header("content-length") or ""
        size = int(told) if told.isdecimal() and len(told) < _LENGTH_DIGITS else None
        facts = msgspec.structs.replace(
            facts, cause=Cause.FILE_TOO_LARGE.value, detail="larger than --max-file-size", size=size, hash=None
        )
        file = None
    if media:
        facts = msgspec.structs.replace(facts, type=media)
    return msgspec.structs.replace(
        done, lease=lease, facts=facts, is_stored_2xx=False, file=file if done.is_stored_2xx else None,
        links=done.links if links is None else links,
    )  # fmt: skip


def conclude_check(done: Concluded) -> Concluded:
    """The conclusion of a link that was only checked. A page that refuses HEAD is asked by GET at once."""
    facts = msgspec.structs.replace(done.facts, truncated=False, size=None, hash=None)
    asks_again = done.lease.asked is not None and (
        (done.state == "E" and done.condemns is None) or (facts.status or 0) >= 400
    )
    follows = Decision(retry_s=0.0) if asks_again and done.follows.is_final else done.follows
    return msgspec.structs.replace(done, facts=facts, is_stored_2xx=False, follows=follows)


def decide(done: Concluded, limits: Limits, slow_answers: int, key_of: Callable[[str], str]) -> Decision:
    """What follows for a lease that ended, with all that the crawl knows.

    ``slow_answers`` is how often its site was slow in a row before; ``key_of`` gives the key of a URL.
    """
    facts, lease = done.facts, done.lease
    if facts.status in PASSING_STATUSES:
        return _back_off(done, limits, slow_answers)
    if facts.redirect_to is None or not lease.purpose.is_queued:
        return done.follows
    target = done.links.targets[0]
    if (  # `/a` to `/a/` with the slash rule on: the same page, asked again at the other URL
        target != lease.url
        and target.startswith("http")
        and lease.hops < limits.max_redirects
        and key_of(target) == key_of(lease.url)
    ):
        return Decision(again_at=target)
    return done.follows


def _back_off(done: Concluded, limits: Limits, slow_answers: int) -> Decision:
    """When an answer that may pass is asked for again, and how long its site rests."""
    retry_s, rest_s = None, 0.0
    if done.is_slow:
        rest_s = done.asked_s if done.asked_s is not None else min(SLOW_FIRST_S * 2**slow_answers, SLOW_MAX_S)
    if done.lease.attempt <= limits.retries:
        policy = POLICIES[Cause.READ_TIMEOUT]
        first_s = policy.first_delay_s * policy.growth ** (done.lease.attempt - 1)
        retry_s = max(done.asked_s or 0.0, rest_s, first_s)
    return Decision(retry_s=retry_s, rest_s=rest_s)


def _asked_s(answer: Fetched, fields: Fields) -> float | None:
    """The longest time that a Retry-After of the answer asks for: a site that says it twice means the longest."""
    asked = [retry_after_s(text, answer.started_ms, fields.get("date")) for text in answer.header_values("retry-after")]
    return max(filter(None, asked), default=None)


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
