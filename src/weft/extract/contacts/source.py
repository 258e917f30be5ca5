"""The source of a page: which of its parts are scripts and comments, and the stretches around places of interest."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from html import unescape
from typing import TYPE_CHECKING, Final, NamedTuple

from weft.extract.contacts.visible import Visible, visible

if TYPE_CHECKING:
    import re2

MARKUP: Final = "markup"
SCRIPT: Final = "script"
STYLE: Final = "style"
CONTEXT: Final = 60  # characters of text kept on either side of a find

_REACH_B = 256  # source before and behind a place, that is looked at
_CONTEXT_B = (240, 1_600)  # and that its context is made of: more where there are many tags
_WINDOW_B = 8_192  # near places share a stretch up to this long
_TAG_B = 8_192

_BLANKS = re.compile(r"\s+")
_CUT_TAG = re.compile(rb"\A[^<>]*>")
_UNSHOWN = re.compile(rb"<!--(?:(?!-->).)*+(?:-->|\Z)|<[^<>]*+(?:>|\Z)", re.DOTALL)
_INLINE = re.compile(
    rb"</?(?:a|b|i|u|em|strong|span|font|wbr|tt|code|small|big|nobr|s|sup|sub)(?:\s[^<>]*)?>", re.IGNORECASE
)
_HIDING_CLASS = re.compile(
    r"\.([\w-]+)\s*\{[^{}]*(?:display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?![.\d]))", re.IGNORECASE
)
_MIRRORING_CLASS = re.compile(r"\.([\w-]+)\s*\{[^{}]*bidi-override", re.IGNORECASE)


class Region(NamedTuple):
    """A part of the source that is all of one sort."""

    sort: str
    start: int
    end: int
    tag: bytes  # the start tag of a script


class Window(NamedTuple):
    """A stretch of markup as its reader sees it, and where in the source it begins."""

    page: Visible
    start: int
    end: int


class Source:
    """The bytes of a page, in UTF-8."""

    def __init__(self, body: bytes) -> None:
        self.body = body

    @cached_property
    def _parts(self) -> tuple[list[Region], list[tuple[int, int]]]:
        return _parts_of(self.body)

    @property
    def regions(self) -> list[Region]:
        """The whole source in parts: markup, scripts, style sheets."""
        return self._parts[0]

    def tag_at(self, place: int) -> tuple[int, int] | None:
        """From where to where the tag reaches that a place lies in; None for a place in text."""
        body = self.body
        opened = body.rfind(b"<", max(0, place - _TAG_B), place)
        if opened < 0 or body.find(b">", opened, place) >= 0:
            return None
        closed = body.find(b">", place, place + _TAG_B)
        return (opened, closed + 1) if closed >= 0 else None

    def comment_at(self, place: int) -> tuple[int, int] | None:
        """From where to where the comment reaches that a place lies in."""
        comments = self._parts[1]
        index = bisect_right(comments, (place, len(self.body) + 1)) - 1
        return comments[index] if index >= 0 and comments[index][0] < place < comments[index][1] else None

    @cached_property
    def hiding(self) -> frozenset[str]:
        """Classes that the page's own style sheets hide."""
        return frozenset(name for sheet in self._sheets for name in _HIDING_CLASS.findall(sheet))

    @cached_property
    def mirroring(self) -> frozenset[str]:
        """Classes whose text is shown from right to left."""
        return frozenset(name for sheet in self._sheets for name in _MIRRORING_CLASS.findall(sheet))

    @cached_property
    def _sheets(self) -> list[str]:
        body = self.body
        return [body[one.start : one.end].decode("utf-8", "replace") for one in self.regions if one.sort == STYLE]

    def windows(self, places: Sequence[int], region: Region, reach_b: int = _REACH_B) -> Iterator[Window]:
        """The text around places of one region, in their order; near ones share a window."""
        start = end = -1
        for place in places:
            first, last = self._stretch(place, region, reach_b)
            if first <= end and last - start <= _WINDOW_B:
                end = max(end, last)
                continue
            if end >= 0:
                yield self.window(start, end)
            start, end = first, last
        if end >= 0:
            yield self.window(start, end)

    def window(self, start: int, end: int) -> Window:
        source = self.body[start:end].decode("utf-8", "replace")
        return Window(visible(source, 0, len(source), self.hiding, self.mirroring), start, end)

    def context(self, start: int, end: int) -> str:
        """The text around a stretch of the source, which stands between, for people."""
        region = self._region_at(start)
        before = after = ""
        for reach_b in _CONTEXT_B:
            if len(before) < CONTEXT:
                first = max(region.start, start - reach_b)
                before = _shown(self.body[first:start], first > region.start)
            if len(after) < CONTEXT:
                after = _shown(self.body[end : min(region.end, end + reach_b)], False)
        is_tag = self.body.startswith(b"<", start)
        written = "" if is_tag else _shown(self.body[start : min(end, start + 400)], False)
        return f"{before[-CONTEXT:]}{written}{after[:CONTEXT]}".strip()

    def byte_at(self, window: Window, place: int) -> int:
        """The place in the source, in bytes, of a character of a window's source."""
        source = window.page.source
        return window.start + (place if source.isascii() else len(source[:place].encode()))

    def character_at(self, window: Window, place: int) -> int:
        """The place in a window's source of a byte of the page."""
        if window.page.source.isascii():
            return place - window.start
        return len(self.body[window.start : place].decode("utf-8", "replace"))

    def _region_at(self, place: int) -> Region:
        regions = self.regions
        return regions[max(0, bisect_right(regions, place, key=_start_of) - 1)]

    def _stretch(self, place: int, region: Region, reach_b: int) -> tuple[int, int]:
        """A stretch around a place that begins and ends between tags."""
        body = self.body
        start, end = max(region.start, place - reach_b), min(region.end, place + reach_b)
        around = self.comment_at(start), self.comment_at(end)
        if around[0]:
            start = around[0][0]
        elif start > region.start:
            floor = max(region.start, start - _TAG_B)
            opened = body.rfind(b"<", floor, start)
            if opened > body.rfind(b">", floor, start):
                start = opened
            while start > region.start and body[start] & 0xC0 == 0x80:
                start -= 1
        if around[1]:
            end = around[1][1]
        elif end < region.end:
            opened = body.rfind(b"<", start, end)
            if opened > body.rfind(b">", start, end):
                closed = body.find(b">", end, min(region.end, end + _TAG_B))
                end = closed + 1 if closed >= 0 else end
            while end < region.end and body[end] & 0xC0 == 0x80:
                end += 1
        return start, end


