"""Which pages are rendered: all, or those of the templates for which rendering was seen to bring something."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Protocol

import msgspec
import xxhash

from weft.records import Fetched, Rendering
from weft.text.patterns import regex
from weft.url import path_of, site_of

SAMPLES = 10  # pages of a template that are rendered before it is decided
ONE_IN = 50  # of the pages of a template that needs no rendering, so many are rendered all the same
TEXT_GAINED = 200  # characters: less than that is the date, or a greeting
SHAPE_B = 200_000  # of a page, as far as its template is told from it

_SCRIPT = regex(rb"(?is)<script\b([^>]*)>(.*?)(?:</script|$)")
_SRC = regex(rb"(?i)\bsrc\s*=\s*[\"']?([^\"'\s>?#]+)")
_LITERAL = regex(rb"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|[0-9]+")
_NAMED = regex(rb"(?i)<([a-z][a-z0-9-]*)\b[^>]*?\s(?:id|class)\s*=\s*[\"']?([^\"'>]*)")
_CUSTOM = regex(rb"(?i)<([a-z][a-z0-9]*-[a-z0-9-]*)")
_DATA = regex(rb"(?i)application/(?:ld\+)?json")
_HANDLER = regex(rb"(?i)\son(?:load|error|toggle|begin|animation|transition|focus|scroll)[a-z]*\s*=")
_DIGITS = regex(rb"[0-9]+")
_NUMBER_OR_LONG = regex(r"[^/]*[0-9][^/]*|[^/]{24,}")


TemplateRow = tuple[str, str, int, int, int, int]
"""A template as it is stored: key, example, samples, gained, skipped, late."""


class Choice(Protocol):
    """Says which pages are rendered, and learns what that brought."""

    async def wants(self, url: str, answer: Fetched) -> bool:
        """Whether this page is rendered; waits where that depends on pages that are being rendered."""

    def learn(self, url: str, answer: Fetched, brought: Rendering | None) -> None:
        """What came to a page by rendering it; None where nobody knows."""

    def changed(self) -> list[TemplateRow]:
        """What is known of templates, as far as it changed since the last call."""


class Always:
    """``--render always``: every page."""

    async def wants(self, url: str, answer: Fetched) -> bool:
        return True

    def learn(self, url: str, answer: Fetched, brought: Rendering | None) -> None:
        return

    def changed(self) -> list[TemplateRow]:
        return []


class Template(msgspec.Struct):
    """Pages of one site with addresses of one shape and one skeleton, and what rendering them has brought."""

    key: str
    example: str  # a page of it
    samples: int = 0  # pages rendered
    gained: int = 0  # of these, pages to which it brought something
    skipped: int = 0  # pages that were not rendered
    late: int = 0  # pages that it brought something to after others had been left out: what may be missing
    under_way: int = 0

    @property
    def decided(self) -> bool | None:
        """Whether its pages are rendered; None: too few samples."""
        if self.gained:
            return True
        return False if self.samples >= SAMPLES else None


class Auto:
    """``--render auto``: decides for each template, from its first pages and from a few of the later ones."""

    def __init__(self, known: Iterable[TemplateRow] = ()) -> None:
        self._templates = {row[0]: Template(*row) for row in known}
        self._changed: dict[str, Template] = {}
        self._news = asyncio.Event()

    async def wants(self, url: str, answer: Fetched) -> bool:
        key = template_of(url, answer.body)
        if not key:  # nothing on the page could be run
            return False
        template = self._templates.setdefault(key, Template(key, url))
        while template.decided is None and template.samples + template.under_way >= SAMPLES:
            self._news.clear()
            await self._news.wait()
        wanted = template.decided
        if wanted is None or (not wanted and xxhash.xxh3_64_intdigest(url.encode()) % ONE_IN == 0):
            wanted = True
        if wanted:
            template.under_way += 1
        else:
            template.skipped += 1
        self._changed[key] = template
        return wanted

    def learn(self, url: str, answer: Fetched, brought: Rendering | None) -> None:
        template = self._templates.get(template_of(url, answer.body))
        if template is None:
            return
        template.under_way -= 1
        self._changed[template.key] = template
        self._news.set()
        if brought is None or answer.rendered is None or not answer.rendered.html:
            return
        gained = brought.new_links > 0 or brought.new_text > TEXT_GAINED
        template.samples += 1
        template.late += gained and template.skipped > 0 and not template.gained
        template.gained += gained

    def changed(self) -> list[TemplateRow]:
        changed, self._changed = list(self._changed.values()), {}
        return [(one.key, one.example, one.samples, one.gained, one.skipped, one.late) for one in changed]


def template_of(url: str, body: bytes) -> str:
    """The name of a page's template; empty where the page has nothing that could be run.

    It is made of the site, the shape of the address, the scripts, and the names of the elements: two pages of one
    template run the same code on the same skeleton.
    """
    body = body[:SHAPE_B]
    scripts = set()
    for attributes, code in _SCRIPT.findall(body):
        if _DATA.search(attributes):
            continue
        source = _SRC.search(attributes)
        scripts.add(source[1] if source is not None else _LITERAL.sub(b"", code))
    if not scripts and not _HANDLER.search(body):
        return ""
    markup = _SCRIPT.sub(b"", body)
    named = {(tag.lower(), _DIGITS.sub(b"0", name)) for tag, name in _NAMED.findall(markup)}
    custom = {tag.lower() for tag in _CUSTOM.findall(markup)}
    parts = [sorted(map(str, some)) for some in (scripts, named, custom)]
    skeleton = xxhash.xxh3_64_hexdigest(msgspec.json.encode(parts))
    return f"{site_of(url)}{shape_of(url)} {skeleton}"


def shape_of(url: str) -> str:
    """The path of an address with ``*`` for what differs from page to page: numbers, and long names at its end."""
    path, _, query = path_of(url).partition("?")
    folder, _, name = path.rpartition("/")
    stem, dot, ending = name.rpartition(".")
    last = f"*{dot}{ending}" if dot and stem else ("*" if name else "")
    names = sorted({part.partition("=")[0] for part in query.split("&")}) if query else []
    shape = f"{_NUMBER_OR_LONG.sub('*', folder)}/{last}"
    return f"{shape}?{'&'.join(names)}" if names else shape
