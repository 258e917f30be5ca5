"""How much prose stands in each element of a page.

Prose is text in long pieces that are no links. It tells articles from lists of links, headings, buttons and prices.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from turbohtml import Element, Text

from weft.extract.main_text.effort import Effort

MIN_PIECE: Final = 20
"""The least length of a piece of text that counts, in bytes of UTF-8: a Chinese character is as much as a syllable."""

MIN_CHARACTERS: Final = MIN_PIECE // 3

_STEP: Final = 20
"""A step from an element to the next one around it costs as much time as so many characters."""

_LISTED: Final = 0.5
"""The weight of text in list items that are no paragraphs: teasers of other pages often stand in lists."""


class Prose:
    """The pieces of prose of a page, each with the elements that it stands in, from the inside out."""

    def __init__(self, body: Element, effort: Effort) -> None:
        self._effort = effort
        self._pieces = list(_pieces_of(body, effort))
        self.weights: Mapping[Element, float] = self._weights(())
        """The prose of each element. An element that is absent has none."""
        self.total = self.weights.get(body, 0.0)

    def weights_without(self, removed: Collection[Element]) -> Mapping[Element, float]:
        """The prose of each element, where the text of the removed ones is not counted."""
        return self._weights(removed) if removed else self.weights

    def _weights(self, removed: Collection[Element]) -> dict[Element, float]:
        weights: dict[Element, float] = {}
        for length, within in self._pieces:
            if removed and any(element in removed for element in within):
                continue
            self._effort.spend(_STEP * len(within))
            for element in within:
                weights[element] = weights.get(element, 0.0) + length
        return weights


def _pieces_of(body: Element, effort: Effort) -> Iterator[tuple[float, list[Element]]]:
    lengths: dict[Element, int] = {}
    for node in body.descendants:
        if type(node) is Text:
            text = node.data
            if len(text) >= MIN_CHARACTERS and (length := len(text.strip().encode("utf-8", "replace"))) >= MIN_PIECE:
                parent = node.parent
                if isinstance(parent, Element):
                    lengths[parent] = lengths.get(parent, 0) + length
    for element, length in lengths.items():
        within = _elements_around(element, body)
        effort.spend(_STEP * len(within))
        if within:
            listed = element.tag != "p" and any(outer.tag == "li" for outer in within[:4])
            yield length * (_LISTED if listed else 1.0), within


def _elements_around(element: Element, body: Element) -> list[Element]:
    """The element and its ancestors up to the body; none where one of them is a link."""
    within: list[Element] = []
    node: object = element
    while isinstance(node, Element):
        if node.tag == "a":
            return []
        within.append(node)
        if node is body or node.tag == "body":
            break
        node = node.parent
    return within


def heaviest(elements: Iterable[Element], weights: Mapping[Element, float]) -> Element | None:
    """The element with the most prose; of equals the last, which is the innermost in document order."""
    found, most = None, 0.0
    for element in elements:
        weight = weights.get(element, 0.0)
        if weight and weight >= most:
            found, most = element, weight
    return found
