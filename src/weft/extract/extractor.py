"""All that was asked for, from one page: the one door of this stage. The same in a crawl and over a stored one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final

import msgspec

from weft.extract.contacts import contacts_of
from weft.extract.structured import RecordReader, record_reader
from weft.extract.texts import Pattern, finds_in, pattern
from weft.ports import Reading
from weft.records import FIND, Item
from weft.spec import Harvest
from weft.text.selectors import Resolve, Selector, css, xpath
from weft.url import host_of, resolve

if TYPE_CHECKING:
    from turbohtml import Document

MAX_ITEMS: Final = 10_000
"""Items of one kind that are kept of one page."""

_HTML = ("text/html", "application/xhtml+xml")
_MARKUP = ("text/xml", "application/xml")
_PLAIN = ("text/plain", "text/csv", "text/markdown", "text/vcard", "text/x-vcard", "text/calendar", "application/json")


class Extracted(msgspec.Struct, frozen=True):
    """The items of one page, and what was left out of them, in words."""

    items: list[Item]
    problem: str = ""


NOTHING: Final = Extracted([])


class Extractor:
    """Extracts what a specification asks for. ``ValueError`` where something of it cannot be understood."""

    def __init__(self, wanted: Harvest, reading: Reading) -> None:
        self._wanted = wanted
        self._reading = reading
        self._patterns: list[Pattern] = [pattern(*_named(line)) for line in wanted.patterns]
        self._selectors: list[tuple[str, Selector]] = []
        for lines, make in ((wanted.selects, css), (wanted.xpaths, xpath)):
            self._selectors.extend((name, make(written)) for name, written in map(_named, lines))
        self._records: list[RecordReader] = [record_reader(record) for record in wanted.records]
        self._in_text = bool(wanted.finds) or any(not one.in_source for one in self._patterns)

    @property
    def names(self) -> tuple[str, ...]:
        """The kinds of items that are looked for."""
        own = (*(one.name for one in self._patterns), *(name for name, _ in self._selectors))
        finds = (FIND,) if self._wanted.finds else ()
        return tuple(dict.fromkeys((*self._wanted.kinds, *own, *(one.name for one in self._records), *finds)))

    def extract(self, body: bytes, url: str, media: str, encoding: str | None, links: Sequence[str]) -> Extracted:
        """The items of a body that was answered for a URL; nothing for what is no text."""
        is_html = media in _HTML
        if not body or not (is_html or media in _PLAIN or media in _MARKUP or media.endswith("+xml")):
            return NOTHING
        encoding = encoding or "utf-8"
        source = self._reading.utf8_of(body, encoding)
        items: list[Item] = []
        kept = self._kept(items)
        if self._wanted.kinds:
            markup = _escaped(source) if media in _PLAIN else source
            region = self._wanted.region
            items.extend(contacts_of(markup, self._wanted.kinds, host=host_of(url), region=region, links=links))
        for one in self._patterns:
            if one.in_source:
                kept(one.items(source.decode("utf-8", "replace")))
        if self._in_text or self._selectors or self._records:
            self._of_tree(body, url, media, encoding, is_html, kept)
        return Extracted(items, "; ".join(_too_many(items)))

    def _of_tree(
        self, body: bytes, url: str, media: str, encoding: str, is_html: bool, kept: Callable[[Iterable[Item]], None]
    ) -> None:
        """What needs the tree of a page, or its visible text: the text is taken last, for that uses the tree up."""
        document = self._reading.document_of(body, media, encoding) if is_html or media not in _PLAIN else None
        if document is not None:
            to_url = _resolver(document, url, encoding)
            for name, selector in self._selectors:
                values = selector.values(document, to_url)
                kept(Item(name, value[:10_000], position=at) for at, value in enumerate(values) if value)
            for record in self._records:
                kept(record.items(document, to_url))
        if self._in_text:
            if document is None:
                text = self._reading.utf8_of(body, encoding).decode("utf-8", "replace") if media in _PLAIN else ""
            else:
                text = self._reading.text_of(document)
            for one in self._patterns:
                if not one.in_source:
                    kept(one.items(text))
            kept(finds_in(text, self._wanted.finds))

    @staticmethod
    def _kept(items: list[Item]) -> Callable[[Iterable[Item]], None]:
        return lambda found: items.extend(islice(found, MAX_ITEMS))


def _too_many(items: list[Item]) -> Iterator[str]:
    if len(items) < MAX_ITEMS:
        return
    for kind in dict.fromkeys(item.kind for item in items):
        if sum(item.kind == kind for item in items) >= MAX_ITEMS:
            yield f"more than {MAX_ITEMS:,} items of kind {kind}: the first are kept"


def _resolver(document: Document, url: str, encoding: str) -> Resolve:
    base = document.select_one("base[href]")
    reference = base.attr("href") if base is not None else None
    home = (resolve(url, reference, encoding) if reference else None) or url
    return lambda reference: resolve(home, reference, encoding) or reference


def _named(line: str) -> tuple[str, str]:
    name, _, rest = line.partition("=")
    return name.strip(), rest.strip()


def _escaped(text: bytes) -> bytes:
    """Plain text as the source of a page that shows it."""
    return b"<pre>" + text.replace(b"&", b"&amp;").replace(b"<", b"&lt;")
