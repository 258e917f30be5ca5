"""The cheap first test: where in the source of a page something stands that an address could be made of.

The sign itself is searched for as a byte, all else by one pass of a small automaton, about 2 ns a byte. Small it must
be: in a crawl its states are not in the processor's cache when they are needed. What a sign stands between is looked at
where there is one. Most pages have no such place, and cost no more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Final

from weft.extract.contacts.source import pattern
from weft.extract.contacts.words import AT_WORDS, DOT_WORDS, SIGN_WORDS

if TYPE_CHECKING:
    import re2

MAX_LOOKED_AT: Final = 50_000
"""Signs, and words for signs, of one page that are looked at."""

_BEFORE_B = 96  # bytes before a sign in which the name must end


def _any(words: tuple[str, ...]) -> bytes:
    return b"|".join(re.escape(word.encode()) for word in words)


_BLANK = rb"\s|&nbsp;|&#160;|\xc2\xa0|&#8203;|&shy;|\xc2\xad|\xe2\x80\x8b|&zwnj;|&#x200b;"
_GAP = rb"(?:" + _BLANK + rb"|<[^<>]*+>)*+"
_BARE_DOT = rb"(?:dot|punkt|pika|punto|kropka|\xd1\x82\xd0\xbe\xd1\x87\xd0\xba\xd0\xb0)"
_DOT = (
    rb"(?:\.|&#0*46|&#x0*2e|&#65294|&#xff0e|&period|\xef\xbc[\x88\x8e\xbb]|<dot>|"
    + _BARE_DOT
    + rb"[\s<]|(?:[\[({|*_~#-]|&lt;)\s?(?:\.|&|\xcf|\xd1|<|"
    + _any(DOT_WORDS)
    + rb"))"
)
_DOMAIN_BEHIND = re.compile(_GAP + rb"(?:[a-z0-9\x80-\xff-]|&#x?[0-9a-f]{1,6};?){1,80}" + _GAP + _DOT, re.IGNORECASE)
_JOINED_BEHIND = re.compile(rb"['\"]|\[|<!--")
_JOINED_LATER = re.compile(rb"[\w.-]{1,64}+['\"]")  # "info@brook-" + "fern.si"
_NAME_BEFORE = re.compile(rb"[\w.+%='\x80-\xff;)\]}-](?:<[^<>]*+>|\s|&nbsp;|&#8203;|-->)*+\Z")
_NAME_ENDS: Final = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_NAME_MAY_END: Final = frozenset(b".+%='>;)]}- \t\r\n") | frozenset(range(0x80, 0x100))
_REVERSED_BEFORE = re.compile(rb"(?:[a-z]{2}|moc|gro|ten|ude|vog|ofni)\.[\w-][\w.-]*\Z", re.IGNORECASE)
_BRACKETS: Final = frozenset(b'[({|*#~"-_/')
_BRACKETED = re.compile(
    rb"(?:[\[({|*#~\"_/-]|&lt;|\xc2\xab|\xef\xbc[\x88\xbb]){1,2}"
    + _GAP
    + rb"(?:"
    + _any((*SIGN_WORDS, *AT_WORDS, "@"))
    + rb"|a|[a-z]?(?:&#?\w+;){1,12}[a-z]?)"
    + _GAP
    + rb"(?:[\])}|*#~\"_/-]|&gt;|\xc2\xbb|\xef\xbc[\x89\xbd]){1,2}",
    re.IGNORECASE,
)


def _expression() -> bytes:
    """Words for signs, and the marks of hidden addresses."""
    words = _any((*SIGN_WORDS, *AT_WORDS, "@", "a"))
    return b"|".join(
        (
            rb"&(?:commat|#0*64|#x0*40|#65312|#xff20)",
            rb"\\(?:x|u00)40",
            rb"%40",
            rb"cfemail=|email-protection#",
            rb"data-[\w-]*(?:mail|domain|host|user|website)[\w-]*=",
            rb"znvygb|uncryptmailto|fromcharcode\(\s*\d+\s*,|(?:atob|unescape)\(\s*['\"]|rot13",
            rb"(?:mail|cloak|crypt)\w*\(\s*(?:['\"]|&quot;|&#39;)",
            rb"bidi-override",
            rb"\xef(?:\xbc\xa0|\xb9\xab)",
            rb"(?:[\[({|*#~\"]|&lt;|\xc2\xab|\xef\xbc[\x88\xbb])[ ]?(?:"
            + words
            + rb")[ ]?(?:[\])}|*#~\"]|&gt;|\xc2\xbb|\xef\xbc)",
            rb"[\[({](?:<[^<>]*>|&nbsp;|\xc2\xa0)[ ]?(?:at|@)",
            rb"[\[({][ ]?[a-z]?&#?\w+;",
            rb"[\[({]at(?:<|&nbsp;|\xc2\xa0)",
            rb"[-_/][ ]?(?:at|\xc3\xa4t)[ ]?[-_/]|<at>",
            rb"[\s>]at\s+[\w-]+(?:\.[\w-]+)*\.[a-z]{2}",
            rb"[\s>]at<",
            rb"(?-i:[a-z0-9]AT[a-z])[\w-]*\.[\w-]",
            rb"[\s>;](?:" + _any(SIGN_WORDS) + rb"|" + _BARE_DOT + rb")[\s<]",
            rb"alt=['\"]\s?[(\[]?(?:@|at)[)\]]?\s?['\"]|/at\.(?:gif|png|svg)|fa-at[\s'\"]",
        )
    )


@cache
def _others() -> re2._Regexp[bytes]:
    return pattern(_expression())


def signals(body: bytes) -> list[int]:
    """The places where an address may be, in order."""
    found = list(_signs(body))
    for match in islice(_others().finditer(body), MAX_LOOKED_AT):
        at, end = match.span()
        if _may_be(body, at, end):
            found.append(at)
    return sorted(found)


def _may_be(body: bytes, at: int, end: int) -> bool:
    """Whether what a word for the sign needs stands around it; other marks speak for themselves."""
    first = body[at]
    if body.startswith(b"/at.", at):
        return True
    if first in _BRACKETS or body.startswith((b"&lt;", b"\xc2\xab", b"\xef\xbc\x88", b"\xef\xbc\xbb"), at):
        sign = _BRACKETED.match(body, at)
        return sign is not None and _DOMAIN_BEHIND.match(body, sign.end()) is not None
    if first == 0x26:  # an entity for the sign
        start = max(0, at - _BEFORE_B)
        end += body.startswith(b";", end)
        behind = any(one.match(body, end) for one in (_DOMAIN_BEHIND, _JOINED_BEHIND, _JOINED_LATER))
        return (behind or body.startswith(b"</", end)) and _NAME_BEFORE.search(body, start, at) is not None
    if body[at + 1 : at + 4].lower() in (b"at<", b"at "):
        return _DOMAIN_BEHIND.match(body, at + 3) is not None
    return True


def _signs(body: bytes) -> Iterator[int]:
    """Every ``@`` with what may be a name before it and a domain behind it."""
    at = -1
    for _ in range(MAX_LOOKED_AT):
        at = body.find(b"@", at + 1)
        if at < 0:
            return
        if _JOINED_BEHIND.match(body, at + 1) or _is_between(body, at, max(0, at - _BEFORE_B)):
            yield at


def _is_between(body: bytes, at: int, start: int) -> bool:
    """Whether a name may end before the sign and a domain begin behind it; or both the other way round."""
    before = body[at - 1] if at else 0
    is_domain = _DOMAIN_BEHIND.match(body, at + 1) is not None
    if before in _NAME_ENDS:
        return is_domain or bool(_JOINED_LATER.match(body, at + 1) or _REVERSED_BEFORE.search(body, start, at))
    return is_domain and before in _NAME_MAY_END and _NAME_BEFORE.search(body, start, at) is not None
