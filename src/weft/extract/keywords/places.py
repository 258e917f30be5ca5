"""What an occurrence of a word counts, by its place on the page, its style and its size."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

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
_LARGE_WORDS: Final = frozenset({"large", "larger", "x-large", "xx-large", "xxx-large"})
_SMALL_WORDS: Final = frozenset({"small", "smaller", "x-small", "xx-small"})
_LEAST_LARGE: Final = 1.25
_MOST_SMALL: Final = 0.8
"""Sizes in numbers are set against the size of ordinary text."""

_SETTING_TAGS: Final = _STYLED | {"small", "big", "font"} | set(_HEADINGS)
_ROOT_SIZES: Final = {"px": 16.0, "pt": 12.0, "em": 1.0, "rem": 1.0, "%": 100.0, "": 16.0}


class Setting(NamedTuple):
    """How the words in an element are set."""

    place: float = TEXT
    styled: bool = False
    size: float = 1.0

    @property
    def weight(self) -> float:
        """What each of the words counts."""
        return self.place * (_STYLE if self.styled else 1.0) * self.size


PLAIN: Final = Setting()


class Settings:
    """The settings of the elements of one page, by their tags and the inline styles around them."""

    def __init__(self) -> None:
        self._known: dict[Element, Setting] = {}

    def of(self, element: Element) -> Setting:
        """The setting of the text that stands in this element itself."""
        inner: list[Element] = []
        node: object = element
        while isinstance(node, Element) and node not in self._known:
            inner.append(node)
            node = node.parent
        setting = self._known[node] if isinstance(node, Element) else PLAIN
        for each in reversed(inner):
            setting = self._known[each] = _within(each, setting)
        return setting


def _within(element: Element, around: Setting) -> Setting:
    """The setting in an element, by the setting around it. The innermost size counts, and the highest heading."""
    tag, style = element.tag, element.attr("style")
    if style:
        style = style.replace(" ", "").lower()
    elif tag not in _SETTING_TAGS:
        return around
    place = max(around.place, _HEADINGS.get(tag, TEXT))
    styled = around.styled or tag in _STYLED or bool(style and _INLINE_STYLE.search(style))
    size = _size_of(tag, element, style or "")
    return Setting(place, styled, around.size if size is None else size)


def _size_of(tag: str, element: Element, style: str) -> float | None:
    """The factor of the size that the element gives its text; None where it says nothing of size."""
    if tag == "small":
        return _SMALL
    if tag == "big":
        return _LARGE
    if tag == "font":
        return _font_size(element)
    found = _FONT_SIZE.search(style) if style else None
    if found is None:
        return None
    if found[1][0].isalpha() or found[1][0] == "-":
        large, small = found[1] in _LARGE_WORDS, found[1] in _SMALL_WORDS
    else:
        try:
            ratio = float(found[1]) / _ROOT_SIZES[found[2] or ""]
        except ValueError:
            return None
        large, small = ratio >= _LEAST_LARGE, ratio <= _MOST_SMALL
    return _LARGE if large else _SMALL if small else 1.0


def _font_size(element: Element) -> float | None:
    """The factor of ``<font size>``: from 1 to 7, 3 is ordinary, or with a sign a change of that."""
    given = (element.attr("size") or "").strip()
    if not given:
        return None
    if given.startswith("+") or given[0] in "4567":
        return _LARGE
    return _SMALL if given[0] in "-12" else 1.0
