"""The parts of a page, told by their tags, roles and names: its main text, its furniture, what stands beside."""

from __future__ import annotations

import re
from typing import Final

from turbohtml import Element

from weft.extract.main_text.effort import Effort
from weft.extract.main_text.names import Role, role_of
from weft.extract.main_text.prose import Prose

LEAST: Final = 150
"""Prose below this is too little to say anything by: a sentence or two."""

_AROUND: Final = (
    "nav,menu,dialog,[hidden],[aria-hidden=true],[role=navigation],[role=search],[role=banner],[role=dialog],"
    "[role=alertdialog],[role=menu],[role=menubar],[role=toolbar],[role=contentinfo],[role=complementary]"
)
"""Elements that stand around the text of a page, if their tags and roles are right."""

_MOST_AROUND: Final = 0.6
"""An element with more of the text of its page than this is kept, whatever its tag and role are."""

_MOST_REMOVED: Final = 0.4
"""An element with more of the prose of its page than this is kept, whatever it is called;"""

_MOST_HIDDEN: Final = 0.75
"""a footer may have more, and so may text that is hidden: a script may show it, and then it is the text of the page."""

_LINKED: Final = 0.5
_LINKED_ID: Final = 0.3
"""The least share of links in the text of a sidebar, or of an element with a telling id, that goes from any page."""

_NAMED: Final = "[class],[id],aside,footer,header"
_ARTICLE_BODIES: Final = '[itemprop="articleBody" i]'
_STYLED: Final = '[style*="display" i],[style*="visibility" i]'
_HIDDEN: Final = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_KEPT: Final = frozenset(
    re.findall(r"\w+", "html body article main p h1 h2 h3 h4 h5 h6 blockquote pre code table tbody dl dt dd")
)
"""Elements that their names never remove: a class ``ad`` on ``<body>`` speaks of something else."""

_ASIDE: Final = frozenset({"aside", "footer", "header"})


class Parts:
    """The parts of one page. Elements that stand around any text are removed at once."""

    def __init__(self, body: Element, effort: Effort) -> None:
        self.body = body
        self._effort = effort
        self._remove_around()
        self.prose = Prose(body, effort)
        self.furniture: list[Element] = []
        self.beside: list[Element] = []
        self.mains: list[Element] = []
        """Elements whose names say that they hold the text of an article,"""
        self.bodies = body.select(_ARTICLE_BODIES)
        """and elements that schema.org's word for the body of an article stands on."""
        self.furniture.extend(
            element
            for element in body.select(_STYLED)
            if _HIDDEN.search(element.attr("style") or "") and self._share(element) <= _MOST_HIDDEN
        )
        for element in body.select(_NAMED):
            if element.tag not in _KEPT and element not in self.bodies:
                self._sort(element)

    def _remove_around(self) -> None:
        size = self._effort.length(self.body)
        for element in self.body.select(_AROUND):
            if self._effort.length(element) <= _MOST_AROUND * size:
                element.decompose()

    def _sort(self, element: Element) -> None:
        role = role_of(f"{element.attr('class') or ''} {element.attr('id') or ''}")
        if role is not Role.FURNITURE and element.tag in _ASIDE:
            role = Role.BESIDE if element.closest("article,main,[role=main]") else Role.FURNITURE
        if role is Role.MAIN:
            self.mains.append(element)
        elif role is not Role.UNKNOWN and self._share(element) <= _most_removed(element):
            (self.furniture if role is Role.FURNITURE else self.beside).append(element)

    def _share(self, element: Element) -> float:
        return self.prose.weights.get(element, 0.0) / self.prose.total if self.prose.total else 0.0

    def remove_for_article(self) -> None:
        """Takes out of the tree what is no part of an article."""
        for element in self.furniture + self.beside:
            element.decompose()

    def remove_from_any_page(self) -> set[Element]:
        """Takes out of the tree what is no part of the text of any page; the elements that were removed."""
        size = self._effort.length(self.body)
        removed = {element for element in self.furniture if self._goes_from_any_page(element, size)}
        for element in removed:
            element.decompose()
        return removed

    def _goes_from_any_page(self, element: Element, page_size: int) -> bool:
        """Whether furniture is furniture on any page: a sidebar of text stays, a sidebar of links goes."""
        text = self._effort.text(element).strip()
        if len(text) > _most_removed(element) * page_size:
            return False
        named = role_of(element.attr("class") or "") is Role.FURNITURE
        if element.tag == "footer" or (named and not element.has_class("sidebar")):
            return True
        links = self._effort.length_of_links(element)
        if not named and element.tag not in _ASIDE:  # an id in a manual is the name of a chapter
            return links > _LINKED_ID * len(text)
        least = LEAST if element.tag == "header" else 1  # a short box is a note, a short header is the name of the site
        return self.prose.weights.get(element, 0.0) < least or links > _LINKED * len(text)


def _most_removed(element: Element) -> float:
    """The greatest share of its page that an element may have and still be removed for its name."""
    is_footer = element.tag == "footer" or "footer" in (element.attr("class"), element.attr("id"))
    return _MOST_HIDDEN if is_footer else _MOST_REMOVED
