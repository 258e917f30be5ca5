"""What the classes and ids of an element say about its text.

Authors name the parts of a page in their own words, and most of them choose the same words. The words are compared one
by one: ``relatedPosts`` and ``related-posts`` are ``related posts``, and ``headline`` does not hold the word ``ad``.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from functools import lru_cache
from typing import Final


class Role(Enum):
    """What an element is on its page, as far as its names tell."""

    UNKNOWN = auto()
    MAIN = auto()
    """The text of an article."""
    FURNITURE = auto()
    """Navigation and the like: on no page a part of the text."""
    BESIDE = auto()
    """No part of the text where the page is an article: comments, other articles, the author's picture.
    On other pages, a forum or a gallery, it may be the text."""


@lru_cache(maxsize=8192)
def role_of(names: str) -> Role:
    """The role of an element with these classes and this id. Pages of one site have the same names."""
    found = Role.UNKNOWN
    for name in names.split():
        words = f"-{_SEAM.sub('-', name).lower()}-"
        if _MODIFIER.match(words):
            continue
        if _FURNITURE.search(words):
            return Role.FURNITURE
        if _BESIDE.search(words):
            found = Role.BESIDE
        elif found is Role.UNKNOWN and _MAIN.search(words):
            found = Role.MAIN
    return found


def _words(phrases: str) -> str:
    """An expression for any of the phrases, singular or plural. ``*`` ends a phrase that may go on."""
    return "(?:" + "|".join(phrase.replace("*", r"\w*") for phrase in phrases.split()) + ")s?(?=[-0-9])"


_SEAM: Final = re.compile(r"(?<=[a-z])(?=[A-Z])|[\s_:-]+")
_MODIFIER: Final = re.compile(r"-(?:has|no|not|with|without|hide|show|is|js|toggle|toggled|open|closed)-")
"""A name that begins so says something of an element, not what the element is: ``has-sidebar``."""

_FURNITURE_WORDS: Final = _words(
    """
    share sharing sharedaddy social social-\\w+ socials addtoany addthis
    sidebar side-bar sphinxsidebar sphinxsidebarwrapper
    nav navbar navi navigation subnav navheader navfooter docnav spirit-nav menubar breadcrumb crumb pagination pager
    paging site-header page-header-bar masthead
    footer site-footer page-footer copyright
    newsletter* subscribe subscription signup sign-up login paywall
    advert* ad ads adsense adslot outbrain taboola
    cookie* gdpr consent modal popup cookie-?banner banner-?ad toolbar
    skip skip-link skiplink visually-?hidden sr-only screen-?reader* noprint editsection headerlink
    """
)
_BESIDE_WORDS: Final = _words(
    """
    related* recommend* comment comment-list comment-form comment-section disqus* respond reply
    popular trending most-?read most-?viewed most-?popular ticker promo* sponsor* banner overlay hidden
    more-stories more-from more-news more-on more-articles read-more read-next read-also up-next also-read also-like
    widget-area footer-widget widget-title widget-wrap
    byline dateline timestamp tag tag-list taglist metadata post-?meta entry-?meta article-?meta
    author author-?bio author-?box author-?info author-?card bio credit
    caption gallery print tools disclaimer feedback rating survey poll teaser* carousel slideshow nocontent
    """
)
_MAIN_WORDS: Final = _words(
    """
    (?:article|story|post|entry|news|single|shortcode|detail)(?:-?(?:main|inner|page|full))?-?(?:body|content|text|copy|txt)
    body-?copy text-?copy field-name-body (?:content|text)-(?:article|story|post|body)
    """
)

_FURNITURE: Final = re.compile(f"^-{_FURNITURE_WORDS}|-{_FURNITURE_WORDS}[-0-9]*$")
"""The first or the last words of a name: ``slider-nav-light`` is a slider."""
_BESIDE: Final = re.compile(f"-(?:{_BESIDE_WORDS}|{_FURNITURE_WORDS})")
_MAIN: Final = re.compile(f"-{_MAIN_WORDS}(?=-)")
