"""The story of a URL: where it was found, how it was rewritten, which rule let it in or kept it out, what came of it.

``story_of`` gives a ``Story``; its fields, and those of the values inside it, are what ``weft why --json`` prints and
do not change their names. A known URL costs a handful of look-ups, however large the crawl; only for a URL that was
never seen are the specification and the trap budgets loaded, to tell what would become of it.
"""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from weft.derive.body import answer_of, original_of
from weft.derive.meanings import CAUSES, OPTIONS, REASONS
from weft.derive.nearest import nearest_urls
from weft.derive.read import Page, StoredCrawl
from weft.errors import POLICIES, Cause, Reason, SpecError, WeftError
from weft.records import LinkKind, Purpose, Verdict
from weft.spec import CrawlSpec, Paces
from weft.store.sql import iso_of_ms
from weft.url import origin_of, parse, path_of, site_of

MOST_ATTEMPTS = 100
_SAME_BODY_COUNTED = 1_000
_SEEDS_TOLD = 20
_SCOPE_TOLD = 300


class Rewriting(msgspec.Struct, frozen=True, kw_only=True):
    """One rule of --normalize that changed something on the way from the URL to its key."""

    rule: str
    before: str
    after: str


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """Where the URL came from. ``kind`` is that of the link, or ``seed``; depth is the least distance known."""

    kind: str | None
    on: str | None
    at: str | None
    depth: int
    anchor: str | None = None
    rel: str | None = None
    source: str | None = None  # of a seed: the command line, file:line, weft add, fallback


class RobotsSays(msgspec.Struct, frozen=True, kw_only=True):
    """What the stored robots.txt of the origin says; ``line`` and ``text`` are those of the line that decides."""

    origin: str
    url: str
    status: int | None
    error: str | None
    fetched_at: str | None
    allowed: bool
    line: int | None
    text: str | None
    ignored: bool  # --ignore-robots


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """One visit, whatever happened."""

    at: str | None
    url: str
    attempt: int
    status: int | None
    error: str | None
    detail: str | None
    response_ms: int | None
    ip: str | None
    redirect_to: str | None


class Body(msgspec.Struct, frozen=True, kw_only=True):
    """Where the newest answer lies in the archive; ``stored_with`` is the URL whose record holds an equal payload."""

    warc_file: str
    warc_offset: int
    warc_length: int
    digest: str | None
    stored_with: str | None


class Story(msgspec.Struct, frozen=True, kw_only=True):
    """Everything there is to tell of one URL.

    ``outcome`` is one word: fetched, failed, refused, waiting, running, recorded (known, never a page of its own:
    robots.txt, sitemaps, other schemes), or unknown. ``because`` says it in sentences, the most telling first.
    """

    url: str
    outcome: str
    because: list[str]
    seen: bool
    key: str | None
    rewritten: list[Rewriting]
    page_url: str | None  # the URL that is asked for this page, where it is another spelling
    state: str | None
    reason: str | None
    error: str | None
    option: str | None  # the option that would change it, with its present value
    found: Found | None
    robots: RobotsSays | None
    attempts: list[Attempt]
    attempts_in_all: int
    status: int | None
    redirect_to: str | None
    canonical: str | None
    duplicate_of: str | None
    same_body: int  # how many other pages have the same body; counting ends at 1,000
    noindex: bool
    nofollow: bool
    body: Body | None
    nearest: list[str]


def story_of(crawl: StoredCrawl, url: str) -> Story:
    """The story of a URL, known or not; ``SpecError`` where the text is no URL."""
    text = parse(url)
    if text is None:
        raise SpecError(f"{url!r} is no URL: give it whole, with https:// or http://")
    place = crawl.find(text)
    if place is None:
        return _unknown(crawl, text)
    if place.page is None:
        return _recorded(crawl, text, place.url)
    page = crawl.page(text)
    if page is None:
        raise WeftError(f"{crawl.folder.db} is damaged: {text} has an id and no page (weft check tells more)")
    return _known(crawl, text, place.page, page)


# ---- known pages -----------------------------------------------------------------------------------------------


