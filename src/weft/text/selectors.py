"""Selectors of the user's own: CSS with ``::text`` and ``::attr(x)``, and XPath (E24)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from turbohtml import Document, Element

Resolve = Callable[[str], str]
"""A reference of the page, as a URL."""

MAX_TEXT: Final = 50_000_000
"""Characters of text that one selector takes from one page."""

_PSEUDO = re.compile(r"(?P<css>.*?)\s*::(?:(?P<text>text)|attr\(\s*(?P<attribute>[^\s()]+)\s*\))\Z", re.DOTALL)
_REFERENCES: Final = frozenset(
    {"href", "src", "action", "cite", "poster", "data", "formaction", "longdesc", "xlink:href"}
)


class Selector(msgspec.Struct, frozen=True):
    """A selector, ready to be used. ``SelectorError`` where it is none."""

    how: str  # css, xpath
    what: str
    attribute: str = ""

    def values(self, root: Document | Element, resolve: Resolve) -> Iterator[str]:
        """The texts of all that is found in a tree, blanks collapsed; of attributes their values."""
        if self.how == "xpath":
            yield from _texts_of(root.xpath(self.what))
            return
        read = 0
        for element in root.select(self.what) if self.what else [root]:
            if read > MAX_TEXT:  # elements within elements: the text of each is that of all within
                return
            if self.attribute:
                value = element.attr(self.attribute)  # type: ignore[union-attr] # the root is an element then
                if value is not None:
                    yield resolve(value) if self.attribute in _REFERENCES else value
            else:
                text = element.text
                read += len(text)
                yield " ".join(text.split())

    def markup(self, root: Document | Element) -> Iterator[str]:
        """The HTML of the elements that are found."""
        found = root.xpath(self.what) if self.how == "xpath" else root.select(self.what) if self.what else [root]
        for element in found if isinstance(found, list) else ():
            html = getattr(element, "html", None)
            if isinstance(html, str):
                yield html


class SelectorError(ValueError):
    """A selector that cannot be understood: which, and why."""


def css(written: str) -> Selector:
    """The selector of a text in CSS."""
    pseudo = _PSEUDO.match(written)
    bare = pseudo["css"] if pseudo else written
    if bare or not pseudo:
        _try("CSS selector", written, lambda document: document.select(bare))
    return Selector("css", bare, (pseudo["attribute"] or "").lower() if pseudo else "")


def xpath(written: str) -> Selector:
    """The selector of a text in XPath."""
    _try("XPath", written, lambda document: document.xpath(written))
    return Selector("xpath", written)


def _try(kind: str, written: str, use: Callable[[Document], object]) -> None:
    import turbohtml

    try:
        use(turbohtml.parse(b"<p>", encoding="utf-8"))
    except Exception as error:  # the border to the library: whatever it says of the text
        reason = str(error).partition('": ')[2] or str(error).removeprefix("xpath: ")
        raise SelectorError(f"{written!r} is no {kind} that can be used: {reason}") from None


def _texts_of(found: object) -> Iterator[str]:
    for one in found if isinstance(found, list) else [found]:
        text = getattr(one, "text", one)
        if isinstance(text, float) and text.is_integer():
            text = int(text)
        yield " ".join(str(text).split())
