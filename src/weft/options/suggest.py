"""What a word that is no name of ours may mean: the word of another crawler for it, or a misspelling."""

from __future__ import annotations

from collections.abc import Iterable

OTHER_WORDS = {
    "allow": "accept", "include": "accept", "include-regex": "accept", "accept-regex": "accept",
    "deny": "reject", "disallow": "reject", "exclude": "reject", "exclude-regex": "reject", "reject-regex": "reject",
    "concurrency": "workers", "concurrent": "workers", "connections": "workers", "jobs": "workers",
    "parallel": "workers", "threads": "workers",
    "rate": "delay", "sleep": "delay", "throttle": "delay",
    "limit-rate": "max-rate",
    "depth": "max-depth", "level": "max-depth",
    "limit": "max-pages", "max": "max-pages", "pages": "max-pages",
    "retry": "retries", "tries": "retries",
    "agent": "user-agent", "ua": "user-agent", "useragent": "user-agent",
    "dir": "output", "directory": "output", "folder": "output", "out": "output",
    "config-file": "config", "settings": "config",
    "domain": "scope", "domains": "scope", "allowed-domains": "scope", "no-parent": "scope",
    "sitemap": "sitemaps",
    "from": "from-url",
    "columns": "fields", "select-fields": "fields",
    "filter": "where",
    "html": "weft stats --html", "report": "weft stats --html",
    "list": "weft pages", "urls": "weft pages",
    "explain": "weft why",
}  # fmt: skip
"""Words of other crawlers, and what is called so here: an option, or else a command."""

WEAKENING = frozenset({"insecure", "ignore-robots", "allow-net"})
"""Options that switch a protection off. Nobody is led to them by a guess."""


def suggestion(word: str, known: Iterable[str]) -> str | None:
    """What a word most likely means: one of the known names, or a command; None where that would be a guess."""
    names = {_plain(name): name for name in known}
    plain = _plain(word)
    meant = OTHER_WORDS.get(plain)
    if meant is not None and (meant in names or " " in meant):
        return names.get(meant.removeprefix("weft "), names.get(meant, meant))
    most = 0 if len(plain) < 3 else 1 if len(plain) < 5 else 2
    alike = [name for name in names if name not in WEAKENING and name[:1] == plain[:1]]  # few miss the first letter
    near = [(changes_between(plain, name), name) for name in alike]
    changes, best = min(near, default=(most + 1, ""))
    return names[best] if changes <= most else None


def hint(word: str, known: Iterable[str]) -> str:
    """`` (nearest: NAME)``, or nothing."""
    meant = suggestion(word, known)
    return "" if meant is None else f" (nearest: {meant})"


def changes_between(one: str, other: str) -> int:
    """How many letters must be put in, left out or replaced to make one word of the other (Levenshtein's distance)."""
    row = list(range(len(other) + 1))
    for number, letter in enumerate(one, 1):
        before, row[0] = row[0], number
        for place, another in enumerate(other, 1):
            before, row[place] = row[place], min(row[place] + 1, row[place - 1] + 1, before + (letter != another))
    return row[-1]


def _plain(name: str) -> str:
    return name.lower().replace("_", "-").lstrip("-")
