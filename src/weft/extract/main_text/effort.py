"""A bound on the work that one page may cost.

The text of an element is the text of all elements within: a page that nests 500 elements around ten megabytes would
have weft copy gigabytes. Ordinary pages use a thousandth of the bound.
"""

from __future__ import annotations

from typing import Final

from turbohtml import Element

_SPARE: Final = 20_000_000
_TIMES_READ: Final = 20


class TooMuchWork(Exception):
    """The page has used up its effort."""


class Effort:
    """How many more characters and elements may be looked at: many times what an ordinary page of this size needs."""

    def __init__(self, body: Element) -> None:
        self._left = _SPARE + _TIMES_READ * len(body.text)

    def spend(self, amount: int) -> None:
        """Counts so much work; raises ``TooMuchWork`` past the bound."""
        self._left -= amount
        if self._left < 0:
            raise TooMuchWork

    def text(self, element: Element) -> str:
        """The text of the element and all within."""
        text = element.text
        self.spend(len(text) + 1)
        return text

    def length(self, element: Element) -> int:
        """How long the text of the element is."""
        return len(self.text(element))

    def length_of_links(self, element: Element) -> int:
        """How many characters of the text of the element are links."""
        return sum(len(self.text(link).strip()) for link in element.iter_elements("a"))
