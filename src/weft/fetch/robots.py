"""What a robots.txt means, by RFC 9309 and, where the RFC is silent, by Google's matcher.

Pure: bytes in, rules out. ``Robots.parse`` never raises and takes time linear in the (bounded) body, whatever the
body is; ``RuleSet.check`` takes time linear in the rules and the path, so no pattern can stall a crawl.

Taken from Google's matcher: a group is named by the leading letters, ``-`` and ``_`` of its user-agent value; the
colon may be missing; common misspellings of ``disallow`` count; ``Allow: /x/index.html`` also allows ``/x/``; lines are
cut at 16,663 bytes. Of more than MAX_WILD patterns with wildcards the further ones are taken strictly: a Disallow up
to its first wildcard, an Allow not at all. Not promised: ``Request-rate``, ``Visit-time``, ``Clean-param``, ``Host``
and ``Noindex`` are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum, StrEnum
from typing import Final, NamedTuple

from weft.lazy import regex

MAX_BODY_B: Final = 500 * 1024  # RFC 9309, section 2.5: at least this much must be parsed
MAX_LINE_B: Final = 2083 * 8 - 1
MAX_DELAY_S: Final = 1e9  # keeps a number with thousands of digits finite; the crawl has its own, lower cap
MAX_WILD: Final = 2_000  # patterns with wildcards tried for one path; real files hold hundreds at most
ROBOTS_PATH: Final = "/robots.txt"


class Meaning(Enum):
    """What the HTTP status of a robots.txt says about the whole site (RFC 9309, section 2.3.1)."""

    PARSE = "parse"  # the body holds the rules
    ALLOW_ALL = "allow all"  # "unavailable": there is no robots.txt
    UNREACHABLE = "unreachable"  # nothing may be asked; ask again later


def meaning_of_status(status: int) -> Meaning:
    """What follows from the status of the last answer, redirects walked.

    A 3xx here is a redirect that was not followed to its end (more than five hops, a loop, a bad target). A 429 is
    one of the 4xx: whoever retries it first, as with any other page, ends here only when the site insists.
    """
    if 200 <= status < 300:
        return Meaning.PARSE
    if 400 <= status < 500:
        return Meaning.ALLOW_ALL
    return Meaning.UNREACHABLE


class RobotsVerdict(NamedTuple):
    """Whether a path may be asked, and the line that says so (None: no line speaks of it)."""

    allowed: bool
    line: int | None
    rule: str


class LineKind(StrEnum):
    """What a line of a robots.txt is to us."""

    BLANK = "blank"
    COMMENT = "comment"
    GROUP = "group"
    ALLOW = "allow"
    DISALLOW = "disallow"
    DELAY = "crawl-delay"
    SITEMAP = "sitemap"
    IGNORED = "ignored"


class ExplainedLine(NamedTuple):
    """One line of a robots.txt as weft reads it; ``applies`` says whether it changes what the agent may do."""

    line: int
    text: str  # as the site wrote it: make it safe before it goes to a terminal
    kind: LineKind
    applies: bool
    note: str


class Rule(NamedTuple):
    """An Allow or Disallow line with its pattern in canonical form (see ``_canonical_pattern``)."""

    line: int
    allow: bool
    pattern: str

    @property
    def text(self) -> str:
        return f"{'Allow' if self.allow else 'Disallow'}: {self.pattern}"


class _Statement(NamedTuple):
    line: int
    kind: LineKind
    key: str  # as written, for unknown keys
    value: str  # bytes of the file as Latin-1 characters


# --- reading lines -------------------------------------------------------------------------------------------------

_USER_AGENT = ("user-agent", "useragent", "user agent")
_DISALLOW = ("disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw")
_DELAY = ("crawl-delay", "crawldelay", "crawl delay")
_SITEMAP = ("sitemap", "site-map")
_SITEMAP_WITHOUT_COLON = regex(r"site-?map[^\s:]*[ \t]+(?=[a-z]+://)", re.IGNORECASE)
_NUMBER = regex(r"\d+(?:[.,]\d+)?|[.,]\d+")
_TOKEN = re.compile(r"[A-Za-z_-]*")


def product_token(user_agent: str) -> str:
    """The part of a user agent that robots.txt groups are named by: ``weft`` of ``weft/1.0 (+https://...)``."""
    found = _TOKEN.match(user_agent)
    return found.group() if found else ""


def _kind_of_key(key: str) -> LineKind:
    lowered = key.lower()
    if lowered.startswith(_USER_AGENT):
        return LineKind.GROUP
    if lowered.startswith("allow"):
        return LineKind.ALLOW
    if lowered.startswith(_DISALLOW):
        return LineKind.DISALLOW
    if lowered.startswith(_DELAY):
        return LineKind.DELAY
    if lowered.startswith(_SITEMAP):
        return LineKind.SITEMAP
    return LineKind.IGNORED


def _without_bom(body: bytes) -> bytes:
    """The body without a byte order mark, or without the beginning of a broken one, as Google skips it."""
    for mark in (b"\xef\xbb\xbf", b"\xef\xbb", b"\xef"):
        if body.startswith(mark):
            return body[len(mark) :]
    return body


def _in_utf8(body: bytes) -> bytes:
    """The body with UTF-16 turned into UTF-8.

    The mark alone is not believed: files exist that carry it before plain ASCII.
    """
    big = body[0:32:2].count(0)
    little = body[1:32:2].count(0)
    enough = max(1, len(body[:32]) // 4)
    if big >= enough and little == 0:
        return body.decode("utf-16-be", "replace").removeprefix("\ufeff").encode("utf-8", "replace")
    if little >= enough and big == 0:
        return body.decode("utf-16-le", "replace").removeprefix("\ufeff").encode("utf-8", "replace")
    return _without_bom(body)


def _lines_of(body: bytes) -> list[bytes]:
    """The lines of the part that is parsed. A line that the bound cuts in two is left out: half a rule is another."""
    cut = len(body) >= MAX_BODY_B  # also when whoever fetched it cut it there
    lines = _in_utf8(body[:MAX_BODY_B]).replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    return lines[:-1] if cut else lines


def _key_and_value(text: str) -> tuple[str, str] | None:
    """``key: value`` taken apart, or None. Without a colon exactly two words count, as people forget it."""
    key, colon, value = text.partition(":")
    if not colon:
        words = text.split()
        if len(words) != 2:
            return None
        key, value = words
    elif missing := _SITEMAP_WITHOUT_COLON.match(text):
        return text[: missing.end()].rstrip(), text[missing.end() :]
    key = key.rstrip()
    return (key, value.strip()) if key else None


def _statements(lines: list[bytes]) -> Iterator[_Statement]:
    kinds: dict[str, LineKind] = {}
    for number, raw in enumerate(lines, start=1):
        if not raw:
            continue
        # Google's lines are C strings: a NUL ends them, and so does a comment
        text = raw[:MAX_LINE_B].partition(b"\0")[0].partition(b"#")[0].decode("latin-1").strip(" \t\v\f")
        pair = _key_and_value(text) if text else None
        if pair is None:
            continue
        key, value = pair
        kind = kinds.get(key)
        if kind is None:
            kind = _kind_of_key(key)
            if len(kinds) < 1000:
                kinds[key] = kind
        yield _Statement(number, kind, key, value)


# --- patterns ------------------------------------------------------------------------------------------------------

_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
# What one of the URL serialisers encodes and another leaves: both sides of a comparison are brought to the same form
_ODD_IN_PATTERN = re.compile(r"%[0-9A-Fa-f]{2}|[\x00-\x20\"'<>\\^`{|}\x7f-\xff]")
_ODD_IN_PATH = re.compile(r"%[0-9A-Fa-f]{2}|[\x00-\x20\"'<>\\^`{|}\x7f]")


def _canonical_octet(found: re.Match[str]) -> str:
    """An octet as RFC 9309, section 2.2.2 compares it: unreserved ones plain, others ``%XX`` in upper case."""
    text = found.group()
    if len(text) == 1:
        return f"%{ord(text):02X}"
    char = chr(int(text[1:], 16))
    return char if char in _UNRESERVED else text.upper()


def _canonical_pattern(value: str) -> str:
    return _ODD_IN_PATTERN.sub(_canonical_octet, value)


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
        "_exact",
        "_lengths",
        "_otherwise",
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
    ) -> None:
        self.rules = rules
        self.crawl_delay_s = crawl_delay_s
        self._otherwise = otherwise
        self._prefix: dict[str, Rule] = {}
        self._exact: dict[str, tuple[int, Rule]] = {}
        self._wild: list[_Wild] = []
        for pattern, rule in _patterns_of(rules).items():
            self._place(rule, pattern)
        self._lengths = sorted({len(text) for text in self._prefix}, reverse=True)
        self._wild.sort(key=lambda wild: (-wild[0], not wild[1].allow, wild[1].line))

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
            if len(self._wild) >= MAX_WILD:
                # too many to try them all on every path: never more is allowed than the file allows
                if rule.allow:
                    return
                middle, tail = (), ""
            self._wild.append((len(pattern), rule, head, middle, tail))

    def match(self, path: str) -> Rule | None:
        """The rule that decides a path, or None. The most specific wins, and among equals the one that allows."""
        if _ODD_IN_PATH.search(path):
            path = _literal(_ODD_IN_PATH.sub(_canonical_octet, path))
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
                return rule
        return best

    def check(self, path: str) -> RobotsVerdict:
        """Whether ``/path?query`` of a serialised URL may be asked, with the line that says so."""
        if path == ROBOTS_PATH:
            return _ROBOTS_ITSELF
        rule = self.match(path if path.startswith("/") else "/" + path)
        if rule is None:
            return self._otherwise
        return RobotsVerdict(rule.allow, rule.line, rule.text)


_ROBOTS_ITSELF: Final = RobotsVerdict(True, None, "robots.txt itself is always allowed")
ALLOW_ALL: Final = RuleSet()
DISALLOW_ALL: Final = RuleSet(otherwise=RobotsVerdict(False, None, "robots.txt could not be read"))


# --- the file ------------------------------------------------------------------------------------------------------


class _Group:
    """What stands below shared user-agent lines. Tokens refer to groups: many agents times many rules stays a sum."""

    __slots__ = ("delay_s", "rules", "tokens")

    def __init__(self, *tokens: str) -> None:
        self.tokens = set(tokens)
        self.rules: list[Rule] = []
        self.delay_s: float | None = None


def _token_of(value: str) -> str:
    """The token that names a group: ``*``, also with words behind it, or the leading product token, maybe empty."""
    if value.startswith("*") and not value[1:2].strip():
        return "*"
    return product_token(value).lower()


def _delay_of(value: str) -> float | None:
    found = _NUMBER.match(value)
    if found is None:
        return None
    return min(float(found.group().replace(",", ".")), MAX_DELAY_S)


def _grouped(lines: list[bytes]) -> Iterator[tuple[_Statement, _Group, _Group]]:
    """Each statement with the group that its rules, and the group that its delay, belongs to.

    Rules follow RFC 9309: only Allow and Disallow end a run of user-agent lines. A Crawl-delay is no rule of the RFC
    and binds just the user-agent lines right above it; one before every group is taken for ``*``.
    """
    rules, delays = _Group(), _Group("*")
    rules_closed = delays_closed = True
    for statement in _statements(lines):
        if statement.kind is LineKind.GROUP:
            if rules_closed:
                rules, rules_closed = _Group(), False
            if delays_closed:
                delays, delays_closed = _Group(), False
            token = _token_of(statement.value)
            rules.tokens.add(token)
            delays.tokens.add(token)
        elif statement.kind is LineKind.ALLOW or statement.kind is LineKind.DISALLOW:
            rules_closed = delays_closed = True
        elif statement.kind is LineKind.DELAY:
            delays_closed = True
        yield statement, rules, delays


class Robots:
    """A parsed robots.txt. Unchangeable once made; groups of the same token are merged."""

    __slots__ = ("_body", "_delay_groups", "_rule_groups", "sitemaps")

    def __init__(self, body: bytes) -> None:
        self._body = body
        rule_groups: dict[_Group, None] = {}
        delay_groups: dict[_Group, None] = {}
        sitemaps: list[str] = []
        for (line, kind, _, value), rules, delays in _grouped(_lines_of(body)):
            if kind is LineKind.GROUP:
                rule_groups[rules] = None
            elif kind is LineKind.ALLOW or kind is LineKind.DISALLOW:
                if value:  # an empty pattern matches nothing
                    rules.rules.append(Rule(line, kind is LineKind.ALLOW, _canonical_pattern(value)))
            elif kind is LineKind.DELAY:
                if (delay_s := _delay_of(value)) is not None:
                    delays.delay_s = max(delay_s, delays.delay_s or 0.0)
                    delay_groups[delays] = None
            elif kind is LineKind.SITEMAP and value:
                sitemaps.append(value.encode("latin-1").decode("utf-8", "replace"))
        self._rule_groups = _by_token(rule_groups)
        self._delay_groups = _by_token(delay_groups)
        self.sitemaps = tuple(sitemaps)

    @classmethod
    def parse(cls, body: bytes) -> Robots:
        """The rules of a robots.txt, whatever its bytes are."""
        return cls(body)

    def tokens_for(self, *agents: str) -> tuple[str, ...]:
        """The tokens whose groups bind these agents: their own where the file names them, else ``*``."""
        lowered = dict.fromkeys(agent.lower() for agent in agents if agent)
        return tuple(token for token in lowered if token in self._rule_groups) or ("*",)

    def rules_for(self, *agents: str) -> RuleSet:
        """What the file asks of an agent: a product token like ``weft``, or several that it answers to."""
        tokens = self.tokens_for(*agents)
        groups = dict.fromkeys(group for token in tokens for group in self._rule_groups.get(token, ()))
        delays = [group.delay_s or 0.0 for token in tokens for group in self._delay_groups.get(token, ())]
        rules = sorted(rule for group in groups for rule in group.rules)
        return RuleSet(tuple(rules), max(delays, default=None))

    def explain_lines(self, *agents: str) -> list[ExplainedLine]:
        """What weft makes of each line for an agent, in the order of the file."""
        lines = _lines_of(self._body)
        ours = set(self.tokens_for(*agents))
        explained: list[ExplainedLine] = []

        def explain_others(upto: int) -> None:
            for number in range(len(explained) + 1, upto):
                text = _shown(lines[number - 1])
                explained.append(ExplainedLine(number, text, *_explain_other(text)))

        for statement, rules, delays in _grouped(lines):
            explain_others(statement.line)
            text = _shown(lines[statement.line - 1])
            group = delays if statement.kind is LineKind.DELAY else rules
            applies, note = _explain(statement, not ours.isdisjoint(group.tokens), ours)
            explained.append(ExplainedLine(statement.line, text, statement.kind, applies, note))
        explain_others(len(lines) + 1)
        if len(self._body) >= MAX_BODY_B:
            note = f"the rest is not read: only the first {MAX_BODY_B // 1024} KiB count (RFC 9309)"
            explained.append(ExplainedLine(len(lines) + 1, "", LineKind.IGNORED, False, note))
        return explained


def _by_token(groups: dict[_Group, None]) -> dict[str, list[_Group]]:
    found: dict[str, list[_Group]] = {}
    for group in groups:
        for token in group.tokens:
            found.setdefault(token, []).append(group)
    return found


# --- explaining ----------------------------------------------------------------------------------------------------


def _shown(line: bytes) -> str:
    return line[:MAX_LINE_B].decode("utf-8", "replace")


def _explain_other(text: str) -> tuple[LineKind, bool, str]:
    stripped = text.strip("\ufeff \t\v\f")
    if not stripped:
        return LineKind.BLANK, False, ""
    if stripped.startswith("#"):
        return LineKind.COMMENT, False, ""
    return LineKind.IGNORED, False, "not understood: no 'name: value'"


def _explain(statement: _Statement, bound: bool, ours: set[str]) -> tuple[bool, str]:
    """Whether a statement counts for us, and why."""
    kind, value = statement.kind, statement.value
    if kind is LineKind.GROUP:
        token = _token_of(value)
        if token in ours:
            return (
                True,
                "begins rules for every agent" if token == "*" else "begins rules for us",
            )
        if not token:
            return False, "ignored: a name of letters, '-' and '_' is missing"
        return (
            False,
            "begins rules for every agent, but a group names us" if token == "*" else "rules for another agent",
        )
    if kind is LineKind.SITEMAP:
        return bool(value), "names a sitemap" if value else "ignored: no address"
    if kind is LineKind.IGNORED:
        return False, "ignored: weft does not know this name"
    if kind is LineKind.DELAY:
        return _explain_delay(value, bound)
    if not bound:
        return False, "for another agent, or before the first User-agent line"
    if not value:
        return (
            False,
            "an empty rule: forbids nothing" if kind is LineKind.DISALLOW else "an empty rule: changes nothing",
        )
    if value[0] not in "/*":
        return False, "matches nothing: a path begins with '/' or '*'"
    return True, "may be asked" if kind is LineKind.ALLOW else "must not be asked"


def _explain_delay(value: str, bound: bool) -> tuple[bool, str]:
    delay_s = _delay_of(value)
    if delay_s is None:
        return False, "ignored: not a number of seconds"
    if not bound:
        return False, "for another agent"
    return (
        True,
        f"at least {delay_s:g} s between requests (the longest counts; capped by --max-crawl-delay)",
    )
