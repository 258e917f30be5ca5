"""Sitemaps, indexes and feeds in XML: what their tags say."""

from __future__ import annotations

from typing import Final

from weft.fetch.sitemaps.dates import rss_date, w3c_date
from weft.fetch.sitemaps.found import (
    LEFT_OUT,
    MAX_ALTERNATES,
    MAX_EXTRA_FIELDS,
    MAX_IDLE_TAGS,
    MAX_TAGS,
    MAX_TEXT_B,
    WINDOW_B,
    Extra,
    Kind,
    Sitemap,
    SitemapEntry,
    http_url,
)
from weft.fetch.sitemaps.tags import ENTITY, OWN_ENTITY, attributes_of, character, pieces_of, split_name

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
_EXTENSIONS: Final = frozenset({"image", "video", "news", "pagemap"})


class _OpenEntry:
    """What is known so far of the entry that is being read."""

    __slots__ = ("alternates", "bare", "extras", "name", "values")

    def __init__(self, name: str, bare: bytes = b"") -> None:
        self.name = name
        self.bare = bare  # text that stands in no field
        self.values: dict[str, list[str]] = {}
        self.alternates: list[str] = []
        self.extras: list[Extra] = []

    def add(self, name: str, value: str) -> None:
        self.values.setdefault(name, []).append(value)

    def first(self, *names: str) -> str | None:
        """The first value of the first of these fields that is there, or None."""
        return next((self.values[name][0] for name in names if name in self.values), None)