def _parts_of(body: bytes) -> tuple[list[Region], list[tuple[int, int]]]:
    """The regions of a source, and from where to where its comments reach; these belong to the markup around them."""
    regions: list[Region] = []
    comments: list[tuple[int, int]] = []
    lower = body.lower()
    end = len(body)
    find = lower.find
    start = at = 0
    comment = script = style = -1
    while True:
        comment = find(b"<!--", at) if comment < at else comment
        script = find(b"<script", at) if script < at else script
        style = find(b"<style", at) if style < at else style
        comment, script, style = (place if place >= 0 else end for place in (comment, script, style))
        if comment < script and comment < style:
            closed = find(b"-->", comment + 2)
            at = closed + 3 if closed >= 0 else end
            comments.append((comment, at))
            continue
        place = min(script, style)
        if place >= end:
            break
        sort, closing = (SCRIPT, b"</script") if place == script else (STYLE, b"</style")
        inner = find(b">", place) + 1 or end
        closed = find(closing, inner)
        closed = end if closed < 0 else closed
        regions.append(Region(MARKUP, start, place, b""))
        regions.append(Region(sort, inner, closed, body[place:inner]))
        start = at = find(b">", closed) + 1 or end
    regions.append(Region(MARKUP, start, end, b""))
    return regions, comments


def _start_of(region: Region) -> int:
    return region.start


def _shown(source: bytes, is_cut: bool) -> str:
    """The text of a short stretch of source, its blanks collapsed."""
    if b"<" in source or b">" in source:
        if is_cut:
            source = _CUT_TAG.sub(b"", source, count=1)
        source = _UNSHOWN.sub(b" ", _INLINE.sub(b"", source))
    text = source.decode("utf-8", "ignore")
    return _BLANKS.sub(" ", unescape(text) if "&" in text else text)


def pattern(expression: bytes) -> re2._Regexp[bytes]:
    """An expression over the bytes of a page, in linear time and without groups; case is ignored."""
    import re2

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.case_sensitive = False
    options.never_capture = True
    options.log_errors = False
    options.max_mem = 64 << 20
    return re2.compile(expression, options)
