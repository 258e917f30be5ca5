"""What the web sends stays text: made safe for terminals, for lines, and for programs that open CSV files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.text.patterns import regex

if TYPE_CHECKING:
    import re

_STEERING = "\\x7f-\\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff"
_UNSAFE = f"\\x00-\\x1f{_STEERING}\ud800-\udfff"
"""Control characters, ends of lines, marks and overrides of direction, halves of characters.

Other characters that are not seen are left alone: Persian and many signs are not written without joiners."""

_IN_A_LINE = regex(f"[{_UNSAFE}]")
_IN_JSON = regex(f"[{_STEERING}]")  # JSON itself escapes the other control characters
_IN_A_TEXT = regex(f"(?![\t\n])[{_UNSAFE}]")
_CONTROLS = regex("(?![\t\n])[\\x00-\\x1f\\x7f-\\x9f]")
_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")  # the wide forms count in some languages


_IN_XML = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;", "\ufffe": "\ufffd", "\uffff": "\ufffd"}
)


def shown(text: str) -> str:
    """Text for one line of a terminal: what could steer it, or end the line, becomes a visible escape."""
    if text.isascii() and text.isprintable():
        return text
    return _IN_A_LINE.sub(_escape, text)


def shown_text(text: str) -> str:
    """Text of many lines for a terminal; ends of lines and tabs stay."""
    return _IN_A_TEXT.sub(_escape, text.replace("\r\n", "\n"))


def piped_text(text: str) -> str:
    """Text of many lines for a pipe, which may end at a terminal all the same: nothing that steers one.

    Marks of direction stay: some languages are written with them.
    """
    return _CONTROLS.sub(_escape, text.replace("\r\n", "\n"))


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


def in_json(encoded: bytes) -> bytes:
    """JSON that reads back the same and steers no terminal: what could is written as an escape."""
    if encoded.isascii() and b"\x7f" not in encoded:
        return encoded
    return _IN_JSON.sub(_escape, encoded.decode("utf-8")).encode("utf-8")


def in_xml(text: str) -> str:
    """Text for an attribute or the content of an element: no markup, nothing that XML forbids or that turns lines."""
    return shown(text).translate(_IN_XML)


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"
