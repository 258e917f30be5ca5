"""XHTML written so that the HTML parser reads it as an XML parser would, where the two differ and links are at stake.

To HTML ``<script src="x"/>`` is an open tag, and all that follows is script; a CDATA section ends at its first ``>``.
An XML parser would not do: pages that are not well-formed have links too, and entities can be bombs.
"""

from __future__ import annotations

import re

from weft.parse.content import XHTML, decode
from weft.text.patterns import regex

_VOID = frozenset(
    b"area base basefont bgsound br col embed frame hr img input link meta param source track wbr".split()
)
"""Elements that have no end tag in HTML either."""

_NEXT = regex(
    rb"<!--.*?(?:-->|\Z)|<\?.*?(?:\?>|\Z)|<!\[CDATA\[(?P<text>.*?)(?:\]\]>|\Z)"
    rb"|<(?P<name>[A-Za-z][^\s/<>\"'=]*+)"
    rb"(?P<attributes>(?:\s++[^\s/<>\"'=]++\s*+=\s*+(?:\"[^\"<]*+\"|'[^'<]*+'))*+)\s*+/>",
    re.DOTALL,
)


def markup_of(body: bytes, media: str, encoding: str) -> tuple[bytes, str]:
    """A document as the HTML parser is given it, in an encoding compatible with ASCII; and that encoding."""
    if encoding.startswith("utf-16"):
        body, encoding = decode(body, encoding).encode("utf-8", "replace"), "utf-8"
    return (as_html(body) if media == XHTML else body), encoding


def as_html(body: bytes) -> bytes:
    """The document with end tags for its empty elements and without CDATA sections, whose text stays.

    ``body`` is in an encoding compatible with ASCII. Takes time linear in its length, and at most five times its space.
    """
    if b"/>" not in body and b"<![CDATA[" not in body:
        return body
    return _NEXT.sub(_rewritten, body)


def _rewritten(match: re.Match[bytes]) -> bytes:
    text, name = match["text"], match["name"]
    if text is not None:
        return text.replace(b"&", b"&amp;").replace(b"<", b"&lt;").replace(b">", b"&gt;")
    if name is None or name.lower() in _VOID:
        return match[0]
    return b"<%s%s></%s>" % (name, match["attributes"], name)