def _known(crawl: StoredCrawl, url: str, page_id: int, page: Page) -> Story:
    attempts, in_all = _attempts(crawl, page_id)
    found = _found(crawl, page_id, page)
    robots = _robots(crawl, page.url)
    outcome, because, option = _outcome(crawl, page_id, page, found, robots)
    return Story(
        url=url,
        outcome=outcome,
        because=because,
        seen=True,
        key=page.key,
        rewritten=_rewritten(crawl, url),
        page_url=page.url if page.url != url else None,
        state=page.state,
        reason=page.reason,
        error=page.error,
        option=option,
        found=found,
        robots=robots,
        attempts=attempts,
        attempts_in_all=in_all,
        status=page.status,
        redirect_to=page.redirect_to,
        canonical=page.canonical,
        duplicate_of=page.duplicate_of,
        same_body=_same_body(crawl, page),
        noindex=page.noindex,
        nofollow=page.nofollow,
        body=_body(crawl, page_id),
        nearest=[],
    )


def _outcome(
    crawl: StoredCrawl, page_id: int, page: Page, found: Found, robots: RobotsSays | None
) -> tuple[str, list[str], str | None]:
    match page.state:
        case "C":
            return (
                "fetched",
                [
                    f"it was asked and answered {page.status}",
                    *_notes(crawl, page_id, page),
                    *_admitted(crawl, page, found),
                ],
                None,
            )
        case "E":
            return "failed", [*_failure(page, robots), *_admitted(crawl, page, found)], None
        case "W":
            return "waiting", [*_waiting(crawl, page_id, page), *_admitted(crawl, page, found)], None
        case "R" if crawl.folder.is_running():
            return "running", ["it is being asked now"], None
        case "R":
            again = f"weft resume {crawl.folder.path} asks it again"
            return "waiting", [f"it was being asked when the crawl was killed; {again}"], None
        case _:
            verdict = Verdict(Reason(page.reason)) if page.reason and page.reason in Reason.__members__ else Verdict()
            because, option = _refusal(crawl, page.url, verdict, page.depth, found)
            return "refused", because, option


def _admitted(crawl: StoredCrawl, page: Page, found: Found) -> list[str]:
    """By which rules the page was let in."""
    spec = _spec(crawl)
    if found.kind == "seed":
        return ["it was admitted as a start address"]
    if spec is None or found.kind is None:
        return []
    rules = [f"links of kind {found.kind} are followed (--follow)", f"it is in scope (--scope {spec.scope.scope})"]
    deepest = _max_depth(crawl, spec, page.url)
    if deepest is not None:
        rules.append(f"depth {page.depth} is within --max-depth {deepest}")
    rules += [f"--accept {pattern} matches it" for pattern in spec.scope.accept if _matches(pattern, page.url)][:1]
    return [f"it was admitted: {', '.join(rules)}"]


def _notes(crawl: StoredCrawl, page_id: int, page: Page) -> list[str]:
    notes = []
    if page.redirect_to is not None:
        notes.append(f"it redirects to {page.redirect_to}, which is a page of its own")
    verdict = crawl.verdict_on(page_id)
    if verdict is not None and verdict.kind == "exact":
        notes.append(f"its body is that of {verdict.url}")
    elif verdict is not None:
        notes.append(f"it is a near-duplicate: its text is {verdict.similarity:.2%} that of {verdict.url}")
    if page.truncated:
        notes.append("its body was longer than --max-size, and the first part is kept")
    if page.nofollow:
        notes.append("it says nofollow: its links are recorded and not followed (--follow-nofollow)")
    if page.noindex:
        notes.append("it says noindex")
    return notes


def _failure(page: Page, robots: RobotsSays | None) -> list[str]:
    cause = Cause(page.error) if page.error and page.error in Cause.__members__ else None
    because = [f"{page.error}: {CAUSES[cause]}" if cause is not None else f"it failed: {page.error}"]
    if cause is Cause.ROBOTS_DISALLOWED and robots is not None and robots.line is not None:
        because[0] += f", by line {robots.line}: {robots.text}"
    if page.attempts == 0 and cause is not None and cause is not Cause.ROBOTS_DISALLOWED:
        because.append("it was never asked itself: its site had not answered before")
    if cause is not None and POLICIES[cause].passing:
        because.append("this may pass: `weft resume` of the finished crawl tries it once more")
    return because


