"""The main text of a page and its metadata, from the tree of the page."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urljoin, urlsplit

import msgspec
from turbohtml import Document, Element, PlainText, Text

from weft.extract.keywords import Keyword, Words, keywords_of
from weft.extract.language import detected_language
from weft.extract.main_text.content import content_of
from weft.extract.main_text.metadata import Kind, Metadata, metadata_of
from weft.records import PageText

MAX_TEXT: Final = 5_000_000
"""The most characters of a text or its Markdown."""

_PLAIN: Final = PlainText(layout="strict", bullet="- ")
_NO_PARTS: Final = "figure,figcaption,time"
"""Parts of an article that belong to pictures, or say when it was written. Markdown keeps these parts."""

_BLANK: Final = "\u00a0"
_LATER_SOURCES: Final = ("data-src", "data-original", "data-lazy-src")


class MainText(msgspec.Struct, frozen=True):
    """The main text of a page, and what the page says of itself."""

    text: str = ""
    """Without the title of an article, and without captions of its pictures."""
    markdown: str = ""
    language: str | None = None
    """What the page says, else what the text looks like."""
    metadata: Metadata = Metadata()
    is_article: bool = False
    keywords: tuple[Keyword, ...] | None = None
    """None where none were asked for."""

    def stored(self) -> PageText:
        """The same as a row of the database."""
        metadata = self.metadata
        records = {"json_ld": metadata.json_ld, "opengraph": metadata.opengraph}
        return PageText(
            text=self.text,
            markdown=self.markdown,
            language=self.language,
            title=metadata.title or None,
            author=metadata.author or None,
            published=metadata.published or None,
            description=metadata.description or None,
            is_article=self.is_article,
            records=_json(records),
            keywords=None if self.keywords is None else _json(self.keywords),
        )

    @classmethod
    def of_row(cls, row: PageText, keywords: int) -> MainText:
        """A row of the database, with at most so many of its keywords."""
        records = msgspec.json.decode(row.records, type=_Records)
        metadata = Metadata(
            title=row.title or "",
            author=row.author or "",
            published=row.published or "",
            description=row.description or "",
            json_ld=tuple(records.json_ld),
            opengraph=records.opengraph,
        )
        found = msgspec.json.decode(row.keywords, type=tuple[Keyword, ...])[:keywords] if row.keywords else None
        return cls(row.text, row.markdown, row.language, metadata, row.is_article, found if keywords else None)


class _Records(msgspec.Struct, frozen=True):
    """The column ``records``."""

    json_ld: list[Any] = []
    opengraph: dict[str, str] = {}


def read_main_text(document: Document, url: str, *, language: str | None = None, keywords: int = 0) -> MainText:
    """The main text of the page with this tree. Takes the tree apart.

    ``language`` is what the answer says; ``keywords`` is how many keywords are wanted. The home page of a site is never
    read as an article.
    """
    metadata = metadata_of(document)
    base = _base_of(document, url)
    language = language or _language_of(document)
    content = content_of(document, Kind.OTHER if urlsplit(url).path in ("", "/") else metadata.kind)
    if content is None:
        return MainText(language=language, metadata=metadata)
    element, is_article = content
    title = (_take_title(element) or metadata.title) if is_article else ""
    _make_plain(element)
    element.resolve_links(base)
    body = element.to_markdown()
    if is_article:
        element.remove(_NO_PARTS)
    text = element.to_text(_PLAIN)
    language = language or detected_language(text)
    return MainText(
        text=text[:MAX_TEXT],
        markdown=(f"# {title}\n\n{body}" if title else body)[:MAX_TEXT],
        language=language,
        metadata=metadata,
        is_article=is_article,
        keywords=_keywords(Words.of_element(element), metadata, language, keywords),
    )


def read_plain_text(text: str, *, language: str | None = None, keywords: int = 0) -> MainText:
    """The main text of a document that is plain text: all of it."""
    language = language or detected_language(text)
    text = text[:MAX_TEXT]
    return MainText(
        text=text,
        markdown=text,
        language=language,
        keywords=_keywords(Words.of_text(text), Metadata(), language, keywords),
    )


def left_out(why: str) -> PageText:
    """The row of a page whose main text is not kept."""
    return PageText("", "", None, None, None, None, None, False, _json({"problem": f"main text left out: {why}"}), None)


def _keywords(words: Words, metadata: Metadata, language: str | None, number: int) -> tuple[Keyword, ...] | None:
    return tuple(keywords_of(words, metadata.title, metadata.descriptions, language, number)) if number else None


def _base_of(document: Document, url: str) -> str:
    """The address that references of the page are relative to."""
    base = document.select_one("base[href]")
    try:
        return urljoin(url, (base.attr("href") or "").strip()) if base is not None else url
    except ValueError:  # no address
        return url


def _language_of(document: Document) -> str | None:
    root = document.select_one("html")
    return (root.attr("lang") or "").strip() or None if root is not None else None


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode("utf-8")


def _take_title(element: Element) -> str:
    """The title of an article where it stands in the text; it is taken out of the tree."""
    heading = element.select_one("h1")
    if heading is None:
        return ""
    title = " ".join(heading.text.split())
    heading.decompose()
    return title


def _make_plain(element: Element) -> None:
    """Gives pictures that scripts load their addresses, drops those without one, and makes blanks ordinary."""
    for image in list(element.iter_elements("img")):
        source = image.attr("src") or ""
        if not source or source.startswith("data:"):
            source = next((later for name in _LATER_SOURCES if (later := image.attr(name))), "")
            if not source:
                image.decompose()
                continue
            image.attrs["src"] = source
    for node in element.descendants:
        if type(node) is Text and _BLANK in node.data:
            node.data = node.data.replace(_BLANK, " ")