class _OpenExtra:
    """An image, video, news or PageMap element that is being read."""

    __slots__ = ("attributes", "field", "fields", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.fields: list[tuple[str, str, dict[str, str]]] = []
        self.field = ""  # the element inside it that was opened last and is not yet among the fields
        self.attributes: dict[str, str] = {}


class XmlReader:
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
        named = idle_tags = 0
        for text, pieces in pieces_of(body):
            tags_left -= len(pieces) or 3  # a comment or CDATA section costs as much
            if text:
                self._add_text(text)
            self._read_pieces(pieces)
            idle_tags += len(pieces)
            if named != (now := len(self._sitemap.entries) + len(self._sitemap.children)):
                named, idle_tags = now, 0
            if self._full or tags_left < 0 or idle_tags > MAX_IDLE_TAGS or self._sitemap.root == "html":
                break
        self._end_entry()
        self._sitemap.problem = self._problem(tags_left, idle_tags)
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
                self._add_cut_tag(piece)
            elif tag[:1] == b"/":
                self._end(tag[1:], text)
            elif tag[:1] == b"?":
                self._add_text(text)  # a processing instruction may stand inside a field
            else:
                self._start(tag, text)

    def _problem(self, tags_left: int, idle_tags: int) -> str:
        if self._full:
            return f"more than {self._max_urls} URLs: {LEFT_OUT}"
        if tags_left < 0:
            return f"more than {MAX_TAGS} tags: {LEFT_OUT}"
        if idle_tags > MAX_IDLE_TAGS:
            return f"more than {MAX_IDLE_TAGS} tags in a row that name nothing: {LEFT_OUT}"
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
            prefix, local = split_name(tag)
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
            self._entry = _OpenEntry(name, text)

    def _start_root(self, tag: bytes) -> None:
        """Tells the kind by the first element that says it: PHP's warnings may stand before that."""
        sitemap = self._sitemap
        prefix, local = split_name(tag)
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
            self._add_atom_link(entry, attributes_of(tag))
        elif kind == "urlset" and name.endswith(":link"):
            if self._extensions or self._has_room_for_alternate(entry):
                self._add_alternate(entry, attributes_of(tag))
        elif name.endswith(":mobile"):
            self._add_extra(entry, Extra("mobile", ()))
        elif not empty and name.rpartition(":")[2] in _EXTENSIONS:
            self._extra = _OpenExtra(name)
            self._text, self._text_b = [], 0
        elif not empty and name == entry.name:
            self._end_entry()  # its end tag was forgotten
            self._entry = _OpenEntry(name, text)

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
        if self._field or self._extra:
            if self._text_b <= MAX_TEXT_B:
                self._text.append(text)
                self._text_b += len(text)
        elif self._entry and not self._entry.values and len(self._entry.bare) <= MAX_TEXT_B:
            self._entry.bare += text

    def _add_cut_tag(self, piece: bytes) -> None:
        """A tag that never ends. Of an end tag the first two characters suffice: no URL holds them."""
        if piece[:1] == b"/" and self._field and not self._nested:
            self._end_field()
        else:
            self._add_text(b"&lt;" + piece)

    def _decoded(self, text: bytes) -> str:
        try:
            value = text.decode(self._encoding).strip()
        except UnicodeDecodeError:
            value = text.decode("utf-8", "replace").strip()
        if "&" not in value:
            return value
        value = ENTITY.sub(character, value)
        # an entity of the file's own is never expanded: it stands for nothing
        return OWN_ENTITY.sub("", value).strip() if self._declares_entities else value

    def _set(self, name: str, text: bytes) -> None:
        entry = self._entry
        if entry is None or len(text) > MAX_TEXT_B:
            return
        if name == "loc" and name in entry.values and entry.first(name):
            # between two of them, the end of an entry and the start of the next were forgotten
            self._end_entry()
            entry = self._entry = _OpenEntry(entry.name)
        entry.add(name, self._decoded(text))

    def _end_field(self) -> None:
        name, self._field = self._field, ""
        self._set(name, b"".join(self._text))

    def _add_atom_link(self, entry: _OpenEntry, attributes: dict[str, str]) -> None:
        if attributes.get("rel", "alternate") == "alternate" and attributes.get("href"):
            entry.add("link", attributes["href"])

    def _add_alternate(self, entry: _OpenEntry, attributes: dict[str, str]) -> None:
        absolute = http_url(self._url, attributes.get("href", ""))
        if absolute is None:
            return
        self._add_extra(entry, Extra("links", (("link", absolute, attributes),)))
        if attributes.get("rel", "alternate") == "alternate" and self._has_room_for_alternate(entry):
            self._alternates_left -= 1
            entry.alternates.append(absolute)

    def _has_room_for_alternate(self, entry: _OpenEntry) -> bool:
        return self._alternates_left > 0 and len(entry.alternates) < MAX_ALTERNATES

    # -- images, videos, news, PageMaps, and the marks of links and mobile pages

    def _add_extra(self, entry: _OpenEntry, extra: Extra) -> None:
        if self._extensions and len(entry.extras) < MAX_ALTERNATES:
            entry.extras.append(extra)

    def _start_extra_field(self, extra: _OpenExtra, name: str, tag: bytes, text: bytes) -> None:
        if self._extensions:
            self._end_extra_field(extra)  # an element around this one comes before it
            extra.field, extra.attributes = name, attributes_of(tag)
        self._text, self._text_b = [text], len(text)
        if tag.endswith(b"/"):
            self._end_extra_field(extra)

    def _end_in_extra(self, extra: _OpenExtra, name: str) -> None:
        if name == extra.name:
            self._extra = None
            if self._entry:
                self._add_extra(self._entry, Extra(name.rpartition(":")[2], tuple(extra.fields)))
        elif name == extra.field:
            self._end_extra_field(extra)

    def _end_extra_field(self, extra: _OpenExtra) -> None:
        if extra.field and self._text_b <= MAX_TEXT_B and len(extra.fields) < MAX_EXTRA_FIELDS:
            local = extra.field.rpartition(":")[2]
            extra.fields.append((local, self._decoded(b"".join(self._text)), extra.attributes))
        extra.field, extra.attributes, self._text, self._text_b = "", {}, [], 0

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
        for loc in entry.values.get("loc", ()) or self._bare_loc(entry):
            self._keep(entry, loc, lastmod, date)

    def _bare_loc(self, entry: _OpenEntry) -> tuple[str, ...]:
        """The URL that stands in an entry without ``<loc>`` around it."""
        text = self._decoded(entry.bare) if len(entry.bare) <= MAX_TEXT_B else ""
        return (text,) if text.lower().startswith(("http://", "https://")) else ()

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
        absolute = http_url(self._url, loc)
        if absolute is None:
            return
        kept = self._sitemap.children if entry.name == "sitemap" else self._sitemap.entries
        if len(kept) >= self._max_urls:
            self._full = True
            return
        change, priority = entry.first("changefreq"), entry.first("priority")
        alternates, extras = tuple(entry.alternates), tuple(entry.extras)
        kept.append(SitemapEntry(absolute, lastmod, loc, date, change, priority, alternates, extras))
