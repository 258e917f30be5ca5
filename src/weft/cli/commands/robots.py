"""weft robots: what weft makes of a robots.txt, line by line."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterator

import msgspec

from weft.cli.arguments import options_given
from weft.cli.machine import print_json
from weft.cli.main import warn
from weft.errors import Cause, SpecError
from weft.fetch.http import Fetcher
from weft.fetch.resolve import AddressPolicy, Resolver
from weft.fetch.robots import Meaning, Robots, agents_of, meaning_of_status
from weft.fetch.robots.gate import REDIRECTS_MAX
from weft.options import crawl_order
from weft.records import Failure, Fetched, Lease, Purpose
from weft.seeds.lists import Seed, quoted, seed_of
from weft.spec import CrawlSpec
from weft.text.human import counted
from weft.text.safe import shown
from weft.url import host_of, origin_of, path_of, resolve, site_of
from weft.url.location import location_of


class Line(msgspec.Struct, frozen=True):
    """One line of the file: what it is, whether it counts for weft, and why."""

    line: int
    text: str
    kind: str
    applies: bool
    note: str


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What ``weft robots --json`` prints. ``line`` and ``rule`` are those that decide on the URL, where one does."""

    url: str
    allowed: bool
    because: str
    line: int | None
    rule: str | None
    agent: str
    robots_url: str  # where the redirects ended
    redirects: list[str]
    status: int | None
    error: str | None
    detail: str | None
    size: int | None
    crawl_delay_s: float | None  # as written
    delay_s: float  # as weft keeps it: never below --delay, never above --max-crawl-delay
    sitemaps: list[str]
    lines: list[Line]


def run(args: argparse.Namespace) -> int:
    try:
        seed = seed_of(args.url)
    except ValueError as error:
        raise SpecError(f"{quoted(args.url)} {error}") from None
    spec = crawl_order([seed.url], options_given(args), warn=warn).spec
    report = asyncio.run(_report(spec, seed))
    if args.json:
        print_json(report)
    else:
        print("\n".join(shown(line) for line in _told(report)))
    return 1 if report.error is not None and report.status is None else 0


async def _report(spec: CrawlSpec, seed: Seed) -> Report:
    url, redirects, answer = await _fetched(spec, seed.url)
    if isinstance(answer, Failure) and seed.fallback is not None:
        url, redirects, answer = await _fetched(spec, seed.fallback)
        return _judged(spec, seed.fallback, url, redirects, answer)
    return _judged(spec, seed.url, url, redirects, answer)


async def _fetched(spec: CrawlSpec, page: str) -> tuple[str, list[str], Fetched | Failure]:
    """Where robots.txt was found in the end, the redirects on the way, and what came. The ways are those of a crawl."""
    policy = AddressPolicy(spec.network, [host_of(page)])
    resolver = Resolver(spec.network, policy)
    origin = origin_of(page)
    url = f"{origin}/robots.txt"
    redirects: list[str] = []
    try:
        async with Fetcher(spec, policy, seed_origins=[origin]) as fetcher:
            while True:
                answer = await _one(
                    fetcher, resolver, Lease(page=0, url=url, site=0, purpose=Purpose.ROBOTS, origin=origin)
                )
                target = _target(url, answer)
                if target is None or len(redirects) == REDIRECTS_MAX:
                    return url, redirects, answer
                redirects.append(target)
                url = target
    finally:
        await resolver.close()


async def _one(fetcher: Fetcher, resolver: Resolver, lease: Lease) -> Fetched | Failure:
    addresses = await resolver.resolve(host_of(lease.url))
    if isinstance(addresses, Failure):
        return addresses
    finished = asyncio.Event()
    fetcher.on_finished = finished.set
    fetcher.start(lease, addresses)
    await finished.wait()  # the fetcher's own deadline ends this
    return fetcher.finished.popleft()[1]


def _target(url: str, answer: Fetched | Failure) -> str | None:
    """Where a redirect of robots.txt leads, if it can be followed."""
    location = location_of(answer, url) if isinstance(answer, Fetched) else None
    return location.partition("#")[0] if location is not None and location.startswith(("http://", "https://")) else None


