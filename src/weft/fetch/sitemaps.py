"""What a sitemap names: XML sitemaps and indexes, RSS, Atom and plain lists, good and bad.

Pure and bounded. The XML is cut into tags here and not given to an XML parser: real sitemaps hold bare ampersands,
wrong namespaces and unclosed tags, at which an XML parser ends; and what is never parsed cannot attack. A DOCTYPE is
skipped whole, no entity but the five of XML is known, nothing is ever fetched, memory is the body and what is found in
it, time is linear in the body. What is found in spite of a fault is kept, and ``problem`` says what the fault was.

Not done here: fetching, loops between indexes, and whether a URL is in the crawl's scope.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Final, Literal, NamedTuple
from urllib.parse import urlsplit

from weft.fetch.decode import decode_body
from weft.url import resolve

MAX_URLS: Final = 50_000  # sitemaps.org
MAX_DECODED_B: Final = 52_428_800  # sitemaps.org: 50 MiB
MAX_TEXT_B: Final = 16_384  # of one field or line; a longer one is no URL
MAX_TAG_B: Final = 4_096  # of a tag whose attributes are read
MAX_ALTERNATES: Final = 200  # of one entry
MAX_EXTRA_FIELDS: Final = 1_000  # of one extension
MAX_TAGS: Final = 2_000_000  # 50,000 entries with 35 tags each; a body of nothing but tags costs no more than that
WINDOW_B: Final = 1 << 18

Kind = Literal["urlset", "index", "rss", "atom", "text", "none"]


class Extra(NamedTuple):
    """One image, video or news element of an entry: its fields in order as (name, text, attributes)."""

    kind: str
    fields: tuple[tuple[str, str, dict[str, str]], ...]


class SitemapEntry(NamedTuple):
    """One URL that a sitemap names. ``url`` is absolute and serialised; texts are as written, None where absent."""

    url: str
    lastmod: str | None = None  # ISO 8601, UTC, ends in Z; None where absent or not a date
    loc: str = ""
    lastmod_text: str | None = None
    changefreq: str | None = None
    priority: str | None = None
    alternates: tuple[str, ...] = ()
    extras: tuple[Extra, ...] = ()


@dataclass
class Sitemap:
    """What a sitemap names: pages in ``entries``, further sitemaps in ``children``."""

    kind: Kind = "none"
    root: str = ""  # local name of the first element, lower case
    entries: list[SitemapEntry] = field(default_factory=list)
    children: list[SitemapEntry] = field(default_factory=list)
    problem: str = ""


def parse_sitemap(
    body: bytes,
    url: str,
    content_type: str | None = None,
    *,
    max_urls: int = MAX_URLS,
    max_decoded_b: int = MAX_DECODED_B,
    extensions: bool = False,
) -> Sitemap:
    """What the sitemap found at ``url`` names. Never raises; ``problem`` is empty where all was well.

    ``extensions`` keeps images, videos and news of the entries too.
    """
    unpacked, problem = unpack(body, max_decoded_b)
    text = _ascii_compatible(unpacked)
    if sniff(text) == "application/xml":
        sitemap = _XmlReader(url, _encoding_of(text, content_type), max_urls, extensions).read(text)
    else:
        sitemap = _read_lines(text, url, max_urls)
    if problem:
        sitemap.problem = problem
    return sitemap


# --- bytes ---------------------------------------------------------------------------------------------------------

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


def unpack(body: bytes, max_decoded_b: int = MAX_DECODED_B) -> tuple[bytes, str]:
    """The body without gzip, told by its first bytes and not by names, at most the bound, and what went wrong.

    A file that was packed, and packed again for the way, has two layers.
    """
    problem = ""
    for _ in range(2):
        if not body.startswith(_GZIP):
            break
        body, cut, problem = decode_body(body, ("gzip",), max_decoded_b)
        if cut or problem:
            return body, problem or f"unpacks to more than {max_decoded_b} bytes: the rest is left out"
    if len(body) > max_decoded_b:
        return body[:max_decoded_b], f"longer than {max_decoded_b} bytes: the rest is left out"
    return body, problem


def _ascii_compatible(body: bytes) -> bytes:
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
    text = _ascii_compatible(body[:WINDOW_B])
    return "application/xml" if text.startswith(b"<") or _XML_SIGNS.search(text, 0, 4096) else "text/plain"


def _encoding_of(body: bytes, content_type: str | None) -> str:
    declared = _DECLARED.match(body)
    if declared:
        name = declared.group(1).decode("ascii").lower()
    else:
        charset = _CHARSET.search(content_type or "")
        name = charset.group(1).lower() if charset else "utf-8"
    return name if _KNOWN_ENCODING.fullmatch(name) else "utf-8"


# --- plain lists ---------------------------------------------------------------------------------------------------

_URL_LINE = re.compile(rb"^[ \t]*(https?://[^\r\n]{1,%d})" % MAX_TEXT_B, re.I | re.M)


def _read_lines(body: bytes, url: str, max_urls: int) -> Sitemap:
    """The URLs of a list, one a line; other lines say nothing."""
    sitemap = Sitemap()
    for found in _URL_LINE.finditer(body.replace(b"\r", b"\n")):
        loc = found.group(1).decode("utf-8", "replace").strip()
        absolute = _http_url(url, loc)
        if absolute is None:
            continue
        if len(sitemap.entries) >= max_urls:
            sitemap.problem = f"more than {max_urls} URLs: the rest is left out"
            break
        sitemap.entries.append(SitemapEntry(absolute, loc=loc))
    if sitemap.entries:
        sitemap.kind = "text"
    else:
        sitemap.problem = "not a sitemap" if body else "empty"
    return sitemap


def _http_url(base: str, loc: str) -> str | None:
    found = resolve(base, loc) if loc else None
    if found is None or not found.startswith(("http://", "https://")):
        return None
    return found.partition("#")[0]


# --- XML -----------------------------------------------------------------------------------------------------------

_ENTITY = re.compile(r"&(?:(amp|lt|gt|quot|apos)|#(\d{1,7})|#[xX]([0-9A-Fa-f]{1,6}));")
_OWN_ENTITY = re.compile(r"&[A-Za-z_:][\w:.-]{0,64};")
_NAMED: Final = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_ATTRIBUTE = re.compile(r"(?<![\w:.-])([\w:.-]{1,64})\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_DOCTYPE_END = re.compile(rb"\]\s*>")
_ROOTS: Final[dict[str, Kind]] = {
    "urlset": "urlset",
    "url": "urlset",
    "sitemapindex": "index",
    "sitemap": "index",
    "rss": "rss",
    "rdf": "rss",
    "feed": "atom",
}
_ENTRY: Final[dict[Kind, frozenset[str]]] = {
    "urlset": frozenset({"url", "sitemap"}),
    "index": frozenset({"sitemap", "url"}),
    "rss": frozenset({"item"}),
    "atom": frozenset({"entry"}),
    "none": frozenset(),
}
_FIELDS: Final[dict[Kind, frozenset[str]]] = {
    "urlset": frozenset({"loc", "lastmod", "changefreq", "priority"}),
    "index": frozenset({"loc", "lastmod"}),
    "rss": frozenset({"link", "guid", "pubdate", "date"}),
    "atom": frozenset({"id", "updated", "published", "modified"}),
    "none": frozenset(),
}
_EXTENSIONS: Final = frozenset({"image", "video", "news"})


def _character(found: re.Match[str]) -> str:
    """What one of XML's five entities or a character reference stands for."""
    named, decimal, hexadecimal = found.groups()
    if named:
        return _NAMED[named]
    code = int(decimal) if decimal else int(hexadecimal, 16)
    return chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"


