"""weft why: why a URL was or was not fetched."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from weft.cli.machine import print_json
from weft.derive.read import StoredCrawl
from weft.derive.rendering import PageRendering
from weft.derive.why import Attempt, Found, RobotsSays, Story, story_of
from weft.text.human import counted
from weft.text.safe import shown

_WIDTH = 11


def run(args: argparse.Namespace) -> int:
    with StoredCrawl(args.folder) as crawl:
        story = story_of(crawl, args.url)
    if args.json:
        print_json(story)
    else:
        print("\n".join(shown(line) for line in lines_of(story)))
    return 0


def lines_of(story: Story) -> Iterator[str]:
    """The story for a person, not yet safe for a terminal."""
    yield story.url
    yield _told(story.outcome, story.because[0] if story.because else "")
    yield from (_told("", sentence) for sentence in story.because[1:])
    if story.found is not None:
        yield _told("found", _where(story.found))
    yield from _identity(story)
    if story.robots is not None:
        yield _told("robots.txt", _robots(story.robots))
    if story.attempts_in_all > len(story.attempts):
        yield _told("attempts", f"{story.attempts_in_all:,} in all; the newest:")
    for attempt in story.attempts:
        yield _told("attempt", _attempt(attempt))
    if story.canonical is not None and story.canonical != story.url:
        yield _told("canonical", story.canonical)
    if story.same_body:
        yield _told("same body", counted(story.same_body, "other page"))
    if story.body is not None:
        place = f"warc/{story.body.warc_file} at {story.body.warc_offset}"
        yield _told("body", f"{place}, {counted(story.body.warc_length, 'byte')}, {story.body.digest}")
        if story.body.stored_with is not None:
            yield _told("", f"the same bytes as {story.body.stored_with}, stored with it")
    if story.rendering is not None:
        yield from _rendering(story.rendering)
    yield from (_told("like it" if number == 0 else "", url) for number, url in enumerate(story.nearest))


def _told(word: str, text: str) -> str:
    return f"  {word:<{_WIDTH}}{text}"


def _where(found: Found) -> str:
    if found.kind == "seed":
        return f"given as a start address ({found.source}) at {found.at}, depth {found.depth}"
    if found.on is None:
        return f"depth {found.depth}; the link that brought it was not kept"
    link = f" by a link of kind {found.kind}" if found.kind else ""
    anchor = f' "{found.anchor[:80]}"' if found.anchor else ""
    return f"on {found.on}{link}{anchor}, at {found.at}, depth {found.depth}"


def _rendering(found: PageRendering) -> Iterator[str]:
    if found.rendered:
        brought = f"{counted(found.new_links, 'new link')}, {counted(found.new_text, 'character')} more text"
        yield _told("rendered", f"in {found.took_ms} ms with {counted(found.requests, 'request')}: {brought}")
    else:
        yield _told("rendered", "no, it is taken as it was received")
    if found.note is not None:
        yield _told("", found.note)
    if found.template is not None:
        yield _told("", f"{found.template.sentence} (the first is {found.template.example})")


def _identity(story: Story) -> Iterator[str]:
    if story.page_url is not None:
        yield _told("page", f"another spelling of {story.page_url}")
    if story.key is None:
        return
    if not story.rewritten:
        yield _told("key", "the URL itself: no rule changes it" if story.key == story.url else story.key)
        return
    yield _told("key", story.key)
    for step in story.rewritten:
        yield _told("", f"{step.rule}: {step.before} -> {step.after}")


def _robots(says: RobotsSays) -> str:
    verdict = "allows it" if says.allowed else "forbids it"
    if says.error is not None:
        status = f", {says.status}" if says.status is not None else ""
        told = f"could not be had ({says.error}{status}), so nothing of {says.origin} may be asked"
    elif says.line is not None:
        told = f"{verdict}, line {says.line}: {says.text}"
    elif says.status is not None and says.status >= 300:
        told = f"there is none ({says.status}): everything may be asked"
    else:
        told = f"{verdict}: no line speaks of it"
    return f"{told} ({says.url}, read {says.fetched_at}){'; --ignore-robots is on' if says.ignored else ''}"


def _attempt(attempt: Attempt) -> str:
    outcome = str(attempt.status) if attempt.status is not None else attempt.error or "?"
    detail = f": {attempt.detail}" if attempt.detail else ""
    to = f" to {attempt.redirect_to}" if attempt.redirect_to else ""
    spent = f" in {attempt.response_ms} ms" if attempt.response_ms is not None else ""
    return f"{attempt.attempt}, {attempt.at}: {outcome}{to}{detail}{spent}{f' from {attempt.ip}' if attempt.ip else ''}"
