"""The story of a URL that is no page of the crawl: recorded for its own needs, or never seen."""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec.structs import replace

from weft.derive.explanations import REASONS
from weft.derive.nearest import nearest_urls
from weft.derive.read import StoredCrawl
from weft.derive.why.facts import first_link_to, rewritten_of, robots_of, spec_of
from weft.derive.why.refusals import SEEDS, refusal_of
from weft.derive.why.story import Story
from weft.errors import Reason
from weft.records import Verdict
from weft.text.human import command, counted
from weft.url import site_of


def recorded_story(crawl: StoredCrawl, url: str, url_id: int) -> Story:
    """A URL that has an id and no page: a sitemap, robots.txt, or a link of another scheme."""
    db = crawl.connection
    if not url.startswith(("http://", "https://")):
        because = [f"{Reason.NOT_HTTP.value}: {REASONS[Reason.NOT_HTTP]}"]
        story = _story(crawl, url, "refused", because, seen=True)
        return replace(story, reason=Reason.NOT_HTTP.value, found=first_link_to(crawl, url_id))
    sitemap = db.execute("SELECT state, cause, entries FROM sitemap WHERE url = ?", (url_id,)).fetchone()
    if sitemap is not None:
        state, cause, entries = sitemap
        held = f"read, with {counted(entries, 'URL')}" if entries else "asked, and no URLs are in its answer"
        end = {"C": held, "E": f"not read: {cause}"}.get(state, "still to be read")
        because = [f"it is a sitemap of its site, {end}; no page links to it"]
        return _story(crawl, url, "recorded", because, seen=True)
    because = ["it was asked for the crawl's own needs (robots.txt, or a redirect of it), and no page links to it"]
    return replace(_story(crawl, url, "recorded", because, seen=True), robots=robots_of(crawl, url))


def unknown_story(crawl: StoredCrawl, url: str) -> Story:
    """A URL never seen, judged by the specification as it would be if a page linked to it."""
    robots = robots_of(crawl, url) if url.startswith(("http://", "https://")) else None
    verdict = _would_be(crawl, url)
    because = ["it was never seen: no page that was read links to it"]
    option = None
    if verdict is None:
        pass
    elif verdict.reason is not None:
        reasons, option = refusal_of(crawl, url, verdict, None, None)
        because += [f"it would be refused: {reasons[0]}", *reasons[1:]]
    elif robots is not None and not robots.allowed and not robots.ignored:
        line = f", line {robots.line}: {robots.text}" if robots.line is not None else ""
        because.append(f"it would be admitted, and robots.txt would refuse it ({robots.error or 'disallowed'}{line})")
    else:
        because.append(f"it would be admitted: give it to the crawl with `{command('add', crawl.folder.path, url)}`")
    reason = verdict.reason.value if verdict is not None and verdict.reason is not None else None
    near = nearest_urls(crawl, url)
    story = _story(crawl, url, "unknown", because, seen=False)
    return replace(story, reason=reason, option=option, robots=robots, nearest=near)


def _would_be(crawl: StoredCrawl, url: str) -> Verdict | None:
    """What the judge would say of a link to this URL; None where the specification cannot be read."""
    spec = spec_of(crawl)
    if not url.startswith(("http://", "https://")):
        return Verdict(Reason.NOT_HTTP)
    if spec is None:
        return None
    from weft.judge.admit import Admission

    db = crawl.connection
    seeds = [row[0] for row in db.execute(SEEDS, (-1,))]
    judge = Admission(spec, seeds, datetime.now(UTC).year)
    judge.load(db.execute("SELECT key, value FROM trap").fetchall())
    for (name,) in db.execute("SELECT name FROM scope_site"):
        judge.allow_site(name)
    site = db.execute("SELECT id FROM site WHERE name = ?", (site_of(url),)).fetchone()
    return judge.judge_url(url, site[0] if site is not None else 0, None)


def _story(crawl: StoredCrawl, url: str, outcome: str, because: list[str], *, seen: bool) -> Story:
    """What is told of a URL that is no page of the crawl."""
    key = crawl.normalizer.key(url) if url.startswith(("http://", "https://")) else None
    return Story(url=url, outcome=outcome, because=because, seen=seen, key=key, rewritten=rewritten_of(crawl, url))
