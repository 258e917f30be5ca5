"""What a body is: its media type, its encoding, its text.

Header first, then content, as browsers do (WHATWG MIME Sniffing, Encoding, HTML 13.2.3). Nothing here raises on any
input.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from importlib import import_module
from typing import Final

from weft import native
from weft.parse.bounds import memory_bound
from weft.text.patterns import regex

XHTML: Final = "application/xhtml+xml"
HTML_TYPES: Final = frozenset({"text/html", XHTML})

PRESCAN_B: Final = 1_024
LATE_META_B: Final = 65_536
"""Browsers start over when a meta far down names another encoding; here it is looked for up to this many bytes."""

_SAMPLE_B = 16_384  # what detection reads: it costs 100 ns a byte
_UTF16_B = 512

_TYPE = re.compile(
    r"[ \t\r\n]*([!#$%&'*+\-.^_`|~0-9A-Za-z]{1,127}/[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,127})[ \t\r\n]*(?:[;,]|$)"
)
_CHARSET = re.compile(
    r'"(?:[^"\\]|\\.)*+(?:"|$)'  # a quoted value of another parameter: what it holds is no parameter
    r'|(?<![^\s;,:])charset=(?:"((?:[^"\\]|\\.)*+)"|[ \t]*+([^\s;,"]+))(?=\s*(?:[;,]|$))',
    re.IGNORECASE,
)
_COMMON_LABELS = {
    "utf-8": "utf-8",
    "utf8": "utf-8",
    "iso-8859-1": "windows-1252",
    "us-ascii": "windows-1252",
    "windows-1252": "windows-1252",
}
_UNKNOWN_TYPES = frozenset({"", "unknown/unknown", "application/unknown", "*/*"})

_SIGNATURES: Final[tuple[tuple[bytes, str], ...]] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"\x00\x00\x01\x00", "image/x-icon"),
    (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"),
    (b"%PDF-", "application/pdf"),
    (b"%!PS-Adobe-", "application/postscript"),
    (b"\x1f\x8b\x08", "application/gzip"),
    (b"PK\x03\x04", "application/zip"),
    (b"PK\x05\x06", "application/zip"),
    (b"Rar!\x1a\x07", "application/x-rar-compressed"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"\xfd7zXZ\x00", "application/x-xz"),
    (b"\x28\xb5\x2f\xfd", "application/zstd"),
    (b"BZh91AY&SY", "application/x-bzip2"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
    (b"OggS\x00", "application/ogg"),
    (b"ID3\x02", "audio/mpeg"),
    (b"ID3\x03", "audio/mpeg"),
    (b"ID3\x04", "audio/mpeg"),
    (b"fLaC\x00", "audio/flac"),
    (b"MThd\x00\x00\x00\x06", "audio/midi"),
    (b"\x1aE\xdf\xa3", "video/webm"),
    (b"wOFF", "font/woff"),
    (b"wOF2", "font/woff2"),
    (b"\x00\x01\x00\x00\x00", "font/ttf"),
    (b"OTTO\x00", "font/otf"),
    (b"\x7fELF", "application/x-executable"),
    (b"\x00asm", "application/wasm"),
)
"""First bytes that no text starts with (a page that says "GIF89a" or "%PDF-" is not HTML either)."""

_FIRST_BYTES = frozenset(signature[0] for signature, _ in _SIGNATURES)
_RIFF = {b"WEBP": "image/webp", b"AVI ": "video/avi", b"WAVE": "audio/wave"}
_BINARY = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_LOOKS_LIKE_HTML = regex(
    rb"[\t\n\x0c\r ]*(?:<!--|<(?:!doctype html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p)"
    rb"[ >\t\r\n/])",
    re.IGNORECASE,
)
_LOOKS_LIKE_XML = regex(rb"[\t\n\x0c\r ]*<\?xml")
_FEED = regex(
    rb"(?:\xef\xbb\xbf)?(?:[\t\n\x0c\r ]++|<!--(?:[^-]++|-(?!->))*+-->|<\?(?:[^?]++|\?(?!>))*+\?>|<![^>-][^>]*+>)*+"
    rb"<(rss|feed|rdf:RDF)[\s>]"
)
_FEED_TYPES = {b"rss": "application/rss+xml", b"feed": "application/atom+xml", b"rdf:RDF": "application/rss+xml"}
_XML_ENCODING = regex(rb"""<\?xml(?=[^>]*>).*?encoding[\x00-\x20]*=[\x00-\x20]*(?:"([^"]*)"|'([^']*)')""", re.DOTALL)
_SNIFFED_B = 1_445  # the standard's resource header
_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xfe\xff", "utf-16be"), (b"\xff\xfe", "utf-16le"))
_MARKS = tuple(mark for mark, _ in _BOMS)


def field_that_counts(content_types: Sequence[str]) -> str | None:
    """Of several Content-Type fields the last that names a type, as browsers have it (Fetch, extract a MIME type)."""
    if len(content_types) < 2:
        return content_types[0] if content_types else None
    named = [field for field in content_types if declared_type(field) not in ("", "*/*")]
    return named[-1] if named else content_types[0]