def _judged(spec: CrawlSpec, page: str, url: str, redirects: list[str], answer: Fetched | Failure) -> Report:
    """The answer, read as a crawl reads it."""
    meaning, because = _meaning(answer)
    failure = answer if isinstance(answer, Failure) else None
    body = answer.body if isinstance(answer, Fetched) and meaning is Meaning.PARSE else b""
    robots = Robots.parse(body)
    agents = agents_of(spec.identity.user_agent)
    rules = robots.rules_for_us(*agents)
    verdict = rules.check(path_of(page))
    allowed = meaning is not Meaning.UNREACHABLE and verdict.allowed
    if meaning is Meaning.PARSE:
        because = (
            f"line {verdict.line}: {verdict.rule}"
            if verdict.line is not None
            else verdict.rule or "no line speaks of it"
        )
    asked = min(rules.crawl_delay_s or 0.0, spec.politeness.max_crawl_delay_s)
    unavailable = Cause.ROBOTS_UNAVAILABLE.value if meaning is Meaning.UNREACHABLE else None
    return Report(
        url=page,
        allowed=allowed,
        because=because,
        line=verdict.line if allowed or meaning is Meaning.PARSE else None,
        rule=verdict.rule or None if meaning is Meaning.PARSE else None,
        agent=agents[0],
        robots_url=url,
        redirects=redirects,
        status=None if isinstance(answer, Failure) else answer.status,
        error=failure.cause.value if failure is not None else unavailable,
        detail=failure.detail or None if failure is not None else None,
        size=len(answer.body) if isinstance(answer, Fetched) else None,
        crawl_delay_s=rules.crawl_delay_s,
        delay_s=max(spec.politeness.delay_s, asked),
        sitemaps=[found for text in robots.sitemaps if (found := resolve(url, text)) is not None],
        lines=[Line(*line) for line in robots.explain_lines(*agents)] if body else [],
    )


def _meaning(answer: Fetched | Failure) -> tuple[Meaning, str]:
    """What the answer says of the whole origin (RFC 9309, section 2.3.1), and that in words."""
    if isinstance(answer, Failure):
        return (
            Meaning.UNREACHABLE,
            "robots.txt could not be reached, so nothing of this origin may be asked until it can (RFC 9309)",
        )
    match meaning_of_status(answer.status):
        case Meaning.PARSE:
            return Meaning.PARSE, ""
        case Meaning.ALLOW_ALL:
            return Meaning.ALLOW_ALL, f"there is none ({answer.status}), so everything may be asked (RFC 9309)"
        case Meaning.UNREACHABLE:
            told = f"it ends in {answer.status}, so nothing of this origin may be asked until it can be had"
            return Meaning.UNREACHABLE, f"{told} (RFC 9309)"


def _told(report: Report) -> Iterator[str]:
    yield f"{report.url}: {'may' if report.allowed else 'must not'} be asked by {report.agent}: {report.because}"
    answered = (
        f"{report.error}: {report.detail}"
        if report.status is None
        else f"{report.status}, {counted(report.size or 0, 'byte')}"
    )
    yield f"  {report.robots_url} ({answered})"
    yield from (f"  by redirect: {target}" for target in report.redirects)
    if report.crawl_delay_s is not None:
        waits = f"weft waits {report.delay_s:g} s between requests to {site_of(report.url)}"
        yield f"  Crawl-delay {report.crawl_delay_s:g} s; {waits}"
    yield from (f"  sitemap {url}" for url in report.sitemaps)
    width = len(str(len(report.lines)))
    for line in report.lines[:-1] if report.lines and not report.lines[-1].text else report.lines:
        mark = "*" if line.applies else " "
        note = f"   <- {line.note}" if line.note else ""
        yield f"{mark} {line.line:>{width}}  {line.text}{note}"
    if report.lines:
        yield "  (* counts for weft)"
