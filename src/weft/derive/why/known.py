"""The story of a page of the crawl."""

from __future__ import annotations

from weft.derive.explanations import CAUSES
from weft.derive.read import Page, StoredCrawl
from weft.derive.rendering import rendering_of_page
from weft.derive.why.facts import attempts_of, body_of, found_of, rewritten_of, robots_of, same_body_of, spec_of
from weft.derive.why.refusals import matches, max_depth_of, refusal_of
from weft.derive.why.story import Found, RobotsSays, Story
from weft.errors import POLICIES, Cause, Reason
from weft.records import Verdict
from weft.text.dates import iso_of_ms
from weft.text.human import command


def known_story(crawl: StoredCrawl, url: str, page_id: int, page: Page) -> Story:
    attempts, in_all = attempts_of(crawl, page_id)
    found = found_of(crawl, page_id, page)
    robots = robots_of(crawl, page.url)
    outcome, because, option = _outcome(crawl, page_id, page, found, robots)
    return Story(
        url=url,
        outcome=outcome,
        because=because,
        seen=True,
        key=page.key,
        rewritten=rewritten_of(crawl, url),
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
        same_body=same_body_of(crawl, page),
        noindex=page.noindex,
        nofollow=page.nofollow,
        body=body_of(crawl, page_id),
        rendering=rendering_of_page(crawl, page_id),
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
            again = f"{command('resume', crawl.folder.path)} asks it again"
            return "waiting", [f"it was being asked when the crawl was killed; {again}"], None
        case _:
            verdict = Verdict(Reason(page.reason)) if page.reason and page.reason in Reason.__members__ else Verdict()
            because, option = refusal_of(crawl, page.url, verdict, page.depth, found)
            return "refused", because, option


def _admitted(crawl: StoredCrawl, page: Page, found: Found) -> list[str]:
    """By which rules the page was let in; of a target that was only checked, why it is no page."""
    if page.reason is not None and page.reason in Reason.__members__:
        refused, _ = refusal_of(crawl, page.url, Verdict(Reason(page.reason)), page.depth, found)
        return ["it is no page of the crawl, and was only checked (--check-links)", *refused]
    spec = spec_of(crawl)
    if found.kind == "seed":
        return ["it was admitted as a start address"]
    if spec is None or found.kind is None:
        return []
    rules = [f"links of kind {found.kind} are followed (--follow)", f"it is in scope (--scope {spec.scope.scope})"]
    deepest = max_depth_of(crawl, spec, page.url)
    if deepest is not None:
        rules.append(f"depth {page.depth} is within --max-depth {deepest}")
    rules += [f"--accept {pattern} matches it" for pattern in spec.scope.accept if matches(pattern, page.url)][:1]
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
    spec = spec_of(crawl)
    if spec is not None and page.depth < spec.scope.min_depth:
        return [
            f"it lies at depth {page.depth}, and pages are asked from depth {spec.scope.min_depth} on (--min-depth)"
        ]
    if crawl.folder.is_running():
        return ["it was admitted, and waits for its turn"]
    return [
        f"it was admitted, and the crawl stopped before its turn came; {command('resume', crawl.folder.path)} goes on"
    ]