def media_type(content_type: str | None, body: bytes) -> str:
    """The media type, lower case, without parameters.

    The header counts unless the first bytes prove it wrong: a PNG or a PDF declared as HTML is a PNG or a PDF, plain
    text full of control bytes is binary. Without a usable header the bytes alone decide.
    """
    declared = declared_type(content_type)
    if declared in HTML_TYPES:
        if body[:14].lower() == b"<!doctype html":  # nearly every page; it can be nothing else
            return declared
        return _signature_type(body) or _feed_type(body) or declared
    if declared in _UNKNOWN_TYPES:
        return _unknown_type(body)
    if declared == "text/plain" and _is_binary(body):
        return _signature_type(body) or "application/octet-stream"
    return declared


_IN_ZIP: Final = (
    (b"word/", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    (b"ppt/", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    (b"xl/", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
)
_OLE_TYPES: Final = frozenset({"application/msword", "application/vnd.ms-excel", "application/vnd.ms-powerpoint"})
_OPEN_DOCUMENT = b"mimetypeapplication/vnd.oasis.opendocument."
_SVG = regex(
    rb"(?:\xef\xbb\xbf)?(?:\s++|<\?(?:[^?]++|\?(?!>))*+\?>|<!--(?:[^-]++|-(?!->))*+-->|<![^>-][^>]*+>)*+<svg[\s>]",
    re.IGNORECASE,
)


def file_type(content_type: str | None, body: bytes) -> str:
    """The media type of a file, by its content where that tells, else as it is declared."""
    proven = _signature_type(body)
    declared = declared_type(content_type)
    if proven == "application/zip":
        return _type_in_zip(body) or (declared if declared not in _UNKNOWN_TYPES | HTML_TYPES else proven)
    if proven == "application/x-ole-storage":
        return declared if declared in _OLE_TYPES else proven
    if proven:
        return proven
    if _SVG.match(body, 0, 4 * _SNIFFED_B):
        return "image/svg+xml"
    if body.startswith(b"{\\rtf"):
        return "application/rtf"
    if body.startswith(b"BM") and _is_binary(body):
        return "image/bmp"
    if declared.startswith("image/") or declared == "application/pdf":  # it is none, or would have shown so
        return declared if _is_binary(body) and declared.startswith("image/") else _unknown_type(body)
    return media_type(content_type, body)


def _type_in_zip(body: bytes) -> str:
    """The type of an office document by the names of the files in its archive; "" for other archives."""
    at = body.find(_OPEN_DOCUMENT, 0, 256)
    if at >= 0:
        return body[at + 8 : at + 100].split(b"PK", 1)[0].decode("ascii", "replace")
    names = [(at, media) for name, media in _IN_ZIP if (at := body.find(name)) >= 0]
    return min(names)[1] if names and b"[Content_Types].xml" in body else ""


def is_html(media: str) -> bool:
    """Whether a media type is one that is parsed as HTML."""
    return media in HTML_TYPES


@lru_cache(maxsize=512)
def charset_of(content_type: str | None) -> str | None:
    """The encoding that a Content-Type header names, by its WHATWG name in lower case; None where it names none."""
    if not content_type:
        return None
    for match in _CHARSET.finditer(content_type[:1_000]):
        name = encoding_named((match[1] or "").replace("\\", "") or match[2] or "")
        if name:
            return name
    return None


@lru_cache(maxsize=512)
def encoding_named(label: str) -> str | None:
    """The WHATWG name, in lower case, of the encoding that a label stands for; None for an unknown label."""
    known = _COMMON_LABELS.get(label.lower())
    if known:
        return known
    import turbohtml  # it knows all of them; most crawls meet none but these

    try:
        name = turbohtml.parse(b"", encoding=label).encoding if len(label) < 50 else None
    except (LookupError, ValueError):
        return None
    return name.lower() if name else None


def sniff_encoding(body: bytes, http_charset: str | None, media: str = "text/html") -> str:
    """The WHATWG name of the body's encoding: byte order mark, header, meta, XML declaration, else by its looks.

    XML that names none is UTF-8 (XML 1.0, 4.3.3); where its bytes are none, it is read as HTML is.
    """
    if body.startswith(_MARKS):
        return next(name for mark, name in _BOMS if body.startswith(mark))
    declared = encoding_named(http_charset) if http_charset else None
    named = declared or _meta_encoding(body) or _xml_encoding(body)
    if named is None and media == XHTML and body.isascii() and b"\0" not in body[:_UTF16_B]:
        return "utf-8"
    return named or _detected_encoding(body)


def decode(body: bytes, encoding: str) -> str:
    """The text, byte order mark removed, what cannot be decoded replaced; an unknown encoding is taken for UTF-8."""
    name = encoding_named(encoding) or "utf-8"
    text = body.decode("utf-8", "replace") if name == "utf-8" else _decoded(body, name)
    return text[1:] if name.startswith("utf-") and text.startswith("\ufeff") else text


def _decoded(body: bytes, encoding: str) -> str:
    import_module("turbohtml.detect")  # registers the decoders of the Encoding Standard as "whatwg-*" codecs
    return body.decode("whatwg-" + encoding, "replace")


@lru_cache(maxsize=512)
def declared_type(content_type: str | None) -> str:
    match = _TYPE.match(content_type[:1_000]) if content_type else None
    return match[1].lower() if match else ""


def _signature_type(body: bytes) -> str:
    """The type that the first bytes prove, or an empty string."""
    if body[:1] and body[0] in _FIRST_BYTES:
        for signature, media in _SIGNATURES:
            if body.startswith(signature):
                return media
    if body[:4] == b"RIFF":
        return _RIFF.get(body[8:12], "")
    if body[4:8] == b"ftyp" and b"\x00" in body[:4]:
        return "image/avif" if body[8:12] in (b"avif", b"avis") else "video/mp4"
    return ""


def _feed_type(body: bytes) -> str:
    """The type of a feed that is served as HTML, or an empty string."""
    match = _FEED.match(body, 0, _SNIFFED_B)
    return _FEED_TYPES[match[1]] if match else ""


def _unknown_type(body: bytes) -> str:
    head = body[:_SNIFFED_B]
    bare = head[3:] if head.startswith(b"\xef\xbb\xbf") else head
    if _LOOKS_LIKE_HTML.match(bare):
        return "text/html"
    if _LOOKS_LIKE_XML.match(bare):
        return XHTML if b"<html" in head else _feed_type(body) or "text/xml"
    found = _signature_type(body) or _feed_type(body)
    if found:
        return found
    if head.startswith(b"BM") and _is_binary(body):
        return "image/bmp"
    return "application/octet-stream" if _is_binary(body) else "text/plain"


def _is_binary(body: bytes) -> bool:
    head = body[:_SNIFFED_B]
    return not head.startswith((b"\xfe\xff", b"\xff\xfe", b"\xef\xbb\xbf")) and _BINARY.search(head) is not None


def _meta_encoding(body: bytes) -> str | None:
    """The encoding that the document itself declares, or None."""
    found = _prescan(body)
    if found or b"charset" not in body[PRESCAN_B:LATE_META_B].lower():
        return found
    import turbohtml

    try:
        with memory_bound():
            document = turbohtml.parse(body[:LATE_META_B], positions=False)
    except Exception:  # foreign code; a document it cannot take declares nothing
        return None
    certain = document.encoding_confidence == "certain" and document.encoding
    return certain.lower() if certain else None


def _prescan(body: bytes) -> str | None:
    """The encoding that the first meta to name one names (HTML, prescan a byte stream); ends at the first cut tag."""
    at = 0
    while found := native.meta_label(body, at, PRESCAN_B):
        label, at = found
        name = encoding_named(label)
        if name and name.startswith("utf-16"):
            return "utf-8"  # what was read as ASCII is not UTF-16
        if name:
            return "windows-1252" if name == "x-user-defined" else name
    return None


def _xml_encoding(body: bytes) -> str | None:
    """The encoding that an XML declaration at the very start names (HTML, get an XML encoding), or None."""
    if not body.startswith(b"<?xml"):
        return None
    match = _XML_ENCODING.match(body, 0, PRESCAN_B)
    name = encoding_named((match[1] or match[2] or b"").decode("latin-1")) if match else None
    return "utf-8" if name and name.startswith("utf-16") else name


def _detected_encoding(body: bytes) -> str:
    if b"\0" in body[:_UTF16_B] and (unmarked := _unmarked_utf16(body[:_UTF16_B])):
        return unmarked
    if body.isascii() and b"\x1b" not in body:
        return "windows-1252"
    if _is_utf8(body):
        return "utf-8"
    from turbohtml.detect import detect

    try:
        found = detect(_sample(body)).encoding
    except Exception:  # foreign code; without its guess the standard's default holds
        found = None
    name = encoding_named(found) if found else None
    return name or "windows-1252"


def _unmarked_utf16(head: bytes) -> str:
    """The byte order of UTF-16 that nothing declares: markup, whose every second byte is then zero; else ""."""
    for name, first, second in (("utf-16le", head[::2], head[1::2]), ("utf-16be", head[1::2], head[::2])):
        if b"<" in first and not first.count(0) and 2 * second.count(0) > len(second):
            return name
    return ""


def _is_utf8(body: bytes) -> bool:
    """Whether the body is UTF-8 with some character beyond ASCII; its last character may be cut."""
    if body.isascii():
        return False
    try:
        body.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start > 0 and error.start >= len(body) - 3 and "unexpected end" in error.reason
    return True


def _sample(body: bytes) -> bytes:
    """The part of the body that tells most: from a little before its first byte beyond ASCII.

    It ends before a space, which is no part of a longer character in any encoding: half a character would speak
    against the right one.
    """
    match = re.search(rb"[\x1b\x80-\xff]", body)
    start = max(0, match.start() - 1_024) if match else 0
    sample = body[start : start + _SAMPLE_B]
    if start + _SAMPLE_B < len(body):
        end = max(sample.rfind(b" "), sample.rfind(b"\n"))
        return sample[:end] if end > _SAMPLE_B // 2 else sample
    return sample
