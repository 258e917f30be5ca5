"""What weft makes of each line of a robots.txt, in words."""

from __future__ import annotations

from typing import NamedTuple

from weft.fetch.robots.file import grouped
from weft.fetch.robots.lines import MAX_BODY_B, MAX_LINE_B, LineKind, Statement, delay_of, lines_of, token_of


class ExplainedLine(NamedTuple):
    """One line of a robots.txt as weft reads it; ``applies`` says whether it changes what the agent may do."""

    line: int
    text: str  # as the site wrote it: make it safe before it goes to a terminal
    kind: LineKind
    applies: bool
    note: str


def explain_lines(body: bytes, ours: set[str]) -> list[ExplainedLine]:
    """What weft makes of each line for an agent that these tokens bind, in the order of the file."""
    lines = lines_of(body)
    explained: list[ExplainedLine] = []

    def explain_others(upto: int) -> None:
        for number in range(len(explained) + 1, upto):
            text = _shown(lines[number - 1])
            explained.append(ExplainedLine(number, text, *_explain_other(text)))

    for statement, rules, delays in grouped(lines):
        explain_others(statement.line)
        text = _shown(lines[statement.line - 1])
        group = delays if statement.kind is LineKind.DELAY else rules
        applies, note = _explain(statement, not ours.isdisjoint(group.tokens), ours)
        explained.append(ExplainedLine(statement.line, text, statement.kind, applies, note))
    explain_others(len(lines) + 1)
    if len(body) >= MAX_BODY_B:
        note = f"the rest is not read: only the first {MAX_BODY_B // 1024} KiB count (RFC 9309)"
        explained.append(ExplainedLine(len(lines) + 1, "", LineKind.IGNORED, False, note))
    return explained


def _shown(line: bytes) -> str:
    return line[:MAX_LINE_B].decode("utf-8", "replace")


def _explain_other(text: str) -> tuple[LineKind, bool, str]:
    stripped = text.strip("\ufeff \t\v\f")
    if not stripped:
        return LineKind.BLANK, False, ""
    if stripped.startswith("#"):
        return LineKind.COMMENT, False, ""
    return LineKind.IGNORED, False, "not understood: no 'name: value'"


def _explain(statement: Statement, bound: bool, ours: set[str]) -> tuple[bool, str]:
    """Whether a statement counts for us, and why."""
    kind, value = statement.kind, statement.value
    if kind is LineKind.GROUP:
        token = token_of(value)
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
    delay_s = delay_of(value)
    if delay_s is None:
        return False, "ignored: not a number of seconds"
    if not bound:
        return False, "for another agent"
    return (
        True,
        f"at least {delay_s:g} s between requests (the longest counts; capped by --max-crawl-delay)",
    )
