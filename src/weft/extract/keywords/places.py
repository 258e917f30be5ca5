"""What an occurrence of a word counts, by its place on the page, its style and its size."""

from __future__ import annotations

import re
from typing import Final

from turbohtml import Element

TITLE: Final = 5.0
META: Final = 2.0
TEXT: Final = 1.0
_HEADINGS: Final = {"h1": 4.0, "h2": 3.0, "h3": 2.5, "h4": 2.0, "h5": 2.0, "h6": 2.0}
"""The words of a heading count so much each."""

_STYLED: Final = frozenset({"b", "strong", "i", "em", "u", "mark", "ins", "dfn"})
_STYLE: Final = 1.5
"""Bold, italic, underlined or marked words count so much more, once, however many of these they are."""

_LARGE: Final = 1.5
_SMALL: Final = 0.5
_INLINE_STYLE: Final = re.compile(
    r"font-weight:(?:bold|[6-9]00)|font-style:italic|text-decoration[a-z-]*:[^;]*underline"
)
_FONT_SIZE: Final = re.compile(r"font-size:([a-z-]+|[\d.]+)(px|pt|r?em|%)?")
_ROOT_SIZES: Final = {"px": 16.0, "pt": 12.0, "em": 1.0, "rem": 1.0, "%": 100.0, "": 16.0}
_DEPTH: Final = 8
"""How many elements around a word are looked at."""


def weight_of(element: Element | None) -> float:
    """What each word in an element counts, by the tags and the inline styles around it."""
    place, styled, size = TEXT, False, 1.0
    for _ in range(_DEPTH):
        if not isinstance(element, Element):
            break
        tag = element.tag
        place = max(place, _HEADINGS.get(tag, TEXT))
        styled = styled or tag in _STYLED
        if size == 1.0:
            size = _size_of(tag, element)
        style = element.attr("style")
        if style and not styled:
            styled = _INLINE_STYLE.search(style.replace(" ", "").lower()) is not None
        parent = element.parent
        element = parent if isinstance(parent, Element) else None
    return place * (_STYLE if styled else 1.0) * size


def _size_of(tag: str, element: Element) -> float:
    if tag == "small":
        return _SMALL
    if tag == "big":
        return _LARGE
    if tag == "font":
        given = (element.attr("size") or "").strip()
        if given[:1] == "+" or given[:1] in tuple("4567"):
            return _LARGE
        return _SMALL if given[:1] in ("-", "1", "2") and given else 1.0
    style = element.attr("style")
    found = _FONT_SIZE.search(style.replace(" ", "").lower()) if style else None
    if found is None:
        return 1.0
    if found[1][0].isalpha() or found[1][0] == "-":
        large, small = (
            found[1] in ("large", "larger", "x-large", "xx-large"),
            found[1] in ("small", "smaller", "x-small"),
        )
    else:
        try:
            ratio = float(found[1]) / _ROOT_SIZES[found[2] or ""]
        except ValueError:
            return 1.0
        large, small = ratio >= 1.25, ratio <= 0.8
    return _LARGE if large else _SMALL if small else 1.0
