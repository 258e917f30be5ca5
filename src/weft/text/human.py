"""Numbers and moments as people write them, and commands as they type them."""

from __future__ import annotations

import os
from datetime import datetime, timedelta

_PLAIN = str.maketrans(dict.fromkeys("@%+=:,./-_", "0"))
"""What no shell takes for its own, beside letters and digits."""
_SPANS = (("days", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


def counted(number: int, thing: str) -> str:
    """A number with what is counted: ``1 page``, ``2,000 pages``, ``0 directories``."""
    if number == 1:
        return f"1 {thing}"
    return f"{number:,} {thing[:-1]}ies" if thing.endswith("y") else f"{number:,} {thing}s"


def command(*words: object) -> str:
    """A command to be copied into a shell, with weft as it was called: ``./weft resume 'my crawl'``."""
    return " ".join([_quoted(str(word)) for word in (os.environ.get("WEFT_COMMAND", "weft"), *words)])


def _quoted(word: str) -> str:
    if word and word.isascii() and word.translate(_PLAIN).isalnum():
        return word
    from shlex import quote  # loaded for odd words only: nearly every run tells a command at its end

    return quote(word)


def human_seconds(seconds: float) -> str:
    """``1.2 s``, ``3 min 04 s``, ``5 h 06 min``."""
    whole = int(seconds)
    if whole < 60:
        return f"{seconds:.1f} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def about(seconds: float) -> str:
    """A time that nobody knows exactly: ``40 s``, ``5 min``, ``2 h 10 min``, ``3 days``."""
    if seconds < 60:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    if minutes < 48 * 60:
        return f"{minutes // 60} h {minutes % 60 // 10 * 10:02d} min"
    return f"{minutes // (24 * 60)} days"


def human_span(seconds: float) -> str:
    """A length of time in the largest unit of which it has at least two: ``0.5 s``, ``90 s``, ``2 days``."""
    name, unit_s = next((unit for unit in _SPANS if seconds >= 2 * unit[1]), _SPANS[-1])
    return f"{round(seconds / unit_s, 1):g} {name}"


def human_moment(now: datetime, wait_s: float) -> str:
    """The first full minute after a wait, ``14:37``; with its day where that is another one."""
    then = now + timedelta(seconds=wait_s + 60)
    return then.strftime("%H:%M" if then.date() == now.date() else "%Y-%m-%d %H:%M")


def human_bytes(size_b: int) -> str:
    """``12 B``, ``3.4 kB``, ``5.6 MB``, ``7.8 GB``."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size_b >= factor:
            return f"{size_b / factor:.1f} {unit}"
    return f"{size_b} B"
