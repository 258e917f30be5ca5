"""What a URL shows at a glance: which of the rules about single URLs have to look closer. Most show nothing."""

from __future__ import annotations

import re

from weft.judge.traps.ledger import is_sampled
from weft.judge.traps.urls import split_url

SAMPLED = 1  # it is one of those that stand for all
HAS_QUERY = 2
ODD = 4  # its path has marks that variants of a page differ by
WINDING = 8  # its path has many segments, two that are equal, or a percent sign that is escaped

MOST_SEGMENTS = 32
_ODD = re.compile(r"[;(+,|=]|%2[bBcC]|%7[cC]|//|\.\.")


def marks_of(url: str, most_segments: int) -> int:
    """The marks of a serialised http(s) URL; with more segments than so many, or than MOST_SEGMENTS, it is winding."""
    _, path, query = split_url(url)
    segments = [segment for segment in path.split("/") if segment]
    winding = (
        len(segments) > min(max(0, most_segments), MOST_SEGMENTS)
        or len({*segments}) < len(segments)
        or "%25" in path
    )  # fmt: skip
    return (
        (SAMPLED if is_sampled(url) else 0)
        | (HAS_QUERY if query else 0)
        | (ODD if _ODD.search(path) else 0)
        | (WINDING if winding else 0)
    )