def _waiting(crawl: StoredCrawl, page_id: int, page: Page) -> list[str]:
    retry_ms = crawl.connection.execute("SELECT retry_ms FROM page WHERE id = ?", (page_id,)).fetchone()[0]
    if retry_ms is not None:
        failed = f" after {page.error}" if page.error else ""
        return [f"it is tried again{failed}, not before {iso_of_ms(retry_ms)}"]
    spec = _spec(crawl)
    if spec is not None and page.depth < spec.scope.min_depth:
        return [
            f"it lies at depth {page.depth}, and pages are asked from depth {spec.scope.min_depth} on (--min-depth)"
        ]
    if crawl.folder.is_running():
        return ["it was admitted, and waits for its turn"]
    return [f"it was admitted, and the crawl stopped before its turn came; weft resume {crawl.folder.path} goes on"]


def _attempts(crawl: StoredCrawl, page_id: int) -> tuple[list[Attempt], int]:
    """The newest attempts, oldest first, and how many there were in all."""
    (in_all,) = crawl.connection.execute(
        "SELECT count(*) FROM visit WHERE page = ? AND purpose = 0", (page_id,)
    ).fetchone()
    rows = crawl.connection.execute(_ATTEMPTS, (page_id, MOST_ATTEMPTS)).fetchall()
    return [
        Attempt(
            at=iso_of_ms(ms),
            url=url,
            attempt=attempt,
            status=status,
            error=cause,
            detail=detail,
            response_ms=response_ms,
            ip=ip,
            redirect_to=redirect_to,
        )
        for url, attempt, ms, status, cause, detail, response_ms, ip, redirect_to in reversed(rows)
    ], in_all


def _found(crawl: StoredCrawl, page_id: int, page: Page) -> Found:
    """The link that brought the page to the depth it has, or the seed."""
    db = crawl.connection
    visit = db.execute("SELECT found_in FROM page WHERE id = ?", (page_id,)).fetchone()[0]
    if visit is None:
        seed = db.execute("SELECT added_ms, source FROM seed WHERE page = ? ORDER BY id LIMIT 1", (page_id,)).fetchone()
        at, source = seed if seed is not None else (None, None)
        kind = "seed" if seed is not None else None
        return Found(kind=kind, on=None, at=iso_of_ms(at), depth=page.depth, source=source)
    row = db.execute(
        "SELECT u.text, v.started_ms FROM visit v JOIN url u ON u.id = v.url WHERE v.id = ?", (visit,)
    ).fetchone()
    on, at = row if row is not None else (None, None)
    links = crawl.packed_links(visit)
    own = [link for link in links if link.target == page_id]
    if not own:
        spellings = _spellings(crawl, page_id, [link.target for link in links])
        own = [link for link in links if link.target in spellings]
    link = next((link for link in own if link.offered), own[0] if own else None)
    if link is None:
        return Found(kind=None, on=on, at=iso_of_ms(at), depth=page.depth)
    return Found(
        kind=LinkKind(link.kind).label,
        on=on,
        at=iso_of_ms(at),
        depth=page.depth,
        anchor=link.anchor or None,
        rel=link.rel or None,
    )


def _spellings(crawl: StoredCrawl, page_id: int, ids: list[int]) -> set[int]:
    """Those of the ids that are other spellings of the page."""
    wanted = msgspec.json.encode(sorted(set(ids))).decode()
    query = "SELECT u.id FROM json_each(?) j JOIN url u ON u.id = j.value WHERE u.page = ?"
    return {row[0] for row in crawl.connection.execute(query, (wanted, page_id))}


def _rewritten(crawl: StoredCrawl, url: str) -> list[Rewriting]:
    return [Rewriting(rule=rule, before=before, after=after) for rule, before, after in crawl.normalizer.explain(url)]


def _same_body(crawl: StoredCrawl, page: Page) -> int:
    if page.hash is None:
        return 0
    value = int(page.hash, 16)
    signed = value - (1 << 64) if value >> 63 else value
    (count,) = crawl.connection.execute(_SAME_BODY, (signed, _SAME_BODY_COUNTED + 1)).fetchone()
    return max(0, int(count) - 1)


