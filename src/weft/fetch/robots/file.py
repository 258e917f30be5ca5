"""A whole robots.txt: what its status says, its groups and which of them bind an agent, its delays and sitemaps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from typing import TYPE_CHECKING

from weft.fetch.robots.lines import LineKind, Statement, delay_of, lines_of, statements, token_of
from weft.fetch.robots.rules import Rule, RuleSet, canonical_pattern

if TYPE_CHECKING:
    from weft.fetch.robots.explain import ExplainedLine


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


class Group:
    """What stands below shared user-agent lines. Tokens refer to groups: many agents times many rules stays a sum."""

    __slots__ = ("delay_s", "rules", "tokens")

    def __init__(self, *tokens: str) -> None:
        self.tokens = set(tokens)
        self.rules: list[Rule] = []
        self.delay_s: float | None = None


def grouped(lines: list[bytes]) -> Iterator[tuple[Statement, Group, Group]]:
    """Each statement with the group that its rules, and the group that its delay, belongs to.

    Rules follow RFC 9309: only Allow and Disallow end a run of user-agent lines. A Crawl-delay is no rule of the RFC
    and binds just the user-agent lines right above it; one before every group is taken for ``*``.
    """
    rules, delays = Group(), Group("*")
    rules_closed = delays_closed = True
    for statement in statements(lines):
        if statement.kind is LineKind.GROUP:
            if rules_closed:
                rules, rules_closed = Group(), False
            if delays_closed:
                delays, delays_closed = Group(), False
            token = token_of(statement.value)
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
        rule_groups: dict[Group, None] = {}
        delay_groups: dict[Group, None] = {}
        sitemaps: list[str] = []
        for (line, kind, _, value), rules, delays in grouped(lines_of(body)):
            if kind is LineKind.GROUP:
                rule_groups[rules] = None
            elif kind is LineKind.ALLOW or kind is LineKind.DISALLOW:
                if value:  # an empty pattern matches nothing
                    allow = kind is LineKind.ALLOW
                    rules.rules.append(Rule(line, allow, canonical_pattern(value, allow=allow)))
            elif kind is LineKind.DELAY:
                if (delay_s := delay_of(value)) is not None:
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
        return self._rules_of(self.tokens_for(*agents))

    def rules_for_us(self, sent: str, *others: str) -> RuleSet:
        """What the file asks of an agent that sends one name and answers to others: all that it asks of the name that
        is sent, and what it asks of each other that it has a group for. What one of these forbids is forbidden."""
        rules = None
        for name in reversed(self._named(sent, others)):
            rules = self._rules_of((name,), rules)
        return self._rules_of(self.tokens_for(sent), rules)

    def _named(self, sent: str, others: Sequence[str]) -> list[str]:
        return [name for name in others if name in self._rule_groups and name != sent]

    def _rules_of(self, tokens: tuple[str, ...], besides: RuleSet | None = None) -> RuleSet:
        groups = dict.fromkeys(group for token in tokens for group in self._rule_groups.get(token, ()))
        delays = [group.delay_s or 0.0 for token in tokens for group in self._delay_groups.get(token, ())]
        if besides is not None and besides.crawl_delay_s is not None:
            delays.append(besides.crawl_delay_s)
        rules = sorted(rule for group in groups for rule in group.rules)
        return RuleSet(tuple(rules), max(delays, default=None), besides=besides)

    def explain_lines(self, sent: str, *others: str) -> list[ExplainedLine]:
        """What weft makes of each line for an agent with these names, in the order of the file."""
        from weft.fetch.robots.explain import explain_lines  # a crawl needs no words

        return explain_lines(self._body, {*self.tokens_for(sent), *self._named(sent, others)})


def _by_token(groups: dict[Group, None]) -> dict[str, list[Group]]:
    found: dict[str, list[Group]] = {}
    for group in groups:
        for token in group.tokens:
            found.setdefault(token, []).append(group)
    return found
