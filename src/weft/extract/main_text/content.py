"""The element of a page that holds its main text, without the parts around and within it that are no text.

An article is what its page was made for: the text of the article is kept, and what stands beside it goes, other
articles, comments and captions too. On any other page, a manual, a list or a shop, what a reader wants may stand
anywhere: only the furniture goes, navigation, headers and footers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from turbohtml import Document, Element

from weft.extract.main_text.effort import Effort, TooMuchWork
from weft.extract.main_text.metadata import Kind
from weft.extract.main_text.parts import LEAST, Parts
from weft.extract.main_text.prose import heaviest

_UNSEEN: Final = (
    "script,style,noscript,template,iframe,svg,canvas,input,select,textarea,object,embed,audio,video,datalist,"
    ":not(h1,h2,h3,h4,h5,h6,dt,summary,legend)>button"
)
"""Elements that are no text on any page. A button in a heading is a heading that opens."""

_LEAVES: Final = frozenset(re.findall(r"\w+", "p li td tr blockquote span pre ul ol b i em strong tbody dl dd a"))
"""Elements that are a part of a text, never all of it."""

_LEAST_PROSE: Final = 250
"""A page with less prose is no article."""

_LEAST_MAIN: Final = 0.35
"""The least share of the prose of a page in an element that its names call the main text,"""

_LEAST_ARTICLE: Final = 0.5
"""in the only ``<article>`` of a page that says nothing of itself,"""

_LEAST_HEADED: Final = 0.15
"""in the one ``<article>`` with the ``<h1>`` of a page that calls itself an article,"""

_LEAST_OF_PAGE: Final = 0.5
"""and the least share of its text in the element that the page calls the main one."""

_MANY_TEXTS: Final = 3
_LEAST_OF_MANY: Final = 0.15
"""So many texts, each with so much of the prose, are a forum or a list of articles."""

_STEP: Final = 0.85
_INNER_STEP: Final = 0.95
"""The share of the prose that a child has to have for the search to go on in that child: on the page, in its text."""

_LINK_LINE: Final = 0.7
"""A line or list with so much of its text in links refers to other pages."""

_LEAST_TIDIED: Final = 400
_LONGEST_LINK_LIST: Final = 2_000
_LONGEST_LINK_BOX: Final = 300
_MOST_TIDIED: Final = 0.2
"""How long such a list or a ``<div>`` may be, and its share of an article, for it to be removed."""

_HEADINGS: Final = "h1,h2,h3"
_LEAST_AROUND: Final = 0.1
"""Less of a page than this is kept around its text, even if it is links: a table of contents, say."""


class Content(NamedTuple):
    """Where the main text stands. The tree has lost all that is no part of it."""

    element: Element
    is_article: bool


def content_of(document: Document, kind: Kind) -> Content | None:
    """The element with the main text; None of a page without a body. Changes the tree.

    ``kind`` is what the page itself says that it is. Of a page that was made to cost time all is kept.
    """
    document.remove(_UNSEEN)
    body = document.select_one("body")
    if body is None:
        return None
    try:
        effort = Effort(body)
        parts = Parts(body, effort)
        article = None if kind is Kind.OTHER else _article_of(parts, kind is Kind.ARTICLE)
        if article is None:
            weights = parts.prose.weights_without(parts.remove_from_any_page())
            return Content(_text_of_page(body, weights, effort), False)
        parts.remove_for_article()
        _tidy(article, effort)
        return Content(article, True)
    except TooMuchWork:
        return Content(body, False)


def _article_of(parts: Parts, declared: bool) -> Element | None:
    """The element with the text of the article; None where the page is none."""
    weights = parts.prose.weights_without({*parts.furniture, *parts.beside})
    total = weights.get(parts.body, 0.0)
    if total < _LEAST_PROSE:
        return None
    if len(parts.bodies) == 1 and weights.get(parts.bodies[0], 0.0) >= LEAST:
        return _innermost(parts.bodies[0], weights, _INNER_STEP)
    if _are_many([each for each in parts.mains if weights.get(each, 0.0) >= max(_LEAST_OF_MANY * total, LEAST)]):
        return None
    main = heaviest((each for each in parts.mains if weights.get(each, 0.0) >= _LEAST_MAIN * total), weights)
    if main is not None:
        return _innermost(main, weights, _INNER_STEP)
    articles = parts.body.select("article")
    headed = [each for each in articles if weights.get(each, 0.0) >= _LEAST_HEADED * total and each.select_one("h1")]
    if declared and len(headed) == 1:
        return _innermost(headed[0], weights, _INNER_STEP)
    alone = len(articles) == 1 and weights.get(articles[0], 0.0) >= _LEAST_ARTICLE * total
    return _innermost(parts.body, weights, _STEP) if declared or alone else None


def _are_many(texts: list[Element]) -> bool:
    """Whether several texts stand side by side, as in a forum, where each contribution is called main text."""
    outer = set(texts)
    return sum(1 for text in texts if outer.isdisjoint(text.ancestors)) >= _MANY_TEXTS


def _innermost(element: Element, weights: Mapping[Element, float], step: float) -> Element:
    """The innermost element that has nearly all the prose of the one given."""
    while True:
        weight = weights.get(element, 0.0)
        child = heaviest((node for node in element.children if isinstance(node, Element)), weights)
        if child is None or child.tag in _LEAVES:
            return element
        share = weights[child] / weight
        if share < step and not (child.tag in ("article", "main") and share >= _LEAST_MAIN):
            return element
        element = child


def _text_of_page(body: Element, weights: Mapping[Element, float], effort: Effort) -> Element:
    """The element with all that a reader wants of a page that is no article."""
    mains = body.select("main,[role=main]")
    if len(mains) == 1 and effort.length(mains[0]) >= _LEAST_OF_PAGE * effort.length(body):
        return mains[0]
    element = _innermost(body, weights, _STEP)
    if weights.get(element, 0.0) < _LEAST_PROSE or len(element.select(_HEADINGS)) < len(body.select(_HEADINGS)):
        return body
    whole = len(" ".join(effort.text(body).split()))
    around = whole - len(" ".join(effort.text(element).split()))
    links = effort.length_of_links(body) - effort.length_of_links(element)
    return element if around > _LEAST_AROUND * whole and links >= _LINK_LINE * around else body


def _tidy(article: Element, effort: Effort) -> None:
    """Removes lines and lists of an article that are links to other articles."""
    whole = effort.length(article)
    if whole < _LEAST_TIDIED:
        return
    for element in article.select("p,ul,ol,h2,h3,h4,h5,div,section,table"):
        length = len(effort.text(element).strip())
        longest = min(_LONGEST_LINK_BOX if element.tag == "div" else _LONGEST_LINK_LIST, _MOST_TIDIED * whole)
        if 0 < length < longest and effort.length_of_links(element) > _LINK_LINE * length:
            element.decompose()
