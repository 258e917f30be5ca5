"""Why a URL was refused, and the option that decides."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from weft.derive.explanations import OPTIONS, REASONS
from weft.derive.read import StoredCrawl
from weft.derive.why.facts import spec_of
from weft.derive.why.story import Found
from weft.errors import Reason
from weft.records import Verdict
from weft.spec import CrawlSpec, Paces
from weft.url import site_of

SEEDS = "SELECT u.text FROM seed s JOIN url u ON u.id = s.page ORDER BY s.id LIMIT ?"
_SEEDS_TOLD = 20
_SCOPE_TOLD = 300


def refusal_of(
    crawl: StoredCrawl, url: str, verdict: Verdict, depth: int | None, found: Found | None
) -> tuple[list[str], str | None]:
    """The sentences for a Reason, and the option that changes it with the value it had."""
    reason, spec = verdict.reason, spec_of(crawl)
    if reason is None:
        return ["it was not admitted, and the reason was not kept"], None
    because = [f"{reason.value}: {REASONS[reason]}"]
    option = OPTIONS.get(reason)
    shown = _option(spec, option) if spec is not None and option is not None else None
    if verdict.detail and reason is not Reason.OUT_OF_SCOPE:
        because.append(verdict.detail)
    elif spec is not None:
        because += _particulars(crawl, spec, url, reason, depth, found)
    if shown is not None and not any(f"--{option} " in sentence for sentence in because):
        because.append(f"the option that decides: {shown}")
    return because, shown


def _particulars(
    crawl: StoredCrawl, spec: CrawlSpec, url: str, reason: Reason, depth: int | None, found: Found | None
) -> list[str]:
    match reason:
        case Reason.OUT_OF_SCOPE:
            return [f"the scope is {_scope(crawl, spec)}, and this is on {site_of(url)}"]
        case Reason.TOO_DEEP if depth is not None:
            return [f"its depth is {depth}, and {max_depth_of(crawl, spec, url)} is allowed"]
        case Reason.KIND_NOT_FOLLOWED if found is not None and found.kind is not None:
            return [f"it was found as {found.kind}; --follow +{found.kind} would follow such links"]
        case Reason.NOFOLLOW if found is not None:
            marked = found.rel is not None and "nofollow" in found.rel.split()
            return [f"the link on {found.on} says rel={found.rel}" if marked else f"the page {found.on} says nofollow"]
        case _:
            return _detail(spec, url, reason)


def max_depth_of(crawl: StoredCrawl, spec: CrawlSpec, url: str) -> int | None:
    """How deep the crawl goes on the URL's site."""
    paces, site = Paces(spec), site_of(url)
    if paces.has_depths and not paces.has(site):
        for (name,) in crawl.connection.execute("SELECT name FROM scope_site"):
            place, like, source = name.partition(" ")
            if like and place.rpartition("://")[2] == site and paces.has(source):
                return paces.max_depth(source)
    return paces.max_depth(site)


def _scope(crawl: StoredCrawl, spec: CrawlSpec) -> str:
    """The scope in words, told by the first seeds."""
    from weft.judge.scope import make_scope

    seeds = [row[0] for row in crawl.connection.execute(SEEDS, (_SEEDS_TOLD,))]
    scope = make_scope(spec.scope, seeds)
    for (name,) in crawl.connection.execute("SELECT name FROM scope_site LIMIT ?", (_SEEDS_TOLD,)):
        scope.allow_site(name.partition(" ")[0].rpartition("://")[2])
    text = scope.describe()
    return text if len(text) <= _SCOPE_TOLD else f"{text[:_SCOPE_TOLD]}..."


def _detail(spec: CrawlSpec, url: str, reason: Reason) -> list[str]:
    """What the judge says of a URL by itself, wherever it lies; budgets that fill up are not asked."""
    from weft.judge.admit import Admission

    anywhere = msgspec.structs.replace(spec, scope=msgspec.structs.replace(spec.scope, scope="free"))
    verdict = Admission(anywhere, (), datetime.now(UTC).year).judge_url(url, 0, None)
    return [verdict.detail] if verdict.reason is reason and verdict.detail else []


def matches(pattern: str, url: str) -> bool:
    import re2

    try:
        return re2.search(pattern, url) is not None
    except re2.error:
        return False


def _option(spec: CrawlSpec, name: str) -> str:
    from weft.options import BY_NAME, value_in

    option = BY_NAME[name]
    value = option.kind.write(value_in(spec, option))
    if isinstance(value, bool):
        return option.flag if value else f"{option.flag} (off)"
    return f"{option.flag} {','.join(value) if isinstance(value, list) else value}"
