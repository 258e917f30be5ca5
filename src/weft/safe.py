"""What the web sends stays text: made safe for terminals, for lines, and for programs that open CSV files."""

from __future__ import annotations

import re

_UNSAFE = "\\x00-\\x1f\\x7f-\\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff"
"""Control characters, ends of lines, marks and overrides of direction, halves of characters.

Other characters that are not seen are left alone: Persian and many signs are not written without joiners."""

_IN_A_LINE = re.compile(f"[{_UNSAFE}]")
_IN_A_TEXT = re.compile(f"(?![\t\n])[{_UNSAFE}]")
_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")  # the wide forms count in some languages


def shown(text: str) -> str:
    """Text for one line of a terminal: what could steer it, or end the line, becomes a visible escape."""
    if text.isascii() and text.isprintable():
        return text
    return _IN_A_LINE.sub(_escape, text)


def shown_text(text: str) -> str:
    """Text of many lines for a terminal; ends of lines and tabs stay."""
    return _IN_A_TEXT.sub(_escape, text.replace("\r\n", "\n"))


def cell(value: object) -> object:
    """A value for a CSV cell: spreadsheets must not take it for a formula, nor its lines for rows."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        return value
    if not (value.isascii() and value.isprintable()):
        value = _IN_A_LINE.sub(_escape, value)
    return "'" + value if value.startswith(_FORMULA) else value


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"
