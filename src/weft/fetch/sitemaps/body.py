"""The bytes of a sitemap: packed or not, in any encoding."""

from __future__ import annotations

import re

from weft.fetch.decode import decode_body
from weft.fetch.sitemaps.found import LEFT_OUT, WINDOW_B
from weft.spec import MAX_SITEMAP_B

_GZIP = b"\x1f\x8b"
_SPACE = b" \t\r\n\v\f"
_XML_SIGNS = re.compile(rb"<(?:\?xml|(?:[\w-]{1,32}:)?(?:urlset|sitemapindex|rss|feed|rdf))[\s>]", re.I)
_DECLARED = re.compile(rb"<\?xml[^>]{0,200}?\bencoding\s*=\s*[\"']([\w.:-]{1,40})", re.I)
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([\w.:-]{1,40})", re.I)
# encodings that agree with ASCII on markup; other names (utf-7, idna, punycode ...) are attacks or mistakes
_KNOWN_ENCODING = re.compile(
    r"utf-?8|us-ascii|ascii|iso[-_]?8859-?\d{1,2}|latin-?1|(?:windows|cp)-?12\d\d|koi8-[ru]"
    r"|gb2312|gbk|gb18030|big5|euc-?(?:jp|kr)|shift[-_]?jis"
)


def unpack(body: bytes, max_decoded_b: int = MAX_SITEMAP_B) -> tuple[bytes, str]:
    """The body without gzip, told by its first bytes and not by names, at most the bound, and what went wrong.

    A file that was packed, and packed again for the way, has two layers.
    """
    problem = ""
    for _ in range(2):
        if not body.startswith(_GZIP):
            break
        body, cut, problem = decode_body(body, ("gzip",), max_decoded_b)
        if cut or problem:
            return body, problem or f"unpacks to more than {max_decoded_b} bytes: {LEFT_OUT}"
    if len(body) > max_decoded_b:
        return body[:max_decoded_b], f"longer than {max_decoded_b} bytes: {LEFT_OUT}"
    return body, problem


def ascii_compatible(body: bytes) -> bytes:
    """The body without byte order mark and leading space, UTF-16 turned into UTF-8."""
    if body.startswith((b"\xff\xfe", b"\xfe\xff")):
        body = body.decode("utf-16", "replace").encode("utf-8", "replace")
    elif body.startswith(b"<\0"):
        body = body.decode("utf-16-le", "replace").encode("utf-8", "replace")
    elif body.startswith(b"\0<"):
        body = body.decode("utf-16-be", "replace").encode("utf-8", "replace")
    return body.removeprefix(b"\xef\xbb\xbf").lstrip(_SPACE)


def sniff(body: bytes) -> str:
    """The media type by content: application/gzip, application/xml or text/plain."""
    if body.startswith(_GZIP):
        return "application/gzip"
    text = ascii_compatible(body[:WINDOW_B])
    return "application/xml" if text.startswith(b"<") or _XML_SIGNS.search(text, 0, 4096) else "text/plain"


def encoding_of(body: bytes, content_type: str | None) -> str:
    declared = _DECLARED.match(body)
    if declared:
        name = declared.group(1).decode("ascii").lower()
    else:
        charset = _CHARSET.search(content_type or "")
        name = charset.group(1).lower() if charset else "utf-8"
    return name if _KNOWN_ENCODING.fullmatch(name) else "utf-8"
