"""What a robots.txt means, by RFC 9309 and, where the RFC is silent, by Google's matcher.

Pure: bytes in, rules out. ``Robots.parse`` never raises and takes time linear in the (bounded) body, whatever the
body is; ``RuleSet.check`` takes time linear in the rules and the path, so no pattern can stall a crawl.

Taken from Google's matcher: a group is named by the leading letters, ``-`` and ``_`` of its user-agent value; the
colon may be missing; common misspellings of ``disallow`` count; ``Allow: /x/index.html`` also allows ``/x/``; lines are
cut at 16,663 bytes; an Allow with needless escapes (``/%62``) allows only what is written. Of more than MAX_WILD
patterns with wildcards, or of some with more than MAX_PIECES between them, the further ones are taken strictly: a
Disallow up to its first wildcard, an Allow not at all.
Not promised: ``Request-rate``, ``Visit-time``, ``Clean-param``, ``Host`` and ``Noindex`` are ignored.
"""

from __future__ import annotations

from weft.fetch.robots.file import Meaning, Robots, meaning_of_status
from weft.fetch.robots.lines import MAX_BODY_B, LineKind, agents_of, product_token
from weft.fetch.robots.rules import ALLOW_ALL, DISALLOW_ALL, MAX_PIECES, MAX_WILD, RuleSet

__all__ = [
    "ALLOW_ALL",
    "DISALLOW_ALL",
    "MAX_BODY_B",
    "MAX_PIECES",
    "MAX_WILD",
    "LineKind",
    "Meaning",
    "Robots",
    "RuleSet",
    "agents_of",
    "meaning_of_status",
    "product_token",
]