def _pieces(body: bytes) -> Iterator[tuple[bytes, list[bytes]]]:
    """The markup in batches: text that goes on, then pieces ``tag>text``.

    Comments and DOCTYPE are left out, CDATA is text. A batch is about WINDOW_B long: memory does not follow the body.
    """
    at, end = 0, len(body)
    while at < end:
        special = body.find(b"<!", at)
        stop = end if special < 0 else special
        while at < stop:
            cut = min(at + WINDOW_B, stop)
            if cut < stop:
                before = body.rfind(b"<", at + 1, cut)
                behind = body.find(b"<", cut, stop) if before < 0 else before
                cut = stop if behind < 0 else behind
            text, *pieces = body[at:cut].split(b"<")
            yield text, pieces
            at = cut
        if special >= 0:
            at, literal = _past_special(body, special)
            yield literal, []


def _past_special(body: bytes, at: int) -> tuple[int, bytes]:
    """Where what begins with ``<!`` ends, and its literal text if it is CDATA. Unclosed, it swallows the rest."""
    if body.startswith(b"<!--", at):
        close = body.find(b"-->", at + 4)
        return (len(body) if close < 0 else close + 3), b""
    if body.startswith(b"<![CDATA[", at):
        close = body.find(b"]]>", at + 9)
        stop = len(body) if close < 0 else close
        literal = body[at + 9 : min(stop, at + 9 + MAX_TEXT_B + 1)].replace(b"&", b"&amp;").replace(b"<", b"&lt;")
        return (len(body) if close < 0 else close + 3), literal
    close = body.find(b">", at)
    subset = body.find(b"[", at, close if close >= 0 else len(body))
    if subset >= 0:
        found = _DOCTYPE_END.search(body, subset)
        close = found.end() - 1 if found else -1
    return (len(body) if close < 0 else close + 1), b""