def _body(crawl: StoredCrawl, page_id: int) -> Body | None:
    answer = answer_of(crawl, page_id)
    if answer is None or answer.status is None or answer.file is None or answer.offset is None or answer.length is None:
        return None
    stored_with = None
    if answer.revisit:
        try:
            stored_with = original_of(crawl, answer).url
        except WeftError:
            stored_with = None
    return Body(
        warc_file=answer.file,
        warc_offset=answer.offset,
        warc_length=answer.length,
        digest=answer.digest,
        stored_with=stored_with,
    )


# ---- robots.txt ------------------------------------------------------------------------------------------------


def _robots(crawl: StoredCrawl, url: str) -> RobotsSays | None:
    """What the stored robots.txt of the URL's origin says of it; None where none was asked for."""
    row = crawl.connection.execute(
        "SELECT robots_status, robots_cause, robots_content, robots_url, fetched_ms FROM origin WHERE name = ?",
        (origin_of(url),),
    ).fetchone()
    if row is None:
        return None
    from weft.fetch.robots import Robots
    from weft.fetch.site import AGENT

    status, cause, content, robots_url, fetched_ms = row
    spec = _spec(crawl)
    ignored = spec is not None and spec.politeness.ignore_robots
    allowed, line, text = cause is None, None, None
    if cause is None:
        robots = Robots.parse(content or b"")
        verdict = robots.rules_for(AGENT).check(path_of(url))
        allowed, line = verdict.allowed, verdict.line
        if line is not None:
            text = next(
                (explained.text for explained in robots.explain_lines(AGENT) if explained.line == line), verdict.rule
            )
    return RobotsSays(
        origin=origin_of(url),
        url=robots_url,
        status=status,
        error=cause,
        fetched_at=iso_of_ms(fetched_ms),
        allowed=allowed,
        line=line,
        text=text.strip() if text is not None else None,
        ignored=ignored,
    )


# ---- refusals --------------------------------------------------------------------------------------------------


def _refusal(
    crawl: StoredCrawl, url: str, verdict: Verdict, depth: int | None, found: Found | None
) -> tuple[list[str], str | None]:
    """The sentences for a Reason, and the option that changes it with the value it had."""
    reason, spec = verdict.reason, _spec(crawl)
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
            return [f"its depth is {depth}, and {_max_depth(crawl, spec, url)} is allowed"]
        case Reason.KIND_NOT_FOLLOWED if found is not None and found.kind is not None:
            return [f"it was found as {found.kind}; --follow +{found.kind} would follow such links"]
        case Reason.NOFOLLOW if found is not None:
            marked = found.rel is not None and "nofollow" in found.rel.split()
            return [f"the link on {found.on} says rel={found.rel}" if marked else f"the page {found.on} says nofollow"]
        case _:
            return _detail(spec, url, reason)


def _max_depth(crawl: StoredCrawl, spec: CrawlSpec, url: str) -> int | None:
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

    seeds = [row[0] for row in crawl.connection.execute(_SEEDS, (_SEEDS_TOLD,))]
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


def _matches(pattern: str, url: str) -> bool:
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


def _spec(crawl: StoredCrawl) -> CrawlSpec | None:
    """The specification, or None where crawl.toml cannot be read: the rest of the story is told all the same."""
    try:
        return crawl.spec
    except (SpecError, OSError):
        return None


# ---- URLs that are no pages of the crawl -------------------------------------------------------------------------


def _recorded(crawl: StoredCrawl, url: str, url_id: int) -> Story:
    """A URL that has an id and no page: a sitemap, robots.txt, or a link of another scheme."""
    db = crawl.connection
    if not url.startswith(("http://", "https://")):
        because = [f"{Reason.NOT_HTTP.value}: {REASONS[Reason.NOT_HTTP]}"]
        return _bare(crawl, url, outcome="refused", because=because, seen=True, reason=Reason.NOT_HTTP.value)
    sitemap = db.execute("SELECT state, cause, entries FROM sitemap WHERE url = ?", (url_id,)).fetchone()
    if sitemap is not None:
        state, cause, entries = sitemap
        end = {"C": f"read, with {entries:,} URLs", "E": f"not read: {cause}"}.get(state, "still to be read")
        return _bare(
            crawl,
            url,
            outcome="recorded",
            because=[f"it is a sitemap of its site, {end}; no page links to it"],
            seen=True,
        )
    because = ["it was asked for the crawl's own needs (robots.txt, or a redirect of it), and no page links to it"]
    return _bare(crawl, url, outcome="recorded", because=because, seen=True, robots=_robots(crawl, url))


