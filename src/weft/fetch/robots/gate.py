"""The gate before every lease: robots.txt of an origin is asked before anything else, kept, and obeyed."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

import msgspec

from weft.clock import Clock
from weft.errors import POLICIES, Cause
from weft.fetch.robots import MAX_BODY_B, Meaning, Robots, RuleSet, agents_of, meaning_of_status
from weft.ports import Ask, AskAgain, Hold, Learnt, Origins, Pass, Refuse
from weft.records import Failure, Fetched, Lease, OriginRow, Purpose
from weft.spec import CrawlSpec
from weft.url import origin_and_path_of, resolve
from weft.url.location import location_of

FRESH_MS = 24 * 3600 * 1000  # RFC 9309 section 2.4
FAILED_FRESH_MS = 10 * 60 * 1000  # unreachable: asked again later
REDIRECTS_MAX = 5  # RFC 9309 section 2.3.1.2
CACHE_ORIGINS = 20_000
TOO_MANY_REQUESTS = 429  # means rest first; only a site that insists has no robots.txt to show
_PASS = Pass(0.0)


class Known(msgspec.Struct, frozen=True):
    """What is known of an origin's robots.txt: rules, or why there are none."""

    rules: RuleSet | None
    refusal: Refuse | None
    ticket: Pass
    until_ms: int


_NOWHERE = "-"  # begins no URL
_UNKNOWN = Known(None, None, _PASS, 0)


RobotsPlugin = Callable[[str, str, bool], bool]
"""(url, text of robots.txt, what RFC 9309 says) -> whether the URL may be asked."""


