"""What a page says: its links of every kind, title, description, language, base, canonical, directives, text.

Ordinary pages are read without a tree (``quick.py``), all others, and those whose text is wanted, by way of it
(``tree.py``).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from weft import native
from weft.parse.content import HTML_TYPES, charset_of, decode, media_type, sniff_encoding
from weft.parse.elements import Elements
from weft.parse.quick import QuickPage
from weft.parse.xhtml import markup_of
from weft.records import Parsed

__all__ = ["MAX_LINKS", "Headers", "NeedsTree", "Reading", "parse_page", "reads_quickly"]

MAX_LINKS: Final = 20_000


class NeedsTree(Exception):
    """The tags of a page alone do not tell what it says, and no tree was to be built of it."""


def reads_quickly() -> bool:
    """Whether ordinary pages need no tree: the compiled reader is there."""
    return native.is_compiled


class Headers(NamedTuple):
    """The headers of an answer that say something of its document, beside Content-Type."""

    x_robots_tag: Sequence[str] = ()
    link: Sequence[str] = ()
    refresh: str | None = None
    content_language: str | None = None


class Reading(NamedTuple):
    """How documents are read."""

    agents: Collection[str] = ("weft",)  # the names, in lower case, that robots directives may address
    max_links: int = MAX_LINKS
    with_text: bool = False  # the visible text is wanted, too
    may_build: bool = True  # a tree; else ``NeedsTree`` is raised for a page that needs one
    with_shown: bool = False  # also the images that scripts and styles show: lazy ones, og:image, url() in styles
    with_assets: bool = False  # what styles in the page import, and their fonts


NO_HEADERS: Final = Headers()
ORDINARY: Final = Reading()


def parse_page(
    body: bytes, url: str, content_type: str | None = None, headers: Headers = NO_HEADERS, reading: Reading = ORDINARY
) -> Parsed:
    """What a document says, whatever it is; never raises, but for ``NeedsTree`` where no tree may be built.

    Of what is no HTML only type and headers count. Links come in document order, those of headers first.
    """
    agents, max_links, with_text, may_build, with_shown, with_assets = reading
    media = media_type(content_type, body)
    charset = charset_of(content_type)
    if media not in HTML_TYPES:
        plain = Elements(url, charset or "utf-8", max_links, agents)
        plain.take_headers(*headers)
        if with_text and media.startswith("text/"):
            plain.text = decode(body, sniff_encoding(body, charset, media))
        return plain.parsed(media, charset)
    encoding = sniff_encoding(body, charset, media)
    markup, markup_encoding = markup_of(body, media, encoding)
    if not with_text and not with_shown and reads_quickly():
        quick = QuickPage(url, encoding, max_links, agents)
        quick.take_headers(*headers)
        if quick.read(markup, markup_encoding):
            return quick.parsed(media, encoding)
    if not may_build:
        raise NeedsTree
    from weft.parse.tree import TreePage, read_tree  # the tree builder is loaded for the first page that needs it

    page = TreePage(url, encoding, max_links, agents)
    page.with_shown, page.with_assets = with_shown, with_assets
    page.take_headers(*headers)
    read_tree(page, markup, markup_encoding, with_text)
    return page.parsed(media, encoding)
