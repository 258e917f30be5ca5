"""Patterns of the user's own, and texts that are looked for (E24, P6)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import msgspec

from weft.records import FIND, Item

if TYPE_CHECKING:
    import re2

CONTEXT: Final = 60

_BLANKS = re.compile(r"\s+")


class Pattern(msgspec.Struct, frozen=True):
    """A regular expression in linear time, its name, and whether it searches the source or the visible text."""

    name: str
    expression: re2._Regexp[str]
    in_source: bool

    def items(self, text: str) -> Iterator[Item]:
        """An item for every match; named groups become its fields, the group ``value`` its value."""
        for found in self.expression.finditer(text):
            groups = {name: value for name, value in found.groupdict().items() if value is not None}
            value = groups.pop("value", None) or found[0]
            if value:
                fields = msgspec.json.encode(groups).decode() if groups else ""
                context = around(text, found.start(), found.end())
                yield Item(self.name, value[:10_000], context, "plain", found.start(), 1.0, fields)


def pattern(name: str, expression: str) -> Pattern:
    """The pattern of ``NAME=REGEX``; ``NAME@html`` searches the source. ``ValueError`` says why it cannot be used."""
    import re2

    options = re2.Options()
    options.log_errors = False
    bare, _, where = name.partition("@")
    try:
        compiled = re2.compile(expression, options)
    except re2.error as error:
        reason = error.args[0] if error.args else "not understood"
        reason = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise ValueError(f"{expression!r} is not a regular expression that RE2 takes: {reason}") from None
    return Pattern(bare, compiled, where == "html")


def finds_in(text: str, wanted: tuple[str, ...]) -> Iterator[Item]:
    """An item for every place where one of the texts stands, case and blanks folded."""
    for one in wanted:
        words = one.split()
        if words:
            for found in re.finditer(r"\s+".join(map(re.escape, words)), text, re.IGNORECASE):
                yield Item(FIND, one, around(text, found.start(), found.end()), "plain", found.start())


def around(text: str, start: int, end: int) -> str:
    """A stretch of a text with what stands around it, on one line."""
    before = _BLANKS.sub(" ", text[max(0, start - 4 * CONTEXT) : start])[-CONTEXT:]
    after = _BLANKS.sub(" ", text[end : end + 4 * CONTEXT])[:CONTEXT]
    return f"{before}{_BLANKS.sub(' ', text[start : min(end, start + 400)])}{after}".strip()