class RobotsGate:
    """The gate of the frontier. Keeps the newest origins in RAM, all of them in the database."""

    def __init__(self, origins: Origins, spec: CrawlSpec, clock: Clock, plugin: RobotsPlugin | None = None) -> None:
        self._origins = origins
        self._plugin = plugin  # R4: asked with our own rules
        self._texts: dict[str, str] = {}  # what it needs, of the origins in the cache
        self._agents = agents_of(spec.identity.user_agent)
        self._ignore = spec.politeness.ignore_robots
        self._retries = spec.limits.retries
        self._clock = clock
        self._cache: OrderedDict[str, Known] = OrderedDict()
        self._open, self._open_known = _NOWHERE, _UNKNOWN  # the origin asked last that forbids nothing
        self._asking: dict[str, int] = {}  # origin -> the site that waits for it
        self._rows: list[OriginRow] = []

    def check(self, url: str, site_id: int) -> Pass | Ask | Hold | Refuse:
        """Whether this URL may be asked now."""
        if url.startswith(self._open) and self._clock.epoch_ms() < self._open_known.until_ms:
            return self._open_known.ticket
        origin, path = origin_and_path_of(url)
        known = self._known(origin)
        if known is None and self._ignore:
            return _PASS
        if known is None:
            if origin in self._asking:
                return Hold()
            self._asking[origin] = site_id
            return Ask(Lease(page=0, url=f"{origin}/robots.txt", site=site_id, purpose=Purpose.ROBOTS, origin=origin))
        if known.rules is None:
            assert known.refusal is not None
            return known.refusal
        if self._plugin is None and known.rules.allows_all:
            self._open, self._open_known = f"{origin}/", known
        verdict = known.rules.check(path)
        if self._plugin is not None:
            if self._plugin(url, self._texts[origin], verdict.allowed):
                return known.ticket
            return Refuse(Cause.ROBOTS_DISALLOWED, "the robots of --part")
        if not verdict.allowed:
            return Refuse(
                Cause.ROBOTS_DISALLOWED, f"line {verdict.line}: {verdict.rule}" if verdict.line else verdict.rule
            )
        return known.ticket

    def _known(self, origin: str) -> Known | None:
        known = self._cache.get(origin)
        if known is None:
            row = self._origins.find(origin)
            if row is None:
                return None
            known = self._keep(row)
        if known.until_ms <= self._clock.epoch_ms():
            self._cache.pop(origin, None)
            return None
        return known

    def _keep(self, row: OriginRow) -> Known:
        if row.robots_cause is not None:
            refusal = Refuse(Cause(row.robots_cause), f"robots.txt: {row.robots_status or 'no answer'}")
            known = Known(None, refusal, _PASS, row.fetched_ms + FAILED_FRESH_MS)
        else:
            rules = Robots.parse(row.robots_content or b"").rules_for_us(*self._agents)
            known = Known(rules, None, Pass(row.crawl_delay_s or 0.0), row.fetched_ms + FRESH_MS)
        self._cache[row.name] = known
        self._open = _NOWHERE
        if self._plugin is not None:
            self._texts[row.name] = (row.robots_content or b"").decode("utf-8", "replace")
        while len(self._cache) > CACHE_ORIGINS:
            self._texts.pop(self._cache.popitem(last=False)[0], None)
        return known

    def give_up(self, origin: str, site_id: int, cause: Cause) -> None:
        """The origin does not answer: its pages are refused for this cause, as their turn comes, for a while."""
        row = OriginRow(origin, site_id, None, cause.value, None, f"{origin}/robots.txt", None, self._clock.epoch_ms())
        self._keep(row)
        self._rows.append(row)

    def waiting_site(self, origin: str) -> int:
        """The site whose pages wait for this origin's robots.txt."""
        return self._asking[origin]

    def answered(
        self, lease: Lease, answer: Fetched | Failure, site_of_url: Callable[[str], int | None]
    ) -> AskAgain | Learnt:
        """What an answer for robots.txt means. ``site_of_url``: None for a URL that nobody may ask."""
        match answer:
            case Failure(cause=cause):
                return self._unreachable(lease, cause, None)
            case Fetched(status=status):
                target = self._redirect_target(lease, answer)
                if target is not None:
                    site = site_of_url(target) if lease.hops < REDIRECTS_MAX else None
                    if site is None:
                        return self._unreachable(lease, Cause.ROBOTS_UNAVAILABLE, status)  # fail closed
                    following = msgspec.structs.replace(lease, url=target, site=site, hops=lease.hops + 1, attempt=1)
                    return AskAgain(following, 0.0)
                if status == TOO_MANY_REQUESTS and lease.attempt <= self._retries:
                    return self._unreachable(lease, Cause.ROBOTS_UNAVAILABLE, status)
                match meaning_of_status(status):
                    case Meaning.PARSE:
                        return self._learn(lease, status, answer.body[:MAX_BODY_B], answer.body[:MAX_BODY_B])
                    case Meaning.ALLOW_ALL:
                        return self._learn(lease, status, None, b"")
                    case Meaning.UNREACHABLE:
                        return self._unreachable(lease, Cause.ROBOTS_UNAVAILABLE, status)

    def _redirect_target(self, lease: Lease, answer: Fetched) -> str | None:
        target = location_of(answer, lease.url)
        return target.partition("#")[0] if target else None

    def _unreachable(self, lease: Lease, cause: Cause, status: int | None) -> AskAgain | Learnt:
        policy = POLICIES[cause]
        if policy.retried and lease.attempt <= self._retries:
            rest_s = policy.first_delay_s * policy.growth ** (lease.attempt - 1)
            return AskAgain(msgspec.structs.replace(lease, attempt=lease.attempt + 1), rest_s)
        self._remember(
            OriginRow(
                lease.origin,
                self._asking[lease.origin],
                status,
                cause.value,
                None,
                lease.url,
                None,
                self._clock.epoch_ms(),
            )
        )
        return Learnt(lease.origin, None, (), cause)

    def _learn(self, lease: Lease, status: int, content: bytes | None, body: bytes) -> Learnt:
        robots = Robots.parse(body)
        delay_s = robots.rules_for_us(*self._agents).crawl_delay_s
        self._remember(
            OriginRow(
                lease.origin,
                self._asking[lease.origin],
                status,
                None,
                content,
                lease.url,
                delay_s,
                self._clock.epoch_ms(),
            )
        )
        found = (resolve(lease.url, text) for text in robots.sitemaps)
        sitemaps = tuple(
            url.partition("#")[0] for url in found if url is not None and url.startswith(("http://", "https://"))
        )
        return Learnt(lease.origin, delay_s, sitemaps, None)

    def _remember(self, row: OriginRow) -> None:
        del self._asking[row.name]
        self._keep(row)
        self._rows.append(row)

    def flush(self) -> None:
        """Writes what was learnt, inside the caller's transaction."""
        self._origins.write(self._rows)
        self._rows = []
