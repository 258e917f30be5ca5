"""The story of a URL, whatever it is."""

from __future__ import annotations

from weft.derive.read import StoredCrawl
from weft.derive.why.facts import spec_of
from weft.derive.why.known import known_story
from weft.derive.why.story import Story
from weft.derive.why.unknown import recorded_story, unknown_story
from weft.errors import WeftError


def story_of(crawl: StoredCrawl, url: str) -> Story:
    """The story of a URL, known or not, or of a path in a crawl of one site; ``SpecError`` for another text."""
    text = crawl.whole_url(url)
    name = text
    place = crawl.find(text)
    if place is None:  # a URL past the bound is known by its beginning
        name = _kept_part(crawl, text)
        place = crawl.find(name) if name != text else None
    if place is None:
        return unknown_story(crawl, text)
    if place.page is None:
        return recorded_story(crawl, text, place.url)
    page = crawl.page(name)
    if page is None:
        raise WeftError(f"{crawl.folder.db} is damaged: {text} has an id and no page (weft check tells more)")
    return known_story(crawl, text, place.page, page)


def _kept_part(crawl: StoredCrawl, text: str) -> str:
    """What the crawl keeps of a URL, however long it is."""
    if not text.startswith(("http://", "https://")):
        from weft.parse.collected import MAX_OPAQUE

        return text[:MAX_OPAQUE]
    spec = spec_of(crawl)
    return text[: spec.limits.max_url_b + 1] if spec is not None else text
