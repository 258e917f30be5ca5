"""Addresses that programs of content management systems hide, and that a few steps bring back."""

from __future__ import annotations

import base64
import binascii
import codecs
import re
from typing import Final

_HEX = re.compile(r"[0-9a-fA-F]{6,1024}\Z")
_BASE64 = re.compile(r"[A-Za-z0-9+/]{8,400}={0,2}\Z")
_TYPO3_RANGES: Final = ((0x2B, 0x3A), (0x40, 0x5A), (0x61, 0x7A))


def cloudflare(code: str) -> str:
    """The text that Cloudflare wrote into ``data-cfemail``: the first byte is the key of the others."""
    if not _HEX.match(code) or len(code) % 2:
        return ""
    key, *others = bytes.fromhex(code)
    try:
        return bytes(byte ^ key for byte in others).decode()
    except UnicodeDecodeError:
        return ""


def rot13(text: str) -> str:
    """Every letter thirteen places on."""
    return codecs.encode(text, "rot13")


def base64_text(code: str) -> str:
    """The text of base64, or "" where that is no text."""
    if not _BASE64.match(code):
        return ""
    try:
        text = base64.b64decode(code + "=" * (-len(code) % 4), validate=True).decode()
    except (binascii.Error, ValueError):
        return ""
    return text if text.isprintable() else ""


def typo3(code: str) -> str:
    """The ``mailto:`` link of which TYPO3 moved every character by the same number of places; "" if it is none."""
    for offset in (*range(-1, -26, -1), *range(1, 26)):
        if _moved(code[:7], offset) == "mailto:":
            return _moved(code, offset)
    return ""


def _moved(text: str, offset: int) -> str:
    moved = []
    for char in text:
        code = ord(char)
        for first, last in _TYPO3_RANGES:
            if first <= code <= last:
                code = first + (code - first + offset) % (last - first + 1)
                break
        moved.append(chr(code))
    return "".join(moved)


def shuffled(letters: str, places: str) -> str:
    """Text of which ``places`` name the letters one by one, each by a character counted from "0"."""
    picked = [ord(place) - 48 for place in places]
    if not picked or min(picked) < 0 or max(picked) >= len(letters):
        return ""
    return "".join(letters[place] for place in picked)