def _unknown(crawl: StoredCrawl, url: str) -> Story:
    """A URL never seen, judged by the specification as it would be if a page linked to it."""
    robots = _robots(crawl, url) if url.startswith(("http://", "https://")) else None
    verdict = _would_be(crawl, url)
    because = ["it was never seen: no page that was read links to it"]
    option = None
    if verdict is None:
        pass
    elif verdict.reason is not None:
        reasons, option = _refusal(crawl, url, verdict, None, None)
        because += [f"it would be refused: {reasons[0]}", *reasons[1:]]
    elif robots is not None and not robots.allowed and not robots.ignored:
        line = f", line {robots.line}: {robots.text}" if robots.line is not None else ""
        because.append(f"it would be admitted, and robots.txt would refuse it ({robots.error or 'disallowed'}{line})")
    else:
        because.append(f"it would be admitted: give it to the crawl with `weft add {crawl.folder.path} URL`")
    reason = verdict.reason.value if verdict is not None and verdict.reason is not None else None
    near = nearest_urls(crawl, url)
    return _bare(
        crawl,
        url,
        outcome="unknown",
        because=because,
        seen=False,
        reason=reason,
        option=option,
        robots=robots,
        nearest=near,
    )


def _would_be(crawl: StoredCrawl, url: str) -> Verdict | None:
    """What the judge would say of a link to this URL; None where the specification cannot be read."""
    spec = _spec(crawl)
    if not url.startswith(("http://", "https://")):
        return Verdict(Reason.NOT_HTTP)
    if spec is None:
        return None
    from weft.judge.admit import Admission

    db = crawl.connection
    seeds = [row[0] for row in db.execute(_SEEDS, (-1,))]
    judge = Admission(spec, seeds, datetime.now(UTC).year)
    judge.load(db.execute("SELECT key, value FROM trap").fetchall())
    for (name,) in db.execute("SELECT name FROM scope_site"):
        judge.allow_site(name)
    site = db.execute("SELECT id FROM site WHERE name = ?", (site_of(url),)).fetchone()
    return judge.judge_url(url, site[0] if site is not None else 0, None)


def _bare(
    crawl: StoredCrawl,
    url: str,
    *,
    outcome: str,
    because: list[str],
    seen: bool,
    reason: str | None = None,
    option: str | None = None,
    robots: RobotsSays | None = None,
    nearest: list[str] | None = None,
) -> Story:
    key = crawl.normalizer.key(url) if url.startswith(("http://", "https://")) else None
    return Story(
        url=url,
        outcome=outcome,
        because=because,
        seen=seen,
        key=key,
        rewritten=_rewritten(crawl, url),
        page_url=None,
        state=None,
        reason=reason,
        error=None,
        option=option,
        found=None,
        robots=robots,
        attempts=[],
        attempts_in_all=0,
        status=None,
        redirect_to=None,
        canonical=None,
        duplicate_of=None,
        same_body=0,
        noindex=False,
        nofollow=False,
        body=None,
        nearest=nearest or [],
    )


_SEEDS = "SELECT u.text FROM seed s JOIN url u ON u.id = s.page ORDER BY s.id LIMIT ?"
_ATTEMPTS = f"""
SELECT u.text, v.attempt, v.started_ms, v.status, v.cause, v.detail, v.response_ms, v.ip, v.redirect_to
FROM visit v JOIN url u ON u.id = v.url WHERE v.page = ? AND v.purpose = {Purpose.PAGE.value} ORDER BY v.id DESC LIMIT ?
"""
_SAME_BODY = """
SELECT count(*) FROM (SELECT 1 FROM visit v JOIN page p ON p.id = v.page AND p.visit = v.id
                      WHERE v.hash = ? AND v.status BETWEEN 200 AND 299 LIMIT ?)
"""
