"""What is stored of a page, for its story."""

from __future__ import annotations

import msgspec

from weft.derive.body import answer_of, original_of
from weft.derive.read import Page, StoredCrawl
from weft.derive.read.model import QUEUED
from weft.derive.why.story import Attempt, Body, Found, Rewriting, RobotsSays
from weft.errors import SpecError, WeftError
from weft.records import LinkKind, signed
from weft.spec import CrawlSpec
from weft.text.dates import iso_of_ms
from weft.url import origin_of, path_of

MOST_ATTEMPTS = 100
_SAME_BODY_COUNTED = 1_000
_ATTEMPTS = f"""
SELECT u.text, v.attempt, v.started_ms, v.status, v.cause, v.detail, v.response_ms, v.ip, v.redirect_to
FROM visit v JOIN url u ON u.id = v.url WHERE v.page = ? AND v.purpose IN ({QUEUED}) ORDER BY v.id DESC LIMIT ?
"""
_HOLDERS = """
SELECT k.visit, u.text, v.started_ms, coalesce(p.depth, 0)
FROM link_pack k JOIN visit v ON v.id = k.visit JOIN url u ON u.id = v.url LEFT JOIN page p ON p.id = v.page
WHERE instr(k.links, '[' || ? || ',') ORDER BY k.visit
"""
_SAME_BODY = """
SELECT count(*) FROM (SELECT 1 FROM visit v JOIN page p ON p.id = v.page AND p.visit = v.id
                      WHERE v.hash = ? AND v.status BETWEEN 200 AND 299 LIMIT ?)
"""


def attempts_of(crawl: StoredCrawl, page_id: int) -> tuple[list[Attempt], int]:
    """The newest attempts, oldest first, and how many there were in all."""
    (in_all,) = crawl.connection.execute(
        f"SELECT count(*) FROM visit WHERE page = ? AND purpose IN ({QUEUED})", (page_id,)
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


def found_of(crawl: StoredCrawl, page_id: int, page: Page) -> Found:
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


def first_link_to(crawl: StoredCrawl, url_id: int) -> Found | None:
    """The first link to a URL that is no page: looked for in all packs, of which few hold such a number at all."""
    for visit, on, at, depth in crawl.connection.execute(_HOLDERS, (url_id,)):
        for link in crawl.packed_links(visit):
            if link.target == url_id:
                return Found(
                    kind=LinkKind(link.kind).label,
                    on=on,
                    at=iso_of_ms(at),
                    depth=depth + 1,
                    anchor=link.anchor or None,
                    rel=link.rel or None,
                )
    return None


def _spellings(crawl: StoredCrawl, page_id: int, ids: list[int]) -> set[int]:
    """Those of the ids that are other spellings of the page."""
    wanted = msgspec.json.encode(sorted(set(ids))).decode()
    query = "SELECT u.id FROM json_each(?) j JOIN url u ON u.id = j.value WHERE u.page = ?"
    return {row[0] for row in crawl.connection.execute(query, (wanted, page_id))}


def rewritten_of(crawl: StoredCrawl, url: str) -> list[Rewriting]:
    return [Rewriting(rule=rule, before=before, after=after) for rule, before, after in crawl.normalizer.explain(url)]


def same_body_of(crawl: StoredCrawl, page: Page) -> int:
    if page.hash is None:
        return 0
    limits = (signed(int(page.hash, 16)), _SAME_BODY_COUNTED + 1)
    (count,) = crawl.connection.execute(_SAME_BODY, limits).fetchone()
    return max(0, int(count) - 1)


def body_of(crawl: StoredCrawl, page_id: int) -> Body | None:
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


def robots_of(crawl: StoredCrawl, url: str) -> RobotsSays | None:
    """What the stored robots.txt of the URL's origin says of it; None where none was asked for."""
    row = crawl.connection.execute(
        "SELECT robots_status, robots_cause, robots_content, robots_url, fetched_ms FROM origin WHERE name = ?",
        (origin_of(url),),
    ).fetchone()
    if row is None:
        return None
    from weft.fetch.robots import Robots, agents_of

    status, cause, content, robots_url, fetched_ms = row
    spec = spec_of(crawl)
    ignored = spec is not None and spec.politeness.ignore_robots
    allowed, line, text = cause is None, None, None
    if cause is None:
        robots = Robots.parse(content or b"")
        agents = agents_of(spec.identity.user_agent if spec is not None else None)
        verdict = robots.rules_for_us(*agents).check(path_of(url))
        allowed, line = verdict.allowed, verdict.line
        if line is not None:
            text = next(
                (explained.text for explained in robots.explain_lines(*agents) if explained.line == line), verdict.rule
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


def spec_of(crawl: StoredCrawl) -> CrawlSpec | None:
    """The specification, or None where crawl.toml cannot be read: the rest of the story is told all the same."""
    try:
        return crawl.spec
    except (SpecError, OSError):
        return None
