"""All e-mail addresses of one page, each once, in the plainest form in which the page has it (E24, E25)."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from html import unescape
from typing import Final, NamedTuple

from weft.extract.contacts.addresses import AT_DOT, GROUP, PLAIN, REVERSED, SPACED, SPLIT, Address, addresses_in
from weft.extract.contacts.attributes import (
    ATTRIBUTE,
    CIPHER,
    CLOUDFLARE,
    ENTITY,
    MAILTO,
    PERCENT,
    ROT13,
    SCRIPT,
    of_code,
    recipients,
)
from weft.extract.contacts.domains import is_reserved
from weft.extract.contacts.scripts import literal
from weft.extract.contacts.signals import signals
from weft.extract.contacts.source import MARKUP, Region, Source, Window
from weft.extract.contacts.source import SCRIPT as SCRIPTS
from weft.extract.contacts.visible import Element, attributes_of
from weft.records import Item

EMAIL: Final = "email"
MAX_ITEMS: Final = 10_000
"""Addresses of one page that are kept."""

JSON_LD: Final = "json-ld"
UNICODE: Final = "unicode"

_PLAINEST: Final = {
    form: rank
    for rank, form in enumerate(
        (
            *(PLAIN, MAILTO, ENTITY, PERCENT, SPLIT, SPACED, UNICODE, AT_DOT, GROUP, JSON_LD, ATTRIBUTE, CLOUDFLARE),
            *(ROT13, REVERSED, CIPHER, SCRIPT),
        )
    )
}
_RESERVED_CONFIDENCE = 0.4
_HIDDEN_CONFIDENCE = 0.6
_MAX_DEPTH = 3  # of hidden elements in hidden elements
_NEAR_SCRIPT_B = 1_536
_SCRIPT_EDGE = re.compile(rb"[;\n{}]")
_JOINS = re.compile(
    rb"""['"]@|@['"]|fromcharcode|atob|unescape|\\x40|\\u0040|uncrypt|znvygb|&(?:#|commat)|%40|rot13|@[^\s'"]{1,60}['"]\s*\+""",
    re.IGNORECASE,
)
_TAG_NAME = re.compile(r"<([A-Za-z][^\s/>]*)")
_LITERAL = re.compile(r"""[\w.+'%-]{1,64}@[\w.-]{3,255}""")
_MAIL_KEY = re.compile(r"""mail["'\s\\:=\w-]{0,20}\Z""", re.IGNORECASE)


class _Sighting(NamedTuple):
    value: str
    obscured: str
    confidence: float
    position: int  # where it stands in the source, in bytes,
    end: int  # and where it ends there; the same where it has no context


def emails_of(source: Source) -> list[Item]:
    """The addresses of a page, in the order in which they stand there."""
    places = signals(source.body)
    if not places:
        return []
    best: dict[str, _Sighting] = {}
    sure: dict[str, float] = {}
    for sighting in _sightings(source, places):
        value = sighting.value
        known = best.get(value)
        if known is None:
            if len(best) >= MAX_ITEMS:
                break
            best[value], sure[value] = sighting, sighting.confidence
            continue
        sure[value] = max(sure[value], sighting.confidence)
        if _PLAINEST[sighting.obscured] < _PLAINEST[known.obscured]:
            best[value] = sighting
    found = sorted(best.values(), key=lambda one: one.position)
    return [_item(source, one, sure[one.value]) for one in found]


def _item(source: Source, one: _Sighting, confidence: float) -> Item:
    context = source.context(one.position, one.end) if one.end > one.position else ""
    return Item(EMAIL, one.value, context, one.obscured, one.position, _confidence(one.value, confidence))


def _confidence(value: str, confidence: float) -> float:
    if is_reserved(value.partition("@")[2]):
        confidence *= _RESERVED_CONFIDENCE
    return round(confidence, 2)


def _sightings(source: Source, places: list[int]) -> Iterator[_Sighting]:
    """Every place where an address stands; the same address comes as often as it does."""
    at = 0
    for region in source.regions:
        inside = []
        while at < len(places) and places[at] < region.end:
            if region.sort != MARKUP or source.comment_at(places[at]) is None:
                inside.append(places[at])
            at += 1
        if not inside:
            continue
        if region.sort == MARKUP:
            in_text: list[int] = []
            yield from _in_tags(source, inside, in_text)
            for window in source.windows(in_text, region):
                yield from _in_markup(source, window, _within(in_text, window))
        elif region.sort == SCRIPTS:
            yield from _in_script(source, region, inside)


