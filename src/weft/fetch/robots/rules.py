"""Which paths the rules of one agent allow: patterns by RFC 9309, the most specific of them first."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from weft.text.patterns import regex

MAX_WILD: Final = 2_000  # patterns with wildcards tried for one path; real files hold hundreds at most
MAX_PIECES: Final = 20_000  # between the wildcards of all of them: some two lines full of stars
ROBOTS_PATH: Final = "/robots.txt"


class RobotsVerdict(NamedTuple):
    """Whether a path may be asked, and the line that says so (None: no line speaks of it)."""

    allowed: bool
    line: int | None
    rule: str


class Rule(NamedTuple):
    """An Allow or Disallow line with its pattern in canonical form (see ``canonical_pattern``)."""

    line: int
    allow: bool
    pattern: str

    @property
    def text(self) -> str:
        return f"{'Allow' if self.allow else 'Disallow'}: {self.pattern}"


_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
# What one of the URL serialisers encodes and another leaves: both sides of a comparison are brought to the same form
_ODD_IN_PATTERN = regex(r"%[0-9A-Fa-f]{2}|[\x00-\x20\"'<>\\^`{|}\x7f-\xff]")
_ODD_IN_PATH = regex(r"%[0-9A-Fa-f]{2}|[\x00-\x20\"'<>\\^`{|}\x7f]")
_NEEDLESS_ESCAPE = regex(r"%(?:2[DE]|3[0-9]|4[1-9A-F]|5[0-9AF]|6[1-9A-F]|7[0-9AE])")


def _canonical_octet(found: re.Match[str]) -> str:
    """An octet as RFC 9309, section 2.2.2 compares it: unreserved ones plain, others ``%XX`` in upper case."""
    text = found.group()
    if len(text) == 1:
        return f"%{ord(text):02X}"
    char = chr(int(text[1:], 16))
    return char if char in _UNRESERVED else text.upper()


def _escaped_octet(found: re.Match[str]) -> str:
    """The same with needless escapes kept."""
    text = found.group()
    return f"%{ord(text):02X}" if len(text) == 1 else text.upper()


def canonical_pattern(value: str, *, allow: bool = False) -> str:
    """The value of a rule with every octet in the one form that patterns and paths are compared in.

    Needless escapes are the one thing that RFC 9309 and Google's matcher read differently: by the RFC ``/%62`` is
    ``/b``, by Google's own tests it is not. The stricter reading holds: a Disallow means both, an Allow what it says.
    """
    return _ODD_IN_PATTERN.sub(_escaped_octet if allow else _canonical_octet, value)


def _literal(text: str) -> str:
    """Plain text of a pattern: section 2.2.3 writes ``*`` and ``$`` that are meant literally as %2A and %24."""
    return text.replace("%2A", "*").replace("%24", "$") if "%2" in text else text


def _holds(path: str, at: int, middle: tuple[str, ...], tail: str) -> bool:
    """Whether the path holds the pieces in order from ``at`` and ends with the tail.

    The leftmost place of each piece is always good enough, so nothing ever backtracks.
    """
    for piece in middle:
        found = path.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    return not tail or (len(path) - len(tail) >= at and path.endswith(tail))


# A pattern with wildcards: priority, rule, what the path starts with, holds in order, ends with
_Wild = tuple[int, Rule, str, tuple[str, ...], str]


def _patterns_of(rules: tuple[Rule, ...]) -> dict[str, Rule]:
    """Each pattern once, with the rule that speaks for it: one that allows wins, then the first."""
    found: dict[str, Rule] = {}
    for rule in rules:
        known = found.get(rule.pattern)
        if known is None or (rule.allow and not known.allow):
            found[rule.pattern] = rule
    for rule in tuple(found.values()):
        folder, slash, name = rule.pattern.rpartition("/")
        if rule.allow and slash and name.startswith("index.htm"):
            folded = found.get(folder + "/$")
            if folded is None or not folded.allow:
                found[folder + "/$"] = rule
    return found


class RuleSet:
    """What a robots.txt asks of one agent. Unchangeable once made."""

    __slots__ = (
        "_besides",
        "_exact",
        "_has_escapes",
        "_lengths",
        "_otherwise",
        "_pieces",
        "_prefix",
        "_wild",
        "crawl_delay_s",
        "rules",
    )

    def __init__(
        self,
        rules: tuple[Rule, ...] = (),
        crawl_delay_s: float | None = None,
        otherwise: RobotsVerdict = RobotsVerdict(True, None, ""),  # noqa: B008  (an immutable value)
        besides: RuleSet | None = None,
    ) -> None:
        """``besides`` has to allow a path, too: it is what the file asks of another name of the same agent."""
        self.rules = rules
        self._besides = besides
        self.crawl_delay_s = crawl_delay_s
        self._otherwise = otherwise
        self._prefix: dict[str, Rule] = {}
        self._exact: dict[str, tuple[int, Rule]] = {}
        self._wild: list[_Wild] = []
        self._pieces = 0
        for pattern, rule in _patterns_of(rules).items():
            self._place(rule, pattern)
        self._lengths = sorted({len(text) for text in self._prefix}, reverse=True)
        self._wild.sort(key=lambda wild: (-wild[0], not wild[1].allow, wild[1].line))
        self._has_escapes = any(_NEEDLESS_ESCAPE.search(rule.pattern) for rule in rules if rule.allow)

    @property
    def allows_all(self) -> bool:
        """Whether no path is forbidden, as where there is no robots.txt."""
        return not self.rules and self._besides is None and self._otherwise.allowed

    def _place(self, rule: Rule, pattern: str) -> None:
        anchored = pattern.endswith("$")
        pieces = (pattern[:-1] if anchored else pattern).split("*")
        head, rest = _literal(pieces[0]), pieces[1:]
        if not rest and anchored:
            best = self._exact.get(head)
            if best is None or (len(pattern), rule.allow) > (best[0], best[1].allow):
                self._exact[head] = (len(pattern), rule)
        elif not rest and len(head) == len(pattern):
            self._prefix[head] = rule
        else:
            tail = _literal(rest.pop()) if anchored and rest else ""
            middle = tuple(_literal(piece) for piece in rest if piece)
            self._pieces += len(middle)
            if len(self._wild) >= MAX_WILD or self._pieces > MAX_PIECES:
                # too many to try them all on every path: never more is allowed than the file allows
                if rule.allow:
                    return
                middle, tail = (), ""
            self._wild.append((len(pattern), rule, head, middle, tail))

    def match(self, path: str) -> Rule | None:
        """The rule that decides a path, or None. The most specific wins, and among equals the one that allows."""
        if _ODD_IN_PATH.search(path) is None:
            return self._decide(path)[1]
        priority, best = self._decide(_literal(_ODD_IN_PATH.sub(_canonical_octet, path)))
        if self._has_escapes:
            as_written, rule = self._decide(_literal(_ODD_IN_PATH.sub(_escaped_octet, path)))
            if rule is not None and (as_written > priority or (as_written == priority and rule.allow)):
                return rule
        return best

    def _decide(self, path: str) -> tuple[int, Rule | None]:
        """The rule that decides a path in canonical form, with its priority."""
        priority, best = 0, None
        known = self._prefix
        for length in self._lengths:
            if (found := known.get(path[:length])) is not None and length <= len(path):
                priority, best = length, found
                break
        if (exact := self._exact.get(path)) is not None and (
            best is None or exact[0] > priority or (exact[0] == priority and exact[1].allow)
        ):
            priority, best = exact
        for rank, rule, head, middle, tail in self._wild:
            if rank < priority or (rank == priority and (best is None or best.allow)):
                break
            if path.startswith(head) and (rank > priority or rule.allow) and _holds(path, len(head), middle, tail):
                return rank, rule
        return priority, best

    def check(self, path: str) -> RobotsVerdict:
        """Whether ``/path?query`` of a serialised URL may be asked, with the line that says so."""
        if path == ROBOTS_PATH:
            return _ROBOTS_ITSELF
        if not self.rules and self._besides is None:
            return self._otherwise
        rule = self.match(path if path.startswith("/") else "/" + path)
        verdict = self._otherwise if rule is None else RobotsVerdict(rule.allow, rule.line, rule.text)
        if self._besides is not None and verdict.allowed:
            other = self._besides.check(path)
            return verdict if other.allowed else other
        return verdict


_ROBOTS_ITSELF: Final = RobotsVerdict(True, None, "robots.txt itself is always allowed")
ALLOW_ALL: Final = RuleSet()
DISALLOW_ALL: Final = RuleSet(otherwise=RobotsVerdict(False, None, "robots.txt could not be read"))
