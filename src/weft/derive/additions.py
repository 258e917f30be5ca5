"""Further fields of pages, as `weft pages --with` asks for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from weft.derive.read import Page, StoredCrawl
from weft.errors import SpecError, WeftError

KEYWORDS = 10
"""How many keywords a page has where the crawl was not asked for a number."""

_FIELDS = {
    "text": ("text",),
    "markdown": ("markdown",),
    "keywords": ("keywords",),
    "metadata": ("text_language", "headline", "author", "published", "article", "json_ld", "opengraph"),
}


def additions_of(text: str, known: Sequence[str]) -> list[str]:
    """The names in a list with commas, each once; ``SpecError`` for one that is not known."""
    names = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    for name in names:
        if name not in known:
            raise SpecError(f"--with: there is nothing called {name!r} (there are {', '.join(known)})")
    return names


def pages_with(
    crawl: StoredCrawl, pages: Iterable[Page], kind: type[Page], names: Sequence[str]
) -> tuple[Iterator[msgspec.Struct], type[msgspec.Struct]]:
    """The pages with these fields of their main texts, and the type of such rows."""
    fields = [field for name in names for field in _FIELDS[name]]
    wide = msgspec.defstruct(
        "Page", [(field, str | None, None) for field in fields], bases=(kind,), frozen=True, kw_only=True, dict=True
    )
    keywords = (crawl.spec.extract.keywords or KEYWORDS) if "keywords" in names else 0

    def widened() -> Iterator[msgspec.Struct]:
        for page in pages:
            found = _values(page, keywords)
            yield wide(**msgspec.structs.asdict(page), **{field: found.get(field) for field in fields})

    return widened(), wide


def _values(page: Page, keywords: int) -> dict[str, str | None]:
    """What the main text of a page gives; nothing of a page that brought no text, or whose body is gone."""
    if page.status is None or not 200 <= page.status < 300:
        return {}
    try:
        main = page.content.main_text(keywords)
    except WeftError:
        return {}
    metadata = main.metadata
    return {
        "text": main.text,
        "markdown": main.markdown,
        "keywords": ", ".join(keyword.word for keyword in main.keywords or ()),
        "text_language": main.language,
        "headline": metadata.title or None,
        "author": metadata.author or None,
        "published": metadata.published or None,
        "article": "yes" if main.is_article else "no",
        "json_ld": msgspec.json.encode(metadata.json_ld).decode() if metadata.json_ld else None,
        "opengraph": msgspec.json.encode(metadata.opengraph).decode() if metadata.opengraph else None,
    }