def _split_name(tag: bytes) -> tuple[str, str]:
    """Prefix and local name of a tag, in lower case."""
    words = tag[:256].split(None, 1)
    name = words[0].rstrip(b"/").decode("utf-8", "replace").lower() if words else ""
    prefix, _, local = name.rpartition(":")
    return prefix, local


def _attributes_of(tag: bytes) -> dict[str, str]:
    found = _ATTRIBUTE.findall(tag[:MAX_TAG_B].decode("utf-8", "replace"))
    return {name.lower(): _ENTITY.sub(_character, double or single).strip() for name, double, single in found}


class _OpenEntry:
    """What is known so far of the entry that is being read."""

    __slots__ = ("alternates", "extras", "name", "values")

    def __init__(self, name: str) -> None:
        self.name = name
        self.values: dict[str, list[str]] = {}
        self.alternates: list[str] = []
        self.extras: list[Extra] = []

    def add(self, name: str, value: str) -> None:
        self.values.setdefault(name, []).append(value)

    def first(self, *names: str) -> str | None:
        """The first value of the first of these fields that is there, or None."""
        return next((self.values[name][0] for name in names if name in self.values), None)


class _OpenExtra:
    """An image, video or news element that is being read."""

    __slots__ = ("attributes", "fields", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.fields: list[tuple[str, str, dict[str, str]]] = []
        self.attributes: dict[str, str] = {}


class _XmlReader:
    """Reads one XML sitemap: walks over the tags and keeps the fields of the entry that is open."""

    def __init__(self, url: str, encoding: str, max_urls: int, extensions: bool) -> None:
        self._url = url
        self._encoding = encoding
        self._max_urls = max_urls
        self._extensions = extensions
        self._sitemap = Sitemap()
        self._root_prefix = ""
        self._names: dict[bytes, str] = {}
        self._end_tags: dict[bytes, bytes] = {}  # of plain fields, by their start tags
        self._entry: _OpenEntry | None = None
        self._extra: _OpenExtra | None = None
        self._field = ""  # name of the open field
        self._nested = 0  # elements open inside the field
        self._text: list[bytes] = []
        self._text_b = 0
        self._alternates_left = max_urls
        self._declares_entities = False
        self._full = False
        self._closed = False

    def read(self, body: bytes) -> Sitemap:
        self._declares_entities = b"<!ENTITY" in body[:WINDOW_B]
        tags_left = MAX_TAGS
        for text, pieces in _pieces(body):
            tags_left -= len(pieces) or 3  # a comment or CDATA section costs as much
            if text:
                self._add_text(text)
            self._read_pieces(pieces)
            if self._full or tags_left < 0 or self._sitemap.root == "html":
                break
        self._end_entry()
        self._sitemap.problem = self._problem(tags_left)
        return self._sitemap

    def _read_pieces(self, pieces: list[bytes]) -> None:
        done = False
        for piece, following in zip(pieces, [*pieces[1:], b""], strict=False):
            if done:
                done = False
                continue
            tag, complete, text = piece.partition(b">")
            end_tag = self._end_tags.get(tag)
            if end_tag and following.startswith(end_tag) and self._entry and not (self._field or self._extra):
                self._set(self._names[tag], text)  # nearly all fields: spares the steps of _start and _end
                done = True
            elif not complete:
                self._add_text(b"&lt;" + piece)
            elif tag[:1] == b"/":
                self._end(tag[1:], text)
            elif tag[:1] != b"?":
                self._start(tag, text)

    def _problem(self, tags_left: int) -> str:
        if self._full:
            return f"more than {self._max_urls} URLs: the rest is left out"
        if tags_left < 0:
            return f"more than {MAX_TAGS} tags: the rest is left out"
        if self._sitemap.root == "html":
            return "an HTML page, not a sitemap"
        if self._sitemap.kind == "none":
            return "XML, but not a sitemap or feed"
        return "" if self._closed else "cut off or broken XML: what came before is kept"

    # -- tags

    def _name(self, tag: bytes) -> str:
        """What a tag is to us: the lower-case local name for the sitemap's own elements, ``prefix:name`` for others."""
        name = self._names.get(tag)
        if name is None:
            prefix, local = _split_name(tag)
            own = not prefix or prefix == self._root_prefix or (prefix, local) == ("dc", "date")
            name = local if own else f"{prefix}:{local}"
            if len(tag) <= 64 and len(self._names) < 1000:
                self._names[tag] = name
                if name in _FIELDS[self._sitemap.kind] and not tag.endswith(b"/"):
                    self._end_tags[tag] = b"/" + tag.split(None, 1)[0] + b">"
        return name

    def _start(self, tag: bytes, text: bytes) -> None:
        if self._sitemap.kind == "none":
            self._start_root(tag)
        kind = self._sitemap.kind
        empty = tag.endswith(b"/")
        name = self._name(tag)
        if self._field:
            if name == self._field or name not in _FIELDS[kind]:
                self._nested += not empty
                self._add_text(text)
                return
            self._end_field()  # its end tag was forgotten
        if self._extra:
            self._start_extra_field(self._extra, name, tag, text)
        elif self._entry:
            self._start_in_entry(self._entry, name, tag, text)
        elif not empty and name in _ENTRY[kind]:
            self._entry = _OpenEntry(name)

    def _start_root(self, tag: bytes) -> None:
        """Tells the kind by the first element that says it: PHP's warnings may stand before that."""
        sitemap = self._sitemap
        prefix, local = _split_name(tag)
        sitemap.root = sitemap.root or local
        kind = _ROOTS.get(local)
        if kind is not None and sitemap.root != "html":
            sitemap.kind, sitemap.root = kind, local
            self._root_prefix = prefix
            self._names.clear()

    def _start_in_entry(self, entry: _OpenEntry, name: str, tag: bytes, text: bytes) -> None:
        kind = self._sitemap.kind
        empty = tag.endswith(b"/")
        if name in _FIELDS[kind]:
            if empty:
                entry.add(name, "")
            else:
                self._field, self._nested = name, 0
                self._text, self._text_b = [text], len(text)
        elif kind == "atom" and name == "link":
            self._add_atom_link(entry, _attributes_of(tag))
        elif kind == "urlset" and name.endswith(":link"):
            self._add_alternate(entry, _attributes_of(tag))
        elif not empty and name.rpartition(":")[2] in _EXTENSIONS:
            self._extra = _OpenExtra(name)
            self._text, self._text_b = [], 0
        elif not empty and name == entry.name:
            self._end_entry()  # its end tag was forgotten
            self._entry = _OpenEntry(name)

    def _end(self, tag: bytes, text: bytes) -> None:
        name = self._name(tag)
        if self._field:
            if name != self._field and self._nested:
                self._nested -= 1
                self._add_text(text)
                return
            self._end_field()
            if name in _FIELDS[self._sitemap.kind]:
                return
        if self._entry and name == self._entry.name:
            self._end_entry()
        elif self._extra:
            self._end_in_extra(self._extra, name)
        elif name == self._sitemap.root:
            self._closed = True

    # -- text and fields

    def _add_text(self, text: bytes) -> None:
        if (self._field or self._extra) and self._text_b <= MAX_TEXT_B:
            self._text.append(text)
            self._text_b += len(text)

    def _decoded(self, text: bytes) -> str:
        try:
            value = text.decode(self._encoding).strip()
        except UnicodeDecodeError:
            value = text.decode("utf-8", "replace").strip()
        if "&" not in value:
            return value
        value = _ENTITY.sub(_character, value)
        # an entity of the file's own is not followed, and what it stands for is not guessed
        return "" if self._declares_entities and _OWN_ENTITY.search(value) else value

    def _set(self, name: str, text: bytes) -> None:
        if self._entry and len(text) <= MAX_TEXT_B:
            self._entry.add(name, self._decoded(text))

    def _end_field(self) -> None:
        self._set(self._field, b"".join(self._text))
        self._field = ""

    def _add_atom_link(self, entry: _OpenEntry, attributes: dict[str, str]) -> None:
        if attributes.get("rel", "alternate") == "alternate" and attributes.get("href"):
            entry.add("link", attributes["href"])

    def _add_alternate(self, entry: _OpenEntry, attributes: dict[str, str]) -> None:
        if attributes.get("rel", "alternate") != "alternate" or len(entry.alternates) >= MAX_ALTERNATES:
            return
        absolute = _http_url(self._url, attributes.get("href", ""))
        if absolute is not None and self._alternates_left > 0:
            self._alternates_left -= 1
            entry.alternates.append(absolute)

    # -- images, videos, news

    def _start_extra_field(self, extra: _OpenExtra, name: str, tag: bytes, text: bytes) -> None:
        self._text, self._text_b = [text], len(text)
        if self._extensions:
            extra.attributes = _attributes_of(tag)
            if tag.endswith(b"/"):
                self._end_in_extra(extra, name)

    def _end_in_extra(self, extra: _OpenExtra, name: str) -> None:
        local = name.rpartition(":")[2]
        if name == extra.name:
            self._extra = None
            if self._extensions and self._entry and len(self._entry.extras) < MAX_ALTERNATES:
                self._entry.extras.append(Extra(local, tuple(extra.fields)))
        elif self._extensions and self._text_b <= MAX_TEXT_B and len(extra.fields) < MAX_EXTRA_FIELDS:
            extra.fields.append((local, self._decoded(b"".join(self._text)), extra.attributes))
            extra.attributes, self._text, self._text_b = {}, [], 0

    # -- entries

    def _end_entry(self) -> None:
        entry = self._entry
        self._entry = self._extra = None
        self._field = ""
        if entry is None:
            return
        if self._sitemap.kind in ("rss", "atom"):
            self._keep_feed_entry(entry)
            return
        date = entry.first("lastmod")
        lastmod = (w3c_date(date) or rss_date(date)) if date else None
        for loc in entry.values.get("loc", ()):
            self._keep(entry, loc, lastmod, date)

    def _keep_feed_entry(self, entry: _OpenEntry) -> None:
        date = entry.first("pubdate", "date", "updated", "modified", "published")
        lastmod = (rss_date(date) or w3c_date(date)) if date else None
        # a guid or id is an address only if it looks like one, whatever isPermaLink says
        names = [*entry.values.get("guid", ()), *entry.values.get("id", ())]
        addresses = [name for name in names if name.lower().startswith(("http://", "https://"))]
        for loc in (*entry.values.get("link", ()), *addresses):
            if loc:
                self._keep(entry, loc, lastmod, date)
                return

    def _keep(self, entry: _OpenEntry, loc: str, lastmod: str | None, date: str | None) -> None:
        absolute = _http_url(self._url, loc)
        if absolute is None:
            return
        kept = self._sitemap.children if entry.name == "sitemap" else self._sitemap.entries
        if len(kept) >= self._max_urls:
            self._full = True
            return
        change, priority = entry.first("changefreq"), entry.first("priority")
        alternates, extras = tuple(entry.alternates), tuple(entry.extras)
        kept.append(SitemapEntry(absolute, lastmod, loc, date, change, priority, alternates, extras))


# --- dates ---------------------------------------------------------------------------------------------------------

_W3C = re.compile(
    r"(\d{4})(?:-(\d\d?)(?:-(\d\d?)"
    r"(?:[Tt ]\s?(\d\d?):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?\s?([Zz]|[+-]\d\d:?\d\d|[+-]\d\d)?)?)?)?"
)
_RSS = re.compile(
    r"(?:[A-Za-z]{3,9}\.?,?\s+)?(\d\d?)[\s-]([A-Za-z]{3})[a-z]{0,6}\.?[\s-](\d{4}|\d\d)\s+(\d\d?):(\d\d)(?::(\d\d))?"
    r"\s*([+-]\d\d:?\d\d|[A-Za-z]{1,4})"
)
_MONTHS: Final = "jan feb mar apr may jun jul aug sep oct nov dec"
_ZONES: Final = {"z": 0, "ut": 0, "utc": 0, "gmt": 0} | {
    f"{zone}{season}t": hours + (season == "d")  # RFC 822: EST, EDT ... PST, PDT
    for zone, hours in (("e", -5), ("c", -6), ("m", -7), ("p", -8))
    for season in "sd"
}


def _offset(text: str) -> timedelta | None:
    if text[0] in "+-":
        digits = text[1:].replace(":", "")
        minutes = int(digits[:2]) * 60 + int(digits[2:] or 0)
        return timedelta(minutes=-minutes if text[0] == "-" else minutes)
    hours = _ZONES.get(text.lower())
    return None if hours is None else timedelta(hours=hours)


def _utc(year: int, month: int, day: int, clock: tuple[int, int, int, int], zone: str) -> str | None:
    """The instant in UTC, as written in ISO 8601, or None if there is no such day, hour or zone."""
    offset = _offset(zone)
    hour, minute, second, millis = clock
    if offset is None:
        return None
    try:
        moment = datetime(year, month, day, hour, minute, min(second, 59), millis * 1000) - offset
    except (ValueError, OverflowError):
        return None
    return moment.isoformat(timespec="milliseconds" if millis else "seconds") + "Z"


@lru_cache(maxsize=4096)
def w3c_date(text: str) -> str | None:
    """A W3C date, from a year alone to fractions of a second, as ISO 8601 in UTC; None if it is none.

    A time without zone is taken for UTC.
    """
    found = _W3C.fullmatch(text.strip()[:64])
    if found is None:
        return None
    year, month, day, hour, minute, second, fraction, zone = found.groups()
    millis = int(((fraction or "0") + "00")[:3])
    clock = (int(hour or 0), int(minute or 0), int(second or 0), millis)
    return _utc(int(year), int(month or 1), int(day or 1), clock, zone or "Z")


@lru_cache(maxsize=4096)
def rss_date(text: str) -> str | None:
    """A date of RFC 822 or 2822, as ISO 8601 in UTC; None if it is none. Without a zone it is none."""
    found = _RSS.fullmatch(text.strip()[:64])
    if found is None:
        return None
    day, month, year, hour, minute, second, zone = found.groups()
    place = _MONTHS.find(month.lower())
    if place % 4:
        return None
    full_year = int(year) if len(year) == 4 else int(year) + (2000 if int(year) < 50 else 1900)
    return _utc(full_year, place // 4 + 1, int(day), (int(hour), int(minute), int(second or 0), 0), zone)


# --- scope ---------------------------------------------------------------------------------------------------------


def in_sitemap_scope(sitemap_base: str, url: str) -> bool:
    """Whether sitemaps.org lets a sitemap in the folder of ``sitemap_base`` speak for a URL: same origin, below it."""
    try:
        base, other = urlsplit(sitemap_base), urlsplit(url)
        if (base.scheme, base.hostname, base.port) != (other.scheme, other.hostname, other.port):
            return False
    except ValueError:
        return False
    folder = base.path[: base.path.rfind("/") + 1] or "/"
    return (other.path or "/").startswith(folder)
