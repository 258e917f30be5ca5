"""What a page asks of its visitors: robots directives, refreshes, language, links in headers. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from weft.text.patterns import regex

MAX_HEADER_LINKS: Final = 100
_MAX_LANGUAGE = 200

_SPACE = " \t\n\f\r"
_REFRESH = regex(r"[ \t\n\f\r]*([0-9]*)([0-9.]*)")
_URL_SIGN = regex(r"url[ \t\n\f\r]*=[ \t\n\f\r]*", re.IGNORECASE)
_LANGUAGE = regex(r"[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8}){0,7}")
_LINK_VALUE = regex(r"<([^<>]*)>((?:[ \t]*;(?:[^,;\"]++|\"(?:[^\"\\]|\\.)*+(?:\"|$))*+)*+)")
_LINK_PARAMETER = regex(r";[ \t]*([^=;,\s]+)[ \t]*(?:=[ \t]*(?:\"((?:[^\"\\]|\\.)*)\"|([^;,\"\s]*)))?")
_INNER_SPACE = regex(r"\s")  # no agent has one: "01 Jan 2020 15:00" is the rest of a date
_SIZES = regex(r"\bmax-[a-z-]{1,20}\s*:\s*[^\s,;]*")  # the "none" of "max-image-preview: none" speaks of pictures only
_BETWEEN_WORDS = regex(r"[\s,;]+")
_VALUED_DIRECTIVES = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})


class Directives(NamedTuple):
    """What robots are asked not to do with a page."""

    noindex: bool = False
    nofollow: bool = False
    nocache: bool = False

    def __or__(self, other: Directives) -> Directives:
        return Directives(self.noindex or other.noindex, self.nofollow or other.nofollow, self.nocache or other.nocache)


def robots_directives(content: str) -> Directives:
    """The directives of a ``<meta name=robots>``; words that it does not know are ignored, commas may be missing."""
    words = set(_BETWEEN_WORDS.split(_SIZES.sub("", content[:10_000].lower())))
    none = "none" in words
    return Directives(none or "noindex" in words, none or "nofollow" in words, not words.isdisjoint(_NO_CACHE))


_NO_CACHE = frozenset({"noarchive", "nocache"})


def x_robots_directives(values: Iterable[str], agents: Collection[str]) -> Directives:
    """The directives of all X-Robots-Tag headers that are meant for everyone or for one of these lower-case names.

    ``name:`` before directives means that they, to the end of the header or the next name, are for that agent only.
    """
    found = Directives()
    for value in values:
        meant = True
        for word in value[:10_000].split(","):
            name, colon, rest = word.partition(":")
            name = name.strip().lower()
            if colon and name not in _VALUED_DIRECTIVES and not _INNER_SPACE.search(name):
                meant = name == "*" or name in agents
                word = rest
            if meant:
                found |= robots_directives(word)
    return found


class Refresh(NamedTuple):
    """A refresh after a delay; ``url`` is the reference as written, None for the page itself."""

    delay_s: int
    url: str | None


def parse_refresh(content: str) -> Refresh | None:
    """What a ``<meta http-equiv=refresh>`` or a Refresh header says (HTML, shared declarative refresh steps)."""
    match = _REFRESH.match(content)
    if match is None or not (match[1] or match[2].startswith(".")):
        return None
    delay_s = int(match[1][:9] or "0")
    rest = content[match.end() :]
    if not rest:
        return Refresh(delay_s, None)
    if rest[0] not in ";,\t\n\f\r ":
        return None
    rest = rest.lstrip(_SPACE)
    if rest[:1] in (";", ","):
        rest = rest[1:].lstrip(_SPACE)
    if not rest:
        return Refresh(delay_s, None)
    return Refresh(delay_s, _refresh_target(rest) or None)


def _refresh_target(text: str) -> str:
    sign = _URL_SIGN.match(text)
    if sign:
        text = text[sign.end() :]
    elif text[0] in "uU":
        return text  # a word that only begins like "url=" is itself the reference, quotes and all
    quote = text[:1]
    return text[1:].partition(quote)[0] if quote in ("'", '"') else text


def language_of(tag: str | None) -> str | None:
    """The language tag, if it has the shape of one; ``en_US`` is read as ``en-US``, of a list the first counts."""
    return _language_of(tag[:_MAX_LANGUAGE]) if tag else None


@lru_cache(maxsize=256)
def _language_of(tag: str) -> str | None:
    first = tag.partition(",")[0].strip().replace("_", "-")
    return first if _LANGUAGE.fullmatch(first) else None


class HeaderLink(NamedTuple):
    """One link of a Link header; ``rel`` in lower case."""

    reference: str
    rel: str
    title: str


def header_links(values: Iterable[str]) -> Iterator[HeaderLink]:
    """The links of all Link headers (RFC 8288), in order; those about another page (``anchor=``) are left out."""
    left = MAX_HEADER_LINKS
    for value in values:
        for match in _LINK_VALUE.finditer(value[:65_536]):
            if left == 0:
                return
            left -= 1
            parameters = _parameters(match[2])
            if "anchor" not in parameters:
                rel = " ".join(parameters.get("rel", "").lower().split())
                yield HeaderLink(match[1].strip(), rel, parameters.get("title", ""))


def _parameters(text: str) -> dict[str, str]:
    parameters: dict[str, str] = {}
    for match in _LINK_PARAMETER.finditer(text):
        value = match[2] if match[2] is not None else match[3] or ""
        parameters.setdefault(match[1].lower(), re.sub(r"\\(.)", r"\1", value))
    return parameters