def _in_tags(source: Source, places: list[int], others: list[int]) -> Iterator[_Sighting]:
    """The addresses in the tags that places lie in; places in text are left to ``others``."""
    end = -1
    for place in places:
        if place < end:
            continue
        tag = source.tag_at(place)
        if tag is None:
            others.append(place)
            continue
        start, end = tag
        written = source.body[start:end].decode("utf-8", "replace")
        name = _TAG_NAME.match(written)
        if (
            name is None or name[1].lower() in ("img", "i") or "bidi" in written
        ):  # these change what the text around says
            others.append(place)
        if name is not None:
            attributes = attributes_of(written[name.end() : -1])
            has_context = name[1].lower() not in ("meta", "link")  # these stand in no text
            for found in recipients(name[1].lower(), attributes, written):
                behind = end if has_context else start
                yield _Sighting(found.value, found.obscured, found.confidence, start, behind)


def _within(places: list[int], window: Window) -> list[int]:
    return places[bisect_left(places, window.start) : bisect_left(places, window.end)]


def _in_markup(source: Source, window: Window, places: list[int], depth: int = 0) -> Iterator[_Sighting]:
    page = window.page
    inside = [source.character_at(window, place) for place in places]
    near = [page.text_at(place) for place in inside]
    near.extend(place for start, end in page.mirrored for place in range(start, end + 40, 40))
    for address in addresses_in(page.text, sorted(near)):
        start, end = page.source_at(address.start), page.source_at(address.end)
        is_mirrored = any(first <= address.start < last for first, last in page.mirrored)
        form = REVERSED if is_mirrored else _form(address, page.source[start:end])
        position, behind = source.byte_at(window, start), source.byte_at(window, end)
        yield _Sighting(address.value, form, address.confidence, position, behind)
    for element in _holding(page.elements, inside):
        position, behind = source.byte_at(window, element.start), source.byte_at(window, element.end)
        for found in recipients(element.name, element.named(), element.attributes):
            yield _Sighting(found.value, found.obscured, found.confidence, position, behind)
    for start, end in page.hidden:
        hidden = places[bisect_left(inside, start) : bisect_left(inside, end)]
        if hidden and depth < _MAX_DEPTH:
            inner = source.window(source.byte_at(window, start), source.byte_at(window, end))
            for one in _in_markup(source, inner, hidden, depth + 1):
                yield one._replace(confidence=min(one.confidence, _HIDDEN_CONFIDENCE))


def _holding(elements: list[Element], places: list[int]) -> Iterator[Element]:
    """The elements in whose tags one of the places lies."""
    at = 0
    for element in sorted(elements, key=_start_of):
        while at < len(places) and places[at] < element.start:
            at += 1
        if at == len(places):
            return
        if places[at] < element.end:
            yield element


def _start_of(element: Element) -> int:
    return element.start


def _form(address: Address, written: str) -> str:
    """How an address stands in the source, where its text alone looks plain."""
    if address.obscured != PLAIN and address.obscured != SPLIT:
        return address.obscured
    if address.value in written.lower():
        return PLAIN
    if "&" in written and address.value in unescape(written).lower():
        return ENTITY
    if not written.isascii() and "<" not in written:
        return UNICODE
    return SPLIT if address.obscured == SPLIT or "<" in written else ENTITY


def _in_script(source: Source, region: Region, places: list[int]) -> Iterator[_Sighting]:
    """The addresses in the strings of a script; of a long script the parts around the places."""
    body = source.body
    is_facts = b"json" in region.tag.lower()
    end = -1
    for place in places:
        if place < end:
            continue
        start, end = max(region.start, place - _NEAR_SCRIPT_B), min(region.end, place + _NEAR_SCRIPT_B)
        if start > region.start:
            edge = _SCRIPT_EDGE.search(body, start, place)
            start = edge.end() if edge else start
        part = body[start:end]
        text = part.decode("utf-8", "replace")
        for value, confidence, at in _literals(text, is_facts):
            yield _Sighting(value, JSON_LD if is_facts else SCRIPT, confidence, start + at, start + at)
        inside = places[bisect_left(places, place) : bisect_left(places, end)]
        if not is_facts and any(_JOINS.search(body, max(start, one - 2), one + 70) for one in inside):
            for found in of_code(text):
                yield _Sighting(found.value, SCRIPT, found.confidence, place, place)


def _literals(text: str, is_facts: bool) -> Iterator[tuple[str, float, int]]:
    """The addresses that stand in a script as they are, but for comments."""
    for found in _LITERAL.finditer(text):
        at = found.start()
        line = text[max(0, text.rfind("\n", 0, at) + 1, at - 300) : at]
        if not is_facts and ("//" in line.replace("://", "") or line.lstrip().startswith("*") or _in_comment(text, at)):
            continue
        if text[at - 3 : at] == "://" or text[at - 2 : at] == "//" or text[at - 1 : at] in ("@", "/"):
            continue
        for one in addresses_in(literal(found[0])):
            confidence = 0.95 if is_facts else 0.85 if _MAIL_KEY.search(line) else 0.45
            yield one.value, min(one.confidence, confidence), at


def _in_comment(text: str, at: int) -> bool:
    return text.rfind("/*", 0, at) > text.rfind("*/", 0, at)
