"""The names of the rules by which two URLs are one page (R14), and the text form of a choice of them."""

from __future__ import annotations

from typing import Final

from weft.errors import SpecError

RULES: Final[dict[str, str]] = {
    "scheme-host-case": "scheme and host in lower case (always on: every request has it)",
    "default-port": "no port where it is the scheme's default (always on: every request has it)",
    "dot-segments": "/a/./b/../c is /a/c (always on: every request has it)",
    "fragment": "no #fragment (always on: it is never sent)",
    "ip-to-host": "an address that belongs to a known host is that host",
    "percent-case": "%c3 is %C3",
    "percent-decode": "letters, digits and - . _ ~ are not percent-encoded: %7E is ~",
    "session-ids": "no session ids: ;jsessionid=..., /(S(...))/, PHPSESSID=...",
    "double-slashes": "/a//b is /a/b",
    "slash-keep": "/a/ and /a are two pages",
    "slash-add": "/a is /a/, unless the last segment has a dot",
    "slash-remove": "/a/ is /a",
    "drop-query": "no ?query",
    "tracking-parameters": "no parameters that only tell where a visitor came from: utm_source, gclid, fbclid...",
    "empty-parameters": "no parameters without a value: ?a&b=1&c= is ?b=1; a query of bare names alone stays",
    "sort-query": "parameters sorted by name: ?b=1&a=2 is ?a=2&b=1",
    "empty-query": "no ? with nothing behind it",
}
"""Every rule with what it does, in the order in which they are applied."""

ALWAYS_ON: Final = ("scheme-host-case", "default-port", "dot-segments", "fragment")
DEFAULT_RULES: Final = (*ALWAYS_ON, "percent-case", "percent-decode", "slash-keep")
"""The rules under which equal keys name one page for every server that follows RFC 3986 (6.2.2)."""

_SLASH_RULES: Final = frozenset({"slash-keep", "slash-add", "slash-remove"})
_SETS: Final[dict[str, frozenset[str]]] = {
    "default": frozenset(DEFAULT_RULES),
    "none": frozenset(),
    # drop-query would leave the other query rules nothing to do: it is asked for by its name.
    "all": frozenset(RULES) - {"slash-keep", "slash-add", "drop-query"},
}


def parse_rules(text: str) -> tuple[str, ...]:
    """The rules that a comma list switches on, in the order of ``RULES``.

    ``+name`` and ``-name`` change the default; bare names replace it; ``default``, ``none`` and ``all`` name sets.
    Rules that every request has are always among them.
    """
    words = [word.strip().lower() for word in text.split(",") if word.strip()]
    chosen = set() if any(word[0] not in "+-" for word in words) else set(DEFAULT_RULES)
    slash_rules: set[str] = set()
    for word in words:
        if word in _SETS:
            chosen |= _SETS[word]
            continue
        name = _known(word.lstrip("+-"))
        if word[0] == "-":
            _switch_off(name, chosen)
            continue
        if name in _SLASH_RULES:
            slash_rules.add(name)
            chosen -= _SLASH_RULES
        chosen.add(name)
    if len(slash_rules) > 1:
        raise SpecError(f"the rules {' and '.join(sorted(slash_rules))} exclude each other: name one")
    return in_order(chosen)


def in_order(names: set[str]) -> tuple[str, ...]:
    """The names with those that are always on, in the order of ``RULES``, with exactly one rule for the slash."""
    wanted = names | set(ALWAYS_ON)
    if not wanted & _SLASH_RULES:
        wanted.add("slash-keep")
    return tuple(name for name in RULES if name in wanted)


def _switch_off(name: str, chosen: set[str]) -> None:
    if name in ALWAYS_ON:
        raise SpecError(f"the rule {name} cannot be switched off: every request has it")
    chosen.discard(name)


def _known(name: str) -> str:
    if name in RULES:
        return name
    from difflib import get_close_matches  # only for a mistake: start-up does without it

    nearest = get_close_matches(name, [*RULES, *_SETS], n=1, cutoff=0.4)
    advice = f"did you mean {nearest[0]}?" if nearest else f"the rules are {', '.join(RULES)}"
    raise SpecError(f"{name!r} is no rule of --normalize: {advice}")
